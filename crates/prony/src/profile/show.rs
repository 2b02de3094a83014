//! Verb `prony profile show`: prints functions and components of stored stacks.

use prony_profile::WeightUnit;
use prony_report::{json, text};
use prony_text::count;

use super::outputs::{self, Outputs};

use prony_profile::FEWEST_SAMPLES;

use super::stored::Stored;
use super::{short, shown, stored};
use crate::cli::profile::ShowArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the file cannot be read, or nothing in it is a stack.
pub fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    let outputs = Outputs::create(&args.answer)?;
    let Stored { stacks, skips_much } = stored::stacks(&args.file)?;
    let name = short(&args.file);
    let title = args.answer.title.clone().unwrap_or_else(|| name.clone());
    let how = text::profile::counted(stacks.observations(), WeightUnit::Samples);
    let written = outputs.write(|kind| outputs::of_stacks(kind, &stacks, &title, &how));
    if args.answer.json {
        output::print_json(&json::profile::stored(&name, &stacks, shown(&args.answer)))?;
    } else {
        output::print(&text::profile::stored(&name, &stacks, shown(&args.answer)))?;
    }
    written?;
    if stacks.observations() < FEWEST_SAMPLES {
        eprintln!("warning: only {}: shares are very uncertain", count(stacks.observations(), "stack sample"));
        return Ok(Exit::NotTrusted);
    }
    Ok(if skips_much { Exit::NotTrusted } else { Exit::Good })
}
