//! Machine code as people read it, made from the memory in which it ran.

use serde::{Deserialize, Serialize};

/// Disassembled instruction: address, bytes and text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Address of the instruction in memory.
    pub address: u64,
    /// Bytes of the instruction in hexadecimal digits.
    pub bytes: String,
    /// Mnemonic and operands in Intel's syntax.
    pub text: String,
}

/// The code of a case, and which part of it is the loop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// All instructions, in their order; long runs of the same one are cut, see `left_out`.
    pub lines: Vec<Line>,
    /// Instructions in the middle that are not listed.
    #[serde(default)]
    pub left_out: usize,
    /// Address of the innermost loop.
    pub loop_address: u64,
    /// Size of the code of an iteration, in bytes.
    pub loop_bytes: u64,
    /// Every byte that was emitted, in hexadecimal; only the length where they are too many.
    pub code: String,
    /// Number of bytes of emitted machine code.
    pub code_bytes: u64,
}

impl Listing {
    /// The instructions of the innermost loop that are listed.
    pub fn loop_lines(&self) -> impl Iterator<Item = &Line> {
        let (first, end) = (self.loop_address, self.loop_address + self.loop_bytes);
        self.lines.iter().filter(move |line| (first..end).contains(&line.address))
    }
}
