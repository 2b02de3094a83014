//! `prony compare`: judges stored samples.

mod differences;
mod human;
mod json;
mod page;

use std::collections::BTreeMap;
use std::io::Write;

use prony_stats::Metric;
use prony_stats::Verdict;
use prony_stats::rejudge::{Answer, Question, answer};
use prony_stats::samples::{Benchmark, Circumstances, Measurement, Samples};

use crate::cli::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::samples::{Loaded, load_all_by};
use prony_report::words::metric_name;

/// Two benchmarks, and what came out.
struct Compared<'a> {
    /// Files of A and of B.
    files: [&'a Loaded; 2],
    a: &'a Benchmark,
    b: &'a Benchmark,
    /// `None` where a side has no value that counts.
    answer: Option<Answer>,
}

/// Options of the comparison, and those that it could not use.
struct Asked<'a> {
    args: &'a CompareArgs,
    /// Benchmarks that only some files have: a sentence each.
    left_out: Vec<String>,
}

/// # Errors
/// When a file cannot be read, or they measure different things.
pub fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    // A place that cannot be written is told at once.
    let html = args.export_html.as_deref().map(|path| NewFile::create(path, true)).transpose()?;
    let files = load_all_by("compare", &args.files, args.read, args.metric)?;
    let sets = match args.metric {
        Some(_) => vec![files],
        None => with_allocations(files),
    };
    let mut asked = Asked { args, left_out: Vec::new() };
    let compared = judged(&sets, &mut asked)?;
    let differences = differences::of(&compared);
    if let Some(mut file) = html {
        let page = page::page(&asked, &compared, &differences);
        file.file()
            .write_all(page.as_bytes())
            .map_err(|error| Failure::new(format!("cannot write the page: {error}")))?;
        file.finish()?;
    }
    if args.json {
        output::print_json(&json::answer(&asked, &compared, &differences))?;
    } else {
        output::print(&human::text(&asked, &compared))?;
    }
    for warning in asked.left_out.iter().chain(&differences) {
        eprintln!("warning: {warning}");
    }
    Ok(Exit::of(compared.iter().map(Compared::verdict)))
}

/// The files, and the same files by the bytes and allocations of each operation, if each of them has any.
fn with_allocations(files: Vec<Loaded>) -> Vec<Vec<Loaded>> {
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

/// Pairs the files' benchmarks and judges all of them together. `sets`: the files, each time by another metric.
fn judged<'a>(sets: &'a [Vec<Loaded>], asked: &mut Asked<'_>) -> Result<Vec<Compared<'a>>, Failure> {
    let mut pairs = pair_up(&sets[0], asked)?;
    for files in &sets[1..] {
        // What only some of them have was said of the first set.
        pairs.extend(pair_up(files, &mut Asked { args: asked.args, left_out: Vec::new() }).unwrap_or_default());
    }
    for (files, a, b) in &pairs {
        refuse_nonsense(files, a, b)?;
    }
    let circumstances: Vec<Option<Circumstances>> =
        pairs.iter().map(|(files, a, b)| measured_together(files, a, b)).collect();
    let questions: Vec<Question<'_>> = pairs
        .iter()
        .zip(&circumstances)
        .map(|((_, a, b), circumstances)| Question { a, b, paired: circumstances.as_ref() })
        .collect();
    let answers = answer(
        &questions,
        asked.args.alpha,
        asked.args.margin().ln_1p(),
        asked.args.margin.is_some(),
        asked.args.metric,
    );
    Ok(pairs.into_iter().zip(answers).map(|((files, a, b), answer)| Compared { files, a, b, answer }).collect())
}

/// Which benchmark is compared with which: those of one name in several files, or those of one file with its first.
#[expect(clippy::type_complexity, reason = "two files and two benchmarks, named where they are taken apart")]
fn pair_up<'a>(
    files: &'a [Loaded],
    asked: &mut Asked<'_>,
) -> Result<Vec<([&'a Loaded; 2], &'a Benchmark, &'a Benchmark)>, Failure> {
    if let [only] = files {
        let [first, others @ ..] = only.samples.benchmarks.as_slice() else { return Ok(Vec::new()) };
        if others.is_empty() {
            return Err(Failure::new(format!("cannot compare {}: it has only one benchmark", only.name))
                .hint("give a second file"));
        }
        // Several measurements, as of demos: each has a first one.
        let of_all = only.samples.benchmarks.iter().map(measurement);
        if of_all.clone().any(|name| name.is_some()) {
            let first_of = |name| only.samples.benchmarks.iter().find(|one| measurement(one) == name);
            let pairs = only.samples.benchmarks.iter().filter_map(|other| {
                let first = first_of(measurement(other)).filter(|first| !std::ptr::eq(*first, other))?;
                Some(([only, only], first, other))
            });
            return Ok(pairs.collect());
        }
        return Ok(others.iter().map(|other| ([only, only], first, other)).collect());
    }
    let [first, others @ ..] = files else { return Ok(Vec::new()) };
    // One benchmark a file: their names may differ, as those of two commands do.
    if files.iter().all(|file| file.samples.benchmarks.len() == 1) {
        let a = &first.samples.benchmarks[0];
        return Ok(others.iter().map(|other| ([first, other], a, &other.samples.benchmarks[0])).collect());
    }
    let mut pairs = Vec::new();
    for other in others {
        let of_other: BTreeMap<&str, &Benchmark> = by_name(other);
        let of_first: BTreeMap<&str, &Benchmark> = by_name(first);
        for a in &first.samples.benchmarks {
            match of_other.get(a.name.as_str()) {
                Some(b) => pairs.push(([first, other], a, *b)),
                None => asked.left_out.push(format!("`{}` skipped: {} does not have it", a.name, other.name)),
            }
        }
        let only_there = other.samples.benchmarks.iter().filter(|b| !of_first.contains_key(b.name.as_str()));
        asked.left_out.extend(only_there.map(|b| format!("`{}` skipped: {} does not have it", b.name, first.name)));
    }
    if pairs.is_empty() {
        let name = |file: &Loaded| format!("`{}`", file.samples.benchmarks[0].name);
        return Err(Failure::new(format!(
            "cannot compare {} with {}: no benchmark in common, as {} and {}",
            first.name,
            others[0].name,
            name(first),
            name(&others[0])
        ))
        .hint("`prony stats FILE` lists the benchmarks of a file"));
    }
    Ok(pairs)
}

fn by_name(file: &Loaded) -> BTreeMap<&str, &Benchmark> {
    file.samples.benchmarks.iter().map(|benchmark| (benchmark.name.as_str(), benchmark)).collect()
}

/// A ratio of seconds to bytes means nothing, nor one of wall time to CPU time.
fn refuse_nonsense(files: &[&Loaded; 2], a: &Benchmark, b: &Benchmark) -> Result<(), Failure> {
    let told = |benchmark: &Benchmark| format!("`{}` in `{}`", metric_name(benchmark.metric()), benchmark.unit_name());
    if a.metric() != b.metric() || a.unit_name() != b.unit_name() {
        return Err(Failure::new(format!(
            "cannot compare `{}` of {} with `{}` of {}: expected the same metric, found {} and {}",
            a.name,
            files[0].name,
            b.name,
            files[1].name,
            told(a),
            told(b)
        ))
        .hint("compare files with the same metric"));
    }
    if a.better() != b.better() {
        let what = told(a);
        return Err(Failure::new(format!(
            "cannot compare `{}`: in one file more {what} is better, in the other less",
            a.name
        ))
        .hint("measure both with the same version of the worker"));
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
            Some(Measurement { pairing, budget_s, pairs_done_s, .. }) => {
                Circumstances { pairing, budget_s, pairs_done_s, ..circumstances }
            }
            None => circumstances,
        })
    };
    let (of_a, of_b) = (of(files[0], a)?, of(files[1], b)?);
    (of_a.pairing.is_some() && of_a.pairing == of_b.pairing).then_some(of_a)
}

impl Compared<'_> {
    fn verdict(&self) -> Verdict {
        self.answer.as_ref().map_or(Verdict::Unclear, Answer::verdict)
    }

    /// Value of a metadatum or parameter of B, or of its file.
    fn group(&self, key: &str) -> String {
        let parameter = self.b.subject.as_ref().and_then(|subject| subject.parameters.get(key)).cloned();
        let metadata = || self.b.metadata.get(key).map(ToString::to_string);
        let of_runs = || self.b.runs.iter().find_map(|run| run.metadata.get(key)).map(ToString::to_string);
        parameter.or_else(metadata).or_else(of_runs).unwrap_or_else(|| "none".to_owned())
    }
}

#[cfg(test)]
mod tests;
