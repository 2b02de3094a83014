//! Network namespaces of tests, with interfaces of their own. They need root, and vanish with their processes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Set in the process that is within its own namespace.
const INSIDE: &str = "PRONY_NAMESPACE_INSIDE";

/// Runs the test `name` of this program again in a network namespace of its own. True in that process.
///
/// # Panics
/// If namespaces cannot be made, or the test fails in its own.
pub fn is_inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut can = Command::new("unshare");
    let can = can.args(["--net", "ip", "link"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(can.is_ok_and(|status| status.success()), "{name} needs root and network namespaces");
    let exe = std::env::current_exe().expect("it is running");
    let status = Command::new("unshare")
        .arg("--net")
        .arg(exe)
        .args(["--exact", name, "--include-ignored", "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("it was just there");
    assert!(status.success(), "{name} failed in its namespace");
    false
}

/// Runs ip(8) with arguments that are separated by spaces.
///
/// # Panics
/// If it fails.
pub fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("it was just there");
    assert!(status.success(), "ip {arguments}");
}

/// A process in a network namespace of its own, which has one interface. It ends with this.
pub struct Beyond(Child);

impl Beyond {
    /// Moves `interface` to a new namespace, gives it `address`, as in `10.0.0.2/24`, and starts `command` there.
    ///
    /// # Panics
    /// If one of the steps fails.
    pub fn start(interface: &str, address: &str, command: &[String]) -> Beyond {
        // The shell is in its namespace when it writes a line, and the interface is when it reads one.
        let script =
            "echo; read -r _ && ip addr add \"$2\" dev \"$1\" && ip link set dev \"$1\" up && shift 2 && exec \"$@\"";
        let mut child = Command::new("unshare")
            .args(["--net", "sh", "-c", script, "sh", interface, address])
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was just there");
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut String::new()).expect("the shell writes a line");
        ip(&format!("link set dev {interface} netns {}", child.id()));
        child.stdin.take().expect("piped").write_all(b"\n").expect("the shell reads a line");
        Beyond(child)
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it was waited for before.
    pub fn wait(mut self) -> ExitStatus {
        self.0.wait().expect("it is our child")
    }
}

impl Drop for Beyond {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is reaped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
