//! What to run, and how.

use std::ffi::OsString;
use std::time::Duration;

use prony_softnic::{Rate, Sizes};

use crate::namespace::Binding;

/// How the CPU time of a driver is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The device on one CPU, the driver on another, as with a real card; the device can be the bottleneck.
    CrossCore,
    /// Both on one CPU: the device interrupts the driver at an interval, fills its rings and leaves. Only the time between
    /// is the driver's, and only intervals in which it never ran out of frames count.
    Slice {
        /// Time that the driver has between two visits of the device.
        interval: Duration,
    },
}

/// Options of a run: driver, traffic, mode, CPUs.
#[derive(Debug, Clone)]
pub struct Options {
    /// PCI addresses of the ports, one or more.
    pub addresses: Vec<String>,
    /// Kernel driver that the ports are bound to.
    pub binding: Binding,
    /// Program and arguments, with the addresses in their places.
    pub command: Vec<OsString>,
    /// Variables for it, beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Rate of the frames that enter each port.
    pub rate: Rate,
    /// Sizes of the generated frames.
    pub sizes: Sizes,
    /// Flows of IPv4 and UDP that the frames are packets of, for devices that spread them over queues; 0: of none.
    pub flows: u16,
    /// How CPU time is measured.
    pub mode: Mode,
    /// Time before the measurement, from the moment in which all ports work.
    pub warm_up: Duration,
    /// Duration of the measurement, without the warm-up.
    pub duration: Duration,
    /// Time for the driver to set up all ports.
    pub setup_timeout: Duration,
    /// CPU of the device; in slice mode that of the driver, too.
    pub device_cpu: Option<u32>,
    /// CPU of the driver; `None` for the last one allowed.
    pub driver_cpu: Option<u32>,
    /// The driver's output goes to standard error.
    pub show_output: bool,
}
