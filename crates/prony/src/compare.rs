//! `prony compare`: judges stored samples.

use std::io::Write;

use prony_report::compare::{CompareOptions, warnings};
use prony_report::{json, page_of_comparison, text};
use prony_stats::compare::{CompareError, Compared, Terms, compare, with_allocations};

use crate::cli::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::samples::load_all_by;

/// # Errors
/// When a file cannot be read, or they measure different things.
pub fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    // A path that cannot be written is reported at once.
    let html = args.export_html.as_deref().map(|path| NewFile::create(path, true)).transpose()?;
    let files = load_all_by("compare", &args.files, args.read, args.metric)?;
    let sets = match args.metric {
        Some(_) => vec![files],
        None => with_allocations(files),
    };
    let (compared, left_out) = compare(&sets, terms(args)).map_err(failure)?;
    let request = CompareOptions { left_out, ..request(args) };
    if let Some(mut file) = html {
        let page = page_of_comparison(&request, &compared, env!("CARGO_PKG_VERSION"));
        file.file()
            .write_all(page.as_bytes())
            .map_err(|error| Failure::new(format!("cannot write the page: {error}")))?;
        file.finish()?;
    }
    if args.json {
        output::print_json(&json::compare::answer(&request, &compared))?;
    } else {
        output::print(&text::compare::text(&request, &compared))?;
    }
    for warning in warnings(&request, &compared) {
        eprintln!("warning: {warning}");
    }
    Ok(Exit::of(compared.iter().map(Compared::verdict)))
}

fn terms(args: &CompareArgs) -> Terms {
    Terms { alpha: args.alpha, margin: args.margin().ln_1p(), tolerates: args.margin.is_some(), metric: args.metric }
}

fn request(args: &CompareArgs) -> CompareOptions<'_> {
    CompareOptions {
        alpha: args.alpha,
        margin: args.margin(),
        group_by: args.group_by.as_deref(),
        group_by_speed: args.group_by_speed,
        markdown: args.markdown,
        left_out: Vec::new(),
    }
}

fn failure(error: CompareError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        CompareError::OnlyOne(_) => failure.hint("give a second file"),
        CompareError::NothingInCommon { .. } => failure.hint("`prony stats FILE` lists the benchmarks of a file"),
        CompareError::OtherMetric { .. } => failure.hint("compare files with the same metric"),
        CompareError::OtherDirection { .. } => failure.hint("measure both with the same version of the worker"),
    }
}

#[cfg(test)]
mod tests;
