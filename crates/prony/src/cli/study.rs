//! Flags of `prony study`.

mod report;
mod results;
mod run;

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub use report::ReportArgs;
pub use results::{DiffArgs, EffectsArgs, HistoryArgs, ImportArgs};
pub use run::{CollectArgs, ExecutorName, ExportArgs, How, MergeArgs, ResumeArgs, RunArgs, StatusArgs, WorkOnArgs};

/// A matrix of builds, workloads and machines: planned, run, and put on one page.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct StudyArgs {
    #[command(subcommand)]
    pub verb: StudyVerb,
}

#[derive(Debug, Subcommand)]
pub enum StudyVerb {
    /// Show what a study would run, and what it could tell, before anything runs
    Plan(PlanArgs),
    /// Run a study here or on a fleet, every cell once
    Run(RunArgs),
    /// Say how far each machine is
    Status(StatusArgs),
    /// Go on with a study where it was
    Resume(ResumeArgs),
    /// Make one directory of several of the same study
    Merge(MergeArgs),
    /// Export cells as a table, or their samples
    Export(ExportArgs),
    /// Run the cells of one machine, as executors do there
    #[command(hide = true)]
    Work(WorkOnArgs),
    /// Look into the ledgers when all jobs are over, and submit again what is left
    #[command(hide = true)]
    Collect(CollectArgs),
    /// Make the results of a study of a table that somebody else measured
    Import(ImportArgs),
    /// Say what each level of each factor does
    Effects(EffectsArgs),
    /// Say what changed between two runs of a study
    Diff(DiffArgs),
    /// Follow a study over commits, and mark where it changed
    History(HistoryArgs),
    /// Put a study on one page
    Report(ReportArgs),
}

const PLAN_EXAMPLES: &str = "\
Examples:
  prony study plan study.toml
  prony study plan study.toml --cells | head -20
  prony study plan study.toml --earlier results/     how long it takes by cells that ran

A block is machine × repeat × workload. Each of its configurations runs once, in an order drawn from the seed; before
them runs one that does not count, and among them one a second time, for the A/A pair. An edge is a pair of levels that
some block holds with all else equal. On one machine intervals speak of the workloads that are measured, and take
repeats; for other workloads like them it takes three.

Exit codes:
  0  planned
  1  planned, and the effect of some level cannot be told from others, or there will be no interval of any
  2  the study cannot be read, or there is nothing to run";

/// Show what a study would run, and what it could tell.
#[derive(Debug, Args)]
#[command(after_help = PLAN_EXAMPLES)]
pub struct PlanArgs {
    /// The study
    #[arg(value_name = "FILE")]
    pub study: PathBuf,
    /// List every cell in the order in which they run
    #[arg(long)]
    pub cells: bool,
    /// Estimate the time by what cells of this directory took
    #[arg(long, value_name = "DIR")]
    pub earlier: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}
