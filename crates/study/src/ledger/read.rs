//! Queries on a ledger.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use prony_stats::Interval;
use serde::Serialize;

use super::{CELLS, Ledger, LedgerError, NOT_PLANNED, Row, guard};
use crate::{FailureKind, State};

/// Number of cells in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Cells that have not run yet.
    pub pending: u64,
    /// Cells that are running, or were cut short.
    pub running: u64,
    /// Cells that have a value.
    pub done: u64,
    /// Failed cells, which have no value.
    pub failed: u64,
    /// Number of cells that are not to run.
    pub skipped: u64,
}

impl Counts {
    /// Counts the states of cells.
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

    /// Number of cells in all states together.
    pub fn all(&self) -> u64 {
        self.pending + self.running + self.done + self.failed + self.skipped
    }

    /// Number of cells to run, or to run again.
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

/// Attempt at a cell, with its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// Key of the cell, the same in every ledger.
    pub key: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Process that made the attempt: [`super::Owner`] as JSON.
    pub owner: String,
    /// Time of the claim, in seconds since 1970.
    pub claimed_s: f64,
    /// Time of its end, in seconds since 1970.
    pub ended_s: Option<f64>,
    /// `done`, `failed` or `cut`; `None` while it runs.
    pub ended: Option<String>,
    /// Message of the error, if it failed.
    pub message: Option<String>,
}

/// A cell and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Planned cell of the entry.
    pub row: Row,
    /// State of the cell, with the reason of a failure.
    pub state: State,
    /// Number of times that it was claimed.
    pub attempt: u32,
    /// The metric, normalised; of a cell that is done.
    pub value: Option<f64>,
    /// Interval of the value, when there are several.
    pub spread: Option<Interval>,
    /// Duration of the cell in seconds.
    pub seconds: Option<f64>,
    /// Facts that are needed to reproduce the value, by name.
    pub provenance: BTreeMap<String, String>,
}

impl Entry {
    /// Path of its samples file, relative to the study's directory; `None` unless the cell is done.
    pub fn samples(&self) -> Option<String> {
        (self.state == State::Done).then(|| format!("{CELLS}/{}.json", self.row.key))
    }
}

/// A row of the table `cell`, before it is known to make sense.
struct Stored {
    key: String,
    block: u64,
    workload: String,
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
    provenance: Option<String>,
}

impl Stored {
    const COLUMNS: &str = "key, block, workload, repeat, levels, role, state, attempt, failure, message, value, spread,
        seconds, origin";

    fn of(row: &rusqlite::Row) -> rusqlite::Result<Stored> {
        Ok(Stored {
            key: row.get(0)?,
            block: row.get(1)?,
            workload: row.get(2)?,
            repeat: row.get(3)?,
            levels: row.get(4)?,
            role: row.get(5)?,
            state: row.get(6)?,
            attempt: row.get(7)?,
            failure: row.get(8)?,
            message: row.get(9)?,
            value: row.get(10)?,
            spread: row.get(11)?,
            seconds: row.get(12)?,
            provenance: row.get(13)?,
        })
    }

    /// # Errors
    /// What was expected, and what is there.
    fn entry(self) -> Result<Entry, (&'static str, String)> {
        let wrong = |expected, found: &str| (expected, found.chars().take(60).collect());
        // Names of files are made of it.
        if !is_key(&self.key) {
            return Err(wrong("a key of hexadecimal digits", &self.key));
        }
        let message = self.message.unwrap_or_default();
        let state = match self.state.as_str() {
            "pending" => State::Pending,
            "running" => State::Running,
            "done" => State::Done,
            "skipped" => State::Skipped { why: message },
            "failed" => {
                let transient = self.failure.as_deref() == Some("transient");
                let kind = if transient { FailureKind::Transient } else { FailureKind::Permanent };
                State::Failed { kind, message }
            }
            other => return Err(wrong("a state", other)),
        };
        let role = super::role(&self.role).ok_or_else(|| wrong("a role", &self.role))?;
        let levels = serde_json::from_str(&self.levels).map_err(|_| wrong("names of levels", &self.levels))?;
        let spread: Option<Interval> = match &self.spread {
            Some(json) => Some(serde_json::from_str(json).map_err(|_| wrong("an interval", json))?),
            None => None,
        };
        let provenance: BTreeMap<String, String> = match &self.provenance {
            Some(json) => serde_json::from_str(json).map_err(|_| wrong("an origin", json))?,
            None => BTreeMap::new(),
        };
        let done = state == State::Done;
        Ok(Entry {
            row: Row { key: self.key, block: self.block, workload: self.workload, repeat: self.repeat, levels, role },
            state,
            attempt: self.attempt,
            value: self.value.filter(|value| done && value.is_finite()),
            spread,
            seconds: self.seconds,
            provenance,
        })
    }
}

impl Ledger {
    /// Every cell, in the order of the plan.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read, or holds what no ledger of ours does.
    pub fn cells(&self) -> Result<Vec<Entry>, LedgerError> {
        self.entries("ORDER BY position", &[])
    }

    /// Every cell of a block, in the order of the plan.
    ///
    /// # Errors
    /// As [`Ledger::cells`].
    pub fn block(&self, block: u64) -> Result<Vec<Entry>, LedgerError> {
        self.entries("WHERE block = ?1 ORDER BY position", &[&(block as i64)])
    }

    fn entries(&self, which: &str, with: &[&dyn rusqlite::ToSql]) -> Result<Vec<Entry>, LedgerError> {
        let query = format!("SELECT {} FROM cell {which}", Stored::COLUMNS);
        let stored = self.rows_with(&query, with, Stored::of)?;
        let entry = |stored: Stored| {
            let key: String = stored.key.chars().take(64).collect();
            stored.entry().map_err(|(expected, found)| LedgerError::Content {
                path: self.path.clone(),
                key,
                expected,
                found,
            })
        };
        stored.into_iter().map(entry).collect()
    }

    /// Number of cells in each state.
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

    /// Number of cells of an earlier plan that are no longer run.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn gone(&self) -> Result<u64, LedgerError> {
        let query = "SELECT count(*) FROM cell WHERE state = 'skipped' AND message = ?1";
        Ok(self.rows_with(query, &[&NOT_PLANNED], |row| row.get(0))?.into_iter().next().unwrap_or(0))
    }

    /// Reasons why cells have no value, with the number of cells for each.
    ///
    /// # Errors
    /// [`LedgerError`] when the file cannot be read.
    pub fn reasons(&self) -> Result<BTreeMap<String, u64>, LedgerError> {
        let query = "SELECT coalesce(message, ''), count(*) FROM cell
             WHERE state IN ('failed', 'skipped') AND message IS NOT ?1 GROUP BY message";
        Ok(self.rows_with(query, &[&NOT_PLANNED], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
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
        let values = self.rows_with("SELECT value FROM study WHERE name = ?1", &[&name], |row| row.get(0))?;
        Ok(values.into_iter().next())
    }

    pub(super) fn rows<T>(
        &self,
        query: &str,
        take: impl FnMut(&rusqlite::Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LedgerError> {
        self.rows_with(query, &[], take)
    }

    fn rows_with<T>(
        &self,
        query: &str,
        with: &[&dyn rusqlite::ToSql],
        mut take: impl FnMut(&rusqlite::Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LedgerError> {
        let wrong = |error| super::not_a_ledger(&self.path, error);
        let mut bytes = guard::bytes(&self.path);
        self.budget.begin(bytes, 0);
        let mut statement = self.connection.prepare_cached(query).map_err(wrong)?;
        let columns = statement.column_count();
        let mut rows = statement.query(with).map_err(wrong)?;
        let (mut taken, mut text_bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next().map_err(wrong)? {
            // One text may be lent to many rows, each of which would have a copy of its own in memory.
            for column in 0..columns {
                let value = row.get_ref(column).map_err(wrong)?;
                text_bytes += value.as_bytes_or_null().ok().flatten().map_or(0, |text| text.len() as u64);
            }
            if text_bytes > bytes {
                // It may have grown meanwhile.
                bytes = guard::bytes(&self.path);
            }
            if text_bytes > bytes {
                return Err(LedgerError::Endless { path: self.path.clone(), bytes });
            }
            taken.push(take(row).map_err(wrong)?);
        }
        Ok(taken)
    }
}

/// Keys are hexadecimal: they name files.
fn is_key(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
