//! Rules for replayed outputs that differ from the recorded ones and still count as tolerant.
//!
//! Rules name datagrams (by port, size or prefix) and the byte ranges in them that hold floats or
//! integers, with how far each may differ, or that are masked. Every byte outside such a range
//! is compared strictly, so a rule can only excuse what it names. Tolerant is never identical.
//!
//! Where datagrams are packed, a decoder names the fields in them, and rules name those fields.

mod alignment;
mod decoded;
mod drift;
mod number;
mod rules;

pub use alignment::{Alignment, Moved};
pub use decoded::{DecodedDrift, DecodedDrifts, DecodedSummary, DifferenceAt, DiscreteField, FieldComparison, is_same};
pub use drift::{Drift, FieldDrift, Growth, ToleranceSummary};
pub use number::NumberKind;
pub use rules::RuleError;

use number::Limit;
use serde::Serialize;

/// The rules of a tolerance file, in the order in which they are tried. By default none: everything has to be equal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
    decoded: Vec<decoded::DecodedRule>,
    /// `None`: as many as [`FRAMES_APART`].
    frames: Option<u64>,
}

/// Frames that an output may be early or late where a tolerance file does not say it.
const FRAMES_APART: u64 = 4;

/// One `[[datagram]]` of a tolerance file.
#[derive(Debug, Clone, PartialEq)]
struct Rule {
    port: Option<u16>,
    size: Option<std::ops::RangeInclusive<usize>>,
    prefix: Vec<u8>,
    fields: Vec<Field>,
}

/// A place in a datagram that may differ, `repeat` times every `stride` bytes.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    at: usize,
    width: usize,
    /// `None`: as often as it fits.
    repeat: Option<usize>,
    stride: usize,
    /// `None`: masked, any difference will do.
    limit: Option<Limit>,
}

/// The two ends of the conversation that an output belongs to, where they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ports {
    /// Port of the server's own socket.
    pub local: Option<u16>,
    /// Port the output goes to.
    pub peer: Option<u16>,
}

/// Result of comparing a replayed output with the recorded one.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputComparison {
    /// Every byte equals the recorded one.
    Identical,
    /// Every difference is within the limits of a rule.
    Tolerant(Tolerated),
    /// Bytes differ beyond the limits of the rules.
    Different {
        /// The first such byte; where the shorter one ends, when one is the other's beginning.
        offset: usize,
        /// The limit that was exceeded there, if a rule covers the byte.
        exceeded: Option<Exceeded>,
    },
}

/// The differences that a rule excused in one output.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerated {
    /// Place of the rule in the file, from 0.
    pub rule: usize,
    /// Fields that differ, in the order of the rule; never empty.
    pub fields: Vec<FieldDifference>,
}

/// Field of an output that differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldDifference {
    /// Place of the field in its rule, from 0.
    pub field: usize,
    /// Start in the output, in bytes.
    pub offset: usize,
    /// |replayed − recorded| in the field's own unit; `None` for a masked field.
    pub difference: Option<f64>,
}

/// A field that differs by more than its rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Exceeded {
    /// Place of the rule in the file, from 0.
    pub rule: usize,
    /// Place of the field in its rule, from 0.
    pub field: usize,
    /// Start of the field in the output, in bytes.
    pub offset: usize,
    /// Type of the field: its width, sign and byte order.
    pub kind: NumberKind,
    /// Recorded value, as the nearest `f64`.
    pub recorded: f64,
    /// Replayed value, as the nearest `f64`.
    pub replayed: f64,
}

impl Rules {
    /// Compares an output of the replay with the recorded one.
    ///
    /// The first rule whose port, size and prefix fit the *recorded* output applies; lengths must
    /// be equal. A byte that several fields cover is excused when one of them excuses it.
    pub fn judge(&self, ports: Ports, recorded: &[u8], replayed: &[u8]) -> OutputComparison {
        let Some(first) = first_difference(recorded, replayed) else { return OutputComparison::Identical };
        match self.rules.iter().enumerate().find(|(_, rule)| rule.applies(ports, recorded)) {
            Some((number, rule)) if recorded.len() == replayed.len() => rule.judge(number, recorded, replayed),
            _ => OutputComparison::Different { offset: first, exceeded: None },
        }
    }

    /// Frames that an output may be early or late.
    pub fn frames_apart(&self) -> u64 {
        self.frames.unwrap_or(FRAMES_APART)
    }

    /// Number of rules for bytes.
    pub fn count(&self) -> usize {
        self.rules.len()
    }

    /// Description of a field for reports: its type and first offset, `i32le at 16`.
    pub fn describe(&self, rule: usize, field: usize) -> String {
        let Some(place) = self.rules.get(rule).and_then(|rule| rule.fields.get(field)) else { return String::new() };
        let kind = match &place.limit {
            Some(limit) => limit.kind().name().to_owned(),
            None => format!("mask of {} bytes", place.width),
        };
        let repeat = match place.repeat {
            Some(1) => String::new(),
            Some(times) => format!(", {times} times every {} bytes", place.stride),
            None => format!(", every {} bytes to the end", place.stride),
        };
        format!("{kind} at {}{repeat}", place.at)
    }
}

impl Rule {
    fn applies(&self, ports: Ports, recorded: &[u8]) -> bool {
        self.port.is_none_or(|port| ports.local == Some(port) || ports.peer == Some(port))
            && self.size.as_ref().is_none_or(|size| size.contains(&recorded.len()))
            && recorded.starts_with(&self.prefix)
    }

    /// Both outputs have the same length and differ somewhere.
    fn judge(&self, rule: usize, recorded: &[u8], replayed: &[u8]) -> OutputComparison {
        let mut excused = vec![false; recorded.len()];
        let mut fields = Vec::new();
        let mut exceeded: Option<Exceeded> = None;
        for (field, place) in self.fields.iter().enumerate() {
            for offset in place.offsets(recorded.len()) {
                let bytes = offset..offset + place.width;
                let (Some(was), Some(is)) = (recorded.get(bytes.clone()), replayed.get(bytes.clone())) else {
                    continue;
                };
                if was == is {
                    continue;
                }
                let difference = match &place.limit {
                    None => None,
                    Some(limit) => match limit.compare(was, is) {
                        Ok(difference) => Some(difference),
                        Err((was, is)) => {
                            if exceeded.is_none_or(|earlier| offset < earlier.offset) {
                                let kind = limit.kind();
                                exceeded = Some(Exceeded { rule, field, offset, kind, recorded: was, replayed: is });
                            }
                            continue;
                        }
                    },
                };
                excused.get_mut(bytes).unwrap_or_default().fill(true);
                fields.push(FieldDifference { field, offset, difference });
            }
        }
        match recorded.iter().zip(replayed).zip(&excused).position(|((was, is), excused)| was != is && !excused) {
            None => OutputComparison::Tolerant(Tolerated { rule, fields }),
            Some(offset) => {
                let covers = |e: &Exceeded| (e.offset..e.offset + e.kind.width()).contains(&offset);
                OutputComparison::Different { offset, exceeded: exceeded.filter(covers) }
            }
        }
    }
}

impl Field {
    /// Starts of all repetitions of the field that lie wholly inside an output of `length` bytes.
    fn offsets(&self, length: usize) -> impl Iterator<Item = usize> {
        let times = self.repeat.unwrap_or(usize::MAX);
        let (at, stride, width) = (self.at, self.stride, self.width);
        (0..times)
            .map_while(move |time| at.checked_add(time.checked_mul(stride)?))
            .take_while(move |offset| offset.checked_add(width).is_some_and(|end| end <= length))
    }
}

fn first_difference(recorded: &[u8], replayed: &[u8]) -> Option<usize> {
    if recorded == replayed {
        return None;
    }
    let shorter = recorded.len().min(replayed.len());
    Some(recorded.iter().zip(replayed).position(|(was, is)| was != is).unwrap_or(shorter))
}

#[cfg(test)]
mod tests;
