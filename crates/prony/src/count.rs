//! `prony count`: the instructions of builds on a demo.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, stderr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use prony_bench::count::{CountBy, CountComparison, CountError, CountOptions, CountVerdict, count};
use prony_bench::{Build, CommandLine, DemoSource};
use prony_machine::Interrupt;
use prony_machine::process::UserEvent;
use prony_replay::{ComparisonOptions, ReplayError, recorded_command};
use prony_report::{divergence, json, text};
use prony_text::Untrusted;

use crate::cli::CountArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{demo, output, trust};

/// Counts and answers.
///
/// # Errors
/// What kept it from running, a build that diverges among it.
pub fn run(args: &CountArgs) -> Result<Exit, Failure> {
    let opened = demo::open_quietly("replay", &args.demo)?;
    let builds = match args.commands.as_slice() {
        [] => vec![Build { name: recorded_command(opened.header()), command: Vec::new() }],
        commands => commands.iter().map(|command| build(command)).collect::<Result<_, _>>()?,
    };
    let options = CountOptions {
        demo: DemoSource {
            path: args.demo.clone(),
            limits: args.limits.into(),
            trusted: trust::of(&args.demo, opened.header(), !args.commands.is_empty(), &args.trust)?,
            keep_variables: args.trust.keep_variable.clone(),
            files: (&args.files).into(),
            comparison: ComparisonOptions::default(),
            under: Vec::new(),
        },
        builds,
        replays: args.runs,
        recorded: PathBuf::from(OsStr::from_bytes(&opened.header().executable)),
        frames: args.frames,
        events: args.events,
        inclusive: args.inclusive,
        by: match args.perf_event {
            Some(event) => CountBy::Kernel(event),
            None if args.callgrind => CountBy::Callgrind,
            None => CountBy::Fastest,
        },
    };
    drop(opened);
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let is_shown = stderr().is_terminal();
    let report = count(&options, Some(&interrupt), &mut |name, replay| {
        if is_shown {
            eprintln!("{}: replay {replay} of {}", Untrusted::new(name), args.runs);
        }
    });
    let report = report.map_err(|error| failure(&error))?;
    if args.json {
        output::print_json(&json::count::answer(args.fail_above, &report))?;
    } else {
        output::print(&text::count::text(&args.demo, args.fail_above, &report))?;
    }
    let mut builds = report.builds.iter();
    let first = builds.next();
    let is_more = |build| {
        first.is_some_and(|first| CountComparison::of(first, build).verdict(args.fail_above) == CountVerdict::More)
    };
    Ok(if builds.any(is_more) { Exit::Finding } else { Exit::Good })
}

/// A build from its command.
fn build(command: &str) -> Result<Build, Failure> {
    let words = CommandLine::words(command).map_err(|error| {
        Failure::new(format!("cannot use the command: {error}"))
            .hint("each command is one argument, such as './server -p 7000'")
    })?;
    Ok(Build { name: command.to_owned(), command: words.into_iter().map(OsString::from).collect() })
}

/// The error of counting, with the next step.
pub fn failure(error: &CountError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        CountError::Replay { error, .. } if matches!(**error, ReplayError::Program(_)) => {
            failure.hint("`apt-get install valgrind`, if that is missing")
        }
        CountError::Replay { demo, name, error } if matches!(**error, ReplayError::NotStarted { .. }) => {
            let demo = demo.display();
            failure.hint(format!("`prony replay {demo} --under 'valgrind --tool=none' -- {name}` shows what Valgrind and the server say"))
        }
        CountError::Diverged { demo, name, report } => {
            let place = report.divergence.as_ref().map_or_else(String::new, divergence::in_short);
            failure.hint(format!("{place}; `prony replay {} -- {name}` shows where", demo.display()))
        }
        CountError::NoEvent { event, .. } if *event != UserEvent::PageFaults => failure.hint(
            "virtual machines often have no counters of the processor; without them instructions are counted under Valgrind",
        ),
        CountError::EventLost { .. } => failure.hint(
            "the counters may serve others, such as `perf` or a watchdog, or the server's CPUs may be of several kinds; \
             under Valgrind instructions are counted all the same",
        ),
        CountError::Nothing(_) => {
            failure.hint("a server that changes its root directory, or was ended by SIGKILL, leaves none")
        }
        _ => failure,
    }
}
