//! Receive side scaling: which queue a packet goes to (datasheet 7.1.2.8).

use prony_ixgbe_regs as regs;

use crate::packet::{Packet, Transport};

const KEY_BYTES: usize = 40;
const TABLE_ENTRIES: usize = 128;

/// The registers of RSS, as frames need them.
#[derive(Debug, Clone)]
pub(crate) struct Rss {
    /// MRQC.
    command: u32,
    key: [u8; KEY_BYTES],
    queues: [u8; TABLE_ENTRIES],
}

impl Default for Rss {
    fn default() -> Rss {
        Rss { command: 0, key: [0; KEY_BYTES], queues: [0; TABLE_ENTRIES] }
    }
}

impl Rss {
    /// Takes over MRQC. Of its modes there is the one with 16 queues and neither traffic classes nor pools; in the others
    /// everything goes to the first queue.
    pub(crate) fn set_command(&mut self, mrqc: u32) {
        self.command = if mrqc & regs::MRQC_MRQE_MASK == regs::MRQC_MRQE_RSS { mrqc } else { 0 };
    }

    /// Takes over one of the registers RSSRK.
    pub(crate) fn set_key(&mut self, index: usize, value: u32) {
        let (words, _) = self.key.as_chunks_mut::<4>();
        if let Some(word) = words.get_mut(index) {
            *word = value.to_le_bytes();
        }
    }

    /// Takes over one of the registers RETA.
    pub(crate) fn set_queues(&mut self, index: usize, value: u32) {
        let (words, _) = self.queues.as_chunks_mut::<4>();
        if let Some(word) = words.get_mut(index) {
            *word = value.to_le_bytes().map(|byte| byte & regs::RETA_QUEUE_MASK as u8);
        }
    }

    /// What of the packet is hashed, as RXD_INFO.RSS_TYPE has it, and the hash; `None` if MRQC has none of its fields hashed.
    pub(crate) fn hash(&self, packet: &Packet) -> Option<(u32, u32)> {
        let ports = match (packet.is_ipv4, packet.transport()) {
            (true, Some(Transport::Tcp)) => Some((regs::MRQC_TCP_IPV4, regs::RSS_TYPE_TCP_IPV4)),
            (true, Some(Transport::Udp)) => Some((regs::MRQC_UDP_IPV4, regs::RSS_TYPE_UDP_IPV4)),
            (false, Some(Transport::Tcp)) => Some((regs::MRQC_TCP_IPV6, regs::RSS_TYPE_TCP_IPV6)),
            (false, Some(Transport::Udp)) => Some((regs::MRQC_UDP_IPV6, regs::RSS_TYPE_UDP_IPV6)),
            _ => None,
        };
        let addresses = match packet.is_ipv4 {
            true => (regs::MRQC_IPV4, regs::RSS_TYPE_IPV4),
            false => (regs::MRQC_IPV6, regs::RSS_TYPE_IPV6),
        };
        let is_enabled = |&(field, _): &(u32, u32)| self.command & field != 0;
        // The most specific of the enabled ones.
        let (with_ports, (_, kind)) = match ports.filter(is_enabled) {
            Some(ports) => (true, ports),
            None => (false, Some(addresses).filter(is_enabled)?),
        };
        let ports = packet.ports().filter(|_| with_ports).unwrap_or_default();
        Some((kind, toeplitz(&self.key, packet.addresses().iter().chain(ports))))
    }

    /// Queue of a hash.
    pub(crate) fn queue(&self, hash: u32) -> usize {
        self.queues.get(hash as usize % TABLE_ENTRIES).copied().unwrap_or(0).into()
    }
}

/// The hash of Toeplitz, as the datasheet (7.1.2.8.1) and Microsoft's "RSS Hashing Functions" define it: each bit that is set
/// adds the 32 bits of the key that begin at its place.
///
/// `input`: at most 36 bytes; there is no key for others.
fn toeplitz<'a>(key: &[u8; KEY_BYTES], input: impl Iterator<Item = &'a u8>) -> u32 {
    let (first, rest) = key.split_at(4);
    let mut window = first.iter().fold(0, |window, &byte| window << 8 | u32::from(byte));
    let mut hash = 0;
    for (&byte, &next) in input.zip(rest) {
        for bit in (0..8).rev() {
            hash ^= window & u32::from(byte >> bit & 1).wrapping_neg();
            window = window << 1 | u32::from(next >> bit & 1);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::packet::{IPV4, IPV6};

    /// The key of the RSS verification suite (datasheet 7.1.2.8.3; Microsoft, "Verifying the RSS Hash Calculation").
    const KEY: [u8; KEY_BYTES] = [
        0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca,
        0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b,
        0xbe, 0xac, 0x01, 0xfa,
    ];

    /// Destination and source with ports, hash of the addresses, hash of addresses and ports.
    const VECTORS: [(&str, u16, &str, u16, u32, u32); 8] = [
        ("161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e_8fc2, 0x51cc_c178),
        ("65.69.140.83", 4739, "199.92.111.2", 14_230, 0xd718_262a, 0xc626_b0ea),
        ("12.22.207.184", 38_024, "24.19.198.95", 12_898, 0xd2d0_a5de, 0x5c2b_394a),
        ("209.142.163.6", 2217, "38.27.205.30", 48_228, 0x8298_9176, 0xafc7_327f),
        ("202.188.127.2", 1303, "153.39.163.191", 44_251, 0x5d18_09c5, 0x10e8_28a2),
        ("3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc1_8cd5, 0x4020_7d3d),
        ("ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14_230, 0x0f0c_461c, 0xdde5_1bbf),
        ("fe80::200:f8ff:fe21:67cf", 38_024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44_251, 0x4b61_e985, 0x02d1_feef),
    ];

    fn bytes(address: IpAddr) -> Vec<u8> {
        match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        }
    }

    /// A packet with 20 bytes behind its header.
    fn packet(to: &str, to_port: u16, from: &str, from_port: u16, protocol: u8) -> (u16, Vec<u8>) {
        let [to, from]: [IpAddr; 2] = [to, from].map(|address| address.parse().expect("an address"));
        let (ethertype, mut packet) = match to.is_ipv4() {
            true => (IPV4, vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0]),
            false => (IPV6, vec![0x60, 0, 0, 0, 0, 20, protocol, 64]),
        };
        packet.extend([bytes(from), bytes(to)].concat());
        packet.extend([from_port.to_be_bytes(), to_port.to_be_bytes()].concat());
        packet.resize(packet.len() + 16, 0);
        (ethertype, packet)
    }

    fn rss(fields: u32) -> Rss {
        let mut rss = Rss::default();
        for (index, part) in KEY.chunks(4).enumerate() {
            rss.set_key(index, u32::from_le_bytes(part.try_into().expect("four bytes")));
        }
        rss.set_command(regs::MRQC_MRQE_RSS | fields);
        rss
    }

    #[test]
    fn hashes_are_those_of_the_verification_suite() {
        let all = regs::MRQC_TCP_IPV4 | regs::MRQC_IPV4 | regs::MRQC_TCP_IPV6 | regs::MRQC_IPV6;
        for (to, to_port, from, from_port, addresses, ports) in VECTORS {
            let (ethertype, tcp) = packet(to, to_port, from, from_port, 6);
            let found = rss(all).hash(&Packet::parse(ethertype, &tcp).expect("it is IP"));
            let kinds = match ethertype {
                IPV4 => [regs::RSS_TYPE_IPV4, regs::RSS_TYPE_TCP_IPV4, regs::RSS_TYPE_UDP_IPV4],
                _ => [regs::RSS_TYPE_IPV6, regs::RSS_TYPE_TCP_IPV6, regs::RSS_TYPE_UDP_IPV6],
            };
            assert_eq!(found, Some((kinds[1], ports)), "{to} {from}");
            // Without a field for its ports, the packet is hashed by its addresses.
            let (ethertype, udp) = packet(to, to_port, from, from_port, 17);
            let udp = Packet::parse(ethertype, &udp).expect("it is IP");
            assert_eq!(rss(all).hash(&udp), Some((kinds[0], addresses)), "{to} {from}");
            let udp_too = all | regs::MRQC_UDP_IPV4 | regs::MRQC_UDP_IPV6;
            assert_eq!(rss(udp_too).hash(&udp), Some((kinds[2], ports)), "{to} {from}");
            assert_eq!(rss(0).hash(&udp), None);
        }
    }

    #[test]
    fn the_lowest_seven_bits_of_a_hash_choose_the_queue() {
        let mut rss = rss(regs::MRQC_IPV4);
        for index in 0..32 {
            rss.set_queues(index as usize, 0x1312_1110 + index % 4 * 0x0404_0404);
        }
        for hash in [0, 1, 5, 14, 127, 128, 0xffff_fff3] {
            assert_eq!(rss.queue(hash), hash as usize % 16, "{hash:#x}");
        }
    }

    #[test]
    fn modes_that_are_not_modelled_hash_nothing() {
        let (ethertype, tcp) = packet("1.2.3.4", 5, "6.7.8.9", 10, 6);
        let packet = Packet::parse(ethertype, &tcp).expect("it is IPv4");
        for mode in [0, 2, 4, 8, 15] {
            let mut rss = rss(0);
            rss.set_command(mode | regs::MRQC_TCP_IPV4);
            assert_eq!(rss.hash(&packet), None, "{mode}");
        }
    }
}
