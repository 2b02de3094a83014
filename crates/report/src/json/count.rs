//! JSON of counted instructions.

use prony_bench::count::{CountComparison, CountRange, CountReport, FunctionChange};
use serde::Serialize;

use crate::bench::counted::verdict_word;

/// The answer of `--json`.
#[derive(Debug, Serialize)]
pub struct CountDocument<'a> {
    frames: u64,
    builds: Vec<BuildDocument<'a>>,
    comparisons: Vec<ComparisonDocument>,
}

#[derive(Debug, Serialize)]
struct BuildDocument<'a> {
    name: &'a str,
    /// Instructions of the program and its libraries, one number a replay.
    instructions: Vec<u64>,
    /// Instructions of prony's library, of the loader, and of code of no file.
    not_counted: u64,
    functions: Vec<FunctionDocument>,
}

#[derive(Debug, Serialize)]
struct FunctionDocument {
    object: String,
    symbol: String,
    /// One number a replay.
    instructions: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct ComparisonDocument {
    a: String,
    b: String,
    /// `equal`, `same`, `more` or `fewer`.
    verdict: &'static str,
    difference: i64,
    difference_pct: f64,
    differing: Vec<ChangeDocument>,
    varying: Vec<ChangeDocument>,
}

#[derive(Debug, Serialize)]
struct ChangeDocument {
    object: String,
    symbol: String,
    /// Least and greatest of A's replays.
    a: [u64; 2],
    b: [u64; 2],
    difference: i64,
}

/// Converts a report. `limit`: a share of A's instructions below it is no difference.
pub fn answer(limit: f64, report: &CountReport) -> CountDocument<'_> {
    let builds = report.builds.iter().map(|build| BuildDocument {
        name: &build.name,
        instructions: build.replays.iter().map(|counts| counts.total()).collect(),
        not_counted: build.not_counted,
        functions: build.replays.first().map_or_else(Vec::new, |first| {
            let functions = first.functions().map(|(function, _)| FunctionDocument {
                object: function.object.clone(),
                symbol: function.symbol.clone(),
                instructions: build.replays.iter().map(|counts| counts.of(function)).collect(),
            });
            functions.collect()
        }),
    });
    let comparisons = report.builds.split_first().map_or_else(Vec::new, |(a, others)| {
        let compared = others.iter().map(|b| {
            let compared = CountComparison::of(a, b);
            ComparisonDocument {
                a: a.name.clone(),
                b: b.name.clone(),
                verdict: verdict_word(compared.verdict(limit)),
                difference: compared.difference(),
                difference_pct: 100.0 * compared.difference() as f64 / compared.totals[0].min as f64,
                differing: compared.differing.iter().map(change).collect(),
                varying: compared.varying.iter().map(change).collect(),
            }
        });
        compared.collect()
    });
    CountDocument { frames: report.frames, builds: builds.collect(), comparisons }
}

fn change(change: &FunctionChange) -> ChangeDocument {
    let [a, b] = change.counts.map(|CountRange { min, max }| [min, max]);
    ChangeDocument {
        object: change.function.object.clone(),
        symbol: change.function.symbol.clone(),
        a,
        b,
        difference: change.difference(),
    }
}
