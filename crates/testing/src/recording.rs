//! Runs the `prony` command: records a server while clients drive it, and replays the demo.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::prony;
use crate::scratch::{Scratch, run};

/// How long a story records; the least the demo of a real server should span.
pub const RECORD_SECONDS: u64 = 10;

/// How long a recording may take to end once its time is up, and a replay altogether: the ten
/// seconds take well under one, so only a replay that hangs gets there.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server as a story starts it.
pub struct Server {
    /// Program and arguments of the server.
    pub command: Vec<String>,
    /// Variables on top of the test's own environment.
    pub environment: Vec<(&'static str, String)>,
    /// The directory it writes to, if it does.
    pub state: Option<String>,
    /// The user that records and replays it, if that is another one.
    pub user: Option<u32>,
}

impl Server {
    /// A server that writes nowhere and needs no variables.
    pub fn new<S: Into<String>>(command: impl IntoIterator<Item = S>) -> Server {
        Server {
            command: command.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            state: None,
            user: None,
        }
    }

    /// Names the directory it writes to.
    pub fn with_state(mut self, directory: String) -> Server {
        self.state = Some(directory);
        self
    }

    /// Has another user record it; only root can.
    pub fn by_user(mut self, user: u32) -> Server {
        self.user = Some(user);
        self
    }

    /// The server with one more environment variable.
    pub fn with_variable(mut self, name: &'static str, value: String) -> Server {
        self.environment.push((name, value));
        self
    }
}

/// Signals the clients that the recording has ended.
pub struct Stop<'a> {
    ended: &'a AtomicBool,
    recorder: u32,
}

impl Stop<'_> {
    /// The flag itself, for clients that run in threads of their own.
    pub fn flag(&self) -> &AtomicBool {
        self.ended
    }

    /// Process of `prony record`.
    pub fn recorder(&self) -> u32 {
        self.recorder
    }

    /// True once the recording has ended.
    pub fn is_set(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Retries until the server answers; false when the recording ended before.
    pub fn until(&self, mut answers: impl FnMut() -> bool) -> bool {
        while !answers() {
            if self.is_set() {
                return false;
            }
            // Between two questions, not instead of one.
            thread::park_timeout(Duration::from_millis(20));
        }
        true
    }

    /// Interrupts `prony record`, as Ctrl-C would.
    pub fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends `prony record` a signal.
    pub fn signal(&self, name: &str) {
        run(Command::new("sh").args(["-c", &format!("kill -{name} {}", self.recorder)]));
    }

    /// Times that the main thread of the server has slept so far.
    pub fn sleeps(&self) -> u64 {
        let recorder = self.recorder;
        let child =
            fs::read_to_string(format!("/proc/{recorder}/task/{recorder}/children")).expect("the recorder runs");
        let status = fs::read_to_string(format!("/proc/{}/status", child.trim())).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse().ok()).expect("the kernel counts them")
    }

    /// Waits for the end. What a client does whose server hung up: when that was the end of the
    /// recording it follows at once, and when it was not, the client's tally shows it.
    pub fn wait(&self) {
        self.until(|| false);
    }
}

/// Records `server` for [`RECORD_SECONDS`] while `drive` keeps it busy; returns the demo's path.
///
/// `drive` starts when the server starts, so it first waits for it with [`Stop::until`], and ends
/// when its [`Stop`] is set. What it panics with fails the story.
pub fn record(scratch: &Scratch, server: &Server, drive: impl FnOnce(&Stop) + Send) -> PathBuf {
    let started = Instant::now();
    let limit = format!("{RECORD_SECONDS}s");
    let (recording, demo) = record_with(scratch, server, &["--for", &limit], drive);
    assert!(started.elapsed().as_secs() >= RECORD_SECONDS, "the recording ended too early: {recording}");
    assert!(demo.exists(), "the recording left no demo: {recording}");
    demo
}

/// Result of `prony record`: demo and messages.
pub struct Recording {
    /// Exit code of `prony record`, which is the server's.
    pub code: i32,
    /// Text that `prony record` and the server wrote to standard error.
    pub said: String,
}

impl std::fmt::Display for Recording {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "exit code {}\n{}", self.code, self.said)
    }
}

/// As [`record`], but until the server ends or `flags` end it; the demo need not be there.
pub fn record_with(
    scratch: &Scratch,
    server: &Server,
    flags: &[&str],
    drive: impl FnOnce(&Stop) + Send,
) -> (Recording, PathBuf) {
    let demo = scratch.path().join("story.demo");
    let mut command = prony();
    command.args(["record", "-o"]).arg(&demo).args(flags);
    if let Some(state) = &server.state {
        command.args(["--state", state]);
    }
    command.arg("--").args(&server.command);
    command.envs(server.environment.iter().map(|(name, value)| (name, value)));
    command.current_dir(scratch.path());
    become_user(&mut command, scratch, server.user);

    let deadline = Instant::now() + Duration::from_secs(RECORD_SECONDS) + PATIENCE;
    let mut recorder = Running::start(command, scratch.path().join("record"));
    let ended = AtomicBool::new(false);
    let status = thread::scope(|scope| {
        let stop = Stop { ended: &ended, recorder: recorder.child.id() };
        let driver = scope.spawn(move || drive(&stop));
        let mut gave_up = None;
        let status = loop {
            let status = recorder.poll();
            // Clients that are done early are wrong, unless what they did ends the server.
            if driver.is_finished() {
                gave_up.get_or_insert_with(|| Instant::now() + Duration::from_secs(10));
            }
            let late = |deadline| Instant::now() > deadline;
            if status.is_some() || late(deadline) || gave_up.is_some_and(late) {
                break status;
            }
            thread::park_timeout(Duration::from_millis(20));
        };
        ended.store(true, Ordering::Relaxed);
        if status.is_none() {
            recorder.kill();
        }
        if let Err(panic) = driver.join() {
            eprintln!("{}", recorder.said());
            std::panic::resume_unwind(panic);
        }
        status
    });
    let said = recorder.said();
    let status = status.unwrap_or_else(|| panic!("the recording did not end, or its clients gave up early:\n{said}"));
    (Recording { code: status.code().unwrap_or(-1), said }, demo)
}

/// Answer of `prony replay`, with its JSON.
pub struct Replay {
    /// Exit code of `prony replay`.
    pub code: i32,
    /// The answer of `--json`; null when there was none.
    pub answer: Value,
    /// Text that `prony replay` wrote to standard error.
    pub said: String,
}

impl Replay {
    /// A number of the answer.
    pub fn number(&self, name: &str) -> u64 {
        self.answer[name].as_u64().unwrap_or_else(|| panic!("`{name}` is missing from {self}"))
    }

    /// Fails unless the replay was identical and had bytes to compare.
    pub fn assert_identical(&self) {
        assert_eq!(self.code, 0, "expected an identical replay: {self}");
        assert_eq!(self.answer["verdict"], "identical", "expected an identical replay: {self}");
        assert!(self.number("output_bytes_verified") > 0, "nothing was verified: {self}");
    }
}

impl std::fmt::Display for Replay {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "exit code {}, {}\n{}", self.code, self.answer, self.said)
    }
}

/// Replays `demo` with `--json`; `flags` come before the demo, `command` replaces the recorded one.
///
/// Runs in `/` and without the recording's variables, as a user would a day later.
pub fn replay(scratch: &Scratch, demo: &Path, flags: &[&str], command: &[String]) -> Replay {
    replay_by(scratch, demo, flags, command, None)
}

/// As [`replay`], by another user.
pub fn replay_by(scratch: &Scratch, demo: &Path, flags: &[&str], command: &[String], user: Option<u32>) -> Replay {
    let mut prony = prony();
    prony.args(["replay", "--json"]).args(flags).arg(demo).current_dir("/");
    if !command.is_empty() {
        prony.arg("--").args(command);
    }
    become_user(&mut prony, scratch, user);
    let mut running = Running::start(prony, scratch.path().join("replay"));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = running.poll() {
            break status;
        }
        assert!(Instant::now() < deadline, "the replay hangs:\n{}", running.said());
        thread::park_timeout(Duration::from_millis(5));
    };
    let answer = fs::read(running.stdout()).expect("the file was made");
    let mut answer: Value = serde_json::from_slice(&answer).unwrap_or(Value::Null);
    for list in ["frame_ms_list", "frame_cpu_ms_list"] {
        // Too long for a message.
        answer.as_object_mut().map(|answer| answer.remove(list));
    }
    Replay { code: status.code().unwrap_or(-1), answer, said: running.said() }
}

/// Another user cannot write the list of demos that this one has, so it keeps one in the scratch directory.
fn become_user(command: &mut Command, scratch: &Scratch, user: Option<u32>) {
    if let Some(user) = user {
        command.uid(user).gid(user).env("XDG_STATE_HOME", scratch.arg("lists"));
    }
}

/// A command with its output in files, in a process group of its own that does not outlive it.
struct Running {
    child: Child,
    output: PathBuf,
    ended: bool,
}

impl Running {
    /// Starts `command`; its output goes to `output`.stdout and `output`.stderr.
    fn start(mut command: Command, output: PathBuf) -> Running {
        let make = |suffix| File::create(output.with_extension(suffix)).expect("the temporary directory is writable");
        command.stdin(Stdio::null()).stdout(make("stdout")).stderr(make("stderr")).process_group(0);
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Running { child, output, ended: false }
    }

    fn poll(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().expect("the child is ours");
        self.ended |= status.is_some();
        status
    }

    fn stdout(&self) -> PathBuf {
        self.output.with_extension("stdout")
    }

    /// The end of what it said: enough to understand a failure, not a server's whole log.
    fn said(&self) -> String {
        const SHOWN_BYTES: usize = 6000;
        let bytes = fs::read(self.output.with_extension("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SHOWN_BYTES)..]).into_owned()
    }

    fn kill(&mut self) {
        // The shell's own `kill`: the standard library cannot signal a group. First a request, so
        // that `prony` takes its server along, wherever that runs.
        let group = self.child.id();
        let script = format!(
            "kill -TERM -{group}; for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 -{group} || exit 0; sleep 0.1; done; kill -KILL -{group}"
        );
        let _ = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
        }
    }
}
