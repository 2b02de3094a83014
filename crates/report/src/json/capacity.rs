//! The answer of `prony load enet --until` as JSON.

use prony_load::{Capacity, End, Knee, Spread, Step};
use prony_stats::Interval;
use serde::Serialize;

use super::load::Schedule;
use crate::text::capacity::outcome;

/// JSON document of the answer. Times are seconds, shares are of one core or of all packets.
#[derive(Debug, Serialize)]
pub struct CapacityDocument {
    conditions: Vec<Condition>,
    clients: Clients,
    answer: Answer,
    /// Reason for the end: `decided`, `steps_max`, `interrupted` or `server_gone`.
    end: &'static str,
    setup: Setup,
    curve: Vec<Level>,
    steps: Vec<StepDocument>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Condition {
    quantity: String,
    /// Seconds, or a share for `loss`.
    below: f64,
}

#[derive(Debug, Serialize)]
struct Clients {
    low: usize,
    high: usize,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Answer {
    /// Bounds beyond the range are null.
    Found {
        clients: Interval,
    },
    NotReached {
        clients: usize,
        probability: f64,
    },
    NoneHolds {
        clients: usize,
        probability: f64,
    },
    GeneratorLimit {
        holds: Option<usize>,
        clients: usize,
    },
    Unknown,
}

#[derive(Debug, Serialize)]
struct Setup {
    target: String,
    #[serde(flatten)]
    schedule: Schedule,
    duration_s: f64,
    threads: usize,
    precision: f64,
    steps_max: usize,
    seed: u64,
}

#[derive(Debug, Serialize)]
struct Level {
    clients: usize,
    holds: usize,
    fails: usize,
    generator_limited: usize,
    p50_s: Option<SpreadDocument>,
    p99_s: Option<SpreadDocument>,
    max_s: Option<SpreadDocument>,
    loss: Option<SpreadDocument>,
    connect_s: Option<SpreadDocument>,
    server_share: Option<SpreadDocument>,
    server_share_per_client: Option<SpreadDocument>,
}

#[derive(Debug, Serialize)]
struct SpreadDocument {
    median: f64,
    min: f64,
    max: f64,
    n: usize,
}

#[derive(Debug, Serialize)]
struct StepDocument {
    clients: usize,
    outcome: &'static str,
    /// Values of the conditions' quantities, in their order.
    values: Vec<Option<f64>>,
    answers: u64,
    unconnected_clients: Option<u64>,
    lost_clients: Option<u64>,
    p50_s: Option<f64>,
    p99_s: Option<f64>,
    max_s: Option<f64>,
    server_share: Option<f64>,
    server_drops: Option<u64>,
    send_lateness_p99_s: Option<f64>,
}

/// Document of the answer; `warnings`: in words.
pub fn answer(capacity: &Capacity, warnings: &[String]) -> CapacityDocument {
    let options = &capacity.options;
    let conditions = options.conditions.iter().map(|condition| Condition {
        quantity: condition.quantity.to_string(),
        below: scaled(condition, condition.below),
    });
    CapacityDocument {
        conditions: conditions.collect(),
        clients: Clients { low: options.range.low, high: options.range.high },
        answer: match capacity.knee {
            Knee::Found(clients) => Answer::Found { clients },
            Knee::NotReached { clients, probability } => Answer::NotReached { clients, probability },
            Knee::NoneHolds { clients, probability } => Answer::NoneHolds { clients, probability },
            Knee::GeneratorLimit { holds, clients } => Answer::GeneratorLimit { holds, clients },
            Knee::Unknown => Answer::Unknown,
        },
        end: match capacity.end {
            End::Decided => "decided",
            End::StepsMax => "steps_max",
            End::Interrupted => "interrupted",
            End::ServerGone => "server_gone",
        },
        setup: setup(capacity),
        curve: capacity.levels().iter().map(level).collect(),
        steps: capacity.steps.iter().map(|one| step(capacity, one)).collect(),
        warnings: warnings.to_vec(),
    }
}

fn setup(capacity: &Capacity) -> Setup {
    let load = &capacity.options.load;
    Setup {
        target: load.target.to_string(),
        schedule: Schedule::of(load, load.connections.burst),
        duration_s: load.duration.as_secs_f64(),
        threads: load.threads,
        precision: capacity.options.precision,
        steps_max: capacity.options.steps_max,
        seed: load.seed,
    }
}

fn level(level: &prony_load::Level) -> Level {
    Level {
        clients: level.clients,
        holds: level.holds,
        fails: level.fails,
        generator_limited: level.limited,
        p50_s: spread(level.median_ns, 1e-9),
        p99_s: spread(level.p99_ns, 1e-9),
        max_s: spread(level.max_ns, 1e-9),
        loss: spread(level.loss, 1.0),
        connect_s: spread(level.connect_ns, 1e-9),
        server_share: spread(level.server_share, 1.0),
        server_share_per_client: spread(level.client_share, 1.0),
    }
}

fn step(capacity: &Capacity, step: &Step) -> StepDocument {
    let conditions = &capacity.options.conditions;
    let measured = step.measured.as_ref();
    let latency_s = |at: usize| Some(measured?.latency_ns?.get(at)? / 1e9);
    let values =
        conditions.iter().zip(&step.values).map(|(condition, value)| value.map(|value| scaled(condition, value)));
    StepDocument {
        clients: step.clients,
        outcome: outcome(step.outcome),
        values: values.collect(),
        answers: measured.map_or(0, |measured| measured.answers),
        unconnected_clients: measured.map(|measured| measured.failures.total()),
        lost_clients: measured.map(|measured| measured.lost.total()),
        p50_s: latency_s(0),
        p99_s: latency_s(1),
        max_s: latency_s(2),
        server_share: measured.and_then(|measured| measured.server_share),
        server_drops: measured.and_then(|measured| measured.server_drops),
        send_lateness_p99_s: measured.map(|measured| measured.lateness_ns as f64 / 1e9),
    }
}

/// A value of a condition's quantity in the unit of the document.
fn scaled(condition: &prony_load::Condition, value: f64) -> f64 {
    match condition.quantity {
        prony_load::Quantity::Loss => value,
        prony_load::Quantity::Latency(_) | prony_load::Quantity::Connect => value / 1e9,
    }
}

fn spread(spread: Option<Spread>, factor: f64) -> Option<SpreadDocument> {
    let Spread { median, min, max, n } = spread?;
    Some(SpreadDocument { median: median * factor, min: min * factor, max: max * factor, n })
}
