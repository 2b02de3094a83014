//! One bench on one self-contained page: verdict, distribution, pairs in the order of time, machine.

mod answers;
mod demos;
mod suite;

pub use answers::{page, page_of_pairs};

use maud::{Markup, PreEscaped, html};
use prony_stats::quantile::{median, quantile_of_sorted, sorted};
use prony_stats::samples::{Benchmark, Run, Samples};
use prony_stats::summary::benchmark_median;
use prony_stats::{Interval, Metric};
use prony_text::{Quantity, bytes, count, duration, quantity, thousands};
use serde_json::Value;

use crate::change;
use crate::html::document::{chips, document, fitting, head, heading, verdict};
use crate::html::grid::{CSS as GRID_CSS, Grid, grid};
use crate::study::provenance;
use crate::study::sentences::{Chip, Tone, Verdict};
use crate::svg::chart::bench::{self as charts, Change, MARKS_MAX, Values};
use crate::svg::chart::commands::Commands;
use crate::svg::chart::distributions;
use crate::svg::chart::frame_ratios::{self, frame_ratios};
use crate::svg::drawing::Drawing;
use crate::words::with_interval;

/// Commands that have a place in the charts and tables.
const COMMANDS_MAX: usize = 16;
/// Comparisons that have a chart of their pairs.
const PAIRS_MAX: usize = 6;
/// Letters of a command in the title.
const TITLE_LETTERS: usize = 90;
/// Warnings that are listed.
const WARNINGS_MAX: usize = 20;
/// Error of the intervals of medians.
const ALPHA: f64 = 0.05;

/// What a page of a bench shows; statistics and sentences are made elsewhere.
#[derive(Debug)]
pub struct Bench<'a> {
    /// All that was measured.
    pub samples: &'a Samples,
    /// Answer on several commands, which comes before everything else.
    pub several: Option<Several>,
    /// Comparisons of one command with another.
    pub comparisons: Vec<Comparison>,
    /// Further answers as tables, behind the charts.
    pub tables: Vec<Grid>,
    /// Differences below this log ratio count as none.
    pub margin: f64,
    /// The version of prony that makes the page.
    pub version: &'a str,
}

/// Several commands, or a command with several values of a parameter.
#[derive(Debug)]
pub struct Several {
    /// Title of the page.
    pub title: String,
    /// The answer in a sentence.
    pub verdict: Verdict,
    /// A row for each command, the fastest first.
    pub table: Grid,
    /// The commands as a chart, and what it shows.
    pub chart: Commands,
    /// The metric of the ratios, of processes.
    pub metric: Option<Metric>,
}

/// A command compared with another one.
#[derive(Debug)]
pub struct Comparison {
    /// Letters of the baseline and of the command that is compared with it.
    pub letters: [String; 2],
    /// Place of the baseline among the benchmarks.
    pub a: usize,
    /// Place of the command that is compared with it.
    pub b: usize,
    /// The answer in a sentence.
    pub verdict: Verdict,
    /// Each metric with its interval, as a log ratio.
    pub changes: Vec<Change>,
    /// The metric that decided, of processes that ran in pairs.
    pub metric: Option<Metric>,
    /// The interval that decided.
    pub interval: Interval,
}

impl Bench<'_> {
    /// The page: one HTML document that needs nothing else.
    pub fn page(&self) -> String {
        let shown = self.samples.benchmarks.len().min(COMMANDS_MAX);
        let title = self.title();
        let body = html! {
            (head(&title, &html! { (self.shape()) }))
            main {
                @match &self.several {
                    Some(several) => {
                        (verdict(&several.verdict))
                        (chips(&self.chips()))
                        (grid(&several.table))
                        (plot(&several.chart))
                    }
                    None => {
                        @for comparison in &self.comparisons { (verdict(&comparison.verdict)) }
                        (chips(&self.chips()))
                    }
                }
                (self.warnings())
                (self.charts(shown))
                @for table in &self.tables { (grid(table)) }
                (self.table(shown))
                (self.machine())
                (self.reproduce(shown))
            }
        };
        let series = self.several.as_ref().map_or(0, |several| several.chart.series.len());
        document(&title, shown.max(series).max(2), (GRID_CSS, &[]), self.version, &body)
    }

    fn title(&self) -> String {
        if let Some(several) = &self.several {
            return cut(&several.title, TITLE_LETTERS);
        }
        let name = |benchmark: &Benchmark| cut(&benchmark.name, TITLE_LETTERS);
        match self.samples.benchmarks.as_slice() {
            [] => "no samples".to_owned(),
            [only] => name(only),
            [a, b] => format!("{} → {}", name(a), name(b)),
            [first, more @ ..] => format!("{} and {} others", name(first), more.len()),
        }
    }

    /// What was measured, how often, and for how long.
    fn shape(&self) -> String {
        let benchmarks = &self.samples.benchmarks;
        let values: usize = benchmarks.iter().map(|benchmark| benchmark.values().count()).sum();
        let circumstances = self.samples.circumstances.as_ref();
        let pairs = circumstances.map_or(0, |circumstances| circumstances.pairs_done_s.len());
        let mut parts = vec![count(benchmarks.len(), "command"), count(values, "value")];
        if pairs > 0 && benchmarks.len() > 1 {
            parts.push(count(pairs, if benchmarks.len() == 2 { "pair" } else { "round" }));
        }
        if let Some(last) = circumstances.and_then(|circumstances| circumstances.pairs_done_s.last()) {
            parts.push(duration(*last));
        }
        parts.join(", ")
    }

    fn chips(&self) -> Vec<Chip> {
        let chip = |tone, text: String, tip: &str| Chip { tone, text, tip: tip.to_owned() };
        let mut chips = Vec::new();
        let widest = self.comparisons.iter().map(|comparison| comparison.interval.width() / 2.0);
        let widest = widest.filter(|half| half.is_finite()).fold(0.0, f64::max);
        if widest > 0.0 {
            let tone = if widest <= self.margin { Tone::Good } else { Tone::Plain };
            let text = format!("minimum detectable difference {}", change::size(widest));
            chips.push(chip(tone, text, "half of the width of the widest interval"));
        }
        if let Some(waited) = self.waited() {
            let tone = if waited > 0.05 { Tone::Warn } else { Tone::Good };
            let text = format!("{:.1} % of the time waiting for a CPU", waited * 100.0);
            chips.push(chip(tone, text, "share of wall time in which runs were ready to run and had no CPU"));
        }
        if let Some(circumstances) = &self.samples.circumstances {
            if circumstances.machine.pointer("/tuned").and_then(Value::as_bool) == Some(true) {
                chips.push(chip(Tone::Good, "tuned machine".to_owned(), "`prony machine tune` was in force"));
            }
            if circumstances.tuning["duet"] == true {
                let tip = "both runs of a pair shared one CPU at the same time, so that both saw the same noise";
                chips.push(chip(Tone::Plain, "duet".to_owned(), tip));
            }
            if !circumstances.warnings.is_empty() {
                let text = count(circumstances.warnings.len(), "warning");
                chips.push(chip(Tone::Warn, text, "listed below"));
            }
            let version = format!("measured by prony {}", circumstances.prony_version);
            if !circumstances.prony_version.is_empty() {
                chips.push(chip(Tone::Plain, version, "version of the prony that measured"));
            }
        }
        chips
    }

    /// Share of their wall time that runs waited for a CPU, of those of which both are known.
    fn waited(&self) -> Option<f64> {
        let runs = self.samples.benchmarks.iter().flat_map(|benchmark| &benchmark.runs);
        let times = runs.filter_map(|run| {
            let measured = run.measured.as_ref()?;
            Some((measured.wait_s?, measured.wall_s?))
        });
        let (wait, wall) = times.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        (wall > 0.0).then_some(wait / wall)
    }

    fn warnings(&self) -> Markup {
        let warnings = self.samples.circumstances.as_ref().map_or(&[][..], |circumstances| &circumstances.warnings);
        html! {
            @if !warnings.is_empty() {
                ul class="notes" {
                    @for warning in warnings.iter().take(WARNINGS_MAX) { li { (warning) } }
                    @if warnings.len() > WARNINGS_MAX { li { "and " (warnings.len() - WARNINGS_MAX) " more" } }
                }
            }
        }
    }

    /// The metric that the charts show: that of the verdict, or the values as they are.
    fn metric(&self) -> Option<Metric> {
        let of_several = self.several.as_ref().and_then(|several| several.metric);
        of_several.or_else(|| self.comparisons.iter().find_map(|comparison| comparison.metric))
    }

    fn charts(&self, shown: usize) -> Markup {
        let benchmarks: Vec<Benchmark> =
            self.samples.benchmarks.iter().take(shown).map(|benchmark| self.by_metric(benchmark)).collect();
        let rows: Vec<Values> =
            benchmarks.iter().enumerate().map(|(at, benchmark)| self.values(at, benchmark)).collect();
        let unit = benchmarks.first().map_or("second", |benchmark| benchmark.unit_name());
        let name = metric_words(benchmarks.first().map_or("wall", |benchmark| benchmark.metric()));
        let changes: Vec<Change> =
            self.comparisons.iter().take(shown).flat_map(|comparison| comparison.changes.clone()).collect();
        let by_time = self.by_time();
        let most = rows.iter().map(|row| row.points.len()).max().unwrap_or(0);
        let left_out = self.samples.benchmarks.len() - shown;
        let letter = |at: usize, of: &Comparison| of.letters[at].clone();
        let against = self.comparisons.first().map_or_else(String::new, |one| match self.comparisons.len() {
            1 => format!("{} against {}", letter(1, one), letter(0, one)),
            _ => format!("against {}", letter(0, one)),
        });
        let spread = match distributions::has_own_scales(&rows) {
            true => format!("{name}, relative to the median of each command; line: median, shaded: its 95 % interval"),
            false => format!("{name}; line: median, shaded: its 95 % interval"),
        };
        html! {
            @if left_out > 0 { p { (count(left_out, "further command")) " not shown." } }
            div class="two" {
                @if !changes.is_empty() {
                    (card("Change", &format!("{against}; line: interval, shaded: same"), &charts::changes(&changes, &changes, self.margin)))
                }
                @if let Some(chart) = distributions::distributions(&rows, unit) { (card("Distribution", &spread, &chart)) }
                @for comparison in self.comparisons.iter().take(PAIRS_MAX) {
                    @let points = self.pairs(comparison);
                    @if points.len() > 1 {
                        @let of = if self.comparisons.len() > 1 {
                            format!("{}; ", self.samples.benchmarks[comparison.b].name)
                        } else {
                            String::new()
                        };
                        @let ratio = format!("{} to {}", letter(1, comparison), letter(0, comparison));
                        @let small = format!("{of}{ratio}, {name}; shaded: interval");
                        @let chart = charts::pairs(&points, &ratio, &comparison.interval, by_time);
                        (card("Pairs in the order of time", &small, &chart))
                    }
                }
                @for one in self.comparisons.iter().take(PAIRS_MAX) {
                    @if let Some(card) = self.frames(one) { (card) }
                }
                @if most > 1 && self.comparisons.iter().all(|one| self.frames(one).is_none()) {
                    (card("Values in the order of time", &name, &charts::values(&rows, unit, by_time)))
                }
            }
            @if most > MARKS_MAX { p { "Of series with more than " (thousands(MARKS_MAX)) " values every so many are drawn." } }
        }
    }

    /// Each frame of the builds of a comparison, where they replayed a demo.
    fn frames(&self, one: &Comparison) -> Option<Markup> {
        let [a, b] = [one.a, one.b].map(|at| &self.samples.benchmarks[at]);
        frame_card("Each frame", one.letters.clone(), [a, b])
    }

    fn by_metric(&self, benchmark: &Benchmark) -> Benchmark {
        let judged = self.metric().filter(|_| Metric::is_name_of_time(benchmark.metric()));
        let by = judged.map(|metric| benchmark.by(metric)).filter(|by| !by.runs.is_empty());
        by.unwrap_or_else(|| benchmark.clone())
    }

    /// True where it is known when each pair ended.
    fn by_time(&self) -> bool {
        self.samples.circumstances.as_ref().is_some_and(|circumstances| !circumstances.pairs_done_s.is_empty())
    }

    /// When a run took place: at the end of its pair, or at its number.
    fn when(&self, number: usize, run: &Run) -> f64 {
        let pair = run.measured.as_ref().and_then(|measured| measured.pair).and_then(|pair| usize::try_from(pair).ok());
        let done = self.samples.circumstances.as_ref().map_or(&[][..], |circumstances| &circumstances.pairs_done_s);
        match done.is_empty() {
            true => number as f64,
            false => pair.and_then(|pair| done.get(pair)).or(done.get(number)).or(done.last()).copied().unwrap_or(0.0),
        }
    }

    fn values(&self, series: usize, benchmark: &Benchmark) -> Values {
        let runs = benchmark.runs.iter().filter(|run| !run.values.is_empty());
        let points: Vec<(f64, f64)> = runs
            .enumerate()
            .flat_map(|(number, run)| run.values.iter().map(move |value| (number, run, *value)))
            .map(|(number, run, value)| (self.when(number, run), value))
            .filter(|point| point.1.is_finite())
            .collect();
        Values { name: benchmark.name.clone(), series, points, median: benchmark_median(benchmark, ALPHA) }
    }

    /// When each pair ran, and the log ratio of B to A.
    fn pairs(&self, comparison: &Comparison) -> Vec<(f64, f64)> {
        let [a, b] = [comparison.a, comparison.b].map(|at| self.by_metric(&self.samples.benchmarks[at]));
        let numbered = |run: &Run| Some((run.measured.as_ref()?.pair?, median(&run.values)?));
        let of_a: std::collections::BTreeMap<u64, f64> = a.runs.iter().filter_map(numbered).collect();
        b.runs
            .iter()
            .enumerate()
            .filter_map(|(number, run)| {
                let (pair, value) = numbered(run)?;
                let log = (value / of_a.get(&pair)?).ln();
                log.is_finite().then(|| (self.when(number, run), log))
            })
            .collect()
    }

    fn table(&self, shown: usize) -> Markup {
        let rss = |benchmark: &Benchmark| {
            let peaks = benchmark.runs.iter().filter_map(|run| run.measured.as_ref()?.peak_rss_bytes);
            peaks.max().map_or_else(|| "–".to_owned(), bytes)
        };
        html! {
            section id="numbers" {
                (heading("Numbers", "of all values, warm-ups left out"))
                div class="card wide" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "command" }
                                @for name in ["metric", "median [95 %]", "mean", "σ", "min", "p95", "max", "n", "peak memory"] {
                                    th scope="col" class="n" { (name) }
                                }
                            }
                        }
                        tbody {
                            @for benchmark in self.samples.benchmarks.iter().take(shown) {
                                @let metrics = self.metrics(benchmark);
                                @for (place, one) in metrics.iter().enumerate() {
                                    (row(one, (place == 0).then_some(metrics.len()), &rss(benchmark)))
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// The values as they are, and each time of the runs that was measured besides.
    fn metrics(&self, benchmark: &Benchmark) -> Vec<Benchmark> {
        let mut all = vec![benchmark.clone()];
        if Metric::is_name_of_time(benchmark.metric()) {
            let others =
                [Metric::Cpu, Metric::Uncontended].into_iter().filter(|metric| metric.name() != benchmark.metric());
            all.extend(others.map(|metric| benchmark.by(metric)).filter(|by| !by.runs.is_empty()));
        }
        all
    }

    fn machine(&self) -> Markup {
        let facts =
            self.samples.circumstances.as_ref().map(|circumstances| provenance::of_facts(&circumstances.machine));
        let facts = facts.filter(|facts| !facts.is_empty());
        html! {
            section {
                h2 { "Machine" }
                @match facts {
                    Some(facts) => dl { @for (name, value) in &facts { dt { (name) } dd { (value) } } },
                    None => p { "The file says nothing about the machine." },
                }
            }
        }
    }

    fn reproduce(&self, shown: usize) -> Markup {
        let command = |benchmark: &Benchmark| {
            let words = benchmark.subject.as_ref().map_or(&[][..], |subject| &subject.command);
            words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        };
        let known = self.samples.benchmarks.iter().take(shown).map(|benchmark| (&benchmark.name, command(benchmark)));
        let known: Vec<_> = known.filter(|(_, command)| !command.is_empty()).collect();
        html! {
            @if !known.is_empty() {
                section id="reproduce" {
                    h2 { "Commands" }
                    dl { @for (name, command) in known { dt { (name) } dd { code { (command) } } } }
                }
            }
        }
    }
}

/// One time of a command. `rows`: how many times it has, at the first one, which shows its name and memory.
fn row(benchmark: &Benchmark, rows: Option<usize>, rss: &str) -> Markup {
    let values = sorted(&benchmark.values().filter(|value| value.is_finite()).collect::<Vec<_>>());
    let Some(&min) = values.first() else { return html! {} };
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt());
    let unit = benchmark.unit_name();
    let own = |value: f64| quantity(value, unit);
    let median = benchmark_median(benchmark, ALPHA)
        .map_or_else(String::new, |median| with_interval(&Quantity::of(median.estimate, unit), &median));
    let quantile = |share| quantile_of_sorted(&values, share).map_or_else(String::new, own);
    html! {
        tr {
            @if let Some(rows) = rows { th scope="row" rowspan=(rows) { (benchmark.name) } }
            td class="n" { (metric_words(benchmark.metric())) }
            td class="n" { b { (median) } }
            td class="n" { (own(mean)) }
            td class="n" { (deviation.map_or_else(|| "–".to_owned(), own)) }
            td class="n" { (own(min)) }
            td class="n" { (quantile(0.95)) }
            td class="n" { (quantile(1.0)) }
            td class="n" { (thousands(values.len())) }
            td class="n" { @if rows.is_some() { (rss) } }
        }
    }
}

/// A metric as people read it. `metric`: its name in files.
fn metric_words(metric: &str) -> String {
    Metric::from_name(metric).map_or(metric, |metric| metric.title()).to_owned()
}

/// The commands in one chart, over the whole width.
fn plot(chart: &Commands) -> Markup {
    let title = match &chart.parameter {
        Some(parameter) => format!("{} along {parameter}", chart.metric),
        None => chart.metric.clone(),
    };
    let [broad, narrow] = chart.broad_and_narrow();
    html! {
        section {
            (heading(&title, "median with its 95 % interval"))
            div class="card" { (fitting(&broad, &narrow)) }
        }
    }
}

/// How many times as long each frame of a demo takes in B as in A; `None` of commands that are no replays of one demo.
pub(crate) fn frame_card(title: &str, [a, b]: [String; 2], benchmarks: [&Benchmark; 2]) -> Option<Markup> {
    let [of_a, of_b] = benchmarks.map(|benchmark| {
        let replays = benchmark.runs.iter().filter_map(|run| Some(run.measured.as_ref()?.frame_ns.as_slice()));
        replays.filter(|replay| !replay.is_empty()).collect::<Vec<&[u64]>>()
    });
    let ratio = format!("{b} to {a}");
    let chart = frame_ratios::draw(&frame_ratios(&of_a, &of_b)?, &ratio)?;
    let small = format!("{b} ÷ {a}, CPU time; line: median of each stretch, band: first to ninth decile");
    Some(card(title, &small, &chart))
}

/// A chart in its card, as the pages of a bench and of a replay have it.
pub(crate) fn card(title: &str, small: &str, chart: &Drawing) -> Markup {
    html! {
        div class="card" { h3 { (title) " " small { (small) } } (PreEscaped(chart.inline())) }
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn cut(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
