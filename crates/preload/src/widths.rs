//! Times and offsets in the widths that the names of libc have.
//!
//! On 64-bit architectures a function and its variant for large files (`pread64`) are one, and time has 64 bits. On i386 they
//! are two, with offsets of 32 and of 64 bits, and programs built with `-D_TIME_BITS=64` call a third one (`__clock_gettime64`).
//! The `hooks!` macro makes each of those a hook of its own from the same body, in which the names of types are those of one of
//! the modules here.

use libc::{timespec, timeval};
use std::ffi::CStr;

/// A time in whatever type a call has.
pub trait Time {
    /// Time as seconds and nanoseconds.
    fn parts(&self) -> (i64, i64);

    /// The time that is this many nanoseconds from zero.
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

/// What the status of a file has that depends on when and where the file was made.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct FileMarks {
    /// Number of the device.
    pub device: u64,
    /// Number of the file on it.
    pub inode: u64,
    /// Blocks of 512 bytes that the file occupies.
    pub blocks: u64,
    /// Last access, change of content, change of status and birth, in nanoseconds since 1970; 0 where there is none.
    pub times: [i64; 4],
}

/// File status in whatever type a call has.
pub trait Status {
    /// What of it depends on when and where the file was made.
    fn marks(&self) -> FileMarks;

    /// What distinguishes it from other files in every run: type and permissions, and size.
    fn kind(&self) -> [u8; 12];

    /// Sets what depends on when and where the file was made.
    fn set_marks(&mut self, marks: &FileMarks);

    /// Sets each time of the file to what `shift` makes of its seconds and nanoseconds.
    fn map_times(&mut self, shift: impl FnMut(i64, i64) -> (i64, i64));
}

/// Mode and size of a file in one.
fn kind(mode: u32, size: u64) -> [u8; 12] {
    let mut kind = [0; 12];
    kind[..4].copy_from_slice(&mode.to_le_bytes());
    kind[4..].copy_from_slice(&size.to_le_bytes());
    kind
}

/// A time of a file in nanoseconds.
fn joined(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(SECOND).saturating_add(nanoseconds)
}

/// Seconds and nanoseconds of a time of a file.
fn parted(nanoseconds: i64) -> (i64, i64) {
    (nanoseconds.div_euclid(SECOND), nanoseconds.rem_euclid(SECOND))
}

macro_rules! statuses {
    ($($type:ty),*) => {
        $(impl Status for $type {
            #[allow(clippy::unnecessary_cast, reason = "fields of i386 have 32 bits")]
            fn marks(&self) -> FileMarks {
                FileMarks {
                    device: self.st_dev,
                    inode: self.st_ino as u64,
                    blocks: self.st_blocks as u64,
                    times: [
                        joined(self.st_atime as i64, self.st_atime_nsec as i64),
                        joined(self.st_mtime as i64, self.st_mtime_nsec as i64),
                        joined(self.st_ctime as i64, self.st_ctime_nsec as i64),
                        0,
                    ],
                }
            }

            #[allow(clippy::unnecessary_cast, reason = "fields of i386 have 32 bits")]
            fn kind(&self) -> [u8; 12] {
                kind(self.st_mode, self.st_size as u64)
            }

            #[allow(clippy::unnecessary_cast, reason = "fields of i386 have 32 bits")]
            fn set_marks(&mut self, marks: &FileMarks) {
                self.st_dev = marks.device;
                (self.st_ino, self.st_blocks) = (marks.inode as _, marks.blocks as _);
                let mut times = marks.times.into_iter();
                self.map_times(|_, _| parted(times.next().unwrap_or_default()));
            }

            #[allow(clippy::unnecessary_cast, reason = "fields of i386 have 32 bits")]
            fn map_times(&mut self, mut shift: impl FnMut(i64, i64) -> (i64, i64)) {
                for (seconds, nanoseconds) in [
                    (&mut self.st_atime, &mut self.st_atime_nsec),
                    (&mut self.st_mtime, &mut self.st_mtime_nsec),
                    (&mut self.st_ctime, &mut self.st_ctime_nsec),
                ] {
                    let time = shift(*seconds as i64, *nanoseconds as i64);
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
    fn marks(&self) -> FileMarks {
        let times = self.times.map(|time| joined(time.tv_sec, time.tv_nsec.into()));
        FileMarks {
            device: self.device,
            inode: self.inode,
            blocks: self.blocks,
            times: [times[0], times[1], times[2], 0],
        }
    }

    fn kind(&self) -> [u8; 12] {
        kind(self.mode, self.size)
    }

    fn set_marks(&mut self, marks: &FileMarks) {
        (self.device, self.inode, self.blocks) = (marks.device, marks.inode, marks.blocks);
        let mut times = marks.times.into_iter();
        self.map_times(|_, _| parted(times.next().unwrap_or_default()));
    }

    fn map_times(&mut self, mut shift: impl FnMut(i64, i64) -> (i64, i64)) {
        self.times = self.times.map(|time| {
            let (tv_sec, tv_nsec) = shift(time.tv_sec, time.tv_nsec.into());
            time64::timespec { tv_sec, tv_nsec: tv_nsec as i32, ..time }
        });
    }
}

impl Status for libc::statx {
    fn marks(&self) -> FileMarks {
        let times = [&self.stx_atime, &self.stx_mtime, &self.stx_ctime, &self.stx_btime];
        FileMarks {
            device: u64::from(self.stx_dev_major) << 32 | u64::from(self.stx_dev_minor),
            inode: self.stx_ino,
            blocks: self.stx_blocks,
            times: times.map(|time| joined(time.tv_sec, time.tv_nsec.into())),
        }
    }

    fn kind(&self) -> [u8; 12] {
        kind(self.stx_mode.into(), self.stx_size)
    }

    fn set_marks(&mut self, marks: &FileMarks) {
        (self.stx_dev_major, self.stx_dev_minor) = ((marks.device >> 32) as u32, marks.device as u32);
        (self.stx_ino, self.stx_blocks) = (marks.inode, marks.blocks);
        let mut times = marks.times.into_iter();
        self.map_times(|_, _| parted(times.next().unwrap_or_default()));
    }

    fn map_times(&mut self, mut shift: impl FnMut(i64, i64) -> (i64, i64)) {
        for time in [&mut self.stx_atime, &mut self.stx_mtime, &mut self.stx_ctime, &mut self.stx_btime] {
            let (seconds, nanoseconds) = shift(time.tv_sec, time.tv_nsec.into());
            (time.tv_sec, time.tv_nsec) = (seconds, nanoseconds as u32);
        }
    }
}

/// What the status of a file system has that changes with all that uses it: blocks, blocks that are free, and that are free for
/// this user, and the same of files.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct FileSystemMarks(pub [u64; 6]);

/// Status of a file system in whatever type a call has.
pub trait FileSystem {
    /// What of it changes.
    fn marks(&self) -> FileSystemMarks;

    /// Sets what changes.
    fn set_marks(&mut self, marks: &FileSystemMarks);
}

macro_rules! file_systems {
    ($($type:ty: $($available:ident)?;)*) => {
        $(impl FileSystem for $type {
            #[allow(clippy::unnecessary_cast, reason = "fields of i386 have 32 bits")]
            fn marks(&self) -> FileSystemMarks {
                let files = self.f_ffree as u64;
                $(let files = (files, self.$available as u64).1;)?
                FileSystemMarks([
                    self.f_blocks as u64,
                    self.f_bfree as u64,
                    self.f_bavail as u64,
                    self.f_files as u64,
                    self.f_ffree as u64,
                    files,
                ])
            }

            fn set_marks(&mut self, marks: &FileSystemMarks) {
                let FileSystemMarks([blocks, free, available, files, files_free, _files_available]) = *marks;
                (self.f_blocks, self.f_bfree, self.f_bavail) = (blocks as _, free as _, available as _);
                (self.f_files, self.f_ffree) = (files as _, files_free as _);
                $(self.$available = _files_available as _;)?
            }
        })*
    };
}

file_systems! {
    libc::statfs:;
    libc::statvfs: f_favail;
}

#[cfg(target_arch = "x86")]
file_systems! {
    libc::statfs64:;
    libc::statvfs64: f_favail;
}

/// Entry of a directory in whatever type a call has.
pub trait DirectoryEntry {
    /// Number of the file.
    fn inode(&self) -> u64;

    /// Name of the file.
    fn name(&self) -> &CStr;
}

macro_rules! entries {
    ($($type:ty),*) => {
        $(impl DirectoryEntry for $type {
            #[allow(clippy::unnecessary_cast, reason = "fields of i386 have 32 bits")]
            fn inode(&self) -> u64 {
                self.d_ino as u64
            }

            fn name(&self) -> &CStr {
                // SAFETY: libc ends the names of entries by a zero byte.
                unsafe { CStr::from_ptr(self.d_name.as_ptr()) }
            }
        })*
    };
}

entries!(libc::dirent, libc::dirent64);

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
    /// Entry of a directory.
    pub type Entry = libc::dirent;
    /// Status of a file system that `fstatfs` and its relative return.
    pub type FileSystemStatus = libc::statfs;
    /// Status of a file system that `fstatvfs` and its relative return.
    pub type VirtualStatus = libc::statvfs;
}

/// Types of the functions for large files.
#[cfg(target_arch = "x86")]
pub mod large {
    pub use libc::{itimerspec, itimerval, off64_t as off_t, rusage, time_t, timespec, timeval};
    /// File status that `fstat` and its relatives return.
    pub type Stat = libc::stat64;
    /// Entry of a directory.
    pub type Entry = libc::dirent64;
    /// Status of a file system that `fstatfs` and its relative return.
    pub type FileSystemStatus = libc::statfs64;
    /// Status of a file system that `fstatvfs` and its relative return.
    pub type VirtualStatus = libc::statvfs64;
}

/// Types of the functions of programs that are built with `-D_TIME_BITS=64` (`<struct___timespec64.h>` and others of glibc).
#[cfg(target_arch = "x86")]
#[allow(non_camel_case_types, reason = "the names that C has")]
pub mod time64 {
    pub use super::large::{Entry, FileSystemStatus, VirtualStatus};
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
        pub(super) device: u64,
        pub(super) inode: u64,
        pub(super) mode: u32,
        others: [u32; 5],
        pub(super) size: u64,
        block_bytes: u32,
        pub(super) blocks: u64,
        pub(super) times: [timespec; 3],
    }
}
