//! The tables of a ledger; `docs/formats/ledger.md` says what each column means.
#![deny(clippy::indexing_slicing)]

use rusqlite::Connection;

/// SQLite's `application_id` of a ledger: the letters `PRNY`.
pub const APPLICATION: i64 = 0x50_52_4e_59;
/// SQLite's `user_version` of a ledger: the version of the format. A reader refuses another one.
pub const FORMAT: i64 = 1;

const TABLES: &str = "
CREATE TABLE study (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cell (
    key      TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    workload TEXT NOT NULL,
    repeat   INTEGER NOT NULL,
    levels   TEXT NOT NULL,
    role     TEXT NOT NULL,
    state    TEXT NOT NULL DEFAULT 'pending'
             CHECK (state IN ('pending', 'running', 'done', 'failed', 'skipped')),
    attempt  INTEGER NOT NULL DEFAULT 0,
    again    INTEGER NOT NULL DEFAULT 0,
    failure  TEXT CHECK (failure IN ('permanent', 'transient')),
    message  TEXT,
    value    REAL,
    spread   TEXT,
    seconds  REAL,
    origin   TEXT
) STRICT;

CREATE INDEX queue ON cell (block, again, position) WHERE state = 'pending';
CREATE INDEX busy ON cell (position) WHERE state = 'running';
CREATE INDEX alike ON cell (levels);

CREATE TABLE attempt (
    key       TEXT NOT NULL,
    attempt   INTEGER NOT NULL,
    owner     TEXT NOT NULL,
    claimed_s REAL NOT NULL,
    ended_s   REAL,
    ended     TEXT CHECK (ended IN ('done', 'failed', 'cut')),
    message   TEXT,
    PRIMARY KEY (key, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE streak (
    levels   TEXT PRIMARY KEY,
    failures INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE disturbance (
    name     TEXT PRIMARY KEY,
    evidence TEXT NOT NULL,
    seen     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Makes the tables of a new ledger, all or none.
pub fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}
