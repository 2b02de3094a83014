//! Players of Quake III's protocol 71 that connect, enter the game and keep moving.
//!
//! They speak the form without checksums, scrambled, that ioquake3 calls the legacy protocol. They do not read the map, and of
//! snapshots only the time. Protocol facts: ioquake3, `code/qcommon/{net_chan,msg}.c`, `code/client/cl_{parse,net_chan}.c`.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::bits::{Ends, Reader, Writer, scramble};
use super::delta::{ENTITY, ENTITY_BITS, read_entity};
use super::huffman::{Code, pack_adaptively};
use super::message::{Fragments, SERVER_HEAD_BYTES, operation};

/// What the players of one server have done so far; readable while they play.
#[derive(Debug, Default)]
pub struct Tally {
    /// Players that received a first snapshot.
    pub joined: AtomicU64,
    /// Snapshots that arrived, over all players.
    pub snapshots: AtomicU64,
}

/// Commands of the server that are remembered.
const COMMANDS: usize = 64;

/// Lets `players` play on `server` until `stop` is set.
///
/// # Errors
/// A socket that cannot be made or used.
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Challenging,
    Connecting,
    Connected,
}

struct Player<'a> {
    socket: UdpSocket,
    code: &'a Code,
    index: usize,
    state: State,
    challenge: i32,
    /// Number of the next message, and of the last one received.
    outgoing: u32,
    incoming: i32,
    fragments: Fragments,
    server_id: i32,
    checksum_feed: i32,
    client: Option<i32>,
    commands: Vec<Vec<u8>>,
    command: i32,
    time: i32,
    has_joined: bool,
}

impl<'a> Player<'a> {
    fn new(server: SocketAddr, index: usize, code: &'a Code) -> io::Result<Player<'a>> {
        let socket = UdpSocket::bind(("127.0.0.1", 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(Duration::from_millis(10)))?;
        Ok(Player {
            socket,
            code,
            index,
            state: State::Challenging,
            challenge: 0,
            outgoing: 1,
            incoming: 0,
            fragments: Fragments::default(),
            server_id: 0,
            checksum_feed: 0,
            client: None,
            commands: vec![Vec::new(); COMMANDS],
            command: 0,
            time: 0,
            has_joined: false,
        })
    }

    fn play(mut self, tally: &Tally, stop: &AtomicBool) -> io::Result<()> {
        let mut next = Instant::now();
        let mut buffer = [0; 65536];
        while !stop.load(Ordering::Relaxed) {
            match self.socket.recv(&mut buffer) {
                Ok(length) => self.handle(&buffer[..length], tally),
                Err(error) if is_quiet(&error) => {}
                Err(error) => return Err(error),
            }
            let now = Instant::now();
            if now < next {
                continue;
            }
            next = now + Duration::from_millis(if self.state == State::Connected { 40 } else { 500 });
            match self.state {
                State::Challenging => self.send(b"\xff\xff\xff\xffgetchallenge 0")?,
                State::Connecting => self.send(&self.connect())?,
                State::Connected => self.send_move()?,
            }
        }
        Ok(())
    }

    fn connect(&self) -> Vec<u8> {
        let (challenge, index) = (self.challenge, self.index);
        let info = format!(
            "\"\\protocol\\71\\qport\\{}\\challenge\\{challenge}\\name\\player{index}\\rate\\25000\\snaps\\20\\model\\sarge\\headmodel\\sarge\\handicap\\100\\cl_guid\\{:032X}\"",
            self.port(),
            index + 1
        );
        [b"\xff\xff\xff\xffconnect ".to_vec(), pack_adaptively(info.as_bytes())].concat()
    }

    fn port(&self) -> u16 {
        0x1000 + self.index as u16
    }

    fn handle(&mut self, datagram: &[u8], tally: &Tally) {
        if let Some(text) = datagram.strip_prefix(b"\xff\xff\xff\xff") {
            let text = String::from_utf8_lossy(text);
            let mut words = text.split_whitespace();
            match (words.next(), self.state) {
                (Some("challengeResponse"), State::Challenging) => {
                    if let Some(challenge) = words.next().and_then(|word| word.parse().ok()) {
                        (self.challenge, self.state) = (challenge, State::Connecting);
                    }
                }
                (Some("connectResponse"), State::Connecting) => self.state = State::Connected,
                _ => {}
            }
            return;
        }
        if self.state == State::Challenging {
            return;
        }
        let Some((sequence, mut message)) = self.fragments.add(datagram, SERVER_HEAD_BYTES) else { return };
        if sequence <= self.incoming {
            return;
        }
        self.incoming = sequence;
        // No command of ours was ever sent, so none is acknowledged.
        scramble((self.challenge ^ sequence) as u8, b"", &mut message, 4);
        // One that ends early has been read as far as it goes.
        let _ = self.read(&message, tally);
    }

    fn read(&mut self, message: &[u8], tally: &Tally) -> Result<(), Ends> {
        let mut reader = Reader::new(self.code, message);
        reader.long()?;
        loop {
            match reader.byte()? {
                operation::NOTHING => {}
                operation::COMMAND => {
                    let (sequence, text) = (reader.long()?, reader.text()?);
                    if sequence > self.command {
                        self.command = sequence;
                        self.commands[sequence as usize % COMMANDS] = text;
                    }
                }
                operation::GAME_STATE => self.read_game_state(&mut reader)?,
                operation::SNAPSHOT => {
                    self.time = reader.long()?;
                    tally.snapshots.fetch_add(1, Ordering::Relaxed);
                    if !std::mem::replace(&mut self.has_joined, true) {
                        tally.joined.fetch_add(1, Ordering::Relaxed);
                    }
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }

    fn read_game_state(&mut self, reader: &mut Reader) -> Result<(), Ends> {
        self.command = reader.long()?;
        loop {
            match reader.byte()? {
                operation::CONFIG => {
                    // The first one describes the system, to which the number of this start belongs.
                    let (number, text) = (reader.short()?, reader.text()?);
                    if number == 1 {
                        let text = String::from_utf8_lossy(&text).into_owned();
                        let mut parts = text.split('\\').skip_while(|&part| part != "sv_serverid");
                        self.server_id = parts.nth(1).and_then(|id| id.parse().ok()).unwrap_or(0);
                    }
                }
                operation::BASELINE => {
                    reader.bits(ENTITY_BITS)?;
                    read_entity(reader, &[0; ENTITY.len()])?;
                }
                _ => break,
            }
        }
        (self.client, self.checksum_feed) = (Some(reader.long()?), reader.long()?);
        Ok(())
    }

    /// Runs, turns and shoots; every move differs from the last.
    fn send_move(&mut self) -> io::Result<()> {
        let mut writer = Writer::new(self.code);
        for word in [self.server_id, self.incoming, self.command] {
            writer.bits(word as u32, 32);
        }
        let command = self.commands[self.command as usize % COMMANDS].clone();
        if self.client.is_some() {
            writer.bits(if self.has_joined { operation::MOVE } else { operation::FIRST_MOVE }.into(), 8);
            writer.bits(1, 8);
            let time = self.time + self.outgoing as i32 % 40 + 1;
            let key = self.checksum_feed ^ self.incoming ^ hash(&command) ^ time;
            writer.bits(0, 1);
            writer.bits(time as u32, 32);
            writer.bits(1, 1);
            let step = self.outgoing.wrapping_add(self.index as u32 * 7);
            let run = [127u32, 0, 129][step as usize / 50 % 3];
            let buttons = u32::from((step / 10).is_multiple_of(3));
            let jump = if step % 40 < 3 { 127 } else { 0 };
            let fields =
                [(0, 16), ((step * 300) & 0xffff, 16), (0, 16), (127, 8), (run, 8), (jump, 8), (buttons, 16), (2, 8)];
            for (value, bits) in fields {
                writer.bits(u32::from(value != 0), 1);
                if value != 0 {
                    writer.bits(value ^ key as u32, bits);
                }
            }
        }
        writer.bits(operation::CLIENT_END.into(), 8);
        let mut message = writer.finish();
        scramble((self.challenge ^ self.server_id ^ self.incoming) as u8, &command, &mut message, 12);
        let head = [&self.outgoing.to_le_bytes()[..], &self.port().to_le_bytes()].concat();
        self.outgoing += 1;
        self.send(&[head, message].concat())
    }

    fn send(&self, datagram: &[u8]) -> io::Result<()> {
        match self.socket.send(datagram) {
            Err(error) if !is_quiet(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// `MSG_HashKey` of ioquake3 over the first 32 bytes.
fn hash(command: &[u8]) -> i32 {
    let mut hash = 0i32;
    for (at, &byte) in (119..).zip(command.iter().take(32)) {
        let letter = if byte > 127 || byte == b'%' { b'.' } else { byte };
        hash = hash.wrapping_add(i32::from(letter) * at);
    }
    hash ^ (hash >> 10) ^ (hash >> 20)
}

fn is_quiet(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | ConnectionRefused | Interrupted)
}
