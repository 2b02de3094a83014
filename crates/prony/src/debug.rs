//! `prony debug`: gdb on a build, stopped at a place of its replay.

use std::cell::RefCell;
use std::ffi::OsString;
use std::process::{Child, Command};

use prony_replay::{DebuggerError, Stopped};
use prony_report::text;

use crate::cli::{DebugArgs, GdbArgs};
use crate::demo;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::ProgressLine;
use crate::{replay, trust};

/// Commands for gdb: signals and frames of the library in the server, and the thread.
const SCRIPT: &str = include_str!("debug/place.py");

/// Replays up to the place, starts gdb there, and says what became of the replay.
///
/// # Errors
/// What kept it from running, or gdb from attaching.
pub fn run(args: &DebugArgs) -> Result<Exit, Failure> {
    let mut replayed = args.replay();
    let demo = demo::open_quietly("debug", &args.demo)?;
    match demo.truncation() {
        Some(cut) if !args.allow_truncated => return Err(Failure::truncated(&args.demo, cut)),
        Some(cut) => eprintln!("warning: {} ends early: {cut}", args.demo.display()),
        None => {}
    }
    replayed.trust.trust_demo = trust::of(&args.demo, demo.header(), !args.command.is_empty(), &args.trust)?;
    drop(demo);
    let options = replay::options(&replayed, None)?;
    let line = RefCell::new(ProgressLine::new(!options.show_output));
    let place = args.place.place();
    let mut start = |stopped: &Stopped| {
        line.borrow_mut().clear();
        // A closed pipe is no reason to keep gdb from its work.
        let _ = output::print(&text::debug::stopped(&args.demo, place, stopped));
        start(&args.gdb, stopped)
    };
    let report = prony_replay::debug(&options, place, &mut start, &mut |progress| line.borrow_mut().show(progress))
        .map_err(|error| replay::failure(&replayed, &error))?;
    drop(line);
    let (found, reached) = (&report.replay, report.stopped.as_ref());
    // What stands at the place was printed there.
    let is_printed = report.was_left || reached.is_some_and(|stopped| stopped.divergence.is_some());
    if !is_printed {
        output::print(&text::replay::text(&args.demo, found))?;
    }
    if reached.is_none() {
        eprintln!("hint: the replay did not come to the place, so gdb was not started");
    }
    match (reached, &found.divergence) {
        (_, Some(_)) | (None, None) => Ok(replay::exit(found)),
        (Some(_), None) => Ok(Exit::Good),
    }
}

/// Starts gdb on the thread that waits.
fn start(args: &GdbArgs, stopped: &Stopped) -> Result<Child, DebuggerError> {
    let default = if args.gdb_port.is_some() { "gdbserver" } else { "gdb" };
    let program = args.debugger.clone().unwrap_or_else(|| OsString::from(default));
    let name = program.to_string_lossy().into_owned();
    let mut command = Command::new(&program);
    match args.gdb_port {
        Some(port) => {
            let address = format!("localhost:{port}");
            command.args(["--once", "--attach", &address, &stopped.pid.to_string()]);
        }
        None => {
            // A command of gdb is one line; a text of Rust in quotes is one of Python.
            let script = format!("python exec({:?})", format!("THREAD = {}\n{SCRIPT}", stopped.tid));
            command.arg("-q").args(args.batch.then_some("-batch"));
            command.args(["-p", &stopped.pid.to_string(), "-ex", &script]);
            command.args(args.gdb_command.iter().flat_map(|command| ["-ex", command]));
        }
    }
    command.spawn().map_err(|error| DebuggerError::Start { program: name, error })
}
