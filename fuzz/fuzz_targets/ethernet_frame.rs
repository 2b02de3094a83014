//! Frames of strangers against a station of an Ethernet link: raw ones, and ones whose addresses and checksums are right, so
//! that they come further. A datagram lies in its frame, its answer goes where it came from, and no station takes an address
//! that another one holds: `cargo +nightly fuzz run ethernet_frame fuzz/corpus/ethernet_frame fuzz/seeds/ethernet_frame`.
#![no_main]

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use prony_enet_host::ethernet::{Frame, HEADER_BYTES, HOLD, Handled, Link, LinkOptions, Mac, Refused, Routed, Station};

const OWN: Station = Station { mac: [2, 0, 0, 0, 0, 1], address: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 7777) };
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 254);
const PAYLOAD_BYTES_MAX: usize = 1472;

/// A link, and which station sent a datagram for each next hop last.
struct World {
    link: Link,
    now: Duration,
    holders: BTreeMap<Ipv4Addr, (Mac, Duration)>,
    frames: u64,
    replies: u64,
}

/// The address on the link through which an answer goes.
fn hop(to: Ipv4Addr) -> Ipv4Addr {
    let [first, second, third, last] = to.octets();
    if [first, second, third] == [10, 0, 0] && (1..255).contains(&last) { to } else { GATEWAY }
}

/// The sum of 16-bit words that IPv4 has as its checksum (RFC 1071).
fn sum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

/// Makes a frame one for this station, with what follows from its length.
fn repair(frame: &mut [u8]) {
    let length = frame.len();
    if length >= HEADER_BYTES && frame[12] & 1 == 0 {
        frame[..6].copy_from_slice(&OWN.mac);
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
        frame[20..22].fill(0);
        frame[23] = 17;
        frame[24..26].fill(0);
        frame[30..34].copy_from_slice(&OWN.address.ip().octets());
        let header = sum(&frame[14..34]);
        frame[24..26].copy_from_slice(&header);
        frame[36..38].copy_from_slice(&OWN.address.port().to_be_bytes());
        frame[38..40].copy_from_slice(&((length - 34) as u16).to_be_bytes());
        frame[40..42].fill(0);
    } else if length >= 42 {
        frame[..6].fill(0xff);
        frame[12..20].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4]);
        (frame[20], frame[21]) = (0, 1 + (frame[21] & 1));
        let mac: Mac = frame[6..12].try_into().expect("six bytes");
        frame[22..28].copy_from_slice(&mac);
        frame[38..42].copy_from_slice(&OWN.address.ip().octets());
    }
}

impl World {
    fn give(&mut self, frame: &[u8]) {
        let handled = self.link.handle_frame(self.now, frame);
        self.frames += 1;
        match handled {
            Handled::Datagram { from, bytes } => {
                assert!(frame.get(HEADER_BYTES..).and_then(|rest| rest.get(..bytes)).is_some(), "within the frame");
                assert!(from.port() != 0 && !from.ip().is_multicast() && !from.ip().is_unspecified(), "{from}");
                assert_ne!(from.ip(), OWN.address.ip());
                let mac: Mac = frame[6..12].try_into().expect("six bytes");
                assert_eq!(mac[0] & 1, 0, "a group of stations sends nothing");
                let sent = self.link.route(self.now, from.into(), bytes.min(PAYLOAD_BYTES_MAX));
                assert_eq!(
                    sent,
                    Routed { to: Ok((mac, from)), request: None },
                    "an answer goes where the datagram came from"
                );
                if let Some((holder, heard)) = self.holders.insert(hop(*from.ip()), (mac, self.now)) {
                    assert!(holder == mac || self.now - heard >= HOLD, "{holder:?} holds {from}, and {mac:?} took it");
                }
            }
            Handled::Answer(answer) => {
                let mac: Mac = answer[..6].try_into().expect("six bytes");
                let to = Ipv4Addr::new(answer[38], answer[39], answer[40], answer[41]);
                let peer = Station { mac, address: SocketAddrV4::new(to, 1) };
                assert_eq!(Frame::read(&peer, &answer), Ok(Frame::Reply { mac: OWN.mac, from: *OWN.address.ip() }));
            }
            // A reply that was heard is counted nowhere.
            Handled::Nothing => self.replies += u64::from(matches!(Frame::read(&OWN, frame), Ok(Frame::Reply { .. }))),
        }
        let traffic = self.link.traffic();
        let refused: u64 = Refused::ALL.iter().map(|&reason| traffic.refused(reason)).sum();
        let counted = traffic.received + traffic.arp_answered + refused;
        // A request of a station whose address another one holds is answered and refused.
        assert!(counted + self.replies >= self.frames && counted <= self.frames + traffic.arp_answered);
        for (&address, &(mac, heard)) in &self.holders {
            let routed = self.link.route(self.now, SocketAddr::from((address, 9)), 1);
            let (now_mac, _) = routed.to.expect("it was heard");
            assert!(now_mac == mac || self.now - heard >= HOLD, "{mac:?} holds {address}, and {now_mac:?} has it");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let options = LinkOptions { gateway: Some(GATEWAY), ..LinkOptions::default() };
    let link = Link::new(OWN, &options).expect("the options are right");
    let mut world = World { link, now: HOLD, holders: BTreeMap::new(), frames: 0, replies: 0 };
    let mut rest = bytes;
    while let Some((&[step, number], behind)) = rest.split_first_chunk::<2>() {
        rest = behind;
        if step & 3 == 3 {
            world.now += Duration::from_millis(u64::from(step >> 2) * u64::from(number) * 8);
            continue;
        }
        let length = usize::from(number).min(rest.len());
        let (frame, behind) = rest.split_at(length);
        rest = behind;
        let mut frame = frame.to_vec();
        if step & 3 != 0 {
            repair(&mut frame);
        }
        world.give(&frame);
    }
});
