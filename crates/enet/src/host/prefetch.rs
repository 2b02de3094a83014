//! Memory of a batch's peers, prefetched side by side before it is used one after the other.
//!
//! Thousands of peers do not fit into a core's cache: what was read of one a tick ago has been pushed out, and each read
//! of it waits for some hundred instructions' time. What leads on to more memory is read here; all else is only named.

use core::mem::{size_of, size_of_val};
use core::net::SocketAddr;
use core::ptr::from_ref;

use super::*;
use crate::token_table::Tag;

/// Datagrams that are looked at ahead together.
const DATAGRAMS_MAX: usize = 64;

impl Host {
    /// Names the memory that [`Host::handle_datagram`] of `datagrams`, at most 64 of them, and the answers to them will
    /// use, to `fetch` as address and bytes, and the slots of their peers to `also`. Nothing changes.
    pub fn prefetch<'a>(
        &self,
        datagrams: impl Iterator<Item = (SocketAddr, &'a [u8])>,
        mut fetch: impl FnMut(*const u8, usize),
        mut also: impl FnMut(usize),
    ) {
        let mut tags = [Tag::NONE; DATAGRAMS_MAX];
        let headers = datagrams.filter_map(|(from, datagram)| Some((from, Header::decode(datagram)?.0)));
        let mut tagged = 0;
        for (tag, (from, header)) in tags.iter_mut().zip(headers) {
            *tag = self.tokens.tag(&from.into(), header.peer);
            fetch(self.tokens.place(*tag), 1);
            tagged += 1;
        }
        let mut slots = [0; DATAGRAMS_MAX];
        let targets = tags.iter().take(tagged).filter_map(|&tag| match self.tokens.guess(tag) {
            Some(Target::Slot(slot)) => Some((slot, self.slots.get(slot as usize)?)),
            _ => None,
        });
        let mut found = 0;
        for (place, (slot, of_slot)) in slots.iter_mut().zip(targets) {
            *place = slot;
            found += 1;
            fetch(from_ref(of_slot).cast(), size_of::<Slot>());
            for row in [&self.ready, &self.dispatch] {
                fetch(row.place(slot), 1);
            }
            fetch(self.wheel.place(slot), 1);
            also(slot as usize);
        }
        let connections = || slots.iter().take(found).filter_map(|&slot| self.peer_of(slot));
        // Each round reads what the round before named.
        for connection in connections() {
            fetch(from_ref(connection).cast(), size_of::<Connection>());
        }
        for connection in connections() {
            fetch(connection.inbox.incoming.as_ptr().cast(), 1);
            fetch(connection.inbox.delivered.as_slices().0.as_ptr().cast(), 1);
            fetch(connection.acks.as_slices().0.as_ptr().cast(), 1);
            fetch(connection.sender.channels_place(), 1);
        }
        for connection in connections() {
            // Most peers use the first channel.
            if let Some(Some(channel)) = connection.inbox.incoming.first() {
                fetch(from_ref(&**channel).cast(), size_of_val(&**channel));
            }
            if let Some((place, bytes)) = connection.sender.first_channel_place() {
                fetch(place, bytes);
            }
        }
    }
}
