//! Flags of the verbs for stored samples: `compare`, `stats`, `hist` and `check`.

use std::path::PathBuf;

use clap::Args;
use prony_stats::Metric;

use super::bench::{alpha, margin, metric};
use super::size;

const FORMATS: &str = "\
Files: samples of `prony bench --export-json` or pyperf; JSON of hyperfine, Google Benchmark, pytest-benchmark or JMH; the text of
`go test -bench`, also with -json; the directory target/criterion, and
target/criterion@NAME for a saved baseline. The format is detected from the content.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  prony compare old.json new.json             each benchmark of the second file with the same one of the first
  prony compare both.json                     the other benchmarks of a file with its first
  prony compare old.json new.json other.json --markdown   one column per file
  prony compare old.json new.json --export-html page.html   the same with pictures
  prony compare old.txt new.txt                           of `go test -bench -benchmem -count 10`: also B/op, allocs/op
  prony compare -G old.json new.json          slower ones first
  prony compare old.json new.json --group-by cpu_model_name

Runs that were measured in pairs are compared in pairs, with the looks at which they were examined while measuring; other
runs are compared by process. Several comparisons share one --alpha (Holm).

Exit codes:
  0  faster, or the same within --margin
  1  one of them is slower
  2  could not compare: another metric, another unit, no benchmark in common
  3  unclear";

/// How stored samples are read: options of all verbs that do.
#[derive(Debug, Clone, Copy, Args)]
pub struct ReadArgs {
    /// Memory that reading one file may take [default: ten times its bytes, at least 64MiB and at most 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Resource limits")]
    pub max_memory: Option<u64>,
}

/// Compare stored samples.
#[derive(Debug, Args)]
#[command(after_help = format!("{COMPARE_EXAMPLES}\n\n{FORMATS}"))]
pub struct CompareArgs {
    /// Baseline, followed by the files to compare with it
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Tolerate differences below this: they are the same, or unclear, but never faster or slower [default: none is
    /// tolerated; the same is what differs by less than 1%]
    #[arg(long, value_name = "PERCENT", value_parser = margin)]
    pub margin: Option<f64>,
    /// Maximum rate of false alarms
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = alpha)]
    pub alpha: f64,
    /// Judge only this metric of each run: wall, cpu, uncontended (wall time minus the wait for a CPU), rss (peak memory),
    /// allocated_bytes (B/op) or allocations (allocs/op) [default: as judged when measured; for unpaired runs, their values]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    pub metric: Option<Metric>,
    /// Make one section per value of this metadata key or parameter
    #[arg(long, value_name = "KEY")]
    pub group_by: Option<String>,
    /// Make one section per verdict: slower, faster, same, unclear
    #[arg(short = 'G', long)]
    pub group_by_speed: bool,
    /// Print a Markdown table
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Write a page to FILE: table, changes on one axis, distributions, machines
    #[arg(long, visible_alias = "html", value_name = "FILE")]
    pub export_html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Summarise samples: median with confidence interval, spread, quantiles.
#[derive(Debug, Args)]
#[command(after_help = FORMATS)]
pub struct StatsArgs {
    /// Files with samples
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Use this metric of each run: wall, cpu, uncontended, rss, allocated_bytes or allocations [default: the metric judged when measured, or the values]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    pub metric: Option<Metric>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Draw histograms of samples.
#[derive(Debug, Args)]
#[command(after_help = FORMATS)]
pub struct HistArgs {
    /// Files with samples
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Maximum number of lines per histogram
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub bins: u16,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

const CHECK_EXAMPLES: &str = "\
Exit codes:
  0  nothing found
  2  could not read
  3  something was found: read it before you trust the numbers";

/// Report reasons not to trust samples, with evidence.
#[derive(Debug, Args)]
#[command(after_help = format!("{CHECK_EXAMPLES}\n\n{FORMATS}"))]
pub struct CheckSamplesArgs {
    /// Files with samples
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Use this metric of each run: wall, cpu, uncontended, rss, allocated_bytes or allocations [default: the metric judged when measured, or the values]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    pub metric: Option<Metric>,
    /// Smallest difference that a comparison should be able to detect
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = margin)]
    pub margin: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}
