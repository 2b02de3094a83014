//! Flags of `prony nic` and `prony load nic`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prony_softnic_host::{Binding, FLOWS_MAX, Rate, Sizes, TRACES};

use crate::numbers::duration;

const LOAD_EXAMPLES: &str = "\
Examples:
  prony load nic -- ./forwarder
  prony load nic --rate 1M --duration 10s -- ./forwarder ADDR ADDR
  prony load nic --mode slice --json -- ./forwarder
  prony load nic --size imix -- java -cp classes Forwarder ADDR ADDR

The driver finds PCI devices in /sys/bus/pci/devices and huge pages in /mnt/huge, in a mount namespace of its own; the
machine's own /sys is not touched. Each argument ADDR is replaced by the address of the next port; without one, the
addresses are appended. Frames are numbered and have a checksum, so lost, late and changed frames are detected.
It needs root, and huge pages, which it reserves and returns.

Exit codes:
  0  every frame given to the driver came out exactly once, in order and unchanged
  1  frames were lost by the driver, reordered, duplicated or corrupted, or the device detected mistakes of the driver
  2  could not run, or no frame came out
  3  the result cannot be trusted: interrupted, unsteady, or somebody changed the number of huge pages";

/// Load a user-space network driver through an Intel 82599 in software.
#[derive(Debug, Args)]
#[command(after_help = LOAD_EXAMPLES)]
pub struct LoadNicArgs {
    /// Driver command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Duration of the measurement
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub duration: Duration,
    /// Warm-up time before the measurement, whose frames are not counted
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub warm_up: Duration,

    #[command(flatten)]
    pub traffic: TrafficArgs,
    #[command(flatten)]
    pub binding: BindingArgs,
    /// Batch size for the drivers of this project; others ignore it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512), help_heading = "Driver")]
    pub batch: Option<u16>,
    /// Time for the driver to set up all ports
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration, help_heading = "Driver")]
    pub setup_timeout: Duration,
    /// Show the driver's output
    #[arg(long, help_heading = "Driver")]
    pub show_output: bool,

    /// CPU of the device: its own, or that of the driver, which it interrupts every --interval
    #[arg(long, value_enum, default_value_t = ModeArg::CrossCore, help_heading = "Measurement")]
    pub mode: ModeArg,
    /// Time that the driver runs between two slices of the device, at first: it gets shorter while rings run empty in it
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(5..=1000), help_heading = "Measurement")]
    pub interval: u64,
    /// CPU of the driver [default: the last one allowed]
    #[arg(long, value_name = "CPU", help_heading = "Measurement")]
    pub driver_cpu: Option<u32>,
    /// CPU of the device [default: the first other one]
    #[arg(long, value_name = "CPU", help_heading = "Measurement")]
    pub device_cpu: Option<u32>,

    /// Write samples to FILE in pyperf's format
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long, requires = "output", help_heading = "Output")]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The ports and what enters them.
#[derive(Debug, Clone, Args)]
pub struct TrafficArgs {
    /// Number of ports
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8), help_heading = "Traffic")]
    pub ports: u8,
    /// Frames per second on each port: 14.88M, 500k, or max for as many as the driver takes
    #[arg(long, value_name = "RATE", default_value = "max", value_parser = rate, help_heading = "Traffic")]
    pub rate: Rate,
    /// Frame size in bytes without the frame check sequence: 60, 64..1518 or imix
    #[arg(long, value_name = "BYTES", default_value = "60", help_heading = "Traffic")]
    pub size: Sizes,
    /// Send packets of N flows (IPv4, UDP), which a driver with RSS finds in several queues; frames have 72 bytes or more then
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(FLOWS_MAX)), help_heading = "Traffic")]
    pub flows: Option<u16>,
    /// Huge pages of 2 MiB that must be free; more are reserved if needed
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Traffic")]
    pub huge_pages: u64,
}

/// How a driver finds the ports.
#[derive(Debug, Clone, Copy, Args)]
pub struct BindingArgs {
    /// Bind the ports to igb_uio, as far as a driver can tell: for DPDK, with link interrupts
    #[arg(long)]
    pub uio: bool,
    /// Bind the ports to vfio-pci, as far as a driver can tell: for DPDK and drivers that use VFIO, with interrupts
    #[arg(long, conflicts_with = "uio")]
    pub vfio: bool,
}

impl BindingArgs {
    pub fn binding(self) -> Binding {
        match (self.uio, self.vfio) {
            (true, _) => Binding::Uio,
            (_, true) => Binding::Vfio,
            _ => Binding::None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ModeArg {
    /// The device on one CPU, the driver on another
    CrossCore,
    /// Both on one CPU: packets per second of the driver's own CPU time
    Slice,
}

const NIC_EXAMPLES: &str = "\
Examples:
  prony nic                          a device with two ports, for drivers that are started by hand
  prony nic --rate 1000              the same, with 1,000 frames per second on each port that is set up
  prony nic trace -- ./forwarder     every register write and every descriptor that a driver uses
  prony nic trace --pcap frames.pcap --for 2s -- ./forwarder
  prony nic check -- ./forwarder     what every driver must get right, one trace after another

A driver that is started by hand must be in the mount namespace of the device: `prony nic` prints the command. However
it ends, the device releases its memory and waits for the next driver.";

/// An Intel 82599 in software, for user-space drivers.
#[derive(Debug, Args)]
#[command(after_help = NIC_EXAMPLES, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub struct NicArgs {
    #[command(subcommand)]
    pub verb: Option<NicVerb>,
    #[command(flatten)]
    pub serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
pub enum NicVerb {
    /// Print what a driver does: register writes, descriptors, frames
    Trace(TraceArgs),
    /// Try what every driver must get right
    Check(CheckArgs),
    /// Start a driver that uses VFIO, in the mount namespace of a device that was started with --vfio
    Join(JoinArgs),
    /// Gives huge pages back when standard input ends
    #[command(hide = true)]
    Guard,
}

/// Start a driver that uses VFIO, in the mount namespace of a device that was started with --vfio.
///
/// `prony nic --vfio` prints the whole command.
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// Driver command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Number of ports
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub ports: u8,
    /// Frames per second on each port that is set up [default: none]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,
    /// Frame size in bytes without the frame check sequence: 60, 64..1518 or imix
    #[arg(long, value_name = "BYTES", default_value = "60")]
    pub size: Sizes,
    /// Huge pages of 2 MiB that must be free; more are reserved if needed
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub huge_pages: u64,
    /// Stop after this time [default: on Ctrl-C]
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub limit: Option<Duration>,
    #[command(flatten)]
    pub binding: BindingArgs,
}

/// Print what a driver does: register writes, descriptors, frames.
///
/// Registers are shared memory: of several writes to one register that are closer than some microseconds, the last is
/// seen, and a write of the value that is there is not. docs/formats/nic-trace.md describes the lines and the JSON.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Driver command and its arguments [default: wait for one that is started by hand]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Number of ports
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub ports: u8,
    /// Frames per second on each port that is set up
    #[arg(long, value_name = "RATE", default_value = "100", value_parser = rate)]
    pub rate: Rate,
    /// Frame size in bytes without the frame check sequence: 60, 64..1518 or imix
    #[arg(long, value_name = "BYTES", default_value = "60")]
    pub size: Sizes,
    /// Huge pages of 2 MiB that must be free; more are reserved if needed
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub huge_pages: u64,
    /// Stop after this time
    #[arg(long = "for", value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub limit: Duration,
    #[command(flatten)]
    pub binding: BindingArgs,
    /// Omit descriptors; print only registers and events
    #[arg(long)]
    pub no_descriptors: bool,
    /// Also write the frames of all ports to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub pcap: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long, requires = "pcap", help_heading = "Output")]
    pub force: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  prony nic check -- ./forwarder
  prony nic check --only ring-wrap --only kill -- ./forwarder ADDR ADDR
  prony nic check --json -- java -cp classes Forwarder

The driver forwards frames between two ports, and is started again for each trace. docs/guide/nic.md describes the traces.

Exit codes:
  0  the driver passed all traces
  1  it failed one
  2  could not run";

/// Try what every driver must get right: full rings, lost links, frames in several buffers, a kill in the middle of DMA.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// Driver command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Only this trace; may be repeated
    #[arg(long, value_name = "TRACE", value_parser = trace)]
    pub only: Vec<&'static str>,
    /// Time for the driver to set up all ports
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub setup_timeout: Duration,
    /// Huge pages of 2 MiB that must be free; more are reserved if needed
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub huge_pages: u64,
    #[command(flatten)]
    pub binding: BindingArgs,
    /// Show the driver's output
    #[arg(long)]
    pub show_output: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn trace(text: &str) -> Result<&'static str, String> {
    let names = TRACES.iter().map(|trace| trace.name);
    let found = names.clone().find(|&name| name == text);
    found.ok_or_else(|| format!("expected one of {}", names.collect::<Vec<_>>().join(", ")))
}

/// The line rate of 100 Gbit/s with the shortest frames: what is more is a slip of the hand.
const RATE_MAX: f64 = 148.8e6;

fn rate(text: &str) -> Result<Rate, String> {
    if text == "max" {
        return Ok(Rate::Max);
    }
    let (number, factor) = match text.strip_suffix(['M', 'k']) {
        Some(number) if text.ends_with('M') => (number, 1e6),
        Some(number) => (number, 1e3),
        None => (text, 1.0),
    };
    let hz = number.parse::<f64>().map(|number| number * factor).ok().filter(|hz| (1e-3..=RATE_MAX).contains(hz));
    hz.map(Rate::Fixed).ok_or_else(|| "expected max, or frames per second such as 1000, 500k or 14.88M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        assert_eq!((rate("max"), rate("14.88M")), (Ok(Rate::Max), Ok(Rate::Fixed(14.88e6))));
        assert_eq!((rate("500k"), rate("0.5")), (Ok(Rate::Fixed(500e3)), Ok(Rate::Fixed(0.5))));
        for wrong in ["", "M", "0", "-1", "nan", "inf", "149M", "1G", "1 M"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
