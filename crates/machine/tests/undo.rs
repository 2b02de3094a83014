//! What lies where the undo file should and is none of ours: it is neither waited for nor believed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use prony_machine::{Restoring, Tree, UndoError, facts, restore, tuned, undo_path};
use prony_testing::trees;
use tempfile::TempDir;

const NOBODY: u32 = 65534;

/// An imitated machine, with the directory of its undo file.
fn machine() -> (TempDir, Tree) {
    let directory = tempfile::tempdir().expect("a scratch directory");
    trees::unpack(trees::VIRTUAL, directory.path());
    let tree = Tree::at(directory.path());
    let parent = undo_path(&tree).parent().expect("it is in a directory").to_owned();
    fs::create_dir_all(&parent).expect("a scratch directory takes it");
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).expect("it is ours");
    (directory, tree)
}

/// An undo file that says how one thing was.
fn undo(tree: &Tree, change: &str) -> String {
    let boot = fs::read_to_string(tree.place("/proc/sys/kernel/random/boot_id")).unwrap_or_default();
    format!(
        r#"{{"version": 1, "boot_id": "{}", "kept": true, "affinities": [], "changes": [{{"knob": "vm-stat", "stage": "done", {change}}}]}}"#,
        boot.trim()
    )
}

fn of_file(tree: &Tree, path: &str) -> String {
    let change = format!(
        r#""kind": "file", "path": "{path}", "before": "1\n", "asked": "120", "found": "120\n", "settled": "120\n""#
    );
    undo(tree, &change)
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("`mkfifo` of the package coreutils is there");
    assert!(made.success());
}

fn give_away(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).expect("run as root: only root gives a file to another user");
}

#[test]
fn a_pipe_in_its_place_is_not_waited_for() {
    let (_directory, tree) = machine();
    make_pipe(&undo_path(&tree));
    assert_eq!(tuned(&tree), []);
    assert!(!facts(&tree).tuned, "a pipe tells of no tuning");
    let error = restore(&tree).expect_err("it is no file").to_string();
    assert!(error.ends_with("machine.undo: expected a file, found a pipe"), "{error}");
}

#[test]
fn a_file_of_another_user_is_not_believed() {
    let (_directory, tree) = machine();
    let path = undo_path(&tree);
    fs::write(&path, of_file(&tree, "/proc/sys/vm/stat_interval")).expect("it is ours");
    assert!(facts(&tree).tuned, "our own tells of it");
    give_away(&path);
    assert!(!facts(&tree).tuned, "another user's tells nothing");
    assert_eq!(tuned(&tree), []);
    assert!(matches!(restore(&tree), Err(UndoError::NotOurs(_))));
}

#[test]
fn a_directory_of_another_user_or_open_to_others_is_not_used() {
    let (_directory, tree) = machine();
    let path = undo_path(&tree);
    let parent = path.parent().expect("it is in a directory");
    fs::write(&path, of_file(&tree, "/proc/sys/vm/stat_interval")).expect("it is ours");
    fs::set_permissions(parent, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let error = restore(&tree).expect_err("anybody may have written there").to_string();
    assert!(error.ends_with("run/prony: expected permissions 755 or fewer, found 777"), "{error}");
    assert_eq!(tuned(&tree), []);
    fs::set_permissions(parent, fs::Permissions::from_mode(0o755)).expect("it is ours");
    give_away(parent);
    let error = restore(&tree).expect_err("it is another user's").to_string();
    assert!(error.ends_with("run/prony: expected a directory of user 0, found one of user 65534"), "{error}");
    assert_eq!(tuned(&tree), []);
}

#[test]
fn a_link_is_not_followed() {
    let (directory, tree) = machine();
    let (path, elsewhere) = (undo_path(&tree), directory.path().join("elsewhere"));
    fs::write(&elsewhere, of_file(&tree, "/proc/sys/vm/stat_interval")).expect("a scratch directory takes it");
    symlink(&elsewhere, &path).expect("a scratch directory takes it");
    let error = restore(&tree).expect_err("it is a link").to_string();
    assert!(error.ends_with("machine.undo: expected a file, found a link"), "{error}");
    fs::remove_file(&path).expect("it is ours");
    let lock = path.with_file_name("machine.lock");
    fs::remove_file(&lock).expect("restoring took it");
    symlink(&elsewhere, &lock).expect("a scratch directory takes it");
    assert!(restore(&tree).is_err(), "the lock is a link");
    let text = fs::read_to_string(&elsewhere).expect("it is there");
    assert_eq!(text, of_file(&tree, "/proc/sys/vm/stat_interval"), "what a link leads to stays as it is");
}

#[test]
fn only_what_tune_writes_is_put_back() {
    let (directory, tree) = machine();
    let elsewhere = directory.path().join("etc");
    fs::create_dir(&elsewhere).expect("a scratch directory takes it");
    fs::write(elsewhere.join("passwd"), "120\n").expect("a scratch directory takes it");
    for path in [
        "/proc/self/root/etc/passwd",
        "/proc/1/root/etc/passwd",
        "/proc/thread-self/cwd/x",
        "/proc/self/fd/3",
        "/proc/sys/vm/../../../etc/passwd",
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/sys/kernel/../../etc/passwd",
        "/sys/power/state",
        "/sys/devices/system/cpu/cpu0/../cpu1/online",
        "/sys/devices/system/cpu/cpux/online",
        "/sys/devices/system/cpu//cpu1/online",
        "/etc/passwd",
    ] {
        fs::write(undo_path(&tree), of_file(&tree, path)).expect("it is ours");
        let error = restore(&tree).expect_err(path).to_string();
        assert!(error.ends_with(&format!("found the path `{path}`")), "{error}");
    }
    for group in ["/proc/self/root/tmp/prony", "/sys/fs/cgroup/system.slice", "/sys/kernel/debug"] {
        let change = format!(r#""kind": "group", "path": "{group}", "home": "/sys/fs/cgroup""#);
        fs::write(undo_path(&tree), undo(&tree, &change)).expect("it is ours");
        assert!(matches!(restore(&tree), Err(UndoError::Damaged { .. })), "{group}");
    }
    let change = r#""kind": "process", "pid": 1, "start_ticks": 1, "name": "init""#;
    fs::write(undo_path(&tree), undo(&tree, change)).expect("it is ours");
    assert!(matches!(restore(&tree), Err(UndoError::Damaged { .. })));
    fs::write(undo_path(&tree), of_file(&tree, "/proc/sys/vm/stat_interval")).expect("it is ours");
    assert!(matches!(restore(&tree), Ok(Restoring::Applied(_))));
}

#[test]
fn a_link_out_of_the_machine_is_not_written_through() {
    let (directory, tree) = machine();
    let victim = directory.path().join("victim");
    fs::write(&victim, "120\n").expect("a scratch directory takes it");
    let knob = tree.place("/proc/sys/vm/stat_interval");
    fs::remove_file(&knob).expect("it is ours");
    symlink(&victim, &knob).expect("a scratch directory takes it");
    fs::write(undo_path(&tree), of_file(&tree, "/proc/sys/vm/stat_interval")).expect("it is ours");
    assert!(matches!(restore(&tree), Err(UndoError::Damaged { .. })));
    assert_eq!(fs::read_to_string(&victim).expect("it is there"), "120\n");
}
