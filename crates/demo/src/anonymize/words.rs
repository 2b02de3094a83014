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

    /// Makes the first `length` bytes of a known word a word of its own, replaced as in the word.
    pub(super) fn add_part_of(&mut self, word: &[u8], length: usize) {
        if let Some(new) = self.whole.get(word).map(|new| new[..length].to_vec()) {
            self.add(&word[..length], Some(&new), Edge::Word);
        }
    }

    /// Letters for letters, digits for digits; other bytes stay. Label by label, so that two names
    /// of one domain stay names of one domain.
    fn disguise(&self, old: &[u8]) -> Vec<u8> {
        let mut new = Vec::with_capacity(old.len());
        for label in old.split_inclusive(|&byte| byte == b'.') {
            let mut random = Random::new(self.seed, label.strip_suffix(b".").unwrap_or(label));
            new.extend(label.iter().map(|&byte| match byte {
                b'a'..=b'z' => b'a' + random.below(26) as u8,
                b'A'..=b'Z' => b'A' + random.below(26) as u8,
                b'0'..=b'9' => b'0' + random.below(10) as u8,
                other => other,
            }));
        }
        new
    }

    /// Names shorter than this are no longer searched for in text.
    pub(super) fn finish(&mut self, shortest_name: usize) {
        self.words.retain(|word| word.edge != Edge::Word || word.old.len() >= shortest_name);
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
        words.finish(0);
        assert_eq!(
            replaced(&words, "10.0.0.1:80 10.0.0.12 110.0.0.1 10.0.0.1."),
            "10.9.9.9:80 10.0.0.12 110.0.0.1 10.9.9.9."
        );
    }

    #[test]
    fn the_longest_word_wins_and_names_of_one_domain_stay_together() {
        let mut words = Words::new(3);
        words.add(b"alpha.example", None, Edge::Word);
        words.add(b"beta7.example", None, Edge::Word);
        words.add_part_of(b"alpha.example", 5);
        words.finish(4);
        let one = replaced(&words, "<alpha.example> alpha alphabet");
        let other = replaced(&words, "beta7.example");
        assert_eq!(one[6..14], other[5..13], "{one} {other}");
        assert_eq!(one[1..6], one[16..21], "{one}");
        assert!(one.ends_with(" alphabet") && !one.contains("example"), "{one}");
        assert!(other.as_bytes()[4].is_ascii_digit(), "{other}");
    }

    #[test]
    fn a_short_name_is_replaced_only_where_it_is_known_to_be_one() {
        let mut words = Words::new(3);
        words.add(b"db", None, Edge::Word);
        words.finish(4);
        assert_eq!(replaced(&words, "the db here"), "the db here");
        let mut name = *b"db";
        assert!(words.replace_whole(&mut name) && &name != b"db");
    }
}
