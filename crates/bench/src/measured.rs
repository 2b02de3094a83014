//! Everything that one `prony bench` measured: commands, builds on demos or in many layouts, or the benchmarks of a suite.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use prony_profile::Feedback;
use prony_stats::geometric_mean::geometric_mean;
use prony_stats::judge::Outcome;
use prony_stats::samples::{Circumstances, Measurement, Samples};
use prony_stats::{Interval, Metric, Verdict};

use crate::count::program_file;
use crate::counted::CountedDemos;
use crate::demo::Build;
use crate::layouts::Layouts;
use crate::{Comparison, DemoEnded, DemoOptions, DemoReport, Ended, Options, Report};

/// CPU seconds from which on a run has some dozen turns in a duet.
const DUET_S: f64 = 0.05;
/// Differences below may be those of two layouts of the same code, which are a few per cent apart and seldom more: ln 1.1.
const LAYOUT_BIAS: f64 = 0.095_310_179_804_324_87;
/// First bytes of a machine program.
const ELF_MAGIC: [u8; 4] = *b"\x7fELF";
/// Level of the interval of a mean.
const MEAN_ALPHA: f64 = 0.05;

/// Everything that was measured.
#[derive(Debug)]
pub enum Measured {
    /// Commands, compared with each other.
    Commands(Box<Commands>),
    /// Two builds on each of some demos.
    Demos(Demos),
    /// The benchmarks of a suite, one after the other.
    Suite(Suite),
    /// Two programs in many layouts: commands, or builds on demos.
    Layouts(Box<Layouts>),
}

/// Commands that were compared with each other.
#[derive(Debug)]
pub struct Commands {
    /// What was measured, and how.
    pub options: Options,
    /// Results.
    pub report: Report,
}

/// Two builds on several demos: one table and one verdict.
///
/// Each demo is judged with its part of the error, α over the number of demos (Bonferroni), so that a difference that is
/// claimed where there is none, on any of them, has probability α at most. The verdict for all is the worst of them.
#[derive(Debug)]
pub struct Demos {
    /// Error probability of all demos together.
    pub alpha: f64,
    /// Differences below it count as none, a log ratio.
    pub margin: f64,
    /// Number of demos that were to be measured; fewer where it was interrupted.
    pub requested: usize,
    /// Those that were measured.
    pub all: Vec<OnDemo>,
    /// Instructions of both builds, where they were to be counted, too. They enter no verdict on times.
    pub counted: Option<CountedDemos>,
}

/// Two builds on one demo.
#[derive(Debug)]
pub struct OnDemo {
    /// Name of the demo in the answer, unlike that of any other.
    pub name: String,
    /// What was measured, and how.
    pub options: DemoOptions,
    /// Results.
    pub report: DemoReport,
}

/// The benchmarks of a suite: each is a comparison of the same scripts.
#[derive(Debug)]
pub struct Suite {
    /// Error probability of all benchmarks together.
    pub alpha: f64,
    /// Differences below it count as none, a log ratio.
    pub margin: f64,
    /// Benchmarks by name, each with the scripts that have it as commands.
    pub all: Vec<(String, Commands)>,
}

/// What two programs say of profile-guided optimisation, where they do not say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneSided {
    /// Names of A and B.
    pub names: [String; 2],
    /// What each says; at most one says nothing.
    pub feedback: [Option<Feedback>; 2],
}

impl Measured {
    /// What A and B say of a profile, where their files do not say the same. Of two builds alone: what more than
    /// two differ by is a question that was asked of them.
    pub fn one_sided(&self) -> Option<OneSided> {
        let (names, files) = self.two_programs()?;
        let feedback = files.map(|file| Feedback::of(&file?));
        let [a, b] = feedback;
        (a != b).then(|| OneSided { names: names.map(str::to_owned), feedback })
    }

    /// True if a small difference in time is claimed between two machine programs, each of which is one layout of its code.
    pub fn may_be_of_layout(&self) -> bool {
        let is_small = |outcome: &Outcome| {
            matches!(outcome.verdict, Verdict::Faster | Verdict::Slower)
                && outcome.metric.is_time()
                && outcome.metric.of(outcome).is_some_and(|block| block.interval.estimate.abs() < LAYOUT_BIAS)
        };
        let is_elf = |path: &PathBuf| {
            let mut magic = [0; ELF_MAGIC.len()];
            File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == ELF_MAGIC
        };
        let Some((_, [Some(a), Some(b)])) = self.two_programs() else { return false };
        let any_is_small = match self {
            Measured::Commands(commands) => commands.report.comparisons.iter().any(|one| is_small(&one.outcome)),
            Measured::Demos(demos) => {
                let judged = demos.all.iter().filter(|one| one.verdict().is_some());
                judged.filter_map(|one| one.report.outcome.as_ref()).any(is_small)
            }
            Measured::Suite(_) | Measured::Layouts(_) => false,
        };
        any_is_small && a != b && is_elf(&a) && is_elf(&b)
    }

    /// Names and files of A and B, where there are two programs as they are.
    fn two_programs(&self) -> Option<([&str; 2], [Option<PathBuf>; 2])> {
        match self {
            Measured::Commands(commands) => {
                let [a, b] = commands.options.subjects.as_slice() else { return None };
                Some(([a, b].map(|one| one.name.as_str()), [a, b].map(|one| Some(one.command.program.clone()))))
            }
            Measured::Demos(demos) => {
                let builds = &demos.all.first()?.options.builds;
                let file = |build: &Build| build.program().and_then(|word| program_file(word));
                Some((builds.each_ref().map(|build| build.name.as_str()), builds.each_ref().map(file)))
            }
            Measured::Suite(_) | Measured::Layouts(_) => None,
        }
    }

    /// All samples, as they go into one file.
    pub fn samples(&self) -> Samples {
        match self {
            Measured::Commands(commands) => commands.report.samples.clone(),
            Measured::Demos(demos) => demos.samples(),
            Measured::Suite(suite) => suite.samples(),
            Measured::Layouts(layouts) => samples_of_layouts(layouts),
        }
    }

    /// The ratio of each benchmark of [`Measured::samples`] to the one that it is compared with, and what all of them are ratios of, if
    /// that is one metric.
    pub fn relative(&self) -> (Vec<Option<Interval>>, Option<Metric>) {
        match self {
            Measured::Commands(commands) => (commands.relative(), commands.relative_metric()),
            Measured::Demos(_) | Measured::Layouts(_) => (Vec::new(), None),
            Measured::Suite(suite) => (suite.all.iter().flat_map(|(_, commands)| commands.relative()).collect(), None),
        }
    }
}

impl Commands {
    /// Verdicts, of which each stands for itself; none of a ranking, which is an answer and no finding.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        let judged = self.report.comparisons.iter().filter(|_| self.report.ranking.is_none());
        judged.map(|comparison| comparison.outcome.verdict)
    }

    /// True for two commands that did not run in a duet and have some dozen turns in one: runs that get some turns each while the
    /// machine is in one state.
    pub fn may_gain_from_duet(&self) -> bool {
        let cpu_s = self.report.summaries.iter().flatten().filter_map(|summary| summary.cpu_s.as_ref());
        let is_apart = !self.options.duet && self.report.tried.is_none() && self.options.subjects.len() == 2;
        is_apart && cpu_s.map(|cpu_s| cpu_s.min).fold(f64::MAX, f64::min) >= DUET_S
    }

    /// True if there is no answer, or less of one than was requested.
    pub fn is_incomplete(&self) -> bool {
        let report = &self.report;
        let interrupted =
            (report.comparisons.is_empty() || report.ranking.is_some()) && matches!(report.ended, Ended::Interrupted);
        report.rounds == 0 || interrupted
    }

    /// The ratio of each command to the reference or to the fastest, in the order of the samples; `None` of the one with
    /// which others are compared, and where it is not known.
    pub fn relative(&self) -> Vec<Option<Interval>> {
        let mut relative = vec![None; self.options.subjects.len()];
        match &self.report.ranking {
            Some(ranking) => {
                for place in &ranking.places {
                    relative[place.candidate] = Some(place.ratio);
                }
            }
            None => {
                for Comparison { subject, outcome, .. } in &self.report.comparisons {
                    relative[*subject] = outcome.metric.of(outcome).map(|block| block.interval);
                }
            }
        }
        // The fastest has no ratio to itself.
        let known = |interval: &Interval| interval.width().is_finite() && interval.reach() > 0.0;
        relative.into_iter().map(|interval| interval.filter(known)).collect()
    }

    /// What these ratios are of; `None` where not all of them are of one metric.
    fn relative_metric(&self) -> Option<Metric> {
        let mut metrics = match &self.report.ranking {
            Some(ranking) => vec![ranking.metric],
            None => self.report.comparisons.iter().map(|comparison| comparison.outcome.metric).collect(),
        };
        metrics.dedup();
        if let [only] = metrics[..] { Some(only) } else { None }
    }
}

impl OnDemo {
    /// Verdict; `None` where there is none, because a build diverged or could not be replayed.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.report.ended {
            DemoEnded::Replay(..) | DemoEnded::Diverged(..) | DemoEnded::NoFrame(..) => None,
            DemoEnded::Complete | DemoEnded::Interrupted => {
                Some(self.report.outcome.as_ref().map_or(Verdict::Unclear, |outcome| outcome.verdict))
            }
        }
    }

    /// Change of B, of what was judged.
    pub fn change(&self) -> Option<Interval> {
        let outcome = self.report.outcome.as_ref().filter(|_| self.verdict().is_some())?;
        outcome.change(outcome.metric).filter(|interval| interval.n > 0)
    }
}

impl Demos {
    /// The verdict for all demos, which is the worst of them.
    pub fn verdict(&self) -> Verdict {
        let any = |verdict| self.all.iter().any(|one| one.verdict() == Some(verdict));
        match () {
            () if any(Verdict::Slower) => Verdict::Slower,
            () if any(Verdict::Unclear)
                || self.all.len() < self.requested
                || self.all.iter().any(|one| one.verdict().is_none()) =>
            {
                Verdict::Unclear
            }
            () if any(Verdict::Faster) => Verdict::Faster,
            () => Verdict::Same,
        }
    }

    /// The geometric mean of the changes, if there are several and all of them are known.
    pub fn mean(&self) -> Option<Interval> {
        let changes: Option<Vec<Interval>> = self.all.iter().map(OnDemo::change).collect();
        geometric_mean(&changes.filter(|changes| changes.len() > 1)?, MEAN_ALPHA)
    }

    /// Names of both builds.
    pub fn builds(&self) -> [&str; 2] {
        self.all.first().map_or(["A", "B"], |one| one.options.builds.each_ref().map(|build| build.name.as_str()))
    }

    /// The samples of all demos in one file; of several, each benchmark says of which measurement it is.
    fn samples(&self) -> Samples {
        if let ([only], 1) = (self.all.as_slice(), self.requested) {
            return only.report.samples.clone();
        }
        several(self.all.iter().map(|one| (one.name.as_str(), &one.report.samples)))
    }
}

/// The samples of layouts: of commands, or of all demos in one file.
fn samples_of_layouts(layouts: &Layouts) -> Samples {
    match (layouts.reports.as_slice(), layouts.requested()) {
        ([only], 1) => only.samples.clone(),
        _ => several(layouts.all().filter_map(|(demo, report)| Some((demo?.name.as_str(), &report.samples)))),
    }
}

/// Samples of several measurements in one file, each with its name: each benchmark says of which measurement it is.
fn several<'a>(measurements: impl Iterator<Item = (&'a str, &'a Samples)>) -> Samples {
    let mut all = Samples::default();
    for (name, samples) in measurements {
        let circumstances = samples.circumstances.clone().unwrap_or_default();
        let Circumstances { pairing, budget_s, pairs_done_s, judged_frames, warnings, .. } = circumstances.clone();
        let of_file = all.circumstances.get_or_insert_with(|| Circumstances {
            pairing: None,
            budget_s: None,
            pairs_done_s: Vec::new(),
            judged_frames: Vec::new(),
            warnings: Vec::new(),
            ..circumstances
        });
        of_file.warnings.extend(warnings.into_iter().map(|warning| format!("{name}: {warning}")));
        for benchmark in &samples.benchmarks {
            let mut benchmark = benchmark.clone();
            benchmark.name = format!("{name}: {}", benchmark.name);
            let measurement = Measurement {
                name: name.to_owned(),
                pairing: pairing.clone(),
                budget_s,
                pairs_done_s: pairs_done_s.clone(),
                judged_frames: judged_frames.clone(),
            };
            benchmark.subject.get_or_insert_default().measurement = Some(measurement);
            all.benchmarks.push(benchmark);
        }
    }
    all
}

impl Suite {
    /// Names of the scripts, which all benchmarks have.
    pub fn scripts(&self) -> Vec<&str> {
        let subjects = self.all.first().map(|(_, commands)| &commands.options.subjects);
        subjects.into_iter().flatten().map(|subject| subject.name.as_str()).collect()
    }

    /// All samples in one file, in which each name stands once.
    fn samples(&self) -> Samples {
        let several = self.scripts().len() > 1;
        let mut benchmarks = Vec::new();
        for (name, Commands { options, report }) in &self.all {
            for (benchmark, subject) in report.samples.benchmarks.iter().zip(&options.subjects) {
                let mut benchmark = benchmark.clone();
                benchmark.name = if several { format!("{name} [{}]", subject.name) } else { name.clone() };
                benchmarks.push(benchmark);
            }
        }
        let circumstances = self.all.first().and_then(|(_, commands)| commands.report.samples.circumstances.clone());
        Samples { benchmarks, circumstances }
    }
}
