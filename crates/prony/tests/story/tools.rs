//! `prony replay --under`: a checker of memory, a debugger, a profiler and a sanitizer on the demo of a server.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::calls::{compiled, is_i386};
use crate::counts::ask_for;
use prony_testing::CommandOutput;
use prony_testing::recording::{Server, record, record_with};
use prony_testing::scratch::{Scratch, Turn, free_address, program, run};

/// Rounds of `subjects/calls/freed.c`.
const ROUNDS: &str = "40";

/// Records the server built with these flags.
fn recorded(scratch: &Scratch, flags: &[&str]) -> (String, PathBuf) {
    let build = compiled(scratch, "freed.c", &[&["-g"], flags].concat());
    let (_, demo) = record_with(scratch, &Server::new([build.as_str(), ROUNDS]), &[], |stop| stop.wait());
    (build, demo)
}

/// Replays the demo under a tool.
fn under(scratch: &Scratch, tool: &str, build: &str) -> CommandOutput {
    scratch.prony(&["replay", "story.demo", "--under", tool, "--", build, ROUNDS])
}

#[test]
fn memcheck_names_the_read_of_freed_memory_in_an_identical_replay() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-memcheck");
    let valgrind = program("/usr/bin/valgrind", "valgrind");
    let (build, _) = recorded(&scratch, &[]);
    let tool = format!("{valgrind} --tool=memcheck --error-exitcode=9");
    let found = under(&scratch, &tool, &build);
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    assert!(found.stdout.contains("which exited with 9; no times"), "{found:?}");
    assert!(found.stderr.contains("Invalid read of size 1"), "{found:?}");
    assert!(found.stderr.contains("answer_question (freed.c:"), "{found:?}");
    assert_eq!(found.code, Some(1), "{found:?}");

    let correct = compiled(&scratch, "freed.c", &["-g", "-DCORRECT"]);
    let clean = under(&scratch, &tool, &correct);
    assert!(clean.stdout.contains("story.demo: identical"), "{clean:?}");
    assert!(clean.stderr.contains("ERROR SUMMARY: 0 errors"), "{clean:?}");
    assert_eq!(clean.code, Some(0), "{clean:?}");
}

/// The script of `docs/guide/tools.md`.
const RUN_IN_GDB: &str = include_str!("../../../../docs/guide/gdb-under-prony.py");

#[test]
fn a_debugger_stops_at_a_function_of_the_server() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-gdb");
    let gdb = program("/usr/bin/gdb", "gdb");
    let (build, _) = recorded(&scratch, &[]);
    let script = scratch.write("prony.py", RUN_IN_GDB);
    let start =
        format!("{gdb} -nx -batch -x {script} -ex 'break answer_question if round == 5' -ex 'python run(\"run\")'");
    let stopped = under(&scratch, &format!("{start} -ex backtrace --args"), &build);
    assert!(stopped.stdout.contains("#0  answer_question (fd="), "{stopped:?}");
    assert!(stopped.stdout.contains("round=round@entry=5)"), "{stopped:?}");
    assert!(stopped.stdout.contains("because the tool ended the server after"), "{stopped:?}");
    assert_eq!(stopped.code, Some(3), "{stopped:?}");
    let whole = under(&scratch, &format!("{start} -ex 'python run(\"continue\")' --args"), &build);
    assert!(whole.stdout.contains("story.demo: identical"), "{whole:?}");
    assert_eq!(whole.code, Some(0), "{whole:?}");
}

#[test]
fn a_program_that_the_recorded_shell_becomes_is_found_again_under_a_tool() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-exec");
    let valgrind = program("/usr/bin/valgrind", "valgrind");
    let build = compiled(&scratch, "freed.c", &["-g"]);
    let script = format!("cd {} && exec {build} {ROUNDS}", scratch.path().display());
    let shell = Server::new(["/bin/sh", "-c", script.as_str()]);
    record_with(&scratch, &shell, &[], |stop| stop.wait());
    let under =
        |tool: &str| scratch.prony(&["replay", "story.demo", "--under", tool, "--", "/bin/sh", "-c", script.as_str()]);
    // The tool's own launcher, which Valgrind runs for each program, and its wrapper, a script for the same shell, do not join.
    let followed = under(&format!("{valgrind} --trace-children=yes --error-exitcode=9"));
    assert!(followed.stdout.contains("story.demo: identical"), "{followed:?}");
    assert!(followed.stderr.contains("answer_question (freed.c:"), "{followed:?}");
    assert_eq!(followed.code, Some(1), "{followed:?}");
    let shell_only = under(&format!("{valgrind} --error-exitcode=9"));
    assert!(shell_only.stdout.contains("story.demo: identical"), "{shell_only:?}");
    assert!(!shell_only.stderr.contains("answer_question"), "{shell_only:?}");
    assert_eq!(shell_only.code, Some(0), "{shell_only:?}");
}

/// Instructions of the functions of `build` itself, without what they call: lines of costs that stand below its object and
/// not behind a call (Callgrind Format Specification).
fn own_instructions(scratch: &Scratch, name: &str, build: &str) -> u64 {
    let text = fs::read_to_string(scratch.file(name)).expect("callgrind wrote it");
    let (mut own, mut is_own, mut is_called, mut sum) = (None, false, false, 0);
    for line in text.lines() {
        if let Some(object) = line.strip_prefix("ob=").or_else(|| line.strip_prefix("cob=")) {
            // A name stands where its number comes first, which may be at a call.
            let (number, path) = object.split_once(' ').unwrap_or((object, ""));
            if path == build {
                own = Some(number);
            }
            if line.starts_with("ob=") {
                is_own = own == Some(number);
            }
        } else if line.starts_with("calls=") {
            is_called = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            if is_own && !is_called {
                let cost = line.rsplit(' ').next().and_then(|cost| cost.parse::<u64>().ok());
                sum += cost.unwrap_or_else(|| panic!("expected a cost in {line:?}"));
            }
            is_called = false;
        }
    }
    sum
}

#[test]
fn callgrind_counts_the_same_instructions_of_the_server_twice() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-callgrind");
    let valgrind = program("/usr/bin/valgrind", "valgrind");
    let (build, _) = recorded(&scratch, &[]);
    let counts = ["first", "second"].map(|name| {
        let out = scratch.arg(name);
        let tool = format!("{valgrind} --tool=callgrind --callgrind-out-file={out}");
        let found = under(&scratch, &tool, &build);
        assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
        own_instructions(&scratch, name, &build)
    });
    assert!(counts[0] > 1000, "{counts:?}");
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn a_build_with_a_sanitizer_names_the_read_of_freed_memory() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-sanitizer");
    recorded(&scratch, &[]);
    let build = compiled(&scratch, "freed.c", &["-g", "-fsanitize=address"]);
    let found = scratch.prony(&["replay", "story.demo", "--show-output", "--", &build, ROUNDS]);
    assert!(found.stderr.contains("heap-use-after-free"), "{found:?}");
    assert!(found.stderr.contains("answer_question"), "{found:?}");
}

#[test]
fn a_build_with_thread_sanitizer_replays_what_others_recorded_and_is_recorded() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-threads");
    let address = free_address();
    let port = address.port().to_string();
    let record = |flags: &[&str]| {
        let build = compiled(&scratch, "raced.c", flags);
        record_with(&scratch, &Server::new([build.as_str(), &port]), &[], |stop| {
            ask_for(10, address, stop);
            stop.interrupt();
        });
        build
    };
    let plain = record(&["-g"]);
    let checked = compiled(&scratch, "raced.c", &["-g", "-fsanitize=thread"]);
    let replay = |build: &str| scratch.prony(&["replay", "story.demo", "--show-output", "--", build, &port]);
    let found = replay(&checked);
    // The runtime keeps SIGTERM for a call of the server, and the handler has run all the same.
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    assert!(found.stderr.contains("data race") && found.stderr.contains("count_one"), "{found:?}");

    fs::remove_file(scratch.file("story.demo")).expect("it is there");
    let recorded = record(&["-g", "-fsanitize=thread"]);
    assert_eq!(recorded, checked);
    for build in [&plain, &checked] {
        let found = replay(build);
        assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    }
}

#[test]
fn a_tool_that_does_not_start_the_server_is_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-none");
    let (build, _) = recorded(&scratch, &[]);
    let failed = under(&scratch, "true", &build);
    assert!(failed.stderr.contains("`true` ended without starting"), "{failed:?}");
    let missing = under(&scratch, "no-such-tool", &build);
    assert!(missing.stderr.contains("`no-such-tool`: command not found"), "{missing:?}");
    let unclosed = under(&scratch, "valgrind '", &build);
    assert!(unclosed.stderr.contains("cannot use the tool"), "{unclosed:?}");
}

#[test]
fn only_the_server_joins_of_the_processes_of_a_tool() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-shell");
    let (build, _) = recorded(&scratch, &[]);
    let tool = r#"sh -c 'date >/dev/null; head -c 4 /proc/self/exe >/dev/null; "$@"; exit $?' sh"#;
    let found = under(&scratch, tool, &build);
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
    let twice = under(&scratch, r#"sh -c '"$@"; "$@"' sh"#, &build);
    assert!(twice.stderr.contains("starts the recorded program a second time"), "{twice:?}");
}

#[test]
fn two_builds_are_compared_under_a_tool_and_the_times_are_said_to_be_the_tools() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-bench");
    let (build, _) = recorded(&scratch, &[]);
    let command = format!("{build} {ROUNDS}");
    let bench = |flags: &[&str]| {
        let own = ["bench", "--demo", "story.demo", "--under", "env PRONY_TEST=1", "--runs", "2"];
        scratch.prony(&[&own, flags, &[command.as_str(), command.as_str()]].concat())
    };
    let found = bench(&["--export-markdown", "table.md"]);
    assert!(scratch.read("table.md").contains("times are those of the tool and the build together"));
    assert!(
        found.stdout.contains("  under `env PRONY_TEST=1`: times are those of the tool and the build"),
        "{found:?}"
    );
    let answer = bench(&["--json"]);
    assert!(answer.stdout.contains(r#""PRONY_TEST=1""#), "{answer:?}");
    let counted = bench(&["--metric", "instructions"]);
    assert!(counted.stderr.contains("cannot count under `env PRONY_TEST=1`"), "{counted:?}");
    let profiled = scratch.prony(&["profile", "--demo", "story.demo", "--under", "valgrind", "--", &build, ROUNDS]);
    assert!(profiled.stderr.contains("`prony replay story.demo --under 'valgrind'`"), "{profiled:?}");
    assert_eq!(profiled.code, Some(2), "{profiled:?}");
}

#[test]
fn a_tool_that_is_a_library_in_the_server_keeps_its_descriptors_out_of_the_recordings_numbers() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-library");
    let heaptrack = program("/usr/bin/heaptrack", "heaptrack");
    let (build, _) = recorded(&scratch, &[]);
    let out = scratch.arg("heap");
    let found = under(&scratch, &format!("{heaptrack} -o {out}"), &build);
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    let printed = run(Command::new("/usr/bin/heaptrack_print").arg(format!("{out}.zst")));
    assert!(printed.contains("answer_question"), "{printed}");
}

#[test]
fn a_build_that_measures_coverage_has_written_it_when_the_replay_has_ended() {
    let _turn = Turn::take();
    let scratch = Scratch::new("tools-coverage");
    recorded(&scratch, &[]);
    let build = compiled(&scratch, "freed.c", &["--coverage"]);
    let found = scratch.prony(&["replay", "story.demo", "--", &build, ROUNDS]);
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    let files = fs::read_dir(scratch.path()).expect("the directory is there");
    let names = files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned());
    let counts = names.filter(|name| name.ends_with(".gcda")).count();
    assert_eq!(counts, 1, "{found:?}");
}

/// Under Valgrind the kernel cannot tell the server's system calls from Valgrind's.
#[cfg(target_arch = "x86_64")]
#[test]
fn system_calls_past_libc_are_answered_and_counted_under_valgrind() {
    let _turn = Turn::take();
    if is_i386() {
        return;
    }
    let scratch = Scratch::new("tools-instructions");
    let valgrind = program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let words = [compiled(&scratch, "instructions.c", &["-g"]), address.port().to_string()];
    let server = Server::new(words.clone());
    record(&scratch, &server, |stop| ask_for(8, address, stop));
    let tool = format!("{valgrind} -q --tool=none");
    let replayed = scratch.prony(&["replay", "story.demo", "--under", &tool, "--json", "--", &words[0], &words[1]]);
    assert_eq!(replayed.json()["verdict"], "identical", "{replayed:?}");
    let counted = scratch.prony(&["count", "story.demo", "--runs", "2", "--json", &words.join(" ")]);
    assert_eq!(counted.code, Some(0), "{counted:?}");
    let answer = counted.json();
    let counts = &answer["builds"][0]["instructions"];
    assert_eq!(counts[0], counts[1], "{answer}");
    let calls = answer["builds"][0]["calls"].as_array().expect("a list");
    let made = calls.iter().find(|call| call["name"] == "syscall").expect("they are counted by number");
    assert!(made["calls"][0].as_u64() >= Some(8 * 10), "{made}");
}
