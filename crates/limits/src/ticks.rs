//! The clock that times every sample.

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`, which no time daemon slows or speeds: clock_gettime(2).
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec of our own; the clock exists since Linux 2.6.28, so that the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Difference of two consecutive clock reads, in nanoseconds: the minimum of several hundred.
pub fn overhead_ns() -> u64 {
    (0..400).map(|_| now_ns()).collect::<Vec<_>>().windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let times: Vec<u64> = (0..1000).map(|_| now_ns()).collect();
        assert!(times.is_sorted());
    }
}
