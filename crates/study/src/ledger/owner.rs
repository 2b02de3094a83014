//! Process that claimed a cell, identified so that others can tell whether it still exists.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// A process, unlike any other that this machine ever had.
///
/// Numbers of processes are used again; with the time of its start, and the boot that this time counts from, one is
/// meant for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// PID of the process that owns the ledger.
    pub pid: u32,
    /// Start time in ticks since the boot: field 22 of `/proc/PID/stat` (proc(5)).
    pub started_ticks: u64,
    /// Identity of the boot, from `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// The namespace that its number belongs to: the link `/proc/PID/ns/pid`.
    pub namespace: String,
}

impl Owner {
    /// Owner that stands for this process.
    ///
    /// # Errors
    /// Where `/proc` is not mounted.
    pub fn this() -> io::Result<Owner> {
        let pid = std::process::id();
        let started_ticks =
            started_ticks(pid).ok_or_else(|| io::Error::other("expected the start of this process in /proc"))?;
        Ok(Owner { pid, started_ticks, boot: boot()?, namespace: namespace()? })
    }

    /// True if the process can no longer run cells of a ledger whose lock `here` holds.
    ///
    /// In another namespace its number means nothing here; then the lock, which it would hold if it still ran, has
    /// decided already.
    pub fn is_gone(&self, here: &Owner) -> bool {
        self.boot != here.boot
            || self.namespace != here.namespace
            || started_ticks(self.pid) != Some(self.started_ticks)
    }
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

fn namespace() -> io::Result<String> {
    Ok(fs::read_link("/proc/self/ns/pid")?.to_string_lossy().into_owned())
}

/// `None` when there is no such process, or it is dead and only its parent has not noticed yet.
fn started_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything; the state is the first field behind it, the start the twentieth.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_there_until_it_was_killed_and_its_number_alone_says_nothing() {
        let here = Owner::this().expect("this is Linux");
        assert!(!here.is_gone(&here));
        let mut child = Command::new("sleep").arg("600").spawn().expect("sleep is everywhere");
        let of_child =
            Owner { pid: child.id(), started_ticks: started_ticks(child.id()).expect("it runs"), ..here.clone() };
        assert!(!of_child.is_gone(&here));
        let namesake = Owner { started_ticks: of_child.started_ticks + 1, ..of_child.clone() };
        assert!(namesake.is_gone(&here), "the number is in use by another process");
        assert!(Owner { boot: "another".to_owned(), ..of_child.clone() }.is_gone(&here));
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        assert!(of_child.is_gone(&here));
    }
}
