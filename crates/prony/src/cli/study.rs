//! Command-line flags of `prony study`.

mod report;
mod results;
mod run;

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub use report::ReportArgs;
pub use results::{DiffArgs, EffectsArgs, HistoryArgs, ImportArgs};
pub use run::{CollectArgs, ExecutorName, ExportArgs, How, MergeArgs, ResumeArgs, RunArgs, StatusArgs, WorkOnArgs};

/// Plan, run and report a study of builds, workloads and machines.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct StudyArgs {
    #[command(subcommand)]
    pub verb: StudyVerb,
}

#[derive(Debug, Subcommand)]
pub enum StudyVerb {
    /// Show what a study would run and what it could detect, without running anything
    Plan(PlanArgs),
    /// Run a study, locally or on a fleet, every cell once
    Run(RunArgs),
    /// Show the progress of each machine
    Status(StatusArgs),
    /// Resume an interrupted study
    Resume(ResumeArgs),
    /// Merge several directories of the same study
    Merge(MergeArgs),
    /// Export cells as a table, or their samples
    Export(ExportArgs),
    /// Run the cells of one machine, as executors do there
    #[command(hide = true)]
    Work(WorkOnArgs),
    /// Read the ledgers after all jobs, and resubmit what is missing
    #[command(hide = true)]
    Collect(CollectArgs),
    /// Import a table that was measured elsewhere
    Import(ImportArgs),
    /// Estimate the effect of each level of each factor
    Effects(EffectsArgs),
    /// Compare two runs of a study
    Diff(DiffArgs),
    /// Follow a study over commits and mark changes
    History(HistoryArgs),
    /// Write the report page of a study
    Report(ReportArgs),
}

const PLAN_EXAMPLES: &str = "\
Examples:
  prony study plan study.toml
  prony study plan study.toml --cells | head -20
  prony study plan study.toml --earlier results/     time estimate from cells that already ran

A block is machine × repeat × workload. Each of its configurations runs once, in an order drawn from the seed; a warm-up
runs first, and one configuration runs a second time, for the A/A pair. A matched comparison is a pair of
levels that some block contains with all other factors equal. On one machine, intervals are for the measured workloads
and need repeats; intervals for other workloads like them need at least three workloads.

Exit codes:
  0  planned
  1  planned, but the effect of some level is confounded with others, or there will be no interval for any
  2  the study cannot be read, or there is nothing to run";

/// Show what a study would run and what it could detect.
#[derive(Debug, Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub struct PlanArgs {
    /// Study file
    #[arg(value_name = "FILE")]
    pub study: PathBuf,
    /// List all cells in run order
    #[arg(long)]
    pub cells: bool,
    /// Estimate the time from the cells of this directory
    #[arg(long, value_name = "DIR")]
    pub earlier: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
