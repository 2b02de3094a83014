//! What a demo names or holds is opened, read and laid out before anything runs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use prony_demo::{FileEntry, FileRole, ObjectEntry};

use crate::sandbox::{Made, Sandbox, archive, bytes, top};

const BUILD: &[&str] = &["replay", "x.demo", "--trust-demo", "--", "/bin/true"];

#[test]
fn a_pipe_among_the_files_blocks_nothing() {
    let place = Sandbox::new();
    let path = bytes(&place.pipe("pipe"));
    place.demo(&Made { files: &[FileEntry { path, role: FileRole::Read, ..FileEntry::default() }], ..Made::default() });
    let answer = place.prony(BUILD);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("not a regular file"), "{answer:?}");
}

#[test]
fn a_pipe_among_the_objects_blocks_nothing() {
    let place = Sandbox::new();
    let path = bytes(&place.pipe("pipe"));
    place.demo(&Made { objects: &[ObjectEntry { path, build_id: vec![1; 20] }], ..Made::default() });
    let answer = place.prony(BUILD);
    assert!(answer.stderr.contains("differs from the recorded library"), "{answer:?}");
}

#[test]
fn a_script_whose_interpreter_is_a_pipe_blocks_nothing() {
    let place = Sandbox::new();
    let pipe = place.pipe("pipe");
    place.demo(&Made::default());
    fs::write(place.file("script"), [b"#!", pipe.as_os_str().as_bytes(), b"\n"].concat()).expect("writable");
    let answer = place.prony(&["replay", "x.demo", "--", "./script"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.stderr.contains("expected a regular file"), "{answer:?}");
}

#[test]
fn archives_reach_nothing_outside_of_their_directory() {
    let place = Sandbox::new();
    let victim = place.file("victim");
    fs::create_dir(&victim).expect("writable");
    let file = victim.join("file");
    let climbing = format!("../../../../../../../..{}", file.display());
    let (link, through) = (OsStr::new("link"), OsStr::new("link/file"));
    let archives = [
        archive(&[top(), (b'0', file.as_os_str(), 0o644, b"theirs")]),
        archive(&[top(), (b'0', OsStr::new(&climbing), 0o644, b"theirs")]),
        archive(&[top(), (b'2', link, 0o777, victim.as_os_str().as_bytes()), (b'0', through, 0o644, b"theirs")]),
        archive(&[top(), (b'2', link, 0o777, file.as_os_str().as_bytes()), (b'0', link, 0o644, b"theirs")]),
        archive(&[top(), (b'2', link, 0o777, victim.as_os_str().as_bytes()), (b'5', link, 0o777, b"")]),
        archive(&[top(), (b'1', link, 0o644, b"")]),
        archive(&[top(), (b'3', link, 0o644, b"")]),
    ];
    for (number, archive) in archives.into_iter().enumerate() {
        fs::write(&file, b"mine").expect("writable");
        let before = fs::metadata(&file).expect("there");
        place.demo(&Made { state: &[(place.file("state"), archive)], ..Made::default() });
        let answer = place.prony(BUILD);
        let after = fs::metadata(&file).expect("there");
        assert_eq!((answer.code, fs::read(&file).expect("there")), (Some(2), b"mine".to_vec()), "{number}: {answer:?}");
        let data = |of: &fs::Metadata| (of.mode(), of.mtime(), of.mtime_nsec(), of.ino());
        assert_eq!(data(&after), data(&before), "{number}: {answer:?}");
        assert_eq!(fs::read_dir(&victim).expect("there").count(), 1, "{number}");
        assert!(place.left().is_empty() && !place.file("state").exists(), "{number}: {:?}", place.left());
    }
}

#[test]
fn a_directory_of_state_has_an_absolute_name() {
    for name in ["state", "/tmp/../state", ""] {
        let place = Sandbox::new();
        place.demo(&Made { state: &[(name.into(), archive(&[top()]))], ..Made::default() });
        let answer = place.prony(BUILD);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        assert!(answer.stderr.contains("expected an absolute path"), "{answer:?}");
    }
}

#[test]
fn state_beyond_the_limit_is_refused_before_anything_is_laid_out() {
    let place = Sandbox::new();
    let state = [(place.file("state"), archive(&[top(), (b'0', OsStr::new("zeros"), 0o644, &[0; 2 << 20])]))];
    place.demo(&Made { state: &state, ..Made::default() });
    let refused = place.prony(&["replay", "x.demo", "--trust-demo", "--max-state", "1MiB", "--", "/bin/true"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("expected at most 1048576 bytes, found 2"), "{refused:?}");
    assert!(refused.stderr.contains("--max-state"), "{refused:?}");
    let allowed = place.prony(&["replay", "x.demo", "--trust-demo", "--max-state", "4MiB", "--", "/bin/true"]);
    assert_ne!(allowed.code, Some(2), "{allowed:?}");

    let many: Vec<_> = (0..2100).map(|number| format!("empty-{number}")).collect();
    let many: Vec<_> = many.iter().map(|name| (b'0', OsStr::new(name), 0o644, &b""[..])).collect();
    place.demo(&Made { state: &[(place.file("state"), archive(&many))], ..Made::default() });
    let refused = place.prony(&["replay", "x.demo", "--trust-demo", "--max-state", "4MiB", "--", "/bin/true"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("expected at most 4096 entries"), "{refused:?}");
    assert!(place.left().is_empty());
}

#[test]
fn a_record_beyond_the_limit_is_refused() {
    let place = Sandbox::new();
    place.demo(&Made { received: &[0; 2 << 20], ..Made::default() });
    let refused = place.prony(&["replay", "x.demo", "--max-memory", "1MiB", "--", "/bin/true"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("expected at most 1048576 bytes, found 4194304"), "{refused:?}");
    assert!(refused.stderr.contains("--max-memory"), "{refused:?}");
    let allowed = place.prony(&["replay", "x.demo", "--max-memory", "4MiB", "--", "/bin/true"]);
    assert_ne!(allowed.code, Some(2), "{allowed:?}");
}
