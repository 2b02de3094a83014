//! Flags of the verbs that look at what a study found: `import`, `effects`, `diff` and `history`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::bench::percent;

const IMPORT_EXAMPLES: &str = "\
Examples:
  prony study import results.csv -o DIR
  prony study import results.csv -o DIR --factor Engine --factor Plugins --workload Demo --machine CPU \\
      --value 'Duration, msec' --frames Frames --normalise-to 120000

The first line names the columns; cells are separated by commas, semicolons, tabs or |. An empty cell in a naming column
repeats the cell above. Columns without an option are guessed by name, and the guesses are printed on standard error. Equal
rows are repeats; a row without a value is a failed cell.

Exit codes: 0 imported, 2 the table cannot be read; the message has line and column.";

/// Import a table that was measured elsewhere.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct ImportArgs {
    /// Table to import
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// Directory of the study to create
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    #[command(flatten)]
    pub columns: ColumnArgs,

    /// Unit of the values: s, ms, us, ns, B, kB, MB, or any other name
    #[arg(long, value_name = "UNIT", help_heading = "Values")]
    pub unit: Option<String>,
    /// Amount of work to which values are normalised [default: a round number near the median]
    #[arg(long, value_name = "N", value_parser = above_zero, help_heading = "Values")]
    pub normalise_to: Option<f64>,
    /// More is better, as for rates
    #[arg(long, conflicts_with = "lower_is_better", help_heading = "Values")]
    pub higher_is_better: bool,
    /// Less is better; assumed only for times and bytes
    #[arg(long, help_heading = "Values")]
    pub lower_is_better: bool,
    /// Title of the study [default: name of the table]
    #[arg(long, value_name = "TEXT", help_heading = "Values")]
    pub title: Option<String>,

    /// Overwrite existing results in DIR
    #[arg(long)]
    pub force: bool,
    /// Print a summary of the import as JSON
    #[arg(long)]
    pub json: bool,
}

/// Roles of the columns of a table.
#[derive(Debug, Args)]
pub struct ColumnArgs {
    /// Column with levels of a factor; may be repeated, in order
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub factor: Vec<String>,
    /// Column with levels of a random factor: they were drawn from many, as layouts are, and intervals are for others like them
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub random: Vec<String>,
    /// Column with workload names; several are combined
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub workload: Vec<String>,
    /// Column with machine names
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub machine: Option<String>,
    /// Column with repeat numbers
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub repeat: Option<String>,
    /// Column with values
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub value: Option<String>,
    /// Column with amounts of work, by which values are divided
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub frames: Option<String>,

    /// Column that gets no role; may be repeated
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub ignore: Vec<String>,
}

const EFFECTS_EXAMPLES: &str = "\
Examples:
  prony study effects DIR
  prony study effects DIR --json | jq '.effects[] | select(.factor == \"Engine\")'

Changes of a time are those of the speed, its inverse: +91 % speed is 1.91 times as fast. All others are of the metric.
Cells that differ in one factor only are compared on each machine and workload. A machine counts once: the mean over
machines has Student's interval, the median is over machines too, and the range is minimum to maximum over machines and
matched comparisons. With one machine, all of them are over its workloads, and the interval is for these workloads, over
their repeats; without repeats it is over workloads. With random factors, such as layouts, it is over their levels, and on
several machines over both. A matched comparison is a pair of configurations that differ in that factor only.

Exit codes:
  0  reported
  1  reported, but the effect of some level is confounded with others
  2  the study cannot be read
  3  no interval: one machine, one workload and one repeat";

/// Estimate the effect of each level of each factor.
#[derive(Debug, Args)]
#[command(after_help = EFFECTS_EXAMPLES)]
pub struct EffectsArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// Share of intervals that may miss the true value
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub alpha: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  prony study diff old/ new/
  prony study diff old/ new/ --margin 2% --json

Factors, levels, workloads and machines are matched by name. Changes of a time are those of the speed. The new study's
cells did not run interleaved with those of the old one. With several machines, drift between the two is part of their
spread. With one machine it cannot be separated from a change: the runs are assumed to differ as their blocks do, which
needs repeats, and a configuration is known no better than from one block of each. Effects are compared within blocks
and are not affected.

Exit codes:
  0  faster, or the same within --margin
  1  a configuration, or all together, is slower, or an effect is smaller
  2  could not compare: another metric, other factors, nothing in common
  3  unclear: the last line explains the role of the machine";

/// Compare two runs of a study.
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct DiffArgs {
    /// Directory of the earlier study
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// Directory of the later study
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Report differences below this as the same
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub margin: f64,
    /// Maximum rate of false alarms
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub alpha: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const HISTORY_EXAMPLES: &str = "\
Examples:
  prony study history results/2026-*
  prony study history a/ b/ c/ --export-github-action-benchmark points.json

Give the studies oldest first; each is named by its directory. Lasting changes of a configuration are marked (E-divisive with
permutation tests): among series without a change at most --alpha have a mark, all configurations together, if the studies
are independent of each other; more if each resembles the previous one. At least seven studies are needed.

Exit codes:
  0  no configuration changed for the worse at its last change
  1  at least one did
  2  a study cannot be read, or does not match the first";

/// Follow a study over commits and mark changes.
#[derive(Debug, Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct HistoryArgs {
    /// Directories of the studies, oldest first
    #[arg(value_name = "DIR", required = true)]
    pub studies: Vec<PathBuf>,
    /// Maximum rate of false alarms
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub alpha: f64,
    /// Random seed for the permutations
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write the values of the last study for github-action-benchmark
    #[arg(long, value_name = "FILE")]
    pub export_github_action_benchmark: Option<PathBuf>,
    /// Overwrite the exported file if it exists
    #[arg(long, requires = "export_github_action_benchmark")]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}
