//! Least squares for designs: what can be distinguished, and the fit.

use std::collections::{BTreeMap, BTreeSet};

/// Linearly independent columns of a design.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    /// Columns that no combination of earlier ones makes.
    pub kept: Vec<usize>,
    /// The others: which kept columns they are made of, with what weights.
    pub made_of: BTreeMap<usize, Vec<(usize, f64)>>,
    /// Orthonormal directions of the kept columns, and what each column has of each.
    directions: Vec<Vec<f64>>,
    shares: Vec<Vec<f64>>,
}

/// Squared length left of a column, relative to what it was, at which it counts as made of others. Entries of a design
/// are 0, 1 or their distances from means; what rounding leaves is below 1e-24.
const NOTHING_LEFT: f64 = 1e-16;

impl Columns {
    /// Takes columns in order, by modified Gram–Schmidt in two passes (Björck 1967; "twice is enough").
    pub fn of(columns: &[Vec<f64>]) -> Columns {
        let mut found =
            Columns { kept: Vec::new(), made_of: BTreeMap::new(), directions: Vec::new(), shares: Vec::new() };
        for (at, column) in columns.iter().enumerate() {
            let length = dot(column, column);
            let (rest, shares) = found.without(column);
            let left = dot(&rest, &rest);
            if length > 0.0 && left > NOTHING_LEFT * length.max(1.0) {
                let scale = left.sqrt();
                found.kept.push(at);
                found.directions.push(rest.iter().map(|value| value / scale).collect());
                found.shares.push(shares.into_iter().chain([scale]).collect());
            } else {
                let weights = found.weights(shares);
                let parts = found.kept.iter().copied().zip(weights).filter(|(_, weight)| weight.abs() > 1e-7);
                let parts = parts.collect();
                found.made_of.insert(at, parts);
            }
        }
        found
    }

    /// Weights of the kept columns that come closest to `target`, in their order.
    pub fn fit(&self, target: &[f64]) -> Vec<f64> {
        let (_, shares) = self.without(target);
        self.weights(shares)
    }

    /// Residual of a column that no direction explains, and its coefficients for each.
    fn without(&self, column: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut rest = column.to_vec();
        let mut shares = vec![0.0; self.directions.len()];
        for _ in 0..2 {
            for (direction, share) in self.directions.iter().zip(&mut shares) {
                let part = dot(&rest, direction);
                *share += part;
                rest.iter_mut().zip(direction).for_each(|(value, unit)| *value -= part * unit);
            }
        }
        (rest, shares)
    }

    /// From shares of directions to weights of columns, by back substitution.
    fn weights(&self, mut shares: Vec<f64>) -> Vec<f64> {
        for place in (0..shares.len()).rev() {
            shares[place] /= self.shares[place][place];
            let weight = shares[place];
            shares.iter_mut().zip(&self.shares[place][..place]).for_each(|(share, of)| *share -= weight * of);
        }
        shares
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A table with holes: value of a row (a machine) in a column (an edge on a workload).
pub type Table = BTreeMap<(usize, usize), f64>;

/// The value of each row over all columns: its mean where there are no holes; else that of the least squares fit of
/// value = row + column, so that a row is not taken for better because what it lacks is bad everywhere.
///
/// `None` where the holes cut the table in parts that have neither rows nor columns in common.
pub fn rows(table: &Table) -> Option<BTreeMap<usize, f64>> {
    let names: Vec<usize> = table.keys().map(|&(row, _)| row).collect::<BTreeSet<_>>().into_iter().collect();
    let columns: Vec<usize> = table.keys().map(|&(_, column)| column).collect::<BTreeSet<_>>().into_iter().collect();
    if table.len() == names.len() * columns.len() {
        return Some(means(table));
    }
    // With the columns eliminated, the rows remain: Σ_c (x − mean of c) = Σ_c (row − mean row of c). The first row is fixed
    // at 0 until the columns are known.
    let place: BTreeMap<usize, usize> = names.iter().enumerate().map(|(place, &row)| (row, place)).collect();
    let mut in_column: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (&(row, column), &value) in table {
        in_column.entry(column).or_default().push((place[&row], value));
    }
    let size = names.len();
    let mut system = vec![vec![0.0; size + 1]; size];
    for members in in_column.values() {
        let share = 1.0 / members.len() as f64;
        let mean = members.iter().map(|(_, value)| value).sum::<f64>() * share;
        for &(row, value) in members {
            system[row][row] += 1.0;
            system[row][size] += value - mean;
            for &(other, _) in members {
                system[row][other] -= share;
            }
        }
    }
    let mut values = vec![0.0; size];
    let smaller: Vec<Vec<f64>> = system[1..].iter().map(|line| line[1..].to_vec()).collect();
    values[1..].copy_from_slice(&solve(smaller)?);
    // Each column's own part, and from their mean what a row has over all columns.
    let of_columns: f64 = in_column
        .values()
        .map(|members| members.iter().map(|&(row, value)| value - values[row]).sum::<f64>() / members.len() as f64)
        .sum();
    let shift = of_columns / columns.len() as f64;
    Some(names.into_iter().zip(values).map(|(row, value)| (row, value + shift)).collect())
}

/// The mean of each row.
pub(super) fn means(table: &Table) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (&(row, _), value) in table {
        let sum = sums.entry(row).or_default();
        *sum = (sum.0 + value, sum.1 + 1.0);
    }
    sums.into_iter().map(|(row, (sum, n))| (row, sum / n)).collect()
}

/// Gaussian elimination with pivots; the right side is the last column. `None` when singular.
fn solve(mut system: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = system.len();
    for at in 0..size {
        let pivot = (at..size).max_by(|&a, &b| system[a][at].abs().total_cmp(&system[b][at].abs()))?;
        system.swap(at, pivot);
        if system[at][at].abs() < 1e-9 {
            return None;
        }
        let line = system[at].clone();
        for below in &mut system[at + 1..] {
            let factor = below[at] / line[at];
            below[at..].iter_mut().zip(&line[at..]).for_each(|(value, above)| *value -= factor * above);
        }
    }
    let mut values = vec![0.0; size];
    for at in (0..size).rev() {
        let known: f64 = (at + 1..size).map(|later| system[at][later] * values[later]).sum();
        values[at] = (system[at][size] - known) / system[at][at];
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn a_fit_is_that_of_the_normal_equations() {
        // By hand: the second and third columns are orthogonal about their means, slope 5.5 / 5, step 3 − 2.5.
        let columns = Columns::of(&[vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.0], vec![1.0, 0.0, 0.0, 1.0]]);
        let fitted = columns.fit(&[1.0, 3.0, 2.0, 5.0]);
        for (found, expected) in fitted.into_iter().zip([0.85, 1.1, 0.5]) {
            near(found, expected);
        }
    }

    #[test]
    fn a_column_made_of_others_is_reported_with_its_weights() {
        let columns = Columns::of(&[vec![1.0; 4], vec![0.0, 1.0, 0.0, 1.0], vec![1.0, 0.0, 1.0, 0.0], vec![0.0; 4]]);
        assert_eq!(columns.kept, [0, 1]);
        let parts = &columns.made_of[&2];
        assert_eq!(parts.iter().map(|part| part.0).collect::<Vec<_>>(), [0, 1]);
        near(parts[0].1, 1.0);
        near(parts[1].1, -1.0);
        assert!(columns.made_of[&3].is_empty());
    }

    #[test]
    fn a_row_with_a_hole_is_not_better_for_it() {
        // Rows 1 and 2 are equal; column 2 is worth 10 more everywhere, and row 2 lacks it.
        let table: Table = [((1, 1), 1.0), ((1, 2), 11.0), ((2, 1), 1.0), ((3, 1), 3.0), ((3, 2), 13.0)].into();
        let found = rows(&table).expect("rows share columns");
        near(found[&1], 6.0);
        near(found[&2], 6.0);
        near(found[&3], 8.0);
        let cut: Table = [((1, 1), 1.0), ((2, 2), 11.0)].into();
        assert_eq!(rows(&cut), None);
    }
}
