//! Device and driver on one CPU: the device visits at an interval, and the time between is the driver's.
#![allow(unsafe_code, reason = "scheduling calls")]

use std::io;
use std::time::Duration;

use crate::clock::ticks;
use crate::report::Window;
use crate::run::{Measured, Run, RunError};

/// In the middle, so that threads of the kernel that must come first can.
const FIFO_PRIORITY: i32 = 50;
/// A slice that is longer than its interval by more than its own length and this was somebody else's in part: two switches of
/// the CPU, and a timer that a hypervisor may emulate.
const WAKE_UP_MAX: Duration = Duration::from_micros(20);
/// Dry slices of the warm-up, of which the interval is made shorter, and how short it gets.
const DRY_MAX: f64 = 0.1;
const INTERVAL_MIN: Duration = Duration::from_micros(8);
/// Slices between two looks at all registers.
const LOOK_EVERY: u64 = 64;
const WINDOWS: u64 = 10;

/// A counted stretch of slices.
#[derive(Default)]
struct Sum {
    ticks: u64,
    frames: Vec<u64>,
}

/// Warms up, and measures.
///
/// A slice counts if the driver had frames of every stream left when it ended, so that it did not wait for any, and if it
/// was not longer than the interval explains.
pub(crate) fn measure(run: &mut Run, interval: Duration) -> Result<Measured, RunError> {
    schedule(libc::SCHED_FIFO, FIFO_PRIORITY)?;
    let measured = measure_under_fifo(run, interval);
    // Less can always be had.
    let _ = schedule(libc::SCHED_OTHER, 0);
    measured
}

fn measure_under_fifo(run: &mut Run, interval: Duration) -> Result<Measured, RunError> {
    let hz = run.nic().clock.hz();
    let mut interval = interval;
    let warm_up_ns = run.options().warm_up.as_nanos() as u64;
    loop {
        let end_ns = run.nic().clock.now_ns() + warm_up_ns;
        let (mut dry, mut all) = (0, 0);
        while run.nic().clock.now_ns() < end_ns && !run.is_ended() {
            dry += u64::from(visit(run, interval)?.is_dry);
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
    let longest = ((2 * interval + WAKE_UP_MAX).as_secs_f64() * hz) as u64;
    let (mut dry, mut all) = (0, 0);
    for _ in 0..WINDOWS {
        let end_ns = run.nic().clock.now_ns() + window_ns;
        let mut sum = Sum { ticks: 0, frames: vec![0; run.nic().ports.len()] };
        while run.nic().clock.now_ns() < end_ns {
            let before = run.nic().transmitted();
            let slice = visit(run, interval)?;
            all += 1;
            if slice.is_dry || slice.ticks > longest {
                dry += 1;
                continue;
            }
            sum.ticks += slice.ticks;
            for ((sum, now), before) in sum.frames.iter_mut().zip(run.nic().transmitted()).zip(before) {
                *sum += now - before;
            }
            if run.is_ended() {
                measured.is_interrupted = true;
                break;
            }
        }
        if sum.ticks > 0 {
            measured.windows.push(Window { seconds: sum.ticks as f64 / hz, frames: sum.frames });
        }
        if measured.is_interrupted {
            break;
        }
    }
    if measured.windows.is_empty() && !measured.is_interrupted {
        return Err(RunError::NoSlice { all, output: run.driver_output() });
    }
    measured.slices = Some((dry, all));
    Ok(measured)
}

struct Slice {
    ticks: u64,
    is_dry: bool,
}

/// Lets the driver run for an interval, then empties and fills its rings.
fn visit(run: &mut Run, interval: Duration) -> Result<Slice, RunError> {
    let start = ticks();
    sleep(interval);
    let ticks = ticks().wrapping_sub(start);
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
    Ok(Slice { ticks, is_dry })
}

/// Sleeps as exactly as the kernel can.
fn sleep(interval: Duration) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: interval.subsec_nanos().into() };
    // SAFETY: the time is read during the call only; a signal ends the sleep early, which makes the slice shorter.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const time, std::ptr::null_mut()) };
}

/// Has the driver go before everything else on its CPU but the device, so that a slice is its own: for what this thread starts
/// from now on. Threads of equal rank take turns, so that one that spins does not stop the others of a virtual machine.
pub(crate) fn favour_children(is_on: bool) -> io::Result<()> {
    if is_on { schedule(libc::SCHED_RR, 1) } else { schedule(libc::SCHED_OTHER, 0) }
}

fn schedule(policy: i32, priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter lives through the call, which reads it and keeps nothing; 0 is this thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
