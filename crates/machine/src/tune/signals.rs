//! Signals while a machine is tuned: nothing ends this process before all is put back.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::Interrupt;

/// Takes the signals that would end this process, until it is dropped.
#[derive(Debug)]
pub struct Signals {
    interrupt: Arc<Interrupt>,
    came: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    child: Arc<Mutex<Option<OwnedFd>>>,
    thread: Option<JoinHandle<()>>,
}

impl Signals {
    /// Blocks the signals and begins to receive them.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take() -> io::Result<Signals> {
        let interrupt = Arc::new(Interrupt::catch_each(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])?);
        let came = interrupt.flag();
        let over = Arc::new(AtomicBool::new(false));
        let child: Arc<Mutex<Option<OwnedFd>>> = Arc::default();
        let (arriving, ends, of) = (Arc::clone(&interrupt), Arc::clone(&over), Arc::clone(&child));
        let thread = std::thread::spawn(move || {
            while arriving.wait().is_ok() && !ends.load(Ordering::Acquire) {
                while let Some(signal) = arriving.take() {
                    let forwarded = match signal {
                        SIGHUP => Signal::HUP,
                        SIGTERM => Signal::TERM,
                        // The terminal sends these to the command as well.
                        _ => continue,
                    };
                    if let Some(child) = &*of.lock().unwrap_or_else(PoisonError::into_inner) {
                        // It may have ended just now.
                        let _ = pidfd_send_signal(child, forwarded);
                    }
                }
            }
        });
        Ok(Signals { interrupt, came, over, child, thread: Some(thread) })
    }

    /// Flag that is set once a signal has come.
    pub fn came(&self) -> &AtomicBool {
        &self.came
    }

    /// Passes `SIGTERM` and `SIGHUP` on to this child, which is not yet waited for.
    pub(super) fn pass_to(&self, child: u32) -> io::Result<()> {
        let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        if self.came.load(Ordering::Relaxed) {
            let _ = pidfd_send_signal(&descriptor, Signal::TERM);
        }
        *self.child.lock().unwrap_or_else(PoisonError::into_inner) = Some(descriptor);
        Ok(())
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        self.interrupt.wake();
        if let Some(thread) = self.thread.take() {
            // It holds nothing that could be lost.
            let _ = thread.join();
        }
    }
}
