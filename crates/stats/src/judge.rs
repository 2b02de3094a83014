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
//! Judged are the pairs around which the machine was fast, where that promises more information. A pair's neighbours in
//! time say so, never its own times; the module `quietest` says why this keeps the tests exact.
//!
//! The interval reported is the one that decided, at the level of its look, so it always agrees with the verdict. As all
//! looks together err with probability α, it holds the truth as often as stated wherever the judge stopped (repeated
//! confidence intervals, Jennison & Turnbull 1989).

mod outcome;
mod quietest;
mod replays;
mod series;

pub use outcome::{Forecast, Metric, MetricBlock, Outcome, Reason, Verdict};
pub use replays::ReplayJudge;

use outcome::Evidence;
use series::{Series, Test};

use crate::interval::Interval;
use crate::spending::LOOKS;

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

/// One run of A and one of B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// CPU time.
    pub cpu: Ratio,
    /// Wall time minus the wait for a core; `None` where that cannot be told.
    pub net: Option<Ratio>,
    /// Wall time.
    pub wall: Ratio,
}

/// What two runs say: how they differ, and how slow the machine was for both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// ln(B/A).
    pub log: f64,
    /// Mean of ln A and ln B, the same whichever is A.
    pub level: f64,
}

impl Ratio {
    /// Of two positive times.
    pub fn of(a: f64, b: f64) -> Ratio {
        Ratio { log: (b / a).ln(), level: 0.5 * (a.ln() + b.ln()) }
    }
}

/// What is asked of a judge, whatever its pairs are.
pub trait Look {
    /// What it may cost and how sure it must be.
    fn plan(&self) -> &Plan;

    /// The look that is due when a `share` of the budget is used, as its share; `None` when none is.
    fn due(&self, share: f64) -> Option<f64>;

    /// Looks, and spends what that `share` of the budget allows. `last`: no look comes after this one.
    fn look_at(&mut self, share: f64, last: bool, elapsed_s: f64) -> Outcome;

    /// Looks if a look is due at `elapsed_s`. `Some` when it decides, and always once the budget is used.
    ///
    /// Looks that were missed, because one pair took longer, are made up for by this one.
    fn look(&mut self, elapsed_s: f64) -> Option<Outcome> {
        let due = self.due(elapsed_s / self.plan().budget_s)?;
        let outcome = self.look_at(due, due >= 1.0, elapsed_s);
        (due >= 1.0 || outcome.verdict != Verdict::Unclear).then_some(outcome)
    }

    /// The last look, whatever the time: for a number of pairs that was set before.
    fn finish(&mut self, elapsed_s: f64) -> Outcome {
        self.look_at(1.0, true, elapsed_s)
    }

    /// A look at a time that nobody planned, as when the user interrupts: spends what the time used allows.
    fn interrupt(&mut self, elapsed_s: f64) -> Outcome {
        self.look_at((elapsed_s / self.plan().budget_s).min(1.0), true, elapsed_s)
    }
}

/// Takes pairs, is asked at set times, and answers once.
#[derive(Debug, Clone)]
pub struct Judge {
    plan: Plan,
    cpu: Series,
    /// `None` once a pair came without it.
    net: Option<Series>,
    wall: Series,
    looks: Looks,
}

/// The looks so far.
#[derive(Debug, Clone, Default)]
struct Looks(Vec<Looked>);

#[derive(Debug, Clone, Copy)]
struct Looked {
    /// Of the budget.
    share: f64,
    pairs: usize,
}

impl Looks {
    /// The share of the budget at which the next look is due; `None` after the last.
    fn next_share(&self) -> Option<f64> {
        let used = self.0.last().map_or(0.0, |look| look.share);
        LOOKS.into_iter().find(|&share| share > used)
    }

    /// The look that is due when a `share` of the budget is used; looks missed are made up for by it.
    fn due(&self, share: f64) -> Option<f64> {
        let due = LOOKS.into_iter().rev().find(|&look| look <= share)?;
        self.next_share().filter(|&next| due >= next).map(|_| due)
    }

    fn push(&mut self, share: f64, pairs: usize) {
        self.0.push(Looked { share, pairs });
    }
}

impl Judge {
    /// No pairs yet.
    pub fn new(plan: Plan) -> Judge {
        let series = |test, metrics| Series::new(test, plan.alpha, metrics);
        Judge {
            plan,
            cpu: series(Test::SignedRanks, 2.0),
            net: Some(series(Test::Signs, 2.0)),
            wall: series(Test::SignedRanks, 1.0),
            looks: Looks::default(),
        }
    }

    /// Adds a pair. A ratio that is not finite, as of a run without CPU time, is left out of its metric and counted.
    pub fn push(&mut self, pair: Pair) {
        self.cpu.push(pair.cpu);
        self.wall.push(pair.wall);
        match (&mut self.net, pair.net) {
            (Some(series), Some(net)) => series.push(net),
            (Some(_), None) => {
                self.net = None;
                if self.looks.0.is_empty() {
                    self.cpu.spend_on(self.plan.alpha, 1.0);
                }
            }
            (None, _) => {}
        }
    }

    /// Pairs so far.
    pub fn pairs(&self) -> usize {
        self.wall.ratios.len() + self.wall.left_out
    }

    /// When the next look is due, in seconds since the start; `None` after the last.
    pub fn next_look_s(&self) -> Option<f64> {
        self.looks.next_share().map(|share| share * self.plan.budget_s)
    }

    /// The interval of the CPU time as it would be were the next look now. For showing only: what is decided is decided
    /// at looks.
    pub fn live(&self) -> Option<Interval> {
        self.cpu.live(self.looks.next_share().unwrap_or(1.0))
    }

    /// What the looks made so far had said under another `alpha`; for [`crate::multiplicity::holm`].
    pub fn reconsider(&self, alpha: f64, elapsed_s: f64) -> Outcome {
        let mut judge = Judge::new(Plan { alpha, ..self.plan });
        let metrics = self.cpu.metrics;
        judge.cpu.spend_on(alpha, metrics);
        judge.net = self.net.as_ref().map(|_| Series::new(Test::Signs, alpha, metrics));
        let mut outcome = None;
        for (at, look) in self.looks.0.iter().enumerate() {
            judge.cpu.take(&self.cpu, look.pairs);
            judge.wall.take(&self.wall, look.pairs);
            if let (Some(net), Some(all)) = (&mut judge.net, &self.net) {
                net.take(all, look.pairs);
            }
            outcome = Some(judge.look_at(look.share, at + 1 == self.looks.0.len(), elapsed_s));
        }
        outcome.unwrap_or_else(|| self.clone().finish(elapsed_s))
    }
}

impl Look for Judge {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn due(&self, share: f64) -> Option<f64> {
        self.looks.due(share)
    }

    fn look_at(&mut self, share: f64, last: bool, elapsed_s: f64) -> Outcome {
        let pairs = self.pairs();
        self.looks.push(share, pairs);
        let evidence = Evidence {
            share,
            last,
            elapsed_s,
            pairs,
            margin: self.plan.margin,
            cpu: self.cpu.look(share),
            net: self.net.as_mut().map(|net| net.look(share)),
            net_expected: true,
            wall: self.wall.look(share),
            left_out: self.cpu.left_out,
        };
        evidence.judge()
    }
}

#[cfg(test)]
mod tests;
