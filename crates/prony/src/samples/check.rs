//! `prony check`: what speaks against trusting samples, each with its evidence.

use prony_report::{json, text};
use prony_stats::check::check;

use super::load_all_by;
use crate::cli::CheckSamplesArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// No number of runs says anything of it.
const ONE_BINARY: &str = "of one binary, values say nothing of its layout: the same code in another order may differ by some per cent \
                          (prony bench --layouts)";

/// # Errors
/// When a file cannot be read.
pub fn run(args: &CheckSamplesArgs) -> Result<Exit, Failure> {
    let files = load_all_by("check", &args.files, args.read, args.metric)?;
    let benchmarks =
        files.iter().flat_map(|file| file.samples.benchmarks.iter().map(move |benchmark| (file, benchmark)));
    let all: Vec<_> = benchmarks
        .map(|(file, benchmark)| (file.name.as_str(), benchmark.name.as_str(), check(benchmark, args.margin.ln_1p())))
        .collect();
    if args.json {
        output::print_json(
            &all.iter().map(|(file, name, checked)| json::check::answer(file, name, checked)).collect::<Vec<_>>(),
        )?;
    } else {
        let several = args.files.len() > 1;
        let of = |(file, name, checked): &(&str, &str, _)| text::check::text(several.then_some(file), name, checked);
        output::print(&all.iter().map(of).collect::<String>())?;
    }
    let found = all.iter().any(|(.., checked)| !checked.findings.is_empty());
    if !found && !args.json {
        eprintln!("hint: {ONE_BINARY}");
    }
    Ok(if found { Exit::NotTrusted } else { Exit::Good })
}
