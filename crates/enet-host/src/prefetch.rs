//! Memory that will be used soon.

/// Bytes that a cache fetches at once.
const LINE_BYTES: usize = 64;

/// Has `bytes` bytes at `place` brought near, if the processor knows how; any address will do.
#[inline]
pub fn prefetch(place: *const u8, bytes: usize) {
    let start = place.addr() % LINE_BYTES;
    for line in (0..start + bytes).step_by(LINE_BYTES) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint, which reads nothing as far as the program can tell: no address is wrong for it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(line).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}
