//! Rules for samples that pyperf reads (pyperf 2.10, `_bench.py`), and for prony's additions.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;

use super::error::{SamplesError, quoted, shown};
use super::metadata::{self, Metadata, MetadataValue, is_one_line};
use super::{Benchmark, Measured, Run, Samples};

/// Metadata that are fields here.
const FIELDS: [&str; 4] = ["name", "unit", "inner_loops", "loops"];

/// Metadata in which runs of one benchmark must not differ: `_CHECKED_METADATA` without the fields above.
const SAME_IN_ALL_RUNS: [&str; 9] = [
    "aslr",
    "cpu_count",
    "cpu_model_name",
    "hostname",
    "platform",
    "python_executable",
    "python_implementation",
    "python_unicode",
    "python_version",
];

/// Most benchmarks of a file.
const MOST_BENCHMARKS: usize = 10_000;

/// Most bytes of the metadata that all benchmarks of a file share: in memory each has its own.
const MOST_SHARED_BYTES: usize = 1 << 16;

/// Refuses what would take far more memory than its text. Returns the bytes of what is shared.
pub(super) fn budget(benchmarks: usize, shared: &Metadata) -> Result<usize, SamplesError> {
    if benchmarks > MOST_BENCHMARKS {
        return rule(|| "benchmarks".to_owned(), "at most 10,000", &benchmarks.to_string());
    }
    let length = |(key, value): (&String, &MetadataValue)| {
        key.len()
            + match value {
                MetadataValue::Text(text) => text.len(),
                MetadataValue::Tags(tags) => tags.iter().map(|tag| tag.len() + 8).sum(),
                MetadataValue::Number(_) | MetadataValue::Boolean(_) => 8,
            }
    };
    let bytes: usize = shared.iter().map(length).sum();
    if bytes > MOST_SHARED_BYTES {
        return rule(|| "metadata".to_owned(), "at most 65,536 bytes", &bytes.to_string());
    }
    Ok(bytes)
}

/// # Errors
/// The first rule that is broken.
pub(super) fn check(samples: &Samples) -> Result<(), SamplesError> {
    if samples.benchmarks.is_empty() {
        return rule(|| "benchmarks".to_owned(), "at least one benchmark", "none");
    }
    if samples.benchmarks.len() > MOST_BENCHMARKS {
        return budget(samples.benchmarks.len(), &Metadata::new()).map(drop);
    }
    if let Some(circumstances) = &samples.circumstances {
        let times = circumstances.budget_s.iter().chain(&circumstances.pairs_done_s);
        if let Some(time) = times.into_iter().find(|time| !(**time >= 0.0 && time.is_finite())) {
            return rule(|| "prony".to_owned(), "seconds, not negative", &time.to_string());
        }
    }
    let mut names = BTreeSet::new();
    for (index, benchmark) in samples.benchmarks.iter().enumerate() {
        let path = format!("benchmarks[{index}]");
        self::benchmark(&path, benchmark)?;
        if !names.insert(benchmark.name.as_str()) {
            return rule(
                || format!("{path}.metadata.name"),
                "a name that no other benchmark has",
                &quoted(&benchmark.name),
            );
        }
    }
    Ok(())
}

fn benchmark(path: &str, benchmark: &Benchmark) -> Result<(), SamplesError> {
    if benchmark.runs.is_empty() {
        return rule(|| format!("{path}.runs"), "at least one run", "none");
    }
    if !is_one_line(&benchmark.name) {
        return rule(|| format!("{path}.metadata.name"), "one line of text, not empty", &quoted(&benchmark.name));
    }
    if benchmark.inner_loops == 0 {
        return rule(|| format!("{path}.metadata.inner_loops"), "at least 1", "0");
    }
    fields(&format!("{path}.metadata"), &benchmark.metadata)?;
    metadata::check(&format!("{path}.metadata"), &benchmark.metadata)?;
    let Some(first_run) = benchmark.runs.first() else { return Ok(()) };
    for (index, run) in benchmark.runs.iter().enumerate() {
        let path = format!("{path}.runs[{index}]");
        self::run(&path, run)?;
        for key in SAME_IN_ALL_RUNS {
            // Two runs that inherit a value agree on it; comparing it once more for each would take the product of both lengths.
            let (own, first) = (run.metadata.get(key), first_run.metadata.get(key));
            let shared = benchmark.metadata.get(key);
            if (own.is_some() || first.is_some()) && own.or(shared) != first.or(shared) {
                let found = own.map_or_else(|| "another".to_owned(), |own| quoted(&own.to_string()));
                return rule(|| format!("{path}.metadata.{key}"), "the same as in the first run", &found);
            }
        }
    }
    Ok(())
}

fn run(path: &str, run: &Run) -> Result<(), SamplesError> {
    if run.values.is_empty() && run.warmups.is_empty() {
        return rule(|| path.to_owned(), "a value or a warm-up", "none");
    }
    if run.loops == 0 {
        return rule(|| format!("{path}.metadata.loops"), "at least 1", "0");
    }
    for (index, &value) in run.values.iter().enumerate() {
        if !(value > 0.0 && value.is_finite()) {
            return rule(|| format!("{path}.values[{index}]"), "a number above 0", &value.to_string());
        }
    }
    for (index, warmup) in run.warmups.iter().enumerate() {
        if warmup.loops == 0 {
            return rule(|| format!("{path}.warmups[{index}][0]"), "a number of loops, at least 1", "0");
        }
        if !(warmup.value >= 0.0 && warmup.value.is_finite()) {
            let found = warmup.value.to_string();
            return rule(|| format!("{path}.warmups[{index}][1]"), "a number, not negative", &found);
        }
    }
    fields(&format!("{path}.metadata"), &run.metadata)?;
    metadata::check(&format!("{path}.metadata"), &run.metadata)?;
    run.measured.as_ref().map_or(Ok(()), |measured| self::measured(path, measured))
}

fn measured(path: &str, measured: &Measured) -> Result<(), SamplesError> {
    let times = [
        ("wall_s", measured.wall_s),
        ("cpu_s", measured.cpu_s),
        ("uncontended_s", measured.uncontended_s),
        ("wait_s", measured.wait_s),
        ("user_s", measured.user_s),
        ("system_s", measured.system_s),
    ];
    for (name, time) in times {
        if let Some(time) = time.filter(|&time| !(time >= 0.0 && time.is_finite())) {
            return rule(|| format!("{path}.prony.{name}"), "seconds, not negative", &time.to_string());
        }
    }
    for (name, number) in [("allocated_bytes", measured.allocated_bytes), ("allocations", measured.allocations)] {
        if let Some(number) = number.filter(|&number| !(number >= 0.0 && number.is_finite())) {
            return rule(|| format!("{path}.prony.{name}"), "a number, not negative", &number.to_string());
        }
    }
    Ok(())
}

fn fields(path: &str, metadata: &Metadata) -> Result<(), SamplesError> {
    match FIELDS.into_iter().find(|key| metadata.contains_key(*key)) {
        Some(key) => rule(|| format!("{path}.{key}"), "its own field", "an entry of the metadata"),
        None => Ok(()),
    }
}

fn rule<T>(path: impl FnOnce() -> String, expected: &'static str, found: &str) -> Result<T, SamplesError> {
    Err(SamplesError::Rule { path: path(), expected, found: shown(found) })
}
