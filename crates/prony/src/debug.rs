//! `prony debug`: gdb on a build, stopped at a place of its replay.

mod both;

use std::cell::RefCell;

use prony_machine::Interrupt;
use prony_replay::{GdbOptions, Stopped};
use prony_report::text;

use crate::cli::DebugArgs;
use crate::demo;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::ProgressLine;
use crate::{replay, trust};

/// Replays up to the place, starts gdb there, and says what became of the replay.
///
/// # Errors
/// What kept it from running, or gdb from attaching.
pub fn run(args: &DebugArgs) -> Result<Exit, Failure> {
    if let [old, new] = args.both.both.as_slice() {
        return both::run(args, [old, new]);
    }
    let mut replayed = args.replay();
    let demo = demo::open_quietly("debug", &args.demo)?;
    match demo.truncation() {
        Some(cut) if !args.allow_truncated => return Err(Failure::truncated(&args.demo, cut)),
        Some(cut) => eprintln!("warning: {} ends early: {cut}", args.demo.display()),
        None => {}
    }
    replayed.trust.trust_demo = trust::of(&args.demo, demo.header(), !args.command.is_empty(), &args.trust)?;
    drop(demo);
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let options = replay::options(&replayed, None, &interrupt)?;
    let line = RefCell::new(ProgressLine::new(!options.show_output));
    let place = args.place.place();
    let gdb = GdbOptions {
        program: args.gdb.debugger.clone(),
        commands: args.gdb.gdb_command.clone(),
        batch: args.gdb.batch,
        port: args.gdb.gdb_port,
        script: args.gdb.gdb_script.clone(),
        ..GdbOptions::default()
    };
    let mut reached = |stopped: &Stopped| {
        line.borrow_mut().clear();
        // A closed pipe is no reason to keep gdb from its work.
        let _ = output::print(&text::debug::stopped(&args.demo, place, stopped));
        if let (Some(port), Some(script)) = (gdb.port, &stopped.script) {
            eprintln!("hint: `gdb -ex 'target remote localhost:{port}' -x {}` connects to it", script.display());
        }
    };
    let mut show = |progress| line.borrow_mut().show(progress);
    let report = prony_replay::debug(&options, place, &gdb, &mut reached, &mut show)
        .map_err(|error| replay::failure(&replayed, &error))?;
    drop(line);
    let (found, reached) = (&report.replay, report.stopped.as_ref());
    // What stands at the place was printed there.
    let is_printed = report.was_left || reached.is_some_and(|stopped| stopped.divergence.is_some());
    if !is_printed {
        output::print(&text::replay::text(&args.demo, found))?;
    }
    if !report.was_debugged {
        eprintln!("hint: the replay did not come to the place, so gdb was not started");
    }
    Ok(match (report.was_debugged, &found.divergence) {
        (_, Some(_)) | (false, None) => replay::exit(found),
        (true, None) => Exit::Good,
    })
}
