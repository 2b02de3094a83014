//! What the command says of itself and of this machine.

use std::process::Command;

use prony_testing::CommandOutput;
use prony_testing::scratch::{Scratch, run};

#[test]
fn the_version_names_commit_target_and_features() {
    let scratch = Scratch::new("version");
    let short = scratch.prony(&["-V"]).stdout;
    let long = scratch.prony(&["--version"]).stdout;
    let first = format!("prony {} (", env!("CARGO_PKG_VERSION"));
    assert!(short.starts_with(&first) && short.lines().count() == 1, "{short}");
    assert_eq!(long.lines().next(), short.lines().next());
    let commit: String = short[first.len()..].chars().take_while(char::is_ascii_hexdigit).collect();
    assert_eq!(commit.len(), 12, "{short}");
    assert!(long.contains("\ntarget: ") && long.contains("\n32-bit servers: "), "{long}");
}

#[test]
fn the_doctor_names_what_is_missing_and_what_gives_it() {
    let scratch = Scratch::new("doctor");
    let answer = scratch.prony(&["doctor", "--json"]);
    let json = answer.json();
    let checks = json["checks"].as_array().expect("a list");
    let works = |name: &str| {
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no check `{name}` in {json}"))["works"].as_bool()
    };
    assert_eq!(works("record, replay"), Some(true), "{json}");
    for check in checks {
        assert_eq!(check["next_step"].is_string(), check["works"] == false, "{check}");
    }
    let all_work = checks.iter().all(|check| check["works"] == true);
    assert_eq!(answer.code, Some(i32::from(!all_work)), "{json}");

    let without = CommandOutput::to(scratch.command(&["doctor"]).env("PATH", scratch.path()));
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.stdout.contains("git: command not found"), "{without:?}");
    assert!(without.stdout.contains("→ install the package git"), "{without:?}");
    // A missing place for the list of own demos is reported.
    let homeless = CommandOutput::to(scratch.command(&["doctor"]).env("XDG_STATE_HOME", "/dev/null"));
    assert!(homeless.stdout.contains("own demos"), "{homeless:?}");
}

#[test]
fn a_shell_completes_verbs_and_flags() {
    let scratch = Scratch::new("completions");
    let script = scratch.write("prony.bash", scratch.prony(&["completions", "bash"]).stdout);
    let complete = |words: &str, current: &str| {
        let text = format!(
            "source {script}; COMP_WORDS=({words} {current}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _prony prony '{current}' ''; echo ${{COMPREPLY[@]}}"
        );
        run(Command::new("bash").args(["-c", &text]))
    };
    assert_eq!(complete("prony", "mach").trim(), "machine");
    assert_eq!(complete("prony machine", "res").trim(), "restore");
    assert!(complete("prony bisect", "--al").contains("--alpha"));
    for (shell, beginning) in [("zsh", "#compdef prony"), ("fish", "")] {
        let script = scratch.prony(&["completions", shell]);
        assert!(script.code == Some(0) && script.stdout.starts_with(beginning), "{script:?}");
        assert!(script.stdout.contains("bisect") && script.stdout.contains("record"), "{shell}");
    }
    assert_eq!(scratch.prony(&["completions", "tcsh"]).code, Some(2));
}

#[test]
fn every_verb_has_a_man_page() {
    let scratch = Scratch::new("man");
    let page = scratch.prony(&["man", "machine", "tune"]);
    assert!(page.code == Some(0) && page.stdout.contains(".TH prony-machine-tune 1"), "{page:?}");
    assert!(scratch.prony(&["man"]).stdout.contains("bisect"));
    let unknown = scratch.prony(&["man", "no-such-verb"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.stderr.contains("hint: `prony --help` lists the verbs"), "{unknown:?}");
    assert_eq!(scratch.prony(&["man", "--dir", "pages"]).code, Some(0));
    let names = std::fs::read_dir(scratch.file("pages")).expect("it was made");
    let mut names: Vec<String> =
        names.map(|entry| entry.expect("it is readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for wanted in ["prony.1", "prony-bench.1", "prony-demo-info.1", "prony-study-run.1"] {
        assert!(names.iter().any(|name| name == wanted), "{wanted} is not among {names:?}");
    }
    // The program that the doctor records is not for users to call.
    assert!(!names.iter().any(|name| name.contains("subject")), "{names:?}");
}
