//! The answer of `prony load enet --until` as a person reads it.

use prony_load::{
    Capacity, CapacityOptions, CapacityProgress, CapacityWarning, Condition, Knee, Level, Outcome, Quantity, Spread,
};
use prony_stats::Interval;
use prony_text::{Table, count, significant, thousands};

use crate::text::load::{percent, progress as progress_of_load, time};

/// Progress of the search on one line.
pub fn progress(options: &CapacityOptions, progress: CapacityProgress) -> String {
    let CapacityProgress { step, clients, load } = progress;
    let of_step = match load {
        Some(load) => progress_of_load(clients, options.load.duration, load),
        None => "pause until the server has dropped the clients".to_owned(),
    };
    format!("step {step} of at most {}: {of_step}", options.steps_max)
}

/// `p99 < 50.0 ms`.
pub fn condition(condition: &Condition) -> String {
    let bound = match condition.quantity {
        Quantity::Loss => percent(condition.below),
        Quantity::Latency(_) | Quantity::Connect => time(condition.below),
    };
    format!("{} < {bound}", condition.quantity)
}

/// All conditions, joined by `and`.
pub fn conditions(conditions: &[Condition]) -> String {
    conditions.iter().map(condition).collect::<Vec<_>>().join(" and ")
}

/// The answer in a sentence.
pub fn sentence(capacity: &Capacity) -> String {
    let conditions = conditions(&capacity.options.conditions);
    let steps = count(capacity.steps.len() as u64, "step");
    match capacity.knee {
        Knee::Found(interval) => format!(
            "{conditions} up to {} ({} % credible interval, n = {})",
            clients_with_interval(&interval, capacity),
            significant(interval.confidence * 100.0).trim_end_matches(".0"),
            count(interval.n as u64, "step")
        ),
        Knee::NotReached { clients, probability } => {
            let clients = count(clients as u64, "client");
            format!("not reached: {clients} hold {conditions} (probability {}, n = {steps})", percent(probability))
        }
        Knee::NoneHolds { clients, probability } => {
            let clients = count(clients as u64, "client");
            format!(
                "none: {conditions} does not hold for {clients} (probability {}, n = {steps})",
                percent(probability)
            )
        }
        Knee::GeneratorLimit { holds: Some(holds), clients } => format!(
            "limit of the generator: {conditions} holds for {}; with {} the generator is too slow (n = {steps})",
            count(holds as u64, "client"),
            thousands(clients as u64)
        ),
        Knee::GeneratorLimit { holds: None, clients } => {
            format!("limit of the generator: it is too slow for {} (n = {steps})", count(clients as u64, "client"))
        }
        Knee::Unknown => "unknown: no step says something about the server".to_owned(),
    }
}

/// `1,240 clients [1,180, 1,290]`; a bound beyond the range is shown as that.
fn clients_with_interval(interval: &Interval, capacity: &Capacity) -> String {
    let range = capacity.options.range;
    let bound = |bound: f64, beyond: String| if bound.is_finite() { thousands(bound.round() as u64) } else { beyond };
    let low = bound(interval.low, format!("below {}", thousands(range.low as u64)));
    let high = bound(interval.high, format!("above {}", thousands(range.high as u64)));
    format!("{} [{low}, {high}]", count(interval.estimate.round() as u64, "client"))
}

/// Text of the whole answer, for people.
pub fn text(capacity: &Capacity) -> String {
    format!("{}\n\n{}", sentence(capacity), table(capacity).text())
}

/// The curve: a row for each number of clients.
pub fn table(capacity: &Capacity) -> Table {
    let levels = capacity.levels();
    let columns = columns(&levels);
    let head = ["clients", "held"].into_iter().chain(columns.iter().map(|column| column.name));
    let mut table = Table::with_head(head).numbers(..);
    for level in &levels {
        let fixed = [thousands(level.clients as u64), held(level)];
        table.row(fixed.into_iter().chain(columns.iter().map(|column| cell(column, level))));
    }
    table
}

/// A column of the table.
struct Column {
    name: &'static str,
    value: fn(&Level) -> Option<Spread>,
    shown: fn(f64) -> String,
    /// Least and greatest value are shown beside the median.
    with_range: bool,
}

/// Columns that have a value.
fn columns(levels: &[Level]) -> Vec<Column> {
    let column = |name, value, shown, with_range| Column { name, value, shown, with_range };
    let all = [
        column("median", |level| level.median_ns, latency, false),
        column("p99 [min, max]", |level| level.p99_ns, latency, true),
        column("max", |level| level.max_ns, latency, false),
        column("loss", |level| level.loss, percent, false),
        column("connect", |level| level.connect_ns, time, false),
        column("server CPU", |level| level.server_share, percent, false),
        column("CPU per client [min, max]", |level| level.client_share, |share| time(share * 1e9) + "/s", true),
    ];
    all.into_iter().filter(|column| levels.iter().any(|level| (column.value)(level).is_some())).collect()
}

/// That of a packet; `lost` for one without an answer.
fn latency(ns: f64) -> String {
    if ns.is_finite() { time(ns) } else { "lost".to_owned() }
}

fn held(level: &Level) -> String {
    let limited =
        if level.limited > 0 { format!(", {} limited by the generator", level.limited) } else { String::new() };
    format!("{} of {}{limited}", level.holds, level.holds + level.fails)
}

fn cell(column: &Column, level: &Level) -> String {
    match (column.value)(level) {
        None => "–".to_owned(),
        Some(Spread { median, min, max, n }) if column.with_range && n > 1 => {
            format!("{} [{}, {}]", (column.shown)(median), (column.shown)(min), (column.shown)(max))
        }
        Some(spread) => (column.shown)(spread.median),
    }
}

/// Text of a warning that limits what the answer says.
pub fn warning(warning: CapacityWarning) -> String {
    match warning {
        CapacityWarning::Imprecise { steps } => {
            format!("the interval is wider than requested after {}", count(steps as u64, "step"))
        }
        CapacityWarning::Interrupted => "interrupted".to_owned(),
        CapacityWarning::ServerGone => "the server has exited: its port is closed".to_owned(),
        CapacityWarning::GeneratorLimited { steps } => {
            format!("{} not counted: the generator was too slow", were(steps))
        }
        CapacityWarning::ServerWaited { steps } => {
            format!("in {} the server waited for a CPU for a long time", count(steps as u64, "step"))
        }
        CapacityWarning::ClientsUnserved { steps } => {
            let steps = count(steps as u64, "step");
            format!("in {steps} clients did not connect or lost their connection: slots may limit the server")
        }
    }
}

fn were(steps: usize) -> String {
    format!("{} {}", count(steps as u64, "step"), if steps == 1 { "was" } else { "were" })
}

/// Outcome of a step as a word.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::Fails => "fails",
        Outcome::GeneratorLimited => "generator_limited",
    }
}
