//! The page of two builds on several demos, and of builds that could not be compared on one.

use prony_bench::count::FunctionChange;
use prony_bench::counted::CountedDemo;
use prony_bench::{DemoEnded, Demos, OnDemo};
use prony_stats::Metric;
use prony_stats::samples::Benchmark;
use prony_text::{count, printable_line, thousands};

use crate::bench::counted;
use crate::bench::demos::{basis, cells, failure, judged_frames, sentence as answer, until};
use crate::bench::profiled;
use crate::change::change;
use crate::html::grid::{Grid, GridCell, GridRow};
use crate::html::stored::Stored;
use crate::study::sentences::{Tone, Verdict as Said};
use crate::svg::chart::bench::Change;
use crate::words::{sentence, tone};

/// Functions that are named of each demo.
const NAMED: usize = 3;

/// The page.
pub fn page_of_demos(demos: &Demos, version: &str) -> String {
    let [a, b] = demos.builds().map(printable_line);
    let notes = demos.all.iter().flat_map(notes).chain(demos.counted.iter().flat_map(counted::failures));
    let values: Vec<(String, Vec<Benchmark>)> = demos.all.iter().map(values).collect();
    let of_builds = |builds| ["A", "B"].into_iter().map(str::to_owned).zip(builds).collect();
    Stored {
        title: format!("{a} → {b}"),
        below: format!("{}; A: {a}; B: {b}", count(demos.requested as u64, "demo")),
        verdict: Said {
            tone: if demos.all.iter().any(is_failed) { Tone::Bad } else { tone(demos.verdict()) },
            claim: sentence(&answer(["A", "B"], demos)),
            basis: match demos.all.as_slice() {
                [only] => until(&only.options, &only.report).unwrap_or_else(|| basis(demos)),
                _ => basis(demos),
            },
        },
        notes: notes.collect(),
        tables: [table(demos)]
            .into_iter()
            .chain(demos.all.iter().filter_map(functions))
            .chain(instructions(demos))
            .collect(),
        changes: changes(demos),
        values: values
            .iter()
            .filter(|(_, builds)| builds.iter().any(|build| build.values().next().is_some()))
            .map(|(name, builds)| (name.clone(), of_builds(builds)))
            .collect(),
        machines: demos.all.iter().take(1).map(|one| ("machine".to_owned(), &one.options.machine)).collect(),
        margin: demos.margin,
        each: "demo",
        version,
    }
    .page()
}

/// What to know of a demo: why builds could not be compared, how far they were, which frames count, and warnings.
fn notes(one: &OnDemo) -> Vec<String> {
    let OnDemo { name, options, report } = one;
    let named = |text: String| format!("{name}: {text}");
    let judged = report.judged.as_ref().map(judged_frames);
    let warnings = report.warnings.iter().map(ToString::to_string);
    let unprofiled = report.profile.as_ref().and_then(|profile| profile.as_ref().err()).map(profiled::failure);
    let of_demo = until(options, report).into_iter().chain(judged).chain(unprofiled).chain(warnings).map(named);
    failure(options, report).into_iter().chain(of_demo).collect()
}

/// The functions whose time differs on a demo.
pub fn functions(one: &OnDemo) -> Option<Grid> {
    let profile = one.report.profile.as_ref()?.as_ref().ok()?;
    let row = |cells: [String; 5]| GridRow { cells: cells.into_iter().map(GridCell::plain).collect() };
    Some(Grid {
        title: "Functions".to_owned(),
        small: format!("{}: time a frame in the function itself", one.name),
        head: profiled::HEAD.map(str::to_owned).into(),
        names: 1,
        rows: profiled::rows(profile).into_iter().map(row).collect(),
        basis: profiled::basis(profile),
    })
}

/// Instructions on each demo, and the functions that make most of the difference.
pub fn instructions(demos: &Demos) -> Option<Grid> {
    let counted = demos.counted.as_ref()?;
    let row = |demo: &CountedDemo| {
        let compared = demo.comparison()?;
        let [a, b] = compared.totals.map(|total| thousands(total.min));
        let differing: Vec<FunctionChange> = compared.differing.iter().take(NAMED).cloned().collect();
        let difference = match compared.difference() {
            0 => "0".to_owned(),
            _ => counted::difference(&compared),
        };
        let cells = [demo.name.clone(), a, b, difference, counted::names(&differing).join(", ")];
        Some(GridRow { cells: cells.into_iter().map(GridCell::plain).collect() })
    };
    let rows: Vec<GridRow> = counted.all.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Grid {
        title: "Instructions".to_owned(),
        small: "counted, not measured".to_owned(),
        head: ["demo", "A", "B", "difference", "most of all in"].map(str::to_owned).into(),
        names: 1,
        rows,
        basis: counted::basis(counted),
    })
}

/// True if a build diverged, or could not be replayed.
fn is_failed(one: &OnDemo) -> bool {
    matches!(one.report.ended, DemoEnded::Replay(..) | DemoEnded::Diverged(..))
}

fn table(demos: &Demos) -> Grid {
    let row = |one: &OnDemo| {
        let [name, values @ .., verdict] = cells(one);
        let verdict = GridCell::answer(verdict, one.verdict().map_or(Tone::Bad, tone));
        GridRow { cells: [name].into_iter().chain(values).map(GridCell::plain).chain([verdict]).collect() }
    };
    let mean = demos.mean().map(|mean| {
        let cells = ["geometric mean", "", "", &change(&mean), "", ""].map(str::to_owned);
        GridRow { cells: cells.into_iter().map(GridCell::plain).collect() }
    });
    Grid {
        title: "Demos".to_owned(),
        small: "CPU time of a frame".to_owned(),
        head: ["demo", "A", "B", "change", "pairs", "verdict"].map(str::to_owned).into(),
        names: 1,
        rows: demos.all.iter().map(row).chain(mean).collect(),
        basis: String::new(),
    }
}

/// The change on each demo, and their mean.
fn changes(demos: &Demos) -> Vec<(String, Vec<Change>)> {
    let of = |one: &OnDemo| Some(Change { name: one.name.clone(), interval: one.change()?, is_judged: true });
    let mean = demos.mean().map(|interval| Change { name: "geometric mean".to_owned(), interval, is_judged: false });
    let changes: Vec<Change> = demos.all.iter().filter_map(of).chain(mean).collect();
    if changes.is_empty() { Vec::new() } else { vec![("B against A, CPU time".to_owned(), changes)] }
}

/// The replays of both builds, by what was judged.
fn values(one: &OnDemo) -> (String, Vec<Benchmark>) {
    let metric = one.report.outcome.as_ref().map_or(Metric::Cpu, |outcome| outcome.metric);
    (one.name.clone(), one.report.samples.benchmarks.iter().map(|benchmark| benchmark.by(metric)).collect())
}
