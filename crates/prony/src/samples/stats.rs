//! Verb `prony stats`: prints centre and spread.

use prony_report::{json, text};
use prony_stats::summary::Summary;

use super::load_all_by;
use crate::cli::StatsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When a file cannot be read.
pub fn run(args: &StatsArgs) -> Result<Exit, Failure> {
    let files = load_all_by("read", &args.files, args.read, args.metric)?;
    let benchmarks =
        files.iter().flat_map(|file| file.samples.benchmarks.iter().map(move |benchmark| (file, benchmark)));
    let all: Vec<_> = benchmarks
        .filter_map(|(file, benchmark)| Some((file.name.as_str(), benchmark, Summary::of(benchmark)?)))
        .collect();
    if args.json {
        let answers = all.iter().map(|(file, benchmark, summary)| json::stats::answer(file, benchmark, summary));
        output::print_json(&answers.collect::<Vec<_>>())?;
    } else {
        let several = args.files.len() > 1;
        let texts = all
            .iter()
            .map(|(file, benchmark, summary)| text::stats::text(several.then_some(*file), benchmark, summary));
        output::print(&texts.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tests::stored;

    #[test]
    fn all_that_matters_has_its_unit_and_its_count() {
        let samples = stored();
        let texts: Vec<String> = samples
            .benchmarks
            .iter()
            .map(|one| text::stats::text(Some("x.json"), one, &Summary::of(one).expect("there are values")))
            .collect();
        insta::assert_snapshot!(texts.join("\n"));
    }
}
