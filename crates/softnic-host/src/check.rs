//! What every driver of the 82599 must get right, whatever its language: one list of traces, run against a driver in a process
//! of its own.

mod traces;

use std::ffi::OsString;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prony_softnic::{Event, Rate, Receipt, Sizes};

use crate::driver::Driver;
use crate::driver::descendants;
use crate::error::RunError;
use crate::namespace::Binding;
use crate::nic::Nic;
use crate::notices::Notice;
use crate::options::{Mode, Options};

pub use traces::{TRACES, Trace};

/// Time without a frame after which no more are waited for.
const QUIET: Duration = Duration::from_millis(300);
/// Time for frames that must come out.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two looks at all registers, and for a driver to work in.
const LOOK: Duration = Duration::from_micros(20);
/// Time between two looks at the driver's process.
const HOUSEKEEPING: Duration = Duration::from_millis(5);

/// Options of a check: driver, traces, time limits.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// PCI addresses of two ports.
    pub addresses: Vec<String>,
    /// Kernel driver that the ports are bound to.
    pub binding: Binding,
    /// Program and arguments, with the addresses in their places.
    pub command: Vec<OsString>,
    /// Time for the driver to set up all ports.
    pub setup_timeout: Duration,
    /// The driver's output goes to standard error.
    pub show_output: bool,
}

/// What came of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The driver did everything right.
    Passed,
    /// The driver failed the trace, with this finding.
    Failed(Finding),
}

/// What a driver does wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The device saw a mistake.
    Mistake(Notice),
    /// The driver ended before the trace did.
    Ended {
        /// Exit status of the driver.
        status: ExitStatus,
        /// The last that it printed.
        output: String,
    },
    /// Frames are not as they should be: how many of them, and what they are.
    Frames(String),
}

/// Runs one trace against a driver that is started for it.
///
/// # Errors
/// [`RunError`]: the driver cannot be started, or there is no place for it. What it does wrong is no error.
pub fn check(options: &CheckOptions, trace: &Trace, is_ended: &AtomicBool) -> Result<Outcome, RunError> {
    // The namespace is that of a thread, and so is the driver, which ends with it.
    let ended = thread::scope(|scope| {
        let runner = scope.spawn(|| {
            let mut bench = Bench::new(options, trace, is_ended)?;
            bench.start()?;
            (trace.run)(&mut bench)?;
            bench.expect_no_mistakes()
        });
        runner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    match ended {
        Ok(()) => Ok(Outcome::Passed),
        Err(Stop::Found(what)) => Ok(Outcome::Failed(what)),
        Err(Stop::Error(error)) => Err(*error),
    }
}

/// Why a trace does not go on.
pub(crate) enum Stop {
    /// The driver did something wrong.
    Found(Finding),
    /// It could not be tried.
    Error(Box<RunError>),
}

impl<E: Into<RunError>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Error(Box::new(error.into()))
    }
}

type Step<T = ()> = Result<T, Stop>;

fn found<T>(what: String) -> Step<T> {
    Err(Stop::Found(Finding::Frames(what)))
}

/// A device, and a driver on it.
pub(crate) struct Bench<'a> {
    options: &'a CheckOptions,
    environment: Vec<(OsString, OsString)>,
    is_ended: &'a AtomicBool,
    /// Ended before the device is gone.
    driver: Option<Driver>,
    nic: Nic,
    looked: Instant,
    housekept: Instant,
    /// Frames of a card with a fault may come out as frames that are of no stream.
    expects_foreign: bool,
}

impl<'a> Bench<'a> {
    fn new(options: &'a CheckOptions, trace: &Trace, is_ended: &'a AtomicBool) -> Step<Bench<'a>> {
        let nic = Nic::enter(&options.addresses, options.binding, &Sizes::Fixed(60), 0)?;
        let environment = trace.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let (looked, housekept) = (Instant::now(), Instant::now());
        Ok(Bench { options, environment, is_ended, driver: None, nic, looked, housekept, expects_foreign: false })
    }

    /// Starts the driver, and waits until it has reset all ports and set them up.
    fn start(&mut self) -> Step {
        let run = Options {
            addresses: self.options.addresses.clone(),
            binding: self.options.binding,
            command: self.options.command.clone(),
            environment: self.environment.clone(),
            rate: Rate::Max,
            sizes: Sizes::Fixed(60),
            flows: 0,
            mode: Mode::CrossCore,
            warm_up: Duration::ZERO,
            duration: Duration::ZERO,
            setup_timeout: self.options.setup_timeout,
            device_cpu: None,
            driver_cpu: None,
            show_output: self.options.show_output,
        };
        self.nic.notices.take();
        let started = Driver::start(&run).map_err(|error| {
            let program = run.command.first().map(|program| program.to_string_lossy().into_owned());
            RunError::Start { program: program.unwrap_or_default(), error }
        });
        self.driver = Some(started?);
        let until = Instant::now() + self.options.setup_timeout;
        let ports = self.ports();
        loop {
            self.nic.look(|_, _| {});
            self.nic.poll_transmit();
            self.housekeep()?;
            let is_reset = |port: usize, notices: &[Notice]| {
                notices.iter().any(|notice| notice.port == port && notice.event == Event::Reset)
            };
            let unready =
                (0..ports).find(|&port| !(is_reset(port, self.nic.notices.latest()) && self.nic.is_ready(port)));
            let Some(port) = unready else {
                self.nic.end_set_up();
                // What a port did before its driver reset it is a matter of the driver before.
                self.nic.notices.forget_before_resets();
                return Ok(());
            };
            if Instant::now() >= until {
                // A driver that takes a reset back within a microsecond leaves a register file in which there was none.
                let missing = match self.nic.is_ready(port) {
                    true => "no reset of the port was seen",
                    false => self.nic.missing(port),
                };
                let output = self.driver.as_mut().map(Driver::output).unwrap_or_default();
                return Err(Stop::from(RunError::NotReady {
                    address: self.options.addresses[port].clone(),
                    missing,
                    timeout: self.options.setup_timeout,
                    output,
                }));
            }
            self.nic.pause_in_set_up();
        }
    }

    fn ports(&self) -> usize {
        self.nic.ports.len()
    }

    /// Descriptors of the receive ring of a port.
    fn descriptors(&self, port: usize) -> u32 {
        self.nic.ports[port].device.receive_descriptors(0)
    }

    /// Looks at the driver's process now and then: its memory, and whether it lives.
    fn housekeep(&mut self) -> Step {
        if self.is_ended.load(Ordering::Relaxed) {
            return Err(Stop::from(RunError::Interrupted));
        }
        if self.housekept.elapsed() < HOUSEKEEPING || self.nic.is_urgent() {
            return Ok(());
        }
        self.housekept = Instant::now();
        if let Some(driver) = &mut self.driver {
            if let Some(status) = driver.poll_end() {
                let output = driver.output();
                return Err(Stop::Found(Finding::Ended { status, output }));
            }
            let pid = driver.pid();
            self.nic.find_drivers(descendants(pid));
        }
        self.nic.memory.take_error().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Lets the driver work for a moment. `takes`: the device sends what it is given. True if a frame was sent.
    fn step(&mut self, takes: bool) -> Step<bool> {
        let moved = takes && self.nic.poll_transmit();
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            self.nic.look(|_, _| {});
        }
        self.housekeep()?;
        if !moved {
            thread::sleep(LOOK);
        }
        Ok(moved)
    }

    /// Frames that came out of what entered a port.
    fn came_out(&self, port: usize) -> u64 {
        self.nic.streams[port].validator.counts().received
    }

    /// Lets frames enter a port, as many as it has room for while the driver makes some, up to `frames`; waits for room.
    fn deliver(&mut self, port: usize, frames: u32) -> Step {
        let (mut left, mut moved) = (frames, Instant::now());
        while left > 0 {
            let delivered = self.nic.deliver(port, left);
            left -= delivered;
            if delivered > 0 {
                moved = Instant::now();
            } else if moved.elapsed() > PATIENCE {
                return found(format!("{left} of {frames} frames found no descriptor in {} s", PATIENCE.as_secs()));
            }
            self.step(true)?;
        }
        Ok(())
    }

    /// Lets frames enter a port and waits until all of them came out.
    fn exchange(&mut self, port: usize, frames: u32) -> Step {
        let before = self.came_out(port);
        self.deliver(port, frames)?;
        let until = Instant::now() + PATIENCE;
        while self.came_out(port) < before + u64::from(frames) {
            if self.step(true)? {
                continue;
            }
            if Instant::now() > until {
                let out = self.came_out(port) - before;
                return found(format!("{out} of {frames} frames came out in {} s", PATIENCE.as_secs()));
            }
        }
        Ok(())
    }

    /// As [`Bench::exchange`], of all ports one after another.
    fn exchange_all(&mut self, frames: u32) -> Step {
        (0..self.ports()).try_for_each(|port| self.exchange(port, frames))
    }

    /// Waits until the driver forwards: its queues may work seconds before it does.
    fn await_driver(&mut self) -> Step {
        self.exchange_all(1)
    }

    /// Waits until one more frame comes out of those that entered a port.
    fn expect_some(&mut self, port: usize) -> Step {
        let (before, until) = (self.came_out(port), Instant::now() + PATIENCE);
        while self.came_out(port) == before {
            self.step(true)?;
            if Instant::now() > until {
                return found(format!("none of them came out in {} s", PATIENCE.as_secs()));
            }
        }
        Ok(())
    }

    /// Lets frames enter while the device sends nothing, until there were `frames` or the driver takes no more.
    fn jam(&mut self, ports: std::ops::Range<usize>, frames: u32) -> Step<Vec<u32>> {
        let mut entered = vec![0; ports.len()];
        let mut moved = Instant::now();
        while moved.elapsed() < QUIET && entered.iter().any(|&entered| entered < frames) {
            for (port, entered) in ports.clone().zip(&mut entered) {
                let delivered = self.nic.deliver(port, frames.saturating_sub(*entered).min(64));
                *entered += delivered;
                if delivered > 0 {
                    moved = Instant::now();
                }
            }
            self.step(false)?;
        }
        Ok(entered)
    }

    /// Takes all that comes out until there is nothing for a while.
    fn settle(&mut self) -> Step {
        let mut moved = Instant::now();
        while moved.elapsed() < QUIET {
            if self.step(true)? {
                moved = Instant::now();
            }
        }
        for stream in &mut self.nic.streams {
            stream.validator.settle(stream.generator.sequence());
        }
        Ok(())
    }

    /// Has the device write a receive descriptor as a card with a fault does.
    fn deliver_raw(&mut self, port: usize, bytes: &[u8], length: u16, is_end: bool) -> Step {
        let until = Instant::now() + PATIENCE;
        loop {
            let device = &mut self.nic.ports[port].device;
            match device.receive_raw(&mut self.nic.memory, bytes, length, is_end) {
                Receipt::Delivered { .. } => return Ok(()),
                // The queue stands still, so that there is nothing to wait for.
                Receipt::Faulted => {
                    self.nic.look(|_, _| {});
                    self.expect_no_mistakes()?;
                }
                receipt if Instant::now() > until => return found(format!("no descriptor was free: {receipt:?}")),
                _ => {
                    self.step(true)?;
                }
            }
        }
    }

    /// Kills the driver with SIGKILL.
    fn kill(&mut self) -> Step {
        if let Some(driver) = self.driver.take() {
            driver.kill()?;
        }
        Ok(())
    }

    /// Waits until no process has the registers mapped.
    fn expect_gone(&mut self) -> Step {
        let until = Instant::now() + PATIENCE;
        loop {
            self.nic.find_drivers([]);
            if self.nic.memory.drivers().is_empty() && self.nic.memory.bytes() == 0 {
                return Ok(());
            }
            if Instant::now() > until {
                return found(format!("{} of DMA memory are left", self.nic.memory.bytes()));
            }
            thread::sleep(LOOK);
        }
    }

    /// Everything that the device saw since the last start: no mistake of the driver, no frame that is wrong.
    fn expect_no_mistakes(&mut self) -> Step {
        if let Some((_, notice)) = self.nic.notices.tally().into_values().next() {
            return Err(Stop::Found(Finding::Mistake(notice)));
        }
        for (stream, address) in self.nic.streams.iter().zip(&self.options.addresses) {
            let counts = stream.validator.counts();
            let wrong = [
                (counts.reordered, "reordered"),
                (counts.duplicates, "duplicates"),
                (counts.corrupted, "corrupted"),
                (if self.expects_foreign { 0 } else { counts.foreign }, "foreign"),
            ];
            if let Some((number, what)) = wrong.into_iter().find(|&(number, _)| number > 0) {
                return found(format!("{number} {what} of the frames into {address}"));
            }
        }
        match self.nic.counts.foreign {
            0 => Ok(()),
            _ if self.expects_foreign => Ok(()),
            number => found(format!("{number} frames came out that never went in")),
        }
    }
}
