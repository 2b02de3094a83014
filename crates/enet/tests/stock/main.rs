//! Beside stock hosts, the ones of `libenet7`: under one clock, on one network that the test holds.

mod process;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};

use prony_enet::wire::{Body, Command, Header};
use prony_enet::{Habits, Host, RangeCoder, Settings, crc32_checksum};

use process::{Happened, Node, Ours, Stock};

const CHANNELS: u32 = 3;

fn address(node: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, node as u8), 7000))
}

/// xorshift64*: Vigna 2016.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % end.max(1)
    }
}

fn settings(checksum: bool, coder: bool, habits: Habits) -> Settings {
    Settings {
        mtu: 1400,
        checksum: checksum.then(crc32_checksum),
        compressor: coder.then(|| Box::new(RangeCoder::new()) as _),
        habits,
        ..Settings::default()
    }
}

/// Flags of a packet, as the library numbers them.
const RELIABLE: u32 = 1;
const UNSEQUENCED: u32 = 2;
const UNRELIABLE_FRAGMENT: u32 = 8;
const FLAGS: [u32; 6] = [RELIABLE, RELIABLE, 0, UNSEQUENCED, UNRELIABLE_FRAGMENT, UNSEQUENCED | UNRELIABLE_FRAGMENT];

/// A packet drawn at random: channel, flags, and a payload that tells its number.
fn packet(dice: &mut Dice, number: u32) -> (u8, u32, Vec<u8>) {
    let channel = dice.below(CHANNELS.into()) as u8;
    let flags = FLAGS[dice.below(FLAGS.len() as u64) as usize];
    let length = if dice.below(12) == 0 { dice.below(6000) } else { dice.below(50) };
    let mut payload = number.to_be_bytes().to_vec();
    payload.extend((0..length).map(|at| (at as u32 ^ number) as u8));
    (channel, flags, payload)
}

/// When a datagram arrives, in which order it left, to and from whom, and its bytes.
type UnderWay = (u64, u64, usize, usize, Vec<u8>);

struct Network {
    now_ms: u64,
    dice: Dice,
    loss_percent: u64,
    delay_ms: u64,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    posted: u64,
}

impl Network {
    fn new(seed: u64, loss_percent: u64, delay_ms: u64) -> Network {
        let now_ms = 60_000;
        Network { now_ms, dice: Dice::new(seed), loss_percent, delay_ms, under_way: BinaryHeap::new(), posted: 0 }
    }

    fn post(&mut self, from: usize, to: usize, datagram: &[u8]) {
        let copies = 1 + usize::from(self.dice.below(100) < self.loss_percent / 2);
        for _ in 0..copies {
            if self.dice.below(100) >= self.loss_percent {
                let arrival = self.now_ms + 1 + self.dice.below(self.delay_ms);
                self.posted += 1;
                self.under_way.push(Reverse((arrival, self.posted, to, from, datagram.to_vec())));
            }
        }
    }

    /// What arrives now: to whom, from whom.
    fn arrivals(&mut self) -> Vec<(usize, usize, Vec<u8>)> {
        let mut arrivals = Vec::new();
        while self.under_way.peek().is_some_and(|Reverse((at, ..))| *at <= self.now_ms) {
            let Some(Reverse((_, _, to, from, datagram))) = self.under_way.pop() else { break };
            arrivals.push((to, from, datagram));
        }
        arrivals
    }
}

/// Numbers of packets, as they came: by kind of promise and channel.
#[derive(Default)]
struct Came {
    reliable: Vec<(u8, u32)>,
    others: usize,
}

fn check(came: &mut Came, happened: &Happened) {
    let Happened::Packet { channel, flags, payload, .. } = happened else { return };
    let number = u32::from_be_bytes(payload[..4].try_into().expect("four bytes at least"));
    assert!(payload[4..].iter().enumerate().all(|(at, byte)| *byte == (at as u32 ^ number) as u8), "as it was sent");
    if flags & RELIABLE != 0 {
        came.reliable.push((*channel, number));
    } else {
        came.others += 1;
    }
}

/// Connects, sends both ways over a bad link, and leaves; the reliable packets arrive each once and in order.
fn converse(server: &mut dyn Node, client: &mut dyn Node, loss_percent: u64) {
    let mut network = Network::new(3, loss_percent, 20);
    let mut dice = Dice::new(17);
    client.connect(address(0), CHANNELS, 0xcafe);
    let mut is_connected = [false; 2];
    let mut ended = [None; 2];
    let mut sent: [Vec<(u8, u32)>; 2] = Default::default();
    let mut came: [Came; 2] = Default::default();
    let (mut given, mut is_leaving) = (0, false);
    let start = network.now_ms;
    while ended != [Some(0xbeef), Some(0)] {
        assert!(network.now_ms < start + 120_000, "{is_connected:?} {ended:?}, {given} packets given");
        network.now_ms += 1;
        for (to, from, datagram) in network.arrivals() {
            let node: &mut dyn Node = if to == 0 { server } else { client };
            node.give(address(from), &datagram);
        }
        if is_connected == [true; 2] && given < 400 && network.now_ms.is_multiple_of(5) {
            given += 1;
            for (node, sent) in sent.iter_mut().enumerate() {
                let (channel, flags, payload) = packet(&mut dice, given);
                // Long packets are reliable unless they are asked not to be.
                if flags & RELIABLE != 0 || payload.len() > 1368 && flags & UNRELIABLE_FRAGMENT == 0 {
                    sent.push((channel, given));
                }
                let node: &mut dyn Node = if node == 0 { server } else { client };
                node.send(0, channel, flags, &payload);
            }
        }
        let all_came = |node: usize| came[node].reliable.len() == sent[1 - node].len();
        if given == 400 && all_came(0) && all_came(1) && !is_leaving {
            is_leaving = true;
            client.disconnect(0, 0, 0xbeef);
        }
        for number in 0..2 {
            let node: &mut dyn Node = if number == 0 { server } else { client };
            let (happened, datagrams) = node.service(network.now_ms);
            for happened in happened {
                match happened {
                    Happened::Connected { data, .. } => {
                        assert_eq!(data, if number == 0 { 0xcafe } else { 0 });
                        is_connected[number] = true;
                    }
                    Happened::Disconnected { data, .. } => ended[number] = Some(data),
                    Happened::Packet { .. } => check(&mut came[number], &happened),
                }
            }
            for datagram in datagrams {
                network.post(number, 1 - number, &datagram);
            }
        }
        if is_leaving && ended[0].is_some() && network.now_ms > start + 100_000 {
            break;
        }
    }
    for node in 0..2 {
        for channel in 0..CHANNELS as u8 {
            let of = |packets: &[(u8, u32)]| -> Vec<u32> {
                packets.iter().filter(|packet| packet.0 == channel).map(|packet| packet.1).collect()
            };
            assert_eq!(of(&came[node].reliable), of(&sent[1 - node]), "each once and in order");
        }
        assert!(came[node].others > 20);
    }
}

#[test]
fn hosts_converse_with_stock_hosts_in_either_role_and_every_form() {
    for (checksum, coder) in [(false, false), (true, false), (false, true), (true, true)] {
        for loss_percent in [0, 5] {
            for habits in [Habits::Careful, Habits::Stock] {
                let ours = || Ours::new(Host::new(4, settings(checksum, coder, habits), &[1; 16]));
                converse(&mut ours(), &mut Stock::start(4, checksum, coder), loss_percent);
                converse(&mut Stock::start(4, checksum, coder), &mut ours(), loss_percent);
            }
        }
    }
}

/// Channel and number of a command, and start, count and bytes of the packet that it is a piece of.
type Numbers = (u8, u16, Option<(u16, u32, u32)>);

fn numbers(datagram: &[u8]) -> Vec<Numbers> {
    let mut numbers = Vec::new();
    let mut rest = Header::decode(datagram).map_or(&[][..], |(_, rest)| rest);
    while let Some((command, behind)) = Command::decode(rest) {
        let packet = match command.body {
            Body::ReliableFragment(fragment, _) | Body::UnreliableFragment(fragment, _) => {
                Some((fragment.start, fragment.count, fragment.total))
            }
            _ => None,
        };
        numbers.push((command.channel, command.sequence, packet));
        rest = behind;
    }
    numbers
}

/// Flips a bit of `datagram`.
///
/// Numbers are left as they are: where packets and pieces claim the same ones, a stock host never delivers another packet
/// of the channel, and ours goes on.
fn mangle(datagram: &mut [u8], dice: &mut Dice) {
    let (at, bit) = (dice.below(datagram.len() as u64) as usize, 1 << dice.below(8));
    let before = numbers(datagram);
    datagram[at] ^= bit;
    let after = numbers(datagram);
    if before.len() == after.len() && before != after {
        datagram[at] ^= bit;
    }
}

/// A stock server and ours hear the same datagrams at the same times: the same happens at both.
///
/// The client only hears the stock one. `mangled_percent` of its datagrams have a bit flipped.
fn compare(seed: u64, loss_percent: u64, mangled_percent: u64) -> usize {
    let mut stock = Stock::start(4, false, false);
    let mut ours = Ours::new(Host::new(4, settings(false, false, Habits::Stock), &[seed as u8; 16]));
    let mut client = Ours::new(Host::new(4, settings(false, false, Habits::Stock), &[seed as u8 + 1; 16]));
    let mut network = Network::new(seed, loss_percent, 15);
    let mut dice = Dice::new(seed + 1000);
    client.connect(address(0), CHANNELS, 5);
    let (mut log, mut other_log) = (Vec::new(), Vec::new());
    let mut is_connected = false;
    for number in 0..6000 {
        network.now_ms += 1;
        for (to, from, mut datagram) in network.arrivals() {
            if to == 1 {
                client.give(address(from), &datagram);
                continue;
            }
            if dice.below(100) < mangled_percent {
                mangle(&mut datagram, &mut dice);
            }
            stock.give(address(from), &datagram);
            ours.give(address(from), &datagram);
        }
        if is_connected && number % 4 == 0 && number < 5000 {
            let (channel, flags, payload) = packet(&mut dice, number);
            client.send(0, channel, flags, &payload);
            let (channel, flags, payload) = packet(&mut dice, number);
            stock.send(0, channel, flags, &payload);
            ours.send(0, channel, flags, &payload);
        }
        if number == 5500 {
            client.disconnect(0, 0, 77);
        }
        let (happened, datagrams) = stock.service(network.now_ms);
        log.extend(happened);
        for datagram in datagrams {
            network.post(0, 1, &datagram);
        }
        other_log.extend(ours.service(network.now_ms).0);
        let (happened, datagrams) = client.service(network.now_ms);
        is_connected |= happened.iter().any(|happened| matches!(happened, Happened::Connected { .. }));
        is_connected &= !happened.iter().any(|happened| matches!(happened, Happened::Disconnected { .. }));
        for datagram in datagrams {
            network.post(1, 0, &datagram);
        }
        for (at, (one, other)) in log.iter().zip(&other_log).enumerate() {
            assert_eq!(one, other, "seed {seed}: event {at} at {} ms", network.now_ms);
        }
        assert_eq!(log.len(), other_log.len(), "seed {seed}: events until {} ms", network.now_ms);
        let keep = log.len().saturating_sub(1);
        log.drain(..keep);
        other_log.drain(..keep);
    }
    network.posted as usize
}

#[test]
fn the_same_datagrams_make_the_same_events_as_at_a_stock_host() {
    for seed in 0..12 {
        compare(seed, [0, 2, 10][seed as usize % 3], 0);
    }
}

#[test]
fn mangled_datagrams_make_the_same_events_as_at_a_stock_host() {
    for seed in 20..32 {
        compare(seed, 1, 10);
    }
}
