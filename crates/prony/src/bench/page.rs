//! The page of a bench: what is said in the terminal, and the charts behind it.

use prony_report::{Bench, Change, Comparison, Tone, Verdict as Said};
use prony_stats::judge::{Metric, Outcome, Verdict};
use prony_stats::samples::Samples;

use super::human::{letter, metric_name, verdict};

/// The page of samples and of the comparisons of each further command with the first. `margin`: a log ratio.
pub fn page(samples: &Samples, outcomes: &[&Outcome], margin: f64) -> String {
    let several = outcomes.len() > 1;
    let comparisons = outcomes.iter().zip(1..).filter(|(_, b)| *b < samples.benchmarks.len());
    let comparisons = comparisons.map(|(outcome, b)| comparison(samples, outcome, b, margin, several)).collect();
    Bench { samples, comparisons, margin, version: env!("CARGO_PKG_VERSION") }.page()
}

fn comparison(samples: &Samples, outcome: &Outcome, b: usize, margin: f64, several: bool) -> Comparison {
    let name = letter(b);
    let said = verdict(&name, outcome, margin, several);
    // `B is slower by 0.9 % [0.3, 1.5], 46 pairs, 4.0 s`: the claim, and what it is based on.
    let (claim, basis) =
        match said.find(", ").filter(|_| !said.contains('[')).or_else(|| said.find("], ").map(|at| at + 1)) {
            Some(at) => (said[..at].to_owned(), said[at + 2..].to_owned()),
            None => (said, String::new()),
        };
    let names = format!("A: {}; {name}: {}", samples.benchmarks[0].name, samples.benchmarks[b].name);
    let reasons: Vec<String> = outcome.reasons.iter().map(ToString::to_string).collect();
    let basis = [vec![basis, names], reasons].concat().into_iter().filter(|part| !part.is_empty());
    let judged = samples.benchmarks[b].metric();
    let is_time = matches!(judged, "wall" | "cpu" | "net");
    let metrics = [Metric::Cpu, Metric::Uncontended, Metric::Wall, Metric::Rss].into_iter().filter_map(|metric| {
        let block = metric.of(outcome).filter(|block| block.interval.n > 0)?;
        let of = match metric {
            Metric::Cpu if !is_time => judged,
            other => metric_name(other.name()),
        };
        let name = if several { format!("{name}, {of}") } else { of.to_owned() };
        Some(Change { name, interval: block.interval, is_judged: outcome.judged.contains(&metric) })
    });
    let interval = outcome.metric.of(outcome).map(|block| block.interval);
    Comparison {
        a: 0,
        b,
        verdict: Said {
            tone: tone(outcome.verdict),
            claim: sentence(&claim),
            basis: basis.collect::<Vec<_>>().join("; "),
        },
        changes: metrics.collect(),
        metric: is_time.then_some(outcome.metric),
        interval: interval.unwrap_or(outcome.cpu.interval),
    }
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Faster => Tone::Good,
        Verdict::Slower => Tone::Bad,
        Verdict::Same => Tone::Plain,
        Verdict::Unclear => Tone::Warn,
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
