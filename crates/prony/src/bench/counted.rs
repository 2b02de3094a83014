//! `prony bench --demo` with `--metric instructions`, or with `--count`: the instructions of two builds on demos.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stderr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use prony_bench::count::{CountBy, CountOptions, CountVerdict, SAME_WITHIN};
use prony_bench::counted::{CountedDemo, CountedDemos};
use prony_bench::{Build, CommandLine};
use prony_machine::Interrupt;
use prony_report::{json, junit, markdown, text};
use prony_text::Untrusted;

use super::exports::{VERSION, write};
use super::{demos, github};
use crate::cli::{BenchArgs, BenchMetric, REPLAYS_COUNTED};
use crate::count;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// Counts, leaves files, answers.
///
/// # Errors
/// What kept it from running, a build that diverges among it.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    refuse_files_of_samples(args)?;
    if let Some(tool) = &args.replays.under {
        let failure =
            Failure::new(format!("cannot count under `{tool}`: what counts would have to start the builds, too"));
        return Err(failure.hint("omit --under, or --metric instructions to compare times under the tool"));
    }
    if args.replays.events && matches!(args.plan.metric, Some(BenchMetric::Event(_))) {
        return Err(Failure::new("--events simulates caches under Callgrind, and the kernel is to count")
            .hint("omit --events, or use --metric instructions"));
    }
    // All of them are opened first, so that one that cannot be read is reported immediately.
    let planned = planned(args)?;
    let file = |path: &Option<PathBuf>| path.as_deref().map(|path| NewFile::create(path, true)).transpose();
    let (table, tests) = (file(&args.exports.export_markdown)?, file(&args.exports.export_junit)?);
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let counted = counted(args, &planned, args.plan.margin.unwrap_or(SAME_WITHIN), &interrupt);
    let cases = junit::of_counts(&counted);
    if let Some(file) = table {
        write(file, markdown::counted::markdown(&counted, VERSION).as_bytes())?;
    }
    if let Some(file) = tests {
        write(file, junit::document(&cases).as_bytes())?;
    }
    match args.json {
        true => output::print_json(&json::counted::answer(&counted))?,
        false => output::print(&text::counted::text(&counted))?,
    }
    github::annotate(&cases);
    match counted.all.iter().find_map(|demo| demo.report.as_ref().err()) {
        Some(error) => Err(count::failure(error)),
        None if counted.verdict() == Some(CountVerdict::More) => Ok(Exit::Finding),
        None if counted.verdict().is_none() => Ok(Exit::NotTrusted),
        None => Ok(Exit::Good),
    }
}

/// What is counted on each demo.
///
/// # Errors
/// A demo that cannot be read, or is refused.
pub fn planned(args: &BenchArgs) -> Result<Vec<CountOptions>, Failure> {
    args.replays.demo.iter().map(|demo| options(args, demo)).collect()
}

/// Counts on each demo, until it is interrupted. `limit`: a share of A's instructions below it is no difference.
pub fn counted(args: &BenchArgs, planned: &[CountOptions], limit: f64, interrupt: &Interrupt) -> CountedDemos {
    let is_shown = stderr().is_terminal();
    let mut all = Vec::new();
    for (name, options) in demos::names(&args.replays.demo).into_iter().zip(planned) {
        let mut show = |build: &str, replay: u32| {
            if is_shown {
                let (name, build) = (Untrusted::new(&name), Untrusted::new(build));
                eprintln!("{name}: {build}: replay {replay} of {}", options.replays);
            }
        };
        all.push(CountedDemo::count(name.clone(), options, Some(interrupt), &mut show));
        if interrupt.is_requested() {
            break;
        }
    }
    let builds = [0, 1].map(|build| planned.first().map_or_else(String::new, |first| first.builds[build].name.clone()));
    CountedDemos { requested: args.replays.demo.len(), limit, builds, all }
}

/// Samples, and what is drawn of them, there are none.
fn refuse_files_of_samples(args: &BenchArgs) -> Result<(), Failure> {
    let files = &args.exports;
    let requested = [
        (&files.export_json, "--export-json"),
        (&files.export_hyperfine, "--export-hyperfine"),
        (&files.export_csv, "--export-csv"),
        (&files.export_html, "--export-html"),
    ];
    match requested.into_iter().find(|(path, _)| path.is_some()) {
        Some((_, flag)) => Err(Failure::new(format!("{flag} is for times, and --metric instructions measures none"))
            .hint("--json, --export-markdown and --export-junit have the counts")),
        None => Ok(()),
    }
}

/// What is counted on a demo.
fn options(args: &BenchArgs, demo: &Path) -> Result<CountOptions, Failure> {
    let opened = crate::demo::open_quietly("replay", demo)?;
    if args.commands.len() != 2 {
        return Err(Failure::new(format!("expected two builds for {}, found {}", demo.display(), args.commands.len()))
            .hint("use `prony count` for one build, or for more than two"));
    }
    let builds = args.commands.iter().enumerate().map(|(place, text)| {
        let command = CommandLine::words(text).map_err(|error| Failure::new(format!("cannot replay: {error}")))?;
        let name = args.command_name.get(place).cloned().unwrap_or_else(|| text.clone());
        Ok(Build { name, command: command.into_iter().map(OsString::from).collect() })
    });
    Ok(CountOptions {
        demo: demos::source(args, demo, opened.header())?,
        builds: builds.collect::<Result<_, Failure>>()?,
        replays: args.plan.runs.filter(|_| !args.replays.count).unwrap_or(REPLAYS_COUNTED),
        recorded: PathBuf::from(OsStr::from_bytes(&opened.header().executable)),
        frames: false,
        events: args.replays.events,
        inclusive: false,
        by: match args.plan.metric {
            Some(BenchMetric::Event(event)) => CountBy::Kernel(event),
            _ => CountBy::Fastest,
        },
    })
}
