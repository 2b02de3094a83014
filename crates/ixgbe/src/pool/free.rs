//! Which buffers are free, and which of them is used next.

use std::fmt;
use std::str::FromStr;

use crate::checks::{at, at_mut, hold};
use crate::dma::Dma;
use crate::pool::BUFFER_BYTES;

/// Design of a pool's list of free buffers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PoolKind {
    /// A stack of indices: the buffer that was given back last is used next.
    #[default]
    Stack,
    /// A ring of indices: the buffer that was given back first is used next, so that all of them pass through the caches.
    Ring,
    /// An intrusive list: a free buffer holds the index of the next one.
    List,
    /// A stack, and a flag for each buffer: one that is given back twice panics.
    Checked,
    /// A stack, and a count of owners for each buffer, as in an mbuf of DPDK: the last one gives it back.
    Counted,
}

impl PoolKind {
    /// All of them, with their names.
    pub const ALL: [(&str, PoolKind); 5] = [
        ("stack", PoolKind::Stack),
        ("ring", PoolKind::Ring),
        ("list", PoolKind::List),
        ("checked", PoolKind::Checked),
        ("counted", PoolKind::Counted),
    ];
}

/// A name that no design has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected stack, ring, list, checked or counted, found {0}")]
pub struct UnknownPoolKind(pub String);

impl FromStr for PoolKind {
    type Err = UnknownPoolKind;

    fn from_str(text: &str) -> Result<PoolKind, UnknownPoolKind> {
        let found = PoolKind::ALL.iter().find(|(name, _)| *name == text);
        found.map(|&(_, kind)| kind).ok_or_else(|| UnknownPoolKind(text.to_owned()))
    }
}

/// Free buffers of a pool, by its design.
pub(crate) enum FreeList {
    Stack(Vec<u32>),
    Ring {
        indices: Box<[u32]>,
        head: usize,
        number: usize,
    },
    List {
        memory: Dma,
        first: u32,
        number: usize,
    },
    /// `is_free`: by buffer.
    Checked {
        indices: Vec<u32>,
        is_free: Box<[bool]>,
    },
    /// `owners`: by buffer; 0 while it is free.
    Counted {
        indices: Vec<u32>,
        owners: Box<[u16]>,
    },
}

impl FreeList {
    /// All of `number` buffers are free; the first is used first.
    pub(crate) fn new(kind: PoolKind, number: u32, memory: &Dma) -> FreeList {
        let all = number as usize;
        let capacity = || Vec::with_capacity(all);
        let mut free = match kind {
            PoolKind::Stack => FreeList::Stack(capacity()),
            PoolKind::Ring => FreeList::Ring { indices: vec![0; all].into(), head: 0, number: 0 },
            PoolKind::List => FreeList::List { memory: memory.clone(), first: 0, number: 0 },
            PoolKind::Checked => FreeList::Checked { indices: capacity(), is_free: vec![false; all].into() },
            PoolKind::Counted => FreeList::Counted { indices: capacity(), owners: vec![1; all].into() },
        };
        match kind {
            PoolKind::Ring => (0..number).for_each(|index| free.give(index)),
            _ => (0..number).rev().for_each(|index| free.give(index)),
        }
        free
    }

    #[inline]
    pub(crate) fn number(&self) -> usize {
        match self {
            FreeList::Stack(indices) | FreeList::Checked { indices, .. } | FreeList::Counted { indices, .. } => {
                indices.len()
            }
            FreeList::Ring { number, .. } | FreeList::List { number, .. } => *number,
        }
    }

    /// Returns several buffers to the list.
    #[inline]
    pub(crate) fn give_all(&mut self, all: impl IntoIterator<Item = u32>) {
        match self {
            FreeList::Stack(indices) => indices.extend(all),
            _ => all.into_iter().for_each(|index| self.give(index)),
        }
    }
}

/// Where free buffers come from, and go to: a list of any design, or the stack by itself. A loop that is made for the stack has no
/// calls and no jumps between designs.
pub(crate) trait Free {
    /// Takes a buffer; `None` if all are in use.
    fn take(&mut self) -> Option<u32>;

    /// Returns a buffer.
    fn give(&mut self, index: u32);
}

impl Free for Vec<u32> {
    #[inline]
    fn take(&mut self) -> Option<u32> {
        self.pop()
    }

    #[inline]
    fn give(&mut self, index: u32) {
        self.push(index);
    }
}

impl Free for FreeList {
    #[inline]
    fn take(&mut self) -> Option<u32> {
        match self {
            FreeList::Stack(indices) => indices.pop(),
            FreeList::Ring { indices, head, number } => {
                *number = number.checked_sub(1)?;
                let index = *at(indices, *head);
                *head = if *head + 1 == indices.len() { 0 } else { *head + 1 };
                Some(index)
            }
            FreeList::List { memory, first, number } => {
                *number = number.checked_sub(1)?;
                let index = *first;
                let next = memory.bytes(index as usize * BUFFER_BYTES, 4);
                *first = next.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                Some(index)
            }
            FreeList::Checked { indices, is_free } => {
                let index = indices.pop()?;
                *at_mut(is_free, index as usize) = false;
                Some(index)
            }
            FreeList::Counted { indices, owners } => {
                let index = indices.pop()?;
                *at_mut(owners, index as usize) = 1;
                Some(index)
            }
        }
    }

    #[inline]
    fn give(&mut self, index: u32) {
        match self {
            FreeList::Stack(indices) => indices.push(index),
            FreeList::Ring { indices, head, number } => {
                let end = *head + *number;
                let end = if end >= indices.len() { end - indices.len() } else { end };
                *at_mut(indices, end) = index;
                *number += 1;
            }
            FreeList::List { memory, first, number } => {
                memory.bytes_mut(index as usize * BUFFER_BYTES, 4).copy_from_slice(&first.to_le_bytes());
                *first = index;
                *number += 1;
            }
            FreeList::Checked { indices, is_free } => {
                let was_free = std::mem::replace(at_mut(is_free, index as usize), true);
                hold(!was_free, "a buffer is given back once");
                indices.push(index);
            }
            FreeList::Counted { indices, owners } => {
                let owners = at_mut(owners, index as usize);
                *owners -= 1;
                if *owners == 0 {
                    indices.push(index);
                }
            }
        }
    }
}

impl fmt::Debug for FreeList {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} free buffers", self.number())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Kinds that need no memory of a device.
    fn kinds() -> impl Iterator<Item = PoolKind> {
        PoolKind::ALL.into_iter().map(|(_, kind)| kind).filter(|&kind| kind != PoolKind::List)
    }

    fn free(kind: PoolKind, number: u32) -> FreeList {
        FreeList::new(kind, number, &Dma::none())
    }

    #[test]
    fn every_buffer_is_taken_once_before_any_is_given_back() {
        for kind in kinds() {
            let mut free = free(kind, 9);
            assert_eq!(free.number(), 9);
            for round in 0..20 {
                let taken: Vec<u32> = std::iter::from_fn(|| free.take()).collect();
                assert_eq!((taken.len(), taken.iter().collect::<BTreeSet<_>>().len()), (9, 9), "{kind:?}");
                let (now, later) = taken.split_at(round % 9);
                later.iter().for_each(|&index| free.give(index));
                free.give_all(now.iter().copied());
            }
        }
    }

    #[test]
    fn a_stack_uses_the_last_one_and_a_ring_the_first_one() {
        for (kind, next) in [(PoolKind::Stack, 0), (PoolKind::Ring, 4)] {
            let mut free = free(kind, 8);
            let taken: Vec<u32> = (0..4).filter_map(|_| free.take()).collect();
            assert_eq!(taken, [0, 1, 2, 3]);
            free.give_all(taken.into_iter().rev());
            assert_eq!(free.take(), Some(next), "{kind:?}");
        }
    }

    #[test]
    #[cfg(not(feature = "unchecked"))]
    #[should_panic(expected = "a buffer is given back once")]
    fn a_checked_pool_notices_a_buffer_that_is_given_back_twice() {
        let mut free = free(PoolKind::Checked, 4);
        let index = free.take().expect("all are free");
        free.give(index);
        free.give(index);
    }

    #[test]
    fn names_are_read() {
        for (name, kind) in PoolKind::ALL {
            assert_eq!(name.parse(), Ok(kind));
        }
        assert_eq!("heap".parse::<PoolKind>(), Err(UnknownPoolKind("heap".to_owned())));
    }
}
