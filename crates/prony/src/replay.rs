//! `prony replay`: shows what the replay of a demo found.

mod source;
mod steps;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use prony_bench::{CommandLine, split_variables};
use prony_demo::tolerance::Rules;
use prony_machine::Interrupt;
use prony_replay::{
    AcceptOptions, Cause, ComparisonOptions, DebuggerError, DecoderError, DivergenceClass, OverlayError, ReplayError,
    ReplayOptions, ReplayReport, StateError, StateOptions, TapeError, ToolOptions, ToolRun, TrustOptions, Verdict,
    WeakReason,
};
use prony_report::{json, text};

use crate::cli::ReplayArgs;
use crate::demo;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::progress::ProgressLine;
use crate::trust;

/// Replays, answers and says how it went; `replay` does the replaying.
///
/// # Errors
/// What kept it from running.
pub fn run(
    args: &ReplayArgs,
    replay: impl FnOnce(&ReplayArgs, Option<Rules>) -> Result<ReplayReport, Failure>,
) -> Result<Exit, Failure> {
    let rules = rules_for(args.comparison.tolerance.as_deref(), args.comparison.decoder.as_deref())?;
    let demo = demo::open_quietly("replay", &args.demo)?;
    match demo.truncation() {
        Some(cut) if !args.comparison.allow_truncated => return Err(Failure::truncated(&args.demo, cut)),
        Some(cut) => eprintln!("warning: {} ends early: {cut}", args.demo.display()),
        None => {}
    }
    let mut args = args.clone();
    args.trust.trust_demo = trust::of(&args.demo, demo.header(), !args.command.is_empty(), &args.trust)?;
    let args = &args;
    let objects = source::objects(&demo, &args.command);
    drop(demo);
    // A path that cannot be written is reported at once.
    let page = args.export_html.as_deref().map(|path| NewFile::create(path, true)).transpose()?;
    let mut report = replay(args, rules)?;
    if let Some(found) = &mut report.divergence {
        source::name_lines(&mut found.backtrace, &objects);
    }
    if let Some(page) = page {
        demo::view::export(&args.demo, json::replay::answer(&report), page)?;
    }
    if args.json {
        output::print_json(&json::replay::answer(&report))?;
    } else {
        output::print(&whole_text(args, &report))?;
    }
    for warning in &report.warnings {
        eprintln!("warning: {warning}");
    }
    if let Some(hint) = hint(args, &report) {
        eprintln!("hint: {hint}");
    }
    if let Some(hint) = debug_hint(args, &report) {
        eprintln!("hint: {hint}");
    }
    Ok(exit(&report))
}

/// The answer for people, with what may have caused a divergence if that is requested.
pub fn whole_text(args: &ReplayArgs, report: &ReplayReport) -> String {
    let answer = text::replay::text(&args.demo, report);
    match report.divergence.as_ref().filter(|_| args.execution.explain) {
        Some(found) => {
            let step = |cause: &Cause| steps::step(args, report, found, cause);
            answer + &text::replay::causes::text(report, args.execution.show_output, &step)
        }
        None => answer,
    }
}

/// Reads the rules of a tolerance file, if one is given, for outputs that this decoder reads.
fn rules_for(tolerance: Option<&Path>, decoder: Option<&str>) -> Result<Option<Rules>, Failure> {
    let rules = tolerance.map(rules).transpose()?;
    if decoder.is_none() && rules.as_ref().is_some_and(Rules::has_decoded) {
        let path = tolerance.unwrap_or(Path::new(""));
        let failure = Failure::new(format!("cannot use {}: [[decoded]] needs a decoder", path.display()));
        return Err(failure.hint("name one with --decoder COMMAND"));
    }
    Ok(rules)
}

/// Comparison of outputs by the rules of a tolerance file and by a decoder, for the verbs that measure replays.
///
/// # Errors
/// A file that cannot be read, or is no tolerance file, and a decoder that is no command.
pub fn comparison(tolerance: Option<&Path>, command: Option<&str>) -> Result<ComparisonOptions, Failure> {
    let tolerance = rules_for(tolerance, command)?;
    Ok(ComparisonOptions { tolerance, decoder: command.map(decoder).transpose()?.unwrap_or_default() })
}

/// Reads the rules of a tolerance file.
fn rules(path: &Path) -> Result<Rules, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))?;
    Rules::parse(&text).map_err(|error| {
        Failure::new(format!("cannot use {}: {error}", path.display()))
            .hint("a rule: [[datagram]] with fields = [{ at = 12, type = \"f32le\", within = 0.001 }]")
    })
}

/// 0 only when bytes were verified and all of them were equal, and a tool has found nothing.
pub fn exit(report: &ReplayReport) -> Exit {
    match (&report.verdict, &report.divergence) {
        (Verdict::Identical, _) if report.tool.as_ref().is_some_and(ToolRun::has_finding) => Exit::Finding,
        (Verdict::Identical, _) if report.counted.output_bytes > 0 => Exit::Good,
        (Verdict::Identical | Verdict::Weak(_), _) => Exit::NotTrusted,
        // The thread may only have been slow, so nothing is known of the build.
        (Verdict::Diverged, Some(divergence)) if divergence.class == DivergenceClass::Starvation => Exit::NotTrusted,
        (Verdict::Diverged | Verdict::Tolerant, _) => Exit::Finding,
    }
}

/// Suggested next step, as a phrase; `None` if there is none.
pub fn hint(args: &ReplayArgs, report: &ReplayReport) -> Option<String> {
    match (&report.verdict, &report.divergence) {
        (Verdict::Weak(_), _) if report.counted.output_bytes == 0 => {
            Some("record while clients are connected: without output there is nothing to compare".to_owned())
        }
        (Verdict::Weak(reasons), _) if reasons.iter().all(WeakReason::is_of_environment) => {
            Some("use --ignore-environment to accept the result anyway".to_owned())
        }
        (Verdict::Weak(reasons), _)
            if reasons.iter().any(|reason| matches!(reason, WeakReason::EndedByTool { .. })) =>
        {
            Some("let the tool run the server to its end for a verdict, as with `-ex continue` of gdb".to_owned())
        }
        // No option makes more of what was recorded.
        (Verdict::Weak(reasons), _) if reasons.iter().any(|reason| matches!(reason, WeakReason::Missed(_))) => {
            Some("avoid what was missed, if the server can do without it, and record again".to_owned())
        }
        (Verdict::Weak(_), _) => Some("record longer, with busy clients".to_owned()),
        (_, Some(found)) => {
            let hint = steps::hint(args, report, found);
            Some(match report.from_demo.variables_withheld.as_slice() {
                [] => hint,
                names => {
                    format!("{hint}; the build lacks recorded variables: use {}", trust::keep_options(names))
                }
            })
        }
        _ if !report.from_demo.variables_withheld.is_empty() => {
            let options = trust::keep_options(&report.from_demo.variables_withheld);
            Some(format!("use {options} to give the build recorded variables"))
        }
        _ => None,
    }
}

/// The command that opens a debugger at a divergence, or at the last call before it where the build made none that differs, as a phrase.
/// `None` where comparison or tool leave it open whether the build comes there.
pub fn debug_hint(args: &ReplayArgs, report: &ReplayReport) -> Option<String> {
    use DivergenceClass::{Crash, EarlyExit, Input, LateExit, Order, Output, Starvation, UnrecordedCall};
    let found = report.divergence.as_ref()?;
    if args.comparison.tolerance.is_some() || args.comparison.decoder.is_some() {
        return None;
    }
    let at = |record: u64| steps::debug_at_record(args, record, found.process);
    match found.class {
        Output | Order | UnrecordedCall | EarlyExit | LateExit | Input if found.backtrace.is_empty() => None,
        Output | Order | UnrecordedCall | EarlyExit | LateExit | Input if args.execution.under.is_some() => {
            Some(format!("`{}` opens gdb at that call, without the tool", at(found.record)))
        }
        Output | Order | UnrecordedCall | EarlyExit | LateExit | Input => {
            Some(format!("`{}` opens gdb there", steps::debug_command(args)))
        }
        Crash | Starvation if args.execution.under.is_some() => None,
        Crash | Starvation => {
            let last = found.record.checked_sub(1).filter(|last| *last > 0)?;
            let then = match found.class {
                Crash => "goes on to the crash",
                _ => "and Ctrl-C show what it does then",
            };
            Some(format!("`{}` opens gdb at the last call before it: `continue` {then}", at(last)))
        }
        DivergenceClass::MissingFile => None,
    }
}

/// Program and arguments of a decoder.
fn decoder(text: &str) -> Result<Vec<OsString>, Failure> {
    let words = CommandLine::words(text).map(|words| words.into_iter().map(OsString::from).collect());
    let command = words.and_then(CommandLine::of_words).map_err(|error| {
        let failure = Failure::new(format!("cannot use the decoder: {error}"));
        failure.hint("--decoder takes a program and its arguments, such as 'python3 decoder.py'")
    })?;
    Ok(std::iter::once(command.program.into_os_string()).chain(command.arguments.into_iter().skip(1)).collect())
}

/// Program and arguments of a tool.
///
/// # Errors
/// Words that no shell could split.
pub fn tool(text: &str) -> Result<Vec<OsString>, Failure> {
    let words = CommandLine::words(text).map_err(|error| {
        let failure = Failure::new(format!("cannot use the tool: {error}"));
        failure.hint("--under takes a program and its arguments, such as 'valgrind --tool=memcheck'")
    })?;
    Ok(words.into_iter().map(OsString::from).collect())
}

/// Options of the library for these arguments.
///
/// # Errors
/// A decoder or a tool that is no command.
pub fn options(args: &ReplayArgs, rules: Option<Rules>, interrupt: &Interrupt) -> Result<ReplayOptions, Failure> {
    let decoder = args.comparison.decoder.as_deref().map(decoder).transpose()?.unwrap_or_default();
    let under = args.execution.under.as_deref().map(tool).transpose()?.unwrap_or_default();
    let (variables, command) = split_variables(&args.command);
    Ok(ReplayOptions {
        demo: args.demo.clone(),
        command: command.to_vec(),
        environment: args.execution.env.iter().cloned().chain(variables).collect(),
        repeat: args.repeat,
        comparison: ComparisonOptions { tolerance: rules, decoder },
        watchdog: args.execution.watchdog,
        accept: AcceptOptions {
            truncated: args.comparison.allow_truncated,
            other_machine: args.comparison.ignore_environment,
            other_architecture: args.comparison.other_architecture,
        },
        // Most tools report on standard error.
        show_output: args.execution.show_output || !under.is_empty(),
        under: ToolOptions { command: under, ..ToolOptions::default() },
        explain: args.execution.explain,
        trust: TrustOptions { trusted: args.trust.trust_demo, keep_variables: args.trust.keep_variable.clone() },
        state: StateOptions {
            in_place: args.execution.restore_in_place.clone(),
            set_ids: args.execution.restore_set_ids,
        },
        files: (&args.files).into(),
        limits: args.limits.into(),
        stop: Some(interrupt.flag()),
    })
}

/// Runs the build on the demo.
///
/// # Errors
/// What kept it from running.
pub fn start(args: &ReplayArgs, rules: Option<Rules>) -> Result<ReplayReport, Failure> {
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let options = options(args, rules, &interrupt)?;
    let mut line = ProgressLine::new(!options.show_output);
    prony_replay::replay(&options, &mut |progress| line.show(progress)).map_err(|error| failure(args, &error))
}

/// The error of a replay, with the next step.
pub fn failure(args: &ReplayArgs, error: &ReplayError) -> Failure {
    let cannot = || Failure::new(format!("cannot replay {}: {error}", args.demo.display()));
    match error {
        ReplayError::Demo(error) | ReplayError::Tape(TapeError::Demo(error)) => {
            Failure::demo("replay", &args.demo, error)
        }
        ReplayError::Program(error) => Failure::program("replay", error),
        ReplayError::OtherArchitecture { .. } => cannot().hint(
            "replay a build for the same architecture; if sockets and files are all that the server asks the system for, \
             --other-architecture may do",
        ),
        ReplayError::Truncated(cut) => Failure::truncated(&args.demo, cut),
        ReplayError::Tape(TapeError::Memory { .. }) => cannot().hint(
            "reduce memory use with --max-memory, or \
             free some memory",
        ),
        ReplayError::Tape(TapeError::Empty) => cannot().hint("record again, while the server is working"),
        ReplayError::NotTrusted(foreign) => Failure::not_trusted(&args.demo, foreign),
        ReplayError::Mount(_) => cannot().hint(
            "run as root or allow user namespaces; or use --files-here to ignore the files of the demo, \
             --restore-in-place DIR to empty a state directory and restore it there",
        ),
        ReplayError::State(StateError::Files(OverlayError::Root { path, .. })) => {
            cannot().hint(format!("`sudo mkdir {}`: only root can create it there", path.display()))
        }
        ReplayError::State(StateError::Files(_)) => cannot().hint(
            "use --files-here to ignore the files of the \
             demo",
        ),
        ReplayError::Decoder(DecoderError::Start { .. }) => {
            Failure::new(error.to_string()).hint("--decoder takes a program and its arguments, such as 'python3 decoder.py'")
        }
        ReplayError::Decoder(_) => Failure::new(error.to_string())
            .hint("docs/formats/decoder.md describes what a decoder reads and answers"),
        ReplayError::FewDescriptors => cannot().hint("raise it for this shell with `ulimit -n 1024`"),
        ReplayError::NotStarted { .. } => cannot().hint(
            "--under takes a command that starts the server's, which is added to it, with its environment and descriptors: see the \
             table in docs/guide/tools.md",
        ),
        ReplayError::NotAttached(_) => cannot().hint(
            "start the build without prony first: a file or a library may be missing; --show-output shows what it says",
        ),
        ReplayError::State(StateError::TooLarge { .. } | StateError::TooMany { .. }) => {
            cannot().hint("raise the limit with --max-state if you trust the demo")
        }
        ReplayError::Tape(TapeError::TooLarge { .. }) => {
            cannot().hint("raise the limit with --max-memory if you trust the demo")
        }
        ReplayError::Tape(TapeError::Changed) => cannot().hint("replay it again while nothing writes to the file"),
        ReplayError::State(
            StateError::MoreThanStated { .. } | StateError::Path { .. } | StateError::Kernel { .. } | StateError::Directories { .. },
        )
        | ReplayError::Tape(
            TapeError::MoreThanStated { .. }
            | TapeError::Threads { .. }
            | TapeError::Record { .. }
            | TapeError::Result { .. },
        ) => {
            cannot().hint("prony does not record this: the demo was made or altered by other means")
        }
        ReplayError::Channel { .. } => cannot().hint(
            "the build overwrites memory that is not its own: probably a \
                                                      stray pointer",
        ),
        ReplayError::Tape(TapeError::NoFrame { .. } | TapeError::NoRecord { .. }) => cannot().hint(
            "`prony demo frames` lists the frames, `prony demo dump` the records",
        ),
        ReplayError::Debugger(error) => debugger(error),
        ReplayError::Interrupted
        | ReplayError::Tape(TapeError::Interrupted)
        | ReplayError::State(_)
        | ReplayError::WorkingDirectory(_)
        | ReplayError::System { .. } => cannot(),
    }
}

fn debugger(error: &DebuggerError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        DebuggerError::Start { program, .. } => failure.hint(format!(
            "install it (`apt install {}`), or name another one with --debugger",
            Path::new(program).file_name().unwrap_or_default().to_string_lossy()
        )),
        DebuggerError::NotAttached { ptrace_scope: Some(2..), .. } => {
            failure.hint("run as root, or allow it with `sudo sysctl kernel.yama.ptrace_scope=1`")
        }
        DebuggerError::NotAttached { .. } => {
            failure.hint("its message is above; containers need the capability CAP_SYS_PTRACE for it")
        }
        DebuggerError::NotGdb(_) => failure.hint("leave out --debugger, or name a gdb with it"),
        DebuggerError::NoFacts(_) => {
            failure.hint("`prony debug --divergence` without --both shows what gdb can do with each of them")
        }
        DebuggerError::Demo(_) | DebuggerError::Script(_) | DebuggerError::Wait(_) => failure,
    }
}

#[cfg(test)]
mod tests;
