//! Verb `prony hist`: draws histograms.

use prony_report::json::hist::HistDocument;
use prony_report::text::hist::text;

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
        let answers: Vec<_> = all().map(|(file, benchmark)| HistDocument::of(file, benchmark, bins)).collect();
        output::print_json(&answers)?;
    } else {
        let several = args.files.len() > 1;
        let texts: Vec<String> =
            all().filter_map(|(file, benchmark)| text(several.then_some(file.as_str()), benchmark, bins)).collect();
        output::print(&texts.join("\n"))?;
    }
    Ok(Exit::Good)
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
