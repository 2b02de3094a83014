//! The static Huffman code that Teeworlds packs its datagrams with; only unpacking.
//!
//! The table is part of the protocol (Teeworlds 0.7.5, `src/engine/shared/huffman.cpp`): how often
//! each byte was seen, and the same for the symbol that ends the text. Which code a byte gets
//! depends on the order in which equal frequencies are merged, so the merge below keeps the order
//! of the original: a stable sort, largest first, and the two last nodes join.

/// How often each byte occurs; the symbol after the last byte ends the text and counts once.
const FREQUENCIES: [u32; 256] = [
    1073741824, 4545, 2657, 431, 1950, 919, 444, 482, 2244, 617, 838, 542, 715, 1814, 304, 240, 754, 212, 647, 186,
    283, 131, 146, 166, 543, 164, 167, 136, 179, 859, 363, 113, 157, 154, 204, 108, 137, 180, 202, 176, 872, 404, 168,
    134, 151, 111, 113, 109, 120, 126, 129, 100, 41, 20, 16, 22, 18, 18, 17, 19, 16, 37, 13, 21, 362, 166, 99, 78, 95,
    88, 81, 70, 83, 284, 91, 187, 77, 68, 52, 68, 59, 66, 61, 638, 71, 157, 50, 46, 69, 43, 11, 24, 13, 19, 10, 12, 12,
    20, 14, 9, 20, 20, 10, 10, 15, 15, 12, 12, 7, 19, 15, 14, 13, 18, 35, 19, 17, 14, 8, 5, 15, 17, 9, 15, 14, 18, 8,
    10, 2173, 134, 157, 68, 188, 60, 170, 60, 194, 62, 175, 71, 148, 67, 167, 78, 211, 67, 156, 69, 1674, 90, 174, 53,
    147, 89, 181, 51, 174, 63, 163, 80, 167, 94, 128, 122, 223, 153, 218, 77, 200, 110, 190, 73, 174, 69, 145, 66, 277,
    143, 141, 60, 136, 53, 180, 57, 142, 57, 158, 61, 166, 112, 152, 92, 26, 22, 21, 28, 20, 26, 30, 21, 32, 27, 20,
    17, 23, 21, 30, 22, 22, 21, 27, 25, 17, 27, 23, 18, 39, 26, 15, 21, 12, 18, 18, 27, 20, 18, 15, 19, 11, 17, 33, 12,
    18, 15, 19, 18, 16, 26, 17, 18, 9, 10, 25, 22, 22, 17, 20, 16, 6, 16, 15, 20, 14, 18, 24, 335,
];
const END: usize = 256;

/// The code as a binary tree: symbols first, then the nodes that join two others.
pub struct Code {
    joints: Vec<[usize; 2]>,
}

impl Default for Code {
    fn default() -> Code {
        Code::new()
    }
}

impl Code {
    /// Builds the tree from the frequencies.
    pub fn new() -> Code {
        let mut open: Vec<(usize, u32)> = FREQUENCIES.iter().copied().chain([1]).enumerate().collect();
        let mut joints = Vec::new();
        while open.len() > 1 {
            open.sort_by_key(|&(_, frequency)| std::cmp::Reverse(frequency));
            let (last, second) = (open.pop().expect("two are left"), open.pop().expect("two are left"));
            open.push((END + 1 + joints.len(), last.1 + second.1));
            joints.push([last.0, second.0]);
        }
        Code { joints }
    }

    /// Unpacks up to the end symbol; `None` when the bits run out before it.
    pub fn unpack(&self, packed: &[u8]) -> Option<Vec<u8>> {
        let mut bits = packed.iter().flat_map(|byte| (0..8).map(move |bit| usize::from(byte >> bit & 1)));
        let mut out = Vec::new();
        loop {
            let mut node = END + self.joints.len();
            while node > END {
                node = self.joints[node - END - 1][bits.next()?];
            }
            if node == END {
                return Some(out);
            }
            out.push(node as u8);
        }
    }
}
