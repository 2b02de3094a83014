//! Two builds on one demo: each pair is one replay of either, in random order, and frame i did the same
//! work in both.

mod chosen;
mod frame_times;
mod left;
mod profiled;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use prony_machine::Interrupt;
use prony_replay::Warning as ReplayWarning;
use prony_replay::{
    ComparisonOptions, FileOptions, Limits, ReplayError, ReplayOptions, ReplayReport, Replayer, ToolOptions,
    TrustOptions, Verdict,
};
use prony_stats::Seed;
use prony_stats::frames::{self, FrameComparison};
use prony_stats::judge::{Look, Outcome, Plan, Ratio, ReplayJudge};
use prony_stats::samples::{Benchmark, Circumstances, Measured, Run, Samples, Subject as Facts, Warmup};
use serde_json::Value;

use crate::command::split_variables;
use crate::duet::on_cpu;
use crate::options::circumstances;
use crate::report::{Event, Round};
use crate::sample::{self, Measure};
use crate::until_divergence::UntilDivergence;

pub(crate) use chosen::Choice;
pub use chosen::{FrameKind, JudgedFrames};
use frame_times::FrameTimes;
use left::Left;
pub use profiled::{ProfileError, ProfiledBuilds};

/// One of the two builds.
#[derive(Debug, Clone)]
pub struct Build {
    /// Name of the build in reports and samples.
    pub name: String,
    /// The program and its arguments, with variables in front of it that are for this build.
    pub command: Vec<OsString>,
}

impl Build {
    /// Word that names the program; `None` for the recorded command.
    pub(crate) fn program(&self) -> Option<&OsString> {
        split_variables(&self.command).1.first()
    }
}

/// The demo that builds replay, and what it may use.
#[derive(Debug, Clone)]
pub struct DemoSource {
    /// Path of the demo.
    pub path: PathBuf,
    /// Limits on memory and disk of the demo.
    pub limits: Limits,
    /// Take the demo for one that this user recorded here.
    pub trusted: bool,
    /// Variables that keep the recorded value although they may choose code.
    pub keep_variables: Vec<OsString>,
    /// Source of the files that the recorded server only read.
    pub files: FileOptions,
    /// Comparison of the outputs of a build with the recorded ones.
    pub comparison: ComparisonOptions,
    /// Program and arguments of a tool that starts the builds; empty for none. Times are those of tool and build together.
    pub under: Vec<OsString>,
}

impl DemoSource {
    /// Options of a replay of the demo that measures `command`, with the variables in front of it.
    pub(crate) fn replay(&self, command: &[OsString]) -> ReplayOptions {
        let (environment, command) = split_variables(command);
        ReplayOptions {
            environment,
            trust: TrustOptions { trusted: self.trusted, keep_variables: self.keep_variables.clone() },
            files: self.files.clone(),
            comparison: self.comparison.clone(),
            under: ToolOptions { command: self.under.clone(), timed: true, ..ToolOptions::default() },
            limits: self.limits,
            ..ReplayOptions::to_measure(self.path.clone(), command.to_vec())
        }
    }
}

/// Options of a comparison of replays.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// The demo that both builds replay.
    pub demo: DemoSource,
    /// Builds A and B; B is compared with A.
    pub builds: [Build; 2],
    /// Error rate, margin and time limit.
    pub plan: Plan,
    /// True if the planned time may be extended where replays take long, since the user did not set it.
    pub stretches: bool,
    /// Exactly this many pairs instead of as many as it takes.
    pub runs: Option<usize>,
    /// Replays of each build that come first and do not count.
    pub warmup_runs: usize,
    /// Both replays of a pair run at once on this CPU, alternately: what disturbs the machine for longer than a turn disturbs
    /// both.
    pub duet_cpu: Option<usize>,
    /// Log ratio that B is compared with, in place of 0: B is slower if it takes more than e^`threshold` times as long as A.
    pub threshold: f64,
    /// Seed for the order of replays: equal seed, equal draws.
    pub seed: u64,
    /// Frames that are judged; `None`: those that suit the demo.
    pub frames: Option<FrameKind>,
    /// Profile further replays of both builds.
    pub profile: bool,
    /// Compare the frames before a divergence, where a build leaves the recording.
    pub until_divergence: bool,
    /// Facts of the machine, for the samples.
    pub machine: Value,
    /// Tuning of the machine, for the samples.
    pub tuning: Value,
}

impl DemoOptions {
    /// Circumstances of a bench with these options for its samples, before it has begun.
    pub fn circumstances(&self) -> Circumstances {
        self.within(self.plan.budget_s)
    }

    /// Copy with this time in place of the planned one.
    pub fn within(&self, budget_s: f64) -> Circumstances {
        circumstances(&self.machine, &self.tuning, self.seed, self.runs.is_none().then_some(budget_s))
    }
}

/// Pairs that a default time limit must hold: with fewer, an interval is as wide as the difference looked for.
const PAIRS_HELD: f64 = 12.0;
/// Part of a pair's time by which the next ones may be longer.
const SLACK: f64 = 0.1;
/// The longest time that is planned by default, in seconds.
const STRETCHED_S_MAX: f64 = 600.0;

/// The time to plan where a pair, or a round of several commands, takes so long, if it is longer than `planned_s`.
pub(crate) fn stretched(planned_s: f64, pair_s: f64) -> Option<f64> {
    let fits = (PAIRS_HELD * pair_s * (1.0 + SLACK)).min(STRETCHED_S_MAX).ceil();
    (fits > planned_s).then_some(fits)
}

/// Reasons for the end of a bench of replays.
#[derive(Debug)]
pub enum DemoEnded {
    /// All is known, or time was up, or the requested runs are done.
    Complete,
    /// A signal requested a stop.
    Interrupted,
    /// A replay could not be run.
    Replay(usize, ReplayError),
    /// A build left the recording, so that its frames are those of the other up to there only.
    Diverged(usize, Box<ReplayReport>),
    /// The demo has no frame of the requested kind, of this number of frames.
    NoFrame(FrameKind, u64),
}

impl DemoEnded {
    /// The build that diverged or could not be replayed.
    pub fn build(&self) -> Option<usize> {
        match self {
            DemoEnded::Replay(build, _) | DemoEnded::Diverged(build, _) => Some(*build),
            DemoEnded::Complete | DemoEnded::Interrupted | DemoEnded::NoFrame(..) => None,
        }
    }
}

/// Result of a bench of replays.
#[derive(Debug)]
pub struct DemoReport {
    /// Every replay, whatever came of it.
    pub samples: Samples,
    /// Outcome of B relative to A, or to A at the threshold; `None` without a pair. Of the frames in `until` if there are
    /// any, which is no verdict on the builds.
    pub outcome: Option<Outcome>,
    /// Frame by frame; `None` without a pair, or with other numbers of frames, and the reason.
    pub frames: Result<FrameComparison, frames::FrameError>,
    /// Frames that were judged, if not all of them.
    pub judged: Option<JudgedFrames>,
    /// Part of the demo that was compared, where a build diverged and both had frames before.
    pub until: Option<UntilDivergence>,
    /// Which functions account for the difference; `None` where that was not requested, or without a pair.
    pub profile: Option<Result<ProfiledBuilds, ProfileError>>,
    /// Number of complete pairs of replays, one of each build.
    pub pairs: usize,
    /// Seconds from the first pair to the last.
    pub elapsed_s: f64,
    /// Reason why the bench ended: a decision, the time limit, a signal or a divergence.
    pub ended: DemoEnded,
    /// Warnings of the replays, without repetitions.
    pub warnings: Vec<ReplayWarning>,
}

/// Replays either build alternately until it is known which is faster.
///
/// What is judged is the CPU time of the frames, the server's own work between two waits, without its start, and of them
/// those in which the machine was fast. A replay waits for nothing, so wall time adds only what the machine did.
pub fn bench_demo(options: &DemoOptions, interrupt: Option<&Interrupt>, events: &mut dyn FnMut(Event)) -> DemoReport {
    let replays = options.builds.each_ref().map(|build| options.demo.replay(&build.command));
    let mut bench = Replays::new(options);
    let opened = Replayer::open(&replays[0]).map_err(|error| DemoEnded::Replay(0, error)).and_then(|a| {
        let b = a.beside(&replays[1]).map_err(|error| DemoEnded::Replay(1, error))?;
        Ok([a, b])
    });
    let measured = opened.and_then(|mut builds| {
        if options.frames != Some(FrameKind::All) {
            // Frame 0 ends with the first wait of the server, and is not timed.
            let activity = builds[0].frame_activity().map_err(|error| DemoEnded::Replay(0, error))?;
            bench.times.activity = activity.into_iter().skip(1).collect();
        }
        bench.measure(&mut builds, interrupt, events)?;
        bench.profile = bench.profiled(&mut builds, interrupt, events);
        Ok(())
    });
    bench.report(measured.err().unwrap_or(DemoEnded::Complete))
}

struct Replays<'a> {
    options: &'a DemoOptions,
    seed: Seed,
    budget_s: f64,
    judge: ReplayJudge,
    decided: Option<Outcome>,
    times: FrameTimes,
    /// The first divergence, and the entries of the list of frame times before it, which alone are compared.
    left: Option<Left>,
    profile: Option<Result<ProfiledBuilds, ProfileError>>,
    benchmarks: [Benchmark; 2],
    pairs: usize,
    elapsed_s: f64,
    pairs_done_s: Vec<f64>,
    warnings: Vec<ReplayWarning>,
}

type Replay = Result<ReplayReport, ReplayError>;

/// Before each replay: what is measured is kept, but another replay is not waited for.
fn go_on(interrupt: Option<&Interrupt>) -> Result<(), DemoEnded> {
    if interrupt.is_some_and(Interrupt::is_requested) { Err(DemoEnded::Interrupted) } else { Ok(()) }
}

/// Replays both builds at once on one CPU, in this order; what came of A and of B.
fn duet([a, b]: &mut [Replayer; 2], order: [usize; 2], cpu: usize) -> [Replay; 2] {
    let replay = |replayer: &mut Replayer| {
        let report = on_cpu(cpu, || replayer.replay(&mut |_| ()));
        report.unwrap_or_else(|error| Err(ReplayError::System { program: format!("a replay on CPU {cpu}"), error }))
    };
    let a_first = order[0] == 0;
    let (first, second) = if a_first { (a, b) } else { (b, a) };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| replay(first));
        let second = replay(second);
        let first = first.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if a_first { [first, second] } else { [second, first] }
    })
}

/// A replay as samples keep it: the value is wall time, frames are CPU time.
pub fn run_of_replay(report: &ReplayReport) -> Run {
    let seconds = |times: &[u64]| times.iter().sum::<u64>() as f64 / 1e9;
    let wall_s = seconds(&report.timing.frame_wall_ns);
    let measured = Measured {
        wall_s: Some(wall_s),
        cpu_s: Some(seconds(&report.timing.frame_cpu_ns)),
        frame_ns: report.timing.frame_cpu_ns.iter().map(|ns| ns / report.timing.frames_in_each).collect(),
        ..Measured::default()
    };
    Run { measured: Some(Box::new(measured)), ..Run::of(wall_s) }
}

impl<'a> Replays<'a> {
    fn new(options: &'a DemoOptions) -> Replays<'a> {
        let benchmark = |build: &Build, suffix: &str| {
            let mut benchmark = Benchmark::new(&format!("{}{suffix}", build.name));
            let command = build.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            benchmark.subject = Some(Facts { command, ..Facts::default() });
            if options.duet_cpu.is_some() {
                sample::set_measure(&mut benchmark, &Measure::of_process(true));
            }
            benchmark
        };
        let [a, b] = &options.builds;
        // A file has each name once.
        let suffix = if a.name == b.name { " (2)" } else { "" };
        Replays {
            options,
            seed: Seed::new(options.seed),
            budget_s: options.plan.budget_s,
            judge: ReplayJudge::new(options.plan),
            decided: None,
            times: FrameTimes::new(),
            left: None,
            profile: None,
            benchmarks: [benchmark(a, ""), benchmark(b, suffix)],
            pairs: 0,
            elapsed_s: 0.0,
            pairs_done_s: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn measure(
        &mut self,
        builds: &mut [Replayer; 2],
        interrupt: Option<&Interrupt>,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), DemoEnded> {
        events(Event::WarmingUp);
        let mut pair_s = 0.0;
        for _ in 0..self.options.warmup_runs {
            let begun = Instant::now();
            for (build, replayer) in builds.iter_mut().enumerate() {
                go_on(interrupt)?;
                let report = replayer.replay(&mut |_| ());
                let run = self.take(build, report, replayer.frames())?;
                self.benchmarks[build].runs.push(as_warmup(run));
            }
            self.announce(events);
            pair_s = begun.elapsed().as_secs_f64();
        }
        let may_stretch = self.options.stretches && self.options.runs.is_none();
        if let Some(budget_s) = stretched(self.budget_s, pair_s).filter(|_| may_stretch) {
            self.budget_s = budget_s;
            self.judge = ReplayJudge::new(Plan { budget_s, ..self.options.plan });
            events(Event::Stretched(pair_s, budget_s));
        }
        let begun = Instant::now();
        while self.decided.is_none() && self.options.runs.is_none_or(|runs| self.pairs < runs) {
            if !self.pair(builds, interrupt)? {
                self.announce(events);
                continue;
            }
            self.elapsed_s = begun.elapsed().as_secs_f64();
            self.pairs_done_s.push(self.elapsed_s);
            if self.options.runs.is_none() {
                self.decided = self.judge.look(self.elapsed_s);
            }
            let progress = Round {
                duet_taken: false,
                rounds: self.pairs,
                rounds_wanted: self.options.runs,
                elapsed_s: self.elapsed_s,
                budget_s: self.budget_s,
                live: self.judge.live(),
                contention: None,
            };
            events(Event::Round(progress, &self.benchmarks));
        }
        if self.options.runs.is_some() {
            self.decided = Some(self.judge.finish(self.elapsed_s));
        }
        Ok(())
    }

    /// Reports a divergence that was found before the first pair.
    fn announce(&mut self, events: &mut dyn FnMut(Event)) {
        if let Some(left) = self.left.as_mut().filter(|left| !left.is_announced) {
            left.is_announced = true;
            events(Event::Diverged(left.until()));
        }
    }

    /// A pair of replays. False, and one more warm-up, if it is the first to show that a build diverges.
    fn pair(&mut self, builds: &mut [Replayer; 2], interrupt: Option<&Interrupt>) -> Result<bool, DemoEnded> {
        let order = if self.seed.coin() { [0, 1] } else { [1, 0] };
        go_on(interrupt)?;
        let mut reports: [Option<Replay>; 2] = match self.options.duet_cpu {
            Some(cpu) => duet(builds, order, cpu).map(Some),
            None => [None, None],
        };
        let mut both = [None, None];
        let is_whole = self.left.is_none();
        for (place, build) in order.into_iter().enumerate() {
            let report = match reports[build].take() {
                Some(report) => report,
                None => {
                    go_on(interrupt)?;
                    builds[build].replay(&mut |_| ())
                }
            };
            let mut run = self.take(build, report, builds[build].frames())?;
            if let Some(measured) = &mut run.measured {
                (measured.pair, measured.place) = (Some(self.pairs as u64), Some(place as u64));
            }
            self.benchmarks[build].runs.push(run.clone());
            both[build] = Some(run);
        }
        if is_whole && self.left.is_some() {
            for benchmark in &mut self.benchmarks {
                if let Some(run) = benchmark.runs.pop() {
                    benchmark.runs.push(as_warmup(run));
                }
            }
            return Ok(false);
        }
        let [Some(a), Some(b)] = both.map(|run| run.and_then(|run| run.measured)) else { return Ok(false) };
        let [a_s, b_s] = [&a, &b].map(|of| of.frame_ns.iter().map(|&ns| ns as f64 / 1e9).collect::<Vec<f64>>());
        let wall = [a, b].map(|of| of.wall_s.unwrap_or(f64::NAN));
        self.add([a_s, b_s], wall)?;
        self.pairs += 1;
        Ok(true)
    }

    /// Judges the frames of a pair, in seconds.
    fn add(&mut self, both_s: [Vec<f64>; 2], wall_s: [f64; 2]) -> Result<(), DemoEnded> {
        // The first replay of A, a warm-up where there are any.
        let first = self.benchmarks[0].runs.first().and_then(|run| run.measured.as_ref());
        let first_ns = first.map_or(&[][..], |measured| &measured.frame_ns);
        let first_s: Vec<f64> = first_ns.iter().take(both_s[0].len()).map(|&ns| ns as f64 / 1e9).collect();
        let choice = self.times.choose(self.options.frames, &first_s);
        if choice.is_empty() && !both_s[0].is_empty() {
            return Err(DemoEnded::NoFrame(choice.kind, choice.counts()[1]));
        }
        let [a_s, b_s] = both_s.each_ref().map(|frames_s| choice.select(frames_s));
        let scale = self.options.threshold.exp();
        let a_at_threshold_s: Vec<f64> = a_s.iter().map(|seconds| seconds * scale).collect();
        self.judge.push(&a_at_threshold_s, &b_s, Ratio::of(wall_s[0] * scale, wall_s[1]));
        // A replay that diverged earlier than those before is counted, but has no frame for each of theirs.
        if both_s[0].len() == both_s[1].len() || self.left.is_none() {
            self.times.push([a_s, b_s], &both_s);
        }
        Ok(())
    }

    /// Profiles further replays, where that is requested.
    fn profiled(
        &mut self,
        builds: &mut [Replayer; 2],
        interrupt: Option<&Interrupt>,
        events: &mut dyn FnMut(Event),
    ) -> Option<Result<ProfiledBuilds, ProfileError>> {
        let choice = self.times.choice.as_ref().filter(|_| self.options.profile && self.pairs > 0)?;
        let entries = self.left.as_ref().map(|left| left.entries);
        let progress = &mut |replays| events(Event::Profiling(replays));
        Some(profiled::profile(builds, choice, entries, self.budget_s, &mut self.seed, interrupt, progress))
    }

    /// Run of a replay, as far as it followed the recording. `of_frames`: number of frames of the demo.
    fn take(&mut self, build: usize, report: Replay, of_frames: u64) -> Result<Run, DemoEnded> {
        let mut report = report.map_err(|error| DemoEnded::Replay(build, error))?;
        self.times.frames_in_each = report.timing.frames_in_each;
        if report.verdict == Verdict::Diverged {
            let left = Left::of(build, &report, of_frames).filter(|_| self.options.until_divergence);
            match (left, &mut self.left) {
                (Some(left), None) if self.pairs == 0 => self.left = Some(left),
                // Of replays that diverge at different places, the shortest part is compared.
                (Some(left), Some(known)) if self.pairs == 0 => known.entries = known.entries.min(left.entries),
                (Some(_), Some(_)) => {}
                // Also where the judge has seen whole replays before.
                _ => return Err(DemoEnded::Diverged(build, Box::new(report))),
            }
        }
        if let Some(left) = &self.left {
            let timing = &mut report.timing;
            [&mut timing.frame_start_ns, &mut timing.frame_wall_ns, &mut timing.frame_cpu_ns]
                .into_iter()
                .for_each(|times| times.truncate(left.entries));
        }
        for warning in &report.warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
        let mut run = run_of_replay(&report);
        // In a duet wall time is that of both.
        if let Some(measured) = run.measured.as_mut().filter(|_| self.options.duet_cpu.is_some()) {
            measured.wall_s = None;
            run.values = measured.cpu_s.into_iter().collect();
        }
        Ok(run)
    }

    fn report(mut self, ended: DemoEnded) -> DemoReport {
        let outcome = match self.decided.take() {
            None if self.pairs > 0 => Some(self.judge.interrupt(self.elapsed_s)),
            decided => decided,
        };
        let (alpha, seed) = (self.options.plan.alpha, self.options.seed);
        let (frames, judged) = (self.times.compared(alpha, seed), self.times.judged(alpha));
        let until = self.left.as_ref().filter(|_| self.pairs > 0).map(Left::until);
        let warnings = self.warnings.iter().map(ToString::to_string).chain(until.map(|until| until.to_string()));
        let circumstances = Circumstances {
            pairs_done_s: self.pairs_done_s,
            judged_frames: self.times.choice.as_ref().map(Choice::runs).unwrap_or_default(),
            warnings: warnings.collect(),
            ..self.options.within(self.budget_s)
        };
        let ended = match (ended, self.left) {
            (DemoEnded::Complete | DemoEnded::Interrupted, Some(left)) => DemoEnded::Diverged(left.build, left.report),
            (ended, _) => ended,
        };
        let benchmarks = self.benchmarks.into_iter().filter(|benchmark| !benchmark.runs.is_empty()).collect();
        DemoReport {
            samples: sample::samples(benchmarks, circumstances),
            outcome,
            frames,
            judged,
            until,
            profile: self.profile,
            pairs: self.pairs,
            elapsed_s: self.elapsed_s,
            ended,
            warnings: self.warnings,
        }
    }
}

/// A run that does not count.
pub(crate) fn as_warmup(mut run: Run) -> Run {
    run.warmups = run.values.drain(..).map(|value| Warmup { loops: 1, value }).collect();
    if let Some(measured) = &mut run.measured {
        (measured.pair, measured.place) = (None, None);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_time_limit_holds_a_dozen_pairs_if_that_is_not_too_long() {
        assert_eq!(stretched(20.0, 0.2), None);
        assert_eq!(stretched(20.0, 1.5), None);
        assert_eq!(stretched(20.0, 4.2), Some(56.0));
        assert_eq!(stretched(20.0, 87.2), Some(STRETCHED_S_MAX));
        // Without a warm-up nothing is known of a pair.
        assert_eq!(stretched(20.0, 0.0), None);
    }
}
