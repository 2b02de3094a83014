//! `prony study run` and its like, on small real programs, with real kills.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use prony_stats::samples::Samples;
use prony_study::ledger::Ledger;
use prony_study::{State, results_file};
use prony_testing::prony;
use tempfile::TempDir;

fn place() -> TempDir {
    TempDir::new().expect("the temporary directory is writable")
}

fn command(place: &Path, arguments: &[&str]) -> Command {
    let mut command = prony();
    command.arg("study").args(arguments).current_dir(place).stdin(Stdio::null());
    command
}

fn study_verb(place: &Path, arguments: &[&str]) -> Output {
    command(place, arguments).output().expect("the command is built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("messages are text")
}

fn write(place: &Path, name: &str, content: &str) -> PathBuf {
    let path = place.join(name);
    fs::write(&path, content).expect("it is writable");
    path
}

/// Three levels on two workloads, `repeats` times, each cell a shell that says on `witness` that it came to its end.
fn study(place: &Path, repeats: u32, extra: &str) {
    write(place, "witness", &format!("echo \"$PRONY_CELL $PRONY_ATTEMPT\" >>{}/witnessed\n", place.display()));
    let study = format!(
        "title = \"Witnessed\"\nrepeats = {repeats}\nseed = 3\n\
         metric = {{ name = \"wall\", unit = \"second\", direction = \"lower\" }}\n\
         [[factor]]\nname = \"level\"\nlevels = [\"a\", \"b\", \"c\"]\n\
         [[workload]]\nname = \"{{size}}\"\naxes = {{ size = [\"1\", \"2\"] }}\nfiles = {{ witness = \"witness\" }}\n\
         command = \"/bin/sh {{witness}} {{level}} {{size}}\"\n{extra}"
    );
    write(place, "study.toml", &study);
}

/// Checks that every cell is done, ran to its commit once, and has one whole samples file. Returns how many attempts
/// were cut short.
fn every_cell_exactly_once(place: &Path, directory: &Path, machine: &str) -> usize {
    let ledger = Ledger::read(&directory.join(format!("ledger-{machine}.sqlite"))).expect("it is a ledger");
    let mut attempts: BTreeMap<String, Vec<(u32, String)>> = BTreeMap::new();
    for attempt in ledger.attempts().expect("it is sound") {
        let ended = attempt.ended.expect("nothing runs any more");
        attempts.entry(attempt.key).or_default().push((attempt.attempt, ended));
    }
    let mut witnessed: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for line in fs::read_to_string(place.join("witnessed")).expect("cells ran").lines() {
        let (key, attempt) = line.split_once(' ').expect("a key and an attempt");
        witnessed.entry(key.to_owned()).or_default().push(attempt.parse().expect("it is a number"));
    }
    let cells = ledger.cells().expect("it is sound");
    let mut cut = 0;
    for cell in &cells {
        let key = &cell.row.key;
        assert_eq!(cell.state, State::Done, "{key}");
        let (last, before) = attempts[key].split_last().expect("it was claimed");
        assert_eq!(*last, (cell.attempt, "done".to_owned()), "{key}");
        assert!(before.iter().all(|(_, ended)| ended == "cut"), "{key}: {before:?}");
        cut += before.len();
        let ran = &witnessed[key];
        assert_eq!(ran.iter().filter(|attempt| **attempt == cell.attempt).count(), 1, "{key}: {ran:?}");
        assert_eq!(ran.iter().collect::<BTreeSet<_>>().len(), ran.len(), "{key}: {ran:?}");
        let samples = fs::read(directory.join(cell.samples().expect("it is done"))).expect("it has samples");
        Samples::decode(&samples).expect("they are whole");
    }
    let files = fs::read_dir(directory.join("cells")).expect("it is there").count();
    assert_eq!(files, cells.len(), "one samples file a cell, and nothing else");
    cut
}

/// Runs a study and kills it again and again at moments drawn from a seed, until it has been killed `kills` times;
/// then lets it end.
fn kill_again_and_again(place: &Path, kills: usize) -> usize {
    let mut seed = prony_stats::Seed::new(2015);
    let mut killed = 0;
    while killed < kills {
        let before = fs::metadata(place.join("witnessed")).map_or(0, |facts| facts.len());
        let mut runner = command(place, &["run", "study.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let runner = runner.as_mut().expect("the command is built");
        // This many cells more, of 67 bytes each; then at once.
        let more = before + 67 * (1 + seed.below(60) as u64);
        loop {
            if runner.try_wait().expect("it is ours").is_some() {
                return killed;
            }
            if fs::metadata(place.join("witnessed")).map_or(0, |facts| facts.len()) >= more {
                break;
            }
            std::thread::yield_now();
        }
        runner.kill().expect("it is ours");
        runner.wait().expect("it is ours");
        killed += 1;
    }
    let output = study_verb(place, &["run", "study.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    killed
}

#[test]
fn a_runner_that_is_killed_again_and_again_loses_no_cell_and_repeats_none() {
    let place = place();
    // 2 × (3 + 2) cells a repeat. `PRONY_KILLS` and `PRONY_REPEATS` ask for more than there is time for in a test.
    let number =
        |name: &str, usual: usize| std::env::var(name).ok().map_or(usual, |text| text.parse().expect("it is a number"));
    let (kills, repeats) = (number("PRONY_KILLS", 12), number("PRONY_REPEATS", 60));
    study(place.path(), u32::try_from(repeats).expect("it is small"), "");
    let killed = kill_again_and_again(place.path(), kills);
    assert_eq!(killed, kills, "the study was over before it was killed so often");
    let cut = every_cell_exactly_once(place.path(), &place.path().join("results"), "here");
    println!("{killed} kills, {} cells, {cut} cut short", repeats * 10);
    assert!(cut >= killed / 4, "{cut} of {killed} kills met a cell");
}

#[test]
fn a_study_that_is_done_runs_nothing_again() {
    let place = place();
    study(place.path(), 2, "");
    for _ in 0..2 {
        let output = study_verb(place.path(), &["run", "study.toml"]);
        assert_eq!(text(&output.stdout), "here  20 of 20 cells done\n", "{}", text(&output.stderr));
    }
    assert_eq!(every_cell_exactly_once(place.path(), &place.path().join("results"), "here"), 0);
    assert_eq!(fs::read_to_string(place.path().join("witnessed")).expect("cells ran").lines().count(), 20);
}

#[test]
fn an_interrupted_study_says_so_and_goes_on() {
    let place = place();
    study(place.path(), 400, "");
    let mut runner = command(place.path(), &["run", "study.toml"]);
    let mut runner = runner.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command is built");
    while fs::metadata(place.path().join("witnessed")).map_or(0, |facts| facts.len()) < 67 * 3 {
        assert_eq!(runner.try_wait().expect("it is ours"), None, "it runs for a while");
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args(["-INT", &runner.id().to_string()]).status().expect("kill is everywhere");
    assert!(killed.success());
    let code = runner.wait().expect("it is ours").code();
    let mut said = String::new();
    runner.stderr.take().expect("it is a pipe").read_to_string(&mut said).expect("messages are text");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("warning: interrupted\nhint: continue with `prony study resume "), "{said}");
    let results = results_file::load(&place.path().join("results")).expect("it is a study");
    let done = results.cells.iter().filter(|cell| cell.state == State::Done).count();
    assert!(results.cells.iter().all(|cell| matches!(cell.state, State::Done | State::Pending)));
    assert!((3..results.cells.len()).contains(&done), "{done}");
    let status = study_verb(place.path(), &["status", "results", "--json"]);
    assert_eq!(status.status.code(), Some(3));
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("it is JSON");
    assert_eq!((&status["cells"]["done"], &status["complete"]), (&done.into(), &false.into()));
}

#[test]
fn failures_stay_visible_with_their_reason_and_stop_only_their_configuration() {
    let place = place();
    study(place.path(), 4, "");
    write(place.path(), "witness", "[ $1 != b ] || { echo 'no such map' >&2; exit 3; }\n");
    let output = study_verb(place.path(), &["run", "study.toml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let answer = text(&output.stdout);
    assert!(answer.contains("cells: expected exit code 0, found 3: no such map\n"), "{answer}");
    assert!(answer.contains("5 failures of its configuration in a row\n"), "{answer}");
    let results = results_file::load(&place.path().join("results")).expect("it is a study");
    for cell in &results.cells {
        assert_eq!(cell.state == State::Done, cell.levels[0] != 1, "{cell:?}");
    }
    let table = text(&study_verb(place.path(), &["export", "results", "--csv", "-"]).stdout);
    assert!(
        table.lines().next().is_some_and(|head| head.starts_with("machine,repeat,workload,size,level,role,state,"))
    );
    assert_eq!(table.matches("expected exit code 0, found 3: no such map").count(), 5);
}

#[test]
fn a_cell_that_was_killed_runs_once_more_and_one_that_takes_too_long_is_ended() {
    let place = place();
    study(place.path(), 1, "");
    write(
        place.path(),
        "witness",
        "[ $1$2 != b1 ] || [ $PRONY_ATTEMPT -gt 1 ] || kill -KILL $$\n[ $1 != c ] || sleep 600\n",
    );
    let study = fs::read_to_string(place.path().join("study.toml")).expect("it is there");
    write(place.path(), "study.toml", &study.replacen("seed", "cell_seconds_max = 0.5\nseed", 1));
    let output = study_verb(place.path(), &["run", "study.toml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let results = results_file::load(&place.path().join("results")).expect("it is a study");
    let mut tried_most = 0;
    for cell in &results.cells {
        let (level, size) = (cell.levels[0], cell.workload);
        match (level, &cell.state) {
            (1, State::Done) => assert_eq!(cell.attempt, if size == 0 { 2 } else { 1 }, "{cell:?}"),
            (2, State::Failed { message, .. }) => {
                assert_eq!(message, "ended after 500ms, the time limit");
                tried_most = tried_most.max(cell.attempt);
            }
            (2, State::Skipped { .. }) => {}
            (_, state) => assert_eq!(*state, State::Done, "{cell:?}"),
        }
    }
    assert_eq!(tried_most, 2, "what takes too long is tried once more");
}

#[test]
fn a_machine_that_is_not_what_the_study_requires_is_refused() {
    let place = place();
    study(place.path(), 1, "[[machine]]\nname = \"n1\"\nrequire = { cores = \">= 4096\" }\n");
    let output = study_verb(place.path(), &["run", "study.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.starts_with("error: machine `n1`: cores: expected >= 4096, found "), "{said}");
    assert!(!place.path().join("witnessed").exists(), "no cell ran");
}

#[test]
fn a_sweep_stops_at_its_limit_and_finds_the_crossing() {
    let place = place();
    let study = "title = \"Late\"\nrepeats = 2\nseed = 1\n\
         metric = { name = \"late\", unit = \"share\", direction = \"lower\" }\n\
         [[factor]]\nname = \"clients\"\nsweep = { from = 1, to = 1024, scale = \"log2\" }\n\
         stop = { when = \"late > 1 %\", then = \"bisect\", resolution = 1 }\n\
         [[workload]]\nname = \"server\"\nfiles = { server = \"server\" }\ncommand = \"/bin/sh {server} {clients}\"\n";
    write(place.path(), "study.toml", study);
    let server = "late=0.001\n[ $1 -lt 100 ] || late=0.5\n\
         echo \"{\\\"metric\\\": \\\"late\\\", \\\"value\\\": $late, \\\"unit\\\": \\\"share\\\"}\" >&$PRONY_FD\n";
    write(place.path(), "server", server);
    let output = study_verb(place.path(), &["run", "study.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let results = results_file::load(&place.path().join("results")).expect("it is a study");
    let numbers = results.factors[0].numbers.as_ref().expect("it is a sweep");
    for repeat in 0..2 {
        let ran = results.cells.iter().filter(|cell| cell.repeat == repeat && cell.state == State::Done);
        let ran: BTreeSet<u64> = ran.map(|cell| numbers[cell.levels[0]] as u64).collect();
        assert_eq!(ran, [1, 2, 4, 8, 16, 32, 64, 91, 99, 100, 101, 103, 108, 128].into(), "repeat {repeat}");
    }
    let skipped = results.cells.iter().filter_map(|cell| match &cell.state {
        State::Skipped { why } => Some((numbers[cell.levels[0]] as u64, why.as_str())),
        _ => None,
    });
    let skipped: BTreeSet<(u64, &str)> = skipped.collect();
    let why = "`late > 1 %` at clients = 128";
    assert_eq!(skipped, [(256, why), (512, why), (1024, why)].into());
}

#[test]
fn directories_of_two_machines_become_one() {
    let place = place();
    study(place.path(), 1, "[[machine]]\nname = \"n1\"\n[[machine]]\nname = \"n2\"\n");
    let refused = study_verb(place.path(), &["run", "study.toml"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("hint: state which one this is with --machine NAME"), "{refused:?}");
    for machine in ["n1", "n2"] {
        study_verb(place.path(), &["run", "study.toml", "-o", machine, "--machine", machine]);
    }
    let merged = study_verb(place.path(), &["merge", "n1", "n2", "-o", "both"]);
    assert_eq!(merged.status.code(), Some(0), "{}", text(&merged.stderr));
    let status = study_verb(place.path(), &["status", "both"]);
    assert_eq!(text(&status.stdout), "n1  10 of 10 cells done\nn2  10 of 10 cells done\n");
    let exported = study_verb(place.path(), &["export", "both", "--samples", "samples"]);
    assert_eq!(exported.status.code(), Some(0), "{}", text(&exported.stderr));
    let files = fs::read_dir(place.path().join("samples")).expect("it is made").count();
    assert_eq!(files, 2 * 2 * 3, "machine × workload × level");
}

#[test]
fn a_machine_that_a_command_leads_to_works_on_a_disk_of_its_own_and_brings_back_files() {
    let place = place();
    let machine = "[[machine]]\nname = \"far\"\nexec = \"/bin/sh -c 'exec {command}'\"\n";
    study(place.path(), 2, machine);
    let output = study_verb(place.path(), &["run", "study.toml", "--scratch", "scratch"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "far  20 of 20 cells done\n");
    assert!(place.path().join("scratch/far/ledger-far.sqlite").exists());
    let plan = study_verb(place.path(), &["plan", "study.toml", "--earlier", "results", "--json"]);
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).expect("it is JSON");
    assert!(plan["estimate"]["earlier_cells"].as_u64() > Some(0), "{plan}");
    assert_eq!(every_cell_exactly_once(place.path(), &place.path().join("results"), "far"), 0);
}

#[test]
fn the_way_to_a_machine_may_be_given_on_the_command_line() {
    let place = place();
    study(place.path(), 1, "[[machine]]\nname = \"far\"\n");
    let there = place.path().join("there");
    let [send, fetch] = [format!("cp -r {{directory}} {}", there.display()), "touch {incoming}/fetched".to_owned()];
    let how = ["--executor", "exec", "--scratch", "scratch", "--no-wait"];
    let without = study_verb(place.path(), &[&["run", "study.toml", "-o", "without"][..], &how].concat());
    assert!(text(&without.stderr).contains("no way to reach machine `far` is given"), "{without:?}");
    let way = ["--command", "/bin/sh -c 'exec {command}'", "--send", &send, "--fetch", &fetch];
    let output = study_verb(place.path(), &[&["run", "study.toml"][..], &how, &way].concat());
    assert!(there.exists(), "the directory was copied: {output:?}");
    assert!(text(&output.stderr).contains("fetch") || output.status.code() == Some(0), "{output:?}");
}

#[test]
fn a_scratch_directory_of_another_user_is_not_worked_in() {
    let place = place();
    study(place.path(), 1, "[[machine]]\nname = \"far\"\n");
    let output = study_verb(place.path(), &["run", "study.toml", "--machine", "far"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let scratch = place.path().join("scratch");
    let work = || {
        let scratch = scratch.to_str().expect("it is text");
        let output = study_verb(place.path(), &["work", "results", "--machine", "far", "--scratch", scratch]);
        (output.status.code(), text(&output.stderr))
    };
    // A directory that others may write to, with a ledger in it that says everything is done.
    fs::create_dir(&scratch).expect("it is writable");
    fs::copy(place.path().join("results/ledger-far.sqlite"), scratch.join("ledger-far.sqlite")).expect("it is done");
    fs::set_permissions(&scratch, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let (code, said) = work();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("scratch: expected permissions 700 or fewer, found 777\nhint: "), "{said}");
    // One of another user, which looks as ours does.
    fs::set_permissions(&scratch, fs::Permissions::from_mode(0o700)).expect("it is ours");
    chown(&scratch, Some(65534), None).expect("run as root: only root gives a directory to another user");
    let (code, said) = work();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("scratch: expected a directory of user 0, found one of user 65534\nhint: "), "{said}");
    // A link to one of ours.
    fs::rename(&scratch, place.path().join("elsewhere")).expect("it is writable");
    chown(place.path().join("elsewhere"), Some(0), None).expect("run as root");
    symlink(place.path().join("elsewhere"), &scratch).expect("it is writable");
    let (code, said) = work();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("scratch: expected a directory, found a link\nhint: "), "{said}");
    // Nothing there: made, for this user only.
    fs::remove_file(&scratch).expect("it is ours");
    let (code, said) = work();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::metadata(&scratch).expect("it was made").permissions().mode() & 0o7777, 0o700);
}

/// Records a Redis server that answers some commands; returns the port it was given.
fn record_redis(place: &Path) -> u16 {
    use std::io::Write;
    use std::net::TcpStream;
    let port = prony_testing::scratch::free_address().port();
    let mut recorder = prony();
    recorder.args(["record", "-o", "redis.demo", "--", "redis-server", "--bind", "127.0.0.1", "--save", "", "--port"]);
    recorder.arg(port.to_string()).current_dir(place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut recorder = recorder.spawn().expect("the command is built");
    let mut client = loop {
        assert_eq!(
            recorder.try_wait().expect("it is ours"),
            None,
            "redis-server ended: `scripts/setup test` installs it"
        );
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(client) => break client,
            Err(_) => std::thread::yield_now(),
        }
    };
    for number in 0..200 {
        client.write_all(format!("SET key:{number} {number}\r\n").as_bytes()).expect("it listens");
        let mut answer = [0; 5];
        client.read_exact(&mut answer).expect("it answers");
        assert_eq!(&answer, b"+OK\r\n");
    }
    client.write_all(b"SHUTDOWN NOSAVE\r\n").expect("it listens");
    assert!(recorder.wait().expect("it is ours").success());
    port
}

#[test]
fn cells_replay_a_real_server_and_one_build_that_diverges_says_where() {
    let place = place();
    let port = record_redis(place.path());
    let server = |more: &str| format!("redis-server --bind 127.0.0.1 --save '' --port {port}{more}");
    let study = format!(
        "title = \"Redis\"\nrepeats = 2\n\
         metric = {{ name = \"cpu\", unit = \"ms\", direction = \"lower\", normalise = {{ by = \"frames\", to = 1000 }} }}\n\
         [[factor]]\nname = \"build\"\nlevels = [\n\
         {{ name = \"recorded\", command = \"{}\" }},\n\
         {{ name = \"one arena\", command = \"{}\", environment = {{ MALLOC_ARENA_MAX = \"1\" }} }},\n\
         {{ name = \"another\", command = \"sh -c 'echo hello'\" }},\n]\n\
         [[workload]]\nname = \"sets\"\ndemo = \"redis.demo\"\n",
        server(""),
        server(""),
    );
    write(place.path(), "study.toml", &study);
    let output = study_verb(place.path(), &["run", "study.toml"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let directory = place.path().join("results");
    let results = results_file::load(&directory).expect("it is a study");
    for cell in &results.cells {
        match (&cell.state, cell.levels[0]) {
            (State::Failed { .. } | State::Skipped { .. }, 2) => {}
            (State::Done, 0 | 1) => {
                assert!(cell.value.is_some_and(|value| value > 0.0), "{cell:?}");
                let frames = results_file::frames(cell, &directory).expect("it has samples");
                assert!(frames.len() == 1 && frames[0].len() > 100, "{cell:?}");
            }
            _ => panic!("{cell:?}"),
        }
    }
    let said = text(&output.stderr);
    assert!(said.contains("warning: another on sets: "), "{said}");
}
