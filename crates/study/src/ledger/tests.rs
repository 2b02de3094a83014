use std::path::PathBuf;

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
fn a_value_between_failures_begins_the_row_anew() {
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
