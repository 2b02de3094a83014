//! A search by times: pairs of replays of two commits, until they decide.

use std::fs;

use prony_stats::Verdict as Judged;
use prony_stats::judge::{Outcome, Plan};

use super::{
    BisectError, Built, Culprit, Found, Progress, Purpose, Regression, Run, Stop, culprit, in_words, not_replayed,
};
use crate::demo::{Build, DemoEnded, DemoOptions, FrameKind, bench_demo};

impl Run<'_> {
    /// Searches for the first commit whose frames take longer.
    pub(super) fn slowdown(&mut self) -> Result<Culprit, Stop> {
        self.regression = Some(Regression::Slowdown);
        let (last, level) = (self.history.last(), self.budget.two_sided_level());
        let margin = self.options.margin;
        let step = self.step(Purpose::BadEnd, last, |run| run.compare(0, last, margin, level, 0.0))?;
        let Found::Compared { ratio, above, .. } = step.found else {
            let why = in_words(&step.found);
            return Err(BisectError::EndNotReplayed { which: "the bad", commit: self.short(last), why }.into());
        };
        match (above, ratio) {
            (Some(true), Some(ratio)) => {
                // Between both ends, so that each is as far from it as can be; never above what the bad end surely has.
                let threshold = (0.5 * ratio.estimate).min(ratio.low);
                self.threshold = Some(threshold);
                let found = self
                    .walk(|run, at| run.step(Purpose::Search, at, |run| run.compare(0, at, threshold, level, 0.0)))?;
                let culprit = culprit(&found);
                if let Culprit::Commit(at) = culprit {
                    let (alpha, margin) = (self.options.alpha, self.options.margin);
                    self.step(Purpose::Effect, at, |run| run.compare(at - 1, at, 0.0, alpha, margin))?;
                }
                Ok(culprit)
            }
            (Some(false), _) => Ok(Culprit::None),
            _ => Ok(Culprit::Undecided),
        }
    }

    /// Compares the frames of a commit with those of a `base` at a threshold, both log ratios.
    fn compare(
        &mut self,
        base: usize,
        position: usize,
        threshold: f64,
        alpha: f64,
        margin: f64,
    ) -> Result<Found, Stop> {
        if let Built::No(status) = self.built(base)? {
            return Err(self.not_built("the good", base, status));
        }
        let build = |position: usize| Build {
            name: self.history.commits[position].short().to_owned(),
            command: self.command(position),
        };
        let options = DemoOptions {
            demo: self.options.demo.clone(),
            builds: [build(base), build(position)],
            plan: Plan {
                alpha: alpha.min(0.5),
                margin,
                budget_s: self.options.budget_s,
                metric: None,
                tolerates: false,
            },
            stretches: self.options.stretches,
            runs: None,
            warmup_runs: 1,
            duet_cpu: self.options.duet_cpu,
            threshold,
            seed: self.options.seed ^ position as u64,
            frames: Some(FrameKind::All),
            until_divergence: false,
            profile: false,
            machine: self.options.machine.clone(),
            tuning: self.options.tuning.clone(),
        };
        let commit = &self.history.commits[position];
        let progress = &mut *self.progress;
        let report = bench_demo(&options, self.interrupt, &mut |event| progress(Progress::Comparing(commit, event)));
        self.keep(position, &report.samples);
        match report.ended {
            // All frames are requested, of which there are some or none.
            DemoEnded::Complete | DemoEnded::NoFrame(..) => Ok(compared(report.outcome.as_ref(), threshold)),
            DemoEnded::Interrupted => Err(Stop::Interrupted),
            DemoEnded::Replay(_, error) => not_replayed(&error),
            DemoEnded::Diverged(build, report) => {
                let what = report.divergence.as_ref().map(|divergence| (self.describe)(divergence));
                let what = what.unwrap_or_default();
                match build {
                    0 => Err(BisectError::GoodDiverges { commit: self.short(base), what }.into()),
                    _ => Ok(Found::NotReplayed { why: format!("diverges: {what}") }),
                }
            }
        }
    }

    /// Writes the samples of a comparison. They are for the user; the search goes on without them.
    fn keep(&self, position: usize, samples: &prony_stats::samples::Samples) {
        let directory = self.directory.join("samples");
        let name = format!("{:03}-{}.json", self.steps.len() + 1, self.short(position));
        if let Ok(bytes) = samples.encode() {
            let _ = fs::create_dir_all(&directory).and_then(|()| fs::write(directory.join(name), bytes));
        }
    }
}

fn compared(outcome: Option<&Outcome>, threshold: f64) -> Found {
    let above = outcome.and_then(|outcome| match outcome.verdict {
        Judged::Slower => Some(true),
        Judged::Faster => Some(false),
        Judged::Same | Judged::Unclear => None,
    });
    let ratio = outcome.map(|outcome| outcome.cpu.interval.map(|ratio| ratio + threshold));
    Found::Compared {
        ratio: ratio.filter(|ratio| ratio.estimate.is_finite()),
        threshold,
        pairs: outcome.map_or(0, |outcome| outcome.pairs),
        elapsed_s: outcome.map_or(0.0, |outcome| outcome.elapsed_s),
        above,
    }
}
