//! `prony limits` as it is run: measured for a moment, kept, shown, compared.

use std::fs;
use std::path::Path;
use std::process::Output;

use prony_testing::prony;
use serde_json::Value;
use tempfile::TempDir;

/// A home of its own, so that nothing of this machine's limits is read or replaced.
fn prony_in(home: &TempDir, arguments: &[&str]) -> Output {
    let mut command = prony();
    command.args(arguments).env("XDG_DATA_HOME", home.path()).current_dir(home.path());
    command.output().expect("the command is built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it says text")
}

/// Clocks alone, which takes a moment; whatever the machine does meanwhile, there is an answer.
fn measured(home: &TempDir, arguments: &[&str]) -> Output {
    let all = [&["limits", "clock", "--quick", "--seed", "1"], arguments].concat();
    let output = prony_in(home, &all);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    output
}

/// The only file below a directory.
fn kept(home: &TempDir) -> std::path::PathBuf {
    let directory = home.path().join("prony/limits");
    let mut files: Vec<_> =
        fs::read_dir(directory).expect("limits are kept").map(|entry| entry.expect("a file").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn limits_are_kept_under_the_fingerprint_and_shown_again() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let answer: Value = serde_json::from_slice(&measured(&home, &["--json"]).stdout).expect("an answer in JSON");
    let print = answer["fingerprint"].as_str().expect("a fingerprint");
    assert_eq!(kept(&home).file_stem().and_then(|name| name.to_str()), Some(print));
    let names: Vec<&str> =
        answer["figures"].as_array().expect("figures").iter().filter_map(|figure| figure["name"].as_str()).collect();
    assert!(names.contains(&"core") && names.contains(&"clock_gettime CLOCK_MONOTONIC"), "{names:?}");
    let shown: Value =
        serde_json::from_slice(&prony_in(&home, &["limits", "show", "--json"]).stdout).expect("an answer in JSON");
    let figures_of = |answer: &Value| -> Vec<(String, f64, u64)> {
        let figures = answer["figures"].as_array().expect("figures").iter();
        let figures = figures.map(|figure| {
            Some((figure["name"].as_str()?.to_owned(), figure["value"].as_f64()?, figure["n"].as_u64()?))
        });
        figures.collect::<Option<_>>().expect("names, values and how many")
    };
    assert_eq!(figures_of(&shown), figures_of(&answer));
    assert_eq!(shown["fingerprint"], answer["fingerprint"]);
}

#[test]
fn what_was_measured_before_stays_when_something_else_is_measured() {
    let home = tempfile::tempdir().expect("a scratch directory");
    measured(&home, &[]);
    let output = prony_in(&home, &["limits", "net", "--quick", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let answer: Value =
        serde_json::from_slice(&prony_in(&home, &["limits", "show", "--json"]).stdout).expect("an answer in JSON");
    let figures = answer["figures"].as_array().expect("figures");
    for experiment in ["clock", "net"] {
        assert!(figures.iter().any(|figure| figure["experiment"] == experiment), "{experiment}");
    }
}

#[test]
fn pyperf_samples_are_what_is_kept() {
    let home = tempfile::tempdir().expect("a scratch directory");
    measured(&home, &["-o", "limits.json"]);
    let output = prony_in(&home, &["stats", "limits.json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("clock: core"), "{output:?}");
    let again = prony_in(&home, &["limits", "clock", "--quick", "-o", "limits.json"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("file exists\nhint: use --force to overwrite it"), "{again:?}");
}

#[test]
fn nothing_kept_and_a_broken_file_say_what_to_do() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let output = prony_in(&home, &["limits", "show"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("no limits of this machine")
            && text(&output.stderr).contains("hint: run `prony limits`")
    );
    measured(&home, &[]);
    let path = kept(&home);
    let bytes = fs::read(&path).expect("limits are kept");
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("a scratch directory takes it");
    let output = prony_in(&home, &["limits", "show"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("hint: the file was truncated or altered: measure again"), "{output:?}");
    // What cannot be read is replaced, and said.
    let output = measured(&home, &[]);
    assert!(text(&output.stderr).contains("warning: stored limits are replaced"), "{output:?}");
    assert_eq!(prony_in(&home, &["limits", "show"]).status.code(), Some(0));
}

/// Samples of a command that does nothing, made by `prony bench` on this machine.
fn benched(home: &TempDir, amount: &[&str]) {
    let all = [&["bench", "--runs", "7", "--export-json", "run.json", "true"], amount].concat();
    let output = prony_in(home, &all);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_workload_of_another_machine_is_refused() {
    let home = tempfile::tempdir().expect("a scratch directory");
    measured(&home, &[]);
    benched(&home, &["--operations", "1"]);
    let path = home.path().join("run.json");
    let mut run: Value = serde_json::from_slice(&fs::read(&path).expect("samples")).expect("JSON");
    run["prony"]["machine"]["cpu"]["model"] = "Imaginary 9000".into();
    fs::write(&path, run.to_string()).expect("a scratch directory takes it");
    let output = prony_in(&home, &["limits", "compare", "run.json"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("error: cannot compare run.json: expected samples of machine"), "{said}");
    assert!(said.contains("(Imaginary 9000)\nhint: measure the limits there"), "{said}");
}

#[test]
fn a_workload_is_reported_as_shares_of_what_was_measured() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let output = prony_in(&home, &["limits", "net", "clock", "--quick"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    benched(&home, &["--operations", "1000"]);
    let output = prony_in(&home, &["limits", "compare", "run.json", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer in JSON");
    let workload = &answer["workloads"][0];
    assert_eq!(workload["share"], Value::Null, "ports were not measured, and nothing stands in for them");
    let rate = workload["value"].as_f64().expect("a rate");
    let shares = workload["shares"].as_array().expect("shares");
    assert!(shares.iter().any(|share| share["of"] == "system calls"), "{shares:?}");
    for share in shares {
        let (limit, reported) = (share["limit"].as_f64().expect("a limit"), share["share"].as_f64().expect("a share"));
        assert!((reported - rate / limit).abs() < 1e-9 * reported, "{share}");
    }
    let output = prony_in(&home, &["limits", "compare", "run.json"]);
    // The nearest twelve, and how many more there are.
    assert_eq!(text(&output.stdout).matches(" % of ").count(), shares.len().min(12), "{output:?}");
}

#[test]
fn samples_that_say_nothing_of_their_size_are_refused_with_the_flag_that_does() {
    let home = tempfile::tempdir().expect("a scratch directory");
    measured(&home, &[]);
    benched(&home, &[]);
    let output = prony_in(&home, &["limits", "compare", "run.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("hint: measure with `prony bench --bytes N"), "{output:?}");
}

#[test]
fn curves_are_files_and_a_cpu_that_is_not_there_is_an_error() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let output = prony_in(&home, &["limits", "branch", "--quick", "--svg", "curves"]);
    if cfg!(target_arch = "x86_64") {
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
        let svg = fs::read_to_string(home.path().join("curves/period.svg")).expect("a curve");
        assert!(svg.starts_with("<svg") && svg.contains("branches after which the pattern repeats"));
    }
    let output = prony_in(&home, &["limits", "clock", "--quick", "--cpu", "1000"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("cannot run on CPU 1000"), "{output:?}");
    assert!(
        !Path::new(&home.path().join("prony/limits"))
            .read_dir()
            .expect("a directory")
            .any(|entry| { entry.expect("a file").file_name().to_string_lossy().ends_with(".tmp") })
    );
}

#[test]
fn the_json_of_a_bench_has_its_share_of_the_limits() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let rates = |amount: &[&str]| {
        let output = prony_in(&home, &[&["bench", "--json", "--runs", "7", "true"], amount].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer in JSON");
        answer["rates"].clone()
    };
    assert_eq!(rates(&[]), Value::Null, "nobody said how much a run is");
    let unknown = rates(&["--operations", "1000"]);
    assert_eq!((&unknown[0]["unit"], &unknown[0]["share"]), (&Value::from("operations/s"), &Value::Null));
    // Others are no stand-in for what a core adds.
    let output = prony_in(&home, &["limits", "net", "clock", "--quick"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    assert_eq!(rates(&["--operations", "1000"])[0]["share"], Value::Null);
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let output = prony_in(&home, &["limits", "ports", "--quick", "--only", "add r, r"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let known = rates(&["--operations", "1000"]);
    let (rate, share) = (&known[0], &known[0]["share"]);
    assert_eq!((&rate["name"], &rate["n"]), (&Value::from("true"), &Value::from(7)));
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{known:#}"));
    assert!((number(&share["share"]) - number(&rate["value"]) / number(&share["limit"])).abs() < 1e-9, "{known:#}");
    assert!(share["of"] == "add r, r, side by side" && share["n"].as_u64() > Some(0), "{known:#}");
    // The same work, the same limit.
    benched(&home, &["--operations", "1000"]);
    let output = prony_in(&home, &["limits", "compare", "run.json", "--json"]);
    let compared: Value = serde_json::from_slice(&output.stdout).expect("an answer in JSON");
    assert_eq!(compared["workloads"][0]["share"]["of"], share["of"], "{compared:#}");
    let output = prony_in(&home, &["limits", "compare", "run.json"]);
    assert!(text(&output.stdout).lines().nth(1).is_some_and(|line| line.contains("% of add r, r, side by side")));
}

#[test]
fn a_store_without_such_limits_is_no_answer() {
    let home = tempfile::tempdir().expect("a scratch directory");
    measured(&home, &[]);
    benched(&home, &["--bytes", "1000"]);
    for arguments in [&["limits", "compare", "run.json"][..], &["limits", "compare", "run.json", "--json"]] {
        let output = prony_in(&home, arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(text(&output.stdout), "");
        let said = text(&output.stderr);
        assert!(
            said.contains("error: cannot compare `true` of run.json: expected limits of B/s, found none"),
            "{said}"
        );
        assert!(said.contains("hint: run `prony limits bandwidth`"), "{said}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_json_of_a_loop_has_its_listing() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let output = prony_in(&home, &["limits", "write", "--quick", "--only", "loop of dec, jnz", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer in JSON");
    let figures = answer["figures"].as_array().expect("figures");
    let of_loop = figures.iter().find(|figure| figure["name"] == "loop of dec, jnz").expect("it was measured");
    let lines = of_loop["listing"].as_array().expect("a listing");
    assert_eq!(lines.len(), 2, "{of_loop:#}");
    assert_eq!((&lines[0]["text"], &lines[0]["bytes"]), (&Value::from("dec rax"), &Value::from("48ffc8")));
    assert!(lines[1]["text"].as_str().is_some_and(|text| text.starts_with("jne short 0x")), "{of_loop:#}");
    assert_eq!(of_loop["loop_bytes"], 5);
}

#[test]
fn the_machine_code_behind_a_figure_is_shown_with_it() {
    let home = tempfile::tempdir().expect("a scratch directory");
    let measured = prony_in(&home, &["limits", "ports", "--quick", "--seed", "1", "--code"]);
    let shown = prony_in(&home, &["limits", "show", "ports", "--code"]);
    for output in [measured, shown] {
        let text = text(&output.stdout);
        let has_code = text.contains("bytes of code per iteration");
        assert_eq!(has_code, cfg!(target_arch = "x86_64"), "{output:?}");
    }
}
