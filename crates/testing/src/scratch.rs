//! Temporary directories and the command in them, free ports and packages: what a test or a server needs around it.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard};

use crate::{CommandOutput, cache_home, prony};

/// A directory of its own for one test; stays behind when the test fails, and says where.
pub struct Scratch {
    path: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
}

/// Seconds after which [`Scratch::prony`] takes a command for one that never ends.
const NEVER_ENDS_S: &str = "300";

impl Scratch {
    /// Makes the directory, with the test's name in its own.
    pub fn new(test: &str) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("prony-test-{}-{count}-{test}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary directory is writable");
        let variables = vec![("XDG_STATE_HOME", path.join("state-home")), ("XDG_CACHE_HOME", cache_home())];
        Scratch { path, variables }
    }

    /// The same, with a file or directory in it named by a variable of every [`command`](Scratch::command).
    pub fn with_variable(mut self, name: &'static str, file: &str) -> Scratch {
        self.variables.push((name, self.path.join(file)));
        self
    }

    /// Path of the directory, below the temporary directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file or directory in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The same as an argument of a command.
    pub fn arg(&self, name: &str) -> String {
        self.file(name).to_str().expect("temporary paths are UTF-8").to_owned()
    }

    /// Writes a file, with the directories it needs; returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.file(name);
        fs::create_dir_all(path.parent().expect("it lies in the directory")).expect("the directory is writable");
        fs::write(&path, content).expect("the directory is writable");
        self.arg(name)
    }

    /// Writes an executable script for `/bin/sh`; returns its path.
    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.write(name, format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it was just written");
        path
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Makes a directory in it; returns its path.
    pub fn directory(&self, name: &str) -> String {
        fs::create_dir_all(self.file(name)).expect("the directory is writable");
        self.arg(name)
    }

    /// Makes a named pipe; returns its path.
    pub fn pipe(&self, name: &str) -> PathBuf {
        let path = self.file(name);
        assert!(Command::new("mkfifo").arg(&path).status().expect("coreutils are installed").success());
        path
    }

    /// `prony`, to be run in the directory, with a list of recorded demos of its own.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = prony();
        command.args(arguments).current_dir(&self.path).envs(self.variables.iter().map(|(name, path)| (name, path)));
        command
    }

    /// Runs `prony` in the directory; one that does not come to an end is a failure, not a test that never ends.
    pub fn prony(&self, arguments: &[impl AsRef<OsStr>]) -> CommandOutput {
        let command = self.command(arguments);
        let mut limited = Command::new("timeout");
        limited.args(["--kill-after=5", NEVER_ENDS_S]).arg(command.get_program());
        limited.args(command.get_args()).current_dir(&self.path);
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let answer = CommandOutput::to(&mut limited);
        assert!(![Some(124), Some(137)].contains(&answer.code), "it waits for ever: {answer:?}");
        answer
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what the test left is in {}", self.path.display());
        } else {
            // A file that vanishes meanwhile is no reason to fail a test that passed.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// An address on 127.0.0.1 whose port the kernel says is free for TCP and UDP, and gives to no socket that names none: a
/// client of another test would else have it before the server that it is for.
pub fn free_address() -> SocketAddr {
    /// The last port that was handed out, from a number that differs between runs.
    static LAST: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(RandomState::new().hash_one(0) as u32));
    let range =
        fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").expect("Linux says which ports it gives out");
    let given: Vec<u16> = range.split_ascii_whitespace().map(|port| port.parse().expect("ports are numbers")).collect();
    let named: Vec<u16> = (1024..=u16::MAX).filter(|port| !(given[0]..=given[1]).contains(port)).collect();
    loop {
        let next = LAST.fetch_add(1, Ordering::Relaxed) as usize % named.len();
        let address = SocketAddr::from(([127, 0, 0, 1], named[next]));
        if TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
}

/// The program at `path`, or a failure that names the Debian package it comes in.
pub fn program(path: &str, package: &str) -> String {
    assert!(Path::new(path).exists(), "{path} is missing: sudo apt-get install {package}");
    path.to_owned()
}

/// Runs a command to its end and returns its standard output; fails with all it said.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("the command prints text")
}

/// At most two stories at a time: each keeps a server, its clients and a replay busy.
pub struct Turn;

const STORIES_AT_ONCE: usize = 2;
static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

impl Turn {
    /// Waits for a free place.
    pub fn take() -> Turn {
        let mut running = ENDED
            .wait_while(lock_running(), |running| *running >= STORIES_AT_ONCE)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        *running += 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *lock_running() -= 1;
        ENDED.notify_one();
    }
}

fn lock_running() -> MutexGuard<'static, usize> {
    // A story that failed while it held the lock left a number that is still right.
    RUNNING.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
