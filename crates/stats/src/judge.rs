//! Is B faster than A? Decided from pairs of runs, at set looks, as soon as it soundly can be.
//!
//! A and B run back to back in random order, so under "no difference" each log ratio ln(B/A) is as likely to have
//! either sign, however the machine's noise hangs together from run to run. CPU time is judged by signed ranks, net
//! time (wall minus what the run waited for a core) by signs, each with half of α. What is spent at which look is in
//! [`crate::spending`].
//!
//! * **Faster, Slower**: the interval of CPU or of net excludes 0, and the other does not exclude it on the other side.
//! * **Same**: the intervals of both lie within the margin. Each may use all of α for this, because both have to
//!   agree (intersection–union, Berger 1982).
//! * **Unclear**: anything else.
//!
//! The interval reported is the one that decided, at the level of its look, so it always agrees with the verdict. As all
//! looks together err with probability α, it holds the truth as often as stated wherever the judge stopped (repeated
//! confidence intervals, Jennison & Turnbull 1989).

mod outcome;

pub use outcome::{Forecast, Metric, MetricBlock, Outcome, Reason, Verdict};

use crate::interval::Interval;
use crate::quantile::robust_deviation;
use crate::spending::{Boundary, LOOKS};
use crate::{sign_test, signed_rank};

/// What a comparison may cost and how sure it must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Chance to claim a difference where there is none, over all looks and metrics; 0.05.
    pub alpha: f64,
    /// Differences smaller than this count as none: a log ratio, ln(1.01) for 1 %.
    pub margin: f64,
    /// Seconds for everything.
    pub budget_s: f64,
}

/// One run of A and one of B, as log ratios ln(B/A).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// CPU time.
    pub cpu: f64,
    /// Wall time minus the wait for a core; `None` where that cannot be told.
    pub net: Option<f64>,
    /// Wall time.
    pub wall: f64,
}

/// Takes pairs, is asked at set times, and answers once.
#[derive(Debug, Clone)]
pub struct Judge {
    plan: Plan,
    cpu: Series,
    /// `None` once a pair came without it.
    net: Option<Series>,
    wall: Series,
    /// Shares of the budget and pairs at the looks so far.
    looks: Vec<(f64, usize)>,
    levels: Option<Levels>,
}

/// Log ratios of one metric, ascending.
#[derive(Debug, Clone, Default)]
struct Series {
    sorted: Vec<f64>,
    left_out: usize,
}

/// What is left of the error, for each kind of claim.
#[derive(Debug, Clone)]
struct Levels {
    /// Of a difference in one metric.
    difference: Boundary,
    /// Of agreement within the margin.
    agreement: Boundary,
}

impl Judge {
    /// No pairs yet.
    pub fn new(plan: Plan) -> Judge {
        Judge {
            plan,
            cpu: Series::default(),
            net: Some(Series::default()),
            wall: Series::default(),
            looks: Vec::new(),
            levels: None,
        }
    }

    /// Adds a pair. A ratio that is not finite, as of a run without CPU time, is left out of its metric and counted.
    pub fn push(&mut self, pair: Pair) {
        self.cpu.push(pair.cpu);
        self.wall.push(pair.wall);
        match (&mut self.net, pair.net) {
            (Some(series), Some(net)) => series.push(net),
            _ => self.net = None,
        }
    }

    /// Pairs so far.
    pub fn pairs(&self) -> usize {
        self.wall.sorted.len() + self.wall.left_out
    }

    /// When the next look is due, in seconds since the start; `None` after the last.
    pub fn next_look_s(&self) -> Option<f64> {
        self.next_share().map(|share| share * self.plan.budget_s)
    }

    fn next_share(&self) -> Option<f64> {
        let used = self.looks.last().map_or(0.0, |&(share, _)| share);
        LOOKS.into_iter().find(|&share| share > used)
    }

    /// The interval of the CPU time as it would be were the next look now. For showing only: what is decided is decided
    /// at looks.
    pub fn live(&self) -> Option<Interval> {
        let share = self.next_share().unwrap_or(1.0);
        let n = self.cpu.sorted.len();
        let fresh = || Boundary::new(self.plan.alpha / self.metrics());
        let level = match &self.levels {
            Some(levels) => levels.difference.level(share, n),
            None => fresh().level(share, n),
        };
        signed_rank::interval(&self.cpu.sorted, level)
    }

    /// Looks if a look is due at `elapsed_s`. `Some` when it decides, and always once the budget is used.
    ///
    /// Looks that were missed, because one pair took longer, are made up for by this one.
    pub fn look(&mut self, elapsed_s: f64) -> Option<Outcome> {
        let due = LOOKS.into_iter().rev().find(|share| share * self.plan.budget_s <= elapsed_s)?;
        self.next_share().filter(|&next| due >= next)?;
        let outcome = self.look_at(due, elapsed_s);
        (due >= 1.0 || outcome.verdict != Verdict::Unclear).then_some(outcome)
    }

    /// The last look, whatever the time: for a number of pairs that was set before.
    pub fn finish(&mut self, elapsed_s: f64) -> Outcome {
        self.look_at(1.0, elapsed_s)
    }

    /// A look at a time that nobody planned, as when the user interrupts: spends what the time used allows.
    pub fn interrupt(&mut self, elapsed_s: f64) -> Outcome {
        self.look_at((elapsed_s / self.plan.budget_s).min(1.0), elapsed_s)
    }

    /// What the looks made so far had said under another `alpha`; for [`crate::multiplicity::holm`].
    pub fn reconsider(&self, alpha: f64, elapsed_s: f64) -> Outcome {
        let mut judge = Judge { plan: Plan { alpha, ..self.plan }, looks: Vec::new(), levels: None, ..self.clone() };
        let Some((&(last, _), earlier)) = self.looks.split_last() else { return judge.finish(elapsed_s) };
        for &(share, pairs) in earlier {
            judge.spend(share, pairs);
        }
        judge.look_at(last, elapsed_s)
    }

    fn metrics(&self) -> f64 {
        if self.net.is_some() { 2.0 } else { 1.0 }
    }

    /// The levels of a look now: of a difference, and of agreement.
    fn spend(&mut self, share: f64, pairs: usize) -> (f64, f64) {
        let (alpha, metrics) = (self.plan.alpha, self.metrics());
        let fresh = || Levels { difference: Boundary::new(alpha / metrics), agreement: Boundary::new(alpha) };
        let levels = self.levels.get_or_insert_with(fresh);
        let spent = (levels.difference.look(share, pairs), levels.agreement.look(share, pairs));
        self.looks.push((share, pairs));
        spent
    }

    fn look_at(&mut self, share: f64, elapsed_s: f64) -> Outcome {
        let pairs = self.pairs();
        let (difference, agreement) = self.spend(share, pairs);
        let cpu = self.cpu.sorted.as_slice();
        let net = self.net.as_ref().map(|net| net.sorted.as_slice());
        let evidence = outcome::Evidence {
            share,
            elapsed_s,
            pairs,
            margin: self.plan.margin,
            difference: (
                signed_rank::interval(cpu, difference),
                net.and_then(|net| sign_test::interval(net, difference)),
            ),
            agreement: (signed_rank::interval(cpu, agreement), net.and_then(|net| sign_test::interval(net, agreement))),
            deviation: (robust_deviation(cpu), net.and_then(robust_deviation)),
            wall: signed_rank::interval(&self.wall.sorted, agreement),
            wall_deviation: robust_deviation(&self.wall.sorted),
            left_out: self.cpu.left_out,
            pairs_needed: signed_rank::values_needed(difference),
        };
        evidence.judge()
    }
}

impl Series {
    fn push(&mut self, value: f64) {
        if !value.is_finite() {
            self.left_out += 1;
            return;
        }
        let at = self.sorted.partition_point(|&other| other < value);
        self.sorted.insert(at, value);
    }
}
