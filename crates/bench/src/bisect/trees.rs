//! Commits, checked out and built each in a directory of its own below a scratch directory.
//!
//! The scratch directory has a repository of its own that borrows the objects of the user's. Nothing is written to the user's
//! repository or checkout, not even a list of worktrees. A tree counts as built once its marker is on disk; what a killed
//! search leaves is made again.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use prony_machine::Interrupt;

use super::history::{Commit, History, HistoryError, ask, checked_output, without_git_variables};
use crate::build_command::{self, BuildError};

/// Reasons why no tree can be made.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A call of git failed.
    #[error(transparent)]
    Git(#[from] HistoryError),
    /// Something of the system failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// A signal requested a stop.
    #[error("interrupted")]
    Interrupted,
}

/// What came of a build.
#[derive(Debug, Clone, PartialEq)]
pub enum Built {
    /// The tree is built, in this many seconds; `None` if it was built before.
    Yes(Option<f64>),
    /// The commit does not build: `exit code 2`, `SIGKILL`, or that it lacks the directory.
    No(String),
}

/// Trees of commits below a scratch directory.
#[derive(Debug)]
pub struct Trees {
    scratch: PathBuf,
    prefix: PathBuf,
    build: String,
}

impl Trees {
    /// Makes the repository of the scratch directory, or takes the one that is there. `build`: text for `sh -c`.
    ///
    /// # Errors
    /// [`TreeError`] if the user's repository cannot be cloned.
    pub fn open(scratch: &Path, history: &History, build: &str) -> Result<Trees, TreeError> {
        let trees = Trees { scratch: scratch.to_owned(), prefix: history.prefix.clone(), build: build.to_owned() };
        let repository = trees.repository();
        if !repository.exists() {
            let unfinished = scratch.join("repository.new");
            remove(&unfinished)?;
            let words: [&OsStr; 8] = [
                "clone".as_ref(),
                "--quiet".as_ref(),
                "--bare".as_ref(),
                "--shared".as_ref(),
                // A hook of a template is of no use here, and might be anything.
                "--template=".as_ref(),
                "--".as_ref(),
                history.git_directory.as_os_str(),
                unfinished.as_os_str(),
            ];
            checked_output(scratch, &words)?;
            fs::rename(&unfinished, &repository).map_err(io_error(&repository))?;
        }
        for name in ["trees", "builds"] {
            let path = scratch.join(name);
            fs::create_dir_all(&path).map_err(io_error(&path))?;
        }
        Ok(trees)
    }

    fn repository(&self) -> PathBuf {
        self.scratch.join("repository.git")
    }

    /// Root of a commit's tree. Its length is that of all others, so that no build differs by the length of a path.
    pub fn root(&self, commit: &Commit) -> PathBuf {
        self.scratch.join("trees").join(commit.short())
    }

    /// The caller's directory in a commit's tree.
    pub fn directory(&self, commit: &Commit) -> PathBuf {
        self.root(commit).join(&self.prefix)
    }

    /// File with the output of a commit's build.
    pub fn log(&self, commit: &Commit) -> PathBuf {
        self.scratch.join("builds").join(format!("{}.log", commit.short()))
    }

    fn marker(&self, commit: &Commit) -> PathBuf {
        self.scratch.join("builds").join(format!("{}.built", commit.short()))
    }

    /// The last lines that a commit's build printed.
    pub fn printed(&self, commit: &Commit) -> Vec<String> {
        build_command::printed(&self.log(commit))
    }

    /// Checks a commit out and builds it, unless that is done.
    ///
    /// # Errors
    /// [`TreeError`] if it cannot be checked out or the build cannot be started; a build that fails is no error.
    pub fn build(&self, commit: &Commit, interrupt: Option<&Interrupt>) -> Result<Built, TreeError> {
        let (root, marker) = (self.root(commit), self.marker(commit));
        if marker.exists() && root.exists() {
            return Ok(Built::Yes(None));
        }
        self.remove(commit)?;
        let words: [&OsStr; 9] = [
            "worktree".as_ref(),
            "add".as_ref(),
            // Twice: also where a killed search has left a locked entry.
            "--force".as_ref(),
            "--force".as_ref(),
            "--quiet".as_ref(),
            "--detach".as_ref(),
            "--".as_ref(),
            root.as_os_str(),
            commit.id.as_ref(),
        ];
        checked_output(&self.repository(), &words)?;
        let directory = self.directory(commit);
        if !directory.is_dir() {
            return Ok(Built::No(format!("the commit has no directory {}", self.prefix.display())));
        }
        let begun = Instant::now();
        match self.run(commit, &directory, interrupt)? {
            None => {
                File::create(&marker).and_then(|file| file.sync_all()).map_err(io_error(&marker))?;
                Ok(Built::Yes(Some(begun.elapsed().as_secs_f64())))
            }
            Some(failure) => Ok(Built::No(failure)),
        }
    }

    /// Runs the build command; `None` if it succeeded.
    fn run(
        &self,
        commit: &Commit,
        directory: &Path,
        interrupt: Option<&Interrupt>,
    ) -> Result<Option<String>, TreeError> {
        let ran = build_command::run(&self.build, directory, &self.log(commit), without_git_variables, interrupt);
        ran.map_err(|error| match error {
            BuildError::Io(path, error) => TreeError::Io { path, error },
            BuildError::Interrupted => TreeError::Interrupted,
        })
    }

    /// Removes a commit's tree, and what is known of its build.
    ///
    /// # Errors
    /// [`TreeError`] if the system does not let it.
    pub fn remove(&self, commit: &Commit) -> Result<(), TreeError> {
        remove(&self.marker(commit))?;
        remove(&self.root(commit))?;
        // The entry of a tree that is not there; that it is gone is all that matters.
        let _ = ask(&self.repository(), &["worktree", "prune"])?;
        Ok(())
    }
}

/// Removes a file or a directory; one that is not there is removed already.
fn remove(path: &Path) -> Result<(), TreeError> {
    let removed = match path.symlink_metadata() {
        Ok(facts) if facts.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(path)(error)),
        _ => Ok(()),
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> TreeError + '_ {
    |error| TreeError::Io { path: path.to_owned(), error }
}
