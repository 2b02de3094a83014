//! Cells that differ in one factor, side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::repeats::Spread;
use super::{Design, Observation};
use crate::files::samples::Better;

/// The observations of a design, by configuration.
pub(super) struct Cells<'a> {
    design: &'a Design,
    /// Mean gain in each block: the logarithm, turned so that more is better.
    configurations: BTreeMap<&'a [usize], Blocks>,
}

/// Machine, workload and repeat; sum of the gains and their number.
type Blocks = BTreeMap<(usize, usize, u32), (f64, f64)>;

/// Comparison along one edge of the design.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pair {
    /// Index of the edge, from 0.
    pub edge: usize,
    /// Index of the machine, from 0.
    pub machine: usize,
    /// Index of the workload; `None` if the ends have none in common, and means over theirs are compared.
    pub workload: Option<usize>,
    /// Number of the repeat; 0 if the ends have none in common.
    pub repeat: u32,
    /// Log speed-up of the pair.
    pub d: f64,
}

impl<'a> Cells<'a> {
    pub fn of(design: &'a Design) -> Cells<'a> {
        let mut cells = Cells { design, configurations: BTreeMap::new() };
        for one in design.observations.iter().filter(|one| is_usable(design, one)) {
            let gain = cells.gain(one);
            let blocks = cells.configurations.entry(&one.levels).or_default();
            let sum = blocks.entry((one.machine, one.workload, one.repeat)).or_default();
            *sum = (sum.0 + gain, sum.1 + 1.0);
        }
        cells
    }

    /// The logarithm of a value, turned so that more is better.
    pub fn gain(&self, one: &Observation) -> f64 {
        match self.design.better {
            Better::Lower => -one.ln_value,
            Better::Higher => one.ln_value,
        }
    }

    /// Every configuration that has a value.
    pub fn configurations(&self) -> Vec<&[usize]> {
        self.configurations.keys().copied().collect()
    }

    /// Observations of cells that are compared.
    pub fn observations(&self) -> impl Iterator<Item = &'a Observation> {
        let design = self.design;
        design.observations.iter().filter(move |one| is_usable(design, one))
    }

    /// True if repeats are draws that all cells share.
    pub fn has_shared_repeats(&self) -> bool {
        self.design.shared_repeats
    }

    /// Number of machines with values.
    pub fn machines(&self) -> usize {
        self.observations().map(|one| one.machine).collect::<BTreeSet<_>>().len()
    }

    /// Number of workloads with values.
    pub fn workloads(&self) -> usize {
        self.observations().map(|one| one.workload).collect::<BTreeSet<_>>().len()
    }

    /// Configurations at `from` that have a neighbour at `to` with all else equal.
    pub fn edges(&self, factor: usize, from: usize, to: usize) -> Vec<Vec<usize>> {
        let has_other_end =
            |levels: &&[usize]| self.configurations.contains_key(other_end(levels, factor, to).as_slice());
        let at_from = self.configurations.keys().copied().filter(|levels| levels[factor] == from);
        at_from.filter(has_other_end).map(<[usize]>::to_vec).collect()
    }

    /// All comparisons along the edges.
    pub fn pairs(&self, edges: &[Vec<usize>], factor: usize, to: usize) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (edge, levels) in edges.iter().enumerate() {
            let ends = [
                &self.configurations[levels.as_slice()],
                &self.configurations[other_end(levels, factor, to).as_slice()],
            ];
            let found = in_common(edge, ends);
            if found.is_empty() && self.design.comparable_workloads {
                pairs.extend(on_means(edge, ends));
            } else {
                pairs.extend(found);
            }
        }
        pairs
    }

    /// Spread among the workloads at each of the two ends of an edge, without the differences between machines.
    pub fn spread_of_ends(&self, edge: &[usize], factor: usize, to: usize) -> [Spread; 2] {
        [edge.to_vec(), other_end(edge, factor, to)].map(|levels| {
            let mut of_machines: BTreeMap<usize, BTreeMap<usize, (f64, f64)>> = BTreeMap::new();
            for (&(machine, workload, _), &(sum, n)) in &self.configurations[levels.as_slice()] {
                let all = of_machines.entry(machine).or_default().entry(workload).or_default();
                *all = (all.0 + sum, all.1 + n);
            }
            let mut of_workloads: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
            for values in of_machines.values() {
                let machine = values.values().map(|(sum, n)| sum / n).sum::<f64>() / values.len() as f64;
                for (&workload, (sum, n)) in values {
                    let all = of_workloads.entry(workload).or_default();
                    *all = (all.0 + sum / n - machine, all.1 + 1.0);
                }
            }
            Spread::of(&of_workloads.into_values().map(|(sum, n)| sum / n).collect::<Vec<_>>())
        })
    }
}

fn is_usable(design: &Design, one: &Observation) -> bool {
    let fits = one.levels.iter().zip(&design.factors).all(|(&level, factor)| level < factor.levels.len());
    fits && one.levels.len() == design.factors.len() && one.ln_value.is_finite()
}

fn other_end(levels: &[usize], factor: usize, to: usize) -> Vec<usize> {
    let mut levels = levels.to_vec();
    levels[factor] = to;
    levels
}

/// In the repeats that both ends have of a machine and workload; where there are none, the means of their repeats.
fn in_common(edge: usize, [from, to]: [&Blocks; 2]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = from
        .iter()
        .filter_map(|(block, a)| {
            let &(machine, workload, repeat) = block;
            let b = to.get(block)?;
            Some(Pair { edge, machine, workload: Some(workload), repeat, d: b.0 / b.1 - a.0 / a.1 })
        })
        .collect();
    let paired: BTreeSet<(usize, usize)> =
        pairs.iter().map(|pair| (pair.machine, pair.workload.unwrap_or_default())).collect();
    let by_place = |blocks: &Blocks| {
        let mut sums: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        for (&(machine, workload, _), &(sum, n)) in blocks {
            let all = sums.entry((machine, workload)).or_default();
            *all = (all.0 + sum, all.1 + n);
        }
        sums
    };
    let others = by_place(to);
    for (place, a) in by_place(from).into_iter().filter(|(place, _)| !paired.contains(place)) {
        if let Some(b) = others.get(&place) {
            let (machine, workload) = place;
            pairs.push(Pair { edge, machine, workload: Some(workload), repeat: 0, d: b.0 / b.1 - a.0 / a.1 });
        }
    }
    pairs
}

/// Means over the workloads of each end, on each machine and in each repeat that both have.
fn on_means(edge: usize, ends: [&Blocks; 2]) -> Vec<Pair> {
    let [from, to] = ends.map(|blocks| {
        let mut sums: BTreeMap<(usize, u32), (f64, f64)> = BTreeMap::new();
        for (&(machine, _, repeat), &(sum, n)) in blocks {
            let all = sums.entry((machine, repeat)).or_default();
            *all = (all.0 + sum / n, all.1 + 1.0);
        }
        sums
    });
    let pair = |(&(machine, repeat), a): (&(usize, u32), &(f64, f64))| {
        let b = to.get(&(machine, repeat))?;
        Some(Pair { edge, machine, workload: None, repeat, d: b.0 / b.1 - a.0 / a.1 })
    };
    from.iter().filter_map(pair).collect()
}
