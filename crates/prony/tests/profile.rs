//! `prony profile` on real programs, whose shares are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prony_testing::{CommandOutput, program, prony};
use serde_json::Value;
use tempfile::TempDir;

fn run(directory: &Path, arguments: &[&str]) -> CommandOutput {
    CommandOutput::to(prony().args(arguments).current_dir(directory))
}

fn place() -> TempDir {
    tempfile::tempdir().expect("the temporary directory is writable")
}

/// Compiles a subject into the directory.
fn compile(directory: &TempDir, subject: &str, name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/shares").join(subject);
    let program = directory.path().join(name);
    let compiler = if subject.ends_with(".cpp") { "g++" } else { "gcc" };
    let compiled = Command::new(compiler).args(flags).arg("-o").args([&program, &source]).status();
    let compiled = compiled.unwrap_or_else(|error| panic!("`{compiler}`: {error}; `scripts/setup test` installs it"));
    assert!(compiled.success());
    program
}

fn share<'a>(answer: &'a Value, table: &str, name: &str) -> &'a Value {
    let rows = answer[table].as_array().expect("a table");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {rows:#?}"))
}

fn estimate(answer: &Value, table: &str, name: &str, which: &str) -> f64 {
    share(answer, table, name)[which]["estimate"].as_f64().expect("a share")
}

/// The loops of `shares.cpp` have no frame even so: GCC makes one only where a function needs it.
const POINTERS: [&str; 3] = ["-O2", "-g", "-fno-omit-frame-pointer"];

/// Shares as the program itself has measured them.
fn truth(stderr: &str) -> Value {
    let line = stderr.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no shares in {stderr}"));
    serde_json::from_str(line).expect("the subject prints JSON")
}

#[test]
fn shares_are_those_that_the_program_has_measured_itself() {
    let place = place();
    let program = compile(&place, "shares.cpp", "shares", &POINTERS);
    let answer = run(
        place.path(),
        &[
            "profile",
            "--json",
            "--folded",
            "x.folded",
            "--flame",
            "x.svg",
            "--speedscope",
            "x.json",
            "--perf-script",
            "x.txt",
            "--share",
            "physics=^engine::physics$",
            "--share",
            "network=engine::net",
            "--share",
            "scripts=scripts",
            "--share",
            "logging=engine::logging",
            "--",
            program.to_str().expect("a path"),
            "1.5",
        ],
    );
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let (found, truth) = (answer.json(), truth(&answer.stderr));
    let samples = found["samples"].as_u64().expect("a number");
    assert!(samples > 500, "{samples}");
    for part in ["physics", "network", "scripts", "logging"] {
        let expected = truth[part].as_f64().expect("a share");
        let found = estimate(&found, "components", part, "inclusive");
        // Of a thousand samples two shares in three lie within 1.6 points; 9 are five deviations and more.
        assert!((found - expected).abs() < 0.09, "{part}: {found} for {expected}");
    }
    // What has no loop of its own has hardly a sample of its own.
    assert!(estimate(&found, "components", "physics", "self") < 0.05);
    assert!(estimate(&found, "functions", "churn<1>", "self") > 0.2);
    assert!(estimate(&found, "functions", "main", "inclusive") > 0.9);

    let folded = fs::read_to_string(place.path().join("x.folded")).expect("written");
    assert!(folded.contains("main;engine::physics;churn<1> "), "{folded}");
    assert!(folded.contains("main;engine::logging;churn<4> "), "inlined calls are frames: {folded}");
    let svg = fs::read_to_string(place.path().join("x.svg")).expect("written");
    assert!(svg.starts_with("<?xml") && svg.contains("engine::physics ("));
    let exported: Value =
        serde_json::from_slice(&fs::read(place.path().join("x.json")).expect("written")).expect("it is JSON");
    assert_eq!(exported["$schema"], "https://www.speedscope.app/file-format-schema.json");
    // What is written as the text of `perf script` is read as the same stacks.
    let again = run(place.path(), &["profile", "fold", "x.txt"]);
    assert_eq!((again.code, again.stdout), (Some(0), folded));
}

#[test]
fn without_frame_pointers_the_tables_for_exceptions_lead_to_main() {
    // A function that aligns its stack has rules that are programs.
    for flags in [&[][..], &["-m32"], &["-m32", "-mstackrealign"]] {
        let place = place();
        let flags = [flags, &["-O2", "-g", "-fomit-frame-pointer"]].concat();
        let program = compile(&place, "shares.cpp", "shares", &flags);
        let program = program.to_str().expect("a path");
        let with = run(place.path(), &["profile", "--dwarf", "--json", "--folded", "x", "--", program, "0.5"]);
        assert_eq!(with.code, Some(0), "{}", with.stderr);
        let main = estimate(&with.json(), "functions", "main", "inclusive");
        let folded = fs::read_to_string(place.path().join("x")).expect("written");
        assert!(main > 0.95, "{flags:?}: {main}: {}{folded}", with.stderr);
        assert!(estimate(&with.json(), "functions", "engine::network", "inclusive") > 0.15, "{flags:?}: {folded}");
    }
}

#[test]
fn frame_pointers_of_a_32_bit_program_lead_to_main() {
    let place = place();
    let program = compile(&place, "shares.cpp", "shares", &["-m32", "-O2", "-g", "-fno-omit-frame-pointer"]);
    let answer = run(place.path(), &["profile", "--json", "--", program.to_str().expect("a path"), "0.5"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let main = estimate(&answer.json(), "functions", "main", "inclusive");
    assert!(main > 0.9, "{main}: {}", answer.stderr);
}

#[test]
fn a_stripped_program_keeps_what_is_known_and_says_so() {
    let place = place();
    let program = compile(&place, "shares.cpp", "shares", &["-O2", "-s", "-fno-omit-frame-pointer"]);
    let answer = run(place.path(), &["profile", "--", program.to_str().expect("a path"), "0.3"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(answer.stderr.contains("shares is stripped: only exported functions have names"), "{}", answer.stderr);
    assert!(answer.stderr.contains("hint: build it without -s"), "{}", answer.stderr);
    assert!(answer.stdout.contains("[shares]"), "{}", answer.stdout);
}

#[test]
fn a_program_that_was_replaced_since_is_not_given_the_names_of_another() {
    let place = place();
    compile(&place, "shares.cpp", "shares", &POINTERS);
    compile(&place, "shares.cpp", "other", &["-O0", "-g"]);
    let answer = run(place.path(), &["profile", "--json", "--", "sh", "-c", "./shares 0.3 && mv other shares"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(answer.stderr.contains("is not the file that ran: expected build id "), "{}", answer.stderr);
    assert!(!answer.stdout.contains("engine::physics"), "{}", answer.stdout);
}

#[test]
fn waits_are_weighed_by_their_length() {
    let place = place();
    let answer = run(place.path(), &["profile", "--off-cpu", "--json", "--", "sleep", "0.3"]);
    assert!(matches!(answer.code, Some(0 | 3)), "{}", answer.stderr);
    let found = answer.json();
    assert_eq!(found["unit"], "µs");
    assert!(found["total"].as_u64().is_some_and(|us| us >= 290_000), "{found:#}");
    let functions = found["functions"].as_array().expect("a table");
    let sleeps = |row: &&Value| row["name"].as_str().is_some_and(|name| name.contains("nanosleep"));
    assert!(functions.iter().find(sleeps).is_some_and(|row| row["inclusive"]["estimate"].as_f64() > Some(0.8)));
}

#[test]
fn a_process_that_runs_is_sampled_until_time_is_up() {
    let place = place();
    let program = compile(&place, "shares.cpp", "shares", &POINTERS);
    let mut running = Command::new(program).arg("30").stderr(Stdio::null()).spawn().expect("it runs");
    let pid = running.id().to_string();
    // Until it computes, which may be late on a busy machine: nanoseconds on a CPU are the first number.
    let computed_ns = || -> u64 {
        let schedstat = fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("it runs");
        schedstat.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    while computed_ns() < 100_000_000 {
        std::thread::yield_now();
    }
    let answer = run(place.path(), &["profile", "--attach", &pid, "--for", "2s", "--json"]);
    running.kill().expect("it still runs");
    running.wait().expect("it is ours");
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(estimate(&answer.json(), "functions", "main", "inclusive") > 0.9);
    let gone = run(place.path(), &["profile", "--attach", &pid, "--for", "1s"]);
    assert_eq!(gone.code, Some(2));
    let expected = format!("error: cannot sample: there is no process {pid}\nhint: `pgrep NAME` finds PIDs");
    assert!(gone.stderr.starts_with(&expected), "{}", gone.stderr);
}

#[test]
fn slow_frames_of_a_replay_are_compared_with_the_others() {
    let place = place();
    let program = compile(&place, "frames.c", "frames", &["-O1", "-g", "-fno-omit-frame-pointer"]);
    let program = program.to_str().expect("a path");
    let recorded = run(place.path(), &["record", "-o", "x.demo", "--", program, "200"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let profile = |frames: &[&str]| {
        let arguments: Vec<&str> =
            ["profile", "--json", "--demo", "x.demo", "--repeat", "20"].iter().chain(frames).copied().collect();
        let answer = run(place.path(), &arguments);
        // Of few frames there are few samples.
        assert!(matches!(answer.code, Some(0 | 3)), "{}{}", answer.stdout, answer.stderr);
        answer.json()
    };
    let all = profile(&[]);
    // Every one of the twenty replays is sampled: one takes tens of milliseconds, and few would be those of two or three.
    assert!(all["samples"].as_u64() > Some(120), "{all:#}");
    assert!(estimate(&all, "functions", "main", "inclusive") > 0.5, "{all:#}");
    let slow = profile(&["--frames", "p96"]);
    assert!(estimate(&slow, "functions", "slow", "self") > 0.9, "{slow:#}");
    assert!(slow["frames"]["frames"].as_u64() < slow["frames"]["of_frames"].as_u64());
    let quick = profile(&["--frames", "0..19"]);
    assert!(estimate(&quick, "functions", "quick", "self") > 0.3, "{quick:#}");
    assert!(!quick.to_string().contains("\"slow\""), "{quick:#}");
}

#[test]
fn what_cannot_be_sampled_is_said_in_one_line() {
    let place = place();
    let nothing = run(place.path(), &["profile"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(2), ""));
    assert!(nothing.stderr.starts_with("error: expected something to sample, found nothing\nhint: "));
    let unknown = run(place.path(), &["profile", "--", "./no-such-program"]);
    assert_eq!(unknown.code, Some(2));
    assert_eq!(
        unknown.stderr,
        "error: cannot run `./no-such-program`: No such file or directory\nhint: give its path\n"
    );
    let failed = run(place.path(), &["profile", "--", "false"]);
    assert_eq!(failed.code, Some(3));
    assert!(failed.stderr.contains("warning: `false` failed: exit status: 1\n"), "{}", failed.stderr);
}

#[test]
fn files_that_cannot_be_written_are_reported_before_anything_is_sampled() {
    let place = place();
    let twice = run(place.path(), &["profile", "--flame", "a", "--folded", "a", "--", "./no-such-program"]);
    assert_eq!(twice.code, Some(2));
    assert_eq!(
        twice.stderr,
        "error: cannot write a: --folded and --flame both name it\nhint: give each a separate file\n"
    );
    let pipe = place.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    let replaced = run(place.path(), &["profile", "--force", "--flame", "pipe", "--", "./no-such-program"]);
    assert_eq!(replaced.code, Some(2));
    assert!(
        replaced.stderr.starts_with("error: cannot write pipe: expected a regular file or none"),
        "{}",
        replaced.stderr
    );
    assert!(!pipe.metadata().expect("it is left alone").is_file());
    assert_eq!(fs::read_dir(&place).expect("a directory").count(), 1, "nothing else is left behind");
}

#[test]
fn what_was_found_is_shown_even_if_a_file_of_it_cannot_be_written() {
    let place = place();
    fs::write(place.path().join("x.folded"), "srv;main;f 900\nsrv;main;g 100\n").expect("writable");
    let mut shell = Command::new("sh");
    // No file may grow beyond some kilobytes, as on a disk that is full.
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" profile show x.folded --flame x.svg --folded y.folded";
    let output = shell.args(["-c", script]).arg(program()).current_dir(&place).output().expect("sh runs");
    let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(shown.contains("n = 1,000 stack samples"), "{shown}");
    assert!(said.contains("error: cannot write x.svg: "), "{said}");
    assert!(place.path().join("y.folded").is_file() && !place.path().join("x.svg").exists());
}

#[test]
fn a_command_that_only_waits_gets_a_hint_where_to_look() {
    let place = place();
    let waits = run(place.path(), &["profile", "--off-cpu", "--", "sleep", "0.05"]);
    assert_eq!(waits.code, Some(3), "{}", waits.stderr);
    assert!(waits.stderr.contains("wait") && !waits.stderr.contains("stack sample"), "{}", waits.stderr);
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("it runs");
    let pid = sleeper.id().to_string();
    let idle = run(place.path(), &["profile", "--attach", &pid, "--for", "100ms"]);
    sleeper.kill().expect("it still runs");
    sleeper.wait().expect("it is ours");
    assert_eq!(idle.code, Some(3), "{}", idle.stderr);
    assert!(idle.stderr.contains("no stack samples: it used no CPU; --off-cpu shows"), "{}", idle.stderr);
}

const SCRIPT: &str = "server 7 1.0: cycles:\n\t  1 tick+0x1 (/srv)\n\t  2 main (/srv)\n\n";

#[test]
fn a_damaged_text_of_perf_gives_what_is_whole_of_it() {
    let place = place();
    let mut text = SCRIPT.repeat(150);
    text.push_str("garbage\nserver 7 1.0: cycles:\n\t  1 tick+0x1 (/s");
    fs::write(place.path().join("perf.txt"), text).expect("writable");
    let shown = run(place.path(), &["profile", "show", "perf.txt", "--flame", "x.svg"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.starts_with("perf.txt: 150 stack samples\n"), "{}", shown.stdout);
    assert!(shown.stderr.contains("2 lines skipped, because they cannot be read: 601, 603\n"), "{}", shown.stderr);
    assert!(shown.stderr.contains("ends in the middle of a stack, which is skipped"), "{}", shown.stderr);
    fs::write(place.path().join("binary"), b"\x7fELF\0\x01\n\xff\xfe").expect("writable");
    let refused = run(place.path(), &["profile", "fold", "binary"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.starts_with("error: cannot read binary: expected stacks, found something else in line 1\n"));
    // The file of perf itself: what prints it is named.
    fs::write(place.path().join("perf.data"), b"PERFILE2h\0\0\0binary").expect("writable");
    let refused = run(place.path(), &["profile", "show", "perf.data"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("perf script -i perf.data |"), "{}", refused.stderr);
}

#[test]
fn two_profiles_are_compared_function_by_function() {
    let place = place();
    fs::write(place.path().join("a"), "srv;main;f 900\nsrv;main;g 100\n").expect("writable");
    fs::write(place.path().join("b"), "srv;main;f 600\nsrv;main;g 100\nsrv;main;h 300\n").expect("writable");
    let answer = run(place.path(), &["profile", "diff", "a", "b", "--flame", "d.svg"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    insta::assert_snapshot!("diff", answer.stdout);
    let svg = fs::read_to_string(place.path().join("d.svg")).expect("written");
    assert!(svg.contains("h (300 samples, 30.00%; +30.00%)"), "{svg}");
}

#[test]
fn builds_in_files_of_other_names_are_compared_stack_by_stack() {
    let place = place();
    let a = "server-old;main;core::tick::h0123456789abcdef;f 790\nserver-old;main;g 210\nworker;idle 50\n";
    let b = "server-new;main;core::tick::hfedcba9876543210;f 560\nserver-new;main;g 440\nworker;idle 50\n";
    fs::write(place.path().join("a"), a).expect("writable");
    fs::write(place.path().join("b"), b).expect("writable");
    let answer = run(place.path(), &["profile", "diff", "a", "b", "--flame", "d.svg", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    let answer: Value = serde_json::from_str(&answer.stdout).expect("an answer in JSON");
    assert_eq!(answer["renamed"], serde_json::json!([{ "a": "server-old", "b": "server-new" }]));
    let functions = answer["functions"].as_array().expect("functions");
    let tick = functions.iter().find(|function| function["name"] == "core::tick").expect("one function of both builds");
    assert_eq!(tick["inclusive"]["samples"], serde_json::json!([790, 560]));
    assert_eq!(tick["self"]["samples"], serde_json::json!([0, 0]));
    assert!(tick["inclusive"]["growth"]["high"].as_f64() < Some(-0.1), "{tick}");
    assert_eq!((&tick["differs"], &answer["judged"]), (&Value::Null, &Value::Bool(false)), "of one run each");
    let svg = fs::read_to_string(place.path().join("d.svg")).expect("written");
    // The root is there once, and what did not change did not.
    assert!(svg.contains("server-old → server-new (1,000 samples, 95.24%; 0.00%)"), "{svg}");
    assert!(
        svg.contains("idle (50 samples, 4.76%; 0.00%)") && svg.contains("g (440 samples, 41.90%; +21.90%)"),
        "{svg}"
    );
}

#[test]
fn several_runs_of_each_build_are_files_of_a_directory() {
    let place = place();
    for (side, shares) in [("a", [300, 500, 400]), ("b", [500, 400, 600])] {
        fs::create_dir(place.path().join(side)).expect("writable");
        for (run, share) in shares.into_iter().enumerate() {
            let text = format!("srv;main;f {share}\nsrv;main;g {}\n", 1000 - share);
            fs::write(place.path().join(side).join(format!("{run}.folded")), text).expect("writable");
        }
    }
    let differs = |a: &str, b: &str| {
        let answer = run(place.path(), &["profile", "diff", a, b, "--json"]);
        assert_eq!(answer.code, Some(0), "{}", answer.stderr);
        let answer: Value = serde_json::from_str(&answer.stdout).expect("an answer in JSON");
        answer["functions"][0]["differs"].clone()
    };
    assert_eq!(differs("a/0.folded", "a/1.folded"), Value::Null, "one run cannot know how far runs lie apart");
    assert_eq!(differs("a", "b"), Value::Bool(false), "shares of one build lie as far apart");
    for run in 0..3 {
        fs::write(place.path().join(format!("a/{run}.folded")), "srv;main;f 300\nsrv;main;g 700\n").expect("writable");
        fs::write(place.path().join(format!("b/{run}.folded")), "srv;main;f 500\nsrv;main;g 500\n").expect("writable");
    }
    assert_eq!(differs("a", "b"), Value::Bool(true));
    let shown = run(place.path(), &["profile", "diff", "a", "b"]);
    assert!(shown.stdout.contains("3,000 and 3,000 stack samples, of 3 and 3 runs\n"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("intervals that exclude 0: 2 of 3 functions (*), at most 0.05 expected by chance"),
        "{}",
        shown.stdout
    );
    fs::create_dir(place.path().join("none")).expect("writable");
    let refused = run(place.path(), &["profile", "diff", "a", "none"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("cannot read none: expected a file for each run, found none"),
        "{}",
        refused.stderr
    );
}

#[test]
fn stored_stacks_are_shown_with_components_and_intervals() {
    let place = place();
    let folded = "drv;main;rx;swift_retain 320\ndrv;main;rx 400\ndrv;main;tx;swift_release 80\ndrv;main 200\n";
    fs::write(place.path().join("x.folded"), folded).expect("writable");
    let shown = run(
        place.path(),
        &["profile", "show", "x.folded", "--share", "rx=^rx$", "--share", "retain|release=swift_(retain|release)"],
    );
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    insta::assert_snapshot!("show", shown.stdout);
}

#[test]
fn zones_of_a_c_program_are_shown() {
    let place = place();
    let source = "\
#define PRONY_ZONES_IMPLEMENTATION
#include \"prony_zones.h\"
static char from[1 << 20], to[1 << 20];
int main(void) {
    for (int i = 0; i < 50; i++) {
        PRONY_ZONE(\"tick\");
        PRONY_ZONE_BYTES(\"copy\", sizeof to);
        memcpy(to, from, sizeof to);
        __asm__ volatile(\"\" : : \"r\"(to) : \"memory\");
    }
}
";
    let (file, program) = (place.path().join("x.c"), place.path().join("x"));
    fs::write(&file, source).expect("writable");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zones/include");
    let mut compiler = Command::new("gcc");
    compiler.args(["-O2", "-DPRONY_ZONES", "-pthread", "-I"]).arg(include).arg("-o").args([&program, &file]);
    assert!(compiler.status().expect("gcc is there").success());
    assert!(Command::new(&program).current_dir(&place).status().expect("it runs").success());
    let shown = run(place.path(), &["profile", "zones", "prony.zones", "--json"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let zones = &shown.json()["zones"];
    assert_eq!((&zones[0]["name"], &zones[1]["name"]), (&Value::from("tick"), &Value::from("copy")));
    assert_eq!((&zones[1]["hits"], &zones[1]["bytes"]), (&Value::from(50), &Value::from(50 << 20)));
    assert!(zones[1]["gb_per_s"].as_f64() > Some(0.1), "{zones}");
    let text = run(place.path(), &["profile", "zones", "prony.zones"]);
    assert!(text.stdout.contains("\n  tick ") && text.stdout.contains("\n    copy "), "{}", text.stdout);
    fs::write(place.path().join("cut"), "prony-zones 1\nclock 5").expect("writable");
    let cut = run(place.path(), &["profile", "zones", "cut"]);
    assert_eq!(cut.code, Some(2));
    assert!(cut.stderr.starts_with("error: cannot read cut: line 2: expected `clock TICKS NANOSECONDS`"));
}

#[test]
fn stacks_that_end_in_generated_code_are_counted() {
    let place = place();
    let program = compile(&place, "trampoline.c", "trampoline", &["-O2", "-fomit-frame-pointer"]);
    let program = program.to_str().expect("temporary paths are UTF-8");
    for flags in [&["--json"][..], &["--json", "--dwarf"]] {
        let answer = run(place.path(), &[&["profile"], flags, &["--", program, "0.5"]].concat());
        let json = answer.json();
        let samples = json["samples"].as_f64().expect("a number");
        let cut = json["sampled"]["stacks_from_generated_code"].as_f64().expect("a number");
        assert!(cut > 0.8 * samples && cut <= samples, "{cut} of {samples}: {answer:?}");
        assert!(
            answer.stderr.contains(" % of the stacks end in generated code: what called it is missing"),
            "{answer:?}"
        );
    }
    // Tables and pictures show the name of a file without its directories.
    let answer = run(place.path(), &["profile", "--flame", "page.svg", "--", program, "0.5"]);
    let svg = fs::read_to_string(place.path().join("page.svg")).expect("it was written");
    for text in [&answer.stdout, &svg] {
        assert!(text.contains("py::work:work.py") && !text.contains("/srv/app"), "{text}");
    }
}

#[test]
fn samples_are_taken_as_often_as_requested_and_as_many_functions_shown() {
    let place = place();
    let program = compile(&place, "shares.cpp", "shares", &["-O2", "-g"]);
    let program = program.to_str().expect("a path");
    let stacks = ["--freq", "250", "--dwarf", "--stack-bytes", "65000", "--folded", "x.folded", "--top", "1"];
    let answer = run(place.path(), &[&["profile"][..], &stacks, &["--", program, "1"]].concat());
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert!(answer.stdout.contains("250 Hz of CPU time") && answer.stdout.contains("1 of "), "{}", answer.stdout);
    for verb in
        [&["profile", "show", "x.folded", "--top", "2"][..], &["profile", "diff", "x.folded", "x.folded", "--top", "2"]]
    {
        let shown = run(place.path(), verb);
        let functions = shown.stdout.lines().filter(|line| line.starts_with("  ") && line.contains(" %  ")).count();
        assert_eq!((shown.code, functions), (Some(0), 3), "{verb:?}, with the head: {}{}", shown.stdout, shown.stderr);
    }
}

#[test]
fn all_of_the_machine_is_sampled_where_that_is_permitted() {
    let place = place();
    let answer = run(place.path(), &["profile", "--all", "--for", "300ms", "--json"]);
    match rustix::process::geteuid().is_root() {
        true => assert!(
            matches!(answer.code, Some(0 | 3)) && answer.json()["sampled"]["kernel"] == true,
            "{}",
            answer.stderr
        ),
        false => assert!(answer.code != Some(1), "{}", answer.stderr),
    }
}

#[test]
fn what_is_skipped_of_a_file_is_said_by_the_exit_code() {
    let place = place();
    let show = |name: &str, text: String| {
        fs::write(place.path().join(name), text).expect("writable");
        run(place.path(), &["profile", "show", name])
    };
    let lines = |odd: usize| "srv;main;f 90\nsrv;main;h 7\n".repeat(100) + &"srv;main;g\n".repeat(odd);
    assert_eq!(show("few.folded", lines(1)).code, Some(0));
    assert_eq!(show("many.folded", lines(10)).code, Some(3));
    let alone = show("alone.txt", SCRIPT.repeat(150) + &"server 7 1.0: cycles:\n\n".repeat(5));
    assert_eq!(alone.code, Some(3), "{}", alone.stderr);
    assert!(alone.stderr.contains("5 samples without a frame skipped"), "{}", alone.stderr);
    let difference = show("diff.folded", "srv;main;f 100 90\nsrv;main 2 0\n".to_owned());
    assert_eq!(difference.code, Some(2), "{}", difference.stderr);
    assert!(difference.stderr.contains("hint: `prony profile diff OLD NEW`"), "{}", difference.stderr);
    let fractions = show("fractions.folded", "srv;main;f 1000.5\nsrv;main;g 100\n".to_owned());
    assert_eq!(fractions.code, Some(0), "{}", fractions.stderr);
    assert!(fractions.stderr.contains("counts have fractions, so they are weights"), "{}", fractions.stderr);
}
