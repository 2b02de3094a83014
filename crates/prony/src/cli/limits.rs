//! Command-line flags of `prony limits`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use prony_limits::Experiment;

use super::samples::ReadArgs;

const LIMITS_EXAMPLES: &str = "\
Examples:
  prony limits                              all experiments, a few minutes
  prony limits --quick                      all experiments, half a minute
  prony limits write branch --code          two experiments, with the machine code that ran
  prony limits bandwidth --only 'copy 16'   cases of one experiment, by words in their names
  prony limits --quick --svg curves/        with curves as SVG files
  prony limits show --svg curves/           stored results, without measuring
  prony limits compare run.json             samples of `prony bench --bytes` as shares of the limits

Experiments: clock, write, ports, decode, branch, simd, cache, bandwidth, contents, threads, fault, file, net.

Results are stored under the machine's fingerprint in ~/.local/share/prony/limits. Times and rates are the best of all
samples, cycles the median; samples with a clock change or a busy sibling core are used only if there are no others.

Exit codes:
  0  measured
  2  could not run
  3  most samples were disturbed: the figures are below those of the hardware";

/// Measure the limits of this hardware, each figure with the machine code that produced it.
#[derive(Debug, Args)]
#[command(after_help = LIMITS_EXAMPLES, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct LimitsArgs {
    #[command(subcommand)]
    pub verb: Option<LimitsVerb>,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

#[derive(Debug, Subcommand)]
pub enum LimitsVerb {
    /// Show stored results
    Show(ShowLimitsArgs),
    /// Compare a workload with the limits
    Compare(CompareLimitsArgs),
}

/// Options of a measurement of limits.
#[derive(Debug, Args)]
pub struct MeasureArgs {
    /// Experiments to measure [default: all]
    #[arg(value_name = "EXPERIMENT", value_parser = experiment)]
    pub experiments: Vec<Experiment>,
    /// Measure only cases whose name contains these words, such as `load 16 KiB`; stored results of the others are kept
    #[arg(long, value_name = "WORDS", help_heading = "Scope")]
    pub only: Option<String>,
    /// Measure everything in half a minute: fewer sizes and offsets, shorter attempts
    #[arg(long, help_heading = "Scope")]
    pub quick: bool,
    /// CPU for single-threaded measurements
    #[arg(long, value_name = "CPU", help_heading = "Execution")]
    pub cpu: Option<usize>,
    /// Random seed for the order of all cases
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub seed: Option<u64>,
    /// Directory for the temporary file that is read [default: the current one]
    #[arg(long, value_name = "DIR", help_heading = "Execution")]
    pub directory: Option<PathBuf>,
    /// Write the limits to FILE instead of under the machine's fingerprint
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Overwrite FILE if it exists
    #[arg(long, requires = "output", help_heading = "Output")]
    pub force: bool,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// Options for showing limits.
#[derive(Debug, Args)]
pub struct ShownArgs {
    /// Write the curves to this directory, one SVG file each
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub svg: Option<PathBuf>,
    /// Show the machine code of every loop, disassembled from memory
    #[arg(long, help_heading = "Output")]
    pub code: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Show stored results.
#[derive(Debug, Args)]
pub struct ShowLimitsArgs {
    /// Experiments to show [default: all]
    #[arg(value_name = "EXPERIMENT", value_parser = experiment)]
    pub experiments: Vec<Experiment>,
    /// Read limits from FILE instead of those of this machine
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub shown: ShownArgs,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  prony bench --bytes 4e9 --export-json run.json './copy big' && prony limits compare run.json
  prony limits compare run.json --from limits.json --json

The work per run is known if it was measured with `prony bench --bytes N` or `--operations N`, or if the values are in B/s or
another unit per second. Samples of another machine are refused.";

/// Compare a workload with the limits.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareLimitsArgs {
    /// Samples of the workload
    #[arg(value_name = "FILE")]
    pub run: PathBuf,
    /// Read limits from FILE instead of those of this machine
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

fn experiment(word: &str) -> Result<Experiment, String> {
    let all: Vec<&str> = Experiment::ALL.iter().map(|experiment| experiment.word()).collect();
    Experiment::from_word(word).ok_or_else(|| format!("expected one of {}", all.join(", ")))
}

/// Reads `4000000`, `4e9`, `64M`, `1.5Gi`: how much of something a run is.
///
/// # Errors
/// What was expected, for clap to print.
pub fn amount(text: &str) -> Result<f64, String> {
    let expected = || "expected a number above 0, such as 4000000, 4e9, 64M or 2Gi".to_owned();
    let factors = [
        ("Ki", f64::from(1 << 10)),
        ("Mi", f64::from(1 << 20)),
        ("Gi", f64::from(1 << 30)),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
    ];
    let suffixed = factors.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)));
    let (number, factor) = suffixed.unwrap_or((text, 1.0));
    let amount = number.trim().parse::<f64>().map_err(|_| expected())? * factor;
    if amount.is_finite() && amount > 0.0 { Ok(amount) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_prefixes_of_both_kinds() {
        let read = ["4000000", "4e9", "64M", "2Gi", "1.5k"].map(|text| amount(text).expect("an amount"));
        assert_eq!(read, [4e6, 4e9, 64e6, 2_147_483_648.0, 1500.0]);
        for wrong in ["", "0", "-1", "M", "inf", "NaN", "1e999", "5X"] {
            assert!(amount(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_experiment_that_is_none_names_those_that_are() {
        assert_eq!(experiment("write"), Ok(Experiment::Write));
        assert!(experiment("wirte").is_err_and(|words| words.contains("clock, write, ports")));
    }
}
