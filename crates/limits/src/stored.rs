//! Limits as a samples file, and where it lies.
//!
//! `docs/formats/limits.md` draws what is in it besides. Whatever reads samples reads limits: `prony stats`, `hist`, pyperf, and a
//! study's page.

#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_machine::Facts;
use prony_stats::samples::{
    Benchmark, Circumstances, Faults, Measured as Cost, MetadataValue, PROCESS, Run, Samples, SamplesError, Subject,
    Unit,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use prony_stats::samples::MOST_BYTES;

use crate::case::Measured;
use crate::experiment::Experiment;
use crate::fingerprint::{Fingerprint, fingerprint};
use crate::listing::Listing;
use crate::run::{Limits, Skipped};
use crate::tester::{Sample, Series, Taint};

/// The key beside the facts of the machine.
const KEY: &str = "limits";
/// Metadata key for the reason why a run may be slower than the hardware.
const TAINT: &str = "taint";
/// The counter that is the clock of a sample.
const CORE_HZ: &str = "core_hz";

/// Errors of a limits file.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum StoredError {
    /// The file is not a samples file, or cannot be one.
    #[error("{0}")]
    Samples(#[from] SamplesError),
    /// The samples file was not written by `prony limits`.
    #[error("expected limits, found samples without `prony.machine.limits`")]
    NotLimits,
    /// A part of it is not what is written there.
    #[error("`{place}`: expected {expected}, found {found}")]
    Part {
        /// Place, as a path in the JSON.
        place: String,
        /// Expected item, for the message.
        expected: &'static str,
        /// Item that was found instead.
        found: String,
    },
}

/// Facts about the whole run: `prony.machine.limits`.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    fingerprint: String,
    cpu: usize,
    elapsed_s: f64,
    #[serde(default)]
    stopped: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steal: Option<f64>,
    #[serde(default)]
    not_measured: Vec<NotMeasured>,
}

#[derive(Debug, Serialize, Deserialize)]
struct NotMeasured {
    experiment: Experiment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    reason: String,
}

/// Facts about a case besides its samples: `prony.build` of a benchmark.
#[derive(Debug, Serialize, Deserialize)]
struct AboutCase {
    count: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steal: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    listing: Option<Listing>,
}

/// Path of the limits of a machine: below `$XDG_DATA_HOME`, or `~/.local/share` (XDG Base Directory Specification 0.8,
/// which says that relative paths do not count). `None` without either.
pub fn path(data_home: Option<&OsStr>, home: Option<&OsStr>, fingerprint: Fingerprint) -> Option<PathBuf> {
    let absolute = |path: &OsStr| Some(Path::new(path)).filter(|path| path.is_absolute()).map(Path::to_owned);
    let data = data_home.and_then(absolute).or_else(|| Some(home.and_then(absolute)?.join(".local/share")))?;
    Some(data.join("prony/limits").join(format!("{fingerprint}.json")))
}

/// Content of a limits file, which is a samples file. [`decode`] gives back equal values bit for bit; clocks are
/// rounded to a hertz, and the whole time to a microsecond.
///
/// # Errors
/// [`StoredError::Samples`] where nothing was measured.
pub fn encode(limits: &Limits, prony_version: &str) -> Result<Vec<u8>, StoredError> {
    let not_measured = limits.skipped.iter().map(|skipped| NotMeasured {
        experiment: skipped.experiment,
        name: skipped.name.clone(),
        reason: skipped.reason.clone(),
    });
    let about = About {
        fingerprint: limits.fingerprint.to_string(),
        cpu: limits.cpu,
        elapsed_s: limits.elapsed.as_micros() as f64 / 1e6,
        stopped: limits.stopped,
        steal: limits.steal,
        not_measured: not_measured.collect(),
    };
    let mut machine = serde_json::to_value(&limits.facts).unwrap_or_default();
    if let Some(facts) = machine.as_object_mut() {
        facts.insert(KEY.to_owned(), serde_json::to_value(&about).unwrap_or_default());
    }
    let circumstances = Circumstances {
        prony_version: prony_version.to_owned(),
        machine,
        tuning: serde_json::json!({ "pin": limits.cpu }),
        ..Circumstances::default()
    };
    let benchmarks = limits.measured.iter().filter(|measured| !measured.values.is_empty()).map(benchmark).collect();
    Ok(Samples { benchmarks, circumstances: Some(circumstances) }.encode()?)
}

fn benchmark(measured: &Measured) -> Benchmark {
    let mut benchmark = Benchmark::new(&full_name(measured));
    let is_time = measured.unit == "second";
    benchmark.unit = if is_time { Unit::Second } else { Unit::Integer };
    benchmark.metadata.insert(PROCESS.to_owned(), MetadataValue::from(0));
    let about = AboutCase { count: measured.count, steal: measured.series.steal, listing: measured.listing.clone() };
    benchmark.subject = Some(Subject {
        build: serde_json::to_value(about).unwrap_or_default(),
        metric: Some(measured.experiment.word().to_owned()),
        unit: (!is_time).then(|| measured.unit.clone()),
        better: measured.better,
        parameters: measured.facts.clone(),
        ..Subject::default()
    });
    let passes = measured.series.passes;
    let run = |(value, sample): (&f64, &Sample)| {
        let mut run = Run { loops: passes.max(1), ..Run::of(*value) };
        if let Some(taint) = sample.taint {
            run.metadata.insert(TAINT.to_owned(), MetadataValue::text(taint.word()));
        }
        run.measured = Some(Box::new(Cost {
            wall_s: Some(sample.seconds * passes as f64),
            faults: Some(Faults { minor: sample.faults, major: 0 }),
            counters: BTreeMap::from([(CORE_HZ.to_owned(), sample.core_hz as u64)]),
            ..Cost::default()
        }));
        run
    };
    benchmark.runs = measured.values.iter().zip(&measured.series.samples).map(run).collect();
    benchmark
}

/// `bandwidth: load 16 KiB, 4K pages`.
fn full_name(measured: &Measured) -> String {
    format!("{}: {}", measured.experiment, measured.name)
}

/// Parses the content that [`encode`] wrote.
///
/// # Errors
/// [`StoredError`]
pub fn decode(bytes: &[u8]) -> Result<Limits, StoredError> {
    let samples = Samples::decode(bytes)?;
    let machine = samples.circumstances.as_ref().map_or(&Value::Null, |circumstances| &circumstances.machine);
    let about = machine.get(KEY).ok_or(StoredError::NotLimits)?;
    let part = |place: &str, expected, found: String| StoredError::Part { place: place.to_owned(), expected, found };
    let about: About = serde_json::from_value(about.clone())
        .map_err(|error| part("prony.machine.limits", "what is known of limits", error.to_string()))?;
    let facts: Facts = serde_json::from_value(machine.clone())
        .map_err(|error| part("prony.machine", "facts of a machine", error.to_string()))?;
    let print: Fingerprint =
        about.fingerprint.parse().map_err(|found| part("prony.machine.limits.fingerprint", "a fingerprint", found))?;
    if fingerprint(&facts) != print {
        let found = fingerprint(&facts).to_string();
        return Err(part("prony.machine", "the facts that belong to the fingerprint", found));
    }
    let measured = samples.benchmarks.iter().enumerate().map(|(place, benchmark)| case(place, benchmark));
    let skipped = about.not_measured.into_iter().map(|skipped| Skipped {
        experiment: skipped.experiment,
        name: skipped.name,
        reason: skipped.reason,
    });
    Ok(Limits {
        fingerprint: print,
        facts,
        cpu: about.cpu,
        measured: measured.collect::<Result<_, _>>()?,
        skipped: skipped.collect(),
        elapsed: Duration::try_from_secs_f64(about.elapsed_s).unwrap_or_default(),
        stopped: about.stopped,
        steal: about.steal,
    })
}

fn case(place: usize, benchmark: &Benchmark) -> Result<Measured, StoredError> {
    let part = |at: &str, expected, found: &str| StoredError::Part {
        place: format!("benchmarks[{place}].{at}"),
        expected,
        found: found.chars().take(80).collect(),
    };
    let subject = benchmark.subject.as_ref().ok_or_else(|| part("prony", "what is known of a case", "nothing"))?;
    let word = subject.metric.as_deref().unwrap_or_default();
    let experiment = Experiment::from_word(word).ok_or_else(|| part("prony.metric", "an experiment", word))?;
    let name = benchmark.name.strip_prefix(&format!("{experiment}: "));
    let name = name.ok_or_else(|| part("metadata.name", "the experiment and a name", &benchmark.name))?;
    let about: AboutCase = serde_json::from_value(subject.build.clone())
        .map_err(|error| part("prony.build", "what is known of a case", &error.to_string()))?;
    if !(about.count.is_finite() && about.count > 0.0) {
        return Err(part("prony.build.count", "a number above 0", &about.count.to_string()));
    }
    let (mut samples, mut values) = (Vec::new(), Vec::new());
    let passes = benchmark.runs.first().map_or(1, |run| run.loops);
    for run in &benchmark.runs {
        let cost = run.measured.clone().unwrap_or_default();
        let taint = match run.metadata.get(TAINT).or_else(|| benchmark.metadata.get(TAINT)) {
            Some(MetadataValue::Text(word)) => {
                Some(Taint::from_word(word).ok_or_else(|| part("runs.metadata.taint", "a reason", word))?)
            }
            _ => None,
        };
        for &value in &run.values {
            values.push(value);
            samples.push(Sample {
                seconds: cost.wall_s.unwrap_or(0.0) / run.loops as f64,
                core_hz: cost.counters.get(CORE_HZ).copied().unwrap_or(0) as f64,
                faults: cost.faults.unwrap_or_default().minor,
                taint,
            });
        }
    }
    Ok(Measured {
        experiment,
        name: name.to_owned(),
        unit: benchmark.unit_name().to_owned(),
        better: subject.better,
        count: about.count,
        facts: subject.parameters.clone(),
        values,
        series: Series { passes, samples, steal: about.steal },
        listing: about.listing,
    })
}

#[cfg(test)]
mod tests {
    use prony_machine::{Tree, facts};
    use prony_stats::samples::Better;

    use super::*;
    use crate::listing::Line;

    /// Two cases of a machine of our own.
    fn limits() -> Limits {
        let facts = facts(&Tree::machine());
        let sample = |seconds, taint| Sample { seconds, core_hz: 3e9, faults: 2, taint };
        let line = Line { address: 4096, bytes: "90".to_owned(), text: "nop".to_owned() };
        let listing =
            Listing { lines: vec![line], loop_bytes: 1, code_bytes: 1, code: "90".to_owned(), ..Listing::default() };
        let load = Measured {
            experiment: Experiment::Bandwidth,
            name: "load 16 KiB, 4K pages".to_owned(),
            unit: "B/s".to_owned(),
            better: Better::Higher,
            count: 16384.0,
            facts: BTreeMap::from([("level".to_owned(), "L1".to_owned())]),
            values: vec![2e11, 1e11],
            series: Series {
                passes: 8,
                samples: vec![sample(0.25, None), sample(0.5, Some(Taint::SharedCore))],
                steal: Some(0.125),
            },
            listing: Some(listing),
        };
        let call = Measured {
            experiment: Experiment::Net,
            name: "system call: getppid".to_owned(),
            unit: "second".to_owned(),
            better: Better::Lower,
            count: 1.0,
            facts: BTreeMap::new(),
            values: vec![2e-7],
            series: Series { passes: 4, samples: vec![sample(2e-7, None)], steal: None },
            listing: None,
        };
        Limits {
            fingerprint: fingerprint(&facts),
            facts,
            cpu: 1,
            measured: vec![load, call],
            skipped: vec![Skipped {
                experiment: Experiment::Simd,
                name: Some("copy".to_owned()),
                reason: "this processor has no AVX-512".to_owned(),
            }],
            elapsed: Duration::from_micros(1_500_000),
            stopped: false,
            steal: Some(0.25),
        }
    }

    #[test]
    fn limits_are_read_as_they_were_written() {
        let limits = limits();
        let bytes = encode(&limits, "0.1.0").expect("limits can be written");
        assert_eq!(decode(&bytes), Ok(limits));
    }

    #[test]
    fn what_is_measured_in_part_keeps_its_other_cases() {
        let names = |limits: &Limits| limits.measured.iter().map(|case| case.name.clone()).collect::<Vec<_>>();
        let all = names(&limits());
        let (mut again, mut earlier) = (limits(), limits());
        again.measured.remove(1);
        again.measured[0].values = vec![3e11, 3e11];
        earlier.measured[0].name += ", and more";
        let requested = [Experiment::Bandwidth, Experiment::Net];
        let mut part = again.clone();
        part.keep(earlier.clone(), &requested, true);
        assert_eq!(names(&part), [all[0].clone(), format!("{}, and more", all[0]), all[1].clone()]);
        assert_eq!(part.skipped, limits().skipped);
        let mut whole = again.clone();
        whole.keep(earlier, &requested, false);
        assert_eq!(names(&whole), all[..1]);
        again.keep(limits(), &requested, true);
        assert_eq!((names(&again), again.measured[0].values[0]), (all, 3e11));
    }

    #[test]
    fn limits_are_samples_that_others_read() {
        let samples = Samples::decode(&encode(&limits(), "0.1.0").expect("limits can be written")).expect("samples");
        let names: Vec<&str> = samples.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
        assert_eq!(names, ["bandwidth: load 16 KiB, 4K pages", "net: system call: getppid"]);
        assert_eq!(samples.benchmarks[0].unit_name(), "B/s");
        assert_eq!(samples.benchmarks[0].better(), Better::Higher);
        assert_eq!(samples.benchmarks[0].clusters().len(), 1, "all samples are of one process");
    }

    #[test]
    fn a_file_of_another_machine_or_hand_is_refused_with_its_place() {
        let text = String::from_utf8(encode(&limits(), "0.1.0").expect("limits can be written")).expect("JSON");
        let problem = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            decode(text.replacen(from, to, 1).as_bytes()).expect_err("it was altered").to_string()
        };
        let print = limits().fingerprint.to_string();
        assert!(problem(&print, "0123456789abcdef").contains("`prony.machine`: expected the facts that belong"));
        assert!(problem(&print, "hello").contains("prony.machine.limits.fingerprint"));
        assert!(problem("shared core", "bad weather").contains("runs.metadata.taint"));
        assert!(problem("\"limits\":", "\"other\":").contains("expected limits, found samples"));
        assert!(matches!(decode(&text.as_bytes()[..text.len() / 2]), Err(StoredError::Samples(_))));
        assert!(matches!(decode(b""), Err(StoredError::Samples(_))));
    }

    #[test]
    fn limits_lie_below_the_data_directory_under_their_fingerprint() {
        let print: Fingerprint = "0123456789abcdef".parse().expect("a fingerprint");
        let at = |data: Option<&str>, home: Option<&str>| path(data.map(OsStr::new), home.map(OsStr::new), print);
        let end = "prony/limits/0123456789abcdef.json";
        assert_eq!(at(Some("/data"), Some("/home/me")), Some(Path::new("/data").join(end)));
        assert_eq!(at(Some("data"), Some("/home/me")), Some(Path::new("/home/me/.local/share").join(end)));
        assert_eq!(at(None, None), None);
    }
}
