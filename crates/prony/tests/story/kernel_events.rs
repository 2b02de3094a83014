//! `prony count --perf-event`: events that the kernel counts of a replay, of the server's own code alone.

use crate::calls::compiled;
use crate::counts::ask_for;
use prony_testing::recording::{Server, record};
use prony_testing::scratch::{Scratch, Turn, free_address};

/// Answers that are recorded, each of which ends a frame.
const QUESTIONS: u64 = 20;

/// Records a build that writes to 16 pages for an answer, and returns its command and that of one which writes to 24.
fn recorded(scratch: &Scratch, flags: &[&str]) -> [String; 2] {
    let address = free_address();
    let port = address.port().to_string();
    let [old, more] = ["-DPAGES=16", "-DPAGES=24"]
        .map(|pages| format!("{} {port}", compiled(scratch, "touched.c", &[flags, &[pages]].concat())));
    let words: Vec<&str> = old.split(' ').collect();
    record(scratch, &Server::new([words[0], words[1]]), |stop| ask_for(QUESTIONS as usize, address, stop));
    [old, more]
}

#[test]
fn page_faults_are_those_of_the_server_in_its_threads_and_children() {
    let _turn = Turn::take();
    for flags in [&[][..], &["-DIN_THREAD"], &["-DIN_CHILD"], &["-DIN_HANDLER"]] {
        let scratch = Scratch::new("kernel-events");
        let [old, more] = recorded(&scratch, flags);
        let found = scratch.prony(&["count", "story.demo", "--perf-event", "page-faults", "--json", &old, &more]);
        assert_eq!(found.code, Some(1), "{flags:?}: {found:?}");
        let answer = found.json();
        assert_eq!(
            (answer["counter"].as_str(), answer["perf_event"].as_str()),
            (Some("kernel"), Some("page-faults:u"))
        );
        assert_eq!(answer["self_test"]["expected"], 256, "{answer}");
        let calls = answer["builds"][0]["calls"].as_array().expect("a list");
        let questions = calls.iter().find(|call| call["name"] == "recvfrom").expect("a call")["calls"][0].as_u64();
        let questions = questions.expect("a number");
        assert!(questions >= QUESTIONS, "{answer}");
        let compared = &answer["comparisons"][0];
        assert_eq!(compared["verdict"], "more", "{compared}");
        // A fault of the rest of the server may be there or not: it reads memory that is shared with others.
        let difference = compared["difference"].as_u64().expect("a number");
        assert!(difference.abs_diff(8 * questions) <= 2, "{flags:?}: {compared}");
        assert_eq!(compared["differing"].as_array().map(Vec::len), Some(0), "functions are not known: {compared}");
        let least = answer["builds"][0]["instructions"][0].as_u64().expect("a number");
        assert!(least >= 16 * questions && least < 60 * questions, "{flags:?}: {answer}");
    }
}

#[test]
fn page_faults_of_a_frame_are_counted_with_it() {
    let _turn = Turn::take();
    let scratch = Scratch::new("kernel-event-frames");
    let [old, more] = recorded(&scratch, &[]);
    let found =
        scratch.prony(&["count", "story.demo", "--frames", "--perf-event", "page-faults:u", "--json", &old, &more]);
    let answer = found.json();
    let frames = |build: usize| {
        let frames = answer["builds"][build]["frame_instructions"].as_array().expect("a list");
        frames.iter().map(|range| range[0].as_u64().expect("a number")).collect::<Vec<u64>>()
    };
    // The first frame may have pages of code that runs for the first time, and the last has no answer.
    for (old, more) in frames(0).into_iter().zip(frames(1)).skip(2).take(QUESTIONS as usize - 3) {
        assert_eq!((old, more), (16, 24), "{answer}");
    }
    let own = scratch.prony(&["count", "story.demo", "--perf-event", "page-faults", "--fail-above", "2%", &old, &old]);
    assert_eq!(own.code, Some(0), "{own:?}");
    assert!(own.stdout.contains("page faults of the server's own code"), "{own:?}");
    assert!(own.stdout.contains("counted by the kernel (page-faults:u)"), "{own:?}");
}

#[test]
fn a_bench_by_an_event_of_the_kernel_names_it_everywhere() {
    let _turn = Turn::take();
    let scratch = Scratch::new("kernel-event-bench");
    let [old, more] = recorded(&scratch, &[]);
    let bench = |arguments: &[&str]| scratch.prony(&[&["bench", "--demo", "story.demo"], arguments].concat());
    let found =
        bench(&["--metric", "page-faults:u", &old, &more, "--export-markdown", "a.md", "--export-junit", "a.xml"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(scratch.read("a.md").contains(" has more page faults than "), "{}", scratch.read("a.md"));
    assert!(
        scratch.read("a.xml").contains(" more (+") && scratch.read("a.xml").contains(" page faults"),
        "{}",
        scratch.read("a.xml")
    );
    let found = bench(&["--metric", "page-faults:u", &old, &more, "--json"]);
    assert_eq!(found.json()["metric"], "page-faults:u", "{found:?}");
    let refused = bench(&["--metric", "page-faults:u", "--events", &old, &more]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let unknown = bench(&["--metric", "faults:u", &old, &more]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("page-faults"), "{unknown:?}");
}

#[test]
fn without_counters_of_the_processor_the_next_step_is_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("kernel-event-instructions");
    let [old, _] = recorded(&scratch, &[]);
    let counted = scratch.prony(&["count", "story.demo", "--perf-event", "instructions", &old]);
    if counted.code == Some(0) {
        assert!(counted.stdout.contains("self-test here: 1,000,000 counted as "), "{counted:?}");
        assert!(counted.stdout.contains("untested: "), "{counted:?}");
        return;
    }
    assert_eq!(counted.code, Some(2), "{counted:?}");
    assert!(counted.stderr.contains("the kernel cannot count instructions: "), "{counted:?}");
    assert!(counted.stderr.contains("under Valgrind"), "{counted:?}");
}
