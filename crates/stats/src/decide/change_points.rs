//! Change points of a series of measurements: commits after which the results of a study differ.
//!
//! E-divisive (Matteson & James 2014, "A nonparametric approach for multiple change point analysis of multivariate
//! data"), as Daly et al. 2020 use it for the benchmarks of MongoDB: of all places, the one with the greatest energy
//! distance between what comes before and after; it counts if hardly any shuffle of the series has one so great; then the
//! same in its parts. It assumes no distribution and finds changes of level and of spread.
//!
//! Shuffles assume that values in a row are independent when nothing changes. Where they resemble their neighbours,
//! stretches as long as their correlation are shuffled instead of single values, which helps and is not enough. Of series
//! without changes, of 8 to 80 values, at most α = 5 % have one found when their values are independent, far-out values
//! or not; one in nine when each value is correlated with the last by 0.3; when by 0.6, three of ten series of ten values
//! and one of seven of forty (simulated in this file's tests). A machine that drifts changes too: no test separates that from a change of the program.

use serde::Serialize;

use crate::Seed;
use crate::describe::quantile::{median, robust_deviation};

/// A place from which on the series is another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub at: usize,
    /// Chance of such a place in a series without changes.
    pub p: f64,
    /// Mean of the values since the change before.
    pub before: f64,
    /// Mean of the values until the change after.
    pub after: f64,
}

/// Fewest values on either side of a change; one value far out is no change.
pub const STRETCH_MIN: usize = 2;
/// Most values of a series that are looked at, the last ones: time grows with their square.
pub const VALUES_MAX: usize = 1000;

/// The changes of a series, in its order; in a series without any, one is found with chance `alpha`.
///
/// `values`: finite, one a commit. Equal `seed`, equal answer. With six values or fewer and α = 5 % nothing can be
/// found: too few shuffles differ.
pub fn change_points(values: &[f64], alpha: f64, seed: u64) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(VALUES_MAX);
    let values = &values[skipped..];
    if alpha <= 0.0 || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    // Fifty shuffles as great as the series may come at level α: the error of p is then a seventh of α.
    let shuffles = ((50.0 / alpha).ceil() as usize).clamp(199, 9999) - 1;
    let mut seed = Seed::new(seed);
    let mut found: Vec<(usize, f64)> = Vec::new();
    let mut candidates = vec![Candidate::of(values, 0, values.len())];
    // The greatest candidate of all parts is tested first, and the first that fails ends the search, so that a series
    // without changes is tested once.
    while let Some(best) = take_greatest(&mut candidates) {
        let p = best.chance(values, shuffles, &mut seed);
        if p > alpha {
            break;
        }
        found.push((best.at, p));
        candidates.push(Candidate::of(values, best.from, best.at));
        candidates.push(Candidate::of(values, best.at, best.to));
    }
    found.sort_by_key(|&(at, _)| at);
    let mean = |from: usize, to: usize| values[from..to].iter().sum::<f64>() / (to - from) as f64;
    let bounds: Vec<usize> = std::iter::once(0).chain(found.iter().map(|&(at, _)| at)).chain([values.len()]).collect();
    let point = |(place, (at, p)): (usize, (usize, f64))| ChangePoint {
        at: at + skipped,
        p,
        before: mean(bounds[place], at),
        after: mean(at, bounds[place + 2]),
    };
    found.into_iter().enumerate().map(point).collect()
}

/// The place of a part at which it is most unlike itself.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    from: usize,
    to: usize,
    at: usize,
    distance: f64,
}

fn take_greatest(candidates: &mut Vec<Option<Candidate>>) -> Option<Candidate> {
    candidates.retain(Option::is_some);
    let distance = |place: usize| candidates[place].map_or(0.0, |candidate| candidate.distance);
    let place = (0..candidates.len()).max_by(|&a, &b| distance(a).total_cmp(&distance(b)))?;
    candidates.swap_remove(place)
}

impl Candidate {
    fn of(values: &[f64], from: usize, to: usize) -> Option<Candidate> {
        let part = &values[from..to];
        let order: Vec<usize> = (0..part.len()).collect();
        let (at, distance) = greatest(&Distances::of(part), &order)?;
        (distance > 0.0).then_some(Candidate { from, to, at: from + at, distance })
    }

    /// Share of shuffles of the part, itself among them, whose greatest distance is as great.
    fn chance(&self, values: &[f64], shuffles: usize, seed: &mut Seed) -> f64 {
        let part = &values[self.from..self.to];
        let distances = Distances::of(part);
        let stretch = stretch(part);
        let mut as_great = 1;
        for _ in 0..shuffles {
            let order = shuffled(part.len(), stretch, seed);
            // Rounding must not make a shuffle that changes nothing less great than the series.
            as_great += usize::from(
                greatest(&distances, &order).is_some_and(|(_, found)| found >= self.distance * (1.0 - 1e-9)),
            );
        }
        as_great as f64 / (shuffles + 1) as f64
    }
}

/// Number of consecutive values that are worth one independent value, at most an eighth of them: (1 + φ)/(1 − φ) for an
/// autocorrelation of φ.
///
/// φ comes from neighbouring differences, whose correlation is −(1 − φ)/2: a change of level is in one of them only, and
/// with far-out ones pulled in to 3 of their deviations it hardly counts. Residuals around a single change would show
/// correlation wherever there is a second one. 1 where φ is less than chance explains, 1/√n.
fn stretch(values: &[f64]) -> usize {
    let n = values.len();
    let differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (Some(centre), Some(deviation)) = (median(&differences), robust_deviation(&differences)) else { return 1 };
    let pulled_in: Vec<f64> =
        differences.iter().map(|d| (d - centre).clamp(-3.0 * deviation, 3.0 * deviation)).collect();
    let squares: f64 = pulled_in.iter().map(|d| d * d).sum();
    let products: f64 = pulled_in.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let like_the_last = (1.0 + 2.0 * products / squares).min(0.99);
    // Also where all differences are 0.
    if like_the_last.is_nan() || like_the_last < 1.0 / (n as f64).sqrt() {
        return 1;
    }
    let stretch = (1.0 + like_the_last) / (1.0 - like_the_last);
    (stretch.ceil() as usize).clamp(1, (n / 8).max(1))
}

/// Distance of each value from each, and the sum of each row.
struct Distances {
    n: usize,
    between: Vec<f64>,
    sums: Vec<f64>,
}

impl Distances {
    fn of(values: &[f64]) -> Distances {
        let between: Vec<f64> = values.iter().flat_map(|a| values.iter().map(move |b| (a - b).abs())).collect();
        let n = values.len();
        let sums = between.chunks_exact(n.max(1)).map(|row| row.iter().sum()).collect();
        Distances { n, between, sums }
    }
}

/// The place with the greatest scaled energy distance (Matteson & James 2014, equation 6), and that distance.
fn greatest(distances: &Distances, order: &[usize]) -> Option<(usize, f64)> {
    let n = distances.n;
    let all: f64 = distances.sums.iter().sum::<f64>() / 2.0;
    // Sums over the pairs before, and after, the place.
    let (mut before, mut after) = (0.0, all);
    let mut best: Option<(usize, f64)> = None;
    for (place, &value) in order.iter().enumerate() {
        let row = &distances.between[value * n..(value + 1) * n];
        let to_earlier: f64 = order[..place].iter().map(|&earlier| row[earlier]).sum();
        before += to_earlier;
        after -= distances.sums[value] - to_earlier;
        let (left, right) = (place + 1, n - place - 1);
        if left < STRETCH_MIN || right < STRETCH_MIN {
            continue;
        }
        let (m, k) = (left as f64, right as f64);
        let across = all - before - after;
        let energy = 2.0 / (m * k) * across - 2.0 / (m * (m - 1.0)) * before - 2.0 / (k * (k - 1.0)) * after;
        let scaled = m * k / (m + k) * energy;
        if best.is_none_or(|(_, greatest)| scaled > greatest) {
            best = Some((left, scaled));
        }
    }
    best
}

/// An order of `n` places in which stretches of `stretch` stay together; where they begin is drawn too.
fn shuffled(n: usize, stretch: usize, seed: &mut Seed) -> Vec<usize> {
    let stretch = stretch.clamp(1, n.max(1));
    let first = seed.below(stretch);
    let mut starts: Vec<usize> = (first..n).step_by(stretch).collect();
    if first > 0 {
        starts.push(0);
    }
    // Fisher & Yates.
    for place in (1..starts.len()).rev() {
        starts.swap(place, seed.below(place + 1));
    }
    let end = |start: usize| if start < first { first } else { (start + stretch).min(n) };
    starts.into_iter().flat_map(|start| start..end(start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{normal, uniform};

    /// Each value like the one before by `phi`, spread 1; a tenth far out if `far_out`.
    fn series(n: usize, phi: f64, far_out: bool, seed: &mut Seed) -> Vec<f64> {
        let mut state = normal(seed);
        let mut next = || {
            state = phi * state + (1.0 - phi * phi).sqrt() * normal(seed);
            state + if far_out && uniform(seed) < 0.1 { -5.0 * uniform(seed).ln() } else { 0.0 }
        };
        (0..n).map(|_| next()).collect()
    }

    /// Share of series without a change in which one is found.
    fn false_alarms(n: usize, phi: f64, far_out: bool) -> f64 {
        const SERIES: u64 = 1000;
        let alarms = (0..SERIES).filter(|&at| {
            let values = series(n, phi, far_out, &mut Seed::new(at));
            !change_points(&values, 0.05, at).is_empty()
        });
        alarms.count() as f64 / SERIES as f64
    }

    /// 5 % and three standard errors of a thousand series.
    const LIMIT: f64 = 0.071;

    #[test]
    fn a_series_without_changes_has_none() {
        for n in [10, 20, 40, 80] {
            for far_out in [false, true] {
                let share = false_alarms(n, 0.0, far_out);
                assert!(share <= LIMIT, "{n} values, far out {far_out}: {share}");
            }
        }
    }

    #[test]
    fn values_that_follow_the_last_raise_false_alarms_so_far_and_no_farther() {
        // What the documentation states, and three standard errors.
        for (n, phi, limit) in [(10, 0.3, 0.14), (40, 0.3, 0.14), (10, 0.6, 0.34), (40, 0.6, 0.18)] {
            let share = false_alarms(n, phi, false);
            assert!(share <= limit, "{n} values, correlation {phi}: {share}");
        }
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let mut near = 0;
        for at in 0..200 {
            let mut values = series(40, 0.0, false, &mut Seed::new(at));
            values[15..].iter_mut().for_each(|value| *value += 3.0);
            values[28..].iter_mut().for_each(|value| *value -= 6.0);
            let found: Vec<usize> = change_points(&values, 0.05, at).iter().map(|point| point.at).collect();
            let both = [15, 28].iter().all(|&step| found.iter().any(|found| found.abs_diff(step) <= 1));
            near += usize::from(both && found.len() <= 3);
        }
        assert!(near >= 170, "{near} of 200");
    }

    #[test]
    fn a_step_is_reported_with_the_means_around_it() {
        let step = |before: usize, after: usize| [vec![1.0; before], vec![2.0; after]].concat();
        let [point] = change_points(&step(8, 12), 0.05, 1)[..] else { panic!("one step, one change") };
        assert_eq!((point.at, point.before, point.after), (8, 1.0, 2.0));
        // Of 20 ways to place three of six, two look like this one.
        assert_eq!(change_points(&step(3, 3), 0.05, 1), []);
        assert_eq!(change_points(&step(4, 4), 0.05, 1).len(), 1);
        assert_eq!(change_points(&[1.0; 20], 0.05, 1), []);
        assert_eq!(change_points(&[], 0.05, 1), []);
        assert_eq!(change_points(&[1.0, f64::NAN, 2.0, 3.0], 0.05, 1), []);
    }

    #[test]
    fn one_value_far_out_is_no_change() {
        let mut values = series(30, 0.0, false, &mut Seed::new(5));
        values[20] += 50.0;
        assert_eq!(change_points(&values, 0.05, 5), []);
    }
}
