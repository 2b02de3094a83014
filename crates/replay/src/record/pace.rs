//! How much a recorder does: it compresses less while the server writes its records faster than that takes.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Level of zstd for records that come fast: three to four times as fast as level 3.
const FAST: i32 = -5;
/// Share of its ring that a thread has filled meanwhile, from which on the recorder does not keep up: what is left is its reserve.
const FILLING: f64 = 0.25;
/// The same after a rest of the recorder.
const FILLED: f64 = 0.5;
/// Time without a ring that fills, after which records are compressed as usual again.
const CALM: Duration = Duration::from_secs(1);

/// Level of compression by the load, and CPU time since the recording began.
#[derive(Debug)]
pub(super) struct Pace {
    cpu_before: Duration,
    usual: i32,
    /// Until then, records are compressed fast.
    fast_until: Option<Instant>,
    /// Bytes of the records that were compressed fast.
    pub(super) fast_bytes: u64,
}

impl Pace {
    pub(super) fn new(usual: i32) -> Pace {
        Pace { cpu_before: cpu_time(), usual, fast_until: None, fast_bytes: 0 }
    }

    /// Level for `bytes` of records that came after a rest or without one, from rings of which the fullest was full to this share.
    pub(super) fn level(&mut self, now: Instant, bytes: usize, fullest: f64, has_rested: bool) -> i32 {
        if fullest >= if has_rested { FILLED } else { FILLING } {
            self.fast_until = Some(now + CALM);
        }
        if self.fast_until.is_none_or(|until| now >= until) {
            return self.usual;
        }
        self.fast_bytes += bytes as u64;
        self.usual.min(FAST)
    }

    /// CPU time of the recorder so far.
    pub(super) fn cpu_time(&self) -> Duration {
        cpu_time().saturating_sub(self.cpu_before)
    }
}

/// CPU time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_fill_a_ring_are_compressed_fast_until_it_has_been_calm_for_a_second() {
        let start = Instant::now();
        let mut pace = Pace::new(3);
        let mut level = |ms, fullest, has_rested| {
            let now = start + Duration::from_millis(ms);
            pace.level(now, 1000, fullest, has_rested)
        };
        assert_eq!(level(0, 0.2, false), 3);
        assert_eq!(level(5, 0.3, true), 3, "it would have taken them earlier");
        assert_eq!(level(10, 0.3, false), FAST);
        assert_eq!(level(500, 0.1, true), FAST);
        assert_eq!(level(800, 0.6, true), FAST);
        assert_eq!(level(1700, 0.0, true), FAST);
        assert_eq!(level(1800, 0.0, true), 3);
        assert_eq!(pace.fast_bytes, 4000);
    }

    #[test]
    fn a_level_that_is_faster_stays() {
        assert_eq!(Pace::new(-7).level(Instant::now(), 1, 1.0, false), -7);
    }
}
