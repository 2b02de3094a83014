//! `prony study plan`: what a study would run, and what it could tell.

use std::path::Path;

use prony_report::{json, text};
use prony_study::artifacts::digest;
use prony_study::file::Study;
use prony_study::{Contents, PlanError, StudyPlan, results_file};

use crate::cli::study::PlanArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the study cannot be read or planned, or the answer cannot be written.
pub fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let study = super::read("plan", &args.study)?;
    let directory = args.study.parent().unwrap_or(Path::new(""));
    let (contents, missing) = contents(&study, directory);
    let plan = study.plan(&contents).map_err(|error| failure(&args.study, &error))?;
    let earlier = args.earlier.as_deref().map(results_file::load).transpose();
    let earlier = earlier.map_err(|error| Failure::new(format!("cannot read earlier cells: {error}")))?;
    let estimate = plan.estimate(&study, earlier.as_ref());
    let planned = StudyPlan { study, plan, estimate };
    match (args.json, args.cells) {
        (true, cells) => output::print_json(&json::study::plan::answer(&planned, cells))?,
        (false, true) => output::print(&text::study::plan::cells(&planned))?,
        (false, false) => output::print(&text::study::plan::text(&planned))?,
    }
    for warning in missing {
        eprintln!("warning: {warning}");
    }
    let design = &planned.plan.design;
    Ok(match design.main_rank {
        Some(rank) if rank < design.main_effects => Exit::Finding,
        _ if !planned.study.factors.is_empty() && planned.study.intervals().of.is_none() => Exit::Finding,
        _ => Exit::Good,
    })
}

/// Hashes of what will be shipped, so that keys are those of the run; a warning for what is not there yet.
fn contents(study: &Study, directory: &Path) -> (Contents, Vec<String>) {
    let (mut contents, mut missing) = (Contents::new(), Vec::new());
    for path in study.paths() {
        let file = directory.join(path);
        match digest(&file) {
            Ok(hash) => {
                contents.insert(path.to_owned(), hash);
            }
            Err(_) if !file.exists() => missing.push(format!("{} does not exist yet", file.display())),
            Err(error) => missing.push(format!("cannot read a file to copy: {error}")),
        }
    }
    (contents, missing)
}

fn failure(path: &Path, error: &PlanError) -> Failure {
    let failure = Failure::new(format!("cannot plan {}: {error}", path.display()));
    match error {
        PlanError::Empty => failure,
        PlanError::TooManyCells { .. } => {
            failure.hint("use fewer repeats or levels, or several studies with separate directories")
        }
    }
}
