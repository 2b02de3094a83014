//! Flags of the verbs that run a study: `run`, `resume`, `work`, `collect`, `status`, `merge`, `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::machine::Root;

const RUN_EXAMPLES: &str = "\
Examples:
  prony study run study.toml -o results/
  prony study run study.toml -o results/ --machine xeon
  prony study run study.toml -o results/ --executor slurm
  prony study run study.toml -o results/ --executor exec --command 'ssh {machine} {command}' \\
      --send 'rsync -a {directory}/ {machine}:{directory}/' --fetch 'rsync -a {machine}:{directory}/ {incoming}/'

Results are kept however a run ends: the same command, or `prony study resume DIR`, continues it.
Commands run in DIR/work; everything they need beyond installed programs is copied: builds, demos and files of the study.

Exit codes:
  0  every cell has a value, or was skipped by a stop rule
  1  some cells failed
  2  could not run: the study, a machine that does not meet its requirements, a full disk
  3  not all cells ran";

/// Run a study, locally or on a fleet.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// Study file
    #[arg(value_name = "FILE")]
    pub study: PathBuf,
    /// Directory for all results [default: `results` next to the study]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub how: How,
}

/// Resume an interrupted study.
#[derive(Debug, Args)]
#[command(after_help = "Completed cells are never run again. Exit codes: as for `prony study run`.")]
pub struct ResumeArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Also run failed cells again
    #[arg(long)]
    pub retry_failed: bool,
    #[command(flatten)]
    pub how: How,
}

/// Executor of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExecutorName {
    /// This process
    Local,
    /// A command that reaches the machine
    Exec,
    /// One Slurm job per block
    Slurm,
}

/// Options for running cells.
#[derive(Debug, Args)]
pub struct How {
    /// Only this machine of the study; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Machines")]
    pub machine: Vec<String>,
    /// Executor, overriding the study
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Machines")]
    pub executor: Option<ExecutorName>,
    /// Command that reaches a machine: `ssh {machine} {command}`
    #[arg(long, value_name = "TEMPLATE", help_heading = "Machines")]
    pub command: Option<String>,
    /// Command that copies {directory} to {machine} first, if it is not shared
    #[arg(long, value_name = "TEMPLATE", help_heading = "Machines")]
    pub send: Option<String>,
    /// Command that copies the results of {machine} to {incoming}
    #[arg(long, value_name = "TEMPLATE", help_heading = "Machines")]
    pub fetch: Option<String>,
    /// Directory for the ledgers of other machines, on a local disk [default: below /var/tmp]
    #[arg(long, value_name = "DIR", help_heading = "Machines")]
    pub scratch: Option<PathBuf>,
    /// Return after submitting the jobs
    #[arg(long, help_heading = "Machines")]
    pub no_wait: bool,
    /// Number of cells to run at the same time; they interfere with each other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,
    #[command(flatten)]
    pub root: Root,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Run the cells of one machine, as executors do there.
#[derive(Debug, Args)]
pub struct WorkOnArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Name of this machine in the study
    #[arg(long, value_name = "NAME")]
    pub machine: String,
    /// Only this block of its plan
    #[arg(long, value_name = "N")]
    pub block: Option<u64>,
    /// Keep the ledger in this directory on a local disk, and copy completed cells to DIR
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub root: Root,
}

/// Read the ledgers after all jobs, and resubmit what is missing.
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Directory of the nodes' ledgers
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}

/// Show the progress of each machine.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 all done, 1 some cells failed, 3 some cells have not run yet.")]
pub struct StatusArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const MERGE_EXAMPLES: &str = "\
Examples:
  prony study merge xeon/ epyc/ -o results/

Merges directories of one study that ran on different machines or were copied: a cell that is done in several keeps its
first value, and differing values are reported.

Exit codes: 0 merged, 1 some cells have two different values, 2 could not merge.";

/// Merge several directories of the same study.
#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub struct MergeArgs {
    /// Directories of the study
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// Directory to merge into; may exist
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  prony study export results/ --csv cells.csv
  prony study export results/ --csv -
  prony study export results/ --samples samples/   one file per configuration, for `prony compare` and pyperf";

/// Export the cells of a study as a table, or their samples.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct ExportArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Write a table with one line per cell to FILE; `-` is standard output
    #[arg(long, value_name = "FILE", required_unless_present = "samples")]
    pub csv: Option<PathBuf>,
    /// Write the samples of each configuration on each workload and machine to this directory
    #[arg(long, value_name = "DIR")]
    pub samples: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}
