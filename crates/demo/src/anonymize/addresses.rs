//! Addresses for addresses: one for each, as long in text, and of the same scope.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;

/// Replaces each address by another that prints with as many digits in the same places, so that a
/// text that contains it keeps its length; private stays private, public stays public.
#[derive(Debug)]
pub(super) struct AddressMap {
    seed: u64,
    map_loopback: bool,
    kept: BTreeSet<IpAddr>,
    given: BTreeMap<IpAddr, IpAddr>,
    taken: BTreeSet<IpAddr>,
}

impl AddressMap {
    /// Map without replacements yet; `kept`: addresses that stay.
    pub(super) fn new(seed: u64, map_loopback: bool, kept: BTreeSet<IpAddr>) -> AddressMap {
        AddressMap { seed, map_loopback, kept, given: BTreeMap::new(), taken: BTreeSet::new() }
    }

    /// False for an address that stays, as it identifies no one or was set to stay.
    pub(super) fn replaces(&self, address: IpAddr) -> bool {
        self.choices(address).is_some()
    }

    /// Chooses a replacement for every one of `secrets`: none of them, where there is another.
    pub(super) fn give(&mut self, secrets: &BTreeSet<IpAddr>) {
        for &address in secrets {
            let given = match self.choices(address) {
                None => address,
                Some(choices) => self.choose(address, &choices, secrets),
            };
            self.given.insert(address, given);
            self.taken.insert(given);
        }
    }

    /// Replacement of an address; the address itself when it was not among those of [`AddressMap::give`].
    pub(super) fn map(&self, address: IpAddr) -> IpAddr {
        self.given.get(&address).copied().unwrap_or(address)
    }

    /// Every address that got another, and that one.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (IpAddr, IpAddr)> {
        self.given.iter().map(|(&old, &new)| (old, new)).filter(|(old, new)| old != new)
    }

    /// True when an address stands for another in the result.
    pub(super) fn is_given(&self, address: IpAddr) -> bool {
        self.taken.contains(&address)
    }

    /// Permitted values of each octet or group; `None` for an address that identifies no one.
    fn choices(&self, address: IpAddr) -> Option<Vec<RangeInclusive<u16>>> {
        if self.kept.contains(&address.to_canonical()) {
            return None;
        }
        match address {
            IpAddr::V4(v4) => {
                if scope4(v4) == Scope::Kept || (v4.is_loopback() && !self.map_loopback) {
                    return None;
                }
                let kept = match scope4(v4) {
                    Scope::Prefix(octets) => octets,
                    _ => 0,
                };
                let choice = |(place, octet): (usize, u8)| match place {
                    _ if place < kept => u16::from(octet)..=u16::from(octet),
                    _ => decimal(octet),
                };
                Some(v4.octets().into_iter().enumerate().map(choice).collect())
            }
            IpAddr::V6(v6) => {
                if v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() {
                    return None;
                }
                let groups = v6.segments();
                let kept = kept_groups(v6);
                let choice = |(place, group): (usize, u16)| match place {
                    _ if place < kept => group..=group,
                    0 => 0x2000..=0x3fff,
                    _ => hexadecimal(group),
                };
                Some(groups.into_iter().enumerate().map(choice).collect())
            }
        }
    }

    /// Starts somewhere among all combinations and takes the first that is free and none of
    /// `secrets`; after many tries the first that is free. There is one: every address that was
    /// given out before came for another of the same digits and scope.
    fn choose(&self, address: IpAddr, choices: &[RangeInclusive<u16>], secrets: &BTreeSet<IpAddr>) -> IpAddr {
        let mut random = Random::new(self.seed, address.to_string().as_bytes());
        let mut digits: Vec<usize> = choices.iter().map(|choice| random.below(width(choice))).collect();
        let all = choices.iter().map(width).fold(1usize, usize::saturating_mul);
        let mut tries = 0;
        loop {
            let candidate = assemble(address, choices, &digits);
            let free = same_scope(address, candidate) && !self.taken.contains(&candidate);
            if free && (tries >= all.min(MOST_TRIES) || !secrets.contains(&candidate)) {
                return candidate;
            }
            tries += 1;
            // The next combination, like a counter whose wheels have different sizes. The first octet
            // turns fastest, as it decides most about the scope.
            for (digit, choice) in digits.iter_mut().zip(choices) {
                *digit = (*digit + 1) % width(choice);
                if *digit > 0 {
                    break;
                }
            }
        }
    }
}

/// Combinations after which a replacement may be one of the addresses to replace.
const MOST_TRIES: usize = 1 << 16;

/// Groups that say what kind of address it is: beyond 2000::/3 the first, and all but the IPv4
/// address of those that hold one.
fn kept_groups(address: Ipv6Addr) -> usize {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => 6,
        [0x2000..=0x3fff, ..] => 0,
        _ => 1,
    }
}

fn width(choice: &RangeInclusive<u16>) -> usize {
    usize::from(choice.end() - choice.start()) + 1
}

fn assemble(like: IpAddr, choices: &[RangeInclusive<u16>], digits: &[usize]) -> IpAddr {
    let mut chosen = choices.iter().zip(digits).map(|(choice, &digit)| choice.start() + digit as u16);
    let mut next = |_| chosen.next().unwrap_or_default();
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(std::array::from_fn(|place| next(place) as u8))),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(std::array::from_fn::<u16, 8, _>(next))),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Scope {
    /// Not an address of one machine.
    Kept,
    /// This number of leading octets determines the scope.
    Prefix(usize),
    Public,
}

fn scope4(address: Ipv4Addr) -> Scope {
    match address.octets() {
        [0 | 224.., ..] => Scope::Kept,
        [127 | 10, ..] => Scope::Prefix(1),
        [192, 168, ..] | [169, 254, ..] | [172, 16..32, ..] => Scope::Prefix(2),
        _ => Scope::Public,
    }
}

fn same_scope(one: IpAddr, other: IpAddr) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => scope4(one) == scope4(other),
        // Only the digits that are written count; no replacement may become mapped, nor stop being so.
        (IpAddr::V6(one), IpAddr::V6(other)) if kept_groups(one) == 6 => kept_groups(other) == 6,
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            // An address that maps or embeds IPv4 prints with dots.
            let dots = |address: Ipv6Addr| address.to_string().contains('.');
            one.to_string().len() == other.to_string().len() && dots(one) == dots(other)
        }
        _ => false,
    }
}

/// Octets with as many decimal digits.
fn decimal(octet: u8) -> RangeInclusive<u16> {
    match octet {
        0..10 => 0..=9,
        10..100 => 10..=99,
        100.. => 100..=255,
    }
}

/// Groups with as many hexadecimal digits; zero only for zero, because runs of zeros are left out.
fn hexadecimal(group: u16) -> RangeInclusive<u16> {
    match group {
        0 => 0..=0,
        1..0x10 => 1..=0xf,
        0x10..0x100 => 0x10..=0xff,
        0x100..0x1000 => 0x100..=0xfff,
        0x1000.. => 0x1000..=0xffff,
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014), begun from a seed and what is to be replaced.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64, name: &[u8]) -> Random {
        let mut random = Random(seed);
        for &byte in name {
            random.0 = random.next() ^ u64::from(byte);
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is small enough that the bias of a remainder does not matter.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given_for(mut map: AddressMap, addresses: &[&str]) -> AddressMap {
        map.give(&addresses.iter().map(|text| text.parse().expect("valid")).collect());
        map
    }

    #[test]
    fn every_replacement_is_another_address_as_long_and_of_the_same_scope() {
        let mut given = BTreeSet::new();
        let texts = [
            "192.168.1.5",
            "192.168.1.50",
            "10.0.0.1",
            "8.8.8.8",
            "203.0.113.77",
            "2001:db8::1",
            "fe80::1",
            "fd00::2:3",
        ];
        let map = given_for(AddressMap::new(1, false, BTreeSet::new()), &texts);
        for text in texts {
            let address: IpAddr = text.parse().expect("valid");
            let mapped = map.map(address);
            assert_eq!(mapped.to_string().len(), text.len(), "{text} became {mapped}");
            assert!(same_scope(address, mapped) && mapped != address, "{text} became {mapped}");
            given.insert(mapped);
        }
        assert_eq!(given.len(), 8);
    }

    #[test]
    fn addresses_of_no_machine_and_loopback_stay() {
        let texts = ["0.0.0.0", "127.0.0.1", "224.0.0.251", "255.255.255.0", "::", "::1", "ff02::fb", "10.0.0.7"];
        let kept = BTreeSet::from([IpAddr::from([10, 0, 0, 7])]);
        let map = given_for(AddressMap::new(1, false, kept), &texts);
        for text in texts {
            let address: IpAddr = text.parse().expect("valid");
            assert_eq!(map.map(address), address);
            assert!(!map.replaces(address));
        }
        let map = given_for(AddressMap::new(1, true, BTreeSet::new()), &["127.0.0.1"]);
        let mapped = map.map(IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert!(mapped.is_loopback() && mapped.to_string().len() == 9);
    }

    #[test]
    fn all_addresses_of_a_full_class_find_a_place() {
        let mut map = AddressMap::new(7, false, BTreeSet::new());
        let all: BTreeSet<IpAddr> = (0..10)
            .flat_map(|a| (0..10).flat_map(move |b| (0..10).map(move |c| IpAddr::from([10, a, b, c]))))
            .collect();
        map.give(&all);
        let given: BTreeSet<IpAddr> = all.iter().map(|&address| map.map(address)).collect();
        assert_eq!(given, all);
    }

    #[test]
    fn no_replacement_is_an_address_to_replace_while_there_are_others() {
        let mut map = AddressMap::new(7, false, BTreeSet::new());
        let secrets: BTreeSet<IpAddr> =
            (0..4).flat_map(|a| (0..100).map(move |b| IpAddr::from([10, a, b / 10, b % 10]))).collect();
        map.give(&secrets);
        assert_eq!(map.replaced().count(), 400);
        assert!(map.replaced().all(|(_, new)| !secrets.contains(&new)));
    }
}
