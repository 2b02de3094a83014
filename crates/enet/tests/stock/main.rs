//! Beside stock hosts, the ones of `libenet7`: under one clock, on one network that the test holds.

mod process;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};

use prony_enet::wire::{Body, Command, Fragment, Header};
use prony_enet::{Host, RangeCoder, Settings, WireProfile, crc32_checksum};

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

fn settings(checksum: bool, coder: bool, wire_profile: WireProfile) -> Settings {
    Settings {
        mtu: 1400,
        checksum: checksum.then(crc32_checksum),
        compressor: coder.then(|| Box::new(RangeCoder::new()) as _),
        wire_profile,
        ..Settings::default()
    }
}

/// Flags of a packet, as the library numbers them.
const RELIABLE: u32 = 1;
const UNSEQUENCED: u32 = 2;
const UNRELIABLE_FRAGMENT: u32 = 8;
const FLAGS: [u32; 6] = [RELIABLE, RELIABLE, 0, UNSEQUENCED, UNRELIABLE_FRAGMENT, UNSEQUENCED | UNRELIABLE_FRAGMENT];

/// A packet drawn at random: channel, flags, and a payload that carries its number.
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
                // Long packets are reliable unless a flag says otherwise.
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
            for (_, datagram) in datagrams {
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
            for wire_profile in [WireProfile::Hardened, WireProfile::Stock] {
                let ours = || Ours::new(Host::new(4, settings(checksum, coder, wire_profile), &[1; 16]));
                converse(&mut ours(), &mut Stock::start(4, checksum, coder), loss_percent);
                converse(&mut Stock::start(4, checksum, coder), &mut ours(), loss_percent);
            }
        }
    }
}

/// The acknowledgement of the grant is lost, and the client has nothing to say but a ping: it proves its address by its
/// answer to ours.
#[test]
fn a_stock_client_whose_proof_was_lost_gives_it_again() {
    let mut client = Stock::start(1, false, false);
    let mut server = Ours::new(Host::new(1, settings(false, false, WireProfile::Hardened), &[9; 16]));
    client.connect(address(0), CHANNELS, 3);
    let mut now_ms = 60_000;
    let (mut from_client, mut is_lost) = (0, false);
    let mut connected = [None, None];
    while connected.contains(&None) {
        now_ms += 1;
        assert!(now_ms < 62_000, "{connected:?}");
        let (happened, datagrams) = client.service(now_ms);
        if let [Happened::Connected { .. }] = happened[..] {
            connected[1] = Some(now_ms);
        }
        for (_, datagram) in datagrams {
            from_client += 1;
            // The CONNECT comes first, the acknowledgement second.
            match from_client {
                2 => is_lost = true,
                _ => server.give(address(1), &datagram),
            }
        }
        let (happened, datagrams) = server.service(now_ms);
        if let [Happened::Connected { data: 3, .. }] = happened[..] {
            connected[0] = Some(now_ms);
        }
        datagrams.iter().for_each(|(_, datagram)| client.give(address(0), datagram));
    }
    assert!(is_lost && connected[0] > connected[1]);
}

/// Channel and number of a command, and its place in the packet that it is a piece of, and its bytes.
type Numbers = (u8, u16, Option<(Fragment, usize)>);

fn numbers(datagram: &[u8]) -> Vec<Numbers> {
    let mut numbers = Vec::new();
    let mut rest = Header::decode(datagram).map_or(&[][..], |(_, rest)| rest);
    while let Some((command, behind)) = Command::decode(rest) {
        let packet = match command.body {
            Body::ReliableFragment(fragment, payload) | Body::UnreliableFragment(fragment, payload) => {
                Some((fragment, payload.len()))
            }
            _ => None,
        };
        numbers.push((command.channel, command.sequence, packet));
        rest = behind;
    }
    numbers
}

/// What datagrams say: acknowledgements in the order of their numbers, as hosts fill datagrams differently when there is
/// an event in between, and everything else in the order of its peer.
fn said(datagrams: &[(SocketAddr, Vec<u8>)]) -> (Vec<String>, Vec<String>) {
    let (mut acknowledged, mut others) = (Vec::new(), Vec::new());
    let mut datagrams: Vec<_> = datagrams.iter().collect();
    datagrams.sort_by_key(|(to, _)| *to);
    for (to, datagram) in datagrams {
        let (header, mut rest) = Header::decode(datagram).expect("hosts send headers");
        while let Some((command, behind)) = Command::decode(rest) {
            let said = format!("{to} {} {} {command:?}", header.peer, header.session);
            match command.body {
                Body::Acknowledge { .. } => acknowledged.push(said),
                // A stock host repeats it by its clock, ours when it is requested again.
                Body::VerifyConnect(_) => {}
                _ => others.push(said),
            }
            rest = behind;
        }
    }
    acknowledged.sort();
    (acknowledged, others)
}

fn ends_without_time(datagram: &[u8]) -> bool {
    let Some((Header { sent_time: None, .. }, mut rest)) = Header::decode(datagram) else { return false };
    let mut commands = std::iter::from_fn(|| {
        let (command, behind) = Command::decode(rest)?;
        rest = behind;
        Some(command)
    });
    commands.any(|command| matches!(command.body, Body::Disconnect(_)))
}

/// Flips a bit of `datagram`.
///
/// Numbers are left as they are: where packets and pieces claim the same ones, a stock host never delivers another packet
/// of the channel, and ours goes on; and where pieces do not tile their packet, ours refuses them. A peer that ends a
/// connection without a time to acknowledge keeps its slot at a stock host for ever, and not at ours.
fn mangle(datagram: &mut [u8], dice: &mut Dice) {
    let (at, bit) = (dice.below(datagram.len() as u64) as usize, 1 << dice.below(8));
    let before = numbers(datagram);
    datagram[at] ^= bit;
    let after = numbers(datagram);
    if before.len() == after.len() && before != after || ends_without_time(datagram) {
        datagram[at] ^= bit;
    }
}

/// How a comparison goes.
#[derive(Debug, Clone, Copy, Default)]
struct Plan {
    seed: u64,
    loss_percent: u64,
    /// Datagrams of the clients that have a bit flipped.
    mangled_percent: u64,
    /// Of the servers: bytes a second in and out.
    bandwidth: (u32, u32),
    /// Of the clients.
    client_bandwidth: (u32, u32),
    /// How the servers end the connections, as [`Node::disconnect`] numbers it; the clients do where it is `None`.
    farewell: Option<u8>,
}

/// A stock server and ours receive the same datagrams and calls at the same times: both report the same events and send
/// the same.
///
/// The clients only hear the stock one. Returns how many events there were.
fn compare(plan: Plan) -> usize {
    let Plan { seed, loss_percent, mangled_percent, .. } = plan;
    let clients = 2;
    let host = |seed: u64| Ours::new(Host::new(4, settings(false, false, WireProfile::Stock), &[seed as u8; 16]));
    let mut servers: [Box<dyn Node>; 2] = [Box::new(Stock::start(4, false, false)), Box::new(host(seed))];
    let mut nodes: Vec<Ours> = (0..clients).map(|number| host(seed + 100 + number)).collect();
    let mut network = Network::new(seed, loss_percent, 15);
    let mut dice = Dice::new(seed + 1000);
    servers.iter_mut().for_each(|server| server.set_bandwidth(plan.bandwidth.0, plan.bandwidth.1));
    for node in &mut nodes {
        node.set_bandwidth(plan.client_bandwidth.0, plan.client_bandwidth.1);
    }
    let mut events = 0;
    let mut connected = vec![false; nodes.len()];
    nodes[0].connect(address(0), CHANNELS, 5);
    for number in 0..6000 {
        network.now_ms += 1;
        if number == 1000 {
            // Slots are taken when a connection is granted at a stock host, and when it is proven at ours.
            nodes[1].connect(address(0), CHANNELS, 5);
        }
        for (to, from, mut datagram) in network.arrivals() {
            if to > 0 {
                nodes[to - 1].give(address(from), &datagram);
                continue;
            }
            // Handshakes are left alone: they are what ours does in another way.
            let is_handshake = number < 200 || (1000..1200).contains(&number);
            if !is_handshake && dice.below(100) < mangled_percent {
                mangle(&mut datagram, &mut dice);
            }
            servers.iter_mut().for_each(|server| server.give(address(from), &datagram));
        }
        let is_time = number % 4 == 0 && number < 5000;
        for (peer, node) in nodes.iter_mut().enumerate().filter(|(peer, _)| connected[*peer] && is_time) {
            let (channel, flags, payload) = packet(&mut dice, number);
            node.send(0, channel, flags, &payload);
            let (channel, flags, payload) = packet(&mut dice, number);
            servers.iter_mut().for_each(|server| server.send(peer as u32, channel, flags, &payload));
        }
        if number == 5300 {
            match plan.farewell {
                None => nodes.iter_mut().for_each(|node| node.disconnect(0, 0, 77)),
                Some(kind) => servers.iter_mut().for_each(|server| server.disconnect(0, kind, 77)),
            }
        }
        let [mut stock, mut ours] = servers.each_mut().map(|server| server.service(network.now_ms));
        // Which of two peers comes first in one millisecond is not defined by the protocol.
        [&mut stock, &mut ours].into_iter().for_each(|side| side.0.sort_by_key(Happened::peer));
        let when = format!("{plan:?} at {} ms", network.now_ms);
        assert_eq!(stock.0, ours.0, "{when}: what happened");
        assert_eq!(said(&stock.1), said(&ours.1), "{when}: what was said");
        events += stock.0.len();
        for (to, datagram) in stock.1 {
            network.post(0, usize::from(to.ip().to_string().ends_with(".2")) + 1, &datagram);
        }
        for (peer, node) in nodes.iter_mut().enumerate() {
            let (happened, datagrams) = node.service(network.now_ms);
            for happened in happened {
                match happened {
                    Happened::Connected { .. } => connected[peer] = true,
                    Happened::Disconnected { .. } => connected[peer] = false,
                    Happened::Packet { .. } => {}
                }
            }
            for (_, datagram) in datagrams {
                network.post(peer + 1, 0, &datagram);
            }
        }
    }
    events
}

#[test]
fn the_same_datagrams_make_the_same_events_and_answers_as_at_a_stock_host() {
    for seed in 0..12 {
        let events = compare(Plan { seed, loss_percent: [0, 2, 10][seed as usize % 3], ..Plan::default() });
        assert!(events > 800, "{events} events");
    }
}

#[test]
fn mangled_datagrams_make_the_same_events_and_answers_as_at_a_stock_host() {
    for seed in 20..32 {
        compare(Plan { seed, loss_percent: 1, mangled_percent: 10, ..Plan::default() });
    }
}

#[test]
fn connections_end_as_at_a_stock_host() {
    for kind in 0..4 {
        for loss_percent in [0, 10] {
            compare(Plan { seed: 40 + u64::from(kind), loss_percent, farewell: Some(kind), ..Plan::default() });
        }
    }
}

#[test]
fn bandwidths_are_shared_as_at_a_stock_host() {
    let bandwidths = [0, 4_000, 20_000, 100_000];
    for (seed, incoming) in bandwidths.into_iter().enumerate() {
        for outgoing in bandwidths {
            let bandwidth = (incoming, outgoing);
            let client_bandwidth = (outgoing / 2, incoming / 3);
            compare(Plan { seed: 60 + seed as u64, bandwidth, client_bandwidth, ..Plan::default() });
        }
    }
}
