//! Several commands in one table, the fastest first: its cells, for every renderer.

use prony_bench::{Options, Report, Spread, Summary};
use prony_stats::ranking::Standing;
use prony_stats::{Interval, Metric, Verdict};
use prony_text::{Quantity, count, plain, thousands};

use super::throughput::Throughput;
use crate::change::{self, Form};
use crate::study::sentences::Tone;
use crate::words::{Judged, letter, tone, with_interval};

/// A command as one row.
struct Row {
    subject: usize,
    /// Ratio to the reference or to the fastest, as a logarithm; `None` of the reference itself.
    ratio: Option<Interval>,
    verdict: RowVerdict,
}

/// Verdict on a command in a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RowVerdict {
    /// The others are compared with it.
    Reference,
    /// Compared with the reference, by this metric.
    Compared(Verdict, Metric),
    /// Its place among all commands, by this metric.
    Ranked(Standing, Metric),
}

impl RowVerdict {
    /// The verdict in a word.
    pub fn text(self) -> &'static str {
        match self {
            RowVerdict::Reference => "reference",
            RowVerdict::Compared(Verdict::Slower, Metric::Rss) | RowVerdict::Ranked(Standing::Slower, Metric::Rss) => {
                "more"
            }
            RowVerdict::Compared(Verdict::Faster, Metric::Rss) => "less",
            RowVerdict::Compared(Verdict::Slower, _) | RowVerdict::Ranked(Standing::Slower, _) => "slower",
            RowVerdict::Compared(Verdict::Faster, _) => "faster",
            RowVerdict::Compared(Verdict::Same, _) | RowVerdict::Ranked(Standing::Same, _) => "same",
            RowVerdict::Compared(Verdict::Unclear, _) | RowVerdict::Ranked(Standing::Unclear, _) => "unclear",
            RowVerdict::Ranked(Standing::Fastest, Metric::Rss) => "least",
            RowVerdict::Ranked(Standing::Fastest, _) => "fastest",
        }
    }

    /// Tone of the word. In a ranking all but one are slower, which is no finding.
    pub fn tone(self) -> Tone {
        match self {
            RowVerdict::Compared(verdict, _) => tone(verdict),
            RowVerdict::Ranked(Standing::Fastest, _) => Tone::Good,
            RowVerdict::Ranked(Standing::Unclear, _) => Tone::Warn,
            RowVerdict::Reference | RowVerdict::Ranked(Standing::Same | Standing::Slower, _) => Tone::Plain,
        }
    }
}

/// A command of the table.
pub struct AnsweredRow {
    /// Its cells, without the verdict.
    pub cells: Vec<String>,
    /// The last cell.
    pub verdict: RowVerdict,
}

/// True if the answer is a table: more than two commands, or a ranking.
pub fn suits(report: &Report) -> bool {
    report.ranking.is_some() || report.comparisons.len() > 1
}

/// The table of all commands, without a shape.
pub struct Answers {
    /// Names of the columns; the first two name a command.
    pub head: Vec<String>,
    /// The commands, the fastest first.
    pub rows: Vec<AnsweredRow>,
    /// What it rests on.
    pub basis: String,
}

/// What is known of each command.
pub fn answers(options: &Options, report: &Report) -> Answers {
    let metric = metric(report);
    let reference = reference(report);
    let ratio = match reference {
        Some(reference) => format!("against {} [95 %]", letter(reference)),
        None => format!("against the {} [95 %]", if metric == Metric::Rss { "least" } else { "fastest" }),
    };
    let benchmarks = &report.samples.benchmarks;
    let rates: Vec<Option<Throughput>> = benchmarks.iter().map(Throughput::of).collect();
    let has_rates = rates.iter().any(Option::is_some);
    let has_memory = metric != Metric::Rss && report.summaries.iter().flatten().any(|one| one.rss_bytes.is_some());
    let mut head =
        vec![String::new(), "command".to_owned(), format!("median {} [95 %]", name(report, metric)), "n".to_owned()];
    head.extend(has_rates.then(|| "throughput".to_owned()));
    head.extend(has_memory.then(|| "peak memory".to_owned()));
    head.extend([ratio, "verdict".to_owned()]);
    let rows = rows(report);
    let form = Form::column(rows.iter().filter_map(|row| row.ratio.as_ref()));
    let row = |row: Row| {
        let summary = report.summaries.get(row.subject).and_then(Option::as_ref);
        let unit = benchmarks.get(row.subject).map_or("second", |benchmark| benchmark.unit_name());
        let shown = summary.map(|summary| spread(report, summary, metric, unit));
        let mut cells = vec![letter(row.subject), options.subjects[row.subject].name.clone()];
        cells.push(shown.map_or_else(
            || "–".to_owned(),
            |(spread, unit)| with_interval(&Quantity::of(spread.median.estimate, unit), &spread.median),
        ));
        cells.push(shown.map_or_else(|| "0".to_owned(), |(spread, _)| thousands(spread.median.n as u64)));
        if has_rates {
            let rate = rates.get(row.subject).copied().flatten();
            cells.push(rate.map_or_else(|| "–".to_owned(), |rate| rate.text()));
        }
        if has_memory {
            let memory = summary.and_then(|summary| summary.rss_bytes.as_ref());
            cells.push(memory.map_or_else(|| "–".to_owned(), |memory| memory_text(memory.median.estimate)));
        }
        cells.push(row.ratio.map_or_else(|| "–".to_owned(), |ratio| form.change(&ratio)));
        AnsweredRow { cells, verdict: row.verdict }
    };
    let rests_on = format!("{}, {:.1} s", count(report.rounds as u64, "round"), report.elapsed_s);
    let level = plain(options.plan.alpha * 100.0);
    let margin = change::margin(options.plan.margin);
    let basis = match reference {
        Some(_) => format!("{rests_on}; same: within {margin}; probability of any false alarm: at most {level} %"),
        None => format!(
            "{rests_on}; same: may be the {0}, and is within {margin} of it; probability that any of these statements is \
             wrong: at most {level} %",
            if metric == Metric::Rss { "least" } else { "fastest" }
        ),
    };
    Answers { head, rows: rows.into_iter().map(row).collect(), basis }
}

/// The command with which all others are compared, if they are not ranked.
pub fn reference(report: &Report) -> Option<usize> {
    report.comparisons.first().filter(|_| report.ranking.is_none()).map(|one| one.reference)
}

/// Rows in the order of their ratios.
fn rows(report: &Report) -> Vec<Row> {
    if let Some(ranking) = &report.ranking {
        let row = |place: &prony_stats::ranking::Rank| Row {
            subject: place.candidate,
            ratio: Some(place.ratio).filter(|ratio| ratio.high > 0.0 || ratio.estimate != 0.0),
            verdict: RowVerdict::Ranked(place.standing, ranking.metric),
        };
        return ranking.places.iter().map(row).collect();
    }
    let judged = Judged::of(report);
    let compared = report.comparisons.iter().map(|one| Row {
        subject: one.subject,
        ratio: Some(judged.of_values(one.outcome.metric, &one.outcome.interval)),
        verdict: RowVerdict::Compared(one.outcome.verdict, one.outcome.metric),
    });
    let mut rows: Vec<Row> = compared.collect();
    let reference = report.comparisons.first().map(|one| one.reference);
    rows.extend(reference.map(|subject| Row { subject, ratio: None, verdict: RowVerdict::Reference }));
    let place =
        |row: &Row| row.ratio.map_or(0.0, |ratio| if ratio.estimate.is_nan() { f64::INFINITY } else { ratio.estimate });
    rows.sort_by(|a, b| place(a).total_cmp(&place(b)));
    rows
}

/// The metric of the column of values: that of the ratios, if they have one in common.
pub fn metric(report: &Report) -> Metric {
    if let Some(ranking) = &report.ranking {
        return ranking.metric;
    }
    let all = |metric: Metric| report.comparisons.iter().all(|one| one.outcome.judged.contains(&metric));
    let known = [Metric::Rss, Metric::Cpu, Metric::Uncontended].into_iter().find(|&metric| all(metric));
    known.filter(|_| !report.comparisons.is_empty()).unwrap_or(Metric::Wall)
}

/// Values of a process in the unit of the metric, or what a worker measured.
fn spread<'a>(report: &Report, summary: &'a Summary, metric: Metric, unit: &'a str) -> (&'a Spread, &'a str) {
    let of_process = is_of_processes(report).then(|| summary.of_metric(metric)).flatten();
    of_process.map_or((&summary.value, unit), |spread| (spread, metric.unit()))
}

/// True if processes were measured, and not what a worker says.
pub fn is_of_processes(report: &Report) -> bool {
    report.samples.benchmarks.first().is_none_or(|benchmark| matches!(benchmark.metric(), "wall" | "cpu"))
}

/// Name of the values for people.
pub fn name(report: &Report, metric: Metric) -> String {
    let first = report.samples.benchmarks.first();
    match metric {
        _ if !is_of_processes(report) => first.map_or("value", |benchmark| benchmark.metric()).to_owned(),
        Metric::AllocatedBytes | Metric::Allocations => metric.name().to_owned(),
        _ => metric.title().to_owned(),
    }
}

/// Typical value with its interval and unit, for a picture.
pub fn value(report: &Report, subject: usize) -> Option<(Interval, &str)> {
    let summary = report.summaries.get(subject)?.as_ref()?;
    let unit = report.samples.benchmarks.get(subject).map_or("second", |benchmark| benchmark.unit_name());
    let (spread, unit) = spread(report, summary, metric(report), unit);
    Some((spread.median, unit))
}

/// `12.4 MB`.
pub fn memory_text(bytes: f64) -> String {
    Quantity::of(bytes, "byte").value(bytes)
}
