//! Two programs in many layouts, in the terminal.

use std::fmt::Write;

use prony_bench::layouts::{LayoutReport, Layouts, LayoutsEnded, Links, ReplayedDemo};
use prony_text::{Table, count, printable_line};

use crate::bench::demos::judged_frames;
use crate::bench::layouts::{claim, failure, ordered, plan, sentence};
use crate::change::{self, change};
use crate::words::letter;

/// The answer on commands or on one demo, or each of several demos with its name and the verdict for all.
pub fn text(layouts: &Layouts) -> String {
    if let ([report], 1) = (layouts.reports.as_slice(), layouts.requested()) {
        return of_one(layouts, layouts.demos.first(), report);
    }
    let mut out = String::new();
    for (demo, report) in layouts.all() {
        let name = demo.map_or_else(String::new, |demo| printable_line(&demo.name).into_owned());
        let lines = of_one(layouts, demo, report);
        out = lines.lines().fold(out + &format!("{name}\n"), |out, line| out + "  " + line + "\n");
    }
    out + &format!("{}\n", sentence(["A", "B"], layouts))
}

/// The verdict on the code, what the layout of each build adds, and what this number of layouts can tell.
fn of_one(layouts: &Layouts, demo: Option<&ReplayedDemo>, report: &LayoutReport) -> String {
    if let Some(failure) = failure(layouts, demo, report) {
        return failure + "\n";
    }
    let mut out = String::new();
    if let Some(judged) = &report.judged {
        let hint = if judged.is_automatic { "; --frames all takes each" } else { "" };
        let _ = writeln!(out, "{}{hint}", judged_frames(judged));
    }
    let Some(estimate) = &report.estimate else { return out + &format!("{}\n", claim(layouts, report)) };
    let mut table = Table::with_head(["", "command", "layout of this build", "σ of layouts"]).numbers(3..4);
    for (place, side) in layouts.builds.sides.iter().enumerate() {
        let (Some(own), Some(&spread)) = (estimate.as_built.get(place), estimate.spreads.sides.get(place)) else {
            continue;
        };
        let name = printable_line(&side.name).into_owned();
        table.row([letter(place), name, change(own), change::size(spread)]);
    }
    out += &table.text();
    let _ = writeln!(out, "{}", claim(layouts, report));
    let _ = writeln!(out, "  code                {}", change(&estimate.code));
    let _ = writeln!(out, "  builds as they are  {}", change(&estimate.of_builds));
    let _ = writeln!(out, "  {}", plan(&estimate.spreads));
    for (place, links) in layouts.links.iter().enumerate() {
        if let Some(links) = links {
            let _ = writeln!(out, "  {}: {}", letter(place), ordered(links));
        }
    }
    let under: Vec<_> = demo.iter().flat_map(|demo| &demo.under).map(|word| printable_line(word)).collect();
    if !under.is_empty() {
        let _ = writeln!(out, "  under `{}`: times are those of the tool and the build together", under.join(" "));
    }
    out
}

/// What to know before the answer is relied on.
pub fn warnings(layouts: &Layouts) -> Vec<String> {
    let mut warnings = Vec::new();
    for (demo, report) in layouts.all() {
        let of = match demo {
            Some(demo) if layouts.requested() > 1 => format!("{}: ", demo.name),
            _ => String::new(),
        };
        warnings.extend(report.warnings.iter().map(|warning| format!("{of}{warning}")));
        if matches!(report.ended, LayoutsEnded::Interrupted) {
            warnings.push(format!("{of}interrupted after {}", count(report.rounds as u64, "round")));
        }
    }
    for (links, side) in layouts.links.iter().zip(&layouts.builds.sides) {
        if let Some(functions) = links.as_ref().and_then(Links::few) {
            warnings.push(format!(
                "`{}`: only {} ordered; a build that compiles again, as with `make -B`, gives each function a section of its own",
                printable_line(&side.name),
                count(functions as u64, "function")
            ));
        }
    }
    for (left, side) in layouts.left.iter().zip(&layouts.builds.sides) {
        if !left.is_empty() {
            warnings.push(format!(
                "`{}`: BOLT cannot move {}, whose place is the same in all layouts: without --bolt it is another one in each",
                printable_line(&side.name),
                printable_line(&left.join(", "))
            ));
        }
    }
    warnings
}
