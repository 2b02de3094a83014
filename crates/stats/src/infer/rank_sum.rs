//! The exact distribution of the Mann–Whitney count, for samples of which the normal one says nothing at small levels.

/// Values of both samples up to which all arrangements can be counted.
const VALUES_MOST: usize = 128;

/// Number of differences outside of the exact interval of a shift, on each side: the most, less one, that a count of samples of
/// one distribution is below with probability `tail`. 0 where no count is as rare, `None` for larger samples.
///
/// Ties make the interval wider than it had to be, never shorter: whichever way they are broken, its bounds are differences that
/// are not beyond those of the broken order.
pub fn outside(m: usize, n: usize, tail: f64) -> Option<usize> {
    let arrangements = arrangements(m, n)?;
    let all: u128 = arrangements.iter().sum();
    let mut below = 0;
    let rare = |count: &&u128| {
        below += **count;
        below as f64 <= tail * all as f64
    };
    Some(arrangements.iter().take_while(rare).count())
}

/// Values on each side with which complete separation is rare enough to have probability `level` from both sides together.
pub fn enough(level: f64) -> Option<usize> {
    (1..=VALUES_MOST / 2).find(|&n| outside(n, n, level / 2.0).is_some_and(|outside| outside > 0))
}

/// Arrangements of `m` and `n` values by their Mann–Whitney count, from 0 on: the coefficients of a Gaussian binomial.
fn arrangements(m: usize, n: usize) -> Option<Vec<u128>> {
    if m + n > VALUES_MOST {
        return None;
    }
    let mut counts = vec![0; m * n + 1];
    *counts.first_mut()? = 1;
    for i in 1..=m {
        // Times 1 − q^(n + i), from the end so that each term is taken once; then divided by 1 − q^i. Differences of the first step
        // may be negative, and are exact in wrapping arithmetic.
        for at in (n + i..counts.len()).rev() {
            counts[at] = u128::wrapping_sub(counts[at], counts[at - n - i]);
        }
        for at in i..counts.len() {
            counts[at] = u128::wrapping_add(counts[at], counts[at - i]);
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts every arrangement one by one.
    fn by_hand(m: usize, n: usize) -> Vec<u128> {
        let mut counts = vec![0; m * n + 1];
        for chosen in (0_u32..1 << (m + n)).filter(|chosen| chosen.count_ones() as usize == m) {
            let (mut below, mut count) = (0, 0);
            for place in 0..m + n {
                if chosen & 1 << place == 0 { below += 1 } else { count += below }
            }
            counts[count] += 1;
        }
        counts
    }

    #[test]
    fn arrangements_are_those_that_there_are() {
        for (m, n) in [(1, 1), (1, 5), (3, 4), (6, 6), (7, 5)] {
            assert_eq!(arrangements(m, n), Some(by_hand(m, n)), "{m} and {n}");
        }
        let all: u128 = arrangements(64, 64).expect("they fit").iter().sum();
        assert_eq!(all, 23_951_146_041_928_082_866_135_587_776_380_551_750);
        assert_eq!(arrangements(100, 29), None);
    }

    #[test]
    fn bounds_are_those_of_published_tables() {
        // Mann & Whitney 1947 and Siegel 1956, table K: the largest count that is significant, from both sides together.
        for (m, n, level, largest) in [
            (4, 4, 0.05, 0),
            (5, 5, 0.05, 2),
            (5, 5, 0.01, 0),
            (10, 10, 0.05, 23),
            (10, 10, 0.01, 16),
            (8, 15, 0.05, 29),
        ] {
            assert_eq!(outside(m, n, level / 2.0), Some(largest + 1), "{m}, {n} at {level}");
        }
        assert_eq!(outside(3, 3, 0.025), Some(0));
    }

    #[test]
    fn ten_separated_values_a_side_are_enough_for_thousands_of_questions() {
        assert_eq!(enough(0.05), Some(4));
        assert_eq!(enough(0.05 / 1000.0), Some(9));
        assert!(outside(10, 10, 0.05 / 4600.0 / 2.0).is_some_and(|outside| outside == 1));
    }
}
