//! Many strings searched at once: a filter over their first two bytes, then one look into a hash
//! table for each length that a string with these two bytes has.
//!
//! An automaton would look at each byte once, but takes dozens of bytes of memory for each byte of
//! the strings, and there may be hundreds of thousands of them, four or sixteen random bytes each.

use rustc_hash::FxHashMap;

/// Strings, each with a value of the caller's.
#[derive(Debug)]
pub(super) struct Needles<T> {
    exact: Table<T>,
    folded: Table<T>,
    longest: usize,
}

#[derive(Debug)]
struct Table<T> {
    /// A bit for each pair of first bytes.
    filter: Vec<u64>,
    /// Lengths of the strings with this pair of first bytes, longest first.
    lengths: FxHashMap<u16, Vec<usize>>,
    values: FxHashMap<Vec<u8>, T>,
}

impl<T: Copy> Needles<T> {
    pub(super) fn new() -> Needles<T> {
        Needles { exact: Table::new(), folded: Table::new(), longest: 0 }
    }

    /// Adds a string to be found as it is; what came first stays. False when it is there already.
    pub(super) fn add_exact(&mut self, old: &[u8], value: T) -> bool {
        self.longest = self.longest.max(old.len());
        self.exact.add(old.to_vec(), value)
    }

    /// Adds a string to be found in capitals and small letters of ASCII alike.
    pub(super) fn add_folded(&mut self, old: &[u8], value: T) -> bool {
        self.longest = self.longest.max(old.len());
        self.folded.add(old.to_ascii_lowercase(), value)
    }

    /// Bytes of the longest string.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The value of `whole`, were it added as a string to be found in any case.
    pub(super) fn folded(&self, whole: &[u8]) -> Option<T> {
        self.folded.values.get(&whole.to_ascii_lowercase()).copied()
    }

    /// Calls `each` with length and value of every string that begins at `at`, longest first among
    /// those of one kind, until it returns true.
    #[inline]
    pub(super) fn at(&self, text: &[u8], at: usize, mut each: impl FnMut(usize, T) -> bool) -> bool {
        let Some(&first) = text.get(at) else { return false };
        let second = text.get(at + 1).copied().unwrap_or(0);
        let folded = pair(first.to_ascii_lowercase(), second.to_ascii_lowercase());
        if self.folded.may_begin(folded) {
            for &length in self.folded.lengths.get(&folded).into_iter().flatten() {
                let found = text.get(at..at + length).map(<[u8]>::to_ascii_lowercase);
                if let Some(&value) = found.and_then(|found| self.folded.values.get(&found))
                    && each(length, value)
                {
                    return true;
                }
            }
        }
        let exact = pair(first, second);
        if self.exact.may_begin(exact) {
            for &length in self.exact.lengths.get(&exact).into_iter().flatten() {
                if let Some(&value) = text.get(at..at + length).and_then(|found| self.exact.values.get(found))
                    && each(length, value)
                {
                    return true;
                }
            }
        }
        false
    }
}

impl<T> Table<T> {
    fn new() -> Table<T> {
        Table { filter: vec![0; (1 << 16) / 64], lengths: FxHashMap::default(), values: FxHashMap::default() }
    }

    fn add(&mut self, old: Vec<u8>, value: T) -> bool {
        if old.is_empty() || self.values.contains_key(&old) {
            return false;
        }
        match old[..] {
            // Whatever follows it, also nothing.
            [only] => (0..=255).for_each(|second| self.begin(pair(only, second), 1)),
            [first, second, ..] => self.begin(pair(first, second), old.len()),
            [] => {}
        }
        self.values.insert(old, value);
        true
    }

    fn begin(&mut self, pair: u16, length: usize) {
        if let Some(word) = self.filter.get_mut(usize::from(pair) / 64) {
            *word |= 1 << (pair % 64);
        }
        let lengths = self.lengths.entry(pair).or_default();
        if let Err(place) = lengths.binary_search_by(|known| length.cmp(known)) {
            lengths.insert(place, length);
        }
    }

    fn may_begin(&self, pair: u16) -> bool {
        self.filter.get(usize::from(pair) / 64).is_some_and(|word| word & (1 << (pair % 64)) != 0)
    }
}

fn pair(first: u8, second: u8) -> u16 {
    u16::from_be_bytes([first, second])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_by_their_kind_longest_first() {
        let mut needles = Needles::new();
        assert!(needles.add_folded(b"Ab", 1));
        assert!(needles.add_folded(b"abCd", 2));
        assert!(!needles.add_folded(b"AB", 3));
        needles.add_exact(&[0, 1, 2], 4);
        needles.add_exact(b"z", 5);
        let all = |text: &[u8]| {
            let mut found = Vec::new();
            for at in 0..text.len() {
                needles.at(text, at, |length, value| {
                    found.push((at, length, value));
                    false
                });
            }
            found
        };
        assert_eq!(all(b"xABcD"), [(1, 4, 2), (1, 2, 1)]);
        assert_eq!(all(&[b'z', 0, 1, 2, b'Z', b'z']), [(0, 1, 5), (1, 3, 4), (5, 1, 5)]);
        assert_eq!((needles.longest(), needles.folded(b"ABCD"), needles.folded(b"abc")), (4, Some(2), None));
    }
}
