//! Tagged fields: `tag: varint, length: varint, bytes`. A reader skips tags that it does not know.

use super::error::BlockProblem;
use super::varint::{self, Input};

pub(crate) fn put(out: &mut Vec<u8>, tag: u64, bytes: &[u8]) {
    varint::put(out, tag);
    varint::put_bytes(out, bytes);
}

pub(crate) fn put_number(out: &mut Vec<u8>, tag: u64, value: u64) {
    let mut bytes = Vec::new();
    varint::put(&mut bytes, value);
    put(out, tag, &bytes);
}

/// Calls `each` with every field in the order they stand.
pub(crate) fn each<'a>(
    bytes: &'a [u8],
    what: &'static str,
    mut each: impl FnMut(u64, &'a [u8]) -> Option<()>,
) -> Result<(), BlockProblem> {
    let mut input = Input::new(bytes);
    while !input.is_empty() {
        let read = input.number().zip(input.prefixed()).and_then(|(tag, field)| each(tag, field));
        read.ok_or(BlockProblem::Content { what })?;
    }
    Ok(())
}

/// A field that is one number; bytes behind it belong to a newer version and are skipped.
pub(crate) fn number<T: TryFrom<u64>>(field: &[u8]) -> Option<T> {
    Input::new(field).fitting()
}

/// A field that is text. Bytes that are not UTF-8 become U+FFFD.
pub(crate) fn text(field: &[u8]) -> Option<String> {
    Some(String::from_utf8_lossy(field).into_owned())
}
