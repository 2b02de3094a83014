//! Servers that turn against their recorder (`subjects/calls/hostile.c`), and names that others put in its way.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::sandbox::{Made, Sandbox};

#[test]
fn a_server_cannot_make_the_shared_memory_shorter() {
    let place = Sandbox::new();
    let answer = place.prony(&["record", "-o", "x.demo", "--", &place.compiled("hostile.c"), "truncate"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stderr.contains("Operation not permitted"), "{answer:?}");
    let replayed = place.prony(&["replay", "x.demo"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
}

#[test]
fn what_was_recorded_before_a_server_wrote_nonsense_stays() {
    for number in ["0xffffffff", "0x7fffffff", "0x00000002", "0x80000000", "0xa5a5a5a5"] {
        let place = Sandbox::new();
        let answer = place.prony(&["record", "-o", "x.demo", "--", &place.compiled("hostile.c"), "fill", number]);
        assert_eq!(answer.code, Some(2), "{number}: {answer:?}");
        assert!(answer.stderr.contains("of the shared memory"), "{number}: {answer:?}");
        assert!(answer.stderr.contains("x.demo.partial"), "{number}: {answer:?}");
        let frames = place.prony(&["demo", "dump", "x.demo.partial", "--call", "send"]);
        // More than a ring holds was sent, so the reader has had some of it.
        assert!(frames.stdout.lines().count() > 1000, "{number}: {:?} {}", frames.code, frames.stderr);
    }
}

/// A process that must not be ended.
struct Victim(Child);

impl Victim {
    fn new() -> Victim {
        let mut sleeps = Command::new("sleep");
        sleeps.arg("1000").stdout(Stdio::null()).stderr(Stdio::null());
        Victim(sleeps.spawn().expect("coreutils are installed"))
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("it is our child").is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn no_process_is_killed_because_the_shared_memory_names_it() {
    let place = Sandbox::new();
    let server = place.compiled("hostile.c");
    let recorded = place.prony(&["record", "-o", "x.demo", "--", &server, "truncate"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    let mut victim = Victim::new();
    let replayed = place.prony(&["replay", "x.demo", "--", &server, "fill", &victim.0.id().to_string()]);
    assert_eq!(replayed.code, Some(1), "{replayed:?}");
    assert!(victim.lives(), "killed");
    let recorded = place.prony(&["record", "-o", "y.demo", "--", &server, "fill", &victim.0.id().to_string()]);
    assert_eq!(recorded.code, Some(2), "{recorded:?}");
    assert!(victim.lives(), "killed");
}

#[test]
fn a_recording_is_written_to_no_file_that_is_there() {
    let place = Sandbox::new();
    let (mine, partial) = (place.file("mine"), place.file("x.demo.partial"));
    fs::write(&mine, b"mine").expect("writable");
    std::os::unix::fs::symlink(&mine, &partial).expect("writable");
    let refused = place.prony(&["record", "-o", "x.demo", "--", "/bin/true"]);
    assert_eq!((refused.code, fs::read(&mine).expect("there")), (Some(2), b"mine".to_vec()), "{refused:?}");
    assert!(
        refused.stderr.contains("x.demo.partial: file exists") && refused.stderr.contains("--force"),
        "{refused:?}"
    );
    place.prony(&["record", "-o", "x.demo", "--force", "--", "/bin/true"]);
    assert_eq!(fs::read(&mine).expect("there"), b"mine");
    assert!(place.file("x.demo").exists() && !partial.exists());
    // An empty demo has nothing to replay, but it is one.
    place.demo(&Made::default());
}
