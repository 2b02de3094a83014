//! Values counted in bins of one width.

use serde::Serialize;

use crate::describe::quantile;

/// Counts of neighbouring bins of one width.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Histogram {
    /// Start of the first bin.
    pub low: f64,
    /// Width of each bin; 0 when all values are equal, and there is one bin.
    pub bin_width: f64,
    /// Values in each bin; the last holds its upper end too.
    pub counts: Vec<usize>,
    /// Values too far below to have a bin.
    pub below: usize,
    /// Values too far above to have a bin.
    pub above: usize,
    /// Least of the values, in their unit.
    pub least: f64,
    /// Greatest of the values, in their unit.
    pub greatest: f64,
}

/// Values farther from the middle half than this many times its width are far out (Tukey 1977): one of them would
/// push all others into one bin.
const FAR_OUT: f64 = 3.0;

impl Histogram {
    /// Counts finite values in bins 2·IQR/n^⅓ wide (Freedman & Diaconis 1981), at most `bins_max` of them.
    ///
    /// Where half of the values are equal, so that the rule gives nothing, as many bins as √n, and nothing is far out.
    /// `None` without values.
    pub fn of(values: &[f64], bins_max: usize) -> Option<Histogram> {
        let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let sorted = quantile::sorted(&finite);
        let (first, third) =
            (quantile::quantile_of_sorted(&sorted, 0.25)?, quantile::quantile_of_sorted(&sorted, 0.75)?);
        let middle_half = third - first;
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let (mut below, mut above) = (0, 0);
        if middle_half > 0.0 {
            below = sorted.partition_point(|&value| value < first - FAR_OUT * middle_half);
            above = sorted.len() - sorted.partition_point(|&value| value <= third + FAR_OUT * middle_half);
        }
        let sorted = &sorted[below..sorted.len() - above];
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let range = high - low;
        let count = sorted.len() as f64;
        let rule = 2.0 * middle_half / count.cbrt();
        let wanted = if rule > 0.0 { range / rule } else { count.sqrt() };
        let bins = if range > 0.0 { (wanted.ceil() as usize).clamp(1, bins_max.max(1)) } else { 1 };
        let bin_width = range / bins as f64;
        let mut counts = vec![0; bins];
        for value in sorted {
            let bin = if bin_width > 0.0 { ((value - low) / bin_width) as usize } else { 0 };
            counts[bin.min(bins - 1)] += 1;
        }
        Some(Histogram { low, bin_width, counts, below, above, least, greatest })
    }

    /// Start of a bin; `bin` = the number of bins gives the end of the last.
    pub fn edge(&self, bin: usize) -> f64 {
        self.low + self.bin_width * bin as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_freedman_and_diaconis() {
        // numpy.histogram_bin_edges(range(1000), bins="fd"): IQR 499.5, width 99.9, ten bins.
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let histogram = Histogram::of(&values, 40).expect("there are values");
        assert_eq!(histogram.counts, [100; 10]);
        assert_eq!((histogram.edge(0), histogram.edge(10)), (0.0, 999.0));
        assert_eq!(Histogram::of(&values, 4).expect("there are values").counts, [250; 4]);
    }

    #[test]
    fn far_values_do_not_push_the_others_into_one_bin() {
        let values = [-1e9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1e9, 2e9];
        let histogram = Histogram::of(&values, 30).expect("there are values");
        assert_eq!((histogram.below, histogram.above), (1, 2));
        assert_eq!((histogram.low, histogram.counts.iter().sum::<usize>()), (1.0, 7));
        assert!(histogram.counts.len() > 1, "{histogram:?}");
    }

    #[test]
    fn equal_values_are_one_bin() {
        let histogram = Histogram::of(&[2.0; 7], 30).expect("there are values");
        assert_eq!((histogram.counts.as_slice(), histogram.bin_width), ([7].as_slice(), 0.0));
        assert_eq!(Histogram::of(&[f64::NAN], 30), None);
        // Half of them equal: √n bins.
        assert_eq!(Histogram::of(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0], 30).expect("values").counts.len(), 3);
    }
}
