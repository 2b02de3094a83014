//! `prony study import`, `effects`, `diff` and `history`: the real command on tables made from a seed with known effects.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use prony_stats::Seed;
use serde_json::Value;
use tempfile::TempDir;

/// Six machines; the engine gains less on the fifth, which meets it with a smaller cache.
const MACHINES: [&str; 6] = ["m1", "m2", "m3", "m4", "m5", "m6"];
/// Engine, game library, plugin layer; each with the first of its three demos.
const CONFIGURATIONS: [([&str; 3], usize); 6] = [
    (["stock", "stock", "stock"], 1),
    (["stock", "stock", "new"], 1),
    (["tidy", "stock", "stock"], 1),
    (["tidy", "stock", "new"], 1),
    (["fast", "stock", "new"], 4),
    (["fast", "new", "new"], 7),
];

/// A table as people make them: six of twelve configurations, demos of their own from the third engine on, and cells left
/// empty that repeat what stands above. `slower`: what the last configuration costs more.
fn table(seed: u64, slower: f64) -> String {
    let mut seed = Seed::new(seed);
    let mut even = || (seed.bits() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    let mut text = String::from("Engine;Game;Plugins;Demo N;CPU;Duration, msec;Frames\n");
    let own: Vec<f64> = (0..10).map(|_| 1.0 + 0.04 * even()).collect();
    for ([engine, game, plugins], first) in CONFIGURATIONS {
        let mut above = ["", "", "", ""];
        for demo in first..first + 3 {
            let frames = 120_000 + 500 * demo;
            for (machine, name) in MACHINES.into_iter().enumerate() {
                let engine_gain = match engine {
                    "stock" => 1.0,
                    "tidy" => 1.9 - if machine == 4 { 0.25 } else { 0.0 },
                    _ => (1.9 - if machine == 4 { 0.25 } else { 0.0 }) * 1.11,
                };
                let plugin_gain = match (plugins, engine) {
                    ("stock", _) => 1.0,
                    (_, "stock") => 1.22,
                    _ => 1.29,
                };
                let game_gain = if game == "new" { 1.07 / slower } else { 1.0 };
                let frame_ms = (3.0 + machine as f64) * own[demo] * (1.0 + 0.01 * even());
                let duration = frame_ms * frames as f64 / engine_gain / plugin_gain / game_gain;
                let number = demo.to_string();
                let cells = [engine, game, plugins, number.as_str()];
                let shown: Vec<&str> =
                    cells.iter().zip(above).map(|(&cell, above)| if cell == above { "" } else { cell }).collect();
                let _ = writeln!(text, "{};{name};{duration:.0};{frames}", shown.join(";"));
                above = [engine, game, plugins, ""];
                // The demo is named where it begins only.
                above[3] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"][demo - 1];
            }
        }
    }
    text.push_str(";;;;;;\n");
    text
}

struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Sandbox {
        Sandbox(tempfile::tempdir().expect("a scratch directory"))
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("a scratch directory takes it");
    }

    /// Standard output, standard error and the exit code of `prony study …`.
    fn study(&self, arguments: &[&str]) -> (String, String, i32) {
        let mut command = prony_testing::prony();
        let output = command.arg("study").args(arguments).current_dir(self.0.path()).output();
        let output = output.expect("the command is built");
        let text = |bytes| String::from_utf8(bytes).expect("it says text");
        (text(output.stdout), text(output.stderr), output.status.code().expect("it ended by itself"))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let (out, err, code) = self.study(arguments);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: exit code {code}, {err}"))
    }

    /// Imports a table made from a seed.
    fn import(&self, directory: &str, seed: u64, slower: f64) {
        self.write("table.csv", &table(seed, slower));
        let (_, err, code) =
            self.study(&["import", "table.csv", "-o", directory, "--normalise-to", "120000", "--title", "engines"]);
        assert_eq!(code, 0, "{err}");
    }
}

fn effect<'a>(answer: &'a Value, factor: &str, to: &str, given: Option<(&str, &str)>) -> &'a Value {
    let effects = answer["effects"].as_array().expect("it is a list");
    let wanted = |effect: &&Value| {
        let same = match given {
            Some((factor, level)) => effect["given"][factor] == level,
            None => effect["given"].is_null(),
        };
        effect["factor"] == factor && effect["to"] == to && same
    };
    effects.iter().find(wanted).unwrap_or_else(|| panic!("no effect of {factor} to {to} in {answer:#}"))
}

fn near(effect: &Value, key: &str, expected: f64, within: f64) {
    let found = effect[key].as_f64().unwrap_or(f64::NAN);
    assert!((found - expected).abs() <= within, "{key}: {found}, expected {expected} ± {within}");
}

#[test]
fn columns_are_guessed_and_reported() {
    let place = Sandbox::new();
    place.write("table.csv", &table(1, 1.0));
    let (out, err, code) = place.study(&["import", "table.csv", "-o", "found"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        out,
        "found: 108 cells on 6 machines and 9 workloads\n  \
           metric  duration in second for 120,000 frames, lower is better\n  \
           factors Engine: stock, tidy, fast\n          \
                   Game: stock, new\n          \
                   Plugins: stock, new\n"
    );
    assert_eq!(
        err,
        "factor    `Engine` (guessed)\nfactor    `Game` (guessed)\nfactor    `Plugins` (guessed)\n\
         workload  `Demo N` (guessed)\nmachine   `CPU` (guessed)\nvalue     `Duration, msec` (guessed)\n\
         frames    `Frames` (guessed)\n"
    );
    let (_, err, code) = place.study(&["import", "table.csv", "-o", "found"]);
    assert_eq!(code, 2);
    assert_eq!(err, "error: cannot write found/results.json: file exists\nhint: use --force to overwrite it\n");
}

#[test]
fn effects_that_were_put_in_come_out() {
    let place = Sandbox::new();
    place.import("found", 2, 1.0);
    let answer = place.json(&["effects", "found", "--json"]);
    let plugins = effect(&answer, "Plugins", "new", None);
    near(plugins, "min_pct", 22.0, 1.5);
    near(plugins, "max_pct", 29.0, 1.5);
    assert_eq!(
        (&plugins["pairs"], &plugins["machines"], &plugins["over"]),
        (&36.into(), &6.into(), &"machines".into())
    );
    near(effect(&answer, "Plugins", "new", Some(("Engine", "tidy"))), "usual_pct", 29.0, 1.0);
    let tidy = effect(&answer, "Engine", "tidy", Some(("Plugins", "stock")));
    near(tidy, "usual_pct", 90.0, 1.5);
    near(tidy, "min_pct", 65.0, 1.5);
    near(&tidy["per_machine"], "m5", 65.0, 1.5);
    let fast = &effect(&answer, "Engine", "fast", None);
    assert_eq!((&fast["workloads"], &fast["pairs"]), (&"different".into(), &6.into()));
    let bounds = |key: &str| fast[key].as_f64().expect("it has bounds");
    assert!(fast["other_workloads_pct"][0].as_f64().is_some_and(|low| low < bounds("low_pct")));
    let game = effect(&answer, "Game", "new", None);
    let edges = game["edges"].as_array().expect("it is a list");
    assert_eq!(edges.len(), 1);
    assert_eq!(edges[0]["levels"], serde_json::json!({"Engine": "fast", "Plugins": "new"}));
    let [depends] = answer["interactions"].as_array().expect("it is a list").as_slice() else { panic!("{answer:#}") };
    assert_eq!((&depends["factor"], &depends["with"]["factor"]), (&"Plugins".into(), &"Engine".into()));
    near(depends, "mean_pct", 100.0 * (1.29 / 1.22 - 1.0), 1.0);
    assert_eq!(depends["found"], true);
    near(&answer["whole"], "usual_pct", 100.0 * (1.9 * 1.11 * 1.29 * 1.07 - 1.0), 12.0);
    let plugins = effect(&answer, "Plugins", "new", None);
    assert!(plugins["low_pct"].as_f64() < plugins["usual_pct"].as_f64(), "{plugins:#}");
}

#[test]
fn the_text_names_what_depends_and_what_one_matched_comparison_carries() {
    let place = Sandbox::new();
    place.import("found", 3, 1.0);
    let (out, err, code) = place.study(&["effects", "found"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("\nthe effect of Plugins (stock → new) depends on Engine: +"), "{out}");
    assert!(
        out.contains("\nthe effect of Game (stock → new) is based on one matched comparison, Engine=fast Plugins=new"),
        "{out}"
    );
    assert!(err.starts_with("warning: some configurations ran on different workloads"), "{err}");
}

#[test]
fn a_difference_between_two_runs_is_found_where_it_is() {
    let place = Sandbox::new();
    place.import("old", 4, 1.0);
    place.import("new", 4, 1.15);
    let (_, _, code) = place.study(&["diff", "old", "new"]);
    assert_eq!(code, 1, "one is slower");
    let answer = place.json(&["diff", "old", "new", "--json"]);
    let configurations = answer["configurations"].as_array().expect("it is a list");
    let verdicts: Vec<&str> = configurations.iter().filter_map(|change| change["verdict"].as_str()).collect();
    assert_eq!(verdicts.iter().filter(|&&verdict| verdict == "slower").count(), 1);
    assert_eq!(verdicts.iter().filter(|&&verdict| verdict == "same").count(), 5);
    let slower = configurations.iter().find(|change| change["verdict"] == "slower").expect("one is slower");
    assert_eq!(slower["levels"]["Game"], "new");
    near(slower, "mean_pct", 100.0 * (1.0 / 1.15 - 1.0), 0.5);
    let (_, _, code) = place.study(&["diff", "old", "old"]);
    assert_eq!(code, 0, "a study is the same as itself");
}

/// Two builds on two workloads of one machine, five times each; `slower`: what the new build takes, `mood`: what everything does.
fn of_one_machine(seed: u64, slower: f64, mood: f64) -> String {
    let mut seed = Seed::new(seed);
    let mut even = || (seed.bits() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    let mut text = String::from("Build,Map,Repeat,ms\n");
    for repeat in 1..=5 {
        for (workload, ms) in [("dm1", 20.0), ("ctf5", 70.0)] {
            let block = mood * (1.0 + 0.06 * even());
            for (build, gain) in [("old", 1.0), ("new", if workload == "dm1" { 1.71 } else { 1.92 } / slower)] {
                let value = ms * block / gain * (1.0 + 0.01 * even());
                let _ = writeln!(text, "{build},{workload},{repeat},{value:.4}");
            }
        }
    }
    text
}

impl Sandbox {
    fn import_one_machine(&self, name: &str, seed: u64, slower: f64, mood: f64) {
        let file = format!("{name}.csv");
        self.write(&file, &of_one_machine(seed, slower, mood));
        let columns = ["--factor", "Build", "--workload", "Map", "--repeat", "Repeat", "--value", "ms"];
        let (_, err, code) = self.study(&[&["import", &file, "-o", name][..], &columns].concat());
        assert_eq!(code, 0, "{err}");
    }
}

#[test]
fn a_machine_that_is_slower_for_a_while_is_no_change_and_a_build_that_is_slower_is_one() {
    let place = Sandbox::new();
    place.import_one_machine("old", 1, 1.0, 1.0);
    place.import_one_machine("later", 2, 1.0, 1.02);
    let (out, err, code) = place.study(&["diff", "old", "later"]);
    assert_eq!(code, 3, "2 % slower, and blocks differ by as much: {out}{err}");
    assert!(out.contains("\nall together ") && out.contains("probability of any false alarm: at most 5 %\n"), "{out}");
    assert!(out.contains("\none machine, and the two did not run at the same time: all together varied by "));
    let answer = place.json(&["diff", "old", "later", "--json"]);
    assert_eq!((&answer["drift"], &answer["verdict"]), (&"blocks".into(), &"unclear".into()));
    assert!(answer["drift_pct"].as_f64().is_some_and(|drift| (1.0..5.0).contains(&drift)), "{answer:#}");
    place.import_one_machine("slower", 3, 1.1, 1.0);
    let (out, _, code) = place.study(&["diff", "old", "slower"]);
    assert_eq!(code, 1, "{out}");
    let effect = out.lines().find(|line| line.starts_with("Build: old → new ")).expect("there is one effect");
    assert!(effect.ends_with("less"), "{out}");
}

/// Two builds in eight layouts on two workloads, twice each; a layout makes both workloads faster or slower alike by up to 4 %.
fn in_layouts(seed: u64, faster: f64) -> String {
    let mut seed = Seed::new(seed);
    let mut even = || (seed.bits() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    let mut text = String::from("Build,Layout,Map,Repeat,ms\n");
    for layout in 1..=8 {
        let of_layout = 1.0 + 0.08 * even();
        for (workload, ms) in [("dm1", 20.0), ("ctf5", 70.0)] {
            for repeat in 1..=2 {
                for (build, gain) in [("old", 1.0), ("new", faster * of_layout)] {
                    let value = ms / gain * (1.0 + 0.002 * even());
                    let _ = writeln!(text, "{build},{layout},{workload},{repeat},{value:.4}");
                }
            }
        }
    }
    text
}

#[test]
fn the_layout_is_the_unit_where_it_is_a_random_factor() {
    let place = Sandbox::new();
    let columns = ["--workload", "Map", "--repeat", "Repeat", "--value", "ms"];
    let import = |name: &str, seed: u64, faster: f64, layout: &[&str]| {
        place.write("layouts.csv", &in_layouts(seed, faster));
        let (out, err, code) =
            place.study(&[&["import", "layouts.csv", "-o", name, "--factor", "Build"][..], layout, &columns].concat());
        assert_eq!(code, 0, "{err}");
        out + &err
    };
    let said = import("random", 1, 1.0, &["--random", "Layout"]);
    assert!(said.contains("Layout: 1, 2, 3, 4, 5, 6, 7, 8, random\n"), "{said}");
    let (out, _, code) = place.study(&["effects", "random"]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("64 cells on 1 machine and 2 workloads, in 8 levels of Layout; changes are of speed"),
        "{out}"
    );
    let answer = place.json(&["effects", "random", "--json"]);
    let build = effect(&answer, "Build", "new", None);
    assert_eq!((&build["over"], &build["n"]), (&"random_levels".into(), &8.into()));
    assert_eq!(answer["effects"].as_array().map(Vec::len), Some(1), "no effect of a layout is stated");
    assert_eq!(
        build["per_random_level"].as_object().map(|units| units.contains_key("Layout=8")),
        Some(true),
        "{build}"
    );
    // The same builds but for their layouts. Tables with the layouts as a factor like any other are mostly sure of a difference.
    let mut called_different = [0, 0];
    for seed in 1..=20 {
        for (place_of, (name, role)) in [("random", "--random"), ("fixed", "--factor")].into_iter().enumerate() {
            let name = format!("{name}-{seed}");
            import(&name, seed, 1.0, &[role, "Layout"]);
            let answer = place.json(&["effects", &name, "--json"]);
            called_different[place_of] += i32::from(effect(&answer, "Build", "new", None)["found"] == true);
        }
    }
    assert!(called_different[0] <= 3 && called_different[1] >= 8, "{called_different:?}");
    import("faster", 1, 1.1, &["--random", "Layout"]);
    let answer = place.json(&["effects", "faster", "--json"]);
    assert_eq!(effect(&answer, "Build", "new", None)["found"], true, "{answer:#}");
    let (out, _, code) = place.study(&["diff", "random", "faster"]);
    assert_eq!(code, 0, "{out}");
    let (out, err, code) = place.study(&["diff", "random", "fixed-1"]);
    assert_eq!(code, 2, "{out}");
    assert!(
        err.contains("expected the random factors `Layout` (`1`, `2`, `3`,") && err.contains("found none\n"),
        "{err}"
    );
    let (_, err, code) = place.study(&["report", "random", "--markdown"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn of_a_rate_more_is_better() {
    let place = Sandbox::new();
    place.write("rate.csv", "Build,Map,rate\na,dm1,10\na,ctf5,20\nb,dm1,12\nb,ctf5,24\n");
    let columns = ["--factor", "Build", "--workload", "Map", "--value", "rate"];
    for (name, direction, sign) in [("high", "--higher-is-better", 1.0), ("low", "--lower-is-better", -1.0)] {
        let (_, err, code) = place.study(&[&["import", "rate.csv", "-o", name, direction][..], &columns].concat());
        assert_eq!(code, 0, "{err}");
        let answer = place.json(&["effects", name, "--json"]);
        let gain = effect(&answer, "Build", "b", None)["usual_pct"].as_f64().expect("it is known");
        assert!(gain * sign > 10.0, "{direction}: {gain}");
    }
}

#[test]
fn without_repeats_a_diff_of_one_machine_says_why_it_claims_nothing() {
    let place = Sandbox::new();
    for (name, slower) in [("old", 1.0), ("new", 2.0)] {
        place.write(&format!("{name}.csv"), &format!("Build,Map,ms\na,dm1,{0}\na,ctf5,{0}\n", 10.0 * slower));
        let (_, err, code) =
            place.study(&["import", &format!("{name}.csv"), "-o", name, "--factor", "Build", "--workload", "Map"]);
        assert_eq!(code, 0, "{err}");
    }
    let (out, _, code) = place.study(&["diff", "old", "new"]);
    assert_eq!(code, 3, "{out}");
    assert!(out.contains("without repeats its drift is unknown: no change of a configuration is claimed"), "{out}");
}

#[test]
fn a_history_marks_the_study_from_which_on_a_configuration_is_slower() {
    let place = Sandbox::new();
    let names: Vec<String> = (0..9).map(|at| format!("commit-{at}")).collect();
    for (at, name) in names.iter().enumerate() {
        place.import(name, 10 + at as u64, if at >= 5 { 1.2 } else { 1.0 });
    }
    let mut arguments = vec!["history"];
    arguments.extend(names.iter().map(String::as_str));
    arguments.extend(["--export-github-action-benchmark", "points.json", "--json"]);
    // Of a table with six configurations each is tested with a sixth of the chance.
    arguments.extend(["--alpha", "20%"]);
    let answer = place.json(&arguments);
    let changes: Vec<(&Value, &Value)> = answer["series"]
        .as_array()
        .expect("it is a list")
        .iter()
        .flat_map(|series| {
            let of_series = series["changes"].as_array().expect("it is a list");
            of_series.iter().map(move |change| (&series["levels"]["Game"], &change["at"]))
        })
        .collect();
    assert_eq!(changes, [(&"new".into(), &"commit-5".into())]);
    let points = fs::read_to_string(place.0.path().join("points.json")).expect("it was written");
    let points: Value = serde_json::from_str(&points).expect("it is JSON");
    let points = points.as_array().expect("it is a list");
    assert_eq!(points.len(), 6);
    for point in points {
        assert!(point["name"].is_string() && point["value"].is_f64(), "{point}");
        assert_eq!(point["unit"], "second");
    }
}

#[test]
fn what_cannot_be_done_says_what_to_do() {
    let place = Sandbox::new();
    place.write("broken.csv", "Engine;Demo;CPU;ms\nold;1;m1;12\n;;m2;fast\n");
    let (_, err, code) = place.study(&["import", "broken.csv", "-o", "x", "--value", "ms", "--factor", "Engine"]);
    assert_eq!(
        (code, err.as_str()),
        (2, "error: cannot import broken.csv: line 3, column `ms`: expected a number, found `fast`\n")
    );
    let (_, err, code) = place.study(&["import", "broken.csv", "-o", "x", "--factor", "engine"]);
    assert_eq!(code, 2);
    assert_eq!(
        err,
        "error: cannot import broken.csv: expected one of the columns `Engine`, `Demo`, `CPU`, `ms`, found \
         `engine`\nhint: use the names in the first line, with the same spelling\n"
    );
    assert!(!Path::new(&place.0.path().join("x")).exists(), "nothing is left behind");
    let (_, err, code) = place.study(&["effects", "nowhere"]);
    assert_eq!(code, 2);
    assert!(err.starts_with("error: cannot read nowhere: "), "{err}");
    place.import("old", 4, 1.0);
    place.write("bytes.csv", "Engine,Demo,CPU,kB\nstock,1,m1,12\nfast,1,m1,11\n");
    let (_, err, _) = place.study(&["import", "bytes.csv", "-o", "bytes"]);
    let (_, differs, code) = place.study(&["diff", "old", "bytes"]);
    assert_eq!(code, 2, "{err}");
    assert!(differs.contains("expected the metric `duration` in second for 120000 frames"), "{differs}");
}

#[test]
fn a_guess_multiplies_no_statistic_and_can_be_refused() {
    let place = Sandbox::new();
    place.write(
        "hyperfine.csv",
        "command,mean,stddev,median,user,system,min,max\nfoo,2.0,0.1,2.5,1.9,0.1,1.9,2.1\nbar,1.0,0.1,1.5,0.9,0.1,0.9,1.1\n",
    );
    let (out, err, code) = place.study(&["import", "hyperfine.csv", "-o", "hyperfine"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("metric  median in second, lower is better\n  factors command: foo, bar"), "{out}");
    place
        .write("runs.csv", "batch,build,rows,run,time_sec\n,a,1e7,1,4.7\n,b,1e7,1,3.7\nx,a,1e7,1,4.8\nx,b,1e7,1,3.4\n");
    let (_, err, code) = place.study(&["import", "runs.csv", "-o", "runs"]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("note: `run` does not number the repeats") && err.contains("not used  `batch`"), "{err}");
    let (_, err, code) = place.study(&["import", "runs.csv", "-o", "ignored", "--ignore", "run"]);
    assert_eq!(code, 0, "{err}");
    assert!(!err.contains("note:") && err.contains("not used  `run`"), "{err}");
    place.write("means.csv", "name,mean,p99\nfoo,2.0,2.5\nbar,1.0,1.5\n");
    let (_, err, code) = place.study(&["import", "means.csv", "-o", "means"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("expected to know whether more of `mean` is better"), "{err}");
    assert!(err.contains("hint: use --lower-is-better or --higher-is-better, or --unit s"), "{err}");
    let (out, err, code) = place.study(&["import", "means.csv", "-o", "means", "--lower-is-better"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("mean in unknown, lower is better"), "{out}");
}
