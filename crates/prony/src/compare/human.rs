//! The answer of `prony compare` for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use prony_stats::Interval;
use prony_stats::judge::{Metric, Verdict};
use prony_stats::quantile::median;
use prony_stats::rejudge::Answer;
use prony_stats::samples::{Benchmark, Better, Unit};
use prony_text::{Quantity, Table, Untrusted, count, plain, thousands};

use super::{Asked, Compared};
use crate::bench::human::{change, digits, metrics, to_percent};

/// The answer: a sentence for one comparison, a table for several.
pub fn text(asked: &Asked<'_>, compared: &[Compared<'_>]) -> String {
    let mut out = String::new();
    if let ([one], None, false) = (compared, &asked.args.group_by, asked.args.markdown) {
        for (letter, file, benchmark) in [("A", one.files[0], one.a), ("B", one.files[1], one.b)] {
            let _ = writeln!(
                out,
                "{letter}  {}: {}  {}",
                Untrusted::new(&file.name),
                Untrusted::new(&benchmark.name),
                typical(benchmark)
            );
        }
        let _ = writeln!(out, "{}", sentence(asked, one));
        details(&mut out, one);
        return out;
    }
    let mut groups: BTreeMap<String, Vec<&Compared<'_>>> = BTreeMap::new();
    for one in compared {
        groups
            .entry(asked.args.group_by.as_deref().map_or_else(String::new, |key| one.group(key)))
            .or_default()
            .push(one);
    }
    for (group, members) in groups {
        if let Some(key) = &asked.args.group_by {
            let _ = writeln!(out, "{}{key} = {}\n", if out.is_empty() { "" } else { "\n" }, Untrusted::new(&group));
        }
        let rows: Vec<[String; 5]> = members.iter().map(|one| row(one)).collect();
        table(&mut out, rows, asked.args.markdown);
    }
    let of = |verdict| compared.iter().filter(|one| one.verdict() == verdict).count();
    let counts = [
        (Verdict::Slower, "slower"),
        (Verdict::Faster, "faster"),
        (Verdict::Same, "same"),
        (Verdict::Unclear, "unclear"),
    ]
    .into_iter()
    .filter(|&(verdict, _)| of(verdict) > 0)
    .map(|(verdict, word)| format!("{} {word}", of(verdict)));
    let _ = writeln!(
        out,
        "\n{}; probability of any false alarm: at most {} %",
        counts.collect::<Vec<_>>().join(", "),
        plain(asked.args.alpha * 100.0)
    );
    out
}

/// `B is slower by 1.0 % [0.6, 1.4], 186 pairs`.
fn sentence(asked: &Asked<'_>, one: &Compared<'_>) -> String {
    let Some(answer) = &one.answer else { return "unclear: one side has no values except warm-ups".to_owned() };
    // Of the values as they are: a rate that falls is lower, and worse.
    let (estimate, low, high) = shown(one, answer);
    let [low_pct, high_pct] = [low, high].map(to_percent);
    let digits = digits(high_pct - low_pct);
    let rests_on = rests_on(answer);
    let by = |estimate: f64, low: f64, high: f64| {
        format!("by {estimate:.digits$} % [{low:.digits$}, {high:.digits$}], {rests_on}")
    };
    let estimate_pct = to_percent(estimate);
    match answer.verdict() {
        Verdict::Faster | Verdict::Slower if estimate > 0.0 => {
            format!("B is {} {}", word(one, answer.verdict()), by(estimate_pct, low_pct, high_pct))
        }
        Verdict::Faster | Verdict::Slower => {
            format!("B is {} {}", word(one, answer.verdict()), by(-estimate_pct, -high_pct, -low_pct))
        }
        Verdict::Same => format!(
            "same within ±{} % ({}), {rests_on}",
            plain(asked.args.margin * 100.0),
            change(&interval(estimate, low, high, 1))
        ),
        Verdict::Unclear if low.is_finite() && high.is_finite() => {
            let change = change(&interval(estimate, low, high, 1));
            format!("unclear: {change}, {rests_on}")
        }
        Verdict::Unclear => format!("unclear: too few values for an interval, {rests_on}"),
    }
}

/// Word for a side that differs: times are faster or slower, all else is higher or lower.
fn word(one: &Compared<'_>, verdict: Verdict) -> &'static str {
    let worse = verdict == Verdict::Slower;
    match (one.b.unit, one.b.better()) {
        (_, _) if verdict == Verdict::Same => "same",
        (_, _) if verdict == Verdict::Unclear => "unclear",
        (Unit::Second, Better::Lower) => {
            if worse {
                "slower"
            } else {
                "faster"
            }
        }
        (_, Better::Lower) => {
            if worse {
                "higher"
            } else {
                "lower"
            }
        }
        (_, Better::Higher) => {
            if worse {
                "lower"
            } else {
                "higher"
            }
        }
    }
}

/// Log ratio of the values as they are: the judge's, unless more is better.
fn shown(one: &Compared<'_>, answer: &Answer) -> (f64, f64, f64) {
    let (estimate, low, high) = answer.ratio();
    match one.b.better() {
        Better::Lower => (estimate, low, high),
        Better::Higher => (-estimate, -high, -low),
    }
}

fn interval(estimate: f64, low: f64, high: f64, n: usize) -> Interval {
    Interval { estimate, low, high, confidence: 0.0, n }
}

/// Observations that the answer rests on.
fn rests_on(answer: &Answer) -> String {
    match answer {
        Answer::Paired(outcome) => count(outcome.pairs as u64, "pair"),
        Answer::Unpaired(comparison) => {
            let (a, b) = (&comparison.a, &comparison.b);
            match (a.processes, b.processes) {
                (1, 1) => format!(
                    "{} and {} values of one process each",
                    thousands(a.values as u64),
                    thousands(b.values as u64)
                ),
                (a, b) => format!("{} and {} processes", thousands(a as u64), thousands(b as u64)),
            }
        }
    }
}

/// Further lines: each metric of pairs, and the reasons for the verdict.
fn details(out: &mut String, one: &Compared<'_>) {
    match &one.answer {
        Some(Answer::Paired(outcome)) => {
            if Metric::from_name(one.b.metric()).is_some() {
                metrics(out, outcome, "cpu");
            } else {
                for reason in &outcome.reasons {
                    let _ = writeln!(out, "  {reason}");
                }
            }
        }
        Some(Answer::Unpaired(comparison)) => {
            for (letter, basis) in [("A", &comparison.a), ("B", &comparison.b)] {
                if let Some(correlation) = basis.follows_the_last {
                    let _ = writeln!(
                        out,
                        "  {letter}: consecutive runs are correlated ({correlation:.2}); effective sample size \
                         {:.0}",
                        basis.worth
                    );
                }
                if basis.processes == 1 {
                    let _ =
                        writeln!(out, "  {letter}: only one process; the variation between processes may be larger");
                }
            }
            let _ = writeln!(out, "  not measured in pairs: the difference includes any drift of the machine");
        }
        None => {}
    }
}

/// `20.13 ms, n = 93`, the median of all values.
fn typical(benchmark: &Benchmark) -> String {
    let values: Vec<f64> = benchmark.values().collect();
    match median(&values) {
        Some(centre) => {
            let centre = Quantity::of(centre, benchmark.unit_name()).value(centre);
            format!("{centre}, n = {}", thousands(values.len() as u64))
        }
        None => "no values".to_owned(),
    }
}

/// Benchmark, A, B, change, verdict.
fn row(one: &Compared<'_>) -> [String; 5] {
    let same_file = std::ptr::eq(one.files[0], one.files[1]);
    let [benchmark, file] = [&one.b.name, &one.files[1].name].map(Untrusted::new);
    let name = match (same_file, one.a.name == one.b.name) {
        (true, _) => benchmark.to_string(),
        (false, true) => format!("{benchmark} ({file})"),
        (false, false) => format!("{file}: {benchmark}"),
    };
    let change = one.answer.as_ref().map_or_else(
        || "?".to_owned(),
        |answer| {
            let (estimate, low, high) = shown(one, answer);
            change(&interval(estimate, low, high, 1))
        },
    );
    [name, typical(one.a), typical(one.b), change, word(one, one.verdict()).to_owned()]
}

fn table(out: &mut String, rows: Vec<[String; 5]>, markdown: bool) {
    let mut table = Table::with_head(["benchmark", "A", "B", "change of B [interval]", "verdict"]);
    rows.into_iter().for_each(|row| table.row(row));
    out.push_str(&if markdown { table.numbers(1..4).markdown() } else { table.text() });
}
