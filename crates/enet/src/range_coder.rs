//! The compressor of the stock library: a model of order 2 in front of a range coder.
//!
//! Every context counts the symbols that followed it. A symbol that the longest context has not seen
//! is escaped from, and coded by the next shorter one; the root knows all 256. The model begins empty with
//! each datagram. The end of the input is not coded: the decoder finds zeros, which every context reads as an
//! escape, and an escape from the root ends the output.
//!
//! Facts that two ends must share: root increment 3, base 1, escape 1; sub-contexts increment 2, base 0,
//! escape increment 5; counts are halved past the limits below; the model is emptied when its pool is.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

const TOP: u32 = 1 << 24;
const BOTTOM: u32 = 1 << 16;

/// Symbols and contexts that a model holds; a symbol is also the context of what follows it.
const POOL: usize = 4096;
const _: () = assert!(POOL.is_power_of_two());

/// Symbols that the longest context consists of.
const ORDER: usize = 2;

const ROOT_INCREMENT: u8 = 3;
const ROOT_BASE: u16 = 1;
const ROOT_ESCAPES: u16 = 1;
const INCREMENT: u8 = 2;
const ESCAPE_INCREMENT: u16 = 5;

/// A context's total above which it is halved.
const TOTAL_LIMIT: u32 = BOTTOM - 0x100;

const ROOT: u16 = 0;
const NONE: u16 = u16::MAX;

/// A symbol in the tree of its context, and itself the root of the tree of its followers.
#[derive(Clone, Copy)]
struct Node {
    value: u8,
    count: u8,
    /// Counts of this symbol and of those left of it.
    under: u16,
    left: u16,
    right: u16,
    /// Tree of the symbols seen after this one.
    followers: u16,
    escapes: u16,
    total: u16,
    /// The same symbol in the next shorter context.
    shorter: u16,
}

impl Node {
    fn new(value: u8, count: u8) -> Node {
        Node {
            value,
            count,
            under: count.into(),
            left: NONE,
            right: NONE,
            followers: NONE,
            escapes: 0,
            total: 0,
            shorter: ROOT,
        }
    }
}

/// Compresses and expands datagrams as the range coder of the stock library does, bit for bit.
///
/// It holds 80 KiB, reused for every datagram.
pub struct RangeCoder {
    nodes: Box<[Node]>,
    used: usize,
    /// The longest context that the last symbols lead to.
    context: u16,
    order: usize,
}

impl Default for RangeCoder {
    fn default() -> Self {
        RangeCoder::new()
    }
}

impl core::fmt::Debug for RangeCoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RangeCoder").field("used", &self.used).finish_non_exhaustive()
    }
}

impl RangeCoder {
    /// A coder with an empty model.
    pub fn new() -> RangeCoder {
        RangeCoder { nodes: vec![Node::new(0, 0); POOL].into(), used: 0, context: ROOT, order: 0 }
    }

    #[expect(clippy::indexing_slicing, reason = "the pool is a power of two, and the mask one less")]
    #[inline]
    fn node(&self, at: u16) -> &Node {
        &self.nodes[usize::from(at) & (POOL - 1)]
    }

    #[expect(clippy::indexing_slicing, reason = "as in `node`")]
    #[inline]
    fn node_mut(&mut self, at: u16) -> &mut Node {
        &mut self.nodes[usize::from(at) & (POOL - 1)]
    }

    /// Appends `input`, compressed, to `output`, if that takes at most `limit` bytes.
    ///
    /// Returns the number of bytes appended; `None`, and `output` as it was, where they would be more.
    pub fn compress(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        let start = output.len();
        self.empty();
        let mut encoder = Encoder { low: 0, range: u32::MAX, output, end: start + limit };
        for &value in input {
            if self.encode(value, &mut encoder).is_none() {
                output.truncate(start);
                return None;
            }
        }
        let fits = encoder.flush().is_some();
        if !fits {
            output.truncate(start);
            return None;
        }
        Some(output.len() - start)
    }

    /// Appends what `input` expands to to `output`, if that is at most `limit` bytes.
    ///
    /// Returns the number of bytes appended; `None`, and `output` as it was, where they would be more or `input`
    /// is none that [`RangeCoder::compress`] makes.
    pub fn expand(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        let start = output.len();
        if input.is_empty() {
            return None;
        }
        self.empty();
        let mut decoder = Decoder::new(input);
        loop {
            match self.decode(&mut decoder) {
                Some(Some(_)) if output.len() - start == limit => break,
                Some(Some(value)) => output.push(value),
                Some(None) => return Some(output.len() - start),
                None => break,
            }
        }
        output.truncate(start);
        None
    }

    fn empty(&mut self) {
        *self.node_mut(ROOT) = Node { escapes: ROOT_ESCAPES, total: ROOT_ESCAPES + 256 * ROOT_BASE, ..Node::new(0, 0) };
        self.used = 1;
        self.context = ROOT;
        self.order = 0;
    }

    fn encode(&mut self, value: u8, encoder: &mut Encoder) -> Option<()> {
        let mut chain = Chain::new();
        let mut context = self.context;
        while context != ROOT {
            let seen = self.count(context, value, INCREMENT, 0);
            self.link(&mut chain, seen.node);
            let Node { escapes, total, .. } = *self.node(context);
            if seen.count > 0 {
                encoder.put(escapes + seen.under, seen.count, total)?;
            } else if escapes > 0 && escapes < total {
                encoder.put(0, escapes, total)?;
            }
            self.counted(context, seen.count);
            if seen.count > 0 {
                self.advance(chain.longest);
                return Some(());
            }
            context = self.node(context).shorter;
        }
        let Node { escapes, total, .. } = *self.node(ROOT);
        let seen = self.count(ROOT, value, ROOT_INCREMENT, ROOT_BASE);
        self.link(&mut chain, seen.node);
        encoder.put(escapes + seen.under, seen.count, total)?;
        self.counted(ROOT, seen.count);
        self.advance(chain.longest);
        Some(())
    }

    /// The next byte; `Some(None)` at the end, `None` for bytes that no encoder makes.
    fn decode(&mut self, decoder: &mut Decoder) -> Option<Option<u8>> {
        let mut context = self.context;
        let found = loop {
            let Node { escapes, total, .. } = *self.node(context);
            if context != ROOT && (escapes == 0 || escapes >= total) {
                context = self.node(context).shorter;
                continue;
            }
            let code = decoder.peek(total);
            if code < escapes {
                decoder.take(0, escapes, total);
                if context == ROOT {
                    return Some(None);
                }
                context = self.node(context).shorter;
                continue;
            }
            let code = code - escapes;
            let value = if context == ROOT { self.value_at_root(code)? } else { self.value_at(context, code)? };
            let (increment, base) = if context == ROOT { (ROOT_INCREMENT, ROOT_BASE) } else { (INCREMENT, 0) };
            let seen = self.count(context, value, increment, base);
            decoder.take(escapes + seen.under, seen.count, total);
            self.counted(context, seen.count);
            break (value, seen.node);
        };
        // The longer contexts, which were escaped from, learn the symbol now.
        let (value, node) = found;
        let mut chain = Chain::new();
        let mut longer = self.context;
        while longer != context {
            let seen = self.count(longer, value, INCREMENT, 0);
            self.link(&mut chain, seen.node);
            self.counted(longer, seen.count);
            longer = self.node(longer).shorter;
        }
        self.link(&mut chain, node);
        self.advance(chain.longest);
        Some(Some(value))
    }

    /// Counts `value` in `context`, and returns where it lay before.
    fn count(&mut self, context: u16, value: u8, increment: u8, base: u16) -> Seen {
        let mut under = u16::from(value) * base;
        let mut at = self.node(context).followers;
        let mut above = None;
        while at != NONE {
            let node = self.node_mut(at);
            if value == node.value {
                let count = base + u16::from(node.count);
                under += node.under - u16::from(node.count);
                node.under += u16::from(increment);
                node.count += increment;
                return Seen { node: at, under, count };
            }
            let left = value < node.value;
            if left {
                node.under += u16::from(increment);
            } else {
                under += node.under;
            }
            above = Some((at, left));
            at = if left { node.left } else { node.right };
        }
        let new = self.used as u16;
        *self.node_mut(new) = Node::new(value, increment);
        self.used += 1;
        match above {
            None => self.node_mut(context).followers = new,
            Some((parent, true)) => self.node_mut(parent).left = new,
            Some((parent, false)) => self.node_mut(parent).right = new,
        }
        Seen { node: new, under, count: base }
    }

    /// Takes what was counted into the totals of `context`, and halves them when they grow too large.
    fn counted(&mut self, context: u16, count: u16) {
        let (increment, base) = if context == ROOT { (ROOT_INCREMENT, ROOT_BASE) } else { (INCREMENT, 0) };
        let node = self.node_mut(context);
        if count == 0 {
            node.escapes += ESCAPE_INCREMENT;
            node.total += ESCAPE_INCREMENT;
        }
        node.total += u16::from(increment);
        if count > 0xff - 2 * u16::from(increment) + base || u32::from(node.total) > TOTAL_LIMIT {
            let followers = node.followers;
            let sum = self.halve(followers);
            let node = self.node_mut(context);
            node.escapes -= node.escapes >> 1;
            node.total = sum + node.escapes + 256 * base;
        }
    }

    /// Halves the counts of a tree, rounding up, and returns their sum.
    fn halve(&mut self, tree: u16) -> u16 {
        let mut sum = 0;
        let mut at = tree;
        while at != NONE {
            let Node { left, right, count, .. } = *self.node(at);
            let count = count - (count >> 1);
            let under = u16::from(count) + self.halve(left);
            let node = self.node_mut(at);
            (node.count, node.under) = (count, under);
            sum += under;
            at = right;
        }
        sum
    }

    /// The symbol of a sub-context whose counts hold `code`.
    fn value_at(&self, context: u16, mut code: u16) -> Option<u8> {
        let mut at = self.node(context).followers;
        while at != NONE {
            let node = self.node(at);
            if code >= node.under {
                code -= node.under;
                at = node.right;
            } else if code < node.under - u16::from(node.count) {
                at = node.left;
            } else {
                return Some(node.value);
            }
        }
        None
    }

    /// The symbol of the root whose counts hold `code`; those never seen count as their base.
    fn value_at_root(&self, code: u16) -> Option<u8> {
        // First value that the tree at hand may hold, and the counts below it.
        let (mut first, mut below) = (0u16, 0u16);
        let mut last = 255u16;
        let mut at = self.node(ROOT).followers;
        while at != NONE {
            let node = self.node(at);
            let value = u16::from(node.value);
            let start = below + (value - first) * ROOT_BASE + node.under - u16::from(node.count);
            let end = start + ROOT_BASE + u16::from(node.count);
            if code >= end {
                (first, below) = (value + 1, end);
                at = node.right;
            } else if code < start {
                last = value.saturating_sub(1);
                at = node.left;
            } else {
                return Some(node.value);
            }
        }
        let value = first + (code - below) / ROOT_BASE;
        (value <= last).then_some(value as u8)
    }

    /// Makes `node` the shorter form of the one linked before.
    fn link(&mut self, chain: &mut Chain, node: u16) {
        match chain.last {
            None => chain.longest = node,
            Some(longer) => self.node_mut(longer).shorter = node,
        }
        chain.last = Some(node);
    }

    /// Goes on to the context that ends with the symbol just coded.
    fn advance(&mut self, longest: u16) {
        self.context = longest;
        if self.order >= ORDER {
            self.context = self.node(longest).shorter;
        } else {
            self.order += 1;
        }
        if self.used >= POOL - ORDER {
            self.empty();
        }
    }
}

/// Position of a symbol in its context.
struct Seen {
    node: u16,
    under: u16,
    count: u16,
}

/// The nodes of one symbol, from the longest context to the shortest.
struct Chain {
    longest: u16,
    last: Option<u16>,
}

impl Chain {
    fn new() -> Chain {
        Chain { longest: ROOT, last: None }
    }
}

struct Encoder<'a> {
    low: u32,
    range: u32,
    output: &'a mut Vec<u8>,
    end: usize,
}

impl Encoder<'_> {
    fn put(&mut self, under: u16, count: u16, total: u16) -> Option<()> {
        self.range /= u32::from(total);
        self.low = self.low.wrapping_add(u32::from(under).wrapping_mul(self.range));
        self.range = self.range.wrapping_mul(u32::from(count));
        while let Some(range) = settled(self.low, self.range) {
            self.range = range;
            self.byte()?;
            self.range <<= 8;
        }
        Some(())
    }

    fn byte(&mut self) -> Option<()> {
        if self.output.len() >= self.end {
            return None;
        }
        self.output.push((self.low >> 24) as u8);
        self.low <<= 8;
        Some(())
    }

    fn flush(&mut self) -> Option<()> {
        while self.low != 0 {
            self.byte()?;
        }
        Some(())
    }
}

/// The range to shift when the top byte of `low` is settled; `None` when there is precision left.
fn settled(low: u32, range: u32) -> Option<u32> {
    if (low ^ low.wrapping_add(range)) < TOP {
        Some(range)
    } else if range < BOTTOM {
        // No carry is propagated: the range is cut where the top byte would change.
        Some(low.wrapping_neg() & (BOTTOM - 1))
    } else {
        None
    }
}

struct Decoder<'a> {
    low: u32,
    code: u32,
    range: u32,
    input: core::slice::Iter<'a, u8>,
}

impl<'a> Decoder<'a> {
    fn new(input: &'a [u8]) -> Decoder<'a> {
        let mut decoder = Decoder { low: 0, code: 0, range: u32::MAX, input: input.iter() };
        for _ in 0..4 {
            decoder.shift();
        }
        decoder
    }

    /// Behind the end there are zeros, as the encoder leaves them away.
    fn shift(&mut self) {
        self.code = self.code << 8 | u32::from(self.input.next().copied().unwrap_or(0));
    }

    fn peek(&mut self, total: u16) -> u16 {
        self.range /= u32::from(total);
        // A range of 0 comes of bytes that no encoder makes; any code will do, as nothing fits it.
        let code = self.code.wrapping_sub(self.low).checked_div(self.range).unwrap_or(u32::MAX);
        code.min(u32::from(u16::MAX)) as u16
    }

    fn take(&mut self, under: u16, count: u16, _total: u16) {
        self.low = self.low.wrapping_add(u32::from(under).wrapping_mul(self.range));
        self.range = self.range.wrapping_mul(u32::from(count));
        while let Some(range) = settled(self.low, self.range) {
            self.range = range;
            self.shift();
            self.low <<= 8;
            self.range <<= 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(input: &[u8]) -> usize {
        let mut coder = RangeCoder::new();
        let mut packed = Vec::new();
        coder.compress(input, usize::MAX >> 1, &mut packed).expect("there is room");
        let mut plain = Vec::new();
        let length = coder.expand(&packed, input.len(), &mut plain);
        assert_eq!(length, Some(input.len()));
        assert_eq!(plain, input);
        packed.len()
    }

    #[test]
    fn a_model_that_is_emptied_on_the_way_comes_back() {
        let mut state = 1u32;
        let noise: Vec<u8> = (0..4092)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        round_trip(&noise);
    }

    #[test]
    fn counts_that_are_halved_come_back() {
        assert!(round_trip(&[7; 4092]) < 100);
    }

    #[test]
    fn more_than_the_limit_is_given_up_and_leaves_the_output_as_it_was() {
        let mut coder = RangeCoder::new();
        let mut output = alloc::vec![1, 2];
        assert_eq!(coder.compress(b"no shorter than this", 5, &mut output), None);
        assert_eq!(output, [1, 2]);
        let mut packed = Vec::new();
        coder.compress(&[0; 100], 100, &mut packed).unwrap();
        assert_eq!(coder.expand(&packed, 99, &mut output), None);
        assert_eq!(output, [1, 2]);
    }

    proptest! {
        #[test]
        fn what_is_compressed_expands_to_itself(input in prop::collection::vec(any::<u8>(), 0..3000)) {
            // The end of input is a zero tail, so trailing zeros of the code may be left away: all of it must come back.
            if !input.is_empty() {
                round_trip(&input);
            }
        }

        #[test]
        fn few_symbols_expand_to_themselves(input in prop::collection::vec(0u8..4, 1..4000)) {
            round_trip(&input);
        }

        #[test]
        fn arbitrary_bytes_expand_to_no_more_than_the_limit(input in prop::collection::vec(any::<u8>(), 0..2000)) {
            let mut output = Vec::new();
            RangeCoder::new().expand(&input, 4092, &mut output);
            prop_assert!(output.len() <= 4092);
        }
    }
}
