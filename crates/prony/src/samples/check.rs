//! `prony check`: what speaks against trusting samples, each with its evidence.
//!
//! pyperf asks whether the deviation is below 10 % of the mean. That says nothing of what a comparison could see: so
//! here the first question is how small a difference the samples resolve, and the others are why it is not smaller.

use prony_stats::Verdict;
use prony_stats::outliers::Outliers;
use prony_stats::quantile::median;
use prony_stats::samples::{Benchmark, Measured, MetadataValue, Run, Unit};
use prony_stats::unpaired;
use prony_stats::{serial, sign_test};
use prony_text::{Quantity, Untrusted, count, thousands};
use serde::Serialize;

use super::load_all_by;
use crate::bench::human::{change, to_percent};
use crate::cli::CheckSamplesArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Error of each test made here: a finding should not be chance.
const ALPHA: f64 = 0.01;

/// Fewer processes say little about the next one; a median of five has no 95 % interval yet.
const FEWEST_PROCESSES: usize = 6;

/// What takes less drowns in the cost of starting and reading clocks (pyperf draws the line here too).
const SHORTEST_S: f64 = 1e-3;

/// Share of wall time spent waiting for a CPU above which the machine was busy with other work.
const MOST_WAITING: f64 = 0.02;

/// Share of values far out above which they are no accidents.
const MOST_FAR_OUT: f64 = 0.05;

/// Finding of a check of stored samples.
#[derive(Debug, Serialize)]
struct Finding {
    /// Name of the finding in JSON.
    kind: &'static str,
    /// Sentence that describes the finding.
    text: String,
}

#[derive(Debug, Serialize)]
struct Checked<'a> {
    file: &'a str,
    benchmark: &'a str,
    /// The smallest difference that a comparison with as many values as these could see, in per cent.
    resolves_pct: Option<f64>,
    findings: Vec<Finding>,
}

/// # Errors
/// When a file cannot be read.
pub fn run(args: &CheckSamplesArgs) -> Result<Exit, Failure> {
    let files = load_all_by("check", &args.files, args.read, args.metric)?;
    let all: Vec<Checked<'_>> = files
        .iter()
        .flat_map(|file| {
            file.samples.benchmarks.iter().map(|benchmark| check(&file.name, benchmark, args.margin.ln_1p()))
        })
        .collect();
    if args.json {
        output::print_json(&all)?;
    } else {
        output::print(&all.iter().map(|checked| checked.text(args.files.len() > 1)).collect::<String>())?;
    }
    let found = all.iter().any(|checked| !checked.findings.is_empty());
    Ok(if found { Exit::NotTrusted } else { Exit::Good })
}

impl Checked<'_> {
    fn text(&self, several_files: bool) -> String {
        let name = Untrusted::new(self.benchmark);
        let name = if several_files { format!("{}: {name}", Untrusted::new(self.file)) } else { name.to_string() };
        let resolves = self.resolves_pct.map_or_else(
            || "too few values for any difference to be detectable".to_owned(),
            |percent| format!("minimum detectable difference {percent:.2} %"),
        );
        let mut out = format!("{name}: {resolves}\n");
        for finding in &self.findings {
            out += &format!("  {}\n", finding.text);
        }
        out
    }
}

fn check<'a>(file: &'a str, benchmark: &'a Benchmark, margin: f64) -> Checked<'a> {
    let clusters = benchmark.clusters();
    // Against itself a sample has no difference; what is left is the half width of the interval.
    let resolves = unpaired::compare(&clusters, &clusters, 0.05, margin)
        .map(|comparison| comparison.interval.width() / 2.0)
        .filter(|half| half.is_finite());
    let found = [
        resolution(resolves, margin),
        few_processes(benchmark, &clusters),
        short(benchmark),
        warming_up(benchmark),
        drift(&clusters),
        hanging_together(&clusters),
        far_out(benchmark),
        waiting(benchmark),
        failed(benchmark),
        frequency_trap(benchmark),
    ];
    Checked {
        file,
        benchmark: &benchmark.name,
        resolves_pct: resolves.map(to_percent),
        findings: found.into_iter().flatten().map(|(kind, text)| Finding { kind, text }).collect(),
    }
}

type Found = Option<(&'static str, String)>;

fn resolution(resolves: Option<f64>, margin: f64) -> Found {
    let margin_pct = to_percent(margin);
    match resolves {
        None => Some(("too_few_values", "too few values for an interval".to_owned())),
        Some(half) if half > margin => {
            // The width of an interval falls with the square root of the number of values.
            let times = (half / margin).powi(2);
            Some(("resolution", format!("detecting {margin_pct:.1} % needs about {times:.0} times as many runs")))
        }
        Some(_) => None,
    }
}

fn few_processes(benchmark: &Benchmark, clusters: &[Vec<f64>]) -> Found {
    let processes = clusters.len();
    let values = benchmark.values().count();
    match processes {
        0 => Some(("no_values", "no values: all runs were warm-ups or calibration".to_owned())),
        1 => Some((
            "one_process",
            format!(
                "all {} are from one process: the variation between processes may be larger",
                count(values as u64, "value")
            ),
        )),
        few if few < FEWEST_PROCESSES => Some((
            "few_processes",
            format!(
                "only {few} processes: addresses and hash seeds were randomised {few} \
                                            times"
            ),
        )),
        _ => None,
    }
}

fn short(benchmark: &Benchmark) -> Found {
    let raw = |run: &Run| {
        let loops = run.loops as f64 * benchmark.inner_loops as f64;
        run.values.iter().map(move |value| value * loops).collect::<Vec<_>>()
    };
    let shortest = benchmark.runs.iter().flat_map(raw).fold(f64::INFINITY, f64::min);
    (benchmark.unit == Unit::Second && shortest < SHORTEST_S).then(|| {
        let shortest = Quantity::of(shortest, "second").value(shortest);
        (
            "short",
            format!(
                "the shortest value took {shortest}: use more loops to reduce the overhead of reading \
                           the clock"
            ),
        )
    })
}

/// First values of processes that are larger than the rest of the same process, more often than a coin explains.
fn warming_up(benchmark: &Benchmark) -> Found {
    let ratios: Vec<f64> = benchmark
        .clusters()
        .iter()
        .filter(|values| values.len() >= 3)
        .filter_map(|values| Some((values[0] / median(&values[1..])?).ln()))
        .collect();
    let slower = median(&ratios).filter(|&ratio| ratio > 0.0)?;
    (sign_test::p_value(&ratios) < ALPHA).then(|| {
        let percent = to_percent(slower);
        ("warming_up", format!("the first value of a process is {percent:.1} % above the others: one more warm-up"))
    })
}

fn drift(clusters: &[Vec<f64>]) -> Found {
    let observations: Vec<Vec<f64>> = match clusters {
        [only] => only.iter().map(|&value| vec![value]).collect(),
        several => several.to_vec(),
    };
    let (first, second) = observations.split_at(observations.len() / 2);
    let comparison = unpaired::compare(first, second, ALPHA, 0.0)?;
    matches!(comparison.verdict, Verdict::Faster | Verdict::Slower)
        .then(|| ("drift", format!("the second half differs from the first: {}", change(&comparison.interval))))
}

fn hanging_together(clusters: &[Vec<f64>]) -> Found {
    let logs: Vec<f64> = match clusters {
        [only] => only.iter().map(|value| value.ln()).collect(),
        several => several.iter().filter_map(|values| Some(median(values)?.ln())).collect(),
    };
    let correlation = serial::follows_the_last(&logs)?;
    let worth = logs.len() as f64 / serial::correlation_time(&[&logs]);
    let all = thousands(logs.len() as u64);
    Some((
        "hanging_together",
        format!(
            "consecutive runs are correlated ({correlation:.2}): {all} have an effective sample size of about \
                 {worth:.0}"
        ),
    ))
}

fn far_out(benchmark: &Benchmark) -> Found {
    let values: Vec<f64> = benchmark.values().collect();
    let outliers = Outliers::of(&values);
    let far = outliers.count();
    (far > 0 && far as f64 > MOST_FAR_OUT * values.len() as f64).then(|| {
        let all = thousands(values.len() as u64);
        let (below, above) = (outliers.below.len(), outliers.above.len());
        ("far_out", format!("{far} of {all} values are outliers: {below} below, {above} above"))
    })
}

fn waiting(benchmark: &Benchmark) -> Found {
    let measured = || benchmark.runs.iter().filter_map(|run| run.measured.as_deref());
    let both = |measured: &Measured| Some((measured.wait_s?, measured.wall_s?));
    let (wait_s, wall_s) = measured().filter_map(both).fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (wall_s > 0.0 && wait_s > MOST_WAITING * wall_s).then(|| {
        let percent = 100.0 * wait_s / wall_s;
        ("waiting", format!("runs waited for a CPU during {percent:.1} % of their time: other work ran"))
    })
}

fn failed(benchmark: &Benchmark) -> Found {
    let codes = || benchmark.runs.iter().filter_map(|run| run.measured.as_ref()?.exit_code);
    let failed = codes().filter(|&code| code != 0).count();
    (failed > 0).then(|| {
        ("failed", format!("{failed} of {} ended with a non-zero exit code", count(codes().count() as u64, "run")))
    })
}

/// With `nohz_full` the P-state of intel_pstate follows other CPUs (kernel bug 1378529 of Red Hat; pyperf warns too).
fn frequency_trap(benchmark: &Benchmark) -> Found {
    let configurations = benchmark.runs.iter().map(|run| &run.metadata).chain([&benchmark.metadata]);
    let trapped = configurations.filter_map(|metadata| metadata.get("cpu_config")).any(|value| match value {
        MetadataValue::Text(text) => text.contains("nohz_full") && text.contains("intel_pstate"),
        _ => false,
    });
    trapped.then(|| {
        ("frequency_trap", "nohz_full together with intel_pstate: the frequency follows other CPUs".to_owned())
    })
}

#[cfg(test)]
mod tests;
