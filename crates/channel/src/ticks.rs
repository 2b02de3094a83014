//! The clock that stamps records.
#![allow(unsafe_code, reason = "the counter is read by an instruction")]

#[cfg(target_arch = "aarch64")]
use std::arch::asm;

/// Ticks of the time-stamp counter: one rate, all cores, no system call.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `rdtsc` has no operand and exists on every x86-64.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "x86")]
    // SAFETY: as above, which is what runs servers of i386.
    unsafe {
        std::arch::x86::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: user space may read the virtual counter.
    unsafe {
        let ticks: u64;
        asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack));
        ticks
    }
}
