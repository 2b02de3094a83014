//! Order statistics of the Walsh averages (xᵢ + xⱼ)/2, i ≤ j, without making the n(n+1)/2 of them.

use crate::infer::selection::{self, Staircase};

/// Number of Walsh averages of `n` values.
pub fn count(n: usize) -> usize {
    n * (n + 1) / 2
}

/// The Walsh average with `rank` averages below it in order, `rank` from 0 to `count(n) − 1`.
///
/// `sorted`: ascending. Time O(n log n) on average, memory O(n).
pub fn select(sorted: &[f64], rank: usize) -> f64 {
    selection::select(&Averages { sorted }, rank)
}

struct Averages<'a> {
    sorted: &'a [f64],
}

impl Staircase for Averages<'_> {
    fn rows(&self) -> usize {
        self.sorted.len()
    }

    fn columns(&self) -> usize {
        self.sorted.len()
    }

    fn first_column(&self, row: usize) -> usize {
        row
    }

    fn value(&self, row: usize, column: usize) -> f64 {
        0.5 * self.sorted[row] + 0.5 * self.sorted[column]
    }
}

/// Median of the Walsh averages: the Hodges–Lehmann estimate of the centre (Hodges & Lehmann 1963).
///
/// `sorted`: ascending and not empty.
pub fn hodges_lehmann(sorted: &[f64]) -> f64 {
    selection::median(&Averages { sorted })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn every_rank_is_that_of_the_sorted_averages() {
        let mut seed = Seed::new(1);
        for n in [1, 2, 3, 17, 40, 90] {
            for distinct in [3, 1_000_000] {
                let mut values: Vec<f64> = (0..n).map(|_| seed.below(distinct) as f64 - 1.0).collect();
                values.sort_unstable_by(f64::total_cmp);
                let mut averages: Vec<f64> = (0..n)
                    .flat_map(|i| (i..n).map(move |j| (i, j)))
                    .map(|(i, j)| 0.5 * values[i] + 0.5 * values[j])
                    .collect();
                averages.sort_unstable_by(f64::total_cmp);
                for (rank, &average) in averages.iter().enumerate() {
                    assert_eq!(select(&values, rank), average, "n = {n}, rank {rank}");
                }
            }
        }
    }
}
