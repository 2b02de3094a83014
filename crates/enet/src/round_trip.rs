//! Round-trip time of a command and its acknowledgement.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

/// Until a first sample is there, in milliseconds.
const INITIAL_MS: u32 = 500;

/// Round trip times of one peer, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Smoothed round-trip time in milliseconds.
    pub mean_ms: u32,
    /// Smoothed distance of samples from it.
    pub variance_ms: u32,
    /// Lowest smoothed time of the throttle's interval that ended last.
    pub last_ms: u32,
    /// Highest distance of that interval.
    pub last_variance_ms: u32,
    /// Lowest smoothed time of the interval that goes on.
    pub lowest_ms: u32,
    /// Highest distance of that interval, in milliseconds.
    pub highest_variance_ms: u32,
    epoch: Option<u64>,
}

impl RoundTrip {
    pub(crate) fn new() -> RoundTrip {
        RoundTrip {
            mean_ms: INITIAL_MS,
            variance_ms: 0,
            last_ms: INITIAL_MS,
            last_variance_ms: 0,
            lowest_ms: INITIAL_MS,
            highest_variance_ms: 0,
            epoch: None,
        }
    }

    /// Takes a sample; `first` is the first of the connection. Jacobson & Karels 1988, in integers.
    pub(crate) fn sample(&mut self, sample_ms: u32, first: bool, now: u64, interval_ms: u32) {
        if first {
            self.mean_ms = sample_ms;
            self.variance_ms = sample_ms.div_ceil(2);
        } else {
            let distance = sample_ms.abs_diff(self.mean_ms);
            self.variance_ms = self.variance_ms.saturating_sub(self.variance_ms / 4).saturating_add(distance / 4);
            self.mean_ms = if sample_ms >= self.mean_ms {
                self.mean_ms.saturating_add(distance / 8)
            } else {
                self.mean_ms.saturating_sub(distance / 8)
            };
        }
        self.lowest_ms = self.lowest_ms.min(self.mean_ms);
        self.highest_variance_ms = self.highest_variance_ms.max(self.variance_ms);
        if self.epoch.is_none_or(|epoch| now.saturating_sub(epoch) >= u64::from(interval_ms)) {
            self.last_ms = self.lowest_ms;
            self.last_variance_ms = self.highest_variance_ms.max(1);
            self.lowest_ms = self.mean_ms;
            self.highest_variance_ms = self.variance_ms;
            self.epoch = Some(now);
        }
    }

    /// Time before a command without acknowledgement is sent again, in milliseconds.
    pub(crate) fn timeout_ms(&self) -> u64 {
        u64::from(self.variance_ms).saturating_mul(4).saturating_add(self.mean_ms.into())
    }
}

/// Round trip of what was sent at `sent` and is acknowledged at `now`: at least 1.
pub(crate) fn sample_ms(sent: u64, now: u64) -> u32 {
    u32::try_from(now.saturating_sub(sent)).unwrap_or(u32::MAX).max(1)
}

/// Send time of a command whose acknowledgement carries the low half of that time, or `None` if that is in the future:
/// only forged ones are.
pub(crate) fn widen(sent_time: u16, now: u64) -> Option<u64> {
    let widened = now & !0xffff | u64::from(sent_time);
    let widened = if sent_time & 0x8000 != 0 && now & 0x8000 == 0 { widened.checked_sub(0x1_0000)? } else { widened };
    (widened <= now).then_some(widened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_replaces_the_guess_and_later_ones_move_it_by_an_eighth() {
        let mut times = RoundTrip::new();
        times.sample(81, true, 1000, 5000);
        assert_eq!((times.mean_ms, times.variance_ms), (81, 41));
        assert_eq!((times.last_ms, times.last_variance_ms), (81, 41));
        times.sample(161, false, 1001, 5000);
        assert_eq!((times.mean_ms, times.variance_ms), (91, 31 + 20));
        times.sample(1, false, 1002, 5000);
        assert_eq!((times.mean_ms, times.variance_ms), (80, 39 + 22));
        assert_eq!(times.last_ms, 81, "the interval goes on");
        times.sample(80, false, 6000, 5000);
        assert_eq!((times.last_ms, times.lowest_ms), (80, 80));
    }

    #[test]
    fn times_are_widened_across_the_wrap_and_not_believed_from_the_future() {
        assert_eq!(widen(0xfff0, 0x3_0010), Some(0x2_fff0));
        assert_eq!(widen(0x0010, 0x3_0020), Some(0x3_0010));
        assert_eq!(widen(0x0030, 0x3_0020), None);
        assert_eq!(widen(0xfff0, 0x10), None);
    }
}
