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
fn a_demo_of_few_frames_is_reported_by_its_own() {
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

#[test]
fn several_demos_have_one_table_and_one_verdict() {
    let _turn = Turn::take();
    let story = story_with("several", &["--frame-on", "recvfrom"]);
    let [second, samples, comment, junit] =
        ["second.demo", "samples.json", "comment.md", "junit.xml"].map(|name| story.scratch.arg(name));
    std::fs::copy(&story.demo, &second).expect("the demo is there");
    let files = ["--demo", &second, "--export-json", &samples, "--export-markdown", &comment, "--export-junit", &junit];
    let run = |more: &[&str], builds: [&str; 2]| {
        let mut command = prony();
        command.args(["bench", "--demo"]).arg(&story.demo).args(files).args(["-n", "old", "-n", "new", "--runs", "12"]);
        command.args(more).args(builds.map(|build| story.build(build).join(" "))).current_dir("/");
        command.env("GITHUB_ACTIONS", "true").output().expect("prony starts")
    };
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));

    let output = run(&["--json", "--max-time", "60"], ["WORK=20000", "WORK=200000"]);
    let said = String::from_utf8_lossy(&output.stderr);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let demos = answer["demos"].as_array().expect("a demo each");
    assert_eq!((output.status.code(), answer["verdict"].as_str()), (Some(1), Some("slower")), "{answer} {said}");
    assert_eq!(demos.len(), 2, "{answer}");
    for demo in demos {
        // Ten times the work; each demo has half of the error.
        assert_eq!((&demo["verdict"], &demo["alpha"]), (&"slower".into(), &0.025.into()), "{demo}");
    }
    assert!(answer["geometric_mean"]["low_pct"].as_f64().is_some_and(|low| low > 0.0), "{answer}");
    let annotations = said.lines().filter(|line| line.starts_with("::error title=prony bench%3A ")).count();
    assert_eq!(annotations, 2, "{said}");
    let comment = read(&comment);
    assert!(comment.starts_with("### prony: `new` is slower than `old` on 2 of 2 demos\n"), "{comment}");
    for part in ["| `second.demo` | ", "| geometric mean |  |  | +", "<details><summary>second.demo: frames</summary>"]
    {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    let cases = read(&junit);
    assert!(cases.contains("tests=\"2\" failures=\"2\" errors=\"0\" skipped=\"0\""), "{cases}");
    // The file holds both measurements, each with its own pairs.
    let again = prony().args(["compare", "--json", &samples]).output().expect("prony starts");
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).expect("it is JSON");
    let compared = again["comparisons"].as_array().expect("there are some");
    assert_eq!(compared.len(), 2, "{again}");
    for one in compared {
        let name = |side: &str| one[side]["benchmark"].as_str().expect("a name").to_owned();
        assert_eq!(name("a").replace(": old", ""), name("b").replace(": new", ""), "{again}");
        assert_eq!(one["judged"]["paired"]["pairs"], 12, "{again}");
    }

    let output = run(&[], ["WORK=20000", "OTHER_OUTPUT"]);
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(text.lines().filter(|line| line.ends_with("diverged")).count(), 2, "{text}");
    assert!(text.contains("B diverged on 2 of 2 demos") && said.contains("diverged from"), "{text} {said}");
    assert!(read(&junit).contains("errors=\"2\""), "{}", read(&junit));
}
