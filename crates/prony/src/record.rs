//! `prony record`: shows what a recording left.

use std::fmt::Write;
use std::io::{ErrorKind, IsTerminal};

use prony_demo::{Exit as ServerExit, FrameRule, WriteError};
use prony_replay::{
    PackLimits, RecordError, RecordOptions, RecordReport, RecordScope, RecordWarning, ReplayReport, Warning, exit_text,
};
use prony_text::{Untrusted, bytes, count, significant};
use serde_json::json;

use crate::cli::{RecordArgs, ReplayArgs, TrustArgs};
use crate::demo::pack;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::ProgressLine;
use crate::replay;

/// Records, answers and says how it went; `record` does the recording, and `check` the replay of `--check`.
///
/// # Errors
/// What kept it from running.
pub fn run(
    args: &RecordArgs,
    record: impl FnOnce(&RecordArgs) -> Result<RecordReport, Failure>,
    check: impl FnOnce(&ReplayArgs) -> Result<ReplayReport, Failure>,
) -> Result<Exit, Failure> {
    if !args.force && args.output.symlink_metadata().is_ok() {
        return Err(Failure::new(format!("cannot record to {}: file exists", args.output.display()))
            .hint("use --force to overwrite it"));
    }
    let report = record(args)?;
    if !args.json {
        output::print(&text(args, &report))?;
    }
    for warning in &report.warnings {
        eprintln!("warning: {}", warning_text(warning));
    }
    // What this very command has recorded.
    let trust = TrustArgs { trust_demo: true, ..TrustArgs::default() };
    let replay = ReplayArgs { explain: true, trust, ..ReplayArgs::of(args.output.clone()) };
    let checked = args.check.then(|| check(&replay)).transpose();
    if args.json {
        let mut answer = answer(args, &report);
        if let Ok(Some(checked)) = &checked {
            answer["check"] = prony_report::json::replay::answer(checked);
        }
        output::print_json(&answer)?;
    }
    let Some(checked) = checked? else {
        if report.output_bytes == 0 {
            eprintln!("hint: {NOTHING_SENT}");
        } else {
            eprintln!("hint: `prony replay {}` checks it", args.output.display());
        }
        return Ok(exit(args, &report));
    };
    if !args.json {
        output::print(&(verdict(&checked).to_owned() + &replay::whole_text(&replay, &checked)))?;
    }
    // The warnings of the recording name the files that it wrote.
    for warning in checked.warnings.iter().filter(|warning| !matches!(warning, Warning::Written(_))) {
        eprintln!("warning: {warning}");
    }
    if report.output_bytes == 0 {
        eprintln!("hint: {NOTHING_SENT}");
    } else if let Some(hint) = replay::hint(&replay, &checked) {
        eprintln!("hint: {hint}");
    }
    Ok(match replay::exit(&checked) {
        Exit::Good => exit(args, &report),
        found => found,
    })
}

const NOTHING_SENT: &str = "the server sent nothing, so a replay has nothing to compare: record while clients are busy";

/// The heading of a check.
fn verdict(checked: &ReplayReport) -> &'static str {
    match replay::exit(checked) {
        Exit::Good => "checked: the demo is replayable\n",
        _ => "checked: the demo is not replayable\n",
    }
}

/// True when the recording ended the server because its time was up.
fn ended_by_limit(args: &RecordArgs, report: &RecordReport) -> bool {
    args.limit.is_some_and(|limit| report.recorded_s >= limit.as_secs_f64())
}

/// The server's own code, as if it had run without `prony`; where that is 0, what the demo is worth.
fn exit(args: &RecordArgs, report: &RecordReport) -> Exit {
    let code = match report.exit {
        _ if ended_by_limit(args, report) => 0,
        ServerExit::Code(code) => code,
        // As shells say it.
        ServerExit::Signal(signal) => 128 + signal,
        ServerExit::Cut => 0,
    };
    match u8::try_from(code) {
        Ok(0) if report.output_bytes == 0 => Exit::NotTrusted,
        Ok(0) => Exit::Good,
        Ok(code) => Exit::Server(code),
        Err(_) => Exit::Server(u8::MAX),
    }
}

/// Answer to a recording, as text for people.
fn text(args: &RecordArgs, report: &RecordReport) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: recorded {} s, {}, {}",
        Untrusted::new(&args.output),
        significant(report.recorded_s),
        count(report.frames, "frame"),
        bytes(report.file_bytes),
    );
    let processes = match report.processes {
        0 | 1 => String::new(),
        several => format!(" of {several} processes"),
    };
    let _ = writeln!(
        out,
        "  {}{processes}, {} with {}",
        count(report.records, "call"),
        count(report.outputs, "output"),
        count(report.output_bytes, "byte"),
    );
    if let Some(waited_s) = report.noticeable_wait_s() {
        let _ = writeln!(
            out,
            "  threads were ready and waited for their turn: {} s in total, as one runs at a time",
            significant(waited_s)
        );
    }
    let limit = if ended_by_limit(args, report) { ", after the time of --for" } else { "" };
    let _ = writeln!(out, "  the server {}{limit}", exit_text(report.exit));
    pack::lines(&mut out, &report.packed);
    out
}

/// A warning in one sentence.
fn warning_text(warning: &RecordWarning) -> String {
    match warning {
        RecordWarning::Written(path) => format!(
            "the server wrote `{}`, which is outside any --state directory: a replay writes it too, and reads its \
             content at that time",
            path.display()
        ),
        RecordWarning::Note(note) => note.clone(),
        RecordWarning::LivesOn(processes) => {
            let named: Vec<String> = processes.iter().map(|(pid, name)| format!("`{name}` ({pid})")).collect();
            let [it, verb] = if named.len() == 1 { ["it", "lives"] } else { ["them", "live"] };
            format!("{} {verb} on: the recording ended without {it}", named.join(", "))
        }
        RecordWarning::NotListed(error) => {
            format!("the demo cannot be added to the list of demos recorded here: {error}")
        }
    }
}

fn answer(args: &RecordArgs, report: &RecordReport) -> serde_json::Value {
    let (exit_code, exit_signal) = match report.exit {
        ServerExit::Code(code) => (Some(code), None),
        ServerExit::Signal(signal) => (None, Some(signal)),
        ServerExit::Cut => (None, None),
    };
    json!({
        "demo": args.output.to_string_lossy(),
        "recorded_s": report.recorded_s,
        "processes": report.processes,
        "records": report.records,
        "frames": report.frames,
        "outputs": report.outputs,
        "output_bytes": report.output_bytes,
        "threads_waited_s": report.threads_waited_s,
        "file_bytes": report.file_bytes,
        "exit": exit_text(report.exit),
        "exit_code": exit_code,
        "exit_signal": exit_signal,
        "ended_by_limit": ended_by_limit(args, report),
        "packed": pack::answer(&report.packed),
        "warnings": report.warnings.iter().map(warning_text).collect::<Vec<_>>(),
    })
}

/// Runs the server under the recorder.
///
/// # Errors
/// What kept it from being recorded.
pub fn start(args: &RecordArgs) -> Result<RecordReport, Failure> {
    let options = RecordOptions {
        output: args.output.clone(),
        replace: args.force,
        command: args.command.clone(),
        state: args.state.clone(),
        limit: args.limit,
        end_input: args.end_input.clone().map(|text| text.0),
        pack: PackLimits { each_bytes: args.pack, all_bytes: args.pack_all, private: args.pack_private },
        frame_rule: args.frame_on.map_or(FrameRule::BlockingWait, FrameRule::On),
        exclude_objects: args.exclude_object.clone(),
        level: args.level,
        scope: RecordScope {
            follow_exec: args.follow_exec,
            threads_side_by_side: args.threads_side_by_side,
            processes_in_turn: args.processes_in_turn,
        },
        output_to_stderr: args.json,
    };
    // The server's own output shares the terminal; a line that moves would tear it.
    let mut line = ProgressLine::new(!std::io::stdout().is_terminal());
    prony_replay::record(&options, &mut |progress| line.show(progress)).map_err(|error| failure(args, &error))
}

fn failure(args: &RecordArgs, error: &RecordError) -> Failure {
    match error {
        RecordError::Program(error) => Failure::program("record", error),
        RecordError::Write { path, error: WriteError::Io(error) } if error.kind() == ErrorKind::AlreadyExists => {
            let left = args.output.display();
            Failure::new(format!("cannot write {path}: file exists")).hint(format!(
                "an interrupted recording left {left}.partial: replay it with `prony replay --allow-truncated \
                 {left}.partial`, or replace it with --force"
            ))
        }
        RecordError::Write { path, error } => Failure::write(path.as_ref(), error),
        RecordError::Channel { path, .. } => Failure::new(format!("cannot record: {error}"))
            .hint(format!("replay that part with `prony replay --allow-truncated {path}`")),
        RecordError::NotAttached { .. } => Failure::new(format!("cannot record: {error}"))
            .hint("start it without prony first: a file or a library may be missing"),
        RecordError::State(error) => {
            let failure = Failure::new(error.to_string());
            if args.state.is_empty() { failure } else { failure.hint("--state needs an existing, readable directory") }
        }
        RecordError::FewDescriptors => {
            Failure::new(format!("cannot record: {error}")).hint("raise it for this shell with `ulimit -n 1024`")
        }
        RecordError::Start { .. } | RecordError::System { .. } => Failure::new(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
