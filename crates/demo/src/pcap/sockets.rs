//! Descriptors and their sockets, over all processes of a demo.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An open socket; several descriptors may share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Socket {
    pub(super) kind: Kind,
    pub(super) local: Option<SocketAddr>,
    pub(super) peer: Option<SocketAddr>,
    pub(super) stream: Stream,
    descriptors: usize,
}

impl Socket {
    pub(super) fn new(kind: Kind, local: Option<SocketAddr>, peer: Option<SocketAddr>) -> Socket {
        Socket { kind, local, peer, ..Socket::default() }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Udp,
    Tcp,
    Unix,
    /// Files, pipes, raw sockets and descriptors whose making was not seen.
    #[default]
    Other,
}

/// State of a TCP connection: the next sequence numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stream {
    pub(super) open: bool,
    pub(super) peer_finished: bool,
    pub(super) local_finished: bool,
    pub(super) local_next: u32,
    pub(super) peer_next: u32,
}

/// The sockets of all processes.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    by_descriptor: HashMap<(u16, i32), usize>,
    sockets: HashMap<usize, Socket>,
    made: usize,
}

impl Sockets {
    /// A new socket; gives back one that the descriptor named before, when it was the last name.
    pub(super) fn insert(&mut self, at: (u16, i32), socket: Socket) -> Option<Socket> {
        let replaced = self.remove(at);
        self.made += 1;
        self.sockets.insert(self.made, Socket { descriptors: 1, ..socket });
        self.by_descriptor.insert(at, self.made);
        replaced
    }

    pub(super) fn find(&mut self, at: (u16, i32)) -> Option<&mut Socket> {
        self.sockets.get_mut(self.by_descriptor.get(&at)?)
    }

    /// Forgets a descriptor; gives the socket when that was its last name.
    pub(super) fn remove(&mut self, at: (u16, i32)) -> Option<Socket> {
        let socket = self.by_descriptor.remove(&at)?;
        let shared = self.sockets.get_mut(&socket)?;
        shared.descriptors -= 1;
        if shared.descriptors == 0 { self.sockets.remove(&socket) } else { None }
    }

    /// `dup` and its kin; gives a socket that `new` named before, when it was the last name.
    pub(super) fn duplicate(&mut self, old: (u16, i32), new: (u16, i32)) -> Option<Socket> {
        if old == new {
            return None;
        }
        let replaced = self.remove(new);
        if let Some(&socket) = self.by_descriptor.get(&old) {
            self.by_descriptor.insert(new, socket);
            if let Some(shared) = self.sockets.get_mut(&socket) {
                shared.descriptors += 1;
            }
        }
        replaced
    }

    /// The child of a `fork` has every descriptor of its parent.
    pub(super) fn inherit(&mut self, parent: u16, child: u16) {
        let inherited: Vec<i32> =
            self.by_descriptor.keys().filter(|(process, _)| *process == parent).map(|&(_, fd)| fd).collect();
        for fd in inherited {
            self.duplicate((parent, fd), (child, fd));
        }
    }

    /// Descriptors of a process, ascending.
    pub(super) fn descriptors(&self, process: u16) -> Vec<i32> {
        let mut all: Vec<i32> =
            self.by_descriptor.keys().filter(|(owner, _)| *owner == process).map(|&(_, fd)| fd).collect();
        all.sort_unstable();
        all
    }
}

/// Both ends as one packet can carry them: the same family, and loopback where an unspecified
/// address talks to a loopback one.
pub(super) fn ends(local: SocketAddr, peer: SocketAddr) -> (SocketAddr, SocketAddr) {
    let (local, peer) = (unmapped(local), unmapped(peer));
    (specified(local, peer.ip()), specified(peer, local.ip()))
}

fn specified(here: SocketAddr, there: IpAddr) -> SocketAddr {
    if !here.ip().is_unspecified() {
        return here;
    }
    let ip: IpAddr = match there {
        IpAddr::V4(there) if there.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(there) if there.is_loopback() => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, here.port())
}

fn unmapped(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_lives_until_its_last_descriptor_in_any_process_closes() {
        let mut sockets = Sockets::default();
        sockets.insert((0, 3), Socket { kind: Kind::Tcp, ..Socket::default() });
        sockets.inherit(0, 1);
        sockets.duplicate((1, 3), (1, 7));
        assert!(sockets.remove((0, 3)).is_none());
        assert!(sockets.remove((1, 3)).is_none());
        assert_eq!(sockets.remove((1, 7)).map(|socket| socket.kind), Some(Kind::Tcp));
        assert!(sockets.find((1, 7)).is_none());
    }

    #[test]
    fn an_unspecified_end_takes_the_family_and_loopback_of_the_other() {
        let parse = |text: &str| text.parse::<SocketAddr>().expect("valid");
        let check = |local, peer, expected: &str| {
            let (local, peer) = ends(parse(local), parse(peer));
            assert_eq!(format!("{local} {peer}"), expected);
        };
        check("0.0.0.0:1", "127.0.0.1:2", "127.0.0.1:1 127.0.0.1:2");
        check("[::]:1", "[::ffff:127.0.0.1]:2", "127.0.0.1:1 127.0.0.1:2");
        check("[::]:1", "[::1]:2", "[::1]:1 [::1]:2");
        check("0.0.0.0:1", "192.0.2.1:2", "0.0.0.0:1 192.0.2.1:2");
        check("[::]:1", "192.0.2.1:2", "0.0.0.0:1 192.0.2.1:2");
    }
}
