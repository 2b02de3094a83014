//! Real memory cost of allocations: more than the requested bytes.

/// Bytes that an allocation of `bytes` takes: malloc of glibc, with a word before each and steps of two words. Other
/// allocators take about as much.
pub(crate) const fn allocated(bytes: usize) -> usize {
    match (bytes + 8).next_multiple_of(16) {
        _ if bytes == 0 => 0,
        16 => 32,
        size => size,
    }
}

/// Entries of a node of [`alloc::collections::BTreeMap`], and the fewest of one that is not the root.
const NODE_ENTRIES: usize = 11;
const NODE_ENTRIES_MIN: usize = 5;
/// Links of a node to its parent and to the nodes below it.
const PARENT_BYTES: usize = 16;
const CHILDREN_BYTES: usize = (NODE_ENTRIES + 1) * 8;

/// Bytes of a tree's first node, whose entries take `entry_bytes`.
pub(crate) const fn tree_node(entry_bytes: usize) -> usize {
    allocated(NODE_ENTRIES * entry_bytes + PARENT_BYTES)
}

/// Bytes that each entry adds to a tree at most: a fifth of a leaf, and of the nodes above the leaves.
pub(crate) const fn tree_entry(entry_bytes: usize) -> usize {
    let leaf = tree_node(entry_bytes);
    let above = allocated(NODE_ENTRIES * entry_bytes + PARENT_BYTES + CHILDREN_BYTES);
    (leaf + above / NODE_ENTRIES_MIN).div_ceil(NODE_ENTRIES_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_take_a_word_more_in_steps_of_two() {
        assert_eq!([0, 1, 24, 25, 40, 41, 1400].map(allocated), [0, 32, 32, 48, 48, 64, 1408]);
    }
}
