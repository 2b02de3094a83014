//! Flags of `prony limits`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use prony_limits::Experiment;

const LIMITS_EXAMPLES: &str = "\
Examples:
  prony limits                              everything, some minutes
  prony limits --quick                      everything, half a minute
  prony limits write branch --code          two experiments, with the machine code that ran
  prony limits bandwidth --only 'copy 16'   cases of one experiment, by words of their names
  prony limits --quick --svg curves/        with curves as pictures
  prony limits show --svg curves/           what was measured before, without measuring
  prony limits compare run.json             how near samples of `prony bench --bytes` came

Experiments: clock, write, ports, decode, branch, simd, cache, bandwidth, contents, threads, fault, file, net.

What is measured is kept under the machine's fingerprint in ~/.local/share/prony/limits. Times and rates are the best that was
seen, cycles the median; samples during which the clock moved, or somebody shared the core, count only where no others are.

Exit codes:
  0  measured
  2  could not run
  3  most samples were disturbed: the numbers are lower than the hardware's";

/// Measure what this hardware can do at best, each number with the machine code that made it.
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
    /// Show what was measured before
    Show(ShowLimitsArgs),
    /// Say how near a workload came to the limits
    Compare(CompareLimitsArgs),
}

/// What to measure.
#[derive(Debug, Args)]
pub struct MeasureArgs {
    /// Measure these; all if left out
    #[arg(value_name = "EXPERIMENT", value_parser = experiment)]
    pub experiments: Vec<Experiment>,
    /// Measure only cases whose name contains this, as `load 16 KiB`; everything else stays as it was kept
    #[arg(long, value_name = "WORDS", help_heading = "How long")]
    pub only: Option<String>,
    /// Take half a minute for everything: fewer sizes and offsets, shorter tries
    #[arg(long, help_heading = "How long")]
    pub quick: bool,
    /// Measure on this CPU, where one thread measures
    #[arg(long, value_name = "CPU", help_heading = "How it runs")]
    pub cpu: Option<usize>,
    /// Draw the order of everything again as before
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    pub seed: Option<u64>,
    /// Make the file that is read in this directory; it has no name there [default: here]
    #[arg(long, value_name = "DIR", help_heading = "How it runs")]
    pub directory: Option<PathBuf>,
    /// Write the limits here instead of under the machine's fingerprint
    #[arg(short, long, value_name = "FILE", help_heading = "What comes out")]
    pub output: Option<PathBuf>,
    /// Replace the file of -o if it exists
    #[arg(long, requires = "output", help_heading = "What comes out")]
    pub force: bool,
    #[command(flatten)]
    pub shown: ShownArgs,
}

/// How limits are shown.
#[derive(Debug, Args)]
pub struct ShownArgs {
    /// Write the curves into this directory, an SVG each
    #[arg(long, value_name = "DIR", help_heading = "What comes out")]
    pub svg: Option<PathBuf>,
    /// Show the machine code of every loop, from the memory in which it ran
    #[arg(long, help_heading = "What comes out")]
    pub code: bool,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// Show what was measured before.
#[derive(Debug, Args)]
pub struct ShowLimitsArgs {
    /// Show these; all if left out
    #[arg(value_name = "EXPERIMENT", value_parser = experiment)]
    pub experiments: Vec<Experiment>,
    /// The limits, instead of those of this machine
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub shown: ShownArgs,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  prony bench --bytes 4e9 --export-json run.json './copy big' && prony limits compare run.json
  prony limits compare run.json --from limits.json --json

A run has bytes or operations where `prony bench --bytes N` or `--operations N` measured it, or where its values are B/s or
something else a second. Samples of another machine are refused.";

/// Say how near a workload came to the limits.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareLimitsArgs {
    /// Samples of the workload
    #[arg(value_name = "FILE")]
    pub run: PathBuf,
    /// The limits, instead of those of this machine
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
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
    let expected = || "expected a number above 0, as 4000000, 4e9, 64M or 2Gi".to_owned();
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
