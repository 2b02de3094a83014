//! The answer of a bench in the terminal.

pub mod demos;
pub mod layouts;

use std::fmt::Write;

use prony_bench::{Commands, DemoEnded, Ended, Measured, OnDemo, Options, Report, Spread, Summary, Tried};
use prony_limits::{Limits, Workload};
use prony_stats::Metric;
use prony_stats::histogram::Histogram;
use prony_stats::judge::Outcome;
use prony_stats::pairing::{Pairing, Trial};
use prony_stats::samples::Benchmark;
use prony_text::{Quantity, Table, count, plain, printable_line, quantity, thousands};

use crate::bench::counted;
use crate::bench::table;
use crate::bench::throughput::Throughput;
use crate::change::{self, change};
use crate::text::limits::shares;
use crate::words::{Judged, UNCONTENDED, claim, letter, metric_name, one_sided, reason, with_interval};

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
        Measured::Layouts(layouts) => layouts::text(layouts),
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
    let found = match measured {
        Measured::Commands(commands) => of_commands("", commands),
        Measured::Demos(demos) => {
            let of = |one: &OnDemo| if demos.requested > 1 { format!("{}: ", one.name) } else { String::new() };
            let of_times = demos.all.iter().flat_map(|one| of_demo(&of(one), one));
            of_times.chain(demos.counted.iter().flat_map(counted::failures)).collect()
        }
        Measured::Suite(suite) => {
            suite.all.iter().flat_map(|(name, commands)| of_commands(&format!("{name}: "), commands)).collect()
        }
        Measured::Layouts(layouts) => layouts::warnings(layouts),
    };
    found.into_iter().chain(measured.one_sided().map(|found| one_sided(&found))).collect()
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
        _ => out.push_str(&side_by_side(options, report, unit, decided)),
    }
    for comparison in &report.comparisons {
        let outcome = &comparison.outcome;
        let name = letter(comparison.subject);
        let _ = writeln!(
            out,
            "{}",
            claim(&name, outcome, Judged::of(report), options.plan.margin, report.comparisons.len() > 1)
        );
        let both = |metric| match (report.summaries.as_slice(), decided) {
            // Peak memory stands behind the first figures.
            ([Some(a), Some(b)], Some(decided)) if decided != metric && metric != Metric::Rss => {
                let of = |summary: &Summary| summary.of_metric(metric).map(|spread| spread.median.estimate);
                both_words(of(a)?, of(b)?, unit)
            }
            _ => None,
        };
        metrics(&mut out, outcome, Judged::of(report), &both);
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
        Some(deviation) => format!("σ {} in {:.2} s", change::size(deviation), trial.pair_s),
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
    let level = plain(100.0 * summary.value.median.confidence);
    let head = [String::new(), format!("median [{level} %]")].into_iter();
    let mut table = Table::with_head(head.chain(["σ", "min", "max", "n"].map(str::to_owned))).numbers(2..6).indented(2);
    let mut row = |name: &str, spread: &Spread, unit: &str| {
        table.row([
            name.to_owned(),
            with_interval(&Quantity::of(spread.median.estimate, unit), &spread.median),
            quantity(spread.deviation, unit),
            quantity(spread.min, unit),
            quantity(spread.max, unit),
            thousands(spread.median.n as u64),
        ]);
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
    out.push_str(&table.text());
    let values: Vec<f64> = report.samples.benchmarks[0].values().collect();
    if let Some(histogram) = Histogram::of(&values, BINS) {
        histogram_lines(out, &histogram, unit);
    }
}

/// A line for each bin: where it starts, how many values it has, a bar.
pub fn histogram_lines(out: &mut String, histogram: &Histogram, unit: &str) {
    let scale = Quantity::of(histogram.edge(histogram.counts.len() / 2), unit);
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
            let _ = writeln!(out, "  {:>11} {beyond:>digits$} more, {to} {}", "", quantity(extreme, unit));
        }
    }
}

/// The commands with their medians by the metric that decided, or by the value. `decided`: that metric, if it is not the value.
fn side_by_side(options: &Options, report: &Report, unit: &str, decided: Option<Metric>) -> String {
    let spread = |summary| -> (&Spread, &str) {
        let of_metric = decided.and_then(|metric| Some((Summary::of_metric(summary, metric)?, metric.unit())));
        of_metric.filter(|_| decided != Some(Metric::Wall)).unwrap_or((&summary.value, unit))
    };
    let known = || report.summaries.iter().flatten();
    let level = known().next().map_or(95.0, |summary| 100.0 * summary.value.median.confidence);
    let quantity = table::name(report, decided.unwrap_or(Metric::Wall));
    let has_memory = decided != Some(Metric::Rss) && known().any(|summary| summary.rss_bytes.is_some());
    let head = ["".to_owned(), "command".to_owned(), format!("median {quantity} [{} %]", plain(level)), "n".to_owned()];
    let memory = has_memory.then(|| "peak memory".to_owned());
    let mut table = Table::with_head(head.into_iter().chain(memory)).numbers(3..4);
    for (place, summary) in report.summaries.iter().enumerate() {
        let Some(summary) = summary else { continue };
        let (Spread { median, .. }, unit) = spread(summary);
        let mut cells = vec![letter(place), printable_line(&options.subjects[place].name).into_owned()];
        cells.push(with_interval(&Quantity::of(median.estimate, unit), median));
        cells.push(thousands(median.n as u64));
        let memory = summary.rss_bytes.as_ref().map(|memory| table::memory_text(memory.median.estimate));
        cells.extend(has_memory.then(|| memory.unwrap_or_else(|| "–".to_owned())));
        table.row(cells);
    }
    table.text()
}

/// `42.1 and 41.4 ms`: medians of A and B.
pub fn both_words(a: f64, b: f64, unit: &str) -> Option<String> {
    let [of_a, of_b] = [a, b].map(|value| Quantity::of(value, unit));
    let shown = || match of_a.unit() == of_b.unit() {
        true => format!("{} and {}", of_a.number(a), of_b.value(b)),
        false => format!("{} and {}", of_a.value(a), of_b.value(b)),
    };
    (a > 0.0 && b > 0.0).then(shown)
}

/// Metrics with their intervals, and which were judged. `both`: medians of A and B that are not
/// shown elsewhere.
pub fn metrics(out: &mut String, outcome: &Outcome, judged: Judged<'_>, both: &dyn Fn(Metric) -> Option<String>) {
    let first = metric_name(judged.metric);
    let mut row = |name: &str, metric: Metric| {
        let Some(ratio) = judged.change(outcome, metric) else { return };
        let note = if outcome.judged.contains(&metric) { "" } else { ", informational" };
        let both = both(metric).map_or_else(String::new, |both| format!(", {both}"));
        let _ = writeln!(out, "  {name:19} {}{both}{note}", change(&ratio));
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
        let _ = writeln!(out, "  {}", self::reason(reason));
    }
}

/// A share as `12 %`, or `0.3 %` where that says more.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests;
