//! Values far from the others. They are counted and named, never dropped.

use serde::Serialize;

use crate::describe::quantile::{MAD_TO_DEVIATION, median, median_absolute_deviation};

/// Farther than this many robust deviations from the median counts as far out (Iglewicz & Hoaglin 1993).
const FAR_DEVIATIONS: f64 = 3.5;

/// Values that lie far out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outliers {
    /// Places of those far below the median, ascending.
    pub below: Vec<usize>,
    /// Places of those far above the median, ascending.
    pub above: Vec<usize>,
}

impl Outliers {
    /// Finds them; none where more than half of the values are equal, because then there is no scale.
    pub fn of(values: &[f64]) -> Outliers {
        let (Some(centre), Some(spread)) = (median(values), median_absolute_deviation(values)) else {
            return Outliers { below: Vec::new(), above: Vec::new() };
        };
        let limit = FAR_DEVIATIONS * MAD_TO_DEVIATION * spread;
        let places = |far: &dyn Fn(f64) -> bool| {
            values.iter().enumerate().filter(|&(_, &value)| spread > 0.0 && far(value)).map(|(at, _)| at).collect()
        };
        Outliers { below: places(&|value| value < centre - limit), above: places(&|value| value > centre + limit) }
    }

    /// Number of outliers on both sides.
    pub fn count(&self) -> usize {
        self.below.len() + self.above.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_far_out_is_named() {
        let values = [2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3, -4.0];
        let found = Outliers::of(&values);
        assert_eq!((found.below, found.above), (vec![10], vec![8, 9]));
        assert_eq!(Outliers::of(&[1.0, 1.0, 1.0, 9.0]).count(), 0);
        assert_eq!(Outliers::of(&[]).count(), 0);
    }
}
