//! Quantiles and spreads by order.

/// 1.4826 × MAD estimates the standard deviation of a normal sample (Iglewicz & Hoaglin 1993).
pub const MAD_TO_DEVIATION: f64 = 1.4826;

/// A copy in ascending order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The value below which a share `p` of the sample lies, interpolated between neighbours.
///
/// `sorted`: ascending; `None` when empty. Definition 7 of Hyndman & Fan 1996, as in R, NumPy and pyperf.
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = place as usize;
    let above = (below + 1).min(last);
    let share = place - below as f64;
    Some(sorted[below] + share * (sorted[above] - sorted[below]))
}

/// The middle value, or the mean of the middle two; `None` when empty. `sorted`: ascending.
pub fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    quantile_of_sorted(sorted, 0.5)
}

/// The median of values in any order; `None` when empty.
pub fn median(values: &[f64]) -> Option<f64> {
    median_of_sorted(&sorted(values))
}

/// Median distance from the median; `None` when empty.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

/// Robust estimate of the standard deviation: 1.4826 × MAD. `None` when empty.
pub fn robust_deviation(values: &[f64]) -> Option<f64> {
    Some(MAD_TO_DEVIATION * median_absolute_deviation(values)?)
}
