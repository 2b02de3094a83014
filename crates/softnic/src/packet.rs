//! What a card finds in a frame by itself: IPv4 and IPv6, TCP, UDP and SCTP, and their checksums.
//!
//! Any bytes are a frame: what is cut, or says of itself what cannot be, is taken for less than it may have been meant to be.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

/// Ethernet types.
pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;

/// Numbers of protocols above IP (IANA).
const HOP_BY_HOP: u8 = 0;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
const SCTP: u8 = 132;

const SCTP_SUM_AT: usize = 8;

/// Transport protocols that the card knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
    Sctp,
}

impl Transport {
    fn of(protocol: u8) -> Option<Transport> {
        match protocol {
            TCP => Some(Transport::Tcp),
            UDP => Some(Transport::Udp),
            SCTP => Some(Transport::Sctp),
            _ => None,
        }
    }

    /// Length of the shortest header, and where its checksum is.
    fn header(self) -> (usize, usize) {
        match self {
            Transport::Tcp => (20, 16),
            Transport::Udp => (8, 6),
            Transport::Sctp => (12, SCTP_SUM_AT),
        }
    }
}

/// Result of a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sum {
    Right,
    Wrong,
    /// There is none, or the bytes that it is over are not all there.
    Unknown,
}

/// A packet of the Internet Protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    pub(crate) is_ipv4: bool,
    /// Options in the header of IPv4, or headers behind that of IPv6.
    pub(crate) has_options: bool,
    /// Header of IPv4, with its options, or the first one of IPv6.
    header: &'a [u8],
    /// Protocol, and everything behind the headers of IP; `None` for fragments and protocols that the card does not know.
    transport: Option<(Transport, &'a [u8])>,
}

impl<'a> Packet<'a> {
    /// The packet behind the header of a frame; `None` if there is none.
    pub(crate) fn parse(ethertype: u16, bytes: &'a [u8]) -> Option<Packet<'a>> {
        match ethertype {
            IPV4 => Packet::parse_ipv4(bytes),
            IPV6 => Packet::parse_ipv6(bytes),
            _ => None,
        }
    }

    /// RFC 791, 3.1.
    fn parse_ipv4(bytes: &'a [u8]) -> Option<Packet<'a>> {
        let &first = bytes.first()?;
        let length = usize::from(first & 15) * 4;
        if first >> 4 != 4 || length < 20 {
            return None;
        }
        let header = bytes.get(..length)?;
        // More fragments, or not the first one.
        let is_fragment = be16(header, 6) & 0x3fff != 0;
        let body = bytes.get(length..usize::from(be16(header, 2)));
        let transport = Transport::of(byte(header, 9)).filter(|_| !is_fragment).zip(body).and_then(whole);
        Some(Packet { is_ipv4: true, has_options: length > 20, header, transport })
    }

    /// RFC 8200, 3 and 4. Behind a routing header the destination is not the one that checksums are over: RFC 8200, 8.1.
    fn parse_ipv6(bytes: &'a [u8]) -> Option<Packet<'a>> {
        let header = bytes.get(..40).filter(|header| byte(header, 0) >> 4 == 6)?;
        let mut rest = bytes.get(40..).and_then(|rest| rest.get(..be16(header, 4).into())).unwrap_or_default();
        let (mut next, mut is_known) = (byte(header, 6), true);
        // Each turn takes at least eight bytes.
        while let HOP_BY_HOP | DESTINATION_OPTIONS | ROUTING | FRAGMENT = next {
            is_known &= !matches!(next, ROUTING | FRAGMENT);
            let after = rest.first_chunk::<8>().and_then(|&[protocol, units, ..]| {
                let units = if next == FRAGMENT { 0 } else { usize::from(units) };
                Some((protocol, rest.get(units.saturating_add(1).saturating_mul(8)..)?))
            });
            let Some((protocol, after)) = after else {
                is_known = false;
                break;
            };
            (next, rest) = (protocol, after);
        }
        let transport = Transport::of(next).filter(|_| is_known).map(|transport| (transport, rest)).and_then(whole);
        Some(Packet { is_ipv4: false, has_options: next != byte(header, 6) || !is_known, header, transport })
    }

    /// Transport protocol of a packet that is no fragment.
    pub(crate) fn transport(&self) -> Option<Transport> {
        self.transport.map(|(transport, _)| transport)
    }

    /// Source and destination address.
    pub(crate) fn addresses(&self) -> &'a [u8] {
        self.header.get(if self.is_ipv4 { 12..20 } else { 8..40 }).unwrap_or_default()
    }

    /// Source and destination port.
    pub(crate) fn ports(&self) -> Option<&'a [u8]> {
        self.transport.and_then(|(_, bytes)| bytes.get(..4))
    }

    /// Identification of an IPv4 packet.
    pub(crate) fn identification(&self) -> u16 {
        if self.is_ipv4 { be16(self.header, 4) } else { 0 }
    }

    /// The checksum of the IPv4 header.
    pub(crate) fn header_sum(&self) -> Sum {
        match (self.is_ipv4, fold(sum(self.header)) == 0xffff) {
            (false, _) => Sum::Unknown,
            (true, true) => Sum::Right,
            (true, false) => Sum::Wrong,
        }
    }

    /// The checksum of the transport protocol: RFC 9293, 3.1; RFC 768; RFC 9260, 6.8.
    pub(crate) fn transport_sum(&self) -> Sum {
        let Some((transport, bytes)) = self.transport else { return Sum::Unknown };
        let is_right = match transport {
            Transport::Sctp => {
                let Some((before, rest)) = bytes.split_at_checked(SCTP_SUM_AT) else { return Sum::Unknown };
                let Some((&found, after)) = rest.split_first_chunk::<4>() else { return Sum::Unknown };
                u32::from_le_bytes(found) == crc32c([before, &[0; 4], after].into_iter().flatten())
            }
            Transport::Tcp => fold(self.pseudo_header(TCP, bytes.len()).saturating_add(sum(bytes))) == 0xffff,
            Transport::Udp => {
                // 0 means that there is none, which only IPv4 allows.
                if be16(bytes, 6) == 0 && self.is_ipv4 {
                    return Sum::Unknown;
                }
                let length = usize::from(be16(bytes, 4));
                let Some(bytes) = bytes.get(..length).filter(|_| length >= 8) else { return Sum::Unknown };
                be16(bytes, 6) != 0 && fold(self.pseudo_header(UDP, length).saturating_add(sum(bytes))) == 0xffff
            }
        };
        if is_right { Sum::Right } else { Sum::Wrong }
    }

    fn pseudo_header(&self, protocol: u8, length: usize) -> u64 {
        sum(self.addresses()).saturating_add(protocol.into()).saturating_add(length as u64)
    }
}

/// A transport protocol whose header is there.
fn whole((transport, bytes): (Transport, &[u8])) -> Option<(Transport, &[u8])> {
    (bytes.len() >= transport.header().0).then_some((transport, bytes))
}

/// Writes the checksum of the transport protocol over `bytes`, from the first of its header to the end of the frame. The sum
/// over the pseudo header is in place of the checksum already (datasheet 7.2.5). False if there is no room for it.
pub(crate) fn insert_transport_sum(transport: Transport, bytes: &mut [u8]) -> bool {
    let (length, place) = transport.header();
    if bytes.len() < length {
        return false;
    }
    if transport == Transport::Sctp {
        put(bytes, place, [0; 4]);
        let crc = crc32c(bytes.iter()).to_le_bytes();
        return put(bytes, place, crc);
    }
    let found = match (transport, !fold(sum(bytes))) {
        // RFC 768: 0 would say that there is none.
        (Transport::Udp, 0) => 0xffff,
        (_, found) => found,
    };
    put(bytes, place, found.to_be_bytes())
}

/// Writes the checksum of an IPv4 header. False if there is no room for it.
pub(crate) fn insert_header_sum(header: &mut [u8]) -> bool {
    if header.len() < 20 {
        return false;
    }
    put(header, 10, [0; 2]);
    let found = !fold(sum(header));
    put(header, 10, found.to_be_bytes())
}

/// Writes bytes at a place. False, and nothing is written, if there is no room for all of them.
fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) -> bool {
    let place = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
    place.map(|place| *place = value).is_some()
}

/// The ones' complement of the sum of 16-bit words, in which a last odd byte is the upper half of one (RFC 1071).
pub(crate) fn internet_checksum(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

fn sum(bytes: &[u8]) -> u64 {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let pairs: u64 = pairs.iter().map(|&pair| u64::from(u16::from_be_bytes(pair))).sum();
    pairs.saturating_add(odd.first().map_or(0, |&byte| u64::from(byte) << 8))
}

/// Adds the carries: RFC 1071.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff).saturating_add(sum >> 16);
    }
    sum as u16
}

/// RFC 9260, appendix A: the polynomial of Castagnoli, reflected.
fn crc32c<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    !bytes.fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
    })
}

/// A number of 16 bits; 0 where the bytes end before it.
#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().map_or(0, u16::from_be_bytes)
}

/// A byte; 0 where there is none.
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, 3: the example; IPv4 header of a widely used example, whose checksum is 0xb861.
    const HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8,
        0x00, 0xc7,
    ];

    #[test]
    fn sums_are_those_of_published_examples() {
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
        let mut header = HEADER;
        header[10..12].fill(0xee);
        assert!(insert_header_sum(&mut header));
        assert_eq!(header, HEADER);
        // RFC 9260 and RFC 3720, B.4: 32 bytes of 0, and the digits that all catalogues of CRCs use.
        assert_eq!(crc32c([0; 32].iter()), 0x8a91_36aa);
        assert_eq!(crc32c(b"123456789".iter()), 0xe306_9283);
    }

    #[test]
    fn a_header_is_right_until_one_bit_is_not() {
        let mut bytes = [&HEADER[..], &[0; 0x73 - 20]].concat();
        assert_eq!(Packet::parse(IPV4, &bytes).expect("it is IPv4").header_sum(), Sum::Right);
        bytes[8] ^= 1;
        assert_eq!(Packet::parse(IPV4, &bytes).expect("it is IPv4").header_sum(), Sum::Wrong);
        assert!(Packet::parse(IPV6, &bytes).is_none());
        assert!(Packet::parse(IPV4, &bytes[..19]).is_none());
        bytes[0] = 0x44;
        assert!(Packet::parse(IPV4, &bytes).is_none(), "a header of 16 bytes");
    }

    #[test]
    fn what_is_inserted_is_found_right_and_one_changed_byte_is_found() {
        for (transport, protocol) in [(Transport::Tcp, TCP), (Transport::Udp, UDP), (Transport::Sctp, SCTP)] {
            for version in [4, 6] {
                for length in [20usize, 21, 60] {
                    let mut packet = ip(version, protocol, length);
                    let at = packet.len() - length;
                    packet[at..].iter_mut().zip(1..).for_each(|(byte, value)| *byte = value);
                    packet[at + 4..at + 6].copy_from_slice(&(length as u16).to_be_bytes());
                    let ethertype = if version == 4 { IPV4 } else { IPV6 };
                    let seed = Packet::parse(ethertype, &packet).expect("it is IP").pseudo_header(protocol, length);
                    if transport != Transport::Sctp {
                        let place = transport.header().1;
                        packet[at + place..at + place + 2].copy_from_slice(&fold(seed).to_be_bytes());
                    }
                    assert!(insert_transport_sum(transport, &mut packet[at..]));
                    let sum = |packet: &[u8]| Packet::parse(ethertype, packet).expect("it is IP").transport_sum();
                    assert_eq!(sum(&packet), Sum::Right, "{transport:?} over IPv{version}, {length} bytes");
                    let last = packet.len() - 1;
                    packet[last] ^= 0x10;
                    assert_eq!(sum(&packet), Sum::Wrong, "{transport:?} over IPv{version}, {length} bytes");
                }
            }
        }
    }

    fn ip(version: u8, protocol: u8, length: usize) -> Vec<u8> {
        let mut header = match version {
            4 => vec![0; 20],
            _ => vec![0; 40],
        };
        header[0] = (version << 4) | (5 * u8::from(version == 4));
        match version {
            4 => {
                header[2..4].copy_from_slice(&(20 + length as u16).to_be_bytes());
                header[9] = protocol;
                header[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
            }
            _ => {
                header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
                header[6] = protocol;
                header[8] = 0xfe;
                header[39] = 7;
            }
        }
        header.resize(header.len() + length, 0);
        header
    }

    #[test]
    fn fragments_and_cut_packets_have_no_transport() {
        let whole = ip(4, TCP, 20);
        assert_eq!(Packet::parse(IPV4, &whole).expect("it is IPv4").transport(), Some(Transport::Tcp));
        let mut first = whole.clone();
        first[6] = 0x20;
        let mut later = whole.clone();
        later[7] = 1;
        let mut lying = whole.clone();
        lying[3] = 41;
        for packet in [&first[..], &later, &lying, &whole[..39]] {
            assert_eq!(Packet::parse(IPV4, packet).expect("it is IPv4").transport(), None);
        }
        let mut unsummed = ip(4, UDP, 8);
        unsummed[25] = 8;
        assert_eq!(Packet::parse(IPV4, &unsummed).expect("it is IPv4").transport_sum(), Sum::Unknown);
        let mut unsummed = ip(6, UDP, 8);
        unsummed[45] = 8;
        assert_eq!(Packet::parse(IPV6, &unsummed).expect("it is IPv6").transport_sum(), Sum::Wrong, "IPv6 wants one");
    }

    #[test]
    fn headers_behind_that_of_ipv6_are_passed() {
        // Hop-by-hop options of 8 bytes, destination options of 16, then UDP.
        let mut packet = ip(6, HOP_BY_HOP, 8 + 16 + 8);
        packet[40] = DESTINATION_OPTIONS;
        (packet[48], packet[49]) = (UDP, 1);
        let found = Packet::parse(IPV6, &packet).expect("it is IPv6");
        assert_eq!((found.transport(), found.has_options), (Some(Transport::Udp), true));
        for other in [ROUTING, FRAGMENT] {
            packet[40] = other;
            (packet[48], packet[49]) = (UDP, 0);
            let found = Packet::parse(IPV6, &packet).expect("it is IPv6");
            assert_eq!((found.transport(), found.has_options), (None, true), "{other}");
        }
        packet[40] = HOP_BY_HOP;
        packet[49] = 200;
        assert_eq!(Packet::parse(IPV6, &packet).expect("it is IPv6").transport(), None, "it ends outside");
    }
}
