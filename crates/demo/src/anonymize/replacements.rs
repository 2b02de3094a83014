//! Strings for strings of the same length, found in one walk over the bytes.

use super::addresses::Random;
use super::needles::Needles;
use super::spelling;

/// Neighbours that a match may have without being part of a longer word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Any,
    /// The neighbours are no letters or digits.
    Word,
    /// The neighbours are no hexadecimal digits.
    Hexadecimal,
}

/// A string and what stands for it.
#[derive(Debug)]
pub(super) struct Replacement {
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
    pub(super) edge: Edge,
}

#[derive(Debug)]
pub(super) struct Replacements {
    seed: u64,
    entries: Vec<Replacement>,
    needles: Needles<usize>,
}

impl Replacements {
    pub(super) fn new(seed: u64) -> Replacements {
        Replacements { seed, entries: Vec::new(), needles: Needles::new() }
    }

    /// Adds a string in any case, and as it stands in a URL. False when it is known already; what
    /// came first stays.
    pub(super) fn add(&mut self, old: &[u8], new: Option<&[u8]>, edge: Edge) -> bool {
        let new = new.map_or_else(|| self.disguise(old), <[u8]>::to_vec);
        if !self.put(old, &new, edge) {
            return false;
        }
        let encoded = percent_encoded(old);
        if encoded != old {
            let mut other = percent_encoded(&new);
            if other.len() != encoded.len() {
                // Letters and digits outside of escapes; what an escape says stays.
                other = encoded.clone();
                let mut at = 0;
                while let Some(byte) = other.get_mut(at) {
                    match byte {
                        b'%' => at += 3,
                        byte => {
                            *byte = self.disguise_byte(&encoded, at);
                            at += 1;
                        }
                    }
                }
            }
            self.put(&encoded, &other, edge);
        }
        true
    }

    /// Adds bytes that are found as they are only.
    pub(super) fn add_raw(&mut self, old: &[u8], new: &[u8]) {
        if self.needles.add_exact(old, self.entries.len()) {
            self.entries.push(Replacement { old: old.to_vec(), new: new.to_vec(), edge: Edge::Any });
        }
    }

    /// Adds hexadecimal digits, to be found in capitals and small letters.
    pub(super) fn add_hexadecimal(&mut self, old: &[u8], new: &[u8]) {
        self.put(old, new, Edge::Hexadecimal);
    }

    fn put(&mut self, old: &[u8], new: &[u8], edge: Edge) -> bool {
        let added = self.needles.add_folded(old, self.entries.len());
        if added {
            self.entries.push(Replacement { old: old.to_vec(), new: new.to_vec(), edge });
        }
        added
    }

    /// Adds a host name and, as programs print it as often, its first label; also as it stands in
    /// packets of DNS. False when all its labels are shorter than `shortest` and therefore stay.
    pub(super) fn add_name(&mut self, name: &[u8], shortest: usize) -> bool {
        let new: Vec<u8> = name
            .split_inclusive(|&byte| byte == b'.')
            .flat_map(|label| {
                let bare = label.strip_suffix(b".").unwrap_or(label);
                // Label by label, so that two names of one domain stay names of one domain, and
                // in small letters, so that they do so in any case.
                let new = if bare.len() < shortest {
                    bare.to_vec()
                } else {
                    cased(&self.disguise(&bare.to_ascii_lowercase()), &bare.to_ascii_lowercase(), bare)
                };
                [new.as_slice(), label.get(bare.len()..).unwrap_or_default()].concat()
            })
            .collect();
        if new == name {
            return false;
        }
        self.add(name, Some(&new), Edge::Word);
        if let (Some(old), Some(new)) = (in_packets(name), in_packets(&new)) {
            self.put(&old, &new, Edge::Any);
        }
        let first = name.iter().position(|&byte| byte == b'.').unwrap_or(0);
        if first >= shortest {
            self.add(name.get(..first).unwrap_or_default(), new.get(..first), Edge::Word);
        }
        true
    }

    /// Letters for letters, digits for digits; other bytes stay.
    fn disguise(&self, old: &[u8]) -> Vec<u8> {
        let mut random = Random::new(self.seed, old);
        let disguised: Vec<u8> = old.iter().map(|&byte| disguised(byte, &mut random)).collect();
        if !disguised.eq_ignore_ascii_case(old) {
            return disguised;
        }
        // By chance itself: every letter and digit one further.
        let next = |&byte: &u8| match byte {
            b'z' => b'a',
            b'Z' => b'A',
            b'9' => b'0',
            b'a'..=b'y' | b'A'..=b'Y' | b'0'..=b'8' => byte + 1,
            other => other,
        };
        old.iter().map(next).collect()
    }

    #[expect(clippy::indexing_slicing, reason = "`at` is a place of the text")]
    fn disguise_byte(&self, text: &[u8], at: usize) -> u8 {
        disguised(text[at], &mut Random::new(self.seed, &text[..=at]))
    }

    /// Every string and what stands for it.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Replacement> {
        self.entries.iter()
    }

    /// Bytes of the longest string.
    pub(super) fn longest(&self) -> usize {
        self.needles.longest()
    }

    /// Replaces `text` when all of it is a known word.
    pub(super) fn replace_whole(&self, text: &mut [u8]) -> bool {
        let Some(word) = self.needles.folded(text).and_then(|word| self.entries.get(word)) else { return false };
        let new = cased(&word.new, &word.old, text);
        text.copy_from_slice(&new);
        true
    }

    /// The longest word that begins at `at`: its length and what to write there.
    pub(super) fn at(&self, text: &[u8], at: usize) -> Option<(usize, Vec<u8>)> {
        let mut found = None;
        self.needles.at(text, at, |length, word| {
            let (Some(word), Some(found_text)) = (self.entries.get(word), text.get(at..at + length)) else {
                return false;
            };
            let fits = stands_alone(word.edge, spelling::before(text, at), text.get(at + length));
            if fits {
                let new = match word.edge {
                    // All digits are in one case, whichever of them are letters.
                    Edge::Hexadecimal if found_text.iter().any(u8::is_ascii_uppercase) => word.new.to_ascii_uppercase(),
                    Edge::Hexadecimal => word.new.clone(),
                    Edge::Any | Edge::Word => cased(&word.new, &word.old, found_text),
                };
                found = Some((length, new));
            }
            fits
        });
        found
    }
}

fn disguised(byte: u8, random: &mut Random) -> u8 {
    match byte {
        b'a'..=b'z' => b'a' + random.below(26) as u8,
        b'A'..=b'Z' => b'A' + random.below(26) as u8,
        b'0'..=b'9' => b'0' + random.below(10) as u8,
        other => other,
    }
}

/// `new` with capitals where `found` differs from `old` by a capital, and small letters likewise.
fn cased(new: &[u8], old: &[u8], found: &[u8]) -> Vec<u8> {
    let one = |((&new, &old), &found): ((&u8, &u8), &u8)| match found {
        _ if found == old => new,
        b'A'..=b'Z' => new.to_ascii_uppercase(),
        _ => new.to_ascii_lowercase(),
    };
    new.iter().zip(old).zip(found).map(one).collect()
}

/// All but the unreserved characters of RFC 3986 as `%XX`.
fn percent_encoded(text: &[u8]) -> Vec<u8> {
    let one = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => vec![byte],
        other => format!("%{other:02X}").into_bytes(),
    };
    text.iter().flat_map(one).collect()
}

/// A name of several labels as RFC 1035 writes it, without the length of the first one.
fn in_packets(name: &[u8]) -> Option<Vec<u8>> {
    let labels: Vec<&[u8]> = name.split(|&byte| byte == b'.').collect();
    let (first, others) = labels.split_first().filter(|(_, others)| !others.is_empty())?;
    let mut all = first.to_vec();
    for label in others {
        all.push(u8::try_from(label.len()).ok()?);
        all.extend_from_slice(label);
    }
    Some(all)
}

pub(super) fn stands_alone(edge: Edge, before: Option<u8>, after: Option<&u8>) -> bool {
    let joins: fn(&u8) -> bool = match edge {
        Edge::Any => return true,
        Edge::Word => u8::is_ascii_alphanumeric,
        Edge::Hexadecimal => u8::is_ascii_hexdigit,
    };
    !(before.is_some_and(|byte| joins(&byte)) || after.is_some_and(joins))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(replacements: &Replacements, text: &str) -> String {
        let source = text.as_bytes();
        let (mut out, mut at) = (source.to_vec(), 0);
        while at < source.len() {
            match replacements.at(source, at) {
                Some((length, new)) => {
                    out[at..at + length].copy_from_slice(&new);
                    at += length;
                }
                None => at += 1,
            }
        }
        String::from_utf8(out).expect("replacements are ASCII")
    }

    #[test]
    fn the_longest_word_wins_and_names_of_one_domain_stay_together() {
        let mut replacements = Replacements::new(3);
        replacements.add_name(b"alpha.example", 4);
        replacements.add_name(b"beta7.Example", 4);
        let one = replaced(&replacements, "<alpha.example> alpha alphabet");
        let other = replaced(&replacements, "beta7.example");
        assert_eq!(one[6..14], other[5..13], "{one} {other}");
        assert_eq!(one[1..6], one[16..21], "{one}");
        assert!(one.ends_with(" alphabet") && !one.contains("example"), "{one}");
        assert!(other.as_bytes()[4].is_ascii_digit(), "{other}");
        let packet = replaced(&replacements, "\u{5}alpha\u{7}example\u{0}");
        assert_eq!((&packet[1..6], &packet[7..14]), (&one[1..6], &one[7..14]), "{packet:?}");
    }

    #[test]
    fn short_labels_stay() {
        let mut replacements = Replacements::new(3);
        assert!(!replacements.add_name(b"vm", 4));
        assert!(replacements.add_name(b"db.example.com", 4));
        let name = replaced(&replacements, "db.example.com on vm is no example");
        assert!(name.starts_with("db.") && name.ends_with(".com on vm is no example"), "{name}");
        assert!(!name.starts_with("db.example"), "{name}");
    }

    #[test]
    fn every_case_and_the_spelling_of_urls_are_replaced() {
        let mut replacements = Replacements::new(3);
        replacements.add(b"Bob Ray", Some(b"Tim Foe"), Edge::Any);
        replacements.add(b"a/b", Some(b"abc"), Edge::Any);
        let text = replaced(&replacements, "Bob Ray BOB RAY bob ray bOb%20rAY a%2fb");
        assert!(text.starts_with("Tim Foe TIM FOE tim foe tIm%20fOE "), "{text}");
        assert!(!text.ends_with("a%2fb") && text[text.len() - 4..].starts_with("%2"), "{text}");
    }
}
