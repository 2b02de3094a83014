//! Who is served when: the bound that `prony_enet::host` states.

use std::collections::BTreeMap;

use prony_enet::{Event, Host, Packet, PeerId, Settings};
use proptest::prelude::*;

use crate::link::{Faults, Link};

/// A server with `clients` on one client host.
fn server_with(clients: usize) -> (Link, Vec<PeerId>) {
    let server = Host::new(clients, Settings::default(), &[1; 16]);
    let client = Host::new(clients, Settings::default(), &[2; 16]);
    let mut link = Link::new(vec![server, client], Faults::default(), 1);
    let peers = (0..clients).map(|_| link.connect(1).0).collect();
    (link, peers)
}

/// Between two places of a peer in `served`, every other that is served before and after comes once.
fn assert_turns(served: &[PeerId]) {
    let mut last: BTreeMap<PeerId, usize> = BTreeMap::new();
    for (at, peer) in served.iter().enumerate() {
        if let Some(before) = last.insert(*peer, at) {
            let between = &served[before + 1..at];
            let mut others = between.to_vec();
            others.sort();
            others.dedup();
            assert_eq!(others.len(), between.len(), "nobody is served twice while {peer:?} waits");
            for other in served[at..].iter().filter(|other| *other != peer) {
                let waits_since = served[..=before].contains(other);
                assert!(!waits_since || others.contains(other), "{other:?} waits and was passed over");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_peer_is_served_twice_while_another_waits_once(
        backlogs in prop::collection::vec(0usize..40, 2..12),
    ) {
        let (mut link, peers) = server_with(backlogs.len());
        for (peer, backlog) in peers.iter().zip(&backlogs) {
            for _ in 0..*backlog {
                link.hosts[0].send(*peer, 0, Packet::unsequenced(vec![0; 900])).unwrap();
            }
        }
        let now = link.now();
        let (mut served, mut packets, mut bytes) = (Vec::new(), 0, Vec::new());
        while let Some(transmit) = link.hosts[0].poll_transmit(now, &mut bytes) {
            prop_assert!(bytes.len() <= 1392, "one MTU a turn");
            served.push(transmit.peer.expect("all are connected"));
            // A ping may be due, too.
            packets += usize::from(bytes.len() > 900);
        }
        prop_assert_eq!(packets, backlogs.iter().sum::<usize>());
        assert_turns(&served);
    }

    #[test]
    fn events_are_delivered_in_turns_too(backlogs in prop::collection::vec(0usize..40, 2..12)) {
        let (mut link, _) = server_with(backlogs.len());
        let peers: Vec<_> = link.hosts[1].connected().collect();
        for (peer, backlog) in peers.iter().zip(&backlogs) {
            for _ in 0..*backlog {
                link.hosts[1].send(*peer, 0, Packet::unsequenced(b"")).unwrap();
            }
        }
        let now = link.now();
        let mut bytes = Vec::new();
        while link.hosts[1].poll_transmit(now, &mut bytes).is_some() {
            link.hosts[0].handle_datagram(now, crate::link::address(1), &bytes);
        }
        let mut served = Vec::new();
        while let Some(event) = link.hosts[0].poll_event() {
            let Event::Receive { peer, .. } = event else { panic!("{event:?}") };
            served.push(peer);
        }
        prop_assert_eq!(served.len(), backlogs.iter().sum::<usize>());
        assert_turns(&served);
    }
}
