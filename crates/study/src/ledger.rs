//! The ledger: what came of each cell on one machine, in a SQLite file that survives any end of its writer.
//!
//! A cell is claimed, runs, its samples are written under a temporary name, synced and renamed, and only then is it
//! committed as done. The next process that opens the ledger finds the cells that were cut short, and runs them again; a cell
//! that is done is never run again. `docs/formats/ledger.md` draws the tables.
#![deny(clippy::indexing_slicing)]

mod guard;
mod owner;
mod read;
mod schema;
mod union;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prony_machine::own::{self, Lock, LockError, NotOurs, Ownership};
use prony_stats::Interval;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use guard::Budget;
pub use owner::Owner;
pub use read::{Attempt, Counts, Entry};
pub use union::{Conflict, Union};

use crate::{FailureKind, Role};

/// Failures of one configuration in a row, after which its further cells are not run.
pub const FAILURES_IN_A_ROW_MOST: u32 = 5;
/// Attempts of one cell that may be cut short: a cell that takes its machine down each time must not do so forever.
pub const CUTS_MOST: u32 = 8;
/// Reason why cells of an earlier plan are not run.
const NOT_PLANNED: &str = "not in the study any more";
/// The fact that says which plan was written down last.
const PLANNED: &str = "planned";
/// Number of runs of a cell that failed by chance, the first included.
const TRANSIENT_ATTEMPTS_MOST: u32 = 2;
/// Longest time that another process may hold the file while it writes.
const BUSY: Duration = Duration::from_secs(10);

/// Error of using a ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file, its lock or its directory.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the ledger.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The file or its lock is a link, a pipe or a device.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// An error of SQLite, with the path of the ledger.
    #[error("{}: {error}", path.display())]
    Sqlite {
        /// Path of the ledger.
        path: PathBuf,
        /// Error that SQLite returned.
        error: rusqlite::Error,
    },
    /// A foreign SQLite file, or a ledger of another format.
    #[error("{}: expected a ledger of format {}, found {found}", path.display(), schema::FORMAT)]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Kind of the file, for the message.
        found: String,
    },
    /// Reading takes more steps than tables of the file's size need: its pages form a cycle.
    #[error("{}: expected tables that fit into {bytes} bytes, found more", path.display())]
    Endless {
        /// Path of the file.
        path: PathBuf,
        /// Length of the file, in bytes.
        bytes: u64,
    },
    /// Another process runs the cells now.
    #[error("{}: {} runs its cells", path.display(), pid.map_or("another process".to_owned(), |pid| format!("process {pid}")))]
    Busy {
        /// Path of the ledger.
        path: PathBuf,
        /// PID of that process, if it is known.
        pid: Option<u32>,
    },
    /// The ledger belongs to another machine.
    #[error("{}: expected the ledger of `{expected}`, found that of `{found}`", path.display())]
    Other {
        /// Path of the ledger.
        path: PathBuf,
        /// Name of the machine whose cells were to be run.
        expected: String,
        /// Name of the machine that the ledger was made for.
        found: String,
    },
    /// Something in it that no ledger of ours holds.
    #[error("{}: cell {key}: expected {expected}, found `{found}`", path.display())]
    Content {
        /// Path of the ledger.
        path: PathBuf,
        /// Key of the cell.
        key: String,
        /// Expected item, for the message.
        expected: &'static str,
        /// Item that was found instead.
        found: String,
    },
}

/// The ledger of one machine.
#[derive(Debug)]
pub struct Ledger {
    connection: Connection,
    budget: Budget,
    path: PathBuf,
    /// `None` when it is only read.
    writer: Option<Writer>,
}

/// State that only the process that runs cells has.
#[derive(Debug)]
struct Writer {
    owner: Owner,
    owner_json: String,
    /// Locked as long as we run; the kernel unlocks it however we end.
    _lock: Lock,
}

/// A cell as a ledger knows it: by names, which mean the same on every machine and in a study that has grown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Key of the cell, the same in every ledger.
    pub key: String,
    /// The number of its block in the plan of its machine.
    pub block: u64,
    /// The name of its workload.
    pub workload: String,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// The name of its level of each factor.
    pub levels: Vec<String>,
    /// Purpose of the cell: measured, warm-up or control.
    pub role: Role,
}

/// A cell that we have to run now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Row of the claimed cell.
    pub row: Row,
    /// Number of this attempt, from 1.
    pub attempt: u32,
}

impl Claim {
    fn attempted(&self) -> (&str, u32) {
        (&self.row.key, self.attempt)
    }
}

/// Values of a cell that ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Value of the metric, normalised by the work done.
    pub value: f64,
    /// Interval of the value, when there are several.
    pub spread: Option<Interval>,
    /// Duration of the cell in seconds.
    pub seconds: f64,
    /// Facts that are needed to reproduce the value, by name.
    pub provenance: BTreeMap<String, String>,
}

/// Reason why a cell has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Permanent, or transient if another attempt may succeed.
    pub kind: FailureKind,
    /// Message of the error, in one line.
    pub message: String,
}

/// Consequence of a failure for its cell and its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// The cell will run once more, at the end of its block.
    Again,
    /// The cell stays failed and is not retried.
    Failed,
    /// The cell stays failed, and this number of further cells of its configuration is not run.
    Stopped {
        /// Cells that are not run.
        cells: usize,
    },
}

/// The name of a machine's ledger in a study's directory.
pub fn file_name(machine: &str) -> String {
    format!("ledger-{machine}.sqlite")
}

impl Ledger {
    /// Opens the ledger to run its cells, makes it if need be, and puts cells that were cut short back into the queue.
    /// No other process can open it so meanwhile. Returns how many cells were cut short, too.
    ///
    /// # Errors
    /// [`LedgerError`] when another process runs it, it is for something else, or the file cannot be used.
    pub fn open(path: &Path, machine: &str) -> Result<(Ledger, usize), LedgerError> {
        let io = |error| LedgerError::Io { path: path.to_owned(), error };
        let sqlite = |error| LedgerError::Sqlite { path: path.to_owned(), error };
        let lock = lock(path)?;
        let owner = Owner::this().map_err(io)?;
        let owner_json = serde_json::to_string(&owner).expect("an owner has no keys but names");
        let (mut connection, budget) =
            guard::connect(path, &[OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE])?;
        connection.busy_timeout(BUSY).map_err(sqlite)?;
        let objects: u64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|error| not_a_ledger(path, error))?;
        if objects > 0 {
            // Before anything is written.
            check_format(&connection, path)?;
        }
        // WAL: readers never wait for the writer. FULL: a commit is on disk when it returns, also after a power cut.
        connection.pragma_update(None, "journal_mode", "WAL").map_err(sqlite)?;
        connection.pragma_update(None, "synchronous", "FULL").map_err(sqlite)?;
        if objects == 0 {
            schema::create(&mut connection).map_err(sqlite)?;
        }
        let writer = Some(Writer { owner, owner_json, _lock: lock });
        let mut ledger = Ledger { connection, budget, path: path.to_owned(), writer };
        match ledger.note("machine")? {
            Some(found) if found != machine => {
                return Err(LedgerError::Other { path: path.to_owned(), expected: machine.to_owned(), found });
            }
            Some(_) => {}
            None => ledger.set_note("machine", machine)?,
        }
        let cut = ledger.requeue_cut()?;
        Ok((ledger, cut))
    }

    /// Opens the ledger to read it, while others may write.
    ///
    /// # Errors
    /// [`LedgerError`] when there is none, or it is none.
    pub fn read(path: &Path) -> Result<Ledger, LedgerError> {
        let sqlite = |error| LedgerError::Sqlite { path: path.to_owned(), error };
        fs::symlink_metadata(path).map_err(|error| LedgerError::Io { path: path.to_owned(), error })?;
        // A reader of a WAL file writes its index; where it may not, the file is read as it is.
        let ways = [OpenFlags::SQLITE_OPEN_READ_WRITE, OpenFlags::SQLITE_OPEN_READ_ONLY];
        let (connection, budget) = guard::connect(path, &ways)?;
        connection.busy_timeout(BUSY).map_err(sqlite)?;
        connection.pragma_update(None, "query_only", true).map_err(sqlite)?;
        check_format(&connection, path)?;
        Ok(Ledger { connection, budget, path: path.to_owned(), writer: None })
    }

    /// Path of the ledger's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the plan down, in the order in which cells are to run. What came of cells that are there already stays;
    /// those that wait and are not in the plan any more are not run.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn plan(&mut self, cells: impl Iterator<Item = Row>) -> Result<(), LedgerError> {
        let cells: Vec<Row> = cells.collect();
        let planned = digest(&cells);
        // A study of many cells that is continued does not write them all again.
        if self.note(PLANNED)?.as_ref() == Some(&planned) {
            return Ok(());
        }
        self.write_rows(cells.len(), |transaction, _| {
            transaction.execute(
                "INSERT INTO study (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
                [PLANNED, &planned],
            )?;
            transaction.execute(
                "UPDATE cell SET state = 'skipped', message = ?1 WHERE state = 'pending' AND attempt = 0",
                [NOT_PLANNED],
            )?;
            let mut insert = transaction.prepare(
                "INSERT INTO cell (key, position, block, workload, repeat, levels, role)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key) DO UPDATE SET position = ?2, block = ?3,
                 state = iif(state = 'skipped' AND message = ?8, 'pending', state),
                 message = iif(state = 'skipped' AND message = ?8, NULL, message)",
            )?;
            for (position, row) in cells.iter().enumerate() {
                insert.execute(params![
                    row.key,
                    position as i64,
                    row.block,
                    row.workload,
                    row.repeat,
                    levels_text(&row.levels),
                    role_name(row.role),
                    NOT_PLANNED,
                ])?;
            }
            Ok(())
        })
    }

    /// Adds cells behind all others, as the points of a sweep that no plan could contain; those that are there stay.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn add(&mut self, cells: &[Row]) -> Result<(), LedgerError> {
        self.write_rows(cells.len(), |transaction, _| {
            let next: i64 =
                transaction.query_row("SELECT coalesce(max(position) + 1, 0) FROM cell", [], |row| row.get(0))?;
            let mut insert = transaction.prepare(
                "INSERT INTO cell (key, position, block, workload, repeat, levels, role)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (key) DO NOTHING",
            )?;
            for (row, position) in cells.iter().zip(next..) {
                let (levels, role) = (levels_text(&row.levels), role_name(row.role));
                insert.execute(params![row.key, position, row.block, row.workload, row.repeat, levels, role])?;
            }
            Ok(())
        })
    }

    /// Takes the next cell that waits, of any block or of this one.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn claim(&mut self, block: Option<u64>) -> Result<Option<Claim>, LedgerError> {
        self.write(|transaction, writer| claim(transaction, writer, block))
    }

    /// Commits a cell as done. Its samples must be in place already.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn done(&mut self, claimed: &Claim, measured: &Measured) -> Result<(), LedgerError> {
        self.write(|transaction, _| done(transaction, claimed, measured))
    }

    /// Commits a cell as done and takes the next one, both or neither: one wait for the disk instead of two.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn done_and_claim(
        &mut self,
        claimed: &Claim,
        measured: &Measured,
        block: Option<u64>,
    ) -> Result<Option<Claim>, LedgerError> {
        self.write(|transaction, writer| {
            done(transaction, claimed, measured)?;
            claim(transaction, writer, block)
        })
    }

    /// Commits a cell as failed; what failed by chance is put back into the queue once.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn failed(&mut self, claimed: &Claim, failure: &Failure) -> Result<AfterFailure, LedgerError> {
        self.write(|transaction, _| {
            end_attempt(transaction, claimed.attempted(), "failed", Some(&failure.message))?;
            let cuts: u32 = transaction.query_row(
                "SELECT count(*) FROM attempt WHERE key = ?1 AND ended = 'cut'",
                [&claimed.row.key],
                |row| row.get(0),
            )?;
            let tried = claimed.attempt.saturating_sub(cuts);
            let again = failure.kind == FailureKind::Transient && tried < TRANSIENT_ATTEMPTS_MOST;
            transaction.execute(
                "UPDATE cell SET state = ?2, again = again + ?3, failure = ?4, message = ?5 WHERE key = ?1",
                params![
                    claimed.row.key,
                    if again { "pending" } else { "failed" },
                    again,
                    kind_name(failure.kind),
                    failure.message
                ],
            )?;
            let (levels, failures): (String, u32) = transaction.query_row(
                "INSERT INTO streak (levels, failures) SELECT levels, 1 FROM cell WHERE key = ?1
                 ON CONFLICT (levels) DO UPDATE SET failures = failures + 1 RETURNING levels, failures",
                [&claimed.row.key],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            if failures < FAILURES_IN_A_ROW_MOST {
                return Ok(if again { AfterFailure::Again } else { AfterFailure::Failed });
            }
            // What was to be tried again stays what it is: a failure.
            transaction.execute(
                "UPDATE cell SET state = 'failed' WHERE levels = ?1 AND state = 'pending' AND failure IS NOT NULL",
                [&levels],
            )?;
            let why = format!("{FAILURES_IN_A_ROW_MOST} failures of its configuration in a row");
            let cells = transaction.execute(
                "UPDATE cell SET state = 'skipped', message = ?2 WHERE levels = ?1 AND state = 'pending'",
                params![levels, why],
            )?;
            Ok(AfterFailure::Stopped { cells })
        })
    }

    /// Puts a cell that was begun and not ended back, as if it had not been claimed: a stop was requested.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn release(&mut self, claimed: &Claim) -> Result<(), LedgerError> {
        self.write(|transaction, _| {
            transaction.execute(
                "DELETE FROM attempt WHERE key = ?1 AND attempt = ?2",
                params![claimed.row.key, claimed.attempt],
            )?;
            transaction.execute(
                "UPDATE cell SET state = 'pending', attempt = attempt - 1 WHERE key = ?1",
                [&claimed.row.key],
            )?;
            Ok(())
        })
    }

    /// Takes cells that wait out of the queue: keys, and why each is not run. Returns how many there were.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn skip(&mut self, cells: &[(String, String)]) -> Result<usize, LedgerError> {
        self.write(|transaction, _| {
            let mut skip = transaction.prepare_cached(
                "UPDATE cell SET state = 'skipped', message = ?2 WHERE key = ?1 AND state = 'pending'",
            )?;
            cells.iter().map(|(key, why)| skip.execute([key, why])).sum()
        })
    }

    /// Puts cells that failed or were skipped by failures back into the queue, with fresh attempts. Returns how many.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn retry_failed(&mut self) -> Result<usize, LedgerError> {
        self.write(|transaction, _| {
            transaction.execute("DELETE FROM streak", [])?;
            transaction.execute(
                "UPDATE cell SET state = 'pending', again = again + 1, failure = NULL, message = NULL
                 WHERE state = 'failed' OR (state = 'skipped' AND message LIKE '% in a row')",
                [],
            )
        })
    }

    /// Cells whose process is gone wait again; their samples, if they came so far, are of no cell that is done.
    fn requeue_cut(&mut self) -> Result<usize, LedgerError> {
        let directory = self.path.parent().map(|directory| directory.join(CELLS)).unwrap_or_default();
        let cut = self.write(|transaction, writer| {
            let mut busy = transaction.prepare(
                "SELECT cell.key, cell.attempt, attempt.owner FROM cell
                 LEFT JOIN attempt ON attempt.key = cell.key AND attempt.attempt = cell.attempt
                 WHERE cell.state = 'running' ORDER BY cell.position",
            )?;
            let busy: Vec<(String, u32, Option<String>)> =
                busy.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect::<Result<_, _>>()?;
            let is_gone = |owner: &Option<String>| {
                let owner = owner.as_deref().and_then(|json| serde_json::from_str::<Owner>(json).ok());
                owner.is_none_or(|owner| owner.is_gone(&writer.owner))
            };
            let mut keys = Vec::new();
            for (key, attempt, _) in busy.into_iter().filter(|(_, _, owner)| is_gone(owner)) {
                end_attempt(transaction, (&key, attempt), "cut", None)?;
                let cuts: u32 = transaction.query_row(
                    "SELECT count(*) FROM attempt WHERE key = ?1 AND ended = 'cut'",
                    [&key],
                    |row| row.get(0),
                )?;
                if cuts < CUTS_MOST {
                    transaction.execute("UPDATE cell SET state = 'pending' WHERE key = ?1", [&key])?;
                } else {
                    let message = format!("cut short {cuts} times: its process was killed, or the machine went down");
                    transaction.execute(
                        "UPDATE cell SET state = 'failed', failure = 'transient', message = ?2 WHERE key = ?1",
                        params![key, message],
                    )?;
                }
                keys.push(key);
            }
            Ok(keys)
        })?;
        for key in &cut {
            match fs::remove_file(directory.join(format!("{key}.json"))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(LedgerError::Io { path: directory.join(format!("{key}.json")), error });
                }
                _ => {}
            }
        }
        Ok(cut.len())
    }

    /// Keeps a fact of the study or the machine under its name.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn set_note(&mut self, name: &str, value: &str) -> Result<(), LedgerError> {
        self.write(|transaction, _| {
            transaction.execute(
                "INSERT INTO study (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
                [name, value],
            )?;
            Ok(())
        })
    }

    /// Counts disturbances that were seen: name and evidence of each.
    ///
    /// # Errors
    /// [`LedgerError`] when the file does not take it.
    pub fn disturbed(&mut self, seen: &[(String, String)]) -> Result<(), LedgerError> {
        self.write_rows(seen.len(), |transaction, _| {
            for (name, evidence) in seen {
                transaction.execute(
                    "INSERT INTO disturbance (name, evidence, seen) VALUES (?1, ?2, 1)
                     ON CONFLICT (name) DO UPDATE SET evidence = ?2, seen = seen + 1",
                    [name, evidence],
                )?;
            }
            Ok(())
        })
    }

    /// Copies the whole ledger, as it is at this moment, into one file that needs no other.
    ///
    /// # Errors
    /// [`LedgerError`] when the disk does not take it.
    pub fn copy_to(&self, path: &Path) -> Result<(), LedgerError> {
        let io = |error| LedgerError::Io { path: path.to_owned(), error };
        // SQLite takes an empty file for one that is not there yet.
        let (temporary, _) = own::temporary(path, 0o644).map_err(io)?;
        let text = temporary.to_string_lossy().into_owned();
        let sqlite = |error| LedgerError::Sqlite { path: path.to_owned(), error };
        self.budget.begin(guard::bytes(&self.path), 0);
        // VACUUM INTO writes only the copy, but counts as writing.
        let read_only = |on: bool| match &self.writer {
            Some(_) => Ok(()),
            None => self.connection.pragma_update(None, "query_only", on).map_err(sqlite),
        };
        read_only(false)?;
        let copied = self.connection.execute("VACUUM INTO ?1", [text]);
        read_only(true)?;
        let placed = copied.map_err(sqlite).and_then(|_| own::put_in_place(&temporary, path).map_err(io));
        if placed.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        placed
    }

    /// One transaction of the one who runs cells.
    fn write<T>(&mut self, act: impl FnOnce(&Transaction, &Writer) -> rusqlite::Result<T>) -> Result<T, LedgerError> {
        self.write_rows(0, act)
    }

    /// As [`Ledger::write`], of this many rows.
    fn write_rows<T>(
        &mut self,
        rows: usize,
        act: impl FnOnce(&Transaction, &Writer) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        let sqlite = |error| not_a_ledger(&self.path, error);
        self.budget.begin(guard::bytes(&self.path), rows);
        let Some(writer) = &self.writer else {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY), None);
            return Err(sqlite(error));
        };
        let transaction = Transaction::new(&mut self.connection, TransactionBehavior::Immediate).map_err(sqlite)?;
        let value = act(&transaction, writer).map_err(sqlite)?;
        transaction.commit().map_err(sqlite)?;
        Ok(value)
    }
}

/// The directory of samples files, beside the ledger.
pub const CELLS: &str = "cells";

fn claim(transaction: &Transaction, writer: &Writer, block: Option<u64>) -> rusqlite::Result<Option<Claim>> {
    let take = |row: &rusqlite::Row| {
        let levels: String = row.get(5)?;
        let wrong = |column, text: &str| {
            rusqlite::Error::InvalidColumnType(column, text.to_owned(), rusqlite::types::Type::Text)
        };
        Ok(Claim {
            row: Row {
                key: row.get(0)?,
                block: row.get(2)?,
                workload: row.get(3)?,
                repeat: row.get(4)?,
                levels: serde_json::from_str(&levels).map_err(|_| wrong(5, &levels))?,
                role: role(&row.get::<_, String>(6)?).ok_or_else(|| wrong(6, "role"))?,
            },
            attempt: row.get::<_, u32>(1)?.saturating_add(1),
        })
    };
    let waiting = match block {
        None => transaction
            .prepare_cached(
                "SELECT key, attempt, block, workload, repeat, levels, role FROM cell WHERE state = 'pending'
                 ORDER BY block, again, position LIMIT 1",
            )?
            .query_row([], take)
            .optional()?,
        Some(block) => transaction
            .prepare_cached(
                "SELECT key, attempt, block, workload, repeat, levels, role FROM cell WHERE state = 'pending' AND block = ?1
                 ORDER BY again, position LIMIT 1",
            )?
            .query_row([block as i64], take)
            .optional()?,
    };
    if let Some(claim) = &waiting {
        transaction
            .prepare_cached("UPDATE cell SET state = 'running', attempt = ?2 WHERE key = ?1")?
            .execute(params![claim.row.key, claim.attempt])?;
        transaction
            .prepare_cached("INSERT INTO attempt (key, attempt, owner, claimed_s) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![claim.row.key, claim.attempt, writer.owner_json, now_s()])?;
    }
    Ok(waiting)
}

fn done(transaction: &Transaction, claimed: &Claim, measured: &Measured) -> rusqlite::Result<()> {
    let key = &claimed.row.key;
    let spread = measured.spread.as_ref().and_then(|spread| serde_json::to_string(spread).ok());
    let provenance = serde_json::to_string(&measured.provenance).unwrap_or_default();
    transaction
        .prepare_cached(
            // From claim to claim: its samples and the wait for the disk are part of what a cell takes. A clock that was set
            // back is no measure.
            "UPDATE cell SET state = 'done', failure = NULL, message = NULL, value = ?2, spread = ?3, origin = ?5,
             seconds = max(?4, ?7 - (SELECT claimed_s FROM attempt WHERE key = ?1 AND attempt = ?6)) WHERE key = ?1",
        )?
        .execute(params![key, measured.value, spread, measured.seconds, provenance, claimed.attempt, now_s()])?;
    transaction
        .prepare_cached("DELETE FROM streak WHERE levels = (SELECT levels FROM cell WHERE key = ?1)")?
        .execute([key])?;
    end_attempt(transaction, claimed.attempted(), "done", None)?;
    Ok(())
}

fn end_attempt(
    transaction: &Transaction,
    (key, attempt): (&str, u32),
    ended: &str,
    message: Option<&str>,
) -> rusqlite::Result<usize> {
    transaction
        .prepare_cached("UPDATE attempt SET ended_s = ?3, ended = ?4, message = ?5 WHERE key = ?1 AND attempt = ?2")?
        .execute(params![key, attempt, now_s(), ended, message])
}

/// Takes the lock beside the ledger.
fn lock(path: &Path) -> Result<Lock, LedgerError> {
    Lock::take(&path.with_extension("lock"), Ownership::Anybodys).map_err(|error| match error {
        LockError::NotOurs(error) => LedgerError::NotOurs(error),
        LockError::Busy { pid, .. } => LedgerError::Busy { path: path.to_owned(), pid },
    })
}

/// Refuses what is no ledger of this format, whole and without anything else in it.
fn check_format(connection: &Connection, path: &Path) -> Result<(), LedgerError> {
    let number = |name: &str| -> Result<i64, LedgerError> {
        connection.pragma_query_value(None, name, |row| row.get(0)).map_err(|error| not_a_ledger(path, error))
    };
    let wrong = |found: String| Err(LedgerError::Format { path: path.to_owned(), found });
    let (application, format) = (number("application_id")?, number("user_version")?);
    if application != schema::APPLICATION {
        return wrong("a file of another program".to_owned());
    }
    if format != schema::FORMAT {
        return wrong(format.to_string());
    }
    let foreign = guard::foreign(connection).map_err(|error| not_a_ledger(path, error))?;
    foreign.map_or(Ok(()), wrong)
}

/// The error for a file that SQLite does not accept as its own.
fn not_a_ledger(path: &Path, error: rusqlite::Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            LedgerError::Format { path: path.to_owned(), found: "no SQLite file".to_owned() }
        }
        // Nothing but the budget interrupts.
        Some(rusqlite::ErrorCode::OperationInterrupted) => {
            LedgerError::Endless { path: path.to_owned(), bytes: guard::bytes(path) }
        }
        _ => LedgerError::Sqlite { path: path.to_owned(), error },
    }
}

fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Digest of the rows that a plan writes.
fn digest(cells: &[Row]) -> String {
    let mut hash = Sha256::new();
    for row in cells {
        hash.update(&row.key);
        hash.update(row.block.to_le_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn levels_text(levels: &[String]) -> String {
    serde_json::to_string(levels).expect("texts are JSON")
}

fn role(name: &str) -> Option<Role> {
    [Role::Measured, Role::WarmUp, Role::Control].into_iter().find(|role| role_name(*role) == name)
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Measured => "measured",
        Role::WarmUp => "warm_up",
        Role::Control => "control",
    }
}

fn kind_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Permanent => "permanent",
        FailureKind::Transient => "transient",
    }
}

#[cfg(test)]
mod tests;
