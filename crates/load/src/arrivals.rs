//! When datagrams arrived: from the kernel's clock of the time of day to the clock of the run.

use std::time::Duration;

/// The clocks are compared by reading one between two reads of the other; further apart, something came between.
const READ_NS_MAX: u64 = 20_000;
/// In a turn the clocks drift apart by far less: somebody set one.
const STEP_NS: i128 = 1_000_000;

/// The two clocks, as they were last seen beside each other.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrivals {
    /// What the time of day is ahead of the run; `None` while that is not known.
    ahead_ns: Option<i128>,
}

impl Arrivals {
    /// Compares the clocks, once a turn: the time of day was read between two times of the run.
    pub fn compare(&mut self, before_ns: u64, day: Duration, after_ns: u64) {
        if after_ns - before_ns > READ_NS_MAX {
            return;
        }
        let ahead_ns = day.as_nanos() as i128 - i128::from(before_ns);
        let was_set = self.ahead_ns.is_some_and(|known| (ahead_ns - known).abs() > STEP_NS);
        // What arrives until the next turn may bear times of before.
        self.ahead_ns = (!was_set).then_some(ahead_ns);
    }

    /// When in the run a datagram arrived that is read at `now_ns`; that itself where nothing better is known.
    pub fn time_ns(&self, arrived: Option<Duration>, now_ns: u64) -> u64 {
        let told = arrived.zip(self.ahead_ns).map(|(day, ahead_ns)| day.as_nanos() as i128 - ahead_ns);
        told.and_then(|told| u64::try_from(told).ok()).map_or(now_ns, |told_ns| told_ns.min(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(1_700_000_000);

    fn at(ns: u64) -> Option<Duration> {
        Some(DAY + Duration::from_nanos(ns))
    }

    #[test]
    fn a_time_of_day_becomes_a_time_of_the_run() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.time_ns(at(500), 9_000), 9_000, "the clocks were not compared");
        arrivals.compare(1_000, DAY, 1_050);
        assert_eq!(arrivals.time_ns(at(500), 9_000), 1_500);
        assert_eq!(arrivals.time_ns(None, 9_000), 9_000, "the kernel does not tell");
        assert_eq!(arrivals.time_ns(at(20_000), 9_000), 9_000, "nothing arrives after it was read");
    }

    #[test]
    fn a_comparison_that_was_interrupted_does_not_count() {
        let mut arrivals = Arrivals::default();
        arrivals.compare(0, DAY, 50);
        arrivals.compare(1_000_000, DAY + Duration::from_nanos(1_900_000), 1_900_010);
        assert_eq!(arrivals.time_ns(at(2_000_000), 3_000_000), 2_000_000);
    }

    #[test]
    fn a_clock_that_was_set_is_not_believed_for_one_turn() {
        let mut arrivals = Arrivals::default();
        arrivals.compare(0, DAY, 50);
        let set = |ns: u64| DAY - Duration::from_secs(5) + Duration::from_nanos(ns);
        arrivals.compare(1_000_000, set(1_000_000), 1_000_050);
        assert_eq!(arrivals.time_ns(at(900_000), 1_100_000), 1_100_000);
        arrivals.compare(2_000_000, set(2_000_000), 2_000_050);
        assert_eq!(arrivals.time_ns(Some(set(1_900_000)), 2_100_000), 1_900_000);
    }
}
