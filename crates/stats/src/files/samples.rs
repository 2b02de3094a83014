//! The samples file: pyperf's JSON, version 1.0, with a `prony` key at three places.
//!
//! `docs/formats/samples.md` draws it. What pyperf knows stands where pyperf looks for it, so that it
//! reads our files; what it does not know (machine, build, what each run cost besides its time)
//! stands under `prony`, which it passes over.
//!
//! In memory nothing is inherited: a benchmark holds the metadata that all of its runs share, a run
//! only what is its own. Encoding moves what all benchmarks share to the root, as pyperf does.
#![deny(clippy::indexing_slicing)]

mod check;
mod error;
mod json;
mod metadata;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::describe::quantile::median;
use crate::files::memory;
use crate::metric::Metric;

pub use error::SamplesError;
pub(crate) use error::shown;
pub(crate) use json::from_json;
pub use metadata::{Metadata, MetadataValue, one_line};

/// Longest samples file that is read or written, in bytes. See [`memory`] for what reading one
/// may take; twenty thousand frames a replay, two hundred times, take a third of this length.
pub const MOST_BYTES: usize = 128 << 20;

/// The version of what stands under `prony`; a reader refuses a newer one.
pub const PRONY_VERSION: u64 = 1;

/// Metadata of a run: a number that all runs of one process share, where a process made several runs, as
/// the benchmarks of other tools do.
pub const PROCESS: &str = "process";

/// Metadata of a benchmark: bytes that each run moves, or each loop of one.
pub const BYTES: &str = "bytes_a_run";
/// Metadata of a benchmark: operations of each run, or of each loop of one.
pub const OPERATIONS: &str = "operations_a_run";
/// Metadata of a benchmark: items that each run processes, or each loop of one.
pub const ITEMS: &str = "items_a_run";

/// All measurements of one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Benchmarks, at least one; their names differ.
    pub benchmarks: Vec<Benchmark>,
    /// Circumstances of the measurement; `None` for another tool's.
    pub circumstances: Option<Circumstances>,
}

/// Benchmark: one measured thing with all its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Benchmark {
    /// Name: one line, not empty.
    pub name: String,
    /// Unit of all values and warm-ups.
    pub unit: Unit,
    /// Inner repetitions of the code under test; at least 1.
    pub inner_loops: u64,
    /// Metadata common to all runs. `name`, `unit`, `inner_loops` and `loops` are fields, not entries.
    pub metadata: Metadata,
    /// Runs, at least one, in their order.
    pub runs: Vec<Run>,
    /// Facts about the command: executable, arguments, files.
    pub subject: Option<Subject>,
}

/// Values of one process, warm-ups included.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Number of loops per value; at least 1.
    pub loops: u64,
    /// Values that were measured first and do not count.
    pub warmups: Vec<Warmup>,
    /// Values above zero, each for one inner loop. Empty when the run only calibrated or warmed up.
    pub values: Vec<f64>,
    /// Metadata of this run that not all runs share.
    pub metadata: Metadata,
    /// Other measurements of the run.
    /// In memory of its own: most runs of other tools have none.
    pub measured: Option<Box<Measured>>,
}

/// Discarded value of a warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warmup {
    /// Number of loops; at least 1.
    pub loops: u64,
    /// Value for one inner loop; not negative.
    pub value: f64,
}

/// Unit of the values of a benchmark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    /// Times in seconds (pyperf's `second`).
    #[default]
    Second,
    /// Sizes in bytes (pyperf's `byte`).
    Byte,
    /// A plain number, or a unit that pyperf does not know: see [`Subject::unit`].
    Integer,
}

/// The version of what stands under `prony`: always the one that this reader knows, [`PRONY_VERSION`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PronyVersion;

/// Circumstances of the measurement of a whole file: `prony` at the root.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Circumstances {
    /// Version of prony's additions to the format.
    pub version: PronyVersion,
    /// Version of the prony that measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prony_version: String,
    /// Facts about the machine, as `machine show --json` prints them.
    #[serde(default, skip_serializing_if = "Value::is_null", deserialize_with = "json::facts")]
    pub machine: Value,
    /// Tuning of the machine while it was measured.
    #[serde(default, skip_serializing_if = "Value::is_null", deserialize_with = "json::facts")]
    pub tuning: Value,
    /// Runs with the same `pair` ran back to back when this is the same too. Made up again for each measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing: Option<String>,
    /// The time that the measurement was allowed; `None` when the number of pairs was set instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Least number of pairs before a verdict; 0 without one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pairs_min: u64,
    /// Greatest number of pairs, by which the looks are timed beside `budget_s`; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs_max: Option<u64>,
    /// The one metric that was judged; `None` when that was what the user waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// Completion times of all pairs, in seconds since the start, in order. A later comparison must use the same looks;
    /// otherwise the rate of false alarms differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "memory::list")]
    pub pairs_done_s: Vec<f64>,
    /// Frames of replays that are judged, as the first one and the number of each run of consecutive entries of
    /// [`Measured::frame_ns`]; empty if all of them are.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "memory::list")]
    pub judged_frames: Vec<[u64; 2]>,
    /// Warnings that the reader should know before trusting the numbers, including failed runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "memory::list")]
    pub warnings: Vec<String>,
}

/// Facts about a measured command: `prony` in a benchmark.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The command and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "memory::list")]
    pub command: Vec<String>,
    /// Facts about the executable, such as its build id.
    #[serde(default, skip_serializing_if = "Value::is_null", deserialize_with = "json::facts")]
    pub build: Value,
    /// Metric of the values: `wall` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Unit of the values, such as `requests/s`, if pyperf has no such unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Direction of improvement of the values.
    #[serde(default, skip_serializing_if = "Better::is_lower")]
    pub better: Better,
    /// Parameter values substituted into the command.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "memory::map")]
    pub parameters: BTreeMap<String, String>,
    /// Circumstances of this benchmark and of those compared with it, where a file holds several measurements; they take
    /// the place of those of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurement: Option<Measurement>,
}

/// One of several measurements in a file, such as of one demo: see [`Circumstances`] for each field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the measurement, such as of its demo.
    pub name: String,
    /// Runs with the same `pair` ran back to back when this is the same too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing: Option<String>,
    /// Time limit in seconds; `None` when the number of pairs was set instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Completion times of all pairs, in seconds since the start of this measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "memory::list")]
    pub pairs_done_s: Vec<f64>,
    /// Frames of replays that are judged, as the first one and the number of each run of consecutive entries of
    /// [`Measured::frame_ns`]; empty if all of them are.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "memory::list")]
    pub judged_frames: Vec<[u64; 2]>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Direction in which values are better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Lower values are better, as of times.
    #[default]
    Lower,
    /// Higher values are better, as of rates.
    Higher,
}

/// Measurements of a run: `prony` in a run. Values that were not measured are `None`.
// One field for each key of the format: with `serde(flatten)`, unknown keys would be held in memory that no account
// covers, and errors would not name their place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The number of its pair: one run of each benchmark, back to back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<u64>,
    /// Position in the pair: 0 ran first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// Wall time from start to end, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// CPU time, user and system together, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Wall time without the time that the run was ready to run and waited for a CPU.
    #[serde(default, alias = "net_s", skip_serializing_if = "Option::is_none")]
    pub uncontended_s: Option<f64>,
    /// Ready to run, waiting for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<f64>,
    /// CPU time in user mode, as the kernel's ticks sampled it, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_s: Option<f64>,
    /// CPU time in the kernel, as its ticks sampled it, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_s: Option<f64>,
    /// Number of page faults, minor and major.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
    /// Number of context switches, voluntary and not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
    /// Moves from one CPU to another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// The most memory that was resident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// Bytes allocated per loop, as some tools count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes: Option<f64>,
    /// Number of allocations per loop, as some tools count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocations: Option<f64>,
    /// Exit code of the process; 128 + N for signal N.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Hardware counters, by their name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "memory::map")]
    pub counters: BTreeMap<String, u64>,
    /// A replay: how long each frame took.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "memory::list")]
    pub frame_ns: Vec<u64>,
}

/// Page faults of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Faults that were served from memory.
    pub minor: u64,
    /// Faults that waited for a disk.
    pub major: u64,
}

/// Context switches of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// Switches because the task waited for something.
    pub voluntary: u64,
    /// Switches because the task was made to yield.
    pub involuntary: u64,
}

impl Samples {
    /// Notes how much a run is, so that a file says it too: bytes, operations, items.
    pub fn set_amounts(&mut self, bytes: Option<f64>, operations: Option<f64>, items: Option<f64>) {
        for (name, amount) in [(BYTES, bytes), (OPERATIONS, operations), (ITEMS, items)] {
            let Some(number) = amount.and_then(serde_json::Number::from_f64) else { continue };
            for benchmark in &mut self.benchmarks {
                benchmark.metadata.insert(name.to_owned(), MetadataValue::Number(number.clone()));
            }
        }
    }

    /// Reads a samples file of version 1.0, with or without what prony adds.
    ///
    /// # Errors
    /// What is wrong and where: the path inside the JSON, what was expected and what found.
    pub fn decode(bytes: &[u8]) -> Result<Samples, SamplesError> {
        json::decode(bytes)
    }

    /// Content of a samples file. `decode` gives back an equal value.
    ///
    /// # Errors
    /// When pyperf would not read it: the rule of the format that is broken, and where.
    pub fn encode(&self) -> Result<Vec<u8>, SamplesError> {
        json::encode(self)
    }

    /// Checks the rules of the format without writing anything.
    ///
    /// # Errors
    /// The rule that is broken, and where.
    pub fn check(&self) -> Result<(), SamplesError> {
        check::check(self)
    }

    /// The benchmark of this name.
    pub fn benchmark(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks.iter().find(|benchmark| benchmark.name == name)
    }
}

impl Benchmark {
    /// Benchmark without runs yet, in seconds. `name` is made one line, see [`one_line`].
    pub fn new(name: &str) -> Benchmark {
        Benchmark {
            name: one_line(name),
            unit: Unit::Second,
            inner_loops: 1,
            metadata: Metadata::new(),
            runs: Vec::new(),
            subject: None,
        }
    }

    /// What is typical: the median of the medians of its processes, of whose differences a comparison speaks; of only one process the
    /// median of its values. `None` without values.
    pub fn centre(&self) -> Option<f64> {
        let medians: Vec<f64> = self.clusters().iter().filter_map(|values| median(values)).collect();
        median(&medians)
    }

    /// All values, in the order in which they were measured; those of one process are one cluster.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.runs.iter().flat_map(|run| run.values.iter().copied())
    }

    /// The values of each process, in the order in which the processes ran; see [`PROCESS`].
    pub fn clusters(&self) -> Vec<Vec<f64>> {
        let mut clusters: Vec<Vec<f64>> = Vec::new();
        let mut last = None;
        for run in self.runs.iter().filter(|run| !run.values.is_empty()) {
            let process = run.metadata.get(PROCESS).or_else(|| self.metadata.get(PROCESS));
            match clusters.last_mut() {
                Some(cluster) if process.is_some() && process == last => cluster.extend(&run.values),
                _ => clusters.push(run.values.clone()),
            }
            last = process;
        }
        clusters
    }

    /// Unit of the values: `second`, `byte`, or the unit that the command gave.
    pub fn unit_name(&self) -> &str {
        self.subject.as_ref().and_then(|subject| subject.unit.as_deref()).unwrap_or(self.unit.name())
    }

    /// Metric of the values: `wall` unless the command said otherwise.
    pub fn metric(&self) -> &str {
        let name = self.subject.as_ref().and_then(|subject| subject.metric.as_deref()).unwrap_or("wall");
        // Limits have an experiment of the name that a time had once; it counts datagrams.
        if self.unit_name() == "second" { Metric::name_in_use(name) } else { name }
    }

    /// Copy of the runs with this metric as their value; runs in which it was not measured are left out. Numbers of
    /// allocations may be 0, which is no value in a file.
    ///
    /// Times that were measured are of whole runs. As values are of one loop, they are divided by the number of loops, which tools
    /// choose again in each run.
    #[must_use]
    pub fn by(&self, metric: Metric) -> Benchmark {
        if self.metric() == metric.name() {
            return self.clone();
        }
        let run = |run: &Run| {
            let value = run.measured.as_ref()?.value(metric).filter(|_| !run.values.is_empty())?;
            let counts = matches!(metric, Metric::AllocatedBytes | Metric::Allocations);
            let is_of_run = matches!(metric, Metric::Wall | Metric::Cpu | Metric::Uncontended);
            let loops = run.loops as f64 * self.inner_loops as f64 * (run.warmups.len() + run.values.len()) as f64;
            let value = if is_of_run { value / loops } else { value };
            let usable = value > 0.0 || (counts && value == 0.0);
            usable.then(|| Run { warmups: Vec::new(), values: vec![value], ..run.clone() })
        };
        let subject = self.subject.clone().unwrap_or_default();
        let named = Unit::from_name(metric.unit()).is_none().then(|| metric.unit().to_owned());
        Benchmark {
            unit: Unit::from_name(metric.unit()).unwrap_or(Unit::Integer),
            runs: self.runs.iter().filter_map(run).collect(),
            subject: Some(Subject {
                metric: (metric != Metric::Wall).then(|| metric.name().to_owned()),
                unit: named,
                better: Better::Lower,
                ..subject
            }),
            ..self.clone()
        }
    }

    /// Direction of improvement of the values.
    pub fn better(&self) -> Better {
        self.subject.as_ref().map_or(Better::Lower, |subject| subject.better)
    }
}

impl Run {
    /// A process of which one value counts.
    pub fn of(value: f64) -> Run {
        Run { loops: 1, warmups: Vec::new(), values: vec![value], metadata: Metadata::new(), measured: None }
    }
}

impl Measured {
    /// Value of this metric in its unit, seconds or bytes; `None` if it was not measured.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Cpu => self.cpu_s,
            Metric::Uncontended => self.uncontended_s,
            Metric::Wall => self.wall_s,
            Metric::Rss => self.peak_rss_bytes.map(|bytes| bytes as f64),
            Metric::AllocatedBytes => self.allocated_bytes,
            Metric::Allocations => self.allocations,
        }
    }
}

impl Unit {
    /// pyperf's word for it: `second`, `byte` or `integer`.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Second => "second",
            Unit::Byte => "byte",
            Unit::Integer => "integer",
        }
    }

    /// Unit for pyperf's word; `None` if unknown.
    pub fn from_name(name: &str) -> Option<Unit> {
        [Unit::Second, Unit::Byte, Unit::Integer].into_iter().find(|unit| unit.name() == name)
    }
}

impl Better {
    fn is_lower(&self) -> bool {
        *self == Better::Lower
    }
}

#[cfg(test)]
mod tests;
