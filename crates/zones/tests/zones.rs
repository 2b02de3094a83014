//! The macro and the header, in programs that run: the same zones give the same tree.

use std::path::Path;
use std::process::Command;

use prony_zones::zone;

fn leaf() {
    zone!("leaf", bytes = 100);
}

fn recursive(depth: u32) {
    zone!("recursive");
    leaf();
    if depth > 0 {
        between(depth);
    }
}

fn between(depth: u32) {
    zone!("between");
    recursive(depth - 1);
}

fn program() {
    zone!("program");
    for _ in 0..10 {
        leaf();
    }
    recursive(4);
}

/// The lines of a file as `depth name hits bytes`, and the ticks of each.
fn tree(text: &str) -> (Vec<String>, Vec<(u64, i64)>) {
    let mut lines = Vec::new();
    let mut ticks = Vec::new();
    let mut depths = vec![0];
    for line in text.lines().filter_map(|line| line.strip_prefix("zone ")) {
        let fields: Vec<&str> = line.splitn(7, ' ').collect();
        let parent: usize = fields[1].parse().expect("a number");
        let depth = depths[parent] + 1;
        depths.push(depth);
        lines.push(format!("{depth} {} {} {}", fields[6], fields[2], fields[5]));
        ticks.push((fields[3].parse().expect("ticks"), fields[4].parse().expect("ticks")));
    }
    (lines, ticks)
}

/// `recursive` is entered again below `between`: there its node is its own ancestor.
const EXPECTED: [&str; 5] = ["1 program 1 0", "2 leaf 10 1000", "2 recursive 5 0", "3 between 4 0", "3 leaf 5 500"];

fn check(text: &str) {
    assert!(text.starts_with("prony-zones 1\nclock "), "{text}");
    let (mut lines, ticks) = tree(text);
    let all: i64 = ticks.iter().map(|&(_, own)| own).sum();
    let whole = ticks[lines.iter().position(|line| line.starts_with("1 program")).expect("the outermost")].0;
    // What zones do themselves adds up to the outermost one, recursion or not.
    assert_eq!(all, whole as i64, "{text}");
    assert!(ticks.iter().all(|&(inclusive, _)| inclusive <= whole), "{text}");
    lines.sort();
    assert_eq!(lines, EXPECTED, "{text}");
}

#[test]
fn zones_nest_and_count_time_once_even_when_they_recur() {
    std::thread::Builder::new().name("worker".to_owned()).spawn(program).expect("a thread").join().expect("it ends");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.zones");
    assert!(prony_zones::write(&path).expect("written"));
    let text = std::fs::read_to_string(&path).expect("it is there");
    assert!(text.contains("\nthread worker\n"), "{text}");
    check(&text);
    assert_eq!(std::fs::read_dir(&directory).expect("a directory").count(), 1);
}

const PROGRAM: &str = r#"
#define PRONY_ZONES_IMPLEMENTATION
#include "prony_zones.h"
static void leaf(void) { PRONY_ZONE_BYTES("leaf", 100); }
static void between(int depth);
static void recursive(int depth) { PRONY_ZONE("recursive"); leaf(); if (depth > 0) between(depth); }
static void between(int depth) { PRONY_ZONE("between"); recursive(depth - 1); }
static void program(void) {
    PRONY_ZONE("program");
    for (int i = 0; i < 10; i++) leaf();
    recursive(4);
}
int main(void) { program(); return 0; }
"#;

fn compile(directory: &Path, compiler: &str, language: &str, flags: &[&str]) -> std::path::PathBuf {
    let source = directory.join(format!("program.{language}"));
    std::fs::write(&source, PROGRAM).expect("written");
    let program = directory.join("program");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let compiled = Command::new(compiler)
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(include)
        .args(flags)
        .arg("-o")
        .args([&program, &source])
        .status();
    let compiled = compiled.unwrap_or_else(|error| panic!("`{compiler}`: {error}; apt-get install gcc g++"));
    assert!(compiled.success());
    program
}

#[test]
fn the_header_finds_the_same_in_c_and_in_cpp() {
    for (compiler, language) in [("gcc", "c"), ("g++", "cpp")] {
        let directory = tempfile::tempdir().expect("a directory");
        let program = compile(directory.path(), compiler, language, &["-DPRONY_ZONES"]);
        let path = directory.path().join("x.zones");
        let ran = Command::new(program).env("PRONY_ZONES_FILE", &path).status().expect("it runs");
        assert!(ran.success());
        check(&std::fs::read_to_string(&path).expect("it is there"));
    }
}

#[test]
fn without_its_flag_the_header_is_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path(), "gcc", "c", &[]);
    let ran = Command::new(&program).current_dir(&directory).status().expect("it runs");
    assert!(ran.success());
    assert!(!directory.path().join("prony.zones").exists());
    let bytes = std::fs::read(program).expect("the program");
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(!holds(b"recursive\0program") && !holds(b"prony_zone") && !holds(b"rdtsc"));
}
