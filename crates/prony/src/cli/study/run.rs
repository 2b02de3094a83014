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

What was measured is kept, however it ends: the same command, or `prony study resume DIR`, goes on where it was.
Commands run in DIR/work; what they need beside programs of the system is shipped: builds, demos and files of the study.

Exit codes:
  0  every cell has a value, or was left out by a stopping rule
  1  some cells failed
  2  could not run: the study, a machine that is not what the study asks for, a disk that is full
  3  not all cells ran";

/// Run a study here or on a fleet.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// The study
    #[arg(value_name = "FILE")]
    pub study: PathBuf,
    /// Keep everything in this directory; `results` beside the study if left out
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub how: How,
}

/// Go on with a study where it was.
#[derive(Debug, Args)]
#[command(after_help = "Cells that are done are never run again. Exit codes: as `prony study run`.")]
pub struct ResumeArgs {
    /// The study's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Run cells again that failed
    #[arg(long)]
    pub retry_failed: bool,
    #[command(flatten)]
    pub how: How,
}

/// What runs cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExecutorName {
    /// This process
    Local,
    /// A command that leads to the machine
    Exec,
    /// A Slurm job a block
    Slurm,
}

/// How cells are run.
#[derive(Debug, Args)]
pub struct How {
    /// Only on this machine of the study; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Where")]
    pub machine: Vec<String>,
    /// What runs cells, whatever the study says
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Where")]
    pub executor: Option<ExecutorName>,
    /// Leads to a machine: `ssh {machine} {command}`
    #[arg(long, value_name = "TEMPLATE", help_heading = "Where")]
    pub command: Option<String>,
    /// Brings {directory} to {machine} first, where it is not shared
    #[arg(long, value_name = "TEMPLATE", help_heading = "Where")]
    pub send: Option<String>,
    /// Brings what {machine} did back into {incoming}
    #[arg(long, value_name = "TEMPLATE", help_heading = "Where")]
    pub fetch: Option<String>,
    /// Where other machines keep their ledgers, on a disk of their own; below /var/tmp if left out
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    pub scratch: Option<PathBuf>,
    /// Return when the jobs are submitted
    #[arg(long, help_heading = "Where")]
    pub no_wait: bool,
    /// Run so many cells at the same time; they disturb each other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,
    #[command(flatten)]
    pub root: Root,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// Run the cells of one machine, as executors do there.
#[derive(Debug, Args)]
pub struct WorkOnArgs {
    /// The study's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Which machine of the study this is
    #[arg(long, value_name = "NAME")]
    pub machine: String,
    /// Only this block of its plan
    #[arg(long, value_name = "N")]
    pub block: Option<u64>,
    /// Keep the ledger here, on a disk of this machine, and copy what is done to DIR
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub root: Root,
}

/// Look into the ledgers when all jobs are over, and submit again what is left.
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// The study's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Where nodes keep their ledgers
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}

/// Say how far each machine is.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 all done, 1 some cells failed, 3 not all cells ran yet.")]
pub struct StatusArgs {
    /// The study's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const MERGE_EXAMPLES: &str = "\
Examples:
  prony study merge xeon/ epyc/ -o results/

Directories of one study, run on different machines or copied, become one: a cell that is done in several keeps its
first value, and a difference is told.

Exit codes: 0 merged, 1 some cells have two values, 2 could not merge.";

/// Make one directory of several of the same study.
#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub struct MergeArgs {
    /// Directories of the study
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// Merge into this one, which may be there already
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  prony study export results/ --csv cells.csv
  prony study export results/ --csv -
  prony study export results/ --samples samples/   one file a configuration, for `prony compare` and pyperf";

/// Export the cells of a study as a table, or their samples.
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct ExportArgs {
    /// The study's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Write every cell as a line of this table; `-` is standard output
    #[arg(long, value_name = "FILE", required_unless_present = "samples")]
    pub csv: Option<PathBuf>,
    /// Write the samples of each configuration on each workload and machine into this directory
    #[arg(long, value_name = "DIR")]
    pub samples: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}
