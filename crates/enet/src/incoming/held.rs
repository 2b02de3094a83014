//! Packets that cannot be delivered yet, in trees that are charged for what they take.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Refused;
use crate::allocation::{allocated, tree_entry, tree_node};
use crate::budget::{Charge, Exemption, ReceiveQuota};
use crate::packet::Kind;
use crate::reassembly::{Piece, Reassembly};
use crate::wire::Fragment;

/// Cost of inserting an entry into a tree, or removing one, in steps of the host: a search and an allocation, in memory
/// that is seldom cached.
const STEPS: u64 = 8;

/// A packet that came whole, or became so, before its turn.
#[derive(Debug)]
pub(super) struct Whole {
    pub kind: Kind,
    payload: Box<[u8]>,
    charge: Charge,
}

/// A packet with a piece missing, or a complete one of which that has yet to be noticed.
#[derive(Debug)]
pub(super) struct Partial {
    pub pieces: Reassembly,
    charge: Charge,
}

/// Either, of a reliable channel, where both are in one order.
#[derive(Debug)]
pub(super) enum Held {
    Whole(Box<Whole>),
    Pieces(Box<Partial>),
}

impl Held {
    pub fn is_complete(&self) -> bool {
        match self {
            Held::Whole(_) => true,
            Held::Pieces(partial) => partial.pieces.is_complete(),
        }
    }

    /// Reliable numbers that the packet takes.
    pub fn numbers(&self) -> u64 {
        match self {
            Held::Whole(_) => 1,
            Held::Pieces(partial) => partial.pieces.count().into(),
        }
    }

    pub fn charge(&mut self) -> &mut Charge {
        match self {
            Held::Whole(whole) => &mut whole.charge,
            Held::Pieces(partial) => &mut partial.charge,
        }
    }

    pub fn into_packet(self) -> Vec<u8> {
        match self {
            Held::Whole(whole) => whole.into_packet(),
            Held::Pieces(partial) => partial.pieces.into_packet(),
        }
    }
}

impl Whole {
    pub fn charge(&mut self) -> &mut Charge {
        &mut self.charge
    }

    pub fn into_packet(self) -> Vec<u8> {
        self.payload.into_vec()
    }
}

impl Partial {
    pub fn charge(&mut self) -> &mut Charge {
        &mut self.charge
    }

    /// Takes one more piece, and is charged for it; false if it was known.
    pub fn take(
        &mut self,
        fragment: &Fragment,
        payload: &[u8],
        quota: &mut ReceiveQuota,
        exemption: Option<Exemption>,
    ) -> Result<bool, Refused> {
        match self.pieces.look(fragment, payload.len() as u32) {
            Piece::Foreign => return Err(Refused::Malformed),
            Piece::Known => return Ok(false),
            Piece::New => {}
        }
        let beside = self.charge.bytes.saturating_sub(self.pieces.bytes());
        let wanted = beside.saturating_add(self.pieces.bytes_with(fragment.number, payload.len()));
        if !quota.charge(&mut self.charge, wanted, exemption) {
            return Err(Refused::NoRoom);
        }
        self.pieces.insert(fragment.number, payload);
        // Pieces that came early need no place of their own once they are in order.
        quota.charge(&mut self.charge, beside.saturating_add(self.pieces.bytes()), None);
        Ok(true)
    }
}

/// Held items of one kind, in delivery order.
#[derive(Debug)]
pub(super) struct Tree<K, V> {
    entries: BTreeMap<K, V>,
    node: Charge,
}

impl<K, V> Default for Tree<K, V> {
    fn default() -> Self {
        Tree { entries: BTreeMap::new(), node: Charge::default() }
    }
}

impl<K: Ord + Copy, V> Tree<K, V> {
    const NODE_BYTES: usize = tree_node(size_of::<(K, V)>());
    const ENTRY_BYTES: usize = tree_entry(size_of::<(K, V)>());

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn contains(&self, key: K) -> bool {
        self.entries.contains_key(&key)
    }

    pub fn get(&self, key: K) -> Option<&V> {
        self.entries.get(&key)
    }

    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.entries.get_mut(&key)
    }

    pub fn first(&self) -> Option<(K, &V)> {
        self.entries.first_key_value().map(|(&key, value)| (key, value))
    }

    /// The last key up to `key`.
    pub fn last_until(&self, key: K) -> Option<K> {
        self.entries.range(..=key).next_back().map(|(&key, _)| key)
    }

    /// Takes the first entry out that is below `end`; what it is charged is the caller's to give back.
    pub fn pop_below(&mut self, end: K, quota: &mut ReceiveQuota) -> Option<V> {
        let entry = self.entries.first_entry().filter(|entry| *entry.key() < end)?;
        let value = entry.remove();
        self.settle(quota);
        Some(value)
    }

    pub fn remove(&mut self, key: K, quota: &mut ReceiveQuota) -> Option<V> {
        let value = self.entries.remove(&key)?;
        self.settle(quota);
        Some(value)
    }

    /// Puts in what `make` makes with a charge of `bytes` and those of the entry.
    pub fn insert(
        &mut self,
        key: K,
        bytes: usize,
        quota: &mut ReceiveQuota,
        exemption: Option<Exemption>,
        make: impl FnOnce(Charge) -> V,
    ) -> Result<(), Refused> {
        *quota.work = quota.work.wrapping_add(STEPS);
        if self.entries.is_empty() {
            let exemption = exemption.filter(|&exemption| quota.may_exempt(Some(exemption))).map(|_| Exemption::Node);
            if !quota.charge(&mut self.node, Self::NODE_BYTES, exemption) {
                return Err(Refused::NoRoom);
            }
        }
        let mut charge = Charge::default();
        if !quota.charge(&mut charge, Self::ENTRY_BYTES.saturating_add(bytes), exemption) {
            self.settle(quota);
            return Err(Refused::NoRoom);
        }
        self.entries.insert(key, make(charge));
        Ok(())
    }

    /// An empty tree keeps a node, unless it is made again.
    fn settle(&mut self, quota: &mut ReceiveQuota) {
        *quota.work = quota.work.wrapping_add(STEPS);
        if self.entries.is_empty() {
            self.entries = BTreeMap::new();
            quota.discharge(&mut self.node);
        }
    }

    #[cfg(test)]
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut()
    }

    #[cfg(test)]
    pub fn node_bytes(&self) -> usize {
        self.node.bytes
    }
}

/// What is charged for its memory.
pub(super) trait Charged {
    fn charged(&self) -> &Charge;
}

impl Charged for Held {
    fn charged(&self) -> &Charge {
        match self {
            Held::Whole(whole) => &whole.charge,
            Held::Pieces(partial) => &partial.charge,
        }
    }
}

impl Charged for Box<Whole> {
    fn charged(&self) -> &Charge {
        &self.charge
    }
}

impl Charged for Box<Partial> {
    fn charged(&self) -> &Charge {
        &self.charge
    }
}

impl<K, V: Charged> Tree<K, V> {
    /// Charges of the entries, and of the tree itself.
    pub fn charges(&self) -> impl Iterator<Item = &Charge> {
        self.entries.values().map(V::charged).chain([&self.node])
    }
}

/// A packet that came whole, charged.
pub(super) fn insert_whole<K: Ord + Copy, V>(
    tree: &mut Tree<K, V>,
    key: K,
    (kind, payload): (Kind, Box<[u8]>),
    quota: &mut ReceiveQuota,
    wrap: impl FnOnce(Box<Whole>) -> V,
) -> Result<(), Refused> {
    let bytes = const { allocated(size_of::<Whole>()) }.saturating_add(allocated(payload.len()));
    tree.insert(key, bytes, quota, None, |charge| wrap(Box::new(Whole { kind, payload, charge })))
}

/// The first piece of a packet, charged; `fresh` has none yet.
pub(super) fn insert_partial<K: Ord + Copy, V>(
    tree: &mut Tree<K, V>,
    key: K,
    mut fresh: Reassembly,
    (fragment, payload): (&Fragment, &[u8]),
    quota: &mut ReceiveQuota,
    exemption: Option<Exemption>,
    wrap: impl FnOnce(Box<Partial>) -> V,
) -> Result<(), Refused> {
    // Only one piece is in it: what it takes with that is what it takes.
    let bytes =
        const { allocated(size_of::<Partial>()) }.saturating_add(fresh.bytes_with(fragment.number, payload.len()));
    tree.insert(key, bytes, quota, exemption, |charge| {
        fresh.insert(fragment.number, payload);
        wrap(Box::new(Partial { pieces: fresh, charge }))
    })
}
