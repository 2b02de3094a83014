//! Every peer behind one socket: who is ready, who is due, and what happened.
//!
//! **What it costs.** Nothing walks over slots. A datagram costs its commands, a packet its pieces, a transmission its
//! datagram, and passing time what is due in it. A slot without a peer costs nothing; an idle peer costs its pings; one
//! whose windows keep its packets back costs nothing until an acknowledgement comes, whatever it has queued.
//! A peer has one timer, for what is due first: its oldest command in flight, or its ping. Acknowledgements do not put
//! it off; it fires early, and is set again.
//!
//! **What it takes from whom.** An address that has not proven to be its own has no slot and no timer, and is sent no
//! more bytes than it sent. Beyond the bytes that arrived, a peer can have nothing allocated, and no more of those than
//! [`Settings`] allows.
//!
//! **Who is served when.** Peers with something to send wait in one row. [`Host::poll_transmit`] makes one datagram, of
//! at most one MTU, for the peer at its head; if more is left, the peer joins the row again at the tail. So between two
//! datagrams of a peer every other one that waits is sent exactly one: with *n* peers waiting, a peer is served after at
//! most *n* − 1 datagrams of others, however much they have queued. Events are delivered by the same rule.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use hashbrown::HashMap;

use crate::budget::Budget;
use crate::connection::{Connection, DisconnectReason, Side, State};
use crate::endpoint::{Attempt, Endpoint, words};
use crate::free_slots::FreeSlots;
use crate::half_open::HalfOpenTable;
use crate::keyed::{Keyed, Random, Seed};
use crate::outgoing::{Kind, Outgoing, SendError};
use crate::packet::{Packet, Received};
use crate::ring::Ring;
use crate::settings::{Settings, WireProfile};
use crate::slab::Slab;
use crate::statistics::Statistics;
use crate::token_table::{Target, TokenTable};
use crate::wheel::Wheel;
use crate::wire::{Body, CONTROL, Command, Header, MUST_ACKNOWLEDGE, NO_PEER, UNSEQUENCED};

mod bandwidth;
mod connect;
mod disconnect;
mod invariants;
mod peer;
mod prefetch;
mod receive;
mod recover;
mod transmit;

pub use connect::ConnectError;
pub use peer::{Peer, PeerSettings};
pub use recover::Recovered;
pub use transmit::Transmit;

/// A peer, in one use of its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId {
    slot: u32,
    generation: u32,
}

impl PeerId {
    /// Slot of the peer, from 0. Slots are reused, IDs are not.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

/// Event for the application, from [`Host::poll_event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A connection is made, by either end.
    Connect {
        /// Peer that the connection leads to.
        peer: PeerId,
        /// Value that the other end passed to its `connect`; 0 for connections requested here.
        data: u32,
    },
    /// A connection ended, or was not made. The peer's slot is free.
    Disconnect {
        /// Peer whose connection ended; its slot is free again.
        peer: PeerId,
        /// Value that the other end passed to its `disconnect`, or 0.
        data: u32,
        /// Reason of the disconnect: either side, or a timeout.
        reason: DisconnectReason,
    },
    /// A packet of a peer is complete and its turn has come.
    Receive {
        /// Peer that sent the packet.
        peer: PeerId,
        /// Packet and its delivery kind.
        packet: Received,
    },
}

/// Handshakes that wait for their proof; an entry takes about 300 bytes with its places in the tables.
const HALF_OPEN: usize = 1 << 14;

/// Datagrams outside of connections that wait to be sent; more are not made.
const SHORT_MAX: usize = 4096;

struct Slot {
    generation: u32,
    /// Sessions of the last use, so that the next one differs.
    outgoing_session: u8,
    incoming_session: u8,
    connection: Option<Box<Connection>>,
}

/// The connection that has `slot`, if one has it.
fn connection_at(slots: &mut [Slot], slot: u32) -> Option<&mut Connection> {
    slots.get_mut(slot as usize)?.connection.as_deref_mut()
}

/// All peers behind one socket.
///
/// `now` of all calls is the time since any fixed moment; it must not go back. After [`Host::handle_datagram`],
/// [`Host::handle_timeout`] or any call that sends, poll for datagrams until there is none.
// What a call looks at that finds nothing to do comes first and together: in a server that is idle for a millisecond, each
// line of memory more is one more to wait for.
#[repr(C)]
pub struct Host {
    now: u64,
    /// Peers with something to send, those with events, those that are connected, those that windows keep from sending.
    ready: Ring,
    dispatch: Ring,
    connected: Ring,
    short: VecDeque<Short>,
    bandwidth: bandwidth::Bandwidth,
    wheel: Wheel,
    blocked: Ring,
    slots: Vec<Slot>,
    /// Slot of the peer whose data is handled: the one that a panic costs its connection.
    works_for: Option<u32>,
    free: FreeSlots,
    commands: Slab<Outgoing>,
    settings: Settings,

    /// Peers as datagrams name them: the token is the host's own choice, and may repeat among endpoints.
    tokens: TokenTable,
    attempts: HashMap<Attempt, Target, Keyed>,
    /// Number of peers of each address, by a keyed hash.
    addresses: HashMap<(u64, u64), u32, Keyed>,
    /// Slots that were connected to the broadcast address, by token, until a peer answers.
    broadcasts: Vec<(u16, u32)>,
    half_open: HalfOpenTable,
    random: Random,

    /// Memory of all peers that waits for missing data before it.
    budget: Budget,
    statistics: Statistics,
    /// Used again for each datagram.
    plain: Vec<u8>,
    body: Vec<u8>,
}

/// A datagram that belongs to no slot.
struct Short {
    to: SocketAddr,
    bytes: Vec<u8>,
}

impl Host {
    /// A host for at most `slots` peers, whose connections either end requests.
    ///
    /// `seed` must be unpredictable where the network is not trusted: the numbers that prove an address, and the
    /// order of look-ups, come from it.
    pub fn new(slots: usize, settings: Settings, seed: &Seed) -> Host {
        let slots = slots.min(u32::MAX as usize / 4);
        let keyed = Keyed::new(seed);
        let mut random = Random::new(seed);
        let key: Seed = core::array::from_fn(|_| random.next() as u8);
        Host {
            settings,
            now: 0,
            slots: (0..slots)
                .map(|_| Slot { generation: 0, outgoing_session: 0xff, incoming_session: 0xff, connection: None })
                .collect(),
            works_for: None,
            free: FreeSlots::all(slots),
            commands: Slab::new(),
            ready: Ring::new(slots),
            blocked: Ring::new(slots),
            dispatch: Ring::new(slots),
            connected: Ring::new(slots),
            wheel: Wheel::new(slots),
            tokens: TokenTable::new(keyed),
            attempts: HashMap::with_hasher(keyed),
            addresses: HashMap::with_hasher(keyed),
            broadcasts: Vec::new(),
            half_open: HalfOpenTable::new(HALF_OPEN),
            short: VecDeque::new(),
            random: Random::new(&key),
            bandwidth: bandwidth::Bandwidth::default(),
            budget: Budget::new(keyed),
            statistics: Statistics::default(),
            plain: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Settings that the host was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Settings of the host for changes, which apply from then on.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Counters of the host so far.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = self.statistics;
        statistics.work += self.wheel.work;
        statistics
    }

    /// Number of slots for peers.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Number of slots that are free.
    pub fn free_slots(&self) -> usize {
        self.free.len()
    }

    /// Handshakes that wait for their proof.
    pub fn half_open(&self) -> usize {
        self.half_open.len()
    }

    /// Peers that are connected, in the order in which they became so.
    pub fn connected(&self) -> impl Iterator<Item = PeerId> {
        self.connected.iter().map(|slot| self.id(slot))
    }

    /// Number of peers that are connected.
    #[inline]
    pub fn connected_peers(&self) -> usize {
        self.connected.len()
    }

    /// Peers whose packets are kept back by a window.
    pub fn blocked_peers(&self) -> usize {
        self.blocked.len()
    }

    /// Commands of all peers that wait to be sent or acknowledged.
    pub fn commands(&self) -> usize {
        self.commands.len()
    }

    /// Bytes of all peers that wait for what is missing before them, with what they cost beside their payload.
    pub fn held_bytes(&self) -> usize {
        self.budget.held
    }

    /// Bytes of all peers' packets that are next in order and were reassembled beyond all budgets.
    pub fn exempt_bytes(&self) -> usize {
        self.budget.exempt
    }

    /// The peer that has `slot` now.
    pub fn peer_at(&self, slot: usize) -> Option<PeerId> {
        self.slots.get(slot)?.connection.as_ref()?;
        Some(self.id(slot as u32))
    }

    fn id(&self, slot: u32) -> PeerId {
        PeerId { slot, generation: self.slots.get(slot as usize).map_or(0, |place| place.generation) }
    }

    /// True if [`Host::poll_event`] has an event.
    #[inline]
    pub fn may_have_event(&self) -> bool {
        self.dispatch.len() > 0
    }

    /// True if [`Host::poll_transmit`] may have a datagram.
    #[inline]
    pub fn may_transmit(&self) -> bool {
        self.ready.len() > 0 || !self.short.is_empty()
    }

    #[inline]
    fn advance(&mut self, now: Duration) {
        let now = now.as_secs().saturating_mul(1000).saturating_add(now.subsec_millis().into()).min(u64::MAX >> 2);
        self.now = self.now.max(now);
    }

    fn peer_of(&self, slot: u32) -> Option<&Connection> {
        self.slots.get(slot as usize)?.connection.as_deref()
    }

    fn peer_of_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        connection_at(&mut self.slots, slot)
    }

    /// Whom datagrams from `endpoint` with `token` mean.
    fn target(&self, endpoint: Endpoint, token: u16) -> Option<Target> {
        self.tokens.find(self.tokens.tag(&endpoint, token), |target| match target {
            Target::Slot(slot) => {
                self.peer_of(slot).is_some_and(|peer| peer.endpoint == endpoint && peer.ids.local == token)
            }
            Target::HalfOpen(at) => self
                .half_open
                .get(at)
                .is_some_and(|entry| entry.verify_connect.peer == token && Endpoint::from(entry.address) == endpoint),
        })
    }

    /// The slot of `peer`, if that is still its own.
    fn slot_of(&self, peer: PeerId) -> Option<u32> {
        let slot = self.slots.get(peer.slot as usize)?;
        (slot.generation == peer.generation && slot.connection.is_some()).then_some(peer.slot)
    }

    /// Sends `packet` to `peer`, once it is polled for.
    ///
    /// # Errors
    /// [`SendError`]: the peer is not connected, or has no such channel, or the packet is too long.
    pub fn send(&mut self, peer: PeerId, channel: u8, packet: Packet) -> Result<(), SendError> {
        let slot = self.slot_of(peer).ok_or(SendError::NotConnected)?;
        let Host { slots, commands, settings, .. } = self;
        let connection = connection_at(slots, slot).ok_or(SendError::NotConnected)?;
        if connection.state != State::Connected {
            return Err(SendError::NotConnected);
        }
        let limits = connection.limits(settings);
        let is_reliable = packet.reliable;
        connection.sender.packet(commands, channel, packet, &limits)?;
        // What a window keeps back keeps back the reliable packets behind it too.
        if !(is_reliable && self.blocked.contains(slot)) {
            self.wake(slot);
        }
        Ok(())
    }

    /// Sends `packet` to all connected peers that have the channel.
    pub fn broadcast(&mut self, channel: u8, packet: &Packet) {
        let mut next = self.connected.front();
        while let Some(slot) = next {
            next = self.connected.after(slot);
            // A peer with fewer channels, or that is about to leave, is passed over.
            let _ = self.send(self.id(slot), channel, packet.clone());
        }
    }

    /// Has `slot` looked at by the next transmissions.
    fn wake(&mut self, slot: u32) {
        self.blocked.remove(slot);
        self.ready.push_back(slot);
    }

    /// Performs the work that is due at `now`: timeouts, resends, pings. Call it at [`Host::poll_timeout`], or as often
    /// as is convenient.
    #[inline]
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.is_due(now) {
            self.handle_due();
        }
    }

    /// Lets time pass until `now`; true if [`Host::handle_timeout`] may have something to do.
    #[inline]
    pub fn is_due(&mut self, now: Duration) -> bool {
        self.advance(now);
        !self.wheel.passes(self.now) || self.bandwidth.is_to_be_looked_at(self.now)
    }

    fn handle_due(&mut self) {
        self.works_for = None;
        while let Some(slot) = self.wheel.pop(self.now) {
            self.works_for = Some(slot);
            self.statistics.work += 1;
            self.fire(slot);
        }
        self.works_for = None;
        self.throttle_bandwidth();
    }

    /// Time at which [`Host::handle_timeout`] has something to do, if nothing happens before; an earlier call does no
    /// harm.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let due = [self.wheel.next(), self.bandwidth_due()].into_iter().flatten().min()?;
        Some(Duration::from_millis(due))
    }

    fn fire(&mut self, slot: u32) {
        let now = self.now;
        let Host { slots, commands, statistics, .. } = self;
        let Some(connection) = connection_at(slots, slot) else { return };
        if !connection.sender.has_nothing_in_flight() && now >= connection.sender.next_timeout {
            let timeout = connection.liveness.timeout;
            let lost_before = connection.path.loss.lost;
            match connection.sender.expire(commands, now, &timeout, &mut connection.path.loss) {
                Some(looked) => {
                    statistics.work += looked;
                    statistics.resent += u64::from(connection.path.loss.lost.wrapping_sub(lost_before));
                    self.wake(slot);
                }
                None => return self.end(slot, (0, DisconnectReason::TimedOut)),
            }
        }
        self.arm(slot);
    }

    /// Sets the timer of a peer, or has it looked at when its time has come.
    fn arm(&mut self, slot: u32) {
        let Some(deadline) = self.peer_of(slot).and_then(Connection::deadline) else { return };
        if deadline <= self.now {
            // The next transmission sends what is due, and arms the timer again.
            self.wake(slot);
        } else {
            self.wheel.set_if_earlier(slot, deadline);
        }
    }

    /// The next event; peers take turns.
    pub fn poll_event(&mut self) -> Option<Event> {
        while let Some(slot) = self.dispatch.pop_front() {
            self.statistics.work += 1;
            let peer = self.id(slot);
            let Some(connection) = self.peer_of_mut(slot) else { continue };
            if connection.state == State::Zombie {
                let (data, reason) = connection.reason;
                self.release(slot);
                return Some(Event::Disconnect { peer, data, reason });
            }
            let event = if let Some(data) = connection.arrival.take() {
                Event::Connect { peer, data }
            } else if let Some(packet) = connection.inbox.delivered.pop_front() {
                connection.inbox.waiting -= packet.payload.len();
                Event::Receive { peer, packet }
            } else {
                continue;
            };
            if !connection.inbox.delivered.is_empty() {
                self.dispatch.push_back(slot);
            }
            return Some(event);
        }
        None
    }

    /// The next packet of one peer, whosever turn it is.
    pub fn receive(&mut self, peer: PeerId) -> Option<Received> {
        let slot = self.slot_of(peer)?;
        let connection = self.peer_of_mut(slot)?;
        let packet = connection.inbox.delivered.pop_front()?;
        connection.inbox.waiting -= packet.payload.len();
        Some(packet)
    }

    /// Moves a peer to `state`, and counts those that are connected.
    fn enter(&mut self, slot: u32, state: State) {
        let Some(connection) = self.peer_of_mut(slot) else { return };
        let was_connected = connection.is_connected();
        connection.state = state;
        let is_connected = connection.is_connected();
        let is_limited = connection.bandwidth.incoming != 0;
        let address = words(connection.address.ip());
        match (was_connected, is_connected) {
            (false, true) => {
                let Host { slots, budget, .. } = self;
                if let Some(connection) = connection_at(slots, slot) {
                    budget.open(&mut connection.inbox.account, connection.address.ip());
                }
                self.connected.push_back(slot);
                self.bandwidth.limited_peers += usize::from(is_limited);
                *self.addresses.entry(address).or_default() += 1;
                self.bandwidth_changed();
            }
            (true, false) => {
                let Host { slots, budget, .. } = self;
                if let Some(connection) = connection_at(slots, slot) {
                    budget.close(&mut connection.inbox.account);
                }
                self.connected.remove(slot);
                self.bandwidth.limited_peers -= usize::from(is_limited);
                self.leave_address(address);
                self.bandwidth_changed();
            }
            _ => {}
        }
    }

    fn leave_address(&mut self, address: (u64, u64)) {
        if let Some(peers) = self.addresses.get_mut(&address) {
            *peers -= 1;
            if *peers == 0 {
                self.addresses.remove(&address);
            }
        }
    }

    /// Drops everything that a peer has queued, in flight or undelivered.
    fn empty(&mut self, slot: u32) {
        let Host { slots, commands, budget, .. } = self;
        let Some(connection) = connection_at(slots, slot) else { return };
        connection.acks.clear();
        connection.sender.clear(commands);
        connection.sender.set_channels(0);
        connection.inbox.incoming.clear();
        connection.inbox.delivered.clear();
        budget.empty(&mut connection.inbox.account);
        connection.inbox.waiting = 0;
        self.ready.remove(slot);
        self.blocked.remove(slot);
        self.wheel.remove(slot);
    }

    /// Ends a connection; the event is all that is left of it.
    fn end(&mut self, slot: u32, reason: (u32, DisconnectReason)) {
        self.empty(slot);
        self.enter(slot, State::Zombie);
        let Some(connection) = self.peer_of_mut(slot) else { return };
        connection.reason = reason;
        connection.arrival = None;
        self.dispatch.push_back(slot);
    }

    /// Frees the slot of a peer for a new connection.
    fn release(&mut self, slot: u32) {
        self.empty(slot);
        self.enter(slot, State::Disconnected);
        self.dispatch.remove(slot);
        let Some(place) = self.slots.get_mut(slot as usize) else { return };
        let Some(connection) = place.connection.take() else { return };
        let connection = *connection;
        place.generation = place.generation.wrapping_add(1);
        place.outgoing_session = connection.ids.outgoing_session;
        place.incoming_session = connection.ids.incoming_session;
        self.tokens.remove(self.tokens.tag(&connection.endpoint, connection.ids.local), Target::Slot(slot));
        self.broadcasts.retain(|&(_, other)| other != slot);
        if connection.side == Side::Acceptor {
            self.attempts.remove(&(connection.endpoint, u32::from_be_bytes(connection.ids.connect_id).into()));
        }
        self.free.insert(slot);
    }

    /// Writes a datagram: header, checksum, and `body`, compressed where that is shorter.
    fn seal(settings: &mut Settings, header: Header, seed: [u8; 4], body: &[u8], out: &mut Vec<u8>) {
        out.clear();
        header.encode(out);
        let head_bytes = out.len();
        if settings.checksum.is_some() {
            out.extend_from_slice(&seed);
        }
        let start = out.len();
        let mut is_compressed = false;
        if let Some(compressor) = &mut settings.compressor
            && body.len() > 1
            && compressor.compress(body, body.len() - 1, out).is_some_and(|bytes| bytes > 0)
        {
            is_compressed = true;
        } else {
            out.truncate(start);
            out.extend_from_slice(body);
        }
        if is_compressed {
            let first = out.len();
            Header { compressed: true, ..header }.encode(out);
            out.copy_within(first.., 0);
            out.truncate(first);
        }
        if let Some(checksum) = &settings.checksum {
            let sum = if is_compressed {
                let mut plain = Vec::with_capacity(start + body.len());
                plain.extend(out.iter().take(start));
                plain.extend_from_slice(body);
                checksum(&plain)
            } else {
                checksum(out)
            };
            if let Some(place) = out.get_mut(head_bytes..).and_then(|rest| rest.first_chunk_mut()) {
                *place = sum;
            }
        }
    }
}

impl core::fmt::Debug for Host {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Host")
            .field("slots", &self.slots.len())
            .field("connected", &self.connected.len())
            .field("ready", &self.ready.len())
            .field("blocked", &self.blocked.len())
            .finish_non_exhaustive()
    }
}
