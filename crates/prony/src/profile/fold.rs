//! Verb `prony profile fold`: converts profiles to folded stacks.

use super::stored;
use crate::cli::profile::FoldArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the file cannot be read, or nothing in it is a stack.
pub fn run(args: &FoldArgs) -> Result<Exit, Failure> {
    let bytes = stored::bytes(&args.file)?;
    output::print(&stored::perf_script(&args.file, &bytes)?.stacks.folded())?;
    Ok(Exit::Good)
}
