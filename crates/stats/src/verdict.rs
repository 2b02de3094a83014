//! Results of a comparison.

use serde::Serialize;

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
