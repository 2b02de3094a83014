//! Programs that a recorded server runs and that are not recorded themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::launched::Launched;

/// Most processes that are looked at.
const PROCESSES: usize = 10_000;

/// A program that is not recorded and has sockets of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beside {
    /// Kernel's id of the process.
    pub(crate) pid: i32,
    /// Name of its program.
    pub(crate) name: String,
}

/// Descendants of this process, without those that take part, that have sockets of the internet protocols which none of those
/// has. Processes that end meanwhile are left out.
pub(crate) fn with_sockets(take_part: &[i32]) -> Vec<Beside> {
    let own = std::process::id() as i32;
    // A helper that inherits what it makes no use of is no server.
    let recorded: BTreeSet<u64> = take_part.iter().flat_map(|&pid| sockets(pid)).collect();
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([own]);
    let mut waiting = vec![own];
    while let Some(pid) = waiting.pop().filter(|_| seen.len() < PROCESSES) {
        waiting.extend(children(pid).into_iter().filter(|child| seen.insert(*child)));
        if pid != own && !take_part.contains(&pid) && has_internet_socket(pid, &recorded) {
            found.push(Beside { pid, name: Launched::name_of(pid) });
        }
    }
    found.sort_by_key(|beside| beside.pid);
    found
}

/// Children of a process, of whatever thread.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Numbers of the sockets that a process has open.
fn sockets(pid: i32) -> BTreeSet<u64> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    links.filter_map(socket_of).collect()
}

fn has_internet_socket(pid: i32, recorded: &BTreeSet<u64>) -> bool {
    let sockets: BTreeSet<u64> = sockets(pid).difference(recorded).copied().collect();
    // The tables of the network that the process is in.
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(|table| format!("/proc/{pid}/net/{table}"));
    !sockets.is_empty()
        && tables.iter().filter_map(|table| fs::read_to_string(table).ok()).any(|table| has_any(&table, &sockets))
}

/// Number of the socket that a link of `/proc/PID/fd` leads to: `socket:[8121]`.
fn socket_of(link: PathBuf) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// True if a table of `/proc/net` has a line for one of the sockets: the tenth field is its number.
fn has_any(table: &str, sockets: &BTreeSet<u64>) -> bool {
    const NUMBER: usize = 9;
    let numbers = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(NUMBER)?.parse().ok());
    numbers.into_iter().any(|number: u64| sockets.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_found_by_its_number() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:1A85 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 8121 2 0 0\n";
        assert_eq!(socket_of("socket:[8121]".into()), Some(8121));
        assert_eq!(socket_of("pipe:[8121]".into()), None);
        assert!(has_any(table, &BTreeSet::from([8121])) && !has_any(table, &BTreeSet::from([0, 7, 2])));
    }

    #[test]
    fn this_process_is_not_beside_itself() {
        let _socket = std::net::UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let own = std::process::id() as i32;
        assert!(has_internet_socket(own, &BTreeSet::new()));
        assert!(!has_internet_socket(own, &sockets(own)), "it has none that is not known");
        assert!(with_sockets(&[]).iter().all(|beside| beside.pid != own));
    }
}
