//! `prony bench --layouts`: two programs, each built in many layouts.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use prony_bench::layouts::{
    Bolt, BuildOptions, DemoLayoutOptions, Event, LayoutError, LayoutOptions, LayoutReport, Layouts, LayoutsEnded,
    Needs, SEED_VARIABLE, Side, bench_demos_in_layouts, bench_layouts, link as link_in_order,
};
use prony_bench::{Build, CommandLine, DemoOptions, Measured, Subject, assignments, quoted, split_variables};
use prony_machine::Interrupt;
use prony_report::{layout_failure, layout_plan};

use super::exports::Exports;
use super::{commands, demos};
use crate::cli::{BenchArgs, LinkArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::random;
use crate::output;
use crate::progress::ProgressLine;

/// Exit code of a linker that could not be run; the compiler driver reports it.
const NO_LINK: u8 = 1;

/// Builds and measures both programs, by runs or by replays of demos.
///
/// # Errors
/// A build that fails, and what kept it from running.
pub fn measure(args: &BenchArgs) -> Result<(Measured, Exports), Failure> {
    let sides = sides(args)?;
    // Demos are opened before anything is built, so that one that cannot be read is reported immediately.
    let plan = if args.replays.demo.is_empty() { of_commands(args, sides)? } else { of_demos(args, sides)? };
    let exports = Exports::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut line = ProgressLine::new(true);
    let mut of = String::new();
    let events = &mut |event| match event {
        Event::Building { done, of } => line.show_text(&format!("building: {done} of {of}")),
        Event::Demo(number) => of = plan.name_of(number),
        Event::Round { done, elapsed_s } => line.show_text(&format!("{of}round {done}, {elapsed_s:.0} s")),
        Event::Planned(spreads) => {
            line.clear();
            output::talk_line(format_args!("note: {of}{}", layout_plan(&spreads)));
        }
    };
    let layouts = match &plan {
        Planned::Commands(options) => bench_layouts(options, Some(&interrupt), events),
        Planned::Demos(options) => bench_demos_in_layouts(options, Some(&interrupt), events),
    };
    drop(line);
    let layouts = layouts.map_err(|error| failure(&error))?;
    Ok((Measured::Layouts(Box::new(layouts)), exports))
}

/// What is to be measured.
enum Planned {
    Commands(Box<LayoutOptions>),
    Demos(Box<DemoLayoutOptions>),
}

impl Planned {
    /// Name of a demo before what is said of it, if there are several.
    fn name_of(&self, number: usize) -> String {
        match self {
            Planned::Demos(options) if options.demos.len() > 1 => {
                options.demos.get(number).map_or_else(String::new, |(name, _)| format!("{name}: "))
            }
            Planned::Commands(_) | Planned::Demos(_) => String::new(),
        }
    }
}

fn of_commands(args: &BenchArgs, sides: [Side; 2]) -> Result<Planned, Failure> {
    let subjects = vec![subject(args, 0, &sides[0])?, subject(args, 1, &sides[1])?];
    let bench = commands::options_of(args, subjects)?;
    let builds = builds(args, sides, bench.seed)?;
    Ok(Planned::Commands(Box::new(LayoutOptions { builds, bench })))
}

fn of_demos(args: &BenchArgs, sides: [Side; 2]) -> Result<Planned, Failure> {
    let paths = &args.replays.demo;
    let seed = args.execution.seed.unwrap_or_else(random);
    let mut all = Vec::new();
    for (name, path) in demos::names(paths).into_iter().zip(paths) {
        let opened = crate::demo::open_quietly("replay", path)?;
        let builds = sides
            .each_ref()
            .map(|side| Build { name: side.name.clone(), command: side.words.iter().map(OsString::from).collect() });
        let options = demos::options_of(args, path, opened.header(), paths.len(), builds)?;
        all.push((name, DemoOptions { seed, ..options }));
    }
    let builds = builds(args, sides, seed)?;
    Ok(Planned::Demos(Box::new(DemoLayoutOptions { builds, alpha: args.plan.alpha, demos: all })))
}

/// What is built.
fn builds(args: &BenchArgs, sides: [Side; 2], seed: u64) -> Result<BuildOptions, Failure> {
    let bolt = match args.hooks.layouts.bolt {
        false => None,
        true => Some(Bolt::find().ok_or_else(|| {
            Failure::new("--bolt: expected llvm-bolt in PATH, found none").hint("Debian has it as bolt-19")
        })?),
    };
    let ourselves = env::current_exe().map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    Ok(BuildOptions {
        sides,
        layouts: args.hooks.layouts.layouts.unwrap_or_default() as usize,
        directory: env::current_dir().map_err(|error| Failure::new(format!("cannot find this directory: {error}")))?,
        link: vec![ourselves.to_string_lossy().into_owned(), "link".to_owned()],
        bolt,
        keep: args.hooks.layouts.keep_builds.clone(),
        seed,
    })
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
    let program =
        of(&args.hooks.layouts.program, place).or(words.get(assignments(&words))).cloned().unwrap_or_default();
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
    let (variables, arguments) = split_variables(&arguments);
    let arguments = arguments.to_vec();
    let command = match side.program_words.first() {
        Some(&word) if word == variables.len() => CommandLine { program: side.program.clone(), arguments, variables },
        _ => CommandLine {
            variables,
            ..CommandLine::of_words(arguments).map_err(|error| Failure::new(format!("cannot measure: {error}")))?
        },
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
        LayoutError::Bolt { printed, .. } => failure.printed(&printed.join("\n")).hint(
            "the build must link the program again, keep its symbols, and run no `strip`; without --bolt each layout is a build",
        ),
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
        LayoutError::Occupied(_) => failure.hint("--keep-builds overwrites nothing: remove it, or name another one"),
        LayoutError::Io { .. } | LayoutError::Bench(_) | LayoutError::Interrupted => failure,
    }
}

/// The first comparison that could not be made: a command failed, or a build diverged.
pub fn failed(layouts: &Layouts) -> Option<Failure> {
    layouts.all().find_map(|(demo, report)| {
        if let LayoutsEnded::Failed(failed) = &report.ended {
            return Some(commands::failure(failed, false));
        }
        let failure = Failure::new(layout_failure(layouts, demo, report)?);
        let Some(layout) = report.ended.layout() else {
            return Some(failure.hint(match report.ended {
                LayoutsEnded::NoFrame(_, 0) => demos::NO_FRAMES,
                _ => "--frames all compares all of them",
            }));
        };
        let side = &layouts.builds.sides[layout.side];
        let explain = demo.map_or_else(String::new, |demo| {
            let words = quoted(side.words.iter().map(String::as_str));
            format!("`prony replay --explain {} -- {words}` shows why", demo.path.display())
        });
        Some(failure.hint(match (&report.ended, layout.seed) {
            (LayoutsEnded::OtherFrames(..), _) => "--frames all compares all of them".to_owned(),
            (LayoutsEnded::Diverged(..), Some(_)) => format!(
                "if the build does not diverge as it is, what it sends depends on where its functions and variables lie; --seed {} \
                 makes the same layouts again, and {explain}",
                layouts.builds.seed
            ),
            _ => explain,
        }))
    })
}

/// Suggested next step, as a phrase; `None` if there is none.
pub fn hint(layouts: &Layouts) -> Option<String> {
    let needs = layouts.reports.iter().find_map(LayoutReport::needs)?;
    Some(match needs {
        Needs::Time(seconds) => {
            let what = if layouts.demos.is_empty() { "runs" } else { "replays" };
            format!("most of the spread comes from the {what}, not from layouts: try --max-time {}s", seconds.ceil())
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
