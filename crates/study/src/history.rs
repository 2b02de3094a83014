//! The same study over commits: a series for each configuration, and its change points.

use std::collections::BTreeMap;

use prony_stats::Interval;
use prony_stats::change_points::{ChangePoint, change_points};
use prony_stats::effects::{Observation, Table, rows, student_interval};

use crate::join::{JoinError, Joined};
use crate::results::{Direction, Metric, Results};

/// Series of a study over commits.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// Metric that all studies measured.
    pub metric: Metric,
    /// Series, one for each configuration.
    pub series: Vec<Series>,
}

impl History {
    /// True if the values after a change are worse than those before.
    pub fn is_worse(&self, change: &ChangePoint) -> bool {
        match self.metric.direction {
            Direction::Lower => change.after > change.before,
            Direction::Higher => change.after < change.before,
        }
    }
}

/// Values of a configuration over commits.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of each factor, with its level.
    pub levels: Vec<(String, String)>,
    /// The studies that have values of it, in order.
    pub points: Vec<Point>,
    /// Change points; `at` counts points, `before` and `after` are in the metric's unit.
    pub changes: Vec<ChangePoint>,
    /// True if some study has no machine and workload in common with others, so that points are of different work.
    pub patchy: bool,
}

/// A configuration at a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Index of the study, from 0, in the order given.
    pub study: usize,
    /// Geometric mean over machines and workloads, in the metric's unit; missing ones are made up for.
    pub value: f64,
    /// Confidence interval of the value, from the repeats of one study; `None` with one repeat.
    pub interval: Option<Interval>,
}

/// Error of the intervals of points.
const POINT_ALPHA: f64 = 0.05;

/// The studies in order, oldest first.
///
/// `alpha`: chance to find any change where there is none, in all series together (Bonferroni); of independent studies, see
/// [`prony_stats::change_points`]. Equal `seed`, equal answer.
///
/// # Errors
/// [`JoinError`] when a study does not fit to the first.
pub fn history(studies: &[&Results], alpha: f64, seed: u64) -> Result<History, JoinError> {
    let joined = Joined::of(studies)?;
    let configurations = joined.configurations();
    let alpha = alpha / configurations.len().max(1) as f64;
    let series = configurations.into_iter().map(|(levels, observations)| {
        let (points, patchy) = points(&observations);
        let logs: Vec<f64> = points.iter().map(|point| point.value.ln()).collect();
        let in_unit =
            |change: ChangePoint| ChangePoint { before: change.before.exp(), after: change.after.exp(), ..change };
        let changes = change_points(&logs, alpha, seed).into_iter().map(in_unit).collect();
        Series { levels: joined.describe(levels), points, changes, patchy }
    });
    let series = series.collect();
    let metric = studies.first().map_or_else(
        || Metric { name: String::new(), unit: String::new(), direction: crate::Direction::Lower, normalise: None },
        |first| first.metric.clone(),
    );
    Ok(History { metric, series })
}

/// The points of a configuration, and whether they could not be made comparable.
fn points(observations: &[&Observation]) -> (Vec<Point>, bool) {
    // A machine and workload is a column, a study a row; the repeats of a cell are one.
    let mut columns: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut sums: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for one in observations {
        let next = columns.len();
        let column = *columns.entry((one.machine, one.workload)).or_insert(next);
        let sum = sums.entry((one.levels[0], column)).or_default();
        *sum = (sum.0 + one.ln_value, sum.1 + 1.0);
    }
    let table: Table = sums.iter().map(|(&place, &(sum, n))| (place, sum / n)).collect();
    let fitted = rows(&table);
    let patchy = fitted.is_none();
    let values = fitted.unwrap_or_else(|| {
        let mut of_studies: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (&(study, _), value) in &table {
            let sum = of_studies.entry(study).or_default();
            *sum = (sum.0 + value, sum.1 + 1.0);
        }
        of_studies.into_iter().map(|(study, (sum, n))| (study, sum / n)).collect()
    });
    let point = |(study, value): (usize, f64)| Point {
        study,
        value: value.exp(),
        interval: repeats(observations, study).map(|around| around.map(|log| (value + log).exp())),
    };
    (values.into_iter().map(point).collect(), patchy)
}

/// Interval of the mean of the repeats of a study around their mean, as logarithms.
fn repeats(observations: &[&Observation], study: usize) -> Option<Interval> {
    let of_study: Vec<&&Observation> = observations.iter().filter(|one| one.levels[0] == study).collect();
    let mut of_places: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    for one in &of_study {
        let sum = of_places.entry((one.machine, one.workload)).or_default();
        *sum = (sum.0 + one.ln_value, sum.1 + 1.0);
    }
    let mut of_repeats: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for one in &of_study {
        let (sum, n) = of_places[&(one.machine, one.workload)];
        let of_repeat = of_repeats.entry(one.repeat).or_default();
        *of_repeat = (of_repeat.0 + one.ln_value - sum / n, of_repeat.1 + 1.0);
    }
    let means: Vec<f64> = of_repeats.into_values().map(|(sum, n)| sum / n).collect();
    student_interval(&means, POINT_ALPHA).filter(|interval| interval.n > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::study;

    /// Twelve commits; the second level costs a third more from the eighth on.
    fn commits() -> Vec<Results> {
        (0..12)
            .map(|commit| {
                study("s", move |machine, level, place| {
                    let noise = 1.0 + 0.002 * ((commit * 5 + place * 7) % 13) as f64;
                    let cost = if level == 1 && commit >= 7 { 4.0 / 3.0 } else { 1.0 };
                    (1.0 + machine as f64) * noise * cost
                })
            })
            .collect()
    }

    #[test]
    fn a_commit_that_costs_is_marked_in_its_configuration_only() {
        let studies = commits();
        let found = history(&studies.iter().collect::<Vec<_>>(), 0.05, 1).expect("they are of one kind");
        assert_eq!(found.series.len(), 2);
        assert_eq!(found.series[0].changes, []);
        let [change] = found.series[1].changes[..] else { panic!("{:?}", found.series[1].changes) };
        assert_eq!(change.at, 7);
        assert!((change.after / change.before - 4.0 / 3.0).abs() < 0.02, "{change:?}");
        assert!(found.series[1].points[0].interval.is_some());
    }

    #[test]
    fn a_machine_that_is_missing_once_is_no_change() {
        let mut studies = commits();
        studies[3].cells.retain(|cell| cell.machine != 2);
        let found = history(&studies.iter().collect::<Vec<_>>(), 0.05, 1).expect("they are of one kind");
        let values: Vec<f64> = found.series[0].points.iter().map(|point| point.value).collect();
        assert!((values[3] / values[2] - 1.0).abs() < 0.03, "{values:?}");
        assert!(!found.series[0].patchy);
        studies[3].machines.iter_mut().for_each(|machine| machine.name += "-other");
        let found = history(&studies.iter().collect::<Vec<_>>(), 0.05, 1).expect("they are of one kind");
        assert!(found.series[0].patchy);
        assert_eq!(history(&[], 0.05, 1).expect("nothing is of one kind").series, []);
    }
}
