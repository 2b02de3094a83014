//! A demo on another machine: the files that its server read are in it, and nothing else of the recording is needed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::calls::compiled;
use crate::failures::{ANSWERS, ask, quit};
use prony_testing::prony;
use prony_testing::recording::{Replay, Server, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, run};

/// A recording that was made in a directory of its own.
struct Travelled {
    /// Where the demo and the program are.
    here: Scratch,
    /// Where it was recorded, and what the server read there.
    away: Scratch,
    demo: PathBuf,
}

/// The server's file, from its working directory on.
const NAMES: &str = "conf/names";

fn travelled(name: &str, mode: u32, flags: &[&str]) -> Travelled {
    let (here, away) = (Scratch::new(name), Scratch::new(&format!("{name}-away")));
    let address = free_address();
    let names = away.write(NAMES, "answer of alice\n");
    fs::set_permissions(&names, fs::Permissions::from_mode(mode)).expect("it is ours");
    let command = [compiled(&here, "answers.c", &[]), address.port().to_string(), format!("./{NAMES}")];
    let (_, demo) = record_with(&away, &Server::new(command), flags, |stop| {
        assert!(ask(address, ANSWERS, stop), "the server answers");
        quit(address);
    });
    let kept = here.path().join("kept.demo");
    fs::rename(&demo, &kept).expect("both are temporary directories");
    Travelled { here, away, demo: kept }
}

impl Travelled {
    fn replay(&self, flags: &[&str]) -> Replay {
        replay(&self.here, &self.demo, flags, &[])
    }

    fn names(&self) -> PathBuf {
        self.away.path().join(NAMES)
    }

    /// What `prony demo info` says of the files of the server.
    fn info(&self) -> Value {
        let answer = run(prony().args(["demo", "info", "--json"]).arg(&self.demo));
        serde_json::from_str(&answer).expect("it is JSON")
    }

    fn forget(&self) {
        fs::remove_dir_all(self.away.path()).expect("it is ours");
    }
}

/// Whether everything of this path is gone, its directory in the temporary one, too.
fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err()
}

#[test]
fn a_demo_replays_where_nothing_of_its_recording_is_left() {
    let _turn = Turn::take();
    let story = travelled("travel", 0o644, &[]);
    let info = story.info();
    assert_eq!(info["self_contained"], true, "{info}");
    let before = story.replay(&[]);
    before.assert_identical();
    assert_eq!(before.number("files_laid_over"), 0, "all is here as it was: {before}");
    story.forget();
    for _ in 0..2 {
        let after = story.replay(&["--repeat", "2"]);
        after.assert_identical();
        assert_eq!(after.number("files_laid_over"), 1, "{after}");
        assert!(is_gone(story.away.path()), "the build alone sees it");
    }
}

#[test]
fn the_files_of_the_recording_are_used_unless_those_here_are_wanted() {
    let _turn = Turn::take();
    let story = travelled("changed", 0o644, &[]);
    fs::write(story.names(), "other of alice.\n").expect("it is ours");
    let other = fs::metadata(story.names()).and_then(|data| data.modified()).expect("it is there");
    let recorded = story.replay(&[]);
    recorded.assert_identical();
    assert_eq!(recorded.number("files_laid_over"), 1, "{recorded}");
    let here = story.replay(&["--files-here"]);
    assert_eq!(here.answer["divergence"]["class"], "output", "{here}");
    assert_eq!(fs::read(story.names()).expect("it is there"), b"other of alice.\n");
    assert_eq!(fs::metadata(story.names()).and_then(|data| data.modified()).expect("it is there"), other);
    // The same content, changed at another time.
    fs::write(story.names(), "answer of alice\n").expect("it is ours");
    assert_eq!(story.replay(&[]).number("files_laid_over"), 1);
}

#[test]
fn what_is_packed_is_bounded_and_what_is_private_is_packed_on_request() {
    let _turn = Turn::take();
    for (mode, flags, is_whole) in [(0o600, &["--pack-private"][..], true), (0o644, &["--pack-all", "1B"], false)] {
        let info = travelled("packed", mode, flags).info();
        assert_eq!(info["self_contained"], is_whole, "{flags:?}: {info}");
    }
}

#[test]
fn what_is_not_readable_by_all_is_packed_only_on_request() {
    let _turn = Turn::take();
    let story = travelled("private", 0o600, &[]);
    let info = story.info();
    assert_eq!(info["self_contained"], false, "{info}");
    // Under another name elsewhere, and beside it one that only has its size.
    let assets = story.here.directory("assets/deep");
    fs::copy(story.names(), Path::new(&assets).join("renamed")).expect("writable");
    fs::write(Path::new(&assets).join("a"), "answer of carol\n").expect("writable");
    story.forget();
    let missing = story.replay(&[]);
    assert_eq!(missing.answer["divergence"]["class"], "missing_file", "{missing}");
    let assets = story.here.arg("assets");
    let found = story.replay(&["--assets", &assets]);
    found.assert_identical();
    assert_eq!(found.number("files_laid_over"), 1, "{found}");

    let whole = story.here.arg("whole.demo");
    let pack = |flags: &[&str]| {
        let mut pack = prony();
        pack.args(["demo", "pack", "--force", "--json", "-o", &whole]).arg(&story.demo).args(flags);
        let output = pack.output().expect("prony starts");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        (output.status.code(), answer["packed"]["left_out"][0]["why"].clone())
    };
    assert_eq!(pack(&[]), (Some(1), "not-found".into()));
    assert_eq!(pack(&["--assets", &assets]), (Some(1), "private".into()));
    assert_eq!(pack(&["--assets", &assets, "--private"]), (Some(0), Value::Null));
    replay(&story.here, whole.as_ref(), &[], &[]).assert_identical();
    // What a demo has stays in it.
    let again = story.here.arg("again.demo");
    run(prony().args(["demo", "pack", "-o", &again, &whole, "--private"]));
    replay(&story.here, again.as_ref(), &[], &[]).assert_identical();
}

#[test]
fn the_files_of_a_stranger_are_not_used_for_a_build_of_ones_own() {
    let _turn = Turn::take();
    let story = travelled("stranger", 0o644, &[]);
    story.forget();
    let port = story.info()["argv"][1].as_str().expect("a port").to_owned();
    let build = [compiled(&story.here, "answers.c", &[]), port, format!("./{NAMES}")];
    let with = |flags: &[&str]| {
        let mut command = prony();
        command.env("XDG_STATE_HOME", story.here.arg("nobody-recorded-anything"));
        command.args(["replay", "--json"]).args(flags).arg(&story.demo).arg("--").args(&build);
        command.output().expect("prony starts")
    };
    let refused = with(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("hint: the demo contains the file: use --trust-demo"), "{said}");
    assert_eq!(with(&["--trust-demo"]).status.code(), Some(0));
}

#[test]
fn an_anonymized_demo_has_other_words_in_its_files_too() {
    let _turn = Turn::take();
    let story = travelled("words", 0o644, &[]);
    story.forget();
    let public = story.here.arg("public.demo");
    run(prony().args(["demo", "anonymize", "--replace", "alice=carol", "-o", &public]).arg(&story.demo));
    replay(&story.here, public.as_ref(), &[], &[]).assert_identical();
}

#[test]
fn a_person_without_root_gets_the_files_too() {
    const UNPRIVILEGED: [&str; 4] = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let _turn = Turn::take();
    let unprivileged = |program: &str| {
        let mut command = Command::new("setpriv");
        command.args(UNPRIVILEGED).arg(program);
        command
    };
    let has_namespaces = unprivileged("unshare").args(["--user", "--mount", "true"]).status();
    assert!(
        has_namespaces.is_ok_and(|status| status.success()),
        "run as root, on a kernel that gives people without root namespaces"
    );
    let story = travelled("nobody", 0o644, &[]);
    story.forget();
    std::os::unix::fs::chown(&story.demo, Some(65534), Some(65534)).expect("run as root, as above");
    // Not every directory that leads to the command is open to everybody.
    let command = story.here.arg("prony");
    fs::copy(prony_testing::program(), &command).expect("the temporary directory is writable");
    let output = unprivileged(&command)
        .args(["replay", "--trust-demo", "--json"])
        .arg(&story.demo)
        .env("HOME", "/nonexistent")
        .current_dir("/")
        .output()
        .expect("setpriv starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!((&answer["verdict"], &answer["files_laid_over"]), (&"identical".into(), &1.into()), "{answer}");
}
