//! Players of Teeworlds 0.7 that connect, enter the game and keep moving.
//!
//! They speak as much of the protocol as keeps a server busy: token and connect handshake, the
//! five messages that lead into the game, acknowledgement and resending of vital chunks, and
//! inputs fifty times a second that answer the snapshots they receive. They do not read the map
//! and do not unpack the snapshots' content. Protocol facts: Teeworlds 0.7.5,
//! `src/engine/shared/network{,_conn}.cpp`, `src/engine/server/server.cpp`.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::huffman::Code;

/// What a server must hear before it talks to a client (`GAME_NETVERSION`).
const VERSION: &str = "0.7 802f1be60a05665f";
const CLIENT_VERSION: i32 = 0x0705;

const CONTROL: u8 = 1;
const RESEND: u8 = 2;
const COMPRESSION: u8 = 4;
const CONNLESS: u8 = 8;
const CHUNK_VITAL: u8 = 1;
const SEQUENCES: u16 = 1 << 10;

const CONTROL_CONNECT: u8 = 1;
const CONTROL_ACCEPT: u8 = 2;
const CONTROL_CLOSE: u8 = 4;
const CONTROL_TOKEN: u8 = 5;

/// A server answers a token or connect request only when it is this long (reflection attacks).
const REQUEST_BYTES: usize = 512;

/// A message's number and whether it belongs to the engine (system) or to the game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    System(i32),
    Game(i32),
}

const INFO: Message = Message::System(1);
const MAP_CHANGE: Message = Message::System(2);
const CON_READY: Message = Message::System(5);
const SNAP: Message = Message::System(6);
const SNAP_EMPTY: Message = Message::System(7);
const SNAP_SINGLE: Message = Message::System(8);
const READY: Message = Message::System(18);
const ENTER_GAME: Message = Message::System(19);
const INPUT: Message = Message::System(20);
const READY_TO_ENTER: Message = Message::Game(8);
const START_INFO: Message = Message::Game(27);

/// What the players of one server have done so far; readable while they play.
#[derive(Debug, Default)]
pub struct Tally {
    /// Players that received a first snapshot.
    pub joined: AtomicU64,
    /// Snapshots that arrived, over all players.
    pub snapshots: AtomicU64,
    /// Inputs that were sent, over all players.
    pub inputs: AtomicU64,
}

/// Lets `players` play on `server` until `stop` is set, then says goodbye for them.
///
/// A player that cannot reach the server yet retries four times a second.
///
/// # Errors
/// A socket that cannot be made, or a player the server threw out (with its reason).
pub fn play(server: SocketAddr, players: usize, tally: &Tally, stop: &AtomicBool) -> io::Result<()> {
    let code = Code::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..players)
            .map(|index| {
                let code = &code;
                scope.spawn(move || Player::new(server, index, code)?.play(tally, stop))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a player does not panic"))
    })
}

struct Player<'a> {
    socket: UdpSocket,
    code: &'a Code,
    index: usize,
    own_token: [u8; 4],
    server_token: [u8; 4],
    /// Last vital chunk received in order; what every packet acknowledges.
    received: u16,
    sent: u16,
    /// Vital chunks the server has not acknowledged yet.
    pending: Vec<(u16, Vec<u8>)>,
    snapshot_tick: i32,
    connected: bool,
    random: u64,
}

impl<'a> Player<'a> {
    fn new(server: SocketAddr, index: usize, code: &'a Code) -> io::Result<Player<'a>> {
        let socket = UdpSocket::bind(("127.0.0.1", 0))?;
        socket.connect(server)?;
        // Also the pace of the loop in `play`: a quarter of a tick of the server.
        socket.set_read_timeout(Some(Duration::from_millis(5)))?;
        Ok(Player {
            socket,
            code,
            index,
            own_token: [0x10, 0x20, 0x30, index as u8],
            server_token: [0xff; 4],
            received: 0,
            sent: 0,
            pending: Vec::new(),
            snapshot_tick: -1,
            connected: false,
            random: 0x9e37_79b9_7f4a_7c15 ^ (index as u64 + 1),
        })
    }

    fn play(mut self, tally: &Tally, stop: &AtomicBool) -> io::Result<()> {
        let mut next_request = Instant::now();
        let mut next_resend = Instant::now();
        let mut next_input = Instant::now();
        let mut buffer = [0; 1500];
        while !stop.load(Ordering::Relaxed) {
            match self.socket.recv(&mut buffer) {
                Ok(length) => self.handle_packet(&buffer[..length], tally)?,
                // Refused: the server has not opened its port yet, or is gone and `stop` follows.
                Err(error) if is_quiet(&error) => {}
                Err(error) => return Err(error),
            }
            let now = Instant::now();
            if !self.connected && now >= next_request {
                next_request = now + Duration::from_millis(250);
                let request = if self.server_token == [0xff; 4] { CONTROL_TOKEN } else { CONTROL_CONNECT };
                self.send_control(request, REQUEST_BYTES)?;
            }
            if now >= next_resend {
                next_resend = now + Duration::from_secs(1);
                self.resend()?;
            }
            if self.snapshot_tick >= 0 && now >= next_input {
                next_input = now + Duration::from_millis(20);
                self.send_input()?;
                tally.inputs.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.send_control(CONTROL_CLOSE, 0)
    }

    fn handle_packet(&mut self, packet: &[u8], tally: &Tally) -> io::Result<()> {
        if packet.len() < 7 || packet[3..7] != self.own_token {
            return Ok(());
        }
        let flags = packet[0] >> 2;
        let payload = &packet[7..];
        if flags & CONNLESS != 0 {
            return Ok(());
        }
        if flags & CONTROL != 0 {
            return self.handle_control(payload);
        }
        let ack = u16::from(packet[0] & 3) << 8 | u16::from(packet[1]);
        // Sequence numbers wrap: whatever lies at most half the range behind is acknowledged.
        self.pending.retain(|&(sequence, _)| (ack + SEQUENCES - sequence) % SEQUENCES >= SEQUENCES / 2);
        if flags & RESEND != 0 {
            self.resend()?;
        }
        let unpacked;
        let mut chunks = payload;
        if flags & COMPRESSION != 0 {
            let Some(bytes) = self.code.unpack(payload) else { return Ok(()) };
            unpacked = bytes;
            chunks = &unpacked;
        }
        for _ in 0..packet[2] {
            let Some((header, rest)) = chunks.split_at_checked(2) else { return Ok(()) };
            let vital = header[0] >> 6 & CHUNK_VITAL != 0;
            let size = usize::from(header[0] & 0x3f) << 6 | usize::from(header[1] & 0x3f);
            let mut body = rest;
            if vital {
                let Some((&low, rest)) = rest.split_first() else { return Ok(()) };
                let sequence = u16::from(header[1] & 0xc0) << 2 | u16::from(low);
                body = rest;
                if sequence == (self.received + 1) % SEQUENCES {
                    self.received = sequence;
                } else {
                    chunks = rest.get(size..).unwrap_or_default();
                    continue;
                }
            }
            let Some((message, rest)) = body.split_at_checked(size) else { return Ok(()) };
            chunks = rest;
            self.handle_message(message, tally)?;
        }
        Ok(())
    }

    fn handle_control(&mut self, payload: &[u8]) -> io::Result<()> {
        match payload {
            [CONTROL_TOKEN, token @ ..] if token.len() >= 4 => {
                self.server_token.copy_from_slice(&token[..4]);
                self.send_control(CONTROL_CONNECT, REQUEST_BYTES)
            }
            [CONTROL_ACCEPT, ..] if !self.connected => {
                self.connected = true;
                let mut info = text(VERSION);
                info.extend(text(""));
                put_int(&mut info, CLIENT_VERSION);
                self.send_vital(INFO, &info)
            }
            [CONTROL_CLOSE, reason @ ..] if self.snapshot_tick < 0 => {
                let reason = String::from_utf8_lossy(reason);
                Err(io::Error::other(format!("the server threw player {} out: {reason}", self.index)))
            }
            _ => Ok(()),
        }
    }

    fn handle_message(&mut self, mut message: &[u8], tally: &Tally) -> io::Result<()> {
        let Some(number) = take_int(&mut message) else { return Ok(()) };
        let message_kind = if number & 1 == 1 { Message::System(number >> 1) } else { Message::Game(number >> 1) };
        match message_kind {
            MAP_CHANGE => self.send_vital(READY, &[]),
            CON_READY => self.send_vital(START_INFO, &self.start_info()),
            READY_TO_ENTER => self.send_vital(ENTER_GAME, &[]),
            SNAP | SNAP_EMPTY | SNAP_SINGLE => {
                let (Some(tick), Some(_delta)) = (take_int(&mut message), take_int(&mut message)) else {
                    return Ok(());
                };
                if message_kind == SNAP {
                    let (parts, part) = (take_int(&mut message), take_int(&mut message));
                    if parts.zip(part).is_none_or(|(parts, part)| part + 1 != parts) {
                        return Ok(());
                    }
                }
                if self.snapshot_tick < 0 {
                    tally.joined.fetch_add(1, Ordering::Relaxed);
                }
                self.snapshot_tick = self.snapshot_tick.max(tick);
                tally.snapshots.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start_info(&self) -> Vec<u8> {
        let mut info = text(&format!("player {}", self.index));
        info.extend(text("prony"));
        put_int(&mut info, -1);
        for part in ["standard", "", "", "standard", "standard", "standard"] {
            info.extend(text(part));
        }
        for _custom_color in 0..6 {
            put_int(&mut info, 0);
        }
        for part in 0..6 {
            put_int(&mut info, 0x10_2030 * (part + self.index as i32 + 1) % 0xff_ffff);
        }
        info
    }

    /// Runs left and right, jumps, aims around, shoots and hooks; every input differs from the last.
    fn send_input(&mut self) -> io::Result<()> {
        let angle = (self.snapshot_tick as f64 / 17.0 + self.index as f64).sin_cos();
        let dice = self.roll();
        let run = (self.snapshot_tick / 40 + self.index as i32) % 3 - 1;
        let mut input = Vec::new();
        for value in [self.snapshot_tick, self.snapshot_tick + 2, 40] {
            put_int(&mut input, value);
        }
        let fire = self.snapshot_tick / 10 * 2 + i32::from(dice & 1 == 0);
        let inputs = [
            run,
            (angle.0 * 300.0) as i32 + (dice >> 8 & 15) as i32,
            (angle.1 * 300.0) as i32,
            i32::from(dice & 0x70 == 0),
            fire & 63,
            i32::from(dice & 0x7000 < 0x2000),
            0,
            (dice >> 20 & 3) as i32,
            0,
            0,
        ];
        for value in inputs {
            put_int(&mut input, value);
        }
        put_int(&mut input, 0);
        let body = message(INPUT, &input);
        let header = [(body.len() >> 6) as u8, (body.len() & 0x3f) as u8];
        self.send(0, 1, &[&header, &body])
    }

    /// Marsaglia's xorshift64: no dependency, and every player has its own sequence.
    fn roll(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn send_vital(&mut self, kind: Message, content: &[u8]) -> io::Result<()> {
        self.sent = (self.sent + 1) % SEQUENCES;
        let body = message(kind, content);
        let header = [
            CHUNK_VITAL << 6 | (body.len() >> 6) as u8,
            (self.sent >> 2 & 0xc0) as u8 | (body.len() & 0x3f) as u8,
            self.sent as u8,
        ];
        let chunk = [&header, body.as_slice()].concat();
        self.send(0, 1, &[&chunk])?;
        self.pending.push((self.sent, chunk));
        Ok(())
    }

    fn resend(&self) -> io::Result<()> {
        self.pending.iter().try_for_each(|(_, chunk)| self.send(0, 1, &[chunk]))
    }

    fn send_control(&self, kind: u8, padded_bytes: usize) -> io::Result<()> {
        let mut content = vec![kind];
        if padded_bytes > 0 {
            content.extend(self.own_token);
            content.resize(1 + padded_bytes, 0);
        }
        self.send(CONTROL, 0, &[&content])
    }

    fn send(&self, flags: u8, chunks: u8, content: &[&[u8]]) -> io::Result<()> {
        let mut packet = vec![flags << 2 | (self.received >> 8) as u8, self.received as u8, chunks];
        packet.extend(self.server_token);
        content.iter().for_each(|bytes| packet.extend_from_slice(bytes));
        match self.socket.send(&packet) {
            Err(error) if !is_quiet(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

fn is_quiet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::TimedOut
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

fn message(kind: Message, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match kind {
        Message::System(number) => put_int(&mut out, number << 1 | 1),
        Message::Game(number) => put_int(&mut out, number << 1),
    }
    out.extend_from_slice(content);
    out
}

fn text(content: &str) -> Vec<u8> {
    [content.as_bytes(), &[0]].concat()
}

/// First byte: more follows, sign, six bits; then seven bits a byte. Negative numbers are inverted.
fn put_int(out: &mut Vec<u8>, value: i32) {
    let sign = if value < 0 { 0x40 } else { 0 };
    let mut rest = (if value < 0 { !value } else { value }) as u32;
    let mut byte = sign | (rest & 0x3f) as u8;
    rest >>= 6;
    while rest != 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
}

fn take_int(bytes: &mut &[u8]) -> Option<i32> {
    let (&first, mut rest) = bytes.split_first()?;
    let mut value = i32::from(first & 0x3f);
    let (mut more, mut shift) = (first & 0x80 != 0, 6);
    while more && shift < 32 {
        let (&byte, after) = rest.split_first()?;
        value |= i32::from(byte & 0x7f) << shift;
        (more, shift, rest) = (byte & 0x80 != 0, shift + 7, after);
    }
    *bytes = rest;
    Some(if first & 0x40 != 0 { !value } else { value })
}
