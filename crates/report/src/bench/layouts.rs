//! Two programs in many layouts in words: the claim, what layouts can tell, and why there is no answer.

use prony_bench::layouts::{Estimate, Layout, LayoutReport, Layouts, LayoutsEnded, Links, ReplayedDemo, Spreads};
use prony_stats::{Metric, Verdict};
use prony_text::{count, thousands, without_error_numbers};

use super::demos::{divergence_place, no_frame, verdict_sentence, which};
use super::table::RowVerdict;
use crate::change::{self, found};
use crate::words::undirected;

/// `B is slower: +0.4 % [+0.1, +0.7] CPU time, 20 layouts, 8 rounds, 35.1 s`.
pub fn claim(layouts: &Layouts, report: &LayoutReport) -> String {
    let basis = format!(
        "{}, {}, {:.1} s",
        count(layouts.builds.layouts as u64, "layout"),
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
                verdict => undirected(None, *verdict, report.plan.margin, &found),
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
pub fn ordered(links: &Links) -> String {
    let linker = links.linker.name();
    match links.functions {
        Some(functions) => format!("{linker}, {} ordered", count(functions as u64, "function")),
        None => format!("{linker}, sections shuffled"),
    }
}

/// Why the sides could not be compared, with the build that kept them from it. `None` where they were.
pub fn failure(layouts: &Layouts, demo: Option<&ReplayedDemo>, report: &LayoutReport) -> Option<String> {
    let path = demo.map(|demo| demo.path.display().to_string()).unwrap_or_default();
    let named = |layout: &Layout| named(layouts, layout);
    let message = match &report.ended {
        LayoutsEnded::Complete | LayoutsEnded::Interrupted => return None,
        LayoutsEnded::Failed(failed) => format!("{} of `{}`: {}", failed.phase, failed.name, failed.problem),
        LayoutsEnded::Replay(layout, error) => format!("cannot replay {path} against {}: {error}", named(layout)),
        LayoutsEnded::Diverged(layout, found) => {
            format!("{}, diverged from {path}{}", named(layout), divergence_place(found))
        }
        LayoutsEnded::NoFrame(kind, of) => no_frame(&path, *kind, *of),
        LayoutsEnded::OtherFrames(layout, [expected, found]) => {
            let kind = report.judged.as_ref().map_or("", |judged| which(judged.kind));
            format!(
                "{}: expected {} of {path}, of which those {kind} are judged, found {}",
                named(layout),
                count(*expected, "frame"),
                thousands(*found)
            )
        }
    };
    Some(without_error_numbers(&message))
}

/// `` `new`, layout 3 (seed 1234) ``, or `` `new`, as built ``.
pub fn named(layouts: &Layouts, layout: &Layout) -> String {
    let name = layouts.builds.sides.get(layout.side).map_or("", |side| side.name.as_str());
    match layout.seed {
        Some(seed) => format!("`{name}`, layout {} (seed {seed})", layout.number),
        None => format!("`{name}`, as built"),
    }
}

/// The verdict on one demo in a word.
pub fn word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("failed", |verdict| RowVerdict::Compared(verdict, Metric::Cpu).text())
}

/// The verdict for all demos in a sentence. Demos on which the sides could not be compared come first.
pub fn sentence(builds: [&str; 2], layouts: &Layouts) -> String {
    let (demos, verdict) = (layouts.requested(), layouts.verdict());
    let number = |verdict| layouts.reports.iter().filter(|report| report.verdict() == verdict).count();
    match number(None) {
        0 => verdict_sentence(builds, verdict, demos, |verdict| number(Some(verdict))),
        _ if demos == 1 => "not comparable".to_owned(),
        failed => {
            let of_others = [Verdict::Slower, Verdict::Unclear, Verdict::Faster, Verdict::Same]
                .map(|verdict| (number(Some(verdict)), verdict))
                .into_iter()
                .filter(|(number, _)| *number > 0)
                .map(|(number, verdict)| format!("; {} on {number}", word(Some(verdict))));
            format!("not comparable on {failed} of {demos} demos{}", of_others.collect::<String>())
        }
    }
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
