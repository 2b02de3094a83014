//! `prony bench --demo`: two builds, replay by replay and frame by frame.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use prony_bench::count::SAME_WITHIN;
use prony_bench::{Build, CommandLine, DemoEnded, DemoOptions, DemoSource, Demos, Event, Measured, OnDemo};
use prony_demo::Header;
use prony_machine::{Interrupt, Tree};
use prony_report::{demo_failure, diverged};
use prony_stats::frames::FrameError;
use prony_stats::judge::Plan;
use prony_text::significant;

use super::exports::Exports;
use super::live::Live;
use super::settings::{budget, cpu, tuning};
use crate::bench::counted;
use crate::cli::BenchArgs;
use crate::failure::Failure;
use crate::numbers::random;
use crate::output;
use crate::progress::ProgressLine;
use crate::replay;
use crate::trust;

/// Measures both builds on each demo.
///
/// # Errors
/// What kept it from running.
pub fn measure(args: &BenchArgs) -> Result<(Measured, Exports), Failure> {
    // All of them are opened first, so that one that cannot be read is reported immediately.
    let requested = args.replays.demo.len();
    let planned: Vec<DemoOptions> =
        args.replays.demo.iter().map(|demo| options(args, demo, requested)).collect::<Result<_, Failure>>()?;
    let to_count = if args.replays.count { Some(counted::planned(args)?) } else { None };
    let mut exports = Exports::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut all = Vec::new();
    for (name, options) in names(&args.replays.demo).into_iter().zip(planned) {
        let mut line = ProgressLine::new(true);
        let mut live = Live::new();
        let of = if requested > 1 { format!("{name}: ") } else { String::new() };
        let mut report = prony_bench::bench_demo(&options, Some(&interrupt), &mut |event| {
            let note = match event {
                Event::Stretched(pair_s, budget_s) => Some(stretched(&of, pair_s, budget_s)),
                Event::Diverged(until) => Some(format!("note: {of}{}", diverged(&until))),
                _ => None,
            };
            if let Some(note) = note {
                line.clear();
                output::talk_line(format_args!("{note}"));
            }
            if let Some(text) = live.text(&event, 2, options.plan.margin) {
                line.show_text(&(of.clone() + &text));
            }
            if let Event::Round(round, benchmarks) = event
                && requested == 1
            {
                exports.keep(benchmarks, || options.within(round.budget_s));
            }
        });
        drop(line);
        report.samples.set_amounts(args.amounts.bytes, args.amounts.operations, None);
        let interrupted = interrupt.is_requested();
        all.push(OnDemo { name, options, report });
        if interrupted {
            break;
        }
    }
    let to_count = to_count.filter(|_| !interrupt.is_requested());
    let counted = to_count.map(|planned| counted::counted(args, &planned, SAME_WITHIN, &interrupt));
    let demos = Demos { alpha: args.plan.alpha, margin: args.margin().ln_1p(), requested, all, counted };
    Ok((Measured::Demos(demos), exports))
}

/// What to do about a demo without frames.
pub const NO_FRAMES: &str = "its main thread waits in a call that ends none: record with --frame-on and that call, such as \
                             `--frame-on recvfrom`, `read` or `accept`; --metric instructions needs no frames";

/// Suggested next step, where replays of a demo have no frames to judge.
pub fn hint(demos: &Demos) -> Option<String> {
    let has_none = |one: &OnDemo| one.report.pairs > 0 && matches!(one.report.frames, Err(FrameError::Empty));
    demos.all.iter().any(has_none).then(|| NO_FRAMES.to_owned())
}

/// The first demo on which two builds could not be compared.
pub fn failure(demos: &Demos) -> Option<Failure> {
    demos.all.iter().find_map(|OnDemo { options, report, .. }| {
        let message = demo_failure(options, report)?;
        let Some(build) = report.ended.build() else {
            return Some(Failure::new(message).hint("--frames all compares all of them"));
        };
        let words = options.builds[build].command.iter().map(|word| word.to_string_lossy());
        let command = words.collect::<Vec<_>>().join(" ");
        let explain = format!("`prony replay --explain {} -- {command}` shows why", options.demo.path.display());
        Some(Failure::new(message).hint(match report.ended {
            DemoEnded::Diverged(..) => {
                format!("builds can be compared as a whole only if neither diverges; {explain}")
            }
            _ => explain,
        }))
    })
}

/// Names of demos: of their files, or their paths where several files have the same name.
pub fn names(demos: &[PathBuf]) -> Vec<String> {
    let short = |demo: &PathBuf| {
        demo.file_name().map_or_else(|| demo.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let of = |(place, demo): (usize, &PathBuf)| {
        let name = short(demo);
        let whole = demo.display().to_string();
        match demos.iter().filter(|other| short(other) == name).count() {
            1 => name,
            _ if demos.iter().filter(|other| **other == *demo).count() > 1 => format!("{whole} ({})", place + 1),
            _ => whole,
        }
    };
    demos.iter().enumerate().map(of).collect()
}

/// A demo as the arguments would have builds replay it.
pub fn source(args: &BenchArgs, demo: &Path, header: &Header) -> Result<DemoSource, Failure> {
    Ok(DemoSource {
        path: demo.to_owned(),
        limits: args.limits.into(),
        trusted: trust::of(demo, header, true, &args.trust)?,
        keep_variables: args.trust.keep_variable.clone(),
        files: (&args.files).into(),
        comparison: replay::comparison(args.replays.tolerance.as_deref(), args.replays.decoder.as_deref())?,
        under: args.replays.under.as_deref().map(replay::tool).transpose()?.unwrap_or_default(),
    })
}

/// What is measured on a demo, which is one of several: each of them has its part of the error.
fn options(args: &BenchArgs, demo: &Path, several: usize) -> Result<DemoOptions, Failure> {
    let opened = crate::demo::open_quietly("replay", demo)?;
    let [a, b] = args.commands.as_slice() else {
        return Err(Failure::new(format!("expected two builds for {}, found {}", demo.display(), args.commands.len()))
            .hint("use `prony replay` to measure one build"));
    };
    let builds = [build(args, a, 0)?, build(args, b, 1)?];
    options_of(args, demo, opened.header(), several, builds)
}

/// How these builds are measured on a demo, which is one of several.
///
/// # Errors
/// Flags that contradict each other, and a demo that is refused.
pub fn options_of(
    args: &BenchArgs,
    demo: &Path,
    header: &Header,
    several: usize,
    builds: [Build; 2],
) -> Result<DemoOptions, Failure> {
    Ok(DemoOptions {
        demo: source(args, demo, header)?,
        builds,
        plan: Plan {
            alpha: args.plan.alpha,
            margin: args.margin().ln_1p(),
            budget_s: budget(args).as_secs_f64(),
            metric: None,
            tolerates: args.plan.margin.is_some(),
        }
        .one_of(several),
        stretches: args.plan.max_time.is_none(),
        runs: args.plan.runs.map(|runs| runs as usize),
        warmup_runs: args.plan.warmup as usize,
        duet_cpu: if args.execution.duet { cpu(args)? } else { None },
        threshold: 0.0,
        seed: args.execution.seed.unwrap_or_else(random),
        frames: args.replays.frames.kind(),
        until_divergence: true,
        profile: args.replays.profile,
        machine: serde_json::to_value(prony_machine::facts(&Tree::machine())).unwrap_or_default(),
        tuning: tuning(args),
    })
}

/// Says beforehand that it takes longer than it mostly does.
fn stretched(of: &str, pair_s: f64, budget_s: f64) -> String {
    format!(
        "note: {of}a pair of replays takes {} s, so the time limit is {budget_s:.0} s, for up to {} pairs; --max-time \
         changes it",
        significant(pair_s),
        (budget_s / pair_s) as u64,
    )
}

fn build(args: &BenchArgs, text: &str, place: usize) -> Result<Build, Failure> {
    // A program that is not there is said to be so before anything is measured.
    let command = CommandLine::split(text).map_err(|error| Failure::new(format!("cannot replay: {error}")))?;
    let name = args.command_name.get(place).cloned().unwrap_or_else(|| text.to_owned());
    Ok(Build { name, command: command.in_words().into_iter().map(OsString::from).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demos_have_the_names_of_their_files_unless_these_are_alike() {
        let names = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(names(&["x/a.demo", "b.demo"]), ["a.demo", "b.demo"]);
        assert_eq!(names(&["x/a.demo", "y/a.demo"]), ["x/a.demo", "y/a.demo"]);
        assert_eq!(names(&["a.demo", "a.demo"]), ["a.demo (1)", "a.demo (2)"]);
    }

    #[test]
    fn what_takes_longer_than_mostly_is_said_beforehand() {
        assert_eq!(
            stretched("", 4.21, 56.0),
            "note: a pair of replays takes 4.21 s, so the time limit is 56 s, for up to 13 pairs; \
             --max-time changes it"
        );
    }
}
