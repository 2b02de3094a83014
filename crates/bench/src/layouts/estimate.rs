//! What the values of layouts say: of the code, of the layout of each build, and of how much layouts tell.

use prony_stats::proportion::difference;
use prony_stats::quantile::{median, robust_deviation, sorted};
use prony_stats::single_sample::median_interval;
use prony_stats::{Interval, Verdict, power, signed_rank};

use crate::summary::Spread;

/// Difference for which the necessary number of layouts is stated: ln 1.01.
const ONE_PERCENT: f64 = 0.009_950_330_853_168_083;
/// Share of the variance of a layout's value that the runs may add before more of them are needed.
pub const RUNS_SHARE_MAX: f64 = 0.1;
/// π/2: variance of the median of many normal values relative to that of their mean.
const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;

/// How far values of layouts are spread, and what their number can find. All are log ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spreads {
    /// Number of layouts.
    pub layouts: usize,
    /// Standard deviation of A and of B from layout to layout.
    pub sides: [f64; 2],
    /// Standard deviation of the ratio of B to A from layout to layout.
    pub ratio: f64,
    /// Share of the variance of that ratio that comes from the runs, and that more runs would reduce.
    pub of_runs: f64,
    /// Difference of the code that is found in nine of ten repetitions.
    pub detectable: f64,
    /// Number of layouts that find 1 % so often; `None` beyond a million.
    pub for_one_percent: Option<usize>,
}

/// What the values of layouts say. All are log ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Verdict on the code.
    pub verdict: Verdict,
    /// B relative to A over the layouts (Hodges–Lehmann, signed rank).
    pub code: Interval,
    /// Each side as built, relative to the centre of its layouts: the error of both is in the interval.
    pub as_built: [Interval; 2],
    /// B relative to A as they are built: what a comparison without layouts sees.
    pub of_builds: Interval,
    /// Spread between layouts.
    pub spreads: Spreads,
}

/// Times of all runs: of a side, a layout (0 as built) and a round. As built, the same number of runs more than one stand for a round.
pub type Times = [Vec<Vec<f64>>; 2];

/// Times of a side as log ratios to the median of its layouts in the same round, in which the machine was in one state. Of each layout,
/// 0 as built; `None` without layouts.
fn relative(side: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let rounds = side.iter().skip(1).map(Vec::len).min().filter(|&rounds| rounds > 0)?;
    let centres: Option<Vec<f64>> = (0..rounds)
        .map(|round| median(&side.iter().skip(1).filter_map(|runs| runs.get(round)).copied().collect::<Vec<f64>>()))
        .collect();
    let centres = centres?;
    let of_layout = |runs: &Vec<f64>| {
        let a_round = (runs.len() / rounds).max(1);
        let ratio = |(run, time): (usize, &f64)| Some((time / centres.get(run / a_round)?).ln());
        runs.iter().enumerate().filter_map(ratio).collect()
    };
    Some(side.iter().map(of_layout).collect())
}

/// Logarithms of the ratios of B to A, of runs of the same round.
fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| (b / a).ln()).collect()
}

/// The ratios of B to A in each layout, 0 as built, and in each round.
fn all_ratios([a, b]: &Times) -> Vec<Vec<f64>> {
    a.iter().zip(b).map(|(a, b)| ratios(a, b)).collect()
}

/// A median for each layout, without those as built.
fn medians(layouts: &[Vec<f64>]) -> Option<Vec<f64>> {
    layouts.iter().skip(1).map(|runs| median(runs)).collect()
}

fn deviation(values: &[f64], alpha: f64) -> Option<f64> {
    (values.len() > 1).then(|| Spread::of(values, alpha))?.map(|spread| spread.deviation)
}

/// Spread between layouts; `None` under two rounds or layouts.
pub fn spreads(times: &Times, alpha: f64) -> Option<Spreads> {
    let ratios = all_ratios(times);
    let differences = medians(&ratios)?;
    let ratio = deviation(&differences, alpha)?;
    let within = ratios.iter().skip(1).map(|of_layout| {
        let runs = of_layout.len();
        (runs > 1).then(|| robust_deviation(of_layout)).flatten().map(|one| MEDIAN_VARIANCE * one.powi(2) / runs as f64)
    });
    let within: Vec<f64> = within.collect::<Option<_>>()?;
    // A burst of other work during one layout is no property of all of them.
    let of_runs = if ratio > 0.0 { (median(&within)? / ratio.powi(2)).min(1.0) } else { 0.0 };
    let of_side = |side: &[Vec<f64>]| deviation(&medians(&relative(side)?)?, alpha);
    Some(Spreads {
        layouts: differences.len(),
        sides: [of_side(&times[0])?, of_side(&times[1])?],
        ratio,
        of_runs,
        detectable: power::detectable(ratio, differences.len(), alpha),
        for_one_percent: power::values_for(ratio, ONE_PERCENT, alpha),
    })
}

/// Everything that the times say; `None` under two rounds or layouts. `margin`: smaller differences of the code are the same; with
/// `tolerates`, they are never claimed.
pub fn estimate(times: &Times, alpha: f64, margin: f64, tolerates: bool) -> Option<Estimate> {
    let spreads = spreads(times, alpha)?;
    let ratios = all_ratios(times);
    let code = signed_rank::interval(&sorted(&medians(&ratios)?), alpha)?;
    let as_built = |side: &[Vec<f64>]| {
        let relative = relative(side)?;
        let of_layouts = signed_rank::interval(&sorted(&medians(&relative)?), alpha)?;
        Some(difference(of_layouts, median_interval(relative.first()?, alpha)?))
    };
    let verdict = Verdict::of_interval(&code, margin);
    Some(Estimate {
        verdict: if tolerates { verdict.tolerating(&code, margin) } else { verdict },
        code,
        as_built: [as_built(&times[0])?, as_built(&times[1])?],
        of_builds: signed_rank::interval(&sorted(ratios.first()?), alpha)?,
        spreads,
    })
}

#[cfg(test)]
mod tests;
