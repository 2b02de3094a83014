//! Hostile peers: datagrams within the protocol's letter that cost their sender little and are meant to cost the server
//! or its other peers much. Each strategy draws from a seed, so that it does the same again.

use std::collections::VecDeque;

use prony_enet::wire::{Body, CONTROL, Command, Fragment, Header, MUST_ACKNOWLEDGE, ThrottleParameters};

use super::dice::Dice;
use super::raw::{RawPeer, command_bytes, connect_datagram};

/// Bytes of UDP payload that a strategy fills its datagrams up to.
const DATAGRAM_BYTES: usize = 1300;
/// Numbers that a receiver takes ahead of the last one delivered: seven windows.
const OPEN_NUMBERS: u64 = 7 * 4096;
const PIECES_MAX: u32 = 1 << 20;

static PAYLOAD: [u8; 1300] = [0; 1300];

/// Strategy of a hostile peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Pieces of unreliable packets that never become whole, by ascending numbers.
    UnreliablePieces,
    /// The same by descending numbers, so that each is the oldest.
    UnreliablePiecesDown,
    /// The same at random on every channel, behind reliable numbers that are still to come.
    UnreliablePiecesAhead,
    /// Last pieces of reliable packets, each of another one.
    ReliablePieces,
    /// Every other piece of one reliable packet of a million, of one byte each.
    OddPieces,
    /// Pieces as long as they can be, of packets as long as they can be.
    LongPieces,
    /// Empty reliable packets at random numbers of all open windows, and now and then the one that was missing.
    EarlyNumbers,
    /// Numbers behind and ahead of the open windows.
    ClosedWindows,
    /// Acknowledgements of what was never sent.
    Acknowledgements,
    /// The same reliable packet again and again.
    Duplicates,
    /// The same piece again and again.
    DuplicatePieces,
    /// Changes of bandwidth, at random values.
    Bandwidths,
    /// Parameters of the throttle at random.
    Throttles,
    /// Pings, each to be acknowledged.
    Pings,
    /// Empty unsequenced packets whose groups move the window each time.
    Unsequenced,
    /// Empty reliable packets in order, each an event.
    Packets,
    /// Datagrams of one command each.
    SmallDatagrams,
    /// Packets that ask a server for answers, which are never acknowledged.
    Requests,
    /// Connections that end as soon as they are made.
    Reconnects,
    /// All but the connections, at random.
    Mixture,
}

/// Strategies of [`Strategy::ALL`] that a mixture is made of.
const MIXED: usize = 18;

impl Strategy {
    pub const ALL: [Strategy; 20] = [
        Strategy::UnreliablePieces,
        Strategy::UnreliablePiecesDown,
        Strategy::UnreliablePiecesAhead,
        Strategy::ReliablePieces,
        Strategy::OddPieces,
        Strategy::LongPieces,
        Strategy::EarlyNumbers,
        Strategy::ClosedWindows,
        Strategy::Acknowledgements,
        Strategy::Duplicates,
        Strategy::DuplicatePieces,
        Strategy::Bandwidths,
        Strategy::Throttles,
        Strategy::Pings,
        Strategy::Unsequenced,
        Strategy::Packets,
        Strategy::SmallDatagrams,
        Strategy::Requests,
        Strategy::Reconnects,
        Strategy::Mixture,
    ];
}

/// A hostile peer: what it does, and how far it is.
pub struct HostilePeer {
    strategy: Strategy,
    dice: Dice,
    peer: Option<RawPeer>,
    /// Datagrams that are sent next.
    ready: VecDeque<Vec<u8>>,
    /// A command that the last datagram had no room for.
    left_over: Option<Command<'static>>,
    /// Acknowledgements that keep the connection alive, to send next.
    owed: Vec<(u8, u16, u16)>,
    connects: u32,
    requested_at_ms: Option<u64>,
    /// Commands made so far, and reliable numbers used up.
    made: u64,
    number: u16,
}

impl HostilePeer {
    pub fn new(strategy: Strategy, seed: u64) -> HostilePeer {
        HostilePeer {
            strategy,
            dice: Dice::new(seed),
            peer: None,
            ready: VecDeque::new(),
            left_over: None,
            owed: Vec::new(),
            connects: 0,
            requested_at_ms: None,
            made: 0,
            number: 0,
        }
    }

    /// Takes in what the server sent.
    pub fn hear(&mut self, datagram: &[u8]) {
        if let Some((peer, proof)) = RawPeer::granted(datagram) {
            if self.strategy == Strategy::Reconnects {
                let end = Command { flags: 0, channel: CONTROL, sequence: 1, body: Body::Disconnect(0) };
                self.ready.extend([proof, peer.datagram(None, &[end])]);
            } else if self.peer.is_none() {
                self.peer = Some(peer);
                self.ready.push_back(proof);
                (self.made, self.number, self.left_over) = (0, 0, None);
            }
            return;
        }
        let Some((header, mut rest)) = Header::decode(datagram) else { return };
        while let Some((command, behind)) = Command::decode(rest) {
            rest = behind;
            if matches!(command.body, Body::Disconnect(_)) {
                (self.peer, self.requested_at_ms) = (None, None);
                self.owed.clear();
                return;
            }
            // Packets are not acknowledged: that is what hostile peers do to those who answer them.
            let keeps_alive = command.channel == CONTROL && self.owed.len() < 100;
            if let (true, true, Some(sent)) = (keeps_alive, command.flags & MUST_ACKNOWLEDGE != 0, header.sent_time) {
                self.owed.push((command.channel, command.sequence, sent));
            }
        }
    }

    /// True if it has nothing to send before the server answers.
    pub fn is_waiting(&self) -> bool {
        self.peer.is_none() && self.ready.is_empty() && self.requested_at_ms.is_some()
    }

    /// The next datagram; `None` while the server has yet to answer.
    pub fn next(&mut self, now_ms: u64) -> Option<Vec<u8>> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        let Some(peer) = self.peer else {
            let is_waiting = self.requested_at_ms.is_some_and(|at_ms| now_ms < at_ms + 500);
            if is_waiting && self.strategy != Strategy::Reconnects {
                return None;
            }
            self.requested_at_ms = Some(now_ms);
            self.connects += 1;
            return Some(connect_datagram(0x4000_0000 + self.connects, 255));
        };
        let mut commands = Vec::new();
        for (channel, sequence, sent_time) in self.owed.drain(..) {
            commands.push(Command { flags: 0, channel, sequence, body: Body::Acknowledge { sequence, sent_time } });
        }
        let strategy = match self.strategy {
            Strategy::Mixture => Strategy::ALL[self.dice.below(MIXED as u64) as usize],
            one => one,
        };
        let mut bytes = 4 + commands.len() * 8;
        loop {
            let command = self.left_over.take().unwrap_or_else(|| self.command(strategy, now_ms));
            bytes += command_bytes(&command.body);
            if bytes > DATAGRAM_BYTES && !commands.is_empty() {
                self.left_over = Some(command);
                break;
            }
            commands.push(command);
            if strategy == Strategy::SmallDatagrams {
                break;
            }
        }
        Some(peer.datagram(Some(now_ms as u16), &commands))
    }

    fn command(&mut self, strategy: Strategy, now_ms: u64) -> Command<'static> {
        let at = self.made;
        self.made += 1;
        let draw = self.dice.roll() >> 16;
        let with = |channel: u8, sequence: u16, body| Command { flags: 0, channel, sequence, body };
        let must = |channel: u8, sequence: u16, body| Command { flags: MUST_ACKNOWLEDGE, channel, sequence, body };
        match strategy {
            Strategy::UnreliablePieces => with(0, 0, unreliable_piece(1 + at % 65_535)),
            Strategy::UnreliablePiecesDown => with(1, 0, unreliable_piece(65_535 - at % 65_535)),
            Strategy::UnreliablePiecesAhead => {
                let (channel, ahead) = (2 + draw as u8 % 200, 1 + (draw >> 8) as u16 % 64);
                with(channel, ahead, unreliable_piece(1 + (draw >> 24) % 65_535))
            }
            Strategy::ReliablePieces => {
                let start = 2 + 2 * at % (OPEN_NUMBERS - 4);
                must(203, start as u16 + 1, Body::ReliableFragment(fragment(start, 2, 1, 1), &PAYLOAD[..1]))
            }
            Strategy::OddPieces => {
                let number = (2 * at as u32 + 1) % PIECES_MAX;
                must(204, 1, Body::ReliableFragment(fragment(1, PIECES_MAX, number, 1), &PAYLOAD[..1]))
            }
            Strategy::LongPieces => {
                // Each channel lacks its first piece.
                let (channel, number) = (205 + (draw % 8) as u8, 1 + (draw >> 8) as u32 % 25_000);
                must(channel, 1, Body::ReliableFragment(fragment(1, 25_600, number, 1250), &PAYLOAD[..1250]))
            }
            Strategy::EarlyNumbers => {
                let ahead = if at % 4096 == 4095 { 1 } else { 2 + draw % (OPEN_NUMBERS / 2) };
                let number = self.number.wrapping_add(ahead as u16);
                self.number = self.number.wrapping_add(u16::from(ahead == 1));
                must(213, number, Body::Reliable(&[]))
            }
            Strategy::ClosedWindows => must(214, OPEN_NUMBERS as u16 + (draw % 36_000) as u16, Body::Reliable(&[])),
            Strategy::Acknowledgements => {
                let (channel, sequence) = (if draw & 1 == 0 { CONTROL } else { 0 }, (draw >> 8) as u16);
                let sent_time = (now_ms as u16).wrapping_sub((draw >> 24) as u16 % 40);
                with(channel, sequence, Body::Acknowledge { sequence, sent_time })
            }
            Strategy::Duplicates => must(215, 2, Body::Reliable(&[])),
            Strategy::DuplicatePieces => must(216, 3, Body::ReliableFragment(fragment(2, 2, 1, 1), &PAYLOAD[..1])),
            Strategy::Bandwidths => {
                let (incoming, outgoing) = ((draw >> 8) as u32 % 100_000, draw as u32 % 100_000);
                must(CONTROL, at as u16, Body::BandwidthLimit { incoming, outgoing })
            }
            Strategy::Throttles => {
                let parameters =
                    ThrottleParameters { interval_ms: draw as u32 % 3, acceleration: 0, deceleration: u32::MAX };
                must(CONTROL, at as u16, Body::ThrottleConfigure(parameters))
            }
            Strategy::Pings | Strategy::Reconnects => must(CONTROL, at as u16, Body::Ping),
            Strategy::Unsequenced => with(217, 0, Body::Unsequenced((at * 1024) as u16, &[])),
            Strategy::Packets | Strategy::Mixture => must(218, (at + 1) as u16, Body::Reliable(&[])),
            Strategy::SmallDatagrams => with(219, 0, Body::Unreliable(at as u16, &[])),
            Strategy::Requests => {
                // Now and then a sign of life, with a time that makes round trips look short.
                if at % 64 == 63 {
                    let sequence = draw as u16;
                    return with(CONTROL, sequence, Body::Acknowledge { sequence, sent_time: now_ms as u16 });
                }
                must(220, (at + 1 - at / 64) as u16, Body::Reliable(&REQUEST))
            }
        }
    }
}

/// A request of `prony load enet`: an answer of 16 bytes is wanted.
static REQUEST: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0];

fn fragment(start: u64, count: u32, number: u32, bytes: u32) -> Fragment {
    Fragment { start: start as u16, count, number, total: count * bytes, offset: number * bytes }
}

/// The first of two pieces of one byte.
fn unreliable_piece(start: u64) -> Body<'static> {
    Body::UnreliableFragment(fragment(start, 2, 0, 1), &PAYLOAD[..1])
}
