//! Verb `prony machine show`: prints facts about the machine.

use prony_machine::{Tree, facts};
use prony_report::text;

use crate::cli::machine::ShowArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the answer cannot be written.
pub fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    let facts = facts(&Tree::at(&args.root.root));
    if args.json {
        output::print_json(&facts)?;
    } else {
        output::print(&text::machine::show::text(&facts))?;
    }
    Ok(Exit::Good)
}
