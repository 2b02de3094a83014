//! The number at which an output differs from the recorded one, as far as the bytes show one.

use crate::report::{Difference, Divergence};
use std::fmt;

/// A number in an output that differs from the recorded one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberChange {
    /// Place of its first byte in the output.
    pub byte: u64,
    /// How the bytes hold it.
    pub form: NumberForm,
    /// The recorded number.
    pub expected: Number,
    /// The number that the build sent.
    pub found: Number,
}

/// A number in an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number.
    Integer(u64),
    /// A number with a fraction.
    Float(f64),
}

/// How bytes of an output hold a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberForm {
    /// As text: decimal, with a point if it has a fraction, or hexadecimal behind `0x`.
    Text,
    /// As a binary number.
    Binary {
        /// Its width, 4 or 8.
        bytes: u8,
        /// IEEE 754; otherwise an integer without a sign.
        is_float: bool,
        /// The most significant byte comes first.
        is_big_endian: bool,
    },
}

impl fmt::Display for NumberForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NumberForm::Binary { bytes, is_float, is_big_endian } = *self else { return f.write_str("text") };
        let kind = if is_float { "float" } else { "integer" };
        let order = if is_big_endian { "big-endian" } else { "little-endian" };
        write!(f, "{}-bit {kind}, {order}", u32::from(bytes) * 8)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(number) => write!(f, "{number}"),
            Number::Float(number) => write!(f, "{number}"),
        }
    }
}

/// How far apart floating-point numbers may be to be taken for such: as a share of the larger one.
const CLOSE: f64 = 1e-3;

/// Bytes around a number in text that are text too.
const AROUND: usize = 4;

impl NumberChange {
    /// True for two numbers with a fraction that lie as close to each other as rounding makes them.
    pub fn is_close(&self) -> bool {
        matches!((self.expected, self.found), (Number::Float(expected), Number::Float(found)) if is_close(expected, found))
    }
}

impl Divergence {
    /// The number at the first byte that differs.
    pub fn number(&self) -> Option<NumberChange> {
        let (Difference::Bytes, Some(byte)) = (self.difference, self.window.differing) else { return None };
        let differs = usize::try_from(byte.checked_sub(self.window.from)?).ok()?;
        text(self, differs)
            .or_else(|| integer(self, differs, &[SMALL]))
            .or_else(|| float(self, differs))
            .or_else(|| integer(self, differs, &OTHERS))
    }
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// A number in text: both sides have digits there, and text around them.
fn text(of: &Divergence, differs: usize) -> Option<NumberChange> {
    let around = |side: &[u8]| is_text(&side[differs.saturating_sub(AROUND)..side.len().min(differs + AROUND)]);
    if differs > of.window.expected.len().min(of.window.found.len())
        || !around(&of.window.expected)
        || !around(&of.window.found)
    {
        return None;
    }
    let common = &of.window.expected[..differs];
    let is_hex =
        common.iter().rposition(|byte| !byte.is_ascii_hexdigit()).is_some_and(|at| common[..=at].ends_with(b"0x"));
    let part = |byte: &u8| if is_hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() || *byte == b'.' };
    let start = differs - common.iter().rev().take_while(|&byte| part(byte)).count();
    let read = |side: &[u8]| {
        let end = start + side[start..].iter().take_while(|&byte| part(byte)).count();
        let digits = std::str::from_utf8(&side[start..end]).ok()?.trim_end_matches('.');
        match (is_hex, digits.contains('.')) {
            (true, _) => u64::from_str_radix(digits, 16).ok().map(Number::Integer),
            (false, true) => digits.parse().ok().map(Number::Float),
            (false, false) => digits.parse().ok().map(Number::Integer),
        }
    };
    change(of, start, NumberForm::Text, read(&of.window.expected)?, read(&of.window.found)?)
}

fn change(of: &Divergence, start: usize, form: NumberForm, expected: Number, found: Number) -> Option<NumberChange> {
    (expected != found).then(|| NumberChange { byte: of.window.from + start as u64, form, expected, found })
}

/// Both sides' bytes of a binary number, the least significant one first.
fn sides(of: &Divergence, start: usize, bytes: usize, is_big_endian: bool) -> Option<[[u8; 8]; 2]> {
    let side = |side: &[u8]| {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(side.get(start..start + bytes)?);
        if is_big_endian {
            number[..bytes].reverse();
        }
        Some(number)
    };
    Some([side(&of.window.expected)?, side(&of.window.found)?])
}

/// A floating-point number, at a place where one may stand, that is close to the recorded one: of other bytes that is rare. Of
/// several, the one that takes the fewest digits to write.
fn float(of: &Divergence, differs: usize) -> Option<NumberChange> {
    let forms = [(4, false), (4, true), (8, false), (8, true)].into_iter();
    let places = forms.flat_map(|(bytes, order)| {
        (differs.saturating_sub(bytes - 1)..=differs).map(move |start| (bytes, order, start))
    });
    let candidates = places.filter_map(|(bytes, is_big_endian, start)| {
        let sides = sides(of, start, bytes, is_big_endian)?.map(u64::from_le_bytes);
        let [expected, found] = sides.map(|bits| match bytes {
            // As many digits as the narrower type has.
            4 => f32::from_bits(bits as u32).to_string().parse().unwrap_or(f64::NAN),
            _ => f64::from_bits(bits),
        });
        let form = NumberForm::Binary { bytes: bytes as u8, is_float: true, is_big_endian };
        let is_number = !is_text(&of.window.expected[start..start + bytes]) && is_close(expected, found);
        is_number.then(|| change(of, start, form, Number::Float(expected), Number::Float(found))).flatten()
    });
    candidates.min_by_key(|change| change.expected.to_string().len() + change.found.to_string().len())
}

/// Of a size that servers reckon with: other bytes, read as a number, seldom are.
fn is_close(expected: f64, found: f64) -> bool {
    let sizes = 1e-4..1e7;
    sizes.contains(&expected.abs())
        && sizes.contains(&found.abs())
        && expected != found
        && (expected - found).abs() <= CLOSE * expected.abs().max(found.abs())
}

/// Seconds since 1970 that a program of today may meet, and that are no `float` of a usual size.
const SECONDS: std::ops::Range<u64> = 1_300_000_000..3_000_000_000;

/// Bytes of an integer, whether the most significant one comes first, and how many stand before a multiple of 4.
type Shape = (usize, bool, usize);

/// What no floating-point number of a usual size looks like.
const SMALL: Shape = (4, false, 0);
const OTHERS: [Shape; 6] = [(8, false, 0), (8, false, 4), (8, true, 0), (8, true, 4), SMALL, (4, true, 0)];

/// An integer at a place that is a multiple of 4 whose upper bytes show its width and order: they are zero, or those of a time or an
/// address.
fn integer(of: &Divergence, differs: usize, shapes: &[Shape]) -> Option<NumberChange> {
    let place = of.window.from as usize + differs;
    let aligned = |back: usize| (place - place % 4).checked_sub(of.window.from as usize + back);
    shapes.iter().find_map(|&(bytes, is_big_endian, back)| {
        let start = aligned(back)?;
        let [expected, found] = sides(of, start, bytes, is_big_endian)?.map(u64::from_le_bytes);
        let is_text =
            is_text(&of.window.expected[start..start + bytes]) || is_text(&of.window.found[start..start + bytes]);
        let is_number = !is_text && is_of_width(bytes, expected) && is_of_width(bytes, found);
        let form = NumberForm::Binary { bytes: bytes as u8, is_float: false, is_big_endian };
        is_number.then(|| change(of, start, form, Number::Integer(expected), Number::Integer(found))).flatten()
    })
}

/// True for integers that programs hold in this number of bytes and not in fewer.
fn is_of_width(bytes: usize, number: u64) -> bool {
    let is_time = |unit: u64| SECONDS.contains(&(number / unit));
    match bytes {
        8 => (1 << 40..1 << 48).contains(&number) || is_time(1_000_000) || is_time(1_000_000_000),
        _ => (1..1 << 24).contains(&number) || is_time(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::diverged::differing;

    fn seen(expected: &[u8], found: &[u8]) -> Option<(u64, String, String, String)> {
        let NumberChange { byte, form, expected, found } = differing(100, expected, found).number()?;
        Some((byte - 100, form.to_string(), expected.to_string(), found.to_string()))
    }

    fn known(byte: u64, form: &str, expected: &str, found: &str) -> Option<(u64, String, String, String)> {
        Some((byte, form.to_owned(), expected.to_owned(), found.to_owned()))
    }

    #[test]
    fn numbers_in_text_are_read_as_a_whole() {
        assert_eq!(seen(b"at 1999 ms", b"at 2004 ms"), known(3, "text", "1999", "2004"));
        assert_eq!(seen(b"id=99;", b"id=990;"), known(3, "text", "99", "990"));
        assert_eq!(seen(b"t 1.25, ", b"t 1.5, "), known(2, "text", "1.25", "1.5"));
        assert_eq!(seen(b"took 12.", b"took 13."), known(5, "text", "12", "13"));
        assert_eq!(seen(b"at 0x7ffe10 in", b"at 0x7ffd10 in"), known(5, "text", "8388112", "8387856"));
        for (expected, found) in [(&b"answer"[..], &b"answes"[..]), (b"id=9;", b"id=x;"), (b"a1b", b"a-b")] {
            assert_eq!(seen(expected, found), None);
        }
    }

    #[test]
    fn floats_are_distinguished_from_other_bytes_where_they_are_close() {
        let floats = |numbers: [f32; 3]| numbers.map(f32::to_le_bytes).concat();
        let found = seen(&floats([1.0, 0.5, -0.4878]), &floats([1.0, 0.500_061_04, -0.4878]));
        assert_eq!(found, known(4, "32-bit float, little-endian", "0.5", "0.50006104"));
        let doubles = [2.5f64.to_be_bytes(), 17.25f64.to_be_bytes()].concat();
        let other = [2.5f64.to_be_bytes(), 17.2501f64.to_be_bytes()].concat();
        assert_eq!(seen(&doubles, &other), known(8, "64-bit float, big-endian", "17.25", "17.2501"));
        for (expected, found) in [
            (&b"answer 2a question"[..], &b"`nswer 2a question"[..]),
            (b"\x00\x01\x02\x03\x04\x05\x06\x07", b"\x01\x01\x02\x03\x04\x05\x06\x07"),
        ] {
            assert!(seen(expected, found).is_none_or(|(_, form, ..)| !form.contains("float")), "{expected:?}");
        }
        let not_sent = Divergence { difference: Difference::NotSent, ..differing(100, &doubles, &other) };
        assert_eq!(not_sent.number(), None);
    }

    #[test]
    fn integers_are_read_in_the_width_that_their_upper_bytes_show() {
        let little = |numbers: [u32; 2]| numbers.map(u32::to_le_bytes).concat();
        let big = |numbers: [u32; 2]| numbers.map(u32::to_be_bytes).concat();
        let of_32 = "32-bit integer, little-endian";
        assert_eq!(seen(&little([7, 70_000]), &little([7, 70_001])), known(4, of_32, "70000", "70001"));
        assert_eq!(seen(&big([7, 513]), &big([7, 514])), known(4, "32-bit integer, big-endian", "513", "514"));
        let times = [1_795_660_370u32, 1_795_662_669].map(|time| [&[0xff; 4][..], &time.to_le_bytes()].concat());
        assert_eq!(seen(&times[0], &times[1]), known(4, of_32, "1795660370", "1795662669"));
        let addresses = [0x7fff_f7fc_1000u64, 0x7fff_f7fb_1000].map(|address| [[9; 8], address.to_le_bytes()].concat());
        let of_64 = "64-bit integer, little-endian";
        assert_eq!(seen(&addresses[0], &addresses[1]), known(8, of_64, "140737353879552", "140737353814016"));
    }
}
