//! A search by counted instructions: they hardly vary, so that few replays decide, without an error to be divided.

use std::path::PathBuf;

use prony_replay::ReplayError;
use serde::{Deserialize, Serialize};

use super::{BisectError, Built, Culprit, Found, Progress, Purpose, Run, Stop, culprit, in_words};
use crate::count::{CountBy, CountComparison, CountError, CountOptions, CountReport, count};
use crate::demo::Build;

/// Replays of the ends, whose differences are the spread, and of the commit that was found.
const REPLAYS_OF_ENDS: u32 = 3;
/// Replays of a commit between the ends.
const REPLAYS: u32 = 1;
/// Functions that are kept of the commit that was found.
const FUNCTIONS: usize = 5;

/// A function that runs another number of instructions than in the commit before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedChange {
    /// The object: `program`, or the name of a library.
    pub object: String,
    /// The name of the function, as it stands there.
    pub symbol: String,
    /// Instructions that it runs more.
    pub difference: i64,
}

impl Run<'_> {
    /// Searches for the first commit that runs more instructions.
    pub(super) fn more_instructions(&mut self) -> Result<Culprit, Stop> {
        let last = self.history.last();
        let good = self.step(Purpose::GoodEnd, 0, |run| run.counted(0, REPLAYS_OF_ENDS, None))?.found;
        let bad = self.step(Purpose::BadEnd, last, |run| run.counted(last, REPLAYS_OF_ENDS, None))?.found;
        let mut ends = [0; 2];
        let mut widest = 0;
        for (end, (found, which, at)) in ends.iter_mut().zip([(good, "the good", 0), (bad, "the bad", last)]) {
            let Found::Counted { instructions, spread, .. } = found else {
                let why = in_words(&found);
                return Err(BisectError::EndNotReplayed { which, commit: self.short(at), why }.into());
            };
            *end = instructions;
            widest = widest.max(spread);
        }
        let [good, bad] = ends;
        let least = good as f64 * self.options.margin.exp();
        if bad.saturating_sub(good) <= widest || bad as f64 <= least {
            return Ok(Culprit::None);
        }
        // Between both ends, so that each is as far from it as can be.
        let threshold = good + (bad - good) / 2;
        let found =
            self.walk(|run, at| run.step(Purpose::Search, at, |run| run.counted(at, REPLAYS, Some(threshold))))?;
        let culprit = culprit(&found);
        if let Culprit::Commit(at) = culprit {
            self.step(Purpose::Effect, at, |run| run.beside_the_one_before(at))?;
        }
        Ok(culprit)
    }

    /// Counts the instructions of a commit.
    fn counted(&mut self, position: usize, replays: u32, threshold: Option<u64>) -> Result<Found, Stop> {
        let report = match self.count(&[position], replays)? {
            Ok(report) => report,
            Err(found) => return Ok(found),
        };
        let Some(build) = report.builds.first() else { return Ok(Found::NotReplayed { why: String::new() }) };
        let compared = CountComparison::of(build, build);
        let instructions = compared.totals[0].min;
        let above = threshold.map(|threshold| instructions > threshold);
        Ok(Found::Counted { instructions, spread: compared.spread(), threshold, above, functions: Vec::new() })
    }

    /// Counts a commit and the one before it.
    fn beside_the_one_before(&mut self, position: usize) -> Result<Found, Stop> {
        let before = position - 1;
        if let Built::No(status) = self.built(before)? {
            return Ok(Found::NotBuilt { status });
        }
        let report = match self.count(&[before, position], REPLAYS_OF_ENDS)? {
            Ok(report) => report,
            Err(found) => return Ok(found),
        };
        let [a, b] = report.builds.as_slice() else { return Ok(Found::NotReplayed { why: String::new() }) };
        let compared = CountComparison::of(a, b);
        let functions = compared.differing.iter().take(FUNCTIONS).map(|change| CountedChange {
            object: change.function.object.clone(),
            symbol: change.function.symbol.clone(),
            difference: change.difference(),
        });
        let [before, here] = compared.totals;
        Ok(Found::Counted {
            instructions: here.min,
            spread: compared.spread(),
            threshold: Some(before.min),
            above: Some(here.min > before.min),
            functions: functions.collect(),
        })
    }

    fn count(&mut self, positions: &[usize], replays: u32) -> Result<Result<CountReport, Found>, Stop> {
        let builds = positions.iter().map(|&position| Build {
            name: self.history.commits[position].short().to_owned(),
            command: self.command(position),
        });
        let options = CountOptions {
            demo: self.options.demo.clone(),
            builds: builds.collect(),
            replays,
            // Each build has a command.
            recorded: PathBuf::new(),
            frames: false,
            events: false,
            inclusive: false,
            by: CountBy::Fastest,
        };
        if let Some(&last) = positions.last() {
            (self.progress)(Progress::Replaying(&self.history.commits[last], replays));
        }
        match count(&options, self.interrupt, &mut |_, _| {}) {
            Ok(report) => Ok(Ok(report)),
            Err(CountError::Replay { error, .. }) if matches!(*error, ReplayError::Interrupted) => {
                Err(Stop::Interrupted)
            }
            Err(CountError::Diverged { report, .. }) => {
                let what = report.divergence.as_ref().map(|divergence| (self.describe)(divergence));
                Ok(Err(Found::NotReplayed { why: format!("diverges: {}", what.unwrap_or_default()) }))
            }
            Err(error) => Ok(Err(Found::NotReplayed { why: error.to_string() })),
        }
    }
}
