//! What happened at the ports: the latest events one by one, earlier ones as numbers, so that a driver that makes one mistake after the
//! other takes no memory for each.

use std::collections::BTreeMap;

use prony_softnic::Event;

/// Events that are kept one by one. When there are more, the older half is only counted.
const LATEST_MAX: usize = 16 << 10;

/// An event, and the port that it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// Time in nanoseconds since the device was made.
    pub time_ns: u64,
    /// Number of the port, from 0.
    pub port: usize,
    /// Event of the port's device.
    pub event: Event,
}

/// Mistakes of drivers by port and kind: how often each came, and the first of them.
pub(crate) type Tally = BTreeMap<(usize, &'static str), (u64, Notice)>;

/// Events of all ports, in their order.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    latest: Vec<Notice>,
    counted: Tally,
}

impl Notices {
    pub(crate) fn push(&mut self, notice: Notice) {
        if self.latest.len() >= LATEST_MAX {
            let older = self.latest.drain(..LATEST_MAX / 2);
            older.for_each(|notice| count(&mut self.counted, notice));
        }
        self.latest.push(notice);
    }

    /// The latest events.
    pub(crate) fn latest(&self) -> &[Notice] {
        &self.latest
    }

    /// Takes the latest events, and forgets the others.
    pub(crate) fn take(&mut self) -> Vec<Notice> {
        std::mem::take(self).latest
    }

    /// Forgets everything before the last reset of each port.
    pub(crate) fn forget_before_resets(&mut self) {
        self.counted.clear();
        let mut resets = BTreeMap::new();
        for (place, notice) in self.latest.iter().enumerate().filter(|(_, notice)| notice.event == Event::Reset) {
            resets.insert(notice.port, place);
        }
        let mut places = 0..;
        self.latest.retain(|notice| places.next() > resets.get(&notice.port).copied());
    }

    /// Events by their kind, without those of a driver at work, for a report.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = self.counted.clone();
        self.latest.iter().for_each(|&notice| count(&mut tally, notice));
        tally
    }
}

fn count(tally: &mut Tally, notice: Notice) {
    let name = match notice.event {
        Event::BadRing { .. } => "ring",
        Event::BadTail { .. } => "tail",
        Event::Fault { .. } => "fault",
        Event::Malformed { .. } => "malformed",
        Event::UnknownRegister { .. } => "register",
        Event::PrivateMemory { .. } => "memory",
        _ => return,
    };
    tally.entry((notice.port, name)).or_insert((0, notice)).0 += 1;
}

#[cfg(test)]
mod tests {
    use prony_softnic::Malformed;

    use super::*;

    fn malformed(port: usize, index: u32) -> Notice {
        let event = Event::Malformed { queue: 0, index, problem: Malformed::ZeroLength };
        Notice { time_ns: index.into(), port, event }
    }

    #[test]
    fn a_million_mistakes_take_no_more_memory_than_some_thousand() {
        let mut notices = Notices::default();
        for index in 0..1_000_000 {
            notices.push(malformed(1, index));
        }
        assert!(notices.latest().len() <= LATEST_MAX && notices.latest.capacity() <= 2 * LATEST_MAX);
        let tally = notices.tally();
        assert_eq!(tally.into_iter().collect::<Vec<_>>(), [((1, "malformed"), (1_000_000, malformed(1, 0)))]);
    }

    #[test]
    fn what_a_port_did_before_its_last_reset_is_forgotten() {
        let reset = |port| Notice { time_ns: 0, port, event: Event::Reset };
        let mut notices = Notices::default();
        [malformed(0, 1), reset(0), malformed(1, 2), malformed(0, 3), reset(0), malformed(0, 4)]
            .into_iter()
            .for_each(|notice| notices.push(notice));
        notices.forget_before_resets();
        assert_eq!(notices.latest(), [malformed(1, 2), malformed(0, 4)]);
        assert_eq!(notices.take().len(), 2);
        assert!(notices.tally().is_empty());
    }
}
