//! Time limit of a run.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

/// A descriptor that becomes readable when a stop is requested, or time is up.
#[derive(Debug)]
pub struct Deadline {
    either: OwnedFd,
    timer: OwnedFd,
    limit: Duration,
}

impl Deadline {
    /// Deadline that counts from [`Deadline::start`] on.
    pub fn new(interrupt: Option<BorrowedFd>, limit: Duration) -> std::io::Result<Deadline> {
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let either = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let readable = epoll::EventFlags::IN;
        epoll::add(&either, &timer, epoll::EventData::new_u64(0), readable)?;
        if let Some(interrupt) = interrupt {
            epoll::add(&either, interrupt, epoll::EventData::new_u64(1), readable)?;
        }
        Ok(Deadline { either, timer, limit })
    }

    /// Time runs from now on.
    pub fn start(&self) -> std::io::Result<()> {
        // A timer of zero is none.
        let limit = self.limit.max(Duration::from_nanos(1));
        let once = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(limit.subsec_nanos()),
            },
        };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    pub fn limit(&self) -> Duration {
        self.limit
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.either.as_fd()
    }
}
