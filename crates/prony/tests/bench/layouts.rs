//! `prony bench --layouts` on small programs that are really built and linked.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use prony_testing::scratch::Scratch;
use serde_json::{Value, json};

use crate::scratch;

/// Functions of [`source`].
const FUNCTIONS: usize = 12;

/// A program that writes the order of its functions' addresses, and their offsets within a line of the cache, to a file.
fn source(more: &str) -> String {
    let functions: String = (0..FUNCTIONS)
        .map(|number| format!("__attribute__((noinline)) int f{number}(int x) {{ return x * {number} + {number}; }}\n"))
        .collect();
    let all: Vec<String> = (0..FUNCTIONS).map(|number| format!("f{number}")).collect();
    format!(
        "#include <stdio.h>\n#include <stdint.h>\n{more}{functions}\
         int (*const all[])(int) = {{ {} }};\n\
         int main(void) {{\n\
           FILE *file = fopen(\"orders\", \"a\");\n\
           char line[256]; int length = 0, sum = 0;\n\
           for (int i = 0; i < {FUNCTIONS}; i++) {{\n\
             int before = 0;\n\
             for (int j = 0; j < {FUNCTIONS}; j++) before += (uintptr_t)all[j] < (uintptr_t)all[i];\n\
             length += snprintf(line + length, sizeof line - length, \"%d/%d \", before, (int)((uintptr_t)all[i] % 64));\n\
             sum += all[i](1);\n\
           }}\n\
           fprintf(file, \"%s\\n\", line);\n\
           return sum != 2 * 66;\n\
         }}\n",
        all.join(", ")
    )
}

/// A directory with two programs that differ in a function that is never called.
fn two_programs() -> Scratch {
    let scratch = scratch();
    fs::write(scratch.file("a.c"), source("")).expect("the directory is writable");
    let dead = "__attribute__((used, noinline)) static int dead(int x) { for (int i = 0; i < x; i++) x ^= i * 7; return x; }\n";
    fs::write(scratch.file("b.c"), source(dead)).expect("the directory is writable");
    scratch
}

#[test]
fn both_sides_get_the_same_orders_and_each_runs_in_every_round() {
    let scratch = two_programs();
    fs::write(scratch.file("a"), "what was there before").expect("the directory is writable");
    let answer = scratch.prony(&[
        "bench",
        "--json",
        "--layouts",
        "6",
        "--runs",
        "2",
        "--warmup",
        "0",
        "--seed",
        "4",
        "--export-json",
        "samples.json",
        "--build",
        "cc -O1 a.c -o {program}",
        "--build",
        "cc -O1 b.c -o {program}",
        "./a",
        "./b",
    ]);
    assert!(matches!(answer.code, Some(0 | 1 | 3)), "{answer:?}");
    let found: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let of = |pointer: &str| found.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!([of("/layouts"), of("/rounds")], [6, 2].map(Value::from), "{found}");
    assert_eq!(of("/sides/0/linker"), "GNU ld");
    // All of the source, `main`, and one that only B has; the C library adds none of its own.
    assert_eq!([of("/sides/0/functions"), of("/sides/1/functions")], [13, 14].map(Value::from), "{found}");
    assert_eq!(of("/code/n"), 6);
    // Each side in 6 layouts, and as built √6 = 2 times a round.
    let orders = fs::read_to_string(scratch.file("orders")).expect("the programs wrote it");
    assert_eq!(orders.lines().count(), 2 * 2 * (6 + 2));
    // In a layout, the functions of both have the same order and the same offsets; as built, those of B may be moved by the one more.
    let distinct: BTreeSet<&str> = orders.lines().collect();
    assert!((7..=8).contains(&distinct.len()), "{orders}");
    let samples: Value =
        serde_json::from_str(&fs::read_to_string(scratch.file("samples.json")).expect("it was exported"))
            .expect("JSON");
    assert_eq!(samples.pointer("/benchmarks").and_then(Value::as_array).map(Vec::len), Some(14));
    // What was there is there again; where nothing was, there is the build as it is.
    assert_eq!(fs::read_to_string(scratch.file("a")).expect("it is back"), "what was there before");
    assert!(fs::read(scratch.file("b")).expect("it was built").starts_with(b"\x7fELF"));
}

#[test]
fn bolt_makes_the_layouts_of_one_link() {
    let scratch = two_programs();
    let build = |strip: &str| format!("echo built >> builds; cc -O1 {{program}}.c {strip} -o {{program}}");
    let answer = scratch.prony(&[
        "bench",
        "--json",
        "--layouts",
        "6",
        "--bolt",
        "--runs",
        "2",
        "--warmup",
        "0",
        "--seed",
        "4",
        "--build",
        &build(""),
        "--build",
        // What would leave out the symbols is left out.
        &build("-s"),
        "--keep-builds",
        "kept",
        "./a",
        "./b",
    ]);
    assert!(matches!(answer.code, Some(0 | 1 | 3)), "{answer:?}");
    let found: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let of = |pointer: &str| found.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!([of("/sides/0/linker"), of("/sides/1/linker")], ["BOLT", "BOLT"].map(Value::from), "{found}");
    let functions = |side: usize| of(&format!("/sides/{side}/functions")).as_u64().unwrap_or_default();
    assert!(functions(0) > FUNCTIONS as u64 && functions(1) == functions(0) + 1, "{found}");
    let builds = fs::read_to_string(scratch.file("builds")).expect("they wrote it");
    assert_eq!(builds.lines().count(), 4, "each side as it is, and once with its relocations");
    let kept = ["a/as-built/a", "a/1/a", "a/6/a", "b/as-built/b", "b/6/b"];
    assert!(kept.iter().all(|path| scratch.file("kept").join(path).is_file()), "{answer:?}");
    // The places of the functions among each other, without their offsets: those of B have one more function before them.
    let orders = fs::read_to_string(scratch.file("orders")).expect("the programs wrote it");
    let places = |line: &str| line.split(' ').map(|one| one.split('/').next().unwrap_or_default().to_owned()).collect();
    let distinct: BTreeSet<Vec<String>> = orders.lines().map(places).collect();
    assert_eq!((orders.lines().count(), distinct.len()), (2 * 2 * (6 + 2), 7), "{orders}");
}

#[test]
fn a_program_that_bolt_cannot_order_is_an_error() {
    let scratch = two_programs();
    let bench = ["bench", "--layouts", "6", "--bolt", "--build", "cc -O1 {program}.c -o {program} && strip {program}"];
    let answer = scratch.prony(&[&bench[..], &["./a", "./b"]].concat());
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""), "{answer:?}");
    for part in [
        "error: `./a`: /",
        "expected exit code 0, found exit code 1",
        "stripped binaries",
        "hint: the build must link the program again",
    ] {
        assert!(answer.stderr.contains(part), "{part} in {answer:?}");
    }
    let mut command = prony_testing::prony();
    let answer =
        command.args(bench).args(["./a", "./b"]).env("PATH", scratch.file("nothing")).output().expect("it runs");
    assert_eq!(
        String::from_utf8_lossy(&answer.stderr),
        "error: --bolt: expected llvm-bolt in PATH, found none\nhint: Debian has it as bolt-19\n"
    );
}

#[test]
fn a_program_behind_another_command_is_named() {
    let scratch = two_programs();
    let answer = scratch.prony(&[
        "bench",
        "--layouts",
        "6",
        "--runs",
        "2",
        "--build",
        "cc -O1 a.c -o ./a",
        "--program",
        "./a",
        "env ./a",
        "env ./a",
    ]);
    assert!(matches!(answer.code, Some(0 | 1 | 3)), "{answer:?}");
    for part in
        ["A  env ./a", "6 layouts, 2 rounds", "  code ", "  builds as they are ", "  A: GNU ld, 13 functions ordered"]
    {
        assert!(answer.stdout.contains(part), "{part} in {answer:?}");
    }
    assert!(!answer.stderr.contains("functions ordered"), "{answer:?}");
}

#[test]
fn a_build_that_goes_wrong_says_what_to_do() {
    let scratch = two_programs();
    fs::write(scratch.file("fixed"), "a file\n").expect("the directory is writable");
    fs::write(scratch.file("a"), "what was there before").expect("the directory is writable");
    let said: Vec<String> = [
        &["--build", "echo no rule >&2; exit 3", "./a", "./b"][..],
        &["--build", "true", "./a", "./b"],
        &["--build", "cp fixed {program}", "./a", "./b"],
        &["--build", "true", "./a"],
        &["--build", "true", "--build", "true", "--build", "true", "./a", "./b"],
        &["--build", "true", "--program", "./c", "./a", "./b"],
        &["--build", "true", "--keep-builds", ".", "./a", "./b"],
        &["--build", "true", "a", "./b"],
        &["--build", "cc -O1 a.c -o {program} && exit 9", "./a", "./b"],
    ]
    .map(|arguments| {
        let answer = scratch.prony(&[&["bench", "--layouts", "6"][..], arguments].concat());
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""), "{answer:?}");
        answer.stderr.replace(&scratch.file("").display().to_string(), "…/")
    })
    .to_vec();
    insta::assert_snapshot!("builds_fail", said.join("\n"));
    assert_eq!(fs::read_to_string(scratch.file("a")).expect("it is back"), "what was there before");
    for few in ["5", "1001"] {
        let answer = scratch.prony(&["bench", "--layouts", few, "--build", "true", "./a", "./b"]);
        assert_eq!(answer.code, Some(2), "{answer:?}");
    }
}

#[test]
fn instructions_and_profiles_are_not_of_layouts() {
    let scratch = two_programs();
    let flags = ["bench", "--demo", "x.demo", "--layouts", "6", "--build", "cc -O1 a.c -o {program}"];
    for (more, expected) in [
        (
            ["--metric", "instructions"].as_slice(),
            "--metric counts one binary of each build, and --layouts makes several\nhint: omit --layouts",
        ),
        (&["--profile"], "'--layouts <N>' cannot be used with '--profile'"),
        (&["--metric", "wall"], "builds on a demo are judged by CPU time"),
        (&[], "cannot replay x.demo: no such file or directory"),
    ] {
        let answer = scratch.prony(&[&flags[..], more, &["./a", "./b"]].concat());
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""), "{answer:?}");
        assert!(answer.stderr.contains(expected), "{answer:?}");
    }
    assert!(!scratch.file("a").exists(), "nothing was built");
}

#[test]
fn a_profile_on_one_side_is_named() {
    let scratch = two_programs();
    for (name, flag) in [("a", "-O1"), ("b", "--coverage")] {
        let done =
            Command::new("gcc").args([flag, "-o", name, &format!("{name}.c")]).current_dir(scratch.file("")).status();
        assert!(done.expect("gcc is there").success());
    }
    let answer = scratch.prony(&["bench", "--runs", "2", "./a", "./b"]);
    let warning =
        "warning: `./a` says nothing of either, and `./b` counts what it runs (-fprofile-generate, --coverage): ";
    assert!(answer.stderr.contains(warning), "{answer:?}");
    let answer = scratch.prony(&["bench", "--runs", "2", "--json", "./a", "./b"]).json();
    let warnings = answer["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str);
    assert!(warnings.into_iter().any(|text| text.starts_with("`./a` says nothing of either")), "{answer}");
    let same = scratch.prony(&["bench", "--runs", "2", "./b", "./b"]);
    assert!(!same.stderr.contains("counts what it runs"), "{same:?}");
}

#[test]
fn values_that_are_to_be_trusted_are_still_those_of_one_layout() {
    let scratch = scratch();
    // 60 processes, a value each, apart by up to 1 %, in no order.
    let value = |process: u64| 1.0 + ((process * process % 61 * 54 + process * 7) % 61) as f64 / 6100.0;
    let runs: Vec<Value> = (1..=60).map(|process| json!({ "values": [value(process)] })).collect();
    let file = json!({ "version": "1.0", "metadata": { "name": "b", "loops": 1 }, "benchmarks": [{ "runs": runs }] });
    fs::write(scratch.file("values.json"), file.to_string()).expect("the directory is writable");
    let answer = scratch.prony(&["check", "values.json", "--margin", "1%"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stderr.contains("hint: of one binary, values say nothing of its layout"), "{answer:?}");
}
