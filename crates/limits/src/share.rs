//! Shares of the limits that a workload reaches.

use prony_stats::samples::Better;

use crate::case::Measured;
use crate::experiment::Experiment;

/// Rate of a workload, in bytes or operations per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Bytes a second, moved in whatever way.
    Bytes(f64),
    /// Operations a second, of whatever kind.
    Operations(f64),
}

/// A rate beside a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The limit in words: `DRAM loads, 2M THP pages`.
    pub of: String,
    /// The limit: bytes or operations a second.
    pub limit: f64,
    /// The rate over the limit; above 1 where something else bounds the workload.
    pub share: f64,
    /// Number of samples behind the limit.
    pub n: usize,
    /// Share of them that may be slower than the hardware, 0 to 1.
    pub contaminated: f64,
}

/// The limits that a rate may be compared with, in the order of what was measured.
///
/// Bytes: loads, stores and copies of each level, stores of zeros, and of several cores together. Operations: instructions of each port, chased
/// loads of each level, mispredicted branches, system calls and datagrams; per second of one core at the clock that was measured.
pub fn shares(measured: &[Measured], rate: Rate) -> Vec<Share> {
    measured.iter().filter_map(|limit| share(limit, rate)).collect()
}

/// The limit that stands for all where one has to: of bytes, what one thread loads from memory, of operations, the adds of a core.
/// `None` where it was not measured. Nothing says what bounds a workload; this is the same limit for the same work wherever it is
/// shown.
pub fn reference(shares: &[Share], rate: Rate) -> Option<&Share> {
    let usual = match rate {
        Rate::Bytes(_) => "DRAM load,",
        Rate::Operations(_) => "add r, r, side by side",
    };
    shares.iter().find(|share| share.of.starts_with(usual))
}

/// The experiment that measures what [`reference()`] names.
pub fn reference_experiment(rate: Rate) -> Experiment {
    match rate {
        Rate::Bytes(_) => Experiment::Bandwidth,
        Rate::Operations(_) => Experiment::Ports,
    }
}

fn share(measured: &Measured, rate: Rate) -> Option<Share> {
    let figure = measured.figure()?;
    let (of, limit, value) = match rate {
        Rate::Bytes(value) => (bytes_limit(measured)?, figure.value, value),
        Rate::Operations(value) => {
            let of = operations_limit(measured)?;
            let each_second = match (measured.unit.as_str(), measured.better) {
                ("second", _) => 1.0 / figure.value,
                ("cycles", _) => figure.core_hz / figure.value,
                (unit, Better::Higher) if unit.ends_with("/cycle") => figure.core_hz * figure.value,
                _ => figure.value,
            };
            (of, each_second, value)
        }
    };
    (limit.is_finite() && limit > 0.0).then(|| Share {
        of,
        limit,
        share: value / limit,
        n: figure.n,
        contaminated: figure.contaminated,
    })
}

fn bytes_limit(measured: &Measured) -> Option<String> {
    let pages = measured.fact("pages").unwrap_or("usual");
    match (measured.experiment, measured.fact("way")?, measured.fact("level"), measured.fact("threads")) {
        (Experiment::Bandwidth, way, Some(level), _) => Some(format!("{level} {way}, {pages} pages")),
        // A case of its own: stores of anything else do not reach it.
        (Experiment::Contents, way, Some(level), _) if measured.fact("contents") == Some("zeros") => {
            ["store", "NT store", "rep stosb"].contains(&way).then(|| format!("{level} {way} of zeros, {pages} pages"))
        }
        (Experiment::Threads, way, _, Some(threads)) if measured.unit == "B/s" && threads != "1" => {
            Some(format!("DRAM {way}, {threads} threads, {pages} pages"))
        }
        (Experiment::File, way, ..) if measured.fact("look") == Some("added up") => {
            Some(format!("file by {way}, {}", measured.fact("from")?))
        }
        _ => None,
    }
}

fn operations_limit(measured: &Measured) -> Option<String> {
    match measured.experiment {
        Experiment::Ports => Some(format!(
            "{}, {}",
            measured.fact("instruction")?,
            match measured.fact("question")? {
                "a cycle" => "side by side",
                _ => "one after the other",
            }
        )),
        Experiment::Cache => {
            Some(format!("{} loads by chase, {} pages", measured.fact("level")?, measured.fact("pages")?))
        }
        Experiment::Net if measured.unit == "datagrams/s" => Some(measured.name.clone()),
        Experiment::Net => Some("system calls".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tester::{Sample, Series};

    fn measured(experiment: Experiment, unit: &str, value: f64, facts: &[(&str, &str)]) -> Measured {
        let sample = Sample { seconds: 1.0, core_hz: 3e9, faults: 0, taint: None };
        Measured {
            experiment,
            name: "a name".to_owned(),
            unit: unit.to_owned(),
            better: if unit.contains('/') { Better::Higher } else { Better::Lower },
            count: 1.0,
            facts: facts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>(),
            values: vec![value],
            series: Series { passes: 1, samples: vec![sample], steal: None },
            listing: None,
        }
    }

    #[test]
    fn bytes_are_a_share_of_each_level() {
        let limits = [
            measured(Experiment::Bandwidth, "B/s", 17e9, &[("way", "load"), ("level", "DRAM"), ("pages", "4K")]),
            measured(Experiment::Bandwidth, "B/s", 19e9, &[("way", "load"), ("pages", "4K")]),
            measured(Experiment::Threads, "B/s", 34e9, &[("way", "load"), ("threads", "2"), ("pages", "4K")]),
            measured(Experiment::Cache, "second", 1e-9, &[("level", "L1"), ("pages", "4K")]),
        ];
        let shares = shares(&limits, Rate::Bytes(12.07e9));
        let named: Vec<(&str, f64)> = shares.iter().map(|share| (share.of.as_str(), share.share)).collect();
        assert_eq!(named, [("DRAM load, 4K pages", 0.71), ("DRAM load, 2 threads, 4K pages", 0.355)]);
    }

    #[test]
    fn stores_of_zeros_are_a_limit_under_their_own_name_and_loads_of_them_none() {
        let of = |way: &'static str, contents: &'static str, rate: f64| {
            let facts = [("way", way), ("contents", contents), ("level", "DRAM"), ("pages", "4K")];
            measured(Experiment::Contents, "B/s", rate, &facts)
        };
        let limits = [of("NT store", "zeros", 95e9), of("NT store", "noise", 42e9), of("load", "zeros", 40e9)];
        let shares = shares(&limits, Rate::Bytes(95e9));
        assert_eq!(shares.len(), 1, "{shares:?}");
        assert_eq!((shares[0].of.as_str(), shares[0].share), ("DRAM NT store of zeros, 4K pages", 1.0));
    }

    #[test]
    fn the_reference_is_what_memory_loads_and_nothing_stands_in_for_it() {
        let of = |way: &'static str| {
            measured(Experiment::Bandwidth, "B/s", 2e10, &[("way", way), ("level", "DRAM"), ("pages", "4K")])
        };
        let rate = Rate::Bytes(1e10);
        let all = shares(&[of("store"), of("load")], rate);
        assert_eq!(reference(&all, rate).map(|share| share.of.as_str()), Some("DRAM load, 4K pages"));
        assert_eq!(reference(&all[..1], rate), None);
        assert_eq!(reference(&all, Rate::Operations(1.0)), None);
    }

    #[test]
    fn operations_are_a_share_of_what_a_second_holds() {
        let port = |question: &str| {
            [("instruction", "add r, r"), ("question", question)].map(|(a, b)| (a.to_owned(), b.to_owned()))
        };
        let limits = [
            Measured {
                facts: port("a cycle").into_iter().collect(),
                ..measured(Experiment::Ports, "instructions/cycle", 4.0, &[])
            },
            Measured {
                facts: port("cycles each").into_iter().collect(),
                ..measured(Experiment::Ports, "cycles", 3.0, &[])
            },
            measured(Experiment::Cache, "second", 1e-7, &[("level", "DRAM"), ("pages", "4K")]),
        ];
        let limit = |place: usize| shares(&limits, Rate::Operations(6e9))[place].clone();
        assert_eq!((limit(0).of.as_str(), limit(0).limit, limit(0).share), ("add r, r, side by side", 12e9, 0.5));
        assert_eq!((limit(1).limit, limit(2).limit.round()), (1e9, 1e7));
    }
}
