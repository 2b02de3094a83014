//! The judge of replays: pairs that are distinguished frame by frame.

use super::outcome::{Evidence, Outcome};
use super::series::{Seen, Series, Test};
use super::{Look, Looks, Plan, Ratio};
use crate::decide::frames::VERDICT_SHARE;
use crate::decide::frames::segment_selection::Segments;
use crate::infer::sign_flips::{self, Pair};
use crate::infer::signed_rank;
use crate::infer::spending::Boundary;
use crate::interval::Interval;
use crate::metric::Metric;

/// Shares of the pairs that each frame may be judged on, beside all.
const SHARES: [f64; 5] = [1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0, 1.0 / 32.0];
/// Fewer pairs say too little of where the machine was fast.
const PAIRS_MIN: usize = 24;
/// The interval between looks is made again when there are so much more pairs: it costs as much as a look.
const LIVE_GROWTH: f64 = 1.1;

/// Takes pairs of replays, is queried at set times, and answers once, as [`super::Judge`] does of runs.
///
/// Judged is CPU time, as a replay waits for nothing, in the frames in which the machine was fast, with the signs of whole pairs flipped
/// ([`crate::infer::sign_flips`]). How long the machine's disturbances are and how often they come is
/// not known before; of all frames, or a half, a quarter … of the pairs of each, that share is judged which
/// promises the smallest error.
#[derive(Debug, Clone)]
pub struct ReplayJudge {
    plan: Plan,
    segments: Segments,
    wall: Series,
    difference: Boundary,
    agreement: Boundary,
    looks: Looks,
    /// Differences of the pairs at the last look, in the order of pairs.
    looked_at: Vec<f64>,
    /// The interval that is shown, and of how many pairs it is.
    live: Option<(usize, Interval)>,
}

impl ReplayJudge {
    /// Judge that has seen no pairs yet.
    pub fn new(plan: Plan) -> ReplayJudge {
        // What is said of frames beside the verdict has the rest.
        let plan = Plan { alpha: VERDICT_SHARE * plan.alpha, ..plan };
        ReplayJudge {
            plan,
            segments: Segments::default(),
            wall: Series::new(Test::SignedRanks, plan.alpha, 1.0),
            difference: Boundary::new(plan.alpha),
            agreement: Boundary::new(plan.alpha),
            looks: Looks::default(),
            looked_at: Vec::new(),
            live: None,
        }
    }

    /// Adds a pair: CPU seconds of each frame in A and in B, and wall time of both. A pair with other frames than the
    /// first is left out of the judgement and counted.
    pub fn push(&mut self, a_s: &[f64], b_s: &[f64], wall: Ratio) {
        self.segments.push(a_s, b_s);
        self.wall.push(wall);
    }

    /// Number of pairs so far.
    pub fn pairs(&self) -> usize {
        self.wall.ratios.len() + self.wall.left_out
    }

    /// The interval as it would be were the next look now; for showing only.
    pub fn live(&mut self) -> Option<Interval> {
        let pairs = self.segments.pairs();
        if self.live.is_none_or(|(at, _)| pairs as f64 >= LIVE_GROWTH * at as f64) {
            let ways = self.ways();
            let (way, estimate) = sign_flips::best(&ways)?;
            let shared = self.shared(&sign_flips::differences(&ways[way], estimate));
            let level = self.difference.level(self.looks.next_share().unwrap_or(1.0), shared);
            let [interval] = sign_flips::intervals(&ways, [level])?;
            self.live = Some((pairs, interval));
        }
        self.live.map(|(_, interval)| interval)
    }

    fn cpu(&mut self, share: f64) -> Seen {
        let ways = self.ways();
        let best = sign_flips::best(&ways);
        let differences = best.map_or_else(Vec::new, |(way, at)| sign_flips::differences(&ways[way], at));
        let shared = self.shared(&differences);
        let (level, agreement) = (self.difference.look(share, shared), self.agreement.look(share, shared));
        self.looked_at = differences;
        let intervals = sign_flips::intervals(&ways, [level, agreement]);
        let judged = intervals.map_or(0, |[difference, _]| difference.n);
        Seen {
            difference: intervals.map(|[difference, _]| difference),
            agreement: intervals.map(|[_, agreement]| agreement),
            deviation: best.map(|(way, at)| sign_flips::standard_error(&ways[way], at) * (judged as f64).sqrt()),
            needed: signed_rank::values_needed(level),
            disturbed: self.segments.pairs() - judged,
        }
    }

    /// Whole replays, and of each frame only the least disturbed pairs.
    fn ways(&self) -> Vec<Vec<Pair>> {
        let mut ways = vec![self.segments.all()];
        if self.segments.pairs() >= PAIRS_MIN {
            ways.extend(self.segments.least_disturbed(&SHARES));
        }
        ways
    }

    /// Squared correlation, under "no difference", with the sum of the last look: the coins of the pairs that both rest on.
    fn shared(&self, differences: &[f64]) -> f64 {
        let squares = |values: &[f64]| values.iter().map(|value| value.powi(2)).sum::<f64>();
        let products: f64 = self.looked_at.iter().zip(differences).map(|(last, now)| last * now).sum();
        let all = squares(&self.looked_at) * squares(differences);
        if products > 0.0 && all > 0.0 { products.powi(2) / all } else { 0.0 }
    }
}

impl Look for ReplayJudge {
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
            metric: Some(Metric::Cpu),
            computes: true,
            cpu: self.cpu(share),
            uncontended: None,
            wall: self.wall.look(share),
            rss: None,
            left_out: pairs - self.segments.pairs(),
        };
        evidence.judge()
    }
}

#[cfg(test)]
mod tests;
