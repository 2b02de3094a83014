//! The device alone: drivers come and go, and what they do is reported to the caller.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prony_softnic::{Rate, Sizes};

use crate::driver::Driver;
use crate::driver::descendants;
use crate::error::RunError;
use crate::namespace::Binding;
use crate::nic::{Frame, Nic};
use crate::notices::Notice;
use crate::options::{Mode, Options};
use crate::port::Written;

/// Time between two looks at all registers.
const LOOK: Duration = Duration::from_micros(20);
/// Time between two searches for drivers, and between two looks at the whole BAR.
const SEARCH: Duration = Duration::from_millis(10);

/// What the device alone is to do.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// PCI addresses of the ports, one or more.
    pub addresses: Vec<String>,
    /// Kernel driver that the ports are bound to.
    pub binding: Binding,
    /// Rate of the frames that enter each port that works; `None`: no frames.
    pub rate: Option<Rate>,
    /// Sizes of the generated frames.
    pub sizes: Sizes,
    /// A driver to start, with the addresses in their places; the device ends when it does.
    pub command: Option<Vec<OsString>>,
    /// Time after which the device ends; `None` for never.
    pub limit: Option<Duration>,
    /// Tells each write and each used descriptor.
    pub is_tracing: bool,
    /// True if each frame is reported.
    pub with_frames: bool,
}

/// Something that happened. Times are nanoseconds since the device was made.
#[derive(Debug)]
pub enum DeviceEvent<'a> {
    /// The device is there, in the mount namespace of this thread.
    Ready {
        /// Thread whose namespace it is.
        thread: u32,
    },
    /// Processes have mapped registers of a port.
    Attached {
        /// Time since the device was made, in nanoseconds.
        time_ns: u64,
        /// PIDs of the driver's processes.
        pids: &'a [u32],
        /// Bytes of their DMA memory so far.
        dma_bytes: u64,
    },
    /// All of them are gone. Their memory was let go, and the device was reset.
    Detached {
        /// Time since the device was made, in nanoseconds.
        time_ns: u64,
        /// Queues that worked when it happened.
        working_queues: u32,
    },
    /// A driver wrote a register.
    Written {
        /// Time at which the device saw it.
        time_ns: u64,
        /// Number of the port, from 0.
        port: usize,
        /// Register write: offset and value.
        write: Written,
    },
    /// An event of a port.
    Notice(Notice),
    /// A frame that entered or left a port.
    Frame(&'a Frame),
}

/// Frames of one port while the device was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Number of frames given to the driver.
    pub received: u64,
    /// Number of frames sent by the driver.
    pub transmitted: u64,
    /// Number of frames lost for lack of a free descriptor.
    pub missed: u64,
}

/// Has the device there until `is_ended` is set, the limit is over, or the driver that it started has ended.
///
/// # Errors
/// [`RunError`].
pub fn serve(
    options: &ServeOptions,
    is_ended: &AtomicBool,
    watch: &mut (dyn FnMut(DeviceEvent) + Send),
) -> Result<Vec<PortCounts>, RunError> {
    // The namespace is that of a thread.
    thread::scope(|scope| {
        let server = scope.spawn(|| serve_here(options, is_ended, watch));
        server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn serve_here(
    options: &ServeOptions,
    is_ended: &AtomicBool,
    watch: &mut (dyn FnMut(DeviceEvent) + Send),
) -> Result<Vec<PortCounts>, RunError> {
    let mut nic = Nic::enter(&options.addresses, options.binding, &options.sizes, 0)?;
    nic.tap = options.with_frames.then(Vec::new);
    nic.set_tracing(options.is_tracing);
    let mut driver = match &options.command {
        None => None,
        Some(command) => Some(start(options, command)?),
    };
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    watch(DeviceEvent::Ready { thread });
    let (started, mut search, mut look) = (Instant::now(), Instant::now(), Instant::now());
    let mut counts = vec![PortCounts::default(); nic.ports.len()];
    loop {
        let moved = nic.poll();
        tell_frames(&mut nic, watch);
        let now = Instant::now();
        if now >= look || nic.is_urgent() {
            look = now + LOOK;
            let time_ns = nic.clock.now_ns();
            nic.look(|port, write| {
                if options.is_tracing {
                    watch(DeviceEvent::Written { time_ns, port, write });
                }
            });
            if options.rate.is_some() {
                nic.start_ready(options.rate);
            }
        }
        for notice in nic.notices.take() {
            watch(DeviceEvent::Notice(notice));
        }
        if now >= search && !nic.is_urgent() {
            search = now + SEARCH;
            if options.is_tracing {
                let time_ns = nic.clock.now_ns();
                nic.look_everywhere(|port, write| watch(DeviceEvent::Written { time_ns, port, write }));
            }
            let candidates = match &driver {
                Some(driver) => descendants(driver.pid()),
                None => in_this_namespace(),
            };
            let had_one = !nic.memory.drivers().is_empty();
            if nic.find_drivers(candidates) {
                let time_ns = nic.clock.now_ns();
                match nic.memory.drivers() {
                    [] if had_one => {
                        let working_queues = nic.working_queues();
                        add(&mut counts, &nic);
                        nic.restart();
                        watch(DeviceEvent::Detached { time_ns, working_queues });
                    }
                    [] => {}
                    pids => watch(DeviceEvent::Attached { time_ns, pids, dma_bytes: nic.memory.bytes() }),
                }
            }
            if let Some(error) = nic.memory.take_error() {
                return Err(error.into());
            }
            nic.settle(1000);
            let is_over = options.limit.is_some_and(|limit| started.elapsed() >= limit);
            let has_ended = driver.as_mut().is_some_and(|driver| driver.poll_end().is_some());
            if is_over || has_ended || is_ended.load(Ordering::Relaxed) {
                break;
            }
        }
        if !moved {
            nic.pause_in_set_up();
        }
    }
    add(&mut counts, &nic);
    Ok(counts)
}

fn start(options: &ServeOptions, command: &[OsString]) -> Result<Driver, RunError> {
    let run = Options {
        addresses: options.addresses.clone(),
        binding: options.binding,
        command: command.to_vec(),
        environment: Vec::new(),
        rate: Rate::Max,
        sizes: options.sizes.clone(),
        flows: 0,
        mode: Mode::CrossCore,
        warm_up: Duration::ZERO,
        duration: Duration::ZERO,
        setup_timeout: Duration::ZERO,
        device_cpu: None,
        driver_cpu: None,
        show_output: true,
    };
    Driver::start(&run).map_err(|error| {
        let program = command.first().map(|program| program.to_string_lossy().into_owned());
        RunError::Start { program: program.unwrap_or_default(), error }
    })
}

fn tell_frames(nic: &mut Nic, watch: &mut (dyn FnMut(DeviceEvent) + Send)) {
    if let Some(tap) = &mut nic.tap {
        for frame in tap.drain(..) {
            watch(DeviceEvent::Frame(&frame));
        }
    }
}

fn add(counts: &mut [PortCounts], nic: &Nic) {
    for (counts, port) in counts.iter_mut().zip(&nic.ports) {
        counts.received += port.device.received();
        counts.transmitted += port.device.transmitted();
        counts.missed += port.device.missed();
    }
}

/// Processes in the mount namespace of this thread, without this one.
fn in_this_namespace() -> Vec<u32> {
    let Ok(ours) = fs::read_link("/proc/thread-self/ns/mnt") else { return Vec::new() };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_here =
        |pid: &u32| fs::read_link(Path::new("/proc").join(pid.to_string()).join("ns/mnt")).is_ok_and(|its| its == ours);
    pids.filter(|&pid| pid != std::process::id()).filter(is_here).collect()
}
