use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::*;
use crate::allocation::allocated;
use crate::budget::{Account, Budget};
use crate::keyed::Keyed;
use crate::packet::Received;
use proptest::prelude::*;

struct Receiver {
    channel: Incoming,
    delivered: VecDeque<Received>,
    waiting: usize,
    account: Account,
    budget: Budget,
    held_limit: usize,
    waiting_limit: usize,
    work: u64,
}

impl Receiver {
    fn new() -> Receiver {
        let mut receiver = Receiver {
            channel: Incoming::default(),
            delivered: VecDeque::new(),
            waiting: 0,
            account: Account::default(),
            budget: Budget::new(Keyed::new(&[1; 16])),
            held_limit: 1 << 20,
            waiting_limit: 1 << 20,
            work: 0,
        };
        receiver.budget.open(&mut receiver.account, [10, 0, 0, 1].into());
        receiver
    }

    fn at(number: u64) -> Receiver {
        Receiver { channel: Incoming { delivered: number, ..Incoming::default() }, ..Receiver::new() }
    }

    fn with<T>(&mut self, take: impl FnOnce(&mut Incoming, &mut ReceiveQuota) -> T) -> T {
        let mut quota = ReceiveQuota {
            delivered: &mut self.delivered,
            waiting: &mut self.waiting,
            account: &mut self.account,
            budget: &mut self.budget,
            waiting_limit: self.waiting_limit,
            held_limit: self.held_limit,
            packet_limit: 100_000,
            work: &mut self.work,
        };
        take(&mut self.channel, &mut quota)
    }

    fn reliable(&mut self, sequence: u16, payload: &[u8]) -> Result<(), Refused> {
        self.with(|channel, quota| channel.reliable(0, sequence, payload, quota))
    }

    fn unreliable(&mut self, sequence: u16, unreliable: u16, payload: &[u8]) -> Result<(), Refused> {
        self.with(|channel, quota| channel.unreliable(0, sequence, unreliable, payload, quota))
    }

    /// Piece `number` of a packet of `count` pieces of two bytes.
    fn piece(&mut self, sequence: Option<u16>, start: u16, count: u32, number: u32) -> Result<(), Refused> {
        let fragment = Fragment { start, count, number, total: 2 * count, offset: 2 * number };
        let payload = [number as u8; 2];
        self.with(|channel, quota| match sequence {
            None => channel.reliable_fragment(0, &fragment, &payload, quota),
            Some(sequence) => channel.unreliable_fragment(0, sequence, &fragment, &payload, quota),
        })
    }

    fn take(&mut self) -> Vec<Vec<u8>> {
        let packets: Vec<_> = self.delivered.drain(..).map(|received| received.payload).collect();
        self.waiting -= packets.iter().map(Vec::len).sum::<usize>();
        packets
    }

    fn held(&self) -> usize {
        assert_eq!(self.account.held, self.budget.held);
        self.account.held + self.account.exempt
    }
}

#[test]
fn reliable_packets_wait_for_those_before_them() {
    let mut receiver = Receiver::new();
    receiver.reliable(3, b"c").unwrap();
    receiver.reliable(2, b"b").unwrap();
    receiver.reliable(2, b"again").unwrap();
    assert!(receiver.take().is_empty());
    assert!(receiver.held() > 2 * allocated(1), "{} bytes", receiver.held());
    receiver.reliable(1, b"a").unwrap();
    assert_eq!(receiver.take(), [b"a", b"b", b"c"]);
    assert_eq!((receiver.held(), receiver.waiting), (0, 0));
    receiver.reliable(3, b"again").unwrap();
    assert!(receiver.take().is_empty());
}

#[test]
fn numbers_wrap() {
    let mut receiver = Receiver::at(65_534);
    for sequence in [0, 65_535, 1] {
        receiver.reliable(sequence, &sequence.to_be_bytes()).unwrap();
    }
    assert_eq!(receiver.take(), [[255, 255], [0, 0], [0, 1]]);
}

#[test]
fn seven_windows_are_open_two_behind_them_are_not_acknowledged_and_old_numbers_are() {
    let receiver = Receiver::at(2 * 4096 + 5);
    let open = |sequence: u32| matches!(receiver.channel.place(sequence as u16), SequencePosition::Open { .. });
    assert!(open(2 * 4096 + 5) && open(9 * 4096 - 1));
    assert!(!open(9 * 4096) && !open(2 * 4096 + 4));
    assert!(receiver.channel.acknowledges(9 * 4096 - 1));
    assert!(!receiver.channel.acknowledges(9 * 4096) && !receiver.channel.acknowledges(11 * 4096 - 1));
    assert!(receiver.channel.acknowledges(11 * 4096) && receiver.channel.acknowledges(2 * 4096 + 4));
}

#[test]
fn unreliable_packets_never_go_back_and_restart_behind_a_reliable_one() {
    let mut receiver = Receiver::new();
    receiver.unreliable(0, 2, b"b").unwrap();
    receiver.unreliable(0, 1, b"late").unwrap();
    receiver.unreliable(0, 2, b"again").unwrap();
    receiver.unreliable(1, 2, b"e").unwrap();
    receiver.unreliable(1, 1, b"d").unwrap();
    assert_eq!(receiver.take(), [b"b"]);
    receiver.reliable(1, b"c").unwrap();
    assert_eq!(receiver.take(), [b"c", b"d", b"e"]);
    receiver.unreliable(0, 3, b"behind").unwrap();
    assert!(receiver.take().is_empty());
    assert_eq!(receiver.held(), 0);
}

#[test]
fn unreliable_packets_of_a_number_that_was_passed_are_dropped() {
    let mut receiver = Receiver::new();
    receiver.unreliable(1, 1, b"x").unwrap();
    receiver.unreliable(2, 1, b"d").unwrap();
    receiver.reliable(2, b"c").unwrap();
    receiver.reliable(1, b"b").unwrap();
    assert_eq!(receiver.take(), [b"b", b"c", b"d"]);
    assert_eq!(receiver.held(), 0);
}

#[test]
fn a_packet_in_pieces_takes_as_many_numbers() {
    let mut receiver = Receiver::new();
    receiver.reliable(4, b"next").unwrap();
    for number in [2, 0, 2, 1] {
        receiver.piece(None, 1, 3, number).unwrap();
    }
    assert_eq!(receiver.take(), [&[0, 0, 1, 1, 2, 2][..], b"next"]);
    assert_eq!(receiver.held(), 0);
    receiver.piece(None, 1, 3, 1).unwrap();
    assert_eq!(receiver.held(), 0, "a late piece of a packet that was delivered");
}

#[test]
fn pieces_that_disagree_are_refused() {
    let mut receiver = Receiver::new();
    receiver.piece(None, 2, 3, 0).unwrap();
    assert_eq!(receiver.piece(None, 2, 4, 1), Err(Refused::Malformed));
    receiver.reliable(5, b"whole").unwrap();
    assert_eq!(receiver.piece(None, 5, 3, 0), Err(Refused::Malformed));
    receiver.reliable(1, b"").unwrap();
    assert_eq!(receiver.piece(None, 1, 3, 0), Err(Refused::Malformed), "of a number that was whole");
}

#[test]
fn a_forged_packet_in_the_middle_of_one_in_pieces_neither_comes_nor_stops_the_channel() {
    let mut receiver = Receiver::new();
    receiver.reliable(2, b"forged").unwrap();
    (0..3).for_each(|number| receiver.piece(None, 1, 3, number).unwrap());
    receiver.reliable(4, b"next").unwrap();
    assert_eq!(receiver.take(), [&[0, 0, 1, 1, 2, 2][..], b"next"]);
    assert_eq!(receiver.held(), 0);
}

#[test]
fn an_incomplete_unreliable_packet_is_dropped_when_a_newer_one_is_delivered() {
    let mut receiver = Receiver::new();
    receiver.piece(Some(0), 1, 2, 0).unwrap();
    receiver.piece(Some(0), 3, 2, 0).unwrap();
    receiver.unreliable(0, 2, b"new").unwrap();
    assert_eq!(receiver.take(), [b"new"]);
    receiver.piece(Some(0), 1, 2, 1).unwrap();
    assert!(receiver.take().is_empty());
    receiver.piece(Some(0), 3, 2, 1).unwrap();
    assert_eq!(receiver.take(), [[0, 0, 1, 1]]);
    assert_eq!(receiver.held(), 0);
}

#[test]
fn what_waits_beyond_its_limits_is_refused_but_the_next_in_order_is_not() {
    let mut receiver = Receiver::new();
    receiver.reliable(3, &[0; 10]).unwrap();
    receiver.reliable(4, &[0; 10]).unwrap();
    receiver.held_limit = 2 * receiver.held();
    assert_eq!(receiver.reliable(5, &[0; 10]), Err(Refused::NoRoom));
    assert_eq!(receiver.unreliable(5, 1, b""), Err(Refused::NoRoom));
    assert_eq!(receiver.piece(None, 9, 3, 0), Err(Refused::NoRoom));
    assert_eq!(receiver.piece(Some(3), 1, 3, 0), Err(Refused::NoRoom));
    receiver.reliable(1, &[0; 10]).unwrap();
    receiver.reliable(2, &[0; 10]).unwrap();
    assert_eq!(receiver.take().len(), 4);

    let mut receiver = Receiver { waiting_limit: 300, ..Receiver::new() };
    let taken = (1..10).take_while(|&sequence| receiver.reliable(sequence, &[0; 60]).is_ok()).count();
    assert_eq!(taken, 2, "two packets and what they cost beside their bytes");
    receiver.take();
    receiver.reliable(3, &[0; 60]).unwrap();
}

/// Of each kind one packet, in whatever order its pieces come.
#[test]
fn the_next_packet_in_pieces_is_put_together_beyond_the_budget() {
    let mut receiver = Receiver { held_limit: 0, ..Receiver::new() };
    for number in [4, 2, 0] {
        receiver.piece(None, 1, 5, number).unwrap();
        receiver.piece(Some(0), 1, 5, number).unwrap();
    }
    assert_eq!(receiver.account.held, 0);
    assert!(receiver.account.exempt > 0);
    assert_eq!(receiver.piece(None, 6, 2, 0), Err(Refused::NoRoom), "not the one behind it");
    assert_eq!(receiver.piece(Some(1), 1, 2, 0), Err(Refused::NoRoom), "nor one behind a reliable one");
    receiver.piece(Some(0), 1, 5, 1).unwrap();
    receiver.piece(Some(0), 1, 5, 3).unwrap();
    assert_eq!(receiver.take(), [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]);
    // A newer unreliable one takes the place of one that lacks a piece.
    receiver.piece(Some(0), 2, 2, 0).unwrap();
    receiver.piece(Some(0), 3, 2, 1).unwrap();
    receiver.piece(Some(0), 3, 2, 0).unwrap();
    assert_eq!(receiver.take(), [[0, 0, 1, 1]]);
    for number in [3, 1] {
        receiver.piece(None, 1, 5, number).unwrap();
    }
    assert_eq!(receiver.take(), [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]);
    assert_eq!(receiver.held(), 0);
    receiver.piece(None, 6, 2, 1).unwrap();
    assert!(receiver.account.exempt > 0, "the place is free again");
}

/// Its own early packets fill the peer's own limit: no other peer can give room, and the channel must go on.
#[test]
fn a_peer_that_filled_its_own_limit_goes_on() {
    let mut receiver = Receiver { waiting_limit: 2000, ..Receiver::new() };
    let early = (4..100).take_while(|&sequence| receiver.reliable(sequence, &[0; 10]).is_ok()).count();
    assert!(early > 2);
    for number in [2, 1, 0] {
        receiver.piece(None, 1, 3, number).unwrap();
    }
    assert_eq!(receiver.take().len(), 1 + early);
    assert_eq!(receiver.held(), 0);
}

#[test]
fn of_too_many_packets_that_lack_a_piece_the_oldest_is_given_up() {
    let mut receiver = Receiver::new();
    for start in 2..2 + PARTIALS_MAX as u16 {
        receiver.piece(Some(0), start, 2, 0).unwrap();
    }
    receiver.piece(Some(0), 1, 2, 0).unwrap();
    receiver.piece(Some(0), 1, 2, 1).unwrap();
    assert!(receiver.take().is_empty(), "older than all of them");
    receiver.piece(Some(0), 1000, 2, 0).unwrap();
    assert_eq!(receiver.channel.unreliable_partial.len(), PARTIALS_MAX);
    receiver.piece(Some(0), 2, 2, 1).unwrap();
    assert!(receiver.take().is_empty(), "given up");
    receiver.piece(Some(0), 3, 2, 1).unwrap();
    assert_eq!(receiver.take().len(), 1);
}

proptest! {
    /// Whatever arrives in whatever order: reliable packets are delivered each once and in order, unreliable ones
    /// never go back, and what is charged is what is held.
    #[test]
    fn any_order_of_arrival_keeps_the_order_of_delivery(
        arrivals in prop::collection::vec((0u16..12, 0u16..4, any::<bool>()), 0..300),
        start in prop::sample::select(std::vec![0u64, 65_530, 4090]),
    ) {
        let mut receiver = Receiver::at(start);
        let mut log = Vec::new();
        for (ahead, unreliable, is_reliable) in arrivals {
            let number = start + u64::from(ahead);
            if is_reliable {
                receiver.reliable(number as u16, &[ahead as u8, 0]).unwrap();
            } else {
                receiver.unreliable(number as u16, unreliable + 1, &[ahead as u8, unreliable as u8 + 1]).unwrap();
            }
            log.extend(receiver.take());
        }
        prop_assert!(log.is_sorted_by(|a, b| a < b), "{log:?}");
        let reliable: Vec<_> = log.iter().filter(|packet| packet[1] == 0).map(|packet| packet[0]).collect();
        prop_assert!(reliable.iter().copied().eq(1..=reliable.len() as u8));
        let Incoming { reliable_held, unreliable_held, .. } = &mut receiver.channel;
        let nodes = reliable_held.node_bytes() + unreliable_held.node_bytes();
        let held: usize = reliable_held.values_mut().map(|held| held.charge().bytes).sum();
        let unreliable: usize = unreliable_held.values_mut().map(|held| held.charge().bytes).sum();
        prop_assert_eq!(nodes + held + unreliable, receiver.held());
    }
}
