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

    /// The clock at the rate seen between this moment and `other`.
    pub(crate) fn rate(&self, other: &Moment) -> Rate {
        let ticks = other.ticks.saturating_sub(self.ticks).max(1);
        let ns = other.ns.saturating_sub(self.ns);
        let ns_a_tick = (u128::from(ns) << Rate::BITS) / u128::from(ticks);
        Rate { start: self.ticks, ns_a_tick: u64::try_from(ns_a_tick).unwrap_or(u64::MAX) }
    }

    /// Nanoseconds since an earlier moment.
    pub(crate) fn ns_since(&self, earlier: &Moment) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }
}

/// Rate of the record clock: a division for many records, instead of one for each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// Ticks at the moment that times count from.
    start: u64,
    /// Nanoseconds, in units of 2⁻⁵⁶. A tick may take up to 255 ns; in two years of 1 GHz, 1 ns is lost.
    ns_a_tick: u64,
}

impl Rate {
    const BITS: u32 = 56;

    /// Nanoseconds from the start to `at` ticks.
    pub(crate) fn ns_until(&self, at: u64) -> u64 {
        let ns = u128::from(at.saturating_sub(self.start)) * u128::from(self.ns_a_tick);
        (ns >> Rate::BITS) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_share_of_the_ticks_that_have_passed() {
        let start = Moment { ticks: 1 << 60, ns: 500 };
        for (ticks, ns) in [(3_000_000_000u64, 1_000_000_000u64), (1_000, 24_000), (1 << 58, 1 << 57)] {
            let rate = start.rate(&Moment { ticks: start.ticks + ticks, ns: start.ns + ns });
            for part in [0, 1, ticks / 3, ticks, 2 * ticks] {
                let expected = (u128::from(part) * u128::from(ns) / u128::from(ticks)) as u64;
                let found = rate.ns_until(start.ticks + part);
                assert!(found.abs_diff(expected) <= 8, "{part} of {ticks}: {found}, not {expected}");
            }
            assert_eq!(rate.ns_until(0), 0);
        }
    }
}
