//! Demos from others: what of them may run, and what needs a flag.

use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Output;

use prony_demo::{Demo, FileEntry, Header, Trailer, WriterOptions, rewrite_with};

use crate::calls::compiled;
use crate::failures::{ANSWERS, Story, ask, quit};
use prony_testing::prony;
use prony_testing::recording::{Server, record_with};
use prony_testing::scratch::{Scratch, Turn, free_address, run};

/// A demo with a directory of state that contains a library; a process that loads it makes a file.
struct Attack {
    story: Story,
    /// Is there once the library was loaded.
    marker: PathBuf,
    /// The library, in the state directory.
    library: String,
}

impl Attack {
    fn new(name: &str) -> Attack {
        let scratch = Scratch::new(name);
        let marker = scratch.path().join("loaded");
        let directory = scratch.directory("state");
        let library = scratch.arg("state/evil.so");
        let source = scratch.write(
            "evil.c",
            format!(
                "#include <fcntl.h>\n__attribute__((constructor)) static void loaded(void) {{ \
                 open({:?}, O_CREAT | O_WRONLY, 0600); }}\n",
                marker.to_str().expect("temporary paths are UTF-8")
            ),
        );
        run(std::process::Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &source]));
        fs::copy(&library, scratch.path().join("evil-copy.so")).expect("the temporary directory is writable");
        let set_id = scratch.write("state/su", "no program");
        run(std::process::Command::new("chmod").args(["4755", &set_id]));
        let address = free_address();
        let names = scratch.write("names", "answer\n");
        let arguments = [address.port().to_string(), names];
        let command = [vec![compiled(&scratch, "answers.c", &[])], arguments.to_vec()].concat();
        let server = Server::new(command).with_state(directory);
        let (recording, demo) = record_with(&scratch, &server, &["--frame-on", "recvfrom"], |stop| {
            assert!(ask(address, ANSWERS, stop), "the server answers");
            quit(address);
        });
        assert!(demo.exists(), "the recording left no demo: {recording}");
        fs::remove_file(&library).expect("the demo has a copy of it");
        Attack { story: Story { scratch, arguments, recording, demo }, marker, library }
    }

    /// The demo with another header, as a stranger could send it.
    fn forged(&self, change: impl FnOnce(&mut Header)) -> PathBuf {
        self.rewritten(|header, _| change(header))
    }

    /// The demo with another header and trailer.
    fn rewritten(&self, change: impl FnOnce(&mut Header, &mut Trailer)) -> PathBuf {
        let forged = self.story.scratch.path().join("forged.demo");
        let file = File::open(&self.story.demo).expect("the demo is there");
        let mut demo = Demo::open(BufReader::new(file)).expect("it is a demo");
        let (mut header, mut trailer) = (demo.header().clone(), demo.trailer().expect("it is whole").clone());
        change(&mut header, &mut trailer);
        let out = File::create(&forged).expect("the temporary directory is writable");
        rewrite_with(&mut demo, out, WriterOptions::default(), &header, &trailer, |_, _| {})
            .expect("the demo can be rewritten");
        forged
    }

    fn preloads(&self) -> PathBuf {
        self.forged(|header| {
            // The environment of the tests may have some, and Cargo sets one.
            header.environment.retain(|(name, _)| !prony_replay::loads_code(name));
            header.environment.push((b"LD_PRELOAD".to_vec(), self.library.clone().into_bytes()));
        })
    }

    /// `prony VERB FLAGS`, with the build where the verb wants it.
    fn against_a_build(&self, verb: &str, demo: &Path, flags: &[&str]) -> Output {
        let build = self.story.build("WORK=2000");
        let mut command = prony();
        command.current_dir("/").arg(verb).args(flags);
        match verb {
            "replay" => command.arg(demo).arg("--").args(&build),
            "profile" => command.arg("--demo").arg(demo).arg("--").args(&build),
            _ => command.arg("--demo").arg(demo).args(["--runs", "1"]).args([build.join(" "), build.join(" ")]),
        };
        command.output().expect("prony starts")
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_library_in_the_state_of_a_demo_is_not_loaded_into_a_build_that_the_user_names() {
    let _turn = Turn::take();
    let attack = Attack::new("preload");
    let forged = attack.preloads();
    for verb in ["replay", "bench", "profile"] {
        let refused = attack.against_a_build(verb, &forged, &[]);
        assert!(!attack.marker.exists(), "{verb} loaded code of the demo: {}", said(&refused));
        assert_eq!(refused.status.code(), Some(2), "{verb}: {}", said(&refused));
        let named = format!("it has files of its own for `{}`", attack.story.scratch.arg("state"));
        assert!(said(&refused).contains(&named), "{verb}: {}", said(&refused));

        // Its files are allowed, and its library is not.
        let trusted = attack.against_a_build(verb, &forged, &["--trust-demo"]);
        assert!(!attack.marker.exists(), "{verb} loaded code of the demo: {}", said(&trusted));
        assert!(matches!(trusted.status.code(), Some(0 | 1 | 3)), "{verb}: {}", said(&trusted));
        assert!(said(&trusted).contains("the demo sets LD_PRELOAD, "), "{verb}: {}", said(&trusted));

        let allowed = attack.against_a_build(verb, &forged, &["--trust-demo", "--keep-variable", "LD_PRELOAD"]);
        assert!(attack.marker.exists(), "{verb}: the attack works where it is let in: {}", said(&allowed));
        assert!(!said(&allowed).contains("LD_PRELOAD"), "{verb}: {}", said(&allowed));
        fs::remove_file(&attack.marker).expect("it is there");
    }
}

#[test]
fn a_build_gets_the_loader_variables_of_the_user_who_names_it() {
    let _turn = Turn::take();
    let attack = Attack::new("variables");
    // As if it had been recorded so: the same file is the user's own, or a stranger's.
    let forged = attack.preloads();
    let library = attack.story.scratch.arg("mine.so");
    fs::copy(attack.story.scratch.path().join("evil-copy.so"), &library).expect("it was kept");
    let run = |variable: Option<&str>| {
        let mut command = prony();
        command.current_dir("/").args(["replay", "--json", "--trust-demo"]).arg(&forged).arg("--");
        command.args(attack.story.build("WORK=2000")).envs(variable.map(|value| ("LD_PRELOAD", value)));
        command.output().expect("prony starts")
    };
    let dropped = run(None);
    let answer: serde_json::Value = serde_json::from_slice(&dropped.stdout).expect("an answer");
    assert_eq!(answer["verdict"], "identical", "{answer}");
    let warning = "the demo sets LD_PRELOAD, which can choose code or files: not given to the build";
    // Its state has a set-user-id file besides.
    assert_eq!(answer["warnings"][0], warning, "{}", said(&dropped));
    assert!(said(&dropped).contains("1 set-user-id or set-group-id file"), "{}", said(&dropped));
    assert!(!attack.marker.exists());
    // Named on the command line, it is loaded into the build alone.
    let mut command = prony();
    command
        .args(["replay", "--json", "--trust-demo", "--env", &format!("LD_PRELOAD={library}")])
        .arg(&forged)
        .arg("--");
    let set = command.args(attack.story.build("WORK=2000")).output().expect("prony starts");
    assert!(attack.marker.exists(), "{}", said(&set));
    assert!(!said(&set).contains("not given to the build"), "it was: {}", said(&set));
    fs::remove_file(&attack.marker).expect("it was just made");
    // The library is loaded into prony, too.
    let replaced = run(Some(&library));
    assert!(said(&replaced).contains("the build gets the values of this environment"), "{}", said(&replaced));
    assert!(attack.marker.exists(), "it is the user's own wish");
}

#[test]
fn a_program_is_looked_for_where_the_user_looks_for_programs() {
    let _turn = Turn::take();
    let attack = Attack::new("path");
    let script = attack.story.scratch.write("bin/build", format!("#!/bin/sh\n: >{}\n", attack.marker.display()));
    run(std::process::Command::new("chmod").args(["755", &script]));
    let bin = attack.story.scratch.arg("bin");
    let forged = attack.forged(|header| {
        header.environment.retain(|(name, _)| name != b"PATH");
        header.environment.push((b"PATH".to_vec(), bin.into_bytes()));
    });
    let mut command = prony();
    let output = command.args(["replay", "--trust-demo"]).arg(&forged).args(["--", "build"]).output();
    let output = output.expect("prony starts");
    assert!(!attack.marker.exists(), "the demo chose the program: {}", said(&output));
    assert!(said(&output).starts_with("error: cannot replay: `build`: command not found in "), "{}", said(&output));
}

#[test]
fn the_command_of_a_demo_runs_without_confirmation_only_where_it_was_recorded() {
    let _turn = Turn::take();
    let attack = Attack::new("command");
    let demo = &attack.story.demo;
    let replay = |demo: &Path, change: &dyn Fn(&mut std::process::Command)| {
        let mut command = prony();
        command.arg("replay").arg(demo);
        change(&mut command);
        command.output().expect("prony starts")
    };
    assert_eq!(replay(demo, &|_| {}).status.code(), Some(0), "the user recorded it here");

    // Another machine or another user has another list.
    let elsewhere = |command: &mut std::process::Command| {
        command.env("XDG_STATE_HOME", attack.story.scratch.arg("elsewhere"));
    };
    let refused = replay(demo, &elsewhere);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let shown = demo.display();
    assert_eq!(
        said(&refused),
        format!(
            "error: cannot replay {shown}: it was not recorded by you on this machine, and without a command it runs its own\n\
             hint: `prony demo info {shown}` shows what it would run; allow it with --trust-demo, or name your own build with `-- COMMAND`\n"
        )
    );
    let profiled = {
        let mut command = prony();
        command.args(["profile", "--demo"]).arg(demo);
        elsewhere(&mut command);
        command.output().expect("prony starts")
    };
    assert_eq!(profiled.status.code(), Some(2), "{}", said(&profiled));
    assert!(said(&profiled).contains("without a command it runs its own"), "{}", said(&profiled));

    // What was changed is no longer what was recorded.
    let forged = attack.preloads();
    assert_eq!(replay(&forged, &|_| {}).status.code(), Some(2));
    assert!(!attack.marker.exists(), "the demo ran");
    let trusted = replay(&forged, &|command| {
        command.arg("--trust-demo");
    });
    assert!(attack.marker.exists(), "a user who trusts it gets all of it: {}", said(&trusted));

    // What prony makes of a demo that is known is known.
    let public = attack.story.scratch.arg("public.demo");
    run(prony().args(["demo", "anonymize", "-o", &public]).arg(demo).arg("--keep-addresses"));
    assert_eq!(replay(public.as_ref(), &|_| {}).status.code(), Some(0), "made of a known one");
    let of_forged = attack.story.scratch.arg("of-forged.demo");
    run(prony().args(["demo", "anonymize", "-o", &of_forged]).arg(&forged).arg("--keep-addresses"));
    assert_eq!(replay(of_forged.as_ref(), &|_| {}).status.code(), Some(2), "made of an unknown one");
}

/// Runs `prony replay` on a terminal on which `typed` was typed; returns its exit code and what the terminal shows.
fn on_a_terminal(demo: &Path, state_home: &str, typed: &str) -> (Option<i32>, String) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let mut terminal = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals"));
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it is ours");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name");
    let ours = File::options().read(true).write(true).open(name.to_str().expect("a path")).expect("it is unlocked");
    terminal.write_all(typed.as_bytes()).expect("it has room");
    let end = || ours.try_clone().expect("there are descriptors");
    let mut command = prony();
    command.arg("replay").arg(demo).env("XDG_STATE_HOME", state_home);
    let output = command.stdin(end()).stderr(end()).output().expect("prony starts");
    // A mark behind all that was said: reading on would wait for ever.
    (&ours).write_all(b"\x04").expect("it has room");
    let mut shown = Vec::new();
    let mut bytes = [0; 4096];
    while !shown.contains(&4) {
        let read = terminal.read(&mut bytes).expect("it is open");
        shown.extend_from_slice(&bytes[..read]);
    }
    (output.status.code(), String::from_utf8_lossy(&shown).into_owned())
}

#[test]
fn on_a_terminal_the_command_of_a_demo_is_shown_and_runs_when_the_user_says_so() {
    let _turn = Turn::take();
    let attack = Attack::new("terminal");
    let state_home = attack.story.scratch.arg("elsewhere");
    let forged = attack.preloads();
    for no in ["n\n", "\n", "yesterday\n"] {
        let (code, shown) = on_a_terminal(&forged, &state_home, no);
        assert_eq!(code, Some(2), "{shown}");
        assert!(!attack.marker.exists(), "the demo ran: {shown}");
        assert!(shown.contains("was not recorded by you on this machine. It"), "{shown}");
        let command = attack.story.scratch.arg("answers-c");
        assert!(shown.contains(&format!("  runs           {command}")), "{shown}");
        assert!(shown.contains("  with           LD_PRELOAD"), "{shown}");
        assert!(shown.contains(&format!("  has files for  {}", attack.story.scratch.arg("state"))), "{shown}");
        assert!(shown.contains("Continue? [y/N] "), "{shown}");
    }
    let (_, shown) = on_a_terminal(&forged, &state_home, "y\n");
    assert!(attack.marker.exists(), "the user said yes: {shown}");
}

#[test]
fn only_a_directory_that_the_user_names_is_restored_in_place() {
    let _turn = Turn::take();
    let attack = Attack::new("in-place");
    let (scratch, demo) = (&attack.story.scratch, &attack.story.demo);
    let state = scratch.arg("state");
    let mine = scratch.write("state/mine", "since the recording");
    let replay = |directory: &str| {
        let mut command = prony();
        let output =
            command.current_dir(scratch.path()).args(["replay", "--restore-in-place", directory]).arg(demo).output();
        output.expect("prony starts")
    };
    let other = scratch.directory("other");
    let refused = replay(&other);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    let named = format!("`{other}` is not a state directory of the demo, which has `{state}`");
    assert!(said(&refused).contains(&named), "{}", said(&refused));
    assert!(Path::new(&mine).exists(), "nothing was asked for");

    fs::rename(&state, scratch.arg("moved")).expect("it is ours");
    std::os::unix::fs::symlink(scratch.arg("moved"), &state).expect("it is ours");
    let linked = replay("state/");
    assert_eq!(linked.status.code(), Some(2), "{}", said(&linked));
    assert!(said(&linked).contains("expected a directory, found a symbolic link"), "{}", said(&linked));
    assert!(scratch.path().join("moved/mine").exists(), "the link was followed");
    fs::remove_file(&state).expect("it is ours");
    fs::rename(scratch.arg("moved"), &state).expect("it is ours");

    let restored = replay("state/");
    assert_eq!(restored.status.code(), Some(0), "{}", said(&restored));
    assert!(!Path::new(&mine).exists() && Path::new(&attack.library).exists(), "it is as it was recorded");
}

#[test]
fn what_a_demo_could_do_is_shown_before_it_runs() {
    let _turn = Turn::take();
    let attack = Attack::new("info");
    let forged = attack.preloads();
    let info = |demo: &Path, flags: &[&str]| run(prony().args(["demo", "info"]).args(flags).arg(demo));
    let text = info(&forged, &[]);
    let state = attack.story.scratch.arg("state");
    for line in [
        "  known       no: not recorded here by you\n".to_owned(),
        "  loads code  LD_PRELOAD\n".to_owned(),
        format!("  set-id      {state}/su (mode 4755)\n"),
        format!("  in place    {state} would be emptied by --restore-in-place\n"),
    ] {
        assert!(text.contains(&line), "expected {line} in {text}");
    }
    let answer: serde_json::Value = serde_json::from_str(&info(&forged, &["--json"])).expect("it is JSON");
    assert_eq!((&answer["known"], &answer["code_variables"]), (&false.into(), &serde_json::json!(["LD_PRELOAD"])));
    assert_eq!(answer["set_id_files"], serde_json::json!([{ "path": format!("{state}/su"), "mode": "4755" }]));
    assert!(info(&attack.story.demo, &[]).contains("  known       recorded here by you\n"));

    // Files count by what they contain, and those that have to be brought by where they belong.
    let forged = attack.rewritten(|_, trailer| {
        let needed = ["/etc/ld.so.preload", "/etc/nsswitch.conf", "/usr/lib/gconv/gconv-modules", "/srv/maps/dm1.map"];
        let entry = |path: &str| FileEntry { path: path.into(), size_bytes: 9, hash: [1; 32], ..FileEntry::default() };
        trailer.files.extend(needed.map(entry));
    });
    let text = info(&forged, &[]);
    for line in [
        format!("  loads code  1 ELF file: {state}/evil.so\n"),
        format!("  loads code  1 executable: {state}/su\n"),
        "  loads code  3 configuration files: /etc/ld.so.preload, /etc/nsswitch.conf, /usr/lib/gconv/gconv-modules\n"
            .to_owned(),
    ] {
        assert!(text.contains(&line), "expected {line} in {text}");
    }
    let answer: serde_json::Value = serde_json::from_str(&info(&forged, &["--json"])).expect("it is JSON");
    assert_eq!(answer["code_file_counts"], serde_json::json!({ "object": 1, "executable": 1, "configuration": 3 }));
    assert_eq!(answer["code_files"][0], serde_json::json!({ "path": format!("{state}/evil.so"), "kind": "object" }));
}

#[test]
fn a_study_runs_the_command_of_a_demo_only_where_it_says_so() {
    let _turn = Turn::take();
    let attack = Attack::new("study");
    let scratch = &attack.story.scratch;
    attack.preloads();
    let study = |trust: &str| {
        let study = format!(
            "title = \"x\"\nrepeats = 1\n\
             metric = {{ name = \"cpu\", unit = \"ms\", direction = \"lower\" }}\n\
             [[factor]]\nname = \"arenas\"\nlevels = [\"one\", \"many\"]\n\
             [[workload]]\nname = \"x\"\ndemo = \"forged.demo\"\n{trust}"
        );
        scratch.write("study.toml", study);
        let mut command = prony();
        let output = command.current_dir(scratch.path()).args(["study", "run", "study.toml", "-o"]);
        output.arg(scratch.arg(if trust.is_empty() { "results" } else { "trusting" })).output().expect("prony starts")
    };
    let refused = study("");
    assert!(!attack.marker.exists(), "the demo ran: {}", said(&refused));
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("allow it with `trust_demo = true` in the workload"), "{}", said(&refused));
    let trusted = study("trust_demo = true\n");
    assert!(attack.marker.exists(), "the study trusts it: {}", said(&trusted));
}

#[test]
fn a_build_on_a_demo_of_unknown_origin_gets_harmless_variables_only() {
    let _turn = Turn::take();
    let attack = Attack::new("allowed");
    let scratch = &attack.story.scratch;
    let forge = |cwd: &'static [u8]| {
        attack.forged(|header| {
            header.state_directories.clear();
            for (name, value) in
                [("ACC_PROFLIB", "/tmp/evil.so"), ("GOMAXPROCS", "3"), ("HOME", "."), ("LANG", "/tmp/x")]
            {
                header.environment.retain(|(known, _)| known != name.as_bytes());
                header.environment.push((name.into(), value.into()));
            }
            if !cwd.is_empty() {
                header.cwd = cwd.to_vec();
            }
        })
    };
    // The build writes down what it got, and is no server: it diverges, which names what it did not get.
    let seen = scratch.arg("seen");
    let source = scratch.write(
        "build.c",
        format!(
            "#include <stdio.h>\n#include <unistd.h>\nextern char **environ;\n\
             int main(void) {{ FILE *seen = fopen({seen:?}, \"w\"); for (char **at = environ; *at; at++) fprintf(seen, \"%s\\n\", *at); \
             fclose(seen); return getppid() == 0; }}\n"
        ),
    );
    let build = scratch.arg("build");
    run(std::process::Command::new("cc").args(["-o", &build, &source]));
    let replay = |demo: &Path, flags: &[&str], change: &dyn Fn(&mut std::process::Command)| {
        let _ = fs::remove_file(&seen);
        let mut command = prony();
        command.current_dir("/").env_remove("ACC_PROFLIB").env_remove("LANG").env("HOME", "/");
        command
            .env("XDG_CONFIG_HOME", scratch.arg("config"))
            .args(["replay"])
            .args(flags)
            .arg(demo)
            .arg("--")
            .arg(&build);
        change(&mut command);
        let output = command.output().expect("prony starts");
        (output, fs::read_to_string(&seen).unwrap_or_default())
    };
    let has = |environment: &str, line: &str| environment.lines().any(|found| found == line);
    let forged = forge(b"");
    let (output, environment) = replay(&forged, &[], &|_| {});
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(has(&environment, "GOMAXPROCS=3") && has(&environment, "HOME=/"), "{environment}");
    assert!(!environment.contains("ACC_PROFLIB") && !environment.contains("LANG="), "{environment}");
    let named = said(&output).lines().any(|line| line.contains(", sets ") && line.contains("ACC_PROFLIB"));
    assert!(named && said(&output).contains("--keep-variable NAME"), "{}", said(&output));

    let (_, environment) = replay(&forged, &["--keep-variable", "ACC_PROFLIB"], &|_| {});
    assert!(has(&environment, "ACC_PROFLIB=/tmp/evil.so") && has(&environment, "HOME=/"), "{environment}");

    // The user's own list trusts it, by the hash of this very file.
    let hash = std::process::Command::new("sha256sum").arg(&forged).output().expect("coreutils are there").stdout;
    let hash = String::from_utf8(hash).expect("text");
    scratch.write("config/prony/trusted-demos", format!("sha256:{}\n", hash.split_once(' ').expect("HASH FILE").0));
    for (path, mode) in [("config/prony/trusted-demos", "644"), ("config/prony", "755")] {
        run(std::process::Command::new("chmod").args([mode, &scratch.arg(path)]));
    }
    run(std::process::Command::new("chmod").arg("600").arg(&forged));
    let (output, environment) = replay(&forged, &[], &|_| {});
    assert!(has(&environment, "HOME=.") && has(&environment, "LANG=/tmp/x"), "{environment}");
    assert!(!environment.contains("ACC_PROFLIB"), "known to load code: {environment}{}", said(&output));
    let (_, environment) = replay(&forged, &[], &|command| {
        command.env("XDG_CONFIG_HOME", scratch.arg("another"));
    });
    assert!(has(&environment, "HOME=/"), "another user's list: {environment}");

    // Where `.` is whatever the reader's is.
    let forged = forge(b"/proc/self/cwd");
    for flags in [&[][..], &["--trust-demo"]] {
        let (output, environment) = replay(&forged, flags, &|_| {});
        assert_eq!((output.status.code(), environment.as_str()), (Some(2), ""), "{}", said(&output));
        assert!(said(&output).contains("its working directory is `/proc/self/cwd`"), "{}", said(&output));
    }
}
