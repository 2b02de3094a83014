//! Strings for strings of the same length, found in one walk over the bytes.

use std::collections::HashMap;

use super::addresses::Random;

/// What may stand beside a string for it to be the string and not a part of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Any,
    /// No letter or digit.
    Word,
    /// Nothing that an IPv4 address goes on with.
    Dotted,
    /// Nothing that an IPv6 address goes on with.
    Colons,
}

#[derive(Debug)]
struct Word {
    old: Vec<u8>,
    new: Vec<u8>,
    edge: Edge,
}

#[derive(Debug)]
pub(super) struct Words {
    seed: u64,
    words: Vec<Word>,
    whole: HashMap<Vec<u8>, Vec<u8>>,
    /// For each first byte, the words that begin with it, longest first.
    by_first: Vec<Vec<usize>>,
}

impl Words {
    pub(super) fn new(seed: u64) -> Words {
        Words { seed, words: Vec::new(), whole: HashMap::new(), by_first: vec![Vec::new(); 256] }
    }

    /// False when the string is known already; what came first stays.
    pub(super) fn add(&mut self, old: &[u8], new: Option<&[u8]>, edge: Edge) -> bool {
        if old.is_empty() || self.whole.contains_key(old) {
            return false;
        }
        let new = new.map_or_else(|| self.disguise(old), <[u8]>::to_vec);
        self.whole.insert(old.to_vec(), new.clone());
        self.words.push(Word { old: old.to_vec(), new, edge });
        true
    }

    /// Adds a host name and, as programs print it as often, its first label; false when all its
    /// labels are shorter than `shortest` and therefore stay.
    pub(super) fn add_name(&mut self, name: &[u8], shortest: usize) -> bool {
        let new: Vec<u8> = name
            .split_inclusive(|&byte| byte == b'.')
            .flat_map(|label| {
                let bare = label.strip_suffix(b".").unwrap_or(label);
                // Label by label, so that two names of one domain stay names of one domain.
                let new = if bare.len() < shortest { bare.to_vec() } else { self.disguise(bare) };
                [new, label[bare.len()..].to_vec()].concat()
            })
            .collect();
        if new == name {
            return false;
        }
        self.add(name, Some(&new), Edge::Word);
        let first = name.iter().position(|&byte| byte == b'.').unwrap_or(0);
        if first >= shortest {
            self.add(&name[..first], Some(&new[..first]), Edge::Word);
        }
        true
    }

    /// Letters for letters, digits for digits; other bytes stay.
    fn disguise(&self, old: &[u8]) -> Vec<u8> {
        let mut random = Random::new(self.seed, old);
        let other = |&byte: &u8| match byte {
            b'a'..=b'z' => b'a' + random.below(26) as u8,
            b'A'..=b'Z' => b'A' + random.below(26) as u8,
            b'0'..=b'9' => b'0' + random.below(10) as u8,
            other => other,
        };
        old.iter().map(other).collect()
    }

    /// Ends adding.
    pub(super) fn finish(&mut self) {
        self.words.sort_by_key(|word| std::cmp::Reverse(word.old.len()));
        for (place, word) in self.words.iter().enumerate() {
            self.by_first[usize::from(word.old[0])].push(place);
        }
    }

    /// Replaces `text` when all of it is a known word.
    pub(super) fn replace_whole(&self, text: &mut [u8]) -> bool {
        match self.whole.get(text) {
            Some(new) => {
                text.copy_from_slice(new);
                true
            }
            None => false,
        }
    }

    /// Replaces every word in `text`; at each place the longest. Returns how many.
    pub(super) fn replace(&self, text: &mut [u8]) -> u64 {
        let (mut at, mut replaced) = (0, 0);
        // What stood before the place, as it was before it was replaced.
        let mut before: Option<u8> = None;
        while at < text.len() {
            let candidates = &self.by_first[usize::from(text[at])];
            let found = candidates.iter().map(|&word| &self.words[word]).find(|word| {
                text[at..].starts_with(&word.old) && stands_alone(word.edge, before, text.get(at + word.old.len()))
            });
            match found {
                Some(word) => {
                    before = word.old.last().copied();
                    text[at..at + word.old.len()].copy_from_slice(&word.new);
                    at += word.old.len();
                    replaced += 1;
                }
                None => {
                    before = Some(text[at]);
                    at += 1;
                }
            }
        }
        replaced
    }
}

fn stands_alone(edge: Edge, before: Option<u8>, after: Option<&u8>) -> bool {
    let (before, after) = (before.unwrap_or(b' '), after.copied().unwrap_or(b' '));
    match edge {
        Edge::Any => true,
        Edge::Word => !before.is_ascii_alphanumeric() && !after.is_ascii_alphanumeric(),
        // A full stop may end the sentence that an address stands in; so may a colon begin a port.
        Edge::Dotted => !(before.is_ascii_digit() || before == b'.' || after.is_ascii_digit()),
        Edge::Colons => !(before.is_ascii_hexdigit() || before == b':' || after.is_ascii_hexdigit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(words: &Words, text: &str) -> String {
        let mut text = text.as_bytes().to_vec();
        words.replace(&mut text);
        String::from_utf8(text).expect("replacements are ASCII")
    }

    #[test]
    fn an_address_is_not_found_inside_a_longer_one() {
        let mut words = Words::new(0);
        words.add(b"10.0.0.1", Some(b"10.9.9.9"), Edge::Dotted);
        words.finish();
        assert_eq!(
            replaced(&words, "10.0.0.1:80 10.0.0.12 110.0.0.1 10.0.0.1."),
            "10.9.9.9:80 10.0.0.12 110.0.0.1 10.9.9.9."
        );
    }

    #[test]
    fn the_longest_word_wins_and_names_of_one_domain_stay_together() {
        let mut words = Words::new(3);
        words.add_name(b"alpha.example", 4);
        words.add_name(b"beta7.example", 4);
        words.finish();
        let one = replaced(&words, "<alpha.example> alpha alphabet");
        let other = replaced(&words, "beta7.example");
        assert_eq!(one[6..14], other[5..13], "{one} {other}");
        assert_eq!(one[1..6], one[16..21], "{one}");
        assert!(one.ends_with(" alphabet") && !one.contains("example"), "{one}");
        assert!(other.as_bytes()[4].is_ascii_digit(), "{other}");
    }

    #[test]
    fn short_labels_stay() {
        let mut words = Words::new(3);
        assert!(!words.add_name(b"vm", 4));
        assert!(words.add_name(b"db.example.com", 4));
        words.finish();
        let name = replaced(&words, "db.example.com on vm is no example");
        assert!(name.starts_with("db.") && name.ends_with(".com on vm is no example"), "{name}");
        assert!(!name.starts_with("db.example"), "{name}");
    }
}
