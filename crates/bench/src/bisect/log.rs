//! The log of a search: its question, and every step, a line of JSON each. `docs/formats/bisect.md` describes it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Purpose, Step};

/// Name of the file in the directory of a search.
pub const NAME: &str = "steps.jsonl";
/// Version of the format; another one is not read.
const VERSION: u32 = 1;

/// The question of a search: a log answers this one only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Id of the good commit.
    pub good: String,
    /// Id of the bad commit.
    pub bad: String,
    /// Path of the demo.
    pub demo: String,
    /// Size of the demo in bytes.
    pub demo_bytes: u64,
    /// Time of the demo's last change, in nanoseconds since 1970.
    pub demo_modified_ns: u64,
    /// Command that builds a commit.
    pub build: String,
    /// Command of the server.
    pub command: Vec<String>,
    /// What is searched for, if the user said so.
    pub regression: Option<super::Regression>,
    /// Error probability of the whole search.
    pub alpha: f64,
    /// Differences below this are none: a log ratio.
    pub margin: f64,
    /// Number of replays of the bad commit.
    pub replays: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    #[serde(flatten)]
    question: Question,
}

/// Reasons why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the log.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The file is not a log of this version.
    #[error("{}: expected a log of version {VERSION} of a search, found something else", .0.display())]
    NotALog(PathBuf),
    /// The log is of a search for something else.
    #[error("{}: the log of another search: its {what} differs", path.display())]
    Other {
        /// Path of the log.
        path: PathBuf,
        /// First part of the question that differs.
        what: &'static str,
    },
}

/// A log that is open, with the steps that it had.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    earlier: std::vec::IntoIter<Step>,
}

impl Log {
    /// Opens the log in `directory`, or begins it. Bytes after its last whole line, which a killed search may leave, are cut.
    ///
    /// # Errors
    /// [`LogError`], also when the log is of another question.
    pub fn open(directory: &Path, question: &Question) -> Result<Log, LogError> {
        let path = directory.join(NAME);
        let io_error = |error| LogError::Io { path: path.clone(), error };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(io_error)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io_error)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let mut end = whole as u64;
        let mut earlier = Vec::new();
        match lines.next() {
            Some(head) => {
                let head: Head = serde_json::from_slice(head)
                    .ok()
                    .filter(|head: &Head| head.format == "prony-bisect" && head.version == VERSION)
                    .ok_or_else(|| LogError::NotALog(path.clone()))?;
                if let Some(what) = difference(&head.question, question) {
                    return Err(LogError::Other { path, what });
                }
                for line in lines {
                    earlier.push(serde_json::from_slice(line).map_err(|_| LogError::NotALog(path.clone()))?);
                }
            }
            None => end = 0,
        }
        file.set_len(end).and_then(|()| file.seek(SeekFrom::End(0))).map_err(io_error)?;
        let mut log = Log { path: path.clone(), file, earlier: earlier.into_iter() };
        if end == 0 {
            log.write(&Head { format: "prony-bisect".to_owned(), version: VERSION, question: question.clone() })?;
        }
        Ok(log)
    }

    /// The next earlier step, if it is this one: a search with the same answers takes the same way.
    pub fn take(&mut self, purpose: Purpose, position: usize) -> Option<Step> {
        let next = self.earlier.as_slice().first()?;
        if (next.purpose, next.position) == (purpose, position) { self.earlier.next() } else { None }
    }

    /// Adds a step; it is on disk when this returns.
    ///
    /// # Errors
    /// [`LogError::Io`] if the disk does not take it.
    pub fn push(&mut self, step: &Step) -> Result<(), LogError> {
        self.write(step)
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), LogError> {
        let io_error = |error| LogError::Io { path: self.path.clone(), error };
        let mut text = serde_json::to_string(line).map_err(|error| io_error(error.into()))?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_all()).map_err(io_error)
    }
}

/// The first part in which two questions differ.
fn difference(found: &Question, question: &Question) -> Option<&'static str> {
    let parts = [
        (found.good != question.good, "good commit"),
        (found.bad != question.bad, "bad commit"),
        (
            (&found.demo, found.demo_bytes, found.demo_modified_ns)
                != (&question.demo, question.demo_bytes, question.demo_modified_ns),
            "demo",
        ),
        (found.build != question.build, "build command"),
        (found.command != question.command, "server command"),
        (found.regression != question.regression, "--find"),
        (differ(found.alpha, question.alpha), "--alpha"),
        (differ(found.margin, question.margin), "--margin"),
        (found.replays != question.replays, "--replays"),
    ];
    parts.into_iter().find(|(differs, _)| *differs).map(|(_, what)| what)
}

/// Numbers that were written and read may differ in the last bit.
fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > 1e-12
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bisect::Found;

    fn question() -> Question {
        Question {
            good: "a".repeat(40),
            bad: "b".repeat(40),
            demo: "/srv/match.demo".to_owned(),
            demo_bytes: 4096,
            demo_modified_ns: 17,
            build: "make".to_owned(),
            command: vec!["./server".to_owned()],
            regression: None,
            alpha: 0.05,
            margin: 0.01f64.ln_1p(),
            replays: 10,
        }
    }

    fn step(position: usize) -> Step {
        Step {
            purpose: Purpose::Search,
            position,
            commit: position.to_string(),
            build_s: Some(1.5),
            found: Found::Identical { replays: 3, verified_bytes: 64 },
        }
    }

    #[test]
    fn a_log_that_was_cut_in_a_line_goes_on_after_the_last_whole_one() {
        let place = tempfile::TempDir::new().expect("the temporary directory is writable");
        let mut log = Log::open(place.path(), &question()).expect("it is new");
        assert_eq!(log.earlier.len(), 0);
        log.push(&step(3)).expect("the disk is not full");
        log.push(&step(5)).expect("the disk is not full");
        drop(log);
        let path = place.path().join(NAME);
        let text = fs::read(&path).expect("it is there");
        fs::write(&path, &text[..text.len() - 7]).expect("it is ours");
        let mut log = Log::open(place.path(), &question()).expect("it is a log");
        assert_eq!(log.earlier.len(), 1);
        assert_eq!(log.take(Purpose::Search, 4), None);
        assert_eq!(log.take(Purpose::Search, 3), Some(step(3)));
        log.push(&step(5)).expect("the disk is not full");
        drop(log);
        assert_eq!(fs::read(&path).expect("it is there"), text);
    }

    #[test]
    fn a_log_answers_its_own_question_only() {
        let place = tempfile::TempDir::new().expect("the temporary directory is writable");
        drop(Log::open(place.path(), &question()).expect("it is new"));
        let other = Question { build: "make -j2".to_owned(), ..question() };
        let error = Log::open(place.path(), &other).expect_err("it is of another build command").to_string();
        assert!(error.ends_with("the log of another search: its build command differs"), "{error}");
        fs::write(place.path().join(NAME), "{}\n").expect("it is ours");
        assert!(matches!(Log::open(place.path(), &question()), Err(LogError::NotALog(_))));
    }
}
