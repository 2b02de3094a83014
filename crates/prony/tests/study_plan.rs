//! `prony study plan`: the real command on study files.

use std::fs;

use tempfile::TempDir;

const SIX_OF_TWELVE: &str = include_str!("../../study/src/plan/six_of_twelve.toml");

struct Sandbox(TempDir);

impl Sandbox {
    fn with(study: &str) -> Sandbox {
        let directory = tempfile::tempdir().expect("a scratch directory");
        fs::write(directory.path().join("study.toml"), study).expect("a scratch directory takes it");
        Sandbox(directory)
    }

    /// Standard output, standard error and the exit code, with this directory's name taken out.
    fn plan(&self, arguments: &[&str]) -> (String, String, i32) {
        let mut command = prony_testing::prony();
        command.args(["study", "plan"]).arg(self.0.path().join("study.toml")).args(arguments);
        let output = command.output().expect("the command is built");
        let text = |bytes| {
            let text = String::from_utf8(bytes).expect("it says text");
            text.replace(&*self.0.path().to_string_lossy(), "DIR")
        };
        (text(output.stdout), text(output.stderr), output.status.code().expect("it ended by itself"))
    }

    fn make(&self, paths: &[&str]) {
        for path in paths {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("a scratch directory takes it");
            fs::write(path, "").expect("a scratch directory takes it");
        }
    }
}

#[test]
fn the_six_of_twelve_design_says_what_it_can_tell() {
    let place = Sandbox::with(SIX_OF_TWELVE);
    let (out, err, code) = place.plan(&[]);
    insta::assert_snapshot!("six_of_twelve", out);
    assert_eq!(code, 0, "every main effect is told");
    assert_eq!(err.lines().count(), 7 + 9, "{err}");
    assert!(err.starts_with("warning: DIR/builds/engine-optimised.so does not exist yet\n"), "{err}");
}

#[test]
fn the_same_in_json_is_one_document_with_every_cell() {
    let place = Sandbox::with(SIX_OF_TWELVE);
    let (out, _, code) = place.plan(&["--json", "--cells"]);
    let answer: serde_json::Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(code, 0);
    assert_eq!(answer["cells"], 432);
    assert_eq!(answer["plan"].as_array().map(Vec::len), Some(432));
    assert_eq!((&answer["design"]["rank"], &answer["design"]["effects"]), (&5.into(), &9.into()));
    let edges = answer["design"]["edges"].as_array().expect("it is a list");
    let game: Vec<_> = edges.iter().filter(|edge| edge["factor"] == "game DLL").collect();
    assert_eq!(game.len(), 1);
    assert_eq!(game[0]["contexts"], serde_json::json!([{ "engine": "optimised", "plugins": "optimised" }]));
    assert_eq!(place.plan(&["--json", "--cells"]).0, out, "equal file and seed, equal plan");
}

#[test]
fn cells_are_listed_in_the_order_in_which_they_run() {
    let place = Sandbox::with(SIX_OF_TWELVE);
    let (out, _, code) = place.plan(&["--cells"]);
    assert_eq!((out.lines().count(), code), (432, 0));
    insta::assert_snapshot!("first_block", out.lines().take(8).collect::<Vec<_>>().join("\n"));
}

#[test]
fn factors_that_always_change_together_are_a_finding() {
    let text = "title = 'zipped'\nzip = [['compiler', 'flags']]\n\
                metric = { name = 'wall', unit = 'second', direction = 'lower' }\n\
                [[factor]]\nname = 'compiler'\nlevels = ['gcc', 'clang']\n\
                [[factor]]\nname = 'flags'\nlevels = ['-O2', '-O3']\n\
                [[workload]]\nname = 'build'\ncommand = '{compiler} {flags}'\n";
    let (out, err, code) = Sandbox::with(text).plan(&[]);
    insta::assert_snapshot!("zipped", out);
    assert_eq!((err.as_str(), code), ("", 1));
}

#[test]
fn a_plan_says_of_what_its_intervals_will_speak() {
    let planned = |repeats: u32, workloads: usize, more: &str| {
        let mut text = format!(
            "title = 't'\nrepeats = {repeats}\nmetric = {{ name = 'cpu', unit = 'second', direction = 'lower' }}\n\
             [[factor]]\nname = 'build'\nlevels = ['a', 'b']\n{more}"
        );
        (0..workloads).for_each(|at| text += &format!("[[workload]]\nname = 'w{at}'\ncommand = '{{build}} {at}'\n"));
        let (out, _, code) = Sandbox::with(&text).plan(&[]);
        let line = out.lines().find_map(|line| line.strip_prefix("  intervals   ")).expect("it is told").to_owned();
        (line, code)
    };
    let intervals = |repeats, workloads| planned(repeats, workloads, "");
    let layouts = "[[factor]]\nname = 'layout'\nrandom = true\nlevels = [1, 2, 3]\n";
    let on = |machines: &[&str]| {
        machines.iter().fold(layouts.to_owned(), |text, name| text + &format!("[[machine]]\nname = '{name}'\n"))
    };
    let expected = |text: &str, code| (text.to_owned(), code);
    assert_eq!(intervals(1, 1), expected("none: one machine, one workload, one repeat; set `repeats = 5`", 1));
    assert_eq!(
        intervals(5, 1),
        expected("for this workload, over 5 repeats; for other workloads: none, with only one", 0)
    );
    assert_eq!(
        intervals(36, 2),
        expected("for these 2 workloads, over 36 repeats; for others like them: none from 2, 3 are needed", 0)
    );
    assert_eq!(
        intervals(5, 6),
        expected("for these 6 workloads, over 5 repeats; for others like them: from the spread of 6", 0)
    );
    assert_eq!(
        intervals(1, 6),
        expected(
            "none for these 6 workloads without repeats: set `repeats = 5`; for others like them: from the \
             spread of 6",
            0
        )
    );
    assert_eq!(
        planned(1, 2, layouts),
        expected("for these 2 workloads and levels of layout like these 3; for other workloads: none", 0)
    );
    assert_eq!(
        planned(1, 1, &on(&["one", "two"])),
        expected("for machines like these 2 and levels of layout like these 3", 0)
    );
}

#[test]
fn nothing_is_said_of_files_that_are_there() {
    let text = "title = 't'\nmetric = { name = 'cpu', unit = 'second', direction = 'lower' }\n\
                [[workload]]\nname = 'w'\ndemo = 'a.demo'\nfiles = { map = 'maps/a' }\n";
    let place = Sandbox::with(text);
    place.make(&["a.demo", "maps/a"]);
    let (out, err, code) = place.plan(&[]);
    assert_eq!((err.as_str(), code), ("", 0));
    assert!(out.contains("3: 1 measured, 1 warm-up, 1 control"), "{out}");
}

#[test]
fn a_study_that_cannot_be_planned_says_why_and_exits_2() {
    let said = |study: &str| {
        let (out, err, code) = Sandbox::with(study).plan(&[]);
        assert_eq!((out.as_str(), code), ("", 2), "{err}");
        err
    };
    let mut all = String::new();
    for (old, new) in [
        ("title", "tilte"),
        ("why = \"the new game DLL is shipped with the new engine only\"\n", ""),
        ("engine == 'optimised' and plugins == 'stock'", "engin == 'optimised'"),
        ("engine == 'optimised' and plugins == 'stock'", "engine != 'new' and plugins == 'stock'"),
        ("engine == 'optimised' and plugins == 'stock'", "engine in ['stock', 'pedantic', 'optimised']"),
        ("repeats = 3", "repeats = 100000"),
    ] {
        assert!(SIX_OF_TWELVE.contains(old), "{old}");
        all += &said(&SIX_OF_TWELVE.replacen(old, new, 1));
    }
    insta::assert_snapshot!("refused", all);
    let place = Sandbox::with("");
    fs::write(place.0.path().join("study.toml"), [0xff, 0xfe]).expect("a scratch directory takes it");
    assert_eq!(place.plan(&[]).1, "error: cannot plan DIR/study.toml: expected text in UTF-8, found other bytes\n");
    fs::remove_file(place.0.path().join("study.toml")).expect("it is there");
    assert_eq!(place.plan(&[]).1, "error: cannot plan DIR/study.toml: no such file or directory\n");
    fs::create_dir(place.0.path().join("study.toml")).expect("a scratch directory takes it");
    let expected =
        "error: cannot plan DIR/study.toml: is a directory\nhint: give the file: DIR/study.toml/study.toml\n";
    assert_eq!(place.plan(&[]).1, expected);
}
