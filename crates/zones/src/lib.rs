//! Zones: named stretches of a program that is measured. How often each ran, below which other, how long with and
//! without what ran inside it, and how many bytes it worked on.
//!
//! ```
//! use prony_zones::zone;
//!
//! fn tick(packets: &[Vec<u8>]) {
//!     zone!("tick");
//!     for packet in packets {
//!         zone!("unpack", bytes = packet.len());
//!     }
//! }
//! # tick(&[vec![0; 100]]);
//! # prony_zones::write_to_end();
//! ```
//!
//! With the feature `on`, [`write_to_end`] writes what was found, and `prony profile zones FILE` shows it; without it
//! `zone!` is nothing. The same in C and C++: `include/prony_zones.h`. Both write the format that
//! `docs/formats/profile.md` draws. Zones nest as their scopes do; a zone that runs inside itself, directly or through
//! others, counts its time once.
//!
//! This crate lives in the measured program, so it depends on nothing and its unsafe code is the one instruction that
//! reads the time-stamp counter.

#[cfg(feature = "on")]
mod report;
#[cfg(feature = "on")]
mod tree;

#[cfg(feature = "on")]
pub use report::{Written, write, write_to_end};
#[cfg(feature = "on")]
#[doc(hidden)]
pub use tree::{Cache, Scope, enter};

/// The zone from here to the end of the enclosing block; `bytes`: how many it works on, for bytes a second.
#[cfg(feature = "on")]
#[macro_export]
macro_rules! zone {
    ($name:literal) => {
        $crate::zone!($name, bytes = 0)
    };
    ($name:literal, bytes = $bytes:expr) => {
        let _zone = {
            ::std::thread_local! {
                static CACHE: $crate::Cache = const { $crate::Cache::new() };
            }
            CACHE.with(|cache| $crate::enter(cache, $name, $bytes as u64))
        };
    };
}

/// Nothing, as the feature `on` is off.
#[cfg(not(feature = "on"))]
#[macro_export]
macro_rules! zone {
    ($name:literal) => {};
    ($name:literal, bytes = $bytes:expr) => {};
}

/// Nothing, as the feature `on` is off.
#[cfg(not(feature = "on"))]
pub fn write_to_end() {}

/// Ticks of the counter that times zones: one rate on all cores, no system call.
///
/// Not ordered against the instructions around it: a fence would cost more than most zones.
#[inline(always)]
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
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64)
    }
}
