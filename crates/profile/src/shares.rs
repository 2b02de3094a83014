//! Shares of the samples of components and functions: inclusive, with callees, and self.
//!
//! A share is a proportion of n stack samples, so it has an interval. Inclusive shares may add up to more than 100 %:
//! what lies below two components counts for both. Samples are taken as independent; those of one short stretch of time
//! are not quite, so that the truth is somewhat wider than the interval.

use prony_stats::Interval;
use prony_stats::proportion::wilson;
use regex_lite::Regex;
use rustc_hash::FxHashMap;

use crate::stacks::{NameId, Stacks};

/// Component: functions under one name.
#[derive(Debug, Clone)]
pub struct Component {
    /// Name of the component, as a rule gives it.
    pub name: String,
    /// Functions that belong to it.
    pub functions: Regex,
}

/// Inclusive and self share of one function or component.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Name of the function or component.
    pub name: String,
    /// Anywhere in the stack, counted once.
    pub inclusive: Interval,
    /// Share of samples in which it was innermost.
    pub own: Interval,
    /// Weight of the stacks it is in.
    pub inclusive_weight: u64,
    /// Weight of the stacks it ends.
    pub own_weight: u64,
}

/// Weights by what they count: with callees, and alone.
#[derive(Debug, Clone, Copy, Default)]
struct Weights {
    inclusive: u64,
    own: u64,
}

/// Shares of components, in the order given. `level`: the two-sided error of the intervals.
pub fn component_shares(stacks: &Stacks, components: &[Component], level: f64) -> Vec<Share> {
    let belongs: Vec<Vec<bool>> = components
        .iter()
        .map(|component| stacks.names().iter().map(|name| component.functions.is_match(name)).collect())
        .collect();
    let mut weights = vec![Weights::default(); components.len()];
    for (stack, weight) in stacks.iter() {
        for (weights, belongs) in weights.iter_mut().zip(&belongs) {
            let is_in = |name: &NameId| belongs[*name as usize];
            if stack.iter().any(is_in) {
                weights.inclusive += weight;
            }
            if stack.last().is_some_and(is_in) {
                weights.own += weight;
            }
        }
    }
    let shares = components.iter().zip(weights);
    shares.map(|(component, weights)| share(stacks, component.name.clone(), weights, level)).collect()
}

/// Shares of all functions, the largest own share first. The first frame of a stack, its thread, is none.
pub fn function_shares(stacks: &Stacks, level: f64) -> Vec<Share> {
    let weights = function_weights(stacks);
    let mut shares: Vec<Share> = weights
        .into_iter()
        .map(|(name, weights)| share(stacks, stacks.text(name).to_owned(), weights, level))
        .collect();
    shares.sort_by(|a, b| {
        let key = |share: &Share| std::cmp::Reverse((share.own_weight, share.inclusive_weight));
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    shares
}

fn function_weights(stacks: &Stacks) -> FxHashMap<NameId, Weights> {
    let mut weights: FxHashMap<NameId, Weights> = FxHashMap::default();
    let mut seen = Vec::new();
    for (stack, weight) in stacks.iter() {
        for &name in functions_of(stack, &mut seen) {
            weights.entry(name).or_default().inclusive += weight;
        }
        if let Some(&last) = stack.last() {
            weights.entry(last).or_default().own += weight;
        }
    }
    weights
}

/// The functions of a stack, each once, also one that calls itself; the first frame is the thread, unless it is the only one.
pub(crate) fn functions_of<'a>(stack: &[NameId], seen: &'a mut Vec<NameId>) -> &'a [NameId] {
    seen.clear();
    seen.extend_from_slice(stack.get(1..).filter(|functions| !functions.is_empty()).unwrap_or(stack));
    seen.sort_unstable();
    seen.dedup();
    seen
}

fn share(stacks: &Stacks, name: String, weights: Weights, level: f64) -> Share {
    let n = stacks.effective_observations();
    let of = |weight: u64| wilson(weight as f64 / (stacks.total().max(1)) as f64, n, level);
    Share {
        name,
        inclusive: of(weights.inclusive),
        own: of(weights.own),
        inclusive_weight: weights.inclusive,
        own_weight: weights.own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(name: &str, functions: &str) -> Component {
        Component { name: name.to_owned(), functions: Regex::new(functions).expect("a pattern") }
    }

    #[test]
    fn components_count_once_a_stack_and_may_overlap() {
        let text = "t;main;rx;retain 30\nt;main;rx;rx 20\nt;main;tx;release 10\nt;main 40\n";
        let stacks = Stacks::from_folded(text.as_bytes()).stacks;
        let components = [component("rx", "^rx$"), component("counting", "retain|release"), component("none", "zzz")];
        let shares = component_shares(&stacks, &components, 0.05);
        let numbers = |share: &Share| (share.inclusive_weight, share.own_weight, share.inclusive.n);
        assert_eq!(shares.iter().map(numbers).collect::<Vec<_>>(), [(50, 20, 100), (40, 40, 100), (0, 0, 100)]);
        // Wilson 1927 for 50 of 100 at 95 %.
        assert!((shares[0].inclusive.low - 0.4038).abs() < 1e-4 && (shares[0].inclusive.high - 0.5962).abs() < 1e-4);
        assert!(shares[2].own.low == 0.0 && shares[2].own.high > 0.03);
    }

    #[test]
    fn functions_are_sorted_by_what_they_do_themselves() {
        let stacks = Stacks::from_folded(b"t;main;f;f 3\nt;main;g 2\nt 1\n").stacks;
        let shares = function_shares(&stacks, 0.05);
        let found: Vec<_> =
            shares.iter().map(|share| (share.name.as_str(), share.own_weight, share.inclusive_weight)).collect();
        assert_eq!(found, [("f", 3, 3), ("g", 2, 2), ("t", 1, 1), ("main", 0, 5)]);
    }
}
