//! What servers bring along besides plain calls: functions of libc that they export themselves, plugins,
//! copies of descriptors. Each is a small program of `subjects/calls` that answers questions.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::calls::compiled;
use crate::handed::prony_by_shell;
use crate::proof;
use prony_demo::Op;
use prony_testing::recording::{Recording, Server, Stop, record_with, replay, replay_by};
use prony_testing::scratch::{Scratch, Turn, free_address, run};
use prony_testing::{CommandOutput, prony};

/// Questions that a recording holds.
const QUESTIONS: usize = 30;

/// Asks every question until it is answered, then ends the server.
pub fn ask(address: SocketAddr, stop: &Stop) {
    ask_with(address, stop, |_, send| send());
}

/// The same; `ask` has each question, and sends it.
fn ask_with(address: SocketAddr, stop: &Stop, mut ask: impl FnMut(usize, &dyn Fn())) {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(address).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("the timeout is not zero");
    let mut buffer = [0; 1024];
    for question in 0..QUESTIONS {
        // Sent again without an answer: the server may not listen yet.
        let _ = stop.until(|| {
            ask(question, &|| drop(socket.send(format!("question {question}").as_bytes())));
            socket.recv(&mut buffer).is_ok()
        });
    }
    let _ = socket.send(b"quit");
}

/// Records a server that ends with exit code 0 at `quit`.
fn recorded(scratch: &Scratch, address: SocketAddr, command: Vec<String>, flags: &[&str]) -> (Recording, PathBuf) {
    let (recording, demo) = record_with(scratch, &Server::new(command), flags, |stop| ask(address, stop));
    assert_eq!(recording.code, 0, "the server runs as it does by itself: {recording}");
    (recording, demo)
}

/// What the demo says about itself.
fn notes(scratch: &Scratch, demo: &Path) -> Value {
    let info = run(prony().args(["demo", "info", "--json"]).arg(demo).current_dir(scratch.path()));
    serde_json::from_str::<Value>(&info).expect("the answer is JSON")["notes"].clone()
}

fn assert_noted(scratch: &Scratch, demo: &Path, text: &str) {
    let notes = notes(scratch, demo);
    let found = notes.as_array().is_some_and(|all| all.iter().any(|note| note.as_str() == Some(text)));
    assert!(found, "expected a note `{text}` among {notes}");
}

#[test]
fn a_server_that_exports_functions_of_libc_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("interposer");
    let address = free_address();
    // Its functions must be found by libraries loaded beside it, as those of Erlang's are.
    let server = compiled(&scratch, "interposer.c", &["-rdynamic"]);
    let (recording, demo) = recorded(&scratch, address, vec![server, address.port().to_string()], &[]);
    replay(&scratch, &demo, &[], &[]).assert_identical();
    let note = "interposer-c-rdynamic exports clock_gettime and 8 more of libc: only forwarded calls are seen";
    assert!(recording.said.contains(note), "{recording}");
    assert_noted(&scratch, &demo, note);
}

/// Compiles `plugins.c`, which finds its plugin through its RUNPATH.
fn plugins(scratch: &Scratch) -> String {
    let directory = scratch.directory("lib");
    let plugin = compiled(scratch, "plugin.c", &["-shared", "-fPIC"]);
    fs::rename(plugin, format!("{directory}/plugin.so")).expect("both lie in the scratch directory");
    compiled(scratch, "plugins.c", &["-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib"])
}

#[test]
fn a_plugin_loaded_with_deep_binding_is_recorded() {
    let _turn = Turn::take();
    let scratch = Scratch::new("plugins");
    let address = free_address();
    let command = vec![plugins(&scratch), address.port().to_string(), "plugin.so".into()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &[], &[]).assert_identical();
    assert_noted(&scratch, &demo, "plugin.so is loaded without RTLD_DEEPBIND, so that its calls are seen");
}

#[test]
fn a_server_that_replaces_dlsym_by_a_function_that_locks_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("patched");
    let address = free_address();
    let command = vec![compiled(&scratch, "patched.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_namespace_of_its_own_is_refused_by_name() {
    let _turn = Turn::take();
    let scratch = Scratch::new("namespaces");
    let address = free_address();
    let command = vec![plugins(&scratch), address.port().to_string(), "plugin.so".into(), "other-namespace".into()];
    let (recording, demo) = record_with(&scratch, &Server::new(command), &[], |_| {});
    assert_eq!(recording.code, 1, "the server sees that it cannot load its plugin: {recording}");
    assert!(recording.said.contains("dlmopen(plugin.so) is not recorded"), "{recording}");
    assert_noted(&scratch, &demo, "dlmopen(plugin.so) is not recorded: it would bring another libc");
}

#[test]
fn registrations_belong_to_what_is_behind_an_epoll_descriptor() {
    let _turn = Turn::take();
    for how in ["dup", "dup2", "dup3", "fcntl", "passed", "reused", "forked"] {
        let scratch = Scratch::new(&format!("epolls-{how}"));
        let address = free_address();
        let command = vec![compiled(&scratch, "epolls.c", &[]), address.port().to_string(), how.to_owned()];
        let (_, demo) = recorded(&scratch, address, command, &[]);
        replay(&scratch, &demo, &[], &[]).assert_identical();
    }
}

#[test]
fn an_event_of_a_registration_that_is_gone_has_the_data_of_that_registration() {
    let _turn = Turn::take();
    let scratch = Scratch::new("stale");
    let address = free_address();
    let command = vec![compiled(&scratch, "stale.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    let dump = run(prony().args(["demo", "dump"]).arg(&demo));
    let answers = dump.lines().filter(|line| line.contains(": a stale even")).count();
    assert!(answers >= QUESTIONS, "each of {QUESTIONS} answers is about a stale event, found {answers}");
    assert!(dump.matches(" of the registration 1 before").count() >= QUESTIONS, "the demo marks each of them");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn children_that_libc_forks_within_itself_leave_the_recording_whole() {
    let _turn = Turn::take();
    for how in ["forkpty", "openpty", "past"] {
        let scratch = Scratch::new(&format!("inside-{how}"));
        let address = free_address();
        let command =
            vec![compiled(&scratch, "inside.c", &["-lutil", "-ldl"]), address.port().to_string(), how.to_owned()];
        let (_, demo) = recorded(&scratch, address, command, &[]);
        // A replay cannot know the process number of a child whose fork was not recorded.
        match how {
            "past" => assert_noted(&scratch, &demo, "a child that was forked within a library is not recorded"),
            _ => replay(&scratch, &demo, &[], &[]).assert_identical(),
        }
    }
}

#[test]
fn the_signals_that_the_recorder_needs_are_the_servers_all_the_same() {
    let _turn = Turn::take();
    for (how, caught) in [("handler", "3030"), ("details", "3030"), ("ignore", "0")] {
        let scratch = Scratch::new(&format!("taken-{how}"));
        let address = free_address();
        let command = vec![compiled(&scratch, "taken.c", &[]), address.port().to_string(), how.to_owned()];
        let (_, demo) = recorded(&scratch, address, command, &[]);
        let dump = run(prony().args(["demo", "dump", "--json", "--call", "sendto"]).arg(&demo));
        let last = format!("{}: raw 3, kept 2, caught {caught}", QUESTIONS - 1);
        let hex: String = last.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(dump.contains(&hex), "{how}: expected `{last}` as the last answer, {hex} in {dump}");
    }
}

/// Answers of a server to [`QUESTIONS`] questions without a recorder.
pub fn native_answers(command: &[String], address: SocketAddr) -> Vec<String> {
    let mut server = Command::new(&command[0]).args(&command[1..]).spawn().expect("the server starts");
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(address).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("the timeout is not zero");
    let mut buffer = [0; 1024];
    let mut answers = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    while answers.len() < QUESTIONS {
        assert!(Instant::now() < deadline, "{} answers in a minute", answers.len());
        // Refused as long as the server does not listen.
        if socket.send(b"question").is_ok()
            && let Ok(length) = socket.recv(&mut buffer)
        {
            answers.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
        }
    }
    socket.send(b"quit").expect("it listens");
    assert!(server.wait().expect("it is our child").success());
    answers
}

/// What a server sent while it was recorded.
pub fn recorded_answers(demo: &Path) -> Vec<String> {
    let dump = run(prony().args(["demo", "dump", "--json", "--call", "sendto"]).arg(demo));
    let text = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let parts = line["parts"].as_array().expect("parts of a record");
        let hex = parts.iter().find(|part| part["kind"] == "out").expect("what was sent")["hex"].as_str();
        let digit = |digit: u8| (digit as char).to_digit(16).expect("hex") as u8;
        let bytes = hex.expect("bytes").as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1]));
        String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
    };
    dump.lines().map(text).collect()
}

/// Answers without what is never the same twice in them.
fn without_drawn(answers: Vec<String>) -> Vec<String> {
    answers.iter().map(|answer| answer.split(" drawn").next().expect("a part").to_owned()).collect()
}

#[test]
fn handlers_of_signals_run_as_posix_has_it() {
    let _turn = Turn::take();
    let scratch = Scratch::new("handlers");
    let address = free_address();
    let command = vec![compiled(&scratch, "handlers.c", &[]), address.port().to_string()];
    let native = native_answers(&command, address);
    let (recording, demo) = recorded(&scratch, address, command, &[]);
    assert_eq!(recorded_answers(&demo), native, "{recording}");
    assert!(recording.said.contains("reached a thread that was computing"), "{recording}");
    replay(&scratch, &demo, &["--repeat", "3"], &[]).assert_identical();
}

#[test]
fn what_a_handler_has_never_written_is_sent_as_recorded() {
    let _turn = Turn::take();
    let scratch = Scratch::new("handler-stack");
    let address = free_address();
    let command = vec![compiled(&scratch, "handler_stack.c", &[]), address.port().to_string()];
    let (recording, demo) = recorded(&scratch, address, command, &[]);
    assert!(recording.said.contains("handled"), "{recording}");
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
    replay(&scratch, &demo, &["--explain"], &[]).assert_identical();
}

#[test]
fn a_server_in_a_sandbox_of_its_own_is_not_ended_for_what_the_recorder_calls() {
    let _turn = Turn::take();
    for how in ["prctl", "seccomp"] {
        let scratch = Scratch::new(&format!("sandboxed-{how}"));
        let address = free_address();
        let command = vec![compiled(&scratch, "sandboxed.c", &[]), address.port().to_string(), how.to_owned()];
        let native = native_answers(&command, address);
        let (recording, demo) = recorded(&scratch, address, command, &[]);
        assert_eq!(recorded_answers(&demo), native, "{recording}");
        replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
    }
}

#[test]
fn standard_streams_and_files_are_in_a_replay_what_they_were() {
    let _turn = Turn::take();
    for (flags, streams) in [(&[][..], "0: 0 0 0"), (&["--json"], "0: 0 0 1")] {
        let scratch = Scratch::new("streams");
        let address = free_address();
        let file = scratch.path().join("written").display().to_string();
        let command = vec![compiled(&scratch, "streams.c", &[]), address.port().to_string(), file];
        let native = native_answers(&command, address);
        let (recording, demo) = recorded(&scratch, address, command, flags);
        let answers = recorded_answers(&demo);
        assert!(answers[0].starts_with(streams), "{answers:?}, {recording}");
        assert_eq!(answers.len(), native.len());
        for flags in [&[][..], &["--explain"]] {
            replay(&scratch, &demo, flags, &[]).assert_identical();
        }
    }
}

#[test]
fn pointers_that_lead_nowhere_are_answered_by_the_kernel() {
    let _turn = Turn::take();
    let scratch = Scratch::new("refused");
    let address = free_address();
    let command = vec![compiled(&scratch, "refused.c", &[]), address.port().to_string()];
    let native = native_answers(&command, address);
    let (recording, demo) = recorded(&scratch, address, command, &[]);
    assert_eq!(recorded_answers(&demo), native, "{recording}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_server_does_not_see_its_demo_in_a_directory() {
    let _turn = Turn::take();
    let scratch = Scratch::new("listed");
    fs::write(scratch.path().join("file"), "").expect("the directory is writable");
    let demo = scratch.path().join("x.demo");
    // Once more over the first one, which was there before.
    let printed = |arguments: &[&str], more: &[&str]| {
        let output = prony().args(arguments).arg(&demo).args(more).current_dir("/").output().expect("prony starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let folder = scratch.path().display().to_string();
    for _ in 0..2 {
        let recorded = printed(&["record", "--force", "-o"], &["--", "/bin/ls", "-A", &folder]);
        let replayed = printed(&["replay", "--show-output"], &[]);
        for said in [recorded, replayed] {
            assert!(said.starts_with("file\n") && !said.lines().any(|line| line == "x.demo"), "{said}");
        }
    }
}

#[test]
fn hosts_that_the_older_resolver_finds_are_found_in_a_replay() {
    let _turn = Turn::take();
    let scratch = Scratch::new("hosts");
    let address = free_address();
    let command = vec![compiled(&scratch, "hosts.c", &[]), address.port().to_string()];
    let native = native_answers(&command, address);
    let (recording, demo) = recorded(&scratch, address, command, &[]);
    assert_eq!(recorded_answers(&demo), native, "{recording}");
    assert!(!recording.said.contains("unrecorded"), "{recording}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn names_that_libc_makes_up_are_the_same_in_a_replay() {
    let _turn = Turn::take();
    let scratch = Scratch::new("temporary");
    let address = free_address();
    let folder = scratch.path().join("made");
    fs::create_dir(&folder).expect("the temporary directory is writable");
    let command =
        vec![compiled(&scratch, "temporary.c", &[]), address.port().to_string(), folder.display().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    // What the recording left behind is there, as in a second replay.
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
    fs::remove_dir_all(&folder).expect("it is there");
    fs::create_dir(&folder).expect("the temporary directory is writable");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn timers_that_call_on_a_thread_replay_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("ticking");
    let address = free_address();
    let command = vec![compiled(&scratch, "ticking.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &["--repeat", "5"], &[]).assert_identical();
}

#[test]
fn what_is_moved_past_the_server_arrives_as_it_does_natively() {
    let _turn = Turn::take();
    let scratch = Scratch::new("moved");
    let address = free_address();
    let command = vec![compiled(&scratch, "moved.c", &[]), address.port().to_string(), scratch.arg("file")];
    let native = native_answers(&command, address);
    let (recording, demo) = recorded(&scratch, address, command, &[]);
    assert_eq!(recorded_answers(&demo), native, "{recording}");
    assert_noted(
        &scratch,
        &demo,
        "splice or tee between pipes and sockets: how much it moves is recorded, and not what",
    );
    fs::remove_file(scratch.arg("file")).expect("the server has made it");
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
    let written = fs::read(scratch.arg("file")).expect("a replay writes it, too");
    assert!(written.starts_with(b"hello 29\0"), "{written:?}");
}

#[test]
fn system_calls_by_instructions_of_the_program_replay_identically() {
    let _turn = Turn::take();
    for (how, flags) in [(None, None), (Some("clone"), Some("-m64"))] {
        let scratch = Scratch::new("instructions");
        let address = free_address();
        let program = compiled(&scratch, "instructions.c", flags.as_slice());
        let command: Vec<String> =
            [program, address.port().to_string()].into_iter().chain(how.map(str::to_owned)).collect();
        let native = without_drawn(native_answers(&command, address));
        let (recording, demo) = recorded(&scratch, address, command, &[]);
        assert_eq!(without_drawn(recorded_answers(&demo)), native, "{recording}");
        let replayed = replay(&scratch, &demo, &["--repeat", "2"], &[]);
        match how {
            None => replayed.assert_identical(),
            // The thread is none of libc's.
            Some(_) => assert!(
                replayed.answer["verdict"] == "weak" && replayed.answer["divergence"].is_null(),
                "{replayed}\n{recording}"
            ),
        }
    }
}

#[test]
fn files_by_other_names_than_their_own_are_what_they_were() {
    let _turn = Turn::take();
    let scratch = Scratch::new("carried");
    let address = free_address();
    let state = scratch.arg("state");
    fs::create_dir(&state).expect("the temporary directory is writable");
    let program = compiled(&scratch, "carried.c", &[]);
    let script = format!("cd {} && exec {program} {} {state}", scratch.path().display(), address.port());
    let command = vec!["sh".to_owned(), "-c".to_owned(), script];
    let native = without_drawn(native_answers(&command, address));
    let (recording, demo) = recorded(&scratch, address, command, &["--follow-exec", "--state", &state]);
    assert_eq!(without_drawn(recorded_answers(&demo)), native, "{recording}");
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
}

#[test]
fn descriptors_that_a_replay_is_started_with_are_not_the_builds() {
    let _turn = Turn::take();
    let scratch = Scratch::new("leaked");
    let address = free_address();
    let command = vec![compiled(&scratch, "instructions.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    let script = r#"exec 3</dev/null 4</dev/null 5</dev/null 6</dev/null 7</dev/null 8</dev/null; exec "$@""#;
    let answer = CommandOutput::to(prony_by_shell(script, &[]).arg("replay").arg(&demo));
    assert_eq!(answer.code, Some(0), "{answer:?}");
}

#[test]
fn a_java_virtual_machine_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("java");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/calls/Answers.java");
    run(Command::new("javac").arg("-d").arg(scratch.path()).arg(source));
    for collector in ["-XX:+UseG1GC", "-XX:+UseSerialGC"] {
        let address = free_address();
        let words = ["java", collector, "-Xmx64m", "-cp", &scratch.arg("."), "Answers", &address.port().to_string()];
        let server = Server::new(words.map(str::to_owned));
        let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
            let get = |path: &str| {
                let mut answer = String::new();
                stop.until(|| {
                    let Ok(mut connection) = TcpStream::connect(address) else { return false };
                    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
                    connection
                        .write_all(request.as_bytes())
                        .and_then(|()| connection.read_to_string(&mut answer))
                        .is_ok()
                });
                answer
            };
            for question in 0..QUESTIONS {
                let answer = get("/");
                assert!(answer.contains(&format!("\n{question} ")), "{answer}");
            }
            get("/quit");
        });
        assert_eq!(recording.code, 0, "{recording}");
        assert!(recording.said.contains("Picked up JAVA_TOOL_OPTIONS: -XX:-UsePerfData"), "{recording}");
        replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
        fs::remove_file(&demo).expect("it was recorded");
    }
}

#[test]
fn a_signal_reaches_a_process_that_waits_for_itself_alone() {
    let _turn = Turn::take();
    // A lock of Python is a semaphore, and its handlers run when a wait for it is interrupted.
    let script = "import signal, socket, threading
over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.sendto(b'twenty bytes and more of output' * 10, ('127.0.0.1', 9))
over.wait()
print('over')";
    let scratch = Scratch::new("alone");
    let server = Server::new(["/usr/bin/python3", "-c", script].map(str::to_owned));
    let start = Instant::now();
    let (recording, demo) = record_with(&scratch, &server, &["--for", "1s"], |stop| stop.wait());
    assert!(start.elapsed() < Duration::from_secs(9), "it is not killed: {recording}");
    assert_eq!(recording.code, 0, "{recording}");
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
}

#[test]
fn a_recording_ends_although_processes_live_on() {
    let _turn = Turn::take();
    let scratch = Scratch::new("left-behind");
    // The child of another session ends on request, though it is another program.
    let children = "setsid sleep 1000 & exec sleep 1000";
    let record = |script: &str| {
        let demo = scratch.arg("left.demo");
        let mut command = prony();
        command.args(["record", "--force", "--for", "1s", "-o", &demo, "--", "/bin/sh", "-c", script]);
        String::from_utf8_lossy(&command.output().expect("prony starts").stderr).into_owned()
    };
    let said = record(children);
    assert!(!said.contains("lives on"), "{said}");
    // One that does not is named, and left alone.
    let stubborn = "setsid sh -c 'trap \"\" TERM; exec sleep 1000 >/dev/null 2>&1' & exec sleep 1000";
    let said = record(stubborn);
    let (_, named) = said.split_once("`sleep` (").unwrap_or_else(|| panic!("it is named: {said}"));
    run(Command::new("kill").args(["-KILL", named.split(')').next().expect("its number")]));
}

#[test]
fn programs_that_a_server_runs_are_followed_however_it_runs_them() {
    let _turn = Turn::take();
    for how in ["spawn", "spawnp", "system", "popen"] {
        let scratch = Scratch::new(&format!("spawning-{how}"));
        let address = free_address();
        let command = vec![compiled(&scratch, "spawning.c", &[]), address.port().to_string(), how.to_owned()];
        let (_, demo) = recorded(&scratch, address, command.clone(), &["--follow-exec"]);
        assert!(recorded_answers(&demo).len() >= QUESTIONS, "{how}: its answers are in the demo");
        replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
        let in_turn = ["--follow-exec", "--processes-in-turn"];
        let (_, demo) = recorded(&scratch, address, command, &[&in_turn[..], &["--force"]].concat());
        replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
    }
}

#[test]
fn a_program_that_has_sockets_and_is_not_recorded_is_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("beside");
    let address = free_address();
    let script = format!("{} {} & wait", compiled(&scratch, "heap.c", &[]), address.port());
    let demo = scratch.arg("beside.demo");
    let mut command = prony();
    command.args(["record", "--force", "-o", &demo, "--", "/bin/sh", "-c", &script]);
    let recorder = command.stderr(Stdio::piped()).spawn().expect("prony starts");
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.connect(address).expect("loopback is reachable");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("the timeout is not zero");
    // Refused as long as the server does not listen.
    let answered = || socket.send(b"question").is_ok() && socket.recv(&mut [0; 1024]).is_ok();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !answered() {
        assert!(Instant::now() < deadline, "no answer in a minute");
    }
    run(Command::new("kill").args(["-TERM", &recorder.id().to_string()]));
    let said = recorder.wait_with_output().expect("it is our child").stderr;
    let said = String::from_utf8_lossy(&said);
    let named = said.contains("the server runs `heap-c` (process ") && said.contains("--follow-exec records");
    assert!(named, "{said}");
}

#[test]
fn a_script_that_becomes_a_server_with_threads_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("wrapper");
    let address = free_address();
    let server = compiled(&scratch, "crew.c", &[]);
    let script = "#!/bin/sh\nhere=$(dirname \"$0\")\necho \"from $here\"\nexec \"$SERVER\" \"$@\"\n";
    let script = scratch.write("server.sh", script);
    run(Command::new("chmod").args(["+x", &script]));
    let server = Server::new([script, address.port().to_string()]).with_variable("SERVER", server);
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| ask(address, stop));
    assert_eq!(recording.code, 0, "{recording}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_script_that_preloads_a_library_for_the_server_preloads_it_while_recorded() {
    let _turn = Turn::take();
    let scratch = Scratch::new("preloading");
    let script = "LD_PRELOAD=/no/such/library.so exec printenv LD_PRELOAD >&2";
    let (recording, demo) = record_with(&scratch, &Server::new(["/bin/sh", "-c", script]), &[], |stop| stop.wait());
    assert!(recording.said.contains("/no/such/library.so\n"), "{recording}");
    let shown = scratch.prony(&["replay", "story.demo", "--show-output", "--trust-demo"]);
    assert!(shown.stderr.contains("/no/such/library.so\n"), "{shown:?}");
    assert!(demo.exists());
}

#[test]
fn a_program_with_threads_that_becomes_another_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("replaced");
    let address = free_address();
    let command = vec![compiled(&scratch, "crew.c", &[]), address.port().to_string(), "exec".to_owned()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_server_without_privileges_waits_for_a_recorder_that_is_slow() {
    let _turn = Turn::take();
    let scratch = Scratch::new("dropped");
    let address = free_address();
    let server = Server::new([compiled(&scratch, "dropped.c", &[]), address.port().to_string()]);
    let mut is_stopped = false;
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
        ask_with(address, stop, |question, send| {
            // The fifth answer moves more than fits between the two. Each sleep of the server is a look for room.
            if question != 5 || std::mem::replace(&mut is_stopped, true) {
                return send();
            }
            stop.signal("STOP");
            let before = stop.sleeps();
            send();
            stop.until(|| stop.sleeps() > before + 5_000);
            stop.signal("CONT");
        });
    });
    assert_eq!(recording.code, 0, "{recording}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_thread_that_is_cancelled_in_a_wait_ends_in_a_replay_too() {
    let _turn = Turn::take();
    let scratch = Scratch::new("cancelled");
    let address = free_address();
    let command = vec![compiled(&scratch, "cancelled.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &["--repeat", "3"], &[]).assert_identical();
}

#[test]
fn a_wait_for_a_condition_that_a_signal_interrupts_holds_no_mutex_in_a_replay() {
    let _turn = Turn::take();
    let scratch = Scratch::new("conditions");
    let address = free_address();
    let command = vec![compiled(&scratch, "conditions.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &["--repeat", "3"], &[]).assert_identical();
}

#[test]
fn a_child_that_traces_its_parent_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("traced");
    let address = free_address();
    let command = vec![compiled(&scratch, "traced.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &["--repeat", "3"], &[]).assert_identical();
}

#[test]
fn children_threads_and_timers_with_numbers_of_earlier_ones_replay_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("reused");
    let address = free_address();
    let command = vec![compiled(&scratch, "reused.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command.clone(), &[]);
    replay(&scratch, &demo, &["--repeat", "3"], &[]).assert_identical();
    let other = vec![compiled(&scratch, "reused.c", &["-DOTHER_BUILD"]), address.port().to_string()];
    replay(&scratch, &demo, &[], &other).assert_identical();
}

#[test]
fn the_list_of_interfaces_has_the_recorded_length() {
    let _turn = Turn::take();
    let scratch = Scratch::new("interfaces");
    let address = free_address();
    let command = vec![compiled(&scratch, "interfaces.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn processes_that_end_with_a_robust_mutex_replay_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("robust");
    let address = free_address();
    let command = vec![compiled(&scratch, "robust.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &["--repeat", "3"], &[]).assert_identical();
}

/// Records of acquisitions in a demo.
fn acquisitions(demo: &Path) -> usize {
    let calls = ["pthread_mutex_lock", "pthread_mutex_trylock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock"];
    let calls = [&calls[..], &["pthread_spin_lock", "sem_wait"]].concat();
    calls.iter().map(|call| run(prony().args(["demo", "dump", "--call", call]).arg(demo)).lines().count()).sum()
}

/// Acquisitions without a wait that `locks.c` makes for all its answers.
const FREE_LOCKS: usize = QUESTIONS * (120 + 120 + 60) * 5;

#[test]
fn locks_that_are_free_need_no_record() {
    let _turn = Turn::take();
    let scratch = Scratch::new("locks");
    let address = free_address();
    let command = vec![compiled(&scratch, "locks.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command.clone(), &[]);
    let recorded_ones = acquisitions(&demo);
    assert!(recorded_ones > QUESTIONS && recorded_ones < FREE_LOCKS / 2, "{recorded_ones} of {FREE_LOCKS}");
    replay(&scratch, &demo, &["--repeat", "5"], &[]).assert_identical();
    // Wherever the demo ends, a thread is about to wait for a lock.
    let cut = scratch.path().join("cut.demo");
    let records = proof::count(&demo);
    for part in 4..24 {
        proof::cut(&demo, &cut, records * part / 24);
        replay(&scratch, &cut, &["--trust-demo", "--allow-truncated"], &[]).assert_identical();
    }
    // Side by side, each has one.
    let (_, demo) = self::recorded(&scratch, address, command, &["--threads-side-by-side", "--force"]);
    let all = acquisitions(&demo);
    assert!(all > FREE_LOCKS, "{all} of {FREE_LOCKS}");
    let info = run(prony().args(["demo", "info"]).arg(&demo));
    assert!(info.contains("threads ran side by side"), "a replay that diverges names it: {info}");
}

#[test]
fn a_lock_whose_turn_has_not_come_is_waited_for_and_no_call_of_the_server() {
    let _turn = Turn::take();
    let scratch = Scratch::new("ahead");
    let address = free_address();
    let command = vec![compiled(&scratch, "ahead.c", &["-pthread"]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    for _ in 0..3 {
        let answer = replay(&scratch, &demo, &[], &[]);
        answer.assert_identical();
        assert_eq!(answer.answer["resynced"], 0, "{answer}");
    }
}

#[test]
fn calls_leave_nothing_on_a_stack_that_a_collector_scans() {
    let _turn = Turn::take();
    let scratch = Scratch::new("scanned");
    let address = free_address();
    let command = vec![compiled(&scratch, "scanned.c", &["-rdynamic"]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &["--repeat", "3"], &[]).assert_identical();
}

#[test]
fn descriptors_that_a_program_hands_to_the_next_replay_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("handing");
    let address = free_address();
    let command = vec![compiled(&scratch, "handing.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

/// Compiles `processor.c` without symbols, and the plugin that it loads.
fn asking(scratch: &Scratch, flags: &[&str]) -> (String, String) {
    let plugin = compiled(scratch, "stamped.c", &["-shared", "-fPIC", "-s"]);
    (compiled(scratch, "processor.c", &[&["-s"], flags].concat()), plugin)
}

#[test]
fn what_a_server_reads_from_the_processor_is_recorded() {
    let _turn = Turn::take();
    let scratch = Scratch::new("processor");
    let address = free_address();
    let (server, plugin) = asking(&scratch, &[]);
    let arguments = [address.port().to_string(), plugin.clone()];
    let (_, demo) = recorded(&scratch, address, [vec![server.clone()], arguments.to_vec()].concat(), &[]);
    replay(&scratch, &demo, &["--repeat", "3"], &[]).assert_identical();
    // Another build, in which all of it lies elsewhere.
    let (other, _) = asking(&scratch, &["-DOTHER_BUILD", "-O1"]);
    replay(&scratch, &demo, &[], &[vec![other], arguments.to_vec()].concat()).assert_identical();
    // Each kind is reported once for each object.
    let notes = notes(&scratch, &demo).to_string();
    for kind in ["(rdtsc)", "(rdrand)"] {
        let name = server.rsplit('/').next().expect("a path has a last part");
        assert!(notes.contains(name) && notes.contains(kind), "{notes}");
    }
    assert!(notes.contains(plugin.rsplit('/').next().expect("a path has a last part")), "{notes}");
}

#[test]
fn the_random_device_of_cpp_is_recorded() {
    let _turn = Turn::take();
    for linked in ["-fPIC", "-static-libstdc++"] {
        let scratch = Scratch::new("device");
        let address = free_address();
        let server = compiled(&scratch, "device.cpp", &[linked, "-std=c++20"]);
        let (_, demo) = recorded(&scratch, address, vec![server, address.port().to_string()], &[]);
        replay(&scratch, &demo, &[], &[]).assert_identical();
    }
}

#[test]
fn a_server_that_reopens_its_standard_input_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("reopened");
    let address = free_address();
    let lines = scratch.write("lines", "first\nsecond\nthird\n");
    let command = vec![compiled(&scratch, "reopened.c", &[]), address.port().to_string(), lines];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_wait_that_was_interrupted_goes_on_with_the_same_sets() {
    let _turn = Turn::take();
    let scratch = Scratch::new("interrupted");
    let address = free_address();
    let command = vec![compiled(&scratch, "interrupted.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    let dumped = run(prony().args(["demo", "dump", "--call", "select"]).arg(&demo));
    assert!(dumped.contains("= -1 EINTR"), "the timer interrupts a wait: {dumped}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn children_of_every_make_replay_identically() {
    let _turn = Turn::take();
    for how in ["fork", "vfork", "clone", "raw-clone", "raw-clone3", "raw-vfork", "pidfd"] {
        let scratch = Scratch::new(&format!("children-{how}"));
        let address = free_address();
        let server = compiled(&scratch, "children.c", &[]);
        let command = vec![server, address.port().to_string(), scratch.arg("written"), how.to_owned()];
        let (_, demo) = recorded(&scratch, address, command, &[]);
        replay(&scratch, &demo, &[], &[]).assert_identical();
    }
}

#[test]
fn processes_that_share_memory_take_turns() {
    let _turn = Turn::take();
    for how in ["mmap", "shmget"] {
        let scratch = Scratch::new(&format!("shared-{how}"));
        let address = free_address();
        let server = compiled(&scratch, "shared.c", &[]);
        let command = vec![server, address.port().to_string(), scratch.arg("locks"), how.to_owned()];
        let (recording, demo) = recorded(&scratch, address, command, &[]);
        let text = recording.to_string();
        assert!(!text.contains("shared writable") && !text.contains("shared memory"), "it is covered: {text}");
        replay(&scratch, &demo, &["--repeat", "5"], &[]).assert_identical();
        // Wherever the demo ends, none of them goes on alone.
        let cut = scratch.path().join("cut.demo");
        let records = proof::count(&demo);
        let mut counts: Vec<usize> = (10..16).map(|part| records * part / 16).collect();
        counts.extend(proof::counts_before(&demo, Op::SchedYield).iter().take(8));
        for count in counts {
            proof::cut(&demo, &cut, count);
            replay(&scratch, &cut, &["--trust-demo", "--allow-truncated"], &[]).assert_identical();
        }
    }
}

#[test]
fn a_build_that_logs_less_before_it_shares_memory_stands_in_the_recorded_order() {
    let _turn = Turn::take();
    let scratch = Scratch::new("quiet");
    let address = free_address();
    let rest = [address.port().to_string(), scratch.arg("locks"), "mmap".to_owned()];
    let command = |server: String| [vec![server], rest.to_vec()].concat();
    let (_, demo) = recorded(&scratch, address, command(compiled(&scratch, "shared.c", &[])), &[]);
    let builds = Scratch::new("quiet-builds");
    let quiet = command(compiled(&builds, "shared.c", &["-DQUIET"]));
    replay(&scratch, &demo, &["--repeat", "3"], &quiet).assert_identical();
}

#[test]
fn processes_that_share_a_named_semaphore_take_turns() {
    let _turn = Turn::take();
    let scratch = Scratch::new("named");
    let address = free_address();
    let command = vec![compiled(&scratch, "named.c", &[]), address.port().to_string()];
    let (recording, demo) = recorded(&scratch, address, command, &[]);
    assert!(!recording.said.contains("named semaphore"), "it is covered: {recording}");
    replay(&scratch, &demo, &["--repeat", "5"], &[]).assert_identical();
}

#[test]
fn processes_that_agree_through_files_are_named_and_take_turns_on_request() {
    let _turn = Turn::take();
    for flags in [&[] as &[&str], &["--processes-in-turn"]] {
        let scratch = Scratch::new(&format!("counters{}", flags.concat()));
        let address = free_address();
        let file = scratch.arg("count");
        let command = vec![compiled(&scratch, "counters.c", &[]), address.port().to_string(), file.clone()];
        let (recording, demo) = recorded(&scratch, address, command, flags);
        let named = recording.said.contains(&format!("several processes read and write {file}: "));
        assert_eq!(named, flags.is_empty(), "{recording}");
        if !flags.is_empty() {
            replay(&scratch, &demo, &["--repeat", "5"], &[]).assert_identical();
        }
    }
}

#[test]
fn what_the_resolver_leaves_of_the_heap_is_the_same_in_a_replay() {
    let _turn = Turn::take();
    let scratch = Scratch::new("heap");
    let address = free_address();
    let command = vec![compiled(&scratch, "heap.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
}

#[test]
fn two_entries_for_a_descriptor_and_stdio_into_a_pipe_replay_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("ends");
    let address = free_address();
    let command = vec![compiled(&scratch, "ends.c", &[]), address.port().to_string()];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
}

#[test]
fn a_socket_that_is_bound_to_a_path_is_a_file_in_a_replay() {
    let _turn = Turn::take();
    let scratch = Scratch::new("paths");
    let address = free_address();
    let command = vec![compiled(&scratch, "paths.c", &[]), address.port().to_string(), scratch.arg("socket")];
    let (_, demo) = recorded(&scratch, address, command, &[]);
    let left = scratch.path().join("socket");
    fs::remove_file(&left).expect("the server left its last socket");
    replay(&scratch, &demo, &["--repeat", "2"], &[]).assert_identical();
    assert!(!left.exists(), "a replay leaves no socket behind");
}

#[test]
fn a_state_directory_has_its_own_permissions_in_a_replay_without_root() {
    const NOBODY: u32 = 65534;
    let _turn = Turn::take();
    for permissions in [0o700, 0o750, 0o755, 0o2770] {
        let scratch = Scratch::new("modes");
        let address = free_address();
        let state = scratch.directory("state");
        scratch.write("state/secret", "");
        // The recorder makes its files in the scratch directory, as that user.
        for path in [scratch.path(), Path::new(&state), &scratch.path().join("state/secret")] {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("run as root: only root gives a directory to another user");
        }
        let set = |path: &str, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is there");
        set(&scratch.arg("state/secret"), 0o640);
        set(&state, permissions);
        let command = [compiled(&scratch, "modes.c", &[]), address.port().to_string(), state.clone()];
        let server = Server::new(command).with_state(state.clone()).by_user(NOBODY);
        let (recording, demo) = record_with(&scratch, &server, &[], |stop| ask(address, stop));
        assert_eq!(recording.code, 0, "{recording}");
        // Where the replay lays the directory out nothing of this is left.
        set(&state, 0o711);
        replay_by(&scratch, &demo, &[], &[], Some(NOBODY)).assert_identical();
    }
}
