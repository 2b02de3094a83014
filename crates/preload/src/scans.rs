//! Requests of servers to have their objects searched, as the process outside answers them.

use crate::channel::{Control, DOUBTFUL, ROOM_SHIFT, SCAN_ANSWERED, SCAN_CLOSED, SCAN_LOADED, SCAN_PROGRAM, SITES};
use crate::outside::{Channel, Mapped};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A place in the memory of a server where it asks the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Where the instruction begins.
    pub address: u64,
    /// Bytes of it and of what moves away with it to make room for a jump, 0 without; `None` if it may be no
    /// instruction, or cannot be followed.
    pub room: Option<u8>,
}

/// What a server wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanRequest {
    /// Process whose objects are to be searched.
    pub pid: i32,
    /// It has loaded something while it runs.
    pub loaded: bool,
}

/// The answering end.
#[derive(Debug, Clone)]
pub struct Scans {
    control: Arc<Mapped>,
}

impl Channel {
    /// The end at which requests are answered; it may go to another thread.
    pub fn scans(&self) -> Scans {
        Scans { control: self.shared_control() }
    }
}

impl Scans {
    fn control(&self) -> &Control {
        // SAFETY: as large as the type and mapped as long as `self`; only atomics are looked at here.
        unsafe { &*self.control.start().cast() }
    }

    /// The request that nobody has answered yet.
    pub fn wanted(&self) -> Option<ScanRequest> {
        let control = self.control();
        let state = control.scan.load(Ordering::Acquire);
        let pid = control.scan_pid.load(Ordering::Relaxed);
        [SCAN_PROGRAM, SCAN_LOADED].contains(&state).then_some(ScanRequest { pid, loaded: state == SCAN_LOADED })
    }

    /// Waits for a request, at most this long.
    pub fn wait(&self, at_most: Duration) -> Option<ScanRequest> {
        let word = &self.control().scan;
        let before = word.load(Ordering::Acquire);
        if self.wanted().is_none() {
            let until = libc::timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
            // SAFETY: the word lies in the mapping; the kernel only reads it, and the time.
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, before, &raw const until) };
        }
        self.wanted()
    }

    /// Nobody will answer any more; whoever waits for a request returns.
    pub fn close(&self) {
        let word = &self.control().scan;
        word.store(SCAN_CLOSED, Ordering::Release);
        // SAFETY: the word lies in the mapping.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// Answers the request. `raw_calls`: an object makes system calls of its own. Sites past [`SITES`] are not handed
    /// over; returns how many.
    pub fn answer(&self, raw_calls: bool, sites: &[Site]) -> usize {
        let control = self.control();
        let given = sites.len().min(SITES);
        for (place, site) in control.sites.iter().zip(sites) {
            let what = site.room.map_or(DOUBTFUL, |room| u64::from(room) << ROOM_SHIFT);
            place.store(site.address | what, Ordering::Relaxed);
        }
        control.site_count.store(given as u32, Ordering::Relaxed);
        control.raw_calls.store(raw_calls.into(), Ordering::Relaxed);
        control.scan.store(SCAN_ANSWERED, Ordering::Release);
        // SAFETY: the word lies in the mapping.
        unsafe { libc::syscall(libc::SYS_futex, control.scan.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
        sites.len() - given
    }
}
