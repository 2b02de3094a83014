//! Several commands in one table, shells, numbers of runs, memory and throughput.

use serde_json::Value;

use crate::{compile_burn, scratch};

/// Shells that count so far that no noise hides who is first.
const COUNTS: &str = "i=0; while [ $i -lt {n} ]; do i=$((i+1)); done";

#[test]
fn several_commands_are_ranked_and_compared_with_the_fastest() {
    let scratch = scratch();
    let [long, short, none] = [COUNTS.replace("{n}", "30000"), COUNTS.replace("{n}", "9000"), ":".to_owned()];
    let arguments = ["bench", "--shell", "--runs", "20", "-n", "long", "-n", "short", "-n", "none"];
    let answer = scratch.prony(&[&arguments[..], &[&long, &short, &none]].concat());
    assert_eq!(answer.code, Some(0), "a ranking is no finding: {answer:?}");
    let rows: Vec<Vec<&str>> = answer.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    let order: Vec<&str> = rows[1..4].iter().map(|row| row[1]).collect();
    assert_eq!(order, ["none", "short", "long"], "{answer:?}");
    let verdicts: Vec<&str> = rows[1..4].iter().filter_map(|row| row.last().copied()).collect();
    assert_eq!(verdicts, ["fastest", "slower", "slower"], "{answer:?}");
    assert!(answer.stdout.contains("against the fastest [95 %]"), "{answer:?}");

    let json = scratch.prony(&[&arguments[..], &["--json", long.as_str(), &short, &none]].concat());
    let json = json.json();
    let places = json["ranking"]["places"].as_array().expect("there is a ranking");
    assert_eq!(places[0]["command"], "C", "{json}");
    assert_eq!((&places[0]["standing"], &places[0]["ratio"]), (&"fastest".into(), &1.0.into()), "{json}");
    for place in &places[1..] {
        let number = |key: &str| place[key].as_f64().expect("a number");
        assert!(1.0 < number("low") && number("low") <= number("ratio") && number("ratio") <= number("high"), "{json}");
    }
}

#[test]
fn a_reference_may_be_any_command_and_its_verdicts_set_the_exit_code() {
    let scratch = scratch();
    let (slow, fast) = (COUNTS.replace("{n}", "20000"), ":".to_owned());
    let compare = |reference: &str| {
        let arguments =
            ["bench", "--shell", "--runs", "20", "-n", "old", "-n", "new", "-n", "other", "--reference", reference];
        scratch.prony(&[&arguments[..], &[slow.as_str(), &fast, &fast]].concat())
    };
    let answer = compare("old");
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("against A [95 %]") && answer.stdout.contains("reference"), "{answer:?}");
    assert_eq!(answer.stdout.lines().filter(|line| line.ends_with("faster")).count(), 2, "{answer:?}");
    assert_eq!(compare("B").code, Some(1), "A is slower than B");
    let unknown = compare("nobody");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.stderr.contains("--reference: no command is called `nobody`"), "{unknown:?}");
    assert!(unknown.stderr.contains("hint: commands are A `old`, B `new`, C `other`"), "{unknown:?}");
}

#[test]
fn a_scan_is_no_failure_and_has_a_picture_and_its_names_everywhere() {
    let scratch = scratch();
    let answer = scratch.prony(&[
        "bench",
        "--shell",
        "--runs",
        "12",
        "--parameter-list",
        "n",
        "1,9000,30000",
        "-n",
        "count to {n}",
        "--svg",
        "scan.svg",
        "--html",
        "scan.html",
        "--export-json",
        "s.json",
        "--export-hyperfine",
        "h.json",
        "--export-csv",
        "t.csv",
        "--export-markdown",
        "t.md",
        COUNTS,
    ]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let svg = scratch.read("scan.svg");
    assert!(
        svg.starts_with("<svg ") && svg.contains(">n</text>") && svg.contains("count to {n}, n = 9,000: "),
        "{svg}"
    );
    assert_eq!(svg.matches("<use ").count(), 3, "{svg}");
    let html = scratch.read("scan.html");
    let parts = ["A count to 1 is the fastest", ">Ranking ", "CPU time along n ", ">Distribution ", ">Numbers "];
    let places = parts.map(|part| html.find(part).unwrap_or_else(|| panic!("{part}: {html}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(html.contains("count to {n}, n = 30,000: ") && html.contains("slower</td>"), "{html}");
    let hyperfine: Value = serde_json::from_str(&scratch.read("h.json")).expect("it is JSON");
    for (at, n) in ["1", "9000", "30000"].iter().enumerate() {
        let name = format!("count to {n}");
        assert_eq!(hyperfine["results"][at]["command"], name.as_str(), "{hyperfine}");
        assert_eq!(hyperfine["results"][at]["parameters"]["n"], *n);
        for file in ["s.json", "t.csv", "t.md"] {
            assert!(scratch.read(file).contains(&name), "{name} in {file}: {}", scratch.read(file));
        }
    }
    // One name without the parameter is distinguished by its values; several names are of the commands in turn.
    let answer = scratch.prony(&["bench", "--runs", "1", "-L", "n", "1,2", "-n", "echo", "echo {n}"]);
    assert!(answer.stdout.contains("echo n=1") && answer.stdout.contains("echo n=2"), "{answer:?}");
}

#[test]
fn stored_samples_are_compared_on_a_page() {
    let scratch = scratch();
    let long = COUNTS.replace("{n}", "20000");
    let measured = || {
        for (file, slow) in [("old.json", ":"), ("new.json", long.as_str()), ("same.json", ":")] {
            let flags = ["bench", "--shell", "--runs", "60", "-n", "start", "-n", "count", "--export-json", file];
            scratch.prony(&[&flags[..], &[":", slow]].concat());
        }
        scratch.prony(&["compare", "old.json", "new.json", "same.json", "--metric", "cpu", "--html", "page.html"])
    };
    // Where the machine is busy, samples depend on those before them, and nothing is decided: then it is measured again.
    let answer = (0..5).map(|_| measured()).find(|answer| answer.code == Some(1)).unwrap_or_else(measured);
    let html = scratch.read("page.html");
    assert!(html.contains("2 benchmarks of 3 files") && html.contains("tone bad"), "{answer:?} {html}");
    for part in
        [">new.json</th>", "data-name=\"same.json\"", "geometric mean", ">Changes ", ">Distributions ", ">Machines<"]
    {
        assert!(html.contains(part), "{part}: {html}");
    }
    // Two commands that ran in pairs have the page of their bench.
    scratch.prony(&["compare", "new.json", "--html", "page.html"]);
    let html = scratch.read("page.html");
    assert!(html.contains("A: start; B: count") && html.contains("Pairs in the order of time"), "{html}");
    assert_eq!(scratch.prony(&["compare", "old.json", "new.json", "--html", "no/such/page.html"]).code, Some(2));
}

#[test]
fn an_operator_without_a_shell_is_warned_of_with_the_line_that_works() {
    let scratch = scratch();
    let answer = scratch.prony(&["bench", "--runs", "1", "echo a > out"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(!scratch.file("out").exists(), "no shell ran it");
    let line = "warning: `echo a > out`: no shell runs it, so `>` is passed on as it is; in a shell: \
                prony bench --shell --runs 1 'echo a > out'";
    assert!(answer.stderr.lines().any(|said| said == line), "{answer:?}");
    for none in [&["-S", "none"][..], &["--shell=none"], &["-N"]] {
        let answer = scratch.prony(&[&["bench", "--runs", "1"], none, &["echo a > out"]].concat());
        assert!(answer.code == Some(0) && !answer.stderr.contains("no shell runs it"), "{none:?} {answer:?}");
    }
    assert!(!scratch.file("out").exists());
    let bash = scratch.prony(&["bench", "--runs", "1", "-S", "bash", "echo ${BASH_VERSION:?} > out"]);
    assert!(bash.code == Some(0) && scratch.file("out").exists(), "{bash:?}");
}

#[test]
fn runs_are_as_few_and_as_many_as_requested() {
    let scratch = scratch();
    let json = scratch
        .prony(&["bench", "--json", "-M", "5", "--max-time", "60", "--export-json", "s.json", "true", "true"])
        .json();
    assert_eq!((json["rounds"].as_u64(), json["commands"][0]["runs"].as_u64()), (Some(5), Some(5)), "{json}");
    // The file is judged by the same looks.
    let again = scratch.prony(&["compare", "--json", "s.json"]).json();
    let judged = &again["comparisons"][0]["judged"]["paired"];
    assert_eq!((&again["verdict"], judged["share"].as_f64()), (&json["verdict"], Some(1.0)), "{again}");
    let slow = COUNTS.replace("{n}", "20000");
    let json = scratch
        .prony(&["bench", "--json", "--shell", "-m", "40", "--max-time", "0.1", "--export-json", "s.json", ":", &slow])
        .json();
    assert_eq!(json["rounds"].as_u64(), Some(40), "time was up long before: {json}");
    let again = scratch.prony(&["compare", "--json", "s.json"]).json();
    assert_eq!(&again["verdict"], &json["verdict"], "{again}");
    let wrong = scratch.prony(&["bench", "-m", "5", "-M", "3", "true"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("expected --min-runs of at most --max-runs, found 5 and 3"), "{wrong:?}");
}

#[test]
fn a_command_longer_than_the_time_limit_is_reported_before_it_runs_twice() {
    let scratch = scratch();
    // The second run shows that the note was written before it.
    scratch.script("long", "test -e ran && echo second run >&2; : > ran; sleep 0.3");
    let answer = scratch.prony(&["bench", "--max-time", "0.2", "--output", "inherit", "./long"]);
    let note = answer.stderr.find("note: a run of `./long` takes ");
    let second = answer.stderr.find("second run").expect("it ran twice");
    assert!(note.is_some_and(|note| note < second), "{answer:?}");
    assert!(answer.stderr.contains("longer than the time limit of 0.20 s"), "{answer:?}");
    assert!(answer.stderr.contains(" holds a dozen runs of each command"), "{answer:?}");
    assert_eq!(answer.stderr.matches("note: ").count(), 1, "{answer:?}");
}

#[test]
fn memory_is_measured_reported_and_judged() {
    let scratch = scratch();
    compile_burn(&scratch);
    let commands = ["./burn -m 50 7500000", "./burn -m 80 12000000"];
    let arguments = ["bench", "--json", "--runs", "10", "--metric", "rss", "--export-json", "s.json"];
    let answer = scratch.prony(&[&arguments[..], &commands].concat());
    let json = answer.json();
    assert_eq!((answer.code, &json["verdict"], &json["metric"]), (Some(1), &"slower".into(), &"rss".into()), "{json}");
    let median = |at: usize| json["commands"][at]["rss_bytes"]["median"].as_f64().expect("it is known");
    assert!((25e6..40e6).contains(&(median(1) - median(0))), "{json}");
    let pct = json["estimate_pct"].as_f64().expect("a number");
    assert!((45.0..65.0).contains(&pct), "{json}");
    // Files keep it where prony and where pyperf look for it, and are judged by it.
    let stored: Value = serde_json::from_str(&scratch.read("s.json")).expect("it is JSON");
    let run = &stored["benchmarks"][1]["runs"][3];
    assert_eq!(run["metadata"]["command_max_rss"], run["prony"]["peak_rss_bytes"], "{run}");
    let again = scratch.prony(&["compare", "s.json"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stdout.contains("B is higher: +"), "{again:?}");
    let said = scratch.prony(&[&["bench", "--runs", "3"][..], &commands].concat()).stdout;
    let mut lines = said.lines();
    assert!(lines.next().is_some_and(|head| head.ends_with("  n  peak memory")), "{said}");
    assert!(lines.next().is_some_and(|a| a.starts_with("A  ") && a.ends_with(" MB")), "{said}");
    assert!(lines.any(|line| line.starts_with("  peak memory ")), "{said}");
}

#[test]
fn work_per_run_becomes_a_throughput() {
    let scratch = scratch();
    let json = scratch.prony(&["bench", "--json", "--runs", "9", "--items", "500", "sleep 0.05"]).json();
    let rate = &json["commands"][0]["throughput"];
    assert_eq!(rate["unit"], "items/s", "{json}");
    assert!(rate["value"].as_f64().is_some_and(|rate| (100.0..10_000.0).contains(&rate)), "{json}");
    let text =
        scratch.prony(&["bench", "--runs", "9", "--bytes", "1G", "sleep 0.05", "sleep 0.05", "sleep 0.06"]).stdout;
    assert!(text.contains("throughput") && text.contains(" GB/s"), "{text}");
}

#[test]
fn a_parameter_is_scanned_in_steps() {
    let scratch = scratch();
    let flags = ["bench", "--runs", "3", "--json", "--parameter-scan", "n", "1", "7", "--parameter-step-size", "3"];
    let answer = scratch.prony(&[&flags[..], &["true {n}"]].concat());
    let json = answer.json();
    let commands = json["commands"].as_array().unwrap_or_else(|| panic!("{answer:?}"));
    let values: Vec<&str> = commands.iter().filter_map(|command| command["parameters"]["n"].as_str()).collect();
    assert_eq!(values, ["1", "4", "7"], "{answer:?}");
}

#[test]
fn a_command_that_runs_before_all_others_needs_the_permission() {
    let scratch = scratch();
    let bench = scratch.prony(&["bench", "--runs", "3", "--fifo", "--export-json", "x.json", "true"]);
    let selftest = scratch.prony(&["selftest", "--fifo", "--comparisons", "2", "--max-time", "0.5s", "true"]);
    let has_permission = rustix::process::geteuid().is_root();
    for answer in [&bench, &selftest] {
        let refused = answer.code == Some(2) && answer.stderr.contains("SCHED_FIFO needs root");
        assert!(if has_permission { matches!(answer.code, Some(0 | 3)) } else { refused }, "{answer:?}");
    }
    if has_permission {
        let file = std::fs::read_to_string(scratch.file("x.json")).expect("it was written");
        assert!(file.contains("\"fifo_priority\":1"), "{file}");
    }
}

#[test]
fn commands_that_differ_in_what_comes_before_them_only_are_distinguished() {
    let scratch = scratch();
    let arguments = ["bench", "--runs", "8", "-L", "branch", "main,topic", "--prepare", "echo {branch}"];
    let answer = scratch.prony(&[&arguments[..], &["--export-markdown", "t.md", "true"]].concat());
    let table = std::fs::read_to_string(scratch.file("t.md")).expect("it was written");
    for branch in ["main", "topic"] {
        let name = format!("true (branch = {branch})");
        assert!(answer.stdout.contains(&name), "{answer:?}");
        assert!(table.contains(&format!("| `{name}` |")), "{table}");
    }
}

#[test]
fn a_command_follows_each_run() {
    let scratch = scratch();
    let conclude = "echo after >> steps";
    let flags = ["bench", "--runs", "3", "--warmup", "1", "--shell", "--prepare", "echo before >> steps"];
    let answer = scratch.prony(&[&flags[..], &["--conclude", conclude, "echo run >> steps"]].concat());
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let steps = std::fs::read_to_string(scratch.file("steps")).expect("commands have written it");
    assert_eq!(steps, "before\nrun\nafter\n".repeat(4));
    let failing = scratch.prony(&["bench", "--runs", "3", "-C", "exit 9", "true"]);
    assert!(failing.code == Some(2) && failing.stderr.contains("conclude"), "{failing:?}");
}

#[test]
fn exit_codes_are_accepted_by_their_numbers() {
    let scratch = scratch();
    let run = |flag: &str, code: &str| {
        let command = format!("exit {code}");
        scratch.prony(&["bench", "--runs", "2", "--shell", flag, &command])
    };
    assert_eq!(run("--ignore-failure=3,4", "4").code, Some(0));
    let other = run("--ignore-failure=3,4", "5");
    assert!(other.code == Some(2) && other.stderr.contains("found 5"), "{other:?}");
    for all in ["--ignore-failure", "-i", "--ignore-failure=all-non-zero"] {
        assert_eq!(run(all, "5").code, Some(0), "{all}");
    }
    let nonsense = run("--ignore-failure=x", "0");
    assert!(nonsense.code == Some(2) && nonsense.stderr.contains("expected exit codes"), "{nonsense:?}");
}

#[test]
fn tables_are_written_in_other_markup() {
    let scratch = scratch();
    let files = ["--export-asciidoc", "t.adoc", "--export-orgmode", "t.org"];
    let answer = scratch.prony(&[&["bench", "--runs", "2"], &files[..], &["true"]].concat());
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let read = |name: &str| std::fs::read_to_string(scratch.file(name)).expect("it was written");
    assert!(read("t.adoc").starts_with("[cols=\"<,>,>,>,>,>\", options=\"header\"]\n|===\n| Command\n"));
    assert!(read("t.org").contains("\n|--+--+--+--+--+--|\n| =true= | "), "{}", read("t.org"));
}

#[test]
fn flags_of_hyperfine_without_a_counterpart_say_what_to_do() {
    let scratch = scratch();
    let cases = [
        ("--time-unit", "--export-json and --export-csv have seconds"),
        ("--style", "no colours"),
        ("--sort", "--reference"),
    ];
    for (flag, expected) in cases {
        let answer = scratch.prony(&["bench", flag, "x", "true"]);
        assert!(answer.code == Some(2) && answer.stderr.contains(expected), "{flag}: {answer:?}");
    }
}
