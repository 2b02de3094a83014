//! Milliseconds as programs see and set them. Hosts have clocks of their own, which programs cannot set.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::exported;

/// Offset that is added to the time since the first call.
static OFFSET_MS: AtomicU32 = AtomicU32::new(0);

/// Time of the first call.
pub fn started() -> Instant {
    static STARTED: OnceLock<Instant> = OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}

fn elapsed_ms() -> u32 {
    ms(started().elapsed())
}

/// The time in milliseconds, which wraps.
pub fn now_ms() -> u32 {
    elapsed_ms().wrapping_add(OFFSET_MS.load(Relaxed))
}

/// Milliseconds as programs have them: those that wrap.
#[inline]
pub fn ms(time: Duration) -> u32 {
    (time.as_secs() as u32).wrapping_mul(1000).wrapping_add(time.subsec_millis())
}

/// The time that was reported to programs, or would have been, when `elapsed` had passed since [`started`].
#[inline]
pub fn at_ms(elapsed: Duration) -> u32 {
    ms(elapsed).wrapping_add(OFFSET_MS.load(Relaxed))
}

exported! {
    fn enet_time_get() -> u32, else 0, { now_ms() }

    fn enet_time_set(now_ms: u32) -> (), else (), {
        OFFSET_MS.store(now_ms.wrapping_sub(elapsed_ms()), Relaxed);
    }
}
