//! The tolerance file: TOML, checked as a whole before the first byte is compared.
//!
//! ```toml
//! frames = 4                # that an output may be early or late (optional)
//!
//! [[datagram]]              # tried in order, the first that fits applies
//! port = 8303               # local or peer port (optional)
//! size = "100..1400"        # both included, or a number (optional)
//! prefix = "ff ff ff ff"    # hex (optional)
//! fields = [
//!     { at = 12, type = "f32le", within = 0.001 },
//!     { at = 16, type = "i32le", within = 2, repeat = 4, stride = 4 },
//!     { at = 40, length = 4, mask = true },
//!     { at = 48, type = "f64be", ulps = 8, repeat = "end" },
//! ]
//!
//! [[decoded]]               # fields that a decoder names
//! port = 8303               # local or peer port (optional)
//! fields = [
//!     { field = "snapshot.player[*].x", within = 2 },
//!     { field = "packet.*", mask = true },
//!     { field = "snapshot.player[*].angle", within = 1, moved = 180 },
//! ]
//! ```

use std::ops::{Range, RangeInclusive};

use serde::Deserialize;
use toml::{Spanned, Value};

use super::decoded::{DecodedRule, FieldPattern, ValueLimit};
use super::{Field, Limit, NumberKind, Rule, Rules};

/// An error in a tolerance file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct RuleError {
    /// Line of the file, from 1.
    pub line: usize,
    /// Character of the line, from 1.
    pub column: usize,
    /// Problem with expected and found items, for the message.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    frames: Option<Spanned<u64>>,
    #[serde(default)]
    datagram: Vec<Spanned<RuleText>>,
    #[serde(default)]
    decoded: Vec<Spanned<DecodedText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DecodedText {
    port: Option<u16>,
    fields: Vec<Spanned<PatternText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternText {
    field: Spanned<String>,
    within: Option<Spanned<Value>>,
    within_relative: Option<Spanned<f64>>,
    ulps: Option<Spanned<u64>>,
    mask: Option<Spanned<bool>>,
    moved: Option<Spanned<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    port: Option<u16>,
    size: Option<Spanned<Value>>,
    prefix: Option<Spanned<String>>,
    fields: Vec<Spanned<FieldText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldText {
    at: usize,
    #[serde(rename = "type")]
    kind: Option<Spanned<String>>,
    within: Option<Spanned<Value>>,
    within_relative: Option<Spanned<f64>>,
    ulps: Option<Spanned<u64>>,
    length: Option<Spanned<usize>>,
    mask: Option<Spanned<bool>>,
    repeat: Option<Spanned<Value>>,
    stride: Option<Spanned<usize>>,
}

/// Frames that an output may be early or late at most.
const FRAMES_MOST: u64 = 100;

/// A problem and the bytes of the file it lies in.
struct Misplaced(Range<usize>, String);

fn misplaced<T>(place: Range<usize>, problem: impl Into<String>) -> Result<T, Misplaced> {
    Err(Misplaced(place, problem.into()))
}

impl Rules {
    /// Parses the text of a tolerance file.
    ///
    /// # Errors
    /// [`RuleError`] at the first thing that is not as the format requires, unknown keys included.
    pub fn parse(text: &str) -> Result<Rules, RuleError> {
        let read = toml::from_str::<FileText>(text)
            .map_err(|error| Misplaced(error.span().unwrap_or(0..0), error.message().replace('\n', ", ")))
            .and_then(|file| {
                if file.datagram.is_empty() && file.decoded.is_empty() {
                    return misplaced(0..0, "expected at least one [[datagram]] or [[decoded]], found none");
                }
                let rules = file.datagram.into_iter().map(rule).collect::<Result<_, _>>()?;
                let decoded = file.decoded.into_iter().map(decoded_rule).collect::<Result<_, _>>()?;
                let frames = match file.frames {
                    Some(frames) if *frames.get_ref() > FRAMES_MOST => {
                        return misplaced(
                            frames.span(),
                            format!("expected {FRAMES_MOST} frames at most, found {}", frames.get_ref()),
                        );
                    }
                    frames => frames.map(Spanned::into_inner),
                };
                Ok(Rules { rules, decoded, frames })
            });
        match read {
            Ok(rules) => Ok(rules),
            Err(Misplaced(place, problem)) => {
                let before = text.get(..place.start).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
                Err(RuleError { line, column, problem })
            }
        }
    }
}

fn rule(text: Spanned<RuleText>) -> Result<Rule, Misplaced> {
    let place = text.span();
    let text = text.into_inner();
    if text.fields.is_empty() {
        return misplaced(place, "expected at least one field, found none: such a rule has no effect");
    }
    Ok(Rule {
        port: text.port,
        size: text.size.map(size).transpose()?,
        prefix: text.prefix.map(hex).transpose()?.unwrap_or_default(),
        fields: text.fields.into_iter().map(field).collect::<Result<_, _>>()?,
    })
}

fn decoded_rule(text: Spanned<DecodedText>) -> Result<DecodedRule, Misplaced> {
    let place = text.span();
    let text = text.into_inner();
    if text.fields.is_empty() {
        return misplaced(place, "expected at least one field, found none: such a rule has no effect");
    }
    Ok(DecodedRule { port: text.port, fields: text.fields.into_iter().map(pattern).collect::<Result<_, _>>()? })
}

fn pattern(text: Spanned<PatternText>) -> Result<FieldPattern, Misplaced> {
    let place = text.span();
    let text = text.into_inner();
    if text.field.get_ref().is_empty() {
        return misplaced(text.field.span(), "field: expected a name such as \"snapshot.player[*].x\", found none");
    }
    let limits = [
        text.within.as_ref().map(Spanned::span),
        text.within_relative.as_ref().map(Spanned::span),
        text.ulps.as_ref().map(Spanned::span),
        text.moved.as_ref().map(Spanned::span),
    ];
    let limit = limits.into_iter().flatten().next();
    let limit = match (text.mask.is_some_and(|mask| *mask.get_ref()), limit) {
        (true, Some(place)) => return misplaced(place, "a mask allows any difference and has no limit"),
        (true, None) => None,
        (false, None) => {
            return misplaced(
                place,
                "expected within, within_relative, ulps, moved or mask = true next to the field, found none",
            );
        }
        (false, Some(_)) => Some(ValueLimit {
            within: distance(text.within.as_ref())?,
            relative: share(text.within_relative.as_ref())?,
            ulps: text.ulps.map_or(0, |ulps| *ulps.get_ref()),
        }),
    };
    let moved = match text.moved.as_ref().map(|moved| (moved.span(), moved.get_ref())) {
        None => None,
        Some((_, Value::String(any))) if any == "any" => Some(f64::INFINITY),
        Some((_, Value::Float(within))) if within.is_finite() && *within >= 0.0 => Some(*within),
        Some((_, Value::Integer(within @ 0..))) => Some(*within as f64),
        Some((place, found)) => {
            return misplaced(place, format!("moved: expected a number from 0 or \"any\", found {found}"));
        }
    };
    Ok(FieldPattern { pattern: text.field.into_inner(), limit, moved })
}

/// A distance from 0; 0 where there is none.
fn distance(within: Option<&Spanned<Value>>) -> Result<f64, Misplaced> {
    match within.map(|within| (within.span(), within.get_ref())) {
        None => Ok(0.0),
        Some((_, Value::Float(within))) if within.is_finite() && *within >= 0.0 => Ok(*within),
        Some((_, Value::Integer(within @ 0..))) => Ok(*within as f64),
        Some((place, found)) => misplaced(place, format!("within: expected a number from 0, found {found}")),
    }
}

/// A share from 0; 0 where there is none.
fn share(relative: Option<&Spanned<f64>>) -> Result<f64, Misplaced> {
    match relative {
        None => Ok(0.0),
        Some(relative) if relative.get_ref().is_finite() && *relative.get_ref() >= 0.0 => Ok(*relative.get_ref()),
        Some(relative) => {
            let problem = format!("within_relative: expected a number from 0, found {}", relative.get_ref());
            misplaced(relative.span(), problem)
        }
    }
}

fn size(text: Spanned<Value>) -> Result<RangeInclusive<usize>, Misplaced> {
    let range = match text.get_ref() {
        Value::Integer(exact) => usize::try_from(*exact).ok().map(|exact| exact..=exact),
        Value::String(range) => range.split_once("..").and_then(|(low, high)| {
            let low = if low.is_empty() { 0 } else { low.trim().parse().ok()? };
            let high = high.strip_prefix('=').unwrap_or(high);
            let high = if high.is_empty() { usize::MAX } else { high.trim().parse().ok()? };
            (low <= high).then_some(low..=high)
        }),
        _ => None,
    };
    match range {
        Some(range) => Ok(range),
        None => misplaced(
            text.span(),
            format!("size: expected bytes such as 120 or \"100..1400\", found {}", text.get_ref()),
        ),
    }
}

fn hex(text: Spanned<String>) -> Result<Vec<u8>, Misplaced> {
    let digits: Option<Vec<u8>> = text
        .get_ref()
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect();
    match digits {
        Some(digits) if digits.len().is_multiple_of(2) => {
            Ok(digits.as_chunks().0.iter().map(|[high, low]| high << 4 | low).collect())
        }
        _ => misplaced(
            text.span(),
            format!(
                "prefix: expected pairs of hex digits such as \"ff 0a\", found \"{}\"",
                text.get_ref().escape_default()
            ),
        ),
    }
}

fn field(text: Spanned<FieldText>) -> Result<Field, Misplaced> {
    let place = text.span();
    let text = text.into_inner();
    let masked = text.mask.as_ref().is_some_and(|mask| *mask.get_ref());
    let (width, limit) = match (&text.kind, masked) {
        (Some(kind), false) => {
            if let Some(length) = &text.length {
                return misplaced(
                    length.span(),
                    "length: only for a mask; the length of a number follows from its \
                                                 type",
                );
            }
            let limit = limit(kind, &text)?;
            (limit.kind().width(), Some(limit))
        }
        (None, true) => {
            let limits = [
                text.within.as_ref().map(Spanned::span),
                text.within_relative.as_ref().map(Spanned::span),
                text.ulps.as_ref().map(Spanned::span),
            ];
            if let Some(place) = limits.into_iter().flatten().next() {
                return misplaced(place, "a mask allows any difference and has no limit");
            }
            match text.length.as_ref().map(|length| *length.get_ref()) {
                Some(length) if length > 0 => (length, None),
                _ => return misplaced(place, "mask: expected its length in bytes, above 0"),
            }
        }
        (Some(_), true) => return misplaced(place, "expected type or mask = true, found both"),
        (None, false) => return misplaced(place, "expected type or mask = true, found neither"),
    };
    let repeat = match &text.repeat {
        None => Some(1),
        Some(repeat) => match repeat.get_ref() {
            Value::String(end) if end == "end" => None,
            Value::Integer(times @ 1..) => Some(usize::try_from(*times).unwrap_or(usize::MAX)),
            found => {
                return misplaced(
                    repeat.span(),
                    format!("repeat: expected a number above 0 or \"end\", found {found}"),
                );
            }
        },
    };
    let stride = match &text.stride {
        None => width,
        Some(stride) if *stride.get_ref() >= width => *stride.get_ref(),
        Some(stride) => {
            let found = stride.get_ref();
            return misplaced(
                stride.span(),
                format!("stride: expected at least the field's {width} bytes, found {found}"),
            );
        }
    };
    Ok(Field { at: text.at, width, repeat, stride, limit })
}

fn limit(kind: &Spanned<String>, text: &FieldText) -> Result<Limit, Misplaced> {
    let Some(number) = NumberKind::from_name(kind.get_ref()) else {
        let known: Vec<&str> = NumberKind::ALL.iter().map(|kind| kind.name()).collect();
        let problem =
            format!("type: expected one of {}, found \"{}\"", known.join(" "), kind.get_ref().escape_default());
        return misplaced(kind.span(), problem);
    };
    if !number.is_float() {
        let floats_only = [text.within_relative.as_ref().map(Spanned::span), text.ulps.as_ref().map(Spanned::span)];
        if let Some(place) = floats_only.into_iter().flatten().next() {
            return misplaced(place, "within_relative and ulps are for floats; integers take within");
        }
        return match text.within.as_ref().map(|within| (within.span(), within.get_ref())) {
            Some((_, Value::Integer(within @ 0..))) => {
                Ok(Limit::Integer { kind: number, within: within.unsigned_abs() })
            }
            Some((place, found)) => misplaced(place, format!("within: expected a whole number from 0, found {found}")),
            None => misplaced(kind.span(), "expected within next to the type, found no limit"),
        };
    }
    let within = distance(text.within.as_ref())?;
    let relative = share(text.within_relative.as_ref())?;
    if text.within.is_none() && text.within_relative.is_none() && text.ulps.is_none() {
        return misplaced(kind.span(), "expected within, within_relative or ulps next to the type, found no limit");
    }
    let ulps = text.ulps.as_ref().map_or(0, |ulps| *ulps.get_ref());
    Ok(Limit::Float { kind: number, within, relative, ulps })
}
