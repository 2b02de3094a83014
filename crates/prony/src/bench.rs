//! `prony bench`: measures commands, builds on demos or the benchmarks of a suite, and says which is faster.

pub mod commands;
mod counted;
mod demos;
mod exports;
mod github;
pub mod layouts;
pub mod live;
mod settings;
mod shell;
mod subjects;
mod suite;

use exports::Exports;
use prony_bench::{Commands, Ended, Measured};
use prony_limits::{Limits, Workload};
use prony_report::{json, junit, text};
use prony_text::count;

use crate::cli::{BenchArgs, BenchMetric};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::limits::store;
use crate::output;
pub use settings::FIFO_PRIORITY;

/// Measures, leaves files, answers and says how it went.
///
/// # Errors
/// What kept it from running, a command that failed or a build that diverged among it.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    match (args.replays.demo.is_empty(), args.plan.metric) {
        (false, Some(BenchMetric::Instructions | BenchMetric::Event(_))) if args.hooks.layouts.layouts.is_some() => {
            return Err(Failure::new("--metric counts one binary of each build, and --layouts makes several")
                .hint("omit --layouts and --build to count; omit --metric to compare times over layouts"));
        }
        (false, Some(BenchMetric::Instructions | BenchMetric::Event(_))) => return counted::run(args),
        (true, Some(BenchMetric::Instructions | BenchMetric::Event(_))) => {
            return Err(Failure::new("--metric counts instructions and events of replays, and there is no --demo")
                .hint("record the server with `prony record`; of a command, `valgrind --tool=callgrind` counts them"));
        }
        (false, Some(BenchMetric::Measured(_))) => {
            return Err(Failure::new("builds on a demo are judged by CPU time, or by --metric instructions"));
        }
        (_, None) | (true, Some(BenchMetric::Measured(_))) => {}
    }
    let (measured, exports) = match () {
        () if args.hooks.layouts.layouts.is_some() => layouts::measure(args)?,
        () if !args.replays.demo.is_empty() => demos::measure(args)?,
        () if !args.python.pyperf.is_empty() => suite::measure(args)?,
        () => commands::measure(args)?,
    };
    finish(args, &measured, exports)
}

fn finish(args: &BenchArgs, measured: &Measured, exports: Exports) -> Result<Exit, Failure> {
    let cases = junit::cases(measured);
    exports.write(measured, &cases)?;
    let failed = failure(args, measured);
    print(args, measured, failed.is_some())?;
    github::annotate(&cases);
    // What failed leaves nothing to be warned of, except where others did not fail.
    if failed.is_none() || !is_alone(measured) {
        for warning in text::bench::warnings(measured) {
            output::talk_line(format_args!("warning: {warning}"));
        }
    }
    if let Some(failed) = failed {
        return Err(failed);
    }
    let hint = match measured {
        _ if measured.may_be_of_layout() => Some(
            "a difference of this size may be the layout of one binary: --layouts separates it from the code"
                .to_owned(),
        ),
        Measured::Commands(commands) => commands::hint(commands),
        Measured::Layouts(layouts) => layouts::hint(layouts),
        Measured::Demos(demos) => demos::hint(demos),
        Measured::Suite(_) => None,
    };
    if let Some(hint) = hint {
        eprintln!("hint: {hint}");
    }
    Ok(exit(measured))
}

/// Why there is no answer: a command failed, or a build diverged.
fn failure(args: &BenchArgs, measured: &Measured) -> Option<Failure> {
    match measured {
        Measured::Demos(demos) => demos::failure(demos),
        Measured::Suite(_) => None,
        Measured::Layouts(layouts) => layouts::failed(layouts),
        Measured::Commands(commands) => {
            let Ended::Failed(failed) = &commands.report.ended else { return None };
            if let Some(path) = args.exports.export_json.as_ref().filter(|_| commands.report.rounds > 0) {
                let rounds = count(commands.report.rounds as u64, "round");
                eprintln!("warning: {} contains the {rounds} before a command failed", path.display());
            }
            Some(commands::failure(failed, shell::requested(&args.shell).is_some()))
        }
    }
}

/// Prints the answer. What failed leaves none, except where others did not fail, on the frames before a divergence, and in
/// JSON, which has the error of a demo.
fn print(args: &BenchArgs, measured: &Measured, has_failed: bool) -> Result<(), Failure> {
    let is_alone = is_alone(measured);
    let is_partly_known = match measured {
        Measured::Demos(demos) => args.json || demos.all.iter().any(|one| one.report.until.is_some()),
        Measured::Layouts(layouts) => args.json && !layouts.demos.is_empty(),
        _ => false,
    };
    if has_failed && is_alone && !is_partly_known {
        return Ok(());
    }
    let holds_rates = !has_failed && is_alone && args.amounts.bytes.or(args.amounts.operations).is_some();
    let workloads = if holds_rates { Workload::all(&measured.samples()) } else { Vec::new() };
    let limits: Option<Limits> = if workloads.is_empty() { None } else { store::of_here() };
    match measured {
        _ if args.json => {
            let rates = json::limits::shares::rates(&workloads, limits.as_ref());
            output::print_json(&json::bench::answer(measured, rates))
        }
        // Each benchmark was printed when it was measured.
        Measured::Suite(_) => Ok(()),
        _ => output::print(&text::bench::answer(measured, holds_rates.then_some(limits.as_ref()))),
    }
}

/// True for one comparison; others are several, one after the other.
fn is_alone(measured: &Measured) -> bool {
    match measured {
        Measured::Commands(_) => true,
        Measured::Layouts(layouts) => layouts.requested() == 1,
        Measured::Demos(demos) => demos.requested == 1,
        Measured::Suite(_) => false,
    }
}

fn exit(measured: &Measured) -> Exit {
    let of_commands = |commands: &Commands| match Exit::of(commands.verdicts()) {
        Exit::Good if commands.is_incomplete() => Exit::NotTrusted,
        exit => exit,
    };
    match measured {
        Measured::Commands(commands) => of_commands(commands),
        Measured::Demos(demos) => Exit::of([demos.verdict()]),
        Measured::Layouts(layouts) => match Exit::of([layouts.verdict()]) {
            Exit::Good if layouts.is_incomplete() => Exit::NotTrusted,
            exit => exit,
        },
        Measured::Suite(suite) => worst(suite.all.iter().map(|(_, commands)| of_commands(commands))),
    }
}

/// A finding is one whatever else is found; what is not trusted leaves no answer good.
fn worst(exits: impl Iterator<Item = Exit>) -> Exit {
    exits.fold(Exit::Good, |worst, exit| match (worst, exit) {
        (Exit::Finding, _) | (_, Exit::Finding) => Exit::Finding,
        (Exit::NotTrusted, _) | (_, Exit::NotTrusted) => Exit::NotTrusted,
        _ => exit,
    })
}
