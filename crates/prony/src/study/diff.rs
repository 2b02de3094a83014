//! `prony study diff`: what changed between two runs of a study.

use std::path::Path;

use prony_report::{json, text};
use prony_study::JoinError;
use prony_study::diff::diff;

use super::found;
use crate::cli::study::DiffArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When a study cannot be read, or they do not fit to each other.
pub fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let old = found::load("compare", &args.old)?;
    let new = found::load("compare", &args.new)?;
    let difference =
        diff(&old, &new, args.alpha, args.margin.ln_1p()).map_err(|error| unfit(&args.old, &args.new, &error))?;
    if args.json {
        output::print_json(&json::study::diff::answer(&new.metric, &difference, args.alpha, args.margin))?;
    } else {
        output::print(&text::study::diff::text(&new.metric, &difference, args.alpha, args.margin))?;
    }
    for phrase in &difference.left_out {
        eprintln!("warning: skipped {phrase}");
    }
    Ok(Exit::of(difference.verdicts()))
}

/// Two studies that are not of one kind.
pub fn unfit(first: &Path, other: &Path, error: &JoinError) -> Failure {
    let failure = Failure::new(format!("cannot compare {} with {}: {error}", other.display(), first.display()));
    match error {
        JoinError::Metric { .. } => failure.hint("compare studies with the same metric"),
        JoinError::Factors { .. } => failure.hint("compare studies with the same factors; levels may differ"),
        JoinError::Random { .. } => failure.hint("compare studies with the same levels of the same random factors"),
        JoinError::NothingInCommon { .. } => {
            failure.hint("run both on the same machine and workloads: they are matched by name")
        }
    }
}
