//! Starts and ends of the functions of an object, from its own tables: unwind information, symbols, relocations.
#![deny(clippy::indexing_slicing)]

use crate::server::program::code_sections;
use object::SymbolKind;
use object::elf::{R_X86_64_IRELATIVE, R_X86_64_RELATIVE};
use object::read::{Object, ObjectSection, ObjectSymbol, ReadCache, RelocationFlags, RelocationTarget};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;

/// The code of an object. Addresses are those that its tables use.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// Functions whose end is known, in order and without overlaps.
    pub(crate) whole: Vec<Range<u64>>,
    /// Places where code begins, in order.
    pub(crate) starts: Vec<u64>,
}

impl Functions {
    /// Functions of an object, from its tables.
    pub(crate) fn of(bytes: &ReadCache<File>) -> Functions {
        let Ok(object) = object::read::File::parse(bytes) else { return Functions::default() };
        let mut whole = Vec::new();
        if let Some(section) = object.section_by_name(".eh_frame")
            && let Ok(data) = section.data()
        {
            whole = unwound(section.address(), data, object.is_64());
        }
        let mut starts = vec![object.entry()];
        for symbol in object.symbols().chain(object.dynamic_symbols()) {
            if !symbol.is_definition() || symbol.kind() == SymbolKind::Data {
                continue;
            }
            match symbol.size() {
                size if size > 0 && symbol.kind() == SymbolKind::Text => {
                    whole.push(symbol.address()..symbol.address().saturating_add(size));
                }
                // Labels of assembly.
                _ => starts.push(symbol.address()),
            }
        }
        for (_, relocation) in object.dynamic_relocations().into_iter().flatten() {
            if let (
                RelocationFlags::Elf { r_type: R_X86_64_RELATIVE | R_X86_64_IRELATIVE },
                RelocationTarget::Absolute,
            ) = (relocation.flags(), relocation.target())
            {
                starts.push(relocation.addend() as u64);
            }
        }
        let code = code_sections(bytes);
        starts.retain(|start| code.iter().any(|(from, code)| (*from..from + code.len() as u64).contains(start)));
        Functions { whole: without_overlaps(whole), starts: in_order(starts) }
    }

    /// The function that holds this address.
    pub(crate) fn around(&self, address: u64) -> Option<&Range<u64>> {
        let after = self.whole.partition_point(|function| function.start <= address);
        self.whole.get(after.checked_sub(1)?).filter(|function| function.contains(&address))
    }
}

/// Sorts the starts and removes duplicates.
pub(crate) fn in_order(mut starts: Vec<u64>) -> Vec<u64> {
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// A function within another, as an alias of its second half, is a part of that.
fn without_overlaps(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| (range.start, u64::MAX - range.end));
    let mut kept: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        if kept.last().is_none_or(|last| last.end <= range.start) {
            kept.push(range);
        }
    }
    kept
}

/// Bytes of `.eh_frame` that are read one after another.
struct Fields<'a> {
    address: u64,
    is_64: bool,
    data: &'a [u8],
    at: usize,
}

// How a pointer is written (Linux Standard Base, 10.5.1).
const POINTER_FORMAT: u8 = 0x0f;
const POINTER_RELATIVE_TO: u8 = 0x70;
const TO_ITSELF: u8 = 0x10;

impl Fields<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.data.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(*bytes)
    }

    /// LEB128; the sign is of no interest here.
    fn variable(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn pointer(&mut self, encoding: u8) -> Option<u64> {
        let place = self.address + self.at as u64;
        let value = match encoding & POINTER_FORMAT {
            0x00 if !self.is_64 => u64::from(u32::from_le_bytes(self.number()?)),
            0x00 | 0x04 | 0x0c => u64::from_le_bytes(self.number()?),
            0x02 => u64::from(u16::from_le_bytes(self.number()?)),
            0x03 => u64::from(u32::from_le_bytes(self.number()?)),
            0x0a => i64::from(i16::from_le_bytes(self.number()?)) as u64,
            0x0b => i64::from(i32::from_le_bytes(self.number()?)) as u64,
            _ => return None,
        };
        match encoding & POINTER_RELATIVE_TO {
            0 => Some(value),
            TO_ITSELF => Some(place.wrapping_add(value)),
            _ => None,
        }
    }

    /// How the pointers of the functions are written that a common entry stands for.
    fn common_entry(&mut self) -> Option<u8> {
        let version = self.byte()?;
        let from = self.at;
        while self.byte()? != 0 {}
        let what = self.data.get(from..self.at - 1)?;
        self.variable()?;
        self.variable()?;
        if version == 1 {
            self.byte()?;
        } else {
            self.variable()?;
        }
        let Some((b'z', what)) = what.split_first() else { return (what.is_empty()).then_some(0) };
        self.variable()?;
        for &what in what {
            match what {
                b'R' => return self.byte(),
                b'P' => {
                    let encoding = self.byte()?;
                    self.pointer(encoding & POINTER_FORMAT)?;
                }
                b'L' => {
                    self.byte()?;
                }
                b'S' | b'B' => {}
                _ => return None,
            }
        }
        Some(0)
    }
}

/// The functions that unwind information speaks of (Linux Standard Base, 10.6). What is not understood is left out.
fn unwound(address: u64, data: &[u8], is_64: bool) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let mut common: HashMap<usize, Option<u8>> = HashMap::new();
    let mut at = 0;
    while let Some(length) = data.get(at..).and_then(<[u8]>::first_chunk::<4>).map(|bytes| u32::from_le_bytes(*bytes)) {
        // Zero ends the table of one linked file; 64-bit lengths are used by none.
        let end = at + 4 + length as usize;
        let Some(entry) = data.get(..end).filter(|_| length != u32::MAX) else { break };
        let mut fields = Fields { address, is_64, data: entry, at: at + 4 };
        if let Some(back) = fields.number().map(u32::from_le_bytes).filter(|_| length > 4) {
            if back == 0 {
                let encoding = fields.common_entry();
                common.insert(at, encoding);
            } else if let Some(Some(encoding)) = common.get(&(at + 4).wrapping_sub(back as usize))
                && let (Some(start), Some(length)) =
                    (fields.pointer(*encoding), fields.pointer(encoding & POINTER_FORMAT))
            {
                found.push(start..start.saturating_add(length));
            }
        }
        at = end;
    }
    found
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of one function")]
mod tests {
    use super::*;

    #[test]
    fn functions_within_others_are_no_functions_of_their_own() {
        let ranges = without_overlaps(vec![10..20, 12..15, 10..18, 20..30, 40..40]);
        assert_eq!(ranges, [10..20, 20..30]);
    }

    #[test]
    fn unwind_information_names_functions() {
        #[rustfmt::skip]
        let table = [
            // A common entry: version 1, "zR", factors, return address, pointers relative to themselves in 4 bytes.
            0x14, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0, 0, 0, 0, 0,
            // A function of 0x30 bytes, 0x100 before the place of this pointer.
            0x10, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x30, 0, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0,
        ];
        assert_eq!(unwound(0x1000, &table, true), [0x0f20..0x0f50]);
        for cut in 0..table.len() {
            assert!(unwound(0x1000, &table[..cut], true).len() <= 1);
        }
    }

    #[test]
    fn every_function_of_libc_is_known() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("own maps can be read");
        let path =
            maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).find(|path| path.contains("libc.so"));
        let file = File::open(path.expect("a test is linked against libc")).expect("it is mapped, so it can be read");
        let bytes = ReadCache::new(file);
        let functions = Functions::of(&bytes);
        let code: usize = code_sections(&bytes).iter().map(|(_, code)| code.len()).sum();
        let known: u64 = functions.whole.iter().map(|function| function.end - function.start).sum();
        assert!(known as f64 > 0.9 * code as f64, "{known} of {code} bytes of code lie in functions");
    }
}
