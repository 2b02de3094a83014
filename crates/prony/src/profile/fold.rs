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
    let read = stored::perf_script(&args.file, &bytes)?;
    output::print(&read.stacks.folded())?;
    Ok(if read.skips_much { Exit::NotTrusted } else { Exit::Good })
}
