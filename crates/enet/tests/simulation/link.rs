//! The network: datagrams that are under way, and the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use prony_enet::{Event, Host, PeerId};

use prony_testing::enet::dice::Dice;

/// What happens to datagrams, each as a share of 65536.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    pub loss: u32,
    pub duplication: u32,
    pub corruption: u32,
    /// Delays are even between these; later ones overtake earlier ones.
    pub delay_ms: (u64, u64),
}

/// A share in percent.
pub fn percent(percent: u32) -> u32 {
    percent * 65_536 / 100
}

/// A datagram: when it arrives, in which order it left, to whom, from whom, and its bytes.
type UnderWay = (u64, u64, usize, usize, Vec<u8>);

pub struct Link {
    pub now_ms: u64,
    pub hosts: Vec<Host>,
    pub faults: Faults,
    pub dice: Dice,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    sent: u64,
    steps: u64,
}

/// Steps after which hosts are checked.
const CHECKED_EVERY: u64 = 16;

/// Where host number `host` is.
pub fn address(host: usize) -> SocketAddr {
    let [.., high, low] = (host as u32).to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(10, 0, high, low), 7000))
}

impl Link {
    pub fn new(hosts: Vec<Host>, faults: Faults, seed: u64) -> Link {
        Link { now_ms: 1, hosts, faults, dice: Dice::new(seed), under_way: BinaryHeap::new(), sent: 0, steps: 0 }
    }

    pub fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms)
    }

    /// Goes on to the next moment at which something happens, at most to `until_ms`; returns what happened, with the host.
    pub fn step(&mut self, until_ms: u64) -> Vec<(usize, Event)> {
        self.transmit();
        let arrival = self.under_way.peek().map(|Reverse((at, ..))| *at);
        let timers = self.hosts.iter().filter_map(|host| host.poll_timeout()).map(|due| due.as_millis() as u64);
        let next = timers.chain(arrival).min().unwrap_or(until_ms);
        self.now_ms = next.clamp(self.now_ms + 1, until_ms.max(self.now_ms + 1));
        let now = self.now();
        while self.under_way.peek().is_some_and(|Reverse((at, ..))| *at <= self.now_ms) {
            let Some(Reverse((_, _, to, from, bytes))) = self.under_way.pop() else { break };
            self.hosts[to].handle_datagram(now, address(from), &bytes);
        }
        let mut events = Vec::new();
        for (number, host) in self.hosts.iter_mut().enumerate() {
            host.handle_timeout(now);
            events.extend(std::iter::from_fn(|| host.poll_event()).map(|event| (number, event)));
        }
        self.steps += 1;
        if self.steps.is_multiple_of(CHECKED_EVERY) {
            for host in &self.hosts {
                host.check_invariants().unwrap_or_else(|broken| panic!("{} ms: {broken}", self.now_ms));
            }
        }
        events
    }

    fn transmit(&mut self) {
        let now = self.now();
        let mut bytes = Vec::new();
        for from in 0..self.hosts.len() {
            while let Some(transmit) = self.hosts[from].poll_transmit(now, &mut bytes) {
                let to = self.number(transmit.to);
                if to >= self.hosts.len() {
                    // No host has this address.
                    continue;
                }
                let copies = 1 + u32::from(self.hits(self.faults.duplication));
                for _ in 0..copies {
                    self.post(from, to, bytes.clone());
                }
            }
        }
    }

    /// Puts a datagram on its way.
    pub fn post(&mut self, from: usize, to: usize, mut bytes: Vec<u8>) {
        if self.hits(self.faults.loss) {
            return;
        }
        if self.hits(self.faults.corruption) {
            let at = self.dice.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << self.dice.below(8);
        }
        let (least, most) = self.faults.delay_ms;
        let arrival = self.now_ms + 1 + least + self.dice.below(most - least + 1);
        self.sent += 1;
        self.under_way.push(Reverse((arrival, self.sent, to, from, bytes)));
    }

    fn hits(&mut self, share: u32) -> bool {
        self.dice.below(65_536) < share.into()
    }

    fn number(&self, address: SocketAddr) -> usize {
        match address {
            SocketAddr::V4(address) => {
                let [.., high, low] = address.ip().octets();
                usize::from(high) << 8 | usize::from(low)
            }
            SocketAddr::V6(_) => panic!("no host has an IPv6 address"),
        }
    }

    /// Connects host 1 to host 0, however long that takes; returns the peer at either.
    pub fn connect(&mut self, channels: usize) -> (PeerId, PeerId) {
        let client = self.hosts[1].connect(address(0), channels, 7).expect("there is a slot");
        let (mut server, mut is_done) = (None, false);
        let end = self.now_ms + 40_000;
        while server.is_none() || !is_done {
            assert!(self.now_ms < end, "no connection within 40 s");
            for (host, event) in self.step(end) {
                match (host, event) {
                    (0, Event::Connect { peer, data: 7 }) => server = Some(peer),
                    (1, Event::Connect { .. }) => is_done = true,
                    (_, other) => panic!("{other:?}"),
                }
            }
        }
        (server.expect("the loop ends with it"), client)
    }
}
