//! Effects of the levels of each factor, from cells that differ in that factor only.
//!
//! An *edge* is two configurations that differ in one factor. Along an edge, on one machine and workload, d = ln y(from)
//! − ln y(to): above 0 where `to` is better, so that eᵈ is a speed-up. Machines are what an effect is stated for, so a
//! machine counts once, with the mean of its d: *range* is least to greatest over machines (and edges), *median* that
//! of the machines, and the interval Student's over machines. An interval from all pairs pooled is far too short,
//! because pairs of one machine resemble each other: the tests show what it covers.
//!
//! With one machine its workloads are the units, with one workload its repeats, and [`Size::over`] says so. What is said
//! of one machine is said of **these workloads**: they are the question, and their repeats are what scatters (the
//! module `repeats` has the formula), so two workloads with some repeats are known well however much they differ. What
//! other workloads like these would give is a second question, which the spread of the workloads answers ([`Size::others`]):
//! of two of them nearly nothing, as Student's quantile with one degree of freedom is 12.7. Where nothing was repeated
//! the spread of the workloads is all there is, and [`Size::of`] says that.
//!
//! Repeats may be draws that all cells share ([`Design::shared_repeats`]), as the layouts of a program are: what one layout does
//! to one workload it also does to another. Then the draws are the units, each with the mean over its workloads, and more
//! workloads do not make the interval narrower. On several machines the variances of the mean over machines and over draws
//! add up, which counts twice what one draw does on one machine alone.

mod aliases;
mod least_squares;
mod pairs;
mod repeats;
mod student;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use aliases::{Alias, TERMS_MAX, Term, aliases};
pub use least_squares::{Table, rows};
pub use student::interval as student_interval;

use crate::decide::multiplicity::holm_adjusted;
use crate::describe::quantile::median;
use crate::files::samples::Better;
use crate::interval::Interval;
use least_squares::Columns;
use pairs::{Cells, Pair};
use repeats::Spread;

/// A study as input: factors, cells and their values.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// Factors that were varied on purpose.
    pub factors: Vec<Factor>,
    /// Observations, one for each cell that has a value.
    pub observations: Vec<Observation>,
    /// Direction in which values improve: lower or higher.
    pub better: Better,
    /// Values of different workloads may be compared, as those normalised to the same work may. Then an edge whose ends
    /// have no workload in common is judged by the means over the workloads of each end.
    pub comparable_workloads: bool,
    /// Repeats are draws that all machines and workloads share: the error of one is the same for all of them. Otherwise each machine
    /// and workload has repeats of its own.
    pub shared_repeats: bool,
}

/// Factor: a property that is varied on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Name of the factor, unique in the design.
    pub name: String,
    /// Names of the levels, in the order of the design.
    pub levels: Vec<String>,
    /// The levels are steps of a quantity: only the last is compared with the first, besides neighbours.
    pub sweep: bool,
}

/// The value of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Index of the machine, from 0.
    pub machine: usize,
    /// Index of the workload, from 0.
    pub workload: usize,
    /// Index of the repeat; machine, workload and repeat are a block.
    pub repeat: u32,
    /// A level a factor. Observations with another number of levels, or without a finite value, are left out.
    pub levels: Vec<usize>,
    /// Natural logarithm of the value.
    pub ln_value: f64,
}

/// All effects of a design.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effects {
    /// Effects of each factor: neighbouring levels, and each level with the first (of a sweep, the last only).
    pub effects: Vec<Effect>,
    /// Effects with another factor fixed at one level, if it has more than one.
    pub conditional: Vec<Effect>,
    /// Dependence of the effect of one factor on another.
    pub interactions: Vec<Interaction>,
    /// Terms that the configurations cannot separate.
    pub aliases: Vec<Alias>,
    /// Number of questions: effects and interactions.
    pub comparisons: usize,
}

/// Effect of going from one level to another. Values are log speed-ups: above 0 is better, eˣ − 1 the share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// Index of the factor, from 0.
    pub factor: usize,
    /// Index of the level before the change.
    pub from: usize,
    /// Index of the level after the change.
    pub to: usize,
    /// Factor and level at which the effect holds; `None`: at all levels.
    pub given: Option<(usize, usize)>,
    /// Size of the effect with its interval and verdict.
    pub size: Size,
    /// Comparisons d that it rests on: machines × workloads × edges; without a workload in common, machines × edges.
    pub pairs: usize,
    /// The edges that it rests on; none where it comes from a model of all cells.
    pub edges: Vec<Edge>,
    /// Comparison of the work at both ends.
    pub work: Work,
    /// Method by which the interval was computed.
    pub method: Method,
}

/// Size of an effect and its uncertainty. All values are logarithms of ratios.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Size {
    /// Unit that is counted once: repeats, workloads or machines.
    pub over: Over,
    /// The median of the units.
    #[serde(rename = "usual")]
    pub median: f64,
    /// The least of any unit, on any edge.
    pub min: f64,
    /// Greatest of the log speed-ups.
    pub max: f64,
    /// Student's interval of the mean of the units; without bounds where nothing scatters: one unit only, never repeated.
    pub interval: Interval,
    /// Source of variation that the interval covers: machines like these, workloads like these on the only machine, or
    /// with `Repeats` the very machine and workloads that were measured.
    pub of: Over,
    /// Student's interval for other workloads like these, where `interval` speaks of these ones and there are
    /// [`OTHERS_MIN`] of them.
    pub others: Option<Interval>,
    /// Standard deviation of one repeat of these workloads and its degrees of freedom, if they are on one machine and
    /// were repeated.
    #[serde(skip)]
    pub one_repeat: Option<(f64, f64)>,
    /// Standard error of the mean, in the interval; infinite where that has no bounds.
    #[serde(skip)]
    pub error: f64,
    /// Degrees of freedom of that.
    #[serde(skip)]
    pub freedom: f64,
    /// Chance of a mean so far from 0 when there is no effect; `None` where there is no interval.
    pub p: Option<f64>,
    /// Adjusted p-value for all questions together, by Holm's steps: set if there are more than 10.
    pub p_holm: Option<f64>,
    /// Index of each unit with its value.
    pub units: Vec<(usize, f64)>,
}

/// Unit that counts once in an effect; several values of one unit are not independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Machines: the effect speaks of machines like these.
    Machines,
    /// Workloads on the only machine.
    Workloads,
    /// Repeats of the only workload on the only machine.
    Repeats,
    /// Levels of random factors on the only machine: the effect speaks of levels like these.
    RandomLevels,
}

/// Two configurations that differ in one factor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edge {
    /// The level of each factor; of the one that differs, `from`.
    pub levels: Vec<usize>,
    /// Number of comparisons on the edge.
    pub pairs: usize,
    /// The median of the units.
    #[serde(rename = "usual")]
    pub median: f64,
    /// Least of the log speed-ups.
    pub min: f64,
    /// Greatest of the log speed-ups.
    pub max: f64,
}

/// Comparison of the work at both ends of the edges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Comparisons are of one workload each.
    Same,
    /// Comparisons of some edges are of different workloads at either end, by means of values for the same amount of
    /// work: differences between the workloads are part of the effect. The interval is for other workloads of their
    /// kind too, by the spread of those at each end; that of the effect is for these ones.
    Different {
        /// Interval for other workloads, wider than the effect's own.
        other_workloads: Interval,
    },
}

/// Method by which an effect was estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Means along the edges of the design.
    Edges,
    /// Least squares within blocks, as if factors did not depend on each other, because there is no edge.
    Model,
}

/// Dependence of the effect of one factor on another: the effect at `with_to` minus that at `with_from`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interaction {
    /// Index of the factor whose effect depends.
    pub factor: usize,
    /// Index of the level before the change.
    pub from: usize,
    /// Index of the level after the change.
    pub to: usize,
    /// Factor that the effect depends on; the same number says how far that factor's effect depends on this one.
    pub with: usize,
    /// Level of that factor before its change.
    pub with_from: usize,
    /// Level of that factor after its change.
    pub with_to: usize,
    /// Logarithm of the ratio of the two speed-ups.
    pub size: Size,
    /// Comparisons of two pairs that it rests on.
    pub pairs: usize,
}

/// Number of workloads from which on intervals for others like them are given: Student's quantile for two is 12.7, and
/// an interval that reaches nine times as far as the two lie apart says nothing.
pub const OTHERS_MIN: usize = 3;

/// Number of comparisons from which on Holm's steps are taken.
pub const COMPARISONS_MAX: usize = 10;

/// The effects of a design, with intervals that miss the truth with chance `alpha` each.
pub fn effects(design: &Design, alpha: f64) -> Effects {
    let cells = Cells::of(design);
    let mut found = Effects {
        effects: Vec::new(),
        conditional: Vec::new(),
        interactions: Vec::new(),
        aliases: aliases(&level_counts(&design.factors), &cells.configurations()),
        comparisons: 0,
    };
    for factor in 0..design.factors.len() {
        for (from, to) in steps(&design.factors[factor]) {
            let edges = cells.edges(factor, from, to);
            let pairs = cells.pairs(&edges, factor, to);
            let Some(effect) = effect(&cells, (factor, from, to), None, &edges, &pairs, alpha) else {
                found.effects.extend(by_model(design, &cells, (factor, from, to), alpha));
                continue;
            };
            found.effects.push(effect);
            for given in 0..design.factors.len() {
                conditional(&mut found, &cells, (factor, from, to), given, &edges, &pairs, alpha);
            }
            for with in 0..factor {
                for (with_from, with_to) in steps(&design.factors[with]) {
                    let with = (with, with_from, with_to);
                    found.interactions.extend(interaction(&cells, (factor, from, to), with, &edges, &pairs, alpha));
                }
            }
        }
    }
    found.hold_together();
    found
}

/// Neighbours, and each level with the first; of a sweep, the last with the first.
fn steps(factor: &Factor) -> Vec<(usize, usize)> {
    let levels = factor.levels.len();
    let neighbours = (1..levels).map(|to| (to - 1, to));
    let nearest = if factor.sweep { levels.saturating_sub(1).max(2) } else { 2 };
    neighbours.chain((nearest..levels).map(|to| (0, to))).collect()
}

fn level_counts(factors: &[Factor]) -> Vec<usize> {
    factors.iter().map(|factor| factor.levels.len()).collect()
}

impl Effects {
    /// Beyond ten comparisons, chances are those of all together.
    fn hold_together(&mut self) {
        let sizes = || {
            let effects = self.effects.iter().map(|effect| &effect.size);
            effects.chain(self.interactions.iter().map(|interaction| &interaction.size))
        };
        self.comparisons = sizes().count();
        if self.comparisons <= COMPARISONS_MAX {
            return;
        }
        // What has no chance of its own still counts as a question.
        let adjusted = holm_adjusted(&sizes().map(|size| size.p.unwrap_or(1.0)).collect::<Vec<_>>());
        let effects = self.effects.iter_mut().map(|effect| &mut effect.size);
        let sizes = effects.chain(self.interactions.iter_mut().map(|interaction| &mut interaction.size));
        for (size, adjusted) in sizes.zip(adjusted) {
            size.p_holm = size.p.map(|_| adjusted);
        }
    }
}

impl Size {
    /// Size between two runs of a study that were not made at the same time: one repeat of one run against one of the
    /// other.
    ///
    /// A machine has moods: it is faster for some minutes and slower for others. Inside a run all configurations meet
    /// the same, block by block, and what is compared there is free of them. Two runs met different ones, and with one
    /// machine that cannot be separated from a change. How large moods are, blocks tell: by how much a block of the later run
    /// differs from its like in the earlier. Were moods independent, means of R blocks would differ by 1/√R of that; but what
    /// takes turns with other work has 1/f noise, of which longer stretches differ as much as short ones (Allan 1966, Proc.
    /// IEEE 54), and what slows one workload slows all. So a run counts as one block: neither repeats nor workloads make the
    /// error smaller. Twenty runs in a row on a busy machine differed by 1.0 to 1.9 times what independent blocks
    /// would, and by 0.4 to 0.9 of this.
    ///
    /// Nothing bounds what happened between runs that lie apart: another kernel, another host. Over machines nothing is added:
    /// each has moods of its own, and their spread is what the interval is made of. Without repeats nothing is known of
    /// one machine, and the interval has no bounds.
    #[must_use]
    pub fn between_runs(mut self, alpha: f64) -> Size {
        if self.over != Over::Machines {
            let (deviation, freedom) = self.one_repeat.unwrap_or((f64::INFINITY, 0.0));
            self.rest_on(&[Spread { variance_of_mean: deviation.powi(2), freedom }], alpha);
            self.others = None;
        }
        self
    }

    /// True where the mean is away from 0 by more than chance explains, with `alpha` for all questions together.
    pub fn is_found(&self, alpha: f64) -> bool {
        self.p_holm.or(self.p).is_some_and(|p| p <= alpha)
    }
}

type Step = (usize, usize, usize);

/// An effect from its edges; `None` where no pair lies on them.
fn effect(
    cells: &Cells,
    (factor, from, to): Step,
    given: Option<(usize, usize)>,
    edges: &[Vec<usize>],
    pairs: &[Pair],
    alpha: f64,
) -> Option<Effect> {
    let over = over(cells, pairs)?;
    let (table, by_edge) = tabulated(pairs, over);
    let units = student::units(&table);
    let mut size = student::size(over, &units, pairs, alpha)?;
    if cells.has_shared_repeats() {
        size.rest_on_draws(&student::units(&tabulated(pairs, Over::RandomLevels).0), alpha);
    }
    let mut of_edges = Vec::new();
    for (edge, values) in by_edge {
        let values = least_squares::means(&values);
        let values: Vec<f64> = values.into_values().collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        size.min = size.min.min(least);
        size.max = size.max.max(greatest);
        of_edges.push(Edge {
            levels: edges[edge].clone(),
            pairs: count(pairs.iter().filter(|pair| pair.edge == edge)),
            median: median(&values)?,
            min: least,
            max: greatest,
        });
    }
    let work = match pairs.iter().any(|pair| pair.workload.is_none()) {
        false => Work::Same,
        true => {
            let own: BTreeSet<usize> =
                pairs.iter().filter(|pair| pair.workload.is_none()).map(|pair| pair.edge).collect();
            let spreads = own.iter().flat_map(|&edge| cells.spread_of_ends(&edges[edge], factor, to)).collect();
            Work::Different { other_workloads: student::wider(&size.interval, &units, spreads, of_edges.len(), alpha) }
        }
    };
    let pairs = count(pairs.iter());
    Some(Effect { factor, from, to, given, size, pairs, edges: of_edges, work, method: Method::Edges })
}

/// Repeats of one machine, workload and edge are one comparison.
fn count<'a>(pairs: impl Iterator<Item = &'a Pair>) -> usize {
    pairs.map(|pair| (pair.machine, pair.workload, pair.edge)).collect::<BTreeSet<_>>().len()
}

/// The unit of which there are several.
fn over(cells: &Cells, pairs: &[Pair]) -> Option<Over> {
    let first = pairs.first()?;
    if pairs.iter().any(|pair| pair.machine != first.machine) {
        return Some(Over::Machines);
    }
    if cells.has_shared_repeats() {
        return Some(Over::RandomLevels);
    }
    // Without a workload in common there are no workloads to count.
    if pairs.iter().all(|pair| pair.workload.is_some()) && pairs.iter().any(|pair| pair.workload != first.workload) {
        return Some(Over::Workloads);
    }
    Some(Over::Repeats)
}

/// Pairs as a table of units and what else they differ in, and the same for each edge.
fn tabulated(pairs: &[Pair], over: Over) -> (Table, BTreeMap<usize, Table>) {
    let mut sums: BTreeMap<(usize, usize, usize), (f64, f64)> = BTreeMap::new();
    for pair in pairs {
        // The place 0 is for edges without a workload in common.
        let workload = pair.workload.map_or(0, |workload| workload + 1);
        let (unit, place) = match over {
            Over::Machines => (pair.machine, workload),
            Over::Workloads => (workload.saturating_sub(1), 0),
            Over::Repeats | Over::RandomLevels => (pair.repeat as usize, workload),
        };
        let sum = sums.entry((pair.edge, unit, place)).or_default();
        *sum = (sum.0 + pair.d, sum.1 + 1.0);
    }
    let mut columns: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let (mut table, mut by_edge) = (Table::new(), BTreeMap::<usize, Table>::new());
    for ((edge, unit, place), (sum, n)) in sums {
        let next = columns.len();
        let column = *columns.entry((edge, place)).or_insert(next);
        table.insert((unit, column), sum / n);
        by_edge.entry(edge).or_default().insert((unit, column), sum / n);
    }
    (table, by_edge)
}

/// The effect at each level of another factor, where its edges lie at more than one.
fn conditional(
    found: &mut Effects,
    cells: &Cells,
    step: Step,
    given: usize,
    edges: &[Vec<usize>],
    pairs: &[Pair],
    alpha: f64,
) {
    let levels: BTreeSet<usize> = pairs.iter().map(|pair| edges[pair.edge][given]).collect();
    if given == step.0 || levels.len() < 2 {
        return;
    }
    for level in levels {
        let there: Vec<Pair> = pairs.iter().filter(|pair| edges[pair.edge][given] == level).cloned().collect();
        found.conditional.extend(effect(cells, step, Some((given, level)), edges, &there, alpha));
    }
}

/// Differences of pairs that lie on edges which differ in the other factor only.
fn interaction(
    cells: &Cells,
    (factor, from, to): Step,
    (with, with_from, with_to): Step,
    edges: &[Vec<usize>],
    pairs: &[Pair],
    alpha: f64,
) -> Option<Interaction> {
    let place: BTreeMap<&[usize], usize> = edges.iter().enumerate().map(|(at, edge)| (edge.as_slice(), at)).collect();
    let mut at: BTreeMap<(usize, usize, Option<usize>, u32), f64> = BTreeMap::new();
    at.extend(pairs.iter().map(|pair| ((pair.edge, pair.machine, pair.workload, pair.repeat), pair.d)));
    let differences: Vec<Pair> = pairs
        .iter()
        .filter(|pair| edges[pair.edge][with] == with_from)
        .filter_map(|pair| {
            let mut there = edges[pair.edge].clone();
            there[with] = with_to;
            let edge = *place.get(there.as_slice())?;
            let d = at.get(&(edge, pair.machine, pair.workload, pair.repeat))? - pair.d;
            Some(Pair { d, ..pair.clone() })
        })
        .collect();
    let over = over(cells, &differences)?;
    let units = |over| student::units(&tabulated(&differences, over).0);
    let mut size = student::size(over, &units(over), &differences, alpha)?;
    if cells.has_shared_repeats() {
        size.rest_on_draws(&units(Over::RandomLevels), alpha);
    }
    Some(Interaction { factor, from, to, with, with_from, with_to, size, pairs: count(differences.iter()) })
}

/// An effect without edges, as that of a fractional design: a model of all main effects within the blocks of each machine
/// (of one machine, of each workload). `None` where other factors always changed along with it.
fn by_model(design: &Design, cells: &Cells, (factor, from, to): Step, alpha: f64) -> Option<Effect> {
    let over = match (cells.machines() > 1, cells.workloads() > 1) {
        (true, _) => Over::Machines,
        (false, _) if cells.has_shared_repeats() => Over::RandomLevels,
        (false, true) => Over::Workloads,
        (false, false) => Over::Repeats,
    };
    let mut size = student::size(over, &fitted(design, cells, (factor, from, to), over), &[], alpha)?;
    if cells.has_shared_repeats() {
        size.rest_on_draws(&fitted(design, cells, (factor, from, to), Over::RandomLevels), alpha);
    }
    Some(Effect {
        factor,
        from,
        to,
        given: None,
        pairs: 0,
        size,
        edges: Vec::new(),
        work: Work::Same,
        method: Method::Model,
    })
}

/// An effect in each unit, from a model of its cells.
fn fitted(design: &Design, cells: &Cells, (factor, from, to): Step, over: Over) -> BTreeMap<usize, f64> {
    let mut of_unit: BTreeMap<usize, Vec<&Observation>> = BTreeMap::new();
    for observation in cells.observations() {
        let unit = match over {
            Over::Machines => observation.machine,
            Over::Workloads => observation.workload,
            Over::Repeats | Over::RandomLevels => observation.repeat as usize,
        };
        of_unit.entry(unit).or_default().push(observation);
    }
    let terms: Vec<(usize, usize)> = design
        .factors
        .iter()
        .enumerate()
        .flat_map(|(factor, of)| (1..of.levels.len()).map(move |level| (factor, level)))
        .collect();
    of_unit
        .into_iter()
        .filter_map(|(unit, observations)| {
            let within = |value: &dyn Fn(&Observation) -> f64| within_blocks(&observations, value);
            let columns: Vec<Vec<f64>> = terms
                .iter()
                .map(|&(factor, level)| within(&|one| f64::from(u8::from(one.levels[factor] == level))))
                .collect();
            let columns = Columns::of(&columns);
            let weights = columns.fit(&within(&|one| cells.gain(one)));
            let value = |level: usize| -> Option<f64> {
                if level == 0 {
                    return Some(0.0);
                }
                let term = terms.iter().position(|&term| term == (factor, level))?;
                let place = columns.kept.iter().position(|&kept| kept == term)?;
                let mixed = columns.made_of.values().flatten().any(|&(part, _)| part == term);
                (!mixed).then(|| weights[place])
            };
            Some((unit, value(to)? - value(from)?))
        })
        .collect()
}

/// Distances of a value from its mean in the block.
fn within_blocks(observations: &[&Observation], value: &dyn Fn(&Observation) -> f64) -> Vec<f64> {
    let block = |one: &Observation| (one.machine, one.workload, one.repeat);
    let mut sums: BTreeMap<(usize, usize, u32), (f64, f64)> = BTreeMap::new();
    for one in observations {
        let sum = sums.entry(block(one)).or_default();
        *sum = (sum.0 + value(one), sum.1 + 1.0);
    }
    observations.iter().map(|one| value(one) - sums[&block(one)].0 / sums[&block(one)].1).collect()
}

#[cfg(test)]
mod tests;
