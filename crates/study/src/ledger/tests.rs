use std::path::PathBuf;
use std::time::Instant;

use tempfile::TempDir;

use super::*;
use crate::State;

fn cell(number: usize, levels: &[usize]) -> Row {
    Row {
        key: format!("{number:064x}"),
        block: 0,
        workload: "dm1".to_owned(),
        repeat: 0,
        levels: levels.iter().map(usize::to_string).collect(),
        role: Role::Measured,
    }
}

fn place() -> (TempDir, PathBuf) {
    let place = TempDir::new().expect("the temporary directory is writable");
    let path = place.path().join(file_name("here"));
    (place, path)
}

fn planned(path: &Path, cells: &[Row]) -> Ledger {
    let (mut ledger, cut) = Ledger::open(path, "here").expect("nobody else has it");
    assert_eq!(cut, 0);
    ledger.plan(cells.iter().cloned()).expect("the disk is not full");
    ledger
}

fn take(ledger: &mut Ledger) -> Option<Claim> {
    ledger.claim(None).expect("the disk is not full")
}

fn fail(ledger: &mut Ledger, kind: FailureKind) -> AfterFailure {
    let claim = take(ledger).expect("a cell waits");
    ledger.failed(&claim, &Failure { kind, message: "it broke".to_owned() }).expect("the disk is not full")
}

/// As if another process, that is gone, had claimed what runs.
fn orphan(path: &Path) {
    let connection = Connection::open(path).expect("it is a database");
    let gone = Owner { started_ticks: 0, ..Owner::this().expect("this is Linux") };
    let gone = serde_json::to_string(&gone).expect("it is plain");
    connection.execute("UPDATE attempt SET owner = ?1 WHERE ended IS NULL", [gone]).expect("nobody writes");
}

#[test]
fn a_cell_takes_from_its_claim_to_its_end() {
    let (_place, path) = place();
    let mut ledger = planned(&path, &[cell(0, &[0]), cell(1, &[1])]);
    let connection = Connection::open(&path).expect("it is a database");
    let measured = Measured { value: 2.5, seconds: 0.1, ..Measured::default() };
    for (earlier_s, at_least) in [(30.0, 30.0), (-1e9, 0.1)] {
        let begun = Instant::now();
        let claimed = take(&mut ledger).expect("one waits");
        connection
            .execute("UPDATE attempt SET claimed_s = claimed_s - ?1 WHERE ended IS NULL", [earlier_s])
            .expect("nobody else writes");
        ledger.done(&claimed, &measured).expect("the disk is not full");
        let key = &claimed.row.key;
        let seconds: f64 = connection
            .query_row("SELECT seconds FROM cell WHERE key = ?1", [key], |row| row.get(0))
            .expect("it is done");
        assert!((at_least..=at_least + begun.elapsed().as_secs_f64()).contains(&seconds), "{seconds}");
    }
}

#[test]
fn cells_run_in_the_order_of_the_plan_and_none_twice() {
    let (_place, path) = place();
    let cells: Vec<Row> = (0..3).map(|number| cell(number, &[number])).collect();
    let mut ledger = planned(&path, &cells);
    let first = take(&mut ledger).expect("three wait");
    let measured = Measured { value: 2.5, seconds: 0.1, ..Measured::default() };
    let second = ledger.done_and_claim(&first, &measured, None).expect("the disk is not full").expect("two wait");
    assert_eq!((first.row.key, first.attempt), (cells[0].key.clone(), 1));
    assert_eq!(second.row.key, cells[1].key);
    // Planning again changes nothing.
    ledger.plan(cells.iter().cloned()).expect("the disk is not full");
    assert_eq!(ledger.counts().expect("readable"), Counts { pending: 1, running: 1, done: 1, ..Counts::default() });
    let read = Ledger::read(&path).expect("readers never wait").cells().expect("it is sound");
    assert_eq!((read[0].state.clone(), read[0].value), (State::Done, Some(2.5)));
    assert_eq!(read[0].samples(), Some(format!("cells/{}.json", cells[0].key)));
    assert_eq!((read[1].state.clone(), read[1].samples()), (State::Running, None));
}

#[test]
fn a_cell_whose_process_is_gone_runs_again_and_leaves_no_samples() {
    let (place, path) = place();
    let mut ledger = planned(&path, &[cell(1, &[0]), cell(2, &[0])]);
    let claim = take(&mut ledger).expect("two wait");
    drop(ledger);
    // Its owner is this very process, which is still there.
    assert_eq!(Ledger::open(&path, "here").expect("nobody has it").1, 0);
    orphan(&path);
    std::fs::create_dir(place.path().join(CELLS)).expect("it is writable");
    let samples = place.path().join(CELLS).join(format!("{}.json", claim.row.key));
    std::fs::write(&samples, "{}").expect("it is writable");
    let (mut ledger, cut) = Ledger::open(&path, "here").expect("nobody has it");
    assert_eq!(cut, 1);
    assert!(!samples.exists(), "they are of an attempt that was cut");
    let again = take(&mut ledger).expect("two wait");
    assert_eq!((again.row.key, again.attempt), (claim.row.key, 2));
}

#[test]
fn a_cell_that_is_always_cut_is_given_up() {
    let (_place, path) = place();
    drop(planned(&path, &[cell(1, &[0])]));
    for attempt in 1..=CUTS_MOST {
        let (mut ledger, _) = Ledger::open(&path, "here").expect("nobody has it");
        assert_eq!(take(&mut ledger).expect("it waits").attempt, attempt);
        drop(ledger);
        orphan(&path);
    }
    let (mut ledger, _) = Ledger::open(&path, "here").expect("nobody has it");
    assert_eq!(take(&mut ledger), None);
    let state = ledger.cells().expect("it is sound")[0].state.clone();
    let State::Failed { kind: FailureKind::Transient, message } = state else { panic!("{state:?}") };
    assert!(message.starts_with("cut short 8 times"), "{message}");
}

#[test]
fn what_fails_by_chance_is_tried_once_more_at_the_end_of_its_block() {
    let (_place, path) = place();
    let mut ledger = planned(&path, &[cell(1, &[0]), cell(2, &[1])]);
    assert_eq!(fail(&mut ledger, FailureKind::Transient), AfterFailure::Again);
    let other = take(&mut ledger).expect("two wait");
    assert_eq!(other.row.key, cell(2, &[1]).key);
    ledger.done(&other, &Measured { value: 1.0, ..Measured::default() }).expect("the disk is not full");
    assert_eq!(fail(&mut ledger, FailureKind::Transient), AfterFailure::Failed);
    assert_eq!(take(&mut ledger), None);
    let failed = &ledger.cells().expect("it is sound")[0];
    assert_eq!(failed.attempt, 2);
    assert_eq!(failed.state, State::Failed { kind: FailureKind::Transient, message: "it broke".to_owned() });
}

#[test]
fn five_failures_in_a_row_stop_their_configuration_only() {
    let (_place, path) = place();
    let cells: Vec<Row> = (0..20).map(|number| cell(number, &[number % 2])).collect();
    let mut ledger = planned(&path, &cells);
    let mut after = Vec::new();
    while let Some(claim) = take(&mut ledger) {
        if claim.row.levels == ["0"] {
            let failure = Failure { kind: FailureKind::Permanent, message: "exit code 1".to_owned() };
            after.push(ledger.failed(&claim, &failure).expect("the disk is not full"));
        } else {
            let measured = Measured { value: 1.0, ..Measured::default() };
            ledger.done(&claim, &measured).expect("the disk is not full");
        }
    }
    assert_eq!(after[..4], [AfterFailure::Failed; 4]);
    assert_eq!(after[4], AfterFailure::Stopped { cells: 5 });
    let counts = ledger.counts().expect("readable");
    assert_eq!(counts, Counts { done: 10, failed: 5, skipped: 5, ..Counts::default() });
    assert_eq!(ledger.retry_failed().expect("the disk is not full"), 10);
    assert_eq!(ledger.counts().expect("readable").pending, 10);
}

#[test]
fn a_value_between_failures_restarts_the_row() {
    let (_place, path) = place();
    let cells: Vec<Row> = (0..12).map(|number| cell(number, &[0])).collect();
    let mut ledger = planned(&path, &cells);
    for _ in 0..2 {
        for _ in 0..4 {
            assert_eq!(fail(&mut ledger, FailureKind::Permanent), AfterFailure::Failed);
        }
        let claim = take(&mut ledger).expect("some wait");
        ledger.done(&claim, &Measured { value: 1.0, ..Measured::default() }).expect("the disk is not full");
    }
    assert_eq!(ledger.counts().expect("readable"), Counts { pending: 2, done: 2, failed: 8, ..Counts::default() });
}

#[test]
fn a_cell_that_was_released_was_never_claimed() {
    let (_place, path) = place();
    let mut ledger = planned(&path, &[cell(1, &[0])]);
    let claim = take(&mut ledger).expect("it waits");
    ledger.release(&claim).expect("the disk is not full");
    assert_eq!(ledger.attempts().expect("readable"), []);
    assert_eq!(take(&mut ledger), Some(claim));
}

#[test]
fn only_one_process_runs_a_ledger_and_only_for_what_it_was_made() {
    let (_place, path) = place();
    let ledger = planned(&path, &[cell(1, &[0])]);
    let busy = Ledger::open(&path, "here").expect_err("we have it").to_string();
    assert!(busy.ends_with(&format!("process {} runs its cells", std::process::id())), "{busy}");
    drop(ledger);
    let error = Ledger::open(&path, "there").expect_err("another machine").to_string();
    assert!(error.ends_with("expected the ledger of `there`, found that of `here`"), "{error}");
}

#[test]
fn a_study_that_changed_runs_what_is_new_and_not_what_is_gone() {
    let (_place, path) = place();
    let mut ledger = planned(&path, &[cell(1, &[0]), cell(2, &[1]), cell(3, &[2])]);
    let first = take(&mut ledger).expect("three wait");
    ledger.done(&first, &Measured { value: 1.0, ..Measured::default() }).expect("the disk is not full");
    ledger.plan([cell(4, &[3]), cell(1, &[0]), cell(3, &[2])].into_iter()).expect("the disk is not full");
    let states: Vec<State> = ledger.cells().expect("it is sound").into_iter().map(|entry| entry.state).collect();
    let gone = State::Skipped { why: "not in the study any more".to_owned() };
    assert_eq!(states.iter().filter(|state| **state == gone).count(), 1);
    assert_eq!(take(&mut ledger).expect("two wait").row.key, cell(4, &[3]).key);
    ledger.plan([cell(1, &[0]), cell(2, &[1])].into_iter()).expect("the disk is not full");
    assert_eq!(take(&mut ledger).expect("it is back").row.key, cell(2, &[1]).key);
}

#[test]
fn what_is_no_ledger_is_named() {
    let (_place, path) = place();
    std::fs::write(&path, "no database at all, but long enough to have a head").expect("it is writable");
    let error = Ledger::read(&path).expect_err("it is text").to_string();
    assert!(error.ends_with("expected a ledger of format 1, found no SQLite file"), "{error}");
    std::fs::remove_file(&path).expect("it is there");
    Connection::open(&path).and_then(|other| other.execute_batch("CREATE TABLE a (b)")).expect("it is writable");
    let error = Ledger::read(&path).expect_err("it has no cells").to_string();
    assert!(error.ends_with("found a file of another program"), "{error}");
}

#[test]
fn a_ledger_that_names_files_elsewhere_is_refused() {
    let (_place, path) = place();
    let mut escaping = cell(1, &[0]);
    escaping.key = "../../etc/passwd".to_owned();
    let ledger = planned(&path, &[escaping]);
    let error = ledger.cells().expect_err("it is no key").to_string();
    assert!(error.ends_with("expected a key of hexadecimal digits, found `../../etc/passwd`"), "{error}");
}

#[test]
fn a_copy_is_one_file_with_the_same_cells() {
    let (place, path) = place();
    let mut ledger = planned(&path, &[cell(1, &[0]), cell(2, &[1])]);
    take(&mut ledger).expect("two wait");
    let copy = place.path().join("copy.sqlite");
    ledger.copy_to(&copy).expect("the disk is not full");
    let copied = Ledger::read(&copy).expect("it is a ledger");
    assert_eq!(copied.cells().expect("it is sound"), ledger.cells().expect("it is sound"));
    assert!(!place.path().join("copy.sqlite-wal").exists());
}

#[test]
fn nothing_is_written_through_a_link_that_lies_in_its_place() {
    let (place, path) = place();
    let victim = place.path().join("victim");
    fs::write(&victim, "precious").expect("the directory is writable");
    std::os::unix::fs::symlink(&victim, path.with_extension("lock")).expect("the directory is writable");
    let error = Ledger::open(&path, "here").expect_err("the lock is a link").to_string();
    assert!(error.ends_with("ledger-here.lock: expected a file, found a link"), "{error}");
    assert_eq!(fs::read(&victim).expect("it is there"), b"precious");
    fs::remove_file(path.with_extension("lock")).expect("it is ours");
    // A whole ledger, elsewhere.
    let elsewhere = place.path().join("elsewhere.sqlite");
    drop(planned(&elsewhere, &[cell(0, &[0])]));
    std::os::unix::fs::symlink(&elsewhere, &path).expect("the directory is writable");
    for error in [Ledger::open(&path, "here").err(), Ledger::read(&path).err()] {
        let error = error.expect("it is a link").to_string();
        assert!(error.ends_with("ledger-here.sqlite: expected a file, found a link"), "{error}");
    }
}

#[test]
fn a_pipe_in_its_place_is_an_error() {
    let (_place, path) = place();
    let made = std::process::Command::new("mkfifo").arg(&path).arg(path.with_extension("lock")).status();
    assert!(made.expect("`mkfifo` of the package coreutils is there").success());
    let error = Ledger::read(&path).expect_err("it is a pipe").to_string();
    assert!(error.ends_with("ledger-here.sqlite: expected a file, found a pipe"), "{error}");
    let error = Ledger::open(&path, "here").expect_err("its lock is a pipe").to_string();
    assert!(error.ends_with("ledger-here.lock: expected a file, found a pipe"), "{error}");
}

/// A ledger of some cells as one file, and a connection that changes anything in it.
fn stranger(cells: usize) -> (TempDir, PathBuf, Connection) {
    let (place, path) = place();
    let cells: Vec<Row> = (0..cells).map(|number| cell(number, &[number])).collect();
    let ledger = planned(&path, &cells);
    let copy = place.path().join("stranger.sqlite");
    ledger.copy_to(&copy).expect("the disk is not full");
    let connection = Connection::open(&copy).expect("it is a database");
    connection.pragma_update(None, "writable_schema", true).expect("nobody defends it");
    (place, copy, connection)
}

fn refused(path: &Path) -> String {
    let by_reader = Ledger::read(path).expect_err("it is none of ours").to_string();
    let by_writer = Ledger::open(path, "here").expect_err("it is none of ours").to_string();
    assert_eq!(by_reader, by_writer);
    by_reader
}

#[test]
fn a_table_that_is_a_view_without_end_is_refused_before_it_is_read() {
    let (_place, path, connection) = stranger(1);
    connection
        .execute_batch(
            "DROP TABLE cell;
             CREATE VIEW cell AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
             SELECT printf('%064x', i) AS key, i AS position, 0 AS block, '' AS workload, 0 AS repeat, '[]' AS levels,
             'measured' AS role, 'done' AS state, 1 AS attempt, 0 AS again, NULL AS failure, NULL AS message,
             1.0 AS value, NULL AS spread, 1.0 AS seconds, NULL AS origin FROM n;",
        )
        .expect("it is a database");
    drop(connection);
    let error = refused(&path);
    assert!(error.ends_with("expected a ledger of format 1, found the view `cell` of another program"), "{error}");
}

#[test]
fn triggers_indices_and_tables_of_others_are_refused() {
    for (statement, found) in [
        ("CREATE TRIGGER t AFTER UPDATE ON cell BEGIN DELETE FROM attempt; END", "the trigger `t` of another program"),
        ("CREATE INDEX i ON cell (abs(position))", "the index `i` of another program"),
        ("CREATE TABLE more (x)", "the table `more` of another program"),
        ("CREATE VIRTUAL TABLE v USING fts5(x)", "of another program"),
        ("DROP TABLE streak", "one without the table `streak`"),
        ("DROP INDEX alike", "one without the index `alike`"),
        (
            "UPDATE sqlite_schema SET sql = replace(sql, 'again    INTEGER', 'again INT AS (1), b INTEGER') WHERE name = 'cell'",
            "`cell` of another program",
        ),
    ] {
        let (_place, path, connection) = stranger(1);
        // Where this SQLite has no such module, there is nothing to refuse.
        if connection.execute_batch(statement).is_err() && statement.contains("fts5") {
            continue;
        }
        drop(connection);
        let error = refused(&path);
        assert!(error.ends_with(found), "{statement}: {error}");
    }
}

/// Makes the tree of `table` one that leads to its first rows again and again: `2^32` times and more.
fn lead_in_circles(path: &Path, connection: Connection, table: &str) {
    let root: u32 = connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0))
        .expect("it is there");
    let size: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0)).expect("it has pages");
    drop(connection);
    let mut file = fs::read(path).expect("it is ours");
    let size = size as usize;
    let at = |page: u32| (page as usize - 1) * size;
    let mut child = (file.len() / size) as u32 + 1;
    let leaf = file[at(root)..at(root) + size].to_vec();
    assert_eq!(leaf[0], 0x0d, "few rows fit on one page");
    file.extend(leaf);
    // https://sqlite.org/fileformat2.html, "B-tree Pages": an interior page of a table, each cell a child and a row.
    let interior = |child: u32| {
        let mut page = vec![0; size];
        let cells = 256_u16;
        let content = size - usize::from(cells) * 5;
        page[0] = 0x05;
        page[3..5].copy_from_slice(&cells.to_be_bytes());
        page[5..7].copy_from_slice(&(content as u16).to_be_bytes());
        page[8..12].copy_from_slice(&child.to_be_bytes());
        for cell in 0..usize::from(cells) {
            let place = content + cell * 5;
            page[12 + cell * 2..14 + cell * 2].copy_from_slice(&(place as u16).to_be_bytes());
            page[place..place + 4].copy_from_slice(&child.to_be_bytes());
            page[place + 4] = 1;
        }
        page
    };
    for _ in 0..3 {
        file.extend(interior(child));
        child += 1;
    }
    let top = interior(child);
    let begin = at(root);
    file[begin..begin + size].copy_from_slice(&top);
    // The size of the file in its head.
    file[28..32].copy_from_slice(&child.to_be_bytes());
    fs::write(path, file).expect("it is ours");
}

#[test]
fn pages_that_lead_in_circles_end() {
    let (_place, path, connection) = stranger(4);
    lead_in_circles(&path, connection, "cell");
    let ledger = Ledger::read(&path).expect("its schema is ours");
    for error in [ledger.cells().err(), ledger.counts().err(), ledger.reasons().err(), ledger.cell_s().err()] {
        let error = error.expect("it has more rows than bytes").to_string();
        assert!(error.contains("stranger.sqlite: expected tables that fit into "), "{error}");
    }
}

#[test]
fn one_text_that_is_lent_to_many_rows_does_not_fill_the_memory() {
    let (_place, path, connection) = stranger(4);
    connection.execute("UPDATE cell SET workload = ?1", ["x".repeat(700)]).expect("it takes it");
    lead_in_circles(&path, connection, "cell");
    let ledger = Ledger::read(&path).expect("its schema is ours");
    assert!(matches!(ledger.cells(), Err(LedgerError::Endless { .. })));
}

#[test]
fn a_journal_that_names_another_file_is_not_followed() {
    let (place, path, connection) = stranger(1);
    drop(connection);
    let victim = place.path().join("victim");
    fs::write(&victim, "precious").expect("the directory is writable");
    // What SQLite leaves when a change to several files is cut short: one page as it was, and the file that names all.
    let name = fs::canonicalize(&victim).expect("it is there");
    let name = name.to_str().expect("it is text").as_bytes();
    let page = fs::read(&path).expect("it is ours")[..4096].to_vec();
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let pages = fs::metadata(&path).expect("it is ours").len() as u32 / 4096;
    for number in [1, 0, pages, 512, 4096] {
        journal.extend(u32::to_be_bytes(number));
    }
    journal.resize(512, 0);
    journal.extend(1_u32.to_be_bytes());
    journal.extend(&page);
    let sum = (1..=20).map(|step| u32::from(page[4096 - 200 * step])).sum::<u32>();
    journal.extend(sum.to_be_bytes());
    journal.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    journal.extend(name);
    journal.extend((name.len() as u32).to_be_bytes());
    journal.extend(name.iter().map(|&byte| i32::from(byte.cast_signed())).sum::<i32>().to_be_bytes());
    journal.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    let beside = path.with_file_name("stranger.sqlite-journal");
    fs::write(&beside, journal).expect("the directory is writable");
    let error = refused(&path);
    assert_eq!(fs::read(&victim).ok().as_deref(), Some(&b"precious"[..]), "{error}");
    assert!(
        error.ends_with("-journal: expected a ledger of format 1, found the journal of a change to several files"),
        "{error}"
    );
}
