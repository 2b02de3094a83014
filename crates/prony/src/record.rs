//! `prony record`: shows what a recording left.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use prony_demo::{Exit as ServerExit, FrameRule, WriteError};
use prony_replay::{
    PackLimits, RecordError, RecordOptions, RecordReport, RecordScope, ReplayReport, StopError, Warning,
};
use prony_report::{json, text};

use crate::cli::{RecordArgs, ReplayArgs, TrustArgs};
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
    if !args.force && args.output().symlink_metadata().is_ok() {
        return Err(Failure::new(format!("cannot record to {}: file exists", args.output().display()))
            .hint("use --force to overwrite it"));
    }
    if let Some(demo) = &args.stop {
        return stop(demo);
    }
    let answers = answers_on_output(args);
    if answers && io::stdout().is_terminal() {
        return Err(Failure::new("cannot record with --stdio: standard output is a terminal")
            .hint("connect it to the client, by a pipe or a socket"));
    }
    // A client that reads standard output takes nothing but answers of the server.
    let say = |text: &str| {
        if !answers {
            return output::print(text);
        }
        output::talk(format_args!("{text}"));
        Ok(())
    };
    let report = record(args)?;
    if !args.json {
        say(&text::record::text(args.output(), &report, ended_by_limit(args, &report)))?;
    }
    for warning in &report.warnings {
        eprintln!("warning: {}", text::record::warning(warning));
    }
    if let Some(end) = &report.disk_end {
        eprintln!("warning: {}", text::record::disk_end(args.output(), end));
    }
    // What this very command has recorded.
    let trust = TrustArgs { trust_demo: true, ..TrustArgs::default() };
    let mut replay = ReplayArgs { trust, ..ReplayArgs::of(args.output().to_owned()) };
    replay.execution.explain = true;
    let checked = (args.check && !report.is_partial()).then(|| check(&replay)).transpose();
    if args.json {
        let mut answer = json::record::answer(args.output(), &report, ended_by_limit(args, &report));
        if let Ok(Some(checked)) = &checked {
            answer["check"] = json::replay::answer(checked);
        }
        output::print_json(&answer)?;
    }
    let Some(checked) = checked? else {
        if report.is_partial() {
            eprintln!(
                "hint: `prony replay --allow-truncated {}.partial` replays what is there",
                args.output().display()
            );
        } else if report.output_bytes == 0 {
            eprintln!("hint: {NOTHING_SENT}");
        } else {
            eprintln!("hint: `prony replay {}` checks it", args.output().display());
        }
        return go_on(args, &report).map(|code| code.unwrap_or_else(|| exit(args, &report)));
    };
    if !args.json {
        say(&(verdict(&checked).to_owned() + &replay::whole_text(&replay, &checked)))?;
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
    let code = go_on(args, &report)?;
    Ok(match replay::exit(&checked) {
        Exit::Good => code.unwrap_or_else(|| exit(args, &report)),
        found => found,
    })
}

/// Ends the recording that another process makes of this demo.
fn stop(demo: &Path) -> Result<Exit, Failure> {
    prony_replay::stop_recording(demo).map_err(|error| {
        let failure = Failure::new(format!("cannot stop the recording: {error}"));
        match error {
            StopError::NotRecorded { .. } => failure.hint("name the file as `prony record -o FILE` was given it"),
            StopError::NoRecorder { partial, .. } => failure.hint(format!(
                "the recording was interrupted, or another user makes it; `prony replay --allow-truncated {}` replays what is there",
                partial.display()
            )),
            StopError::NotCompleted { .. } => failure.hint("the recorder has said why on its own terminal"),
            StopError::System { .. } => failure,
        }
    })?;
    output::print(&format!("{}: the recording has ended, and its server goes on\n", demo.display()))?;
    Ok(Exit::Good)
}

/// Waits for a server that goes on after its recording, where this process has to stay for it: as its parent by request, as the
/// first process of a container, whose end ends all others, as the one that has its standard input open, or as what a supervisor
/// started, which knows nothing of a disk. `None` where nothing was waited for.
fn go_on(args: &RecordArgs, report: &RecordReport) -> Result<Option<Exit>, Failure> {
    let stays = args.stay || args.streams.end_input.is_some() || std::process::id() == 1 || report.disk_end.is_some();
    let Some(server) = report.goes_on.as_ref().filter(|_| stays) else { return Ok(None) };
    let ended = server
        .wait()
        .map_err(|error| Failure::new(format!("cannot wait for the server (process {}): {error}", server.pid())))?;
    Ok(Some(match exit_of(ended) {
        Exit::Good if report.disk_end.is_some() => Exit::NotTrusted,
        code => code,
    }))
}

const NOTHING_SENT: &str = "the server sent nothing, so a replay has nothing to compare: record while clients are busy, \
                            with --stdio if they talk through its standard input and output";

/// True if clients read what the server writes to standard output: by request, or as both standard streams are one socket.
fn answers_on_output(args: &RecordArgs) -> bool {
    args.streams.stdio || !args.json && is_one_socket(io::stdin(), io::stdout()).unwrap_or(false)
}

fn is_one_socket(one: impl AsFd, other: impl AsFd) -> io::Result<bool> {
    let status =
        |stream: &dyn AsFd| -> io::Result<Metadata> { File::from(stream.as_fd().try_clone_to_owned()?).metadata() };
    let (one, other) = (status(&one)?, status(&other)?);
    Ok(one.file_type().is_socket() && (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

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
    let ended = if ended_by_limit(args, report) { ServerExit::Cut } else { report.exit };
    match exit_of(ended) {
        Exit::Good if report.output_bytes == 0 => Exit::NotTrusted,
        code => code,
    }
}

/// The code of a server that has ended, as shells say it; that of one that goes on, or was ended, is 0.
fn exit_of(ended: ServerExit) -> Exit {
    let code = match ended {
        ServerExit::Code(code) => code,
        ServerExit::Signal(signal) => 128 + signal,
        ServerExit::Cut => 0,
    };
    match u8::try_from(code) {
        Ok(0) => Exit::Good,
        Ok(code) => Exit::Server(code),
        Err(_) => Exit::Server(u8::MAX),
    }
}

/// Runs the server under the recorder.
///
/// # Errors
/// What kept it from being recorded.
pub fn start(args: &RecordArgs) -> Result<RecordReport, Failure> {
    let options = RecordOptions {
        output: args.output().to_owned(),
        replace: args.force,
        command: args.command.clone(),
        state: args.state.clone(),
        limit: args.limit,
        end_input: args.streams.end_input.clone().map(|text| text.0),
        pack: PackLimits {
            each_bytes: args.packing.pack,
            all_bytes: args.packing.pack_all,
            private: args.packing.pack_private,
        },
        frame_rule: args.frame_on.map_or(FrameRule::BlockingWait, FrameRule::On),
        exclude_objects: args.exclude_object.clone(),
        level: args.level,
        scope: RecordScope {
            follow_exec: args.processes.follow_exec,
            threads_side_by_side: args.processes.threads_side_by_side,
            processes_in_turn: args.processes.processes_in_turn,
            answers_on_output: answers_on_output(args),
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
            let left = args.output().display();
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
