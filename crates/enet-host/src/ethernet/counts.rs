//! What became of frames and datagrams, by reason.

/// Reasons why a frame that arrived is not handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It is shorter than its headers say, or these contradict each other.
    Length,
    /// It is neither ARP nor IPv4 nor IPv6, or IPv4 without UDP.
    OtherProtocol,
    /// It is IPv6.
    Ipv6,
    /// It is for another station of the link, or for all of them.
    OtherStation,
    /// It is for another IPv4 address.
    OtherAddress,
    /// It is for another port.
    OtherPort,
    /// No station can have its sender's address, or only this one.
    Source,
    /// Its IPv4 header has options.
    Options,
    /// It is a fragment of a datagram.
    Fragment,
    /// The checksum of its IPv4 header is wrong.
    HeaderChecksum,
    /// The checksum of its datagram is wrong. All of a veth are, unless its peer makes them: `ethtool -K PEER tx off`.
    Checksum,
    /// It is ARP of another kind, or a station speaks for another one.
    Arp,
    /// Another station holds the sender's address.
    Contested,
    /// Its sender is not on the link, and there is no gateway.
    NoRoute,
}

impl Refused {
    /// All of them, in the order of their numbers.
    pub const ALL: [Refused; 14] = [
        Refused::Length,
        Refused::OtherProtocol,
        Refused::Ipv6,
        Refused::OtherStation,
        Refused::OtherAddress,
        Refused::OtherPort,
        Refused::Source,
        Refused::Options,
        Refused::Fragment,
        Refused::HeaderChecksum,
        Refused::Checksum,
        Refused::Arp,
        Refused::Contested,
        Refused::NoRoute,
    ];

    /// Name of its count.
    pub fn name(self) -> &'static str {
        match self {
            Refused::Length => "refused_length",
            Refused::OtherProtocol => "refused_other_protocol",
            Refused::Ipv6 => "refused_ipv6",
            Refused::OtherStation => "refused_other_station",
            Refused::OtherAddress => "refused_other_address",
            Refused::OtherPort => "refused_other_port",
            Refused::Source => "refused_source",
            Refused::Options => "refused_options",
            Refused::Fragment => "refused_fragment",
            Refused::HeaderChecksum => "refused_header_checksum",
            Refused::Checksum => "refused_checksum",
            Refused::Arp => "refused_arp",
            Refused::Contested => "refused_contested",
            Refused::NoRoute => "refused_no_route",
        }
    }
}

/// Reasons why a datagram is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsent {
    /// It is for an IPv6 address.
    Ipv6,
    /// No station can have its address, or only this one.
    Address,
    /// Its address is not on the link, and there is no gateway.
    NoRoute,
    /// No station has answered yet which of them has its address, or the gateway's.
    Unresolved,
    /// It is longer than the link takes.
    TooLong,
    /// All buffers wait to be sent.
    NoBuffer,
}

impl Unsent {
    /// All of them, in the order of their numbers.
    pub const ALL: [Unsent; 6] =
        [Unsent::Ipv6, Unsent::Address, Unsent::NoRoute, Unsent::Unresolved, Unsent::TooLong, Unsent::NoBuffer];

    /// Name of its count.
    pub fn name(self) -> &'static str {
        match self {
            Unsent::Ipv6 => "unsent_ipv6",
            Unsent::Address => "unsent_address",
            Unsent::NoRoute => "unsent_no_route",
            Unsent::Unresolved => "unsent_unresolved",
            Unsent::TooLong => "unsent_too_long",
            Unsent::NoBuffer => "unsent_no_buffer",
        }
    }
}

/// Counts of the traffic of a link and of its losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EthernetTraffic {
    /// Number of datagrams that were taken in.
    pub received: u64,
    /// Number of requests for this station's hardware address that were answered.
    pub arp_answered: u64,
    /// Number of requests for the hardware addresses of others.
    pub arp_requests: u64,
    /// Number of datagrams that were handed to the port, or wait for room in its ring.
    pub sent: u64,
    /// Batches of which a part had to wait for room in the ring.
    pub ring_full: u64,
    /// Frames that found no buffer or no room in the ring of the port, if it counts them.
    pub missed: Option<u64>,
    pub(super) refused: [u64; Refused::ALL.len()],
    pub(super) unsent: [u64; Unsent::ALL.len()],
}

impl EthernetTraffic {
    /// Number of frames that were refused for a reason.
    pub fn refused(&self, reason: Refused) -> u64 {
        self.refused.get(reason as usize).copied().unwrap_or_default()
    }

    /// Number of datagrams that were not sent for a reason.
    pub fn unsent(&self, reason: Unsent) -> u64 {
        self.unsent.get(reason as usize).copied().unwrap_or_default()
    }

    /// Every count with its name: for exports.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            ("received", self.received),
            ("arp_answered", self.arp_answered),
            ("arp_requests", self.arp_requests),
            ("sent", self.sent),
            ("ring_full", self.ring_full),
        ];
        let missed = self.missed.map(|missed| ("missed", missed));
        let refused = Refused::ALL.map(Refused::name).into_iter().zip(self.refused);
        let unsent = Unsent::ALL.map(Unsent::name).into_iter().zip(self.unsent);
        counts.into_iter().chain(missed).chain(refused).chain(unsent)
    }

    #[cold]
    pub(super) fn count_refused(&mut self, reason: Refused) {
        if let Some(count) = self.refused.get_mut(reason as usize) {
            *count += 1;
        }
    }

    #[cold]
    pub(super) fn count_unsent(&mut self, reason: Unsent) {
        if let Some(count) = self.unsent.get_mut(reason as usize) {
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_reason_has_a_count_and_a_name_of_its_own() {
        let mut traffic = EthernetTraffic { missed: Some(3), ..EthernetTraffic::default() };
        for (number, reason) in Refused::ALL.into_iter().enumerate() {
            (0..=number).for_each(|_| traffic.count_refused(reason));
            assert_eq!(traffic.refused(reason), number as u64 + 1, "{reason:?}");
        }
        for (number, reason) in Unsent::ALL.into_iter().enumerate() {
            (0..=number).for_each(|_| traffic.count_unsent(reason));
            assert_eq!(traffic.unsent(reason), number as u64 + 1, "{reason:?}");
        }
        let names: BTreeSet<&str> = traffic.named().map(|(name, _)| name).collect();
        assert_eq!(names.len(), traffic.named().count());
        assert_eq!(traffic.named().map(|(_, count)| count).sum::<u64>(), 3 + 14 * 15 / 2 + 6 * 7 / 2);
    }
}
