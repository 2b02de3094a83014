//! Ethernet frames with ARP, or with UDP over IPv4: read and written, nothing kept.

use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::checksum::Sum16BitWords;
use etherparse::{
    ArpEthIpv4Packet, ArpHardwareId, ArpOperation, ArpPacketSlice, EtherType, Ethernet2Header, Ethernet2HeaderSlice,
    IpNumber, Ipv4Header, Ipv4HeaderSlice, UdpHeader, UdpHeaderSlice,
};

use super::counts::Refused;

/// Hardware address of a station.
pub type Mac = [u8; 6];

const BROADCAST: Mac = [0xff; 6];
const UNKNOWN: Mac = [0; 6];

/// Bytes before a payload: Ethernet II (IEEE 802.3), IPv4 without options (RFC 791), UDP (RFC 768).
pub const HEADER_BYTES: usize = Ethernet2Header::LEN + Ipv4Header::MIN_LEN + UdpHeader::LEN;
/// Shortest frame without its check sequence, in bytes; a shorter one is padded.
pub const FRAME_BYTES_MIN: usize = 60;
/// Hops that a datagram may take, as Linux has it.
const HOPS: u8 = 64;

/// What a station is on its link: its hardware address, and the address and port of its datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station {
    /// Hardware address.
    pub mac: Mac,
    /// Address and port.
    pub address: SocketAddrV4,
}

/// A frame for this station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A datagram for its port.
    Datagram {
        /// Station that sent the frame: the sender of the datagram, or a router.
        mac: Mac,
        /// Sender of the datagram.
        from: SocketAddrV4,
        /// Payload, whose checksums are right.
        payload: &'a [u8],
    },
    /// A request for its hardware address. One that only looks whether the address is in use has no sender (RFC 5227).
    Request {
        /// Station that sent the request.
        mac: Mac,
        /// Its address.
        from: Option<Ipv4Addr>,
    },
    /// An answer to a request of its own.
    Reply {
        /// Station that sent the answer.
        mac: Mac,
        /// Its address.
        from: Ipv4Addr,
    },
}

impl<'a> Frame<'a> {
    /// Reads a frame without its check sequence.
    ///
    /// # Errors
    /// [`Refused`]: what it lacks, or that it is for another station.
    #[inline]
    pub fn read(station: &Station, frame: &'a [u8]) -> Result<Frame<'a>, Refused> {
        let ethernet = Ethernet2HeaderSlice::from_slice(frame).map_err(|_| Refused::Length)?;
        let rest = frame.get(Ethernet2Header::LEN..).unwrap_or_default();
        let mac = ethernet.source();
        // The lowest bit of the first byte: a group of stations, which sends nothing (IEEE 802.3, 3.2.3).
        if mac.first().is_none_or(|first| first & 1 == 1) || mac == UNKNOWN || mac == station.mac {
            return Err(Refused::Source);
        }
        let to = ethernet.destination();
        match ethernet.ether_type() {
            EtherType::IPV4 if to == station.mac => read_ipv4(station, mac, rest),
            EtherType::ARP if to == station.mac || to == BROADCAST => read_arp(station, mac, rest),
            EtherType::IPV4 | EtherType::ARP => Err(Refused::OtherStation),
            EtherType::IPV6 => Err(Refused::Ipv6),
            _ => Err(Refused::OtherProtocol),
        }
    }
}

/// Reads what follows an Ethernet header. Frames are padded, so that more bytes may follow.
fn read_ipv4<'a>(station: &Station, mac: Mac, bytes: &'a [u8]) -> Result<Frame<'a>, Refused> {
    let ip = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| Refused::Length)?;
    if ip.slice().len() > Ipv4Header::MIN_LEN {
        return Err(Refused::Options);
    }
    if Sum16BitWords::new().add_slice(ip.slice()).ones_complement() != 0 {
        return Err(Refused::HeaderChecksum);
    }
    if ip.destination_addr() != *station.address.ip() {
        return Err(Refused::OtherAddress);
    }
    if ip.is_fragmenting_payload() {
        return Err(Refused::Fragment);
    }
    if ip.protocol() != IpNumber::UDP {
        return Err(Refused::OtherProtocol);
    }
    let from = ip.source_addr();
    if !is_of_a_station(from) || from == *station.address.ip() {
        return Err(Refused::Source);
    }
    let segment = bytes.get(Ipv4Header::MIN_LEN..usize::from(ip.total_len())).ok_or(Refused::Length)?;
    let udp = UdpHeaderSlice::from_slice(segment).map_err(|_| Refused::Length)?;
    if usize::from(udp.length()) != segment.len() {
        return Err(Refused::Length);
    }
    if udp.destination_port() != station.address.port() {
        return Err(Refused::OtherPort);
    }
    if udp.source_port() == 0 {
        return Err(Refused::Source);
    }
    // RFC 768: 0 is a datagram whose sender made none.
    if udp.checksum() != 0 && segment_sum(ip.source(), ip.destination(), segment) != 0 {
        return Err(Refused::Checksum);
    }
    let payload = segment.get(UdpHeader::LEN..).unwrap_or_default();
    Ok(Frame::Datagram { mac, from: SocketAddrV4::new(from, udp.source_port()), payload })
}

/// The checksum over pseudo-header and segment (RFC 768): 0 if that in the segment is right.
fn segment_sum(from: [u8; 4], to: [u8; 4], segment: &[u8]) -> u16 {
    let [high, low] = (segment.len() as u16).to_be_bytes();
    let [protocol] = IpNumber::UDP.0.to_be_bytes();
    Sum16BitWords::new()
        .add_4bytes(from)
        .add_4bytes(to)
        .add_4bytes([0, protocol, high, low])
        .add_slice(segment)
        .ones_complement()
}

/// True for an address that one station may have.
pub(super) fn is_of_a_station(address: Ipv4Addr) -> bool {
    let is_of_none = address.is_unspecified() || address.is_multicast() || address.is_loopback();
    // 240.0.0.0/4 is reserved, and its last address is that of all stations of a link.
    !is_of_none && address.octets().first().is_some_and(|&first| first != 0 && first < 240)
}

fn read_arp<'a>(station: &Station, mac: Mac, bytes: &[u8]) -> Result<Frame<'a>, Refused> {
    let arp = ArpPacketSlice::from_slice(bytes).map_err(|_| Refused::Length)?;
    if arp.hw_addr_type() != ArpHardwareId::ETHERNET || arp.proto_addr_type() != EtherType::IPV4 {
        return Err(Refused::Arp);
    }
    let (Ok(sender_mac), Ok(from), Ok(to)) = (
        Mac::try_from(arp.sender_hw_addr()),
        <[u8; 4]>::try_from(arp.sender_protocol_addr()),
        <[u8; 4]>::try_from(arp.target_protocol_addr()),
    ) else {
        return Err(Refused::Arp);
    };
    // A station speaks for itself only.
    if sender_mac != mac {
        return Err(Refused::Arp);
    }
    if Ipv4Addr::from(to) != *station.address.ip() {
        return Err(Refused::OtherAddress);
    }
    let from = Ipv4Addr::from(from);
    let has_sender = is_of_a_station(from) && from != *station.address.ip();
    match arp.operation() {
        ArpOperation::REQUEST if has_sender => Ok(Frame::Request { mac, from: Some(from) }),
        ArpOperation::REQUEST if from.is_unspecified() => Ok(Frame::Request { mac, from: None }),
        ArpOperation::REPLY if has_sender => Ok(Frame::Reply { mac, from }),
        ArpOperation::REQUEST | ArpOperation::REPLY => Err(Refused::Source),
        _ => Err(Refused::Arp),
    }
}

/// Length of the frame for a payload, in bytes.
#[inline]
pub fn frame_bytes(payload_bytes: usize) -> usize {
    (HEADER_BYTES + payload_bytes).max(FRAME_BYTES_MIN)
}

/// Writes the frame with a payload for `to`, which `mac` takes. `None` if `frame` has not the length of [`frame_bytes`], or
/// the payload does not fit in a datagram.
#[inline]
pub fn write_datagram(frame: &mut [u8], station: &Station, mac: Mac, to: SocketAddrV4, payload: &[u8]) -> Option<()> {
    let (from, segment_bytes) = (station.address, payload.len().checked_add(UdpHeader::LEN)?);
    let mut ip =
        Ipv4Header::new(u16::try_from(segment_bytes).ok()?, HOPS, IpNumber::UDP, from.ip().octets(), to.ip().octets())
            .ok()?;
    ip.header_checksum = ip.calc_header_checksum();
    let udp = UdpHeader::with_ipv4_checksum(from.port(), to.port(), &ip, payload).ok()?;
    let ethernet = Ethernet2Header { source: station.mac, destination: mac, ether_type: EtherType::IPV4 };
    let (place, rest) = frame.split_first_chunk_mut::<{ Ethernet2Header::LEN }>()?;
    *place = ethernet.to_bytes();
    let (place, rest) = rest.split_first_chunk_mut::<{ Ipv4Header::MIN_LEN }>()?;
    *place = *ip.to_bytes().first_chunk()?;
    let (place, rest) = rest.split_first_chunk_mut::<{ UdpHeader::LEN }>()?;
    *place = udp.to_bytes();
    let (place, padding) = rest.split_at_mut_checked(payload.len())?;
    place.copy_from_slice(payload);
    // No bytes of an earlier frame leave as padding.
    padding.fill(0);
    Some(())
}

/// The frame with the answer to a request of `to` for this station's hardware address.
pub fn arp_reply(station: &Station, to: Mac, address: Ipv4Addr) -> [u8; FRAME_BYTES_MIN] {
    arp(station, ArpOperation::REPLY, to, (to, address))
}

/// The frame with a request for the hardware address of the station that has `address`.
pub fn arp_request(station: &Station, address: Ipv4Addr) -> [u8; FRAME_BYTES_MIN] {
    arp(station, ArpOperation::REQUEST, BROADCAST, (UNKNOWN, address))
}

fn arp(station: &Station, operation: ArpOperation, to: Mac, target: (Mac, Ipv4Addr)) -> [u8; FRAME_BYTES_MIN] {
    let ethernet = Ethernet2Header { source: station.mac, destination: to, ether_type: EtherType::ARP };
    let packet = ArpEthIpv4Packet {
        operation,
        sender_mac: station.mac,
        sender_ipv4: station.address.ip().octets(),
        target_mac: target.0,
        target_ipv4: target.1.octets(),
    };
    let mut frame = [0; FRAME_BYTES_MIN];
    let bytes = ethernet.to_bytes().into_iter().chain(packet.to_bytes());
    frame.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    frame
}

/// A station of tests.
#[cfg(test)]
pub(super) const OWN: Station =
    Station { mac: [2, 0, 0, 0, 0, 1], address: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 7777) };
/// Another one, on the same link.
#[cfg(test)]
pub(super) const PEER: Station =
    Station { mac: [2, 0, 0, 0, 0, 2], address: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 9) };

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0xaa; frame_bytes(payload.len())];
        write_datagram(&mut frame, &PEER, OWN.mac, OWN.address, payload).expect("it fits");
        frame
    }

    /// A frame with some of its bytes changed, and its checksums those of the change.
    fn changed(change: impl FnOnce(&mut [u8])) -> Vec<u8> {
        let mut frame = datagram(b"some payload that is longer than padding");
        change(&mut frame);
        frame[24..26].fill(0);
        let sum = Sum16BitWords::new().add_slice(&frame[14..34]).ones_complement();
        frame[24..26].copy_from_slice(&sum.to_ne_bytes());
        frame[40..42].fill(0);
        frame
    }

    fn refusal(frame: &[u8]) -> Refused {
        Frame::read(&OWN, frame).expect_err("it is refused")
    }

    #[test]
    fn datagrams_of_every_length_are_read_as_they_were_written() {
        for length in 0..1500 {
            let payload: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            let frame = datagram(&payload);
            assert_eq!(frame.len(), (length + 42).max(60));
            let read = Frame::read(&OWN, &frame);
            assert_eq!(read, Ok(Frame::Datagram { mac: PEER.mac, from: PEER.address, payload: &payload }));
        }
    }

    #[test]
    fn a_datagram_is_written_as_the_standards_have_it() {
        let frame = datagram(b"hi");
        let mut expected = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        // RFC 791: version 4, 5 words, 30 bytes, DF, 64 hops, UDP. The sum of the header's words is 0xffff.
        expected.extend([0x45, 0, 0, 30, 0, 0, 0x40, 0, 64, 17, 0x26, 0xcd, 10, 0, 0, 2, 10, 0, 0, 1]);
        // RFC 768: ports, 10 bytes, checksum over the pseudo-header also.
        expected.extend([0, 9, 0x1e, 0x61, 0, 10, 0x65, 0x04, b'h', b'i']);
        expected.resize(60, 0);
        assert_eq!(frame, expected);
        assert_eq!(write_datagram(&mut [0; 43], &PEER, OWN.mac, OWN.address, b"hi"), None, "there is no room");
        assert_eq!(write_datagram(&mut [0; 60], &PEER, OWN.mac, OWN.address, &[0; 65_528]), None, "it is too long");
    }

    #[test]
    fn one_wrong_bit_is_noticed() {
        let frame = datagram(b"some payload that is longer than padding");
        for bit in 0..frame.len() * 8 {
            let mut wrong = frame.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            match Frame::read(&OWN, &wrong) {
                // The sender's hardware address has no checksum here: that of the frame is checked by the card.
                Ok(Frame::Datagram { mac, .. }) => assert!((48..96).contains(&bit) && mac != PEER.mac, "bit {bit}"),
                Ok(other) => panic!("bit {bit}: {other:?}"),
                Err(_) => {}
            }
        }
    }

    #[test]
    fn a_cut_frame_is_refused_at_every_length() {
        let frame = datagram(&[7; 100]);
        for length in 0..frame.len() {
            assert_eq!(refusal(&frame[..length]), Refused::Length, "{length} bytes");
        }
        for length in 0..42 {
            assert_eq!(refusal(&arp_request(&PEER, *OWN.address.ip())[..length]), Refused::Length, "{length} bytes");
        }
    }

    #[test]
    fn frames_for_others_and_of_other_protocols_are_counted_by_reason() {
        let at =
            |place: usize, bytes: &'static [u8]| changed(|frame| frame[place..][..bytes.len()].copy_from_slice(bytes));
        let expected: [(&str, Vec<u8>, Refused); 18] = [
            ("another station", at(0, &[2, 0, 0, 0, 0, 9]), Refused::OtherStation),
            ("all stations", at(0, &BROADCAST), Refused::OtherStation),
            ("from a group of stations", at(6, &[1]), Refused::Source),
            ("from itself", at(6, &OWN.mac), Refused::Source),
            ("IPv6", at(12, &[0x86, 0xdd]), Refused::Ipv6),
            ("a virtual LAN", at(12, &[0x81, 0]), Refused::OtherProtocol),
            ("version 6 in IPv4", at(14, &[0x65]), Refused::Length),
            ("four words of header", at(14, &[0x44]), Refused::Length),
            ("options", at(14, &[0x46]), Refused::Options),
            ("longer than the frame", at(16, &[1, 0]), Refused::Length),
            ("shorter than its header", at(16, &[0, 19]), Refused::Length),
            ("shorter than its segment", at(16, &[0, 40]), Refused::Length),
            ("the first fragment", at(20, &[0x20, 0]), Refused::Fragment),
            ("the last fragment", at(20, &[0, 9]), Refused::Fragment),
            ("TCP", at(23, &[6]), Refused::OtherProtocol),
            ("another address", at(30, &[10, 0, 0, 9]), Refused::OtherAddress),
            ("another port", at(36, &[0, 1]), Refused::OtherPort),
            ("from no port", at(34, &[0, 0]), Refused::Source),
        ];
        for (what, frame, reason) in expected {
            assert_eq!(refusal(&frame), reason, "{what}");
        }
        for from in [[0, 0, 0, 0], [127, 0, 0, 1], [224, 0, 0, 1], [255, 255, 255, 255], [10, 0, 0, 1]] {
            let frame = changed(|frame| frame[26..30].copy_from_slice(&from));
            assert_eq!(refusal(&frame), Refused::Source, "{from:?}");
        }
        assert!(Frame::read(&OWN, &changed(|_| {})).is_ok(), "without a checksum");
    }

    #[test]
    fn wrong_checksums_are_refused() {
        let mut frame = datagram(&[7; 30]);
        frame[24] ^= 1;
        assert_eq!(refusal(&frame), Refused::HeaderChecksum);
        let mut frame = datagram(&[7; 30]);
        frame[50] ^= 1;
        assert_eq!(refusal(&frame), Refused::Checksum);
    }

    #[test]
    fn requests_and_replies_of_arp_are_those_of_the_standard() {
        let request = arp_request(&PEER, *OWN.address.ip());
        // RFC 826: Ethernet, IPv4, lengths 6 and 4, request; sender, target.
        assert_eq!(request[..14], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 2, 8, 6]);
        assert_eq!(request[14..32], [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 10, 0, 0, 2]);
        assert_eq!(request[32..42], [0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
        let from = Some(*PEER.address.ip());
        assert_eq!(Frame::read(&OWN, &request), Ok(Frame::Request { mac: PEER.mac, from }));
        let reply = arp_reply(&OWN, PEER.mac, *PEER.address.ip());
        assert_eq!(Frame::read(&PEER, &reply), Ok(Frame::Reply { mac: OWN.mac, from: *OWN.address.ip() }));
        assert_eq!(refusal(&arp_request(&PEER, Ipv4Addr::new(10, 0, 0, 3))), Refused::OtherAddress);

        let changed = |place: usize, bytes: &[u8]| {
            let mut frame = request;
            frame[place..][..bytes.len()].copy_from_slice(bytes);
            Frame::read(&OWN, &frame).map(|_| ())
        };
        assert_eq!(changed(14, &[0, 6]), Err(Refused::Arp), "other hardware");
        assert_eq!(changed(16, &[8, 6]), Err(Refused::Arp), "another protocol");
        assert_eq!(changed(18, &[5]), Err(Refused::Arp), "short hardware addresses");
        assert_eq!(changed(18, &[200]), Err(Refused::Length), "hardware addresses that do not fit");
        assert_eq!(changed(20, &[0, 9]), Err(Refused::Arp), "another operation");
        assert_eq!(changed(22, &[2, 0, 0, 0, 0, 9]), Err(Refused::Arp), "one station speaks for another");
        assert_eq!(changed(28, &[10, 0, 0, 1]), Err(Refused::Source), "another has the address of this station");
        assert_eq!(changed(28, &[224, 0, 0, 1]), Err(Refused::Source), "a group of stations");
        let mut probe = request;
        probe[28..32].fill(0);
        assert_eq!(Frame::read(&OWN, &probe), Ok(Frame::Request { mac: PEER.mac, from: None }));
    }
}
