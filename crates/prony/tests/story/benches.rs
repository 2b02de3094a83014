//! Builds compared on what one server once did.

use std::process::Output;

use crate::failures::{ANSWERS, Story, story_with};
use prony_testing::prony;
use prony_testing::scratch::Turn;

fn bench(story: &Story, flags: &[&str], builds: [&str; 2]) -> Output {
    let mut command = prony();
    command.args(["bench", "--demo"]).arg(&story.demo).args(flags);
    command.args(builds.map(|build| story.build(build).join(" "))).current_dir("/");
    command.output().expect("prony starts")
}

#[test]
fn two_builds_are_compared_frame_by_frame() {
    let _turn = Turn::take();
    let story = story_with("frames", &["--frame-on", "recvfrom"]);
    let samples = story.scratch.arg("samples.json");
    let output = bench(&story, &["--runs", "3", "--json", "--export-json", &samples], ["WORK=20000", "WORK=20200"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(answer["pairs"], 3, "{answer}");
    // The question that ends the server is answered by no frame.
    assert_eq!(answer["frames"]["frames"], ANSWERS, "{answer}");
    let verdict = answer["verdict"].as_str().expect("a verdict");
    let codes = [("faster", 0), ("same", 0), ("slower", 1), ("unclear", 3)];
    assert_eq!(
        output.status.code(),
        codes.iter().find(|(word, _)| *word == verdict).map(|&(_, code)| code),
        "{answer}"
    );
    let stored = std::fs::read_to_string(samples).expect("the samples were written");
    let stored: serde_json::Value = serde_json::from_str(&stored).expect("they are JSON");
    let frames = &stored["benchmarks"][1]["runs"][0]["prony"]["frame_ns"];
    assert_eq!(frames.as_array().map(Vec::len), Some(ANSWERS as usize), "{stored}");
}

#[test]
fn a_demo_of_few_frames_is_told_by_its_own() {
    let _turn = Turn::take();
    let story = story_with("few", &["--frame-on", "recvfrom"]);
    let output = bench(&story, &["--runs", "2"], ["WORK=20000", "WORK=20200"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(&format!(" s for its {ANSWERS} frames, n = 2")), "{said}");
    assert!(!said.contains("120,000"), "{said}");
}

#[test]
fn a_build_that_leaves_the_demo_is_not_compared() {
    let _turn = Turn::take();
    let story = story_with("leaves", &["--frame-on", "recvfrom"]);
    let output = bench(&story, &["--runs", "3"], ["WORK=20000", "OTHER_OUTPUT"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("diverged from") && said.contains("different output"), "{said}");
    assert!(said.contains("hint: builds can be compared only if both replay identically"), "{said}");
}

#[test]
fn replays_in_a_duet_do_the_same_frames_at_once() {
    let _turn = Turn::take();
    let story = story_with("duet", &["--frame-on", "recvfrom"]);
    let samples = story.scratch.arg("samples.json");
    let flags = ["--duet", "--runs", "3", "--json", "--export-json", &samples];
    let output = bench(&story, &flags, ["WORK=20000", "WORK=20200"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!((&answer["pairs"], &answer["frames"]["frames"]), (&3.into(), &ANSWERS.into()), "{answer}");
    assert!(answer["metrics"]["wall"].is_null(), "wall time is that of both: {answer}");
    let stored = std::fs::read_to_string(&samples).expect("the samples were written");
    let stored: serde_json::Value = serde_json::from_str(&stored).expect("they are JSON");
    let run = &stored["benchmarks"][0]["runs"][1];
    assert_eq!(run["values"][0], run["prony"]["cpu_s"], "{run}");
    assert!(run["prony"]["wall_s"].is_null(), "{run}");
}
