//! A record as it stands on a tape.

use prony_channel::NO_TURN;
use prony_demo::{Class, HEAD_BYTES, Head, Op};

/// Appends reads of clocks as they stand on the tape, where none of them begins a turn.
pub(crate) fn put_clocks(to: &mut Vec<u8>, records: &[u8]) {
    let start = to.len();
    to.extend_from_slice(records);
    for record in to[start..].chunks_exact_mut(HEAD_BYTES) {
        record[TIME..TIME + 8].copy_from_slice(&NO_TURN.to_le_bytes());
    }
}

/// Offset of the time in a head, in bytes.
const TIME: usize = std::mem::offset_of!(Head, time);

/// Head and class of a record that a replay answers a call with.
pub(crate) fn playable(record: &[u8]) -> Option<(Head, Option<Class>)> {
    let head = Head::from_bytes(record)?;
    let class = Op::from_number(head.op).map(Op::class);
    (class != Some(Class::Note)).then_some((head, class))
}
