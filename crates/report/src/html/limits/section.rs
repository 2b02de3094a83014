//! Limits as a part of a study's page: which machine, bandwidth and latency of each level, curves, and all figures on request.

use std::collections::BTreeSet;

use maud::{Markup, html};
use prony_limits::{Experiment, Limits, Measured};
use prony_text::{Quantity, count, thousands};

use super::limits_curves;
use crate::html::document::{framed, heading};

/// Curves that help to read a study; the others are about the processor itself.
const SHOWN: [&str; 4] = ["bandwidth", "latency", "roofline", "threads"];

/// Greatest number of curves in a chart, and so of colours that the page needs.
pub fn series(limits: &Limits) -> usize {
    limits_curves(limits).iter().map(|(_, curves)| curves.lines.len()).max().unwrap_or(0)
}

/// Section of the page: table, curves, and all figures on request.
pub fn section(limits: &Limits) -> Markup {
    let processor = limits.facts.cpu.model.as_deref().unwrap_or("an unknown processor");
    let curves = limits_curves(limits).into_iter().filter(|(name, _)| SHOWN.contains(name));
    html! {
        section id="limits" {
            (heading("Limits of the hardware", "times and rates: best of the samples, cycles: median"))
            p {
                (processor) ", machine " code { (limits.fingerprint) } ", CPU " (limits.cpu) ": "
                (count(limits.measured.len(), "figure")) ", of which " (thousands(limits.disturbed()))
                " had fewer than 3 undisturbed samples."
            }
            (levels(limits))
            div class="stack" {
                @for (_, curves) in curves { div class="card wide" { (framed(&curves.drawing())) } }
            }
            (everything(limits))
        }
    }
}

/// Bandwidth and latency of each level: a row a way, on the kind of pages that was measured first, which is the best there is.
fn levels(limits: &Limits) -> Markup {
    let cases = || limits.of(Experiment::Bandwidth).filter(|case| case.fact("level").is_some());
    let chases = || limits.of(Experiment::Cache).filter(|case| case.fact("level").is_some());
    let Some(pages) = cases().chain(chases()).find_map(|case| case.fact("pages")) else { return html! {} };
    let mut sizes: Vec<(&str, f64)> =
        cases().chain(chases()).filter_map(|case| Some((case.fact("level")?, case.number("bytes")?))).collect();
    sizes.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut seen = BTreeSet::new();
    sizes.retain(|(level, _)| seen.insert(*level));
    let mut rows: Vec<(&str, Vec<&Measured>)> = Vec::new();
    for case in cases().chain(chases()).filter(|case| case.fact("pages") == Some(pages)) {
        let name = case.fact("way").unwrap_or("latency, by chase");
        match rows.iter_mut().find(|row| row.0 == name) {
            Some(row) => row.1.push(case),
            None => rows.push((name, vec![case])),
        }
    }
    let figure = |of_row: &[&Measured], level: &str| {
        let case = of_row.iter().find(|case| case.fact("level") == Some(level));
        case.and_then(|case| figure_text(case)).unwrap_or_else(|| "–".to_owned())
    };
    html! {
        div class="card wide" {
            h3 { "one thread, " (pages) " pages; copies: bytes copied" }
            table {
                thead {
                    tr {
                        th scope="col" {}
                        @for (level, _) in &sizes { th scope="col" class="n" { (level) } }
                    }
                }
                tbody {
                    @for (name, of_row) in &rows {
                        tr {
                            th scope="row" { (name) }
                            @for (level, _) in &sizes { td class="n" { (figure(of_row, level)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A table an experiment, closed until it is opened: a full run has some eight hundred figures.
fn everything(limits: &Limits) -> Markup {
    html! {
        @for experiment in Experiment::ALL {
            @let cases: Vec<&Measured> = limits.of(experiment).collect();
            @if !cases.is_empty() {
                details {
                    summary { (experiment.to_string()) ": " (count(cases.len(), "figure")) }
                    div class="wide" {
                        table {
                            thead {
                                tr {
                                    th scope="col" { "limit" }
                                    @for name in ["value", "median", "n", "disturbed"] {
                                        th scope="col" class="n" { (name) }
                                    }
                                }
                            }
                            tbody { @for case in cases { (row(case)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A figure with what it rests on.
fn row(case: &Measured) -> Markup {
    let (Some(value), Some(figure)) = (figure_text(case), case.figure()) else { return html! {} };
    html! {
        tr {
            td { (case.name) }
            td class="n" { (value) }
            td class="n" { (Quantity::of(figure.median, &case.unit).value(figure.median)) }
            td class="n" { (thousands(figure.n)) }
            td class="n" { (format!("{:.0} %", figure.contaminated * 100.0)) }
        }
    }
}

/// Figure of a case, marked if fewer samples than it needs were undisturbed.
fn figure_text(case: &Measured) -> Option<String> {
    let figure = case.figure()?;
    let mark = if case.series.is_clean() { "" } else { " !" };
    Some(Quantity::of(figure.value, &case.unit).value(figure.value) + mark)
}
