//! The text of `go test -bench`, as proposed in golang.org/design/14313-benchmark-format.
//!
//! `BenchmarkName-8   1000   2339 ns/op   1751.18 MB/s`: name, iterations, then pairs of value and unit. Lines
//! `key: value` describe what follows, and belong to the identity of a benchmark: where they differ within a file, so do its names. A line that
//! cannot be read is left out and named. A unit of a benchmark's own (`b.ReportMetric`) is a benchmark beside that of the time, where it is
//! known which way is better: `Unit p99-ns better=lower` in the file says so. `go test -json` has the same text in its events. With `-count` the values of a package come from one process; several
//! outputs in one file are several processes.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Format, Gathered, Import, ImportError, charge_runs, describe, in_process, run};
use crate::files::memory::{self, Exceeded};
use crate::files::samples::{
    BYTES, Benchmark, Better, MOST_BYTES, Measured, Metadata, MetadataValue, Run, SamplesError, Subject, Unit, shown,
};

/// Units of Go itself; `MB/s` follows from the time and the bytes of an operation.
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

impl Line<'_> {
    /// The value with this unit.
    fn of(&self, unit: &str) -> Option<f64> {
        self.metrics.iter().find(|(_, other)| *other == unit).map(|&(value, _)| value)
    }
}

/// Keys that Go itself writes. Others are configuration where a line of them stands at the beginning of a block, as a benchmark may
/// log what looks like one.
const OWN_KEYS: [&str; 4] = ["goos", "goarch", "pkg", "cpu"];

/// Lines that are named one by one; of more, their number.
const LINES_NAMED: usize = 5;

/// What of a benchmark is measured: the time of an operation, or a unit of its own.
type Identity<'a> = (usize, &'a str, &'a str);

/// The unit of the time that Go measures itself.
const TIME: &str = "ns/op";

/// Directions of units that lines say: `Unit p99-ns better=lower`.
#[derive(Default)]
struct Directions<'a>(BTreeMap<&'a str, Better>);

impl<'a> Directions<'a> {
    /// Reads a line that says something of a unit; false for other lines.
    fn read(&mut self, line: &'a str) -> bool {
        let Some(rest) = line.strip_prefix("Unit ") else { return false };
        let mut words = rest.split_ascii_whitespace();
        let Some(unit) = words.next() else { return false };
        let better = words.find_map(|word| match word.strip_prefix("better=")? {
            "lower" => Some(Better::Lower),
            "higher" => Some(Better::Higher),
            _ => None,
        });
        self.0.extend(better.map(|better| (unit, better)));
        true
    }

    /// Direction of a unit: as a line says, or that of a rate, a time, or a cost of an operation. `None` where nothing says it.
    fn of(&self, unit: &str) -> Option<Better> {
        let is_time = || unit == "ns" || unit.ends_with("-ns") || unit.starts_with("ns/");
        match self.0.get(unit) {
            Some(&better) => Some(better),
            None if unit.ends_with("/s") => Some(Better::Higher),
            None if is_time() || unit.ends_with("/op") => Some(Better::Lower),
            None => None,
        }
    }
}

/// True if a text has a line of a benchmark, or begins as the output does.
pub(super) fn is_go_bench(text: &str) -> bool {
    text.starts_with("goos: ") || text.lines().any(|line| matches!(parse(line), Some(Ok(_))))
}

/// An event of `go test -json`: cmd/test2json.
#[derive(Deserialize)]
struct TestEvent<'a> {
    #[serde(rename = "Action")]
    action: &'a str,
    #[serde(rename = "Output", default)]
    output: Option<String>,
}

/// The output in the events of `go test -json`; `None` where the first line is no event.
fn output_of_events(bytes: &[u8]) -> Option<String> {
    let mut lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).peekable();
    let _: TestEvent<'_> = serde_json::from_slice(lines.peek()?).ok()?;
    let events = lines.filter_map(|line| serde_json::from_slice::<TestEvent<'_>>(line).ok());
    Some(events.filter(|event| event.action == "output").filter_map(|event| event.output).collect())
}

/// True if a file begins with an event of `go test -json`.
pub(super) fn is_go_json(bytes: &[u8]) -> bool {
    let first = bytes.trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice::<TestEvent<'_>>(first).is_ok()
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
    if let Some(text) = output_of_events(bytes) {
        memory::charge(text.len()).map_err(SamplesError::from)?;
        return import_text(&text);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes.iter().take(error.valid_up_to()).filter(|&&byte| byte == b'\n').count() + 1;
        ImportError::Line { line, expected: "text in UTF-8", found: "other bytes".to_owned() }
    })?;
    import_text(text)
}

/// What was said of a benchmark in front of it.
type Configuration<'a> = BTreeMap<&'a str, &'a str>;

/// All configurations of a file, and the one that holds where it is read.
#[derive(Default)]
struct Configurations<'a> {
    all: Vec<Configuration<'a>>,
    now: Configuration<'a>,
    /// Number of the process that wrote what follows, as far as the text shows.
    process: u64,
    /// The last line was of configuration, empty, or the end of an output.
    begins_block: bool,
}

impl<'a> Configurations<'a> {
    /// Reads a line that is none of a result.
    fn read(&mut self, line: &'a str) {
        let is_end = line.trim().is_empty() || line == "PASS" || line == "FAIL" || line.starts_with("ok  ");
        let is_key = |key: &&str| {
            key.starts_with(|letter: char| letter.is_lowercase())
                && !key.contains(|letter: char| letter.is_whitespace() || letter.is_uppercase())
        };
        let pair = line.split_once(": ").filter(|(key, _)| is_key(key)).map(|(key, value)| (key, value.trim()));
        let pair = pair.filter(|(key, _)| self.begins_block || OWN_KEYS.contains(key));
        self.begins_block = is_end || pair.is_some();
        let Some((key, value)) = pair else { return };
        let before = self.now.insert(key, value);
        // Each test binary says its package; other changes come from another output.
        self.process += u64::from(key == "pkg" || before.is_some_and(|before| before != value));
    }

    /// Number of the configuration that holds.
    fn number(&mut self) -> usize {
        self.begins_block = false;
        self.all.iter().position(|known| *known == self.now).unwrap_or_else(|| {
            self.all.push(self.now.clone());
            self.all.len() - 1
        })
    }

    /// Keys whose values are not the same everywhere.
    fn differing(&self) -> Vec<&'a str> {
        let keys: BTreeSet<&str> = self.all.iter().flat_map(|one| one.keys().copied()).collect();
        let first = self.all.first();
        let differs = |key: &&str| self.all.iter().any(|one| one.get(key) != first.and_then(|first| first.get(key)));
        keys.into_iter().filter(differs).collect()
    }
}

/// Name of a benchmark with what distinguishes its configuration: `pkg.BenchmarkX cpu=Alpha`.
fn full_name(short: &str, configuration: &Configuration<'_>, differing: &[&str]) -> String {
    let mut name = match configuration.get("pkg") {
        Some(package) if differing.contains(&"pkg") => format!("{package}.{short}"),
        _ => short.to_owned(),
    };
    for key in differing.iter().filter(|key| **key != "pkg") {
        if let Some(value) = configuration.get(key) {
            name += &format!(" {key}={value}");
        }
    }
    name
}

/// Metadata of a benchmark from its configuration.
fn described(configuration: &Configuration<'_>) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, value) in configuration {
        describe(&mut metadata, if *key == "cpu" { "cpu_model_name" } else { key }, Some(value));
    }
    metadata
}

/// All runs of a text, and what else it says.
#[derive(Default)]
struct Read<'a> {
    configurations: Configurations<'a>,
    directions: Directions<'a>,
    order: Vec<Identity<'a>>,
    runs: BTreeMap<Identity<'a>, Vec<Run>>,
    bytes_of: BTreeMap<Identity<'a>, f64>,
    unread: Vec<String>,
}

impl<'a> Read<'a> {
    /// Adds the values of a line, each to the benchmark that it is of.
    fn add(&mut self, line: &Line<'a>, before: usize, all: usize) -> Result<(), ImportError> {
        let in_all = |exceeded: Exceeded| ImportError::from(SamplesError::from(exceeded.after(before, all)));
        let configuration = self.configurations.number();
        for &(value, unit) in line.metrics.iter().filter(|(_, unit)| *unit == TIME || !READ.contains(unit)) {
            charge_runs(1).map_err(in_all)?;
            let identity = (configuration, line.name, unit);
            let of_benchmark = self.runs.entry(identity).or_default();
            if of_benchmark.is_empty() {
                memory::charge(BENCHMARK_BYTES).map_err(in_all)?;
                self.order.push(identity);
            }
            let mut run = if unit == TIME { run(value * 1e-9, line.iterations) } else { Run::of(value) };
            if unit == TIME {
                let allocated = |unit| line.of(unit).filter(|value| *value >= 0.0);
                let measured = Measured {
                    allocated_bytes: allocated("B/op"),
                    allocations: allocated("allocs/op"),
                    ..Measured::default()
                };
                run.measured = (measured != Measured::default()).then(|| Box::new(measured));
                // The bytes of each operation, of which Go reports only the rate: `b.SetBytes`.
                let rate = line.of("MB/s").filter(|rate| *rate > 0.0);
                if let Some(bytes) = rate.map(|rate| (rate * 1e6 * value * 1e-9).round()) {
                    self.bytes_of.entry(identity).or_insert(bytes);
                }
            }
            let mut run = [run];
            in_process(&mut run, self.configurations.process);
            of_benchmark.extend(run);
        }
        Ok(())
    }

    /// Names lines and units that are left out.
    fn note_left_out(&mut self, gathered: &mut Gathered) {
        let unknown: BTreeSet<&str> = self.order.iter().map(|(_, _, unit)| *unit).collect();
        let unknown: Vec<&str> =
            unknown.into_iter().filter(|unit| *unit != TIME && self.directions.of(unit).is_none()).collect();
        if let Some(first) = unknown.first() {
            let first = shown(first);
            let units = unknown.iter().map(|unit| shown(unit)).collect::<Vec<_>>().join(", ");
            gathered.note(format!(
                "skipped, as nothing says which way is better: {units}; a line `Unit {first} better=lower` in the file does"
            ));
        }
        let more = self.unread.len().saturating_sub(LINES_NAMED);
        self.unread.drain(..).take(LINES_NAMED).for_each(|line| gathered.note(line + "; skipped"));
        if more > 0 {
            gathered.note(format!("{more} more lines of benchmarks skipped"));
        }
    }
}

fn import_text(text: &str) -> Result<Import, ImportError> {
    let configurations = Configurations { begins_block: true, ..Configurations::default() };
    let mut read = Read { configurations, ..Read::default() };
    let mut gathered = Gathered::default();
    for (index, line) in text.lines().enumerate() {
        let Some(parsed) = parse(line) else {
            if let Some(name) = line.strip_prefix("--- FAIL: ") {
                gathered.note(format!("line {}: {} failed", index + 1, shown(name)));
            }
            if !read.directions.read(line) {
                read.configurations.read(line);
            }
            continue;
        };
        let line = match parsed {
            Ok(line) => line,
            Err((expected, found)) => {
                read.unread.push(format!("line {}: expected {expected}, found {}", index + 1, shown(&found)));
                continue;
            }
        };
        if line.metrics.iter().all(|(_, unit)| *unit != TIME && READ.contains(unit)) {
            gathered.note(format!("line {}: `{}` has no {TIME}, and no unit of its own", index + 1, shown(line.name)));
            continue;
        }
        let before = line.name.as_ptr().addr() - text.as_ptr().addr();
        read.add(&line, before, text.len())?;
    }
    read.note_left_out(&mut gathered);
    let Read { configurations, directions, order, mut runs, bytes_of, .. } = read;
    let threads = common_suffix(order.iter().map(|(_, name, _)| *name));
    let differing = configurations.differing();
    for identity in order {
        let (configuration, name, unit) = (configurations.all.get(identity.0), identity.1, identity.2);
        let Some(better) = directions.of(unit) else { continue };
        let runs = runs.remove(&identity).unwrap_or_default();
        let short = if threads.is_some() { name.rsplit_once('-').map_or(name, |(short, _)| short) } else { name };
        let mut metadata = configuration.map(described).unwrap_or_default();
        metadata.extend(threads.map(|threads| ("gomaxprocs".to_owned(), threads.into())));
        let bytes = bytes_of.get(&identity).and_then(|&bytes| serde_json::Number::from_f64(bytes));
        metadata.extend(bytes.map(|bytes| (BYTES.to_owned(), MetadataValue::Number(bytes))));
        let mut full = configuration.map_or_else(|| short.to_owned(), |one| full_name(short, one, &differing));
        let mut benchmark = Benchmark { metadata, runs, ..Benchmark::new(&full) };
        if unit != TIME {
            full = format!("{full} {unit}");
            benchmark = Benchmark { name: Benchmark::new(&full).name, unit: Unit::Integer, ..benchmark };
            let unit = Some(unit.to_owned());
            benchmark.subject = Some(Subject { metric: unit.clone(), unit, better, ..Subject::default() });
        }
        gathered.add(&full, benchmark);
    }
    gathered.finish(Format::GoBench, "no line of a benchmark")
}

/// `None`: not the line of a result. A name alone is one too: the log of the benchmark follows it.
fn parse(line: &str) -> Option<Result<Line<'_>, (&'static str, String)>> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().filter(|name| is_name(name))?;
    let count = words.next()?;
    let Ok(iterations) = count.parse::<u64>() else {
        // Go puts a blank and a tab behind a name that is followed by its result.
        let is_broken = line.contains("\t") && name.len() > "Benchmark".len();
        return is_broken.then(|| Err(("a number of iterations", count.to_owned())));
    };
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
