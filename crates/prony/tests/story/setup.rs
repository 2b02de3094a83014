//! What sets a machine up and what is shipped: `scripts/apt-get` while another program installs packages, with Debian's apt on a
//! root of its own, and the notices of third parties.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prony_testing::scratch::{Scratch, run};
use rustix::fs::{FlockOperation, fcntl_lock};

/// A repository with one package, and apt's settings that use nothing else.
fn repository(scratch: &Scratch) -> String {
    let root = scratch.path().to_str().expect("temporary paths are UTF-8");
    for directory in ["dpkg", "state/lists/partial", "cache/archives/partial", "etc", "repository"] {
        scratch.directory(directory);
    }
    scratch.write("dpkg/status", "");
    const CONTROL: &str =
        "Package: prony-test\nVersion: 1\nArchitecture: all\nMaintainer: a test\nDescription: nothing\n";
    scratch.write("package/DEBIAN/control", CONTROL);
    let file = scratch.file("repository/prony-test_1_all.deb");
    run(Command::new("dpkg-deb").args(["--root-owner-group", "-b"]).arg(scratch.file("package")).arg(&file));
    let length = fs::metadata(&file).expect("it was built").len();
    let hash = Command::new("sha256sum").arg(&file).output().expect("coreutils are essential").stdout;
    let hash = String::from_utf8(hash).expect("it is text");
    let hash = hash.split_once(' ').expect("HASH FILE").0;
    let entry = format!("{CONTROL}Filename: ./prony-test_1_all.deb\nSize: {length}\nSHA256: {hash}\n");
    scratch.write("repository/Packages", entry);
    scratch.write("etc/sources.list", format!("deb [trusted=yes] file:{root}/repository ./\n"));
    let settings = [
        format!("Dir::State \"{root}/state\";"),
        format!("Dir::State::status \"{root}/dpkg/status\";"),
        format!("Dir::Cache \"{root}/cache\";"),
        format!("Dir::Etc \"{root}/etc\";"),
        // Its own user could not read a temporary directory of root.
        "APT::Sandbox::User \"root\";".to_owned(),
    ];
    scratch.write("apt.conf", settings.join("\n"))
}

/// Takes a lock as apt does, by POSIX record locks.
fn hold(path: PathBuf) -> File {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).expect("only this test uses it");
    file
}

#[test]
fn setting_up_waits_for_another_installation() {
    let scratch = Scratch::new("apt");
    let settings = repository(&scratch);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/apt-get");
    let update: &[&str] = &["update", "-q"];
    let install: &[&str] = &["install", "-y", "-q", "--download-only", "prony-test"];
    let locks = [
        ("state/lists/lock", update),
        ("dpkg/lock-frontend", install),
        ("dpkg/lock", install),
        ("cache/archives/lock", install),
    ];
    for (lock, arguments) in locks {
        let lock_file = hold(scratch.file(lock));
        let alone =
            Command::new("apt-get").args(arguments).env("APT_CONFIG", &settings).output().expect("apt is there");
        assert_eq!(alone.status.code(), Some(100), "{lock}: apt-get alone does not wait: {alone:?}");
        let mut waiting = Command::new(&script)
            .args(arguments)
            .env("APT_CONFIG", &settings)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the script is in the tree");
        let mut talk = BufReader::new(waiting.stderr.take().expect("it is a pipe"));
        let mut line = String::new();
        talk.read_line(&mut line).expect("it is text");
        let expected = format!("s for the lock {}", scratch.arg(lock));
        assert!(line.starts_with("waiting up to ") && line.contains(&expected), "{lock}: {line}");
        drop(lock_file);
        talk.read_to_string(&mut line).expect("it is text");
        let ended = waiting.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{lock}: {line}{ended:?}");
    }
    assert!(scratch.file("cache/archives").read_dir().expect("it is there").count() > 1, "the package was fetched");

    // Another failure is reported at once, and a lock that stays is, too.
    let failed = Command::new(&script).args(["install", "-y", "no-such-package"]).env("APT_CONFIG", &settings).output();
    let failed = failed.expect("the script is in the tree");
    assert_eq!((failed.status.code(), failed.stderr.as_slice()), (Some(100), &b""[..]), "{failed:?}");
    let _lock_file = hold(scratch.file("state/lists/lock"));
    let stays = Command::new(&script).args(update).env("APT_CONFIG", &settings).env("PRONY_APT_WAIT_S", "0").output();
    let stays = stays.expect("the script is in the tree");
    assert_eq!(stays.status.code(), Some(100), "{stays:?}");
    assert!(String::from_utf8_lossy(&stays.stdout).contains("Could not get lock"), "{stays:?}");
}

/// The program's third parties, as cargo resolves them for it.
#[test]
fn the_notices_name_all_that_the_program_contains() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--package", "prony", "--edges", "normal,build", "--prefix", "none"]);
    cargo.args(["--target", "x86_64-unknown-linux-gnu", "--format", "{p}"]).current_dir(&root);
    let tree = cargo.output().expect("cargo runs this test");
    assert!(tree.status.success(), "{tree:?}");
    let tree = String::from_utf8(tree.stdout).expect("names of crates are ASCII");
    // Those of the workspace have their path behind the version.
    let crates: BTreeSet<&str> = tree.lines().filter(|line| !line.contains("(/")).collect();
    assert!(crates.len() > 100, "{crates:?}");
    let notices = read("THIRD-PARTY-NOTICES");
    let named: BTreeSet<&str> = notices.lines().filter(|line| line.contains("  https://crates.io/")).collect();
    let is_named = |item: &str| {
        let mut words = item.split([' ', '\n']);
        let (name, version) = (words.next().unwrap_or(""), words.next().unwrap_or("").trim_start_matches('v'));
        named.contains(format!("  {name} {version}  https://crates.io/crates/{name}/{version}").as_str())
    };
    let missing: Vec<_> = crates.iter().filter(|item| !is_named(item)).collect();
    assert!(missing.is_empty(), "not in THIRD-PARTY-NOTICES, which scripts/notices writes: {missing:?}");

    // What may be in the notices is what is checked.
    let names = |file: &str, key: &str| -> BTreeSet<String> {
        let table: toml::Table = read(file).parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        let table = table.get("licenses").and_then(|value| value.as_table()).unwrap_or(&table).clone();
        let mut lists = vec![table[key].clone()];
        let exceptions = table.get("exceptions").and_then(|value| value.as_array().cloned()).unwrap_or_default();
        lists.extend(exceptions.iter().map(|exception| exception[key].clone()));
        let names = lists.iter().flat_map(|list| list.as_array().expect("a list of licences").clone());
        names.map(|name| name.as_str().expect("an SPDX identifier").to_owned()).collect()
    };
    assert_eq!(names("deny.toml", "allow"), names("about.toml", "accepted"));
}
