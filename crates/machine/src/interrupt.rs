//! Signals that request this process to stop: Ctrl-C, SIGTERM and their like.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// The name of a signal: `SIGKILL`; of one without a name, such as a real-time signal, `signal 40`.
pub fn signal_name(signal: i32) -> String {
    low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// Catches signals that ask to stop, until it is dropped.
#[derive(Debug)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
    /// Each signal, and whether it came since it was taken last.
    came: Vec<(i32, Arc<AtomicBool>)>,
    receiver: UnixStream,
    sender: UnixStream,
    actions: Vec<SigId>,
}

impl Interrupt {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on; the second one ends the process.
    ///
    /// # Errors
    /// When the kernel has no descriptors left.
    pub fn catch() -> io::Result<Interrupt> {
        Interrupt::of(&[SIGINT, SIGTERM, SIGHUP], true)
    }

    /// Catches these signals from now on, however often they come.
    ///
    /// # Errors
    /// As [`Interrupt::catch`].
    pub fn catch_each(signals: &[i32]) -> io::Result<Interrupt> {
        Interrupt::of(signals, false)
    }

    fn of(signals: &[i32], second_ends: bool) -> io::Result<Interrupt> {
        let (receiver, sender) = UnixStream::pair()?;
        let mut interrupt =
            Interrupt { requested: Arc::default(), came: Vec::new(), receiver, sender, actions: Vec::new() };
        for &signal in signals {
            if second_ends {
                // Before the flag is set: the first signal finds it down, the second one up.
                interrupt.actions.push(flag::register_conditional_default(signal, Arc::clone(&interrupt.requested))?);
            }
            let came = Arc::new(AtomicBool::new(false));
            interrupt.actions.push(flag::register(signal, Arc::clone(&came))?);
            interrupt.actions.push(flag::register(signal, Arc::clone(&interrupt.requested))?);
            interrupt.actions.push(low_level::pipe::register(signal, interrupt.sender.try_clone()?)?);
            interrupt.came.push((signal, came));
        }
        Ok(interrupt)
    }

    /// True if a stop was requested.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Flag that is set by a signal, for code that polls it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Readable once a stop was requested.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.receiver.as_fd()
    }

    /// The next signal that came and was not taken yet, in the order in which they were given.
    pub fn take(&self) -> Option<i32> {
        self.came.iter().find_map(|(signal, came)| came.swap(false, Ordering::Relaxed).then_some(*signal))
    }

    /// Waits until a signal comes, or [`Interrupt::wake`] is called; what came before counts.
    pub(crate) fn wait(&self) -> io::Result<()> {
        match (&self.receiver).read(&mut [0; 64]) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Ends a wait of another thread.
    pub(crate) fn wake(&self) {
        // Where it is full, no thread waits.
        let _ = (&self.sender).write(&[0]);
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for &action in &self.actions {
            low_level::unregister(action);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_taken_once_and_ends_nothing() {
        // Nobody else's in this process.
        const SIGUSR1: i32 = signal_hook::consts::SIGUSR1;
        const SIGUSR2: i32 = signal_hook::consts::SIGUSR2;
        let interrupt = Interrupt::catch_each(&[SIGUSR1, SIGUSR2]).expect("there are descriptors");
        assert!(!interrupt.is_requested() && interrupt.take().is_none());
        for signal in [SIGUSR2, SIGUSR1, SIGUSR1] {
            low_level::raise(signal).expect("a process may signal itself");
        }
        interrupt.wait().expect("it was told");
        assert!(interrupt.is_requested() && interrupt.flag().load(Ordering::Relaxed));
        assert_eq!([interrupt.take(), interrupt.take(), interrupt.take()], [Some(SIGUSR1), Some(SIGUSR2), None]);
        low_level::raise(SIGUSR2).expect("a process may signal itself");
        assert_eq!(interrupt.take(), Some(SIGUSR2));
    }
}
