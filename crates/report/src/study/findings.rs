//! Statistical results of a study: computed once, by `prony-stats`, and put into words elsewhere.

use prony_stats::Interval;
use prony_stats::effects::{Design, Effects, Factor, Observation, Over, Size, Work, effects};
use prony_stats::quantile::median;
use prony_study::effects::{controls, design};
use prony_study::{Cell, Direction, Results, Role, State};

use crate::study::matrix::{Matrix, counts};

/// Chance that an interval misses the truth.
pub const ALPHA: f64 = 0.05;
/// Differences below this are called the same, as in `prony bench`.
pub const MARGIN: f64 = 0.01;

/// Statistical results of a study.
#[derive(Debug)]
pub struct Findings {
    /// Effect of each level of each factor.
    pub effects: Effects,
    /// Every other configuration against the first.
    pub against_first: Vec<Contrast>,
    /// Difference between two runs of one configuration in a block, as a control: it should be 0.
    pub control: Option<Size>,
    /// Number of cells in each state.
    pub progress: Progress,
}

/// Comparison of a configuration with the first.
#[derive(Debug)]
pub struct Contrast {
    /// Index of the configuration, from 0.
    pub configuration: usize,
    /// Log speed-up over the first; the intervals of all contrasts hold together.
    pub size: Size,
    /// True if both configurations did the same work.
    pub same_work: bool,
    /// Machine × workload pairs in which it was better, and how many there are; of machines where no workload is shared.
    pub better: (usize, usize),
    /// Bounds on each machine by itself, over its workloads or repeats: the least lower and the greatest upper bound,
    /// which hold together. `None` with one machine, and where a machine has too little for an interval.
    pub on_each: Option<(f64, f64)>,
}

/// Number of cells in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Cells that count when they are done.
    pub measured: usize,
    /// Number of measured cells that are done.
    pub done: usize,
    /// Number of measured cells that were left out on purpose.
    pub skipped: usize,
    /// Cells that failed, of any role.
    pub failed: usize,
    /// Warm-ups and controls that are done.
    pub aside: usize,
}

impl Findings {
    /// Computes the statistics of a matrix.
    pub fn of(matrix: &Matrix<'_>) -> Findings {
        let results = matrix.results;
        let whole = design(results);
        let effects = effects(&whole, ALPHA);
        // What is compared two by two has cells of its own, and the rest from here.
        let whole = Design { factors: Vec::new(), observations: Vec::new(), ..whole };
        Findings {
            effects,
            against_first: against_first(matrix, &whole),
            control: controls(results, ALPHA),
            progress: Progress::of(results),
        }
    }

    /// The configuration to speak of first: the best of those that differ from the first, or else the one nearest to that.
    pub fn best(&self) -> Option<&Contrast> {
        let is_better = |size: &Size| size.interval.low > 0.0 && size.median > 0.0;
        let found = self.against_first.iter().filter(|contrast| is_better(&contrast.size));
        let best = found.max_by(|a, b| a.size.median.total_cmp(&b.size.median));
        best.or_else(|| self.against_first.iter().max_by(|a, b| a.size.median.total_cmp(&b.size.median)))
    }

    /// The smallest difference that these cells could tell from none: half the interval of the A/A pairs, or without
    /// them the median of the effects. A log ratio.
    pub fn resolvable(&self) -> Option<f64> {
        let halves = |size: &Size| Some(size.interval.width() / 2.0).filter(|half| half.is_finite());
        match &self.control {
            Some(control) => halves(control),
            None => median(&self.effects.effects.iter().filter_map(|effect| halves(&effect.size)).collect::<Vec<_>>()),
        }
    }
}

impl Progress {
    fn of(results: &Results) -> Progress {
        let mut progress = Progress::default();
        for cell in &results.cells {
            match (&cell.state, cell.role) {
                (State::Done, Role::Measured) => progress.done += 1,
                (State::Done, _) => progress.aside += 1,
                (State::Skipped { .. }, Role::Measured) => progress.skipped += 1,
                (State::Failed { .. }, _) => progress.failed += 1,
                _ => {}
            }
            progress.measured += usize::from(cell.role == Role::Measured);
        }
        progress
    }

    /// Cells that still are to run.
    pub fn missing(&self, results: &Results) -> usize {
        results.cells.iter().filter(|cell| matches!(cell.state, State::Pending | State::Running)).count()
    }
}

/// Two levels: the first configuration, and one other. The best is chosen among all, so all share one chance to err
/// (Bonferroni 1936).
fn against_first(matrix: &Matrix<'_>, whole: &Design) -> Vec<Contrast> {
    let others = matrix.configurations.len().saturating_sub(1);
    let mut of_configuration: Vec<Vec<&Cell>> = vec![Vec::new(); matrix.configurations.len()];
    for cell in matrix.results.cells.iter().filter(|cell| counts(cell)) {
        if let Some(configuration) = matrix.configuration(&cell.levels) {
            of_configuration[configuration].push(cell);
        }
    }
    let compared = |configuration: usize, machine: Option<usize>, alpha: f64| {
        let chosen = |configuration: usize, level: usize| {
            let cells = of_configuration[configuration].iter();
            let cells = cells.filter(|cell| machine.is_none_or(|machine| cell.machine == machine));
            cells.filter_map(|cell| observation(cell, level)).collect::<Vec<_>>()
        };
        let factor = Factor { name: String::new(), levels: vec![String::new(); 2], sweep: false };
        let observations = [chosen(0, 0), chosen(configuration, 1)].concat();
        let design = Design { factors: vec![factor], observations, ..whole.clone() };
        effects(&design, alpha).effects.into_iter().next()
    };
    let contrast = |configuration: usize| {
        let alpha = ALPHA / others as f64;
        let effect = compared(configuration, None, alpha)?;
        let same_work = effect.work == Work::Same;
        let better = match same_work {
            true => pairs(matrix, configuration),
            false => (effect.size.units.iter().filter(|unit| unit.1 > 0.0).count(), effect.size.units.len()),
        };
        let machines: Vec<usize> = match effect.size.over {
            Over::Machines => effect.size.units.iter().map(|&(machine, _)| machine).collect(),
            Over::Workloads | Over::Repeats | Over::RandomLevels => Vec::new(),
        };
        let each = machines.iter().map(|&machine| {
            let effect = compared(configuration, Some(machine), alpha / machines.len() as f64)?;
            let Interval { low, high, .. } = effect.size.interval;
            (effect.work == Work::Same && low.is_finite()).then_some((low, high))
        });
        let each = each.collect::<Option<Vec<_>>>().unwrap_or_default().into_iter();
        let on_each = each.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        Some(Contrast { configuration, size: effect.size, same_work, better, on_each })
    };
    (1..=others).filter_map(contrast).collect()
}

/// `None` where there is no logarithm of the value.
fn observation(cell: &Cell, level: usize) -> Option<Observation> {
    let ln_value = cell.value?.ln();
    let Cell { machine, workload, repeat, .. } = *cell;
    ln_value.is_finite().then_some(Observation { machine, workload, repeat, levels: vec![level], ln_value })
}

/// Machines and workloads on which a configuration was better than the first, and on which both were run.
fn pairs(matrix: &Matrix<'_>, configuration: usize) -> (usize, usize) {
    let is_better = |one: f64, first: f64| match matrix.results.metric.direction {
        Direction::Lower => one < first,
        Direction::Higher => one > first,
    };
    let of_configuration = matrix.groups().filter(|group| group.0 == configuration);
    of_configuration.fold((0, 0), |(better, all), (_, machine, workload, group)| {
        match matrix.group(0, machine, workload) {
            Some(first) => (better + usize::from(is_better(group.median, first.median)), all + 1),
            None => (better, all),
        }
    })
}
