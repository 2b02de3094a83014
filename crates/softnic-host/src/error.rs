//! Reasons why a driver was not measured.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use crate::dma_map::MapError;
use crate::namespace::NamespaceError;
use crate::notices::Notice;

/// Reasons why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no place for the driver.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// Its memory cannot be found.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The driver could not be started.
    #[error("cannot start {program}: {error}")]
    Start {
        /// Program of the driver, as given.
        program: String,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// It ended before the measurement did.
    #[error("the driver ended {}: {status}", if *is_measuring { "during the measurement" } else { "before all ports worked" })]
    Ended {
        /// Exit status of the driver.
        status: ExitStatus,
        /// The last that it printed.
        output: String,
        /// False if it had not set up all ports.
        is_measuring: bool,
        /// Another process changed the number of huge pages: from, to.
        huge_pages_changed: Option<(u64, u64)>,
    },
    /// It did not set up all ports in time.
    #[error("the driver did not set up {address} within {} s: {missing}", timeout.as_secs_f64())]
    NotReady {
        /// The first port that does not work.
        address: String,
        /// Step of the set-up that the port lacks.
        missing: &'static str,
        /// Time that the driver had for the set-up.
        timeout: Duration,
        /// The last that the driver printed.
        output: String,
    },
    /// No frame came out although the driver was ready.
    #[error("no frame came out in {seconds:.3} s, of {delivered} that went in")]
    NoFrames {
        /// Length of the measurement, in seconds.
        seconds: f64,
        /// Frames that were put into the driver's memory since it was started.
        delivered: u64,
        /// Mistakes of the driver, each kind once for each port, and their number.
        mistakes: Vec<(u64, Notice)>,
        /// The last that the driver printed.
        output: String,
    },
    /// The driver ran out of frames in every slice, or in those in which frames left it.
    #[error(
        "slices do not say how fast the driver is: it ran out of frames in {dry} of {all}, in which most of its frames left"
    )]
    NoSlice {
        /// Slices in which it ran out of frames.
        dry: u64,
        /// Number of slices in the measurement.
        all: u64,
        /// Mistakes of the driver, as of [`RunError::NoFrames`].
        mistakes: Vec<(u64, Notice)>,
        /// The last that the driver printed.
        output: String,
    },
    /// The CPUs cannot be used as requested.
    #[error("cannot run on CPU {cpu}: {error}")]
    Cpu {
        /// Number of the CPU.
        cpu: u32,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// Interrupted before there was something to report.
    #[error("interrupted before the measurement began")]
    Interrupted,
    /// Error that the kernel returned.
    #[error("cannot make the device: {0}")]
    Io(#[from] io::Error),
}
