//! Results of the same study at several times, side by side: levels, workloads and machines are matched by name.

use std::collections::BTreeMap;

use prony_stats::effects::{Design, Factor, Observation};

use crate::effects::{better, done, observation};
use crate::results::{Metric, RandomFactor, Results, Role};

/// Error of joining studies that cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum JoinError {
    /// The studies have different metrics.
    #[error("expected the metric {}, found {}", described(expected), described(found))]
    Metric {
        /// Index of the study that differs.
        study: usize,
        /// Metric of the first study.
        expected: Box<Metric>,
        /// Metric of this study.
        found: Box<Metric>,
    },
    /// The studies have different factors.
    #[error("expected the factors {}, found {}", listed(expected), listed(found))]
    Factors {
        /// Index of the study that differs.
        study: usize,
        /// Names of the factors of the first study.
        expected: Vec<String>,
        /// Names of the factors of this study.
        found: Vec<String>,
    },
    /// The studies have different random factors, or other levels of them: a layout of one stands for none of the other.
    #[error("expected the random factors {}, found {}", described_random(expected), described_random(found))]
    Random {
        /// Index of the study that differs.
        study: usize,
        /// Random factors of the first study.
        expected: Vec<RandomFactor>,
        /// Random factors of this study.
        found: Vec<RandomFactor>,
    },
    /// No configuration has a value in both on the same machine and workload.
    #[error("expected a configuration with values on the same machine and workload, found none")]
    NothingInCommon {
        /// Index of the study that differs.
        study: usize,
    },
}

impl JoinError {
    /// Index of the study that does not fit to the first.
    pub fn study(&self) -> usize {
        match *self {
            JoinError::Metric { study, .. }
            | JoinError::Factors { study, .. }
            | JoinError::Random { study, .. }
            | JoinError::NothingInCommon { study } => study,
        }
    }
}

fn described(metric: &Metric) -> String {
    let normalised = metric.normalise.as_ref().map_or_else(String::new, |by| format!(" for {} {}", by.to, by.by));
    let better = format!("{:?} is better", metric.direction).to_lowercase();
    format!("`{}` in {}{normalised} ({better})", metric.name, metric.unit)
}

fn described_random(factors: &[RandomFactor]) -> String {
    let each = factors.iter().map(|factor| format!("`{}` ({})", factor.name, listed(&factor.levels)));
    match factors {
        [] => "none".to_owned(),
        _ => each.collect::<Vec<_>>().join(", "),
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Several studies as one design.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Joined {
    /// Design in which the study is the first factor, followed by the factors of the studies with all levels of any of
    /// them.
    pub design: Design,
    /// Names of the machines of any of them.
    pub machines: Vec<String>,
    /// Names of the workloads of any of them.
    pub workloads: Vec<String>,
}

impl Joined {
    /// # Errors
    /// [`JoinError`] when a study does not fit to the first.
    pub fn of(studies: &[&Results]) -> Result<Joined, JoinError> {
        let names = (0..studies.len()).map(|at| at.to_string()).collect();
        let mut joined = Joined {
            design: Design {
                factors: vec![Factor { name: "study".to_owned(), levels: names, sweep: true }],
                observations: Vec::new(),
                better: studies.first().map_or(prony_stats::samples::Better::Lower, |first| better(first)),
                comparable_workloads: false,
                shared_repeats: studies.iter().any(|study| !study.random.is_empty()),
            },
            machines: Vec::new(),
            workloads: Vec::new(),
        };
        let [first, ..] = studies else { return Ok(joined) };
        joined.design.factors.extend(first.factors.iter().map(|factor| Factor {
            name: factor.name.clone(),
            levels: Vec::new(),
            sweep: factor.numbers.is_some(),
        }));
        for (study, results) in studies.iter().enumerate() {
            joined.add(study, first, results)?;
        }
        Ok(joined)
    }

    fn add(&mut self, study: usize, first: &Results, results: &Results) -> Result<(), JoinError> {
        if results.metric != first.metric {
            let [expected, found] = [first, results].map(|results| Box::new(results.metric.clone()));
            return Err(JoinError::Metric { study, expected, found });
        }
        // Where each factor of this study stands in the first.
        let names =
            |results: &Results| -> Vec<String> { results.factors.iter().map(|factor| factor.name.clone()).collect() };
        if results.random != first.random {
            let [expected, found] = [first, results].map(|results| results.random.clone());
            return Err(JoinError::Random { study, expected, found });
        }
        let (expected, found) = (names(first), names(results));
        let places: Option<Vec<usize>> =
            expected.iter().map(|name| found.iter().position(|other| other == name)).collect();
        let Some(places) = places.filter(|places| places.len() == found.len()) else {
            return Err(JoinError::Factors { study, expected, found });
        };
        let levels: Vec<Vec<usize>> = places
            .iter()
            .enumerate()
            .map(|(at, &place)| {
                let known = &mut self.design.factors[at + 1].levels;
                results.factors[place].levels.iter().map(|level| number_of(known, level)).collect()
            })
            .collect();
        let workloads = results.workloads.iter().map(|workload| number_of(&mut self.workloads, &workload.name));
        let workloads: Vec<usize> = workloads.collect();
        let machines = results.machines.iter().map(|machine| number_of(&mut self.machines, &machine.name));
        let machines: Vec<usize> = machines.collect();
        self.design.observations.extend(done(results, Role::Measured).map(|(cell, value)| {
            let of_factors = places.iter().enumerate().map(|(at, &place)| levels[at][cell.levels[place]]);
            Observation {
                machine: machines[cell.machine],
                workload: workloads[cell.workload],
                levels: std::iter::once(study).chain(of_factors).collect(),
                ..observation(cell, value)
            }
        }));
        Ok(())
    }

    /// The observations of each configuration, in its order; the level of the study is left in.
    pub fn configurations(&self) -> BTreeMap<&[usize], Vec<&Observation>> {
        let mut configurations: BTreeMap<&[usize], Vec<&Observation>> = BTreeMap::new();
        for observation in &self.design.observations {
            configurations.entry(&observation.levels[1..]).or_default().push(observation);
        }
        configurations
    }

    /// `Engine=Opt Metamod=Stock`, without what never varies.
    pub fn describe(&self, configuration: &[usize]) -> Vec<(String, String)> {
        let factors = &self.design.factors[1..];
        let level = |(factor, &level): (&Factor, &usize)| (factor.name.clone(), factor.levels[level].clone());
        factors.iter().zip(configuration).map(level).collect()
    }
}

/// The place of a name, which is added when it is new.
fn number_of(known: &mut Vec<String>, name: &str) -> usize {
    known.iter().position(|other| other == name).unwrap_or_else(|| {
        known.push(name.to_owned());
        known.len() - 1
    })
}
