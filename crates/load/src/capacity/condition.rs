//! Conditions on a load, such as `p99<50ms`.

use std::fmt;
use std::str::FromStr;

use crate::report::Report;

/// A quantity that a condition bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// Latency that this share of the packets does not exceed, above 0 and at most 1: `p99`, `median`, `max`. A packet without an
    /// answer is slower than any bound.
    Latency(f64),
    /// Share of the packets without an answer in time: `loss`.
    Loss,
    /// Time from the start of a batch to its last connection; of the burst alone if there is one: `connect`.
    Connect,
}

/// An upper bound that a quantity must stay below.
///
/// Parsed from `QUANTITY<VALUE`: `p99<50ms`, `median<2ms`, `max<1s`, `loss<0.1%`, `connect<500ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// The bounded quantity.
    pub quantity: Quantity,
    /// Its bound, which is not allowed: nanoseconds, or a share from 0 to 1 of [`Quantity::Loss`].
    pub below: f64,
}

/// Reasons why a text is no condition.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConditionError {
    /// There is no `<`.
    #[error("expected QUANTITY<VALUE, such as p99<50ms")]
    Shape,
    /// The quantity is unknown.
    #[error("unknown quantity `{found}`: expected p50 to p99.999, median, max, loss or connect")]
    Quantity {
        /// What stands before the `<`.
        found: String,
    },
    /// The value is not a time.
    #[error("expected a time above 0 after `<`, such as 50ms (ns, us, ms, s), found `{found}`")]
    Time {
        /// What stands behind the `<`.
        found: String,
    },
    /// The value is not a share.
    #[error("expected a percentage above 0% and at most 100% after `<`, such as 0.1%, found `{found}`")]
    Share {
        /// What stands behind the `<`.
        found: String,
    },
}

impl FromStr for Quantity {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Quantity, ConditionError> {
        let unknown = || ConditionError::Quantity { found: text.to_owned() };
        match text {
            "median" => Ok(Quantity::Latency(0.5)),
            "max" => Ok(Quantity::Latency(1.0)),
            "loss" => Ok(Quantity::Loss),
            "connect" => Ok(Quantity::Connect),
            _ => {
                let digits =
                    text.strip_prefix('p').filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
                let percent: Option<f64> = digits.and_then(|digits| digits.parse().ok());
                let percent = percent.filter(|percent| *percent > 0.0 && *percent < 100.0).ok_or_else(unknown)?;
                Ok(Quantity::Latency(percent / 100.0))
            }
        }
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let (quantity, value) = text.split_once('<').ok_or(ConditionError::Shape)?;
        let (quantity, value) = (quantity.trim().parse()?, value.trim());
        let below = match quantity {
            Quantity::Loss => share(value).ok_or_else(|| ConditionError::Share { found: value.to_owned() })?,
            _ => time_ns(value).ok_or_else(|| ConditionError::Time { found: value.to_owned() })?,
        };
        Ok(Condition { quantity, below })
    }
}

fn share(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
    Some(percent / 100.0).filter(|share| *share > 0.0 && *share <= 1.0)
}

fn time_ns(text: &str) -> Option<f64> {
    let unit_starts = text.find(|c: char| c.is_alphabetic() || c == 'µ')?;
    let (number, unit) = text.split_at(unit_starts);
    let ns = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let number: f64 = number.trim_end().parse().ok()?;
    Some(number * ns).filter(|time| *time > 0.0 && time.is_finite())
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Quantity::Latency(share) if share >= 1.0 => out.write_str("max"),
            Quantity::Latency(0.5) => out.write_str("median"),
            // 0.999 × 100 is 99.9 only when it is rounded.
            Quantity::Latency(share) => write!(out, "p{}", (share * 1e10).round() / 1e8),
            Quantity::Loss => out.write_str("loss"),
            Quantity::Connect => out.write_str("connect"),
        }
    }
}

impl Condition {
    /// Value of the quantity in a report, in the unit of `below`: infinite for the latency of a packet without an answer, `None` where
    /// there was nothing to measure.
    pub fn value(&self, report: &Report) -> Option<f64> {
        match self.quantity {
            Quantity::Latency(share) => report.latency_of_packets(&[share]).map(|[ns]| ns),
            Quantity::Loss => report.reply_ratio().map(|ratio| 1.0 - ratio),
            Quantity::Connect => report.longest_connection_ns().map(|ns| ns as f64),
        }
    }

    /// True if `value` satisfies the condition; a quantity that could not be measured does not.
    pub fn holds(&self, value: Option<f64>) -> bool {
        value.is_some_and(|value| value < self.below)
    }

    /// True if the quantity depends on answers to packets.
    pub fn needs_answers(&self) -> bool {
        self.quantity != Quantity::Connect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Condition, ConditionError> {
        text.parse()
    }

    #[test]
    fn a_condition_is_a_quantity_and_a_bound_with_its_unit() {
        for (text, quantity, below) in [
            ("p99<50ms", Quantity::Latency(0.99), 50e6),
            (" p99.9 < 1.5 s ", Quantity::Latency(0.999), 1.5e9),
            ("median<200us", Quantity::Latency(0.5), 200e3),
            ("p50<200µs", Quantity::Latency(0.5), 200e3),
            ("max<900ns", Quantity::Latency(1.0), 900.0),
            ("loss<0.1%", Quantity::Loss, 0.001),
            ("loss<100 %", Quantity::Loss, 1.0),
            ("connect<2s", Quantity::Connect, 2e9),
        ] {
            let condition = parsed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!((condition.below / below - 1.0).abs() < 1e-12, "{text}: {condition:?}");
            match (condition.quantity, quantity) {
                (Quantity::Latency(found), Quantity::Latency(expected)) => assert!((found - expected).abs() < 1e-12),
                (found, expected) => assert_eq!(found, expected, "{text}"),
            }
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_what_was_expected() {
        let quantity = |found: &str| ConditionError::Quantity { found: found.to_owned() };
        let time = |found: &str| ConditionError::Time { found: found.to_owned() };
        let share = |found: &str| ConditionError::Share { found: found.to_owned() };
        for (text, error) in [
            ("", ConditionError::Shape),
            ("p99", ConditionError::Shape),
            ("p99>50ms", ConditionError::Shape),
            ("p99<=50ms", time("=50ms")),
            ("<50ms", quantity("")),
            ("p<50ms", quantity("p")),
            ("p0<50ms", quantity("p0")),
            ("p100<50ms", quantity("p100")),
            ("p-1<50ms", quantity("p-1")),
            ("pinf<50ms", quantity("pinf")),
            ("mean<50ms", quantity("mean")),
            ("p99<50", time("50")),
            ("p99<0ms", time("0ms")),
            ("p99<-1ms", time("-1ms")),
            ("p99<50parsecs", time("50parsecs")),
            ("p99<1%", time("1%")),
            ("p99<NaNms", time("NaNms")),
            ("loss<5ms", share("5ms")),
            ("loss<0%", share("0%")),
            ("loss<101%", share("101%")),
            ("loss<1", share("1")),
        ] {
            assert_eq!(parsed(text), Err(error), "{text}");
        }
    }

    #[test]
    fn quantities_are_shown_as_they_are_written() {
        for name in ["p99", "p99.9", "p99.99", "p90", "median", "max", "loss", "connect", "p2.5"] {
            let quantity: Quantity = name.parse().expect("it is one");
            assert_eq!(quantity.to_string(), name);
        }
    }

    #[test]
    fn what_was_not_measured_does_not_hold() {
        let condition = parsed("loss<1%").expect("a condition");
        assert!(condition.holds(Some(0.0)) && !condition.holds(Some(0.01)) && !condition.holds(None));
    }
}
