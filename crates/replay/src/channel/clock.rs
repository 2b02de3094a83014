//! The clock that stamps records beside the clock of the kernel.

use prony_channel::ticks;
use rustix::time::{ClockId, clock_gettime};

/// A reading of the record clock beside the wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    ticks: u64,
    ns: u64,
}

impl Moment {
    /// Current moment: the time-stamp counter together with `CLOCK_MONOTONIC`.
    pub(crate) fn now() -> Moment {
        let before = ticks();
        let time = clock_gettime(ClockId::Monotonic);
        let after = ticks();
        Moment { ticks: before + (after - before) / 2, ns: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 }
    }

    /// Nanoseconds from this moment to `at` ticks, at the rate seen between this moment and `other`.
    pub(crate) fn ns_until(&self, at: u64, other: &Moment) -> u64 {
        let ticks = other.ticks.saturating_sub(self.ticks).max(1);
        let ns = other.ns.saturating_sub(self.ns);
        (u128::from(at.saturating_sub(self.ticks)) * u128::from(ns) / u128::from(ticks)) as u64
    }

    /// Nanoseconds since an earlier moment.
    pub(crate) fn ns_since(&self, earlier: &Moment) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }
}
