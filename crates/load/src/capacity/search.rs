//! Search for the greatest number of clients at which a load holds: pure, outcomes come in as arguments.
//!
//! A step holds with a probability that falls with the number of clients `n` along a logistic curve in `ln n`, as in
//! dose-response experiments. Its middle, at which half of the steps hold, is the knee `k`; its width `s` is how far noise
//! blurs it:
//!
//! ```text
//! P(holds | n) = SPURIOUS + (1 − SPURIOUS − DISTURBED) / (1 + (n / k)^(1 / s))
//! ```
//!
//! `k` and `s` have a posterior on a grid: uniform in `ln k` and over [`WIDTHS`] before the first step, multiplied with the
//! probability of each outcome. Steps double the clients until one fails; then each is taken at a quantile of the
//! posterior of `k`, mostly its median, where an outcome is most informative (probabilistic bisection: Horstein, "Sequential
//! transmission using noiseless feedback", 1963; Waeber, Frazier & Henderson, 2013). A step that fails because the machine
//! was disturbed costs further steps and not the answer.

use prony_stats::Interval;

/// Share of the steps that fail however few clients there are: the machine was disturbed.
const DISTURBED: f64 = 0.03;
/// Share of the steps that hold however many clients there are.
const SPURIOUS: f64 = 0.01;
/// Widths of the logistic curve, in ln clients: from a wall to a gentle slope.
const WIDTHS: [f64; 6] = [0.005, 0.01, 0.02, 0.04, 0.08, 0.16];
/// Places of the knee on the grid, at equal ratios.
const PLACES: usize = 1000;
/// The knee may lie beyond the range by this factor.
const BEYOND: f64 = 2.0;
/// Quantiles of the posterior at which steps are taken, one after another: the outer ones determine the width. Tried on
/// simulated servers: with the median alone the search takes half as many steps again.
const QUANTILES: [f64; 3] = [0.5, 0.1, 0.9];
/// Confidence level of the interval.
const CONFIDENCE: f64 = 0.95;
/// Steps at an end of the range before the knee is called to be beyond it: two may be disturbed.
const END_STEPS: usize = 3;
/// Steps in which the generator was too slow: at least this many make a limit.
const LIMITED_MIN: usize = 3;
/// Steps with as many clients or more in which it was not, each outweighed by this number of those in which it was: a
/// generator that is disturbed now and then has no limit.
const LIMITED_RATIO: usize = 2;

/// Numbers of clients among which the knee is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientRange {
    /// Fewest clients, at least 1.
    pub low: usize,
    /// Most clients, at least `low`.
    pub high: usize,
}

/// Result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All clients were served, and all conditions held.
    Holds,
    /// Clients were not served, or a condition did not hold.
    Fails,
    /// It did not hold, but the generator may be the reason: it says nothing about the server.
    GeneratorLimited,
}

/// Answer of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knee {
    /// Number of clients at which half of the steps hold: median and equal-tailed credible interval of its posterior. A
    /// bound beyond the range is infinite.
    Found(Interval),
    /// The knee was not reached: `clients` hold.
    NotReached {
        /// Upper end of the range, or the most clients that were tried if the search was ended before and no step failed.
        clients: usize,
        /// Posterior probability that the knee lies above them.
        probability: f64,
    },
    /// The knee lies below the range: not even `clients` hold.
    NoneHolds {
        /// Lower end of the range.
        clients: usize,
        /// Posterior probability that the knee lies below it.
        probability: f64,
    },
    /// The generator was too slow before the server was.
    GeneratorLimit {
        /// Most clients that held below the limit; `None` if no step did.
        holds: Option<usize>,
        /// Fewest clients for which the generator was too slow.
        clients: usize,
    },
    /// No step was completed.
    Unknown,
}

/// Search for the knee: [`Search::next`] says which step to take, [`Search::record`] takes its outcome.
#[derive(Debug, Clone)]
pub struct Search {
    range: ClientRange,
    precision: f64,
    steps_max: usize,
    steps: Vec<(usize, Outcome)>,
    /// Logarithms of the posterior of place and width, not normalized.
    log_weights: Vec<[f64; WIDTHS.len()]>,
    /// The same, of the place alone.
    posterior: Posterior,
}

impl Search {
    /// Search in `range`, until the interval is narrower than `precision` × estimate, or for `steps_max` steps.
    pub fn new(range: ClientRange, precision: f64, steps_max: usize) -> Search {
        let low = range.low.max(1);
        let range = ClientRange { low, high: range.high.max(low) };
        let log_weights = vec![[0.0; WIDTHS.len()]; PLACES];
        let posterior = Posterior::of(range, &log_weights);
        Search { range, precision, steps_max, steps: Vec::new(), log_weights, posterior }
    }

    /// Number of clients of the next step; `None` when the search is over.
    pub fn next(&self) -> Option<usize> {
        (self.steps.len() < self.steps_max).then(|| self.following()).flatten()
    }

    /// True if no further step is needed.
    pub fn is_decided(&self) -> bool {
        self.following().is_none()
    }

    fn following(&self) -> Option<usize> {
        let Some(&(last, outcome)) = self.steps.last() else { return Some(self.range.low) };
        let limit = self.generator_limit();
        let has_failed = self.steps.iter().any(|&(_, outcome)| outcome == Outcome::Fails);
        if limit.is_none() && outcome == Outcome::GeneratorLimited {
            return Some(last);
        }
        if limit.is_none() && !has_failed && last < self.range.high {
            return Some((last * 2).min(self.range.high));
        }
        if let Some(limit) = limit.filter(|&limit| self.is_beyond(limit)) {
            let holds = self.most_held_below(limit).unwrap_or(self.range.low.saturating_sub(1)).max(1);
            let middle = ((holds as f64 * limit as f64).sqrt().round() as usize).max(holds + 1);
            let is_narrow = limit as f64 <= holds as f64 * (1.0 + self.precision);
            return (!is_narrow && middle < limit && limit > self.range.low).then_some(middle.max(self.range.low));
        }
        if self.is_precise() {
            return None;
        }
        let informative = self.steps.iter().filter(|(_, outcome)| *outcome != Outcome::GeneratorLimited).count();
        let clients = self.posterior.quantile(QUANTILES[informative % QUANTILES.len()]).round() as usize;
        let most = limit.map_or(self.range.high, |limit| self.range.high.min(limit - 1));
        Some(clients.clamp(self.range.low, most.max(self.range.low)))
    }

    /// Takes the outcome of a step.
    pub fn record(&mut self, clients: usize, outcome: Outcome) {
        self.steps.push((clients, outcome));
        if outcome == Outcome::GeneratorLimited {
            return;
        }
        let at = (clients.max(1) as f64).ln();
        for (place, weights) in self.log_weights.iter_mut().enumerate() {
            let distance = place_ln(self.range, place) - at;
            for (weight, width) in weights.iter_mut().zip(WIDTHS) {
                let holds = SPURIOUS + (1.0 - SPURIOUS - DISTURBED) / (1.0 + (-distance / width).exp());
                *weight += if outcome == Outcome::Holds { holds.ln() } else { (1.0 - holds).ln() };
            }
        }
        self.posterior = Posterior::of(self.range, &self.log_weights);
    }

    /// Answer from the steps so far.
    pub fn knee(&self) -> Knee {
        if self.steps.is_empty() {
            return Knee::Unknown;
        }
        if let Some(clients) = self.generator_limit().filter(|&limit| self.is_beyond(limit)) {
            return Knee::GeneratorLimit { holds: self.most_held_below(clients), clients };
        }
        let n = self.steps.iter().filter(|(_, outcome)| *outcome != Outcome::GeneratorLimited).count();
        if n == 0 {
            return Knee::Unknown;
        }
        let (below, above) = self.posterior.beyond(self.range.low, self.range.high);
        if above >= 0.5 {
            return Knee::NotReached { clients: self.range.high, probability: above };
        }
        // Without a failure the place of the knee would be no more than an assumption.
        let has_failed = self.steps.iter().any(|&(_, outcome)| outcome == Outcome::Fails);
        if let Some(clients) = self.most_held_below(usize::MAX).filter(|_| !has_failed) {
            let (_, probability) = self.posterior.beyond(clients, clients);
            return Knee::NotReached { clients, probability };
        }
        if below >= 0.5 {
            return Knee::NoneHolds { clients: self.range.low, probability: below };
        }
        let (low, high) = self.posterior.interval();
        Knee::Found(Interval {
            estimate: self.posterior.quantile(0.5),
            low: if low < self.range.low as f64 { f64::NEG_INFINITY } else { low },
            high: if high > self.range.high as f64 { f64::INFINITY } else { high },
            confidence: CONFIDENCE,
            n,
        })
    }

    /// Fewest clients from which on the generator is too slow: it was in nearly all steps with as many or more.
    fn generator_limit(&self) -> Option<usize> {
        let is_limit = |from: usize| {
            let here = || self.steps.iter().filter(|(clients, _)| *clients >= from);
            let limited = here().filter(|(_, outcome)| *outcome == Outcome::GeneratorLimited).count();
            limited >= LIMITED_MIN && limited > LIMITED_RATIO * (here().count() - limited)
        };
        let limited = self.steps.iter().filter(|(_, outcome)| *outcome == Outcome::GeneratorLimited);
        limited.map(|&(clients, _)| clients).filter(|&clients| is_limit(clients)).min()
    }

    fn most_held_below(&self, limit: usize) -> Option<usize> {
        let held = self.steps.iter().filter(|&&(clients, outcome)| outcome == Outcome::Holds && clients < limit);
        held.map(|&(clients, _)| clients).max()
    }

    /// True if the knee is rather above this limit of the generator than below it.
    fn is_beyond(&self, limit: usize) -> bool {
        limit <= self.range.low || self.posterior.quantile(0.5) >= limit as f64
    }

    /// True if the interval is narrow enough, or the knee is not in the range.
    fn is_precise(&self) -> bool {
        let counted = |end: usize| {
            self.steps.iter().filter(|&&(at, outcome)| at == end && outcome != Outcome::GeneratorLimited).count()
        };
        let (below, above) = self.posterior.beyond(self.range.low, self.range.high);
        if below >= CONFIDENCE {
            return counted(self.range.low) >= END_STEPS;
        }
        if above >= CONFIDENCE {
            return counted(self.range.high) >= END_STEPS;
        }
        let (low, high) = self.posterior.interval();
        // No step lies between two neighbouring numbers of clients.
        (high - low - 2.0).max(0.0) <= self.precision * self.posterior.quantile(0.5)
    }
}

/// Natural logarithm of the clients at a place of the grid.
fn place_ln(range: ClientRange, place: usize) -> f64 {
    let (low, high) = ((range.low as f64 / BEYOND).ln(), (range.high as f64 * BEYOND).ln());
    low + (high - low) * place as f64 / (PLACES - 1) as f64
}

/// Posterior of the knee: a share for each place of the grid.
#[derive(Debug, Clone)]
struct Posterior {
    range: ClientRange,
    shares: Vec<f64>,
}

impl Posterior {
    fn of(range: ClientRange, log_weights: &[[f64; WIDTHS.len()]]) -> Posterior {
        let greatest = log_weights.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let weight = |weights: &[f64; WIDTHS.len()]| weights.iter().map(|w| (w - greatest).exp()).sum::<f64>();
        let mut shares: Vec<f64> = log_weights.iter().map(weight).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        Posterior { range, shares }
    }

    /// Clients below which the knee lies with this probability.
    fn quantile(&self, probability: f64) -> f64 {
        let mut sum = 0.0;
        for (place, share) in self.shares.iter().enumerate() {
            sum += share;
            if sum >= probability {
                return place_ln(self.range, place).exp();
            }
        }
        place_ln(self.range, PLACES - 1).exp()
    }

    fn interval(&self) -> (f64, f64) {
        let outside = (1.0 - CONFIDENCE) / 2.0;
        (self.quantile(outside), self.quantile(1.0 - outside))
    }

    /// Probabilities that the knee lies below `low` clients, and at `high` or above.
    fn beyond(&self, low: usize, high: usize) -> (f64, f64) {
        let (low, high) = ((low as f64).ln(), (high as f64).ln());
        let placed = || self.shares.iter().enumerate().map(|(place, share)| (place_ln(self.range, place), share));
        let below: f64 = placed().filter(|&(at, _)| at < low).map(|(_, share)| share).sum();
        let above: f64 = placed().filter(|&(at, _)| at >= high).map(|(_, share)| share).sum();
        (below, above)
    }
}

#[cfg(test)]
mod tests;
