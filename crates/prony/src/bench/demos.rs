//! Two builds on several demos: one table and one verdict.
//!
//! Each demo is judged with its part of the error, α over the number of demos (Bonferroni), so that a difference that is
//! claimed where there is none, on any of them, has probability α at most. The verdict for all is the worst of them.

use std::fmt::Write;
use std::path::PathBuf;

use prony_bench::DemoEnded;
use prony_stats::Interval;
use prony_stats::Verdict;
use prony_stats::geometric_mean::geometric_mean;
use prony_stats::samples::{Circumstances, Measurement, Samples};
use prony_text::{Markup, Quantity, Table, count, plain, printable_line};
use serde::Serialize;

use super::demo::{self, Measured};
use super::human::{change, to_percent, verdict};
use super::junit::{Case, CaseEnd};
use crate::cli::BenchArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Level of the interval of the mean.
const MEAN_ALPHA: f64 = 0.05;

/// Names of demos: of their files, or their paths where several files have the same name.
pub fn names(demos: &[PathBuf]) -> Vec<String> {
    let short = |demo: &PathBuf| {
        demo.file_name().map_or_else(|| demo.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let of = |(place, demo): (usize, &PathBuf)| {
        let name = short(demo);
        let whole = demo.display().to_string();
        match demos.iter().filter(|other| short(other) == name).count() {
            1 => name,
            _ if demos.iter().filter(|other| **other == *demo).count() > 1 => format!("{whole} ({})", place + 1),
            _ => whole,
        }
    };
    demos.iter().enumerate().map(of).collect()
}

/// Verdict on one demo; `None` where there is none, because a build diverged.
fn of(measured: &Measured) -> Option<Verdict> {
    match measured.report.ended {
        DemoEnded::Replay(..) | DemoEnded::Diverged(..) => None,
        DemoEnded::Complete | DemoEnded::Interrupted => {
            Some(measured.report.outcome.as_ref().map_or(Verdict::Unclear, |outcome| outcome.verdict))
        }
    }
}

/// The verdict for all demos, which is the worst of them.
fn overall(measured: &[Measured], demos: usize) -> Verdict {
    let any = |verdict| measured.iter().any(|one| of(one) == Some(verdict));
    match () {
        () if any(Verdict::Slower) => Verdict::Slower,
        () if any(Verdict::Unclear) || measured.len() < demos || measured.iter().any(|one| of(one).is_none()) => {
            Verdict::Unclear
        }
        () if any(Verdict::Faster) => Verdict::Faster,
        () => Verdict::Same,
    }
}

/// The verdict for all demos in a sentence. A build that diverges comes first: that is known for certain.
fn sentence(builds: [&str; 2], measured: &[Measured], demos: usize) -> String {
    let [a, b] = builds;
    let failed: Vec<String> =
        [0, 1].into_iter().flat_map(|build| not_comparable(builds[build], build, measured, demos)).collect();
    if !failed.is_empty() {
        let of_others = [
            (Verdict::Slower, "slower"),
            (Verdict::Unclear, "unclear"),
            (Verdict::Faster, "faster"),
            (Verdict::Same, "same"),
        ]
        .into_iter()
        .map(|(verdict, word)| (measured.iter().filter(|one| of(one) == Some(verdict)).count(), word))
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{word} on {number}"));
        return failed.into_iter().chain(of_others).collect::<Vec<_>>().join("; ");
    }
    let number = |verdict| measured.iter().filter(|one| of(one) == Some(verdict)).count();
    let on = |verdict| match demos {
        1 => String::new(),
        _ => format!(" on {} of {demos} demos", number(verdict)),
    };
    match overall(measured, demos) {
        Verdict::Slower => format!("{b} is slower than {a}{}", on(Verdict::Slower)),
        Verdict::Faster => format!("{b} is faster than {a}{}, and slower on none", on(Verdict::Faster)),
        Verdict::Same => match demos {
            1 => format!("{b} and {a} are the same"),
            _ => format!("{b} and {a} are the same on all {demos} demos"),
        },
        Verdict::Unclear => format!("unclear{}", on(Verdict::Unclear)),
    }
}

/// On how many demos this build diverged or could not be replayed.
fn not_comparable(name: &str, build: usize, measured: &[Measured], demos: usize) -> Vec<String> {
    let count = |is: fn(&DemoEnded) -> Option<usize>| {
        measured.iter().filter(|one| is(&one.report.ended) == Some(build)).count()
    };
    let diverged = count(|ended| if let DemoEnded::Diverged(build, _) = ended { Some(*build) } else { None });
    let failed = count(|ended| if let DemoEnded::Replay(build, _) = ended { Some(*build) } else { None });
    let on = |number: usize| if demos == 1 { String::new() } else { format!(" on {number} of {demos} demos") };
    [(diverged, "diverged"), (failed, "could not be replayed")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{name} {what}{}", on(number)))
        .collect()
}

/// Change of B on one demo, of what was judged.
fn interval(measured: &Measured) -> Option<Interval> {
    let outcome = measured.report.outcome.as_ref().filter(|_| of(measured).is_some())?;
    outcome.metric.of(outcome).map(|block| block.interval).filter(|interval| interval.n > 0)
}

/// The geometric mean of the changes, if there are several and all of them are known.
fn mean(measured: &[Measured]) -> Option<Interval> {
    let changes: Option<Vec<Interval>> = measured.iter().map(interval).collect();
    geometric_mean(&changes.filter(|changes| changes.len() > 1)?, MEAN_ALPHA)
}

fn word(measured: &Measured) -> &'static str {
    match of(measured) {
        Some(Verdict::Slower) => "slower",
        Some(Verdict::Faster) => "faster",
        Some(Verdict::Same) => "same",
        Some(Verdict::Unclear) => "unclear",
        None => match measured.report.ended {
            DemoEnded::Diverged(..) => "diverged",
            _ => "failed",
        },
    }
}

/// A row a demo. `names`: of the builds, as the head of their columns. `shown`: how the name of a demo is written.
fn table(names: [String; 2], measured: &[Measured], shown: fn(&str) -> String) -> Table {
    let [a, b] = names;
    let head = ["demo".to_owned(), a, b, "change".to_owned(), "pairs".to_owned(), "verdict".to_owned()];
    let mut table = Table::with_head(head).numbers(1..5);
    for one in measured {
        let frame = |build: usize| match one.report.frames.as_ref().ok().filter(|_| of(one).is_some()) {
            Some(frames) => {
                let frame_s = [frames.a, frames.b][build].frame_s.estimate;
                Quantity::of(frame_s, "second").value(frame_s)
            }
            None => "–".to_owned(),
        };
        let change = interval(one).as_ref().map_or_else(|| "–".to_owned(), change);
        table.row([shown(&one.name), frame(0), frame(1), change, one.report.pairs.to_string(), word(one).to_owned()]);
    }
    if let Some(mean) = mean(measured) {
        table.row(["geometric mean", "", "", &change(&mean), "", ""]);
    }
    table
}

/// What the table says of errors.
fn basis(alpha: f64, measured: &[Measured]) -> String {
    let margin = measured.first().map_or(0.0, |one| to_percent(one.options.plan.margin));
    format!(
        "CPU time per frame; same: within ±{} %; probability of any false alarm: at most {} %",
        plain(margin),
        plain(alpha * 100.0)
    )
}

fn builds(measured: &[Measured]) -> [&str; 2] {
    measured.first().map_or(["A", "B"], |one| one.options.builds.each_ref().map(|build| build.name.as_str()))
}

/// Prints the answer on several demos, and says how it went.
///
/// # Errors
/// The first demo on which the builds cannot be compared.
pub fn answer(args: &BenchArgs, measured: &[Measured], demos: usize) -> Result<Exit, Failure> {
    if args.json {
        output::print_json(&json(args, measured, demos))?;
    } else {
        let [a, b] = builds(measured).map(printable_line);
        let mut out = format!("A  {a}\nB  {b}\n");
        out += &table(["A".to_owned(), "B".to_owned()], measured, str::to_owned).text();
        let _ = writeln!(out, "{}; {}", sentence(["A", "B"], measured, demos), basis(args.alpha, measured));
        output::print(&out)?;
    }
    for one in measured {
        demo::warn(&one.report, &format!("{}: ", one.name));
    }
    match measured.iter().find_map(|one| demo::failure(&one.options, &one.report)) {
        Some(failure) => Err(failure),
        None => Ok(Exit::of([overall(measured, demos)])),
    }
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    /// The worst of all demos.
    verdict: Verdict,
    /// Of all demos together.
    alpha: f64,
    margin_pct: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    geometric_mean: Option<Mean>,
    demos: Vec<OfDemo<'a>>,
}

#[derive(Debug, Serialize)]
struct Mean {
    estimate_pct: f64,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
}

#[derive(Debug, Serialize)]
struct OfDemo<'a> {
    demo: &'a str,
    #[serde(flatten)]
    answer: demo::Answer<'a>,
}

fn json<'a>(args: &BenchArgs, measured: &'a [Measured], demos: usize) -> Answer<'a> {
    let percent = |log: f64| Some(to_percent(log)).filter(|percent| percent.is_finite());
    Answer {
        verdict: overall(measured, demos),
        alpha: args.alpha,
        margin_pct: args.margin() * 100.0,
        geometric_mean: mean(measured).map(|mean| Mean {
            estimate_pct: to_percent(mean.estimate),
            low_pct: percent(mean.low),
            high_pct: percent(mean.high),
        }),
        demos: measured
            .iter()
            .map(|one| OfDemo { demo: &one.name, answer: demo::answer(&one.options, &one.report, Vec::new()) })
            .collect(),
    }
}

/// A test case for each demo.
pub fn cases(measured: &[Measured]) -> Vec<Case> {
    let [a, b] = builds(measured);
    let case = |one: &Measured| {
        let name = format!("{}: {b} against {a}", one.name);
        let (end, message) = match (demo::failure(&one.options, &one.report), &one.report.outcome) {
            (Some(failure), _) => (CaseEnd::Error, failure.message().to_owned()),
            (None, Some(outcome)) => {
                (CaseEnd::of(outcome.verdict), verdict(b, outcome, one.options.plan.margin, false))
            }
            (None, None) => (CaseEnd::Skipped, "no pair of replays".to_owned()),
        };
        Case { name, seconds: one.report.elapsed_s, end, message }
    };
    measured.iter().map(case).collect()
}

/// A comment for a pull request: the verdict, a row a demo, and more to unfold.
pub fn markdown(alpha: f64, measured: &[Measured]) -> String {
    // Outside of a table, a bar needs no backslash.
    let [a, b] = builds(measured).map(|name| prony_text::markdown_code(name).replace("\\|", "|"));
    let mut out = format!("### prony: {}\n\n", sentence([&a, &b], measured, measured.len()));
    out += &table([a, b], measured, prony_text::markdown_code).markdown();
    let failures: Vec<String> = measured
        .iter()
        .filter_map(|one| demo::failure(&one.options, &one.report))
        .map(|failure| format!("* {}\n", markdown_text(&failure.message().replace(['\n', '\r'], " "))))
        .collect();
    if !failures.is_empty() {
        let _ = write!(out, "\n{}", failures.concat());
    }
    let _ = writeln!(out, "\n<sub>{}. {}</sub>", markdown_text(&basis(alpha, measured)), around(measured));
    for one in measured {
        let Ok(frames) = &one.report.frames else { continue };
        let mut text = String::new();
        demo::by_frame(&mut text, frames);
        let _ = writeln!(
            out,
            "\n<details><summary>{}</summary>\n\n```text\n{}```\n\n</details>",
            // HTML, in which a backslash is one.
            Markup(&format!("{}: frames", printable_line(&one.name))),
            text.replace("```", "` ` `")
        );
    }
    out
}

fn markdown_text(text: &str) -> String {
    prony_text::markdown(text)
}

/// What a reader who was not there wants to know of the machine.
fn around(measured: &[Measured]) -> String {
    let machine = measured.first().map(|one| &one.options.machine);
    let text = |pointer: &str| machine.and_then(|machine| machine.pointer(pointer)?.as_str()).map(str::to_owned);
    let facts = [text("/cpu/model"), text("/kernel/release").map(|kernel| format!("Linux {kernel}"))];
    let pairs: usize = measured.iter().map(|one| one.report.pairs).sum();
    let seconds: f64 = measured.iter().map(|one| one.report.elapsed_s).sum();
    let known: Vec<String> = [count(pairs as u64, "pair") + &format!(" of replays in {seconds:.0} s")]
        .into_iter()
        .chain(facts.into_iter().flatten().map(|fact| markdown_text(&fact)))
        .chain([format!("prony {}", env!("CARGO_PKG_VERSION"))])
        .collect();
    known.join(", ")
}

/// The samples of all demos in one file: each benchmark says of which measurement it is.
pub fn samples(measured: &[Measured]) -> Samples {
    let mut all = Samples::default();
    for one in measured {
        let circumstances = one.report.samples.circumstances.clone().unwrap_or_default();
        let Circumstances { pairing, budget_s, pairs_done_s, warnings, .. } = circumstances.clone();
        let of_file = all.circumstances.get_or_insert_with(|| Circumstances {
            pairing: None,
            budget_s: None,
            pairs_done_s: Vec::new(),
            warnings: Vec::new(),
            ..circumstances
        });
        of_file.warnings.extend(warnings.into_iter().map(|warning| format!("{}: {warning}", one.name)));
        for benchmark in &one.report.samples.benchmarks {
            let mut benchmark = benchmark.clone();
            benchmark.name = format!("{}: {}", one.name, benchmark.name);
            let measurement = Measurement {
                name: one.name.clone(),
                pairing: pairing.clone(),
                budget_s,
                pairs_done_s: pairs_done_s.clone(),
            };
            benchmark.subject.get_or_insert_default().measurement = Some(measurement);
            all.benchmarks.push(benchmark);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demos_have_the_names_of_their_files_unless_these_are_alike() {
        let names = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(names(&["x/a.demo", "b.demo"]), ["a.demo", "b.demo"]);
        assert_eq!(names(&["x/a.demo", "y/a.demo"]), ["x/a.demo", "y/a.demo"]);
        assert_eq!(names(&["a.demo", "a.demo"]), ["a.demo (1)", "a.demo (2)"]);
    }
}
