//! An estimate with what it rests on.

use serde::{Deserialize, Deserializer, Serialize};

/// An estimate between two bounds.
///
/// Bounds are infinite where there are too few observations for the level; JSON has null there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Best single value, in the unit of the values.
    pub estimate: f64,
    /// Lower bound of the interval.
    #[serde(deserialize_with = "lower_bound")]
    pub low: f64,
    /// Upper bound of the interval.
    #[serde(deserialize_with = "upper_bound")]
    pub high: f64,
    /// Confidence level, 0 to 1.
    pub confidence: f64,
    /// Number of observations that the interval rests on.
    pub n: usize,
}

fn lower_bound<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NEG_INFINITY))
}

fn upper_bound<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

impl Interval {
    /// True when the value is not in the closed interval.
    pub fn excludes(&self, value: f64) -> bool {
        self.low > value || self.high < value
    }

    /// True when the whole interval lies strictly between −`margin` and `margin`.
    pub fn lies_within(&self, margin: f64) -> bool {
        self.low > -margin && self.high < margin
    }

    /// Distance of the farther bound from 0.
    pub fn reach(&self) -> f64 {
        self.high.abs().max(self.low.abs())
    }

    /// Distance between the bounds, in the unit of the values.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Interval of the negative value: of the inverse, where values are log ratios.
    pub fn negated(&self) -> Interval {
        Interval { estimate: -self.estimate, low: -self.high, high: -self.low, ..*self }
    }

    /// True if both bounds are known.
    pub fn is_bounded(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// Interval of `f(value)`, for an `f` that never decreases, such as `exp`.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Interval {
        Interval { estimate: f(self.estimate), low: f(self.low), high: f(self.high), ..*self }
    }
}
