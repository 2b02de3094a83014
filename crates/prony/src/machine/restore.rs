//! Verb `prony machine restore`: restores settings that `tune` changed.

use prony_machine::{Tree, restore};
use prony_report::text;

use super::undo_failure;
use crate::cli::machine::RestoreArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When there is an undo file and it cannot be used.
pub fn run(args: &RestoreArgs) -> Result<Exit, Failure> {
    let tree = Tree::at(&args.root.root);
    let restoring = restore(&tree).map_err(|error| undo_failure("restore", &error))?;
    if args.json {
        output::print_json(&restoring)?;
    } else {
        output::print(&text::machine::restore::text(&restoring))?;
    }
    Ok(if restoring.left().next().is_some() { Exit::Finding } else { Exit::Good })
}
