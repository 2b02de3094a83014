//! The Huffman codes of Quake III: an adaptive one, and the fixed one that it becomes after the bytes of a typical game.
//!
//! Source: ioquake3, `code/qcommon/huffman.c`, which is J. S. Vitter's "Design and Analysis of Dynamic Huffman Codes", 1987,
//! and the counts of `msg.c`. Which code a byte gets depends on the order of nodes of equal weight, so the order is kept.

const NONE: usize = usize::MAX;
/// Symbol of the node that stands for all bytes that were not sent yet.
const NOT_YET_SENT: usize = 256;

/// How often each byte occurs in a typical game.
const COUNTS: [u32; 256] = [
    250315, 41193, 6292, 7106, 3730, 3750, 6110, 23283, 33317, 6950, 7838, 9714, 9257, 17259, 3949, 1778, 8288, 1604,
    1590, 1663, 1100, 1213, 1238, 1134, 1749, 1059, 1246, 1149, 1273, 4486, 2805, 3472, 21819, 1159, 1670, 1066, 1043,
    1012, 1053, 1070, 1726, 888, 1180, 850, 960, 780, 1752, 3296, 10630, 4514, 5881, 2685, 4650, 3837, 2093, 1867,
    2584, 1949, 1972, 940, 1134, 1788, 1670, 1206, 5719, 6128, 7222, 6654, 3710, 3795, 1492, 1524, 2215, 1140, 1355,
    971, 2180, 1248, 1328, 1195, 1770, 1078, 1264, 1266, 1168, 965, 1155, 1186, 1347, 1228, 1529, 1600, 2617, 2048,
    2546, 3275, 2410, 3585, 2504, 2800, 2675, 6146, 3663, 2840, 14253, 3164, 2221, 1687, 3208, 2739, 3512, 4796, 4091,
    3515, 5288, 4016, 7937, 6031, 5360, 3924, 4892, 3743, 4566, 4807, 5852, 6400, 6225, 8291, 23243, 7838, 7073, 8935,
    5437, 4483, 3641, 5256, 5312, 5328, 5370, 3492, 2458, 1694, 1821, 2121, 1916, 1149, 1516, 1367, 1236, 1029, 1258,
    1104, 1245, 1006, 1149, 1025, 1241, 952, 1287, 997, 1713, 1009, 1187, 879, 1099, 929, 1078, 951, 1656, 930, 1153,
    1030, 1262, 1062, 1214, 1060, 1621, 930, 1106, 912, 1034, 892, 1158, 990, 1175, 850, 1121, 903, 1087, 920, 1144,
    1056, 3462, 2240, 4397, 12136, 7758, 1345, 1307, 3278, 1950, 886, 1023, 1112, 1077, 1042, 1061, 1071, 1484, 1001,
    1096, 915, 1052, 995, 1070, 876, 1111, 851, 1059, 805, 1112, 923, 1103, 817, 1899, 1872, 976, 841, 1127, 956, 1159,
    950, 7791, 954, 1289, 933, 1127, 3207, 1020, 927, 1355, 768, 1040, 745, 952, 805, 1073, 740, 1013, 805, 1008, 796,
    996, 1057, 11457, 13504,
];

#[derive(Clone, Copy)]
struct Node {
    left: usize,
    right: usize,
    parent: usize,
    /// Neighbours in the list of all nodes, weights ascending with `next`.
    next: usize,
    prev: usize,
    /// Slot that names the last node of the same weight.
    block: usize,
    weight: u32,
    /// `None` for a node with children.
    symbol: Option<usize>,
}

const FRESH: Node =
    Node { left: NONE, right: NONE, parent: NONE, next: NONE, prev: NONE, block: NONE, weight: 0, symbol: None };

/// A code that adapts to what it has coded.
struct Tree {
    nodes: Vec<Node>,
    root: usize,
    /// Node of every symbol.
    places: [usize; 257],
    blocks: Vec<usize>,
    free: Vec<usize>,
}

impl Tree {
    fn new() -> Tree {
        let mut places = [NONE; 257];
        places[NOT_YET_SENT] = 0;
        let nodes = vec![Node { symbol: Some(NOT_YET_SENT), ..FRESH }];
        Tree { nodes, root: 0, places, blocks: Vec::new(), free: Vec::new() }
    }

    fn block_of(&mut self, leader: usize) -> usize {
        match self.free.pop() {
            Some(block) => {
                self.blocks[block] = leader;
                block
            }
            None => {
                self.blocks.push(leader);
                self.blocks.len() - 1
            }
        }
    }

    /// Counts a byte.
    fn add(&mut self, byte: u8) {
        let byte = usize::from(byte);
        if self.places[byte] != NONE {
            return self.increment(self.places[byte]);
        }
        // The node of unsent bytes gets a parent and a sibling.
        let (leaf, joint) = (self.nodes.len(), self.nodes.len() + 1);
        let (unsent, after) = (0, self.nodes[0].next);
        self.nodes.extend([FRESH, FRESH]);
        let block = match after {
            NONE => self.block_of(joint),
            after => {
                self.nodes[after].prev = joint;
                if self.nodes[after].weight == 1 { self.nodes[after].block } else { self.block_of(joint) }
            }
        };
        let parent = self.nodes[unsent].parent;
        self.nodes[joint] =
            Node { left: unsent, right: leaf, parent, next: after, prev: leaf, block, weight: 1, symbol: None };
        self.nodes[leaf] =
            Node { parent: joint, next: joint, prev: unsent, block, weight: 1, symbol: Some(byte), ..FRESH };
        self.nodes[unsent].next = leaf;
        match parent {
            NONE => self.root = joint,
            parent if self.nodes[parent].left == unsent => self.nodes[parent].left = joint,
            parent => self.nodes[parent].right = joint,
        }
        self.nodes[unsent].parent = joint;
        self.places[byte] = leaf;
        self.increment(parent);
    }

    fn increment(&mut self, node: usize) {
        if node == NONE {
            return;
        }
        let weight = self.nodes[node].weight;
        let weighs = |tree: &Tree, at: usize, weight| at != NONE && tree.nodes[at].weight == weight;
        if weighs(self, self.nodes[node].next, weight) {
            let leader = self.blocks[self.nodes[node].block];
            if leader != self.nodes[node].parent {
                self.swap(leader, node);
            }
            self.swap_in_list(leader, node);
        }
        let (prev, block) = (self.nodes[node].prev, self.nodes[node].block);
        if weighs(self, prev, weight) {
            self.blocks[block] = prev;
        } else {
            self.free.push(block);
        }
        self.nodes[node].weight += 1;
        let next = self.nodes[node].next;
        self.nodes[node].block =
            if weighs(self, next, weight + 1) { self.nodes[next].block } else { self.block_of(node) };
        let parent = self.nodes[node].parent;
        if parent != NONE {
            self.increment(parent);
            let parent = self.nodes[node].parent;
            if self.nodes[node].prev == parent {
                self.swap_in_list(node, parent);
                let block = self.nodes[node].block;
                if self.blocks[block] == node {
                    self.blocks[block] = parent;
                }
            }
        }
    }

    /// Swaps two nodes in the tree.
    fn swap(&mut self, a: usize, b: usize) {
        let (above_a, above_b) = (self.nodes[a].parent, self.nodes[b].parent);
        for (above, was, is) in [(above_a, a, b), (above_b, b, a)] {
            match above {
                NONE => self.root = is,
                above if self.nodes[above].left == was => self.nodes[above].left = is,
                above => self.nodes[above].right = is,
            }
        }
        (self.nodes[a].parent, self.nodes[b].parent) = (above_b, above_a);
    }

    /// Swaps two nodes in the list.
    fn swap_in_list(&mut self, a: usize, b: usize) {
        let (was_a, was_b) = (self.nodes[a], self.nodes[b]);
        let other = |to: usize, own: usize, other: usize| if to == own { other } else { to };
        (self.nodes[a].next, self.nodes[b].next) = (other(was_b.next, a, b), other(was_a.next, b, a));
        (self.nodes[a].prev, self.nodes[b].prev) = (other(was_b.prev, a, b), other(was_a.prev, b, a));
        for node in [a, b] {
            let Node { next, prev, .. } = self.nodes[node];
            if next != NONE {
                self.nodes[next].prev = node;
            }
            if prev != NONE {
                self.nodes[prev].next = node;
            }
        }
    }

    /// Code of a symbol: its bits, the first one first.
    fn code(&self, symbol: usize) -> Vec<bool> {
        let mut bits = Vec::new();
        let mut node = self.places[symbol];
        while node != NONE && self.nodes[node].parent != NONE {
            let parent = self.nodes[node].parent;
            bits.push(self.nodes[parent].right == node);
            node = parent;
        }
        bits.reverse();
        bits
    }
}

/// Packs bytes with the adaptive code, as what follows `connect` is: the length, then the bits.
pub fn pack_adaptively(content: &[u8]) -> Vec<u8> {
    let mut tree = Tree::new();
    let mut bits = Vec::new();
    for &byte in content {
        if tree.places[usize::from(byte)] == NONE {
            bits.extend(tree.code(NOT_YET_SENT));
            bits.extend((0..8).rev().map(|bit| byte >> bit & 1 == 1));
        } else {
            bits.extend(tree.code(byte.into()));
        }
        tree.add(byte);
    }
    let mut out = (content.len() as u16).to_be_bytes().to_vec();
    out.extend(bits.chunks(8).map(|byte| byte.iter().enumerate().map(|(at, &bit)| u8::from(bit) << at).sum::<u8>()));
    out.push(0);
    out
}

/// The fixed code of the messages of a connection.
pub struct Code {
    codes: Vec<Vec<bool>>,
    nodes: Vec<Node>,
    root: usize,
}

impl Default for Code {
    fn default() -> Code {
        Code::new()
    }
}

impl Code {
    /// Builds the code from the counts.
    pub fn new() -> Code {
        let mut tree = Tree::new();
        for (byte, count) in (0..=u8::MAX).zip(COUNTS) {
            for _ in 0..count {
                tree.add(byte);
            }
        }
        Code { codes: (0..256).map(|byte| tree.code(byte)).collect(), nodes: tree.nodes, root: tree.root }
    }

    /// Bits of a byte.
    pub fn bits(&self, byte: u8) -> &[bool] {
        &self.codes[usize::from(byte)]
    }

    /// Reads a byte from these bits; `None` if they end early, or stand for no byte.
    pub fn read(&self, mut next: impl FnMut() -> Option<bool>) -> Option<u8> {
        let mut node = self.root;
        loop {
            match self.nodes[node].symbol {
                Some(symbol) => return u8::try_from(symbol).ok(),
                None if next()? => node = self.nodes[node].right,
                None => node = self.nodes[node].left,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_code_that_reads_back() {
        let code = Code::new();
        for byte in 0..=u8::MAX {
            let mut bits = code.bits(byte).iter().copied();
            assert_eq!(code.read(|| bits.next()), Some(byte));
            assert_eq!(bits.next(), None);
        }
        // Zeros are what is sent most.
        assert_eq!(code.bits(0).len(), (0..=u8::MAX).map(|byte| code.bits(byte).len()).min().unwrap());
    }
}
