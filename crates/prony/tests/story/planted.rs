//! How often the true cause of a divergence is named first: `subjects/calls/planted.c` has one planted cause at a time.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use crate::calls::compiled;
use crate::habits::ask;
use prony_testing::recording::{Server, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address};

/// The build that is replayed.
#[derive(Clone, Copy, PartialEq)]
enum Build {
    Recorded,
    /// Another one, named on the command line.
    Other,
    /// Another one, at the place of the recorded one.
    Replaced,
}

struct Planted {
    /// What the server does at its tenth question.
    how: &'static str,
    /// Prepares the path before the recording.
    before: fn(&Path),
    /// Changes it before the replay.
    after: fn(&Path),
    build: Build,
    /// Causes of which one is to be named first.
    causes: &'static [&'static str],
}

fn nothing(_: &Path) {}

fn write(path: &Path) {
    fs::write(path, "one two").expect("the directory is writable");
}

fn make(path: &Path) {
    fs::create_dir(path).expect("the directory is writable");
}

fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
}

/// Another file of the same name and content; the first one is kept, so that its inode is not used again.
fn exchange(path: &Path) {
    fs::rename(path, path.with_extension("kept")).expect("it was made");
    write(path);
}

fn large(path: &Path, bytes: usize) {
    fs::write(path, vec![b' '; bytes]).expect("the directory is writable");
}

fn link_to(path: &Path, target: &str) {
    remove(path);
    symlink(target, path).expect("the directory is writable");
}

fn named(path: &Path) {
    write(path);
    let inode = fs::metadata(path).expect("it was made").ino();
    fs::write(format!("{}.{inode}", path.display()), "").expect("the directory is writable");
}

fn fill(path: &Path) {
    make(path);
    write(&path.join("left"));
}

const FAILED: &[&str] = &["failed_call"];

const fn fails(how: &'static str, before: fn(&Path), after: fn(&Path)) -> Planted {
    Planted { how, before, after, build: Build::Recorded, causes: FAILED }
}

const fn build(how: &'static str, build: Build, causes: &'static [&'static str]) -> Planted {
    Planted { how, before: write, after: nothing, build, causes }
}

const PLANTED: [Planted; 38] = [
    fails("chmod", write, remove),
    fails("truncate", write, remove),
    fails("utime", write, remove),
    fails("chown", write, remove),
    fails("unlink", write, remove),
    fails("rename", write, remove),
    fails("link", write, remove),
    fails("symlink", nothing, nothing),
    fails("mkdir", nothing, nothing),
    fails("mkfifo", nothing, nothing),
    fails("exclusive", nothing, nothing),
    fails("rmdir", make, nothing),
    fails("rmdir", make, fill),
    fails("chdir", make, remove),
    fails("opendir", make, remove),
    fails("stat", write, remove),
    fails("chdir", make, |path| {
        remove(path);
        write(path);
    }),
    fails("unlink", write, |path| {
        remove(path);
        make(path);
    }),
    Planted { causes: &["unfailed_call"], ..fails("access", nothing, write) },
    Planted { causes: &["unfailed_call"], ..fails("readable", nothing, write) },
    Planted { causes: &["made_up_name"], ..fails("name", named, exchange) },
    Planted { causes: &["unrecorded_value"], ..fails("inode", write, exchange) },
    Planted { causes: &["changed_listing"], ..fails("listing", make, |path| write(&path.join("new"))) },
    Planted {
        causes: &["changed_files"],
        ..fails("content", write, |path| fs::write(path, "one TWO").expect("it is writable"))
    },
    Planted {
        causes: &["changed_files"],
        ..fails("longer", write, |path| fs::write(path, "one, two and three").expect("it is writable"))
    },
    Planted {
        causes: &["real_result"],
        ..fails("content", write, |path| fs::write(path, "one million").expect("it is writable"))
    },
    Planted { causes: &["real_result"], ..fails("size", |path| large(path, 70_001), |path| large(path, 70_002)) },
    Planted {
        causes: &["real_result"],
        ..fails("leads", |path| link_to(path, "to-one-place"), |path| link_to(path, "to-another"))
    },
    Planted {
        causes: &["real_result"],
        ..fails("content", write, |path| {
            fs::rename(path, path.with_extension("kept")).expect("it was made");
            fs::write(path.with_extension("there"), "elsewhere").expect("the directory is writable");
            symlink(path.with_extension("there"), path).expect("the directory is writable");
        })
    },
    Planted { causes: &["missing_file"], ..fails("content", write, remove) },
    Planted { causes: &["written_files"], ..fails("counter", nothing, nothing) },
    Planted { causes: &["written_by_others"], ..fails("shell", nothing, nothing) },
    build("build", Build::Other, &["other_build"]),
    build("packet-size", Build::Other, &["other_build"]),
    build("build", Build::Replaced, &["replaced_program"]),
    build("packet-float", Build::Other, &["close_numbers"]),
    build("packet-double", Build::Other, &["close_numbers"]),
    build("float", Build::Other, &["close_numbers"]),
];

/// Shares of the planted causes that are to be named first, in percent.
const LEAST_PERCENT: usize = 80;

#[test]
fn the_true_cause_is_named_first() {
    let _turn = Turn::take();
    let builds = Scratch::new("planted-builds");
    let (own, other) = (compiled(&builds, "planted.c", &[]), compiled(&builds, "planted.c", &["-DOTHER"]));
    let mut missed = Vec::new();
    for Planted { how, before, after, build, causes } in &PLANTED {
        let scratch = Scratch::new("planted");
        let address = free_address();
        let path = scratch.path().join("it");
        before(&path);
        let recorded = scratch.arg("server");
        fs::copy(&own, &recorded).expect("the directory is writable");
        let arguments = [address.port().to_string(), (*how).to_owned(), path.display().to_string()];
        let command = |program: String| [vec![program], arguments.to_vec()].concat();
        let (recording, demo) =
            record_with(&scratch, &Server::new(command(recorded.clone())), &[], |stop| ask(address, stop));
        assert_eq!(recording.code, 0, "{how}: {recording}");
        after(&path);
        if *build == Build::Replaced {
            fs::copy(&other, &recorded).expect("no process runs it");
        }
        let named = if *build == Build::Other { command(other.clone()) } else { Vec::new() };
        let answer = replay(&scratch, &demo, &["--explain", "--files-here", "--watchdog", "1s"], &named);
        let first = answer.answer["causes"][0]["cause"].as_str().unwrap_or("nothing");
        if !causes.contains(&first) {
            missed.push(format!("{how}: {causes:?} expected, {first} found: {answer}"));
        }
    }
    let named = PLANTED.len() - missed.len();
    println!("{named} of {} planted causes were named first; not:\n{}", PLANTED.len(), missed.join("\n"));
    assert!(100 * named >= LEAST_PERCENT * PLANTED.len(), "{named} of {}", PLANTED.len());
}
