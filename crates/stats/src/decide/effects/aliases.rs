//! Terms that a set of configurations cannot separate, known before anything runs.

use std::collections::BTreeSet;

use serde::Serialize;

use super::least_squares::Columns;

/// Terms of the model: main effects and interactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// A level of a factor other than the first.
    Main {
        /// Index of the factor, from 0.
        factor: usize,
        /// Index of the level, from 1.
        level: usize,
    },
    /// Two such levels of two factors at once.
    Interaction {
        /// Factor and level, of the earlier factor.
        first: (usize, usize),
        /// Factor and level, of the later factor.
        second: (usize, usize),
    },
}

/// A term that no configuration separates from others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alias {
    /// Term that changes only when the others do.
    pub term: Term,
    /// Terms and their weights that always make the same sum; none where every configuration has it, or none does.
    pub same_as: Vec<(Term, f64)>,
}

/// Aliases of main effects and interactions of two factors, by the rank of their columns (Montgomery 2017, 8.2).
///
/// `levels`: how many each factor has. `configurations`: a level a factor; repetitions do no harm. Empty for a full cross
/// without computing anything. With more than [`TERMS_MAX`] terms only main effects are looked
/// at, and with more main effects than that nothing is.
pub fn aliases(levels: &[usize], configurations: &[&[usize]]) -> Vec<Alias> {
    let fits = |levels_of: &&&[usize]| {
        levels_of.len() == levels.len() && levels_of.iter().zip(levels).all(|(level, count)| level < count)
    };
    let distinct: BTreeSet<&[usize]> = configurations.iter().filter(fits).copied().collect();
    let full = levels.iter().try_fold(1usize, |product, &count| product.checked_mul(count));
    if Some(distinct.len()) == full {
        return Vec::new();
    }
    let terms = terms(levels);
    if distinct.is_empty() {
        return terms.into_iter().map(|term| Alias { term, same_as: Vec::new() }).collect();
    }
    // The mean of all is the first column: what always is there cannot be separated from it.
    let mut columns = vec![vec![1.0; distinct.len()]];
    columns.extend(terms.iter().map(|term| distinct.iter().map(|levels| term.of(levels)).collect()));
    let found = Columns::of(&columns);
    let alias = |(&column, parts): (&usize, &Vec<(usize, f64)>)| {
        let same_as = parts.iter().filter(|&&(part, _)| part > 0).map(|&(part, weight)| (terms[part - 1], weight));
        Alias { term: terms[column - 1], same_as: same_as.collect() }
    };
    found.made_of.iter().map(alias).collect()
}

/// Most terms that are looked at together: elimination takes their cube.
pub const TERMS_MAX: usize = 400;

/// Terms of a design, main effects first.
fn terms(levels: &[usize]) -> Vec<Term> {
    let main: Vec<(usize, usize)> =
        levels.iter().enumerate().flat_map(|(factor, &count)| (1..count).map(move |level| (factor, level))).collect();
    if main.len() > TERMS_MAX {
        return Vec::new();
    }
    let among: usize = main.iter().map(|term| main.iter().filter(|other| other.0 > term.0).count()).sum();
    let mut terms: Vec<Term> = main.iter().map(|&(factor, level)| Term::Main { factor, level }).collect();
    if main.len() + among > TERMS_MAX {
        return terms;
    }
    for (at, &first) in main.iter().enumerate() {
        let later = main[at + 1..].iter().filter(|second| second.0 > first.0);
        terms.extend(later.map(|&second| Term::Interaction { first, second }));
    }
    terms
}

impl Term {
    /// 1 where a configuration has it.
    fn of(&self, levels: &[usize]) -> f64 {
        let has = |(factor, level): (usize, usize)| levels[factor] == level;
        f64::from(u8::from(match *self {
            Term::Main { factor, level } => has((factor, level)),
            Term::Interaction { first, second } => has(first) && has(second),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cross_separates_everything() {
        let all: Vec<[usize; 2]> = (0..6).map(|at| [at / 2, at % 2]).collect();
        let all: Vec<&[usize]> = all.iter().map(|levels| &levels[..]).collect();
        assert_eq!(aliases(&[3, 2], &all), []);
        // Without one of them, one interaction is missing.
        assert_eq!(aliases(&[3, 2], &all[..5]).len(), 1);
        assert_eq!(aliases(&[3, 2], &[]).len(), 5);
    }

    #[test]
    fn factors_that_change_together_are_named() {
        let together: [&[usize]; 2] = [&[0, 0], &[1, 1]];
        let first = Term::Main { factor: 0, level: 1 };
        let found = aliases(&[2, 2], &together);
        assert_eq!(found.len(), 2);
        for (alias, term) in
            found.iter().zip([Term::Main { factor: 1, level: 1 }, Term::Interaction { first: (0, 1), second: (1, 1) }])
        {
            assert_eq!(alias.term, term);
            assert_eq!(alias.same_as.iter().map(|part| part.0).collect::<Vec<_>>(), [first]);
            assert!((alias.same_as[0].1 - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn half_of_a_cross_of_three_mixes_each_effect_with_an_interaction() {
        let half: [&[usize]; 4] = [&[0, 0, 1], &[0, 1, 0], &[1, 0, 0], &[1, 1, 1]];
        let found = aliases(&[2, 2, 2], &half);
        // Four configurations: the mean and three main effects are all there is.
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|alias| matches!(alias.term, Term::Interaction { .. })));
    }
}
