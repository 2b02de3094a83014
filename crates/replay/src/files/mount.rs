//! What a replay mounts for its server.

use std::path::PathBuf;

/// Something that a server finds in its mount namespace alone. What is merged is mounted before what is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mount {
    /// A directory or file that is mounted over another.
    Bind {
        /// Path of what is mounted.
        what: PathBuf,
        /// Path that it is mounted over, without links: what was mounted before may have brought some.
        place: PathBuf,
    },
    /// A directory whose files are seen over those of another. What is written there goes into it, too.
    Merge {
        /// Directory whose files are seen first, and that takes what is written.
        upper: PathBuf,
        /// An empty directory of the same file system, for the kernel. Neither it nor `upper` lies below `place`, and
        /// neither path has a comma, colon or backslash.
        work: PathBuf,
        /// Path that the merged directory is mounted over, without links.
        place: PathBuf,
        /// Paths of mounts below `place`, which stay visible.
        inner: Vec<PathBuf>,
    },
}
