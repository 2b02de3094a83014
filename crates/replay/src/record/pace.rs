//! How much a recorder does: it compresses less while the server writes its records faster than that takes, and rests for longer
//! where many records come, as each time it wakes up its caches are cold.

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

/// Rest of the recorder where little is written, also until it looks for the end of the server and for signals.
const SHORT_REST: Duration = Duration::from_millis(5);
/// Its rest at most.
const LONG_REST: Duration = Duration::from_millis(50);
/// Bytes of records a second from which on it rests for longer.
const MANY: f64 = 4e6;
/// Share of a ring that may be filled meanwhile.
const FILLED_MEANWHILE: f64 = 0.125;
/// Bytes that may come meanwhile: more are in no cache near the recorder when it reads them for the second time.
const MOST_AT_ONCE: f64 = (512 << 10) as f64;

/// Level of compression by the load, and CPU time since the recording began.
#[derive(Debug)]
pub(super) struct Pace {
    cpu_before: Duration,
    usual: i32,
    /// Until then, records are compressed fast.
    fast_until: Option<Instant>,
    /// Bytes of the records that were compressed fast.
    pub(super) fast_bytes: u64,
    /// When the rings were drained last.
    drained: Instant,
}

impl Pace {
    pub(super) fn new(usual: i32) -> Pace {
        Pace { cpu_before: cpu_time(), usual, fast_until: None, fast_bytes: 0, drained: Instant::now() }
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

    /// Time until the rings are to be drained again. `bytes` came now, since they were drained before, and filled one to this share.
    pub(super) fn rest(&mut self, now: Instant, bytes: usize, fullest: f64) -> Duration {
        let since = now.duration_since(std::mem::replace(&mut self.drained, now)).as_secs_f64();
        if bytes as f64 <= since * MANY {
            return SHORT_REST;
        }
        let as_long = since * (FILLED_MEANWHILE / fullest).min(MOST_AT_ONCE / bytes as f64);
        Duration::from_secs_f64(as_long.clamp(SHORT_REST.as_secs_f64(), LONG_REST.as_secs_f64()))
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
    fn a_rest_is_longer_where_much_is_written_and_ends_before_it_is_too_much() {
        let mut pace = Pace::new(1);
        let mut now = pace.drained;
        let mut rest = |ms, bytes, fullest| {
            now += Duration::from_millis(ms);
            pace.rest(now, bytes, fullest).as_millis()
        };
        assert_eq!(rest(5, 0, 0.0), 5, "nothing came");
        assert_eq!(rest(5, 19_999, 0.01), 5);
        assert_eq!(rest(5, 20_001, 0.01), 50);
        assert_eq!(rest(50, 1 << 19, 0.0625), 50);
        assert_eq!(rest(50, 1 << 21, 0.25), 12, "four times as fast");
        assert_eq!(rest(12, 1 << 24, 1.0), 5);
        assert_eq!(rest(20, 100_000, 0.25), 10, "a small ring");
        assert_eq!(rest(0, 0, 0.0), 5, "no time has passed");
        assert_eq!(rest(0, 1, 0.01), 5);
    }

    #[test]
    fn a_level_that_is_faster_stays() {
        assert_eq!(Pace::new(-7).level(Instant::now(), 1, 1.0, false), -7);
    }
}
