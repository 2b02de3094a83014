//! Verb `prony hist`: draws histograms.

use prony_report::text::bench::histogram_lines;
use prony_stats::histogram::Histogram;
use prony_stats::samples::Benchmark;
use prony_text::{Quantity, Untrusted, count};
use serde_json::{Value, json};

use super::load_all;
use crate::cli::HistArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When a file cannot be read.
pub fn run(args: &HistArgs) -> Result<Exit, Failure> {
    let files = load_all("read", &args.files, args.read)?;
    let all = || files.iter().flat_map(|file| file.samples.benchmarks.iter().map(|benchmark| (&file.name, benchmark)));
    let bins = usize::from(args.bins);
    if args.json {
        let answers: Vec<Value> = all()
            .map(|(file, benchmark)| {
                let values: Vec<f64> = benchmark.values().collect();
                json!({
                    "file": file, "benchmark": benchmark.name, "unit": benchmark.unit_name(),
                    "histogram": Histogram::of(&values, bins),
                })
            })
            .collect();
        output::print_json(&answers)?;
    } else {
        let several = args.files.len() > 1;
        let texts: Vec<String> =
            all().filter_map(|(file, benchmark)| text(several.then_some(file), benchmark, bins)).collect();
        output::print(&texts.join("\n"))?;
    }
    Ok(Exit::Good)
}

/// `None` when no value counts.
fn text(file: Option<&String>, benchmark: &Benchmark, bins: usize) -> Option<String> {
    let values: Vec<f64> = benchmark.values().collect();
    let histogram = Histogram::of(&values, bins)?;
    let scale = Quantity::of(histogram.edge(histogram.counts.len() / 2), benchmark.unit_name());
    let file = file.map_or_else(String::new, |file| format!("{}: ", Untrusted::new(file)));
    let mut out = format!("{file}{}: {}\n", Untrusted::new(&benchmark.name), count(values.len() as u64, "value"));
    histogram_lines(&mut out, &histogram, &scale);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tests::stored;

    #[test]
    fn a_histogram_fits_into_a_terminal() {
        let samples = stored();
        let texts: Vec<String> = samples.benchmarks.iter().filter_map(|benchmark| text(None, benchmark, 8)).collect();
        assert!(texts.iter().flat_map(|text| text.lines()).all(|line| line.chars().count() <= 80));
        insta::assert_snapshot!(texts.join("\n"));
    }
}
