//! The quantity whose changes a study shows, and the sign that they have in it.

use prony_stats::Interval;
use prony_stats::effects::Size;
use prony_study::{Direction, Metric};

/// Quantity that changes. The statistics of a study have log ratios of which more is better; of a time that is the ratio of speeds, of a
/// rate that of its values, and of any other value of which less is better the inverse of the ratio of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changing {
    /// Its name, as it stands behind a change: `speed`, or the metric.
    pub name: String,
    is_inverse: bool,
}

impl Changing {
    /// What changes in a study of this metric.
    pub fn of(metric: &Metric) -> Changing {
        let name = if is_time(metric) { "speed" } else { &metric.name };
        Changing { name: name.to_owned(), is_inverse: !is_time(metric) && metric.direction == Direction::Lower }
    }

    /// What changes, when the two that are compared change places.
    pub fn reversed(self) -> Changing {
        Changing { is_inverse: !self.is_inverse, ..self }
    }

    /// A log ratio of the quantity.
    pub fn log(&self, log: f64) -> f64 {
        if self.is_inverse { -log } else { log }
    }

    /// A log ratio of the quantity with its interval.
    pub fn ratio(&self, ratio: &Interval) -> Interval {
        if self.is_inverse { ratio.negated() } else { *ratio }
    }

    /// The least and the greatest of several log ratios.
    pub fn ends(&self, low: f64, high: f64) -> (f64, f64) {
        if self.is_inverse { (-high, -low) } else { (low, high) }
    }

    /// All log ratios of an effect.
    pub fn size(&self, size: &Size) -> Size {
        let (min, max) = self.ends(size.min, size.max);
        Size {
            median: self.log(size.median),
            min,
            max,
            interval: self.ratio(&size.interval),
            others: size.others.as_ref().map(|others| self.ratio(others)),
            units: size.units.iter().map(|&(unit, log)| (unit, self.log(log))).collect(),
            ..size.clone()
        }
    }
}

/// True for a time, which is shown as speed.
pub fn is_time(metric: &Metric) -> bool {
    metric.direction == Direction::Lower && matches!(metric.unit.as_str(), "second" | "s" | "ms" | "µs" | "us" | "ns")
}
