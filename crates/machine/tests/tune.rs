//! Tuning and restoring directories that imitate machines: not a byte may stay changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use prony_machine::{
    Applied, Back, Knob, Options, Outcome, Restoring, Tree, TuneError, UndoError, frequencies, restore, tune, tuned,
    undo_path,
};
use prony_testing::trees;
use tempfile::TempDir;

const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
const STAT_INTERVAL: &str = "/proc/sys/vm/stat_interval";

fn machine(files: &str) -> (TempDir, Tree) {
    let directory = tempfile::tempdir().expect("a scratch directory");
    trees::unpack(files, directory.path());
    let tree = Tree::at(directory.path());
    (directory, tree)
}

/// Every file but those of prony itself.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(&next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && path != directory.join("run") {
                todo.push(path);
            } else if path.is_file() {
                found.insert(path.to_string_lossy().into_owned(), fs::read_to_string(&path).expect("text"));
            }
        }
    }
    found
}

fn options(cpus: &str) -> Options {
    Options { cpus: cpus.parse().expect("a list"), skip: Vec::new(), frequency_khz: None }
}

fn never() -> AtomicBool {
    AtomicBool::new(false)
}

fn applied(restoring: Restoring) -> BTreeMap<String, Back> {
    let Restoring::Applied(restored) = restoring else { panic!("expected an undo file, found {restoring:?}") };
    restored.into_iter().map(|restored| (restored.place, restored.back)).collect()
}

#[test]
fn a_machine_is_quiet_and_then_as_before() {
    for (name, text, cpus) in [("intel", trees::INTEL, "3"), ("amd", trees::AMD, "1"), ("virtual", trees::VIRTUAL, "1")]
    {
        let (directory, tree) = machine(text);
        let before = files(directory.path());
        let tuning = tune(&tree, &options(cpus), &never()).expect(name);
        let unlike: Vec<&Outcome> = tuning
            .outcomes
            .iter()
            .filter(|outcome| !matches!(outcome.result, Applied::Yes | Applied::Already))
            .collect();
        assert_eq!(unlike, Vec::<&Outcome>::new(), "{name}");
        assert_ne!(files(directory.path()), before, "{name}");
        assert!(prony_machine::facts(&tree).tuned, "{name}");
        let restoring = tuning.restore().expect(name);
        assert_eq!(restoring.left().collect::<Vec<_>>(), Vec::<&prony_machine::Restored>::new(), "{name}");
        assert_eq!(files(directory.path()), before, "{name}");
        assert!(!undo_path(&tree).exists(), "{name}");
    }
}

#[test]
fn a_machine_stays_quiet_until_restore() {
    let (directory, tree) = machine(trees::INTEL);
    let before = files(directory.path());
    tune(&tree, &options("3"), &never()).expect("tuned").keep().expect("kept");
    assert_eq!(tree.line(GOVERNOR).as_deref(), Some("performance"));
    assert_eq!(tree.line("/proc/irq/0/smp_affinity_list").as_deref(), Some("0,2"));
    assert_eq!(tree.line("/sys/fs/cgroup/prony/cpuset.cpus.partition").as_deref(), Some("isolated"));
    assert_eq!(tree.read("/proc/812/stat").expect("a process").split_whitespace().nth(2), Some("T"));
    let backs = applied(restore(&tree).expect("restored"));
    assert!(backs.values().all(|back| matches!(back, Back::Put | Back::Same)), "{backs:?}");
    assert_eq!(files(directory.path()), before);
    assert_eq!(restore(&tree).expect("restored"), Restoring::Nothing);
}

#[test]
fn samples_can_tell_what_is_tuned() {
    let (_directory, tree) = machine(trees::VIRTUAL);
    assert_eq!(tuned(&tree), []);
    tune(&tree, &options("1"), &never()).expect("tuned").keep().expect("kept");
    assert!(tuned(&tree).contains(&Knob::VmStat), "{:?}", tuned(&tree));
    restore(&tree).expect("restored");
    assert_eq!(tuned(&tree), []);
}

#[test]
fn a_dropped_tuning_is_undone() {
    let (directory, tree) = machine(trees::AMD);
    let before = files(directory.path());
    drop(tune(&tree, &options("1"), &never()).expect("tuned"));
    assert_eq!(files(directory.path()), before);
}

#[test]
fn a_signal_between_two_values_undoes_all() {
    let (directory, tree) = machine(trees::INTEL);
    let before = files(directory.path());
    let error = tune(&tree, &options("3"), &AtomicBool::new(true)).expect_err("it was told to stop");
    assert!(matches!(error, TuneError::Interrupted), "{error}");
    assert_eq!(files(directory.path()), before);
}

#[test]
fn what_another_process_changed_meanwhile_is_left_and_reported() {
    let (directory, tree) = machine(trees::VIRTUAL);
    let mut before = files(directory.path());
    tune(&tree, &options("1"), &never()).expect("tuned").keep().expect("kept");
    fs::write(tree.place(STAT_INTERVAL), "7\n").expect("written");
    let Restoring::Applied(restored) = restore(&tree).expect("restored") else { panic!("there is an undo file") };
    let foreign: Vec<_> = restored.iter().filter(|restored| restored.back == Back::Foreign).collect();
    assert_eq!(foreign.len(), 1);
    let [before_tune, tuned, now] = [&foreign[0].before, &foreign[0].tuned, &foreign[0].now].map(String::as_str);
    assert_eq!((foreign[0].place.as_str(), before_tune, tuned, now), (STAT_INTERVAL, "1", "120", "7"));
    before.insert(tree.place(STAT_INTERVAL).to_string_lossy().into_owned(), "7\n".to_owned());
    assert_eq!(files(directory.path()), before);
    assert!(!undo_path(&tree).exists());
}

#[test]
fn what_cannot_be_put_back_stays_in_the_undo_file() {
    let (directory, tree) = machine(trees::AMD);
    let before = files(directory.path());
    tune(&tree, &options("1"), &never()).expect("tuned").keep().expect("kept");
    let known = tree.place("/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors");
    fs::write(&known, "performance\n").expect("written");
    let backs = applied(restore(&tree).expect("restored"));
    let failed: Vec<_> = backs.iter().filter(|(_, back)| matches!(back, Back::Failed(_))).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(undo_path(&tree).exists());
    fs::write(&known, before[&known.to_string_lossy().into_owned()].as_str()).expect("written");
    assert_eq!(applied(restore(&tree).expect("restored")), BTreeMap::from([(GOVERNOR.to_owned(), Back::Put)]));
    assert_eq!(files(directory.path()), before);
}

#[test]
fn values_of_an_earlier_boot_are_not_applied() {
    let (directory, tree) = machine(trees::VIRTUAL);
    tune(&tree, &options("1"), &never()).expect("tuned").keep().expect("kept");
    // A reboot: other number, values as the kernel sets them.
    trees::unpack(trees::VIRTUAL, directory.path());
    fs::write(tree.place("/proc/sys/kernel/random/boot_id"), "other\n").expect("written");
    fs::write(tree.place(STAT_INTERVAL), "120\n").expect("written");
    assert_eq!(restore(&tree).expect("restored"), Restoring::EarlierBoot);
    assert_eq!(tree.line(STAT_INTERVAL).as_deref(), Some("120"));
    assert!(!undo_path(&tree).exists());
}

#[test]
fn one_process_at_a_time_tunes() {
    let (_directory, tree) = machine(trees::VIRTUAL);
    let tuning = tune(&tree, &options("1"), &never()).expect("tuned");
    let error = tune(&tree, &options("1"), &never()).expect_err("it is tuned already");
    assert!(matches!(&error, TuneError::Undo(UndoError::Busy { pid }) if *pid == Some(std::process::id())), "{error}");
    drop(tuning);
    assert_eq!(restore(&tree).expect("nobody tunes now"), Restoring::Nothing);
}

#[test]
fn the_next_run_finishes_an_earlier_one_first() {
    let (directory, tree) = machine(trees::INTEL);
    let before = files(directory.path());
    tune(&tree, &options("3"), &never()).expect("tuned").keep().expect("kept");
    let tuning = tune(&tree, &options("2"), &never()).expect("tuned again");
    assert!(matches!(tuning.earlier, Some(Restoring::Applied(_))));
    drop(tuning);
    assert_eq!(files(directory.path()), before);
}

#[test]
fn an_undo_file_that_is_none_is_never_believed() {
    let (directory, tree) = machine(trees::VIRTUAL);
    drop(tune(&tree, &options("1"), &never()).expect("tuned"));
    let before = files(directory.path());
    let head = r#""version":1,"boot_id":"dce5840f-a561-4db3-91f3-af5ce848b55d","kept":true,"affinities":[]"#;
    let outside = r#"[{"knob":"vm-stat","stage":"done","kind":"file","path":"/proc/../etc/passwd","before":"x","asked":"y","found":null,"settled":null}]"#;
    for (text, expected) in [
        ("", "EOF while parsing"),
        ("{\"version\":2}", "expected version 1 of an undo file, found 2"),
        (&format!("{{{head}}}"), "missing field `changes`"),
        (&format!("{{{head},\"changes\":{outside}}}"), "the path `/proc/../etc/passwd`"),
    ] {
        fs::write(undo_path(&tree), text).expect("written");
        let error = restore(&tree).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(files(directory.path()), before);
    }
}

#[test]
fn what_is_skipped_is_not_touched() {
    let (_directory, tree) = machine(trees::INTEL);
    let skip = vec![Knob::Governor, Knob::Shield];
    let tuning = tune(&tree, &Options { skip, ..options("3") }, &never()).expect("tuned");
    assert!(tuning.shield.is_none());
    assert_eq!(tree.line(GOVERNOR).as_deref(), Some("powersave"));
    assert!(tuning.outcomes.iter().all(|outcome| outcome.knob != Knob::Governor));
}

#[test]
fn a_requested_frequency_is_that_of_all_cpus_until_it_is_given_back() {
    let (directory, tree) = machine(trees::INTEL);
    let before = files(directory.path());
    let (low, high) = frequencies(&tree).expect("this machine has cpufreq");
    assert_eq!((low, high), (400_000, 3_900_000));
    let tuning = tune(&tree, &Options { frequency_khz: Some(1_600_000), ..options("3") }, &never()).expect("tuned");
    for policy in 0..4 {
        for limit in ["min", "max"] {
            let path = format!("/sys/devices/system/cpu/cpufreq/policy{policy}/scaling_{limit}_freq");
            assert_eq!(tree.line(&path).as_deref(), Some("1600000"), "{path}");
        }
    }
    tuning.restore().expect("restored");
    assert_eq!(files(directory.path()), before);
    assert_eq!(frequencies(&machine(trees::VIRTUAL).1), None);
}

#[test]
fn a_shield_of_several_cpus_is_balanced_unless_they_are_isolated_at_boot() {
    for (isolated, expected) in [("\n", "root"), ("2-3\n", "isolated")] {
        let (directory, tree) = machine(trees::INTEL);
        fs::write(directory.path().join("sys/devices/system/cpu/isolated"), isolated).expect("it is there");
        let tuning = tune(&tree, &options("2-3"), &never()).expect("nothing is in the way");
        assert!(tuning.shield.as_ref().is_some_and(|shield| shield.raised && shield.problem.is_none()), "{isolated}");
        assert_eq!(tree.line("/sys/fs/cgroup/prony/cpuset.cpus.partition").as_deref(), Some(expected));
        tuning.restore().expect("the undo file can be removed");
    }
}
