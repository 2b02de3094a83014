//! The server, seen from outside: its CPU time, and what its socket dropped.

use prony_machine::Tree;

use crate::usage::{Threads, Usage};

/// A server's process between two times.
#[derive(Debug)]
pub(crate) struct Watch {
    tree: Tree,
    pid: u32,
    before: Option<Threads>,
}

impl Watch {
    pub fn new(tree: Tree, pid: u32) -> Watch {
        Watch { tree, pid, before: None }
    }

    /// Takes the first look; false if there is no such process.
    pub fn begin(&mut self) -> bool {
        self.before = Threads::of_process(&self.tree, self.pid);
        self.before.is_some()
    }

    /// Usage of the process since the last look, and the number of its threads that ended; `None` without a first look,
    /// and when the process has exited.
    pub fn look(&mut self) -> Option<(Usage, u64)> {
        let now = Threads::of_process(&self.tree, self.pid);
        let before = std::mem::replace(&mut self.before, now);
        Some(self.before.as_ref()?.since(&before?))
    }
}

/// Datagrams that sockets bound to `port` dropped for lack of room, all together; `None` if none is bound.
pub(crate) fn drops(tree: &Tree, port: u16) -> Option<u64> {
    let tables = ["/proc/net/udp", "/proc/net/udp6"].map(|table| tree.read(table).unwrap_or_default());
    let counts = tables.iter().flat_map(|table| table.lines()).filter_map(|line| drops_of(line, port));
    counts.reduce(u64::saturating_add)
}

/// The count in a line of `/proc/net/udp`, if that is of a socket at `port` that is not connected.
///
/// The second and third field are the two ends, hexadecimal `address:port`; the last one counts (udp4_format_sock in
/// net/ipv4/udp.c).
fn drops_of(line: &str, port: u16) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace();
    let port_of = |end: &str| u16::from_str_radix(end.rsplit_once(':')?.1, 16).ok();
    let (local, remote) = (port_of(fields.nth(1)?)?, port_of(fields.next()?)?);
    if local != port || remote != 0 {
        return None;
    }
    fields.next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  285: 0100007F:1E61 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 72551 2 0000000000000000 20117
  286: 0100007F:1E61 0100007F:9C40 07 00000000:00000000 00:00000000 00000000     0        0 72552 2 0000000000000000 3
  900: 00000000:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 72553 2 0000000000000000 9";

    #[test]
    fn drops_are_those_of_the_servers_port() {
        let of = |port| LINES.lines().filter_map(|line| drops_of(line, port)).reduce(u64::saturating_add);
        assert_eq!((of(0x1e61), of(0x44), of(99)), (Some(20_117), Some(9), None));
    }

    #[test]
    fn a_bound_socket_has_a_count() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let port = socket.local_addr().expect("it is bound").port();
        assert_eq!(drops(&Tree::machine(), port), Some(0));
    }

    #[test]
    fn a_process_that_is_gone_did_nothing_that_is_known() {
        let mut watch = Watch::new(Tree::machine(), u32::MAX);
        assert!(!watch.begin() && watch.look().is_none());
        let mut watch = Watch::new(Tree::machine(), std::process::id());
        assert!(watch.begin() && watch.look().is_some());
    }
}
