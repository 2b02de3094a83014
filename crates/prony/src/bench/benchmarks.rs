//! The page of several benchmarks of `--pyperf`: a row for each, and a column for each script.

use prony_bench::{Options, Report};
use prony_report::{Change, Grid, GridCell, GridRow, Stored, Tone, Verdict as Said};
use prony_stats::Verdict;
use prony_stats::samples::Benchmark;
use prony_text::{Quantity, count, plain};

use super::human::{change, letter, with_interval};
use super::page::{sentence, tone};
use super::table;
use crate::cli::BenchArgs;

/// A benchmark of all scripts: its name, how it was measured, and what came out.
type Judged = (String, Options, Report);

/// The page. Every benchmark has the same scripts.
pub fn page(judged: &[Judged], args: &BenchArgs) -> String {
    let scripts: Vec<&str> = judged.first().map_or_else(Vec::new, |(_, options, _)| {
        options.subjects.iter().map(|subject| subject.name.as_str()).collect()
    });
    let verdicts = || judged.iter().flat_map(|(_, _, report)| &report.comparisons).map(|one| one.outcome.verdict);
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
    let level = plain(args.alpha * 100.0);
    let warnings = judged
        .iter()
        .flat_map(|(name, _, report)| report.warnings.iter().map(move |warning| format!("{name}: {warning}")));
    Stored {
        title: scripts.join(" → "),
        below: format!("{} of {}", count(judged.len() as u64, "benchmark"), count(scripts.len() as u64, "script")),
        verdict: Said {
            tone: worst,
            claim: sentence(&claim),
            basis: format!("probability of any false alarm: at most {level} %"),
        },
        notes: warnings.collect(),
        tables: vec![table(judged, &scripts)],
        changes: changes(judged, &scripts),
        values: judged.iter().map(values).collect(),
        machines: judged.iter().take(1).map(|(_, options, _)| ("machine".to_owned(), &options.machine)).collect(),
        margin: args.margin().ln_1p(),
        version: env!("CARGO_PKG_VERSION"),
    }
    .page()
}

fn table(judged: &[Judged], scripts: &[&str]) -> Grid {
    let several = scripts.len() > 1;
    let heads = scripts.iter().enumerate().map(|(place, name)| match several {
        true => format!("{} {name}", letter(place)),
        false => (*name).to_owned(),
    });
    let row = |(name, _, report): &Judged| {
        let cell = |place: usize| {
            let shown = table::value(report, place).map_or_else(
                || "–".to_owned(),
                |(median, unit)| with_interval(&Quantity::of(median.estimate, unit), &median),
            );
            let compared = report.comparisons.iter().find(|one| one.subject == place);
            match compared.and_then(|one| Some((one, one.outcome.metric.of(&one.outcome)?))) {
                Some((one, block)) => {
                    let against =
                        if scripts.len() > 2 { format!(" against {}", letter(one.reference)) } else { String::new() };
                    let text = format!("{shown} ({}) {}{against}", change(&block.interval), table::word(&one.outcome));
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
fn changes(judged: &[Judged], scripts: &[&str]) -> Vec<(String, Vec<Change>)> {
    let of = |place: usize| {
        judged.iter().filter_map(move |(name, _, report)| {
            let one = report.comparisons.iter().find(|one| one.subject == place)?;
            let interval = one.outcome.metric.of(&one.outcome)?.interval;
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
fn values((name, options, report): &Judged) -> (String, Vec<(String, &Benchmark)>) {
    let rows = options.subjects.iter().zip(&report.samples.benchmarks);
    (name.clone(), rows.map(|(subject, benchmark)| (subject.name.clone(), benchmark)).collect())
}
