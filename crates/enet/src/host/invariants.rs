//! Checks that the tables of a host agree with each other and with its connections.

use super::*;
use crate::invariant::{InvariantError, agree, holds};
use crate::outgoing::Sender;

impl Host {
    /// Checks every table of the host against every other: rows, timers, commands, tokens, budgets, and what each peer
    /// holds. It reads everything that there is: for tests, and after a panic.
    ///
    /// # Errors
    /// [`InvariantError`]: two parts that do not agree.
    pub fn check_invariants(&self) -> Result<(), InvariantError> {
        self.check_shared()?;
        self.occupied().try_for_each(|(slot, peer)| self.check_peer(slot, peer))
    }

    fn occupied(&self) -> impl Iterator<Item = (u32, &Connection)> {
        (0..).zip(&self.slots).filter_map(|(slot, place)| Some((slot, place.connection.as_deref()?)))
    }

    /// The part of the check that is about what peers share. Ending a peer needs no more than that.
    pub(super) fn check_shared(&self) -> Result<(), InvariantError> {
        self.free.check()?;
        for (slot, place) in (0..).zip(&self.slots) {
            holds("free slots, slot", slot as usize, self.free.contains(slot) == place.connection.is_none())?;
        }
        for row in [&self.ready, &self.blocked, &self.dispatch, &self.connected] {
            agree("row, slots", self.slots.len(), row.slots())?;
            row.check()?;
            row.iter().try_for_each(|slot| holds("row, slot in use", slot as usize, self.peer_of(slot).is_some()))?;
        }
        agree("wheel, slots", self.slots.len(), self.wheel.slots())?;
        self.wheel.check()?;
        for (slot, place) in (0..).zip(&self.slots) {
            let is_timed = self.wheel.deadline(slot).is_some();
            holds("wheel, slot in use", slot as usize, !is_timed || place.connection.is_some())?;
        }
        self.check_commands()?;
        self.check_names()?;
        self.budget.check(self.occupied().map(|(_, peer)| (&peer.inbox.account, peer.address.ip())))?;
        let is_limited = |peer: &Connection| peer.is_connected() && peer.bandwidth.incoming != 0;
        let limited = self.occupied().filter(|(_, peer)| is_limited(peer)).count();
        agree("bandwidth, limited peers", limited, self.bandwidth.limited_peers)
    }

    fn check_commands(&self) -> Result<(), InvariantError> {
        let mut seen = self.commands.check()?;
        for (_, peer) in self.occupied() {
            Sender::check(&peer.sender, &self.commands, &mut seen)?;
        }
        agree("slab, commands of peers", seen.into_iter().filter(|&seen| seen).count(), self.commands.len())
    }

    /// Checks the tables by which peers are found.
    fn check_names(&self) -> Result<(), InvariantError> {
        self.tokens.check()?;
        self.half_open.check()?;
        let (mut peers, mut acceptors, mut connected) = (0, 0, 0);
        for (slot, peer) in self.occupied() {
            peers += 1;
            let is_found = self.target(peer.endpoint, peer.ids.local) == Some(Target::Slot(slot));
            // What ended and waits for its event was forgotten where all peers were dropped.
            holds("token table, slot", slot as usize, is_found || peer.ids.local == NO_PEER)?;
            peers -= usize::from(peer.ids.local == NO_PEER);
            if peer.side == Side::Acceptor {
                acceptors += 1;
                let attempt = (peer.endpoint, u32::from_be_bytes(peer.ids.connect_id).into());
                holds("attempts, slot", slot as usize, self.attempts.get(&attempt) == Some(&Target::Slot(slot)))?;
            }
            connected += usize::from(peer.is_connected());
            holds("connected peers, slot", slot as usize, self.connected.contains(slot) == peer.is_connected())?;
        }
        for (at, entry) in self.half_open.iter() {
            let endpoint = entry.address.into();
            let is_found = self.target(endpoint, entry.verify_connect.peer) == Some(Target::HalfOpen(at));
            let attempt = (endpoint, u32::from_be_bytes(entry.connect.connect_id).into());
            let is_attempt = self.attempts.get(&attempt) == Some(&Target::HalfOpen(at));
            holds("token table, half-open connection", at as usize, is_found && is_attempt)?;
        }
        agree("token table, keys", peers + self.half_open.len(), self.tokens.len())?;
        agree("attempts", acceptors + self.half_open.len(), self.attempts.len())?;
        let of_addresses = self.addresses.values().map(|&peers| peers as usize).sum();
        agree("addresses, connected peers", connected, of_addresses)?;
        self.broadcasts.iter().try_for_each(|&(_, slot)| {
            let waits = self.peer_of(slot).is_some_and(|peer| peer.state == State::Connecting);
            holds("broadcasts, slot", slot as usize, waits)
        })
    }

    fn check_peer(&self, slot: u32, peer: &Connection) -> Result<(), InvariantError> {
        let charges = peer.inbox.incoming.iter().flatten().map(|incoming| incoming.charged());
        let (held, exempt) = charges.fold((0, 0), |sum, (held, exempt)| (sum.0 + held, sum.1 + exempt));
        agree("peer, bytes held", held, peer.inbox.account.held)?;
        agree("peer, bytes exempt", exempt, peer.inbox.account.exempt)?;
        let waiting = peer.inbox.delivered.iter().map(|packet| packet.payload.len()).sum();
        agree("peer, bytes that wait", waiting, peer.inbox.waiting)?;
        let has_event = peer.state == State::Zombie || peer.arrival.is_some() || !peer.inbox.delivered.is_empty();
        holds("events, slot", slot as usize, !has_event || self.dispatch.contains(slot))?;
        let is_looked_at = self.wheel.deadline(slot).is_some() || self.ready.contains(slot);
        holds("wheel, slot with a deadline", slot as usize, is_looked_at || peer.deadline().is_none())?;
        holds("account, open", slot as usize, peer.inbox.account.is_open() == peer.is_connected())
    }
}
