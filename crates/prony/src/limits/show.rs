//! Verb `prony limits show`: prints stored limits.

use prony_limits::Experiment;

use super::{answer, store};
use crate::cli::limits::ShowLimitsArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// # Errors
/// When there are no limits, or the answer cannot be written.
pub fn run(args: &ShowLimitsArgs) -> Result<Exit, Failure> {
    let limits = store::load(args.from.as_deref())?;
    let requested = if args.experiments.is_empty() { Experiment::ALL.to_vec() } else { args.experiments.clone() };
    answer(&limits, &requested, &args.shown)?;
    Ok(Exit::Good)
}
