//! Comparisons as test cases in the format of JUnit, which CI systems show.

use std::fmt::Write;

use prony_bench::count::CountVerdict;
use prony_bench::counted::CountedDemos;
use prony_bench::layouts::{LayoutReport, Layouts, ReplayedDemo};
use prony_bench::{Commands, Comparison, Demos, Ended, Measured, OnDemo};
use prony_stats::Verdict;
use prony_stats::ranking::Rank;
use prony_text::Markup;

use crate::bench::counted;
use crate::bench::demos::{failure, until};
use crate::bench::layouts;
use crate::bench::table::RowVerdict;
use crate::words::{Judged, claim};

/// A comparison as a test case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What was compared: a demo, or two commands.
    pub name: String,
    /// Seconds that it took.
    pub seconds: f64,
    /// How it ended.
    pub end: CaseEnd,
    /// The verdict in one line.
    pub message: String,
}

/// Ways in which a test case ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseEnd {
    /// Faster, the same, or nothing to fail.
    Passed,
    /// Slower.
    Failed,
    /// More instructions.
    More,
    /// Unclear: neither passed nor failed.
    Skipped,
    /// It could not be compared.
    Error,
}

impl CaseEnd {
    /// End of a comparison with this verdict.
    pub fn of(verdict: Verdict) -> CaseEnd {
        match verdict {
            Verdict::Slower => CaseEnd::Failed,
            Verdict::Unclear => CaseEnd::Skipped,
            Verdict::Faster | Verdict::Same => CaseEnd::Passed,
        }
    }
}

/// The comparisons as test cases, in their order.
pub fn cases(measured: &Measured) -> Vec<Case> {
    match measured {
        Measured::Commands(commands) => of_commands(commands),
        Measured::Demos(demos) => of_demos(demos),
        Measured::Suite(suite) => {
            let of = |(name, commands): &(String, Commands)| {
                let named = |case: Case| Case { name: format!("{name}: {}", case.name), ..case };
                of_commands(commands).into_iter().map(named).collect::<Vec<Case>>()
            };
            suite.all.iter().flat_map(of).collect()
        }
        Measured::Layouts(layouts) => of_layouts(layouts),
    }
}

/// A case for each comparison of the code.
fn of_layouts(layouts: &Layouts) -> Vec<Case> {
    let [a, b] = layouts.builds.sides.each_ref().map(|side| side.name.as_str());
    let case = |(demo, report): (Option<&ReplayedDemo>, &LayoutReport)| {
        let (end, message) = match (layouts::failure(layouts, demo, report), report.verdict()) {
            (None, Some(verdict)) => (CaseEnd::of(verdict), layouts::claim(layouts, report)),
            (failure, _) => (CaseEnd::Error, failure.unwrap_or_default()),
        };
        let of = demo.map_or_else(String::new, |demo| format!("{}: ", demo.name));
        let name = format!("{of}{b} against {a}, in {} layouts", layouts.builds.layouts);
        Case { name, seconds: report.elapsed_s, end, message }
    };
    layouts.all().map(case).collect()
}

/// A case for each comparison; of a ranking, one for each command, none of which fails.
fn of_commands(Commands { options, report }: &Commands) -> Vec<Case> {
    if let Ended::Failed(failed) = &report.ended {
        let message = format!("{} of `{}`: {}", failed.phase, failed.name, failed.problem);
        return vec![Case { name: failed.name.clone(), seconds: report.elapsed_s, end: CaseEnd::Error, message }];
    }
    let name = |subject: usize| options.subjects[subject].name.clone();
    if let Some(ranking) = &report.ranking {
        let case = |place: &Rank| Case {
            name: name(place.candidate),
            seconds: report.elapsed_s,
            end: CaseEnd::Passed,
            message: RowVerdict::Ranked(place.standing, ranking.metric).text().to_owned(),
        };
        return ranking.places.iter().map(case).collect();
    }
    let case = |one: &Comparison| Case {
        name: format!("{} against {}", name(one.subject), name(one.reference)),
        seconds: one.outcome.elapsed_s,
        end: CaseEnd::of(one.outcome.verdict),
        message: claim(&name(one.subject), &one.outcome, Judged::of(report), options.plan.margin, false).to_string(),
    };
    report.comparisons.iter().map(case).collect()
}

/// A case for each demo.
fn of_demos(demos: &Demos) -> Vec<Case> {
    let [a, b] = demos.builds();
    let case = |one: &OnDemo| {
        let name = format!("{}: {b} against {a}", one.name);
        let (end, message) = match (failure(&one.options, &one.report), &one.report.outcome) {
            (Some(message), _) => {
                let known = until(&one.options, &one.report);
                (CaseEnd::Error, [message].into_iter().chain(known).collect::<Vec<String>>().join("; "))
            }
            (None, Some(outcome)) => (
                CaseEnd::of(outcome.verdict),
                claim(b, outcome, Judged::TIMES, one.options.plan.margin, false).to_string(),
            ),
            (None, None) => (CaseEnd::Skipped, "no pair of replays".to_owned()),
        };
        Case { name, seconds: one.report.elapsed_s, end, message }
    };
    demos.all.iter().map(case).collect()
}

/// A case for each demo on which instructions were counted.
pub fn of_counts(demos: &CountedDemos) -> Vec<Case> {
    let [a, b] = &demos.builds;
    let cases = demos.all.iter().map(|demo| {
        let end = match demos.verdict_on(demo) {
            None => CaseEnd::Error,
            Some(CountVerdict::More) => CaseEnd::More,
            Some(CountVerdict::Equal | CountVerdict::Same | CountVerdict::Fewer) => CaseEnd::Passed,
        };
        let message = counted::claim(demos, demo).or_else(|| counted::failure(demo)).unwrap_or_default();
        Case { name: format!("{}: instructions of {b} against {a}", demo.name), seconds: demo.elapsed_s, end, message }
    });
    cases.collect()
}

/// All cases as one suite.
pub fn document(cases: &[Case]) -> String {
    let of = |end: CaseEnd| cases.iter().filter(|case| case.end == end).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        cases.len(),
        of(CaseEnd::Failed) + of(CaseEnd::More),
        of(CaseEnd::Error),
        of(CaseEnd::Skipped),
        cases.iter().map(|case| case.seconds).sum::<f64>()
    );
    let _ = writeln!(out, "<testsuites {counts}>\n<testsuite name=\"prony bench\" {counts}>");
    for Case { name, seconds, end, message } in cases {
        let (name, message) = (attribute(name), attribute(message));
        let _ = write!(out, "<testcase classname=\"prony.bench\" name=\"{name}\" time=\"{seconds:.3}\">");
        let _ = match end {
            CaseEnd::Passed => write!(out, "<system-out>{message}</system-out>"),
            CaseEnd::Failed => write!(out, "<failure type=\"slower\" message=\"{message}\"/>"),
            CaseEnd::More => write!(out, "<failure type=\"more instructions\" message=\"{message}\"/>"),
            CaseEnd::Skipped => write!(out, "<skipped message=\"{message}\"/>"),
            CaseEnd::Error => write!(out, "<error message=\"{message}\"/>"),
        };
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

/// Text of others in XML 1.0, which has no other control characters than white space.
fn attribute(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Markup(&plain).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_ends_its_case_as_ci_systems_know_it() {
        let case = |name: &str, end| Case {
            name: name.to_owned(),
            seconds: 1.5,
            end,
            message: "B is slower: +1.0 % [+0.6, +1.4] CPU time".to_owned(),
        };
        let cases = [
            case("a", CaseEnd::of(Verdict::Same)),
            case("<b> & \"c\"\u{7}", CaseEnd::of(Verdict::Slower)),
            case("d", CaseEnd::of(Verdict::Unclear)),
            case("e", CaseEnd::Error),
        ];
        insta::assert_snapshot!(document(&cases));
    }
}
