//! Flags of the verbs for stored samples: `compare`, `stats`, `hist` and `check`.

use std::path::PathBuf;

use clap::Args;
use prony_stats::judge::Metric;

use super::bench::{metric, percent};

const FORMATS: &str = "\
Files: samples of `prony bench --export-json` or pyperf; JSON of hyperfine or Google Benchmark; the text of
`go test -bench`; the directory target/criterion. Which one is told by the content.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  prony compare old.json new.json             each benchmark of the second file with that of the first
  prony compare both.json                     the benchmarks of one file with its first
  prony compare old.json new.json other.json --markdown
  prony compare old.json new.json --group-by cpu_model_name

Runs that were made in pairs are judged in pairs, at the times at which they were looked at then; others by process.
Several comparisons share one --alpha (Holm).

Exit codes:
  0  faster, or the same within --margin
  1  one of them is slower
  2  could not compare: another metric, another unit, no benchmark in common
  3  unclear";

/// Judge stored samples.
#[derive(Debug, Args)]
#[command(after_help = format!("{COMPARE_EXAMPLES}\n\n{FORMATS}"))]
pub struct CompareArgs {
    /// What the others are compared with, and the others
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Call differences below this the same
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub margin: f64,
    /// Claim a difference where there is none in at most so many of all cases
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub alpha: f64,
    /// Judge this metric of each run alone: wall, cpu or net, which is wall time without the wait for a CPU
    /// [default: what was judged when it was measured; of runs that are no pairs, their values]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    pub metric: Option<Metric>,
    /// A section for each value of this metadata or parameter
    #[arg(long, value_name = "KEY")]
    pub group_by: Option<String>,
    /// Answer with a table in Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// Show what samples are like: centre with interval, spread, quantiles.
#[derive(Debug, Args)]
#[command(after_help = FORMATS)]
pub struct StatsArgs {
    /// Samples
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Of each run take this time for its value: wall, cpu or net [default: the metric that was judged alone, or the values]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    pub metric: Option<Metric>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// Draw samples as histograms.
#[derive(Debug, Args)]
#[command(after_help = FORMATS)]
pub struct HistArgs {
    /// Samples
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// At most so many lines each
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub bins: u16,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const CHECK_EXAMPLES: &str = "\
Exit codes:
  0  nothing found
  2  could not read
  3  something was found: read it before you trust the numbers";

/// Say what speaks against trusting samples, with evidence.
#[derive(Debug, Args)]
#[command(after_help = format!("{CHECK_EXAMPLES}\n\n{FORMATS}"))]
pub struct CheckSamplesArgs {
    /// Samples
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Of each run take this time for its value: wall, cpu or net [default: the metric that was judged alone, or the values]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    pub metric: Option<Metric>,
    /// The smallest difference that a comparison should be able to see
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub margin: f64,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}
