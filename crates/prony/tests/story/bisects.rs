//! A history of a real server with planted changes, searched: `subjects/bisect`.

use std::path::Path;
use std::process::Command;

use prony_testing::CommandOutput;
use prony_testing::scratch::{Scratch, Turn, program, run};

/// Frames that the server runs: enough for a replay that verifies something.
pub const FRAMES: &str = "30";

/// A history with a demo that its first commit has recorded.
pub struct Story {
    pub scratch: Scratch,
}

impl Story {
    /// `flags`: those of `make-history`.
    pub fn new(name: &str, flags: &[&str]) -> Story {
        let scratch = Scratch::new(name).with_variable("XDG_CACHE_HOME", "cache");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/bisect/make-history");
        run(Command::new(script).arg(scratch.file("arena")).args(flags));
        let story = Story { scratch };
        story.git(&["checkout", "--quiet", "v1"]);
        run(Command::new("make").arg("--quiet").current_dir(story.scratch.file("arena")));
        let recorded = story.prony(&["record", "-o", "../arena.demo", "--", "./arena", FRAMES]);
        assert_eq!(recorded.code, Some(0), "{recorded:?}");
        story.git(&["checkout", "--quiet", "main"]);
        story
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        run(Command::new("git").args(arguments).current_dir(self.scratch.file("arena")))
    }

    fn prony(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::to(self.scratch.command(arguments).current_dir(self.scratch.file("arena")))
    }

    /// Searches from `v1` on, with flags after these.
    fn bisect(&self, build: &str, flags: &[&str]) -> CommandOutput {
        let mut arguments = vec!["bisect", "--demo", "../arena.demo", "--good", "v1", "--build", build];
        arguments.extend(flags);
        arguments.extend(["--", "./arena", FRAMES]);
        self.prony(&arguments)
    }

    /// Files, references and worktrees of the repository.
    fn state(&self) -> String {
        let lists: [&[&str]; 4] = [
            &["status", "--porcelain", "--ignored"],
            &["for-each-ref"],
            &["worktree", "list"],
            &["count-objects", "-v"],
        ];
        lists.map(|arguments| self.git(arguments)).concat()
    }
}

/// Positions, and what was found there, of the steps of an answer.
fn steps(answer: &serde_json::Value) -> Vec<(u64, String)> {
    let steps = answer["steps"].as_array().unwrap_or_else(|| panic!("no steps in {answer}"));
    let found = |step: &serde_json::Value| step["found"].as_str().unwrap_or_default().to_owned();
    steps.iter().map(|step| (step["position"].as_u64().unwrap_or(u64::MAX), found(step))).collect()
}

fn with_words(steps: &[(u64, &str)]) -> Vec<(u64, String)> {
    steps.iter().map(|&(position, found)| (position, found.to_owned())).collect()
}

#[test]
fn the_commit_that_diverges_is_found_beside_commits_that_do_not_build() {
    let _turn = Turn::take();
    let story = Story::new("bisect", &["--commits", "12", "--diverges", "8", "--broken", "6"]);
    // Neither this nor what is ignored is part of the search, and both stay.
    std::fs::write(story.scratch.file("arena/tuning.h"), "#error half done\n").expect("it is ours");
    let before = story.state();
    let answer = story.bisect("make", &[]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("is the first commit that diverges\n"), "{answer:?}");
    assert!(answer.stdout.contains("arena: fall faster (A. N. Author, 2026-01-01)"), "{answer:?}");
    assert!(answer.stdout.contains("skipped: does not build, exit code 2"), "{answer:?}");
    assert!(answer.stderr.contains("note: changes that are not committed are not part of the search"), "{answer:?}");
    assert_eq!(story.state(), before);

    // The same question again: nothing is built or replayed, and the answer is the same.
    let again = story.bisect("make", &["--json"]);
    let json = again.json();
    assert_eq!((again.code, &json["result"]), (Some(1), &"commit".into()), "{json}");
    assert_eq!(json["commits"][0]["subject"], "arena: fall faster", "{json}");
    let expected = [
        (0, "identical"),
        (12, "diverged"),
        (0, "identical"),
        (6, "not_built"),
        (3, "identical"),
        (9, "diverged"),
        (7, "identical"),
        (8, "diverged"),
    ];
    assert_eq!(steps(&json), with_words(&expected), "{json}");
    assert_eq!(json["resumed_steps"], expected.len(), "{json}");
    // Those of the commit and of the one before it.
    assert_eq!(json["trees"].as_array().map(Vec::len), Some(2), "{json}");
    let binary = Path::new(json["trees"][1].as_str().expect("a path")).join("arena");
    let replayed = story.prony(&["replay", "../arena.demo", "--", binary.to_str().expect("it is text"), FRAMES]);
    assert_eq!(replayed.code, Some(1), "{replayed:?}");
}

#[test]
fn a_killed_search_goes_on_where_it_was() {
    let _turn = Turn::take();
    let story = Story::new("bisect-killed", &["--commits", "9", "--diverges", "5"]);
    let flag = story.scratch.write("kill", "");
    // The build of the commit in the middle kills the search, once.
    let middle = story.git(&["rev-parse", "v3~5"]);
    let build = format!(
        "if [ -e {flag} ] && [ $(git rev-parse HEAD) = {} ]; then rm {flag}; kill -KILL $PPID; exit 1; fi; make",
        middle.trim()
    );
    let killed = story.bisect(&build, &["--json"]);
    assert_eq!(killed.signal, Some(9), "{killed:?}");
    let answer = story.bisect(&build, &["--json"]);
    let json = answer.json();
    assert_eq!((answer.code, &json["commits"][0]["subject"]), (Some(1), &"arena: fall faster".into()), "{json}");
    // Both ends were known; the commit whose build was killed is built again.
    assert_eq!(json["resumed_steps"], 3, "{json}");
    assert_eq!(steps(&json)[3], (4, "identical".to_owned()), "{json}");
    // Another question in the same directory has no answer from this log.
    let directory = story.scratch.arg("cache/prony/bisect");
    let found = std::fs::read_dir(directory).expect("it is there").next().expect("one search").expect("it can be read");
    let other = story.bisect("make", &["--dir", found.path().to_str().expect("it is text")]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.stderr.contains("the log of another search: its build command differs"), "{other:?}");
    let again = story.bisect("make", &["--dir", found.path().to_str().expect("it is text"), "--restart", "--json"]);
    assert_eq!((again.code, &again.json()["resumed_steps"]), (Some(1), &0.into()), "{again:?}");
}

#[test]
fn commits_around_the_change_that_do_not_build_remain_candidates() {
    let _turn = Turn::take();
    let story = Story::new("bisect-broken", &["--commits", "8", "--diverges", "5", "--broken", "4,5"]);
    let answer = story.bisect("make", &["--json"]);
    let json = answer.json();
    assert_eq!((answer.code, &json["result"]), (Some(3), &"one_of".into()), "{json}");
    let subjects = json["commits"].as_array().expect("a list").iter().map(|commit| commit["subject"].clone());
    assert_eq!(subjects.collect::<Vec<_>>(), ["arena: half of a merge", "arena: half of a merge", "docs: note 6"]);
}

#[test]
fn a_slowdown_is_found_if_nothing_diverges() {
    let _turn = Turn::take();
    // Far more than the machine's noise: how small a change may be is tested by simulation, in `prony-stats`.
    let flags = ["--commits", "6", "--slower", "4", "--looks", "400", "--diverges", "7"];
    let story = Story::new("bisect-slower", &flags);
    let answer = story.bisect("make", &["--max-time", "20s", "--replays", "2", "--json"]);
    let json = answer.json();
    assert_eq!((answer.code, &json["regression"]), (Some(1), &"slowdown".into()), "{json}");
    assert_eq!(json["commits"][0]["subject"], "arena: look around once more before sending", "{json}");
    assert!(json["effect"]["low"].as_f64().expect("an interval") > 0.0, "{json}");

    // Before that commit there is nothing to find.
    let none = story.bisect("make", &["--bad", "v3~4", "--find", "divergence", "--json"]);
    assert_eq!((none.code, &none.json()["result"]), (Some(0), &"none".into()), "{none:?}");
}

#[test]
fn a_commit_that_runs_more_instructions_is_found_and_its_function_named() {
    let _turn = Turn::take();
    program("/usr/bin/valgrind", "valgrind");
    let flags = ["--commits", "12", "--slower", "9", "--diverges", "13", "--broken", "6"];
    let story = Story::new("bisect-counts", &flags);
    let answer = story.bisect("make", &["--metric", "instructions"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("is the first commit that runs more instructions\n"), "{answer:?}");
    assert!(answer.stdout.contains("arena: look around once more before sending (A. N. Author"), "{answer:?}");
    assert!(answer.stdout.contains(" against the commit before it\n    +"), "{answer:?}");
    assert!(!answer.stdout.contains("error probability"), "{answer:?}");

    let again = story.bisect("make", &["--metric", "instructions", "--json"]);
    let json = again.json();
    assert_eq!((again.code, &json["regression"]), (Some(1), &"instructions".into()), "{json}");
    let effect = json["steps"].as_array().and_then(|steps| steps.last()).expect("a step");
    assert_eq!((&effect["purpose"], &effect["position"]), (&"effect".into(), &9.into()), "{json}");
    let [more, before] = ["instructions", "threshold"].map(|key| effect[key].as_u64().expect("a number"));
    // A round of 50 is 2 % of what looks around.
    assert!(more > before && more < before + before / 50, "{effect}");
    assert!(effect["functions"][0]["difference"].as_i64().is_some_and(|difference| difference > 0), "{effect}");

    // Before that commit there is nothing to find.
    let none = story.bisect("make", &["--metric", "instructions", "--bad", "v3~4", "--json"]);
    assert_eq!((none.code, &none.json()["result"]), (Some(0), &"none".into()), "{none:?}");
}

#[test]
fn ends_that_allow_no_search_are_named() {
    let _turn = Turn::take();
    let story = Story::new("bisect-ends", &["--commits", "3", "--diverges", "2", "--broken", "3"]);
    let failed = |flags: &[&str], build: &str| {
        let answer = story.bisect(build, flags);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        answer.stderr
    };
    let said = failed(&[], "make");
    assert!(said.contains("the bad commit") && said.contains("does not build: exit code 2"), "{said}");
    assert!(said.contains("#error \"half of a merge\"") && said.contains("hint: all of its output is in"), "{said}");
    let said = failed(&["--bad", "v3~1"], "true");
    assert!(said.contains("cannot replay the demo") && said.contains("hint: the command after `--`"), "{said}");
    let said = failed(&["--bad", "no-such-branch"], "make");
    assert!(said.contains("`no-such-branch` is not a commit"), "{said}");
    let said = failed(&["--bad", "v1"], "make");
    assert!(said.contains("`v1` and `v1` are the same commit"), "{said}");
    let said = failed(&["--dir", "scratch"], "make");
    assert!(said.contains("lies in the checkout"), "{said}");
    let said = failed(&["--bad", "v3~1", "--find", "slowdown"], "make");
    assert!(said.contains("diverges from the demo") && said.contains("use --find divergence"), "{said}");

    let flags = ["bisect", "--demo", "../arena.demo", "--good", "v3~1", "--bad", "v3~2", "--build", "make", "--"];
    let said = story.prony(&[&flags[..], &["./arena"]].concat()).stderr;
    assert!(said.contains("`v3~1` is not an ancestor of `v3~2`"), "{said}");
    let said = story.prony(&[&flags[..4], &["v1", "--build", "make", "--", "arena"][..]].concat()).stderr;
    assert!(said.contains("`arena` is the same program for every commit"), "{said}");
}

#[test]
fn a_step_of_a_ci_compares_both_builds() {
    let _turn = Turn::take();
    let flags = ["--commits", "2", "--slower", "1", "--looks", "400", "--diverges", "2"];
    let story = Story::new("ci-bench", &flags);
    for (commit, name) in [("v1", "old"), ("v2", "slow"), ("v3", "other")] {
        story.git(&["checkout", "--quiet", commit]);
        run(Command::new("make").args(["--quiet", "--always-make"]).current_dir(story.scratch.file("arena")));
        std::fs::copy(story.scratch.file("arena/arena"), story.scratch.file(name)).expect("it was built");
    }
    let by = |metric: &str, demos: &str, new: &str, fail_on: &str| {
        let (options, margin) = if metric == "time" { ("--warmup=0 --runs=12", "2%") } else { ("--runs=1", "0.01%") };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/ci-bench");
        let mut command = Command::new(script);
        command.current_dir(story.scratch.path()).env("XDG_STATE_HOME", story.scratch.file("state-home"));
        command.env("PRONY", prony_testing::program()).env("RUNNER_TEMP", story.scratch.path());
        command.env("DEMOS", demos).env("OLD", format!("./old {FRAMES}")).env("NEW", format!("./{new} {FRAMES}"));
        command.env("OPTIONS", options).env("MARGIN", margin).env("FAIL_ON", fail_on).env("METRIC", metric);
        command
            .env("GITHUB_OUTPUT", story.scratch.file("outputs"))
            .env("GITHUB_STEP_SUMMARY", story.scratch.file("summary"));
        CommandOutput::to(&mut command)
    };
    let of = |demos: &str, new: &str, fail_on: &str| by("time", demos, new, fail_on);
    let step = |new: &str, fail_on: &str| of("arena.demo\n", new, fail_on);
    program("/usr/bin/valgrind", "valgrind");
    let more = by("instructions", "arena.demo\n", "slow", "slower");
    assert_eq!(more.code, Some(1), "{more:?}");
    assert!(story.scratch.read("outputs").starts_with("verdict=more\njson="), "{more:?}");
    std::fs::remove_file(story.scratch.file("outputs")).expect("it was just read");
    let slower = step("slow", "slower");
    assert_eq!(slower.code, Some(1), "{slower:?}");
    assert!(story.scratch.read("outputs").starts_with("verdict=slower\njson="), "{slower:?}");
    assert!(story.scratch.read("summary").contains('|'), "{slower:?}");
    assert_eq!(step("slow", "never").code, Some(0));
    let diverged = step("other", "slower");
    assert_eq!(diverged.code, Some(2), "{diverged:?}");
    assert!(story.scratch.read("outputs").contains("verdict=failed\n"), "{diverged:?}");
    // Several demos: the verdict for all of them, of which the script, its outputs and its exit code say the same.
    std::fs::copy(story.scratch.file("arena.demo"), story.scratch.file("second.demo")).expect("there is room");
    let outputs = || {
        let outputs = story.scratch.read("outputs");
        outputs.lines().rfind(|line| line.starts_with("verdict=")).map(str::to_owned)
    };
    for (new, known) in [("slow", Some("slower")), ("old", None)] {
        let several = of("arena.demo\r\n\nsecond.demo\n", new, "slower");
        let json = several.json();
        assert_eq!(json["demos"].as_array().map(Vec::len), Some(2), "{json}");
        let verdict = json["verdict"].as_str().expect("a verdict for all demos").to_owned();
        assert!(known.is_none_or(|known| known == verdict), "{json}");
        assert_eq!(several.code, Some(i32::from(verdict == "slower")), "{several:?}");
        assert_eq!(outputs(), Some(format!("verdict={verdict}")), "{several:?}");
    }
    let diverged = of("arena.demo\nsecond.demo\n", "other", "slower");
    assert_eq!((diverged.code, outputs().as_deref()), (Some(2), Some("verdict=failed")), "{diverged:?}");
    let json = diverged.json();
    assert!(json["demos"][1]["error"].as_str().is_some_and(|error| error.contains("diverged")), "{json}");
    assert!(step("old", "sometimes").stderr.contains("expected slower, unclear or never"));
}
