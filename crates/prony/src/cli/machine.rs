//! Command-line flags of `prony machine`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prony_machine::{CpuSet, Knob};

use crate::numbers::duration;

/// Show, check, tune and restore the measuring machine.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct MachineArgs {
    #[command(subcommand)]
    pub verb: MachineVerb,
}

#[derive(Debug, Subcommand)]
pub enum MachineVerb {
    /// Show facts about this machine
    Show(ShowArgs),
    /// Look for sources of interference
    Check(CheckArgs),
    /// Reduce interference, while a command runs or until restore
    Tune(TuneArgs),
    /// Restore what tune changed
    Restore(RestoreArgs),
}

/// Root of the machine's `/proc` and `/sys`.
#[derive(Debug, Args)]
pub struct Root {
    /// Take this directory for the machine, with its own proc and sys; for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

/// Show facts about this machine.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub root: Root,
    /// Print JSON, as stored in every samples file
    #[arg(long)]
    pub json: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  prony machine check
  prony machine check --cpu 3 --for 5s
  prony machine check --cpu 1-2,4                several CPUs: with --json, an array
  prony machine check --json | jq '.findings[] | select(.state == \"disturbs\")'

A thread spins on the CPU during the check, because competing threads only show if some thread wants the CPU.

Exit codes: 0 no interference found, 1 at least one source, or a parameter that the kernel ignored.";

/// Look for sources of interference.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// CPUs of the benchmark: 3 or 1-2,4, one after the other [default: the first isolated one, or the last]
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpu: Option<CpuSet>,
    /// Duration of the check of each CPU
    #[arg(long = "for", value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub window: Duration,
    #[command(flatten)]
    pub root: Root,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const TUNE_EXAMPLES: &str = "\
Examples:
  prony machine tune -- prony bench ./old ./new   while the command runs
  prony machine tune --cpu 3                      until `prony machine restore`
  prony machine tune --skip turbo --skip smt

Each previous value is stored in an undo file before a new one is written, and the new value is read back. Values are
restored when the command ends, on a signal, and after a crash or kill -9 by `prony machine restore` or the next tune.
Without root, tune changes what it can and reports the rest.

Exit codes: 0 tuned; 1 some settings were not made or not restored; 2 could not run. With a command: that of the command.";

/// Reduce interference, while a command runs or until restore.
#[derive(Debug, Args)]
#[command(after_help = TUNE_EXAMPLES)]
pub struct TuneArgs {
    /// CPUs of the benchmark: 3 or 2-3 [default: the first isolated one, or the last]
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpu: Option<CpuSet>,
    /// Leave this setting alone: autogroup, perf-sampling, numa-balancing, nmi-watchdog, vm-stat, huge-pages, workqueues,
    /// governor, turbo, frequency, idle, irqbalance, interrupts, smt or shield
    #[arg(long, value_name = "KNOB", value_parser = knob)]
    pub skip: Vec<Knob>,
    /// Frequency of all CPUs: 1.6GHz or 1600MHz [default: the highest that needs no turbo]
    #[arg(long, value_name = "HZ", value_parser = frequency)]
    pub frequency: Option<u64>,
    /// Run the command under SCHED_FIFO instead of nice -20
    #[arg(long, requires = "command")]
    pub fifo: bool,
    /// Run this command on those CPUs, and restore everything when it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub root: Root,
    /// Print JSON; not with a command, whose output takes its place
    #[arg(long, conflicts_with = "command")]
    pub json: bool,
}

/// Restore what tune changed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 everything is restored, 1 something could not be restored or was changed by others."
)]
pub struct RestoreArgs {
    #[command(flatten)]
    pub root: Root,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn cpus(text: &str) -> Result<CpuSet, String> {
    match text.parse::<CpuSet>() {
        Ok(cpus) if cpus.is_empty() => Err("expected CPUs, such as 3 or 2-3".to_owned()),
        Ok(cpus) => Ok(cpus),
        Err(error) => Err(error.to_string()),
    }
}

/// A frequency in kHz.
fn frequency(text: &str) -> Result<u64, String> {
    let units = [("GHz", 1e6), ("G", 1e6), ("MHz", 1e3), ("M", 1e3), ("kHz", 1.0)];
    let found =
        units.iter().find_map(|(unit, khz)| Some(text.strip_suffix(unit)?.trim_end().parse::<f64>().ok()? * khz));
    match found {
        Some(khz) if (1.0..1e9).contains(&khz) => Ok(khz.round() as u64),
        _ => Err("expected a frequency, such as 1.6GHz or 1600MHz".to_owned()),
    }
}

fn knob(name: &str) -> Result<Knob, String> {
    Knob::from_name(name).ok_or_else(|| format!("expected one of {}", Knob::ALL.map(Knob::name).join(", ")))
}
