//! Datagrams as no host of ours makes them: what a program writes that speaks the protocol by hand.

use prony_enet::wire::{
    Body, CONTROL, Command, ConnectParameters, Header, MUST_ACKNOWLEDGE, NO_PEER, ThrottleParameters,
};

/// Bytes of a command on the wire.
pub fn command_bytes(body: &Body) -> usize {
    let payload = match body {
        Body::Reliable(payload)
        | Body::Unreliable(_, payload)
        | Body::Unsequenced(_, payload)
        | Body::ReliableFragment(_, payload)
        | Body::UnreliableFragment(_, payload) => payload.len(),
        _ => 0,
    };
    body.fixed_bytes() + payload
}

/// A CONNECT, as the first datagram of a stock client.
pub fn connect_datagram(connect_id: u32, channels: u32) -> Vec<u8> {
    let parameters = ConnectParameters {
        peer: 0,
        incoming_session: 0xff,
        outgoing_session: 0xff,
        mtu: 1392,
        window: 65_536,
        channels,
        incoming_bandwidth: 0,
        outgoing_bandwidth: 0,
        throttle: ThrottleParameters::default(),
        connect_id: connect_id.to_be_bytes(),
    };
    let mut datagram = Vec::new();
    Header { peer: NO_PEER, session: 0, compressed: false, sent_time: Some(1) }.encode(&mut datagram);
    Command { flags: MUST_ACKNOWLEDGE, channel: CONTROL, sequence: 1, body: Body::Connect(parameters, 0) }
        .encode(&mut datagram);
    datagram
}

/// The acknowledgement of a command on the control channel.
pub fn acknowledgement(token: u16, session: u8, sequence: u16, sent_time: u16) -> Vec<u8> {
    let peer = RawPeer { token, session };
    peer.datagram(
        None,
        &[Command { flags: 0, channel: CONTROL, sequence, body: Body::Acknowledge { sequence, sent_time } }],
    )
}

/// A connection, as its datagrams name it.
#[derive(Debug, Clone, Copy)]
pub struct RawPeer {
    pub token: u16,
    pub session: u8,
}

impl RawPeer {
    /// The connection that `answer`, a VERIFY_CONNECT, grants, and the datagram that proves the address.
    pub fn granted(answer: &[u8]) -> Option<(RawPeer, Vec<u8>)> {
        let (header, body) = Header::decode(answer)?;
        let (Command { sequence, body: Body::VerifyConnect(granted), .. }, _) = Command::decode(body)? else {
            return None;
        };
        let (token, session) = (granted.peer, granted.outgoing_session);
        Some((RawPeer { token, session }, acknowledgement(token, session, sequence, header.sent_time?)))
    }

    /// The connection that a server grants to `request`, a CONNECT, and the datagram that grants it as requested.
    pub fn granting(request: &[u8]) -> Option<(RawPeer, Vec<u8>)> {
        let (_, body) = Header::decode(request)?;
        let (Command { body: Body::Connect(parameters, _), .. }, _) = Command::decode(body)? else { return None };
        let peer = RawPeer { token: parameters.peer, session: 0 };
        let granted = ConnectParameters { peer: 0, incoming_session: 0, outgoing_session: 0, ..parameters };
        let body = Body::VerifyConnect(granted);
        let grant = Command { flags: MUST_ACKNOWLEDGE, channel: CONTROL, sequence: 1, body };
        Some((peer, peer.datagram(Some(1), &[grant])))
    }

    /// A datagram of `commands`; `sent_time` if one of them must be acknowledged.
    pub fn datagram(&self, sent_time: Option<u16>, commands: &[Command]) -> Vec<u8> {
        let mut datagram = Vec::new();
        Header { peer: self.token, session: self.session, compressed: false, sent_time }.encode(&mut datagram);
        commands.iter().for_each(|command| command.encode(&mut datagram));
        datagram
    }
}

/// Bytes of a datagram beside its payload: the headers of IPv4 and UDP.
pub const UDP_BYTES: usize = 28;
