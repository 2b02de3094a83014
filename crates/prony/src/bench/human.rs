//! The answer of `prony bench` for people.

use std::fmt::Write;

use prony_bench::{Options, Report, Spread, Summary, Tried};
use prony_stats::Interval;
use prony_stats::Metric;
use prony_stats::Verdict;
use prony_stats::histogram::Histogram;
use prony_stats::judge::Outcome;
use prony_stats::pairing::{Pairing, Trial};
use prony_stats::samples::Benchmark;
use prony_text::{Quantity, count, duration, plain, printable_line, signed, thousands};

use super::table;
use super::throughput::Throughput;

/// Lines of a histogram in the terminal.
const BINS: usize = 12;
/// CPU seconds from which on a run has some dozen turns in a duet.
const DUET_S: f64 = 0.05;
/// Cells of its longest bar.
const BAR: usize = 56;
/// Name of the metric `uncontended`, where people read it.
const UNCONTENDED: &str = Metric::Uncontended.title();

/// Name of a metric as people read it. `metric`: its name in files.
pub fn metric_name(metric: &str) -> &str {
    match Metric::from_name(metric) {
        Some(Metric::Cpu) => "CPU",
        Some(Metric::Uncontended) => UNCONTENDED,
        _ => metric,
    }
}

/// Text of the whole answer, for people.
pub fn text(options: &Options, report: &Report) -> String {
    let mut out = String::new();
    if table::suits(report) {
        out += &table::text(options, report);
        around(&mut out, report);
        return out;
    }
    let unit = report.samples.benchmarks.first().map_or("second", |benchmark| benchmark.unit_name());
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
                    typical(summary, unit, options.plan.metric)
                );
            }
        }
    }
    for comparison in &report.comparisons {
        let outcome = &comparison.outcome;
        let name = letter(comparison.subject);
        let _ = writeln!(out, "{}", verdict(&name, outcome, options.plan.margin, report.comparisons.len() > 1));
        metrics(&mut out, outcome, &report.metric);
    }
    around(&mut out, report);
    out
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
pub fn rates(report: &Report) -> String {
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

/// `A` for the first command.
pub fn letter(place: usize) -> String {
    let letter = |place: usize| char::from(b'A' + (place % 26) as u8);
    match place / 26 {
        0 => letter(place).to_string(),
        more => format!("{}{}", letter(more - 1), letter(place)),
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

/// `20.13 ms [20.05, 20.31], n = 93, peak memory 12.4 MB`.
fn typical(summary: &Summary, unit: &str, asked: Option<Metric>) -> String {
    let memory = summary.rss_bytes.as_ref();
    let (spread, unit) = match memory.filter(|_| asked == Some(Metric::Rss)) {
        Some(memory) => (memory, "byte"),
        None => (&summary.value, unit),
    };
    let scale = Quantity::of(spread.median.estimate, unit);
    let peak = memory.filter(|_| asked != Some(Metric::Rss)).map(|memory| table::memory_text(memory.median.estimate));
    format!(
        "{}, n = {}{}",
        with_interval(&scale, &spread.median),
        thousands(spread.median.n as u64),
        peak.map_or_else(String::new, |peak| format!(", peak memory {peak}"))
    )
}

/// The verdict in one line.
pub fn verdict(name: &str, outcome: &Outcome, margin: f64, several: bool) -> String {
    let rests_on = format!("{}, {:.1} s", count(outcome.pairs as u64, "pair"), outcome.elapsed_s);
    let of = if several { format!("{name}: ") } else { String::new() };
    let [estimate, low, high] = [outcome.estimate, outcome.low, outcome.high].map(to_percent);
    let digits = digits(high - low);
    let [slower, faster] = match outcome.metric {
        Metric::Rss => ["uses more memory", "uses less memory"],
        _ => ["is slower", "is faster"],
    };
    match outcome.verdict {
        Verdict::Slower => {
            format!("{name} {slower} by {estimate:.digits$} % [{low:.digits$}, {high:.digits$}], {rests_on}")
        }
        Verdict::Faster => {
            let [estimate, low, high] = [-estimate, -high, -low];
            format!("{name} {faster} by {estimate:.digits$} % [{low:.digits$}, {high:.digits$}], {rests_on}")
        }
        Verdict::Same => format!(
            "{of}same within ±{} % ({} % [{}, {}]), {rests_on}",
            plain(to_percent(margin)),
            signed(estimate, digits),
            signed(low, digits),
            signed(high, digits),
        ),
        Verdict::Unclear => {
            let range = match low.is_finite() && high.is_finite() {
                true => format!("{} … {} %", signed(low, digits), signed(high, digits)),
                false => "not enough data".to_owned(),
            };
            let more = match outcome.forecast.filter(|forecast| forecast.seconds_more >= 0.5) {
                Some(forecast) => format!("; about {} more needed", duration(forecast.seconds_more)),
                None => String::new(),
            };
            format!("{of}unclear: {range}{more}, {rests_on}")
        }
    }
}

/// Metrics with their intervals, and which were judged. `judged`: what the first is called.
pub fn metrics(out: &mut String, outcome: &Outcome, judged: &str) {
    let first = metric_name(judged);
    let mut row = |name: &str, metric: Metric| {
        let Some(block) = metric.of(outcome) else { return };
        let note = if outcome.judged.contains(&metric) { "" } else { ", informational" };
        let _ = writeln!(out, "  {name:19} {}{note}", change(&block.interval));
    };
    // A worker that tells of wall time only has the same of both.
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

/// `+1.0 % [+0.6, +1.4]` of a log ratio.
pub fn change(interval: &Interval) -> String {
    if interval.n == 0 {
        return "unknown".to_owned();
    }
    let [estimate, low, high] = [interval.estimate, interval.low, interval.high].map(to_percent);
    let digits = digits(high - low);
    match low.is_finite() && high.is_finite() {
        true => format!("{} % [{}, {}]", signed(estimate, digits), signed(low, digits), signed(high, digits)),
        false => format!("{} %, too few for an interval", signed(estimate, 1)),
    }
}

/// A log ratio as a change in per cent.
pub fn to_percent(log_ratio: f64) -> f64 {
    log_ratio.exp_m1() * 100.0
}

/// Decimals at which an interval so wide has two digits that mean something.
pub fn digits(width: f64) -> usize {
    match width {
        width if width < 0.5 => 2,
        width if width >= 20.0 => 0,
        _ => 1,
    }
}

/// A share as `12 %`, or `0.3 %` where that says more.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Median with its interval, for instance `20.13 ms [20.05, 20.31]`.
pub fn with_interval(quantity: &Quantity, interval: &Interval) -> String {
    let shown = quantity.interval(interval.estimate, interval.low, interval.high);
    shown.unwrap_or_else(|| format!("{} (too few for an interval)", quantity.value(interval.estimate)))
}

/// Suggested next step, as a phrase; `None` if there is none.
pub fn hint(options: &Options, report: &Report) -> Option<String> {
    let judged = report.comparisons.iter().filter(|_| report.ranking.is_none());
    let unclear = judged.into_iter().find(|comparison| comparison.outcome.verdict == Verdict::Unclear)?;
    // Runs that get some turns each while the machine is in one state.
    let long = report.summaries.iter().flatten().filter_map(|summary| summary.cpu_s.as_ref());
    let long = !options.duet
        && report.tried.is_none()
        && options.subjects.len() == 2
        && long.map(|cpu_s| cpu_s.min).fold(f64::MAX, f64::min) >= DUET_S;
    if long && unclear.outcome.cpu.deviation > options.plan.margin {
        return Some(
            "--duet runs both runs of a pair in parallel on one CPU, so that both see the same noise".to_owned(),
        );
    }
    let forecast = unclear.outcome.forecast.filter(|forecast| forecast.seconds_more >= 0.5);
    let seconds = forecast.map(|forecast| (options.plan.budget_s + forecast.seconds_more).ceil());
    let seconds = seconds.filter(|&seconds| options.runs.is_none() && seconds < 3600.0);
    let more = seconds.map(|seconds| format!("try --max-time {seconds}s"));
    let by_cpu = options.plan.metric.is_none() && !unclear.outcome.judged.contains(&Metric::Cpu);
    let by_cpu = by_cpu.then(|| "use --metric cpu to judge CPU time, which is less sensitive to other work".to_owned());
    let hints: Vec<String> = more.into_iter().chain(by_cpu).collect();
    (!hints.is_empty()).then(|| hints.join("; "))
}

#[cfg(test)]
mod tests;
