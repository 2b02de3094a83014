//! Event of perf_event_open(2): its description, and the system call.

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

/// `struct perf_event_attr` of Linux 4.8 (PERF_ATTR_SIZE_VER5), include/uapi/linux/perf_event.h.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Attributes {
    pub kind: u32,
    /// Size of the structure, filled in by [`open`].
    pub size: u32,
    pub config: u64,
    pub sample_period_or_frequency: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup_watermark: u32,
    pub breakpoint_type: u32,
    pub config1: u64,
    pub config2: u64,
    pub branch_sample_type: u64,
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clock: i32,
    pub sample_regs_intr: u64,
    pub aux_watermark: u32,
    pub sample_max_stack: u16,
    pub reserved: u16,
}

pub(crate) const PERF_TYPE_HARDWARE: u32 = 0;
pub(crate) const PERF_TYPE_SOFTWARE: u32 = 1;

pub(crate) const COUNT_HW_CPU_CYCLES: u64 = 0;
pub(crate) const COUNT_HW_INSTRUCTIONS: u64 = 1;
pub(crate) const COUNT_HW_CACHE_MISSES: u64 = 3;
pub(crate) const COUNT_HW_BRANCH_MISSES: u64 = 5;
pub(crate) const COUNT_SW_CPU_CLOCK: u64 = 0;
pub(crate) const COUNT_SW_CONTEXT_SWITCHES: u64 = 3;

pub(crate) const SAMPLE_IP: u64 = 1 << 0;
pub(crate) const SAMPLE_TID: u64 = 1 << 1;
pub(crate) const SAMPLE_TIME: u64 = 1 << 2;
pub(crate) const SAMPLE_CALLCHAIN: u64 = 1 << 5;
pub(crate) const SAMPLE_CPU: u64 = 1 << 7;
pub(crate) const SAMPLE_PERIOD: u64 = 1 << 8;
pub(crate) const SAMPLE_REGS_USER: u64 = 1 << 12;
pub(crate) const SAMPLE_STACK_USER: u64 = 1 << 13;

pub(crate) const DISABLED: u64 = 1 << 0;
pub(crate) const INHERIT: u64 = 1 << 1;
pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
pub(crate) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Otherwise an idle CPU gives samples of its idle loop.
pub(crate) const EXCLUDE_IDLE: u64 = 1 << 7;
pub(crate) const MMAP: u64 = 1 << 8;
pub(crate) const COMM: u64 = 1 << 9;
pub(crate) const FREQUENCY: u64 = 1 << 10;
pub(crate) const ENABLE_ON_EXEC: u64 = 1 << 12;
pub(crate) const TASK: u64 = 1 << 13;
pub(crate) const WATERMARK: u64 = 1 << 14;
pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;
pub(crate) const EXCLUDE_CALLCHAIN_KERNEL: u64 = 1 << 21;
pub(crate) const MMAP2: u64 = 1 << 23;
pub(crate) const COMM_EXEC: u64 = 1 << 24;
pub(crate) const USE_CLOCK: u64 = 1 << 25;
pub(crate) const CONTEXT_SWITCH: u64 = 1 << 26;
/// Linux 5.12: mappings come with the build id of their file instead of its inode.
pub(crate) const BUILD_ID: u64 = 1 << 34;

/// The calling thread, as a `pid` of [`open`].
pub(crate) const THIS_THREAD: i32 = 0;
/// Value of `pid` in [`open`] for any thread.
pub(crate) const ANY_THREAD: i32 = -1;
/// Value of `cpu` in [`open`] for any CPU.
pub(crate) const ANY_CPU: i32 = -1;

/// Makes an event of the thread `pid` on `cpu`.
pub(crate) fn open(attributes: Attributes, pid: i32, cpu: i32) -> io::Result<File> {
    const NO_GROUP: i32 = -1;
    const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
    let attributes = Attributes { size: size_of::<Attributes>() as u32, ..attributes };
    // SAFETY: `attributes` is as long as it says and outlives the call; nothing else owns the new descriptor.
    unsafe {
        let number = libc::SYS_perf_event_open;
        match libc::syscall(number, &raw const attributes, pid, cpu, NO_GROUP, PERF_FLAG_FD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(File::from_raw_fd(descriptor as i32)),
        }
    }
}
