//! Explanation of a divergence: each possible cause in words, with the next step.

use std::fmt::Write;
use std::io;

use prony_demo::dump::errno_name;
use prony_replay::{
    Cause, ChangedListing, Difference, Doing, FailedCall, Passed, Recorded, ThreadReport, Traced, TracedTo, Unrecorded,
};
use prony_text::{count, printable_line, thousands};

use crate::cli::ReplayArgs;
use crate::report::{Divergence, DivergenceClass, ReplayReport};

/// Errors of missing permissions: EPERM and EACCES.
const NOT_PERMITTED: [i32; 2] = [1, 13];
/// Errors of missing files: ENOENT and ENOTDIR.
const NOT_THERE: [i32; 2] = [2, 20];
/// Errors of existing files: EEXIST and ENOTEMPTY.
const IN_THE_WAY: [i32; 2] = [17, 39];
/// EAGAIN, ENOMEM, ENFILE, EMFILE, ENOSPC, EDQUOT.
const TOO_LITTLE: [i32; 6] = [11, 12, 23, 24, 28, 122];
/// Error of a read-only file system: EROFS.
const READ_ONLY: i32 = 30;
/// Error of a descriptor that is no terminal: ENOTTY.
const NO_TERMINAL: i32 = 25;

/// The command that explains this replay.
pub(super) fn command(args: &ReplayArgs) -> String {
    let mut line = format!("prony replay --explain {}", args.demo.display());
    if !args.command.is_empty() {
        line.push_str(" --");
        for word in &args.command {
            let _ = write!(line, " {}", word.to_string_lossy());
        }
    }
    line
}

/// Everything that is known of why the build diverged.
pub(super) fn text(args: &ReplayArgs, report: &ReplayReport) -> String {
    let mut out = String::new();
    let Some(found) = &report.divergence else { return out };
    let _ = writeln!(out, "possible causes, most likely first:");
    for (number, cause) in report.causes.iter().enumerate() {
        let _ = writeln!(out, "  {}. {} ({})", number + 1, printable_line(&sentence(cause)), cause.key());
        let _ = writeln!(out, "     → {}", printable_line(&step(args, report, found, cause)));
    }
    let told = |cause: &Cause| match cause {
        Cause::FailedCall(failed) | Cause::MadeUpName(failed, _) => Some(failed.clone()),
        _ => None,
    };
    let told: Vec<FailedCall> = report.causes.iter().filter_map(told).collect();
    let more: Vec<String> =
        report.failed_calls.iter().filter(|failed| !told.contains(failed)).map(failed_call).collect();
    section(&mut out, "other calls that fail here:", &more);
    let threads: Vec<String> = found.threads.iter().map(thread).collect();
    section(&mut out, "threads:", &threads);
    let notes: Vec<String> = report.surroundings.missed.iter().chain(&report.surroundings.notes).cloned().collect();
    section(&mut out, "notes of the recording:", &notes);
    match report.printed.is_empty() {
        true if args.show_output => {}
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
pub(super) fn in_short(report: &ReplayReport) -> Option<String> {
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
pub(super) fn sentence(cause: &Cause) -> String {
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
        Cause::Busy(held) | Cause::Blocked(held) => thread(held),
        Cause::Missed(note) => format!("the recording missed something: {note}"),
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

fn step_for_unrecorded(source: &Unrecorded) -> &'static str {
    match source {
        Unrecorded::Time(_) | Unrecorded::Uptime(_) => {
            "find where the server reads this time: clocks, times of files and reads from the processor are recorded, but not \
             what another process or a file says that it reads itself"
        }
        Unrecorded::Inode(_) => "take the inode from `stat`, which is recorded, or leave it out of the output",
        Unrecorded::Address => {
            "leave addresses out of the output: another build has others, and one that allocates in another order, too"
        }
    }
}

/// Next step for a cause, as a sentence.
pub(super) fn step(args: &ReplayArgs, report: &ReplayReport, found: &Divergence, cause: &Cause) -> String {
    let demo = args.demo.display();
    match cause {
        Cause::MissingFile if report.files_withheld > 0 => {
            "the demo contains the file: use --trust-demo to let the build read it, if you trust the author of \
             the demo"
                .to_owned()
        }
        Cause::MissingFile if !report.directories_outside.is_empty() => step_for_outside(report),
        Cause::MissingFile => format!(
            "search for it below DIR by content with --assets DIR; `prony demo info {demo}` lists what the demo \
             lacks"
        ),
        Cause::FailedCall(failed) => step_for_failure(failed),
        Cause::MadeUpName(..) => "give the file a name that does not depend on an inode, on the time of a file or on \
                                  randomness past the recorded calls: clocks, `getrandom` and process numbers are \
                                  recorded"
            .to_owned(),
        Cause::UnfailedCall(_) => {
            "move away files that did not exist while recording, or record with --state DIR, so that each replay \
             starts in the same state"
                .to_owned()
        }
        Cause::Busy(_) => format!(
            "if it computes, allow more time with --watchdog {}s; if it loops, find the place with `gdb -p`",
            args.watchdog.as_secs().max(1) * 6
        ),
        Cause::Blocked(held) => step_for_blocked(held),
        Cause::Missed(_) => {
            "configure the server not to do this, and record again; docs/guide/record-replay.md describes what is \
             recorded"
                .to_owned()
        }
        Cause::Raced(..) => "find out what that thread does after that call: it may compute, wait in a loop, or \
                             wait for something that is not in the demo; otherwise record the server with one \
                             thread"
            .to_owned(),
        Cause::Unrecorded(source, ..) => step_for_unrecorded(source).to_owned(),
        Cause::Traced(Traced { path, .. }) => format!(
            "restore `{path}` as it was while recording, record with --state and its directory, or leave out of the output what \
             the server learns from it"
        ),
        Cause::Listing(_) => {
            "restore the directory as it was, keep demos, logs and caches in another one, or record with --state and this \
             directory"
                .to_owned()
        }
        Cause::SharedMemory(_) => {
            "replay again: the order may come out as recorded; locks that a program makes of memory \
                                   alone are not recorded, so use those of libc, or record with one thread"
                .to_owned()
        }
        Cause::Written(_) => "record again with --state and their directory, so that each replay finds their \
                              original content"
            .to_owned(),
        Cause::WrittenByOthers(_) => "record with --follow-exec if the server runs that program: a replay then runs it \
                                      too; a replay finds only the content of the end of the recording otherwise"
            .to_owned(),
        Cause::ChangedFiles(_) if !report.directories_outside.is_empty() => step_for_outside(report),
        Cause::ChangedFiles(_) => "restore the recorded content, or record again".to_owned(),
        Cause::Libraries(_) => "record again with the local libraries, or replay where the recorded ones are \
                                installed"
            .to_owned(),
        Cause::CloseNumbers => {
            "if the difference is only rounding, list these numbers in a --tolerance file".to_owned()
        }
        Cause::ReplacedProgram => "record again, or restore the recorded program".to_owned(),
        Cause::OtherBuild => step_for_build(args, found),
        Cause::Processor(_) => "record on the machine where you measure".to_owned(),
        Cause::Unknown => format!(
            "replay again: if it diverges at the same record each time, please report it with the output of \
             `prony demo info {demo}`; if at different records, threads race"
        ),
    }
}

/// Next step where files of the demo belong elsewhere than below its own directories.
fn step_for_outside(report: &ReplayReport) -> String {
    let directories: Vec<String> = report.directories_outside.iter().map(|path| format!("--overlay {path}")).collect();
    format!(
        "the file that was recorded lies outside the demo's working and state directories: use {} to let the build read it",
        directories.join(" ")
    )
}

fn step_for_failure(failed: &FailedCall) -> String {
    match failed.errno {
        errno if NOT_PERMITTED.contains(&errno) => {
            "replay as the user who recorded; calls that need root need it in a replay too".to_owned()
        }
        errno if NOT_THERE.contains(&errno) => format!(
            "restore `{}`; record with --state and its directory if the server needs its content, with \
             --follow-exec if another program that the server runs creates it",
            failed.path
        ),
        errno if IN_THE_WAY.contains(&errno) => format!(
            "remove `{}`, which an earlier run has left, or record with --state and its directory, so that each \
             replay starts without it",
            failed.path
        ),
        errno if TOO_LITTLE.contains(&errno) => {
            "this machine has lower limits than the recording machine: compare `ulimit -a`, free memory and disks"
                .to_owned()
        }
        READ_ONLY => "replay where the build has the same write permissions".to_owned(),
        NO_TERMINAL => "the server used a terminal, which a replay does not have: record with its output \
                        redirected to a file"
            .to_owned(),
        _ => "the call was made on the stand-in for a recorded descriptor: please report it".to_owned(),
    }
}

fn step_for_blocked(held: &ThreadReport) -> String {
    match &held.doing {
        Doing::Gone => "a thread or a program was not started as recorded; see the failed calls".to_owned(),
        Doing::Sleeping { call, .. } if call == "futex" => {
            "threads wait for each other in a different order than recorded: record again without \
             --threads-side-by-side, or with one thread"
                .to_owned()
        }
        _ => "it waits for something that is not in the demo: from a program that it runs (record with \
              --follow-exec), a process that shares memory with it, or a writer of a file that it reads"
            .to_owned(),
    }
}

/// Next step for a build that is not the recorded one.
fn step_for_build(args: &ReplayArgs, found: &Divergence) -> String {
    let demo = args.demo.display();
    let same = format!("`prony replay {demo}` replays the recorded build; if that is identical");
    match found.class {
        DivergenceClass::Order => format!(
            "{same}, this one makes its calls in a different order and needs its \
                                           own recording"
        ),
        DivergenceClass::UnrecordedCall => format!(
            "{same}, this one makes calls that were not recorded: record it, or exclude the library that makes \
             them with --exclude-object"
        ),
        _ => format!("{same}, the difference comes from this build"),
    }
}

/// Kind of difference within the class of a divergence, as JSON has it.
pub(super) fn difference(difference: Difference) -> &'static str {
    match difference {
        Difference::Class => "class",
        Difference::Bytes => "bytes",
        Difference::NotSent => "not_sent",
        Difference::NotRecorded => "not_recorded",
        Difference::Destination => "destination",
        Difference::Room { .. } => "room",
        Difference::Descriptor(_) => "descriptor",
        Difference::Status { .. } => "status",
    }
}
