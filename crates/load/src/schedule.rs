//! Send times of all clients: fixed in advance, whatever the server does.

use prony_stats::Seed;

/// A packet that should be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Number of the sending client.
    pub client: usize,
    /// Place of the client among those of the schedule, in the order in which they send.
    pub place: usize,
    /// Intended time of sending, in nanoseconds.
    pub intended_ns: u64,
}

/// The times at which clients send: each once a period, at a phase of its own.
///
/// As all have the same period, their order never changes: the next one is found without a look at the others.
#[derive(Debug, Clone)]
pub struct Schedule {
    period_ns: u64,
    /// Phase and client, in the order of phases.
    order: Vec<(u64, usize)>,
    /// Place in `order`, and periods that are over.
    at: usize,
    round: u64,
}

impl Schedule {
    /// Schedule of those of `clients` for which `is_ours` is true. A client's phase depends on `seed` and its number
    /// alone, so that however they are shared out, they send at the same times.
    pub fn new(seed: u64, clients: usize, period_ns: u64, is_ours: impl Fn(usize) -> bool) -> Schedule {
        let mut seed = Seed::new(seed);
        let period = usize::try_from(period_ns).unwrap_or(usize::MAX).max(1);
        let phases = (0..clients).map(|client| (seed.below(period) as u64, client));
        let mut order: Vec<(u64, usize)> = phases.filter(|&(_, client)| is_ours(client)).collect();
        order.sort_unstable();
        Schedule { period_ns: period as u64, order, at: 0, round: 0 }
    }

    /// Numbers of the clients in the order in which they send: their places.
    pub fn clients(&self) -> impl Iterator<Item = usize> {
        self.order.iter().map(|&(_, client)| client)
    }

    /// Time of the next packet; `None` if no client sends.
    pub fn next_ns(&self) -> Option<u64> {
        self.ahead_ns(0)
    }

    /// Time of the packet that is sent `ahead` packets after the next one; `None` if no client sends.
    pub fn ahead_ns(&self, ahead: usize) -> Option<u64> {
        let at = self.at + ahead;
        let rounds = at.checked_div(self.order.len())? as u64;
        let (phase, _) = self.order.get(at % self.order.len())?;
        Some((self.round + rounds) * self.period_ns + phase)
    }

    /// Leaves out the packets that should be sent before `start_ns`.
    pub fn skip(&mut self, start_ns: u64) {
        while let Some(before_ns) = start_ns.checked_sub(1)
            && self.pop(before_ns).is_some()
        {}
    }

    /// The next packet, if it should be sent at `now_ns` or before.
    pub fn pop(&mut self, now_ns: u64) -> Option<Due> {
        let intended_ns = self.next_ns().filter(|&next| next <= now_ns)?;
        let place = self.at;
        let (_, client) = self.order[place];
        self.at += 1;
        if self.at == self.order.len() {
            (self.at, self.round) = (0, self.round + 1);
        }
        Some(Due { client, place, intended_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 100_000_000;

    fn until(schedule: &mut Schedule, end_ns: u64) -> Vec<Due> {
        std::iter::from_fn(|| schedule.pop(end_ns)).collect()
    }

    #[test]
    fn equal_seeds_send_at_equal_times_and_others_do_not() {
        let times = |seed| until(&mut Schedule::new(seed, 50, PERIOD_NS, |_| true), 1_000_000_000);
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
    }

    #[test]
    fn every_client_sends_once_a_period_in_the_order_of_time() {
        let sent = until(&mut Schedule::new(7, 50, PERIOD_NS, |_| true), 10 * PERIOD_NS - 1);
        assert_eq!(sent.len(), 500);
        assert!(sent.is_sorted_by_key(|due| due.intended_ns));
        for client in 0..50 {
            let times: Vec<u64> = sent.iter().filter(|due| due.client == client).map(|due| due.intended_ns).collect();
            assert_eq!(times.len(), 10);
            assert!(times[0] < PERIOD_NS);
            assert!(times.windows(2).all(|pair| pair[1] - pair[0] == PERIOD_NS));
        }
    }

    #[test]
    fn clients_that_are_shared_out_send_as_if_they_were_together() {
        let mut together = until(&mut Schedule::new(3, 31, PERIOD_NS, |_| true), 5 * PERIOD_NS);
        let mut apart: Vec<Due> = (0..3)
            .flat_map(|part| until(&mut Schedule::new(3, 31, PERIOD_NS, |client| client % 3 == part), 5 * PERIOD_NS))
            .collect();
        let key = |due: &Due| (due.intended_ns, due.client);
        together.sort_by_key(key);
        apart.sort_by_key(key);
        assert!(together.iter().map(key).eq(apart.iter().map(key)));
    }

    #[test]
    fn places_are_in_the_order_of_sending() {
        let mut schedule = Schedule::new(11, 40, PERIOD_NS, |client| client % 2 == 1);
        let clients: Vec<usize> = schedule.clients().collect();
        assert_eq!(clients.len(), 20);
        for (at, due) in until(&mut schedule, 3 * PERIOD_NS - 1).into_iter().enumerate() {
            assert_eq!((due.place, due.client), (at % 20, clients[at % 20]));
        }
    }

    #[test]
    fn time_that_passed_leaves_every_packet_due() {
        let mut schedule = Schedule::new(5, 10, PERIOD_NS, |_| true);
        // No call for three seconds: what should have been sent is returned one by one, with its own time.
        assert_eq!(until(&mut schedule, 30 * PERIOD_NS - 1).len(), 300);
    }

    #[test]
    fn times_ahead_are_those_that_follow() {
        let mut schedule = Schedule::new(5, 10, PERIOD_NS, |_| true);
        let whole = until(&mut schedule.clone(), 10 * PERIOD_NS);
        for (at, due) in whole[..50].iter().enumerate() {
            assert_eq!(schedule.next_ns(), Some(due.intended_ns));
            for ahead in 0..35 {
                assert_eq!(schedule.ahead_ns(ahead), Some(whole[at + ahead].intended_ns));
            }
            schedule.pop(u64::MAX);
        }
    }

    #[test]
    fn what_is_skipped_leaves_the_times_of_the_rest() {
        let whole = until(&mut Schedule::new(5, 10, PERIOD_NS, |_| true), 30 * PERIOD_NS);
        let mut schedule = Schedule::new(5, 10, PERIOD_NS, |_| true);
        schedule.skip(0);
        let start_ns = whole[77].intended_ns;
        schedule.skip(start_ns);
        assert_eq!(until(&mut schedule, 30 * PERIOD_NS), whole[77..]);
    }

    #[test]
    fn without_clients_nothing_is_due() {
        let mut schedule = Schedule::new(1, 0, PERIOD_NS, |_| true);
        assert_eq!((schedule.next_ns(), schedule.ahead_ns(3), schedule.pop(u64::MAX)), (None, None, None));
    }
}
