//! Device and driver on one CPU: the device visits at an interval, and the time between is the driver's.
#![allow(unsafe_code, reason = "scheduling calls")]

use std::io;
use std::time::Duration;

use crate::report::Window;
use crate::run::{Measured, Run, RunError};

/// In the middle, so that threads of the kernel that must come first can.
const FIFO_PRIORITY: i32 = 50;
/// Dry slices of the warm-up, of which the interval is made shorter, and how short it gets: what an interrupt takes of the driver's
/// time is the greater a share of it the shorter the interval is.
const DRY_MAX: f64 = 0.1;
const INTERVAL_MIN: Duration = Duration::from_micros(13);
/// Slices between two looks at all registers.
const LOOK_EVERY: u64 = 64;
const WINDOWS: u64 = 10;

/// A counted stretch of slices.
#[derive(Default)]
struct Sum {
    ns: u64,
    frames: Vec<u64>,
}

/// Runs the warm-up and the measurement.
///
/// A slice counts if the driver had frames of every stream left when it ended, so that it did not wait for any. Its length is the
/// CPU time of the driver in it: two switches of the CPU and a timer, which a hypervisor may emulate, take as long as the driver
/// does, and others may run between.
pub(crate) fn measure(run: &mut Run, interval: Duration) -> Result<Measured, RunError> {
    let driver = run.nic().memory.drivers().first().copied().unwrap_or_else(|| run.driver_pid());
    let clock = cpu_clock(driver)?;
    let mut interval = interval;
    let warm_up_ns = run.options().warm_up.as_nanos() as u64;
    loop {
        let end_ns = run.nic().clock.now_ns() + warm_up_ns;
        let (mut dry, mut all) = (0, 0);
        while run.nic().clock.now_ns() < end_ns && !run.is_ended() {
            dry += u64::from(visit(run, clock, interval)?.is_dry);
            all += 1;
        }
        if dry as f64 <= all as f64 * DRY_MAX || interval <= INTERVAL_MIN {
            break;
        }
        // The driver empties its rings within the interval.
        interval = (interval * 2 / 3).max(INTERVAL_MIN);
    }
    let mut measured = run.begin_of_measurement();
    let window_ns = run.options().duration.as_nanos() as u64 / WINDOWS;
    let (mut dry, mut all) = (0, 0);
    for _ in 0..WINDOWS {
        let end_ns = run.nic().clock.now_ns() + window_ns;
        let mut sum = Sum { ns: 0, frames: vec![0; run.nic().ports.len()] };
        while run.nic().clock.now_ns() < end_ns {
            let before = run.nic().transmitted();
            let slice = visit(run, clock, interval)?;
            all += 1;
            if slice.is_dry {
                dry += 1;
                continue;
            }
            sum.ns += slice.ns;
            for ((sum, now), before) in sum.frames.iter_mut().zip(run.nic().transmitted()).zip(before) {
                *sum += now - before;
            }
            if run.is_ended() {
                measured.is_interrupted = true;
                break;
            }
        }
        if sum.ns > 0 {
            measured.windows.push(Window { seconds: sum.ns as f64 / 1e9, frames: sum.frames });
        }
        if measured.is_interrupted {
            break;
        }
    }
    if measured.windows.is_empty() && !measured.is_interrupted {
        let mistakes = run.nic().notices.tally().into_values().collect();
        return Err(RunError::NoSlice { all, mistakes, output: run.driver_output() });
    }
    measured.slices = Some((dry, all));
    Ok(measured)
}

/// The device goes before the driver whenever it does not sleep, until [`go_last`]: next to a driver that polls, it would
/// otherwise have a CPU only when the kernel throttles real-time threads, once a second.
pub(crate) fn go_first() -> io::Result<()> {
    schedule(libc::SCHED_FIFO, FIFO_PRIORITY)
}

/// The device no longer goes before others. For a driver that has ended or was killed: the kernel removes a process from `/proc`
/// in a loop that waits for whoever reads it there, and who may be on this CPU and never have its turn.
pub(crate) fn go_last() {
    // Less can always be had.
    let _ = schedule(libc::SCHED_OTHER, 0);
}

struct Slice {
    /// CPU time of the driver.
    ns: u64,
    is_dry: bool,
}

/// Lets the driver run for an interval, then empties and fills its rings.
fn visit(run: &mut Run, clock: libc::clockid_t, interval: Duration) -> Result<Slice, RunError> {
    let start_ns = now_ns(clock)?;
    sleep(interval);
    let ns = now_ns(clock)? - start_ns;
    let nic = run.nic();
    // Before the rings are filled again: a stream of which nothing is left had the driver look in vain.
    nic.take_all();
    let is_dry = nic.streams.iter().any(|stream| stream.on_their_way() == 0);
    nic.fill_all();
    nic.visits += 1;
    if nic.visits.is_multiple_of(LOOK_EVERY) {
        nic.look(|_, _| {});
        run.housekeep(true)?;
    }
    Ok(Slice { ns, is_dry })
}

/// The clock that counts the CPU time of a process, all of its threads.
fn cpu_clock(pid: u32) -> Result<libc::clockid_t, RunError> {
    let mut clock = 0;
    // SAFETY: `clock` is ours, and lives through the call.
    match unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) } {
        0 => Ok(clock),
        error => Err(RunError::Io(io::Error::from_raw_os_error(error))),
    }
}

fn now_ns(clock: libc::clockid_t) -> Result<u64, RunError> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours, and lives through the call.
    match unsafe { libc::clock_gettime(clock, &raw mut time) } {
        0 => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
        _ => Err(RunError::Io(io::Error::last_os_error())),
    }
}

/// Sleeps as exactly as the kernel can.
fn sleep(interval: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: interval.subsec_nanos().into() };
    // SAFETY: the time is read during the call only; a signal ends the sleep early, which makes the slice shorter.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const time, std::ptr::null_mut()) };
}

/// Has the driver go before everything else on its CPU but the device, so that a slice is its own: for what this thread starts
/// from now on. Threads of equal rank take turns, so that one that spins does not stop the others of a virtual machine.
pub(crate) fn favour_children() -> io::Result<()> {
    schedule(libc::SCHED_RR, 1)
}

fn schedule(policy: i32, priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter lives through the call, which reads it and keeps nothing; 0 is this thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
