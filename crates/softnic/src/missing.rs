//! Sequence numbers that have not come yet, although later ones have.

use std::collections::BTreeMap;

/// Ranges that are remembered for a stream. One with more gaps at a time forgets the oldest, and counts a late frame of it as a
/// duplicate.
const RANGES_MAX: usize = 1 << 16;

/// A set of sequence numbers, as ranges.
#[derive(Debug, Clone)]
pub(crate) struct Missing {
    most: usize,
    /// First of a range to the one behind its last.
    ranges: BTreeMap<u64, u64>,
}

impl Missing {
    /// The set for one part of a stream that has `parts`.
    pub(crate) fn of(parts: usize) -> Missing {
        Missing { most: (RANGES_MAX / parts.max(1)).max(1), ranges: BTreeMap::new() }
    }

    /// `first..end` did not come. Both grow from call to call.
    pub(crate) fn add(&mut self, first: u64, end: u64) {
        if self.ranges.len() >= self.most {
            self.ranges.pop_first();
        }
        self.ranges.insert(first, end);
    }

    /// A number came after all; false if it was not missing.
    pub(crate) fn take(&mut self, sequence: u64) -> bool {
        let Some((&first, &end)) = self.ranges.range(..=sequence).next_back() else { return false };
        if sequence >= end {
            return false;
        }
        self.ranges.remove(&first);
        if first < sequence {
            self.ranges.insert(first, sequence);
        }
        if sequence + 1 < end {
            self.ranges.insert(sequence + 1, end);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_a_set(gaps in prop::collection::vec((1u64..5, 1u64..5), 1..20), taken in prop::collection::vec(0u64..200, 0..100)) {
            let (mut missing, mut set, mut at) = (Missing::of(1), BTreeSet::new(), 0);
            for (apart, length) in gaps {
                at += apart;
                missing.add(at, at + length);
                set.extend(at..at + length);
                at += length;
            }
            for sequence in taken {
                prop_assert_eq!(missing.take(sequence), set.remove(&sequence), "{}", sequence);
            }
        }
    }
}
