//! IP, UDP and TCP headers around a payload, with their checksums.

use std::net::{IpAddr, SocketAddr};

/// RFC 791: an IPv4 packet's total length has 16 bits; 20 are the IP header, 8 the UDP header.
pub(super) const UDP_PAYLOAD_MAX: usize = 65_535 - 20 - 8;
/// Payload of an Ethernet frame of 1,500 bytes after the headers of IPv4 and TCP, in bytes.
pub(super) const SEGMENT_MAX: usize = 1460;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Time to live of packets; RFC 1340 recommends 64.
const TIME_TO_LIVE: u8 = 64;

pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const PUSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;

/// An IP packet with a UDP datagram. Both addresses have the same family.
pub(super) fn udp(from: SocketAddr, to: SocketAddr, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; 8];
    header[0..2].copy_from_slice(&from.port().to_be_bytes());
    header[2..4].copy_from_slice(&to.port().to_be_bytes());
    header[4..6].copy_from_slice(&((8 + payload.len()) as u16).to_be_bytes());
    let sum = transport_checksum(PROTOCOL_UDP, from.ip(), to.ip(), &header, payload);
    // RFC 768: zero means "no checksum", so a sum of zero is sent as all ones.
    header[6..8].copy_from_slice(&if sum == 0 { 0xffffu16 } else { sum }.to_be_bytes());
    ip(PROTOCOL_UDP, from.ip(), to.ip(), &header, payload)
}

/// Numbers and flags of a TCP segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) sequence: u32,
    pub(super) acknowledged: u32,
    pub(super) flags: u8,
}

/// An IP packet with a TCP segment. Both addresses have the same family.
pub(super) fn tcp(from: SocketAddr, to: SocketAddr, segment: Segment, payload: &[u8]) -> Vec<u8> {
    let mut header = [0; 20];
    header[0..2].copy_from_slice(&from.port().to_be_bytes());
    header[2..4].copy_from_slice(&to.port().to_be_bytes());
    header[4..8].copy_from_slice(&segment.sequence.to_be_bytes());
    header[8..12].copy_from_slice(&segment.acknowledged.to_be_bytes());
    header[12] = 5 << 4; // header length in words of 4 bytes
    header[13] = segment.flags;
    header[14..16].copy_from_slice(&u16::MAX.to_be_bytes()); // window
    let sum = transport_checksum(PROTOCOL_TCP, from.ip(), to.ip(), &header, payload);
    header[16..18].copy_from_slice(&sum.to_be_bytes());
    ip(PROTOCOL_TCP, from.ip(), to.ip(), &header, payload)
}

fn ip(protocol: u8, from: IpAddr, to: IpAddr, header: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = header.len() + payload.len();
    let mut packet = Vec::with_capacity(40 + length);
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut head = [0; 20];
            head[0] = 0x45; // version 4, 5 words
            head[2..4].copy_from_slice(&((20 + length) as u16).to_be_bytes());
            head[6] = 0x40; // do not fragment
            head[8] = TIME_TO_LIVE;
            head[9] = protocol;
            head[12..16].copy_from_slice(&from.octets());
            head[16..20].copy_from_slice(&to.octets());
            let sum = finish(add(0, &head));
            head[10..12].copy_from_slice(&sum.to_be_bytes());
            packet.extend_from_slice(&head);
        }
        (from, to) => {
            let mut head = [0; 40];
            head[0] = 0x60; // version 6
            head[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            head[6] = protocol;
            head[7] = TIME_TO_LIVE;
            head[8..24].copy_from_slice(&octets_v6(from));
            head[24..40].copy_from_slice(&octets_v6(to));
            packet.extend_from_slice(&head);
        }
    }
    packet.extend_from_slice(header);
    packet.extend_from_slice(payload);
    packet
}

fn octets_v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// RFC 768, RFC 9293 3.1 and RFC 8200 8.1: over a pseudo header, the header and the payload.
fn transport_checksum(protocol: u8, from: IpAddr, to: IpAddr, header: &[u8], payload: &[u8]) -> u16 {
    let mut sum = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => add(add(0, &from.octets()), &to.octets()),
        (from, to) => add(add(0, &octets_v6(from)), &octets_v6(to)),
    };
    sum += u64::from(protocol) + (header.len() + payload.len()) as u64;
    finish(add(add(sum, header), payload))
}

/// RFC 1071: 16-bit words; an odd last byte is the high half of its word.
fn add(sum: u64, bytes: &[u8]) -> u64 {
    let (pairs, odd) = bytes.as_chunks();
    let sum = pairs.iter().fold(sum, |sum, &pair| sum + u64::from(u16::from_be_bytes(pair)));
    odd.iter().fold(sum, |sum, &high| sum + (u64::from(high) << 8))
}

fn finish(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // RFC 1071 section 3 sums these bytes to ddf2.
        assert_eq!(finish(add(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), !0xddf2);
    }

    #[test]
    fn a_receiver_that_sums_header_and_payload_gets_all_ones() {
        let (from, to) = ("10.0.0.1:5".parse().expect("valid"), "10.0.0.2:6".parse().expect("valid"));
        for packet in
            [udp(from, to, b"odd"), tcp(from, to, Segment { sequence: 7, acknowledged: 9, flags: ACK }, b"even")]
        {
            assert_eq!(finish(add(0, &packet[..20])), 0, "IPv4 header");
            let pseudo = u64::from(packet[9]) + (packet.len() - 20) as u64;
            assert_eq!(finish(add(add(pseudo, &packet[12..20]), &packet[20..])), 0, "transport");
        }
    }
}
