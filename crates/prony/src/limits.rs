//! `prony limits`: what this hardware can do at best.

pub mod compare;
mod pictures;
pub mod show;
pub mod store;

use std::path::PathBuf;
use std::time::Duration;

use prony_limits::{Effort, Event, Experiment, Limits, Options, run as measure};
use prony_machine::Interrupt;
use prony_report::{json, text};
use prony_text::count;

use crate::cli::limits::{MeasureArgs, ShownArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::random;
use crate::output;
use crate::progress::ProgressLine;

/// When disturbed cases are not tried again any more, in seconds: half a minute and six minutes are the promise.
const QUICK_S: u64 = 22;
const FULL_S: u64 = 300;

/// Measures the limits, stores them and shows them.
///
/// # Errors
/// What kept it from running, or from writing what was measured.
pub fn run(args: &MeasureArgs) -> Result<Exit, Failure> {
    let requested = if args.experiments.is_empty() { Experiment::ALL.to_vec() } else { args.experiments.clone() };
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    // Made before anything is measured, so that a path that cannot be written is reported immediately.
    let limits_file = store::LimitsFile::of(args.output.as_deref(), args.force)?;
    let options = Options {
        experiments: requested.clone(),
        only: args.only.clone(),
        effort: if args.quick { Effort::QUICK } else { Effort::FULL },
        budget: Duration::from_secs(if args.quick { QUICK_S } else { FULL_S }),
        cpu: args.cpu,
        seed: args.seed.unwrap_or_else(random),
        directory: args.directory.clone().unwrap_or_else(|| PathBuf::from(".")),
    };
    let mut line = ProgressLine::new(true);
    let measured = measure(&options, &mut || interrupt.is_requested(), &mut |event| line.show_text(&progress(&event)));
    drop(line);
    let mut limits = measured.map_err(|error| {
        Failure::new(format!("cannot measure: {error}")).hint("choose a CPU with --cpu; `lscpu -e` lists them")
    })?;
    if limits.measured.is_empty() {
        let reason = match (&args.only, limits.skipped.first()) {
            _ if limits.stopped => "interrupted before the first case was complete".to_owned(),
            (_, Some(skipped)) => skipped.reason.clone(),
            (Some(words), None) => {
                return Err(Failure::new(format!("nothing was measured: no case name contains `{words}`"))
                    .hint("`prony limits show --json` lists the names of stored cases"));
            }
            (None, None) => "there are no cases".to_owned(),
        };
        return Err(Failure::new(format!("nothing was measured: {reason}")));
    }
    let (disturbed, cases, is_disturbed) = (limits.disturbed(), limits.measured.len(), limits.is_disturbed());
    // What is shown is what was measured now, where it is some cases of many.
    let now = args.only.is_some().then(|| limits.clone());
    let kept = limits_file.keep(&mut limits, &requested, args.only.is_some())?;
    answer(now.as_ref().unwrap_or(&limits), &requested, &args.shown)?;
    eprintln!("limits of machine {}: {}", limits.fingerprint, kept.display());
    if limits.stopped {
        eprintln!("warning: interrupted after {}", count(cases as u64, "case"));
    }
    if disturbed > 0 {
        eprintln!(
            "warning: {} of {} have fewer than 3 undisturbed samples; `!` marks them",
            count(disturbed as u64, "case"),
            cases
        );
    }
    if is_disturbed {
        eprintln!(
            "hint: `prony machine check` shows sources of interference, `prony machine tune -- prony limits` \
             removes some of them"
        );
        return Ok(Exit::NotTrusted);
    }
    Ok(Exit::Good)
}

fn progress(event: &Event<'_>) -> String {
    let again = if event.round > 0 { "again " } else { "" };
    format!("{again}{} of {}: {}, {}", event.done + 1, event.cases, event.experiment, event.name)
}

/// Prints limits, and writes their curves.
fn answer(limits: &Limits, requested: &[Experiment], shown: &ShownArgs) -> Result<(), Failure> {
    if let Some(directory) = &shown.svg {
        for path in pictures::write(limits, directory)? {
            eprintln!("curve: {}", path.display());
        }
    }
    if shown.json {
        return output::print_json(&json::limits::answer(limits, requested));
    }
    let mut out = text::limits::text(limits, requested);
    if shown.code {
        out += &text::limits::code::text(limits, requested);
    }
    output::print(&out)
}
