//! What a decoder reads: a greeting, then datagrams with their length before them.

use super::VERSION;

/// First bytes that a decoder reads; the version follows.
pub const GREETING: &[u8; 8] = b"PRONYDEC";

/// Longest frame, in bytes, without its length.
pub const MOST_FRAME_BYTES: usize = 16 << 20;

/// Bytes before the peer's address.
const HEAD_BYTES: usize = 26;

/// Direction of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The server received it.
    ToServer,
    /// The server sent it.
    FromServer,
}

/// One datagram, or one piece of a stream as a single call moved it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// Number of the datagram, from 1; the answer repeats it.
    pub number: u64,
    /// Direction.
    pub direction: Direction,
    /// A piece of a TCP stream, which may begin and end anywhere.
    pub is_stream: bool,
    /// Process of the server, from 0.
    pub process: u16,
    /// Frame of the server's main loop.
    pub frame: u64,
    /// Port of the server's socket; 0 where it is not known.
    pub local_port: u16,
    /// Descriptor of the server's socket, below 65,536.
    pub socket: u16,
    /// Address of the other side, `127.0.0.1:40000`; empty where it is not known.
    pub peer: String,
    /// The bytes.
    pub payload: Vec<u8>,
}

/// Why bytes are not what `prony replay` writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameError {
    /// The first bytes are not [`GREETING`].
    Greeting([u8; 8]),
    /// Version of the conversation.
    Version(u32),
    /// Length of a frame, in bytes.
    Length(u32),
    /// A direction or a kind that has no meaning.
    Head,
    /// The peer's address is longer than the frame, or no text.
    Peer,
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FrameError::Greeting(found) => {
                write!(f, "expected the greeting `PRONYDEC`, found `{}`", found.escape_ascii())
            }
            FrameError::Version(found) => write!(f, "expected version {VERSION} of the conversation, found {found}"),
            FrameError::Length(found) => {
                write!(f, "expected a frame of {HEAD_BYTES} to {MOST_FRAME_BYTES} bytes, found {found}")
            }
            FrameError::Head => write!(f, "the direction or the kind of a datagram is neither 0 nor 1"),
            FrameError::Peer => write!(f, "the address of the peer is not complete, or not UTF-8"),
        }
    }
}

impl std::error::Error for FrameError {}

/// The bytes that `prony` writes first.
pub fn greeting() -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(GREETING);
    bytes[8..].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

impl Datagram {
    /// Appends the datagram as a frame, its length first. `None` if that is more than [`MOST_FRAME_BYTES`].
    pub fn write(&self, to: &mut Vec<u8>) -> Option<()> {
        let peer = u16::try_from(self.peer.len()).ok()?;
        let length = HEAD_BYTES + self.peer.len() + self.payload.len();
        if length > MOST_FRAME_BYTES {
            return None;
        }
        to.extend((length as u32).to_le_bytes());
        to.extend([u8::from(self.direction == Direction::FromServer), u8::from(self.is_stream)]);
        to.extend(self.process.to_le_bytes());
        to.extend(self.number.to_le_bytes());
        to.extend(self.frame.to_le_bytes());
        to.extend(self.socket.to_le_bytes());
        to.extend(self.local_port.to_le_bytes());
        to.extend(peer.to_le_bytes());
        to.extend(self.peer.as_bytes());
        to.extend(&self.payload);
        Some(())
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// [`FrameError`] if the bytes are no frame.
    pub fn read(frame: &[u8]) -> Result<Datagram, FrameError> {
        let (head, rest) = frame
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(FrameError::Length(u32::try_from(frame.len()).unwrap_or(u32::MAX)))?;
        let flag = |byte: [u8; 1]| match byte {
            [byte @ 0..=1] => Ok(byte == 1),
            _ => Err(FrameError::Head),
        };
        let (peer, payload) =
            rest.split_at_checked(u16::from_le_bytes(field::<24, 2>(head)).into()).ok_or(FrameError::Peer)?;
        Ok(Datagram {
            direction: if flag(field::<0, 1>(head))? { Direction::FromServer } else { Direction::ToServer },
            is_stream: flag(field::<1, 1>(head))?,
            process: u16::from_le_bytes(field::<2, 2>(head)),
            number: u64::from_le_bytes(field::<4, 8>(head)),
            frame: u64::from_le_bytes(field::<12, 8>(head)),
            socket: u16::from_le_bytes(field::<20, 2>(head)),
            local_port: u16::from_le_bytes(field::<22, 2>(head)),
            peer: String::from_utf8(peer.to_vec()).map_err(|_| FrameError::Peer)?,
            payload: payload.to_vec(),
        })
    }
}

/// The `N` bytes at `AT` of a head.
#[expect(clippy::indexing_slicing, reason = "the assertion proves at compile time that the bytes lie in the head")]
fn field<const AT: usize, const N: usize>(head: &[u8; HEAD_BYTES]) -> [u8; N] {
    const { assert!(AT + N <= HEAD_BYTES) };
    std::array::from_fn(|byte| head[AT + byte])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_are_those_of_the_format_page() {
        let datagram = Datagram {
            number: 3,
            direction: Direction::FromServer,
            is_stream: false,
            process: 1,
            frame: 0x0102,
            local_port: 8303,
            socket: 7,
            peer: "1.2.3.4:5".to_owned(),
            payload: vec![0xaa, 0xbb],
        };
        let mut bytes = Vec::new();
        datagram.write(&mut bytes).expect("it is short");
        let expected: &[u8] =
            b"\x25\0\0\0\x01\0\x01\0\x03\0\0\0\0\0\0\0\x02\x01\0\0\0\0\0\0\x07\0\x6f\x20\x09\x001.2.3.4:5\xaa\xbb";
        assert_eq!(bytes, expected);
        assert_eq!(greeting(), *b"PRONYDEC\x01\0\0\0");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            number in any::<u64>(), out in any::<bool>(), is_stream in any::<bool>(), process in any::<u16>(),
            frame in any::<u64>(), local_port in any::<u16>(), socket in any::<u16>(), peer in "\\PC{0,40}",
            payload in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let direction = if out { Direction::FromServer } else { Direction::ToServer };
            let datagram = Datagram { number, direction, is_stream, process, frame, local_port, socket, peer, payload };
            let mut bytes = Vec::new();
            datagram.write(&mut bytes).expect("it is short");
            prop_assert_eq!(Datagram::read(&bytes[4..]), Ok(datagram));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = Datagram::read(&bytes);
        }
    }
}
