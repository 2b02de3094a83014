//! Device and driver on one CPU: the device visits at an interval, and the time between is the driver's.
#![allow(unsafe_code, reason = "scheduling calls")]

use std::io;
use std::time::Duration;

use super::{Measured, Run};
use crate::error::RunError;
use crate::nic::Nic;
use crate::report::{Slices, Window};

/// Share of slices, or of the frames that leave, at which the rings are too often empty.
const DRY_MAX: f64 = 0.1;
const INTERVAL_MIN: Duration = Duration::from_micros(13);
const INTERVAL_MAX: Duration = Duration::from_millis(1);
/// Slices between two looks at all registers. Slices of one length follow each other for as long.
const LOOK_EVERY: u64 = 64;
/// The shorter of both lengths of slices, and the least share of all frames that leave in them.
const SHORT: usize = 1;
const SHORT_MIN: f64 = 0.05;
/// Slices after which the interval is judged.
const BLOCK: u64 = 256;
/// Changes of the interval in a warm-up at most.
const CHANGES_MAX: u32 = 32;
const WINDOWS: u64 = 10;

/// What slices add up to.
#[derive(Debug, Default, Clone, PartialEq)]
struct Sum {
    slices: u64,
    ns: u64,
    frames: Vec<u64>,
}

impl Sum {
    fn add(&mut self, slice: &Slice) {
        self.slices += 1;
        self.ns += slice.ns;
        self.frames.resize(slice.frames.len(), 0);
        for (sum, frames) in self.frames.iter_mut().zip(&slice.frames) {
            *sum += frames;
        }
    }

    fn ns_per_slice(&self) -> f64 {
        self.ns as f64 / self.slices as f64
    }

    fn frames_per_slice(&self) -> f64 {
        self.frames.iter().sum::<u64>() as f64 / self.slices as f64
    }
}

/// Time in nanoseconds that each slice takes of the driver's CPU time without being the driver's: the interrupt that ends it and two
/// switches of the CPU. Slices of two lengths tell it apart, as it is in each once, and frames are in each by its length.
///
/// Zero where the longer slices had no more frames, so that nothing can be said.
fn overhead_ns(long: &Sum, short: &Sum) -> f64 {
    let frames = long.frames_per_slice() - short.frames_per_slice();
    let ns = long.ns_per_slice() - short.ns_per_slice();
    // Without slices of either length, both are no numbers.
    if !(frames > 0.0 && ns > 0.0) {
        return 0.0;
    }
    (short.ns_per_slice() - ns / frames * short.frames_per_slice()).max(0.0)
}

/// Runs the warm-up and the measurement.
///
/// A slice counts if the driver had frames of every stream left when it ended, so that it did not wait for any. Its length is the
/// CPU time of the driver in it, less what [`overhead_ns`] finds: two switches of the CPU and a timer, which a hypervisor may
/// emulate, take as long as the driver does, and others may run between.
pub(crate) fn measure(run: &mut Run, interval: Duration) -> Result<Measured, RunError> {
    let driver = run.nic().memory.drivers().first().copied().unwrap_or_else(|| run.driver_pid());
    let clock = cpu_clock(driver)?;
    let interval = warm_up(run, clock, interval)?;
    let mut measured = run.begin_of_measurement();
    let window_ns = run.options().duration.as_nanos() as u64 / WINDOWS;
    let intervals = both(interval);
    let (mut sums, mut windows) = ([Sum::default(), Sum::default()], Vec::new());
    let (mut dry, mut all, mut left_dry) = (0, 0, 0);
    for _ in 0..WINDOWS {
        let end_ns = run.nic().clock.now_ns() + window_ns;
        let mut window = Sum { frames: vec![0; run.nic().ports.len()], ..Sum::default() };
        while run.nic().clock.now_ns() < end_ns {
            let kind = run.nic().kind();
            let slice = visit(run, clock, intervals[kind])?;
            all += 1;
            if slice.is_dry {
                dry += 1;
                left_dry += slice.frames.iter().sum::<u64>();
                continue;
            }
            sums[kind].add(&slice);
            window.add(&slice);
            if run.is_ended() {
                measured.is_interrupted = true;
                break;
            }
        }
        windows.push(window);
        if measured.is_interrupted {
            break;
        }
    }
    let overhead_ns = overhead_ns(&sums[0], &sums[1]);
    let own_ns = |window: &Sum| window.ns as f64 - overhead_ns * window.slices as f64;
    windows.retain(|window| own_ns(window) > 0.0);
    let window = |window: Sum| Window { seconds: own_ns(&window) / 1e9, frames: window.frames };
    measured.windows = windows.into_iter().map(window).collect();
    let counted: u64 = sums.iter().flat_map(|sum| &sum.frames).sum();
    // What counts would be slices without frames, of a driver whose frames leave in the others.
    if left_dry > counted {
        let mistakes = run.nic().notices.tally().into_values().collect();
        return Err(RunError::NoSlice { dry, all, mistakes, output: run.driver_output() });
    }
    measured.slices = Some(Slices { dry, all, interval, overhead: Duration::from_nanos(overhead_ns as u64) });
    Ok(measured)
}

/// Runs the driver for the time of the warm-up, in slices that get shorter while it empties its rings in them, and longer while it
/// moves nothing. Returns their length.
fn warm_up(run: &mut Run, clock: libc::clockid_t, interval: Duration) -> Result<Duration, RunError> {
    let warm_up_ns = run.options().warm_up.as_nanos() as u64;
    let mut interval = interval;
    let mut end_ns = run.nic().clock.now_ns() + warm_up_ns;
    // A driver between two lengths is not waited for.
    for _ in 0..CHANGES_MAX {
        let is_ahead = run.nic().is_ahead;
        let next = loop {
            let Some(next) = block(run, clock, interval)? else { return Ok(interval) };
            if next != (Next { interval, is_ahead }) {
                break next;
            }
            if run.nic().clock.now_ns() >= end_ns {
                return Ok(interval);
            }
        };
        interval = next.interval;
        run.nic().is_ahead = next.is_ahead;
        end_ns = end_ns.max(run.nic().clock.now_ns() + warm_up_ns / 4);
    }
    Ok(interval)
}

/// Runs as many slices as it takes to judge their length; `None` if the run ends.
fn block(run: &mut Run, clock: libc::clockid_t, interval: Duration) -> Result<Option<Next>, RunError> {
    let (mut all, mut dry, mut short) = (Sum::default(), Sum::default(), Sum::default());
    while all.slices < BLOCK {
        if run.is_ended() {
            return Ok(None);
        }
        let kind = run.nic().kind();
        let slice = visit(run, clock, both(interval)[kind])?;
        all.add(&slice);
        if kind == SHORT {
            short.add(&slice);
        }
        if slice.is_dry {
            dry.add(&slice);
        }
    }
    let (at_once, is_ahead) = (run.nic().frames_at_once(), run.nic().is_ahead);
    Ok(Some(judged(interval, &all, &dry, &short, at_once, is_ahead)))
}

/// How slices go on after a block of them.
#[derive(Debug, PartialEq)]
struct Next {
    interval: Duration,
    /// Frames are given to a driver that has taken a ring of them and has sent none.
    is_ahead: bool,
}

/// `dry`: those of all slices at whose end a ring was empty; `short`: the shorter half of them; `at_once`: frames that all rings get.
fn judged(interval: Duration, all: &Sum, dry: &Sum, short: &Sum, at_once: u64, is_ahead: bool) -> Next {
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let (frames, left_dry) = (all.frames.iter().sum::<u64>(), dry.frames.iter().sum::<u64>());
    if frames < all.slices || share(short.frames.iter().sum(), frames) < SHORT_MIN {
        // The interrupt takes as long as the shorter slices.
        return Next { interval: (interval * 3 / 2).min(INTERVAL_MAX.max(interval)), is_ahead };
    }
    // The device comes by before the driver has sent two rings.
    let is_slow = all.ns as f64 / frames as f64 * at_once as f64 > 3.0 * interval.as_nanos() as f64;
    if is_ahead && !is_slow {
        // A compiler has made it faster meanwhile: it would find no room for the second.
        return Next { interval, is_ahead: false };
    }
    if share(dry.slices, all.slices).max(share(left_dry, frames)) <= DRY_MAX {
        return Next { interval, is_ahead };
    }
    // It takes a ring at once: all of its frames leave in few slices, and no slice ends while it has others. It is given more of
    // them before.
    let takes_rings = left_dry * 2 > frames && dry.slices * 2 < all.slices;
    if takes_rings && !is_ahead && is_slow {
        return Next { interval, is_ahead: true };
    }
    Next { interval: (interval * 2 / 3).max(INTERVAL_MIN.min(interval)), is_ahead }
}

/// The two lengths of slices.
fn both(interval: Duration) -> [Duration; 2] {
    [interval, interval * 3 / 4]
}

impl Nic {
    /// Length of the next slice.
    fn kind(&self) -> usize {
        (self.visits / LOOK_EVERY % 2) as usize
    }
}

struct Slice {
    /// CPU time of the driver.
    ns: u64,
    /// Frames that left each port.
    frames: Vec<u64>,
    is_dry: bool,
}

/// Lets the driver run for an interval, then empties and fills its rings.
fn visit(run: &mut Run, clock: libc::clockid_t, interval: Duration) -> Result<Slice, RunError> {
    let start_ns = now_ns(clock)?;
    sleep(interval);
    let ns = now_ns(clock)? - start_ns;
    let nic = run.nic();
    let before = nic.transmitted();
    // Before the rings are filled again: a stream of which nothing is left had the driver look in vain.
    nic.take_all();
    let is_dry = nic.streams.iter().any(|stream| stream.on_their_way() == 0);
    let frames = nic.transmitted().iter().zip(before).map(|(now, before)| now - before).collect();
    nic.fill_all();
    nic.visits += 1;
    if nic.visits.is_multiple_of(LOOK_EVERY) {
        nic.look(|_, _| {});
        run.housekeep(true)?;
    }
    Ok(Slice { ns, frames, is_dry })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(slices: u64, ns: u64, frames: u64) -> Sum {
        Sum { slices, ns, frames: vec![frames / 2, frames - frames / 2] }
    }

    /// Slices of a driver that takes 14 ns a frame, each 14 µs longer than the driver had: as a virtual machine had it.
    #[test]
    fn what_is_in_every_slice_is_distinguished_from_what_frames_take() {
        let of = |slices: u64, own_ns: u64| sum(slices, slices * (own_ns + 14_000), slices * own_ns / 14);
        assert!((overhead_ns(&of(1000, 21_000), &of(1500, 7_000)) - 14_000.0).abs() < 1.0);
        // On a machine without it.
        assert_eq!(overhead_ns(&sum(1000, 20_000_000, 1_000_000), &sum(1000, 10_000_000, 500_000)), 0.0);
        // Noise: shorter slices with more frames say nothing.
        assert_eq!(overhead_ns(&sum(10, 1000, 100), &sum(10, 900, 200)), 0.0);
        assert_eq!(overhead_ns(&sum(10, 1000, 100), &Sum::default()), 0.0);
    }

    const INTERVAL: Duration = Duration::from_micros(50);

    fn after(all: &Sum, dry: &Sum, is_ahead: bool) -> Next {
        judged(INTERVAL, all, dry, &sum(128, all.ns * 3 / 7, all.frames.iter().sum::<u64>() * 3 / 7), 1920, is_ahead)
    }

    #[test]
    fn slices_in_which_rings_run_empty_get_shorter() {
        let all = sum(256, 12_800_000, 256 * 1900);
        let shorter = Next { interval: INTERVAL * 2 / 3, is_ahead: false };
        assert_eq!(after(&all, &sum(200, 10_000_000, 200 * 1920), false), shorter);
        assert_eq!(after(&all, &sum(20, 1_000_000, 20 * 1920), false), Next { interval: INTERVAL, is_ahead: false });
    }

    #[test]
    fn slices_in_which_nothing_moves_get_longer() {
        assert_eq!(
            after(&sum(256, 256_000, 64), &Sum::default(), false),
            Next { interval: INTERVAL * 3 / 2, is_ahead: false }
        );
        // The longer ones have frames, the shorter ones have none: what they take says nothing.
        let (all, none) = (sum(256, 3_840_000, 20_000), sum(128, 1_280_000, 40));
        let next = judged(INTERVAL, &all, &Sum::default(), &none, 1920, false);
        assert_eq!(next, Next { interval: INTERVAL * 3 / 2, is_ahead: false });
    }

    /// 560 ns a frame, 960 at once: all frames leave in one of ten slices.
    #[test]
    fn a_driver_that_takes_a_ring_at_once_gets_the_next_before() {
        let (all, dry) = (sum(256, 12_800_000, 22_857), sum(24, 1_200_000, 22_857));
        assert_eq!(after(&all, &dry, false), Next { interval: INTERVAL, is_ahead: true });
        // Not one that could send both before the device comes by, and no longer one that has become so fast.
        let fast = sum(256, 12_800_000, 256 * 700);
        assert!(!after(&fast, &sum(100, 5_000_000, 256 * 700), false).is_ahead);
        assert_eq!(after(&fast, &Sum::default(), true), Next { interval: INTERVAL, is_ahead: false });
        assert_eq!(after(&all, &Sum::default(), true), Next { interval: INTERVAL, is_ahead: true });
    }
}
