//! `prony bench` and `prony selftest` on small real programs.

mod answers;
mod failures;
mod workers;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use prony_testing::{Answer, prony};

/// A directory to work in, gone at the end of the test.
struct Place(PathBuf);

impl Place {
    /// Empty.
    fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("prony-bench-{}-{count}", std::process::id()));
        fs::create_dir_all(&directory).expect("the temporary directory is writable");
        Place(directory)
    }

    /// Where a file of the directory is.
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What a file of the directory holds.
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A script for `/bin/sh`, executable.
    fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), format!("#!/bin/sh\n{text}\n")).expect("the directory is writable");
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// The program of known work, compiled to `./burn`.
    fn burn(&self) {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../subjects/burn/burn.c");
        let built = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(self.path("burn")).arg(source).status();
        assert!(built.expect("cc is there: apt-get install gcc libc6-dev").success());
    }

    /// The command, to be run here.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = prony();
        command.args(arguments).current_dir(&self.0);
        command
    }

    /// Runs the command here.
    fn prony(&self, arguments: &[&str]) -> Answer {
        Answer::to(&mut self.command(arguments))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
