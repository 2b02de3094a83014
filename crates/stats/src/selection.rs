//! The value of a given rank among all pairs of two sorted lists, without making the pairs.

use crate::Seed;

/// A table whose values ascend along each row and from row to row.
pub(crate) trait Staircase {
    fn rows(&self) -> usize;
    fn columns(&self) -> usize;
    /// First column that belongs to the table; never falls from row to row.
    fn first_column(&self, row: usize) -> usize;
    fn value(&self, row: usize, column: usize) -> f64;
}

/// The value with `rank` values below it in order. Time O(n log n) on average, memory O(n).
///
/// The candidates of a row are one range of columns. A random candidate splits all rows in one sweep; the side
/// without the rank is dropped, until few enough are left to be sorted out one by one. Source: Monahan 1984,
/// ACM TOMS algorithm 616; Johnson & Mizoguchi 1978.
pub(crate) fn select(table: &impl Staircase, rank: usize) -> f64 {
    let (rows, columns) = (table.rows(), table.columns());
    let mut from: Vec<usize> = (0..rows).map(|row| table.first_column(row)).collect();
    let mut to = vec![columns; rows];
    let mut left: usize = from.iter().map(|from| columns - from).sum();
    debug_assert!(rank < left);
    // How many values lie below all candidates.
    let mut dropped = 0;
    let mut below = vec![0; rows];
    let mut not_above = vec![0; rows];
    // The order of pivots only moves the running time, so any fixed seed will do.
    let mut seed = Seed::new(rank as u64);
    while left > 2 * (rows + columns).max(16) {
        let (row, column) = nth_candidate(&from, &to, seed.below(left));
        let pivot = table.value(row, column);
        // In later rows the pivot is reached in the same column or an earlier one.
        let (mut first, mut last) = (columns, columns);
        let (mut count_below, mut count_not_above) = (0, 0);
        for row in 0..rows {
            let start = table.first_column(row);
            (first, last) = (first.max(start), last.max(start));
            while first > start && table.value(row, first - 1) >= pivot {
                first -= 1;
            }
            while last > start && table.value(row, last - 1) > pivot {
                last -= 1;
            }
            below[row] = first.clamp(from[row], to[row]);
            not_above[row] = last.clamp(from[row], to[row]);
            count_below += below[row] - from[row];
            count_not_above += not_above[row] - from[row];
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
    for row in 0..rows {
        candidates.extend((from[row]..to[row]).map(|column| table.value(row, column)));
    }
    *candidates.select_nth_unstable_by(rank - dropped, f64::total_cmp).1
}

/// Row and column of a candidate, counted row by row.
fn nth_candidate(from: &[usize], to: &[usize], mut nth: usize) -> (usize, usize) {
    for (row, (&from, &to)) in from.iter().zip(to).enumerate() {
        if nth < to - from {
            return (row, from + nth);
        }
        nth -= to - from;
    }
    unreachable!("every number below the count of candidates is in some row")
}
