//! Files that are written beside the answer.

use std::io::{self, Write};
use std::path::Path;

use prony_profile::{Stacks, flame_graph};

use crate::cli::profile::AnswerArgs;
use crate::failure::Failure;
use crate::output::NewFile;

/// Files in the making; made before anything is sampled, as it would be a pity to find the disk full after it.
pub struct Outputs(Vec<(&'static str, NewFile)>);

impl Outputs {
    /// # Errors
    /// When a file is there already, or its directory does not take it.
    pub fn create(args: &AnswerArgs) -> Result<Outputs, Failure> {
        let mut outputs = Outputs(Vec::new());
        outputs.add("folded", args.folded.as_deref(), args.force)?;
        outputs.add("flame", args.flame.as_deref(), args.force)?;
        Ok(outputs)
    }

    /// # Errors
    /// As [`Outputs::create`].
    pub fn add(&mut self, kind: &'static str, path: Option<&Path>, force: bool) -> Result<(), Failure> {
        if let Some(path) = path {
            self.0.push((kind, NewFile::create(path, force)?));
        }
        Ok(())
    }

    /// Writes every file with what `content` says of its kind; one without content is left out, with a warning.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write(self, content: impl Fn(&str) -> Option<io::Result<Vec<u8>>>) -> Result<(), Failure> {
        for (kind, mut file) in self.0 {
            match content(kind) {
                Some(Ok(bytes)) => {
                    file.file()
                        .write_all(&bytes)
                        .map_err(|error| Failure::new(format!("cannot write the {kind} file: {error}")))?;
                    file.finish()?;
                }
                Some(Err(error)) => eprintln!("warning: no {kind} file was written: {error}"),
                None => {}
            }
        }
        Ok(())
    }
}

/// The content of a file that needs no more than stacks.
pub fn of_stacks(kind: &str, stacks: &Stacks, title: &str, how: &str) -> Option<io::Result<Vec<u8>>> {
    match kind {
        "folded" => Some(Ok(stacks.folded().into_bytes())),
        "flame" => Some(flame_graph(stacks, title, how)),
        _ => None,
    }
}
