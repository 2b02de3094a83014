//! Connections requested by addresses that are not proven.
//!
//! They take no slot and no timer. When there are too many, one goes for each that comes: the oldest of a few drawn
//! at random. So a flood pushes out itself: a peer that proves its address within a round trip is among the youngest,
//! and is hardly ever drawn with none older beside it.

use alloc::vec::Vec;
use core::net::SocketAddr;

use crate::invariant::{InvariantError, agree, holds};
use crate::keyed::Random;
use crate::wire::ConnectParameters;

/// A requested connection.
#[derive(Debug, Clone)]
pub(crate) struct HalfOpen {
    pub address: SocketAddr,
    /// Parameters of the connect command as the address sent them.
    pub connect: ConnectParameters,
    /// Data word of the peer's connect command, for the application.
    pub data: u32,
    /// Contents of the answer: our token, the sessions, and the granted parameters.
    pub verify_connect: ConnectParameters,
    /// Future window of the peer.
    pub window: u32,
    /// The cookie: number and time of the answer, which its acknowledgement repeats.
    pub sequence: u16,
    pub sent_time: u16,
    /// Time and number of the answers so far.
    pub answered_at: u64,
    pub answers: u32,
    /// Bytes of all datagrams from and to the address: the latter never exceed the former.
    pub bytes_received: u64,
    pub bytes_sent: u64,
}

/// Entries of which the oldest goes. One in sixteen of the table being younger than a client, as with a flood of 20,000 a
/// second and a round trip of 50 ms, it goes in one of 16^4 draws that pick it.
const DRAWN: u32 = 4;

/// A table that grows to its limit and no further.
pub(crate) struct HalfOpenTable {
    entries: Vec<Option<HalfOpen>>,
    free: Vec<u32>,
    limit: usize,
}

impl HalfOpenTable {
    /// A table for at most `limit`, which is 1 to 65,536.
    pub fn new(limit: usize) -> HalfOpenTable {
        HalfOpenTable { entries: Vec::new(), free: Vec::new(), limit }
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Takes `entry` in; what had to go for it is the second value.
    pub fn insert(&mut self, entry: HalfOpen, random: &mut Random) -> (u32, Option<HalfOpen>) {
        if let Some(at) = self.free.pop() {
            let replaced = self.entries.get_mut(at as usize).and_then(|place| place.replace(entry));
            return (at, replaced);
        }
        if self.entries.len() < self.limit {
            self.entries.push(Some(entry));
            return ((self.entries.len() - 1) as u32, None);
        }
        let drawn = random.next();
        let at = (0..DRAWN)
            .map(|draw| ((drawn >> (16 * draw) & 0xffff) as usize * self.limit) >> 16)
            .min_by_key(|&at| self.get(at as u32).map_or(0, |entry| entry.answered_at))
            .unwrap_or_default();
        (at as u32, self.entries.get_mut(at).and_then(|place| place.replace(entry)))
    }

    /// All entries with their places.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &HalfOpen)> {
        (0..).zip(&self.entries).filter_map(|(at, entry)| Some((at, entry.as_ref()?)))
    }

    /// Checks that the places that have no entry are those that are free.
    pub fn check(&self) -> Result<(), InvariantError> {
        for &at in &self.free {
            holds("half-open connections, free place", at as usize, self.get(at).is_none())?;
        }
        agree("half-open connections", self.iter().count(), self.entries.len().saturating_sub(self.free.len()))
    }

    pub fn remove(&mut self, at: u32) -> Option<HalfOpen> {
        let entry = self.entries.get_mut(at as usize)?.take()?;
        self.free.push(at);
        Some(entry)
    }

    pub fn get(&self, at: u32) -> Option<&HalfOpen> {
        self.entries.get(at as usize)?.as_ref()
    }

    pub fn entry(&mut self, at: u32) -> Option<&mut HalfOpen> {
        self.entries.get_mut(at as usize)?.as_mut()
    }
}
