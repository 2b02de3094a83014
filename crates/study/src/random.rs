//! Random factors: their levels were drawn from many, as layouts of a program are, and stand for those that were not.
//!
//! No effect of such a level is of interest; that of another factor is known from each of them once. So they are counted as repeats, which all
//! machines and workloads share, and the repeats of a cell as one.

use crate::results::{Factor, RandomFactor, Results};

impl Results {
    /// Results without the random factors: cells of the same levels of them are of one repeat, and say in their provenance which.
    ///
    /// Without random factors, and where it was done already, nothing changes.
    #[must_use]
    pub fn with_random_levels_as_repeats(mut self) -> Results {
        let (random, fixed): (Vec<usize>, Vec<usize>) =
            (0..self.factors.len()).partition(|&factor| self.factors[factor].random);
        if random.is_empty() {
            return self;
        }
        for cell in &mut self.cells {
            // Digits of a number, the last factor fastest.
            let number =
                |number: usize, &factor: &usize| number * self.factors[factor].levels.len() + cell.levels[factor];
            let repeat = random.iter().fold(0, number);
            for &factor in &random {
                let Factor { name, levels, .. } = &self.factors[factor];
                cell.provenance.insert(name.clone(), levels[cell.levels[factor]].clone());
            }
            cell.levels = fixed.iter().map(|&factor| cell.levels[factor]).collect();
            cell.repeat = u32::try_from(repeat).unwrap_or(u32::MAX);
        }
        let taken = random.iter().map(|&factor| &self.factors[factor]);
        self.random
            .extend(taken.map(|factor| RandomFactor { name: factor.name.clone(), levels: factor.levels.clone() }));
        self.factors.retain(|factor| !factor.random);
        self
    }

    /// Levels of the random factors that a repeat stands for: `layout=3`.
    pub fn random_levels(&self, repeat: usize) -> String {
        let mut rest = repeat;
        let mut names: Vec<String> = Vec::new();
        for RandomFactor { name, levels } in self.random.iter().rev() {
            let count = levels.len().max(1);
            names.extend(levels.get(rest % count).map(|level| format!("{name}={level}")));
            rest /= count;
        }
        names.reverse();
        names.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::study;

    /// The study's repeats, in three layouts each.
    fn in_layouts() -> Results {
        let mut results = study("s", |_, level, _| 1.0 + level as f64);
        let names = |count: usize| (1..=count).map(|layout| layout.to_string()).collect();
        results.factors.insert(0, Factor { name: "layout".to_owned(), levels: names(3), numbers: None, random: true });
        let of_layout = |layout: usize| {
            let cells = results.cells.clone().into_iter();
            cells.map(move |mut cell| {
                cell.levels.insert(0, layout);
                cell
            })
        };
        results.cells = (0..3).flat_map(of_layout).collect();
        results
    }

    #[test]
    fn levels_of_a_random_factor_become_repeats() {
        let before = in_layouts();
        let after = before.clone().with_random_levels_as_repeats();
        let names: Vec<&str> = after.factors.iter().map(|factor| factor.name.as_str()).collect();
        assert_eq!((names, after.cells.len()), (vec!["engine"], before.cells.len()));
        assert_eq!((after.random[0].name.as_str(), after.random[0].levels.len()), ("layout", 3));
        for (cell, was) in after.cells.iter().zip(&before.cells) {
            assert_eq!((cell.repeat as usize, &cell.levels[..]), (was.levels[0], &was.levels[1..]));
            assert_eq!(cell.provenance["layout"], (was.levels[0] + 1).to_string());
        }
        assert_eq!(after.clone().with_random_levels_as_repeats(), after);
    }

    #[test]
    fn several_random_factors_are_counted_by_their_combinations() {
        let mut results = in_layouts();
        results.factors.push(Factor {
            name: "seed".to_owned(),
            levels: vec!["a".to_owned(), "b".to_owned()],
            numbers: None,
            random: true,
        });
        let twice = |cell: crate::Cell| {
            [0, 1].map(|seed| {
                let mut cell = cell.clone();
                cell.levels.push(seed);
                cell
            })
        };
        results.cells = results.cells.into_iter().flat_map(twice).collect();
        let after = results.with_random_levels_as_repeats();
        let mut repeats: Vec<u32> = after.cells.iter().map(|cell| cell.repeat).collect();
        repeats.sort_unstable();
        repeats.dedup();
        assert_eq!(repeats, [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            [0, 3, 5].map(|repeat| after.random_levels(repeat)),
            ["layout=1 seed=a", "layout=2 seed=b", "layout=3 seed=b"]
        );
    }
}
