//! Files that are written beside the answer.

use std::io::{self, Write};
use std::path::Path;

use prony_profile::{Stacks, flame_graph};
use prony_report::flame_file;

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

    /// Adds an output file of this kind; does nothing without a path.
    ///
    /// # Errors
    /// As [`Outputs::create`].
    pub fn add(&mut self, kind: &'static str, path: Option<&Path>, force: bool) -> Result<(), Failure> {
        if let Some(path) = path {
            if let Some((other, _)) = self.0.iter().find(|(_, file)| file.path() == path) {
                return Err(Failure::new(format!(
                    "cannot write {}: --{other} and --{kind} both name it",
                    path.display()
                ))
                .hint("give each a separate file"));
            }
            self.0.push((kind, NewFile::create(path, force)?));
        }
        Ok(())
    }

    /// Writes every file with what `content` says of its kind; one without content is left out, with a warning.
    ///
    /// # Errors
    /// When the disk does not take one; the others are written all the same.
    pub fn write(self, content: impl Fn(&str) -> Option<io::Result<Vec<u8>>>) -> Result<(), Failure> {
        let mut written = Ok(());
        for (kind, mut file) in self.0 {
            match content(kind) {
                Some(Ok(bytes)) => {
                    let filled =
                        file.file().write_all(&bytes).map_err(|error| Failure::io("write", file.path(), &error));
                    written = written.and(filled.and_then(|()| file.finish()));
                }
                Some(Err(error)) => eprintln!("warning: {} was not written: {error}", file.path().display()),
                None => {}
            }
        }
        written
    }
}

/// The content of a file that needs no more than stacks.
pub fn of_stacks(kind: &str, stacks: &Stacks, title: &str, how: &str) -> Option<io::Result<Vec<u8>>> {
    match kind {
        "folded" => Some(Ok(stacks.folded().into_bytes())),
        "flame" => Some(flame_graph(stacks, title, how).map(|svg| flame_file(&svg))),
        _ => None,
    }
}
