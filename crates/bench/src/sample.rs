//! Conversion of runs to samples, and of samples to the values that the judge compares.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use prony_machine::process::{Ended, Run as ProcessRun};
use prony_stats::Metric;
use prony_stats::judge::{Pair, Ratio};
use prony_stats::samples::{
    Benchmark, Better, Circumstances, Faults, Measured, MetadataValue, Run, Samples, Subject as Facts, Switches, Unit,
    Warmup,
};
use serde_json::json;

use crate::error::Problem;
use crate::options::Subject;
use crate::worker::Value;

/// A run and what it said of itself.
#[derive(Debug, Clone)]
pub struct Observation {
    pub run: ProcessRun,
    pub values: Vec<Value>,
    /// True if the command shared its CPU with the other one.
    pub duet: bool,
}

/// Metadata of pyperf: the most memory that the command of a run had, in bytes.
const COMMAND_MAX_RSS: &str = "command_max_rss";

/// A signal as a code: what a shell makes of it.
const SIGNAL_CODE: i32 = 128;

/// Compared times of a run, for one loop each; smaller is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// CPU time; of a worker with a metric of its own, that.
    pub cpu_s: f64,
    /// Wall time without the wait for a CPU.
    pub uncontended_s: Option<f64>,
    /// Wall time; `None` where it is not that of the command alone.
    pub wall_s: Option<f64>,
    /// Peak of the resident memory; `None` where it is not above ours.
    pub rss_bytes: Option<f64>,
}

impl Times {
    /// Value of this metric, seconds or bytes; not a number if it is unknown.
    pub fn of(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Cpu => self.cpu_s,
            Metric::Uncontended => self.uncontended_s.unwrap_or(f64::NAN),
            Metric::Wall => self.wall_s.unwrap_or(f64::NAN),
            Metric::Rss => self.rss_bytes.unwrap_or(f64::NAN),
            Metric::AllocatedBytes | Metric::Allocations => f64::NAN,
        }
    }

    /// Pair of this run as the second and `first` as the first.
    pub fn against(&self, first: &Times) -> Pair {
        Pair {
            cpu: Ratio::of(first.cpu_s, self.cpu_s),
            uncontended: first.uncontended_s.zip(self.uncontended_s).map(|(first, this)| Ratio::of(first, this)),
            wall: Ratio::of(first.wall_s.unwrap_or(f64::NAN), self.wall_s.unwrap_or(f64::NAN)),
            rss: first.rss_bytes.zip(self.rss_bytes).map(|(first, this)| Ratio::of(first, this)),
        }
    }
}

/// Metric and unit of a command's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// Name of the metric; `wall` for a command that is no worker.
    pub metric: String,
    /// Unit of the values; `s` for a command that is no worker.
    pub unit: String,
    /// Metric that is judged first: CPU time if available, otherwise the best available one.
    pub judged: String,
}

impl Measure {
    /// Measure of a process; in a duet, its wall time is that of the other command too.
    pub fn of_process(duet: bool) -> Measure {
        let metric = if duet { "cpu" } else { "wall" };
        Measure { metric: metric.to_owned(), unit: "s".to_owned(), judged: "cpu".to_owned() }
    }

    /// Measure of an observation: wall time if there is one, otherwise the first metric.
    pub fn of(observation: &Observation) -> Measure {
        let values = &observation.values;
        let Some(first) = values.iter().find(|value| value.metric == "wall").or(values.first()) else {
            return Measure::of_process(observation.duet);
        };
        let names = [Metric::Cpu, Metric::Uncontended].map(Metric::name);
        let best = names.into_iter().find(|best| values.iter().any(|value| value.metric == *best));
        let judged = best.filter(|_| first.metric == "wall").unwrap_or(&first.metric).to_owned();
        Measure { metric: first.metric.clone(), unit: first.unit.clone(), judged }
    }

    /// Measure of an observation: this metric if the worker wrote it, otherwise as [`Measure::of`].
    pub fn of_metric(observation: &Observation, metric: &str) -> Measure {
        match observation.values.iter().find(|value| value.metric == metric) {
            Some(value) if !matches!(Metric::from_name(metric), Some(Metric::Cpu | Metric::Uncontended)) => {
                Measure { metric: metric.to_owned(), unit: value.unit.clone(), judged: metric.to_owned() }
            }
            _ => Measure::of(observation),
        }
    }

    /// More of a rate is better.
    fn better(&self) -> Better {
        if self.unit.ends_with("/s") { Better::Higher } else { Better::Lower }
    }

    pub fn describe(&self) -> String {
        format!("`{}` in `{}`", self.metric, self.unit)
    }
}

/// A measured run in both shapes.
#[derive(Debug)]
pub struct MeasuredRun {
    pub run: Run,
    pub times: Times,
}

/// Makes a measured run of an observation; `pair` and `place`: its round, and when in it it ran. `warmup`: it does not count.
pub fn measured_run(
    observation: &Observation,
    measure: &Measure,
    pair: Option<(u64, u64)>,
    warmup: bool,
) -> Result<MeasuredRun, Problem> {
    let found = Measure::of(observation);
    if (&found.metric, &found.unit) != (&measure.metric, &measure.unit) {
        return Err(Problem::OtherMetric { expected: measure.describe(), found: found.describe() });
    }
    measured_run_as(observation, measure, pair, warmup)
}

/// Makes a measured run of an observation: of what its worker may have measured beside other things.
pub fn measured_run_as(
    observation: &Observation,
    measure: &Measure,
    pair: Option<(u64, u64)>,
    warmup: bool,
) -> Result<MeasuredRun, Problem> {
    let mut measured = of_process(observation);
    (measured.pair, measured.place) = (pair.map(|(pair, _)| pair), pair.map(|(_, place)| place));
    let mut run = match observation.values.is_empty() {
        true => Run::of(of_process_s(observation)),
        false => of_worker(&observation.values, measure, &mut measured),
    };
    if warmup {
        let discarded = run.values.drain(..).map(|value| Warmup { loops: run.loops, value });
        run.warmups.extend(discarded);
    } else if run.values.is_empty() {
        return Err(Problem::NoValue);
    }
    let times = times(&run, &measured, measure);
    // The same where pyperf looks for it.
    run.metadata.extend(measured.peak_rss_bytes.map(|bytes| (COMMAND_MAX_RSS.to_owned(), bytes.into())));
    run.measured = Some(Box::new(measured));
    Ok(MeasuredRun { run, times })
}

/// Run made of a worker's values; its own times replace those of its process.
fn of_worker(values: &[Value], measure: &Measure, measured: &mut Measured) -> Run {
    let of = |metric: &str| -> Vec<f64> {
        let counted = values.iter().filter(|value| value.metric == metric && !value.warmup);
        counted.map(|value| value.value).collect()
    };
    let typical = |metric: Metric| prony_stats::quantile::median(&of(metric.name()));
    (measured.wall_s, measured.cpu_s, measured.uncontended_s) =
        (typical(Metric::Wall), typical(Metric::Cpu), typical(Metric::Uncontended));
    measured.wait_s = None;
    let own = || values.iter().filter(|value| value.metric == measure.metric);
    Run {
        loops: own().map(|value| value.loops).max().unwrap_or(1),
        warmups: own()
            .filter(|value| value.warmup)
            .map(|value| Warmup { loops: value.loops, value: value.value })
            .collect(),
        values: of(&measure.metric),
        ..Run::of(0.0)
    }
}

/// Value of a process, in seconds.
fn of_process_s(observation: &Observation) -> f64 {
    let Observation { run, duet, .. } = observation;
    (if *duet { run.cpu_ns } else { run.wall_ns }) as f64 / 1e9
}

fn of_process(observation: &Observation) -> Measured {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let run = &observation.run;
    Measured {
        pair: None,
        place: None,
        wall_s: (!observation.duet).then(|| seconds(run.wall_ns)),
        cpu_s: Some(seconds(run.cpu_ns)),
        uncontended_s: run.uncontended_ns().map(seconds),
        wait_s: run.wait_ns.ok().map(seconds),
        user_s: Some(seconds(run.user_ns)),
        system_s: Some(seconds(run.system_ns)),
        faults: Some(Faults { minor: run.faults.minor, major: run.faults.major }),
        switches: Some(Switches { voluntary: run.switches.voluntary, involuntary: run.switches.involuntary }),
        migrations: run.migrations,
        peak_rss_bytes: run.rss_max_bytes,
        allocated_bytes: None,
        allocations: None,
        exit_code: match run.ended {
            Ended::Exited(code) => Some(code),
            Ended::Signalled(signal) => Some(SIGNAL_CODE + signal),
            Ended::Stopped => None,
        },
        counters: run.counts.0.iter().map(|&(counter, count)| (counter.name().to_owned(), count)).collect(),
        frame_ns: Vec::new(),
    }
}

fn times(run: &Run, measured: &Measured, measure: &Measure) -> Times {
    let value = prony_stats::quantile::median(&run.values).unwrap_or(f64::NAN);
    let value = if measure.better() == Better::Higher { 1.0 / value } else { value };
    Times {
        cpu_s: measured.cpu_s.unwrap_or(value),
        uncontended_s: measured.uncontended_s,
        wall_s: measured.wall_s.or((measure.metric == "wall").then_some(value)),
        rss_bytes: measured.peak_rss_bytes.map(|bytes| bytes as f64),
    }
}

/// Peak memory of all runs of a benchmark that count and of which it is known.
pub fn rss_of_runs(benchmark: &Benchmark) -> Vec<f64> {
    let counted = benchmark.runs.iter().filter(|run| !run.values.is_empty()).filter_map(|run| run.measured.as_ref());
    counted.filter_map(|measured| measured.value(Metric::Rss)).collect()
}

/// CPU and uncontended times of all runs of a benchmark that count, where there are any.
pub fn of_runs(benchmark: &Benchmark) -> (Vec<f64>, Option<Vec<f64>>) {
    let counted = || benchmark.runs.iter().filter(|run| !run.values.is_empty()).filter_map(|run| run.measured.as_ref());
    (
        counted().filter_map(|measured| measured.cpu_s).collect(),
        counted().map(|measured| measured.uncontended_s).collect(),
    )
}

/// The samples of a bench. What a file says of the machine and of commands stands beside them under the names that pyperf shows.
pub fn samples(mut benchmarks: Vec<Benchmark>, circumstances: Circumstances) -> Samples {
    let machine = |pointer: &str| circumstances.machine.pointer(pointer);
    let text = |pointer: &str| machine(pointer).and_then(|value| value.as_str());
    let platform = text("/kernel/release").zip(text("/cpu/architecture"));
    let texts = [
        ("hostname", text("/host").map(str::to_owned)),
        ("platform", platform.map(|(release, architecture)| format!("Linux-{release}-{architecture}"))),
        ("cpu_model_name", text("/cpu/model").map(str::to_owned)),
        ("prony_version", Some(circumstances.prony_version.clone())),
    ];
    let cpus = machine("/cpu/cores").and_then(|cores| cores.as_u64());
    for benchmark in &mut benchmarks {
        let command = benchmark.subject.as_ref().map(|subject| shell_words::join(&subject.command));
        let texts = texts.iter().cloned().chain([("command", command)]);
        // An empty text is no metadata.
        let texts = texts.filter_map(|(name, text)| Some((name, text.filter(|text| !text.trim().is_empty())?)));
        let facts = texts.map(|(name, text)| (name, MetadataValue::text(&text)));
        for (name, value) in facts.chain(cpus.map(|cpus| ("cpu_count", cpus.into()))) {
            benchmark.metadata.entry(name.to_owned()).or_insert(value);
        }
    }
    Samples { benchmarks, circumstances: Some(circumstances) }
}

/// Benchmarks without runs, one for each command; equal names are numbered, as a file has each name once.
pub fn benchmarks(subjects: &[Subject]) -> Vec<Benchmark> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let numbered = subjects.iter().map(|subject| {
        let mut benchmark = Benchmark::new(&subject.name);
        let times = seen.entry(benchmark.name.clone()).and_modify(|times| *times += 1).or_insert(1);
        if *times > 1 {
            benchmark.name = format!("{} ({times})", benchmark.name);
        }
        benchmark.subject = Some(Facts {
            command: subject.command.in_words(),
            build: build(subject),
            parameters: subject.parameters.clone(),
            ..Facts::default()
        });
        benchmark
    });
    numbered.collect()
}

/// Writes down what the values are.
pub fn set_measure(benchmark: &mut Benchmark, measure: &Measure) {
    let unit = match measure.unit.as_str() {
        "s" => Unit::Second,
        "byte" => Unit::Byte,
        _ => Unit::Integer,
    };
    benchmark.unit = unit;
    if let Some(facts) = &mut benchmark.subject {
        facts.metric = (measure.metric != "wall").then(|| measure.metric.clone());
        facts.unit = (unit == Unit::Integer).then(|| measure.unit.clone());
        facts.better = measure.better();
    }
}

/// Facts that identify the executable, to decide whether two samples are of the same build.
fn build(subject: &Subject) -> serde_json::Value {
    let program = &subject.command.program;
    match fs::metadata(program) {
        Ok(facts) => json!({
            "path": program.to_string_lossy(),
            "bytes": facts.len(),
            "modified_s": facts.mtime(),
        }),
        Err(_) => json!({ "path": program.to_string_lossy() }),
    }
}
