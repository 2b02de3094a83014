//! What a ledger says, to whoever asks.

use std::collections::BTreeMap;

use prony_stats::Interval;
use rusqlite::{OptionalExtension, Row};
use serde::Serialize;

use super::{CELLS, Ledger, LedgerError};
use crate::{Cell, FailureKind, Role, State};

/// How many cells are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Still to run.
    pub pending: u64,
    /// Somebody runs them, or was cut short.
    pub running: u64,
    /// With a value.
    pub done: u64,
    /// Without one.
    pub failed: u64,
    /// Not to be run.
    pub skipped: u64,
}

impl Counts {
    /// Of these cells.
    pub fn of<'a>(states: impl Iterator<Item = &'a State>) -> Counts {
        let mut counts = Counts::default();
        for state in states {
            *match state {
                State::Pending => &mut counts.pending,
                State::Running => &mut counts.running,
                State::Done => &mut counts.done,
                State::Failed { .. } => &mut counts.failed,
                State::Skipped { .. } => &mut counts.skipped,
            } += 1;
        }
        counts
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.pending + self.running + self.done + self.failed + self.skipped
    }

    /// Still to run, or to be run again.
    pub fn left(&self) -> u64 {
        self.pending + self.running
    }

    /// The counts of two machines together.
    pub fn and(self, other: Counts) -> Counts {
        Counts {
            pending: self.pending + other.pending,
            running: self.running + other.running,
            done: self.done + other.done,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// One attempt at a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// The cell.
    pub key: String,
    /// From 1.
    pub attempt: u32,
    /// Who made it: [`super::Owner`] as JSON.
    pub owner: String,
    /// When it was claimed, in seconds since 1970.
    pub claimed_s: f64,
    /// When it ended, in seconds since 1970.
    pub ended_s: Option<f64>,
    /// `done`, `failed` or `cut`; `None` while it runs.
    pub ended: Option<String>,
    /// What went wrong.
    pub message: Option<String>,
}

/// A row of the table `cell`, before it is known to make sense.
struct Stored {
    key: String,
    workload: i64,
    repeat: u32,
    levels: String,
    role: String,
    state: String,
    attempt: u32,
    failure: Option<String>,
    message: Option<String>,
    value: Option<f64>,
    spread: Option<String>,
    seconds: Option<f64>,
    origin: Option<String>,
}

impl Ledger {
    /// Every cell, in the order of the plan. All are of machine 0: a ledger knows one.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read, or holds what no ledger of ours does.
    pub fn cells(&self) -> Result<Vec<Cell>, LedgerError> {
        let stored: Vec<Stored> = self.rows(
            "SELECT key, workload, repeat, levels, role, state, attempt, failure, message, value, spread, seconds,
             origin FROM cell ORDER BY position",
            |row| {
                Ok(Stored {
                    key: row.get(0)?,
                    workload: row.get(1)?,
                    repeat: row.get(2)?,
                    levels: row.get(3)?,
                    role: row.get(4)?,
                    state: row.get(5)?,
                    attempt: row.get(6)?,
                    failure: row.get(7)?,
                    message: row.get(8)?,
                    value: row.get(9)?,
                    spread: row.get(10)?,
                    seconds: row.get(11)?,
                    origin: row.get(12)?,
                })
            },
        )?;
        stored.into_iter().map(|stored| self.cell(stored)).collect()
    }

    fn cell(&self, stored: Stored) -> Result<Cell, LedgerError> {
        let wrong = |expected, found: &str| LedgerError::Content {
            path: self.path.clone(),
            key: stored.key.chars().take(64).collect(),
            expected,
            found: found.chars().take(60).collect(),
        };
        // Names of files are made of it.
        if !is_key(&stored.key) {
            return Err(wrong("a key of hexadecimal digits", &stored.key));
        }
        let message = || stored.message.clone().unwrap_or_default();
        let state = match stored.state.as_str() {
            "pending" => State::Pending,
            "running" => State::Running,
            "done" => State::Done,
            "skipped" => State::Skipped { why: message() },
            "failed" => {
                let kind = match stored.failure.as_deref() {
                    Some("transient") => FailureKind::Transient,
                    _ => FailureKind::Permanent,
                };
                State::Failed { kind, message: message() }
            }
            other => return Err(wrong("a state", other)),
        };
        let role = match stored.role.as_str() {
            "measured" => Role::Measured,
            "warm_up" => Role::WarmUp,
            "control" => Role::Control,
            other => return Err(wrong("a role", other)),
        };
        let levels = stored.levels.split(',').filter(|word| !word.is_empty()).map(str::parse);
        let levels = levels.collect::<Result<Vec<usize>, _>>().map_err(|_| wrong("levels", &stored.levels))?;
        let workload =
            usize::try_from(stored.workload).map_err(|_| wrong("a workload", &stored.workload.to_string()))?;
        let spread: Option<Interval> = match &stored.spread {
            Some(json) => Some(serde_json::from_str(json).map_err(|_| wrong("an interval", json))?),
            None => None,
        };
        let origin: BTreeMap<String, String> = match &stored.origin {
            Some(json) => serde_json::from_str(json).map_err(|_| wrong("an origin", json))?,
            None => BTreeMap::new(),
        };
        let done = state == State::Done;
        Ok(Cell {
            samples: done.then(|| format!("{CELLS}/{}.json", stored.key)),
            key: stored.key,
            machine: 0,
            workload,
            repeat: stored.repeat,
            levels,
            role,
            state,
            attempt: stored.attempt,
            value: stored.value.filter(|value| done && value.is_finite()),
            spread,
            seconds: stored.seconds,
            origin,
        })
    }

    /// How many cells are in which state.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn counts(&self) -> Result<Counts, LedgerError> {
        let mut counts = Counts::default();
        let rows: Vec<(String, u64)> =
            self.rows("SELECT state, count(*) FROM cell GROUP BY state", |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (state, number) in rows {
            match state.as_str() {
                "pending" => counts.pending = number,
                "running" => counts.running = number,
                "done" => counts.done = number,
                "failed" => counts.failed = number,
                _ => counts.skipped = number,
            }
        }
        Ok(counts)
    }

    /// Blocks that still have cells to run, in order, with how many.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn blocks_left(&self) -> Result<Vec<(u64, u64)>, LedgerError> {
        self.rows(
            "SELECT block, count(*) FROM cell WHERE state IN ('pending', 'running') GROUP BY block ORDER BY block",
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    /// Mean seconds of the cells that are done; `None` before the first.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn cell_s(&self) -> Result<Option<f64>, LedgerError> {
        let mean = self.rows("SELECT avg(seconds) FROM cell WHERE state = 'done'", |row| row.get(0))?;
        Ok(mean.into_iter().next().flatten())
    }

    /// Every attempt at every cell.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn attempts(&self) -> Result<Vec<Attempt>, LedgerError> {
        self.rows(
            "SELECT key, attempt, owner, claimed_s, ended_s, ended, message FROM attempt ORDER BY key, attempt",
            |row| {
                Ok(Attempt {
                    key: row.get(0)?,
                    attempt: row.get(1)?,
                    owner: row.get(2)?,
                    claimed_s: row.get(3)?,
                    ended_s: row.get(4)?,
                    ended: row.get(5)?,
                    message: row.get(6)?,
                })
            },
        )
    }

    /// Disturbances that were seen, in words, with how often.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn disturbances(&self) -> Result<Vec<String>, LedgerError> {
        self.rows("SELECT name, evidence, seen FROM disturbance ORDER BY name", |row| {
            let (name, evidence, seen): (String, String, u64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let times = if seen == 1 { String::new() } else { format!(" (seen {seen} times)") };
            Ok(format!("{name}: {evidence}{times}"))
        })
    }

    /// A fact that was kept under this name.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn note(&self, name: &str) -> Result<Option<String>, LedgerError> {
        self.connection
            .query_row("SELECT value FROM study WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(|error| LedgerError::Sqlite { path: self.path.clone(), error })
    }

    fn rows<T>(&self, query: &str, take: impl FnMut(&Row) -> rusqlite::Result<T>) -> Result<Vec<T>, LedgerError> {
        let sqlite = |error| LedgerError::Sqlite { path: self.path.clone(), error };
        let mut statement = self.connection.prepare(query).map_err(sqlite)?;
        let rows = statement.query_map([], take).map_err(sqlite)?;
        rows.collect::<Result<_, _>>().map_err(sqlite)
    }
}

/// Keys are hexadecimal: they name files.
fn is_key(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
