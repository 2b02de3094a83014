//! What speaks against trusting stored samples, each with its evidence.
//!
//! pyperf checks whether the deviation is below 10 % of the mean. That says nothing of what a comparison could see: so
//! here the first question is how small a difference the samples resolve, and the others are why it is not smaller.

use crate::decide::summary::benchmark_median;
use crate::describe::outliers::Outliers;
use crate::describe::quantile::median;
use crate::files::samples::{Benchmark, Measured, MetadataValue, Run, Unit};
use crate::infer::single_sample::TooFew;
use crate::infer::{serial, sign_test, unpaired};
use crate::interval::Interval;
use crate::verdict::Verdict;

/// Error of each test made here: a finding should not be chance.
const ALPHA: f64 = 0.01;

/// Fewer processes say little about the next one; a median of five has no 95 % interval yet.
const FEWEST_PROCESSES: usize = 6;

/// What takes less drowns in the cost of starting and reading clocks (pyperf draws the line here too).
const SHORTEST_S: f64 = 1e-3;

/// A difference of this size is no answer to what can be detected: tenfold, as a log ratio.
const DETECTABLE_MOST: f64 = std::f64::consts::LN_10;

/// Share of wall time spent waiting for a CPU above which the machine was busy with other work.
const MOST_WAITING: f64 = 0.02;

/// Share of values far out above which they are no accidents.
const MOST_OUTLIERS: f64 = 0.05;

/// The answer for one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The smallest difference that a comparison with as many values as these could see, as a log ratio; `None` with too few values for
    /// any.
    pub detectable_difference: Option<f64>,
    /// What speaks against trusting the samples.
    pub findings: Vec<Finding>,
}

/// Something that speaks against trusting samples.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// There are too few values for an interval.
    TooFewValues(TooFew),
    /// The samples cannot show a difference as small as the margin.
    DetectableDifference {
        /// The margin, as a log ratio.
        margin: f64,
        /// As many times the runs would show it.
        times_the_runs: f64,
    },
    /// All runs were warm-ups or calibration.
    NoValues,
    /// All values are from one process.
    OneProcess {
        /// Number of values.
        values: usize,
    },
    /// The values are from few processes.
    FewProcesses {
        /// Number of processes.
        processes: usize,
    },
    /// Values are too short for the overhead of reading the clock.
    Short {
        /// The shortest value with all its loops, in seconds.
        shortest_s: f64,
    },
    /// The first values of processes are larger than the others, more often than chance explains.
    WarmUp {
        /// By how much, as a log ratio.
        slower: f64,
    },
    /// The second half of the values differs from the first.
    Drift {
        /// Ratio of the second half to the first, as log ratios.
        change: Interval,
    },
    /// Consecutive runs are correlated.
    Autocorrelation {
        /// Correlation of a run with the next one.
        correlation: f64,
        /// Number of runs.
        runs: usize,
        /// As many independent ones tell as much.
        effective_runs: f64,
    },
    /// Values lie far from the others.
    Outliers {
        /// Number of those below the others.
        below: usize,
        /// Number of those above.
        above: usize,
        /// Number of all values.
        values: usize,
    },
    /// Runs waited for a CPU: the machine had other work.
    Waiting {
        /// Share of their time.
        share: f64,
    },
    /// Runs ended with an exit code other than 0.
    Failed {
        /// Number of those.
        failed: usize,
        /// Number of runs of which the exit code is known.
        runs: usize,
    },
    /// With `nohz_full` the P-state of intel_pstate follows other CPUs (kernel bug 1378529 of Red Hat; pyperf warns too).
    FrequencyTrap,
}

/// Checks the samples of a benchmark. `margin`: the smallest difference that matters, as a log ratio.
pub fn check(benchmark: &Benchmark, margin: f64) -> Checked {
    let clusters = benchmark.clusters();
    // Against itself a sample has no difference; what is left is the half width of the interval.
    let detectable_difference = unpaired::compare(&clusters, &clusters, 0.05, margin, None)
        .map(|comparison| comparison.interval.width() / 2.0)
        .filter(|half| *half < DETECTABLE_MOST);
    let found = [
        too_few(benchmark),
        resolution(detectable_difference, margin),
        few_processes(benchmark, &clusters),
        short(benchmark),
        warm_up(benchmark),
        drift(&clusters),
        autocorrelation(&clusters),
        outliers(benchmark),
        waiting(benchmark),
        failed(benchmark),
        frequency_trap(benchmark),
    ];
    Checked { detectable_difference, findings: found.into_iter().flatten().collect() }
}

/// The median of the same values has no interval in `stats` and in `bench` either.
fn too_few(benchmark: &Benchmark) -> Option<Finding> {
    TooFew::of(&benchmark_median(benchmark, 0.05)?).map(Finding::TooFewValues)
}

fn resolution(detectable: Option<f64>, margin: f64) -> Option<Finding> {
    match detectable {
        // The width of an interval falls with the square root of the number of values.
        Some(half) if half > margin => {
            Some(Finding::DetectableDifference { margin, times_the_runs: (half / margin).powi(2) })
        }
        Some(_) | None => None,
    }
}

fn few_processes(benchmark: &Benchmark, clusters: &[Vec<f64>]) -> Option<Finding> {
    match clusters.len() {
        0 => Some(Finding::NoValues),
        1 => Some(Finding::OneProcess { values: benchmark.values().count() }),
        processes if processes < FEWEST_PROCESSES => Some(Finding::FewProcesses { processes }),
        _ => None,
    }
}

fn short(benchmark: &Benchmark) -> Option<Finding> {
    let raw = |run: &Run| {
        let loops = run.loops as f64 * benchmark.inner_loops as f64;
        run.values.iter().map(move |value| value * loops).collect::<Vec<_>>()
    };
    let shortest_s = benchmark.runs.iter().flat_map(raw).fold(f64::INFINITY, f64::min);
    (benchmark.unit == Unit::Second && shortest_s < SHORTEST_S).then_some(Finding::Short { shortest_s })
}

/// First values of processes that are larger than the rest of the same process, more often than a coin explains.
fn warm_up(benchmark: &Benchmark) -> Option<Finding> {
    let ratios: Vec<f64> = benchmark
        .clusters()
        .iter()
        .filter(|values| values.len() >= 3)
        .filter_map(|values| Some((values[0] / median(&values[1..])?).ln()))
        .collect();
    let slower = median(&ratios).filter(|&ratio| ratio > 0.0)?;
    (sign_test::p_value(&ratios) < ALPHA).then_some(Finding::WarmUp { slower })
}

fn drift(clusters: &[Vec<f64>]) -> Option<Finding> {
    let observations: Vec<Vec<f64>> = match clusters {
        [only] => only.iter().map(|&value| vec![value]).collect(),
        several => several.to_vec(),
    };
    let (first, second) = observations.split_at(observations.len() / 2);
    let comparison = unpaired::compare(first, second, ALPHA, 0.0, None)?;
    matches!(comparison.verdict, Verdict::Faster | Verdict::Slower)
        .then_some(Finding::Drift { change: comparison.interval })
}

fn autocorrelation(clusters: &[Vec<f64>]) -> Option<Finding> {
    let logs: Vec<f64> = match clusters {
        [only] => only.iter().map(|value| value.ln()).collect(),
        several => several.iter().filter_map(|values| Some(median(values)?.ln())).collect(),
    };
    let correlation = serial::follows_the_last(&logs)?;
    let effective_runs = logs.len() as f64 / serial::correlation_time(&[&logs]);
    Some(Finding::Autocorrelation { correlation, runs: logs.len(), effective_runs })
}

fn outliers(benchmark: &Benchmark) -> Option<Finding> {
    let values: Vec<f64> = benchmark.values().collect();
    let outliers = Outliers::of(&values);
    let far = outliers.count();
    (far > 0 && far as f64 > MOST_OUTLIERS * values.len() as f64).then_some(Finding::Outliers {
        below: outliers.below.len(),
        above: outliers.above.len(),
        values: values.len(),
    })
}

fn waiting(benchmark: &Benchmark) -> Option<Finding> {
    let measured = || benchmark.runs.iter().filter_map(|run| run.measured.as_deref());
    let both = |measured: &Measured| Some((measured.wait_s?, measured.wall_s?));
    let (wait_s, wall_s) = measured().filter_map(both).fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (wall_s > 0.0 && wait_s > MOST_WAITING * wall_s).then(|| Finding::Waiting { share: wait_s / wall_s })
}

fn failed(benchmark: &Benchmark) -> Option<Finding> {
    let codes = || benchmark.runs.iter().filter_map(|run| run.measured.as_ref()?.exit_code);
    let failed = codes().filter(|&code| code != 0).count();
    (failed > 0).then(|| Finding::Failed { failed, runs: codes().count() })
}

fn frequency_trap(benchmark: &Benchmark) -> Option<Finding> {
    let configurations = benchmark.runs.iter().map(|run| &run.metadata).chain([&benchmark.metadata]);
    let trapped = configurations.filter_map(|metadata| metadata.get("cpu_config")).any(|value| match value {
        MetadataValue::Text(text) => text.contains("nohz_full") && text.contains("intel_pstate"),
        _ => false,
    });
    trapped.then_some(Finding::FrequencyTrap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_value_that_is_always_slow_needs_another_warm_up() {
        let runs =
            (0..10).map(|number| Run { values: vec![1.3, 1.0 + 0.01 * f64::from(number), 1.01, 1.02], ..Run::of(1.0) });
        let benchmark = Benchmark { runs: runs.collect(), ..Benchmark::new("cold") };
        let Some(Finding::WarmUp { slower }) = warm_up(&benchmark) else { panic!("ten of ten") };
        assert!((0.2..0.3).contains(&slower), "{slower}");
    }

    #[test]
    fn a_disturbed_benchmark_has_each_finding_and_a_quiet_one_none() {
        let runs = (0..12_u64).map(|number| Run {
            loops: 64,
            values: vec![0.001 + 1e-6 * (number * 7 % 12) as f64, 0.001 + 1e-6 * (number * 11 % 12) as f64],
            ..Run::of(1.0)
        });
        let quiet = check(&Benchmark { runs: runs.collect(), ..Benchmark::new("quiet") }, 0.01_f64.ln_1p());
        assert!(quiet.findings.is_empty() && quiet.detectable_difference.is_some_and(|half| half < 0.005), "{quiet:?}");
        let values: Vec<f64> = (0..40).map(|number| 2e-5 + 1e-7 * f64::from(number * number)).collect();
        let measured = Measured { wall_s: Some(0.1), wait_s: Some(0.03), exit_code: Some(3), ..Measured::default() };
        let run = Run { values, measured: Some(Box::new(measured)), ..Run::of(1.0) };
        let disturbed = check(&Benchmark { runs: vec![run], ..Benchmark::new("disturbed") }, 0.01_f64.ln_1p());
        let [too_few, one, short, correlated, waiting, failed] = disturbed.findings.as_slice() else {
            panic!("{disturbed:?}")
        };
        assert_eq!(
            (too_few, one),
            (&Finding::TooFewValues(TooFew::Correlated { n: 40 }), &Finding::OneProcess { values: 40 })
        );
        assert!(matches!(short, Finding::Short { shortest_s } if (shortest_s - 2e-5).abs() < 1e-12), "{short:?}");
        let Finding::Autocorrelation { correlation, runs: 40, effective_runs } = correlated else {
            panic!("{correlated:?}")
        };
        assert!((0.93..0.95).contains(correlation) && (0.5..1.5).contains(effective_runs), "{correlated:?}");
        assert!(matches!(waiting, Finding::Waiting { share } if (share - 0.3).abs() < 1e-12), "{waiting:?}");
        assert_eq!(failed, &Finding::Failed { failed: 1, runs: 1 });
    }

    #[test]
    fn a_few_values_of_one_process_resolve_nothing() {
        let benchmark = Benchmark { runs: vec![Run::of(1.0)], ..Benchmark::new("once") };
        let Checked { detectable_difference, findings } = check(&benchmark, 0.01);
        assert_eq!(detectable_difference, None);
        assert_eq!(
            findings,
            [Finding::TooFewValues(TooFew::Values { n: 1, needed: 9 }), Finding::OneProcess { values: 1 }]
        );
    }
}
