//! Addresses in text, in every way that people and programs write them.
//!
//! An address is found together with the places of its digits, so that another one with as many
//! digits can be written over it: brackets, zones, zeros in front and capitals stay as they are.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes that the longest spelling of an address takes, with what has to be seen before and after
/// it: eight groups of four digits and seven colons as `%3A`, and some more.
pub(super) const LONGEST: usize = 80;
/// Bytes before an address that say whether it begins there.
pub(super) const BEFORE: usize = 4;

/// Digits of a number: where they stand, how many there are, and what they say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Digits {
    at: usize,
    length: usize,
    value: u16,
}

/// An address in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spelled {
    /// IPv4 address of four numbers. `alone`: with full stops, and not a part of a longer row of numbers.
    Ip4 { address: Ipv4Addr, octets: [Digits; 4], alone: bool },
    /// Groups by their place among the eight. Where the last four bytes are written as an IPv4
    /// address they are left out, and zero in `address`: that one is found for itself.
    Ip6 { address: Ipv6Addr, groups: Vec<(usize, Digits)> },
    /// A hardware address: six pairs of hexadecimal digits with separators.
    Hardware { address: [u8; 6], pairs: [Digits; 6] },
}

impl Spelled {
    /// The place behind the last digit.
    pub(super) fn end(&self) -> usize {
        let last = match self {
            Spelled::Ip4 { octets, .. } => octets.last(),
            Spelled::Ip6 { groups, .. } => groups.last().map(|(_, digits)| digits),
            Spelled::Hardware { pairs, .. } => pairs.last(),
        };
        last.map_or(0, |digits| digits.at + digits.length)
    }

    /// Writes the digits of an IPv4 address over those that were found in `text`.
    pub(super) fn write4(octets: &[Digits; 4], new: Ipv4Addr, text: &mut [u8]) {
        for (digits, octet) in octets.iter().zip(new.octets()) {
            let written = format!("{octet:0width$}", width = digits.length);
            digits.write(&written, text);
        }
    }

    /// Writes an IPv6 address into its groups, as [`Spelled::write4`] does.
    pub(super) fn write6(groups: &[(usize, Digits)], new: Ipv6Addr, text: &mut [u8]) {
        let capitals = has_capitals(groups.iter().map(|(_, digits)| digits), text);
        for (place, digits) in groups {
            let Some(&segment) = new.segments().get(*place) else { continue };
            write_hexadecimal(*digits, segment, capitals, text);
        }
    }

    /// Writes a hardware address into its pairs, as [`Spelled::write4`] does.
    pub(super) fn write_hardware(pairs: &[Digits; 6], new: [u8; 6], text: &mut [u8]) {
        let capitals = has_capitals(pairs.iter(), text);
        for (digits, byte) in pairs.iter().zip(new) {
            write_hexadecimal(*digits, u16::from(byte), capitals, text);
        }
    }
}

fn has_capitals<'a>(mut digits: impl Iterator<Item = &'a Digits>, text: &[u8]) -> bool {
    digits.any(|digits| text.iter().skip(digits.at).take(digits.length).any(u8::is_ascii_uppercase))
}

fn write_hexadecimal(digits: Digits, value: u16, capitals: bool, text: &mut [u8]) {
    let width = digits.length;
    let written = if capitals { format!("{value:0width$X}") } else { format!("{value:0width$x}") };
    digits.write(&written, text);
}

impl Digits {
    /// Writes as many digits over these. A replacement has as many; were it longer, nothing is better than a panic on a
    /// stranger's demo.
    fn write(self, written: &str, text: &mut [u8]) {
        if let Some(place) = text.get_mut(self.at..self.at + self.length).filter(|place| place.len() == written.len()) {
            place.copy_from_slice(written.as_bytes());
        }
    }
}

/// The address that begins at `at`, if one does: of several readings the longest.
#[inline]
pub(super) fn address_at(text: &[u8], at: usize) -> Option<Spelled> {
    let first = *text.get(at)?;
    if !first.is_ascii_hexdigit() && first != b':' && first != b'%' {
        return None;
    }
    if first.is_ascii_hexdigit() && !begins(text, at, u8::is_ascii_hexdigit) {
        // An IPv4 address may follow a letter.
        return if first.is_ascii_digit() && begins(text, at, u8::is_ascii_digit) { ip4(text, at) } else { None };
    }
    ip6(text, at).or_else(|| hardware(text, at)).or_else(|| ip4(text, at))
}

/// False when the digit at `at` goes on with a number.
fn begins(text: &[u8], at: usize, is_digit: impl Fn(&u8) -> bool) -> bool {
    before(text, at).is_none_or(|before| !is_digit(&before))
}

/// The byte before `at`, unless it ends an escape as `%20` or `\\n`, which stands for another.
pub(super) fn before(text: &[u8], at: usize) -> Option<u8> {
    let before = *text.get(at.checked_sub(1)?)?;
    let escaped = match *text.get(..at - 1)? {
        [.., b'%', first] => first.is_ascii_hexdigit() && before.is_ascii_hexdigit(),
        [.., b'\\'] => before.is_ascii_alphabetic(),
        _ => false,
    };
    (!escaped).then_some(before)
}

/// Up to `most` digits of base 16 or 10 from `at` on; none when there are more of them, or none.
fn digits(text: &[u8], at: usize, radix: u32, most: usize) -> Option<Digits> {
    let (mut length, mut value) = (0, 0u16);
    while let Some(digit) = text.get(at + length).and_then(|&byte| char::from(byte).to_digit(radix)) {
        if length == most {
            return None;
        }
        value = value * radix as u16 + digit as u16;
        length += 1;
    }
    (length > 0).then_some(Digits { at, length, value })
}

fn ip4(text: &[u8], at: usize) -> Option<Spelled> {
    let mut octets = [Digits::default(); 4];
    let mut next = at;
    let mut separator = None;
    for (place, octet) in octets.iter_mut().enumerate() {
        if place > 0 {
            let found = *text.get(next)?;
            if !matches!(found, b'.' | b'-' | b'_') || *separator.get_or_insert(found) != found {
                return None;
            }
            next += 1;
        }
        *octet = digits(text, next, 10, 3).filter(|digits| digits.value <= 255)?;
        next += octet.length;
    }
    let address = Ipv4Addr::from(octets.map(|octet| octet.value as u8));
    let dot = |place: Option<usize>| place.is_some_and(|place| text.get(place) == Some(&b'.'));
    let digit = |place: Option<usize>| place.and_then(|place| text.get(place)).is_some_and(u8::is_ascii_digit);
    let goes_on = (dot(at.checked_sub(1)) && digit(at.checked_sub(2))) || (dot(Some(next)) && digit(Some(next + 1)));
    Some(Spelled::Ip4 { address, octets, alone: separator == Some(b'.') && !goes_on })
}

/// Bytes of the colon at `at`, which may be written as in a URL.
fn colon(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at..)? {
        [b':', ..] => Some(1),
        [b'%', b'3', b'A' | b'a', ..] => Some(3),
        _ => None,
    }
}

fn ip6(text: &[u8], start: usize) -> Option<Spelled> {
    let mut groups: Vec<Digits> = Vec::new();
    // How many groups stand before `::`.
    let mut gap = None;
    let mut dotted = false;
    let mut at = start;
    if let Some(one) = colon(text, at) {
        at += one + colon(text, at + one)?;
        gap = Some(0);
    }
    // Where the last group with its colon before it ends.
    let mut end = at;
    while groups.len() < 8 {
        if groups.len() <= 6 && digits(text, at, 10, 3).is_some() {
            let tail = ip4(text, at);
            if matches!(tail, Some(Spelled::Ip4 { ref octets, .. }) if text.get(octets[0].at + octets[0].length) == Some(&b'.'))
            {
                dotted = true;
                end = at;
                break;
            }
        }
        let Some(group) = digits(text, at, 16, 4) else { break };
        groups.push(group);
        at += group.length;
        end = at;
        let Some(one) = colon(text, at) else { break };
        match colon(text, at + one) {
            Some(_) if gap.is_some() => break,
            Some(two) => {
                gap = Some(groups.len());
                at += one + two;
                end = at;
            }
            None => at += one,
        }
    }
    let count = groups.len() + if dotted { 2 } else { 0 };
    let whole = if gap.is_some() { count < 8 } else { count == 8 };
    // `module::name` is no address that ends in zeros.
    let ends_in_gap = gap == Some(groups.len()) && !dotted;
    let named = text.get(end).is_some_and(|after| after.is_ascii_alphanumeric() || *after == b'_');
    if !whole || groups.is_empty() || (ends_in_gap && named) {
        return None;
    }
    let before = gap.unwrap_or(groups.len());
    let skipped = if gap.is_some() { 8 - count } else { 0 };
    let mut segments = [0; 8];
    let placed: Vec<(usize, Digits)> = groups
        .into_iter()
        .enumerate()
        .map(|(number, digits)| (if number < before { number } else { number + skipped }, digits))
        .collect();
    for (place, digits) in &placed {
        *segments.get_mut(*place)? = digits.value;
    }
    Some(Spelled::Ip6 { address: Ipv6Addr::from(segments), groups: placed })
}

fn hardware(text: &[u8], start: usize) -> Option<Spelled> {
    let mut pairs = [Digits::default(); 6];
    let separator = |at: usize| match text.get(at) {
        Some(b'-') => Some((b'-', 1)),
        _ => colon(text, at).map(|length| (b':', length)),
    };
    let mut at = start;
    let mut first = None;
    for (place, pair) in pairs.iter_mut().enumerate() {
        if place > 0 {
            let (found, length) = separator(at)?;
            if *first.get_or_insert(found) != found {
                return None;
            }
            at += length;
        }
        *pair = digits(text, at, 16, 2).filter(|pair| pair.length == 2)?;
        at += 2;
    }
    // A part of a fingerprint, say.
    let goes_on = separator(at).is_some_and(|(_, length)| text.get(at + length).is_some_and(u8::is_ascii_hexdigit));
    let before = start.checked_sub(2).and_then(|before| text.get(before..start));
    let follows = matches!(before, Some([digit, b':' | b'-']) if digit.is_ascii_hexdigit());
    if goes_on || follows {
        return None;
    }
    Some(Spelled::Hardware { address: pairs.map(|pair| pair.value as u8), pairs })
}

/// True if text that reads as this IPv6 address is taken for one: global, local and mapped addresses (RFC 4291, RFC
/// 4193, RFC 6052). Others, such as `d::` of `std::vector`, do not occur in servers.
pub(super) fn is_plausible(address: Ipv6Addr) -> bool {
    matches!(
        address.segments(),
        [0x2000..=0x3fff | 0xfc00..=0xfdff | 0xfe80..=0xfeff, ..]
            | [0, 0, 0, 0, 0, 0xffff, 1..=0xffff, _]
            | [0x64, 0xff9b, 0, 0, 0, 0, 1..=0xffff, _]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every address that is found, in the standard spelling.
    fn found(text: &str) -> Vec<String> {
        let (mut at, mut all) = (0, Vec::new());
        while at < text.len() {
            match address_at(text.as_bytes(), at) {
                Some(Spelled::Ip4 { address, alone, .. }) => {
                    all.push(format!("{}{address}", if alone { "" } else { "part " }));
                }
                Some(Spelled::Ip6 { address, .. }) if is_plausible(address) => all.push(address.to_string()),
                Some(Spelled::Hardware { address, .. }) => all.push(format!("{address:02x?}")),
                _ => {
                    at += 1;
                    continue;
                }
            }
            at = address_at(text.as_bytes(), at).expect("just found").end();
        }
        all
    }

    #[test]
    fn addresses_of_every_spelling_are_found() {
        for (text, expected) in [
            ("10.0.0.7:80, v1.2.3.4.", &["10.0.0.7", "1.2.3.4"][..]),
            ("010.000.000.007", &["10.0.0.7"]),
            ("ip-10-0-0-7.internal", &["part 10.0.0.7"]),
            ("10.0.0.7.53 1.3.6.1.4.1", &["part 10.0.0.7", "part 1.3.6.1"]),
            ("256.1.1.1 1.2.3 1.2.3.4567", &[]),
            ("q=%2010.0.0.7%20", &["10.0.0.7"]),
            ("2001:db8::1 2001:0DB8:0:0:0:0:0:1", &["2001:db8::1", "2001:db8::1"]),
            ("[2001:db8::1]:80 fe80::1%eth0", &["2001:db8::1", "fe80::1"]),
            ("from:2001:db8::1: next", &["2001:db8::1"]),
            ("2001:db8:1:2:3:4:5:6:8080", &["2001:db8:1:2:3:4:5:6"]),
            ("2001%3Adb8%3a%3A1", &["2001:db8::1"]),
            ("::ffff:10.0.0.7 ::ffff:a00:7", &["10.0.0.7", "::ffff:10.0.0.7"]),
            ("2001:db8::10.0.0.7", &["2001:db8::", "10.0.0.7"]),
            ("2001:db8::/32", &["2001:db8::"]),
            ("\\n2001:db8::1\\f2001:db8::2", &["2001:db8::1", "2001:db8::2"]),
            ("12:34:56 std::vector dead::beef Class2000::method ::1", &[]),
            ("52:54:00:aB:cd:ef 52-54-00-ab-cd-ef", &["[52, 54, 00, ab, cd, ef]", "[52, 54, 00, ab, cd, ef]"]),
            ("ab:cd:ef:01:23:45:67:89:ab:cd", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn other_digits_are_written_in_the_same_spelling() {
        let mut text = b"2001:0DB8::00c1".to_vec();
        let Some(Spelled::Ip6 { groups, .. }) = address_at(&text, 0) else { panic!("an address") };
        Spelled::write6(&groups, "2abc:ccc::d2".parse().expect("valid"), &mut text);
        assert_eq!(text, b"2ABC:0CCC::00D2");
        let mut text = b"010.000.000.007".to_vec();
        let Some(Spelled::Ip4 { octets, .. }) = address_at(&text, 0) else { panic!("an address") };
        Spelled::write4(&octets, Ipv4Addr::new(10, 3, 4, 5), &mut text);
        assert_eq!(text, b"010.003.004.005");
    }
}
