//! Two programs in many layouts, in the terminal.

use std::fmt::Write;

use prony_bench::Ended;
use prony_bench::layouts::{Estimate, Layouts, Links, Spreads};
use prony_stats::Verdict;
use prony_text::{Table, count, printable_line, thousands};

use crate::change::{self, change, found};
use crate::words::{letter, undirected};

/// The verdict on the code, what the layout of each build adds, and what this number of layouts can tell.
pub fn text(layouts: &Layouts) -> String {
    let Layouts { options, report } = layouts;
    let Some(estimate) = &report.estimate else { return format!("{}\n", claim(layouts)) };
    let mut out = String::new();
    let mut table = Table::with_head(["", "command", "layout of this build", "σ of layouts"]).numbers(3..4);
    for (place, side) in options.sides.iter().enumerate() {
        let (Some(own), Some(&spread)) = (estimate.as_built.get(place), estimate.spreads.sides.get(place)) else {
            continue;
        };
        let name = printable_line(&side.name).into_owned();
        table.row([letter(place), name, change(own), change::size(spread)]);
    }
    out += &table.text();
    let _ = writeln!(out, "{}", claim(layouts));
    let _ = writeln!(out, "  code                {}", change(&estimate.code));
    let _ = writeln!(out, "  builds as they are  {}", change(&estimate.of_builds));
    let _ = writeln!(out, "  {}", plan(&estimate.spreads));
    for (place, links) in report.links.iter().enumerate() {
        if let Some(links) = links {
            let _ = writeln!(out, "  {}: {}", letter(place), ordered(links));
        }
    }
    out
}

/// `B is slower: +0.4 % [+0.1, +0.7] CPU time, 20 layouts, 8 rounds, 35.1 s`.
pub fn claim(layouts: &Layouts) -> String {
    let Layouts { options, report } = layouts;
    let basis = format!(
        "{}, {}, {:.1} s",
        count(options.layouts as u64, "layout"),
        count(report.rounds as u64, "round"),
        report.elapsed_s
    );
    let verdict = match &report.estimate {
        None => "unclear: two complete rounds are needed".to_owned(),
        Some(Estimate { verdict, code, .. }) => {
            let found = found(code, report.metric.title());
            match verdict {
                Verdict::Slower => format!("B is slower: {found}"),
                Verdict::Faster => format!("B is faster: {found}"),
                verdict => undirected(None, *verdict, options.bench.plan.margin, &found),
            }
        }
    };
    format!("{verdict}, {basis}")
}

/// `20 layouts detect 0.81 % 9 times in 10, and 1 % takes 14: σ of the ratio from layout to layout 1.0 %, 8 % of its variance from runs`.
pub fn plan(spreads: &Spreads) -> String {
    let detects = match spreads.detectable.is_finite() {
        true => format!("detect {} 9 times in 10", change::size(spreads.detectable)),
        false => "are too few for an interval".to_owned(),
    };
    let takes = match spreads.for_one_percent {
        Some(layouts) => format!("1 % takes {}", thousands(layouts as u64)),
        None => "no number of them detects 1 %".to_owned(),
    };
    format!(
        "{} {detects}, and {takes}: σ of the ratio from layout to layout {}, {:.0} % of its variance from runs",
        count(spreads.layouts as u64, "layout"),
        change::size(spreads.ratio),
        100.0 * spreads.of_runs
    )
}

/// `GNU ld, 42 functions ordered`.
fn ordered(links: &Links) -> String {
    let linker = links.linker.name();
    match links.functions {
        Some(functions) => format!("{linker}, {} ordered", count(functions as u64, "function")),
        None => format!("{linker}, sections shuffled"),
    }
}

/// What to know before the answer is relied on.
pub fn warnings(layouts: &Layouts) -> Vec<String> {
    let Layouts { options, report } = layouts;
    let mut warnings = Vec::new();
    if matches!(report.ended, Ended::Interrupted) {
        warnings.push(format!("interrupted after {}", count(report.rounds as u64, "round")));
    }
    for (links, side) in report.links.iter().zip(&options.sides) {
        if let Some(functions) = links.as_ref().and_then(Links::few) {
            warnings.push(format!(
                "`{}`: only {} ordered; a build that compiles again, as with `make -B`, gives each function a section of its own",
                printable_line(&side.name),
                count(functions as u64, "function")
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use prony_bench::layouts::Linker;

    use super::*;

    #[test]
    fn a_plan_says_what_so_many_layouts_detect() {
        let spreads = Spreads {
            layouts: 20,
            sides: [0.01, 0.02],
            ratio: 0.012,
            of_runs: 0.06,
            detectable: 0.0093,
            for_one_percent: Some(18),
        };
        assert_eq!(
            plan(&spreads),
            "20 layouts detect 0.93 % 9 times in 10, and 1 % takes 18: σ of the ratio from layout to layout 1.2 %, 6 % of its \
             variance from runs"
        );
        let few = Spreads { layouts: 5, detectable: f64::INFINITY, for_one_percent: None, ..spreads };
        assert!(plan(&few).starts_with("5 layouts are too few for an interval, and no number of them detects 1 %: "));
    }

    #[test]
    fn links_say_what_was_ordered() {
        assert_eq!(ordered(&Links { linker: Linker::Gnu, functions: Some(1) }), "GNU ld, 1 function ordered");
        assert_eq!(ordered(&Links { linker: Linker::Lld, functions: None }), "lld, sections shuffled");
    }
}
