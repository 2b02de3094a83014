//! Datagrams of a connection: a sequence number, and messages that are cut where they are too long.

/// Operations of messages.
pub mod operation {
    /// Padding.
    pub const NOTHING: u8 = 1;
    /// All that a new client has to know.
    pub const GAME_STATE: u8 = 2;
    /// A text of the game state.
    pub const CONFIG: u8 = 3;
    /// What an entity is a difference from when it is first seen.
    pub const BASELINE: u8 = 4;
    /// A command for the client.
    pub const COMMAND: u8 = 5;
    /// A snapshot.
    pub const SNAPSHOT: u8 = 7;
    /// End of a message of the server, or of a game state.
    pub const END: u8 = 8;
    /// From a client: what it does, and which snapshot it has.
    pub const MOVE: u8 = 2;
    /// From a client: the same without a snapshot.
    pub const FIRST_MOVE: u8 = 3;
    /// From a client: a command.
    pub const CLIENT_COMMAND: u8 = 4;
    /// End of a message of a client.
    pub const CLIENT_END: u8 = 5;
}

/// Bytes before a message of the server.
pub const SERVER_HEAD_BYTES: usize = 4;
/// Bytes before a message of a client, which states its port.
pub const CLIENT_HEAD_BYTES: usize = 6;
/// A message is cut into fragments of this many bytes; a shorter one is the last.
const FRAGMENT_BYTES: usize = 1300;
/// Longest message (`MAX_MSGLEN`).
const MOST_BYTES: usize = 16384;

/// Puts messages together.
#[derive(Debug, Default)]
pub struct Fragments {
    sequence: i32,
    so_far: Vec<u8>,
}

impl Fragments {
    /// Adds a datagram with a head of as many bytes; number and content of the message that it completes.
    pub fn add(&mut self, datagram: &[u8], head: usize) -> Option<(i32, Vec<u8>)> {
        let (word, content) = (datagram.get(..4)?, datagram.get(head..)?);
        let word = u32::from_le_bytes(word.try_into().ok()?);
        let sequence = (word & 0x7fff_ffff) as i32;
        if word >> 31 == 0 {
            return Some((sequence, content.to_vec()));
        }
        let (place, fragment) = content.split_at_checked(4)?;
        let start = usize::from(u16::from_le_bytes([place[0], place[1]]));
        let length = usize::from(u16::from_le_bytes([place[2], place[3]]));
        if sequence != self.sequence {
            self.sequence = sequence;
            self.so_far.clear();
        }
        if start != self.so_far.len() || start + length > MOST_BYTES {
            return None;
        }
        self.so_far.extend(fragment.get(..length)?);
        (length < FRAGMENT_BYTES).then(|| (sequence, std::mem::take(&mut self.so_far)))
    }

    /// True if a message has begun that is not complete.
    pub fn is_within(&self) -> bool {
        !self.so_far.is_empty()
    }
}
