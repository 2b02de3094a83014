//! `prony machine …`: the machine that measures.

pub mod check;
pub mod restore;
pub mod show;
pub mod tune;

use prony_machine::own::NotOurs;
use prony_machine::{Tree, UndoError};
use rustix::process::geteuid;

use crate::failure::Failure;

fn is_root(tree: &Tree) -> bool {
    geteuid().is_root() || !tree.is_machine()
}

/// An undo file that is in the way; `verb`: what was to be done.
pub fn undo_failure(verb: &str, error: &UndoError) -> Failure {
    let failure = Failure::new(format!("cannot {verb}: {error}"));
    match error {
        UndoError::Io { error, .. } | UndoError::NotOurs(NotOurs::Io { error, .. })
            if error.kind() == std::io::ErrorKind::PermissionDenied =>
        {
            failure.hint("it was written by root: run this as root")
        }
        UndoError::Io { .. } => failure,
        UndoError::Damaged { path, .. } => {
            failure.hint(format!("it does not state what to restore: reboot instead, then remove {}", path.display()))
        }
        UndoError::Version { .. } => failure.hint("restore with the prony version that tuned"),
        UndoError::NotOurs(NotOurs::Io { .. }) => failure,
        UndoError::NotOurs(
            NotOurs::Kind { path, .. } | NotOurs::Owner { path, .. } | NotOurs::Permissions { path, .. },
        ) => failure.hint(format!("check who created {} before you remove it", path.display())),
        UndoError::Busy { pid: Some(pid) } => {
            failure.hint(format!("it restores everything when it ends; end it with `kill {pid}`"))
        }
        UndoError::Busy { pid: None } => failure.hint("it restores everything when it ends"),
    }
}
