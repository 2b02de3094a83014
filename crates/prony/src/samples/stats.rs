//! Verb `prony stats`: prints centre and spread.

use std::fmt::Write;

use prony_stats::Interval;
use prony_stats::outliers::Outliers;
use prony_stats::quantile::{median, quantile_of_sorted, robust_deviation, sorted};
use prony_stats::samples::Benchmark;
use prony_stats::sign_test;
use prony_text::{Quantity, Untrusted, count, signed, thousands};
use serde::Serialize;

use super::load_all_by;
use crate::cli::StatsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use prony_report::words::{metric_name, with_interval};

/// Error of the interval of the centre.
const ALPHA: f64 = 0.05;

/// Statistics of one benchmark.
#[derive(Debug, Serialize)]
struct Stats<'a> {
    file: &'a str,
    benchmark: &'a str,
    metric: &'a str,
    unit: &'a str,
    processes: usize,
    values: usize,
    warmups: usize,
    /// Loops a value stands for, from the fewest to the most.
    loops: [u64; 2],
    /// Median of the processes' medians; of one process, of its values.
    median: Option<Interval>,
    mean: f64,
    deviation: Option<f64>,
    robust_deviation: Option<f64>,
    quantiles: Vec<(f64, f64)>,
    outliers: usize,
}

/// # Errors
/// When a file cannot be read.
pub fn run(args: &StatsArgs) -> Result<Exit, Failure> {
    let files = load_all_by("read", &args.files, args.read, args.metric)?;
    let all: Vec<Stats<'_>> = files
        .iter()
        .flat_map(|file| file.samples.benchmarks.iter().filter_map(|benchmark| Stats::of(&file.name, benchmark)))
        .collect();
    if args.json {
        output::print_json(&all)?;
    } else {
        let several = args.files.len() > 1;
        output::print(&all.iter().map(|stats| stats.text(several)).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Good)
}

impl<'a> Stats<'a> {
    /// `None` when no value counts.
    fn of(file: &'a str, benchmark: &'a Benchmark) -> Option<Stats<'a>> {
        let ordered = sorted(&benchmark.values().collect::<Vec<_>>());
        let clusters = benchmark.clusters();
        let centres: Vec<f64> = match clusters.as_slice() {
            [only] => only.clone(),
            several => several.iter().filter_map(|values| median(values)).collect(),
        };
        let mean = ordered.iter().sum::<f64>() / ordered.len() as f64;
        let squares: f64 = ordered.iter().map(|value| (value - mean).powi(2)).sum();
        let counted = || benchmark.runs.iter().filter(|run| !run.values.is_empty());
        Some(Stats {
            file,
            benchmark: &benchmark.name,
            metric: benchmark.metric(),
            unit: benchmark.unit_name(),
            processes: clusters.len(),
            values: ordered.len(),
            warmups: benchmark.runs.iter().map(|run| run.warmups.len()).sum(),
            loops: [counted().map(|run| run.loops).min()?, counted().map(|run| run.loops).max()?],
            median: sign_test::interval(&sorted(&centres), ALPHA),
            mean,
            deviation: (ordered.len() > 1).then(|| (squares / (ordered.len() - 1) as f64).sqrt()),
            robust_deviation: robust_deviation(&ordered),
            quantiles: [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0]
                .into_iter()
                .filter_map(|share| Some((share, quantile_of_sorted(&ordered, share)?)))
                .collect(),
            outliers: Outliers::of(&ordered).count(),
        })
    }

    fn text(&self, several_files: bool) -> String {
        let scale = Quantity::of(self.mean, self.unit);
        let mut out = match several_files {
            true => format!("{}: {}\n", Untrusted::new(self.file), Untrusted::new(self.benchmark)),
            false => format!("{}\n", Untrusted::new(self.benchmark)),
        };
        let mut line = |name: &str, text: String| {
            let _ = writeln!(out, "  {name:<12}{text}");
        };
        let loops = match self.loops {
            [1, 1] => String::new(),
            [few, many] if few == many => format!(", {} each", count(few, "loop")),
            [few, many] => format!(", {} to {} loops each", thousands(few), thousands(many)),
        };
        let warmups = match self.warmups {
            0 => String::new(),
            warmups => format!("; {} skipped", count(warmups as u64, "warm-up")),
        };
        let processes = match self.processes {
            1 => "one process".to_owned(),
            several => format!("{} processes", thousands(several as u64)),
        };
        line("samples", format!("{} from {processes}{loops}{warmups}", thousands(self.values as u64)));
        line("metric", format!("{} in {}", Untrusted::new(metric_name(self.metric)), Untrusted::new(self.unit)));
        if let Some(median) = &self.median {
            line("median", format!("{}, n = {}", with_interval(&scale, median), thousands(median.n as u64)));
        }
        let deviation = self.deviation.map_or_else(String::new, |deviation| {
            format!(", σ {} ({:.1} %)", scale.value(deviation), 100.0 * deviation / self.mean)
        });
        line("mean", scale.value(self.mean) + &deviation);
        if let Some(robust) = self.robust_deviation.filter(|_| self.values > 1) {
            line("robust σ", format!("{} ({:.1} %), 1.4826 × MAD", scale.value(robust), 100.0 * robust / self.mean));
        }
        for &(share, value) in &self.quantiles {
            let name = match share {
                0.0 => "min".to_owned(),
                1.0 => "max".to_owned(),
                share => format!("p{:.0}", share * 100.0),
            };
            line(
                &name,
                format!("{} ({} % of the mean)", scale.value(value), signed(100.0 * (value / self.mean - 1.0), 1)),
            );
        }
        line("outliers", thousands(self.outliers as u64));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tests::stored;

    #[test]
    fn all_that_matters_has_its_unit_and_its_count() {
        let samples = stored();
        let texts: Vec<String> = samples
            .benchmarks
            .iter()
            .map(|benchmark| Stats::of("x.json", benchmark).expect("there are values").text(true))
            .collect();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
