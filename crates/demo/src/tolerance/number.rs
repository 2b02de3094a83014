//! Numbers inside datagrams: how they are stored and how far two of them are apart.

use serde::Serialize;

macro_rules! kinds {
    ($($variant:ident $name:literal $type:ty, $from:ident, $class:ident;)*) => {
        /// Storage format of a number; the name is the `type` of a tolerance file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub enum NumberKind {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant,)*
        }

        impl NumberKind {
            /// Every kind, in the order a message lists them.
            pub const ALL: &[NumberKind] = &[$(NumberKind::$variant,)*];

            /// The kind as a tolerance file writes it.
            pub const fn name(self) -> &'static str {
                match self { $(NumberKind::$variant => $name,)* }
            }

            /// Size of the number in bytes.
            pub const fn width(self) -> usize {
                match self { $(NumberKind::$variant => size_of::<$type>(),)* }
            }

            /// The number in `bytes`, which must be [`NumberKind::width`] long.
            fn read(self, bytes: &[u8]) -> Option<Number> {
                Some(match self {
                    $(NumberKind::$variant => Number::$class(<$type>::$from(bytes.try_into().ok()?).into()),)*
                })
            }
        }
    };
}

kinds! {
    F32Le "f32le" f32, from_le_bytes, Single;
    F32Be "f32be" f32, from_be_bytes, Single;
    F64Le "f64le" f64, from_le_bytes, Double;
    F64Be "f64be" f64, from_be_bytes, Double;
    I8 "i8" i8, from_le_bytes, Integer;
    U8 "u8" u8, from_le_bytes, Integer;
    I16Le "i16le" i16, from_le_bytes, Integer;
    I16Be "i16be" i16, from_be_bytes, Integer;
    U16Le "u16le" u16, from_le_bytes, Integer;
    U16Be "u16be" u16, from_be_bytes, Integer;
    I32Le "i32le" i32, from_le_bytes, Integer;
    I32Be "i32be" i32, from_be_bytes, Integer;
    U32Le "u32le" u32, from_le_bytes, Integer;
    U32Be "u32be" u32, from_be_bytes, Integer;
    I64Le "i64le" i64, from_le_bytes, Integer;
    I64Be "i64be" i64, from_be_bytes, Integer;
    U64Le "u64le" u64, from_le_bytes, Integer;
    U64Be "u64be" u64, from_be_bytes, Integer;
}

impl NumberKind {
    /// The kind a tolerance file calls so.
    pub fn from_name(name: &str) -> Option<NumberKind> {
        NumberKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// True for floating-point numbers, false for integers.
    pub const fn is_float(self) -> bool {
        matches!(self, NumberKind::F32Le | NumberKind::F32Be | NumberKind::F64Le | NumberKind::F64Be)
    }
}

#[derive(Debug, Clone, Copy)]
enum Number {
    Single(f32),
    Double(f64),
    Integer(i128),
}

impl Number {
    fn as_f64(self) -> f64 {
        match self {
            Number::Single(value) => f64::from(value),
            Number::Double(value) => value,
            Number::Integer(value) => value as f64,
        }
    }
}

/// Largest permitted distance of two numbers of one kind. For floats it is enough that one limit is met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    Float { kind: NumberKind, within: f64, relative: f64, ulps: u64 },
    Integer { kind: NumberKind, within: u64 },
}

impl Limit {
    pub(super) fn kind(&self) -> NumberKind {
        match *self {
            Limit::Float { kind, .. } | Limit::Integer { kind, .. } => kind,
        }
    }

    /// The distance when it is allowed, else both numbers.
    pub(super) fn compare(&self, recorded: &[u8], replayed: &[u8]) -> Result<f64, (f64, f64)> {
        let (Some(was), Some(is)) = (self.kind().read(recorded), self.kind().read(replayed)) else {
            return Err((f64::NAN, f64::NAN));
        };
        let apart = match (self, was, is) {
            (Limit::Integer { within, .. }, Number::Integer(was), Number::Integer(is)) => {
                let apart = was.abs_diff(is);
                (apart <= u128::from(*within)).then_some(apart as f64)
            }
            (&Limit::Float { within, relative, ulps, .. }, was, is) => {
                let steps = match (was, is) {
                    (Number::Single(was), Number::Single(is)) => ordinal_single(was).abs_diff(ordinal_single(is)),
                    (was, is) => ordinal_double(was.as_f64()).abs_diff(ordinal_double(is.as_f64())),
                };
                float_distance(was.as_f64(), is.as_f64()).filter(|&apart| {
                    let size = was.as_f64().abs().max(is.as_f64().abs());
                    apart <= within || apart <= relative * size || steps <= ulps
                })
            }
            _ => None,
        };
        apart.ok_or((was.as_f64(), is.as_f64()))
    }
}

/// |is − was|; two NaN are the same number whatever their payload, and an infinity is near only
/// to itself. `None` where no distance makes sense.
pub(super) fn float_distance(was: f64, is: f64) -> Option<f64> {
    if (was.is_nan() && is.is_nan()) || was == is {
        return Some(0.0);
    }
    let apart = (is - was).abs();
    apart.is_finite().then_some(apart)
}

/// Maps floats to integers so that neighbours differ by one and both zeros are equal.
/// Source: B. Dawson, "Comparing floating point numbers", 2012.
pub(super) fn ordinal_double(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

pub(super) fn ordinal_single(value: f32) -> i64 {
    let bits = value.to_bits() as i32;
    i64::from(if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(within: f64, relative: f64, ulps: u64) -> Limit {
        Limit::Float { kind: NumberKind::F32Le, within, relative, ulps }
    }

    fn compare(limit: Limit, was: f32, is: f32) -> Option<f64> {
        limit.compare(&was.to_le_bytes(), &is.to_le_bytes()).ok()
    }

    #[test]
    fn not_a_number_is_like_itself_and_like_nothing_else() {
        let other_nan = f32::from_bits(f32::NAN.to_bits() ^ 1);
        assert_eq!(compare(float(0.0, 0.0, 0), f32::NAN, other_nan), Some(0.0));
        assert_eq!(compare(float(1e30, 1.0, u64::MAX), f32::NAN, 1.0), None);
        assert_eq!(compare(float(1e30, 1.0, u64::MAX), 1.0, f32::NAN), None);
    }

    #[test]
    fn infinity_is_near_only_to_itself_and_zeros_are_equal() {
        assert_eq!(compare(float(1e30, 1.0, 9), f32::INFINITY, f32::MAX), None);
        assert_eq!(compare(float(1e30, 1.0, 9), f32::INFINITY, f32::NEG_INFINITY), None);
        assert_eq!(compare(float(0.0, 0.0, 0), 0.0, -0.0), Some(0.0));
    }

    #[test]
    fn one_limit_that_holds_is_enough() {
        let next = f32::from_bits(1000.0f32.to_bits() + 1);
        assert!(compare(float(0.0, 0.0, 1), 1000.0, next).is_some());
        assert!(compare(float(0.0, 0.0, 0), 1000.0, next).is_none());
        assert!(compare(float(0.0, 1e-6, 0), 1000.0, next).is_some());
        assert!(compare(float(0.001, 0.0, 0), 1000.0, next).is_some());
        assert!(compare(float(0.0, 0.0, 2), f32::from_bits(1), -f32::from_bits(1)).is_some());
    }

    #[test]
    fn integers_at_both_ends_do_not_wrap() {
        let limit = Limit::Integer { kind: NumberKind::I64Be, within: u64::MAX };
        let apart = limit.compare(&i64::MIN.to_be_bytes(), &i64::MAX.to_be_bytes());
        assert_eq!(apart, Ok(u64::MAX as f64));
        let limit = Limit::Integer { kind: NumberKind::U8, within: 254 };
        assert_eq!(limit.compare(&[0], &[255]), Err((0.0, 255.0)));
    }

    #[test]
    fn every_name_leads_back_to_its_kind() {
        for &kind in NumberKind::ALL {
            assert_eq!(NumberKind::from_name(kind.name()), Some(kind));
        }
    }
}
