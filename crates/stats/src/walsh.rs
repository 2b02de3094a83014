//! Order statistics of the Walsh averages (xᵢ + xⱼ)/2, i ≤ j, without making the n(n+1)/2 of them.

use crate::seed::Seed;

/// How many Walsh averages `n` values have.
pub fn count(n: usize) -> usize {
    n * (n + 1) / 2
}

/// The Walsh average with `rank` averages below it in order, `rank` from 0 to `count(n) − 1`.
///
/// `sorted`: ascending. Time O(n log n) on average, memory O(n).
///
/// Row i holds (xᵢ + xⱼ)/2 for j ≥ i and ascends, so the candidates of a row are one range of columns. A random
/// candidate splits all rows in one sweep; the half without the rank is dropped, until few enough are left to
/// be sorted out one by one. Source: Monahan 1984, ACM TOMS algorithm 616; Johnson & Mizoguchi 1978.
pub fn select(sorted: &[f64], rank: usize) -> f64 {
    let n = sorted.len();
    debug_assert!(rank < count(n) && sorted.is_sorted());
    let average = |i: usize, j: usize| 0.5 * sorted[i] + 0.5 * sorted[j];
    // Candidates of row i are the columns from[i]..to[i]; `dropped` is how many averages lie below all candidates.
    let mut from: Vec<usize> = (0..n).collect();
    let mut to = vec![n; n];
    let mut left = count(n);
    let mut dropped = 0;
    let mut below = vec![0; n];
    let mut not_above = vec![0; n];
    // The order of pivots only moves the running time, so any fixed seed will do.
    let mut seed = Seed::new(rank as u64);
    while left > 2 * n.max(16) {
        let mut candidate = seed.below(left);
        let row = (0..n)
            .find(|&row| match candidate.checked_sub(to[row] - from[row]) {
                Some(rest) => {
                    candidate = rest;
                    false
                }
                None => true,
            })
            .expect("a candidate is in some row, because `left` counts them all");
        let pivot = average(row, from[row] + candidate);
        // In later rows the pivot is reached in the same column or an earlier one.
        let (mut first, mut last) = (n, n);
        let (mut count_below, mut count_not_above) = (0, 0);
        for row in 0..n {
            while first > row && average(row, first - 1) >= pivot {
                first -= 1;
            }
            while last > row && average(row, last - 1) > pivot {
                last -= 1;
            }
            below[row] = first.clamp(from[row], to[row]);
            not_above[row] = last.clamp(from[row], to[row]);
            count_below += below[row] - from[row];
            count_not_above += not_above[row] - from[row];
            first = first.max(row + 1);
            last = last.max(row + 1);
        }
        let wanted = rank - dropped;
        if wanted < count_below {
            to.copy_from_slice(&below);
            left = count_below;
        } else if wanted < count_not_above {
            return pivot;
        } else {
            from.copy_from_slice(&not_above);
            dropped += count_not_above;
            left -= count_not_above;
        }
    }
    let mut candidates = Vec::with_capacity(left);
    for row in 0..n {
        candidates.extend((from[row]..to[row]).map(|column| average(row, column)));
    }
    *candidates.select_nth_unstable_by(rank - dropped, f64::total_cmp).1
}

/// Median of the Walsh averages: the Hodges–Lehmann estimate of the centre (Hodges & Lehmann 1963).
///
/// `sorted`: ascending and not empty.
pub fn hodges_lehmann(sorted: &[f64]) -> f64 {
    let averages = count(sorted.len());
    if averages % 2 == 1 {
        select(sorted, averages / 2)
    } else {
        0.5 * (select(sorted, averages / 2 - 1) + select(sorted, averages / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
