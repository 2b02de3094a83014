//! Levels of a capacity curve: the steps with one number of clients.

use std::collections::BTreeMap;

use super::search::Outcome;
use super::step::{Measured, Step};

/// Values of several steps: their median, least and greatest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Median of the values.
    pub median: f64,
    /// Least value.
    pub min: f64,
    /// Greatest value.
    pub max: f64,
    /// Number of values.
    pub n: usize,
}

/// All steps with one number of clients.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Number of clients.
    pub clients: usize,
    /// Steps that held.
    pub holds: usize,
    /// Steps that failed.
    pub fails: usize,
    /// Steps that the generator limited.
    pub limited: usize,
    /// Medians of the latency in nanoseconds; infinite where that packet had no answer, as the next two.
    pub median_ns: Option<Spread>,
    /// 99th percentiles of the latency in nanoseconds.
    pub p99_ns: Option<Spread>,
    /// Greatest latencies in nanoseconds.
    pub max_ns: Option<Spread>,
    /// Shares of packets without an answer in time.
    pub loss: Option<Spread>,
    /// Longest times to a connection in nanoseconds.
    pub connect_ns: Option<Spread>,
    /// The server's shares of a core.
    pub server_share: Option<Spread>,
    /// CPU time that the server used for each client, in seconds per second.
    pub client_share: Option<Spread>,
}

pub(super) fn levels(steps: &[Step]) -> Vec<Level> {
    let mut by_clients: BTreeMap<usize, Vec<&Step>> = BTreeMap::new();
    for step in steps {
        by_clients.entry(step.clients).or_default().push(step);
    }
    by_clients.into_iter().map(|(clients, steps)| Level::of(clients, &steps)).collect()
}

impl Level {
    fn of(clients: usize, steps: &[&Step]) -> Level {
        let count = |outcome| steps.iter().filter(|step| step.outcome == outcome).count();
        let spread = |value: &dyn Fn(&Measured) -> Option<f64>| {
            Spread::of(steps.iter().filter_map(|step| value(step.measured.as_ref()?)).collect())
        };
        let latency = |at: usize| spread(&|step| step.latency_ns?.get(at).copied());
        Level {
            clients,
            holds: count(Outcome::Holds),
            fails: count(Outcome::Fails),
            limited: count(Outcome::GeneratorLimited),
            median_ns: latency(0),
            p99_ns: latency(1),
            max_ns: latency(2),
            loss: spread(&|step| step.loss),
            connect_ns: spread(&|step| step.connect_ns.map(|ns| ns as f64)),
            server_share: spread(&|step| step.server_share),
            client_share: spread(&|step| Some(step.server_share? / clients as f64)),
        }
    }
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (below, above) = (values.get((values.len() - 1) / 2)?, values.get(values.len() / 2)?);
        Some(Spread { median: (below + above) / 2.0, min, max, n: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_no_values_is_none_and_of_two_their_middle() {
        assert_eq!(Spread::of(Vec::new()), None);
        assert_eq!(Spread::of(vec![3.0, 1.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0, n: 2 }));
        assert_eq!(Spread::of(vec![5.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 5.0, n: 3 }));
    }

    #[test]
    fn steps_are_grouped_by_their_clients_in_ascending_order() {
        let step = |clients, outcome| Step { clients, outcome, values: Vec::new(), measured: None };
        let steps = [step(200, Outcome::Fails), step(100, Outcome::Holds), step(200, Outcome::GeneratorLimited)];
        let found: Vec<_> =
            levels(&steps).iter().map(|level| (level.clients, level.holds, level.fails, level.limited)).collect();
        assert_eq!(found, [(100, 1, 0, 0), (200, 0, 1, 1)]);
    }
}
