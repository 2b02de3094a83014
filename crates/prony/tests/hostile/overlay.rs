//! Where files of a demo may be seen instead of those here: nowhere without trust, and with it only below the directories of
//! the demo and those that the user names.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use prony_demo::{FileEntry, FileRole};

use crate::sandbox::{Made, Sandbox, archive, bytes, top};

/// Content of the file in the demo, and of the one that lies here.
const THEIRS: &[u8] = b"theirs\n";
const MINE: &[u8] = b"mine\n";

/// An entry of the file at `path` with the content of the demo.
fn entry(path: &Path, content: Option<u32>) -> FileEntry {
    FileEntry {
        path: bytes(path),
        size_bytes: THEIRS.len() as u64,
        hash: *blake3::hash(THEIRS).as_bytes(),
        role: FileRole::Read,
        content,
    }
}

/// What a build finds at `path` when a demo recorded in `cwd` brings that file, packed or found below `--assets`.
fn seen(place: &Sandbox, cwd: &Path, path: &Path, packed: bool, flags: &[&str]) -> String {
    let mut name = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => name.push(part),
            Component::ParentDir => assert!(name.pop()),
            _ => {}
        }
    }
    let archive = archive(&[(b'0', name.as_os_str(), 0o644, THEIRS)]);
    place.demo(&Made {
        files: &[entry(path, packed.then_some(0))],
        packed: if packed { &archive } else { &[] },
        cwd: Some(cwd),
        ..Made::default()
    });
    let assets = place.directory("assets");
    fs::write(Path::new(&assets).join("renamed"), THEIRS).expect("writable");
    let assets: &[&str] = if packed { &[] } else { &["--assets", &assets] };
    let build = ["--show-output", "--", "/usr/bin/cat", path.to_str().expect("text")];
    let answer = place.prony(&[&["replay", "x.demo"][..], assets, flags, &build].concat());
    assert_ne!(answer.code, Some(2), "{answer:?}");
    assert!(place.left().is_empty(), "{:?}", place.left());
    let found = |content: &[u8]| answer.stdout.contains(std::str::from_utf8(content).expect("text"));
    match (found(THEIRS), found(MINE)) {
        (true, false) => "theirs".to_owned(),
        (false, true) => "mine".to_owned(),
        _ => panic!("{answer:?}"),
    }
}

/// A file of this machine, and its directory.
fn mine(place: &Sandbox, path: &str) -> PathBuf {
    let file = place.file(path);
    fs::create_dir_all(file.parent().expect("it has one")).expect("writable");
    fs::write(&file, MINE).expect("writable");
    file
}

#[test]
fn without_trust_no_file_of_a_demo_is_laid_over_one_here() {
    let place = Sandbox::new();
    let file = mine(&place, "game/maps/dm1");
    for packed in [true, false] {
        assert_eq!(seen(&place, &place.file("game"), &file, packed, &[]), "mine", "packed: {packed}");
        assert_eq!(seen(&place, &place.file("game"), &file, packed, &["--trust-demo"]), "theirs", "packed: {packed}");
    }
}

#[test]
fn with_trust_files_are_laid_over_only_below_what_the_demo_states_and_the_user_names() {
    let place = Sandbox::new();
    let game = place.file("game");
    mine(&place, "game/maps/dm1");
    let outside = mine(&place, "outside/preload");
    symlink(place.file("outside"), place.file("game/link")).expect("writable");
    let climbing = place.file("game/maps/../../outside/preload");
    let linked = place.file("game/link/preload");
    for packed in [true, false] {
        for path in [&outside, &climbing, &linked] {
            let shown = path.display();
            assert_eq!(seen(&place, &game, path, packed, &["--trust-demo"]), "mine", "{shown}, packed: {packed}");
        }
        let named = place.file("outside");
        let flags = ["--trust-demo", "--overlay", named.to_str().expect("text")];
        assert_eq!(seen(&place, &game, &outside, packed, &flags), "theirs", "packed: {packed}");
        // A demo that was recorded in the root directory does not have all of this machine.
        assert_eq!(seen(&place, Path::new("/"), &outside, packed, &["--trust-demo"]), "mine", "packed: {packed}");
    }
}

#[test]
fn no_directory_of_the_system_counts_as_that_of_a_demo() {
    let place = Sandbox::new();
    let file = Path::new("/etc/hostname");
    let before = fs::read_to_string(file).expect("every Debian has one");
    for (cwd, packed) in [("/etc", true), ("/etc", false), ("/usr/../etc", true)] {
        let name = file.strip_prefix("/").expect("absolute");
        let archive = archive(&[(b'0', name.as_os_str(), 0o644, THEIRS)]);
        place.demo(&Made {
            files: &[entry(file, packed.then_some(0))],
            packed: if packed { &archive } else { &[] },
            cwd: Some(Path::new(cwd)),
            ..Made::default()
        });
        let assets = place.directory("assets");
        fs::write(Path::new(&assets).join("renamed"), THEIRS).expect("writable");
        let flags = ["replay", "x.demo", "--trust-demo", "--assets", &assets, "--show-output", "--", "/usr/bin/cat"];
        let answer = place.prony(&[&flags[..], &[file.to_str().expect("text")]].concat());
        assert!(!answer.stdout.contains("theirs"), "{cwd}: {answer:?}");
        assert!(answer.code == Some(2) || answer.stdout.contains(&before), "{cwd}: {answer:?}");
    }
}

#[test]
fn no_state_directory_is_mounted_through_a_link_that_another_one_brought() {
    let place = Sandbox::new();
    let victim = mine(&place, "outside/preload");
    let (state, link) = (place.file("game/state"), place.file("game/state/link"));
    let outside = place.file("outside");
    let first = archive(&[top(), (b'2', OsStr::new("link"), 0o777, outside.as_os_str().as_encoded_bytes())]);
    let second = archive(&[top(), (b'0', OsStr::new("preload"), 0o644, THEIRS)]);
    place.demo(&Made { state: &[(state, first), (link, second)], ..Made::default() });
    let path = victim.to_str().expect("text");
    let answer = place.prony(&["replay", "x.demo", "--trust-demo", "--show-output", "--", "/usr/bin/cat", path]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(!answer.stdout.contains("theirs"), "{answer:?}");
    assert!(answer.stderr.contains("Too many levels of symbolic links"), "{answer:?}");
}

#[test]
fn no_state_is_mounted_over_all_of_this_machine_or_what_the_kernel_makes_up() {
    let place = Sandbox::new();
    symlink("/proc/self/cwd", place.file("link")).expect("writable");
    for path in ["/", "//.", "/proc/self/cwd", "/proc", "/sys/kernel", "/dev", "/dev/shm/game"] {
        place.demo(&Made { state: &[(path.into(), archive(&[top()]))], ..Made::default() });
        let answer = place.prony(&["replay", "x.demo", "--trust-demo", "--", "/bin/true"]);
        assert_eq!(answer.code, Some(2), "{path}: {answer:?}");
        assert!(answer.stderr.contains(&format!("state directory `{path}`: expected")), "{path}: {answer:?}");
    }
}
