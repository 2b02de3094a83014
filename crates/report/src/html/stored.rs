//! Stored samples compared, on one self-contained page: the table, the changes on one axis, the distributions.

use maud::{Markup, html};
use prony_stats::samples::Benchmark;
use prony_stats::summary::benchmark_median;
use prony_text::{count, thousands};
use serde_json::Value;

use crate::html::bench::{card, frame_card};
use crate::html::document::{document, head, heading, verdict};
use crate::html::grid::{CSS as GRID_CSS, Grid, grid};
use crate::study::provenance;
use crate::study::sentences::Verdict;
use crate::svg::chart::bench::{self as charts, Change, Values};
use crate::svg::chart::distributions::{distributions, has_own_scales};

/// Changes that a chart shows, and charts of them.
const CHANGES_MAX: usize = 100;
const FILES_MAX: usize = 12;
/// Benchmarks whose distributions are drawn, and series of one of them.
const PANELS_MAX: usize = 60;
const SERIES_MAX: usize = 16;
/// Notes that are listed, and machines.
const NOTES_MAX: usize = 20;
/// Error of the intervals of medians.
const ALPHA: f64 = 0.05;

/// What a page of a comparison shows; statistics and sentences are made elsewhere.
#[derive(Debug)]
pub struct Stored<'a> {
    /// Title of the page.
    pub title: String,
    /// What is compared, below the title.
    pub below: String,
    /// The answer in a sentence.
    pub verdict: Verdict,
    /// What to know before it is relied on.
    pub notes: Vec<String>,
    /// The comparisons as tables.
    pub tables: Vec<Grid>,
    /// The changes of each file: its name, and a row for each benchmark.
    pub changes: Vec<(String, Vec<Change>)>,
    /// The values of each benchmark: its name, and whose values they are.
    pub values: Vec<(String, Vec<(String, &'a Benchmark)>)>,
    /// The machine of each file.
    pub machines: Vec<(String, &'a Value)>,
    /// Differences below this log ratio count as none.
    pub margin: f64,
    /// What a row of changes and a panel of values are of: `benchmark`.
    pub each: &'static str,
    /// The version of prony that makes the page.
    pub version: &'a str,
}

impl Stored<'_> {
    /// The page: one HTML document that needs nothing else.
    pub fn page(&self) -> String {
        let body = html! {
            (head(&self.title, &html! { (self.below) }))
            main {
                (verdict(&self.verdict))
                @if !self.notes.is_empty() {
                    ul class="notes" {
                        @for note in self.notes.iter().take(NOTES_MAX) { li { (note) } }
                        @if self.notes.len() > NOTES_MAX { li { "and " (self.notes.len() - NOTES_MAX) " more" } }
                    }
                }
                @for table in &self.tables { (grid(table)) }
                (self.changes())
                (self.frames())
                (self.distributions())
                (self.machines())
            }
        };
        let series = self.values.iter().map(|(_, rows)| rows.len()).max().unwrap_or(0);
        document(&self.title, series.clamp(2, SERIES_MAX), (GRID_CSS, &[]), self.version, &body)
    }

    fn changes(&self) -> Markup {
        // Panels that are compared have equal scales.
        let all: Vec<Change> = self.changes.iter().flat_map(|(_, changes)| changes.iter().cloned()).collect();
        let drawn = |changes: &[Change]| charts::changes(&changes[..changes.len().min(CHANGES_MAX)], &all, self.margin);
        html! {
            @if !all.is_empty() {
                section {
                    (heading("Changes", "line: interval, shaded: same; equal scales"))
                    div class="two" {
                        @for (file, changes) in self.changes.iter().take(FILES_MAX).filter(|(_, changes)| !changes.is_empty()) {
                            @let of = match changes.len() > CHANGES_MAX {
                                true => format!("the first {CHANGES_MAX} of {}", thousands(changes.len())),
                                false => count(changes.iter().filter(|change| change.is_judged).count(), self.each),
                            };
                            (card(file, &of, &drawn(changes)))
                        }
                    }
                    @if self.changes.len() > FILES_MAX { p { (count(self.changes.len() - FILES_MAX, "further file")) " not drawn." } }
                }
            }
        }
    }

    /// How many times as long each frame takes, of demos that two builds replayed.
    fn frames(&self) -> Markup {
        let card = |(name, rows): &(String, Vec<(String, &Benchmark)>)| match rows.as_slice() {
            [(a, of_a), (b, of_b)] => frame_card(name, [a.clone(), b.clone()], [of_a, of_b]),
            _ => None,
        };
        let cards: Vec<Markup> = self.values.iter().take(PANELS_MAX).filter_map(card).collect();
        html! {
            @if !cards.is_empty() {
                section {
                    h2 { "Each frame" }
                    div class="two" { @for card in cards { (card) } }
                }
            }
        }
    }

    fn distributions(&self) -> Markup {
        let panel = |rows: &[(String, &Benchmark)]| {
            let unit = rows.first()?.1.unit_name();
            let rows: Vec<Values> = rows.iter().take(SERIES_MAX).enumerate().map(series).collect();
            Some((distributions(&rows, unit)?, has_own_scales(&rows)))
        };
        html! {
            @if !self.values.is_empty() {
                section {
                    (heading("Distributions", "line: median, shaded: its 95 % interval"))
                    div class="two" {
                        @for (name, rows) in self.values.iter().take(PANELS_MAX) {
                            @if let Some((chart, is_relative)) = panel(rows) {
                                (card(name, if is_relative { "relative to each median" } else { "" }, &chart))
                            }
                        }
                    }
                    @if self.values.len() > PANELS_MAX {
                        p { (PANELS_MAX) " of " (count(self.values.len(), self.each)) " are drawn." }
                    }
                }
            }
        }
    }

    fn machines(&self) -> Markup {
        let known = self.machines.iter().take(NOTES_MAX).map(|(file, facts)| (file, provenance::of_facts(facts)));
        let known: Vec<_> = known.filter(|(_, facts)| !facts.is_empty()).collect();
        let described = |facts: &[(&str, String)]| {
            facts.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(" · ")
        };
        html! {
            section {
                h2 { "Machines" }
                @if known.is_empty() { p { "The files say nothing about the machine." } }
                @else { dl { @for (file, facts) in &known { dt { (file) } dd { (described(facts)) } } } }
            }
        }
    }
}

/// Values of one benchmark of one file, in their order.
fn series((series, (name, benchmark)): (usize, &(String, &Benchmark))) -> Values {
    let values: Vec<f64> = benchmark.values().filter(|value| value.is_finite()).collect();
    let points = values.iter().enumerate().map(|(number, value)| (number as f64, *value)).collect();
    Values { name: name.clone(), series, points, median: benchmark_median(benchmark, ALPHA) }
}
