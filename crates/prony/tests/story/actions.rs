//! The GitHub action at the root, run as GitHub's runner runs it, with a wheel of the command under test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use prony_testing::CommandOutput;
use prony_testing::scratch::{Scratch, Turn, run};

use crate::bisects::{FRAMES, Story};

/// `{{ inputs.x }}` and the like with a dollar before it: where in an action's text the runner puts values.
const EXPRESSION: &str = "${{";

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the crate lies in the tree")
}

/// The part of YAML in which `action.yml` is written. Anything else is a failure of the test, not a guess.
#[derive(Debug, Clone, PartialEq)]
enum Yaml {
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

impl Yaml {
    fn of(text: &str) -> Yaml {
        let is_comment = |line: &&str| line.trim_start().starts_with('#');
        let lines: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
        let mut rest = &lines[..];
        let all = Yaml::block(&mut rest, 0);
        assert!(rest.iter().all(|line| line.trim().is_empty()), "expected the end, found {rest:?}");
        all
    }

    /// A mapping or a list whose lines are indented by `indent`.
    fn block(lines: &mut &[&str], indent: usize) -> Yaml {
        let (mut list, mut map) = (Vec::new(), Vec::new());
        while let Some((line, rest)) = lines.split_first() {
            let depth = line.len() - line.trim_start().len();
            match line.trim() {
                "" => *lines = rest,
                _ if depth < indent => break,
                item if item.starts_with("- ") => {
                    assert_eq!(depth, indent, "{line}");
                    // The first key of a mapping stands on the line of its dash.
                    let first = format!("{}{}", " ".repeat(indent + 2), &item[2..]);
                    let mut with_first = vec![first.as_str()];
                    with_first.extend(rest);
                    let mut inner = &with_first[..];
                    list.push(Yaml::block(&mut inner, indent + 2));
                    *lines = &lines[lines.len() - inner.len()..];
                }
                entry => {
                    assert_eq!(depth, indent, "{line}");
                    *lines = rest;
                    let (key, value) = entry.split_once(':').unwrap_or_else(|| panic!("expected a key: {line}"));
                    assert!(value.is_empty() || value.starts_with(' '), "{line}");
                    let value = match value.trim() {
                        "" => Yaml::block(lines, indent + 2),
                        "|" => Yaml::Text(Yaml::literal(lines, indent + 2)),
                        text => Yaml::Text(Yaml::scalar(text)),
                    };
                    map.push((key.to_owned(), value));
                }
            }
        }
        assert!(list.is_empty() || map.is_empty(), "a block is a list or a mapping: {list:?} {map:?}");
        if list.is_empty() { Yaml::Map(map) } else { Yaml::List(list) }
    }

    /// Lines of a literal block, without their indentation.
    fn literal(lines: &mut &[&str], indent: usize) -> String {
        let inside = |line: &&&str| line.trim().is_empty() || line.starts_with(&" ".repeat(indent));
        let length = lines.iter().take_while(inside).count();
        let (block, rest) = lines.split_at(length);
        *lines = rest;
        block.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or(""))).collect()
    }

    fn scalar(text: &str) -> String {
        match text.as_bytes() {
            [quote @ (b'"' | b'\''), inner @ .., last] if quote == last => {
                let inner = String::from_utf8(inner.to_vec()).expect("cut at quotes");
                assert!(!inner.contains(['\\', char::from(*quote)]), "an escape: {text}");
                inner
            }
            [b'"' | b'\'' | b'[' | b'{' | b'>' | b'|' | b'&' | b'*' | b'!' | b'%' | b'@' | b'`', ..] => {
                panic!("expected a plain scalar, found {text}")
            }
            _ => {
                assert!(!text.contains(": ") && !text.contains(" #"), "YAML reads more into this: {text}");
                text.to_owned()
            }
        }
    }

    fn get(&self, key: &str) -> Option<&Yaml> {
        let Yaml::Map(entries) = self else { panic!("expected a mapping with {key}, found {self:?}") };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn at(&self, key: &str) -> &Yaml {
        self.get(key).unwrap_or_else(|| panic!("expected {key}, found {self:?}"))
    }

    fn entries(&self) -> &[(String, Yaml)] {
        let Yaml::Map(entries) = self else { panic!("expected a mapping, found {self:?}") };
        entries
    }

    fn text(&self) -> &str {
        let Yaml::Text(text) = self else { panic!("expected text, found {self:?}") };
        text
    }
}

/// A wheel with the command under test, as `pip install .` makes one but for its size: nothing is optimised.
fn wheel(scratch: &Scratch) -> String {
    const PACK: &str = r#"
import sys, zipfile
wheel, program = sys.argv[1:]
info = "prony-0.1.0.dist-info/"
files = {
    info + "METADATA": "Metadata-Version: 2.1\nName: prony\nVersion: 0.1.0\n",
    info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n",
}
with zipfile.ZipFile(wheel, "w") as archive:
    script = zipfile.ZipInfo("prony-0.1.0.data/scripts/prony")
    script.external_attr = 0o100755 << 16
    with open(program, "rb") as file:
        archive.writestr(script, file.read())
    for name, text in files.items():
        archive.writestr(name, text)
    archive.writestr(info + "RECORD", "".join(f"{name},,\n" for name in [script.filename, *files, info + "RECORD"]))
"#;
    let path = scratch.arg("prony-0.1.0-py3-none-any.whl");
    run(Command::new("python3").args(["-c", PACK, &path]).arg(prony_testing::program()));
    path
}

/// A runner with a workspace: what `uses: prony-lab/prony` finds on GitHub.
struct Runner<'a> {
    action: Yaml,
    scratch: &'a Scratch,
    /// Directory of `${{ github.workspace }}`, where the demos and the builds are.
    workspace: PathBuf,
}

/// What a job sees of an action that has ended.
#[derive(Debug)]
struct Ended {
    /// Of the step that failed, or of the last one.
    step: CommandOutput,
    outputs: BTreeMap<String, String>,
    /// The page of the job.
    summary: String,
}

impl Runner<'_> {
    /// Runs the steps of the action one after the other, up to one that fails.
    fn run(&self, with: &[(&str, &str)]) -> Ended {
        let inputs: BTreeMap<&str, &str> = self.inputs(with);
        let temporary = self.scratch.directory("temp");
        let summary = self.scratch.write("summary", "");
        let mut steps: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let runs = self.action.at("runs");
        assert_eq!(runs.at("using").text(), "composite");
        let Yaml::List(list) = runs.at("steps") else { panic!("steps are a list") };
        let mut ended = None;
        for (number, step) in list.iter().enumerate() {
            assert_eq!(step.at("shell").text(), "bash", "a step of a composite action names its shell");
            let script = step.at("run").text();
            assert!(!script.contains(EXPRESSION), "an input would become part of the script: {script}");
            let output = self.scratch.write("output", "");
            let script = self.scratch.write(&format!("step-{number}.sh"), script);
            let mut command = Command::new("bash");
            // docs.github.com, workflow syntax: `bash` as a shell.
            command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", &script]).current_dir(&self.workspace);
            for (name, value) in step.get("env").map_or(&[][..], Yaml::entries) {
                command.env(name, expand(value.text(), &inputs, &steps));
            }
            command.env("GITHUB_ACTIONS", "true").env("CI", "true").env("GITHUB_WORKSPACE", &self.workspace);
            command.env("GITHUB_ACTION_PATH", root()).env("RUNNER_TEMP", &temporary);
            command.env("GITHUB_OUTPUT", &output).env("GITHUB_STEP_SUMMARY", &summary);
            command.env("XDG_STATE_HOME", self.scratch.file("state-home")).env("PIP_NO_INDEX", "1");
            let answer = CommandOutput::to(&mut command);
            let failed = answer.code != Some(0);
            if let Some(id) = step.get("id") {
                let written = fs::read_to_string(&output).expect("the step leaves it there");
                let pairs = written.lines().map(|line| line.split_once('=').expect("NAME=VALUE"));
                let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                steps.insert(id.text().to_owned(), pairs);
            }
            ended = Some(answer);
            if failed {
                break;
            }
        }
        let outputs = self.action.at("outputs").entries().iter();
        let outputs = outputs.map(|(name, output)| {
            assert!(output.get("description").is_some(), "{name}");
            (name.clone(), expand(output.at("value").text(), &inputs, &steps))
        });
        Ended {
            step: ended.expect("an action has steps"),
            outputs: outputs.collect(),
            summary: self.scratch.read("summary"),
        }
    }

    /// What is given, and the defaults of the others.
    fn inputs<'a>(&'a self, with: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, &'a str> {
        let known = self.action.at("inputs").entries();
        for (name, _) in with {
            assert!(known.iter().any(|(input, _)| input == name), "the action has no input {name}");
        }
        let given = |name: &str| with.iter().rfind(|(given, _)| *given == name).map(|(_, value)| *value);
        let value = |(name, input): &'a (String, Yaml)| {
            let default = || input.get("default").map(Yaml::text);
            let required = input.get("required").is_some_and(|required| required.text() == "true");
            let value = given(name).or_else(default);
            assert!(value.is_some() || required, "{name} is neither required nor has a default");
            (name.as_str(), value.unwrap_or_else(|| panic!("{name} is required")))
        };
        known.iter().map(value).collect()
    }
}

/// Puts the values of a job into a text.
fn expand(text: &str, inputs: &BTreeMap<&str, &str>, steps: &BTreeMap<String, BTreeMap<String, String>>) -> String {
    let Some((before, rest)) = text.split_once(EXPRESSION) else { return text.to_owned() };
    let (expression, after) = rest.split_once("}}").expect("an expression ends");
    let expression = expression.trim();
    let words: Vec<&str> = expression.split('.').collect();
    let value = match words[..] {
        ["inputs", name] => *inputs.get(name).unwrap_or_else(|| panic!("no such input: {expression}")),
        // Of a step that did not run, or wrote no such output, GitHub takes an empty text.
        ["steps", id, "outputs", name] => steps.get(id).and_then(|step| step.get(name)).map_or("", String::as_str),
        _ => panic!("expected an input or an output of a step, found {expression}"),
    };
    format!("{before}{value}{}", expand(after, inputs, steps))
}

#[test]
fn the_action_installs_a_wheel_and_compares_both_builds() {
    let _turn = Turn::take();
    let story = Story::new("action", &["--commits", "2", "--slower", "1", "--looks", "400", "--diverges", "2"]);
    for (commit, name) in [("v1", "old"), ("v2", "slow"), ("v3", "other")] {
        story.git(&["checkout", "--quiet", commit]);
        run(Command::new("make").args(["--quiet", "--always-make"]).current_dir(story.scratch.file("arena")));
        fs::copy(story.scratch.file("arena/arena"), story.scratch.file(name)).expect("it was built");
    }
    fs::copy(story.scratch.file("arena.demo"), story.scratch.file("second.demo")).expect("there is room");
    let action = Yaml::of(&fs::read_to_string(root().join("action.yml")).expect("it is at the root"));
    let runner = Runner { action, scratch: &story.scratch, workspace: story.scratch.path().to_owned() };
    let (wheel, old) = (wheel(&story.scratch), format!("./old {FRAMES}"));
    let compare = |new: &str, demos: &str, more: &[(&str, &str)]| {
        let new = format!("./{new} {FRAMES}");
        // Numbers of runs, so that no clock decides what this test sees.
        let options = ("options", "--warmup=0 --runs=12");
        let with = [("demos", demos), ("old", &old), ("new", &new), ("wheel", &wheel), options];
        runner.run(&[&with[..], more].concat())
    };
    let file = |ended: &Ended, output: &str| {
        fs::read_to_string(&ended.outputs[output]).unwrap_or_else(|error| panic!("{output}: {error}: {ended:?}"))
    };
    let both = "arena.demo\nsecond.demo\n";

    let slower = compare("slow", both, &[]);
    assert_eq!((slower.step.code, slower.outputs["verdict"].as_str()), (Some(1), "slower"), "{slower:?}");
    let comment = file(&slower, "markdown");
    assert!(comment.starts_with("### prony: `./slow 30` is slower than `./old 30` on 2 of 2 demos\n"), "{comment}");
    assert!(comment.contains("| `arena.demo` |") && comment.contains("| `second.demo` |"), "{comment}");
    assert_eq!(slower.summary, comment, "the page of the job shows the comment");
    let junit = file(&slower, "junit");
    assert!(junit.contains("tests=\"2\" failures=\"2\" errors=\"0\" skipped=\"0\""), "{junit}");
    let annotations = |ended: &Ended| -> Vec<String> {
        ended.step.stderr.lines().filter(|line| line.starts_with("::")).map(str::to_owned).collect()
    };
    let titles = ["arena.demo", "second.demo"].map(|demo| {
        format!("::error title=prony bench%3A {demo}%3A ./slow 30 against ./old 30::./slow 30 is slower: ×")
    });
    let written = annotations(&slower);
    assert_eq!(written.len(), 2, "{slower:?}");
    assert!(written.iter().zip(&titles).all(|(line, title)| line.starts_with(title)), "{written:?}");
    let json: serde_json::Value = serde_json::from_str(&file(&slower, "json")).expect("it is JSON");
    assert_eq!(json["verdict"], "slower", "{json}");

    for demos in ["arena.demo", both] {
        let number = demos.lines().count();
        let diverged = compare("other", demos, &[]);
        assert_eq!((diverged.step.code, diverged.outputs["verdict"].as_str()), (Some(2), "failed"), "{diverged:?}");
        let comment = file(&diverged, "markdown");
        assert!(comment.starts_with("### prony: `./other 30` diverged"), "{comment}");
        assert!(comment.contains("\n* \\`./other 30\\` diverged from arena.demo at record "), "{comment}");
        assert!(file(&diverged, "junit").contains(&format!("tests=\"{number}\" failures=\"0\" errors=\"{number}\"")));
        let written = annotations(&diverged);
        assert_eq!(written.len(), number, "{diverged:?}");
        assert!(
            written.iter().all(|line| line.starts_with("::error ") && line.contains(" diverged from ")),
            "{written:?}"
        );
        let json: serde_json::Value = serde_json::from_str(&file(&diverged, "json")).expect("it is JSON");
        let error = if number == 1 { &json["error"] } else { &json["demos"][0]["error"] };
        assert!(error.as_str().is_some_and(|error| error.contains("diverged")), "{json}");
    }

    let tolerated = compare("slow", "arena.demo", &[("fail-on", "never")]);
    assert_eq!((tolerated.step.code, tolerated.outputs["verdict"].as_str()), (Some(0), "slower"), "{tolerated:?}");

    // What is no wheel fails the action before anything is compared. A name in an index, and a file that anybody on the way
    // can replace, are none.
    let hash = "0".repeat(63);
    let cut = format!("https://127.0.0.1:1/prony.whl#sha256={hash}");
    let other = format!("http://127.0.0.1:1/prony.whl#sha256={hash}0");
    for no_wheel in ["no-such.whl", "prony", "prony==0.1.0", "https://127.0.0.1:1/prony.whl", "-r.whl", &cut, &other] {
        let missing = compare("slow", "arena.demo", &[("wheel", no_wheel)]);
        assert_eq!((missing.step.code, missing.outputs["verdict"].as_str()), (Some(2), ""), "{missing:?}");
        assert!(missing.step.stderr.contains("error: wheel: expected "), "{missing:?}");
    }
}

/// A checkout of the action whose wheel is packed and not compiled: real pip, an in-tree build backend (PEP 517).
#[test]
fn without_a_wheel_the_action_installs_its_own_checkout() {
    const BACKEND: &str = r#"
import pathlib, shutil

def build_wheel(directory, config_settings=None, metadata_directory=None):
    wheel = next(pathlib.Path(__file__).parent.glob("*.whl"))
    return shutil.copy(wheel, directory).rsplit("/", 1)[-1]
"#;
    const PROJECT: &str = "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n";
    let scratch = Scratch::new("own-checkout");
    wheel(&scratch);
    scratch.write("backend.py", BACKEND);
    scratch.write("pyproject.toml", PROJECT);
    let script = scratch.file("scripts/ci-install");
    fs::create_dir(scratch.file("scripts")).expect("it is new");
    fs::copy(root().join("scripts/ci-install"), &script).expect("it is in the tree");
    let environment = scratch.arg("environment");
    let installed = CommandOutput::to(Command::new(script).arg(&environment).env("PIP_NO_INDEX", "1"));
    assert_eq!(installed.code, Some(0), "{installed:?}");
    assert!(installed.stdout.starts_with("prony "), "{installed:?}");
    let program = scratch.file("environment/bin/prony");
    assert_eq!(fs::read(program).expect("pip put it there"), fs::read(prony_testing::program()).expect("it is built"));
}

/// The owner of a name in an index decides what its users run.
#[test]
fn no_page_and_no_script_installs_prony_by_name_from_an_index() {
    let mut files = vec![root().join("README.md"), root().join("action.yml"), root().join("CONTRIBUTING.md")];
    let mut directories = vec![root().join("docs"), root().join("scripts"), root().join("studies")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("it is in the tree") {
            let entry = entry.expect("it can be read");
            match entry.file_type().expect("it has a type").is_dir() {
                true => directories.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    let installs = |words: &[&str]| {
        let commands = [["pip", "install"], ["pip3", "install"], ["pipx", "install"], ["pipx", "run"], ["uv", "add"]];
        let after = words.iter().skip(2).find(|word| !word.starts_with('-')).copied().unwrap_or("");
        let name = after.trim_matches(|c: char| !c.is_ascii_alphanumeric()).split(['=', '<', '>', '[']).next();
        words.len() > 2 && commands.contains(&[words[0].trim_start_matches('`'), words[1]]) && name == Some("prony")
    };
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if (0..words.len()).any(|at| installs(&words[at..])) {
                found.push(format!("{}: {line}", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
