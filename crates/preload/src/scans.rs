//! Requests of servers to have their objects searched, as the process outside answers them.

use crate::outside::{Channel, Mapped};
use prony_channel::{Control, SITES, Scan, ScanState, Site};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

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
    fn scan(&self) -> &Scan {
        // SAFETY: as large as the type and mapped as long as `self`; all of it is atomics.
        let control: &Control = unsafe { &*self.control.start().cast() };
        &control.scan
    }

    /// The request that nobody has answered yet.
    pub fn wanted(&self) -> Option<ScanRequest> {
        let scan = self.scan();
        let loaded = match scan.state.load(Ordering::Acquire) {
            Some(ScanState::Program) => false,
            Some(ScanState::Loaded) => true,
            _ => return None,
        };
        Some(ScanRequest { pid: scan.pid.load(Ordering::Relaxed), loaded })
    }

    /// Waits for a request, at most this long.
    pub fn wait(&self, at_most: Duration) -> Option<ScanRequest> {
        let word = self.scan().state.word();
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
        self.become_state(ScanState::Closed);
    }

    /// Changes the state and wakes who waits for that.
    fn become_state(&self, state: ScanState) {
        let word = &self.scan().state;
        word.store(state, Ordering::Release);
        // SAFETY: the word lies in the mapping.
        unsafe { libc::syscall(libc::SYS_futex, word.word().as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// Answers the request. `raw_calls`: an object makes system calls of its own. Sites past [`SITES`] are not handed
    /// over; returns how many.
    pub fn answer(&self, raw_calls: bool, sites: &[Site]) -> usize {
        let scan = self.scan();
        let given = sites.len().min(SITES);
        for (place, site) in scan.sites.iter().zip(sites) {
            place.store(site.to_word(), Ordering::Relaxed);
        }
        scan.site_count.store(given as u32, Ordering::Relaxed);
        scan.raw_calls.store(raw_calls, Ordering::Relaxed);
        self.become_state(ScanState::Answered);
        sites.len() - given
    }
}
