//! `prony bench --layouts`: two programs, each built in many layouts.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use prony_bench::layouts::{
    Event, LayoutError, LayoutOptions, Layouts, Needs, SEED_VARIABLE, Side, bench_layouts, link as link_in_order,
};
use prony_bench::{CommandLine, Measured, Subject, quoted};
use prony_machine::Interrupt;
use prony_report::text::bench::layouts::plan;

use super::commands;
use super::exports::Exports;
use crate::cli::{BenchArgs, LinkArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::ProgressLine;

/// Exit code of a linker that could not be run; the compiler driver reports it.
const NO_LINK: u8 = 1;

/// Builds and measures both programs.
///
/// # Errors
/// A build that fails, and what kept it from running.
pub fn measure(args: &BenchArgs) -> Result<(Measured, Exports), Failure> {
    let sides = sides(args)?;
    let subjects = vec![subject(args, 0, &sides[0])?, subject(args, 1, &sides[1])?];
    let ourselves = env::current_exe().map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let here = env::current_dir().map_err(|error| Failure::new(format!("cannot find this directory: {error}")))?;
    let options = LayoutOptions {
        sides,
        layouts: args.hooks.layouts.layouts.unwrap_or_default() as usize,
        directory: here,
        link: vec![ourselves.to_string_lossy().into_owned(), "link".to_owned()],
        bench: commands::options_of(args, subjects)?,
    };
    let exports = Exports::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut line = ProgressLine::new(true);
    let report = bench_layouts(&options, Some(&interrupt), &mut |event| match event {
        Event::Building { done, of } => line.show_text(&format!("building: {done} of {of}")),
        Event::Round { done, elapsed_s } => line.show_text(&format!("round {done}, {elapsed_s:.0} s")),
        Event::Planned(spreads) => {
            line.clear();
            output::talk_line(format_args!("note: {}", plan(&spreads)));
        }
    });
    drop(line);
    let report = report.map_err(|error| failure(&error))?;
    Ok((Measured::Layouts(Box::new(Layouts { options, report })), exports))
}

/// Both commands with what builds them.
fn sides(args: &BenchArgs) -> Result<[Side; 2], Failure> {
    let found = args.commands.len();
    let [a, b] = args.commands.as_slice() else {
        return Err(Failure::new(format!("expected two commands for --layouts, found {found}")));
    };
    let count = |flag: &str, texts: &[String], least: usize| match texts.len() {
        n if (least..=2).contains(&n) => Ok(()),
        n => Err(Failure::new(format!("expected one {flag}, or one for each of 2 commands, found {n}"))),
    };
    count("--build", &args.hooks.layouts.build, 1)?;
    count("--program", &args.hooks.layouts.program, 0)?;
    for (flag, texts) in [("--prepare", &args.hooks.prepare), ("--conclude", &args.hooks.conclude)] {
        count(flag, texts, 0)?;
    }
    count("--command-name", &args.command_name, 0)?;
    Ok([side(args, 0, a)?, side(args, 1, b)?])
}

/// The text for this command: its own, or the one for both.
fn of(texts: &[String], place: usize) -> Option<&String> {
    if texts.len() > 1 { texts.get(place) } else { texts.first() }
}

fn side(args: &BenchArgs, place: usize, command: &str) -> Result<Side, Failure> {
    let words = CommandLine::words(command).map_err(|error| Failure::new(format!("cannot build: {error}")))?;
    let program = of(&args.hooks.layouts.program, place).or(words.first()).cloned().unwrap_or_default();
    let program_words: Vec<usize> = (0..words.len()).filter(|&word| words.get(word) == Some(&program)).collect();
    if program_words.is_empty() {
        let failure = Failure::new(format!("--program: `{command}` has no word `{program}`"));
        return Err(failure.hint("write the path in the command as in --program: each layout has a copy in its place"));
    }
    if !program.contains('/') {
        let failure = Failure::new(format!("`{program}` names no file that a build makes"));
        return Err(
            failure.hint(format!("give its path, such as ./{program}; of a command that runs it, use --program"))
        );
    }
    let build = of(&args.hooks.layouts.build, place).cloned().unwrap_or_default();
    Ok(Side {
        name: args.command_name.get(place).cloned().unwrap_or_else(|| command.to_owned()),
        build: build.replace("{program}", &quoted([program.as_str()])),
        program: std::path::absolute(&program).unwrap_or_else(|_| PathBuf::from(&program)),
        words,
        program_words,
    })
}

/// The command of a side. Its program need not be there before the first build.
fn subject(args: &BenchArgs, place: usize, side: &Side) -> Result<Subject, Failure> {
    let arguments: Vec<OsString> = side.words.iter().map(OsString::from).collect();
    let command = match side.program_words.first() {
        Some(0) => CommandLine { program: side.program.clone(), arguments },
        _ => CommandLine::of_words(arguments).map_err(|error| Failure::new(format!("cannot measure: {error}")))?,
    };
    Ok(Subject {
        name: side.name.clone(),
        command,
        prepare: of(&args.hooks.prepare, place).cloned(),
        conclude: of(&args.hooks.conclude, place).cloned(),
        setup: None,
        cleanup: None,
        template: None,
        parameters: BTreeMap::new(),
    })
}

/// What went wrong, and what to do.
fn failure(error: &LayoutError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        LayoutError::Failed { printed, .. } => failure.printed(&printed.join("\n")),
        LayoutError::NoProgram { .. } => {
            failure.hint("the path is that of the command, or of --program; --build runs in this directory")
        }
        LayoutError::Identical { has_links: false, .. } => failure.hint(format!(
            "no linker was run that orders sections (GNU ld, lld, mold, go 1.22): the build must link again, as `make -B` or, \
             with cargo, after `touch src/main.rs`; other linkers get the seed from ${SEED_VARIABLE}"
        )),
        LayoutError::Identical { has_links: true, .. } => failure.hint(
            "the program may have one function only, or its objects were not compiled again: use `make -B`, or clean first",
        ),
        LayoutError::Io { .. } | LayoutError::Bench(_) | LayoutError::Interrupted => failure,
    }
}

/// Suggested next step, as a phrase; `None` if there is none.
pub fn hint(layouts: &Layouts) -> Option<String> {
    Some(match layouts.report.needs()? {
        Needs::Time(seconds) => {
            format!("most of the spread comes from the runs, not from layouts: try --max-time {}s", seconds.ceil())
        }
        Needs::Layouts(needed) => format!("--layouts {needed} detects 1 %"),
    })
}

/// Runs a linker for a build of `--layouts`.
pub fn link(args: &LinkArgs) -> ExitCode {
    let Some((name, arguments)) = args.linker.split_first() else { return Exit::CouldNotRun.into() };
    match link_in_order(&name.to_string_lossy(), arguments) {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(NO_LINK)),
        Err(error) => {
            eprint!("{}", Failure::new(format!("cannot link: {error}")));
            ExitCode::from(NO_LINK)
        }
    }
}
