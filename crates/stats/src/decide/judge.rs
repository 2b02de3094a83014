//! Is B faster than A? Decided from pairs of runs, at set looks, as soon as it soundly can be.
//!
//! A and B run back to back in random order, so under "no difference" each log ratio ln(B/A) is as likely to have
//! either sign, however the machine's noise hangs together from run to run. CPU time and wall time are judged by signed
//! ranks, uncontended time (wall minus what the run waited for a core) by signs. What is spent at which look is in
//! [`crate::infer::spending`].
//!
//! # What is judged
//!
//! Unless one metric is requested, a verdict is about **what the user waits for**: the time from start to end that a
//! run would take if no other process wanted a core.
//!
//! * **Where the wait for a core is known of every run** that is uncontended time, and CPU time stands for it where the runs
//!   compute most of the time: uncontended = CPU + blocked, blocked ≥ 0, so where at least [`CPU_SHARE_MIN`] of uncontended time is CPU
//!   time and as much is blocked as before, the two have the same sign and nearly the same size. CPU time is measured
//!   better, as no disk, host or timer is in it. Each of the two gets half of α. Where both differ
//!   and contradict each other, uncontended time decides. Where runs wait for something else than a core for more of the time,
//!   CPU time is part of what is waited for, and has no say.
//! * **Where it is not known**, as of threads that run at once, it is wall time, with all of its noise and all of α. CPU
//!   time has no say: it is a sum over threads, and what is waited for is the longest path through
//!   them. Two threads that take turns and two that run at once have the same sum; a program that is made parallel
//!   has a larger one and takes less time. No function of the sums of CPU time and of waits can tell: a thread's wait
//!   for a core delays the end if it is on that path and costs nothing if it is not, so uncontended time lies
//!   anywhere between wall and wall minus all waits. Wall time is the one number
//!   of a run that is known to hold all that is waited for; what other work adds to it is as likely to hit A
//!   as B.
//! * **Same** is never said of runs of which the interval of what the user waits for is not known or does not lie within
//!   the margin.
//!
//! How much of uncontended time is CPU time comes from the mean of both runs of each pair, which is the same whichever is A,
//! so by the argument of the module `pair_selection` the choice between the two leaves the tests exact. Of all pairs the
//! quarter that computed most is used: what the host of a virtual machine takes away is
//! in uncontended time, and comes and goes.
//!
//! # Verdicts
//!
//! * **Faster, Slower**: an interval of what is judged excludes 0.
//! * **Same**: the intervals of all that is judged lie within the margin. Each may use all of α for this, because all have to
//!   agree (intersection–union, Berger 1982).
//! * **Unclear**: anything else.
//!
//! Where differences below the margin are tolerated ([`Plan::tolerates`]), no difference is claimed whose estimate is below it. That
//! only takes claims away, so none of the errors above becomes more frequent.
//!
//! Judged are the pairs around which the machine was fast, where that promises more information. A pair's neighbours in
//! time say so, never its own times; the module `pair_selection` says why this keeps the tests exact.
//!
//! The interval reported is the one that decided, at the level of its look, so it always agrees with the verdict. As all
//! looks together err with probability α, it holds the truth as often as stated wherever the judge stopped (repeated
//! confidence intervals, Jennison & Turnbull 1989).

mod outcome;
mod pair_selection;
mod replays;
mod series;

pub use outcome::{Forecast, MetricBlock, Outcome, Reason};
pub use replays::ReplayJudge;

use outcome::Evidence;
use series::{Series, Test};

use crate::describe::quantile::{quantile_of_sorted, sorted};
use crate::infer::spending::LOOKS;
use crate::interval::Interval;
use crate::metric::Metric;
use crate::verdict::Verdict;

/// CPU time stands for uncontended time where it is at least this share of it.
pub const CPU_SHARE_MIN: f64 = 0.9;
/// Of all pairs, the share that computed less than those that are used.
const COMPUTED_LESS: f64 = 0.75;

/// Time limit and error rate of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Chance to claim a difference where there is none, over all looks and metrics; 0.05.
    pub alpha: f64,
    /// Differences smaller than this count as none: a log ratio, ln(1.01) for 1 %.
    pub margin: f64,
    /// Time limit of all rounds, in seconds.
    pub budget_s: f64,
    /// The only metric to judge, or with `None` what the user waits for.
    pub metric: Option<Metric>,
    /// No difference is claimed whose estimate is below the margin: such a build is the same or unclear.
    pub tolerates: bool,
}

impl Plan {
    /// The plan for one of several questions: each has its part of the error (Bonferroni), so that all of them together keep it.
    pub fn one_of(self, questions: usize) -> Plan {
        Plan { alpha: self.alpha / questions.max(1) as f64, ..self }
    }
}

/// Pair of a run of A and a run of B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Ratio of the CPU times.
    pub cpu: Ratio,
    /// Wall time minus the wait for a core; `None` where that is unknown.
    pub uncontended: Option<Ratio>,
    /// Wall time; not finite where it is not that of the command alone.
    pub wall: Ratio,
    /// Peak of the resident memory; `None` where it is not known of both runs.
    pub rss: Option<Ratio>,
}

/// Difference between two runs, and the slowness of the machine during both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Natural logarithm of the ratio B/A.
    pub log: f64,
    /// Mean of ln A and ln B, the same whichever is A.
    pub level: f64,
}

impl Ratio {
    /// Ratio of two positive times.
    pub fn of(a: f64, b: f64) -> Ratio {
        Ratio { log: (b / a).ln(), level: 0.5 * (a.ln() + b.ln()) }
    }
}

/// Pairs and seconds that a comparison has taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Number of pairs so far.
    pub pairs: u64,
    /// Seconds since the start.
    pub done_s: f64,
}

impl Progress {
    /// Share of what was planned that is used: of the time, or of the pairs if there is a greatest number of them and
    /// that is reached first. Neither depends on who is faster, so looks may be timed by it (Lan & DeMets 1983).
    pub fn share(self, budget_s: f64, pairs_max: Option<u64>) -> f64 {
        let of_pairs = pairs_max.map_or(0.0, |most| self.pairs as f64 / most.max(1) as f64);
        (self.done_s / budget_s).max(of_pairs)
    }
}

/// Questions to a judge, independent of the kind of its pairs.
pub trait Look {
    /// Time limit and error rate.
    fn plan(&self) -> &Plan;

    /// The look that is due when a `share` of the budget is used, as its share; `None` when none is.
    fn due(&self, share: f64) -> Option<f64>;

    /// Looks, and spends what that `share` of the budget allows. `last`: no look comes after this one.
    fn look_at(&mut self, share: f64, last: bool, elapsed_s: f64) -> Outcome;

    /// Looks if a look is due at `elapsed_s`. `Some` when it decides, and always once the budget is used.
    ///
    /// Looks that were missed, because one pair took longer, are made up for by this one.
    fn look(&mut self, elapsed_s: f64) -> Option<Outcome> {
        self.look_if_due(elapsed_s / self.plan().budget_s, elapsed_s)
    }

    /// As [`Look::look`], when a `share` of what was planned is used: see [`Progress::share`].
    fn look_if_due(&mut self, share: f64, elapsed_s: f64) -> Option<Outcome> {
        let due = self.due(share)?;
        let outcome = self.look_at(due, due >= 1.0, elapsed_s);
        (due >= 1.0 || outcome.verdict != Verdict::Unclear).then_some(outcome)
    }

    /// The last look, whatever the time: for a number of pairs that was set before.
    fn finish(&mut self, elapsed_s: f64) -> Outcome {
        self.look_at(1.0, true, elapsed_s)
    }

    /// A look at an unplanned time, as when the user interrupts: spends what the time used allows.
    fn interrupt(&mut self, elapsed_s: f64) -> Outcome {
        self.look_at((elapsed_s / self.plan().budget_s).min(1.0), true, elapsed_s)
    }
}

/// Takes pairs, is queried at set times, and answers once.
#[derive(Debug, Clone)]
pub struct Judge {
    plan: Plan,
    pairs: Vec<Pair>,
    cpu: Series,
    /// `None` once a pair came without it.
    uncontended: Option<Series>,
    wall: Series,
    /// Pairs of which it is known; the others are left out of it.
    rss: Series,
    looks: Looks,
}

/// Looks at the data taken so far, in order.
#[derive(Debug, Clone, Default)]
struct Looks(Vec<Looked>);

#[derive(Debug, Clone, Copy)]
struct Looked {
    /// Share of the time budget at the look, 0 to 1.
    share: f64,
    pairs: usize,
}

impl Looks {
    /// The share of the budget that the last look stands for.
    fn used(&self) -> f64 {
        self.0.last().map_or(0.0, |look| look.share)
    }

    /// The share of the budget at which the next look is due; `None` after the last.
    fn next_share(&self) -> Option<f64> {
        LOOKS.into_iter().find(|&share| share > self.used())
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
    /// Judge that has seen no pairs yet.
    pub fn new(plan: Plan) -> Judge {
        let metrics = if plan.metric.is_some() { 1.0 } else { 2.0 };
        let series = |test, metrics| Series::new(test, plan.alpha, metrics);
        Judge {
            plan,
            pairs: Vec::new(),
            cpu: series(Test::SignedRanks, metrics),
            uncontended: Some(series(Test::Signs, metrics)),
            wall: series(Test::SignedRanks, 1.0),
            rss: series(Test::SignedRanks, 1.0),
            looks: Looks::default(),
        }
    }

    /// Adds a pair of runs. A ratio that is not finite, as of a run without CPU time, is left out of its metric and
    /// counted.
    pub fn push(&mut self, pair: Pair) {
        self.pairs.push(pair);
        self.cpu.push(pair.cpu);
        self.wall.push(pair.wall);
        match pair.rss {
            Some(rss) => self.rss.push(rss),
            None => self.rss.left_out += 1,
        }
        match (&mut self.uncontended, pair.uncontended) {
            (Some(series), Some(uncontended)) => series.push(uncontended),
            (Some(_), None) => {
                self.uncontended = None;
                self.without_net();
            }
            (None, _) => {}
        }
    }

    /// Wall time takes the place of uncontended time, and of CPU time beside it. What looks at these two have spent is gone.
    fn without_net(&mut self) {
        if self.plan.metric.is_none() {
            self.wall.resume(self.plan.alpha, self.looks.used());
        }
        if self.looks.0.is_empty() {
            // What is shown of it is an interval by itself.
            self.cpu.spend_all(self.plan.alpha);
        }
    }

    /// Number of pairs so far.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Time of the next look, in seconds since the start; `None` after the last.
    pub fn next_look_s(&self) -> Option<f64> {
        self.looks.next_share().map(|share| share * self.plan.budget_s)
    }

    /// The interval of what decides as it would be were the next look now. For showing only: what is decided is decided
    /// at looks.
    pub fn live(&self) -> Option<Interval> {
        let series = match (self.plan.metric, &self.uncontended) {
            (Some(Metric::Cpu), _) => &self.cpu,
            (Some(Metric::Rss), _) => &self.rss,
            (Some(Metric::Uncontended), uncontended) => uncontended.as_ref()?,
            (None, Some(_)) if self.computes() => &self.cpu,
            (None, Some(uncontended)) => uncontended,
            // Of allocations there are no pairs.
            (Some(Metric::Wall | Metric::AllocatedBytes | Metric::Allocations), _) | (None, None) => &self.wall,
        };
        series.live(self.looks.next_share().unwrap_or(1.0))
    }

    /// Outcome of the looks made so far under another `alpha`; for [`crate::decide::multiplicity::holm`].
    pub fn reconsider(&self, alpha: f64, elapsed_s: f64) -> Outcome {
        let mut judge = Judge::new(Plan { alpha, ..self.plan });
        let mut outcome = None;
        for (at, look) in self.looks.0.iter().enumerate() {
            self.pairs[judge.pairs.len()..look.pairs].iter().for_each(|&pair| judge.push(pair));
            outcome = Some(judge.look_at(look.share, at + 1 == self.looks.0.len(), elapsed_s));
        }
        outcome.unwrap_or_else(|| self.clone().finish(elapsed_s))
    }

    /// Most of uncontended time is CPU time.
    fn computes(&self) -> bool {
        let share = |pair: &Pair| Some(pair.cpu.level - pair.uncontended?.level).filter(|share| share.is_finite());
        let shares = sorted(&self.pairs.iter().filter_map(share).collect::<Vec<_>>());
        quantile_of_sorted(&shares, COMPUTED_LESS).is_some_and(|share| share >= CPU_SHARE_MIN.ln())
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
            tolerates: self.plan.tolerates,
            metric: self.plan.metric,
            computes: self.computes(),
            cpu: self.cpu.look(share),
            uncontended: self.uncontended.as_mut().map(|uncontended| uncontended.look(share)),
            wall: self.wall.look(share),
            rss: Some(self.rss.look(share)),
            left_out: if self.plan.metric == Some(Metric::Rss) { self.rss.left_out } else { self.cpu.left_out },
        };
        evidence.judge()
    }
}

#[cfg(test)]
mod tests;
