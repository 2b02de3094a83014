//! Two builds on demos in many layouts as a comment for a pull request.

use std::fmt::Write;

use prony_bench::layouts::Layouts;
use prony_text::{Table, count, plain, printable_line};

use super::{around, unfolding};
use crate::bench::demos::judged_frames;
use crate::bench::layouts::{failure, plan, sentence, word};
use crate::change::{self, change};

/// A comment for a pull request: the verdict on the code, a row a demo with code and layouts apart, and more to unfold.
pub fn markdown(layouts: &Layouts, version: &str) -> String {
    let names = layouts.builds.sides.each_ref().map(|side| prony_text::markdown_code(&side.name));
    // Outside of a table, a bar needs no backslash.
    let [a, b] = names.each_ref().map(|name| name.replace("\\|", "|"));
    let mut out = format!("### prony: {}\n\n", sentence([&a, &b], layouts));
    let [a, b] = names.map(|name| format!("layout of {name}"));
    let head = ["demo".to_owned(), "code".to_owned(), "builds as they are".to_owned(), a, b, "verdict".to_owned()];
    let mut table = Table::with_head(head).numbers(1..5);
    let mut notes = String::new();
    for (demo, report) in layouts.all() {
        let name = demo.map_or("", |demo| demo.name.as_str());
        let figures = report.estimate.as_ref().map(|estimate| {
            let [a, b] = &estimate.as_built;
            [&estimate.code, &estimate.of_builds, a, b].map(change)
        });
        let figures = figures.unwrap_or_else(|| [(); 4].map(|()| "–".to_owned()));
        let verdict = word(report.verdict()).to_owned();
        table.row([prony_text::markdown_code(name)].into_iter().chain(figures).chain([verdict]));
        let judged = report.judged.as_ref().map(judged_frames);
        let judged = judged.map(|text| format!("{}: {text}", printable_line(name)));
        for note in failure(layouts, demo, report).into_iter().chain(judged) {
            let _ = writeln!(notes, "* {}", prony_text::markdown(&note.replace(['\n', '\r'], " ")));
        }
    }
    out += &table.markdown();
    if !notes.is_empty() {
        out += &format!("\n{notes}");
    }
    let rounds: usize = layouts.reports.iter().map(|report| report.rounds).sum();
    let seconds: f64 = layouts.reports.iter().map(|report| report.elapsed_s).sum();
    let machine = layouts.demos.first().map(|demo| &demo.machine);
    let around = around("round", rounds as u64, seconds, machine, version);
    let _ = writeln!(out, "\n<sub>{}. {around}</sub>", prony_text::markdown(&basis(layouts)));
    for (demo, report) in layouts.all() {
        if let (Some(demo), Some(estimate)) = (demo, &report.estimate) {
            out += &unfolding(&demo.name, "layouts", &(plan(&estimate.spreads) + "\n"));
        }
    }
    out
}

/// What the table says of errors.
fn basis(layouts: &Layouts) -> String {
    let margin = layouts.reports.first().map_or(0.0, |report| report.plan.margin);
    format!(
        "CPU time of B relative to A over {}; same: within {}; probability of any false alarm: at most {} %",
        count(layouts.builds.layouts as u64, "layout"),
        change::margin(margin),
        plain(layouts.alpha * 100.0)
    )
}
