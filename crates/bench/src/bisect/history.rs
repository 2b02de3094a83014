//! The commits between two of a git repository, read by the command `git`.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// Variables by which a caller, such as a git hook, points every `git` to a repository of its own.
const GIT_VARIABLES: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"];

/// Characters of a commit's id in names of files and in tables.
pub const SHORT_ID: usize = 12;

/// Reasons why the history of a repository cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The command `git` cannot be run.
    #[error("cannot run `git`: {0}")]
    NoGit(io::Error),
    /// The directory is not part of a git repository.
    #[error("{}: not in a git repository: {said}", path.display())]
    NoRepository {
        /// Path of the directory.
        path: PathBuf,
        /// Message of git.
        said: String,
    },
    /// The name does not stand for a commit.
    #[error("`{name}` is not a commit: {said}")]
    NoCommit {
        /// Name of the commit, as given.
        name: String,
        /// Message of git.
        said: String,
    },
    /// The bad commit does not descend from the good one.
    #[error("`{good}` is not an ancestor of `{bad}`")]
    NotAncestor {
        /// Name of the good commit.
        good: String,
        /// Name of the bad commit.
        bad: String,
    },
    /// Both names stand for the same commit.
    #[error("`{good}` and `{bad}` are the same commit")]
    Same {
        /// Name of the good commit.
        good: String,
        /// Name of the bad commit.
        bad: String,
    },
    /// Another call of git failed.
    #[error("`git {what}` failed: {said}")]
    Git {
        /// Subcommand of git.
        what: String,
        /// Message of git.
        said: String,
    },
}

/// A commit, as tables show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Full id of the commit, in hexadecimal digits.
    pub id: String,
    /// Number of its parents; more than one for a merge.
    pub parents: usize,
    /// Name of its author.
    pub author: String,
    /// Date of the author, as `2026-03-01`.
    pub date: String,
    /// First line of its message.
    pub subject: String,
}

impl Commit {
    /// The first digits of the id.
    pub fn short(&self) -> &str {
        self.id.get(..SHORT_ID).unwrap_or(&self.id)
    }
}

/// Commits from a good one to a bad one, each the first parent of the next.
#[derive(Debug, Clone)]
pub struct History {
    /// Directory that all worktrees of the repository share.
    pub git_directory: PathBuf,
    /// Directory of the caller, relative to the root of the repository.
    pub prefix: PathBuf,
    /// Root of the caller's worktree; `None` in a bare repository.
    pub root: Option<PathBuf>,
    /// The good commit at 0, the bad one last.
    pub commits: Vec<Commit>,
    /// True if tracked files of the worktree differ from its commit.
    pub is_dirty: bool,
}

impl History {
    /// Reads the commits from `good` to `bad` of the repository that `place` lies in. Changes nothing in it.
    ///
    /// # Errors
    /// [`HistoryError`] if there is no such repository, or no way from one commit to the other.
    pub fn read(place: &Path, good: &str, bad: &str) -> Result<History, HistoryError> {
        let shared = ask(place, &["rev-parse", "--git-common-dir"])?
            .map_err(|said| HistoryError::NoRepository { path: place.to_owned(), said })?;
        let git_directory = place.join(shared.trim_end_matches('\n'));
        let git_directory = git_directory.canonicalize().unwrap_or(git_directory);
        let root = ask(place, &["rev-parse", "--show-toplevel"])?.ok();
        let root = root.map(|root| PathBuf::from(root.trim_end_matches('\n')));
        let prefix = checked_output(place, &["rev-parse", "--show-prefix"])?;
        let [good_id, bad_id] = [commit_of(place, good)?, commit_of(place, bad)?];
        let names = || (good.to_owned(), bad.to_owned());
        if good_id == bad_id {
            let (good, bad) = names();
            return Err(HistoryError::Same { good, bad });
        }
        if ask(place, &["merge-base", "--is-ancestor", &good_id, &bad_id])?.is_err() {
            let (good, bad) = names();
            return Err(HistoryError::NotAncestor { good, bad });
        }
        let first = checked_output(place, &["log", "-1", FORMAT, &good_id])?;
        let range = format!("{good_id}..{bad_id}");
        let others = checked_output(place, &["log", "--first-parent", "--reverse", FORMAT, &range])?;
        let commits = first.split('\0').chain(others.split('\0')).filter_map(commit).collect();
        let is_dirty = root.is_some() && {
            !checked_output(place, &["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"])?
                .is_empty()
        };
        Ok(History { git_directory, prefix: PathBuf::from(prefix.trim_end_matches('\n')), root, commits, is_dirty })
    }

    /// Position of the bad commit.
    pub fn last(&self) -> usize {
        self.commits.len().saturating_sub(1)
    }
}

/// Id, parents, author, date and subject of a commit on a line each, and a zero byte.
const FORMAT: &str = "--format=tformat:%H%n%P%n%an%n%as%n%s%x00";

fn commit(text: &str) -> Option<Commit> {
    let mut lines = text.trim_start_matches('\n').split('\n').map(str::to_owned);
    let (id, parents) = (lines.next().filter(|id| !id.is_empty())?, lines.next()?);
    let parents = parents.split(' ').filter(|parent| !parent.is_empty()).count();
    Some(Commit { id, parents, author: lines.next()?, date: lines.next()?, subject: lines.next()? })
}

fn commit_of(place: &Path, name: &str) -> Result<String, HistoryError> {
    let said = ask(place, &["rev-parse", "--verify", "--end-of-options", &format!("{name}^{{commit}}")])?;
    said.map(|id| id.trim().to_owned()).map_err(|said| HistoryError::NoCommit { name: name.to_owned(), said })
}

/// A `git` in `place` that neither prompts nor writes what it has refreshed.
fn git(place: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(place).stdin(Stdio::null());
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    without_git_variables(&mut command);
    command
}

/// Removes the variables that would point a `git` in the command to another repository.
pub fn without_git_variables(command: &mut Command) {
    for name in GIT_VARIABLES {
        command.env_remove(name);
    }
}

/// Standard output of a `git`; inside, its last message if it failed.
pub fn ask(place: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<Result<String, String>, HistoryError> {
    let output = git(place).args(arguments).output().map_err(HistoryError::NoGit)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(Ok(text(&output.stdout)));
    }
    let said = text(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Ok(Err(last.trim_start_matches("fatal: ").to_owned()))
}

/// As [`ask`], for calls that are expected to succeed.
pub fn checked_output(place: &Path, arguments: &[impl AsRef<OsStr>]) -> Result<String, HistoryError> {
    let what = || arguments.first().map(|verb| verb.as_ref().to_string_lossy().into_owned()).unwrap_or_default();
    ask(place, arguments)?.map_err(|said| HistoryError::Git { what: what(), said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_five_lines() {
        let text = "\n0123456789abcdef\nfed cba\nA. N. Author\n2026-03-01\nphysics: sort by distance\n";
        let commit = commit(text).expect("it is one");
        assert_eq!((commit.short(), commit.parents), ("0123456789ab", 2));
        assert_eq!((commit.author.as_str(), commit.subject.as_str()), ("A. N. Author", "physics: sort by distance"));
        assert_eq!(super::commit("\n"), None);
    }
}
