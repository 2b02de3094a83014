//! `prony nic`: an 82599 in software; `prony load nic`: a driver under load.

mod check;
mod guard;
mod join;
mod load;
mod serve;
mod trace;

use std::ffi::OsString;
use std::fmt::Write;

use prony_machine::huge_pages::HugePagesError;
use prony_machine::{HugePages, Tree};
use prony_softnic_host::{MapError, NamespaceError, Notice, RunError};

use crate::failure::Failure;
pub use check::run as check;
pub use guard::wait as guard;
pub use join::run as join;
pub use load::run as load;
pub use serve::run as serve;
pub use trace::run as trace;

/// Placeholder in a command for the address of a port.
const PLACEHOLDER: &str = "ADDR";

/// PCI addresses of the ports: two to a card.
fn addresses(ports: u8) -> Vec<String> {
    (0..ports).map(|port| format!("0000:{:02x}:00.{}", 3 + port / 2, port % 2)).collect()
}

/// The command with the addresses in their places: each `ADDR` is the next one; without any, all are appended.
fn with_addresses(command: &[OsString], addresses: &[String]) -> Vec<OsString> {
    let mut next = addresses.iter().cycle();
    let mut whole: Vec<OsString> = command.to_vec();
    let mut has_place = false;
    for part in whole.iter_mut().filter(|part| *part == PLACEHOLDER) {
        has_place = true;
        if let Some(address) = next.next() {
            *part = address.into();
        }
    }
    if !has_place {
        whole.extend(addresses.iter().map(OsString::from));
    }
    whole
}

/// Huge pages for a driver, and the process that gives them back if this one is killed.
struct Reserved<'a> {
    /// Dropped before the guard, which finds nothing to do then.
    _pages: HugePages<'a>,
    _guard: Option<guard::Guard>,
}

fn reserve(tree: &Tree, pages: u64) -> Result<Reserved<'_>, Failure> {
    let pages = HugePages::reserve(tree, pages).map_err(|error| huge_pages_failure(&error))?;
    let guard = pages.is_changed().then(guard::Guard::start).transpose();
    Ok(Reserved { _pages: pages, _guard: guard.map_err(|error| Failure::new(format!("cannot start prony: {error}")))? })
}

fn huge_pages_failure(error: &HugePagesError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        HugePagesError::Unsupported => failure.hint("boot a kernel with CONFIG_HUGETLBFS"),
        HugePagesError::NotPermitted { number, .. } => {
            failure.hint(format!("run prony as root, or run `sysctl vm.nr_hugepages={number}` as root first"))
        }
        HugePagesError::NoMemory { .. } => failure.hint(
            "free some memory, run `sysctl vm.compact_memory=1` as root, or ask for fewer with --huge-pages; common \
             drivers need 12 for two ports",
        ),
        HugePagesError::Undo(error) => super::machine::undo_failure("reserve huge pages", error),
    }
}

/// Failure of a run, with the next step.
fn failure(error: RunError) -> Failure {
    let mut message = error.to_string();
    if let RunError::NoFrames { mistakes, .. } | RunError::NoSlice { mistakes, .. } = &error {
        for (_, Notice { port, event, .. }) in mistakes {
            // Ports of every number have the same addresses.
            let address = addresses(*port as u8 + 1).pop().unwrap_or_default();
            // A string takes everything.
            let _ = write!(message, "; mistake of the driver at {address}: {}", prony_report::nic::event(event));
        }
    }
    let failure = Failure::new(message);
    match error {
        RunError::Namespace(NamespaceError::NotPermitted(_) | NamespaceError::Io { .. }) => {
            failure.hint("run prony as root; a container needs the right to mount, such as `docker run --privileged`")
        }
        RunError::Namespace(NamespaceError::NoPlace { path }) => {
            failure.hint(format!("mount what belongs to {}, such as sysfs at /sys", path.display()))
        }
        RunError::Map(MapError::NoFrames { .. }) => {
            failure.hint("run prony as root; a container needs CAP_SYS_ADMIN, such as `docker run --privileged`")
        }
        RunError::Map(MapError::Io { .. }) => failure.hint("run prony as root, outside of user namespaces"),
        RunError::Start { .. } => failure.hint("give the path of the program, such as ./forwarder"),
        RunError::Ended { output, huge_pages_changed: Some((from, to)), .. } => failure.printed(&tail(&output)).hint(
            format!("somebody changed vm.nr_hugepages from {from} to {to} during the run: stop that, and repeat"),
        ),
        RunError::Ended { output, is_measuring: false, .. } => failure.printed(&tail(&output)).hint(
            "its arguments are PCI addresses; write ADDR where it expects one; --show-output shows all that it prints",
        ),
        RunError::Ended { output, .. } => {
            failure.printed(&tail(&output)).hint("--show-output shows all that it prints")
        }
        RunError::NotReady { output, .. } => failure
            .printed(&tail(&output))
            .hint("`prony nic trace -- COMMAND` shows how far it came; --setup-timeout gives it more time"),
        RunError::NoFrames { output, .. } => failure
            .printed(&tail(&output))
            .hint("`prony nic trace -- COMMAND` shows the frames that it gets and the descriptors that it uses"),
        RunError::NoSlice { output, .. } => failure
            .printed(&tail(&output))
            .hint("use --mode cross-core; if the driver only had too little time to settle, a longer --warm-up"),
        RunError::Cpu { .. } => {
            failure.hint("`prony machine show` lists the CPUs; --driver-cpu and --device-cpu choose")
        }
        RunError::Interrupted | RunError::Io(_) => failure,
    }
}

/// The last lines that a driver printed.
fn tail(output: &str) -> String {
    const LINES: usize = 10;
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use prony_softnic_host::{Direction, Event, Malformed};

    use super::*;

    #[test]
    fn a_driver_that_sent_nothing_is_reported_with_the_mistake_that_stopped_it() {
        let event = Event::BadTail { direction: Direction::Transmit, queue: 0, tail: 600, descriptors: 512 };
        let ended = Event::Malformed { queue: 0, index: 3, problem: Malformed::ZeroLength };
        let notice = |port, event| (1, Notice { time_ns: 0, port, event });
        let mistakes = vec![notice(0, ended), notice(1, event)];
        let none = failure(RunError::NoFrames { seconds: 2.0, delivered: 2, mistakes, output: String::new() });
        assert_eq!(
            none.to_string(),
            "error: no frame came out in 2.000 s, of 2 that went in; mistake of the driver at 0000:03:00.0: transmit queue 0, descriptor 3: a length of 0; \
             mistake of the driver at 0000:03:00.1: transmit queue 0: tail 600 in a ring of 512 descriptors\n\
             hint: `prony nic trace -- COMMAND` shows the frames that it gets and the descriptors that it uses\n"
        );
    }

    #[test]
    fn addresses_go_to_their_places_or_to_the_end() {
        let command = |parts: &[&str]| -> Vec<OsString> { parts.iter().map(OsString::from).collect() };
        let ports = addresses(2);
        assert_eq!(ports, ["0000:03:00.0", "0000:03:00.1"]);
        let whole = with_addresses(&command(&["fwd", "ADDR", "-n", "4", "ADDR"]), &ports);
        assert_eq!(whole, command(&["fwd", "0000:03:00.0", "-n", "4", "0000:03:00.1"]));
        assert_eq!(with_addresses(&command(&["fwd"]), &ports), command(&["fwd", "0000:03:00.0", "0000:03:00.1"]));
        assert_eq!(addresses(3)[2], "0000:04:00.0");
    }
}
