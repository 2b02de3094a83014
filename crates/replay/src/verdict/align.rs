//! Sequence alignment: which item of one side corresponds to which item of the other one.
//!
//! Needleman and Wunsch's, over two sequences that keep their order, with a cost of each pair and one of each item that stays
//! alone. Sequences are aligned in parts of limited length, so that memory does not grow with a replay.

/// What an item without a counterpart costs. A pair in which everything differs costs as much as two of them.
const ALONE: f64 = 0.5;

/// Items of a side that are aligned at once: the table has as many cells as the product of both sides.
const LONGEST: usize = 512;

/// One step of an alignment, by the places of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// An item of each side.
    Pair(usize, usize),
    /// An item of the first side alone.
    First(usize),
    /// An item of the second side alone.
    Second(usize),
}

/// Aligns two sequences with the least sum of costs; of equal ones, with pairs as early as possible.
///
/// `cost`: of a pair, from 0 for equal items to 1 for items that have nothing in common; `None` where two items cannot be a
/// pair. It may exceed 1 slightly, which keeps two such items apart.
pub(crate) fn align<T>(first: &[T], second: &[T], cost: impl Fn(&T, &T) -> Option<f64>) -> Vec<Step> {
    let mut steps = Vec::with_capacity(first.len().max(second.len()));
    let (mut from, mut to) = (0, 0);
    while from < first.len() || to < second.len() {
        let part = first.get(from..first.len().min(from + LONGEST)).unwrap_or_default();
        let other = second.get(to..second.len().min(to + LONGEST)).unwrap_or_default();
        steps.extend(align_part(part, other, &cost).into_iter().map(|step| match step {
            Step::Pair(at, of) => Step::Pair(from + at, to + of),
            Step::First(at) => Step::First(from + at),
            Step::Second(of) => Step::Second(to + of),
        }));
        (from, to) = (from + part.len(), to + other.len());
    }
    steps
}

fn align_part<T>(first: &[T], second: &[T], cost: &impl Fn(&T, &T) -> Option<f64>) -> Vec<Step> {
    let width = second.len() + 1;
    // Least cost of aligning what follows two places, and the cost of a pair there.
    let mut least = vec![0.0_f64; (first.len() + 1) * width];
    let mut pairs = vec![None; first.len() * second.len()];
    for at in (0..=first.len()).rev() {
        for of in (0..=second.len()).rev() {
            let here = match (first.get(at), second.get(of)) {
                (None, None) => 0.0,
                (None, Some(_)) => least[at * width + of + 1] + ALONE,
                (Some(_), None) => least[(at + 1) * width + of] + ALONE,
                (Some(one), Some(other)) => {
                    let alone = least[at * width + of + 1].min(least[(at + 1) * width + of]) + ALONE;
                    let pair = cost(one, other);
                    pairs[at * second.len() + of] = pair;
                    pair.map_or(alone, |pair| alone.min(pair + least[(at + 1) * width + of + 1]))
                }
            };
            least[at * width + of] = here;
        }
    }
    let mut steps = Vec::with_capacity(first.len().max(second.len()));
    let (mut at, mut of) = (0, 0);
    while at < first.len() || of < second.len() {
        let here = least[at * width + of];
        let pair = (at < first.len() && of < second.len()).then(|| pairs[at * second.len() + of]).flatten();
        let is_pair = pair.is_some_and(|pair| pair + least[(at + 1) * width + of + 1] <= here);
        if is_pair {
            steps.push(Step::Pair(at, of));
            (at, of) = (at + 1, of + 1);
        } else if at < first.len() && least[(at + 1) * width + of] + ALONE <= here {
            steps.push(Step::First(at));
            at += 1;
        } else {
            steps.push(Step::Second(of));
            of += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_letters(first: &str, second: &str) -> Vec<Step> {
        let [first, second] = [first, second].map(|text| text.bytes().collect::<Vec<_>>());
        align(&first, &second, |one, other| Some(if one == other { 0.0 } else { 0.9 }))
    }

    #[test]
    fn an_item_more_or_less_shifts_nothing_behind_it() {
        use Step::{First, Pair, Second};
        assert_eq!(by_letters("abcd", "abcd"), [Pair(0, 0), Pair(1, 1), Pair(2, 2), Pair(3, 3)]);
        assert_eq!(by_letters("abcd", "bcd"), [First(0), Pair(1, 0), Pair(2, 1), Pair(3, 2)]);
        assert_eq!(by_letters("acd", "abcd"), [Pair(0, 0), Second(1), Pair(1, 2), Pair(2, 3)]);
        assert_eq!(by_letters("axc", "ayc"), [Pair(0, 0), Pair(1, 1), Pair(2, 2)], "a pair that differs is a pair");
        assert_eq!(by_letters("", "a"), [Second(0)]);
        assert_eq!(by_letters("", ""), []);
    }

    #[test]
    fn items_that_cannot_be_a_pair_stay_alone() {
        let steps = align(&[1, 2], &[1, 2], |one, other| (one != other).then_some(0.0));
        assert_eq!(steps, [Step::First(0), Step::Pair(1, 0), Step::Second(1)]);
    }

    #[test]
    fn long_sequences_are_aligned_in_parts() {
        let items: Vec<usize> = (0..3 * LONGEST).collect();
        let steps = align(&items, &items, |one, other| Some(if one == other { 0.0 } else { 1.0 }));
        assert!(steps.iter().enumerate().all(|(place, step)| *step == Step::Pair(place, place)));
        assert_eq!(steps.len(), items.len());
    }

    proptest! {
        #[test]
        fn each_item_is_in_one_step_in_its_order(first in "[ab]{0,12}", second in "[ab]{0,12}") {
            let steps = by_letters(&first, &second);
            let of_first: Vec<usize> = steps
                .iter()
                .filter_map(|step| match step { Step::Pair(at, _) | Step::First(at) => Some(*at), Step::Second(_) => None })
                .collect();
            let of_second: Vec<usize> = steps
                .iter()
                .filter_map(|step| match step { Step::Pair(_, of) | Step::Second(of) => Some(*of), Step::First(_) => None })
                .collect();
            prop_assert_eq!(of_first, (0..first.len()).collect::<Vec<_>>());
            prop_assert_eq!(of_second, (0..second.len()).collect::<Vec<_>>());
        }

        #[test]
        fn a_side_against_itself_is_all_pairs(items in prop::collection::vec(0..3u8, 0..40)) {
            let steps = align(&items, &items, |one, other| Some(if one == other { 0.0 } else { 0.7 }));
            prop_assert!(steps.iter().enumerate().all(|(place, step)| *step == Step::Pair(place, place)));
        }
    }
}
