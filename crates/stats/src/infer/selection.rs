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
/// The candidates of a row are one range of columns. One candidate splits all rows in one sweep; the side without the
/// rank is dropped, until few enough are left to be sorted out one by one. Source: Monahan 1984, ACM TOMS algorithm
/// 616; Johnson & Mizoguchi 1978. The candidate is one of a random sample, a little beyond the place of the rank in it on
/// the shorter side, so that nearly all of the longer side is dropped (Floyd & Rivest 1975).
pub(crate) fn select(table: &impl Staircase, rank: usize) -> f64 {
    select_with_next(table, rank).0
}

/// The middle of all values: the mean of the two that are in the middle if their number is even.
pub(crate) fn median(table: &impl Staircase) -> f64 {
    let all: usize = (0..table.rows()).map(|row| table.columns() - table.first_column(row)).sum();
    if all % 2 == 1 {
        return select(table, all / 2);
    }
    let (low, high) = select_with_next(table, all / 2 - 1);
    0.5 * (low + high.unwrap_or_else(|| select(table, all / 2)))
}

/// The value of this rank, and that of the next if it is at hand.
fn select_with_next(table: &impl Staircase, rank: usize) -> (f64, Option<f64>) {
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
        let pivot = pivot(table, &from, &to, left, rank - dropped, &mut seed);
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
            return (pivot, (wanted + 1 < count_not_above).then_some(pivot));
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
    let (_, &mut value, above) = candidates.select_nth_unstable_by(rank - dropped, f64::total_cmp);
    (value, above.iter().copied().min_by(f64::total_cmp))
}

/// Most candidates of a sample.
const SAMPLE_MOST: usize = 4096;

/// Standard deviations of the rank's place in a sample by which the pivot lies beyond it.
const MARGIN: f64 = 2.0;

fn pivot(table: &impl Staircase, from: &[usize], to: &[usize], left: usize, wanted: usize, seed: &mut Seed) -> f64 {
    let size = ((left as f64).cbrt() as usize).clamp(1, SAMPLE_MOST);
    let mut numbers: Vec<usize> = (0..size).map(|_| seed.below(left)).collect();
    numbers.sort_unstable();
    let mut sample = Vec::with_capacity(size);
    let mut counted = 0;
    for (row, (&from, &to)) in from.iter().zip(to).enumerate() {
        while let Some(&number) = numbers.get(sample.len()).filter(|&&number| number < counted + (to - from)) {
            sample.push(table.value(row, from + number - counted));
        }
        if sample.len() == size {
            break;
        }
        counted += to - from;
    }
    let share = wanted as f64 / left as f64;
    let beyond = MARGIN * (size as f64 * share * (1.0 - share)).sqrt() + 0.5;
    let place = share * size as f64 + if share < 0.5 { beyond } else { -beyond };
    let place = (place.max(0.0) as usize).min(size - 1);
    *sample.select_nth_unstable_by(place, f64::total_cmp).1
}
