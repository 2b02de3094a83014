//! Times and offsets in the widths that the names of libc have.
//!
//! On 64-bit architectures a function and its variant for large files (`pread64`) are one, and time has 64 bits. On i386 they
//! are two, with offsets of 32 and of 64 bits, and programs built with `-D_TIME_BITS=64` call a third one (`__clock_gettime64`).
//! The `hooks!` macro makes each of those a hook of its own from the same body, in which the names of types are those of one of
//! the modules here.

use libc::{timespec, timeval};

/// A time in whatever type a call has.
pub trait Time {
    /// Time as seconds and nanoseconds.
    fn parts(&self) -> (i64, i64);

    /// The time that is so many nanoseconds from zero.
    fn of_nanoseconds(nanoseconds: i64) -> Self;

    /// Time as nanoseconds since zero.
    #[inline(always)]
    fn nanoseconds(&self) -> i64 {
        let (seconds, nanoseconds) = self.parts();
        seconds * SECOND + nanoseconds
    }
}

/// Number of nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;

macro_rules! times {
    ($($type:ty: $seconds:ident, $part:ident of $nanoseconds:literal;)*) => {
        $(impl Time for $type {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast, reason = "fields of i386 have 32 bits")]
            fn parts(&self) -> (i64, i64) {
                (self.$seconds as i64, self.$part as i64 * $nanoseconds)
            }

            #[inline(always)]
            fn of_nanoseconds(nanoseconds: i64) -> $type {
                // SAFETY: all zero is a valid time. Some have padding, which is zero then.
                let mut time: $type = unsafe { std::mem::zeroed() };
                time.$seconds = nanoseconds.div_euclid(SECOND) as _;
                time.$part = (nanoseconds.rem_euclid(SECOND) / $nanoseconds) as _;
                time
            }
        })*
    };
}

times! {
    timespec: tv_sec, tv_nsec of 1;
    timeval: tv_sec, tv_usec of 1000;
}

/// File status in whatever type a call has.
pub trait Status {
    /// Sets each time of the file to what `told` makes of its seconds and nanoseconds.
    fn map_times(&mut self, told: impl Fn(i64, i64) -> (i64, i64));
}

macro_rules! statuses {
    ($($type:ty),*) => {
        $(impl Status for $type {
            #[allow(clippy::unnecessary_cast, reason = "fields of i386 have 32 bits")]
            fn map_times(&mut self, told: impl Fn(i64, i64) -> (i64, i64)) {
                for (seconds, nanoseconds) in [
                    (&mut self.st_atime, &mut self.st_atime_nsec),
                    (&mut self.st_mtime, &mut self.st_mtime_nsec),
                    (&mut self.st_ctime, &mut self.st_ctime_nsec),
                ] {
                    let time = told(*seconds as i64, *nanoseconds as i64);
                    (*seconds, *nanoseconds) = (time.0 as _, time.1 as _);
                }
            }
        })*
    };
}

statuses!(libc::stat);

#[cfg(target_arch = "x86")]
statuses!(libc::stat64);

#[cfg(target_arch = "x86")]
impl Status for time64::Stat {
    fn map_times(&mut self, told: impl Fn(i64, i64) -> (i64, i64)) {
        self.times = self.times.map(|time| {
            let (tv_sec, tv_nsec) = told(time.tv_sec, time.tv_nsec.into());
            time64::timespec { tv_sec, tv_nsec: tv_nsec as i32, ..time }
        });
    }
}

/// Seconds, or an offset in a file, whatever the type.
#[inline(always)]
pub fn wide(value: impl Into<i64>) -> i64 {
    value.into()
}

#[cfg(target_arch = "x86")]
times! {
    time64::timespec: tv_sec, tv_nsec of 1;
    time64::timeval: tv_sec, tv_usec of 1000;
}

/// Types as the functions without a suffix have them.
pub mod plain {
    pub use libc::{itimerspec, itimerval, off_t, rusage, time_t, timespec, timeval};
    /// File status that `fstat` and its relatives return.
    pub type Stat = libc::stat;
}

/// Types of the functions for large files.
#[cfg(target_arch = "x86")]
pub mod large {
    pub use libc::{itimerspec, itimerval, off64_t as off_t, rusage, time_t, timespec, timeval};
    /// File status that `fstat` and its relatives return.
    pub type Stat = libc::stat64;
}

/// Types of the functions of programs that are built with `-D_TIME_BITS=64` (`<struct___timespec64.h>` and others of glibc).
#[cfg(target_arch = "x86")]
#[allow(non_camel_case_types, reason = "the names that C has")]
pub mod time64 {
    pub use libc::off64_t as off_t;

    /// Time in seconds, of 64 bits.
    pub type time_t = i64;

    /// `struct __timespec64`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct timespec {
        /// Seconds of the time.
        pub tv_sec: i64,
        /// Nanoseconds of the time, below 1,000,000,000.
        pub tv_nsec: i32,
        /// Padding without a meaning.
        pub padding: i32,
    }

    /// `struct __timeval64`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct timeval {
        /// Seconds of the time.
        pub tv_sec: i64,
        /// Microseconds of the time, below 1,000,000.
        pub tv_usec: i64,
    }

    /// `struct __itimerspec64`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct itimerspec {
        /// Interval between two expirations; zero for one alone.
        pub it_interval: timespec,
        /// Time to the first expiration.
        pub it_value: timespec,
    }

    /// `struct __itimerval64`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct itimerval {
        /// Interval between two expirations; zero for one alone.
        pub it_interval: timeval,
        /// Time to the first expiration.
        pub it_value: timeval,
    }

    /// `struct __rusage64`: two times and fourteen numbers.
    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct rusage {
        /// CPU time in the program.
        pub ru_utime: timeval,
        /// CPU time in the kernel.
        pub ru_stime: timeval,
        /// Other counters, as `getrusage` has them.
        pub others: [libc::c_long; 14],
    }

    /// `struct __stat64_t64`: numbers, and the times of the last access, content change and status change.
    #[repr(C, packed(4))]
    pub struct Stat {
        others: [u32; 15],
        pub(super) times: [timespec; 3],
    }
}
