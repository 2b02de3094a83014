//! Two ledgers of one machine as one: by the keys of cells.
#![deny(clippy::indexing_slicing)]

use rusqlite::params;
use serde::Serialize;

use super::{Entry, Ledger, LedgerError, kind_name, levels_text, role_name};
use crate::State;

/// Result of a union: numbers of cells and the conflicts.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Union {
    /// Keys of cells that were taken, done, from the other ledger: their samples belong to it.
    pub done: Vec<String>,
    /// Cells of which something else was taken: a failure, an attempt, a new cell.
    pub others: usize,
    /// Cells that are done in both, with another value. Ours stayed.
    pub conflicts: Vec<Conflict>,
}

/// A cell with two values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conflict {
    /// Key of the cell that is in conflict.
    pub key: String,
    /// Value that the merged ledger keeps.
    pub kept: f64,
    /// The value that did not.
    pub left: f64,
}

/// Rank of a state by what it knows of a cell: done before failed before skipped before waiting.
fn rank(state: &State) -> u8 {
    match state {
        State::Done => 3,
        State::Failed { .. } => 2,
        State::Skipped { .. } => 1,
        State::Running | State::Pending => 0,
    }
}

impl Ledger {
    /// Result that a union with everything from `other` would have. Nothing is changed.
    ///
    /// # Errors
    /// [`LedgerError`] when either cannot be read.
    pub fn compare(&self, other: &Ledger) -> Result<Union, LedgerError> {
        let (union, _) = self.differences(other)?;
        Ok(union)
    }

    fn differences(&self, other: &Ledger) -> Result<(Union, Vec<Entry>), LedgerError> {
        let ours = self.cells()?;
        let ours: std::collections::HashMap<&str, &Entry> =
            ours.iter().map(|entry| (entry.row.key.as_str(), entry)).collect();
        let (mut union, mut taken) = (Union::default(), Vec::new());
        for theirs in other.cells()? {
            match ours.get(theirs.row.key.as_str()) {
                Some(ours) if ours.state == State::Done && theirs.state == State::Done => {
                    let (kept, left) = (ours.value.unwrap_or(f64::NAN), theirs.value.unwrap_or(f64::NAN));
                    if kept.to_bits() != left.to_bits() {
                        union.conflicts.push(Conflict { key: theirs.row.key, kept, left });
                    }
                    continue;
                }
                Some(ours) if (rank(&theirs.state), theirs.attempt) <= (rank(&ours.state), ours.attempt) => continue,
                _ => {}
            }
            match theirs.state {
                State::Done => union.done.push(theirs.row.key.clone()),
                _ => union.others += 1,
            }
            taken.push(theirs);
        }
        Ok((union, taken))
    }

    /// Takes from `other` every cell of which it knows more, with its attempts. The samples of those that are done must
    /// be in place already; [`Ledger::compare`] lists them.
    ///
    /// # Errors
    /// [`LedgerError`] when `other` cannot be read, or this file does not take it.
    pub fn take_from(&mut self, other: &Ledger) -> Result<Union, LedgerError> {
        let (union, taken) = self.differences(other)?;
        let attempts = other.attempts()?;
        let keys: std::collections::HashSet<&str> = taken.iter().map(|entry| entry.row.key.as_str()).collect();
        let notes = other.rows("SELECT name, value FROM study WHERE name <> 'planned'", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        let disturbances = other.rows("SELECT name, evidence, seen FROM disturbance", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, u64>(2)?))
        })?;
        let rows = taken.len() + attempts.len() + notes.len() + disturbances.len();
        self.write_rows(rows, |transaction, _| {
            let next: i64 =
                transaction.query_row("SELECT coalesce(max(position) + 1, 0) FROM cell", [], |row| row.get(0))?;
            for (entry, position) in taken.iter().zip(next..) {
                let (state, failure, message) = match &entry.state {
                    // Nobody runs it here.
                    State::Pending | State::Running => ("pending", None, None),
                    State::Done => ("done", None, None),
                    State::Failed { kind, message } => ("failed", Some(kind_name(*kind)), Some(message)),
                    State::Skipped { why } => ("skipped", None, Some(why)),
                };
                let spread = entry.spread.as_ref().and_then(|spread| serde_json::to_string(spread).ok());
                let provenance = serde_json::to_string(&entry.provenance).unwrap_or_default();
                let row = &entry.row;
                transaction
                    .prepare_cached(
                        "INSERT INTO cell (key, position, block, workload, repeat, levels, role) VALUES
                         (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key) DO NOTHING",
                    )?
                    .execute(params![
                        row.key,
                        position,
                        row.block,
                        row.workload,
                        row.repeat,
                        levels_text(&row.levels),
                        role_name(row.role)
                    ])?;
                transaction
                    .prepare_cached(
                        "UPDATE cell SET state = ?2, attempt = ?3, failure = ?4, message = ?5, value = ?6, spread = ?7,
                         seconds = ?8, origin = ?9 WHERE key = ?1",
                    )?
                    .execute(params![
                        row.key,
                        state,
                        entry.attempt,
                        failure,
                        message,
                        entry.value,
                        spread,
                        entry.seconds,
                        provenance
                    ])?;
            }
            for attempt in attempts.iter().filter(|attempt| keys.contains(attempt.key.as_str())) {
                transaction
                    .prepare_cached(
                        "INSERT INTO attempt (key, attempt, owner, claimed_s, ended_s, ended, message) VALUES
                         (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key, attempt) DO UPDATE SET owner = ?3,
                         claimed_s = ?4, ended_s = ?5, ended = ?6, message = ?7",
                    )?
                    .execute(params![
                        attempt.key,
                        attempt.attempt,
                        attempt.owner,
                        attempt.claimed_s,
                        attempt.ended_s,
                        attempt.ended,
                        attempt.message
                    ])?;
            }
            for (name, value) in &notes {
                transaction.execute(
                    "INSERT INTO study (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
                    [name, value],
                )?;
            }
            for (name, evidence, seen) in &disturbances {
                transaction.execute(
                    "INSERT INTO disturbance (name, evidence, seen) VALUES (?1, ?2, ?3)
                     ON CONFLICT (name) DO UPDATE SET seen = max(seen, ?3)",
                    params![name, evidence, seen],
                )?;
            }
            Ok(())
        })?;
        Ok(union)
    }
}
