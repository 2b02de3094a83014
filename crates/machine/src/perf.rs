//! Stack samples from the kernel: events of `perf_event_open(2)` and the rings they write to.
//!
//! An event belongs to one thread, or to all, and to one CPU. What it finds goes to a ring in memory
//! that both sides see; [`Ring::drain`] hands the records out as the kernel wrote them. Decoding them is
//! the reader's.

pub(crate) mod event;
mod ring;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

pub use ring::{Ring, wait};

use event::{
    ANY_THREAD, Attributes, BUILD_ID, COMM, COMM_EXEC, CONTEXT_SWITCH, COUNT_HW_CPU_CYCLES, COUNT_SW_CONTEXT_SWITCHES,
    COUNT_SW_CPU_CLOCK, DISABLED, EXCLUDE_CALLCHAIN_KERNEL, EXCLUDE_HYPERVISOR, EXCLUDE_IDLE, EXCLUDE_KERNEL,
    FREQUENCY, INHERIT, MMAP, MMAP2, PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, SAMPLE_CALLCHAIN, SAMPLE_CPU,
    SAMPLE_ID_ALL, SAMPLE_IP, SAMPLE_PERIOD, SAMPLE_REGS_USER, SAMPLE_STACK_USER, SAMPLE_TID, SAMPLE_TIME, TASK,
    THIS_THREAD, USE_CLOCK, WATERMARK,
};

/// Trigger of samples: a timer, cycles, or switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// A timer that runs while the thread has the CPU: `PERF_COUNT_SW_CPU_CLOCK`.
    CpuClock,
    /// CPU cycles, where the machine counts them: `PERF_COUNT_HW_CPU_CYCLES`.
    Cycles,
    /// Context switches of the thread: `PERF_COUNT_SW_CONTEXT_SWITCHES`.
    Switches,
}

/// Tasks that an event follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// This thread, and the tasks that it starts from now on. There is no "from its `execve` on" that would hold for a
    /// second child: the kernel exchanges the events of a thread and its child at a switch between them, and the flag
    /// is spent with the first `execve`.
    ThisThread,
    /// A thread that runs, and what it starts from now on.
    Thread(i32),
    /// Any process on the CPU.
    Everyone,
}

/// Options of sampling: trigger and contents of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Event that triggers a sample.
    pub trigger: Trigger,
    /// Samples a second of a thread that runs; not used for [`Trigger::Switches`], of which each is taken.
    pub frequency_hz: u32,
    /// Stacks of the kernel too.
    pub kernel: bool,
    /// Copy this many bytes of the user's stack, and the registers that unwinding starts from; a multiple of 8.
    pub stack_bytes: Option<u32>,
    /// Report mappings, names, forks and ends of threads.
    pub tracking: bool,
}

/// Reasons why there are no samples.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// The kernel does not let us.
    #[error(
        "the kernel refused: expected kernel.perf_event_paranoid at most {needed}, or CAP_PERFMON; found {}",
        found.map_or("none".to_owned(), |found| found.to_string())
    )]
    NotPermitted {
        /// The highest value of `kernel.perf_event_paranoid` that permits it.
        needed: i32,
        /// Current value of `kernel.perf_event_paranoid`, if it can be read.
        found: Option<i32>,
    },
    /// The kernel does not let us, though its setting would: the process is another user's, or a filter of system calls
    /// is in the way.
    #[error("the kernel refused, although kernel.perf_event_paranoid = {found} permits it to the owner of a process")]
    Refused {
        /// Current value of `kernel.perf_event_paranoid`.
        found: i32,
    },
    /// The rings of this user are larger than the kernel allows.
    #[error("no memory for {kilobytes} kB of ring: expected a larger kernel.perf_event_mlock_kb, found {}", found.map_or("none".to_owned(), |found| found.to_string()))]
    NoMemory {
        /// Size of one ring, in kB.
        kilobytes: usize,
        /// Current value of `kernel.perf_event_mlock_kb`, if it can be read.
        found: Option<i32>,
    },
    /// The machine does not count this.
    #[error("this machine does not support this event")]
    NotCounted,
    /// The thread no longer exists.
    #[error("no such process")]
    NoThread,
    /// Something else of the system failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// What each sample holds, in this order: instruction pointer, process and thread, time, CPU, period, call
/// chain.
const SAMPLE_TYPE: u64 = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_PERIOD | SAMPLE_CALLCHAIN;

/// Deeper stacks are cut; `kernel.perf_event_max_stack` may be lower.
const STACK_DEPTH_MAX: u16 = 127;

/// Registers that unwinding starts from, `enum perf_event_x86_regs`: frame pointer, stack pointer,
/// instruction pointer, in the order in which a sample has them.
#[cfg(target_arch = "x86_64")]
const UNWIND_REGISTERS: u64 = {
    const BP: u64 = 1 << 6;
    const SP: u64 = 1 << 7;
    const IP: u64 = 1 << 8;
    BP | SP | IP
};
/// `enum perf_event_arm_regs`: x29, link register, stack pointer, program counter.
#[cfg(target_arch = "aarch64")]
const UNWIND_REGISTERS: u64 = {
    const X29: u64 = 1 << 29;
    const LR: u64 = 1 << 30;
    const SP: u64 = 1 << 31;
    const PC: u64 = 1 << 32;
    X29 | LR | SP | PC
};
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const UNWIND_REGISTERS: u64 = 0;

impl Sampling {
    fn attributes(&self, target: Target, watermark_bytes: usize, build_ids: bool) -> Attributes {
        let (kind, config) = match self.trigger {
            Trigger::CpuClock => (PERF_TYPE_SOFTWARE, COUNT_SW_CPU_CLOCK),
            Trigger::Cycles => (PERF_TYPE_HARDWARE, COUNT_HW_CPU_CYCLES),
            Trigger::Switches => (PERF_TYPE_SOFTWARE, COUNT_SW_CONTEXT_SWITCHES),
        };
        let mut attributes = Attributes {
            kind,
            config,
            sample_type: SAMPLE_TYPE,
            flags: DISABLED | EXCLUDE_HYPERVISOR | EXCLUDE_IDLE | WATERMARK | SAMPLE_ID_ALL | USE_CLOCK,
            wakeup_watermark: watermark_bytes as u32,
            clock: libc::CLOCK_MONOTONIC,
            sample_max_stack: STACK_DEPTH_MAX,
            ..Attributes::default()
        };
        match self.trigger {
            Trigger::Switches => {
                attributes.sample_period_or_frequency = 1;
                attributes.flags |= CONTEXT_SWITCH;
            }
            Trigger::CpuClock | Trigger::Cycles => {
                attributes.sample_period_or_frequency = u64::from(self.frequency_hz);
                attributes.flags |= FREQUENCY;
            }
        }
        match target {
            Target::ThisThread | Target::Thread(_) => attributes.flags |= INHERIT,
            Target::Everyone => {}
        }
        if !self.kernel {
            attributes.flags |= EXCLUDE_KERNEL | EXCLUDE_CALLCHAIN_KERNEL;
        }
        if self.tracking {
            attributes.flags |= MMAP | MMAP2 | COMM | COMM_EXEC | TASK;
            if build_ids {
                attributes.flags |= BUILD_ID;
            }
        }
        if let Some(bytes) = self.stack_bytes {
            attributes.sample_type |= SAMPLE_REGS_USER | SAMPLE_STACK_USER;
            attributes.sample_regs_user = UNWIND_REGISTERS;
            attributes.sample_stack_user = bytes;
        }
        attributes
    }

    /// The highest `kernel.perf_event_paranoid` under which a user without rights may do this
    /// (Documentation/admin-guide/sysctl/kernel.rst).
    fn paranoid_at_most(&self, target: Target) -> i32 {
        match (target, self.kernel) {
            (Target::Everyone, _) => 0,
            (_, true) => 1,
            (_, false) => 2,
        }
    }
}

fn open(sampling: &Sampling, target: Target, cpu: usize, watermark_bytes: usize) -> Result<File, PerfError> {
    let system_call = |build_ids| {
        let thread = match target {
            Target::ThisThread => THIS_THREAD,
            Target::Thread(tid) => tid,
            Target::Everyone => ANY_THREAD,
        };
        event::open(sampling.attributes(target, watermark_bytes, build_ids), thread, cpu as i32)
    };
    let opened = match system_call(true) {
        // A kernel before 5.12 does not know the flag; for anything else the second answer is the same.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL)) => system_call(false),
        opened => opened,
    };
    opened.map_err(|error| opening_failed(error, sampling.paranoid_at_most(target)))
}

/// Why an event is not there. `needed`: the highest `kernel.perf_event_paranoid` under which anyone may have it.
pub(crate) fn opening_failed(error: io::Error, needed: i32) -> PerfError {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => refused(needed, setting("perf_event_paranoid")),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => PerfError::NotCounted,
        Some(libc::ESRCH) => PerfError::NoThread,
        _ => PerfError::System(error),
    }
}

fn refused(needed: i32, found: Option<i32>) -> PerfError {
    match found {
        Some(found) if found <= needed => PerfError::Refused { found },
        found => PerfError::NotPermitted { needed, found },
    }
}

/// Value of a setting below `/proc/sys/kernel`, as a number.
fn setting(name: &str) -> Option<i32> {
    std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
}

/// Number of the request `_IO('$', number)`.
const fn request(number: libc::Ioctl) -> libc::Ioctl {
    (b'$' as libc::Ioctl) << 8 | number
}

fn enable(event: &File) -> io::Result<()> {
    const PERF_EVENT_IOC_ENABLE: libc::Ioctl = request(0);
    // SAFETY: a request without an argument on a descriptor that is open.
    match unsafe { libc::ioctl(event.as_raw_fd(), PERF_EVENT_IOC_ENABLE, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn redirect(event: &File, to: &File) -> io::Result<()> {
    const PERF_EVENT_IOC_SET_OUTPUT: libc::Ioctl = request(5);
    // SAFETY: both descriptors are open; the kernel keeps what it needs of the second.
    match unsafe { libc::ioctl(event.as_raw_fd(), PERF_EVENT_IOC_SET_OUTPUT, to.as_raw_fd()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
