//! Being told to stop, by Ctrl-C or SIGTERM.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;

/// Catches the signals that ask to stop, until it is dropped; the second one ends the process.
#[derive(Debug)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    told: UnixStream,
    actions: Vec<SigId>,
}

impl Interrupt {
    /// From now on.
    ///
    /// # Errors
    /// When the kernel has no descriptors left.
    pub fn catch() -> io::Result<Interrupt> {
        let (told, tell) = UnixStream::pair()?;
        let asked = Arc::new(AtomicBool::new(false));
        let mut actions = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag down, the second one up.
            actions.push(signal_hook::flag::register_conditional_default(signal, Arc::clone(&asked))?);
            actions.push(signal_hook::flag::register(signal, Arc::clone(&asked))?);
            actions.push(low_level::pipe::register(signal, tell.try_clone()?)?);
        }
        Ok(Interrupt { asked, told, actions })
    }

    /// Whether somebody asked.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Set when somebody asks, for those who look now and then.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// Readable from when somebody asked.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.told.as_fd()
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for &action in &self.actions {
            low_level::unregister(action);
        }
    }
}
