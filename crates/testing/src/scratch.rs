//! Temporary directories, free ports and packages: what a server needs around it.

use std::fs;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// A directory of its own for one story; stays behind when the story fails, and says where.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the directory.
    pub fn new(story: &str) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("prony-story-{}-{count}-{story}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary directory is writable");
        Scratch { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file or directory in it, as an argument of a command.
    pub fn arg(&self, name: &str) -> String {
        self.path.join(name).to_str().expect("temporary paths are UTF-8").to_owned()
    }

    /// Writes a file, with the directories it needs; returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().expect("it lies in the directory")).expect("the directory is writable");
        fs::write(&path, content).expect("the directory is writable");
        self.arg(name)
    }

    /// Makes a directory in it; returns its path.
    pub fn directory(&self, name: &str) -> String {
        fs::create_dir_all(self.path.join(name)).expect("the directory is writable");
        self.arg(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what the story left is in {}", self.path.display());
        } else {
            // A file that vanishes meanwhile is no reason to fail a story that held.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// An address on 127.0.0.1 whose port the kernel says is free for TCP and UDP.
pub fn free_address() -> SocketAddr {
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        if UdpSocket::bind(address).is_ok() {
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
            .unwrap_or_else(|held| held.into_inner());
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
    RUNNING.lock().unwrap_or_else(|held| held.into_inner())
}
