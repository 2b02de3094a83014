//! Where state is restored: for its owner only, without privileges that were not requested, and not for long.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use crate::sandbox::{Made, Sandbox, archive, top};

/// A replay with state whose build runs: it has written to `up`, and waits for `go`.
struct WaitingReplay {
    place: Sandbox,
    replay: Child,
}

/// The directory that the state is mounted over lies below two that are not there.
const STATE: &str = "srv/game/state";

fn own_user() -> u32 {
    fs::metadata("/proc/self").expect("mounted").uid()
}

impl WaitingReplay {
    fn start() -> WaitingReplay {
        let place = Sandbox::new();
        let (up, go) = (place.pipe("up"), place.pipe("go"));
        let members = [top(), (b'5', OsStr::new("closed"), 0, &b""[..]), (b'0', OsStr::new("file"), 0o644, b"state")];
        place.demo(&Made { state: &[(place.file(STATE), archive(&members))], ..Made::default() });
        let server = place.compiled("state.c");
        let file = place.file(STATE).join("file");
        let mut command = place.command(&["replay", "x.demo", "--trust-demo", "--watchdog", "1h", "--", &server]);
        command.arg(&file).arg(own_user().to_string()).args([&up, &go]);
        let replay = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command is built");
        let mut said = String::new();
        BufReader::new(File::open(up).expect("a pipe")).read_line(&mut said).expect("readable");
        assert_eq!(said, "state", "the build sees what was restored");
        WaitingReplay { place, replay }
    }

    fn kill(&mut self, signal: &str) -> std::process::ExitStatus {
        let pid = self.replay.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("procps or a shell").success());
        self.replay.wait().expect("it is our child")
    }
}

#[test]
fn state_is_private_and_gone_after_every_termination_signal() {
    for signal in ["TERM", "HUP", "INT"] {
        let mut waiting = WaitingReplay::start();
        let left = waiting.place.left();
        let [scratch] = left.as_slice() else { panic!("{left:?}") };
        assert_eq!(fs::metadata(scratch).expect("there").mode() & 0o7777, 0o700, "{}", scratch.display());
        let ended = waiting.kill(signal);
        assert_eq!((ended.code(), ended.signal()), (Some(2), None), "{signal}");
        assert!(waiting.place.left().is_empty(), "{signal}: {:?}", waiting.place.left());
        assert!(!waiting.place.file("srv").exists(), "{signal}: what was made to mount over");
    }
}

#[test]
fn what_a_killed_replay_leaves_the_next_one_removes() {
    let mut waiting = WaitingReplay::start();
    assert_eq!(waiting.kill("KILL").signal(), Some(9));
    let place = &waiting.place;
    assert!(place.left().len() == 1 && place.file(STATE).exists(), "nothing could remove it");
    let alive = WaitingReplay::start();
    let elsewhere = alive.place.left();
    // Another one that still runs in the same temporary directory keeps its own.
    fs::rename(&place.left()[0], alive.place.file("tmp").join("prony-state-stale")).expect("ours");
    alive.place.demo(&Made::default());
    alive.place.prony(&["replay", "x.demo", "--trust-demo", "--", "/bin/true"]);
    assert_eq!(alive.place.left(), elsewhere);
    assert!(!place.file("srv").exists());
    let mut alive = alive;
    alive.kill("TERM");
    assert!(alive.place.left().is_empty());
}

#[test]
fn set_user_id_files_come_back_as_plain_ones_unless_requested() {
    let place = Sandbox::new();
    let state = place.file("state");
    let members = [top(), (b'0', OsStr::new("tool"), 0o4755, &b"#!/bin/sh\n"[..])];
    place.demo(&Made { state: &[(state.clone(), archive(&members))], ..Made::default() });
    let tool = state.join("tool");
    let show = ["--show-output", "--", "/usr/bin/stat", "-c", "mode %a", tool.to_str().expect("text")];
    let plain = place.prony(&[&["replay", "x.demo", "--trust-demo"][..], &show].concat());
    assert!(plain.stdout.contains("mode 755\n"), "{plain:?}");
    assert!(plain.stderr.contains("1 set-user-id or set-group-id file"), "{plain:?}");
    let restored = place.prony(&[&["replay", "x.demo", "--trust-demo", "--restore-set-ids"][..], &show].concat());
    assert!(restored.stdout.contains("mode 4755\n") && !restored.stderr.contains("set-user-id"), "{restored:?}");
}

#[test]
fn a_server_that_gave_root_up_reaches_its_state() {
    assert!(own_user() == 0, "run as root: only root can become another user");
    let place = Sandbox::new();
    // The temporary directory is this user's own; what lies above the state has to let others through.
    fs::set_permissions(place.file("."), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let state = place.file("state");
    let members = [top(), (b'0', OsStr::new("file"), 0o644, &b"state"[..])];
    place.demo(&Made { state: &[(state.clone(), archive(&members))], ..Made::default() });
    let file = state.join("file");
    let file = file.to_str().expect("text");
    let server = place.compiled("state.c");
    let answer = place.prony(&["replay", "x.demo", "--trust-demo", "--show-output", "--", &server, file, "65534"]);
    assert!(answer.stdout.starts_with("state"), "{answer:?}");
}
