//! Possible causes of a divergence in words.

use std::fmt::Write;
use std::io;

use prony_demo::dump::errno_name;
use prony_replay::{
    Cause, ChangedListing, Doing, FailedCall, Passed, Recorded, ReplayReport, ThreadReport, Traced, TracedTo,
    Unrecorded,
};
use prony_text::{count, printable_line, thousands};

/// Everything that is known of why the build diverged. `step`: the next step for a cause. `shows_output`: what the build prints was
/// shown already.
pub fn text(report: &ReplayReport, shows_output: bool, step: &dyn Fn(&Cause) -> String) -> String {
    let mut out = String::new();
    let Some(found) = &report.divergence else { return out };
    let _ = writeln!(out, "possible causes, most likely first:");
    for (number, cause) in report.causes.iter().enumerate() {
        let _ = writeln!(out, "  {}. {} ({})", number + 1, printable_line(&sentence(cause)), cause.key());
        let _ = writeln!(out, "     → {}", printable_line(&step(cause)));
    }
    let failed_of = |cause: &Cause| match cause {
        Cause::FailedCall(failed) | Cause::MadeUpName(failed, _) => Some(failed.clone()),
        _ => None,
    };
    let shown: Vec<FailedCall> = report.causes.iter().filter_map(failed_of).collect();
    let more: Vec<String> =
        report.evidence.failed_calls.iter().filter(|failed| !shown.contains(failed)).map(failed_call).collect();
    section(&mut out, "other calls that fail here:", &more);
    let threads: Vec<String> = found.threads.iter().map(thread).collect();
    section(&mut out, "threads:", &threads);
    let notes: Vec<String> = report.surroundings.missed.iter().chain(&report.surroundings.notes).cloned().collect();
    section(&mut out, "notes of the recording:", &notes);
    match report.printed.is_empty() {
        true if shows_output => {}
        true => out.push_str("the build printed nothing\n"),
        false => section(&mut out, "last output of the build:", &report.printed),
    }
    out
}

fn section(out: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(out, "{title}");
        for line in lines {
            let _ = writeln!(out, "  {}", printable_line(line));
        }
    }
}

/// The likeliest cause in one sentence, where one is known.
pub fn likeliest(report: &ReplayReport) -> Option<String> {
    report.causes.first().filter(|cause| !matches!(cause, Cause::Unknown | Cause::MissingFile)).map(sentence)
}

/// Failed call with its argument: `chmod(/run/x.sock)` or `fstat(7)`.
fn call(failed: &FailedCall) -> String {
    match (failed.path.as_str(), failed.fd) {
        ("", -1) => failed.call.clone(),
        ("", number) => format!("{}({number})", failed.call),
        (path, _) => format!("{}({path})", failed.call),
    }
}

/// `ENOENT, no such file or directory`.
fn error(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_lowercase();
    format!("{}, {text}", errno_name(errno))
}

fn failed_call(failed: &FailedCall) -> String {
    let there = match failed.recorded {
        Recorded::Succeeded(record) => format!(", but succeeded while recording (record {})", thousands(record)),
        Recorded::FailedWith(errno) => format!(", but failed with {} while recording", errno_name(errno)),
        Recorded::NotFailed => ", but not while recording".to_owned(),
        Recorded::NotNoted => "; unknown whether it did while recording".to_owned(),
    };
    let process = if failed.process > 0 { format!(" of process {}", failed.process) } else { String::new() };
    format!(
        "{} fails here ({}) after record {}{process}{there}",
        call(failed),
        error(failed.errno),
        thousands(failed.after_record),
    )
}

fn names(files: &[String]) -> String {
    match files {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [first, more @ ..] => format!("`{first}` and {} more", more.len()),
    }
}

/// Activity of a thread, and the call since which it lasts.
fn thread(thread: &ThreadReport) -> String {
    let ThreadReport { process, thread: number, record, call, waits_for, doing, .. } = thread;
    let of = if *process > 0 { format!(" of process {process}") } else { String::new() };
    let since = if call.is_empty() { String::new() } else { format!(" since record {} ({call})", thousands(*record)) };
    let doing = match (doing, waits_for) {
        (_, Some(turn)) => format!("waits for turn {} before record {} ({call})", thousands(*turn), thousands(*record)),
        (Doing::Turn, None) => "waits for its turn".to_owned(),
        (Doing::Running, _) => format!("runs in its own code{since}"),
        (Doing::Sleeping { call, at }, _) => {
            let call = if call.is_empty() { "sleeps".to_owned() } else { format!("sleeps in {call}") };
            let at = if at.is_empty() { String::new() } else { format!(" on {at}") };
            format!("{call}{at}{since}")
        }
        (Doing::Finished, _) => format!("has no records left{since}"),
        (Doing::Gone, _) => "does not exist: it was not started, or has ended".to_owned(),
    };
    let turn = if thread.is_its_turn { ", and it is its turn" } else { "" };
    format!("thread {number}{of} {doing}{turn}")
}

/// A cause in one sentence.
pub fn sentence(cause: &Cause) -> String {
    match cause {
        Cause::MissingFile => "a file that the server read is missing here".to_owned(),
        Cause::FailedCall(failed) => failed_call(failed),
        Cause::MadeUpName(failed, recorded) => format!(
            "{} fails here ({}) after record {}, where the recording has `{recorded}`: a name made from a time, an inode \
             or a random number",
            call(failed),
            errno_name(failed.errno),
            thousands(failed.after_record),
        ),
        Cause::UnfailedCall(failed) => format!(
            "{} failed while recording ({}, record {}), but not here",
            call(failed),
            errno_name(failed.errno),
            thousands(failed.after_record),
        ),
        Cause::Busy(stuck) | Cause::Blocked(stuck) => thread(stuck),
        Cause::Missed(note) => format!("the recording missed something: {note}"),
        Cause::SideBySide => {
            "threads and processes were recorded side by side, so a race between them may end differently in each replay".to_owned()
        }
        Cause::Raced(times, passed) => {
            let last = passed.as_ref().map_or_else(String::new, |passed| {
                let of = if passed.process > 0 { format!(" of process {}", passed.process) } else { String::new() };
                let Passed { thread, record, call, .. } = passed;
                format!(
                    "; most recently, thread {thread}{of} made no call for a long time after record {} ({call})",
                    thousands(*record)
                )
            });
            format!("{} of threads that ran in turn while recording{last}", count(*times, "overlap"))
        }
        Cause::Unrecorded(source, expected, found) => unrecorded(source, expected, found),
        Cause::Traced(traced) => from_outside(traced),
        Cause::Listing(listing) => changed_listing(listing),
        Cause::SharedMemory(call) => format!(
            "`{call}` waits here where it did not while recording, or the other way round: the threads share memory \
             without a call between them"
        ),
        Cause::Written(files) => {
            format!("the server wrote {} while recording, outside any --state directory", names(files))
        }
        Cause::WrittenByOthers(files) => {
            format!("another program wrote {} while the server was recorded, and the server read it", names(files))
        }
        Cause::ChangedFiles(files) => format!("{} changed since the recording", names(files)),
        Cause::Libraries(files) => format!("a different library than recorded: {}", names(files)),
        Cause::ClockReads(added, removed) => format!(
            "the build reads its clock at other places: {} added, {} skipped, so that outputs go out in other frames",
            count(*added, "read"),
            count(*removed, "read")
        ),
        Cause::CloseNumbers => "floating-point numbers that differ slightly".to_owned(),
        Cause::ReplacedProgram => "the program at the recorded path has changed".to_owned(),
        Cause::OtherBuild => "this is a different build from the recorded one, or has different arguments".to_owned(),
        Cause::Processor(change) => change.to_string(),
        Cause::Unknown => "no known cause".to_owned(),
    }
}

/// How a directory differs from what it was.
fn changed_listing(listing: &ChangedListing) -> String {
    let ChangedListing { path, added, gone } = listing;
    let differences = match (added.as_slice(), gone.as_slice()) {
        ([], []) => "in another order, or with other names".to_owned(),
        (added, []) => format!("with {}", names(added)),
        ([], gone) => format!("without {}", names(gone)),
        (added, gone) => format!("with {} and without {}", names(added), names(gone)),
    };
    format!("the server lists the directory `{path}`, which is listed {differences} here")
}

/// Where bytes of an output come from that the recording does not have.
fn from_outside(traced: &Traced) -> String {
    let Traced { origin, path, content } = traced;
    match origin {
        TracedTo::Call { name, after_record } => format!(
            "`{content}` is what {name}({path}) returned here after record {}: a replay makes that call for real",
            thousands(*after_record)
        ),
        TracedTo::File { byte } => {
            format!("`{content}` stands at byte {} of `{path}`, which is not as recorded", thousands(*byte))
        }
    }
}

/// What a number in an output is that a replay has of its own.
fn unrecorded(source: &Unrecorded, expected: &str, found: &str) -> String {
    let of = |unit: u64| match unit {
        1 => "seconds",
        1_000 => "milliseconds",
        1_000_000 => "microseconds",
        _ => "nanoseconds",
    };
    match source {
        Unrecorded::Time(unit) => format!(
            "{found} is a time of this replay, where {expected} is one of the recording ({} since 1970): it was read by \
             another way than the recorded calls",
            of(*unit)
        ),
        Unrecorded::Uptime(unit) => format!(
            "{found} is the time since this machine was started ({}), where {expected} was recorded: it was read by another \
             way than the recorded calls",
            of(*unit)
        ),
        Unrecorded::Inode(path) => {
            format!("{found} is the inode of `{path}` here, where {expected} was recorded: a directory lists it")
        }
        Unrecorded::Address => {
            format!("{found} is an address in the memory of the build, where {expected} was recorded")
        }
    }
}
