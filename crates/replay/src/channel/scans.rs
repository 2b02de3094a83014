//! Requests of servers to have their objects searched, as the process outside answers them.

use super::Channel;
use super::memory::{Mapped, wait, wake_all};
use prony_channel::{SITES, Scan, ScanState, Site};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Request of a server to have its objects searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanRequest {
    /// Process whose objects are to be searched.
    pub pid: i32,
    /// True if the server loaded an object while running.
    pub loaded: bool,
}

/// The end that answers requests for searches.
#[derive(Debug, Clone)]
pub(crate) struct Scans {
    control: Arc<Mapped>,
}

impl Channel {
    /// The end at which requests are answered; it may go to another thread.
    pub(crate) fn scans(&self) -> Scans {
        Scans { control: self.shared_control() }
    }
}

impl Scans {
    fn scan(&self) -> &Scan {
        &self.control.control().scan
    }

    /// The request that is not answered yet.
    pub(crate) fn wanted(&self) -> Option<ScanRequest> {
        let scan = self.scan();
        let loaded = match scan.state.load(Ordering::Acquire) {
            Some(ScanState::Program) => false,
            Some(ScanState::Loaded) => true,
            _ => return None,
        };
        Some(ScanRequest { pid: scan.pid.load(Ordering::Relaxed), loaded })
    }

    /// Waits for a request, at most this long.
    pub(crate) fn wait(&self, at_most: Duration) -> Option<ScanRequest> {
        let word = self.scan().state.word();
        let before = word.load(Ordering::Acquire);
        if self.wanted().is_none() {
            wait(word, before, at_most);
        }
        self.wanted()
    }

    /// Ends the answering of requests; a waiting caller returns.
    pub(crate) fn close(&self) {
        self.become_state(ScanState::Closed);
    }

    /// Changes the state and wakes who waits for that.
    fn become_state(&self, state: ScanState) {
        let word = &self.scan().state;
        word.store(state, Ordering::Release);
        wake_all(word.word());
    }

    /// Answers the request; returns the number of sites past [`SITES`], which are not handed over. `raw_calls`: an
    /// object makes system calls of its own.
    pub(crate) fn answer(&self, raw_calls: bool, sites: &[Site]) -> usize {
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
