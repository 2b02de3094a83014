//! A ledger may come from anybody: what is looked at before its first row is believed, and how much of it is read.
//!
//! SQLite runs what a file's schema says, so that the schema is exactly ours or nothing of it is read. Its pages may lead
//! in circles and lend one text to many rows, so that steps and text of each query are bounded by the file's size
//! (<https://sqlite.org/security.html>).
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use prony_machine::own::{self, Ownership};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::{LedgerError, schema};

/// Bytes of one text or one row at most: a cell's `origin` holds a command and its environment.
const TEXT_BYTES_MOST: i32 = 4 << 20;
/// Steps of SQLite's machine that a query may take whatever the size of the file.
const STEPS_LEAST: u64 = 1 << 20;
/// And for each byte of it. A row is ten bytes at least, and takes some twenty steps to read and to sort.
const STEPS_PER_BYTE: u64 = 64;
/// And for each row that is written.
const STEPS_PER_ROW: u64 = 4096;
/// Number of SQLite steps between two looks at the limits.
const STEPS_BETWEEN: u16 = 1000;
/// How a rollback journal ends that names another file, which SQLite would look into and remove
/// (<https://sqlite.org/fileformat2.html>, "The Rollback Journal"; `readSuperJournal` of its pager).
const NAMES_ANOTHER: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Steps that are left to the query that runs.
#[derive(Debug, Clone)]
pub(super) struct Budget(Arc<AtomicU64>);

impl Budget {
    /// Renews the budget of steps. `bytes`: of the ledger. `rows`: how many are to be written.
    pub(super) fn begin(&self, bytes: u64, rows: usize) {
        let steps = bytes
            .saturating_mul(STEPS_PER_BYTE)
            .saturating_add((rows as u64).saturating_mul(STEPS_PER_ROW))
            .saturating_add(STEPS_LEAST);
        self.0.store(steps, Ordering::Relaxed);
    }

    /// False when nothing is left.
    fn spend(&self) -> bool {
        let between = u64::from(STEPS_BETWEEN);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(between)).is_ok()
    }
}

/// Opens an untrusted SQLite file. `flags`: how to open it.
///
/// # Errors
/// [`LedgerError`] for a link, a pipe or a device, also beside it where SQLite keeps what is not yet in the file.
pub(super) fn connect(path: &Path, flags: &[OpenFlags]) -> Result<(Connection, Budget), LedgerError> {
    let io = |error| LedgerError::Io { path: path.to_owned(), error };
    let sqlite = |error| LedgerError::Sqlite { path: path.to_owned(), error };
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // Looked at without opening it: a process that closes the file itself loses all locks that it has on it.
        own::check_file(&beside(path, suffix), Ownership::Anybodys)?;
    }
    check_journal(&beside(path, "-journal"))?;
    // SQLite's own flag against links wants none in the whole path.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| io(io::ErrorKind::InvalidInput.into()))?;
    let real = fs::canonicalize(parent).map_err(io)?.join(name);
    let always = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut opened = flags.iter().map(|&flags| Connection::open_with_flags(&real, flags | always));
    let first = opened.next().expect("there is a way to open it");
    let mut connection = opened.fold(first, |before, next| before.or(next)).map_err(sqlite)?;
    for (switch, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(switch, on).map_err(sqlite)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, TEXT_BYTES_MOST).map_err(sqlite)?;
    let budget = Budget(Arc::new(AtomicU64::new(0)));
    budget.begin(bytes(path), 0);
    let spent = budget.clone();
    connection.progress_handler(i32::from(STEPS_BETWEEN), Some(move || !spent.spend())).map_err(sqlite)?;
    // Another program may cut the file while it is mapped, which ends this one.
    connection.pragma_update(None, "mmap_size", 0).map_err(|error| super::not_a_ledger(path, error))?;
    connection.pragma_update(None, "cell_size_check", true).map_err(sqlite)?;
    Ok((connection, budget))
}

/// Bytes of a ledger, with what is not yet in the file itself.
pub(super) fn bytes(path: &Path) -> u64 {
    let length = |suffix| beside(path, suffix).symlink_metadata().map_or(0, |facts| facts.len());
    length("") + length("-wal")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// No ledger is ever written together with another file.
fn check_journal(path: &Path) -> Result<(), LedgerError> {
    let io = |error| LedgerError::Io { path: path.to_owned(), error };
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let mut file = own::open(path, Ownership::Anybodys)?;
    let mut end = [0; NAMES_ANOTHER.len()];
    let length = file.metadata().map_err(io)?.len();
    if length < end.len() as u64 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-(end.len() as i64))).and_then(|_| file.read_exact(&mut end)).map_err(io)?;
    match end == NAMES_ANOTHER {
        false => Ok(()),
        true => Err(LedgerError::Format {
            path: path.to_owned(),
            found: "the journal of a change to several files".to_owned(),
        }),
    }
}

/// An object of a schema: its type, its name, its table, and the statement that made it.
type Made = (String, String, String, Option<String>);

fn objects(connection: &Connection) -> rusqlite::Result<BTreeSet<Made>> {
    let mut statement = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    rows.collect()
}

/// Difference between a file's schema and that of a ledger: an object too many, or a missing one; `None` if they are
/// equal.
pub(super) fn foreign(connection: &Connection) -> rusqlite::Result<Option<String>> {
    static OURS: OnceLock<BTreeSet<Made>> = OnceLock::new();
    let ours = match OURS.get() {
        Some(ours) => ours,
        None => {
            let mut empty = Connection::open_in_memory()?;
            schema::create(&mut empty)?;
            let ours = objects(&empty)?;
            OURS.get_or_init(|| ours)
        }
    };
    let theirs = objects(connection)?;
    let shown = |(kind, name, ..): &Made| {
        let name: String = name.chars().take(60).collect();
        format!("{} `{name}`", kind.chars().take(20).collect::<String>())
    };
    let foreign = theirs.difference(ours).next().map(|object| format!("the {} of another program", shown(object)));
    Ok(foreign.or_else(|| ours.difference(&theirs).next().map(|object| format!("one without the {}", shown(object)))))
}
