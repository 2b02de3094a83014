//! Text of a divergence: class, position, both sides, earlier calls, and the next step.

use std::fmt::Write;

use prony_demo::dump::printable;

use prony_machine::signal_name;
use prony_replay::{BeyondLimit, Cause, Detail, Difference, Doing, NumberChange, ThreadReport};
use prony_text::{printable_line, thousands};

use super::explain;
use crate::cli::ReplayArgs;
use crate::report::{Divergence, DivergenceClass, ReplayReport};

/// Bytes of either side that are shown; the window of the report may be larger.
const SHOWN_BYTES: usize = 32;
/// Number of these shown before the byte that differs.
const SHOWN_BEFORE: usize = 12;

/// The words for a class.
pub(super) fn name(class: DivergenceClass) -> &'static str {
    match class {
        DivergenceClass::Output => "different output",
        DivergenceClass::Order => "different order of calls",
        DivergenceClass::UnrecordedCall => "unrecorded call",
        DivergenceClass::Starvation => "starved thread",
        DivergenceClass::EarlyExit => "early exit",
        DivergenceClass::LateExit => "late exit",
        DivergenceClass::MissingFile => "missing file",
        DivergenceClass::Crash => "crash",
        DivergenceClass::Input => "input that does not fit",
    }
}

/// The class and what is known best of it.
pub fn in_short(found: &Divergence) -> String {
    let detail = detail(found);
    let what = if detail.is_empty() { &found.call } else { &detail };
    [name(found.class), what].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Facts about the divergence beyond class and position, as text; empty if there are none.
pub(super) fn detail(found: &Divergence) -> String {
    let difference = match found.difference {
        Difference::NotSent => Some("not sent".to_owned()),
        Difference::Destination => Some("destination address".to_owned()),
        Difference::Room { recorded, room } => {
            Some(format!("{} recorded, the build has room for {}", thousands(recorded), thousands(room)))
        }
        Difference::Descriptor(fd) => {
            Some(format!("the recorded call made descriptor {fd}, which is open in the build"))
        }
        _ => None,
    };
    let detail = found.detail.as_ref().map(|detail| match detail {
        Detail::Lengths { expected, found } => format!("{expected} bytes expected, {found} found"),
        Detail::EndingStatus(status) => format!("the build ends with status {status}"),
        Detail::NotTolerated(None) => "no rule of the tolerance file covers this byte".to_owned(),
        Detail::NotTolerated(Some(beyond)) => {
            let BeyondLimit { rule, field, offset, recorded, replayed } = beyond;
            format!(
                "rule {}, {field}: {recorded} recorded and {replayed} replayed at byte {offset} differ by more \
                 than it allows",
                rule + 1
            )
        }
        Detail::Field(at) => match at.within {
            Some(_) => format!("more than a rule allows: {}", super::difference(at)),
            None => super::difference(at),
        },
        Detail::Signal { signal, records, of } => {
            format!("{} ended the build after {records} of {of} records", signal_name(*signal))
        }
        Detail::Ended { status, records, of } => format!("the build ended ({status}) after {records} of {of} records"),
        Detail::FilesLacking(lacking) => lacking.to_string(),
        Detail::NoProgress { process, turn, spins } => no_progress(&found.threads, process, *turn, *spins),
    });
    difference.into_iter().chain(detail).collect::<Vec<_>>().join("; ")
}

/// Thread that holds a replay up, and threads that wait.
fn no_progress(threads: &[ThreadReport], process: &Doing, turn: Option<u64>, spins: bool) -> String {
    let name = |thread: &ThreadReport| match thread.process {
        0 => format!("thread {}", thread.thread),
        process => format!("thread {} of process {process}", thread.thread),
    };
    let held = threads.iter().find(|thread| thread.is_its_turn && thread.waits_for.is_none());
    let held = held.or_else(|| threads.iter().find(|thread| thread.waits_for.is_none()));
    // Between such calls it may run, or sleep for a moment.
    let spinning = "makes calls again and again that are not in the recording, while its clock stands still";
    let holder = match held {
        Some(thread) if spins => format!("{} {spinning}", name(thread)),
        None if spins => format!("the process {spinning}"),
        Some(thread) => format!("{} {}", name(thread), doing(&thread.doing)),
        None => format!("the process {}", doing(process)),
    };
    let turn = turn.map(|turn| format!(" and turn {turn} does not come")).unwrap_or_default();
    let waiting = threads.iter().filter_map(|thread| {
        let turn = thread.waits_for?;
        Some(format!("{} waits for turn {turn} before record {}", name(thread), thread.record))
    });
    std::iter::once(format!("{holder}{turn}")).chain(waiting).collect::<Vec<_>>().join("; ")
}

/// Activity of a thread or of a process, in words.
fn doing(doing: &Doing) -> String {
    match doing {
        Doing::Turn => "waits for its turn".to_owned(),
        Doing::Running => "runs in its own code".to_owned(),
        Doing::Sleeping { call, .. } if call.is_empty() => "sleeps".to_owned(),
        Doing::Sleeping { call, .. } => format!("sleeps in {call}"),
        Doing::Finished => "has no records left".to_owned(),
        Doing::Gone => "is not there".to_owned(),
    }
}

/// The class as JSON has it.
pub(super) fn key(class: DivergenceClass) -> &'static str {
    match class {
        DivergenceClass::Output => "output",
        DivergenceClass::Order => "order",
        DivergenceClass::UnrecordedCall => "unrecorded_call",
        DivergenceClass::Starvation => "starvation",
        DivergenceClass::EarlyExit => "early_exit",
        DivergenceClass::LateExit => "late_exit",
        DivergenceClass::MissingFile => "missing_file",
        DivergenceClass::Crash => "crash",
        DivergenceClass::Input => "input",
    }
}

/// Appends everything that is known of a divergence.
pub(super) fn describe(out: &mut String, found: &Divergence) {
    let process = if found.process > 0 { format!(" of process {}", found.process) } else { String::new() };
    let fd = if found.fd >= 0 { format!(", descriptor {}", found.fd) } else { String::new() };
    let byte = found.byte.map_or_else(String::new, |byte| format!(", byte {}", thousands(byte)));
    if !found.call.is_empty() {
        let _ = writeln!(
            out,
            "  record {}{process}, frame {}, thread {}: {}{fd}{byte}",
            thousands(found.record),
            thousands(found.frame),
            found.thread,
            found.call,
        );
    }
    let detail = detail(found);
    if !detail.is_empty() {
        let _ = writeln!(out, "  {}", printable_line(&detail));
    }
    if !found.expected_call.is_empty() && found.expected_call != found.call {
        let _ = writeln!(out, "  recorded call: {}", found.expected_call);
    }
    if !(found.expected.is_empty() && found.found.is_empty()) {
        both_sides(out, found);
    }
    if let Some(NumberChange { byte, form, expected, found }) = found.number() {
        let _ = writeln!(out, "  as a number ({form}, byte {}): {expected} expected, {found} found", thousands(byte));
    }
    section(out, "calls before it", &found.recent);
    section(out, "made at", &found.backtrace);
}

fn section(out: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(out, "  {title}:");
        for line in lines {
            let _ = writeln!(out, "    {}", printable_line(line));
        }
    }
}

/// Hex and text of both sides, the byte in question marked below.
fn both_sides(out: &mut String, found: &Divergence) {
    let longer = found.expected.len().max(found.found.len());
    let in_window = found.byte.and_then(|byte| usize::try_from(byte.checked_sub(found.window_from)?).ok());
    let differs = in_window.filter(|&byte| byte <= longer).unwrap_or(0);
    let from = differs.saturating_sub(SHOWN_BEFORE);
    let shown = |side: &[u8]| side.get(from..side.len().min(from + SHOWN_BYTES)).unwrap_or_default().to_vec();
    let (expected, other) = (shown(&found.expected), shown(&found.found));
    let width = expected.len().max(other.len()) * 3;
    let start = found.window_from + from as u64;
    if start > 0 {
        let _ = writeln!(out, "  from byte {} on:", thousands(start));
    }
    for (name, side) in [("expected", &expected), ("found", &other)] {
        let _ = writeln!(out, "    {name:<8}  {:<width$} |{}|", prony_demo::dump::hex(side), printable(side));
    }
    let _ = writeln!(out, "    {:<8}  {}^^", "", " ".repeat((differs - from) * 3));
}

/// The next step, given the flags already in use.
pub(super) fn hint(args: &ReplayArgs, report: &ReplayReport, found: &Divergence) -> String {
    let explains = || format!("`{}` shows why", explain::command(args));
    let first = report.causes.first();
    if args.explain {
        // The frames of a demo are those of process 0.
        let place = match found.process {
            0 => format!("--frames {}", found.frame),
            process => format!("--process {process}"),
        };
        return format!("`prony demo dump {} {place} --full` shows what was recorded there", args.demo.display());
    }
    match (first, explain::in_short(report)) {
        (Some(cause @ Cause::MissingFile), _) => explain::step(args, report, found, cause),
        (_, Some(cause)) => format!("{cause}; {}", explains()),
        (_, None) => explains(),
    }
}
