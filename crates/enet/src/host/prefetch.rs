//! Memory of a batch's peers, prefetched side by side before it is used one after the other.
//!
//! Thousands of peers do not fit into a core's cache: what was read of one a tick ago has been pushed out, and each read
//! of it waits for some hundred instructions' time. What leads on to more memory is read here; all else is only named.

use core::mem::{size_of, size_of_val};
use core::net::SocketAddr;
use core::ptr::from_ref;

use super::*;
use crate::token_table::Tag;

/// Datagrams or peers that are looked at ahead together.
const AHEAD_MAX: usize = 64;

impl Host {
    /// Names the memory that [`Host::handle_datagram`] of `datagrams`, at most 64 of them, and the answers to them will
    /// use, to `fetch` as address and bytes, and the slots of their peers to `also`. Nothing changes.
    pub fn prefetch<'a>(
        &self,
        datagrams: impl Iterator<Item = (SocketAddr, &'a [u8])>,
        mut fetch: impl FnMut(*const u8, usize),
        also: impl FnMut(usize),
    ) {
        let mut tags = [Tag::NONE; AHEAD_MAX];
        let headers = datagrams.filter_map(|(from, datagram)| Some((from, Header::decode(datagram)?.0)));
        let mut tagged = 0;
        for (tag, (from, header)) in tags.iter_mut().zip(headers) {
            *tag = self.tokens.tag(&from.into(), header.peer);
            fetch(self.tokens.place(*tag), 1);
            tagged += 1;
        }
        let targets = tags.iter().take(tagged).filter_map(|&tag| match self.tokens.guess(tag) {
            // Most peers use the first channel.
            Some(Target::Slot(slot)) => Some((slot, 0)),
            _ => None,
        });
        self.prefetch_slots(targets, fetch, also);
    }

    /// Names the memory that is used when each of `peers`, at most 64 of them, is sent a packet on a channel, or an
    /// acknowledgement of one, to `fetch` as address and bytes. Nothing changes.
    pub fn prefetch_peers(&self, peers: impl Iterator<Item = (PeerId, u8)>, fetch: impl FnMut(*const u8, usize)) {
        self.prefetch_slots(peers.map(|(peer, channel)| (peer.slot, channel)), fetch, |_| {});
    }

    fn prefetch_slots(
        &self,
        targets: impl Iterator<Item = (u32, u8)>,
        mut fetch: impl FnMut(*const u8, usize),
        mut also: impl FnMut(usize),
    ) {
        let mut places = [(0, 0); AHEAD_MAX];
        let mut found = 0;
        let targets = targets.filter_map(|(slot, channel)| Some((slot, channel, self.slots.get(slot as usize)?)));
        for (place, (slot, channel, of_slot)) in places.iter_mut().zip(targets) {
            *place = (slot, channel);
            found += 1;
            fetch(from_ref(of_slot).cast(), size_of::<Slot>());
            for row in [&self.ready, &self.dispatch] {
                fetch(row.place(slot), 1);
            }
            fetch(self.wheel.place(slot), 1);
            also(slot as usize);
        }
        let connections = || {
            places.iter().take(found).filter_map(|&(slot, channel)| Some((self.peer_of(slot)?, usize::from(channel))))
        };
        // Each round reads what the round before named.
        for (connection, _) in connections() {
            fetch(from_ref(connection).cast(), size_of::<Connection>());
        }
        for (connection, channel) in connections() {
            fetch(connection.inbox.incoming.as_ptr().wrapping_add(channel).cast(), 1);
            fetch(connection.inbox.delivered.as_slices().0.as_ptr().cast(), 1);
            fetch(connection.acks.as_slices().0.as_ptr().cast(), 1);
            fetch(connection.sender.channels_place(channel), 1);
        }
        for (connection, channel) in connections() {
            if let Some(Some(channel)) = connection.inbox.incoming.get(channel) {
                fetch(from_ref(&**channel).cast(), size_of_val(&**channel));
            }
            if let Some((place, bytes)) = connection.sender.channel_place(channel) {
                fetch(place, bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_has_is_named_and_nothing_of_a_slot_that_is_free() {
        let mut host = Host::new(2, Settings::default(), &Seed::default());
        let named = |host: &Host, peer: PeerId, channel: u8| {
            let mut named = Vec::new();
            host.prefetch_peers([(peer, channel)].into_iter(), |place, bytes| named.push((place, bytes)));
            named
        };
        let peer = host.connect(([127, 0, 0, 1], 7777).into(), 3, 0).expect("a slot is free");
        let connection: *const u8 = from_ref(host.peer_of(peer.slot).expect("it connects")).cast();
        assert!(named(&host, peer, 2).contains(&(connection, size_of::<Connection>())));
        // A channel that there is not names no memory of its own.
        assert_eq!(named(&host, peer, 200).len(), named(&host, peer, 2).len());
        let free = PeerId { slot: 1, generation: 0 };
        assert!(named(&host, free, 0).len() < named(&host, peer, 0).len());
        assert!(named(&host, PeerId { slot: 2, generation: 0 }, 0).is_empty());
    }

    #[test]
    fn no_more_peers_are_looked_at_than_fit() {
        let mut host = Host::new(1, Settings::default(), &Seed::default());
        let peer = host.connect(([127, 0, 0, 1], 7777).into(), 1, 0).expect("a slot is free");
        let count = |peers: usize| {
            let mut count = 0;
            host.prefetch_peers(std::iter::repeat_n((peer, 0), peers), |_, _| count += 1);
            count
        };
        assert_eq!(count(AHEAD_MAX + 9), count(AHEAD_MAX));
        assert_eq!(count(AHEAD_MAX), AHEAD_MAX * count(1));
    }
}
