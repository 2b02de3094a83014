//! `prony debug --both`: two builds, where the new one diverges.

use std::cell::RefCell;
use std::io::Write;

use prony_bench::CommandLine;
use prony_machine::Interrupt;
use prony_replay::{BothReport, GdbOptions};
use prony_report::{json, page_of_both, text};

use crate::cli::{DebugArgs, ReplayArgs};
use crate::demo;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::progress::ProgressLine;
use crate::{replay, trust};

/// Compares the two builds at the divergence of the new one.
///
/// # Errors
/// What kept one of them from running, or gdb from attaching.
pub fn run(args: &DebugArgs, commands: [&str; 2]) -> Result<Exit, Failure> {
    let [old, new] = [builds(args, commands[0])?, builds(args, commands[1])?];
    let page = args.both.export_html.as_deref().map(|path| NewFile::create(path, true)).transpose()?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let options = [replay::options(&old, None, &interrupt)?, replay::options(&new, None, &interrupt)?];
    let line = RefCell::new(ProgressLine::new(true));
    let gdb = GdbOptions { program: args.gdb.debugger.clone(), ..GdbOptions::default() };
    let mut show = |progress| line.borrow_mut().show(progress);
    let found = prony_replay::debug_both([&options[0], &options[1]], &gdb, &mut show)
        .map_err(|error| replay::failure(&new, &error))?;
    drop(line);
    let both = match found {
        BothReport::Diverged(both) => both,
        BothReport::NoDivergence(report) => {
            output::print(&text::replay::text(&args.demo, &report))?;
            eprintln!("hint: the new build does not diverge, so there is nothing to compare");
            return Ok(replay::exit(&report));
        }
    };
    if let Some(mut page) = page {
        let name = args.demo.file_name().unwrap_or(args.demo.as_os_str()).to_string_lossy();
        let html = page_of_both(&name, commands, &both, env!("CARGO_PKG_VERSION"));
        page.file().write_all(html.as_bytes()).map_err(|error| Failure::io("write", page.path(), &error))?;
        page.finish()?;
    }
    if args.both.json {
        output::print_json(&json::both::answer(commands, &both))?;
    } else {
        output::print(&text::both::text(&args.demo, commands, &both))?;
    }
    Ok(Exit::Finding)
}

/// Arguments of the replay of one build.
fn builds(args: &DebugArgs, command: &str) -> Result<ReplayArgs, Failure> {
    let split = CommandLine::split(command).map_err(|error| Failure::new(format!("cannot replay: {error}")))?;
    let mut replayed = args.replay();
    replayed.command = split.arguments;
    replayed.execution.env.extend(split.variables);
    let demo = demo::open_quietly("debug", &args.demo)?;
    if let Some(cut) = demo.truncation().filter(|_| !args.allow_truncated) {
        return Err(Failure::truncated(&args.demo, cut));
    }
    replayed.trust.trust_demo = trust::of(&args.demo, demo.header(), true, &args.trust)?;
    Ok(replayed)
}
