//! Peers by address and token: an open table whose entries are eight bytes, so that those of thousands of peers stay in a
//! core's cache, and whose places can be prefetched.
//!
//! The keys are not in it. An entry has 32 bits of the key's hash, and the caller says whether it stands for the key.
//! The hash has a key of its own, so addresses that meet in one place cannot be chosen.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hasher};

use crate::endpoint::Endpoint;
use crate::invariant::{InvariantError, agree, holds};
use crate::keyed::Keyed;

/// Target of an entry: a slot, or a half-open connection. Two bits less than a `u32` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Slot(u32),
    HalfOpen(u32),
}

/// Bits of a key's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag(u32);

impl Tag {
    /// Tag of an empty entry.
    pub const NONE: Tag = Tag(0);
}

#[derive(Clone, Copy)]
struct Entry {
    tag: u32,
    /// A target, times two, and whether it is half open; [`FREE`] where there is none.
    target: u32,
}

const FREE: Entry = Entry { tag: 0, target: u32::MAX };
const ENTRIES_MIN: usize = 16;

impl Entry {
    fn new(tag: Tag, target: Target) -> Entry {
        let target = match target {
            Target::Slot(slot) => slot << 1,
            Target::HalfOpen(at) => at << 1 | 1,
        };
        Entry { tag: tag.0, target }
    }

    fn is_free(self) -> bool {
        self.target == FREE.target
    }

    fn target(self) -> Target {
        let at = self.target >> 1;
        if self.target & 1 == 0 { Target::Slot(at) } else { Target::HalfOpen(at) }
    }
}

/// Hash table of targets by key. Collisions go to the next place that is free (linear probing); removal closes the
/// gaps.
pub(crate) struct TokenTable {
    keyed: Keyed,
    /// A power of two, at most half of them used.
    entries: Vec<Entry>,
    used: usize,
}

impl TokenTable {
    pub fn new(keyed: Keyed) -> TokenTable {
        TokenTable { keyed, entries: alloc::vec![FREE; ENTRIES_MIN], used: 0 }
    }

    /// The hash of a key. Tokens have 12 bits, ports and scopes take the rest of a word.
    #[inline]
    pub fn tag(&self, endpoint: &Endpoint, token: u16) -> Tag {
        let mut hasher = self.keyed.build_hasher();
        let [high, low, port_and_scope] = endpoint.words();
        hasher.write_u64(high);
        hasher.write_u64(low);
        hasher.write_u64(port_and_scope ^ u64::from(token) << 16);
        Tag(hasher.finish() as u32)
    }

    fn home(&self, tag: u32) -> usize {
        tag as usize & (self.entries.len() - 1)
    }

    #[expect(clippy::indexing_slicing, reason = "the length is a power of two, and the mask one less")]
    #[inline]
    fn entry(&self, at: usize) -> Entry {
        self.entries[at & (self.entries.len() - 1)]
    }

    #[expect(clippy::indexing_slicing, reason = "as in `entry`")]
    fn entry_mut(&mut self, at: usize) -> &mut Entry {
        let mask = self.entries.len() - 1;
        &mut self.entries[at & mask]
    }

    /// Address at which the search for a key begins, for prefetching.
    pub fn place(&self, tag: Tag) -> *const u8 {
        self.entries.as_ptr().wrapping_add(self.home(tag.0)).cast()
    }

    /// Targets of all entries with this hash.
    #[inline]
    fn candidates(&self, tag: Tag) -> impl Iterator<Item = Target> {
        let mut at = self.home(tag.0);
        core::iter::from_fn(move || {
            loop {
                let entry = self.entry(at);
                if entry.is_free() {
                    return None;
                }
                at += 1;
                if entry.tag == tag.0 {
                    return Some(entry.target());
                }
            }
        })
    }

    /// Probable target of a key: another key has the same hash once in 2^32 times.
    #[inline]
    pub fn guess(&self, tag: Tag) -> Option<Target> {
        self.candidates(tag).next()
    }

    /// Target of a key: `is` decides whether a target has the key.
    #[inline]
    pub fn find(&self, tag: Tag, is: impl Fn(Target) -> bool) -> Option<Target> {
        self.candidates(tag).find(|&target| is(target))
    }

    /// Checks that each entry is found from its home on.
    pub fn check(&self) -> Result<(), InvariantError> {
        let mut used = 0;
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| !entry.is_free()) {
            used += 1;
            let found = self.candidates(Tag(entry.tag)).any(|target| target == entry.target());
            holds("token table, entry", at, found)?;
        }
        holds("token table, free entries", used, 2 * used <= self.entries.len())?;
        agree("token table, entries", used, self.used)
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        *self = TokenTable::new(self.keyed);
    }

    /// Puts a key in that is not there.
    pub fn insert(&mut self, tag: Tag, target: Target) {
        if 2 * (self.used + 1) > self.entries.len() {
            let grown = alloc::vec![FREE; 2 * self.entries.len()];
            for entry in core::mem::replace(&mut self.entries, grown) {
                if !entry.is_free() {
                    self.put(entry);
                }
            }
        }
        self.used += 1;
        self.put(Entry::new(tag, target));
    }

    fn put(&mut self, entry: Entry) {
        let mask = self.entries.len() - 1;
        let mut at = self.home(entry.tag);
        while !self.entry(at).is_free() {
            at = (at + 1) & mask;
        }
        *self.entry_mut(at) = entry;
    }

    /// Takes a key out, if it is there.
    pub fn remove(&mut self, tag: Tag, target: Target) {
        let mask = self.entries.len() - 1;
        let removed = Entry::new(tag, target);
        let mut gap = self.home(tag.0);
        loop {
            let entry = self.entry(gap);
            if entry.is_free() {
                return;
            }
            if (entry.tag, entry.target) == (removed.tag, removed.target) {
                break;
            }
            gap = (gap + 1) & mask;
        }
        self.used -= 1;
        // Those behind move up unless that would put them before their home. Knuth 1998, 6.4, algorithm R.
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let entry = self.entry(at);
            if entry.is_free() {
                break;
            }
            let from_home = at.wrapping_sub(self.home(entry.tag)) & mask;
            if from_home >= (at.wrapping_sub(gap) & mask) {
                *self.entry_mut(gap) = entry;
                gap = at;
            }
        }
        *self.entry_mut(gap) = FREE;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn table() -> TokenTable {
        TokenTable::new(Keyed::new(&[7; 16]))
    }

    #[test]
    fn addresses_ports_scopes_and_tokens_tell_keys_apart() {
        let table = table();
        let addresses = ["1.2.3.4:5", "1.2.3.5:5", "1.2.3.4:6", "[::1]:5", "[fe80::1%1]:5", "[fe80::1%2]:5"];
        let mut tags = std::vec::Vec::new();
        for address in addresses {
            let endpoint = address.parse::<core::net::SocketAddr>().unwrap().into();
            tags.extend([0, 1, 0xffe].map(|token| table.tag(&endpoint, token).0));
        }
        tags.sort_unstable();
        tags.dedup();
        assert_eq!(tags.len(), 3 * addresses.len());
    }

    proptest! {
        #[test]
        fn it_does_what_a_map_does_also_where_hashes_meet(
            // Few hashes, so that entries meet at their homes, in gaps and at the end of the table.
            steps in prop::collection::vec((any::<bool>(), 0u32..6, 0u32..40), 0..300),
            stretch in prop::sample::select(std::vec![1u32, 5, 0xffff_fff0]),
        ) {
            let mut table = table();
            let mut map = HashMap::new();
            for (puts, hash, at) in steps {
                let tag = Tag(hash.wrapping_mul(stretch).wrapping_add(13));
                let target = if at % 2 == 0 { Target::Slot(at) } else { Target::HalfOpen(at) };
                let known = map.get(&at).copied();
                match (puts, known) {
                    (true, None) => {
                        table.insert(tag, target);
                        map.insert(at, tag);
                    }
                    (false, Some(tag)) => {
                        table.remove(tag, target);
                        map.remove(&at);
                    }
                    // One that is not there.
                    (false, None) => table.remove(tag, target),
                    (true, Some(_)) => {}
                }
                prop_assert_eq!(table.used, map.len());
                prop_assert_eq!(table.check(), Ok(()));
                prop_assert!(2 * table.used <= table.entries.len());
                for at in 0..40 {
                    let target = if at % 2 == 0 { Target::Slot(at) } else { Target::HalfOpen(at) };
                    let is = |found| found == target;
                    if let Some(&tag) = map.get(&at) {
                        prop_assert_eq!(table.find(tag, is), Some(target));
                        prop_assert!(table.guess(tag).is_some());
                    } else {
                        prop_assert!((0..6u32).all(|hash| table.find(Tag(hash.wrapping_mul(stretch).wrapping_add(13)), is).is_none()));
                    }
                }
            }
        }
    }
}
