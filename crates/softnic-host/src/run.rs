//! A driver under load: from its start to the report.

mod slice;

use std::io;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prony_machine::{CpuSet, Tree, affinity};

use crate::clock::ticks;
use crate::driver::{Driver, descendants};
use crate::error::RunError;
use crate::nic::{Nic, Stream};
use crate::options::{Mode, Options};
use crate::report::{Report, Slices, StreamReport, Window};

/// Time between two looks at all registers while frames move.
const LOOK_NS: u64 = 100_000;
/// Time between two looks at processes and settings of the machine.
const HOUSEKEEPING: Duration = Duration::from_millis(100);
/// Time without a frame after which no more are waited for.
const DRAIN: Duration = Duration::from_millis(200);
/// Looks at a stream of which nothing comes out before its frames are given up: a second.
const PATIENCE: u32 = 10;
/// A gap in which even slow drivers fill a ring: the device was not on its CPU.
const STALL_NS: u64 = 500_000;
/// Number of windows in a measurement.
const WINDOWS: u32 = 10;
const HUGE_PAGES: &str = "/proc/sys/vm/nr_hugepages";

/// Runs a driver under load.
///
/// `is_ended`: set by a signal; then the run ends and reports what it has.
///
/// # Errors
/// [`RunError`].
pub fn run(options: &Options, is_ended: &AtomicBool) -> Result<Report, RunError> {
    // The namespace is that of a thread, and so is the driver, which ends with it.
    thread::scope(|scope| {
        let runner = scope.spawn(|| Run::start(options, is_ended)?.finish());
        runner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub(crate) struct Run<'a> {
    options: &'a Options,
    is_ended: &'a AtomicBool,
    /// Ended before the device is gone.
    driver: Driver,
    nic: Nic,
    device_cpu: u32,
    huge_pages: Option<u64>,
    huge_pages_changed: Option<(u64, u64)>,
    housekeeping: Instant,
    looked_ns: u64,
    /// Time in which the device did not look, in gaps longer than [`STALL_NS`].
    stalled_ns: u64,
}

impl<'a> Run<'a> {
    fn start(options: &'a Options, is_ended: &'a AtomicBool) -> Result<Run<'a>, RunError> {
        let nic = Nic::enter(&options.addresses, options.binding, &options.sizes, options.flows)?;
        let (device_cpu, driver_cpu, other_cpu) = cpus(options)?;
        pin(driver_cpu)?;
        let is_slice = matches!(options.mode, Mode::Slice { .. });
        if is_slice {
            crate::scheduling::favour_children()?;
        }
        let started = Driver::start(options);
        if is_slice {
            crate::scheduling::go_first()?;
        }
        // A driver does not let go of its CPU while it waits for the device to reset itself.
        let set_up_cpu = if device_cpu == driver_cpu { other_cpu } else { device_cpu };
        pin(set_up_cpu)?;
        let driver = started.map_err(|error| {
            let program = options.command.first().map(|program| program.to_string_lossy().into_owned());
            RunError::Start { program: program.unwrap_or_default(), error }
        })?;
        Ok(Run {
            options,
            is_ended,
            driver,
            nic,
            device_cpu,
            huge_pages: Tree::machine().value(HUGE_PAGES),
            huge_pages_changed: None,
            housekeeping: Instant::now(),
            looked_ns: 0,
            stalled_ns: 0,
        })
    }

    fn finish(mut self) -> Result<Report, RunError> {
        self.set_up()?;
        if matches!(self.options.mode, Mode::Slice { .. }) {
            crate::scheduling::go_first()?;
        }
        pin(self.device_cpu)?;
        self.nic.set_rate(Some(self.options.rate));
        let mut measured = match self.options.mode {
            Mode::CrossCore => {
                self.move_frames(self.options.warm_up, |_| {})?;
                self.measure_across_cores()?
            }
            Mode::Slice { interval } => slice::measure(&mut self, interval)?,
        };
        let generated = self.end_of_measurement(&mut measured);
        self.drain();
        let report = self.report(measured, &generated);
        match report.frames() {
            0 if !report.is_interrupted => {
                let Report { seconds, notices: mistakes, .. } = report;
                let delivered = self.nic.streams.iter().map(|stream| stream.delivered).sum();
                Err(RunError::NoFrames { seconds, delivered, mistakes, output: self.driver.output() })
            }
            _ => Ok(report),
        }
    }

    /// Waits until all ports work.
    fn set_up(&mut self) -> Result<(), RunError> {
        let until = Instant::now() + self.options.setup_timeout;
        loop {
            self.nic.look(|_, _| {});
            self.housekeep(false)?;
            let unready = (0..self.nic.ports.len()).find(|&port| !self.nic.is_ready(port));
            let Some(port) = unready else {
                self.nic.end_set_up();
                self.nic.find_drivers(descendants(self.driver.pid()));
                return Ok(());
            };
            if self.is_ended.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
            if Instant::now() >= until {
                return Err(RunError::NotReady {
                    address: self.options.addresses[port].clone(),
                    missing: self.nic.missing(port),
                    timeout: self.options.setup_timeout,
                    output: self.driver.output(),
                });
            }
            self.nic.pause_in_set_up();
        }
    }

    /// What is done ten times a second: has the driver ended, where is its memory, were settings changed?
    pub(crate) fn housekeep(&mut self, is_measuring: bool) -> Result<(), RunError> {
        if Instant::now() < self.housekeeping || self.nic.is_urgent() {
            return Ok(());
        }
        self.housekeeping = Instant::now() + if is_measuring { HOUSEKEEPING } else { HOUSEKEEPING / 20 };
        let now = Tree::machine().value(HUGE_PAGES);
        if let (Some(before), Some(now)) = (self.huge_pages, now)
            && before != now
        {
            self.huge_pages_changed = Some((before, now));
        }
        if let Some(status) = self.driver.poll_end() {
            let huge_pages_changed = self.huge_pages_changed;
            return Err(RunError::Ended { status, output: self.driver.output(), is_measuring, huge_pages_changed });
        }
        if is_measuring {
            self.nic.settle(PATIENCE);
        } else {
            self.nic.find_drivers(descendants(self.driver.pid()));
        }
        self.nic.memory.take_error().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Moves frames for a while; `each`: is called after each poll.
    fn move_frames(&mut self, time: Duration, mut each: impl FnMut(&Nic)) -> Result<bool, RunError> {
        let mut before_ns = self.nic.clock.now_ns();
        let until = before_ns + time.as_nanos() as u64;
        loop {
            self.nic.poll();
            each(&self.nic);
            let now_ns = self.nic.clock.now_ns();
            let gap_ns = now_ns.saturating_sub(before_ns);
            before_ns = now_ns;
            if gap_ns > STALL_NS {
                self.stalled_ns += gap_ns;
            }
            if now_ns >= self.looked_ns + LOOK_NS {
                self.looked_ns = now_ns;
                self.nic.look(|_, _| {});
                self.housekeep(true)?;
                if self.is_ended.load(Ordering::Relaxed) {
                    return Ok(false);
                }
                if now_ns >= until {
                    return Ok(true);
                }
            }
        }
    }

    fn measure_across_cores(&mut self) -> Result<Measured, RunError> {
        let mut measured = self.begin_of_measurement();
        self.stalled_ns = 0;
        let (mut busy_ticks, mut all_ticks, mut last) = (0, 0, ticks());
        for _ in 0..WINDOWS {
            let (start_ns, before) = (self.nic.clock.now_ns(), self.nic.transmitted());
            let goes_on = self.move_frames(self.options.duration / WINDOWS, |nic| {
                let now = ticks();
                let passed = now.wrapping_sub(last);
                last = now;
                all_ticks += passed;
                // A driver has something to do while frames are on their way.
                if nic.streams.iter().any(|stream| stream.on_their_way() > 0) {
                    busy_ticks += passed;
                }
            })?;
            measured.windows.push(self.nic.window(start_ns, &before));
            if !goes_on {
                measured.is_interrupted = true;
                break;
            }
        }
        measured.busy = busy_ticks as f64 / f64::max(all_ticks as f64, 1.0);
        Ok(measured)
    }

    /// Ends the warm-up and begins the measurement.
    pub(crate) fn begin_of_measurement(&mut self) -> Measured {
        let streams = self.nic.streams.iter_mut().zip(&self.nic.ports);
        let starts = streams.map(|(stream, port)| {
            let sequence = stream.generator.sequence();
            stream.validator.begin(sequence);
            Start { sequence, lost: port.device.missed() + stream.refused }
        });
        Measured {
            start_ns: self.nic.clock.now_ns(),
            starts: starts.collect(),
            foreign: self.nic.counts.foreign,
            windows: Vec::new(),
            busy: 1.0,
            slices: None,
            is_interrupted: false,
            seconds: 0.0,
        }
    }

    /// No more frames enter; returns those that were generated, and those of them that were lost on the way in.
    fn end_of_measurement(&mut self, measured: &mut Measured) -> Vec<(u64, u64)> {
        measured.seconds = (self.nic.clock.now_ns() - measured.start_ns) as f64 / 1e9;
        self.nic.set_rate(None);
        let streams = self.nic.streams.iter_mut().zip(&self.nic.ports).zip(&measured.starts);
        let generated = streams.map(|((stream, port), start)| {
            stream.validator.end(stream.generator.sequence());
            let lost = port.device.missed() + stream.refused - start.lost;
            (stream.generator.sequence() - start.sequence, lost)
        });
        generated.collect()
    }

    /// Waits for frames that are on their way, and for no others: a driver may send frames of its own without end.
    fn drain(&mut self) {
        let on_their_way = |nic: &Nic| nic.streams.iter().map(Stream::on_their_way).sum::<u64>();
        let (mut left, mut moved) = (on_their_way(&self.nic), Instant::now());
        while left > 0 && moved.elapsed() < DRAIN {
            if matches!(self.options.mode, Mode::Slice { .. }) {
                // All of it, or a driver that sends rings at once would find no room.
                self.nic.take_all();
                // The driver has the CPU only while this thread sleeps.
                thread::sleep(Duration::from_micros(50));
            } else {
                self.nic.poll();
            }
            let now_left = on_their_way(&self.nic);
            if now_left != left {
                (left, moved) = (now_left, Instant::now());
            }
        }
    }

    fn report(&mut self, measured: Measured, generated: &[(u64, u64)]) -> Report {
        self.nic.look(|_, _| {});
        let streams = self.nic.streams.iter().zip(generated).map(|(stream, &(generated, lost_by_device))| {
            let counts = *stream.validator.counts();
            StreamReport {
                generated,
                lost_by_device,
                lost_by_driver: generated.saturating_sub(lost_by_device + counts.received),
                counts,
                touched: stream.validator.touched(),
                by_queue: stream.by_queue.to_vec(),
                latency: stream.validator.latency(),
            }
        });
        let streams: Vec<StreamReport> = streams.collect();
        let of_streams: u64 = streams.iter().map(|stream| stream.counts.foreign).sum();
        let foreign = self.nic.counts.foreign - measured.foreign + of_streams;
        Report {
            options: self.options.clone(),
            seconds: measured.seconds,
            streams,
            windows: measured.windows,
            busy: measured.busy,
            slices: measured.slices,
            tsc_hz: self.nic.clock.hz(),
            foreign,
            notices: self.nic.notices.tally().into_values().collect(),
            huge_pages_changed: self.huge_pages_changed,
            dma_bytes: self.nic.memory.bytes(),
            memory_taken: self.nic.counts.memory_taken,
            stalled: Duration::from_nanos(self.stalled_ns),
            is_interrupted: measured.is_interrupted,
        }
    }

    pub(crate) fn nic(&mut self) -> &mut Nic {
        &mut self.nic
    }

    pub(crate) fn driver_pid(&self) -> u32 {
        self.driver.pid()
    }

    pub(crate) fn driver_output(&mut self) -> String {
        self.driver.output()
    }

    pub(crate) fn options(&self) -> &'a Options {
        self.options
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }
}

/// State of a measurement under way.
pub(crate) struct Measured {
    start_ns: u64,
    starts: Vec<Start>,
    foreign: u64,
    pub(crate) windows: Vec<Window>,
    pub(crate) busy: f64,
    pub(crate) slices: Option<Slices>,
    pub(crate) is_interrupted: bool,
    seconds: f64,
}

/// A stream when the measurement began.
struct Start {
    sequence: u64,
    lost: u64,
}

impl Nic {
    /// Frames that left each port so far.
    pub(crate) fn transmitted(&self) -> Vec<u64> {
        self.ports.iter().map(|port| port.device.transmitted()).collect()
    }

    fn window(&self, start_ns: u64, before: &[u64]) -> Window {
        let frames = self.transmitted().iter().zip(before).map(|(now, before)| now - before).collect();
        Window { seconds: (self.clock.now_ns() - start_ns) as f64 / 1e9, frames }
    }

    /// What a port lacks to forward frames.
    pub(crate) fn missing(&self, port: usize) -> &'static str {
        use prony_softnic::Direction::{Receive, Transmit};
        let device = &self.ports[port].device;
        match () {
            () if device.enabled_queues(Receive) & 1 == 0 => "receive queue 0 is not enabled",
            () if device.enabled_queues(Transmit) == 0 => "no transmit queue is enabled",
            () if !device.is_link_up() => "the link is down",
            () => "receive queue 0 has no descriptors",
        }
    }
}

/// CPUs of the device and of the driver: as requested, otherwise two that this process may use; and one that is not the driver's,
/// if there is one.
fn cpus(options: &Options) -> Result<(u32, u32, u32), RunError> {
    let allowed: Vec<u32> = affinity::allowed()?.iter().collect();
    let first = *allowed.first().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let driver = options.driver_cpu.unwrap_or_else(|| *allowed.last().unwrap_or(&first));
    let other = allowed.iter().copied().find(|&cpu| cpu != driver).unwrap_or(driver);
    let device = match options.mode {
        Mode::Slice { .. } => driver,
        Mode::CrossCore => options.device_cpu.unwrap_or(other),
    };
    Ok((device, driver, other))
}

fn pin(cpu: u32) -> Result<(), RunError> {
    affinity::set_allowed(&CpuSet::from_iter([cpu])).map_err(|error| RunError::Cpu { cpu, error })
}
