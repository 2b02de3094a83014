//! Compares the benchmarks of stored files: which with which, and what came out.

use std::collections::BTreeMap;

use crate::decide::rejudge::{Question, Rejudgement, answer};
use crate::files::import::Loaded;
use crate::files::samples::{Benchmark, Circumstances, Measurement, Samples};
use crate::metric::Metric;
use crate::verdict::Verdict;

/// Two benchmarks, and what came out.
#[derive(Debug)]
pub struct Compared<'a> {
    /// Files of A and of B.
    pub files: [&'a Loaded; 2],
    /// The baseline.
    pub a: &'a Benchmark,
    /// What is compared with it.
    pub b: &'a Benchmark,
    /// `None` where a side has no value that counts.
    pub answer: Option<Rejudgement>,
}

/// What a comparison is to answer.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Probability of any false alarm, over all comparisons.
    pub alpha: f64,
    /// Smaller differences count as none, a log ratio.
    pub margin: f64,
    /// No difference is claimed whose estimate is below the margin.
    pub tolerates: bool,
    /// The only metric that is judged; `None` for what the user waits for.
    pub metric: Option<Metric>,
}

/// A benchmark that only one of two files has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Name of the benchmark.
    pub benchmark: String,
    /// The file that lacks it.
    pub lacking: String,
}

/// Files that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// There is nothing to compare the only benchmark with.
    #[error("cannot compare {0}: it has only one benchmark")]
    OnlyOne(String),
    /// No benchmark has the same name in both files.
    #[error("cannot compare {} with {}: no benchmark in common, as `{}` and `{}`", .files[0], .files[1], .benchmarks[0], .benchmarks[1])]
    NothingInCommon {
        /// Names of both files.
        files: [String; 2],
        /// The first benchmark of each.
        benchmarks: [String; 2],
    },
    /// A ratio of seconds to bytes means nothing, nor one of wall time to CPU time.
    #[error(
        "cannot compare `{}` of {} with `{}` of {}: expected the same metric, found {} and {}",
        .benchmarks[0], .files[0], .benchmarks[1], .files[1], .found[0], .found[1]
    )]
    OtherMetric {
        /// Names of both files.
        files: Box<[String; 2]>,
        /// Names of both benchmarks.
        benchmarks: Box<[String; 2]>,
        /// Metric and unit of each.
        found: Box<[String; 2]>,
    },
    /// In one file more is better, in the other less.
    #[error("cannot compare `{benchmark}`: in one file more {what} is better, in the other less")]
    OtherDirection {
        /// Name of the benchmark.
        benchmark: String,
        /// Metric and unit.
        what: String,
    },
}

/// Two benchmarks and their files.
type Pair<'a> = ([&'a Loaded; 2], &'a Benchmark, &'a Benchmark);

/// The files, and the same files by the bytes and allocations of each operation, if each of them has any.
pub fn with_allocations(files: Vec<Loaded>) -> Vec<Vec<Loaded>> {
    let by = |metric: Metric| -> Option<Vec<Loaded>> {
        let of_file = |file: &Loaded| {
            let benchmarks: Vec<Benchmark> =
                file.samples.benchmarks.iter().map(|benchmark| benchmark.by(metric)).collect();
            let benchmarks: Vec<Benchmark> =
                benchmarks.into_iter().filter(|benchmark| !benchmark.runs.is_empty()).collect();
            let samples = Samples { benchmarks, circumstances: file.samples.circumstances.clone() };
            Some(Loaded { name: file.name.clone(), format: file.format, samples })
                .filter(|file| !file.samples.benchmarks.is_empty())
        };
        files.iter().map(of_file).collect()
    };
    let counts: Vec<Vec<Loaded>> = [Metric::AllocatedBytes, Metric::Allocations].into_iter().filter_map(by).collect();
    std::iter::once(files).chain(counts).collect()
}

/// Pairs the files' benchmarks and judges all of them together. `sets`: the files, each time by another metric. With it: what only
/// some files have.
///
/// # Errors
/// When they measure different things, or have nothing in common.
pub fn compare(sets: &[Vec<Loaded>], terms: Terms) -> Result<(Vec<Compared<'_>>, Vec<LeftOut>), CompareError> {
    let [first, others @ ..] = sets else { return Ok((Vec::new(), Vec::new())) };
    let (mut pairs, left_out) = pair_up(first)?;
    for files in others {
        // What only some of them have was said of the first set.
        pairs.extend(pair_up(files).map(|(pairs, _)| pairs).unwrap_or_default());
    }
    for pair in &pairs {
        refuse_nonsense(pair)?;
    }
    let circumstances: Vec<Option<Circumstances>> =
        pairs.iter().map(|(files, a, b)| measured_together(files, a, b)).collect();
    let questions: Vec<Question<'_>> = pairs
        .iter()
        .zip(&circumstances)
        .map(|((_, a, b), circumstances)| Question { a, b, paired: circumstances.as_ref() })
        .collect();
    let answers = answer(&questions, terms.alpha, terms.margin, terms.tolerates, terms.metric);
    let compared = pairs.into_iter().zip(answers).map(|((files, a, b), answer)| Compared { files, a, b, answer });
    Ok((compared.collect(), left_out))
}

/// Which benchmark is compared with which: those of one name in several files, or those of one file with its first.
fn pair_up(files: &[Loaded]) -> Result<(Vec<Pair<'_>>, Vec<LeftOut>), CompareError> {
    if let [only] = files {
        let [first, others @ ..] = only.samples.benchmarks.as_slice() else { return Ok((Vec::new(), Vec::new())) };
        if others.is_empty() {
            return Err(CompareError::OnlyOne(only.name.clone()));
        }
        // Several measurements, as of demos: each has a first one.
        let of_all = only.samples.benchmarks.iter().map(measurement);
        if of_all.clone().any(|name| name.is_some()) {
            let first_of = |name| only.samples.benchmarks.iter().find(|one| measurement(one) == name);
            let pairs = only.samples.benchmarks.iter().filter_map(|other| {
                let first = first_of(measurement(other)).filter(|first| !std::ptr::eq(*first, other))?;
                Some(([only, only], first, other))
            });
            return Ok((pairs.collect(), Vec::new()));
        }
        return Ok((others.iter().map(|other| ([only, only], first, other)).collect(), Vec::new()));
    }
    let [first, others @ ..] = files else { return Ok((Vec::new(), Vec::new())) };
    // One benchmark a file: their names may differ, as those of two commands do.
    if let ([a], true) =
        (first.samples.benchmarks.as_slice(), others.iter().all(|file| file.samples.benchmarks.len() == 1))
    {
        let pairs =
            others.iter().flat_map(|other| other.samples.benchmarks.iter().map(move |b| ([first, other], a, b)));
        return Ok((pairs.collect(), Vec::new()));
    }
    let (mut pairs, mut left_out): (Vec<Pair<'_>>, Vec<LeftOut>) = (Vec::new(), Vec::new());
    for other in others {
        let lacking = |benchmark: &Benchmark, file: &Loaded| LeftOut {
            benchmark: benchmark.name.clone(),
            lacking: file.name.clone(),
        };
        let (of_first, of_other) = (by_name(first), by_name(other));
        for a in &first.samples.benchmarks {
            match of_other.get(a.name.as_str()) {
                Some(b) => pairs.push(([first, other], a, *b)),
                None => left_out.push(lacking(a, other)),
            }
        }
        let only_there = other.samples.benchmarks.iter().filter(|b| !of_first.contains_key(b.name.as_str()));
        left_out.extend(only_there.map(|b| lacking(b, first)));
    }
    if let (true, Some(other)) = (pairs.is_empty(), others.first()) {
        let name = |file: &Loaded| file.samples.benchmarks.first().map(|one| one.name.clone()).unwrap_or_default();
        return Err(CompareError::NothingInCommon {
            files: [first.name.clone(), other.name.clone()],
            benchmarks: [name(first), name(other)],
        });
    }
    Ok((pairs, left_out))
}

fn by_name(file: &Loaded) -> BTreeMap<&str, &Benchmark> {
    file.samples.benchmarks.iter().map(|benchmark| (benchmark.name.as_str(), benchmark)).collect()
}

fn refuse_nonsense((files, a, b): &Pair<'_>) -> Result<(), CompareError> {
    let metric = |benchmark: &Benchmark| match Metric::from_name(benchmark.metric()) {
        Some(Metric::Cpu) => "CPU".to_owned(),
        Some(Metric::Uncontended) => Metric::Uncontended.title().to_owned(),
        _ => benchmark.metric().to_owned(),
    };
    let what = |benchmark: &Benchmark| format!("`{}` in `{}`", metric(benchmark), benchmark.unit_name());
    if a.metric() != b.metric() || a.unit_name() != b.unit_name() {
        return Err(CompareError::OtherMetric {
            files: Box::new(files.map(|file| file.name.clone())),
            benchmarks: Box::new([a.name.clone(), b.name.clone()]),
            found: Box::new([what(a), what(b)]),
        });
    }
    if a.better() != b.better() {
        return Err(CompareError::OtherDirection { benchmark: a.name.clone(), what: what(a) });
    }
    Ok(())
}

/// Name of the measurement that a benchmark is of, where its file holds several.
fn measurement(benchmark: &Benchmark) -> Option<&str> {
    Some(benchmark.subject.as_ref()?.measurement.as_ref()?.name.as_str())
}

/// Circumstances of runs that are pairs: those that one measurement made.
fn measured_together(files: &[&Loaded; 2], a: &Benchmark, b: &Benchmark) -> Option<Circumstances> {
    let of = |file: &Loaded, benchmark: &Benchmark| {
        let circumstances = file.samples.circumstances.clone()?;
        Some(match benchmark.subject.as_ref().and_then(|subject| subject.measurement.clone()) {
            Some(Measurement { pairing, budget_s, pairs_done_s, judged_frames, .. }) => {
                Circumstances { pairing, budget_s, pairs_done_s, judged_frames, ..circumstances }
            }
            None => circumstances,
        })
    };
    let (of_a, of_b) = (of(files[0], a)?, of(files[1], b)?);
    (of_a.pairing.is_some() && of_a.pairing == of_b.pairing).then_some(of_a)
}

impl Compared<'_> {
    /// Verdict on B.
    pub fn verdict(&self) -> Verdict {
        self.answer.as_ref().map_or(Verdict::Unclear, Rejudgement::verdict)
    }

    /// Circumstances of runs that are pairs: those that one measurement made.
    pub fn measured_together(&self) -> Option<Circumstances> {
        measured_together(&self.files, self.a, self.b)
    }

    /// Value of a metadatum or parameter of B, or of its file.
    pub fn group(&self, key: &str) -> String {
        let parameter = self.b.subject.as_ref().and_then(|subject| subject.parameters.get(key)).cloned();
        let metadata = || self.b.metadata.get(key).map(ToString::to_string);
        let of_runs = || self.b.runs.iter().find_map(|run| run.metadata.get(key)).map(ToString::to_string);
        parameter.or_else(metadata).or_else(of_runs).unwrap_or_else(|| "none".to_owned())
    }
}
