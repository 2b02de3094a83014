//! The clock of the device: the time-stamp counter, in nanoseconds.
#![allow(unsafe_code, reason = "the counter is read by an instruction")]

use std::time::{Duration, Instant};

/// Duration of the calibration. The counter's rate is then known to about 1 in 10⁵.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Converts ticks to nanoseconds since the clock was made.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: u64,
    hz: f64,
    /// Nanoseconds for a tick, with 32 bits behind the point.
    scale: u64,
}

impl Clock {
    /// Measures the rate of the counter against `CLOCK_MONOTONIC`.
    pub fn calibrate() -> Clock {
        let (from, start) = (Instant::now(), ticks());
        std::thread::sleep(CALIBRATION);
        let (elapsed, end) = (from.elapsed(), ticks());
        let hz = (end - start) as f64 / elapsed.as_secs_f64();
        Clock { start, hz, scale: (1e9 / hz * (1u64 << 32) as f64) as u64 }
    }

    /// Rate of the counter, in ticks per second.
    pub fn hz(&self) -> f64 {
        self.hz
    }

    /// Nanoseconds since the clock was made.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.ns(ticks().wrapping_sub(self.start))
    }

    /// Duration of a number of ticks, in nanoseconds.
    #[inline]
    pub fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }
}

/// The counter. On x86-64 the time-stamp counter, which counts at one rate on all cores whatever their frequency is.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `rdtsc` has no operand and exists on every x86-64.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: user space may read the virtual counter.
    unsafe {
        let ticks: u64;
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack));
        ticks
    }
}
