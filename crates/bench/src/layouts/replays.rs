//! Replays of a demo by both sides in all layouts, in the same rounds as runs of commands. A divergence in any layout is one of its side.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use prony_machine::Interrupt;
use prony_replay::{ReplayError, Replayer, Verdict, Warning as ReplayWarning};
use prony_stats::samples::{Benchmark, Measured, Run, Subject as Facts};
use prony_stats::{Metric, Seed};

use super::answer::{Layout, LayoutReport, LayoutsEnded};
use super::builds::Builds;
use super::estimate::estimate;
use super::judged::Judged;
use super::rounds::{is_last, order, subject, times_of};
use super::{BuildOptions, Event, layout_name};
use crate::demo::{DemoOptions, FrameKind, as_warmup};
use crate::options::RoundLimits;
use crate::sample::{self, Measure};

/// Replays a demo by all builds, and says what their times say. Judged is the CPU time of the judged frames of each replay.
pub fn measure(
    options: &BuildOptions,
    demo: &DemoOptions,
    builds: &Builds,
    seed: &mut Seed,
    interrupt: Option<&Interrupt>,
    events: &mut dyn FnMut(Event),
) -> LayoutReport {
    let mut replays = Replays::new(options, demo, builds, interrupt);
    let ended = replays.all(seed, events).err().unwrap_or(LayoutsEnded::Complete);
    replays.report(ended)
}

/// Replays so far.
struct Replays<'a> {
    options: &'a BuildOptions,
    seeds: Vec<u32>,
    demo: &'a DemoOptions,
    builds: &'a Builds,
    interrupt: Option<&'a Interrupt>,
    /// Path at which the programs of each side are replayed.
    paths: [PathBuf; 2],
    judged: Judged,
    benchmarks: Vec<Benchmark>,
    /// CPU seconds of the judged frames, of each side and layout.
    runs: Vec<Vec<f64>>,
    /// Whole rounds, and seconds from the first to the last.
    done: (usize, f64),
    warnings: Vec<ReplayWarning>,
}

impl<'a> Replays<'a> {
    fn new(
        options: &'a BuildOptions,
        demo: &'a DemoOptions,
        builds: &'a Builds,
        interrupt: Option<&'a Interrupt>,
    ) -> Replays<'a> {
        let paths = [0, 1].map(|side| builds.replay_path(options, side));
        let mut replays = Replays {
            options,
            seeds: options.seeds(),
            demo,
            builds,
            interrupt,
            paths,
            judged: Judged::of(demo.frames),
            benchmarks: Vec::new(),
            runs: vec![Vec::new(); 2 * (options.layouts + 1)],
            done: (0, 0.0),
            warnings: Vec::new(),
        };
        let [a, b] = options.sides.each_ref().map(|side| side.name.as_str());
        // A file has each name once.
        let suffixes = ["", if a == b { " (2)" } else { "" }];
        for (side, suffix) in suffixes.into_iter().enumerate() {
            let command: Vec<String> =
                replays.command(side).iter().map(|word| word.to_string_lossy().into_owned()).collect();
            for layout in 0..=options.layouts {
                let name = format!("{}, {}{suffix}", options.sides[side].name, layout_name(layout));
                let mut benchmark = Benchmark::new(&name);
                let parameters = [("layout".to_owned(), layout.to_string())].into();
                benchmark.subject = Some(Facts { command: command.clone(), parameters, ..Facts::default() });
                sample::set_measure(&mut benchmark, &Measure::of_process(true));
                replays.benchmarks.push(benchmark);
            }
        }
        replays
    }

    /// Command of a side, with the path at which its programs are replayed.
    fn command(&self, side: usize) -> Vec<OsString> {
        let of = &self.options.sides[side];
        let word = |(number, word): (usize, &String)| match of.program_words.contains(&number) {
            true => self.paths[side].clone().into_os_string(),
            false => word.into(),
        };
        of.words.iter().enumerate().map(word).collect()
    }

    fn layout(&self, side: usize, number: usize) -> Layout {
        Layout { side, number, seed: number.checked_sub(1).and_then(|index| self.seeds.get(index)).copied() }
    }

    /// Installs the program of a layout where it is replayed.
    fn install(&self, layout: Layout) -> Result<(), LayoutsEnded> {
        let path = &self.paths[layout.side];
        self.builds.install(path, layout.side, layout.number).map_err(|error| {
            LayoutsEnded::Replay(layout, ReplayError::System { program: path.display().to_string(), error })
        })
    }

    fn all(&mut self, seed: &mut Seed, events: &mut dyn FnMut(Event)) -> Result<(), LayoutsEnded> {
        let commands = [self.demo.demo.replay(&self.command(0)), self.demo.demo.replay(&self.command(1))];
        let as_built = [self.layout(0, 0), self.layout(1, 0)];
        self.install(as_built[0])?;
        self.install(as_built[1])?;
        let failed = |side: usize| move |error| LayoutsEnded::Replay(as_built[side], error);
        // The demo is laid out once for all replays; only the file behind the name of the program changes.
        let a = Replayer::open(&commands[0]).map_err(failed(0))?;
        let b = a.beside(&commands[1]).map_err(failed(1))?;
        let mut replayers = [a, b];
        if self.demo.frames != Some(FrameKind::All) {
            // Frame 0 ends with the first wait of the server, and is not timed.
            let activity = replayers[0].frame_activity().map_err(failed(0))?;
            self.judged.activity = activity.into_iter().skip(1).collect();
        }
        // In their order, so that what diverges as it is built is not found in a layout first.
        for _ in 0..self.demo.warmup_runs {
            for number in 0..=self.options.layouts {
                for (side, replayer) in replayers.iter_mut().enumerate() {
                    let (run, _) = self.replay(replayer, self.layout(side, number))?;
                    self.benchmarks[subject(side, number, self.options.layouts)].runs.push(as_warmup(run));
                }
            }
        }
        let limits = RoundLimits { exactly: self.demo.runs, ..RoundLimits::default() };
        let begun = Instant::now();
        loop {
            self.round(&mut replayers, seed)?;
            let (rounds, elapsed_s) = (self.done.0 + 1, begun.elapsed().as_secs_f64());
            self.done = (rounds, elapsed_s);
            let times = times_of(&self.runs, self.options.layouts, rounds, |time| *time);
            if is_last(rounds, elapsed_s, &times, (&self.demo.plan, &limits), events) {
                return Ok(());
            }
        }
    }

    /// Replays each side in each layout once, and more often as built.
    fn round(&mut self, replayers: &mut [Replayer; 2], seed: &mut Seed) -> Result<(), LayoutsEnded> {
        let mut place = 0;
        for number in order(self.options.layouts, seed) {
            let first = usize::from(seed.coin());
            for side in [first, 1 - first] {
                let (mut run, time_s) = self.replay(&mut replayers[side], self.layout(side, number))?;
                if let Some(measured) = &mut run.measured {
                    (measured.pair, measured.place) = (Some(self.done.0 as u64), Some(place));
                }
                let subject = subject(side, number, self.options.layouts);
                self.benchmarks[subject].runs.push(run);
                self.runs[subject].push(time_s);
                place += 1;
            }
        }
        Ok(())
    }

    /// Replays one build: the run, and CPU seconds of the judged frames.
    fn replay(&mut self, replayer: &mut Replayer, layout: Layout) -> Result<(Run, f64), LayoutsEnded> {
        if self.interrupt.is_some_and(Interrupt::is_requested) {
            return Err(LayoutsEnded::Interrupted);
        }
        self.install(layout)?;
        let report = replayer.replay(&mut |_| ()).map_err(|error| LayoutsEnded::Replay(layout, error))?;
        if report.verdict == Verdict::Diverged {
            return Err(LayoutsEnded::Diverged(layout, Box::new(report)));
        }
        let timing = &report.timing;
        let frames_s: Vec<f64> = timing.frame_cpu_ns.iter().map(|&ns| ns as f64 / 1e9).collect();
        let time_s = self.judged.time_s(layout, &frames_s, timing.frames_in_each)?;
        let wall_s = timing.frame_wall_ns.iter().sum::<u64>() as f64 / 1e9;
        for warning in report.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        let measured = Measured { wall_s: Some(wall_s), cpu_s: Some(time_s), ..Measured::default() };
        Ok((Run { measured: Some(Box::new(measured)), ..Run::of(time_s) }, time_s))
    }

    fn report(mut self, ended: LayoutsEnded) -> LayoutReport {
        let plan = self.demo.plan;
        let times = times_of(&self.runs, self.options.layouts, self.done.0, |time| *time);
        let found = ended.is_compared().then(|| estimate(&times, plan.alpha, plan.margin, plan.tolerates)).flatten();
        self.benchmarks.retain(|benchmark| !benchmark.runs.is_empty());
        let mut circumstances = self.demo.circumstances();
        circumstances.warnings = self.warnings.iter().map(ToString::to_string).collect();
        LayoutReport {
            samples: sample::samples(self.benchmarks, circumstances),
            metric: Metric::Cpu,
            plan,
            estimate: found,
            judged: self.judged.frames(),
            rounds: self.done.0,
            elapsed_s: self.done.1,
            ended,
            warnings: self.warnings,
        }
    }
}
