//! The order in which a chase visits its lines.

use prony_stats::Seed;

/// A permutation of 0 to `n` − 1 that is one cycle through all of them: following it from anywhere visits every element
/// before it visits one again. A random permutation of another kind would have short cycles that a cache holds.
///
/// `n` up to 2³². Sattolo, "An algorithm to generate a random cyclic permutation", Information Processing Letters 22, 1986.
pub fn single_cycle(n: u32, seed: &mut Seed) -> Vec<u32> {
    let mut next: Vec<u32> = (0..n).collect();
    for place in (1..next.len()).rev() {
        next.swap(place, seed.below(place));
    }
    next
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_element_is_seen_before_one_is_seen_again(n in 1u32..3000, seed in any::<u64>()) {
            let next = single_cycle(n, &mut Seed::new(seed));
            let mut seen = vec![false; n as usize];
            let mut at = 0u32;
            for _ in 0..n {
                prop_assert!(!std::mem::replace(&mut seen[at as usize], true));
                at = next[at as usize];
            }
            prop_assert_eq!(at, 0);
        }
    }

    #[test]
    fn equal_seeds_give_equal_orders() {
        let order = |seed| single_cycle(1000, &mut Seed::new(seed));
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
