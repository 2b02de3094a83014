//! `prony debug`: gdb on a build, stopped at a place of its replay.

use std::cell::RefCell;
use std::ffi::OsString;
use std::process::{Child, Command};
use std::{fs, io};

use prony_replay::{DebuggerError, Stopped};
use prony_report::text;
use tempfile::NamedTempFile;

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
    // Kept while gdb may read it.
    let mut script = None;
    let mut start = |stopped: &Stopped| {
        line.borrow_mut().clear();
        // A closed pipe is no reason to keep gdb from its work.
        let _ = output::print(&text::debug::stopped(&args.demo, place, stopped));
        let Some(port) = args.gdb.gdb_port else { return gdb(&args.gdb, stopped) };
        let text = with_names("None", stopped);
        let file = script.insert(written(&text).map_err(DebuggerError::Script)?);
        eprintln!("hint: `gdb -ex 'target remote localhost:{port}' -x {}` connects to it", file.path().display());
        gdbserver(&args.gdb, port, stopped)
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

/// The script, with the names that it expects.
fn with_names(process: &str, stopped: &Stopped) -> String {
    format!("PROCESS = {process}\nTHREAD = {}\n{SCRIPT}", stopped.tid)
}

/// A file of Python for gdb.
fn written(text: &str) -> io::Result<NamedTempFile> {
    let file = tempfile::Builder::new().prefix("prony-").suffix(".py").tempfile()?;
    fs::write(file.path(), text)?;
    Ok(file)
}

/// Starts gdb on the thread that waits.
fn gdb(args: &GdbArgs, stopped: &Stopped) -> Result<Child, DebuggerError> {
    // A command of gdb is one line; a text of Rust in quotes is one of Python.
    let script = format!("python exec({:?})", with_names(&stopped.pid.to_string(), stopped));
    let mut words: Vec<&str> = vec!["-q"];
    words.extend(args.batch.then_some("-batch"));
    words.extend(["-ex", &script]);
    words.extend(args.gdb_command.iter().flat_map(|command| ["-ex", command]));
    spawn(args, "gdb", &words)
}

/// Starts gdbserver on the thread that waits.
fn gdbserver(args: &GdbArgs, port: u16, stopped: &Stopped) -> Result<Child, DebuggerError> {
    spawn(args, "gdbserver", &["--once", "--attach", &format!("localhost:{port}"), &stopped.pid.to_string()])
}

fn spawn(args: &GdbArgs, default: &str, words: &[&str]) -> Result<Child, DebuggerError> {
    let program = args.debugger.clone().unwrap_or_else(|| OsString::from(default));
    Command::new(&program)
        .args(words)
        .spawn()
        .map_err(|error| DebuggerError::Start { program: program.to_string_lossy().into_owned(), error })
}
