//! Samples for other tools: hyperfine's JSON, tables in CSV, Markdown, AsciiDoc and Org.

mod csv;
mod hyperfine;
mod markup;

pub use csv::csv;
pub use hyperfine::hyperfine;
pub use markup::{Markup, table};

use serde::Serialize;

use crate::describe::quantile::median;
use crate::files::samples::{Benchmark, MetadataValue, Samples, Unit, one_line};

/// Summary of a command as in hyperfine, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Summary {
    mean: f64,
    /// Standard deviation in seconds; `None` for one value.
    stddev: Option<f64>,
    median: f64,
    /// Mean time on a CPU in user space; `None` where it was not measured.
    user: Option<f64>,
    system: Option<f64>,
    min: f64,
    max: f64,
}

/// Benchmarks that take time, each with what is to be said of it. Others have no place in these formats.
fn timed(samples: &Samples) -> impl Iterator<Item = (&Benchmark, Summary)> {
    let timed = samples.benchmarks.iter().filter(|benchmark| benchmark.unit == Unit::Second);
    timed.filter_map(|benchmark| Some((benchmark, Summary::of(benchmark)?)))
}

impl Summary {
    /// `None` when no value counts.
    fn of(benchmark: &Benchmark) -> Option<Summary> {
        let values: Vec<f64> = benchmark.values().collect();
        let median = median(&values)?;
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let measured = |time: fn(&crate::files::samples::Measured) -> Option<f64>, stored: &str| {
            let runs = benchmark.runs.iter().filter(|run| !run.values.is_empty());
            let times: Option<Vec<f64>> = runs.map(|run| run.measured.as_deref().and_then(time)).collect();
            match times {
                Some(times) => Some(times.iter().sum::<f64>() / times.len() as f64),
                // hyperfine's first version stored the mean only.
                None => match benchmark.metadata.get(stored) {
                    Some(MetadataValue::Number(number)) => number.as_f64(),
                    _ => None,
                },
            }
        };
        Some(Summary {
            mean,
            stddev: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
            median,
            user: measured(|measured| measured.user_s, "user_mean_s"),
            system: measured(|measured| measured.system_s, "system_mean_s"),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// The name of a benchmark, which is the command as a person typed it unless it was given another. Names that only
/// had to be made different, by something at their end, are commands too.
fn command(benchmark: &Benchmark) -> String {
    let Some(subject) = benchmark.subject.as_ref().filter(|subject| !subject.command.is_empty()) else {
        return benchmark.name.clone();
    };
    let command = subject.command.join(" ");
    let added = benchmark.name.strip_prefix(&one_line(&command));
    if added.is_some_and(only_distinguishes) { command } else { benchmark.name.clone() }
}

/// The same for tables that have no other place for parameters: with their values where only these tell commands apart.
fn command_with_values(benchmark: &Benchmark) -> String {
    let command = command(benchmark);
    let added = benchmark.name.strip_prefix(&one_line(&command)).unwrap_or_default();
    if added.contains('=') { benchmark.name.clone() } else { command }
}

/// What names that are there already get behind them: nothing, ` #2`, ` (2)` or ` (threads=4)`.
fn only_distinguishes(added: &str) -> bool {
    let number = added.strip_prefix(" #").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    added.is_empty() || number || (added.starts_with(" (") && added.ends_with(')'))
}

#[cfg(test)]
mod tests;
