//! The page of a bench: what is said in the terminal, and the charts behind it.

use prony_bench::{Commands, Demos, Measured, OnDemo, Options, Report};
use prony_stats::judge::Outcome;
use prony_stats::ranking::{Rank, Standing};
use prony_stats::samples::Samples;
use prony_stats::{Metric, Verdict};
use prony_text::count;

use super::demos::{functions, instructions, page_of_demos};
use super::suite::page_of_suite;
use super::{Bench, Comparison, Several};
use crate::bench::demos::{judged_frames, under_tool};
use crate::bench::table;
use crate::html::grid::{Grid, GridCell, GridRow};
use crate::study::sentences::{Tone, Verdict as Said};
use crate::svg::bench as picture;
use crate::svg::chart::bench::Change;
use crate::words::{Claim, Judged, claim, letter, metric_name, reason, sentence, tone};

/// The page of all that was measured.
pub fn page(measured: &Measured, version: &str) -> String {
    match measured {
        Measured::Commands(commands) => page_of_commands(&commands.options, &commands.report, version),
        Measured::Demos(demos) => match demos.all.as_slice() {
            [one] if demos.requested == 1 && one.verdict().is_some() => {
                page_of_demo(&measured.samples(), one, demos, version)
            }
            _ => page_of_demos(demos, version),
        },
        Measured::Suite(suite) => match suite.all.as_slice() {
            [(_, Commands { options, report })] => page_of_commands(options, report, version),
            _ => page_of_suite(suite, version),
        },
        // The distribution of each build; no two of them are judged alone.
        Measured::Layouts(layouts) => {
            let margin = layouts.reports.first().map_or(0.0, |report| report.plan.margin);
            rendered(&measured.samples(), &[], None, margin, version)
        }
    }
}

/// The page of a bench of commands.
fn page_of_commands(options: &Options, report: &Report, version: &str) -> String {
    // A ranking compares all commands with each other; those with the first one are no answer.
    let compared = report.comparisons.iter().filter(|_| report.ranking.is_none());
    let compared: Vec<(usize, usize, &Outcome)> =
        compared.map(|one| (one.reference, one.subject, &one.outcome)).collect();
    let several = table::suits(report).then(|| several(options, report));
    rendered(&report.samples, &compared, several, options.plan.margin, version)
}

/// The page of two builds on one demo.
fn page_of_demo(samples: &Samples, one: &OnDemo, demos: &Demos, version: &str) -> String {
    let margin = demos.margin;
    let known = one.report.outcome.iter().filter(|_| samples.benchmarks.len() > 1);
    let mut comparisons: Vec<Comparison> =
        known.map(|outcome| comparison(samples, outcome, [0, 1], margin, false)).collect();
    if let (Some(comparison), Some(judged)) = (comparisons.first_mut(), &one.report.judged) {
        let basis = &mut comparison.verdict.basis;
        *basis = format!("{basis}; {}", judged_frames(judged));
    }
    if let (Some(comparison), Some(under)) = (comparisons.first_mut(), under_tool(&one.options)) {
        let basis = &mut comparison.verdict.basis;
        *basis = format!("{basis}; {under}");
    }
    let tables = functions(one).into_iter().chain(instructions(demos)).collect();
    Bench { samples, several: None, comparisons, tables, margin, version }.page()
}

/// The page of samples and of comparisons: baseline, compared command, outcome. `margin`: a log ratio.
pub fn page_of_pairs(samples: &Samples, compared: &[(usize, usize, &Outcome)], margin: f64, version: &str) -> String {
    rendered(samples, compared, None, margin, version)
}

fn rendered(
    samples: &Samples,
    compared: &[(usize, usize, &Outcome)],
    several: Option<Several>,
    margin: f64,
    version: &str,
) -> String {
    let known = compared.iter().filter(|(a, b, _)| *a.max(b) < samples.benchmarks.len());
    let comparisons =
        known.map(|&(a, b, outcome)| comparison(samples, outcome, [a, b], margin, compared.len() > 1)).collect();
    Bench { samples, several, comparisons, tables: Vec::new(), margin, version }.page()
}

/// Table, chart and answer of several commands.
fn several(options: &Options, report: &Report) -> Several {
    let answers = table::answers(options, report);
    let row = |row: table::AnsweredRow| {
        let verdict = GridCell::answer(row.verdict.text(), row.verdict.tone());
        GridRow { cells: row.cells.into_iter().map(GridCell::plain).chain([verdict]).collect() }
    };
    let metric = table::metric(report);
    let title = match picture::scanned(options) {
        Some(parameter) => format!("{} along {parameter}", picture::title(options)),
        None => picture::title(options),
    };
    Several {
        title,
        verdict: first_line(options, report),
        table: Grid {
            title: if report.ranking.is_some() { "Ranking" } else { "Commands" }.to_owned(),
            small: "the fastest first".to_owned(),
            head: answers.head,
            names: 2,
            rows: answers.rows.into_iter().map(row).collect(),
            basis: answers.basis,
        },
        chart: picture::commands_chart(options, report),
        metric: table::is_of_processes(report).then_some(metric),
    }
}

/// Who is the fastest, or how many differ from the reference.
fn first_line(options: &Options, report: &Report) -> Said {
    let name = |subject: usize| format!("{} {}", letter(subject), options.subjects[subject].name);
    if let Some(ranking) = &report.ranking {
        let first = if ranking.metric == Metric::Rss { "uses the least memory" } else { "is the fastest" };
        let open = |place: &&Rank| place.standing != Standing::Slower;
        let best: Vec<String> = ranking.places.iter().filter(open).map(|place| name(place.candidate)).collect();
        let is_unclear = ranking.places.iter().any(|place| place.standing == Standing::Unclear);
        let (tone, claim) = match best.as_slice() {
            [only] => (Tone::Good, format!("{only} {first}")),
            several => {
                let tone = if is_unclear { Tone::Warn } else { Tone::Plain };
                (tone, format!("one of {} {first}", several.join(", ")))
            }
        };
        return Said { tone, claim: sentence(&claim), basis: of_names(options, &ranking.places) };
    }
    let of = |verdict| report.comparisons.iter().filter(|one| one.outcome.verdict == verdict).count();
    let words = [
        (Verdict::Slower, "slower", Tone::Bad),
        (Verdict::Unclear, "unclear", Tone::Warn),
        (Verdict::Faster, "faster", Tone::Good),
        (Verdict::Same, "same", Tone::Plain),
    ];
    let found: Vec<_> = words.into_iter().filter(|(verdict, ..)| of(*verdict) > 0).collect();
    let counts: Vec<String> = found.iter().map(|(verdict, word, _)| format!("{} {word}", of(*verdict))).collect();
    let reference = table::reference(report).map_or_else(String::new, |one| format!("against {}: ", name(one)));
    let tone = found.first().map_or(Tone::Warn, |(_, _, tone)| *tone);
    Said { tone, claim: sentence(&format!("{reference}{}", counts.join(", "))), basis: String::new() }
}

/// Commands that are known to be slower, in a clause.
fn of_names(options: &Options, places: &[Rank]) -> String {
    let slower = places.iter().filter(|place| place.standing == Standing::Slower).count();
    format!("{}, {slower} of them slower", count(options.subjects.len() as u64, "command"))
}

fn comparison(samples: &Samples, outcome: &Outcome, [a, b]: [usize; 2], margin: f64, several: bool) -> Comparison {
    let (baseline, name) = (letter(a), letter(b));
    let judged = Judged::of_benchmark(&samples.benchmarks[b]);
    let Claim { verdict, basis } = claim(&name, outcome, judged, margin, several);
    let names = format!("{baseline}: {}; {name}: {}", samples.benchmarks[a].name, samples.benchmarks[b].name);
    let reasons: Vec<String> = outcome.reasons.iter().map(reason).collect();
    let basis = [vec![basis, names], reasons].concat().into_iter().filter(|part| !part.is_empty());
    let is_time = Metric::is_name_of_time(samples.benchmarks[b].metric());
    let metrics = [Metric::Cpu, Metric::Uncontended, Metric::Wall, Metric::Rss].into_iter().filter_map(|metric| {
        // Of several commands, what is informational would hide what is judged.
        let is_shown = !several || outcome.judged.contains(&metric);
        let interval = judged.change(outcome, metric).filter(|interval| is_shown && interval.n > 0)?;
        let of = match metric {
            Metric::Cpu if !is_time => judged.metric,
            Metric::Rss => "peak memory",
            other => metric_name(other.name()),
        };
        let name = if several { format!("{name}, {of}") } else { of.to_owned() };
        Some(Change { name, interval, is_judged: outcome.judged.contains(&metric) })
    });
    Comparison {
        letters: [baseline, name.clone()],
        a,
        b,
        verdict: Said {
            tone: tone(outcome.verdict),
            claim: sentence(&verdict),
            basis: basis.collect::<Vec<_>>().join("; "),
        },
        changes: metrics.collect(),
        metric: is_time.then_some(outcome.metric),
        interval: judged.of_values(outcome.metric, &outcome.interval),
    }
}
