//! Files of other tools as samples. One parser a file; the content selects it.
//!
//! A value keeps what its tool says of it: seconds, loops, exit code, processor time, memory. What has no
//! place among samples (summaries, rates that follow from times) is left out and named in a note.
#![deny(clippy::indexing_slicing)]

pub mod criterion;
pub mod go_bench;
pub mod google_benchmark;
pub mod hyperfine;
pub mod jmh;
pub mod pytest;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::files::memory::{self, Exceeded};
use crate::files::samples::{
    Benchmark, Measured, Metadata, MetadataValue, Run, Samples, SamplesError, from_json, one_line, shown,
};

/// Imported samples, and notes about skipped parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// Format of the file, as it was recognised.
    pub format: Format,
    /// Samples with the values of the file.
    pub samples: Samples,
    /// Notes about skipped or suspicious parts, one sentence each.
    pub notes: Vec<String>,
}

/// Formats that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Samples file of prony or pyperf.
    Samples,
    /// hyperfine, with `--export-json`, version 1 or 2.
    Hyperfine,
    /// JSON of Google Benchmark, from `--benchmark_format=json`.
    GoogleBenchmark,
    /// Text that `go test -bench` prints.
    GoBench,
    /// criterion: the files of one or several benchmarks.
    Criterion,
    /// pytest-benchmark, with `--benchmark-json`.
    PytestBenchmark,
    /// JMH, with `-rf json`.
    Jmh,
}

/// A file that was read.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Path of the file as given.
    pub name: String,
    /// Format in which the file was written.
    pub format: Format,
    /// Samples that the file holds.
    pub samples: Samples,
}

/// Beginning of a file of an unknown format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// The file has no content.
    Nothing,
    /// A JSON object without the keys of a known format.
    OtherObject,
    /// Text, as a JSON string.
    Text(String),
}

impl fmt::Display for Beginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Beginning::Nothing => f.write_str("nothing"),
            Beginning::OtherObject => f.write_str("a JSON object without their keys"),
            Beginning::Text(text) => f.write_str(text),
        }
    }
}

/// Reasons why a file could not be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No format that is known.
    #[error(
        "expected samples of prony or pyperf, JSON of hyperfine, Google Benchmark, pytest-benchmark or JMH, or text of `go test -bench`, found {found}"
    )]
    Unknown {
        /// Beginning of the content, which no known format has.
        found: Beginning,
    },
    /// It is packed and cannot be unpacked.
    #[error("expected samples, found {0}")]
    Packed(String),
    /// The JSON is not as its format wants it.
    #[error(transparent)]
    Samples(#[from] SamplesError),
    /// A line of text is not as its format wants it.
    #[error("line {line}: expected {expected}, found {found}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Expected item, for the message.
        expected: &'static str,
        /// Item that was found instead.
        found: String,
    },
    /// The file is sound and holds nothing to compare.
    #[error("expected at least one time of a run, found {found}")]
    NoTimes {
        /// Item that was found instead.
        found: String,
    },
}

impl Format {
    /// Name of the tool for people.
    pub fn name(self) -> &'static str {
        match self {
            Format::Samples => "pyperf",
            Format::Hyperfine => "hyperfine",
            Format::GoogleBenchmark => "Google Benchmark",
            Format::GoBench => "go test",
            Format::Criterion => "criterion",
            Format::PytestBenchmark => "pytest-benchmark",
            Format::Jmh => "JMH",
        }
    }
}

/// The keys by which JSON files are distinguished.
#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    version: Option<IgnoredAny>,
    #[serde(default)]
    benchmarks: Option<IgnoredAny>,
    #[serde(default)]
    context: Option<IgnoredAny>,
    #[serde(default)]
    results: Option<IgnoredAny>,
    #[serde(default)]
    machine_info: Option<IgnoredAny>,
}

/// Says who wrote a file.
///
/// # Errors
/// When it is broken JSON, or of no format that is known.
pub fn detect(bytes: &[u8]) -> Result<Format, ImportError> {
    let start = bytes.trim_ascii_start();
    if go_bench::is_go_json(bytes) {
        return Ok(Format::GoBench);
    }
    if start.first() == Some(&b'{') {
        let keys: Keys = from_json(bytes)?;
        return match keys {
            Keys { results: Some(_), .. } => Ok(Format::Hyperfine),
            Keys { context: Some(_), benchmarks: Some(_), .. } => Ok(Format::GoogleBenchmark),
            Keys { machine_info: Some(_), benchmarks: Some(_), .. } => Ok(Format::PytestBenchmark),
            Keys { version: Some(_), .. } | Keys { benchmarks: Some(_), .. } => Ok(Format::Samples),
            _ => Err(ImportError::Unknown { found: Beginning::OtherObject }),
        };
    }
    if start.first() == Some(&b'[') && jmh::is_jmh(start) {
        return Ok(Format::Jmh);
    }
    if std::str::from_utf8(bytes).is_ok_and(go_bench::is_go_bench) {
        return Ok(Format::GoBench);
    }
    Err(ImportError::Unknown {
        found: match start {
            [] => Beginning::Nothing,
            _ => {
                let beginning = String::from_utf8_lossy(start.get(..40).unwrap_or(start)).into_owned();
                Beginning::Text(Value::from(one_line(&beginning)).to_string())
            }
        },
    })
}

/// Reads a file of any of the formats.
///
/// # Errors
/// What is wrong and where.
pub fn import(bytes: &[u8]) -> Result<Import, ImportError> {
    memory::accounted(bytes.len(), || import_charged(bytes))
}

fn import_charged(bytes: &[u8]) -> Result<Import, ImportError> {
    if bytes.starts_with(GZIP) {
        return import_charged(&unpacked(bytes)?);
    }
    if let Some(text) = utf8(bytes) {
        memory::charge(text.len()).map_err(SamplesError::from)?;
        return import_charged(text.as_bytes());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let format = match detect(bytes) {
        Err(ImportError::Samples(error)) => {
            let mended = google_benchmark::without_odd_numbers(bytes).ok_or(error)?;
            memory::charge(mended.len()).map_err(SamplesError::from)?;
            return import_charged(&mended);
        }
        found => found?,
    };
    match format {
        Format::Hyperfine => hyperfine::import(bytes),
        Format::GoogleBenchmark => google_benchmark::import(bytes),
        Format::GoBench => go_bench::import(bytes),
        Format::PytestBenchmark => pytest::import(bytes),
        Format::Jmh => jmh::import(bytes),
        // A directory has no single file; its samples are read by `criterion::import`.
        Format::Criterion | Format::Samples => {
            Ok(Import { format: Format::Samples, samples: Samples::decode(bytes)?, notes: Vec::new() })
        }
    }
}

/// The first bytes of a file that gzip has packed (RFC 1952), as pyperf writes those whose names end in `.gz`.
const GZIP: &[u8] = b"\x1f\x8b";

/// The content of a packed file, as far as it fits into the memory that reading it may take.
fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, ImportError> {
    /// Bytes that are unpacked at once.
    const STEP: usize = 64 << 10;
    let mut from = flate2::read::MultiGzDecoder::new(bytes);
    let mut content = Vec::new();
    loop {
        memory::charge(STEP).map_err(SamplesError::from)?;
        let read = from.by_ref().take(STEP as u64).read_to_end(&mut content);
        match read {
            Ok(0) if content.starts_with(GZIP) => {
                return Err(ImportError::Packed("a gzip archive in another one".to_owned()));
            }
            Ok(0) => return Ok(content),
            Ok(_) => {}
            Err(error) => return Err(ImportError::Packed(format!("a gzip archive that cannot be unpacked: {error}"))),
        }
    }
}

/// A file in UTF-16, as Windows shells write the output of a program; `None` for others.
fn utf8(bytes: &[u8]) -> Option<String> {
    let units =
        |of: fn([u8; 2]) -> u16, rest: &[u8]| -> Vec<u16> { rest.as_chunks().0.iter().map(|unit| of(*unit)).collect() };
    let units = match bytes {
        [0xff, 0xfe, rest @ ..] => units(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => units(u16::from_be_bytes, rest),
        _ => return None,
    };
    Some(String::from_utf16_lossy(&units))
}

/// Gathers what a parser finds into samples that hold to the rules.
#[derive(Debug, Default)]
struct Gathered {
    benchmarks: Vec<Benchmark>,
    /// Names that are taken, and how often each was requested.
    names: BTreeMap<String, u64>,
    notes: Vec<String>,
}

impl Gathered {
    /// Adds a benchmark if any of its values can be used. `name` is made one line and, if taken, given a number.
    fn add(&mut self, name: &str, mut benchmark: Benchmark) {
        let name = one_line(name);
        let before: usize = benchmark.runs.iter().map(|run| run.values.len()).sum();
        for run in &mut benchmark.runs {
            run.values.retain(|&value| value > 0.0 && value.is_finite());
        }
        benchmark.runs.retain(|run| !run.values.is_empty());
        let left_out = before - benchmark.runs.iter().map(|run| run.values.len()).sum::<usize>();
        if left_out > 0 {
            self.notes.push(format!("`{}`: {left_out} of {before} values skipped: not above 0", shown(&name)));
        }
        if benchmark.runs.is_empty() {
            return;
        }
        benchmark.name = self.free_name(name);
        self.benchmarks.push(benchmark);
    }

    fn free_name(&mut self, name: String) -> String {
        let mut free = name.clone();
        while self.names.contains_key(&free) {
            let uses = self.names.entry(name.clone()).or_insert(1);
            *uses += 1;
            free = format!("{name} #{uses}");
        }
        self.names.insert(free.clone(), 1);
        free
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// `found`: what there is if there are no times.
    fn finish(self, format: Format, found: &str) -> Result<Import, ImportError> {
        if self.benchmarks.is_empty() {
            let found = match self.notes.as_slice() {
                [] => found.to_owned(),
                notes => shown(&notes.join("; ")),
            };
            return Err(ImportError::NoTimes { found });
        }
        let samples = Samples { benchmarks: self.benchmarks, circumstances: None };
        // Nothing is handed on that could not be written and read again.
        samples.check()?;
        Ok(Import { format, samples, notes: self.notes })
    }
}

/// Charges this number of runs with one value each and their other measurements.
fn charge_runs(runs: usize) -> Result<(), Exceeded> {
    let metadata = memory::map_bytes::<MetadataValue>(1) + crate::files::samples::PROCESS.len();
    let each = 2 * size_of::<Run>() + size_of::<f64>() + size_of::<Measured>() + metadata + ALLOCATIONS_OF_RUN;
    memory::charge(runs.saturating_mul(each))
}

/// What the allocations of a run take beside their bytes: its value, its metadata with a key, what was measured.
const ALLOCATIONS_OF_RUN: usize = 4 * memory::ALLOCATION_BYTES;

/// A run of which one value counts, for this many loops; tools count loops as floating point numbers too.
fn run(value: f64, loops: f64) -> Run {
    Run { loops: if loops >= 1.0 { loops as u64 } else { 1 }, ..Run::of(value) }
}

/// Says that all runs are values of one process; see [`Benchmark::clusters`].
fn in_process(runs: &mut [Run], process: u64) {
    for run in runs {
        run.metadata.insert(crate::files::samples::PROCESS.to_owned(), process.into());
    }
}

/// Adds a text if there is one.
fn describe(metadata: &mut Metadata, key: &str, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        metadata.insert(key.to_owned(), MetadataValue::text(text));
    }
}

#[cfg(test)]
mod tests;
