//! Text of a search: the commit, what is known of it, and the table of the steps.

use std::fmt::Write;
use std::path::Path;

use prony_bench::bisect::{BisectReport, Commit, CountedChange, Culprit, Found, Purpose, Regression, Step};
use prony_profile::shortened;
use prony_text::{Table, Untrusted, count, plain, thousands};

use crate::bench::counted::with_sign;
use crate::change::{self, change};

/// The whole answer. `margin`: a smaller slowdown is none, as a share.
pub fn text(demo: &Path, margin: f64, report: &BisectReport) -> String {
    let mut out = format!("{}: ", demo.display());
    let commits = &report.history.commits;
    let last = report.history.last();
    match &report.culprit {
        Culprit::Commit(at) => {
            let _ = writeln!(out, "{} {}", commits[*at].short(), worse(report));
            commit(&mut out, &commits[*at]);
            effect(&mut out, margin, report, *at);
        }
        Culprit::OneOf(range) => {
            let _ = writeln!(out, "one of {} {}", count(range.clone().count() as u64, "commit"), worse(report));
            for at in range.clone().rev().take(LISTED) {
                commit(&mut out, &commits[at]);
            }
            if range.clone().count() > LISTED {
                let _ = writeln!(out, "  …");
            }
        }
        Culprit::None => {
            let margin = plain(margin * 100.0);
            let _ = match report.regression {
                Some(Regression::Slowdown) => {
                    writeln!(out, "{} is not slower than {} by {margin} %", commits[last].short(), commits[0].short())
                }
                Some(Regression::Instructions) => {
                    let [good, bad] = [0, last].map(|at| commits[at].short());
                    writeln!(out, "{bad} does not run {margin} % more instructions than {good}")
                }
                _ => writeln!(out, "{} does not diverge", commits[last].short()),
            };
        }
        Culprit::Undecided => {
            let margin = plain(margin * 100.0);
            let _ = writeln!(out, "unclear whether {} is slower by more than {margin} %", commits[last].short());
        }
        Culprit::Interrupted => {
            let _ = writeln!(out, "interrupted");
        }
    }
    if matches!(report.culprit, Culprit::Commit(_) | Culprit::OneOf(_)) {
        certainty(&mut out, report);
    }
    out.push_str(&table(report).text());
    out
}

/// Candidates that are listed; the table and --json have all.
const LISTED: usize = 10;

fn worse(report: &BisectReport) -> &'static str {
    match report.regression {
        Some(Regression::Slowdown) => "is the first commit that is slower",
        Some(Regression::Instructions) => "is the first commit that runs more instructions",
        _ => "is the first commit that diverges",
    }
}

fn commit(out: &mut String, commit: &Commit) {
    let Commit { subject, author, date, .. } = commit;
    let _ = writeln!(out, "  {} {subject} ({author}, {date})", commit.short());
}

/// What the commit that was found does.
fn effect(out: &mut String, margin: f64, report: &BisectReport, at: usize) {
    let of = |position: usize| report.steps.iter().rev().find(|step| step.position == position);
    let diverged = |step: Option<&Step>| match step.map(|step| step.found.clone()) {
        Some(Found::Diverged { record, what, .. }) => Some((record, what)),
        _ => None,
    };
    if let Some((record, what)) = diverged(of(at)) {
        let _ = writeln!(out, "  record {}: {what}", thousands(record));
        if let Some((other, _)) = diverged(of(report.history.last())).filter(|(other, _)| *other != record) {
            let bad = report.history.commits[report.history.last()].short();
            let _ = writeln!(out, "  {bad} diverges at record {}, perhaps for another reason", thousands(other));
        }
    }
    let effect = report.steps.iter().find(|step| step.purpose == Purpose::Effect);
    if let Some(Found::Compared { ratio: Some(ratio), pairs, .. }) = effect.map(|step| &step.found) {
        let _ = writeln!(
            out,
            "  {} CPU time per frame against the commit before it, {} of replays",
            change(ratio),
            count(*pairs as u64, "pair")
        );
        if !(ratio.low > 0.0 && ratio.estimate >= margin.ln_1p()) {
            let _ = writeln!(out, "  less than --margin by itself: the slowdown has several steps");
        }
    }
    if let Some(Found::Counted { instructions, threshold: Some(before), functions, .. }) =
        effect.map(|step| &step.found)
    {
        counted(out, *instructions, *before, functions);
    }
}

/// What the commit that was found runs more than the one before it.
fn counted(out: &mut String, instructions: u64, before: u64, functions: &[CountedChange]) {
    let share = change::value((instructions as f64 / before as f64).ln());
    let difference = with_sign(i64::try_from(i128::from(instructions) - i128::from(before)).unwrap_or(i64::MAX));
    let _ = writeln!(out, "  {difference} instructions ({share}) against the commit before it");
    for CountedChange { object, symbol, difference } in functions {
        let of = if object == "program" { String::new() } else { format!(" of {}", Untrusted::new(object)) };
        let symbol = Untrusted::new(&shortened(symbol).to_string()).to_string();
        let _ = writeln!(out, "    {} in {symbol}{of}", with_sign(*difference));
    }
}

fn certainty(out: &mut String, report: &BisectReport) {
    if report.regression == Some(Regression::Instructions) {
        return;
    }
    let alpha = plain(report.budget.alpha * 100.0);
    let _ = write!(out, "  error probability of the search: at most {alpha} %");
    let replays = report.steps.iter().rev().find_map(|step| match step.found {
        Found::Identical { replays, .. } => Some(replays),
        _ => None,
    });
    let _ = match (report.threshold, replays) {
        (Some(threshold), _) => {
            writeln!(out, "; limit between not slower and slower: {}", change::value(threshold))
        }
        (None, Some(replays)) => {
            writeln!(out, "; identical means {}", count(u64::from(replays), "identical replay"))
        }
        (None, None) => writeln!(out),
    };
}

fn table(report: &BisectReport) -> Table {
    let mut table =
        Table::with_head(["step", "commit", "place", "build", "subject", "found"]).numbers(0..1).numbers(2..4);
    let last = report.history.last();
    for (number, step) in report.steps.iter().enumerate() {
        let commit = &report.history.commits[step.position];
        let build = step.build_s.map_or_else(String::new, |build_s| format!("{build_s:.1} s"));
        let place = format!("{}/{last}", step.position);
        let number = (number + 1).to_string();
        table.row([number, commit.short().to_owned(), place, build, short(&commit.subject), found(step)]);
    }
    table.indented(2)
}

/// Characters of a subject in the table.
const SUBJECT: usize = 32;

fn short(subject: &str) -> String {
    match subject.char_indices().nth(SUBJECT) {
        Some((end, _)) => format!("{}…", subject[..end].trim_end()),
        None => subject.to_owned(),
    }
}

/// What a step found, in a few words.
pub fn found(step: &Step) -> String {
    let replays = |number: u32| count(u64::from(number), "replay");
    match &step.found {
        Found::NotBuilt { status } => format!("skipped: does not build, {status}"),
        Found::NotReplayed { why } => format!("skipped: {why}"),
        Found::Identical { replays: number, .. } => format!("identical, {}", replays(*number)),
        Found::Diverged { replays: number, diverged, record, frame, .. } => {
            let times = match (*diverged, *number) {
                (_, 1) => String::new(),
                (diverged, number) => format!(" in {diverged} of {}", replays(number)),
            };
            format!("diverged{times}, frame {}, record {}", thousands(*frame), thousands(*record))
        }
        Found::Compared { ratio, pairs, above, .. } => {
            let ratio = ratio.as_ref().map_or_else(|| "unknown".to_owned(), change);
            let verdict = match (step.purpose, above) {
                (Purpose::Effect, _) => "against the commit before it",
                (_, Some(true)) => "slower",
                (_, Some(false)) => "not slower",
                (_, None) => "undecided",
            };
            format!("{verdict}: {ratio}, {}", count(*pairs as u64, "pair"))
        }
        Found::Counted { instructions, above, .. } => {
            let verdict = match (step.purpose, above) {
                (Purpose::Effect, _) => "against the commit before it: ",
                (_, Some(true)) => "more: ",
                (_, Some(false)) => "not more: ",
                (_, None) => "",
            };
            format!("{verdict}{} instructions", thousands(*instructions))
        }
    }
}
