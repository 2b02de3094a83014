//! The answer of `prony bench` as JSON.

pub mod demos;
pub mod layouts;

use std::collections::BTreeMap;

use prony_bench::{Commands, Ended, Measured, Spread, Tried};
use prony_stats::judge::Outcome;
use prony_stats::pairing::{Pairing, Trial};
use prony_stats::ranking::Standing;
use prony_stats::{Interval, Metric, Verdict};
use serde::Serialize;

use crate::bench::throughput::Throughput;
use crate::change::to_percent;
use crate::json::limits::shares::WorkloadRate;
use crate::words::{letter, one_sided, reason};

/// The answer on all that was measured.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum BenchDocument<'a> {
    /// On commands.
    Commands(Box<OfCommands>),
    /// On builds and demos.
    Demos(demos::DemosDocument<'a>),
    /// On each benchmark of a suite.
    Suite(OfSuite<'a>),
    /// On two programs in many layouts.
    Layouts(layouts::LayoutsDocument<'a>),
}

/// The answer on a suite.
#[derive(Debug, Serialize)]
pub struct OfSuite<'a> {
    benchmarks: Vec<OfBenchmark<'a>>,
    /// Error probability of all benchmarks together.
    alpha: f64,
}

#[derive(Debug, Serialize)]
struct OfBenchmark<'a> {
    benchmark: &'a str,
    #[serde(flatten)]
    answer: OfCommands,
}

/// The answer. `rates`: what each command or build does in a second, where that was requested.
pub fn answer(measured: &Measured, rates: Vec<WorkloadRate>) -> BenchDocument<'_> {
    let one_sided = measured.one_sided().map(|found| one_sided(&found));
    match measured {
        Measured::Commands(commands) => {
            let mut answer = of_commands(commands, rates);
            answer.warnings.extend(one_sided);
            BenchDocument::Commands(Box::new(answer))
        }
        Measured::Demos(demos) => BenchDocument::Demos(demos::answer(demos, rates, one_sided)),
        Measured::Suite(suite) => BenchDocument::Suite(OfSuite {
            benchmarks: suite
                .all
                .iter()
                .map(|(benchmark, commands)| OfBenchmark { benchmark, answer: of_commands(commands, Vec::new()) })
                .collect(),
            alpha: suite.alpha,
        }),
        Measured::Layouts(of) => BenchDocument::Layouts(layouts::answer(of)),
    }
}

/// The answer on commands.
#[derive(Debug, Serialize)]
pub struct OfCommands {
    /// Of B relative to A; only with exactly two commands. See `comparisons` for more.
    #[serde(flatten)]
    verdict: Option<Judgement>,
    /// From the first round to the last.
    seconds: f64,
    rounds: usize,
    complete: bool,
    /// Share of their time that runs waited for a CPU.
    contention: Option<f64>,
    /// Pairing of the runs, if both methods were tried.
    pairing: Option<PairingTried>,
    alpha: f64,
    margin_pct: f64,
    seed: u64,
    commands: Vec<Command>,
    /// With the reference, or with the first command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    comparisons: Vec<Compared>,
    /// Letter of the command with which others are compared; left out where that is the fastest.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// Commands from the fastest on; left out where one of them is the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<RankingOut>,
    /// With `--bytes` or `--operations`: what each command does in a second, and the share of a limit of this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rates: Vec<WorkloadRate>,
    warnings: Vec<String>,
}

/// Both ways of pairing, tried on the first command with itself.
#[derive(Debug, Serialize)]
struct PairingTried {
    /// `in_turns`, or `at_once` on one CPU.
    way: &'static str,
    in_turns: Scatters,
    at_once: Scatters,
}

#[derive(Debug, Serialize)]
struct Scatters {
    /// σ of a pair; null with too few.
    deviation_pct: Option<f64>,
    pair_s: f64,
    pairs: usize,
}

impl PairingTried {
    fn of(tried: &Tried) -> PairingTried {
        let scatters = |trial: &Trial| Scatters {
            deviation_pct: trial.deviation().map(to_percent),
            pair_s: trial.pair_s,
            pairs: trial.logs.len(),
        };
        PairingTried {
            way: match tried.way {
                Pairing::InTurns => "in_turns",
                Pairing::AtOnce => "at_once",
            },
            in_turns: scatters(&tried.in_turns),
            at_once: scatters(&tried.at_once),
        }
    }
}

#[derive(Debug, Serialize)]
struct Compared {
    command: String,
    name: String,
    #[serde(flatten)]
    judgement: Judgement,
}

/// A verdict with everything that it rests on.
#[derive(Debug, Serialize)]
pub struct Judgement {
    verdict: Verdict,
    /// The metric that decided, and of which the estimate is.
    metric: String,
    estimate_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    pairs: usize,
    decided_after_s: f64,
    more_needed_s: Option<f64>,
    /// The metrics that had a say.
    judged: Vec<String>,
    /// Hodges–Lehmann estimates and signed-rank intervals; the median and a sign-test interval of uncontended time.
    metrics: Metrics,
    reasons: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Metrics {
    #[serde(flatten)]
    all: BTreeMap<String, Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall: Option<Change>,
}

#[derive(Debug, Serialize)]
struct Change {
    estimate_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    confidence: f64,
    pairs: usize,
}

#[derive(Debug, Serialize)]
struct Command {
    letter: String,
    name: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
    metric: String,
    unit: String,
    runs: usize,
    value: Option<Times>,
    cpu_s: Option<Times>,
    uncontended_s: Option<Times>,
    /// Peak of the resident memory; left out where it is known of no run.
    #[serde(skip_serializing_if = "Option::is_none")]
    rss_bytes: Option<Times>,
    /// With `--bytes`, `--items` or `--operations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    throughput: Option<ThroughputOut>,
}

/// Commands in relation to the fastest; all of it is wrong somewhere with probability `alpha` at most.
#[derive(Debug, Serialize)]
struct RankingOut {
    metric: String,
    places: Vec<PlaceOut>,
}

#[derive(Debug, Serialize)]
struct PlaceOut {
    command: String,
    name: String,
    /// Ratio to the fastest; null where it is not known.
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// `fastest`, `same`, `slower` or `unclear`.
    standing: Standing,
}

#[derive(Debug, Serialize)]
struct ThroughputOut {
    unit: &'static str,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Times {
    median: f64,
    /// Lower bound for the median; `null` with too few values.
    low: Option<f64>,
    high: Option<f64>,
    mean: f64,
    stddev: f64,
    min: f64,
    max: f64,
    n: usize,
}

fn of_commands(Commands { options, report }: &Commands, rates: Vec<WorkloadRate>) -> OfCommands {
    let commands = options.subjects.iter().zip(&report.summaries).enumerate().map(|(place, (subject, summary))| {
        let benchmark = report.samples.benchmarks.get(place);
        Command {
            letter: letter(place),
            name: subject.name.clone(),
            parameters: subject.parameters.clone(),
            metric: benchmark.map_or("wall", |benchmark| benchmark.metric()).to_owned(),
            unit: benchmark.map_or("second", |benchmark| benchmark.unit_name()).to_owned(),
            runs: summary.as_ref().map_or(0, |summary| summary.value.median.n),
            value: summary.as_ref().map(|summary| times(&summary.value)),
            cpu_s: summary.as_ref().and_then(|summary| summary.cpu_s.as_ref()).map(times),
            uncontended_s: summary.as_ref().and_then(|summary| summary.uncontended_s.as_ref()).map(times),
            rss_bytes: summary.as_ref().and_then(|summary| summary.rss_bytes.as_ref()).map(times),
            throughput: benchmark.and_then(Throughput::of).map(|of| ThroughputOut {
                unit: of.unit,
                value: of.rate.estimate,
                low: finite(of.rate.low),
                high: finite(of.rate.high),
            }),
        }
    });
    let compared = |comparison: &prony_bench::Comparison| Compared {
        command: letter(comparison.subject),
        name: options.subjects[comparison.subject].name.clone(),
        judgement: judgement(&comparison.outcome, &report.metric),
    };
    let ranking = report.ranking.as_ref().map(|ranking| RankingOut {
        metric: named(ranking.metric, &report.metric),
        places: ranking
            .places
            .iter()
            .map(|place| PlaceOut {
                command: letter(place.candidate),
                name: options.subjects[place.candidate].name.clone(),
                ratio: finite(place.ratio.estimate.exp()),
                low: finite(place.ratio.low.exp()),
                high: finite(place.ratio.high.exp()),
                standing: place.standing,
            })
            .collect(),
    });
    let reference = report.comparisons.first().filter(|_| ranking.is_none()).map(|one| letter(one.reference));
    let only = match report.comparisons.as_slice() {
        [comparison] => Some(judgement(&comparison.outcome, &report.metric)),
        _ => None,
    };
    OfCommands {
        comparisons: if only.is_some() { Vec::new() } else { report.comparisons.iter().map(compared).collect() },
        verdict: only,
        reference,
        ranking,
        seconds: report.elapsed_s,
        rounds: report.rounds,
        complete: matches!(report.ended, Ended::Complete),
        contention: report.contention,
        pairing: report.tried.as_ref().map(PairingTried::of),
        alpha: options.plan.alpha,
        margin_pct: to_percent(options.plan.margin),
        seed: options.seed,
        commands: commands.collect(),
        rates,
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
    }
}

/// An outcome as JSON; `judged`: what was judged first.
pub fn judgement(outcome: &Outcome, judged: &str) -> Judgement {
    let mut all = BTreeMap::from([(judged.to_owned(), change(&outcome.cpu.interval))]);
    if let Some(uncontended) = &outcome.uncontended {
        all.insert(Metric::Uncontended.name().to_owned(), change(&uncontended.interval));
    }
    let name = |metric: Metric| named(metric, judged);
    if let Some(rss) = &outcome.rss {
        all.insert("rss".to_owned(), change(&rss.interval));
    }
    let wall = (!all.contains_key("wall") && outcome.wall.interval.n > 0).then(|| change(&outcome.wall.interval));
    Judgement {
        verdict: outcome.verdict,
        metric: name(outcome.metric),
        estimate_pct: percent(outcome.interval.estimate),
        low_pct: percent(outcome.interval.low),
        high_pct: percent(outcome.interval.high),
        pairs: outcome.pairs,
        decided_after_s: outcome.elapsed_s,
        more_needed_s: outcome.forecast.map(|forecast| forecast.seconds_more),
        judged: outcome.judged.iter().map(|&metric| name(metric)).collect(),
        metrics: Metrics { all, wall },
        reasons: outcome.reasons.iter().map(reason).collect(),
    }
}

/// Name of a metric, of which the first that is judged may be a worker's own.
fn named(metric: Metric, judged: &str) -> String {
    if metric == Metric::Cpu { judged.to_owned() } else { metric.name().to_owned() }
}

fn change(interval: &Interval) -> Change {
    Change {
        estimate_pct: percent(interval.estimate),
        low_pct: percent(interval.low),
        high_pct: percent(interval.high),
        confidence: interval.confidence,
        pairs: interval.n,
    }
}

fn times(spread: &Spread) -> Times {
    Times {
        median: spread.median.estimate,
        low: finite(spread.median.low),
        high: finite(spread.median.high),
        mean: spread.mean,
        stddev: spread.deviation,
        min: spread.min,
        max: spread.max,
        n: spread.median.n,
    }
}

/// The value, or `None` if it is infinite: JSON has no infinity.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// `None` for a bound that is not known.
fn percent(log_ratio: f64) -> Option<f64> {
    finite(log_ratio).map(to_percent)
}
