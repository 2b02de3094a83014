//! The answer of a bench in the terminal.

pub mod demos;

use std::fmt::Write;

use prony_bench::{Commands, DemoEnded, Ended, Measured, OnDemo, Options, Report, Spread, Summary, Tried};
use prony_limits::{Limits, Workload};
use prony_stats::Metric;
use prony_stats::histogram::Histogram;
use prony_stats::judge::Outcome;
use prony_stats::pairing::{Pairing, Trial};
use prony_stats::samples::Benchmark;
use prony_text::{Quantity, Table, count, printable_line, thousands};

use crate::bench::table;
use crate::bench::throughput::Throughput;
use crate::text::limits::shares;
use crate::words::{UNCONTENDED, change, claim, letter, metric_name, to_percent, with_interval};

/// Lines of a histogram in the terminal.
const BINS: usize = 12;
/// Cells of its longest bar.
const BAR: usize = 56;
/// The answer on all that was measured. `limits`: of this machine, if rates are to be compared with them.
pub fn answer(measured: &Measured, limits: Option<Option<&Limits>>) -> String {
    let shares =
        || limits.map_or_else(String::new, |limits| shares::lines(&Workload::all(&measured.samples()), limits));
    match measured {
        Measured::Commands(commands) => of_commands(commands) + &shares(),
        Measured::Demos(demos) => demos::text(demos) + &if demos.requested == 1 { shares() } else { String::new() },
        Measured::Suite(suite) => suite.all.iter().map(|(name, commands)| of_benchmark(name, commands)).collect(),
    }
}

/// What to know before the answer is relied on, each a sentence.
pub fn warnings(measured: &Measured) -> Vec<String> {
    let lines = |of: &str, warnings: &mut dyn Iterator<Item = String>, interrupted: Option<String>| {
        let interrupted = interrupted.map(|after| format!("interrupted after {after}"));
        warnings.chain(interrupted).map(|warning| format!("{of}{warning}")).collect::<Vec<String>>()
    };
    let of_commands = |of: &str, Commands { report, .. }: &Commands| {
        let interrupted = matches!(report.ended, Ended::Interrupted).then(|| count(report.rounds as u64, "round"));
        lines(of, &mut report.warnings.iter().map(ToString::to_string), interrupted)
    };
    let of_demo = |of: &str, OnDemo { report, .. }: &OnDemo| {
        let interrupted = matches!(report.ended, DemoEnded::Interrupted).then(|| count(report.pairs as u64, "pair"));
        lines(of, &mut report.warnings.iter().map(ToString::to_string), interrupted)
    };
    match measured {
        Measured::Commands(commands) => of_commands("", commands),
        Measured::Demos(demos) => {
            let of = |one: &OnDemo| if demos.requested > 1 { format!("{}: ", one.name) } else { String::new() };
            demos.all.iter().flat_map(|one| of_demo(&of(one), one)).collect()
        }
        Measured::Suite(suite) => {
            suite.all.iter().flat_map(|(name, commands)| of_commands(&format!("{name}: "), commands)).collect()
        }
    }
}

/// The name of a benchmark of a suite, and its answer below it.
pub fn of_benchmark(name: &str, Commands { options, report }: &Commands) -> String {
    text(options, report).lines().fold(format!("{name}\n"), |out, line| out + "  " + line + "\n")
}

/// Commands, and what each does in a second.
fn of_commands(Commands { options, report }: &Commands) -> String {
    text(options, report) + &rates(report)
}

/// Text of the whole answer, for people.
fn text(options: &Options, report: &Report) -> String {
    let mut out = String::new();
    if table::suits(report) {
        out += &in_table(options, report);
        around(&mut out, report);
        return out;
    }
    let unit = report.samples.benchmarks.first().map_or("second", |benchmark| benchmark.unit_name());
    // The figures that are shown first are those that decided. A worker's values are judged under the name of CPU time.
    let decided = match report.comparisons.first() {
        Some(comparison) if metric_name(&report.metric) == "CPU" => Some(comparison.outcome.metric),
        Some(_) => None,
        None => options.plan.metric,
    };
    match report.summaries.as_slice() {
        [Some(summary)] => alone(&mut out, options, report, summary, unit),
        summaries => {
            for (place, summary) in summaries.iter().enumerate() {
                let Some(summary) = summary else { continue };
                let _ = writeln!(
                    out,
                    "{}  {}  {}",
                    letter(place),
                    printable_line(&options.subjects[place].name),
                    typical(summary, unit, decided)
                );
            }
        }
    }
    for comparison in &report.comparisons {
        let outcome = &comparison.outcome;
        let name = letter(comparison.subject);
        let _ = writeln!(out, "{}", claim(&name, outcome, options.plan.margin, report.comparisons.len() > 1));
        let both = |metric| match (report.summaries.as_slice(), decided) {
            // Peak memory stands behind the first figures.
            ([Some(a), Some(b)], Some(decided)) if decided != metric && metric != Metric::Rss => {
                let of = |summary: &Summary| summary.of_metric(metric).map(|spread| spread.median.estimate);
                both_words(of(a)?, of(b)?, unit)
            }
            _ => None,
        };
        metrics(&mut out, outcome, &report.metric, &both);
    }
    around(&mut out, report);
    out
}

/// Table of all commands and what it rests on.
fn in_table(options: &Options, report: &Report) -> String {
    let answers = table::answers(options, report);
    let mut all = Table::with_head(answers.head).numbers(3..4);
    answers
        .rows
        .into_iter()
        .for_each(|row| all.row(row.cells.into_iter().chain([row.verdict.text().to_owned()]).collect::<Vec<String>>()));
    format!("{}{}\n", all.text(), answers.basis)
}

/// How runs were paired, and what disturbed them.
fn around(out: &mut String, report: &Report) {
    if let Some(tried) = &report.tried {
        let _ = writeln!(out, "  {}", tried_words(tried));
    }
    if let Some(contention) = report.contention.filter(|_| report.rounds > 0) {
        let _ = writeln!(out, "  runs waited for a CPU during {} of their time", share(contention));
    }
}

/// Throughput of each command that is not in a table.
fn rates(report: &Report) -> String {
    let benchmarks = report.samples.benchmarks.iter().filter(|_| !table::suits(report));
    let line = |benchmark: &Benchmark| {
        Some(format!("  {}: {}\n", printable_line(&benchmark.name), Throughput::of(benchmark)?.text()))
    };
    benchmarks.filter_map(line).collect()
}

/// `runs of a pair at once on one CPU: A with itself scattered by σ 1.2 % a pair of 0.21 s, one after the other 4.5 % and 0.2 s`.
fn tried_words(tried: &Tried) -> String {
    let one = |trial: &Trial| match trial.deviation() {
        Some(deviation) => format!("σ {:.2} % in {:.2} s", to_percent(deviation), trial.pair_s),
        None => "unknown".to_owned(),
    };
    let [turns, once] = [&tried.in_turns, &tried.at_once].map(one);
    match tried.way {
        Pairing::AtOnce => format!(
            "pairs run in parallel on one CPU, as with --duet: A against itself {once}, \
                                    sequentially {turns}"
        ),
        Pairing::InTurns => format!(
            "pairs run sequentially: A against itself {turns}, in parallel on one CPU \
                                     {once}"
        ),
    }
}

/// One command: its times, and how they are spread.
fn alone(out: &mut String, options: &Options, report: &Report, summary: &Summary, unit: &str) {
    let _ = writeln!(out, "{}", printable_line(&options.subjects[0].name));
    let metric = metric_name(report.samples.benchmarks[0].metric());
    let mut row = |name: &str, spread: &Spread, unit: &str| {
        let scale = Quantity::of(spread.median.estimate, unit);
        let _ = writeln!(
            out,
            "  {name:19} {}  σ {}, {} … {}, n = {}",
            with_interval(&scale, &spread.median),
            scale.value(spread.deviation),
            scale.number(spread.min),
            scale.value(spread.max),
            thousands(spread.median.n as u64),
        );
    };
    row(metric, &summary.value, unit);
    for (name, spread) in [("CPU", &summary.cpu_s), (UNCONTENDED, &summary.uncontended_s)] {
        if let Some(spread) = spread {
            row(name, spread, "second");
        }
    }
    if let Some(memory) = &summary.rss_bytes {
        row("peak memory", memory, "byte");
    }
    let values: Vec<f64> = report.samples.benchmarks[0].values().collect();
    let scale = Quantity::of(summary.value.median.estimate, unit);
    if let Some(histogram) = Histogram::of(&values, BINS) {
        histogram_lines(out, &histogram, &scale);
    }
}

/// A line for each bin: where it starts, how many values it has, a bar.
pub fn histogram_lines(out: &mut String, histogram: &Histogram, scale: &Quantity) {
    let most = histogram.counts.iter().copied().max().unwrap_or(1).max(1);
    let digits = most.to_string().len();
    for (bin, &in_bin) in histogram.counts.iter().enumerate() {
        let bar = "█".repeat((in_bin * BAR).div_ceil(most));
        let line = format!("  {:>11} {in_bin:>digits$} {bar}", scale.value(histogram.edge(bin)));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for (beyond, to, extreme) in
        [(histogram.below, "down to", histogram.least), (histogram.above, "up to", histogram.greatest)]
    {
        if beyond > 0 {
            let _ = writeln!(out, "  {:>11} {beyond:>digits$} more, {to} {}", "", scale.value(extreme));
        }
    }
}

/// `CPU 20.13 ms [20.05, 20.31], n = 93, peak memory 12.4 MB`. `decided`: the metric that a verdict rests on, if it is not the value.
fn typical(summary: &Summary, unit: &str, decided: Option<Metric>) -> String {
    let memory = summary.rss_bytes.as_ref();
    let (spread, unit, name) = match decided.and_then(|metric| Some((metric, summary.of_metric(metric)?))) {
        Some((Metric::Rss, memory)) => (memory, "byte", String::new()),
        Some((metric @ (Metric::Cpu | Metric::Uncontended), spread)) => {
            (spread, "second", format!("{} ", metric_name(metric.name())))
        }
        _ => (&summary.value, unit, String::new()),
    };
    let scale = Quantity::of(spread.median.estimate, unit);
    let peak = memory.filter(|_| decided != Some(Metric::Rss)).map(|memory| table::memory_text(memory.median.estimate));
    format!(
        "{name}{}, n = {}{}",
        with_interval(&scale, &spread.median),
        thousands(spread.median.n as u64),
        peak.map_or_else(String::new, |peak| format!(", peak memory {peak}"))
    )
}

/// `42.1 and 41.4 ms`: medians of A and B.
pub fn both_words(a: f64, b: f64, unit: &str) -> Option<String> {
    let scale = Quantity::of(a, unit);
    (a > 0.0 && b > 0.0).then(|| format!("{} and {}", scale.number(a), scale.value(b)))
}

/// Metrics with their intervals, and which were judged. `judged`: what the first is called; `both`: medians of A and B that are not
/// shown elsewhere.
pub fn metrics(out: &mut String, outcome: &Outcome, judged: &str, both: &dyn Fn(Metric) -> Option<String>) {
    let first = metric_name(judged);
    let mut row = |name: &str, metric: Metric| {
        let Some(block) = metric.of(outcome) else { return };
        let note = if outcome.judged.contains(&metric) { "" } else { ", informational" };
        let both = both(metric).map_or_else(String::new, |both| format!(", {both}"));
        let _ = writeln!(out, "  {name:19} {}{both}{note}", change(&block.interval));
    };
    // A worker that reports wall time only has the same of both.
    if first != "wall" {
        row(first, Metric::Cpu);
    }
    row(UNCONTENDED, Metric::Uncontended);
    if outcome.wall.interval.n > 0 {
        row("wall", Metric::Wall);
    }
    row("peak memory", Metric::Rss);
    for reason in &outcome.reasons {
        let _ = writeln!(out, "  {reason}");
    }
}

/// A share as `12 %`, or `0.3 %` where that says more.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests;
