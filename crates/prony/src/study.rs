//! `prony study …`: a matrix of builds, workloads and machines.

pub mod diff;
pub mod effects;
pub mod export;
mod failure;
mod found;
pub mod history;
pub mod import;
pub mod merge;
pub mod plan;
pub mod report;
pub mod run;
pub mod status;
pub mod work;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use prony_study::file::{MOST_BYTES, ProblemKind, Study};

use crate::failure::Failure;

/// Reads a study file; `verb`: what is to be done with it.
fn read(verb: &str, path: &Path) -> Result<Study, Failure> {
    let io = |error: std::io::Error| {
        let failure = Failure::io(verb, path, &error);
        match error.kind() {
            std::io::ErrorKind::IsADirectory => failure.hint(format!("give the file: {}/study.toml", path.display())),
            _ => failure,
        }
    };
    let mut bytes = Vec::new();
    // One more byte distinguishes a file that is too long from one that just fits.
    File::open(path).map_err(io)?.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::new(format!("cannot {verb} {}: expected text in UTF-8, found other bytes", path.display()))
    })?;
    Study::parse(&text).map_err(|error| {
        let failure = Failure::new(format!("cannot {verb} {}: {error}", path.display()));
        match error.kind {
            ProblemKind::EmptyDesign => {
                failure.hint("loosen `where`, `skip` or `only` until some configuration is left")
            }
            ProblemKind::NoReason => {
                failure.hint("state why these cells are excluded: the reason is printed wherever they are missing")
            }
            ProblemKind::Other => failure,
        }
    })
}
