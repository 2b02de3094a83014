//! `prony bench --demo --layouts`: builds in many layouts on what one server once did.

use crate::benches::Waking;
use prony_testing::prony;
use prony_testing::scratch::{Turn, program};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Layouts of each side: the fewest that there may be. As built, each side has √6 ≈ 2 replays a round.
const LAYOUTS: usize = 6;
const AS_BUILT: usize = 2;

/// Source of the recorded server.
fn source() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/calls/waking.c");
    path.canonicalize().expect("it is there").display().to_string()
}

fn gcc(macros: &str) -> String {
    format!("gcc -O2 {macros} -o {{program}} {}", source())
}

impl Waking {
    /// Two servers in many layouts on these demos, by their build commands.
    fn layouts(&self, demos: &[&str], flags: &[&str], builds: [&str; 2]) -> Output {
        let mut command = prony();
        command.args(["bench", "--layouts", &LAYOUTS.to_string(), "--seed", "4", "-n", "old", "-n", "new"]);
        command.args(demos.iter().flat_map(|demo| ["--demo", demo])).args(flags);
        command.args(builds.iter().flat_map(|build| ["--build", build]));
        command.args(["old-server", "new-server"].map(|name| format!("./{name} {}", self.port)));
        command.current_dir(self.scratch.path()).output().expect("prony starts")
    }
}

#[track_caller]
fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The code of the process that a verdict has.
fn code_of(verdict: &Value) -> Option<i32> {
    match verdict.as_str()? {
        "faster" | "same" => Some(0),
        "slower" => Some(1),
        _ => Some(3),
    }
}

#[test]
fn every_layout_is_replayed_and_code_and_layouts_are_apart() {
    let _turn = Turn::take();
    program("/usr/bin/gcc", "gcc libc6-dev");
    let waking = Waking::record("layouts");
    let builds = [gcc(""), gcc("-DWORK=4000000")];
    let builds = builds.each_ref().map(String::as_str);
    let [samples, tests] = ["samples.json", "tests.xml"].map(|name| waking.scratch.arg(name));
    let flags = ["--runs", "3", "--json", "--export-json", &samples, "--export-junit", &tests];
    let output = waking.layouts(&[&waking.demo], &flags, builds);
    let answer = json(&output);
    assert_eq!(output.status.code(), code_of(&answer["verdict"]), "{answer}");
    assert_eq!((&answer["layouts"], &answer["rounds"], &answer["complete"]), (&6.into(), &3.into(), &true.into()));
    assert_eq!((&answer["metric"], &answer["code"]["n"]), (&"cpu".into(), &LAYOUTS.into()), "{answer}");
    assert_eq!(answer["builds"]["n"], 3 * AS_BUILT, "{answer}");
    assert_eq!((&answer["judged_frames"]["kind"], &answer["error"]), (&"sending".into(), &Value::Null), "{answer}");
    for side in answer["sides"].as_array().expect("two sides") {
        assert!(side["this_layout"]["estimate_pct"].is_number() && side["deviation_pct"].is_number(), "{side}");
        assert_eq!((&side["linker"], &side["functions"]), (&"GNU ld".into(), &3.into()), "{side}");
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("note: 6 layouts detect "), "the plan is printed after three rounds: {said}");
    // What was not there before is there as built.
    assert!(waking.scratch.file("old-server").exists() && waking.scratch.file("new-server").exists());

    let stored: Value = serde_json::from_str(&waking.scratch.read("samples.json")).expect("JSON");
    let benchmarks = stored["benchmarks"].as_array().expect("a list");
    assert_eq!(benchmarks.len(), 2 * (1 + LAYOUTS), "{stored}");
    for (number, benchmark) in benchmarks.iter().enumerate() {
        let (side, layout) = (["old", "new"][number / (1 + LAYOUTS)], number % (1 + LAYOUTS));
        let of = if layout == 0 { "as built".to_owned() } else { format!("layout {layout}") };
        assert_eq!(benchmark["metadata"]["name"], format!("{side}, {of}"), "{benchmark}");
        let runs = benchmark["runs"].as_array().expect("a list");
        // The warm-up is a run without a value.
        let values = runs.iter().filter(|run| run["values"].as_array().is_some_and(|values| !values.is_empty()));
        assert_eq!(values.count(), if layout == 0 { 3 * AS_BUILT } else { 3 }, "{benchmark}");
    }
    let tests = waking.scratch.read("tests.xml");
    assert!(tests.contains("story.demo: new against old, in 6 layouts"), "{tests}");

    let [table, second] = ["table.md", "second.demo"].map(|name| waking.scratch.arg(name));
    fs::copy(&waking.demo, &second).expect("there is room");
    let flags = ["--runs", "2", "--warmup", "0", "--frames", "all", "--export-markdown", &table];
    let output = waking.layouts(&[&waking.demo, &second], &flags, builds);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["story.demo\n", "second.demo\n", "    code                ", "    builds as they are  "] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("frames that send"), "all frames were requested: {text}");
    let table = waking.scratch.read("table.md");
    assert!(
        table.contains("| demo | code | builds as they are | layout of `old` | layout of `new` | verdict |"),
        "{table}"
    );
    assert!(table.contains("| `second.demo` |") && table.contains(" over 6 layouts; "), "{table}");
}

#[test]
fn a_layout_that_diverges_is_named_with_its_seed() {
    let _turn = Turn::take();
    program("/usr/bin/gcc", "gcc libc6-dev");
    let waking = Waking::record("layouts-diverge");
    let plain = gcc("");
    // The fifth build is layout 4, and only that one answers otherwise.
    let fifth = format!("echo >> builds; {}", gcc("$([ $(wc -l < builds) = 5 ] && echo -DOTHER_OUTPUT)"));
    let output = waking.layouts(&[&waking.demo], &["--runs", "2", "--json"], [&plain, &fifth]);
    let answer = json(&output);
    assert_eq!((output.status.code(), &answer["verdict"]), (Some(2), &Value::Null), "{answer}");
    assert_eq!((&answer["code"], &answer["complete"]), (&Value::Null, &false.into()), "{answer}");
    let failed = &answer["failed"];
    assert_eq!((&failed["command"], &failed["layout"], &failed["diverged"]), (&"new".into(), &4.into(), &true.into()));
    let [seed, frame] = ["seed", "frame"].map(|key| failed[key].as_u64().expect("a number"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("error: `new`, layout 4 (seed {seed}), diverged from ")), "{said}");
    assert!(said.contains(&format!(" of frame {frame}: different output")), "{said}");
    assert!(said.contains("--seed 4 makes the same layouts again"), "{said}");

    // As built, it is the build; the other demo has its own verdict.
    fs::remove_file(waking.scratch.file("builds")).expect("it was written");
    let second = waking.scratch.arg("second.demo");
    fs::copy(&waking.demo, &second).expect("there is room");
    let other = gcc("-DOTHER_OUTPUT");
    let output = waking.layouts(&[&waking.demo, &second], &["--runs", "2", "--json"], [&other, &plain]);
    let answer = json(&output);
    assert_eq!((output.status.code(), &answer["verdict"]), (Some(2), &"unclear".into()), "{answer}");
    for demo in answer["demos"].as_array().expect("two demos") {
        let failed = &demo["failed"];
        assert_eq!((&failed["command"], &failed["layout"], &failed["seed"]), (&"old".into(), &0.into(), &Value::Null));
        assert!(demo["error"].as_str().is_some_and(|error| error.starts_with("`old`, as built, diverged")), "{demo}");
    }
}
