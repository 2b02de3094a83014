//! Directories that were merged, as JSON.

use prony_study::merge::Merged;
use serde::Serialize;

/// The answer of `prony study merge`.
#[derive(Debug, Serialize)]
pub struct MergeDocument<'a> {
    /// Each machine of each directory.
    pub merged: &'a [Merged],
    /// Cells that have another value in two directories.
    pub conflicts: usize,
}
