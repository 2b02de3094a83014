//! What changed between two runs of a study, in the terminal.

use std::fmt::Write;

use prony_stats::Verdict;
use prony_study::Metric;
use prony_study::diff::{Change, Diff, Drift, EffectChange};
use prony_text::Untrusted;

use super::words::{columns, levels, metric as metric_words, sizes, units, word};
use crate::change;
use crate::study::quantity::Changing;

/// The answer. `alpha`: probability of any false alarm; `margin`: a smaller change is none, as a share.
pub fn text(metric: &Metric, difference: &Diff, alpha: f64, margin: f64) -> String {
    let changing = Changing::of(metric);
    let mut out =
        format!("{}; changes are of {}, in the later study\n\n", metric_words(metric), Untrusted::new(&changing.name));
    let head = |what: &str| [what, "mean [95 %]", "median", "range", "verdict"].map(str::to_owned);
    let row = |name: String, size, verdict: &str| {
        let [mean, median, range] = sizes(&changing, size);
        [name, mean, median, range, verdict.to_owned()]
    };
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
        "\nover {} {}; same: within {}; probability of any false alarm: at most {} %\n{}",
        difference.whole.units.len(),
        units(&difference.whole),
        change::margin(margin.ln_1p()),
        (alpha * 1e4).round() / 1e2,
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
            "one machine, and the two did not run at the same time: all together varied by {} from block to \
             block (standard deviation),\nwhich may be drift of the machine, so a configuration is known no \
             better than from one block of each; effects are compared within blocks",
            change::size(deviation),
        ),
        Drift::Unknown => {
            "one machine, the two did not run at the same time, and without repeats its drift is unknown: no \
             change of a configuration is claimed"
                .to_owned()
        }
    }
}

/// Word for a change of an effect, which is no time.
pub fn effect_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "more",
        Verdict::Slower => "less",
        Verdict::Same => "same",
        Verdict::Unclear => "unclear",
    }
}
