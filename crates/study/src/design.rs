//! Properties of a design before anything runs: rank, aliases, and the edges that each effect rests on.
//!
//! Main effects and two-factor interactions in treatment coding: a column a level beside the first, and one a pair
//! of such levels of two factors. Blocks take the means out, so that a column for each kind of block comes first.

use std::collections::BTreeMap;

use crate::file::Study;

/// Most columns that are examined together: elimination takes their cube.
const MOST_COLUMNS: usize = 400;
/// Up to this many levels every pair of a factor's levels is an edge that is counted; above, neighbours only.
const ALL_PAIRS_MOST: usize = 12;
/// Most contexts of a pair that are reported.
const MOST_CONTEXTS: usize = 4;

/// Effects that a design can estimate, and what they rest on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Design {
    /// Independent effects within blocks; `None` where there are too many to look at.
    pub rank: Option<usize>,
    /// Requested effects: main effects, and two-factor interactions if they were examined.
    pub effects: usize,
    /// Degrees of freedom of main effects: levels beside the first.
    pub main_effects: usize,
    /// Main effects that are independent of each other; `None` as above.
    pub main_rank: Option<usize>,
    /// False where there are too many interactions to look at.
    pub interactions_examined: bool,
    /// Effects that the design cannot tell from others, in the order of the factors.
    pub aliases: Vec<Alias>,
    /// Edges of each factor: pairs of its levels that some block holds with all else equal.
    pub edges: Vec<FactorEdges>,
}

/// An effect of one level, or of two levels of two factors together: indices of factor and level.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect(pub Vec<(usize, usize)>);

/// An effect that the design cannot tell from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The aliased effect: a level, or a combination of levels.
    pub effect: Effect,
    /// A sum of these is the same in every block; empty: the effect never varies within a block, or never occurs.
    pub with: Vec<Effect>,
}

/// The edges of a factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorEdges {
    /// Edges for each pair of its levels, the earlier level first.
    pub pairs: Vec<Edges>,
}

/// Comparisons of two levels with all else equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edges {
    /// The level that is compared with.
    pub from: usize,
    /// The level that is compared.
    pub to: usize,
    /// Number of settings of the other factors at which a block holds both levels.
    pub count: usize,
    /// The first of them: a level index a factor; that of this factor means nothing.
    pub contexts: Vec<Vec<usize>>,
}

/// Configurations as numbers: a digit a factor, the last one fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grid {
    levels: Vec<usize>,
    strides: Vec<usize>,
}

impl Grid {
    pub fn of(study: &Study) -> Grid {
        let levels: Vec<usize> = study.factors.iter().map(|factor| factor.levels.len()).collect();
        let mut strides = vec![1; levels.len()];
        for at in (1..levels.len()).rev() {
            strides[at - 1] = strides[at] * levels[at];
        }
        Grid { levels, strides }
    }

    /// Number of configurations in the grid.
    pub fn len(&self) -> usize {
        self.levels.iter().product()
    }

    pub fn level(&self, configuration: usize, factor: usize) -> usize {
        configuration / self.strides[factor] % self.levels[factor]
    }

    pub fn configuration(&self, configuration: usize) -> Vec<usize> {
        (0..self.levels.len()).map(|factor| self.level(configuration, factor)).collect()
    }

    /// Number of `configuration` with the first level of `factor`: configurations with the same number differ in that
    /// factor only.
    pub fn context(&self, configuration: usize, factor: usize) -> usize {
        configuration - self.level(configuration, factor) * self.strides[factor]
    }
}

impl Design {
    /// Looks at the configurations of each kind of block, ascending.
    pub(crate) fn of(grid: &Grid, kinds: &[Vec<usize>]) -> Design {
        let main = main_effects(&grid.levels);
        let main_effects = main.len();
        let all = main_effects.saturating_add(interactions(&grid.levels));
        let edges = edges(grid, kinds);
        let known = |interactions_examined, rank, main_rank, aliases| Design {
            rank,
            effects: if interactions_examined { all } else { main_effects },
            main_effects,
            main_rank,
            interactions_examined,
            aliases,
            edges,
        };
        // Every combination once: all effects of all orders are independent.
        if let [whole] = kinds
            && whole.len() == grid.len()
        {
            return known(true, Some(all), Some(main_effects), Vec::new());
        }
        let room = MOST_COLUMNS.saturating_sub(kinds.len());
        if main_effects > room {
            return known(false, None, None, Vec::new());
        }
        let examined = all <= room;
        let effects = if examined { [main.clone(), pairs(&main)].concat() } else { main };
        let alias = |(column, with): (usize, Vec<usize>)| Alias {
            effect: effects[column].clone(),
            with: with.into_iter().map(|other| effects[other].clone()).collect(),
        };
        let aliases: Vec<Alias> = dependent(&effects, grid, kinds).into_iter().map(alias).collect();
        let of_main = aliases.iter().filter(|alias| alias.effect.0.len() == 1).count();
        known(examined, Some(effects.len() - aliases.len()), Some(main_effects - of_main), aliases)
    }
}

fn main_effects(levels: &[usize]) -> Vec<Effect> {
    let of = |(factor, &levels): (usize, &usize)| (1..levels).map(move |level| Effect(vec![(factor, level)]));
    levels.iter().enumerate().flat_map(of).collect()
}

/// Number of pairs of main effects of different factors.
fn interactions(levels: &[usize]) -> usize {
    let beside_first = levels.iter().map(|levels| levels - 1);
    let (pairs, _) = beside_first.fold((0usize, 0usize), |(pairs, before), levels| {
        (pairs.saturating_add(before.saturating_mul(levels)), before.saturating_add(levels))
    });
    pairs
}

fn pairs(main: &[Effect]) -> Vec<Effect> {
    let all = main.iter().enumerate().flat_map(|(at, one)| main[at + 1..].iter().map(move |two| (one.0[0], two.0[0])));
    let mut pairs: Vec<Effect> =
        all.filter(|(one, two)| one.0 != two.0).map(|(one, two)| Effect(vec![one, two])).collect();
    // Together by their factors, as they are reported.
    pairs.sort_by_key(|pair| (pair.0[0].0, pair.0[1].0, pair.0[0].1, pair.0[1].1));
    pairs
}

/// The Mersenne prime 2³¹ − 1. Ranks over the rationals are found modulo a prime: no rounding, and a column of
/// counts is called dependent by mistake only where the prime divides a minor of the matrix.
const PRIME: u64 = (1 << 31) - 1;

/// Columns that depend on earlier ones, and on which.
fn dependent(effects: &[Effect], grid: &Grid, kinds: &[Vec<usize>]) -> Vec<(usize, Vec<usize>)> {
    let blocks = kinds.len();
    let size = blocks + effects.len();
    let column: BTreeMap<&[(usize, usize)], usize> =
        effects.iter().enumerate().map(|(at, effect)| (effect.0.as_slice(), blocks + at)).collect();
    let two = effects.iter().any(|effect| effect.0.len() == 2);
    // XᵀX has the rank of X, and its dependent columns are those of X; a row touches few of its entries.
    let mut gram = vec![0u64; size * size];
    let mut row = Vec::new();
    for (block, configurations) in kinds.iter().enumerate() {
        for &configuration in configurations {
            row.clear();
            row.push(block);
            let levels = (0..grid.levels.len()).map(|factor| (factor, grid.level(configuration, factor)));
            let varied: Vec<(usize, usize)> = levels.filter(|(_, level)| *level > 0).collect();
            for (at, one) in varied.iter().enumerate() {
                row.extend(column.get(&[*one][..]));
                if two {
                    row.extend(varied[at + 1..].iter().filter_map(|two| column.get(&[*one, *two][..])));
                }
            }
            for &a in &row {
                for &b in &row {
                    gram[a * size + b] += 1;
                }
            }
        }
    }
    eliminate(&mut gram, size);
    let found = (blocks..size).filter(|&at| gram[at * size + at] == 0);
    found
        .map(|at| {
            let earlier = blocks..at;
            let with = earlier.filter(|&other| gram[other * size + other] == 1 && gram[other * size + at] != 0);
            (at - blocks, with.map(|other| other - blocks).collect())
        })
        .collect()
}

/// Reduced row echelon form modulo [`PRIME`], pivots on the diagonal only, in order.
///
/// For a matrix XᵀX over the rationals, a column that depends on those before it has a zero pivot and, by symmetry,
/// a zero row; the column itself then holds the coefficients by which it depends on them.
fn eliminate(matrix: &mut [u64], size: usize) {
    for pivot in 0..size {
        let found = matrix[pivot * size + pivot] % PRIME;
        if found == 0 {
            continue;
        }
        let inverse = power(found, PRIME - 2);
        // What lies before the pivot in its row is zero by now.
        for at in pivot..size {
            matrix[pivot * size + at] = matrix[pivot * size + at] % PRIME * inverse % PRIME;
        }
        let row: Vec<u64> = matrix[pivot * size + pivot..(pivot + 1) * size].to_vec();
        for (other, target) in matrix.chunks_exact_mut(size).enumerate() {
            let factor = target[pivot] % PRIME;
            if other == pivot || factor == 0 {
                continue;
            }
            let negative = PRIME - factor;
            for (target, row) in target[pivot..].iter_mut().zip(&row) {
                *target = (*target + negative * row) % PRIME;
            }
        }
    }
}

fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut base, mut result) = (base % PRIME, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % PRIME;
        }
        base = base * base % PRIME;
        exponent >>= 1;
    }
    result
}

fn edges(grid: &Grid, kinds: &[Vec<usize>]) -> Vec<FactorEdges> {
    (0..grid.levels.len()).map(|factor| FactorEdges { pairs: edges_of(grid, kinds, factor) }).collect()
}

fn edges_of(grid: &Grid, kinds: &[Vec<usize>], factor: usize) -> Vec<Edges> {
    let count = grid.levels[factor];
    let mut found: BTreeMap<(usize, usize), Edges> = BTreeMap::new();
    for from in 0..count {
        let last = if count <= ALL_PAIRS_MOST { count } else { (from + 2).min(count) };
        for to in from + 1..last {
            found.insert((from, to), Edges { from, to, count: 0, contexts: Vec::new() });
        }
    }
    let of_kind = |(kind, configurations): (usize, &Vec<usize>)| {
        let place = |&each: &usize| (grid.context(each, factor), kind, grid.level(each, factor));
        configurations.iter().map(place).collect::<Vec<_>>()
    };
    let mut placed: Vec<(usize, usize, usize)> = kinds.iter().enumerate().flat_map(of_kind).collect();
    placed.sort_unstable();
    let mut last: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for together in placed.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let context = together[0].0;
        for (at, (_, _, from)) in together.iter().enumerate() {
            for (_, _, to) in &together[at + 1..] {
                let Some(edges) = found.get_mut(&(*from, *to)) else { break };
                // A setting that several kinds of blocks hold is one edge.
                if last.insert((*from, *to), context) == Some(context) {
                    continue;
                }
                edges.count += 1;
                if edges.contexts.len() < MOST_CONTEXTS {
                    edges.contexts.push(grid.configuration(context));
                }
            }
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests;
