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
    given: BTreeMap<IpAddr, IpAddr>,
    taken: BTreeSet<IpAddr>,
}

impl AddressMap {
    pub(super) fn new(seed: u64, map_loopback: bool) -> AddressMap {
        AddressMap { seed, map_loopback, given: BTreeMap::new(), taken: BTreeSet::new() }
    }

    pub(super) fn map(&mut self, address: IpAddr) -> IpAddr {
        if let Some(&given) = self.given.get(&address) {
            return given;
        }
        let given = match self.choices(address) {
            None => address,
            Some(choices) => self.choose(address, &choices),
        };
        self.given.insert(address, given);
        self.taken.insert(given);
        given
    }

    /// What may stand in each octet or group; `None` for an address that says nothing about anybody.
    fn choices(&self, address: IpAddr) -> Option<Vec<RangeInclusive<u16>>> {
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
                // Beyond 2000::/3 and fc00::/7 the first group says what kind of address it is.
                if v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() {
                    return None;
                }
                let groups = v6.segments();
                let first = match groups[0] {
                    0x2000..=0x3fff => 0x2000..=0x3fff,
                    kept => kept..=kept,
                };
                Some(std::iter::once(first).chain(groups[1..].iter().map(|&group| hexadecimal(group))).collect())
            }
        }
    }

    /// Starts somewhere among all combinations and takes the first that is free. There is one:
    /// every address that was given out before came for another of the same digits and scope.
    fn choose(&self, address: IpAddr, choices: &[RangeInclusive<u16>]) -> IpAddr {
        let mut random = Random::new(self.seed, address.to_string().as_bytes());
        let mut digits: Vec<usize> = choices.iter().map(|choice| random.below(width(choice))).collect();
        loop {
            let candidate = assemble(address, choices, &digits);
            if same_scope(address, candidate) && !self.taken.contains(&candidate) {
                return candidate;
            }
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

fn width(choice: &RangeInclusive<u16>) -> usize {
    usize::from(choice.end() - choice.start()) + 1
}

fn assemble(like: IpAddr, choices: &[RangeInclusive<u16>], digits: &[usize]) -> IpAddr {
    let chosen = |place: usize| choices[place].start() + digits[place] as u16;
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(std::array::from_fn(|place| chosen(place) as u8))),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(std::array::from_fn::<u16, 8, _>(chosen))),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Scope {
    /// Not an address of one machine.
    Kept,
    /// So many octets say the scope.
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

    #[test]
    fn every_replacement_is_another_address_as_long_and_of_the_same_scope() {
        let mut map = AddressMap::new(1, false);
        let mut given = BTreeSet::new();
        for text in [
            "192.168.1.5",
            "192.168.1.50",
            "10.0.0.1",
            "8.8.8.8",
            "203.0.113.77",
            "2001:db8::1",
            "fe80::1",
            "fd00::2:3",
        ] {
            let address: IpAddr = text.parse().expect("valid");
            let mapped = map.map(address);
            assert_eq!(mapped.to_string().len(), text.len(), "{text} became {mapped}");
            assert!(same_scope(address, mapped), "{text} became {mapped}");
            assert_eq!(map.map(address), mapped);
            given.insert(mapped);
        }
        assert_eq!(given.len(), 8);
    }

    #[test]
    fn addresses_of_no_machine_and_loopback_stay() {
        let mut map = AddressMap::new(1, false);
        for text in ["0.0.0.0", "127.0.0.1", "224.0.0.251", "255.255.255.0", "::", "::1", "ff02::fb"] {
            let address: IpAddr = text.parse().expect("valid");
            assert_eq!(map.map(address), address);
        }
        let mut map = AddressMap::new(1, true);
        let mapped = map.map(IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert!(mapped.is_loopback() && mapped.to_string().len() == 9);
    }

    #[test]
    fn all_addresses_of_a_full_class_find_a_place() {
        let mut map = AddressMap::new(7, false);
        let all: BTreeSet<IpAddr> = (0..10)
            .flat_map(|a| (0..10).flat_map(move |b| (0..10).map(move |c| IpAddr::from([10, a, b, c]))))
            .map(|address| map.map(address))
            .collect();
        assert_eq!(all.len(), 1000);
    }
}
