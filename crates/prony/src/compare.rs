//! `prony compare`: judges stored samples.

mod differences;
mod human;
mod json;

use std::collections::BTreeMap;

use prony_stats::judge::Verdict;
use prony_stats::rejudge::{Answer, Question, answer};
use prony_stats::samples::Benchmark;

use crate::bench::human::metric_name;
use crate::cli::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::samples::{Loaded, load_all_by};

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
    let files = load_all_by("compare", &args.files, args.metric)?;
    let mut asked = Asked { args, left_out: Vec::new() };
    let compared = judged(&files, &mut asked)?;
    let differences = differences::of(&compared);
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

/// Pairs the files' benchmarks and judges them together.
fn judged<'a>(files: &'a [Loaded], asked: &mut Asked<'_>) -> Result<Vec<Compared<'a>>, Failure> {
    let pairs = pair_up(files, asked)?;
    for (files, a, b) in &pairs {
        refuse_nonsense(files, a, b)?;
    }
    let questions: Vec<Question<'_>> = pairs.iter().map(|(files, a, b)| question(files, a, b)).collect();
    let answers = answer(&questions, asked.args.alpha, asked.args.margin.ln_1p(), asked.args.metric);
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

/// Runs are pairs when one measurement made them.
fn question<'a>(files: &[&'a Loaded; 2], a: &'a Benchmark, b: &'a Benchmark) -> Question<'a> {
    let [of_a, of_b] = files.map(|file| file.samples.circumstances.as_ref());
    let paired = of_a.zip(of_b).filter(|(of_a, of_b)| of_a.pairing.is_some() && of_a.pairing == of_b.pairing);
    Question { a, b, paired: paired.map(|(of_a, _)| of_a) }
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
