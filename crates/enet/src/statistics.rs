//! Counters of a host, including dropped data.

/// Reasons why a datagram, or the rest of it, was ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dropped {
    /// Shorter than a header, or empty.
    Short,
    /// A datagram longer than 4,096 bytes.
    Long,
    /// Datagram to a peer that does not exist at this address.
    UnknownPeer,
    /// Datagram to a peer whose end is not delivered yet.
    EndedPeer,
    /// Datagram of an earlier connection in the same slot.
    OldSession,
    /// Compressed, and not expandable here.
    Compression,
    /// Datagram with a wrong checksum.
    Checksum,
    /// A command that is cut, unknown, or in the wrong place.
    Malformed,
    /// A command for which no memory is left now.
    NoRoom,
    /// A request for a connection that there is already.
    KnownConnection,
    /// A request for a connection when all slots are taken.
    NoSlot,
    /// A request for a connection by an address that has as many as it may.
    TooManyOfAddress,
    /// A request for a connection whose answer would be longer than what was received.
    WouldAmplify,
    /// A command other than the proof, from an address that is not proven.
    Unproven,
}

impl Dropped {
    /// All reasons, in the order of [`Statistics::dropped`].
    pub const ALL: [Dropped; 14] = [
        Dropped::Short,
        Dropped::Long,
        Dropped::UnknownPeer,
        Dropped::EndedPeer,
        Dropped::OldSession,
        Dropped::Compression,
        Dropped::Checksum,
        Dropped::Malformed,
        Dropped::NoRoom,
        Dropped::KnownConnection,
        Dropped::NoSlot,
        Dropped::TooManyOfAddress,
        Dropped::WouldAmplify,
        Dropped::Unproven,
    ];

    /// The reason as a word for exports.
    pub fn name(self) -> &'static str {
        match self {
            Dropped::Short => "short",
            Dropped::Long => "long",
            Dropped::UnknownPeer => "unknown_peer",
            Dropped::EndedPeer => "ended_peer",
            Dropped::OldSession => "old_session",
            Dropped::Compression => "compression",
            Dropped::Checksum => "checksum",
            Dropped::Malformed => "malformed",
            Dropped::NoRoom => "no_room",
            Dropped::KnownConnection => "known_connection",
            Dropped::NoSlot => "no_slot",
            Dropped::TooManyOfAddress => "too_many_of_address",
            Dropped::WouldAmplify => "would_amplify",
            Dropped::Unproven => "unproven",
        }
    }
}

/// Counts since the host was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Number of datagrams given in.
    pub datagrams_received: u64,
    /// Bytes of the received datagrams, without headers of UDP and below.
    pub bytes_received: u64,
    /// Number of datagrams given out.
    pub datagrams_sent: u64,
    /// Bytes of the sent datagrams, without headers of UDP and below.
    pub bytes_sent: u64,
    /// Number of commands that were sent again.
    pub resent: u64,
    /// Unreliable packets that a throttle dropped before they were sent.
    pub throttled: u64,
    /// Handshakes pushed out by newer ones.
    pub evicted: u64,
    /// Slots looked at, timers moved and commands handled: what the host did, whatever machine it ran on.
    pub work: u64,
    /// Panics that were caught while a peer's data was handled: each is a fault of this host, or of its checksum or
    /// compressor. See [`Host::recover`](crate::Host::recover).
    pub panics: u64,
    dropped: [u64; Dropped::ALL.len()],
}

impl Statistics {
    /// Datagrams, or rests of them, dropped for `reason`.
    pub fn dropped(&self, reason: Dropped) -> u64 {
        self.dropped.get(reason as usize).copied().unwrap_or(0)
    }

    /// Every count with its name, those of [`Dropped`] by their reasons: for exports.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            ("datagrams_received", self.datagrams_received),
            ("bytes_received", self.bytes_received),
            ("datagrams_sent", self.datagrams_sent),
            ("bytes_sent", self.bytes_sent),
            ("resent", self.resent),
            ("throttled", self.throttled),
            ("evicted", self.evicted),
            ("work", self.work),
            ("panics", self.panics),
        ];
        counts
            .into_iter()
            .chain(Dropped::ALL.into_iter().zip(self.dropped).map(|(reason, count)| (reason.name(), count)))
    }

    /// Counts a datagram that came.
    #[inline]
    pub(crate) fn received(&mut self, bytes: usize) {
        self.worked(1);
        self.datagrams_received = self.datagrams_received.wrapping_add(1);
        self.bytes_received = self.bytes_received.wrapping_add(bytes as u64);
    }

    /// Counts steps of work.
    #[inline]
    pub(crate) fn worked(&mut self, steps: u64) {
        self.work = self.work.wrapping_add(steps);
    }

    pub(crate) fn drop_for(&mut self, reason: Dropped) {
        if let Some(count) = self.dropped.get_mut(reason as usize) {
            *count = count.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_a_name_of_its_own() {
        let mut statistics = Statistics { resent: 3, ..Statistics::default() };
        statistics.drop_for(Dropped::NoSlot);
        let named: std::collections::BTreeMap<_, _> = statistics.named().collect();
        assert_eq!((named.len(), named["resent"], named["no_slot"], named["short"]), (9 + 14, 3, 1, 0));
    }

    #[test]
    fn every_reason_has_its_place() {
        for (place, reason) in Dropped::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place, "{}", reason.name());
        }
    }
}
