//! What a bench over layouts found: of two commands, or of two builds on each of some demos.

use std::path::PathBuf;

use prony_replay::{ReplayError, ReplayReport, Warning as ReplayWarning};
use prony_stats::judge::Plan;
use prony_stats::samples::Samples;
use prony_stats::{Metric, Verdict};
use serde_json::Value;

use super::estimate::Estimate;
use super::{BuildOptions, LAYOUTS_MAX, Links};
use crate::demo::{DemoOptions, FrameKind, JudgedFrames};
use crate::error::Failed;

/// Share of the variance from runs above which more of them say more than more layouts.
const RUNS_SHARE: f64 = 0.5;

/// One build of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// 0 for A, 1 for B.
    pub side: usize,
    /// Number of the layout, 0 as built.
    pub number: usize,
    /// Seed of the layout; `None` as built.
    pub seed: Option<u32>,
}

/// Reasons for the end of a bench over layouts.
#[derive(Debug)]
pub enum LayoutsEnded {
    /// Enough is known, or time was up, or the requested rounds are done.
    Complete,
    /// A signal requested a stop.
    Interrupted,
    /// A command failed, and failures were not to be ignored.
    Failed(Failed),
    /// A build could not be replayed.
    Replay(Layout, ReplayError),
    /// A build left the recording.
    Diverged(Layout, Box<ReplayReport>),
    /// The demo has no frame of the requested kind, of this number of frames.
    NoFrame(FrameKind, u64),
    /// Not all frames are judged, and the first replay of A had another number of them: that number, and the one of this build.
    OtherFrames(Layout, [u64; 2]),
}

impl LayoutsEnded {
    /// True if nothing kept both sides from being compared.
    pub fn is_compared(&self) -> bool {
        matches!(self, LayoutsEnded::Complete | LayoutsEnded::Interrupted)
    }

    /// The build that diverged, or could not be replayed or compared.
    pub fn layout(&self) -> Option<Layout> {
        match self {
            LayoutsEnded::Replay(layout, _)
            | LayoutsEnded::Diverged(layout, _)
            | LayoutsEnded::OtherFrames(layout, _) => Some(*layout),
            LayoutsEnded::Complete
            | LayoutsEnded::Interrupted
            | LayoutsEnded::Failed(_)
            | LayoutsEnded::NoFrame(..) => None,
        }
    }
}

/// Result of one comparison over layouts: of commands, or on one demo.
#[derive(Debug)]
pub struct LayoutReport {
    /// Every run: a benchmark for each side and layout. Of a replay, the value and CPU time are those of the judged frames.
    pub samples: Samples,
    /// Metric of all figures.
    pub metric: Metric,
    /// Error rate, margin and time limit of this comparison.
    pub plan: Plan,
    /// What the layouts say; `None` without two complete rounds, and where a build diverged or could not be replayed.
    pub estimate: Option<Estimate>,
    /// Frames that were judged, if not all of them.
    pub judged: Option<JudgedFrames>,
    /// Rounds: a run of each side in each layout.
    pub rounds: usize,
    /// Seconds from the first round to the last.
    pub elapsed_s: f64,
    /// Reason why it ended.
    pub ended: LayoutsEnded,
    /// Warnings of the replays, without repetitions.
    pub warnings: Vec<ReplayWarning>,
}

impl LayoutReport {
    /// Verdict on the code, unclear without an estimate; `None` where the sides could not be compared.
    pub fn verdict(&self) -> Option<Verdict> {
        let known = || self.estimate.as_ref().map_or(Verdict::Unclear, |estimate| estimate.verdict);
        self.ended.is_compared().then(known)
    }

    /// What an unclear comparison needs; `None` of a clear one, and where it is not known.
    pub fn needs(&self) -> Option<Needs> {
        let spreads = self.estimate.as_ref().filter(|estimate| estimate.verdict == Verdict::Unclear)?.spreads;
        if spreads.of_runs > RUNS_SHARE {
            return Some(Needs::Time(2.0 * self.elapsed_s));
        }
        let is_more = |needed: &usize| (spreads.layouts + 1..=LAYOUTS_MAX).contains(needed);
        spreads.for_one_percent.filter(is_more).map(Needs::Layouts)
    }
}

/// What would make an unclear comparison clearer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Needs {
    /// More runs of the same layouts: seconds in all.
    Time(f64),
    /// This many layouts, which detect 1 %.
    Layouts(usize),
}

/// A demo that was to be replayed by all layouts.
#[derive(Debug, Clone)]
pub struct ReplayedDemo {
    /// Name of the demo in the answer, unlike that of any other.
    pub name: String,
    /// Path of the demo.
    pub path: PathBuf,
    /// The tool that started the builds; empty for none.
    pub under: Vec<String>,
    /// Facts of the machine.
    pub machine: Value,
}

impl ReplayedDemo {
    /// What the answer says of a demo.
    pub(super) fn of(name: &str, options: &DemoOptions) -> ReplayedDemo {
        let under = options.demo.under.iter().map(|word| word.to_string_lossy().into_owned());
        ReplayedDemo {
            name: name.to_owned(),
            path: options.demo.path.clone(),
            under: under.collect(),
            machine: options.machine.clone(),
        }
    }
}

/// Result of a bench over layouts: one comparison of commands, or one on each demo.
///
/// Each demo is judged with its part of the error, as without layouts.
#[derive(Debug)]
pub struct Layouts {
    /// What was built.
    pub builds: BuildOptions,
    /// What was ordered in the layouts of A and B; `None` where no linker was seen that does.
    pub links: [Option<Links>; 2],
    /// Functions of A and B that BOLT could not move, as it calls them; their place is the same in all layouts.
    pub left: [Vec<String>; 2],
    /// Error probability of all comparisons together.
    pub alpha: f64,
    /// The demos; empty for commands.
    pub demos: Vec<ReplayedDemo>,
    /// One report of commands; one for each demo, and fewer where it was interrupted.
    pub reports: Vec<LayoutReport>,
}

impl Layouts {
    /// Number of comparisons that were to be made.
    pub fn requested(&self) -> usize {
        self.demos.len().max(1)
    }

    /// Each comparison with its demo; `None` of commands.
    pub fn all(&self) -> impl Iterator<Item = (Option<&ReplayedDemo>, &LayoutReport)> {
        self.reports.iter().enumerate().map(|(number, report)| (self.demos.get(number), report))
    }

    /// True if not all that was requested was measured.
    pub fn is_incomplete(&self) -> bool {
        let is_complete = |report: &LayoutReport| matches!(report.ended, LayoutsEnded::Complete);
        self.reports.len() < self.requested() || !self.reports.iter().all(is_complete)
    }

    /// The verdict for all, which is the worst of them.
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.reports.iter().map(LayoutReport::verdict).collect::<Vec<_>>();
        let any = |verdict| verdicts.contains(&Some(verdict));
        match () {
            () if any(Verdict::Slower) => Verdict::Slower,
            () if any(Verdict::Unclear) || verdicts.contains(&None) || verdicts.len() < self.requested() => {
                Verdict::Unclear
            }
            () if any(Verdict::Faster) => Verdict::Faster,
            () => Verdict::Same,
        }
    }
}
