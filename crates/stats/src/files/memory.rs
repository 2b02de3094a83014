//! Memory that reading a file of others may take: ten times its bytes, at least 64 MiB and at most 1 GiB, or what the
//! user allows.
//!
//! Three bytes of JSON may become a hundred in memory. So readers of lists and maps charge an account of their thread
//! before they keep an element, and stop where the account is empty. What is charged are sizes of allocations, with
//! the room of lists that grow.
#![deny(clippy::indexing_slicing)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Times the bytes of a file that reading it may take.
const FACTOR: u64 = 10;

/// Bytes that reading any file may take, however small.
pub const FLOOR_BYTES: u64 = 64 << 20;

/// Bytes that reading any file may take at most, unless the user allows more.
pub const CEILING_BYTES: u64 = 1 << 30;

/// What an allocation takes beside its bytes.
pub(crate) const ALLOCATION_BYTES: usize = 16;

/// Entries of a node of a `BTreeMap`, and those that it keeps when it is split behind its last one.
const NODE_ENTRIES: usize = 11;
const KEPT_ENTRIES: usize = 6;

#[derive(Debug, Clone, Copy)]
struct Account {
    most: u64,
    charged: u64,
}

thread_local! {
    static ACCOUNT: Cell<Option<Account>> = const { Cell::new(None) };
    static ALLOWED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The account is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded {
    /// Limit, in bytes.
    pub(crate) most: u64,
    /// What was charged so far, in bytes.
    pub(crate) charged: u64,
}

impl Exceeded {
    /// What the whole file takes if the rest of it is like the first `read` of `all` bytes.
    pub(crate) fn after(self, read: usize, all: usize) -> Exceeded {
        let charged = u128::from(self.charged) * all as u128 / read.max(1) as u128;
        Exceeded { charged: u64::try_from(charged).unwrap_or(u64::MAX), ..self }
    }
}

/// Runs `read` with a limit in bytes instead of the rule for a file of that length, on this thread.
pub fn within<T>(most: Option<u64>, read: impl FnOnce() -> T) -> T {
    let before = ALLOWED.replace(most);
    let value = read();
    ALLOWED.set(before);
    value
}

/// Runs `read` with an account for a file of `file_bytes` bytes; a nested call uses the account of the outer one.
pub(crate) fn accounted<T>(file_bytes: usize, read: impl FnOnce() -> T) -> T {
    let outer = ACCOUNT.get();
    if outer.is_none() {
        let rule = (FACTOR * file_bytes as u64).clamp(FLOOR_BYTES, CEILING_BYTES);
        let most = ALLOWED.get().unwrap_or(rule);
        ACCOUNT.set(Some(Account { most, charged: file_bytes as u64 }));
    }
    let value = read();
    if outer.is_none() {
        ACCOUNT.set(None);
    }
    value
}

/// Charges the account; without one, nothing is limited.
pub(crate) fn charge(bytes: usize) -> Result<(), Exceeded> {
    let Some(mut account) = ACCOUNT.get() else { return Ok(()) };
    account.charged = account.charged.saturating_add(bytes as u64);
    ACCOUNT.set(Some(account));
    exceeded().map_or(Ok(()), Err)
}

/// Charges a list that is allocated for this number of elements.
pub(crate) fn charge_list<T>(elements: usize) -> Result<(), Exceeded> {
    charge(elements.saturating_mul(size_of::<T>()).saturating_add(ALLOCATION_BYTES))
}

/// The account, if it is empty.
pub(crate) fn exceeded() -> Option<Exceeded> {
    let Account { most, charged } = ACCOUNT.get()?;
    (charged > most).then_some(Exceeded { most, charged })
}

fn charged<E: Error>(bytes: usize) -> Result<(), E> {
    charge(bytes).map_err(|_| E::custom("more memory than the file may take"))
}

/// Charges a value in an allocation of its own.
pub(crate) fn charge_boxed<T, E: Error>() -> Result<(), E> {
    charged(size_of::<T>() + ALLOCATION_BYTES)
}

/// Charges a tree of JSON by its text: each bracket and each comma may stand for an allocation.
pub(crate) fn charge_tree<E: Error>(json: &str) -> Result<(), E> {
    const ENTRY_BYTES: usize = size_of::<(String, serde_json::Value)>();
    let of = |byte| match byte {
        b'{' => NODE_ENTRIES * ENTRY_BYTES + ALLOCATION_BYTES,
        b'[' => 4 * size_of::<serde_json::Value>() + ALLOCATION_BYTES,
        b',' => NODE_ENTRIES * ENTRY_BYTES / KEPT_ENTRIES + 2 * ALLOCATION_BYTES,
        _ => 1,
    };
    charged(json.bytes().map(of).sum())
}

/// A value that may have allocations of its own.
pub(crate) trait Owns {
    /// Bytes of those that are not charged where the value is read.
    fn owned_bytes(&self) -> usize {
        0
    }
}

impl Owns for f64 {}
impl Owns for u64 {}
impl Owns for [u64; 2] {}
impl Owns for Option<i32> {}

impl Owns for String {
    fn owned_bytes(&self) -> usize {
        self.capacity() + ALLOCATION_BYTES
    }
}

/// Adds an element to a list that grows by a quarter, and charges its room.
fn push<T: Owns, E: Error>(list: &mut Vec<T>, element: T) -> Result<(), E> {
    let owned = element.owned_bytes();
    let more = if list.len() < list.capacity() {
        0
    } else if list.is_empty() {
        1
    } else {
        (list.len() / 4).max(2)
    };
    let first = if list.capacity() == 0 { ALLOCATION_BYTES } else { 0 };
    charged(more * size_of::<T>() + first + owned)?;
    list.reserve_exact(more);
    list.push(element);
    Ok(())
}

/// Reads the elements of a list and charges them.
pub(crate) fn elements<'de, A, T>(mut elements: A) -> Result<Vec<T>, A::Error>
where
    A: SeqAccess<'de>,
    T: Deserialize<'de> + Owns,
{
    let mut list = Vec::new();
    while let Some(element) = elements.next_element()? {
        push(&mut list, element)?;
    }
    Ok(list)
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Owns> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<Vec<T>, A::Error> {
        self::elements(elements)
    }
}

/// Reads a list and charges it.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de> + Owns>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(ListVisitor(PhantomData))
}

/// Reads a list or `null`, and charges it.
pub(crate) fn optional_list<'de, D, T>(from: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Owns,
{
    struct Charged<T>(Vec<T>);

    impl<'de, T: Deserialize<'de> + Owns> Deserialize<'de> for Charged<T> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Charged<T>, D::Error> {
            list(from).map(Charged)
        }
    }

    Ok(Option::<Charged<T>>::deserialize(from)?.map(|Charged(list)| list))
}

struct MapVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de> + Owns> Visitor<'de> for MapVisitor<V> {
    type Value = BTreeMap<String, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<BTreeMap<String, V>, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry::<String, V>()? {
            let owned = key.owned_bytes() + value.owned_bytes();
            charged(owned + node_bytes::<V>(map.len()))?;
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// Bytes that a map with this number of entries allocates for one more.
fn node_bytes<V>(entries: usize) -> usize {
    let leaf = NODE_ENTRIES * size_of::<(String, V)>() + ALLOCATION_BYTES;
    match entries {
        0 => leaf,
        // Every sixth leaf has an inner node, with pointers to its own.
        _ if entries >= NODE_ENTRIES && (entries - NODE_ENTRIES).is_multiple_of(KEPT_ENTRIES) => {
            leaf + (leaf + (NODE_ENTRIES + 1) * size_of::<usize>()) / KEPT_ENTRIES
        }
        _ => 0,
    }
}

/// Bytes of a copy of a map with this number of entries, excluding those that its entries own.
pub(crate) fn map_bytes<V>(entries: usize) -> usize {
    (0..entries).map(node_bytes::<V>).sum()
}

/// Reads an object and charges it.
pub(crate) fn map<'de, D, V>(from: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de> + Owns,
{
    from.deserialize_map(MapVisitor(PhantomData))
}

/// Reads an object or `null`, and charges it.
pub(crate) fn optional_map<'de, D, V>(from: D) -> Result<Option<BTreeMap<String, V>>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de> + Owns,
{
    struct Charged<V>(BTreeMap<String, V>);

    impl<'de, V: Deserialize<'de> + Owns> Deserialize<'de> for Charged<V> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Charged<V>, D::Error> {
            map(from).map(Charged)
        }
    }

    Ok(Option::<Charged<V>>::deserialize(from)?.map(|Charged(map)| map))
}
