//! Events that the kernel counts of a thread in user mode, and how exactly it counts them here.

use std::fs::File;
use std::io::{self, Read};
use std::ptr::null_mut;

use super::Counter;
use crate::perf::event::{
    self, ANY_CPU, Attributes, EXCLUDE_HYPERVISOR, EXCLUDE_KERNEL, PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, THIS_THREAD,
};
use crate::perf::{PerfError, opening_failed};

/// An event of a thread in user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserEvent {
    /// One that the processor counts.
    Hardware(Counter),
    /// Page faults, which every kernel counts.
    PageFaults,
}

/// How often the event was counted in work of which that number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownWork {
    /// Events that the work has.
    pub expected: u64,
    /// The least that was counted.
    pub least: u64,
    /// The most that was counted.
    pub most: u64,
    /// How often the work was done.
    pub rounds: u32,
}

/// How often the work is done.
const ROUNDS: u32 = 20;
/// Instructions of the work: a subtraction and a jump back, this often.
const LOOPS: u64 = 500_000;
/// Pages of the work that is written to for the first time.
const PAGES: usize = 256;

impl UserEvent {
    /// All of them.
    pub const ALL: [UserEvent; 5] = [
        UserEvent::Hardware(Counter::Instructions),
        UserEvent::Hardware(Counter::Cycles),
        UserEvent::Hardware(Counter::BranchMisses),
        UserEvent::Hardware(Counter::CacheMisses),
        UserEvent::PageFaults,
    ];

    /// Name of the event, as in `perf stat`.
    pub fn name(self) -> &'static str {
        match self {
            UserEvent::Hardware(counter) => counter.name(),
            UserEvent::PageFaults => "page-faults",
        }
    }

    /// `type` and `config` of `perf_event_attr`.
    pub fn kind_and_config(self) -> (u32, u64) {
        const PERF_COUNT_SW_PAGE_FAULTS: u64 = 2;
        match self {
            UserEvent::Hardware(counter) => (PERF_TYPE_HARDWARE, counter.config()),
            UserEvent::PageFaults => (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS),
        }
    }

    /// Counts the event in work of which the number is known; `None` for an event of which no work has a known number.
    ///
    /// # Errors
    /// When the event is not counted here.
    pub fn try_here(self) -> Result<Option<KnownWork>, PerfError> {
        let mut counter = open(self).map_err(|error| opening_failed(error, 2))?;
        let (expected, work): (u64, fn() -> io::Result<()>) = match self {
            UserEvent::Hardware(Counter::Instructions) => (2 * LOOPS, run_instructions),
            UserEvent::PageFaults => (PAGES as u64, touch_pages),
            UserEvent::Hardware(_) => return Ok(None),
        };
        let mut known = KnownWork { expected, least: u64::MAX, most: 0, rounds: ROUNDS };
        for _ in 0..ROUNDS {
            let before = count(&mut counter)?;
            work()?;
            let counted = count(&mut counter)?.saturating_sub(before);
            known.least = known.least.min(counted);
            known.most = known.most.max(counted);
        }
        Ok(Some(known))
    }
}

fn open(event: UserEvent) -> io::Result<File> {
    let (kind, config) = event.kind_and_config();
    let flags = EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR;
    event::open(Attributes { kind, config, flags, ..Attributes::default() }, THIS_THREAD, ANY_CPU)
}

fn count(counter: &mut File) -> io::Result<u64> {
    let mut bytes = [0; size_of::<u64>()];
    counter.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Two instructions for each of [`LOOPS`].
fn run_instructions() -> io::Result<()> {
    // SAFETY: works on its register alone.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("2:", "sub {left}, 1", "jnz 2b", left = inout(reg) LOOPS => _, options(nomem, nostack));
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("2:", "subs {left}, {left}, #1", "b.ne 2b", left = inout(reg) LOOPS => _, options(nomem, nostack));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    (0..LOOPS).for_each(|round| {
        std::hint::black_box(round);
    });
    Ok(())
}

/// One page fault for each of [`PAGES`].
fn touch_pages() -> io::Result<()> {
    const PAGE: usize = 4096;
    // SAFETY: a mapping of its own, which is written to within its bounds.
    unsafe {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let pages = libc::mmap(null_mut(), PAGES * PAGE, access, kind, -1, 0);
        if pages == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        libc::madvise(pages, PAGES * PAGE, libc::MADV_NOHUGEPAGE);
        for page in 0..PAGES {
            pages.cast::<u8>().add(page * PAGE).write_volatile(1);
        }
        libc::munmap(pages, PAGES * PAGE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_faults_are_counted_exactly() {
        let known = UserEvent::PageFaults.try_here().expect("every kernel counts them").expect("the number is known");
        assert_eq!(known.expected, 256);
        // A page of the test's own code or stack may be touched for the first time in the first round.
        assert_eq!(known.least, 256, "{known:?}");
        assert!(known.most <= 256 + 8, "{known:?}");
    }

    #[test]
    fn a_machine_without_counters_says_so() {
        for event in UserEvent::ALL {
            match event.try_here() {
                Ok(known) => assert_eq!(
                    known.is_some(),
                    matches!(event, UserEvent::PageFaults | UserEvent::Hardware(Counter::Instructions))
                ),
                Err(error) => assert!(!error.to_string().is_empty() && event != UserEvent::PageFaults, "{error}"),
            }
        }
    }
}
