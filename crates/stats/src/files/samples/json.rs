//! Samples as JSON and back.
#![deny(clippy::indexing_slicing)]

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::{SamplesError, in_json_words, shown};
use super::metadata::{Metadata, MetadataValue};
use super::{
    Benchmark, Circumstances, MOST_BYTES, Measured, PRONY_VERSION, PronyVersion, Run, Samples, Subject, Unit, Warmup,
    check,
};
use crate::files::memory::{self, Owns};

/// Longest JSON of the facts of a machine, a tuning or a build: they are kept as a tree, which takes
/// up to a hundred times the text.
const MOST_FACTS_BYTES: usize = 1 << 20;

/// pyperf's name for the version of its format, since pyperf 1.0.
const VERSION: &str = "1.0";

#[derive(Deserialize)]
struct FileIn {
    version: Version,
    #[serde(deserialize_with = "memory::list")]
    benchmarks: Vec<BenchmarkIn>,
    #[serde(default, deserialize_with = "memory::optional_map")]
    metadata: Option<Metadata>,
    #[serde(default)]
    prony: Option<Circumstances>,
}

#[derive(Deserialize)]
struct BenchmarkIn {
    #[serde(deserialize_with = "memory::list")]
    runs: Vec<Run>,
    #[serde(default, deserialize_with = "memory::map")]
    metadata: Metadata,
    #[serde(default)]
    prony: Option<Subject>,
}

#[derive(Deserialize)]
struct RunIn {
    #[serde(default, deserialize_with = "memory::list")]
    values: Vec<f64>,
    #[serde(default, deserialize_with = "memory::optional_list")]
    warmups: Option<Vec<Warmup>>,
    #[serde(default, deserialize_with = "memory::map")]
    metadata: Metadata,
    #[serde(default)]
    prony: Option<Measured>,
}

impl Owns for BenchmarkIn {}
impl Owns for Run {}
impl Owns for Warmup {}

/// A run as it is read: what its metadata say of `loops` is moved to the field when its benchmark is read.
impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Run, D::Error> {
        let read = RunIn::deserialize(deserializer)?;
        let warmups = read.warmups.unwrap_or_default();
        // The first one ends the reading, as three bytes of it take a hundred.
        if read.values.is_empty() && warmups.is_empty() {
            return Err(D::Error::custom("expected a value or a warm-up, found none"));
        }
        if read.prony.is_some() {
            memory::charge_boxed::<Measured, _>()?;
        }
        let measured = read.prony.map(Box::new);
        Ok(Run { loops: 1, warmups, values: read.values, metadata: read.metadata, measured })
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Warmup, D::Error> {
        <(u64, f64)>::deserialize(deserializer).map(|(loops, value)| Warmup { loops, value })
    }
}

/// The text of a version, whatever it is.
#[derive(Default)]
struct Version(String);

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Version(shown(raw.get())))
    }
}

impl Version {
    fn is_known(&self) -> bool {
        serde_json::from_str::<String>(&self.0).is_ok_and(|version| version == VERSION)
    }
}

/// Versions, read separately when a file is not as expected: a version may be the reason.
#[derive(Deserialize)]
struct Versions {
    #[serde(default)]
    version: Option<Version>,
    #[serde(default)]
    prony: Option<VersionOfProny>,
}

#[derive(Deserialize)]
struct VersionOfProny {
    #[serde(default)]
    version: Option<u64>,
}

#[derive(Serialize)]
struct FileOut<'a> {
    version: &'static str,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    prony: Option<&'a Circumstances>,
    benchmarks: Vec<BenchmarkOut<'a>>,
}

#[derive(Serialize)]
struct BenchmarkOut<'a> {
    metadata: Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    prony: Option<&'a Subject>,
    runs: Vec<RunOut<'a>>,
}

#[derive(Serialize)]
struct RunOut<'a> {
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    prony: Option<&'a Measured>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warmups: Vec<(u64, f64)>,
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    values: &'a [f64],
}

/// Parses a samples file; see [`Samples::decode`].
pub(super) fn decode(bytes: &[u8]) -> Result<Samples, SamplesError> {
    memory::accounted(bytes.len(), || decode_charged(bytes))
}

fn decode_charged(bytes: &[u8]) -> Result<Samples, SamplesError> {
    let file: FileIn = from_json(bytes).map_err(|error| version_problem(bytes).unwrap_or(error))?;
    if !file.version.is_known() {
        return Err(SamplesError::Version { found: file.version.0 });
    }
    let root = file.metadata.unwrap_or_default();
    let shared = check::budget(file.benchmarks.len(), &root)? + memory::map_bytes::<MetadataValue>(root.len());
    memory::charge(file.benchmarks.len().saturating_mul(shared))?;
    memory::charge_list::<Benchmark>(file.benchmarks.len())?;
    let benchmarks = file.benchmarks.into_iter().enumerate();
    let benchmarks = benchmarks.map(|(index, benchmark)| self::benchmark(index, benchmark, &root));
    let samples = Samples { benchmarks: benchmarks.collect::<Result<_, _>>()?, circumstances: file.prony };
    check::check(&samples)?;
    Ok(samples)
}

/// Reads JSON within the budget; an error names the place in it.
pub(crate) fn from_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, SamplesError> {
    if bytes.len() > MOST_BYTES {
        return Err(SamplesError::TooLong { most: MOST_BYTES, found: bytes.len() });
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        if let Some(exceeded) = memory::exceeded() {
            let read = offset(bytes, error.inner().line(), error.inner().column());
            return exceeded.after(read, bytes.len()).into();
        }
        let path = match error.path().to_string() {
            root if root == "." || root == "?" => String::new(),
            path => shown(&path),
        };
        SamplesError::Json { path, problem: shown(&in_json_words(&error.inner().to_string())) }
    })?;
    json.end().map_err(|error| SamplesError::Json { path: String::new(), problem: shown(&error.to_string()) })?;
    Ok(value)
}

/// The byte at a line and a column, from 1.
fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').take(line.saturating_sub(1));
    lines.map(<[u8]>::len).sum::<usize>().saturating_add(column).min(bytes.len())
}

fn version_problem(bytes: &[u8]) -> Option<SamplesError> {
    let versions: Versions = serde_json::from_slice(bytes).ok()?;
    if let Some(version) = versions.version.filter(|version| !version.is_known()) {
        return Some(SamplesError::Version { found: version.0 });
    }
    let found = versions.prony?.version.filter(|&found| found > PRONY_VERSION)?;
    Some(SamplesError::PronyVersion { found, supported: PRONY_VERSION })
}

/// Gathers what pyperf spreads over three places: metadata of a run counts before those of its
/// benchmark, and these before those of the file.
fn benchmark(index: usize, read: BenchmarkIn, root: &Metadata) -> Result<Benchmark, SamplesError> {
    let mut shared = root.clone();
    shared.extend(read.metadata);
    let [mut name, mut unit, mut inner_loops] =
        ["name", "unit", "inner_loops"].map(|key| OneForAll::new(key, &mut shared));
    let shared_loops = shared.remove("loops");
    let mut runs = read.runs;
    for (place, run) in runs.iter_mut().enumerate() {
        let path = || format!("benchmarks[{index}].runs[{place}].metadata");
        for field in [&mut name, &mut unit, &mut inner_loops] {
            field.add(&path, &mut run.metadata)?;
        }
        run.loops = count(&path, "loops", run.metadata.remove("loops").as_ref().or(shared_loops.as_ref()))?;
    }
    let path = || format!("benchmarks[{index}].metadata");
    let unit = match &unit.value {
        None => Unit::Second,
        Some(value) => match value {
            MetadataValue::Text(name) => Unit::from_name(name),
            _ => None,
        }
        .ok_or_else(|| wrong(&path, "unit", "`second`, `byte` or `integer`", value))?,
    };
    let name = match name.value {
        Some(MetadataValue::Text(name)) => name,
        Some(other) => return Err(wrong(&path, "name", "a text", &other)),
        // Without runs there is no name either; the missing runs are the better message.
        None if runs.is_empty() => String::new(),
        None => {
            let path = format!("{}.name", path());
            return Err(SamplesError::Rule { path, expected: "a name", found: "nothing".to_owned() });
        }
    };
    let inner_loops = count(&path, "inner_loops", inner_loops.value.as_ref())?;
    Ok(Benchmark { name, unit, inner_loops, metadata: shared, runs, subject: read.prony })
}

/// A value that all runs of a benchmark must agree on: `Benchmark.add_run` of pyperf refuses others.
struct OneForAll {
    key: &'static str,
    /// Value that applies to a run without its own.
    shared: Option<MetadataValue>,
    /// Value of the first run.
    value: Option<MetadataValue>,
    /// True if the first run has no value of its own, or the same.
    is_shared: bool,
    first: bool,
}

impl OneForAll {
    fn new(key: &'static str, shared: &mut Metadata) -> OneForAll {
        let shared = shared.remove(key);
        OneForAll { key, value: shared.clone(), shared, is_shared: true, first: true }
    }

    /// Looks at what a run says itself. Takes time by that only, however long the shared value is.
    fn add(&mut self, path: &dyn Fn() -> String, metadata: &mut Metadata) -> Result<(), SamplesError> {
        let own = metadata.remove(self.key);
        if self.first {
            self.first = false;
            if own.is_some() {
                self.is_shared = own == self.shared;
                self.value = own;
            }
            return Ok(());
        }
        if own.as_ref().map_or(self.is_shared, |own| Some(own) == self.value.as_ref()) {
            return Ok(());
        }
        let found =
            own.map_or_else(|| "another".to_owned(), |own| shown(&serde_json::to_string(&own).unwrap_or_default()));
        let path = format!("{}.{}", path(), self.key);
        Err(SamplesError::Rule { path, expected: "the same as in the first run", found })
    }
}

fn count(path: &dyn Fn() -> String, key: &str, found: Option<&MetadataValue>) -> Result<u64, SamplesError> {
    match found {
        None => Ok(1),
        Some(value) => match value {
            MetadataValue::Number(number) => number.as_u64().filter(|&number| number > 0),
            _ => None,
        }
        .ok_or_else(|| wrong(path, key, "a whole number of loops, at least 1", value)),
    }
}

fn wrong(path: &dyn Fn() -> String, key: &str, expected: &'static str, found: &MetadataValue) -> SamplesError {
    let found = shown(&serde_json::to_string(found).unwrap_or_default());
    SamplesError::Rule { path: format!("{}.{key}", path()), expected, found }
}

/// Writes a samples file; see [`Samples::encode`].
pub(super) fn encode(samples: &Samples) -> Result<Vec<u8>, SamplesError> {
    check::check(samples)?;
    let common = common(&samples.benchmarks);
    let file = FileOut {
        version: VERSION,
        prony: samples.circumstances.as_ref(),
        benchmarks: samples.benchmarks.iter().map(|benchmark| benchmark_out(benchmark, &common)).collect(),
        metadata: common,
    };
    let mut bytes = serde_json::to_vec(&file)
        .map_err(|error| SamplesError::Json { path: String::new(), problem: error.to_string() })?;
    bytes.push(b'\n');
    if bytes.len() > MOST_BYTES {
        return Err(SamplesError::TooLong { most: MOST_BYTES, found: bytes.len() });
    }
    Ok(bytes)
}

/// Metadata that all benchmarks share.
fn common(benchmarks: &[Benchmark]) -> Metadata {
    let Some((first, others)) = benchmarks.split_first() else { return Metadata::new() };
    let mut common = first.metadata.clone();
    common.retain(|key, value| others.iter().all(|other| other.metadata.get(key) == Some(value)));
    if check::budget(benchmarks.len(), &common).is_ok() { common } else { Metadata::new() }
}

fn benchmark_out<'a>(benchmark: &'a Benchmark, common: &Metadata) -> BenchmarkOut<'a> {
    let mut metadata = benchmark.metadata.clone();
    metadata.retain(|key, _| !common.contains_key(key));
    metadata.insert("name".to_owned(), MetadataValue::Text(benchmark.name.clone()));
    metadata.insert("unit".to_owned(), MetadataValue::Text(benchmark.unit.name().to_owned()));
    if benchmark.inner_loops != 1 {
        metadata.insert("inner_loops".to_owned(), benchmark.inner_loops.into());
    }
    // Calibrated loops are the same in nearly all runs.
    let loops = benchmark.runs.first().map_or(1, |run| run.loops);
    let shared_loops = benchmark.runs.iter().all(|run| run.loops == loops);
    if shared_loops && loops != 1 {
        metadata.insert("loops".to_owned(), loops.into());
    }
    let runs = benchmark.runs.iter().map(|run| {
        let mut metadata = run.metadata.clone();
        if !shared_loops {
            metadata.insert("loops".to_owned(), run.loops.into());
        }
        RunOut {
            metadata,
            prony: run.measured.as_deref(),
            warmups: run.warmups.iter().map(|warmup| (warmup.loops, warmup.value)).collect(),
            values: &run.values,
        }
    });
    BenchmarkOut { runs: runs.collect(), metadata, prony: benchmark.subject.as_ref() }
}

/// Reads facts within their budget.
pub(super) fn facts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    if raw.get().len() > MOST_FACTS_BYTES {
        let found = raw.get().len();
        return Err(D::Error::custom(format!("length expected at most {MOST_FACTS_BYTES} bytes, found {found}")));
    }
    memory::charge_tree(raw.get())?;
    serde_json::from_str(raw.get()).map_err(D::Error::custom)
}

impl Serialize for PronyVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(PRONY_VERSION)
    }
}

impl<'de> Deserialize<'de> for PronyVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PronyVersion, D::Error> {
        match u64::deserialize(deserializer)? {
            1..=PRONY_VERSION => Ok(PronyVersion),
            found => Err(D::Error::custom(format!("expected at most {PRONY_VERSION}, found {found}"))),
        }
    }
}
