//! Decoder of Quake III's protocol 71 for `prony replay --decoder`, as an example of one in Rust.
//!
//! ```text
//! prony replay match.demo --tolerance quake3.toml --decoder target/debug/examples/quake3_decoder -- ./ioq3ded …
//! ```
//!
//! It undoes the scrambling of the legacy form (no checksums), the Huffman code and the differences between snapshots, and
//! names what is in them: `player.origin[2]`, `player.stats[0]` (health), `entity[7].pos.base[0]`, `command`. A message that
//! is not read to its end is not decoded; then its bytes are compared. Both directions are read, as the key of a message is
//! made of the last command of the other side. Source: ioquake3, `code/qcommon` and `code/server/sv_snapshot.c`.

use std::collections::{BTreeMap, HashMap, VecDeque};

use prony_decoder::{Datagram, Decoded, Decoder, Direction, Field, Value, serve};
use prony_testing::clients::quake::bits::{Ends, Reader, scramble};
use prony_testing::clients::quake::delta::{
    ENTITY, ENTITY_BITS, Entity, LISTS, NO_ENTITY, PLAYER, Player, read_entity, read_player,
};
use prony_testing::clients::quake::huffman::Code;
use prony_testing::clients::quake::message::{CLIENT_HEAD_BYTES, Fragments, SERVER_HEAD_BYTES, operation};

/// Snapshots that a later one may refer to (`PACKET_BACKUP`).
const KEPT: usize = 32;
/// Commands of either side that are remembered (`MAX_RELIABLE_COMMANDS`).
const COMMANDS: i32 = 64;

type Peer = (u16, u16, String);

#[derive(Clone, Default)]
struct Snapshot {
    player: Player,
    entities: BTreeMap<u32, Entity>,
}

#[derive(Default)]
struct Client {
    challenge: Option<i32>,
    to_client: Fragments,
    to_server: Fragments,
    baselines: BTreeMap<u32, Entity>,
    snapshots: VecDeque<(i32, Snapshot)>,
    server_commands: HashMap<i32, Vec<u8>>,
    client_commands: HashMap<i32, Vec<u8>>,
}

struct Quake {
    code: Code,
    clients: HashMap<Peer, Client>,
}

impl Decoder for Quake {
    fn name(&self) -> &str {
        "Quake III 71"
    }

    fn decode(&mut self, datagram: &Datagram) -> Decoded {
        let Datagram { process, socket, peer, payload, direction, .. } = datagram;
        if datagram.is_stream {
            return Decoded::Opaque(String::new());
        }
        let client = self.clients.entry((*process, *socket, peer.clone())).or_default();
        if let Some(text) = payload.strip_prefix(b"\xff\xff\xff\xff") {
            if *direction == Direction::FromServer {
                client.connectionless(text);
            }
            return Decoded::Opaque(String::new());
        }
        let Some(challenge) = client.challenge else { return Decoded::Opaque("the challenge was not seen".to_owned()) };
        match direction {
            Direction::ToServer => {
                if let Some((_, message)) = client.to_server.add(payload, CLIENT_HEAD_BYTES) {
                    // What a client says is the same on both sides; only its commands are needed.
                    let _ = client.read_client_message(&self.code, challenge, message);
                }
                Decoded::Opaque(String::new())
            }
            Direction::FromServer => match client.to_client.add(payload, SERVER_HEAD_BYTES) {
                None if client.to_client.is_within() => Decoded::Held,
                None => Decoded::Opaque("a fragment is missing".to_owned()),
                Some((sequence, message)) => match client.read_server_message(&self.code, challenge, sequence, message)
                {
                    Ok(fields) => Decoded::Fields(fields),
                    Err(Ends) => Decoded::Opaque(format!("message {sequence} cannot be read")),
                },
            },
        }
    }
}

impl Client {
    fn connectionless(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let mut words = text.split_whitespace();
        match words.next() {
            Some("challengeResponse") => self.challenge = words.next().and_then(|word| word.parse().ok()),
            // A client that sent more than one request has several challenges; this names the one that it took.
            Some("connectResponse") => {
                let challenge = words.next().and_then(|word| word.parse().ok()).or(self.challenge);
                *self = Client { challenge, ..Client::default() };
            }
            _ => {}
        }
    }

    fn read_client_message(&mut self, code: &Code, challenge: i32, mut message: Vec<u8>) -> Result<(), Ends> {
        let mut head = Reader::new(code, &message);
        let (server, acknowledged, command) = (head.long()?, head.long()?, head.long()?);
        let key = (challenge ^ server ^ acknowledged) as u8;
        let command = self.server_commands.get(&command.rem_euclid(COMMANDS)).cloned().unwrap_or_default();
        scramble(key, &command, &mut message, 12);
        let mut reader = Reader::new(code, &message);
        for _ in 0..3 {
            reader.long()?;
        }
        while reader.byte()? == operation::CLIENT_COMMAND {
            let (sequence, text) = (reader.long()?, reader.text()?);
            self.client_commands.insert(sequence.rem_euclid(COMMANDS), text);
        }
        Ok(())
    }

    fn read_server_message(
        &mut self,
        code: &Code,
        challenge: i32,
        sequence: i32,
        mut message: Vec<u8>,
    ) -> Result<Vec<Field>, Ends> {
        let acknowledged = Reader::new(code, &message).long()?;
        let command = self.client_commands.get(&acknowledged.rem_euclid(COMMANDS)).cloned().unwrap_or_default();
        scramble((challenge ^ sequence) as u8, &command, &mut message, 4);
        let mut reader = Reader::new(code, &message);
        let mut fields = vec![
            Field::new("message.sequence", integer(sequence)),
            Field::new("message.acknowledged", integer(reader.long()?)),
        ];
        loop {
            match reader.byte()? {
                operation::NOTHING => {}
                operation::END => return Ok(fields),
                operation::COMMAND => {
                    let (number, text) = (reader.long()?, reader.text()?);
                    fields.push(Field::new("command", Value::Text(String::from_utf8_lossy(&text).into_owned())));
                    self.server_commands.insert(number.rem_euclid(COMMANDS), text);
                }
                operation::GAME_STATE => self.game_state(&mut reader, &mut fields)?,
                operation::SNAPSHOT => self.snapshot(&mut reader, sequence, &mut fields)?,
                _ => return Err(Ends),
            }
        }
    }

    fn game_state(&mut self, reader: &mut Reader, fields: &mut Vec<Field>) -> Result<(), Ends> {
        self.baselines.clear();
        self.snapshots.clear();
        fields.push(Field::new("state.command", integer(reader.long()?)));
        loop {
            match reader.byte()? {
                operation::CONFIG => {
                    let (number, text) = (reader.short()?, reader.text()?);
                    let text = Value::Text(String::from_utf8_lossy(&text).into_owned());
                    fields.push(Field::new(format!("state.config[{number}]"), text));
                }
                operation::BASELINE => {
                    let number = reader.bits(ENTITY_BITS)?;
                    let baseline = read_entity(reader, &[0; ENTITY.len()])?.ok_or(Ends)?;
                    entity_fields(fields, &format!("state.baseline[{number}]"), &baseline);
                    self.baselines.insert(number, baseline);
                }
                operation::END => break,
                _ => return Err(Ends),
            }
        }
        fields.push(Field::new("state.client", integer(reader.long()?)));
        fields.push(Field::new("state.checksum_feed", integer(reader.long()?)));
        Ok(())
    }

    fn snapshot(&mut self, reader: &mut Reader, sequence: i32, fields: &mut Vec<Field>) -> Result<(), Ends> {
        let (time, behind, flags) = (reader.long()?, reader.byte()?, reader.byte()?);
        let base = match behind {
            0 => Snapshot::default(),
            behind => {
                let base = sequence - i32::from(behind);
                self.snapshots.iter().find(|(at, _)| *at == base).map(|(_, snapshot)| snapshot.clone()).ok_or(Ends)?
            }
        };
        fields.push(Field::new("snapshot.time", integer(time)));
        fields.push(Field::new("snapshot.flags", integer(flags.into())));
        let mut areas = String::new();
        for _ in 0..reader.byte()? {
            areas += &format!("{:02x}", reader.byte()?);
        }
        fields.push(Field::new("snapshot.areas", Value::Text(areas)));
        let mut now = Snapshot { player: read_player(reader, &base.player)?, entities: base.entities };
        loop {
            let number = reader.bits(ENTITY_BITS)?;
            if number == NO_ENTITY {
                break;
            }
            let before = now.entities.get(&number).or_else(|| self.baselines.get(&number));
            let before = before.copied().unwrap_or([0; ENTITY.len()]);
            match read_entity(reader, &before)? {
                Some(entity) => now.entities.insert(number, entity),
                None => now.entities.remove(&number),
            };
        }
        for ((name, bits), &value) in PLAYER.iter().zip(&now.player.fields) {
            fields.push(Field::new(format!("player.{name}"), value_of(*bits, value)));
        }
        for ((name, _), list) in LISTS.iter().zip(&now.player.lists) {
            let values = list.iter().enumerate();
            fields.extend(values.map(|(at, &value)| Field::new(format!("player.{name}[{at}]"), integer(value))));
        }
        for (number, entity) in &now.entities {
            entity_fields(fields, &format!("entity[{number}]"), entity);
        }
        self.snapshots.push_back((sequence, now));
        if self.snapshots.len() > KEPT {
            self.snapshots.pop_front();
        }
        Ok(())
    }
}

fn entity_fields(fields: &mut Vec<Field>, of: &str, entity: &Entity) {
    for ((name, bits), &value) in ENTITY.iter().zip(entity) {
        fields.push(Field::new(format!("{of}.{name}"), value_of(*bits, value)));
    }
}

fn value_of(bits: i32, value: i32) -> Value {
    if bits == 0 { Value::Single(f32::from_bits(value as u32)) } else { integer(value) }
}

fn integer(value: i32) -> Value {
    Value::Integer(value.into())
}

fn main() -> std::io::Result<()> {
    serve(Quake { code: Code::new(), clients: HashMap::new() })
}
