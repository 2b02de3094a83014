//! The spread of some values.

/// Median, lowest and highest of some values, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Lowest of the values, in their unit.
    pub min: f64,
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    /// 99th percentile of the values, by nearest rank.
    pub p99: f64,
    /// Highest of the values, in their unit.
    pub max: f64,
    /// Number of values behind the summary.
    pub n: usize,
}

impl Spread {
    /// Spread of values; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let (&min, &max) = (values.first()?, values.last()?);
        let median = if n % 2 == 1 { values[n / 2] } else { f64::midpoint(values[n / 2 - 1], values[n / 2]) };
        let p99 = values[(n * 99).div_ceil(100) - 1];
        Some(Spread { min, median, p99, max, n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_a_hundred_values_names_the_99th() {
        let spread = Spread::of((1..=100).map(f64::from)).expect("there are values");
        assert_eq!(spread, Spread { min: 1.0, median: 50.5, p99: 99.0, max: 100.0, n: 100 });
        assert_eq!(Spread::of([]), None);
    }
}
