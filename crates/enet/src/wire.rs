//! Datagrams as bytes: the header, and the commands behind it.
//!
//! Fields are big-endian, except the connection ID, which is four opaque bytes.

use alloc::vec::Vec;

/// Peer ID of a sender that does not know the receiver's slot yet.
pub const NO_PEER: u16 = 0xfff;

/// Channel of the commands that control the connection.
pub const CONTROL: u8 = 0xff;

/// Smallest MTU a host may ask for, in bytes of UDP payload.
pub const MTU_MIN: u32 = 576;

/// Largest MTU, and with it the longest datagram that is looked at.
pub const MTU_MAX: u32 = 4096;

/// Commands in a datagram, when sending. A receiver takes any number.
pub const COMMANDS_MAX: usize = 32;

/// Smallest window of reliable data, in bytes.
pub const WINDOW_MIN: u32 = 4096;

/// Largest window of reliable data, in bytes.
pub const WINDOW_MAX: u32 = 65536;

/// Fragments that one packet may be cut into.
pub const FRAGMENTS_MAX: u32 = 1 << 20;

const SENT_TIME: u16 = 0x8000;
const COMPRESSED: u16 = 0x4000;
const SESSION_SHIFT: u16 = 12;
const SESSION_MASK: u16 = 3;

/// Flag of a command that the receiver must acknowledge.
pub const MUST_ACKNOWLEDGE: u8 = 0x80;

/// Flag of a command outside of every order.
pub const UNSEQUENCED: u8 = 0x40;

const CODE: u8 = 0x0f;

/// Protocol header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Token of the sender at the receiver, [`NO_PEER`] while it has none.
    pub peer: u16,
    /// Two bits that tell one use of a slot from the next.
    pub session: u8,
    /// True if the bytes after header and checksum are compressed.
    pub compressed: bool,
    /// Low half of the sender's clock in milliseconds; there when a command must be acknowledged.
    pub sent_time: Option<u16>,
}

impl Header {
    /// Reads a header; the rest of the datagram is the second value. `None` when it is cut.
    pub fn decode(datagram: &[u8]) -> Option<(Header, &[u8])> {
        let (&first, rest) = datagram.split_first_chunk::<2>()?;
        let first = u16::from_be_bytes(first);
        let (sent_time, rest) = if first & SENT_TIME == 0 {
            (None, rest)
        } else {
            let (&time, rest) = rest.split_first_chunk::<2>()?;
            (Some(u16::from_be_bytes(time)), rest)
        };
        let header = Header {
            peer: first & NO_PEER,
            session: (first >> SESSION_SHIFT & SESSION_MASK) as u8,
            compressed: first & COMPRESSED != 0,
            sent_time,
        };
        Some((header, rest))
    }

    /// Appends the 2 or 4 bytes of the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut first = self.peer & NO_PEER | (u16::from(self.session) & SESSION_MASK) << SESSION_SHIFT;
        if self.compressed {
            first |= COMPRESSED;
        }
        if let Some(time) = self.sent_time {
            out.extend_from_slice(&(first | SENT_TIME).to_be_bytes());
            out.extend_from_slice(&time.to_be_bytes());
        } else {
            out.extend_from_slice(&first.to_be_bytes());
        }
    }

    /// Number of bytes that [`Header::encode`] appends.
    pub fn length(&self) -> usize {
        if self.sent_time.is_some() { 4 } else { 2 }
    }
}

/// Parameters that both ends announce when they connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectParameters {
    /// Token that the sender wants in the headers it is sent.
    pub peer: u16,
    /// Session bits of the one direction; 0xff when the slot was never used.
    pub incoming_session: u8,
    /// Session bits of the other direction.
    pub outgoing_session: u8,
    /// Largest datagram, in bytes of UDP payload.
    pub mtu: u32,
    /// Bytes that may be in flight.
    pub window: u32,
    /// Channels requested or granted.
    pub channels: u32,
    /// Bytes a second the sender can take, 0 for any number.
    pub incoming_bandwidth: u32,
    /// Bytes a second the sender can send, 0 for any number.
    pub outgoing_bandwidth: u32,
    /// Parameters of the packet throttle.
    pub throttle: ThrottleParameters,
    /// Four bytes that tell this connection from others.
    pub connect_id: [u8; 4],
}

/// Parameters of the packet throttle's adaptation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThrottleParameters {
    /// Time over which the lowest round trip is looked for, in milliseconds.
    pub interval_ms: u32,
    /// Steps up at a round trip that is good.
    pub acceleration: u32,
    /// Steps down at one that is bad.
    pub deceleration: u32,
}

impl Default for ThrottleParameters {
    fn default() -> Self {
        ThrottleParameters { interval_ms: 5000, acceleration: 2, deceleration: 2 }
    }
}

/// Position of a fragment in its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Number of the first piece: reliable, or unreliable for pieces of an unreliable packet.
    pub start: u16,
    /// Number of fragments that the packet has.
    pub count: u32,
    /// Number of this fragment, from 0.
    pub number: u32,
    /// Length of the whole packet, in bytes.
    pub total: u32,
    /// Offset of the fragment in the packet, in bytes.
    pub offset: u32,
}

/// Content of a protocol command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// Command 1: a reliable command arrived.
    Acknowledge {
        /// Reliable sequence number of that command.
        sequence: u16,
        /// Time in the header it came with.
        sent_time: u16,
    },
    /// Command 2: a connection is requested, with 4 bytes for the application.
    Connect(ConnectParameters, u32),
    /// Command 3: the connection is granted, with these parameters.
    VerifyConnect(ConnectParameters),
    /// Command 4: the connection ends, with 4 bytes for the application.
    Disconnect(u32),
    /// Command 5: only an acknowledgement is requested.
    Ping,
    /// Command 6: a packet that arrives, in order.
    Reliable(&'a [u8]),
    /// Command 7: a packet that may be lost and is never behind a later one, and its number.
    Unreliable(u16, &'a [u8]),
    /// Command 8: a piece of a reliable packet.
    ReliableFragment(Fragment, &'a [u8]),
    /// Command 9: a packet in no order, and its group.
    Unsequenced(u16, &'a [u8]),
    /// Command 10: what the sender can take and send, in bytes a second.
    BandwidthLimit {
        /// Bandwidth that the receiver may use, in bytes a second.
        incoming: u32,
        /// Bandwidth that the sender uses, in bytes a second.
        outgoing: u32,
    },
    /// Command 11: how the receiver's throttle shall adapt.
    ThrottleConfigure(ThrottleParameters),
    /// Command 12: a piece of an unreliable packet.
    UnreliableFragment(Fragment, &'a [u8]),
}

/// A command of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command<'a> {
    /// Flags of the command: [`MUST_ACKNOWLEDGE`] and [`UNSEQUENCED`].
    pub flags: u8,
    /// [`CONTROL`] or a data channel.
    pub channel: u8,
    /// Reliable sequence number of the command.
    pub sequence: u16,
    /// Body of the command, by its kind.
    pub body: Body<'a>,
}

impl<'a> Command<'a> {
    /// Reads a command; the bytes behind it are the second value.
    ///
    /// `None` at the end, for a command that is cut and for a code that there is none of: the rest of a datagram is
    /// never looked at then.
    pub fn decode(bytes: &'a [u8]) -> Option<(Command<'a>, &'a [u8])> {
        let (&[kind, channel, high, low], rest) = bytes.split_first_chunk::<4>()?;
        let mut fields = Fields { bytes: rest };
        let sequence = u16::from_be_bytes([high, low]);
        let body = match kind & CODE {
            1 => Body::Acknowledge { sequence: fields.u16()?, sent_time: fields.u16()? },
            2 => Body::Connect(fields.parameters()?, fields.u32()?),
            3 => Body::VerifyConnect(fields.parameters()?),
            4 => Body::Disconnect(fields.u32()?),
            5 => Body::Ping,
            6 => Body::Reliable(fields.payload()?),
            7 => Body::Unreliable(fields.u16()?, fields.payload()?),
            8 => fields.fragment().map(|(fragment, payload)| Body::ReliableFragment(fragment, payload))?,
            9 => Body::Unsequenced(fields.u16()?, fields.payload()?),
            10 => Body::BandwidthLimit { incoming: fields.u32()?, outgoing: fields.u32()? },
            11 => Body::ThrottleConfigure(fields.throttle()?),
            12 => fields.fragment().map(|(fragment, payload)| Body::UnreliableFragment(fragment, payload))?,
            _ => return None,
        };
        Some((Command { flags: kind & !CODE, channel, sequence, body }, fields.bytes))
    }

    /// Appends the command with its payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let [high, low] = self.sequence.to_be_bytes();
        out.extend_from_slice(&[self.body.code() | self.flags, self.channel, high, low]);
        match self.body {
            Body::Acknowledge { sequence, sent_time } => {
                out.extend_from_slice(&sequence.to_be_bytes());
                out.extend_from_slice(&sent_time.to_be_bytes());
            }
            Body::Connect(parameters, data) => {
                parameters.encode(out);
                out.extend_from_slice(&data.to_be_bytes());
            }
            Body::VerifyConnect(parameters) => parameters.encode(out),
            Body::Disconnect(data) => out.extend_from_slice(&data.to_be_bytes()),
            Body::Ping => {}
            Body::Reliable(payload) => append_payload(payload, out),
            Body::Unreliable(number, payload) | Body::Unsequenced(number, payload) => {
                out.extend_from_slice(&number.to_be_bytes());
                append_payload(payload, out);
            }
            Body::ReliableFragment(fragment, payload) | Body::UnreliableFragment(fragment, payload) => {
                out.extend_from_slice(&fragment.start.to_be_bytes());
                out.extend_from_slice(&(payload.len() as u16).to_be_bytes());
                for field in [fragment.count, fragment.number, fragment.total, fragment.offset] {
                    out.extend_from_slice(&field.to_be_bytes());
                }
                out.extend_from_slice(payload);
            }
            Body::BandwidthLimit { incoming, outgoing } => {
                out.extend_from_slice(&incoming.to_be_bytes());
                out.extend_from_slice(&outgoing.to_be_bytes());
            }
            Body::ThrottleConfigure(throttle) => throttle.encode(out),
        }
    }
}

impl Body<'_> {
    fn code(&self) -> u8 {
        match self {
            Body::Acknowledge { .. } => 1,
            Body::Connect(..) => 2,
            Body::VerifyConnect(_) => 3,
            Body::Disconnect(_) => 4,
            Body::Ping => 5,
            Body::Reliable(_) => 6,
            Body::Unreliable(..) => 7,
            Body::ReliableFragment(..) => 8,
            Body::Unsequenced(..) => 9,
            Body::BandwidthLimit { .. } => 10,
            Body::ThrottleConfigure(_) => 11,
            Body::UnreliableFragment(..) => 12,
        }
    }

    /// Bytes of the command without its payload.
    pub fn fixed_bytes(&self) -> usize {
        match self {
            Body::Connect(..) => 48,
            Body::VerifyConnect(_) => 44,
            Body::Ping => 4,
            Body::Reliable(_) => 6,
            Body::Acknowledge { .. } | Body::Disconnect(_) | Body::Unreliable(..) | Body::Unsequenced(..) => 8,
            Body::ReliableFragment(..) | Body::UnreliableFragment(..) => FRAGMENT_BYTES,
            Body::BandwidthLimit { .. } => 12,
            Body::ThrottleConfigure(_) => 16,
        }
    }
}

/// Bytes of a fragment without its payload.
pub const FRAGMENT_BYTES: usize = 24;

fn append_payload(payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    out.extend_from_slice(payload);
}

impl ConnectParameters {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.peer.to_be_bytes());
        out.extend_from_slice(&[self.incoming_session, self.outgoing_session]);
        for field in [self.mtu, self.window, self.channels, self.incoming_bandwidth, self.outgoing_bandwidth] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        self.throttle.encode(out);
        out.extend_from_slice(&self.connect_id);
    }
}

impl ThrottleParameters {
    fn encode(&self, out: &mut Vec<u8>) {
        for field in [self.interval_ms, self.acceleration, self.deceleration] {
            out.extend_from_slice(&field.to_be_bytes());
        }
    }
}

struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&array, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(array)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn payload(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(length)
    }

    fn take(&mut self, length: u16) -> Option<&'a [u8]> {
        let (payload, rest) = self.bytes.split_at_checked(length.into())?;
        self.bytes = rest;
        Some(payload)
    }

    fn fragment(&mut self) -> Option<(Fragment, &'a [u8])> {
        let start = self.u16()?;
        let length = self.u16()?;
        let fragment =
            Fragment { start, count: self.u32()?, number: self.u32()?, total: self.u32()?, offset: self.u32()? };
        Some((fragment, self.take(length)?))
    }

    fn throttle(&mut self) -> Option<ThrottleParameters> {
        Some(ThrottleParameters { interval_ms: self.u32()?, acceleration: self.u32()?, deceleration: self.u32()? })
    }

    fn parameters(&mut self) -> Option<ConnectParameters> {
        let peer = self.u16()?;
        let [incoming_session, outgoing_session] = self.array()?;
        Some(ConnectParameters {
            peer,
            incoming_session,
            outgoing_session,
            mtu: self.u32()?,
            window: self.u32()?,
            channels: self.u32()?,
            incoming_bandwidth: self.u32()?,
            outgoing_bandwidth: self.u32()?,
            throttle: self.throttle()?,
            connect_id: self.array()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_cut_anywhere_is_none() {
        let mut bytes = Vec::new();
        let fragment = Fragment { start: 1, count: 2, number: 0, total: 5, offset: 0 };
        let command = Command {
            flags: MUST_ACKNOWLEDGE,
            channel: 3,
            sequence: 9,
            body: Body::ReliableFragment(fragment, b"abc"),
        };
        command.encode(&mut bytes);
        for cut in 0..bytes.len() {
            assert_eq!(Command::decode(&bytes[..cut]), None, "{cut} bytes");
        }
        assert_eq!(Command::decode(&bytes), Some((command, &[][..])));
    }

    #[test]
    fn codes_there_are_none_of_end_the_walk() {
        for code in [0, 13, 14, 15] {
            assert_eq!(Command::decode(&[code; 64]), None, "code {code}");
        }
    }

    #[test]
    fn fixed_bytes_are_those_that_are_written() {
        let parameters = ConnectParameters {
            peer: 1,
            incoming_session: 2,
            outgoing_session: 3,
            mtu: 4,
            window: 5,
            channels: 6,
            incoming_bandwidth: 7,
            outgoing_bandwidth: 8,
            throttle: ThrottleParameters::default(),
            connect_id: [9; 4],
        };
        let fragment = Fragment { start: 1, count: 1, number: 0, total: 0, offset: 0 };
        for body in [
            Body::Acknowledge { sequence: 1, sent_time: 2 },
            Body::Connect(parameters, 1),
            Body::VerifyConnect(parameters),
            Body::Disconnect(1),
            Body::Ping,
            Body::Reliable(b""),
            Body::Unreliable(1, b""),
            Body::ReliableFragment(fragment, b""),
            Body::Unsequenced(1, b""),
            Body::BandwidthLimit { incoming: 1, outgoing: 2 },
            Body::ThrottleConfigure(ThrottleParameters::default()),
            Body::UnreliableFragment(fragment, b""),
        ] {
            let mut bytes = Vec::new();
            let command = Command { flags: 0, channel: 0, sequence: 1, body };
            command.encode(&mut bytes);
            assert_eq!(bytes.len(), body.fixed_bytes(), "{body:?}");
            assert_eq!(Command::decode(&bytes), Some((command, &[][..])));
        }
    }
}
