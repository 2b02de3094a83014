//! Measured values in the order in which they are shown: configurations, their series, and the values of each group.

use std::collections::{BTreeMap, BTreeSet};

use prony_stats::Interval;
use prony_stats::quantile::{median_of_sorted, sorted};
use prony_stats::single_sample::median_interval;
use prony_study::{Cell, Results, Role, State};

/// The measured values of a study by configuration, machine and workload.
#[derive(Debug)]
pub struct Matrix<'a> {
    /// Results of the study, cell by cell.
    pub results: &'a Results,
    /// Every configuration that has a cell, by its levels: the first is what others are compared with.
    pub configurations: Vec<Configuration>,
    /// Names of the series: configurations that differ in the swept factor only have one colour.
    pub series: Vec<String>,
    /// The factor that is drawn along an axis; `None` without a factor of at least three numbers.
    pub sweep: Option<usize>,
    groups: BTreeMap<(usize, usize, usize), Group>,
    place: BTreeMap<Vec<usize>, usize>,
}

/// A level of each factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// A level index for each factor.
    pub levels: Vec<usize>,
    /// The names of its levels: `optimised/stock/stock`.
    pub name: String,
    /// Index of the configuration's series, from 0.
    pub series: usize,
}

/// All measured values of one configuration on one workload and machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Measured values in ascending order.
    pub values: Vec<f64>,
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    /// Confidence interval of the value: of the cell if there is only one, otherwise of the median over cells;
    /// unbounded under 6 values.
    pub interval: Option<Interval>,
}

impl<'a> Matrix<'a> {
    /// Sorts the cells of a study.
    pub fn of(results: &'a Results) -> Matrix<'a> {
        let sweep = sweep(results);
        let sets: BTreeSet<&Vec<usize>> = results.cells.iter().map(|cell| &cell.levels).collect();
        let without_sweep = |levels: &[usize]| {
            levels
                .iter()
                .enumerate()
                .filter(|&(factor, _)| Some(factor) != sweep)
                .map(|(_, &level)| level)
                .collect::<Vec<_>>()
        };
        let of_series: BTreeSet<Vec<usize>> = sets.iter().map(|levels| without_sweep(levels)).collect();
        let of_series: Vec<Vec<usize>> = of_series.into_iter().collect();
        let configurations: Vec<Configuration> = sets
            .into_iter()
            .map(|levels| Configuration {
                levels: levels.clone(),
                name: name(results, levels, None),
                series: of_series.binary_search(&without_sweep(levels)).unwrap_or(0),
            })
            .collect();
        let mut series = vec![String::new(); of_series.len()];
        for configuration in &configurations {
            series[configuration.series] = name(results, &configuration.levels, sweep);
        }
        let place: BTreeMap<Vec<usize>, usize> =
            configurations.iter().enumerate().map(|(place, one)| (one.levels.clone(), place)).collect();
        let mut cells: BTreeMap<(usize, usize, usize), Vec<&Cell>> = BTreeMap::new();
        for cell in results.cells.iter().filter(|cell| counts(cell)) {
            cells.entry((place[&cell.levels], cell.machine, cell.workload)).or_default().push(cell);
        }
        let groups = cells.into_iter().filter_map(|(key, cells)| Some((key, Group::of(&cells)?))).collect();
        Matrix { results, configurations, series, sweep, groups, place }
    }

    /// The values of a configuration on a machine and a workload.
    pub fn group(&self, configuration: usize, machine: usize, workload: usize) -> Option<&Group> {
        self.groups.get(&(configuration, machine, workload))
    }

    /// All groups, by configuration, machine and workload.
    pub fn groups(&self) -> impl Iterator<Item = (usize, usize, usize, &Group)> {
        self.groups.iter().map(|(&(configuration, machine, workload), group)| (configuration, machine, workload, group))
    }

    /// The configuration with these levels, if a cell has them.
    pub fn configuration(&self, levels: &[usize]) -> Option<usize> {
        self.place.get(levels).copied()
    }

    /// The medians of all groups on a machine.
    pub fn medians_on(&self, machine: usize) -> impl Iterator<Item = f64> {
        self.groups().filter(move |group| group.1 == machine).map(|(_, _, _, group)| group.median)
    }

    /// Number of repeats that were planned for each group.
    pub fn repeats(&self) -> usize {
        self.results.cells.iter().map(|cell| cell.repeat as usize + 1).max().unwrap_or(0)
    }

    /// Number of cells of one repeat of a group, which is one unless levels of random factors are counted as repeats.
    pub fn cells_of_a_repeat(&self) -> usize {
        let mut counts: BTreeMap<(&[usize], usize, usize, u32), usize> = BTreeMap::new();
        for cell in self.results.cells.iter().filter(|cell| cell.role == Role::Measured) {
            *counts.entry((&cell.levels, cell.machine, cell.workload, cell.repeat)).or_default() += 1;
        }
        counts.into_values().max().unwrap_or(0)
    }

    /// Number of configurations of a full cross; saturates.
    pub fn full_cross(&self) -> usize {
        self.results.factors.iter().fold(1usize, |product, factor| product.saturating_mul(factor.levels.len()))
    }

    /// Names of the factors, joined as those of the levels are: `engine/dll/plugins`.
    pub fn factors(&self) -> String {
        let names: Vec<&str> = self.results.factors.iter().map(|factor| factor.name.as_str()).collect();
        names.join("/")
    }

    /// Description of the values: `cpu time per 120,000 frames`.
    pub fn metric(&self) -> String {
        let metric = &self.results.metric;
        match &metric.normalise {
            Some(normalise) => {
                format!("{} per {} {}", metric.name, prony_text::rounded(normalise.to, 6), normalise.by)
            }
            None => metric.name.clone(),
        }
    }
}

impl Group {
    fn of(cells: &[&Cell]) -> Option<Group> {
        // Cells of one repeat, where levels of random factors are counted as repeats, are one value.
        let mut of_repeats: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for cell in cells {
            let sum = of_repeats.entry(cell.repeat).or_default();
            *sum = (sum.0 + cell.value?, sum.1 + 1.0);
        }
        let in_order: Vec<f64> = of_repeats.into_values().map(|(sum, n)| sum / n).collect();
        let values = sorted(&in_order);
        let median = median_of_sorted(&values)?;
        let interval = match cells {
            [cell] => cell.spread,
            _ => median_interval(&in_order, 0.05),
        };
        Some(Group { values, median, interval })
    }

    /// Bounds to draw around the median: the interval where it has any, otherwise the lowest and the highest value.
    pub fn bounds(&self) -> (f64, f64) {
        let ends = (self.values[0], self.values[self.values.len() - 1]);
        self.interval
            .filter(|interval| interval.width().is_finite())
            .map_or(ends, |interval| (interval.low, interval.high))
    }

    /// True if [`Group::bounds`] are those of an interval.
    pub fn has_interval(&self) -> bool {
        self.interval.is_some_and(|interval| interval.width().is_finite())
    }
}

/// True if the value of a cell is one of those that are reported.
pub fn counts(cell: &Cell) -> bool {
    cell.role == Role::Measured && cell.state == State::Done && cell.value.is_some_and(f64::is_finite)
}

fn sweep(results: &Results) -> Option<usize> {
    let numbers = |factor: usize| results.factors[factor].numbers.as_ref().map_or(0, Vec::len);
    (0..results.factors.len())
        .filter(|&factor| numbers(factor) >= 3)
        .max_by_key(|&factor| (numbers(factor), usize::MAX - factor))
}

/// Levels joined by `/`, without the factor that is left out.
fn name(results: &Results, levels: &[usize], left_out: Option<usize>) -> String {
    let named = levels.iter().zip(&results.factors).enumerate().filter(|&(factor, _)| Some(factor) != left_out);
    let names: Vec<&str> = named.map(|(_, (&level, factor))| factor.levels[level].as_str()).collect();
    if names.is_empty() { "all".to_owned() } else { names.join("/") }
}
