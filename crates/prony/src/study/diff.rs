//! `prony study diff`: what changed between two runs of a study.

use std::fmt::Write;
use std::path::Path;

use prony_stats::Verdict;
use prony_study::diff::{Change, Diff, Drift, EffectChange, diff};
use prony_study::{JoinError, Metric, Results};
use serde::Serialize;

use super::found::{self, Percent, bounds, columns, levels, median, range, units, word};
use crate::cli::study::DiffArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use prony_report::words::{digits, to_percent};

/// # Errors
/// When a study cannot be read, or they do not fit to each other.
pub fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let old = found::load("compare", &args.old)?;
    let new = found::load("compare", &args.new)?;
    let difference =
        diff(&old, &new, args.alpha, args.margin.ln_1p()).map_err(|error| unfit(&args.old, &args.new, &error))?;
    if args.json {
        output::print_json(&answer(args, &new, &difference))?;
    } else {
        output::print(&text(args, &new.metric, &difference))?;
    }
    for phrase in &difference.left_out {
        eprintln!("warning: skipped {phrase}");
    }
    Ok(exit(&difference))
}

/// Two studies that are not of one kind.
pub fn unfit(first: &Path, other: &Path, error: &JoinError) -> Failure {
    let failure = Failure::new(format!("cannot compare {} with {}: {error}", other.display(), first.display()));
    match error {
        JoinError::Metric { .. } => failure.hint("compare studies with the same metric"),
        JoinError::Factors { .. } => failure.hint("compare studies with the same factors; levels may differ"),
        JoinError::NothingInCommon { .. } => {
            failure.hint("run both on the same machine and workloads: they are matched by name")
        }
    }
}

/// Effects have a say only where one gains less: one that is not known makes no known configuration doubtful.
fn exit(difference: &Diff) -> Exit {
    let worse = difference.effects.iter().map(|change| change.verdict).filter(|&verdict| verdict == Verdict::Slower);
    let configurations = difference.configurations.iter().map(|change| change.verdict);
    Exit::of(configurations.chain([difference.verdict]).chain(worse))
}

fn text(args: &DiffArgs, metric: &Metric, difference: &Diff) -> String {
    let mut out = format!("{}; percentages are speed-ups of the later study\n\n", found::metric(metric));
    let head = |what: &str| [what, "median", "range", "mean", "verdict"].map(str::to_owned);
    let row = |name: String, size, verdict: &str| [name, median(size), range(size), bounds(size), verdict.to_owned()];
    let mut rows = vec![head("configuration")];
    rows.extend(
        difference
            .configurations
            .iter()
            .map(|Change { levels: of, size, verdict }| row(levels(of), size, word(*verdict, metric))),
    );
    rows.push(row("all together".to_owned(), &difference.whole, word(difference.verdict, metric)));
    out += &columns(&rows);
    if !difference.effects.is_empty() {
        let mut rows = vec![head("effect")];
        rows.extend(difference.effects.iter().map(|change| {
            let EffectChange { factor, from, to, size, verdict } = change;
            row(format!("{factor}: {from} → {to}"), size, effect_word(*verdict))
        }));
        let _ = write!(out, "\n{}", columns(&rows));
    }
    let _ = writeln!(
        out,
        "\nover {} {}; same: within ±{} %; probability of any false alarm: at most {} %\n{}",
        difference.whole.units.len(),
        units(&difference.whole),
        (args.margin * 1e4).round() / 1e2,
        (args.alpha * 1e4).round() / 1e2,
        drift(difference.drift),
    );
    out
}

/// Reason why the changes are known no better.
fn drift(drift: Drift) -> String {
    match drift {
        Drift::Machines => {
            "the two did not run at the same time: any drift of a machine is part of the spread between machines"
                .to_owned()
        }
        Drift::Blocks { deviation } => format!(
            "one machine, and the two did not run at the same time: all together varied by {} % from block to \
             block (standard deviation),\nwhich may be drift of the machine, so a configuration is known no \
             better than from one block of each; effects are compared within blocks",
            digits_of(to_percent(deviation)),
        ),
        Drift::Unknown => {
            "one machine, the two did not run at the same time, and without repeats its drift is unknown: no \
             change of a configuration is claimed"
                .to_owned()
        }
    }
}

fn digits_of(percent: f64) -> String {
    format!("{percent:.*}", digits(percent))
}

/// Word for a change of an effect, which is no time.
fn effect_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "more",
        Verdict::Slower => "less",
        Verdict::Same => "same",
        Verdict::Unclear => "unclear",
    }
}

/// Answer to `study diff`, as JSON.
#[derive(Debug, Serialize)]
struct Answered<'a> {
    /// The worst of all configurations.
    verdict: Verdict,
    metric: &'a Metric,
    alpha: f64,
    margin_pct: f64,
    whole: Percent,
    configurations: Vec<Configuration<'a>>,
    effects: Vec<Effect<'a>>,
    left_out: &'a [String],
    /// Place of the drift between the two runs: `machines`, `blocks` or `unknown`.
    drift: &'static str,
    /// Standard deviation from block to block, where that is it.
    drift_pct: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Configuration<'a> {
    levels: std::collections::BTreeMap<&'a str, &'a str>,
    verdict: Verdict,
    #[serde(flatten)]
    change: Percent,
}

#[derive(Debug, Serialize)]
struct Effect<'a> {
    factor: &'a str,
    from: &'a str,
    to: &'a str,
    verdict: &'static str,
    #[serde(flatten)]
    change: Percent,
}

fn answer<'a>(args: &DiffArgs, new: &'a Results, difference: &'a Diff) -> Answered<'a> {
    Answered {
        verdict: match exit(difference) {
            Exit::Finding => Verdict::Slower,
            Exit::NotTrusted => Verdict::Unclear,
            _ if difference.configurations.iter().any(|change| change.verdict == Verdict::Faster) => Verdict::Faster,
            _ => Verdict::Same,
        },
        metric: &new.metric,
        alpha: args.alpha,
        margin_pct: args.margin * 100.0,
        whole: Percent::of(&difference.whole, args.alpha),
        configurations: difference
            .configurations
            .iter()
            .map(|change| Configuration {
                levels: change.levels.iter().map(|(factor, level)| (factor.as_str(), level.as_str())).collect(),
                verdict: change.verdict,
                change: Percent::of(&change.size, args.alpha),
            })
            .collect(),
        effects: difference
            .effects
            .iter()
            .map(|change| Effect {
                factor: &change.factor,
                from: &change.from,
                to: &change.to,
                verdict: effect_word(change.verdict),
                change: Percent::of(&change.size, args.alpha),
            })
            .collect(),
        left_out: &difference.left_out,
        drift: match difference.drift {
            Drift::Machines => "machines",
            Drift::Blocks { .. } => "blocks",
            Drift::Unknown => "unknown",
        },
        drift_pct: match difference.drift {
            Drift::Blocks { deviation } => Some(to_percent(deviation)),
            Drift::Machines | Drift::Unknown => None,
        },
    }
}
