//! `prony count`: instructions of two builds on one demo, to the last one.

use crate::calls::compiled;
use prony_testing::CommandOutput;
use prony_testing::recording::Server;
use prony_testing::recording::{Stop, record, record_with};
use prony_testing::scratch::{Scratch, Turn, free_address, program, run};
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::Duration;

/// Answers that are recorded.
const QUESTIONS: usize = 60;

/// Asks until this number of answers is there, one after the other.
pub fn ask_for(answers: usize, address: SocketAddr, stop: &Stop) {
    let client = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    client.set_read_timeout(Some(Duration::from_millis(200))).expect("a time limit");
    let mut answered = 0;
    stop.until(|| {
        let _ = client.send_to(b"question", address);
        answered += usize::from(client.recv_from(&mut [0; 512]).is_ok());
        answered >= answers
    });
}

fn ask(address: SocketAddr, stop: &Stop) {
    ask_for(QUESTIONS, address, stop);
}

/// Records a server until it has answered.
fn record_answers(scratch: &Scratch, server: &Server, address: SocketAddr) {
    record_with(scratch, server, &[], |stop| {
        ask(address, stop);
        stop.interrupt();
    });
}

#[test]
fn one_round_more_in_a_function_is_found_and_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let [old, again, more] =
        [&["-g"][..], &["-g", "-fno-ident"], &["-g", "-DMORE=1"]].map(|flags| compiled(&scratch, "counted.c", flags));
    record(&scratch, &Server::new([old.as_str(), &port]), |stop| ask(address, stop));
    let [old, again, more] = [old, again, more].map(|build| format!("{build} {port}"));
    let count = |arguments: &[&str]| scratch.prony(&[&["count", "story.demo", "--runs", "2"], arguments].concat());

    // Another file with the same code.
    let equal = count(&[&old, &again, "--json"]);
    assert_eq!(equal.code, Some(0), "{equal:?}");
    let answer = equal.json();
    let compared = &answer["comparisons"][0];
    assert!(["equal", "same"].iter().any(|verdict| compared["verdict"] == *verdict), "{compared}");
    let of = |build: usize, symbol: &str| {
        let functions = answer["builds"][build]["functions"].as_array().expect("a list");
        let found = functions.iter().find(|one| one["symbol"] == symbol && one["object"] == "program");
        found.unwrap_or_else(|| panic!("no {symbol}"))["instructions"].clone()
    };
    for symbol in ["gather", "weigh"] {
        assert_eq!(of(0, symbol), of(1, symbol));
        assert_eq!(of(0, symbol)[0], of(0, symbol)[1], "it repeats");
    }

    // What the library runs at load, or has libc run while it answers, is not the server's: looking up names, waiting for turns.
    let functions = answer["builds"][0]["functions"].as_array().expect("a list");
    let of_library = ["_dl_addr", "do_sym", "syscall", "recvfrom", "sendto"];
    let counted = |symbol: &str| functions.iter().any(|one| one["symbol"] == symbol && one["object"] == "libc.so");
    assert_eq!(of_library.map(counted), [false; 5]);
    // Each question is read and answered once, besides those that were lost.
    let calls = answer["builds"][0]["calls"].as_array().expect("a list");
    let of =
        |name: &str| calls.iter().find(|call| call["name"] == name).unwrap_or_else(|| panic!("no {name}: {calls:?}"));
    let (read, sent) = (of("recvfrom"), of("sendto"));
    assert_eq!(read["calls"][0], read["calls"][1]);
    let received = read["bytes"][0].as_u64().expect("a number");
    assert!(received >= QUESTIONS as u64 * 8 && received.is_multiple_of(8), "{read}");
    assert_eq!(sent["calls"][0].as_u64(), Some(received / 8));
    assert!(sent["bytes"][0].as_u64() > Some(0), "{sent}");
    assert_eq!(compared["calls_differing"].as_array().map(Vec::len), Some(0), "{compared}");

    let found = count(&[&old, &more, "--json", "--fail-above", "0.001%"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let compared = &found.json()["comparisons"][0];
    assert_eq!(compared["verdict"], "more", "{compared}");
    let differing = compared["differing"].as_array().expect("a list");
    let own: Vec<&serde_json::Value> = differing.iter().filter(|one| one["object"] == "program").collect();
    assert_eq!(own.len(), 1, "{compared}");
    assert_eq!(own[0]["symbol"], "weigh", "{compared}");
    // A round is a load, an addition, a store and the end of the loop.
    let rounds = own[0]["difference"].as_i64().expect("a number");
    assert!(rounds >= 3 * QUESTIONS as i64 && rounds <= 10 * QUESTIONS as i64, "{rounds}");

    // The other way round it is fewer, which is no finding; and a limit may be above the difference.
    for arguments in [[more.as_str(), &old, "--fail-above", "0.001%"], [&old, &more, "--fail-above", "5%"]] {
        let output = count(&arguments);
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    let text = count(&[&old, &more, "--fail-above", "0.001%"]).stdout;
    assert!(text.contains("calls of hooked functions: the same, "), "{text}");
    assert!(text.contains("  weigh ") && text.contains("B runs "), "{text}");
    assert!(text.ends_with("a count is no time: it says nothing of caches, branches and waits\n"), "{text}");
}

#[test]
fn functions_are_counted_with_all_that_they_call() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-inclusive");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let [old, more] =
        [&["-g", "-DNESTED"][..], &["-g", "-DNESTED", "-DMORE=3"]].map(|flags| compiled(&scratch, "counted.c", flags));
    record_answers(&scratch, &Server::new([old.as_str(), &port]), address);
    let [old, more] = [old, more].map(|build| format!("{build} {port}"));
    let count = |arguments: &[&str]| {
        scratch.prony(&[&["count", "story.demo", "--inclusive", "--runs", "2"], arguments].concat())
    };

    let found = count(&[&old, &more, "--json"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let answer = found.json();
    assert_eq!(answer["counter"], "prony", "{answer}");
    let of = |list: &str, symbol: &str| {
        let functions = answer["builds"][1][list].as_array().expect("a list");
        let found = functions.iter().find(|one| one["symbol"] == symbol && one["object"] == "program");
        found.unwrap_or_else(|| panic!("no {symbol}"))["instructions"][0].as_u64().expect("a number")
    };
    let inclusive = |symbol: &str| of("inclusive", symbol);
    assert_eq!(["gather", "weigh"].map(inclusive), ["gather", "weigh"].map(|symbol| of("functions", symbol)));
    // Each of its calls inside itself counts once.
    assert_eq!(inclusive("descend"), of("functions", "descend") + inclusive("gather") + inclusive("weigh"));
    let total = answer["builds"][1]["instructions"][0].as_u64().expect("a number");
    assert!((inclusive("descend") + of("functions", "main")..total).contains(&inclusive("main")), "{answer}");

    // The path to what differs has the difference of its end.
    let compared = &answer["comparisons"][0];
    let difference = |list: &str, symbol: &str| {
        let changes = compared[list].as_array().expect("a list");
        let found = changes.iter().find(|one| one["symbol"] == symbol && one["object"] == "program");
        found.unwrap_or_else(|| panic!("no {symbol} in {compared}"))["difference"].as_i64().expect("a number")
    };
    let at_its_end = difference("differing", "weigh");
    for symbol in ["weigh", "descend", "main"] {
        assert_eq!(difference("inclusive_differing", symbol), at_its_end, "{compared}");
    }
    let differing = compared["differing"].as_array().expect("a list");
    assert!(differing.iter().all(|one| one["object"] != "program" || one["symbol"] == "weigh"), "{compared}");

    let [one, both] = [&[more.as_str()][..], &[&old, &more]].map(|builds| count(builds).stdout);
    for text in [one, both] {
        assert!(text.contains("  function and all that it calls ") && text.contains("  descend "), "{text}");
    }
    // Callgrind says the same, but for what prony's library runs around the calls that it answers.
    let again = count(&[&more, "--callgrind", "--json"]).json();
    assert_eq!(again["counter"], "callgrind", "{again}");
    let of_callgrind = again["builds"][0]["inclusive"].as_array().expect("a list").iter();
    let in_program = of_callgrind.filter(|one| one["object"] == "program");
    let of_callgrind =
        |symbol: &str| in_program.clone().find(|one| one["symbol"] == symbol).map(|one| &one["instructions"][0]);
    for symbol in ["gather", "weigh", "descend"] {
        assert_eq!(of_callgrind(symbol), Some(&inclusive(symbol).into()), "{symbol}");
    }
    let refused = count(&[&old, &more, "--frames"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn a_bench_by_time_counts_too_and_its_verdict_is_by_time() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-beside-times");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let [old, more] =
        [&["-g", "-DFRAMES"][..], &["-g", "-DFRAMES", "-DMORE=1"]].map(|flags| compiled(&scratch, "counted.c", flags));
    record_answers(&scratch, &Server::new([old.as_str(), &port]), address);
    let [old, more] = [old, more].map(|build| format!("{build} {port}"));
    let flags = ["bench", "--demo", "story.demo", "--count", "--runs", "2", "--margin", "50%"];
    let bench = |arguments: &[&str]| scratch.prony(&[&flags[..], arguments, &[&old, &more]].concat());

    let json = bench(&["--json"]).json();
    let counted = &json["counted"];
    assert_eq!((&json["pairs"], &counted["verdict"]), (&2.into(), &"more".into()), "{json}");
    assert_eq!(counted["demos"][0]["comparisons"][0]["differing"][0]["symbol"], "weigh", "{counted}");
    assert_eq!(counted["demos"][0]["builds"][0]["instructions"].as_array().map(Vec::len), Some(3), "{counted}");

    let said = bench(&["--export-markdown", "table.md", "--export-html", "page.html"]);
    assert_ne!(said.code, Some(2), "{said:?}");
    assert!(said.stdout.contains("\nstory.demo: instructions of the server's own code"), "{said:?}");
    let table = scratch.read("table.md");
    assert!(table.contains("\nCounted: ") && table.contains(" instructions, most of all in weigh\n"), "{table}");
    assert!(table.contains("<summary>story.demo: functions</summary>"), "{table}");
    let page = scratch.read("page.html");
    assert!(page.contains("Instructions") && page.contains("weigh"), "the page has a table of them");

    // On a machine without Valgrind, times are the answer.
    let mut without = scratch.command(&[&flags[..], &[&old, &more]].concat());
    let without = CommandOutput::to(without.env("PATH", "/nowhere"));
    assert_ne!(without.code, Some(2), "{without:?}");
    assert!(without.stderr.contains("warning: instructions were not counted: "), "{without:?}");
    assert!(without.stdout.contains("n = 2"), "{without:?}");
}

#[test]
fn a_bench_by_instructions_has_one_verdict_for_all_demos_and_files_for_ci() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-bench");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let [old, more] = [&["-g"][..], &["-g", "-DMORE=1"]].map(|flags| compiled(&scratch, "counted.c", flags));
    record(&scratch, &Server::new([old.as_str(), &port]), |stop| ask(address, stop));
    std::fs::copy(scratch.file("story.demo"), scratch.file("second.demo")).expect("there is room");
    let [old, more] = [old, more].map(|build| format!("{build} {port}"));
    let bench = |arguments: &[&str]| {
        let flags = ["bench", "--demo", "story.demo", "--metric", "instructions", "--runs", "2", "--margin", "0.001%"];
        scratch.prony(&[&flags[..], arguments].concat())
    };

    let files = ["--export-markdown", "table.md", "--export-junit", "tests.xml"];
    let found = bench(&[&["--demo", "second.demo", &old, &more][..], &files].concat());
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains(" runs more instructions than "), "{found:?}");
    assert!(found.stdout.contains(" on 2 of 2 demos\n"), "{found:?}");
    let table = scratch.read("table.md");
    assert!(table.starts_with("### prony: "), "{table}");
    assert!(table.contains("| `second.demo` |") && table.contains(" | more |"), "{table}");
    assert!(table.contains("<summary>story.demo: functions</summary>"), "{table}");
    let tests = scratch.read("tests.xml");
    assert!(tests.contains("tests=\"2\" failures=\"2\" errors=\"0\""), "{tests}");
    assert!(tests.contains("<failure type=\"more instructions\" message="), "{tests}");
    assert!(tests.contains(", most of all in weigh"), "{tests}");

    let fewer = bench(&[&more, &old, "--json"]);
    assert_eq!(fewer.code, Some(0), "{fewer:?}");
    let json = fewer.json();
    assert_eq!((&json["metric"], &json["verdict"]), (&"instructions".into(), &"fewer".into()), "{json}");
    assert_eq!(json["demos"][0]["comparisons"][0]["differing"][0]["symbol"], "weigh", "{json}");

    let diverged = bench(&[&old, "sleep 0", "--json", "--export-junit", "tests.xml"]);
    assert_eq!(diverged.code, Some(2), "{diverged:?}");
    assert!(
        diverged.json()["demos"][0]["error"].as_str().is_some_and(|error| error.contains("diverged")),
        "{diverged:?}"
    );
    assert!(scratch.read("tests.xml").contains("errors=\"1\""));
    for (arguments, message) in [
        (&["--export-csv", "x.csv", &old, &more][..], "--export-csv is for times"),
        (&[old.as_str()][..], "expected two builds for story.demo, found 1"),
    ] {
        let refused = bench(arguments);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(message), "{refused:?}");
    }
    let refused = scratch.prony(&["bench", "--metric", "instructions", "true"]);
    assert!(refused.stderr.contains("there is no --demo"), "{refused:?}");
    let refused = scratch.prony(&["bench", "--metric", "wall", "--demo", "story.demo", &old, &more]);
    assert!(refused.stderr.contains("judged by CPU time, or by --metric instructions"), "{refused:?}");
}

#[test]
fn a_frame_that_runs_more_is_named_with_its_function() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-frames");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let [old, more] = [&["-g", "-DFRAMES", "-DAT=7"][..], &["-g", "-DFRAMES", "-DAT=7", "-DMORE=9"]]
        .map(|flags| compiled(&scratch, "counted.c", flags));
    record(&scratch, &Server::new([old.as_str(), &port]), |stop| ask(address, stop));
    let [old, more] = [old, more].map(|build| format!("{build} {port}"));
    let count = |arguments: &[&str]| scratch.prony(&[&["count", "story.demo", "--frames"], arguments].concat());

    let alone = count(&[&old, "--runs", "1"]).stdout;
    for part in [
        "instructions a frame: min ",
        ", n = ",
        " before the first frame, ",
        "  gather ",
        "of each build",
        "one replay",
    ] {
        assert!(alone.contains(part), "{alone}");
    }
    let found = count(&[&old, &more, "--runs", "2", "--json", "--fail-above", "0.001%"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let answer = found.json();
    let ranges = answer["builds"][0]["frame_instructions"].as_array().expect("a list");
    assert!(ranges.len() >= QUESTIONS, "{ranges:?}");
    let in_frames: u64 = ranges.iter().map(|range| range[0].as_u64().expect("a number")).sum();
    assert_eq!(answer["builds"][0]["instructions"][0].as_u64(), Some(in_frames), "frames are all there is");
    let differing = answer["comparisons"][0]["frames_differing"].as_array().expect("a list");
    // Before the first question libc looks for the end of the program's name, which differs.
    let differing: Vec<_> = differing.iter().filter(|change| change["frame"] != 0).collect();
    assert_eq!(differing.len(), 1, "{differing:?}");
    assert_eq!(differing[0]["frame"], 8, "the first question is frame 1");
    assert_eq!(differing[0]["most"][0]["symbol"], "weigh");
    assert_eq!(differing[0]["most"][0]["difference"], differing[0]["difference"]);
    let text = count(&[&old, &more, "--runs", "2"]).stdout;
    assert!(text.contains("frames: B runs more in ") && text.contains("  weigh +"), "{text}");
}

#[test]
fn one_instruction_more_a_frame_is_found_in_one_replay() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-one");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let [old, more] =
        [&["-g", "-DFRAMES"][..], &["-g", "-DFRAMES", "-DNOP"]].map(|flags| compiled(&scratch, "counted.c", flags));
    record(&scratch, &Server::new([old.as_str(), &port]), |stop| ask(address, stop));
    let [old, more] = [old, more].map(|build| format!("{build} {port}"));
    let found = scratch.prony(&["count", "story.demo", &old, &more, "--runs", "1", "--json"]).json();
    let calls = found["builds"][0]["calls"].as_array().expect("a list");
    let answers = calls.iter().find(|call| call["name"] == "sendto").expect("it answers")["calls"][0].clone();
    let differing = found["comparisons"][0]["differing"].as_array().expect("a list");
    // Besides what libc makes of the program's path.
    let own: Vec<_> = differing.iter().filter(|one| one["object"] == "program").collect();
    assert_eq!(own.len(), 1, "{differing:?}");
    assert_eq!((&own[0]["symbol"], &own[0]["difference"]), (&"weigh".into(), &answers), "{differing:?}");
}

#[test]
fn misses_of_a_stride_and_mispredictions_are_found_and_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-events");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let [near, far, erratic] = [&["-g"][..], &["-g", "-DSTRIDE=16"], &["-g", "-DERRATIC"]]
        .map(|flags| compiled(&scratch, "counted_events.c", flags));
    record(&scratch, &Server::new([near.as_str(), &port]), |stop| ask(address, stop));
    let [near, far, erratic] = [near, far, erratic].map(|build| format!("{build} {port}"));
    let count = |arguments: &[&str]| scratch.prony(&[&["count", "story.demo", "--events"], arguments].concat());

    let found = count(&[&near, &far, &erratic, "--json"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    let answer = found.json();
    let sizes = answer["caches"].as_array().expect("a list").iter().map(|cache| cache["size_bytes"].clone());
    assert_eq!(sizes.collect::<Vec<_>>(), [32 << 10, 32 << 10, 8 << 20], "{}", answer["caches"]);
    assert_eq!(answer["builds"][0]["stack_moves"], true);
    let event = |place: usize, name: &str| {
        let events = answer["comparisons"][place]["events"].as_array().expect("a list");
        events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("no {name}: {events:?}")).clone()
    };
    // The stride adds no instruction. Of each line of a cache it reads one number in place of 16.
    assert_ne!(answer["comparisons"][0]["verdict"], "more", "{}", answer["comparisons"][0]);
    let misses = event(0, "d1_misses");
    let (verdict, most) = (&misses["verdict"], &misses["differing"][0]);
    assert_eq!((verdict, &most["symbol"]), (&"more".into(), &"walk".into()), "{misses}");
    let more = most["difference"].as_i64().expect("a number");
    let reads = QUESTIONS as i64 * 4096;
    assert!(more > reads * 9 / 10 && more < reads * 11 / 10, "{misses}");
    assert_ne!(event(0, "mispredictions")["verdict"], "more");
    // Branches without a pattern, of which the other builds have none.
    let mispredicted = event(1, "mispredictions");
    let most = &mispredicted["differing"][0];
    assert_eq!((&mispredicted["verdict"], &most["symbol"]), (&"more".into(), &"turn".into()), "{mispredicted}");
    assert!(most["difference"].as_u64() > Some(QUESTIONS as u64 * 1000 / 4), "{mispredicted}");
    assert_ne!(event(1, "d1_misses")["verdict"], "more");
    // Misses of a build are the sum of those of its functions, and repeat but for what the place of the stack does.
    let own = answer["builds"][1]["events"].as_array().expect("a list");
    let own = own.iter().find(|event| event["event"] == "d1_misses").expect("it is there");
    let functions = own["functions"].as_array().expect("a list");
    let sum: u64 = functions.iter().map(|one| one["counts"][0].as_u64().expect("a number")).sum();
    assert_eq!(Some(sum), own["counts"][0].as_u64(), "{own}");
    assert_eq!(own["counts"].as_array().map(Vec::len), Some(3));

    let text = count(&[&near, &far]).stdout;
    for part in
        ["simulated caches: I1 32 KiB of 8 ways, D1 32 KiB of 8 ways, LL 8 MiB of 16 ways", "  D1 misses ", "  walk "]
    {
        assert!(text.contains(part), "{text}");
    }
    assert!(
        text.ends_with("a count is no time: caches and branches are simulated, and waits are not counted\n"),
        "{text}"
    );
    let alone = count(&[&far, "--runs", "1"]).stdout;
    assert!(alone.contains(" % of data accesses\n") && alone.contains("one replay has no spread"), "{alone}");
    let bench =
        ["bench", "--demo", "story.demo", "--metric", "instructions", "--events", "--export-markdown", "table.md"];
    let bench = scratch.prony(&[&bench[..], &[&near, &far]].concat());
    assert_eq!(bench.code, Some(0), "{bench:?}");
    assert!(scratch.read("table.md").contains("  D1 misses "), "{}", scratch.read("table.md"));
}

#[test]
fn a_build_that_answers_with_its_environment_has_no_stack_moved() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-environment");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "counted_events.c", &["-DENVIRONMENT"]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let command = format!("{server} {port}");
    let output = scratch.prony(&["count", "story.demo", &command, "--runs", "2", "--events", "--json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let build = &output.json()["builds"][0];
    assert_eq!(build["stack_moves"], false, "{build}");
    assert_eq!(build["instructions"].as_array().map(Vec::len), Some(2), "{build}");
}

#[test]
fn variables_in_front_of_a_command_are_those_of_its_build() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-variables");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    // It answers whether a variable is there.
    let server = compiled(&scratch, "counted_events.c", &["-DENVIRONMENT"]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let [with, without] = ["PRONY_PADDING=1", "PRONY_OTHER='1 2'"].map(|set| format!("{set} {server} {port}"));
    let plain = format!("{server} {port}");
    let ran = |verb: &[&str], command: &[&str]| scratch.prony(&[verb, command].concat());
    for (first, command, code) in [("PRONY_OTHER=1 2", &without, 0), ("PRONY_PADDING=1", &with, 1)] {
        let replayed = ran(&["replay", "story.demo", "--"], &[first, &server, &port]);
        assert_eq!(replayed.code, Some(code), "{replayed:?}");
        for verb in [&["count", "story.demo", "--runs", "1"][..], &["bench", "--demo", "story.demo", "--runs", "2"]] {
            let compared = ran(verb, &[&plain, command]);
            // `getenv` passes one variable more.
            assert_eq!(compared.code == Some(2), code != 0, "{compared:?}");
            assert_eq!(compared.stderr.contains("diverged"), code != 0, "{compared:?}");
        }
    }
    // Without a demo, too.
    let compared = ran(&["bench", "--runs", "3"], &["A=1 sh -c 'test \"$A\" = 1'", "sh -c 'test -z \"$A\"'"]);
    assert_ne!(compared.code, Some(2), "{compared:?}");
    // Variables alone are no command.
    let alone = ran(&["bench", "--demo", "story.demo"], &["A=1", &plain]);
    assert!(alone.stderr.contains("`A=1`: command not found"), "{alone:?}");
}

/// Counts what was recorded by both tools, with code that is not what it was when it was translated; counts repeat.
fn is_counted_by_both(scratch: &Scratch, command: &str) {
    for tool in [&[][..], &["--callgrind"]] {
        let counted = scratch.prony(&[&["count", "story.demo", command, "--runs", "3", "--json"], tool].concat());
        assert_eq!(counted.code, Some(0), "{counted:?}");
        let answer = counted.json();
        let counts = answer["builds"][0]["instructions"].as_array().expect("a list");
        assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        // What the library does in a handler of its own is not the server's.
        let functions = answer["builds"][0]["functions"].as_array().expect("a list");
        assert!(functions.iter().all(|one| one["symbol"] != "kill"), "{functions:?}");
    }
}

#[test]
fn a_server_that_rewrites_its_code_is_counted() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-rewritten");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "rewritten.c", &[]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    is_counted_by_both(&scratch, &format!("{server} {port}"));
}

#[test]
fn a_plugin_that_reads_the_time_from_the_processor_is_counted() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-stamping");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let plugin = compiled(&scratch, "stamped.c", &["-shared", "-fPIC"]);
    let server = compiled(&scratch, "stamping.c", &[]);
    record(&scratch, &Server::new([server.as_str(), &port, &plugin]), |stop| ask(address, stop));
    is_counted_by_both(&scratch, &format!("{server} {port} {plugin}"));
}

#[test]
fn several_messages_of_a_call_count_all_their_bytes() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-messages");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "counted_messages.c", &[]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let output = scratch.prony(&["count", "story.demo", &format!("{server} {port}"), "--runs", "2", "--json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let calls = output.json()["builds"][0]["calls"].clone();
    let of = |name: &str, what: &str| {
        let calls = calls.as_array().expect("a list");
        let call = calls.iter().find(|call| call["name"] == name).unwrap_or_else(|| panic!("no {name}: {calls:?}"));
        assert_eq!(call[what][0], call[what][1], "{call}");
        call[what][0].as_u64().expect("a number")
    };
    // Each call answers one question, by datagrams of 7 and 5 bytes.
    let answered = of("sendmmsg", "calls");
    assert!(answered >= QUESTIONS as u64 / 2, "{calls}");
    assert_eq!(of("sendmmsg", "bytes"), answered * 12, "{calls}");
    // The server has room for 6 of the 8 bytes of a question, and calls that fail move nothing. The questions of the last call may be
    // unanswered when the recording ends: 4 at most.
    let received = of("recvmmsg", "bytes");
    assert!(received.is_multiple_of(6) && (answered..=answered + 4).contains(&(received / 6)), "{calls}");
}

#[test]
fn a_server_with_system_calls_past_libc_is_counted() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-raw");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "counted.c", &["-DRAW"]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let output = scratch.prony(&["count", "story.demo", &format!("{server} {port}"), "--runs", "1", "--json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.json()["builds"][0]["instructions"][0].as_u64() > Some(100_000));
}

#[test]
fn a_server_that_becomes_another_user_is_counted() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-user");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    // Any user may become itself.
    let own = std::fs::metadata("/proc/self").expect("it is there").uid();
    let user = if own == 0 { 65534 } else { own };
    let server = compiled(&scratch, "counted.c", &[&format!("-DUSER={user}")]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let output = scratch.prony(&["count", "story.demo", &format!("{server} {port}"), "--runs", "1", "--frames"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    // It waits in `recv`.
    assert!(output.stdout.contains("the demo has no frames"), "{output:?}");
}

#[test]
fn a_build_that_diverges_is_not_counted() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-diverge");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let old = compiled(&scratch, "counted.c", &[]);
    record(&scratch, &Server::new([old.as_str(), &port]), |stop| ask(address, stop));
    // It never asks for what the recorded server read.
    let output = scratch.prony(&["count", "story.demo", "--runs", "1", "sleep 0"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("`sleep 0` diverged from story.demo"), "{output:?}");
    assert!(output.stderr.contains("`prony replay story.demo -- sleep 0` shows where"), "{output:?}");
    let missing = scratch.prony(&["count", "story.demo", "--runs", "0"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
}

#[test]
fn what_handlers_threads_and_children_run_is_the_servers() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-places");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "counted_places.c", &["-g"]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let output = scratch.prony(&["count", "story.demo", &format!("{server} {port}"), "--runs", "2", "--json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let answer = output.json();
    let list = |what: &str| answer["builds"][0][what].as_array().expect("a list").clone();
    let (functions, calls) = (list("functions"), list("calls"));
    let answers = calls.iter().find(|call| call["name"] == "sendto").expect("it answers")["calls"][0].clone();
    let answers = answers.as_u64().expect("a number");
    let counts = ["in_handler", "behind_jump", "in_thread", "in_child"].map(|symbol| {
        let found = functions.iter().find(|one| one["symbol"] == symbol && one["object"] == "program");
        let [first, second] = [0, 1].map(|replay| {
            found.unwrap_or_else(|| panic!("no {symbol}"))["instructions"][replay].as_u64().expect("a number")
        });
        assert_eq!(first, second, "{symbol}");
        first
    });
    assert_eq!(counts, [counts[0]; 4]);
    assert!(counts[0] >= answers * 3000 && counts[0].is_multiple_of(answers), "{counts:?} of {answers} answers");
}

#[test]
fn what_threads_that_end_give_back_to_the_heap_is_there_for_the_next_turn() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-heap");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "counted_heap.c", &["-g", "-pthread"]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let output = scratch.prony(&["count", "story.demo", &format!("{server} {port}"), "--runs", "4", "--json"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let answer = output.json();
    let counts = answer["builds"][0]["instructions"].as_array().expect("a list");
    assert_eq!(counts.len(), 4);
    assert!(counts.iter().all(|count| count == &counts[0]), "{counts:?}");
}

/// Instructions of the first replay by object and function.
fn by_function(answer: &serde_json::Value) -> BTreeMap<(String, String), u64> {
    let functions = answer["builds"][0]["functions"].as_array().expect("a list");
    let text = |of: &serde_json::Value| of.as_str().expect("a name").to_owned();
    let count = |one: &serde_json::Value| one["instructions"][0].as_u64().expect("a number");
    functions.iter().map(|one| ((text(&one["object"]), text(&one["symbol"])), count(one))).collect()
}

#[test]
fn pronys_own_tool_counts_what_callgrind_counts() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-tool");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "counted.c", &["-g"]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let command = format!("{server} {port}");
    let count = |command: &str, arguments: &[&str]| {
        let output = scratch.prony(&[&["count", "story.demo", command, "--runs", "1", "--json"], arguments].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        output.json()
    };
    let (own, callgrind) = (count(&command, &[]), count(&command, &["--callgrind"]));
    assert_eq!([&own, &callgrind].map(|answer| answer["counter"].clone()), ["prony", "callgrind"]);
    assert_eq!(own["no_own_counter"], serde_json::Value::Null);
    let [own, callgrind] = [&own, &callgrind].map(by_function);
    let of =
        |counts: &BTreeMap<(String, String), u64>, symbol: &str| counts[&("program".to_owned(), symbol.to_owned())];
    for symbol in ["gather", "weigh"] {
        assert_eq!(of(&own, symbol), of(&callgrind, symbol), "{symbol}");
    }
    // Stubs of the linkage table are functions of their own here, and their callers' there.
    let by_object = |counts: &BTreeMap<(String, String), u64>| {
        let mut sums = BTreeMap::<String, u64>::new();
        for ((object, _), count) in counts {
            *sums.entry(object.clone()).or_default() += count;
        }
        sums
    };
    let [own_objects, objects] = [&own, &callgrind].map(by_object);
    assert_eq!(own_objects.keys().collect::<Vec<_>>(), objects.keys().collect::<Vec<_>>());
    assert_eq!(own_objects["program"], objects["program"]);
    for (object, count) in objects {
        // Callgrind loses the two instructions that return from a handler.
        assert!(
            (count..=count + count / 1000).contains(&own_objects[&object]),
            "{object}: {own_objects:?} for {count}"
        );
    }

    // Without symbols a function has the address at which it begins, wherever in it the blocks lie.
    let stripped = scratch.arg("stripped");
    run(Command::new("strip").args(["-o", &stripped, &server]));
    let symbols = run(Command::new("nm").arg(&server));
    let stripped = by_function(&count(&format!("{stripped} {port}"), &[]));
    for symbol in ["gather", "weigh"] {
        let line = symbols.lines().find(|line| line.ends_with(&format!(" {symbol}"))).expect("it has one");
        let address = u64::from_str_radix(&line[..16], 16).expect("an address");
        assert_eq!(of(&stripped, &format!("{address:#018x}")), of(&own, symbol), "{symbol} of {stripped:?}");
    }
}

#[test]
fn callgrind_counts_where_no_tool_can_be_built() {
    let _turn = Turn::take();
    let scratch = Scratch::new("counts-no-compiler");
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "counted.c", &[]);
    record(&scratch, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    let command = format!("{server} {port}");
    let arguments = ["count", "story.demo", &command, "--runs", "1"];
    let output = run(scratch.command(&arguments).env("CC", "no-such-compiler"));
    let line = "counted by Callgrind, which is slower than prony's own tool: `no-such-compiler` does not build it: ";
    assert!(output.contains(line), "{output}");
    let output = run(scratch.command(&[&arguments[..], &["--json"]].concat()).env("CC", "no-such-compiler"));
    let answer: serde_json::Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(answer["counter"], "callgrind");
    assert!(
        answer["no_own_counter"].as_str().is_some_and(|reason| reason.starts_with("`no-such-compiler`")),
        "{answer}"
    );
    // Caches are Callgrind's, with or without a compiler.
    let events = scratch.prony(&[&arguments[..], &["--events", "--json"]].concat()).json();
    assert_eq!((&events["counter"], &events["no_own_counter"]), (&"callgrind".into(), &serde_json::Value::Null));
}

#[test]
fn a_demo_whose_directory_is_gone_is_counted() {
    let _turn = Turn::take();
    let (scratch, recorded_in) = (Scratch::new("counts-moved"), Scratch::new("counts-gone"));
    program("/usr/bin/valgrind", "valgrind");
    let address = free_address();
    let port = address.port().to_string();
    let server = compiled(&scratch, "counted.c", &[]);
    record(&recorded_in, &Server::new([server.as_str(), &port]), |stop| ask(address, stop));
    std::fs::copy(recorded_in.file("story.demo"), scratch.file("moved.demo")).expect("there is room");
    drop(recorded_in);
    // Its working directory is made for the replay, over the temporary directory, to which the tool writes.
    let command = format!("{server} {port}");
    let output = scratch.prony(&["count", "moved.demo", &command, "--runs", "1", "--trust-demo", "--frames"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.contains("  gather "), "{output:?}");
}
