//! The page of the benchmarks of a suite: a row for each, and a column for each script.

use prony_bench::{Commands, Suite};
use prony_stats::Verdict;
use prony_stats::samples::Benchmark;
use prony_text::{Quantity, count, plain};

use crate::bench::table::{self, RowVerdict};
use crate::change::change;
use crate::html::grid::{Grid, GridCell, GridRow};
use crate::html::stored::Stored;
use crate::study::sentences::{Tone, Verdict as Said};
use crate::svg::chart::bench::Change;
use crate::words::{Judged, letter, sentence, tone, with_interval};

/// A benchmark of all scripts: its name, and what came out.
type NamedCommands = (String, Commands);

/// The page. Every benchmark has the same scripts.
pub fn page_of_suite(suite: &Suite, version: &str) -> String {
    let (judged, scripts) = (suite.all.as_slice(), suite.scripts());
    let verdicts =
        || judged.iter().flat_map(|(_, commands)| &commands.report.comparisons).map(|one| one.outcome.verdict);
    let words = [
        (Verdict::Slower, "slower"),
        (Verdict::Faster, "faster"),
        (Verdict::Same, "same"),
        (Verdict::Unclear, "unclear"),
    ];
    let of = |wanted| verdicts().filter(|verdict| *verdict == wanted).count();
    let counts: Vec<String> = words
        .iter()
        .filter(|(verdict, _)| of(*verdict) > 0)
        .map(|(verdict, word)| format!("{} {word}", of(*verdict)))
        .collect();
    let order = [Verdict::Slower, Verdict::Unclear, Verdict::Faster];
    let worst = order.into_iter().find(|&verdict| of(verdict) > 0).map_or(Tone::Plain, tone);
    let claim = if counts.is_empty() { count(judged.len() as u64, "benchmark") } else { counts.join(", ") };
    let level = plain(suite.alpha * 100.0);
    let warnings = judged.iter().flat_map(|(name, Commands { report, .. })| {
        report.warnings.iter().map(move |warning| format!("{name}: {warning}"))
    });
    Stored {
        title: scripts.join(" → "),
        below: format!("{} of {}", count(judged.len() as u64, "benchmark"), count(scripts.len() as u64, "script")),
        verdict: Said {
            tone: worst,
            claim: sentence(&claim),
            basis: format!("probability of any false alarm: at most {level} %"),
        },
        notes: warnings.collect(),
        tables: vec![rows(judged, &scripts)],
        changes: changes(judged, &scripts),
        values: judged.iter().map(values).collect(),
        machines: judged
            .iter()
            .take(1)
            .map(|(_, commands)| ("machine".to_owned(), &commands.options.machine))
            .collect(),
        margin: suite.margin,
        each: "benchmark",
        version,
    }
    .page()
}

fn rows(judged: &[NamedCommands], scripts: &[&str]) -> Grid {
    let several = scripts.len() > 1;
    let heads = scripts.iter().enumerate().map(|(place, name)| match several {
        true => format!("{} {name}", letter(place)),
        false => (*name).to_owned(),
    });
    let row = |(name, Commands { report, .. }): &NamedCommands| {
        let cell = |place: usize| {
            let shown = table::value(report, place).map_or_else(
                || "–".to_owned(),
                |(median, unit)| with_interval(&Quantity::of(median.estimate, unit), &median),
            );
            let compared = report.comparisons.iter().find(|one| one.subject == place);
            match compared.and_then(|one| Some((one, Judged::of(report).change(&one.outcome, one.outcome.metric)?))) {
                Some((one, ratio)) => {
                    let against =
                        if scripts.len() > 2 { format!(" against {}", letter(one.reference)) } else { String::new() };
                    let text = format!(
                        "{shown}, {}, {}{against}",
                        change(&ratio),
                        RowVerdict::Compared(one.outcome.verdict, one.outcome.metric).text()
                    );
                    GridCell::answer(text, tone(one.outcome.verdict))
                }
                None => GridCell::plain(shown),
            }
        };
        GridRow { cells: [GridCell::plain(name)].into_iter().chain((0..scripts.len()).map(cell)).collect() }
    };
    Grid {
        title: "Benchmarks".to_owned(),
        small: "median with its interval".to_owned(),
        head: ["benchmark".to_owned()].into_iter().chain(heads).collect(),
        names: 1,
        rows: judged.iter().map(row).collect(),
        basis: String::new(),
    }
}

/// The changes of each script against the one that it is compared with.
fn changes(judged: &[NamedCommands], scripts: &[&str]) -> Vec<(String, Vec<Change>)> {
    let of = |place: usize| {
        judged.iter().filter_map(move |(name, Commands { report, .. })| {
            let one = report.comparisons.iter().find(|one| one.subject == place)?;
            let interval = Judged::of(report).change(&one.outcome, one.outcome.metric)?;
            Some(Change { name: name.clone(), interval, is_judged: true })
        })
    };
    let panels = scripts
        .iter()
        .enumerate()
        .map(|(place, name)| (format!("{} {name}", letter(place)), of(place).collect::<Vec<Change>>()));
    panels.filter(|(_, changes)| !changes.is_empty()).collect()
}

/// The values of each script.
fn values((name, Commands { options, report }): &NamedCommands) -> (String, Vec<(String, &Benchmark)>) {
    let rows = options.subjects.iter().zip(&report.samples.benchmarks);
    (name.clone(), rows.map(|(subject, benchmark)| (subject.name.clone(), benchmark)).collect())
}
