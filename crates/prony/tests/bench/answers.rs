//! What a bench answers, for programs so different that no noise can hide it.

use crate::{compile_burn, scratch};

/// A shell that counts far: hundreds of times what `true` takes.
const SLOW: &str = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";

#[test]
fn a_slower_command_is_a_finding_and_a_faster_one_is_good() {
    let scratch = scratch();
    let answer = scratch.prony(&["bench", "--json", "--shell", "--runs", "20", ":", SLOW]);
    let json = answer.json();
    assert_eq!((answer.code, json["verdict"].as_str(), json["pairs"].as_u64()), (Some(1), Some("slower"), Some(20)));
    let number = |key: &str| json[key].as_f64().unwrap_or_else(|| panic!("{key} in {json}"));
    assert!(0.0 < number("low_pct") && number("low_pct") <= number("estimate_pct"), "{json}");
    assert!(number("estimate_pct") <= number("high_pct") && number("seconds") > 0.0, "{json}");
    for metric in ["cpu", "wall"] {
        assert_eq!(json["metrics"][metric]["pairs"], 20, "{json}");
    }
    assert_eq!((json["commands"][1]["letter"].as_str(), json["commands"][1]["runs"].as_u64()), (Some("B"), Some(20)));
    let answer = scratch.prony(&["bench", "--shell", "--runs", "20", SLOW, ":"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("B is faster: "), "{answer:?}");
    assert!(answer.stdout.contains(", 20 pairs, "), "{answer:?}");
}

#[test]
fn a_page_shows_what_was_said_and_the_values_behind_it() {
    let scratch = scratch();
    let answer = scratch.prony(&["bench", "--shell", "--runs", "20", "--export-html", "p.html", ": '<b>'", SLOW]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let html = std::fs::read_to_string(scratch.path().join("p.html")).expect("it was written");
    for expected in ["B is slower: ", "Pairs in the order of time", "Distribution", "20 pairs", "&lt;b&gt;", "Machine"]
    {
        assert!(html.contains(expected), "{expected} is missing");
    }
    assert!(!html.contains("<b>'"), "names are text");
    let answer = scratch.prony(&["bench", "--runs", "3", "--export-html", "one.html", "true"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(scratch.path().join("one.html").exists());
    assert_eq!(scratch.prony(&["bench", "--runs", "3", "--export-html", "/no/such/p.html", "true"]).code, Some(2));
}

#[test]
fn two_threads_that_compute_and_then_sleep_longer_are_slower() {
    let scratch = scratch();
    compile_burn(&scratch);
    let compare = |more: &[&str]| {
        let commands = ["./burn -t 2 100000", "./burn -t 2 -s 100 100000"];
        scratch.prony(&[&["bench", "--runs", "12"], more, &commands].concat())
    };
    let answer = compare(&["--json", "--export-json", "s.json"]);
    let json = answer.json();
    assert_eq!(
        (answer.code, json["verdict"].as_str(), json["metric"].as_str()),
        (Some(1), Some("slower"), Some("wall"))
    );
    assert_eq!(json["judged"], serde_json::json!(["wall"]), "{json}");
    // The file is judged by the same, and by any other metric on request.
    assert_eq!(scratch.prony(&["compare", "s.json"]).code, Some(1));
    for metric in ["cpu", "wall"] {
        let judged = scratch.prony(&["compare", "--json", "--metric", metric, "s.json"]).json();
        assert_eq!(judged["comparisons"][0]["metric"], metric, "{judged}");
        assert_eq!(judged["comparisons"][0]["judged"]["paired"]["judged"], serde_json::json!([metric]), "{judged}");
        let stats = scratch.prony(&["stats", "--json", "--metric", metric, "s.json"]).json();
        assert_eq!(stats[0]["metric"], metric, "{stats}");
    }
    // Threads that run at once have no uncontended time. In a run of the shorter command they may not, on a busy machine.
    let answer = scratch.prony(&["stats", "--metric", "net", "s.json"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    let none = |command: &str| format!("no run of `{command}` has the metric `wall minus CPU wait`");
    let commands = ["./burn -t 2 100000", "./burn -t 2 -s 100 100000"];
    assert!(commands.iter().any(|command| answer.stderr.contains(&none(command))), "{answer:?}");
    let by_cpu = compare(&["--metric", "cpu", "--json", "--export-json", "cpu.json"]).json();
    assert_eq!((by_cpu["metric"].as_str(), &by_cpu["judged"]), (Some("cpu"), &serde_json::json!(["cpu"])));
    let by_speed = scratch.prony(&["compare", "--group-by-speed", "s.json"]);
    assert!(by_speed.stdout.starts_with("slower (1)\n"), "{by_speed:?}");
    let again = scratch.prony(&["compare", "--json", "cpu.json"]).json();
    assert_eq!((&again["comparisons"][0]["metric"], &again["verdict"]), (&by_cpu["metric"], &by_cpu["verdict"]));
    assert_eq!(compare(&["--metric", "speed"]).code, Some(2));
}

#[test]
fn the_judge_stops_before_the_time_is_up() {
    const MAX_TIME_S: f64 = 60.0;
    let scratch = scratch();
    let max_time = format!("{MAX_TIME_S}s");
    let json = scratch.prony(&["bench", "--json", "--shell", "--max-time", &max_time, ":", SLOW]).json();
    assert_eq!(json["verdict"], "slower");
    // At which look depends on this machine; `looks_come_at_their_shares_of_the_budget` in `stats` counts them.
    assert!(json["decided_after_s"].as_f64().is_some_and(|seconds| seconds < MAX_TIME_S), "{json}");
}

#[test]
fn too_few_pairs_are_unclear() {
    let scratch = scratch();
    let answer = scratch.prony(&["bench", "--runs", "2", "true", "true"]);
    assert_eq!(answer.code, Some(3), "{answer:?}");
    assert!(answer.stdout.contains(" (no interval) "), "{answer:?}");
    assert!(answer.stdout.contains("no verdict: 2 pairs, "), "{answer:?}");
}

#[test]
fn several_commands_are_compared_with_the_first() {
    let scratch = scratch();
    let arguments = ["bench", "--json", "--shell", "--runs", "20", "--parameter", "n=1,20000,40000"];
    let command = "i=0; while [ $i -lt {n} ]; do i=$((i+1)); done";
    let answer = scratch.prony(&[&arguments[..], &[command]].concat());
    let json = answer.json();
    assert_eq!((answer.code, json["verdict"].as_str()), (Some(0), None), "a scan is no failure: {json}");
    for (place, letter) in ["B", "C"].iter().enumerate() {
        let comparison = &json["comparisons"][place];
        assert_eq!((comparison["command"].as_str(), comparison["verdict"].as_str()), (Some(*letter), Some("slower")));
    }
    let answer = scratch.prony(&[&arguments[..], &["--reference", "A", command]].concat());
    assert_eq!((answer.code, answer.json()["reference"].as_str()), (Some(1), Some("A")), "{answer:?}");
    assert_eq!(json["commands"][2]["parameters"]["n"], "40000");
}

#[test]
fn one_command_alone_is_shown_with_its_spread() {
    let scratch = scratch();
    let answer = scratch.prony(&["bench", "--runs", "30", "true"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    for expected in ["true\n ", " median [95 %] ", "\n  wall ", "\n  CPU ", "  30\n", "█"] {
        assert!(answer.stdout.contains(expected), "{expected} is missing from {answer:?}");
    }
}

#[test]
fn everything_around_a_run_is_as_requested() {
    let scratch = scratch();
    scratch.script("run", "cat > out; echo run $1 >> log; echo said; echo talked >&2");
    std::fs::write(scratch.file("in"), "input\n").expect("the directory is writable");
    let answer = scratch.prony(&[
        "bench",
        "--runs",
        "2",
        "--warmup",
        "1",
        "--input",
        "in",
        "--output",
        "said",
        "--setup",
        "echo setup >> log",
        "--prepare",
        "echo prepare >> log",
        "--cleanup",
        "echo cleanup >> log",
        "./run now",
    ]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let log = scratch.read("log");
    let expected = ["setup", "prepare", "run now", "prepare", "run now", "prepare", "run now", "cleanup"];
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
    assert_eq!((scratch.read("out"), scratch.read("said")), ("input\n".to_owned(), "said\n".to_owned()));
    let answer = scratch.prony(&["bench", "--runs", "1", "--warmup", "0", "--show-output", "./run now"]);
    assert!(answer.stdout.starts_with("said\n") && answer.stderr.starts_with("talked\n"), "{answer:?}");
    // Far more than a pipe holds.
    let answer = scratch.prony(&["bench", "--runs", "1", "--output", "pipe", "head -c 1000000 /dev/zero"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
}

#[test]
fn surroundings_differ_from_round_to_round_and_not_within_one() {
    let scratch = scratch();
    scratch.script("look", "echo $1 ${#PRONY_PADDING} $PYTHONHASHSEED $(pwd | wc -c) >> seen");
    let path = scratch.file("seen").display().to_string();
    scratch.script("look", &format!("echo $1 ${{#PRONY_PADDING}} $PYTHONHASHSEED $(pwd | wc -c) >> {path}"));
    let arguments = ["bench", "--runs", "8", "--warmup", "0", "--random-directory", "--seed", "7"];
    scratch.prony(&[&arguments[..], &["./look a", "./look b"]].concat());
    let seen = scratch.read("seen");
    let lines: Vec<(&str, &str)> = seen.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(lines.len(), 16, "{seen}");
    let rounds: Vec<_> = lines.chunks_exact(2).collect();
    assert!(rounds.iter().all(|round| round[0].1 == round[1].1 && round[0].0 != round[1].0), "{seen}");
    let orders: std::collections::BTreeSet<&str> = rounds.iter().map(|round| round[0].0).collect();
    let surroundings: std::collections::BTreeSet<&str> = rounds.iter().map(|round| round[0].1).collect();
    assert_eq!((orders.len(), surroundings.len()), (2, 8), "{seen}");
}

#[test]
fn exports_are_whole_and_hold_every_run() {
    let scratch = scratch();
    let arguments = ["bench", "--runs", "5", "--export-json", "samples.json", "--export-hyperfine", "hyperfine.json"];
    let more = ["--export-markdown", "table.md", "--export-csv", "table.csv", "-n", "first", "true", "true"];
    scratch.prony(&[&arguments[..], &more].concat());
    let samples: serde_json::Value = serde_json::from_str(&scratch.read("samples.json")).expect("it is JSON");
    assert_eq!(samples["version"], "1.0");
    let benchmarks = samples["benchmarks"].as_array().expect("there are some");
    assert_eq!(benchmarks.len(), 2);
    for benchmark in benchmarks {
        let runs = benchmark["runs"].as_array().expect("there are some");
        assert_eq!(runs.len(), 6, "a warm-up and five runs: {benchmark}");
        assert!(runs[1]["prony"]["cpu_s"].as_f64().is_some_and(|seconds| seconds > 0.0), "{benchmark}");
    }
    let hyperfine: serde_json::Value = serde_json::from_str(&scratch.read("hyperfine.json")).expect("it is JSON");
    assert_eq!(hyperfine["results"][1]["times"].as_array().map(Vec::len), Some(5));
    assert!(scratch.read("table.md").contains("| `true` |"), "{}", scratch.read("table.md"));
    assert_eq!(scratch.read("table.csv").lines().count(), 3);
}

#[test]
fn a_selftest_counts_its_false_alarms() {
    let scratch = scratch();
    // A command so short that a busy machine, too, has time for pairs of it.
    let json = scratch.prony(&["selftest", "--json", "--comparisons", "3", "--max-time", "1s", "true"]).json();
    assert_eq!(json["comparisons"], 3, "{json}");
    assert_eq!(json["resolutions"].as_array().map(Vec::len), Some(3), "{json}");
    assert!(json["pair_deviation_pct"].as_f64().is_some_and(|percent| percent > 0.0), "{json}");
    let text = scratch.prony(&["selftest", "--comparisons", "2", "--max-time", "100ms", "true"]).stdout;
    assert!(text.starts_with("true against itself, 2 comparisons of up to 0.1 s: "), "{text}");
    let own = scratch.prony(&["selftest", "--comparisons", "2", "--max-time", "100ms"]).stdout;
    assert!(own.contains(" against itself, 2 comparisons of up to 0.1 s: "), "{own}");
}

#[test]
fn stored_pairs_are_described_and_checked_by_the_requested_metric() {
    let scratch = scratch();
    let stored = scratch.file("sleeps.json");
    let stored = stored.to_str().expect("it is text");
    let sleeps = "sleep 0.05";
    let measured = scratch.prony(&["bench", "--json", "--runs", "12", "--export-json", stored, sleeps, sleeps]).json();
    let stats = |flags: &[&str]| scratch.prony(&[&["stats", "--json", stored][..], flags].concat()).json();
    let (wall, cpu) = (stats(&[]), stats(&["--metric", "cpu"]));
    for at in 0..2 {
        assert_eq!((&wall[at]["metric"], &cpu[at]["metric"]), (&"wall".into(), &"cpu".into()), "{cpu}");
        let median = |stats: &serde_json::Value| stats[at]["median"]["estimate"].as_f64().expect("there are values");
        assert!(median(&wall) >= 0.05 && median(&cpu) < 0.05, "who sleeps computes little: {wall} {cpu}");
    }
    let check = |flags: &[&str]| scratch.prony(&[&["check", "--json", stored][..], flags].concat()).json();
    let (wall, cpu) = (check(&[]), check(&["--metric", "cpu"]));
    assert_ne!(wall, cpu, "it is not the same that is judged");
    let uncontended = scratch.prony(&["check", stored, "--metric", "net", "--margin", "1%"]);
    assert_eq!(uncontended.code == Some(2), measured["metrics"]["uncontended"].is_null(), "{uncontended:?} {measured}");
}

#[test]
fn both_ways_of_pairing_are_tried_on_the_first_command_with_itself() {
    let scratch = scratch();
    // One process with one thread, some 50 ms.
    let count = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    for said in [["--no-duet", "--max-time=500ms"], ["--duet", "--max-time=500ms"], ["--warmup=1", "--runs=3"]] {
        let json = scratch.prony(&[&["bench", "--json", "--shell"][..], &said, &[count, count]].concat()).json();
        assert!(json["pairing"].is_null(), "{said:?}: {json}");
    }
    let stored = scratch.file("stored.json");
    let stored = stored.to_str().expect("it is text");
    let bench =
        || scratch.prony(&["bench", "--json", "--shell", "--max-time=16s", "--export-json", stored, count, count]);
    // A warm-up that had to wait for a CPU, or took long, does not suit a trial. Where the kernel does not tell waits, none does.
    let fits = |json: &serde_json::Value| json["metrics"]["uncontended"].is_null() || !json["pairing"].is_null();
    let Some(json) = (0..4).map(|_| bench().json()).find(fits) else {
        eprintln!("no trial: all four warm-ups had to wait for a CPU");
        return;
    };
    let tried = &json["pairing"];
    assert!(tried.is_null() || !json["metrics"]["uncontended"].is_null(), "{json}");
    let text = std::fs::read_to_string(stored).expect("it was written");
    let at_once = tried["way"] == "at_once";
    assert!(tried.is_null() || at_once || tried["way"] == "in_turns", "{json}");
    // A machine that is busy enough has time for fewer pairs, of which no deviation is reported.
    for way in ["in_turns", "at_once"].map(|way| &tried[way]).iter().filter(|_| !tried.is_null()) {
        let pairs = way["pairs"].as_u64().expect("a number");
        assert_eq!(way["deviation_pct"].is_number(), pairs >= 3, "{json}");
        assert!(way["pair_s"].as_f64().is_some_and(|seconds| seconds > 0.0), "{json}");
    }
    // The samples say in which way they came, and hold no trial: each command has a warm-up at most, and its pairs.
    let spaceless: String = text.split_whitespace().collect();
    assert!(spaceless.contains(if at_once { "\"duet\":true" } else { "\"duet\":false" }), "{text}");
    assert_eq!(json["metrics"]["wall"].is_null(), at_once, "{json}");
    assert_eq!(json["commands"][0]["runs"], json["commands"][1]["runs"], "{json}");
    assert_eq!(json["commands"][0]["runs"], json["pairs"], "{json}");
}

#[test]
fn in_a_duet_both_commands_of_a_pair_run_at_once() {
    let scratch = scratch();
    // Each ends only when it has seen the other.
    let [a, b] =
        [["a", "b"], ["b", "a"]].map(|[own, other]| format!(": > {own}.here; until [ -e {other}.here ]; do :; done"));
    let arguments =
        ["bench", "--json", "--duet", "--shell", "--warmup", "0", "--runs", "3", "--prepare", "rm -f *.here"];
    let answer = scratch.prony(&[&arguments[..], &["--export-json", "duet.json", &a, &b]].concat());
    let json = answer.json();
    assert_eq!((json["pairs"].as_u64(), json["commands"][0]["metric"].as_str()), (Some(3), Some("cpu")), "{answer:?}");
    // They wait for each other: that is no contention, and their wall time is that of both.
    assert!(json["contention"].is_null() && json["metrics"]["wall"].is_null(), "{json}");
    assert!(json["metrics"]["cpu"]["pairs"] == 3 && json["metrics"]["uncontended"]["pairs"] == 3, "{json}");
    let again = scratch.prony(&["compare", "--json", "duet.json"]).json();
    assert_eq!(
        (&again["verdict"], &again["comparisons"][0]["judged"]["paired"]["pairs"]),
        (&json["verdict"], &3.into())
    );
}
