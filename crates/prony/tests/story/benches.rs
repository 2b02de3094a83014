//! Builds compared on what one server once did.

use std::process::Output;

use crate::calls::compiled;
use crate::failures::{ANSWERS, Story, ask, quit, story_with};
use prony_testing::prony;
use prony_testing::recording::{Server, record_with};
use prony_testing::scratch::{Scratch, Turn, free_address};
use serde_json::Value;

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
    assert!(said.contains("hint: builds can be compared as a whole only if neither diverges"), "{said}");
}

/// A recording of `waking.c`, which wakes up four times for nothing before each answer.
pub struct Waking {
    pub scratch: Scratch,
    pub port: String,
    pub demo: String,
}

impl Waking {
    pub fn record(name: &str) -> Waking {
        Waking::record_answers(name, ANSWERS)
    }

    fn record_answers(name: &str, answers: u32) -> Waking {
        let scratch = Scratch::new(name);
        let address = free_address();
        let port = address.port().to_string();
        let server = Server::new([compiled(&scratch, "waking.c", &[]), port.clone()]);
        let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
            assert!(ask(address, answers, stop), "the server answers");
            quit(address);
            // What comes before the server listens is lost.
            while answers == 0 && !stop.is_set() {
                std::thread::sleep(std::time::Duration::from_millis(20));
                quit(address);
            }
        });
        assert!(demo.exists(), "the recording left no demo: {recording}");
        Waking { port, demo: demo.display().to_string(), scratch }
    }

    fn build(&self, macros: &[&str]) -> String {
        format!("{} {}", compiled(&self.scratch, "waking.c", macros), self.port)
    }

    fn bench(&self, flags: &[&str], builds: [&[&str]; 2]) -> Output {
        let mut command = prony();
        command.args(["bench", "--demo", &self.demo, "-n", "old", "-n", "new"]).args(flags);
        command.args(builds.map(|macros| self.build(macros))).current_dir("/");
        command.output().expect("prony starts")
    }
}

#[track_caller]
fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Ten times the work in the frames that answer.
const SLOW: &[&str] = &["-DWORK=4000000"];

#[test]
fn frames_that_answer_are_judged_where_most_are_idle() {
    let _turn = Turn::take();
    let waking = Waking::record("waking");
    let samples = waking.scratch.arg("samples.json");
    let output = waking.bench(&["--runs", "12", "--json", "--export-json", &samples], [&[], SLOW]);
    let answer = json(&output);
    let judged = &answer["judged_frames"];
    assert_eq!((&judged["kind"], &judged["is_automatic"]), (&"sending".into(), &true.into()), "{answer}");
    let [sending, all] = ["frames", "of_frames"].map(|key| judged[key].as_u64().expect("a number"));
    assert!(sending >= u64::from(ANSWERS) && all > 4 * sending, "one frame in five answers: {judged}");
    assert_eq!(answer["frames"]["frames"], sending, "{answer}");
    assert_eq!((output.status.code(), &answer["verdict"]), (Some(1), &"slower".into()), "{answer}");
    let quantile = &answer["frames"]["quantiles"][0];
    let ratio = quantile["b_s"].as_f64().unwrap_or(0.0) / quantile["a_s"].as_f64().unwrap_or(1.0);
    assert_eq!(quantile["p"], 0.5, "{answer}");
    assert!(ratio > 2.0, "half of the work of an answer took ten times as long: {quantile}");
    // Judged again, the stored samples have the same answer: the file says which frames are judged.
    let again = prony().args(["compare", "--json", &samples]).output().expect("prony starts");
    let again = json(&again);
    let stored = again["comparisons"][0]["judged"]["paired"]["estimate"].as_f64().expect("an estimate");
    let told = answer["estimate_pct"].as_f64().expect("an estimate");
    assert!((stored.exp_m1() * 100.0 - told).abs() < 1e-9, "{again}");

    let all_of_them = json(&waking.bench(&["--runs", "2", "--json", "--frames", "all"], [&[], &[]]));
    assert_eq!((&all_of_them["judged_frames"], &all_of_them["frames"]["frames"]), (&Value::Null, &all.into()));
    for kind in ["receiving", "working"] {
        let answer = json(&waking.bench(&["--runs", "2", "--json", "--frames", kind], [&[], &[]]));
        assert_eq!(answer["judged_frames"]["kind"], kind, "{answer}");
        assert_eq!(answer["judged_frames"]["is_automatic"], false, "{answer}");
    }
    let text = waking.bench(&["--runs", "2"], [&[], &[]]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let first = text.lines().next().unwrap_or_default();
    assert!(first.contains(" frames that send, ") && first.ends_with("; --frames all takes each"), "{text}");
    assert!(text.contains("  CPU of other frames "), "{text}");
}

#[test]
fn a_build_that_diverges_is_timed_until_it_does() {
    let _turn = Turn::take();
    let waking = Waking::record("until");
    let other: &[&str] = &["-DWORK=4000000", "-DOTHER_OUTPUT"];
    let page = waking.scratch.arg("page.html");
    // Without warm-ups, the first pair shows that it diverges, and is none.
    for warmups in ["1", "0"] {
        let flags = ["--runs", "12", "--json", "--warmup", warmups, "--export-html", &page];
        let output = waking.bench(&flags, [&[], other]);
        let (answer, said) = (json(&output), String::from_utf8_lossy(&output.stderr).into_owned());
        assert_eq!((output.status.code(), &answer["verdict"]), (Some(2), &Value::Null), "{answer} {said}");
        let until = &answer["until_divergence"];
        let [frame, of] = ["frame", "of_frames"].map(|key| until[key].as_u64().expect("a number"));
        assert!(
            answer["error"].as_str().is_some_and(|error| error.contains(&format!("of frame {frame}:"))),
            "{answer}"
        );
        assert!(frame < of && of > 5 * u64::from(ANSWERS), "{until}");
        assert_eq!(
            (&until["build"], &until["verdict"], &until["pairs"]),
            (&"new".into(), &"slower".into(), &12.into())
        );
        // Frame 0 ends with the first wait, and is not timed.
        assert_eq!(answer["judged_frames"]["of_frames"], frame - 1, "{answer}");
        let note = format!("note: B diverged: the frames before are compared, until frame {frame} of {of}");
        assert!(said.contains(&note), "{said}");
        assert!(said.contains("error: `new` diverged from "), "{said}");
        let page = std::fs::read_to_string(&page).expect("the page was written");
        assert!(page.contains(&format!("until frame {frame} of {of}: B is slower: ×")), "the page has what is known");
    }
    let output = waking.bench(&["--runs", "2"], [other, &[]]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.starts_with("A diverged: the frames before are compared, until frame "), "{text}");
}

#[test]
fn a_profile_names_the_function_that_got_slower() {
    let _turn = Turn::take();
    let waking = Waking::record("functions");
    let [page, comment] = ["page.html", "comment.md"].map(|name| waking.scratch.arg(name));
    let flags = ["--runs", "12", "--profile", "--max-time", "5", "--export-html", &page, "--export-markdown", &comment];
    let output = waking.bench(&[&flags[..], &["--json"]].concat(), [&[], SLOW]);
    let answer = json(&output);
    let profile = &answer["profile"];
    let functions = profile["functions"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let think = &functions[0];
    assert_eq!((&think["name"], &think["differs"]), (&"think".into(), &true.into()), "{profile}");
    let share = think["share_of_total"].as_f64().expect("the totals differ");
    assert!((0.5..1.5).contains(&share), "it is all of the difference: {profile}");
    assert_eq!(profile["frames"], answer["judged_frames"]["frames"], "{answer}");
    assert_eq!(output.status.code(), Some(1), "{answer}");
    let page = std::fs::read_to_string(&page).expect("the page was written");
    assert!(page.contains("think") && page.contains("self time a frame"), "the page has the functions");
    let comment = std::fs::read_to_string(&comment).expect("the comment was written");
    assert!(comment.contains("  think "), "{comment}");

    let text = waking.bench(&["--runs", "2", "--profile", "--max-time", "2"], [&[], SLOW]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("  think ") && text.contains(" profiled replays of each build, "), "{text}");
}

#[test]
fn frames_of_a_kind_that_is_not_there_are_an_error() {
    let _turn = Turn::take();
    let waking = Waking::record_answers("no-answer", 0);
    let output = waking.bench(&["--runs", "2", "--frames", "sending"], [&[], &[]]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(" that send, found none in ") && said.contains("hint: --frames all"), "{said}");
    let answer = json(&waking.bench(&["--runs", "2", "--json"], [&[], &[]]));
    assert_eq!(answer["judged_frames"], Value::Null, "without a request, all are judged: {answer}");
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
    for part in ["| `second.demo` | ", "| geometric mean |  |  | ×", "<details><summary>second.demo: frames</summary>"]
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
