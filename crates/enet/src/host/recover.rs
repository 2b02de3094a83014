//! What is left of a host after a panic.
//!
//! This crate catches none: it may run where there is nothing to catch them. The driver of a host does, and calls
//! [`Host::recover`]. A panic is a fault all the same, and is counted as one.

use super::*;
use crate::invariant::InvariantError;

/// What a host gave up after a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// Nothing: no peer was worked for.
    Nothing,
    /// The connection of the peer that was worked for.
    Peer(PeerId),
    /// All connections, as tables that they share did not agree any more. `None`: ending one connection panicked too.
    AllPeers(Option<InvariantError>),
}

impl Host {
    /// Restores the host after a panic that interrupted [`Host::handle_datagram`], [`Host::handle_timeout`] or
    /// [`Host::poll_transmit`]: the peer that was worked for loses its connection, by an event with
    /// [`DisconnectReason::Failed`]. If the tables that peers share do not pass [`Host::check_invariants`] after it, all
    /// peers do.
    ///
    /// It counts in [`Statistics::panics`].
    pub fn recover(&mut self) -> Recovered {
        self.statistics.panics += 1;
        let slot = self.works_for.take().filter(|&slot| self.peer_of(slot).is_some());
        let checked = self.check_shared().and_then(|()| {
            let peer = slot.map(|slot| self.id(slot));
            if let Some(slot) = slot {
                self.fail(slot);
            }
            self.check_invariants().map(|()| peer)
        });
        match checked {
            Ok(Some(peer)) => Recovered::Peer(peer),
            Ok(None) => Recovered::Nothing,
            Err(broken) => {
                self.drop_all_peers();
                Recovered::AllPeers(Some(broken))
            }
        }
    }

    /// Ends the connection of `slot`; one that the application never saw leaves no event.
    fn fail(&mut self, slot: u32) {
        match self.peer_of(slot).map(Connection::shown_state) {
            Some(State::ConnectionPending | State::AcknowledgingConnect) => self.release(slot),
            _ => self.end(slot, (0, DisconnectReason::Failed)),
        }
    }

    /// Rebuilds every table and drops every peer, with an event with [`DisconnectReason::Failed`] for each. No peer is notified.
    pub fn drop_all_peers(&mut self) {
        let slots = self.slots.len();
        self.statistics.work = self.statistics.work.wrapping_add(self.wheel.work);
        self.wheel = Wheel::new(slots);
        for row in [&mut self.ready, &mut self.blocked, &mut self.dispatch, &mut self.connected] {
            *row = Ring::new(slots);
        }
        self.free = FreeSlots::all(slots);
        self.commands = Slab::new();
        self.tokens.clear();
        self.budget.clear();
        self.attempts = HashMap::with_hasher(*self.attempts.hasher());
        self.addresses = HashMap::with_hasher(*self.addresses.hasher());
        self.broadcasts.clear();
        self.half_open = HalfOpenTable::new(HALF_OPEN);
        self.short.clear();
        self.bandwidth.limited_peers = 0;
        self.works_for = None;
        for (slot, place) in (0..).zip(&mut self.slots) {
            let Some(old) = place.connection.take() else { continue };
            (place.outgoing_session, place.incoming_session) = (old.ids.outgoing_session, old.ids.incoming_session);
            if matches!(old.shown_state(), State::ConnectionPending | State::AcknowledgingConnect) {
                place.generation = place.generation.wrapping_add(1);
                continue;
            }
            // No more is left of it than its event needs.
            let mut ended = Connection::new(Side::Initiator, old.address, 0, 0, old.path.mtu);
            (ended.ids.outgoing_session, ended.ids.incoming_session) =
                (old.ids.outgoing_session, old.ids.incoming_session);
            ended.state = State::Zombie;
            ended.reason = if old.state == State::Zombie { old.reason } else { (0, DisconnectReason::Failed) };
            place.connection = Some(Box::new(ended));
            self.free.remove(slot);
            self.dispatch.push_back(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::packet::Packet;
    use crate::range_coder::RangeCoder;
    use crate::settings::Compressor;

    const SERVER: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 7000);

    fn client_address(number: usize) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1), 7000 + number as u16))
    }

    /// A range coder that panics when a datagram expands to one with the word in it.
    struct Fragile(RangeCoder);

    const EMPTY: Received = Received { channel: 0, kind: crate::packet::Kind::Reliable, payload: Vec::new() };
    const WORD: &[u8] = b"the word at which it panics";

    impl Compressor for Fragile {
        fn compress(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
            self.0.compress(input, limit, output)
        }

        fn expand(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
            let start = output.len();
            let bytes = self.0.expand(input, limit, output);
            assert!(!output[start..].windows(WORD.len()).any(|word| word == WORD), "as the test wants it");
            bytes
        }
    }

    /// A server with clients, all connected, in no time.
    struct World {
        server: Host,
        clients: Vec<(Host, PeerId)>,
    }

    impl World {
        fn new(clients: usize, is_fragile: bool) -> World {
            let settings = |compressor: Box<dyn Compressor>| Settings {
                compressor: is_fragile.then_some(compressor),
                ..Settings::default()
            };
            let server = Host::new(8, settings(Box::new(Fragile(RangeCoder::new()))), &[1; 16]);
            let clients = (0..clients).map(|number| {
                let mut client = Host::new(1, settings(Box::<RangeCoder>::default()), &[2 + number as u8; 16]);
                let peer = client.connect(SERVER, 2, 0).unwrap();
                (client, peer)
            });
            let mut world = World { server, clients: clients.collect() };
            assert_eq!(world.exchange(), 0);
            world.server.check_invariants().unwrap();
            let events = std::iter::from_fn(|| world.server.poll_event());
            assert_eq!(events.filter(|event| matches!(event, Event::Connect { .. })).count(), world.clients.len());
            world
        }

        /// Moves datagrams until there is none, and returns the number of panics of the server.
        fn exchange(&mut self) -> u64 {
            let before = self.server.statistics().panics;
            let mut bytes = Vec::new();
            for _ in 0..10 {
                for (number, (client, _)) in self.clients.iter_mut().enumerate() {
                    while client.poll_transmit(Duration::ZERO, &mut bytes).is_some() {
                        let from = client_address(number);
                        let server = AssertUnwindSafe(&mut self.server);
                        let taken = catch_unwind(|| { server }.handle_datagram(Duration::ZERO, from, &bytes));
                        if taken.is_err() {
                            self.server.recover();
                        }
                    }
                }
                while let Some(transmit) = self.server.poll_transmit(Duration::ZERO, &mut bytes) {
                    let number = usize::from(transmit.to.port() - 7000);
                    self.clients[number].0.handle_datagram(Duration::ZERO, SERVER, &bytes);
                }
                self.clients.iter_mut().for_each(|(client, _)| while client.poll_event().is_some() {});
            }
            self.server.statistics().panics - before
        }
    }

    #[test]
    fn a_panic_costs_the_peer_whose_datagram_it_was_its_connection_and_no_other() {
        let mut world = World::new(3, true);
        for (number, (client, peer)) in world.clients.iter_mut().enumerate() {
            let text: &[u8] = if number == 1 { WORD } else { b"an ordinary packet, that is an ordinary packet" };
            client.send(*peer, 0, Packet::reliable(&text.repeat(2)[..])).unwrap();
        }
        assert_eq!(world.exchange(), 1);
        world.server.check_invariants().unwrap();
        let events: Vec<Event> = std::iter::from_fn(|| world.server.poll_event()).collect();
        let ended = |event: &&Event| matches!(event, Event::Disconnect { reason: DisconnectReason::Failed, .. });
        let came = |event: &&Event| matches!(event, Event::Receive { .. });
        assert_eq!((events.iter().filter(ended).count(), events.iter().filter(came).count()), (1, 2), "{events:?}");
        assert_eq!(world.server.connected_peers(), 2);
        world.server.check_invariants().unwrap();
    }

    #[test]
    fn every_table_that_does_not_agree_is_found_and_costs_all_peers() {
        type Damage = fn(&mut Host);
        let damages: [(&str, Damage); 16] = [
            ("free slots", |host| host.free.insert(0)),
            ("ready", |host| host.ready.push_back(7)),
            ("connected", |host| host.connected.remove(1)),
            ("wheel", |host| host.wheel = Wheel::new(0)),
            ("commands", |host| host.commands = Slab::new()),
            ("tokens", |host| host.tokens.clear()),
            ("attempts", |host| host.attempts.clear()),
            ("addresses", |host| host.addresses.clear()),
            ("half open", |host| host.half_open = HalfOpenTable::new(0)),
            ("budget", |host| host.budget.held += 1),
            ("accounts", |host| host.peer_of_mut(1).unwrap().inbox.account.held += 1),
            ("bandwidth", |host| host.bandwidth.limited_peers += 1),
            ("waiting", |host| host.peer_of_mut(1).unwrap().inbox.waiting += 1),
            ("in transit", |host| host.peer_of_mut(0).unwrap().sender.in_transit += 1),
            ("events", |host| host.peer_of_mut(2).unwrap().inbox.delivered.push_back(EMPTY)),
            ("connection", |host| host.peer_of_mut(2).unwrap().state = State::Zombie),
        ];
        for (what, damage) in damages {
            let mut world = World::new(3, false);
            for peer in world.server.connected().collect::<Vec<_>>() {
                world.server.send(peer, 0, Packet::reliable(b"in flight")).unwrap();
            }
            let mut bytes = Vec::new();
            while world.server.poll_transmit(Duration::ZERO, &mut bytes).is_some() {}
            // A peer that requested a connection and has not proven its address.
            let mut other = Host::new(1, Settings::default(), &[9; 16]);
            other.connect(SERVER, 1, 0).unwrap();
            other.poll_transmit(Duration::ZERO, &mut bytes).unwrap();
            world.server.handle_datagram(Duration::ZERO, client_address(9), &bytes);
            world.server.check_invariants().unwrap();
            damage(&mut world.server);
            assert!(world.server.check_invariants().is_err(), "{what}");
            // Damage to the peer that was worked for goes with that peer.
            world.server.works_for = Some(3);
            assert!(matches!(world.server.recover(), Recovered::AllPeers(_)), "{what}");
            world.server.check_invariants().unwrap();
            let ended = std::iter::from_fn(|| world.server.poll_event());
            assert_eq!(ended.filter(|event| matches!(event, Event::Disconnect { .. })).count(), 3, "{what}");
            assert_eq!(world.server.free_slots(), 8, "{what}");
            world.server.check_invariants().unwrap();
            // It goes on as a new host does.
            for (number, (client, peer)) in world.clients.iter_mut().enumerate() {
                *client = Host::new(1, Settings::default(), &[20 + number as u8; 16]);
                *peer = client.connect(SERVER, 2, 0).unwrap();
            }
            assert_eq!(world.exchange(), 0);
            assert_eq!(world.server.connected_peers(), 3, "{what}");
            world.server.check_invariants().unwrap();
        }
    }
}
