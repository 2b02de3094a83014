//! `prony bench --demo`: two builds, replay by replay and frame by frame.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use prony_bench::{Build, CommandLine, DemoEnded, DemoOptions, DemoReport, Event};
use prony_machine::{Interrupt, Tree};
use prony_stats::frames::{self, FrameComparison};
use prony_stats::judge::{Outcome, Plan};
use prony_text::{Quantity, count, printable_line, significant, thousands};
use serde::Serialize;

use super::exports::Exports;
use super::human::{change, metrics, verdict, with_interval};
use super::json::{Answered, answered};
use super::live::Live;
use super::settings::{budget, cpu, random, tuning};
use super::{demos, github, junit, page};
use crate::cli::BenchArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::limits::compare::{self as limits, Held};
use crate::output;
use crate::progress::ProgressLine;
use crate::replay::divergence;
use crate::trust;

/// Frames that are listed; --json has all.
const LISTED: usize = 5;

/// A demo on which both builds were measured.
#[derive(Debug)]
pub struct Measured {
    /// Name of the demo in the answer, unlike that of any other.
    pub name: String,
    pub options: DemoOptions,
    pub report: DemoReport,
}

/// Replays, answers and says how it went.
///
/// # Errors
/// What kept it from running, a build that diverges among it.
pub fn run(args: &BenchArgs, demos: &[PathBuf]) -> Result<Exit, Failure> {
    // All of them are opened first: one that cannot be read is told at once.
    let planned: Vec<DemoOptions> =
        demos.iter().map(|demo| options(args, demo, demos.len())).collect::<Result<_, Failure>>()?;
    let names = demos::names(demos);
    let mut exports = Exports::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let several = demos.len() > 1;
    let mut measured = Vec::new();
    for (name, options) in names.into_iter().zip(planned) {
        let mut line = ProgressLine::new(true);
        let mut live = Live::new();
        let of = if several { format!("{name}: ") } else { String::new() };
        let mut report = prony_bench::bench_demo(&options, Some(&interrupt), &mut |event| {
            if let Event::Stretched(pair_s, budget_s) = event {
                line.clear();
                output::talk_line(format_args!("{}", stretched(&of, pair_s, budget_s)));
            }
            if let Some(text) = live.text(&event, 2, options.plan.margin) {
                line.show_text(&(of.clone() + &text));
            }
            if let Event::Round(round, benchmarks) = event
                && !several
            {
                exports.keep(benchmarks, || options.within(round.budget_s));
            }
        });
        drop(line);
        limits::note(&mut report.samples, args.bytes, args.operations, None);
        let interrupted = matches!(report.ended, DemoEnded::Interrupted);
        measured.push(Measured { name, options, report });
        if interrupted {
            break;
        }
    }
    let cases = demos::cases(&measured);
    exports.report(|| demos::markdown(args.alpha, &measured), || junit::document(&cases))?;
    if several {
        let samples = demos::samples(&measured);
        exports.write(&samples, &[], None)?;
        exports.page(|| page::of_pairs(&samples, &[], args.margin().ln_1p()))?;
        github::annotate(&cases);
        return demos::answer(args, &measured, demos.len());
    }
    let Some(Measured { options, report, .. }) = measured.pop() else { return Ok(Exit::NotTrusted) };
    exports.write(&report.samples, &[], None)?;
    let compared: Vec<(usize, usize, &Outcome)> = report.outcome.iter().map(|outcome| (0, 1, outcome)).collect();
    exports.page(|| page::of_pairs(&report.samples, &compared, options.plan.margin))?;
    if let Some(failure) = failure(&options, &report) {
        if args.json {
            output::print_json(&answer(&options, &report, Vec::new()))?;
        }
        github::annotate(&cases);
        return Err(failure);
    }
    let rates = args.bytes.or(args.operations).map(|_| limits::held(&report.samples)).unwrap_or_default();
    if args.json {
        output::print_json(&answer(&options, &report, rates))?;
    } else {
        output::print(&(text(&options, &report) + &limits::lines(&rates)))?;
    }
    github::annotate(&cases);
    warn(&report, "");
    Ok(report.outcome.as_ref().map_or(Exit::NotTrusted, |outcome| Exit::of([outcome.verdict])))
}

/// What to know before the answer is relied on. `of`: which demo, if there are several.
pub fn warn(report: &DemoReport, of: &str) {
    for warning in &report.warnings {
        output::talk_line(format_args!("warning: {of}{warning}"));
    }
    if matches!(report.ended, DemoEnded::Interrupted) {
        output::talk_line(format_args!("warning: {of}interrupted after {}", count(report.pairs as u64, "pair")));
    }
}

/// What is measured on a demo, which is one of several: each of them has its part of the error.
fn options(args: &BenchArgs, demo: &Path, several: usize) -> Result<DemoOptions, Failure> {
    let opened = crate::demo::open_quietly("replay", demo)?;
    let [a, b] = args.commands.as_slice() else {
        return Err(Failure::new(format!("expected two builds for {}, found {}", demo.display(), args.commands.len()))
            .hint("use `prony replay` to measure one build"));
    };
    Ok(DemoOptions {
        trusted: trust::of(demo, opened.header(), true, &args.trust)?,
        keep_variables: args.trust.keep_variable.clone(),
        files: (&args.files).into(),
        demo: demo.to_owned(),
        limits: args.limits.into(),
        builds: [build(args, a, 0)?, build(args, b, 1)?],
        plan: Plan {
            alpha: args.alpha / several as f64,
            margin: args.margin().ln_1p(),
            budget_s: budget(args).as_secs_f64(),
            metric: None,
            tolerates: args.margin.is_some(),
        },
        stretches: args.max_time.is_none(),
        runs: args.runs.map(|runs| runs as usize),
        warmup_runs: args.warmup as usize,
        duet_cpu: if args.duet { cpu(args)? } else { None },
        threshold: 0.0,
        seed: args.seed.unwrap_or_else(random),
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

/// Frames from which on durations are told for as many as everybody's, and not for those of the demo.
const NORMALISED_FROM: usize = 1000;

/// `2.75 s for 120,000 frames`, or `0.52 s for its 151 frames`: few frames say nothing of so many more.
fn duration(build: &frames::Build, frames: usize) -> String {
    let whole_s = build.frame_s.estimate * frames as f64;
    match frames {
        NORMALISED_FROM.. => format!("{:.2} s for 120,000 frames", build.normalised_s),
        frames => format!("{} s for its {}", significant(whole_s), count(frames as u64, "frame")),
    }
}

fn build(args: &BenchArgs, text: &str, place: usize) -> Result<Build, Failure> {
    let command = CommandLine::split(text).map_err(|error| Failure::new(format!("cannot replay: {error}")))?;
    let name = args.command_name.get(place).cloned().unwrap_or_else(|| text.to_owned());
    Ok(Build { name, command: command.arguments })
}

/// Why two builds could not be compared on a demo.
pub fn failure(options: &DemoOptions, report: &DemoReport) -> Option<Failure> {
    let replay = |build: usize| {
        let words = options.builds[build].command.iter().map(|word| word.to_string_lossy());
        let command = words.collect::<Vec<_>>().join(" ");
        format!("`prony replay --explain {} -- {command}` shows why", options.demo.display())
    };
    match &report.ended {
        DemoEnded::Complete | DemoEnded::Interrupted => None,
        DemoEnded::Replay(build, error) => Some(
            Failure::new(format!(
                "cannot replay {} against `{}`: {error}",
                options.demo.display(),
                options.builds[*build].name
            ))
            .hint(replay(*build)),
        ),
        DemoEnded::Diverged(build, found) => {
            let place = found.divergence.as_ref().map_or_else(String::new, |found| {
                format!(
                    " at record {} of frame {}: {}",
                    thousands(found.record),
                    thousands(found.frame),
                    divergence::in_short(found)
                )
            });
            Some(
                Failure::new(format!(
                    "`{}` diverged from {}{place}",
                    options.builds[*build].name,
                    options.demo.display()
                ))
                .hint(format!("builds can be compared only if both replay identically; {}", replay(*build))),
            )
        }
    }
}

/// The answer for people.
pub fn text(options: &DemoOptions, report: &DemoReport) -> String {
    let mut out = String::new();
    let frames = match &report.frames {
        Ok(frames) => Some(frames),
        Err(error) => {
            let _ = writeln!(out, "{error}");
            None
        }
    };
    if let Some(frames) = frames {
        for (letter, name, build) in
            [("A", &options.builds[0].name, frames.a), ("B", &options.builds[1].name, frames.b)]
        {
            let _ = writeln!(
                out,
                "{letter}  {}  {} a frame, {}, n = {}",
                printable_line(name),
                with_interval(&Quantity::of(build.frame_s.estimate, "second"), &build.frame_s),
                duration(&build, frames.frames),
                frames.pairs,
            );
        }
    }
    if let Some(outcome) = &report.outcome {
        let _ = writeln!(out, "{}", verdict("B", outcome, options.plan.margin, false));
        metrics(&mut out, outcome, "cpu");
    }
    if let Some(frames) = frames {
        by_frame(&mut out, frames);
    }
    out
}

/// Quantiles of a replay's frames, and the frames that stand out.
pub fn by_frame(out: &mut String, frames: &FrameComparison) {
    let _ = writeln!(out, "  CPU time of {} frames:", thousands(frames.frames as u64));
    for quantile in &frames.quantiles {
        let name = match quantile.p {
            p if p >= 1.0 => "max".to_owned(),
            p => format!("p{:.0}", p * 100.0),
        };
        let scale = Quantity::of(quantile.a_s, "second");
        let _ = writeln!(
            out,
            "    {name:4} {} → {}  {}",
            scale.value(quantile.a_s),
            scale.value(quantile.b_s),
            change(&quantile.ratio)
        );
    }
    if frames.changed.is_empty() {
        return;
    }
    let changed = count(frames.changed.len() as u64, "frame");
    let _ = writeln!(out, "  {changed} whose change differs from that of the typical frame:");
    for change in frames.changed.iter().take(LISTED) {
        let scale = Quantity::of(change.a_s, "second");
        let _ = writeln!(
            out,
            "    frame {:>7}  {} → {}",
            thousands(change.frame as u64),
            scale.value(change.a_s),
            scale.value(change.b_s)
        );
    }
    if frames.changed.len() > LISTED {
        let _ = writeln!(out, "    and {} more", thousands((frames.changed.len() - LISTED) as u64));
    }
}

/// JSON document of the answer.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    #[serde(flatten)]
    verdict: Option<Answered>,
    seconds: f64,
    complete: bool,
    alpha: f64,
    seed: u64,
    commands: [&'a str; 2],
    frames: Option<&'a FrameComparison>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rates: Vec<Held>,
    warnings: Vec<String>,
    /// Why the builds could not be compared; there is no verdict then.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The answer as JSON.
pub fn answer<'a>(options: &'a DemoOptions, report: &'a DemoReport, rates: Vec<Held>) -> Answer<'a> {
    let error = failure(options, report).map(|failure| failure.message().to_owned());
    Answer {
        verdict: report.outcome.as_ref().filter(|_| error.is_none()).map(|outcome| answered(outcome, "cpu")),
        seconds: report.elapsed_s,
        complete: matches!(report.ended, DemoEnded::Complete),
        alpha: options.plan.alpha,
        seed: options.seed,
        commands: [&options.builds[0].name, &options.builds[1].name],
        frames: report.frames.as_ref().ok(),
        rates,
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_stats::Interval;

    #[test]
    fn a_demo_of_few_frames_is_told_by_its_own() {
        let frame_s = Interval { estimate: 0.0052, low: 0.005, high: 0.0054, n: 12, confidence: 0.95 };
        let build = frames::Build { frame_s, normalised_s: 624.0 };
        assert_eq!(duration(&build, 151), "0.785 s for its 151 frames");
        assert_eq!(duration(&build, 6_705), "624.00 s for 120,000 frames");
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
