//! One station of an Ethernet link, without a port or a clock: frames and times in, datagrams and frames out.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use super::counts::{EthernetTraffic, Refused, Unsent};
use super::frame::{self, FRAME_BYTES_MIN, Frame, HEADER_BYTES, Mac, Station};
use super::neighbours::{Contested, Neighbours, PREFIX_BITS};

/// Bytes of a frame's Ethernet header, which an MTU does not count.
const ETHERNET_BYTES: usize = 14;

/// What a station and its link are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOptions {
    /// Number of leading bits that all addresses of the link share, 16 to 30: the 24 of `10.0.0.1/24`.
    pub prefix_bits: u8,
    /// Router for all other addresses. Without one, datagrams from beyond the link are refused.
    pub gateway: Option<Ipv4Addr>,
    /// Longest IPv4 packet of the link, in bytes.
    pub mtu_bytes: usize,
    /// Stations whose hardware addresses are known: no other station can take their addresses.
    pub fixed: Vec<(Ipv4Addr, Mac)>,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions { prefix_bits: 24, gateway: None, mtu_bytes: 1500, fixed: Vec::new() }
    }
}

/// Reasons why a station cannot be on a link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The table of its addresses would have too many places, or none.
    #[error("expected a prefix of {} to {} bits, found {found}", PREFIX_BITS.start(), PREFIX_BITS.end())]
    Prefix {
        /// Number of bits that was given.
        found: u8,
    },
    /// No station of the link can have this address.
    #[error("expected {what} that a station of {link}/{prefix_bits} can have, found {found}")]
    Address {
        /// What the address is for.
        what: &'static str,
        /// Address of this station.
        link: Ipv4Addr,
        /// Number of bits that the addresses of the link share.
        prefix_bits: u8,
        /// Address that was given.
        found: Ipv4Addr,
    },
    /// Nothing can be sent to port 0.
    #[error("expected a port from 1 to 65535, found 0: on an Ethernet port the kernel does not choose one")]
    Port,
    /// A hardware address of no station.
    #[error("expected the hardware address of one station, found {}", text(found))]
    Mac {
        /// Address that was given.
        found: Mac,
    },
}

fn text(mac: &Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// What a frame was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// A datagram, whose payload has this many bytes and begins at [`HEADER_BYTES`].
    Datagram {
        /// Sender of the datagram.
        from: SocketAddrV4,
        /// Length of its payload, in bytes.
        bytes: usize,
    },
    /// A request, to which this frame is the answer.
    Answer([u8; FRAME_BYTES_MIN]),
    /// Nothing that the caller has to do with: it is counted.
    Nothing,
}

/// Where a datagram goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routed {
    /// Hardware address that takes the datagram, and its receiver; or the reason why it cannot be sent, which is counted.
    pub to: Result<(Mac, SocketAddrV4), Unsent>,
    /// Request to send first, whether the datagram can be sent or not.
    pub request: Option<[u8; FRAME_BYTES_MIN]>,
}

/// A station of an Ethernet link.
#[derive(Debug)]
pub struct Link {
    station: Station,
    gateway: Option<Ipv4Addr>,
    payload_bytes_max: usize,
    neighbours: Neighbours,
    pub(super) traffic: EthernetTraffic,
}

impl Link {
    /// A station that has heard of no other.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn new(station: Station, options: &LinkOptions) -> Result<Link, LinkError> {
        let (own, prefix_bits) = (*station.address.ip(), options.prefix_bits);
        if !PREFIX_BITS.contains(&prefix_bits) {
            return Err(LinkError::Prefix { found: prefix_bits });
        }
        if station.address.port() == 0 {
            return Err(LinkError::Port);
        }
        let mut neighbours = Neighbours::new(own, prefix_bits);
        let check = |neighbours: &Neighbours, what, found: Ipv4Addr| {
            let is_usable = neighbours.contains(found) && frame::is_of_a_station(found);
            is_usable.then_some(()).ok_or(LinkError::Address { what, link: own, prefix_bits, found })
        };
        check(&neighbours, "an address", own)?;
        options.gateway.map_or(Ok(()), |gateway| check(&neighbours, "a gateway", gateway))?;
        for &(address, _) in &options.fixed {
            check(&neighbours, "a fixed address", address)?;
        }
        for mac in [station.mac].into_iter().chain(options.fixed.iter().map(|&(_, mac)| mac)) {
            if mac.first().is_none_or(|first| first & 1 == 1) || mac == [0; 6] {
                return Err(LinkError::Mac { found: mac });
            }
        }
        options.fixed.iter().for_each(|&(address, mac)| neighbours.fix(address, mac));
        // No other station is heard with this one's address: its own frames do not come back.
        neighbours.fix(own, station.mac);
        let payload_bytes_max = (options.mtu_bytes + ETHERNET_BYTES).saturating_sub(HEADER_BYTES);
        let traffic = EthernetTraffic::default();
        Ok(Link { station, gateway: options.gateway, payload_bytes_max, neighbours, traffic })
    }

    /// The station: its addresses and port.
    pub fn station(&self) -> &Station {
        &self.station
    }

    /// Counts of the traffic so far.
    pub fn traffic(&self) -> EthernetTraffic {
        self.traffic
    }

    /// Takes in a frame that has arrived, without its check sequence.
    #[inline]
    pub fn handle_frame(&mut self, now: Duration, bytes: &[u8]) -> Handled {
        match self.handle(now, bytes) {
            Ok(handled) => handled,
            Err(reason) => {
                self.traffic.count_refused(reason);
                Handled::Nothing
            }
        }
    }

    #[inline]
    fn handle(&mut self, now: Duration, bytes: &[u8]) -> Result<Handled, Refused> {
        match Frame::read(&self.station, bytes)? {
            Frame::Datagram { mac, from, payload } => {
                // What comes from beyond the link comes from the gateway, which holds its address by that.
                let of_link = self.next_hop(*from.ip()).ok_or(Refused::NoRoute)?;
                self.hear(now, of_link, mac)?;
                self.traffic.received += 1;
                Ok(Handled::Datagram { from, bytes: payload.len() })
            }
            Frame::Request { mac, from } => {
                // It is answered even if another station holds the sender's address: that costs no one anything.
                let heard = from.map_or(Ok(()), |from| self.hear(now, from, mac));
                heard.unwrap_or_else(|reason| self.traffic.count_refused(reason));
                self.traffic.arp_answered += 1;
                let to = from.unwrap_or(Ipv4Addr::UNSPECIFIED);
                Ok(Handled::Answer(frame::arp_reply(&self.station, mac, to)))
            }
            Frame::Reply { mac, from } => self.hear(now, from, mac).map(|()| Handled::Nothing),
        }
    }

    #[inline]
    fn hear(&mut self, now: Duration, address: Ipv4Addr, mac: Mac) -> Result<(), Refused> {
        self.neighbours.hear(now, address, mac).map_err(|Contested| Refused::Contested)
    }

    /// The address of the link through which `address` is reached.
    #[inline]
    fn next_hop(&self, address: Ipv4Addr) -> Option<Ipv4Addr> {
        match self.neighbours.contains(address) {
            true => Some(address),
            false if self.neighbours.is_reserved(address) => None,
            false => self.gateway,
        }
    }

    /// Finds where a datagram of `bytes` bytes to `to` goes. If it is not known who has that address, or that of the gateway,
    /// its station is requested, and the datagram cannot be sent.
    #[inline]
    pub fn route(&mut self, now: Duration, to: SocketAddr, bytes: usize) -> Routed {
        let (to, hop) = match self.hop_for(to, bytes) {
            Ok(both) => both,
            Err(reason) => return Routed { to: self.unsent(reason), request: None },
        };
        let request = self.neighbours.is_to_be_requested(now, hop).then(|| {
            self.traffic.arp_requests += 1;
            frame::arp_request(&self.station, hop)
        });
        let to = match self.neighbours.mac(hop) {
            Some(mac) => Ok((mac, to)),
            None => self.unsent(Unsent::Unresolved),
        };
        Routed { to, request }
    }

    fn unsent<T>(&mut self, reason: Unsent) -> Result<T, Unsent> {
        self.traffic.count_unsent(reason);
        Err(reason)
    }

    #[inline]
    fn hop_for(&self, to: SocketAddr, bytes: usize) -> Result<(SocketAddrV4, Ipv4Addr), Unsent> {
        let SocketAddr::V4(to) = to else { return Err(Unsent::Ipv6) };
        if !frame::is_of_a_station(*to.ip()) || to.ip() == self.station.address.ip() {
            return Err(Unsent::Address);
        }
        if bytes > self.payload_bytes_max {
            return Err(Unsent::TooLong);
        }
        Ok((to, self.next_hop(*to.ip()).ok_or(Unsent::NoRoute)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::frame::{OWN, PEER};

    const ROUTER: Mac = [2, 0, 0, 0, 0, 254];
    const HOSTILE: Mac = [2, 0, 0, 0, 6, 66];
    const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 254);
    const FAR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 7), 1234);
    const NOW: Duration = Duration::from_secs(100);

    fn link(gateway: Option<Ipv4Addr>) -> Link {
        Link::new(OWN, &LinkOptions { gateway, ..LinkOptions::default() }).expect("the options are right")
    }

    fn datagram(mac: Mac, from: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; frame::frame_bytes(payload.len())];
        let from = Station { mac, address: from };
        frame::write_datagram(&mut bytes, &from, OWN.mac, OWN.address, payload).expect("it fits");
        bytes
    }

    fn to_peer() -> Routed {
        Routed { to: Ok((PEER.mac, PEER.address)), request: None }
    }

    fn refused(reason: Unsent) -> Routed {
        Routed { to: Err(reason), request: None }
    }

    #[test]
    fn a_datagram_is_answered_to_where_it_came_from_without_a_request() {
        let mut link = link(None);
        let bytes = datagram(PEER.mac, PEER.address, b"hello");
        assert_eq!(link.handle_frame(NOW, &bytes), Handled::Datagram { from: PEER.address, bytes: 5 });
        assert_eq!(bytes[HEADER_BYTES..][..5], *b"hello");
        assert_eq!(link.route(NOW, PEER.address.into(), 5), to_peer());
        assert_eq!(link.traffic(), EthernetTraffic { received: 1, ..EthernetTraffic::default() });
    }

    #[test]
    fn a_request_is_answered_and_names_its_sender() {
        let mut link = link(None);
        let request = frame::arp_request(&PEER, *OWN.address.ip());
        let Handled::Answer(answer) = link.handle_frame(NOW, &request) else { panic!("it is answered") };
        let read = Frame::read(&PEER, &answer);
        assert_eq!(read, Ok(Frame::Reply { mac: OWN.mac, from: *OWN.address.ip() }));
        assert_eq!(link.route(NOW, PEER.address.into(), 5).to, Ok((PEER.mac, PEER.address)));
        assert_eq!(link.traffic().arp_answered, 1);
    }

    #[test]
    fn an_unknown_station_is_requested_and_its_answer_heard() {
        let mut link = link(None);
        let routed = link.route(NOW, PEER.address.into(), 5);
        let request = routed.request.expect("it is requested");
        assert_eq!(routed.to, Err(Unsent::Unresolved));
        let from = Some(*OWN.address.ip());
        assert_eq!(Frame::read(&PEER, &request), Ok(Frame::Request { mac: OWN.mac, from }));
        assert_eq!(link.route(NOW, PEER.address.into(), 5), refused(Unsent::Unresolved), "once a second");
        let reply = frame::arp_reply(&PEER, OWN.mac, *OWN.address.ip());
        assert_eq!(link.handle_frame(NOW, &reply), Handled::Nothing);
        assert_eq!(link.route(NOW, PEER.address.into(), 5), to_peer());
        assert_eq!((link.traffic().arp_requests, link.traffic().unsent(Unsent::Unresolved)), (1, 2));
    }

    #[test]
    fn a_hostile_station_gets_no_datagrams_of_another_and_none_in_its_name() {
        let mut link = link(None);
        link.handle_frame(NOW, &datagram(PEER.mac, PEER.address, b"hello"));
        let hostile = Station { mac: HOSTILE, ..PEER };
        let claims = [
            datagram(HOSTILE, PEER.address, b"forged"),
            frame::arp_reply(&hostile, OWN.mac, *OWN.address.ip()).to_vec(),
        ];
        for claim in claims {
            assert_eq!(link.handle_frame(NOW, &claim), Handled::Nothing);
        }
        // The answer to a request says only what this station's address is.
        assert!(matches!(link.handle_frame(NOW, &frame::arp_request(&hostile, *OWN.address.ip())), Handled::Answer(_)));
        assert_eq!(link.route(NOW, PEER.address.into(), 5).to, Ok((PEER.mac, PEER.address)));
        assert_eq!((link.traffic().refused(Refused::Contested), link.traffic().received), (3, 1));
    }

    #[test]
    fn what_is_beyond_the_link_passes_the_gateway_and_only_that() {
        let mut link = link(Some(GATEWAY));
        let gateway = Station { mac: ROUTER, address: SocketAddrV4::new(GATEWAY, 1) };
        let request = link.route(NOW, FAR.into(), 5).request.expect("it is unknown");
        assert!(matches!(Frame::read(&gateway, &request), Ok(Frame::Request { .. })), "the gateway is requested");
        link.handle_frame(NOW, &frame::arp_reply(&gateway, OWN.mac, *OWN.address.ip()));
        assert_eq!(link.route(NOW, FAR.into(), 5).to, Ok((ROUTER, FAR)));
        let came = Handled::Datagram { from: FAR, bytes: 2 };
        assert_eq!(link.handle_frame(NOW, &datagram(ROUTER, FAR, b"hi")), came);
        assert_eq!(link.handle_frame(NOW, &datagram(HOSTILE, FAR, b"hi")), Handled::Nothing);
        assert_eq!(link.traffic().refused(Refused::Contested), 1);
    }

    #[test]
    fn without_a_gateway_there_is_nothing_beyond_the_link() {
        let mut link = link(None);
        assert_eq!(link.handle_frame(NOW, &datagram(ROUTER, FAR, b"hi")), Handled::Nothing);
        assert_eq!(link.route(NOW, FAR.into(), 5), refused(Unsent::NoRoute));
        assert_eq!((link.traffic().refused(Refused::NoRoute), link.traffic().unsent(Unsent::NoRoute)), (1, 1));
    }

    #[test]
    fn datagrams_that_cannot_be_sent_are_counted_by_reason() {
        let mut link = link(Some(GATEWAY));
        let to = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let expected = [
            (to("[::1]:7"), 5, Unsent::Ipv6),
            (to("0.0.0.0:7"), 5, Unsent::Address),
            (to("255.255.255.255:7"), 5, Unsent::Address),
            (to("10.0.0.1:7777"), 5, Unsent::Address),
            (to("10.0.0.255:7"), 5, Unsent::NoRoute),
            (to("10.0.0.2:7"), 1473, Unsent::TooLong),
        ];
        for (to, bytes, reason) in expected {
            assert_eq!(link.route(NOW, to, bytes), refused(reason), "{to}");
        }
        assert_eq!(link.traffic().unsent(Unsent::Address), 3);
        assert_eq!(link.route(NOW, to("10.0.0.2:7"), 1472).to, Err(Unsent::Unresolved), "as long as the link takes");
    }

    #[test]
    fn options_that_no_link_has_are_named() {
        let new = |station, options: &LinkOptions| Link::new(station, options).expect_err("it is wrong").to_string();
        let with_ip = |ip| Station { address: SocketAddrV4::new(ip, 7777), ..OWN };
        let wide = LinkOptions { prefix_bits: 8, ..LinkOptions::default() };
        assert_eq!(new(OWN, &wide), "expected a prefix of 16 to 30 bits, found 8");
        let last = Ipv4Addr::new(10, 0, 0, 255);
        let expected = "that a station of 10.0.0.255/24 can have, found 10.0.0.255";
        assert_eq!(new(with_ip(last), &LinkOptions::default()), format!("expected an address {expected}"));
        let far = LinkOptions { gateway: Some(*FAR.ip()), ..LinkOptions::default() };
        let expected = "expected a gateway that a station of 10.0.0.1/24 can have, found 192.0.2.7";
        assert_eq!(new(OWN, &far), expected);
        let fixed = LinkOptions { fixed: vec![(GATEWAY, [1, 0, 0, 0, 0, 1])], ..LinkOptions::default() };
        assert_eq!(new(OWN, &fixed), "expected the hardware address of one station, found 01:00:00:00:00:01");
        let no_port = Station { address: SocketAddrV4::new(*OWN.address.ip(), 0), ..OWN };
        assert!(new(no_port, &LinkOptions::default()).starts_with("expected a port from 1 to 65535, found 0"));
    }

    #[test]
    fn a_fixed_station_cannot_be_replaced() {
        let fixed = vec![(*PEER.address.ip(), PEER.mac)];
        let mut link = Link::new(OWN, &LinkOptions { fixed, ..LinkOptions::default() }).expect("they are right");
        assert_eq!(link.handle_frame(NOW, &datagram(HOSTILE, PEER.address, b"first")), Handled::Nothing);
        assert_eq!(link.route(NOW, PEER.address.into(), 5), to_peer());
    }
}
