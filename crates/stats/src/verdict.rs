//! Results of a comparison.

use serde::Serialize;

use crate::interval::Interval;

/// Result for B relative to A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// B takes less time than A, beyond chance.
    Faster,
    /// B takes more time than A, beyond chance.
    Slower,
    /// The difference is less than the equivalence margin.
    Same,
    /// Not known, or the metrics contradict each other.
    Unclear,
}

impl Verdict {
    /// Verdict on a change of a time, as a log ratio: one look, one metric. `margin`: smaller differences are the same.
    pub fn of_interval(interval: &Interval, margin: f64) -> Verdict {
        match interval {
            interval if interval.low > 0.0 => Verdict::Slower,
            interval if interval.high < 0.0 => Verdict::Faster,
            interval if interval.lies_within(margin) => Verdict::Same,
            _ => Verdict::Unclear,
        }
    }

    /// The same where differences below the margin are tolerated: none is claimed whose estimate is below it.
    #[must_use]
    pub fn tolerating(self, interval: &Interval, margin: f64) -> Verdict {
        match self {
            Verdict::Faster | Verdict::Slower if interval.estimate.abs() < margin => {
                if interval.lies_within(margin) {
                    Verdict::Same
                } else {
                    Verdict::Unclear
                }
            }
            verdict => verdict,
        }
    }
}
