//! Flags of `prony machine`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prony_machine::{CpuSet, Knob};

use crate::numbers::duration;

/// Show, check, quiet and restore the machine that measures.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct MachineArgs {
    #[command(subcommand)]
    pub verb: MachineVerb,
}

#[derive(Debug, Subcommand)]
pub enum MachineVerb {
    /// Say what this machine is
    Show(ShowArgs),
    /// Look for what disturbs a measurement, now
    Check(CheckArgs),
    /// Quiet the machine: for a command, or until it is restored
    Tune(TuneArgs),
    /// Put back what tune changed
    Restore(RestoreArgs),
}

/// Where the machine is.
#[derive(Debug, Args)]
pub struct Root {
    /// Take this directory for the machine, with its own proc and sys; for tests
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

/// Say what this machine is.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub root: Root,
    /// Answer in JSON, as every samples file holds it
    #[arg(long)]
    pub json: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  prony machine check
  prony machine check --cpu 3 --for 5s
  prony machine check --json | jq '.findings[] | select(.state == \"disturbs\")'

A thread spins on the CPU meanwhile: who else wants it shows only so.

Exit codes: 0 nothing disturbs, 1 something does.";

/// Look for what disturbs a measurement, now.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct CheckArgs {
    /// The CPU of the benchmark; without it the first isolated one, or the last
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// Look for so long
    #[arg(long = "for", value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub window: Duration,
    #[command(flatten)]
    pub root: Root,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const TUNE_EXAMPLES: &str = "\
Examples:
  prony machine tune -- prony bench ./old ./new   quiet while the command runs
  prony machine tune --cpu 3                      quiet until `prony machine restore`
  prony machine tune --skip turbo --skip smt

Every value is kept in an undo file before it is written and read again after. It is put back when the command ends, on
a signal, and after a crash or kill -9 by `prony machine restore` or the next tune. Without root, what can be is done,
and the rest is told.

Exit codes: 0 quiet; 1 something was not changed as asked or not put back; 2 could not run. With a command: its own.";

/// Quiet the machine: for a command, or until it is restored.
#[derive(Debug, Args)]
#[command(after_help = TUNE_EXAMPLES)]
pub struct TuneArgs {
    /// The CPUs of the benchmark: 3 or 2-3; without it the first isolated one, or the last
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpu: Option<CpuSet>,
    /// Leave this alone: autogroup, perf-sampling, numa-balancing, nmi-watchdog, vm-stat, huge-pages, workqueues,
    /// governor, turbo, frequency, idle, irqbalance, interrupts, smt or shield
    #[arg(long, value_name = "KNOB", value_parser = knob)]
    pub skip: Vec<Knob>,
    /// Run the command under SCHED_FIFO instead of nice -20
    #[arg(long, requires = "command")]
    pub fifo: bool,
    /// Run this meanwhile, on those CPUs, and put everything back when it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    #[command(flatten)]
    pub root: Root,
    /// Answer in JSON; a command's output is the answer already
    #[arg(long, conflicts_with = "command")]
    pub json: bool,
}

/// Put back what tune changed.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 all is as before, 1 something could not be or was changed by others.")]
pub struct RestoreArgs {
    #[command(flatten)]
    pub root: Root,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

fn cpus(text: &str) -> Result<CpuSet, String> {
    match text.parse::<CpuSet>() {
        Ok(cpus) if cpus.is_empty() => Err("expected CPUs, as 3 or 2-3".to_owned()),
        Ok(cpus) => Ok(cpus),
        Err(error) => Err(error.to_string()),
    }
}

fn knob(name: &str) -> Result<Knob, String> {
    Knob::from_name(name).ok_or_else(|| format!("expected one of {}", Knob::ALL.map(Knob::name).join(", ")))
}
