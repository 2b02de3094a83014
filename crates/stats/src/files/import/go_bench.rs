//! The text of `go test -bench`, as proposed in golang.org/design/14313-benchmark-format.
//!
//! `BenchmarkName-8   1000   2339 ns/op   1751.18 MB/s`: name, iterations, then pairs of value and unit. Lines
//! `key: value` describe what follows. With `-count` the values of a package come from one process; several
//! outputs in one file are several processes.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use super::{Format, Gathered, Import, ImportError, charge_runs, describe, in_process, run};
use crate::files::memory::{self, Exceeded};
use crate::files::samples::{
    BYTES, Benchmark, MOST_BYTES, Measured, Metadata, MetadataValue, Run, SamplesError, shown,
};

/// Units that are read; `MB/s` follows from the time and the bytes of an operation.
const READ: [&str; 4] = ["ns/op", "MB/s", "B/op", "allocs/op"];

/// What each name takes beside its runs: a benchmark with its metadata, and entries in maps.
const BENCHMARK_BYTES: usize = 2 * size_of::<Benchmark>() + 1024;

/// One line of a benchmark.
struct Line<'a> {
    name: &'a str,
    iterations: f64,
    /// Values of a line, each with its unit.
    metrics: Vec<(f64, &'a str)>,
}

/// True if a text has a line of a benchmark, or begins as the output does.
pub(super) fn is_go_bench(text: &str) -> bool {
    text.starts_with("goos: ") || text.lines().any(|line| matches!(parse(line), Some(Ok(_))))
}

/// Parses the output of `go test -bench`.
///
/// # Errors
/// The line that is not as expected.
pub fn import(bytes: &[u8]) -> Result<Import, ImportError> {
    if bytes.len() > MOST_BYTES {
        return Err(SamplesError::TooLong { most: MOST_BYTES, found: bytes.len() }.into());
    }
    memory::accounted(bytes.len(), || import_charged(bytes))
}

fn import_charged(bytes: &[u8]) -> Result<Import, ImportError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes.iter().take(error.valid_up_to()).filter(|&&byte| byte == b'\n').count() + 1;
        ImportError::Line { line, expected: "text in UTF-8", found: "other bytes".to_owned() }
    })?;
    let mut packages: Vec<&str> = Vec::new();
    let mut package = 0;
    let mut process = 0_u64;
    let mut order: Vec<(usize, &str)> = Vec::new();
    let mut runs: BTreeMap<(usize, &str), Vec<Run>> = BTreeMap::new();
    let mut units: BTreeMap<&str, usize> = BTreeMap::new();
    let mut bytes_of: BTreeMap<(usize, &str), f64> = BTreeMap::new();
    let mut facts = Metadata::new();
    let mut gathered = Gathered::default();
    for (index, line) in text.lines().enumerate() {
        if let Some((key, value)) = line.split_once(": ") {
            match key {
                "pkg" => {
                    let value = value.trim();
                    package = packages.iter().position(|known| *known == value).unwrap_or_else(|| {
                        packages.push(value);
                        packages.len() - 1
                    });
                    process += 1;
                }
                "cpu" => describe(&mut facts, "cpu_model_name", Some(value)),
                "goos" | "goarch" => describe(&mut facts, key, Some(value)),
                "--- FAIL" => gathered.note(format!("line {}: {} failed", index + 1, shown(value))),
                _ => {}
            }
        }
        let Some(parsed) = parse(line) else { continue };
        let line = parsed.map_err(|(expected, found)| ImportError::Line {
            line: index + 1,
            expected,
            found: shown(&found),
        })?;
        let Some(&(ns, _)) = line.metrics.iter().find(|(_, unit)| *unit == "ns/op") else {
            gathered.note(format!("line {}: `{}` has no ns/op", index + 1, shown(line.name)));
            continue;
        };
        for (_, unit) in line.metrics.iter().filter(|(_, unit)| !READ.contains(unit)) {
            *units.entry(unit).or_default() += 1;
        }
        let read = line.name.as_ptr().addr() - text.as_ptr().addr();
        let in_all = |exceeded: Exceeded| ImportError::from(SamplesError::from(exceeded.after(read, bytes.len())));
        charge_runs(1).map_err(in_all)?;
        let all = runs.entry((package, line.name)).or_default();
        if all.is_empty() {
            memory::charge(BENCHMARK_BYTES).map_err(in_all)?;
            order.push((package, line.name));
        }
        let mut run = run(ns * 1e-9, line.iterations);
        let of = |unit: &str| line.metrics.iter().find(|(_, other)| *other == unit).map(|&(value, _)| value);
        let allocated = |unit| of(unit).filter(|value| *value >= 0.0);
        let measured =
            Measured { allocated_bytes: allocated("B/op"), allocations: allocated("allocs/op"), ..Measured::default() };
        run.measured = (measured != Measured::default()).then(|| Box::new(measured));
        // The bytes of each operation, of which Go tells the rate only: `b.SetBytes`.
        if let Some(bytes) = of("MB/s").filter(|rate| *rate > 0.0).map(|rate| (rate * 1e6 * ns * 1e-9).round()) {
            bytes_of.entry((package, line.name)).or_insert(bytes);
        }
        let mut run = [run];
        in_process(&mut run, process);
        all.extend(run);
    }
    if !units.is_empty() {
        let units = units.keys().map(|unit| shown(unit)).collect::<Vec<_>>().join(", ");
        gathered.note(format!("only times, bytes and allocations are read; skipped: {units}"));
    }
    let threads = common_suffix(order.iter().map(|(_, name)| *name));
    facts.extend(threads.map(|threads| ("gomaxprocs".to_owned(), threads.into())));
    for (package, name) in order {
        let runs = runs.remove(&(package, name)).unwrap_or_default();
        let short = if threads.is_some() { name.rsplit_once('-').map_or(name, |(short, _)| short) } else { name };
        let mut metadata = facts.clone();
        describe(&mut metadata, "pkg", packages.get(package).copied());
        let bytes = bytes_of.get(&(package, name)).and_then(|&bytes| serde_json::Number::from_f64(bytes));
        metadata.extend(bytes.map(|bytes| (BYTES.to_owned(), MetadataValue::Number(bytes))));
        let full = match packages.get(package) {
            Some(package) if packages.len() > 1 => format!("{package}.{short}"),
            _ => short.to_owned(),
        };
        gathered.add(&full, Benchmark { metadata, runs, ..Benchmark::new(&full) });
    }
    gathered.finish(Format::GoBench, "no line of a benchmark")
}

/// `None`: not the line of a result. A name alone is one too: the log of the benchmark follows it.
fn parse(line: &str) -> Option<Result<Line<'_>, (&'static str, String)>> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().filter(|name| is_name(name))?;
    let count = words.next()?;
    let Ok(iterations) = count.parse::<u64>() else { return None };
    let rest: Vec<&str> = words.collect();
    if rest.is_empty() || !rest.len().is_multiple_of(2) {
        return Some(Err(("pairs of value and unit", rest.join(" "))));
    }
    let mut metrics = Vec::with_capacity(rest.len() / 2);
    for &[number, unit] in rest.as_chunks().0 {
        match number.parse::<f64>().ok().filter(|value| value.is_finite()) {
            Some(value) => metrics.push((value, unit)),
            None => return Some(Err(("a number", number.to_owned()))),
        }
    }
    Some(Ok(Line { name, iterations: iterations as f64, metrics }))
}

/// `Benchmark`, then no lower-case letter: `BenchmarkX` and `Benchmark_x` are, `Benchmarking` is not.
fn is_name(word: &str) -> bool {
    word.strip_prefix("Benchmark").is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

/// GOMAXPROCS, which Go puts behind each name unless it is 1: only when it is the same everywhere, as a
/// name may end in a number of its own.
fn common_suffix<'a>(names: impl Iterator<Item = &'a str>) -> Option<u64> {
    let mut common = None;
    for name in names {
        let (_, suffix) = name.rsplit_once('-')?;
        let suffix: u64 = suffix.parse().ok()?;
        if *common.get_or_insert(suffix) != suffix {
            return None;
        }
    }
    common
}
