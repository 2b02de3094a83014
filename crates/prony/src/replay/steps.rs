//! The next step after a divergence: for each possible cause, and given the flags already in use.

use std::borrow::Cow;

use prony_replay::{
    Cause, Divergence, DivergenceClass, Doing, FailedCall, ReplayReport, ThreadReport, Traced, Unrecorded,
};
use prony_report::text::replay::causes;

use crate::cli::ReplayArgs;

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
    with_build(args, &["replay", "--explain"])
}

/// The command that opens a debugger where this replay diverged.
pub(super) fn debug_command(args: &ReplayArgs) -> String {
    with_build(args, &["debug", "--divergence"])
}

/// The command that opens a debugger at a call.
pub(super) fn debug_at_record(args: &ReplayArgs, record: u64, process: u16) -> String {
    let (record, process) = (record.to_string(), process.to_string());
    let verb = ["debug", "--record", &record, "--process", &process];
    with_build(args, if process == "0" { &verb[..3] } else { &verb })
}

/// A verb and flags, with the demo, what gives a build its variables, and the build.
fn with_build(args: &ReplayArgs, verb: &[&str]) -> String {
    let mut words: Vec<Cow<'_, str>> = vec!["prony".into()];
    words.extend(verb.iter().map(|&word| Cow::from(word)));
    words.push(args.demo.to_string_lossy());
    words.extend(args.trust.trust_demo.then_some("--trust-demo".into()));
    for (name, value) in &args.execution.env {
        words.extend(["--env".into(), format!("{}={}", name.to_string_lossy(), value.to_string_lossy()).into()]);
    }
    if !args.command.is_empty() {
        words.push("--".into());
        words.extend(args.command.iter().map(|word| word.to_string_lossy()));
    }
    shell_words::join(words)
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

/// The next step, given the flags already in use.
pub(super) fn hint(args: &ReplayArgs, report: &ReplayReport, found: &Divergence) -> String {
    let explains = || format!("`{}` shows why", command(args));
    let first = report.causes.first();
    if args.execution.explain {
        // The frames of a demo are those of process 0.
        let place = match found.process {
            0 => format!("--frames {}", found.frame),
            process => format!("--process {process}"),
        };
        return format!("`prony demo dump {} {place} --full` shows what was recorded there", args.demo.display());
    }
    match (first, causes::likeliest(report)) {
        (Some(cause @ Cause::MissingFile), _) => step(args, report, found, cause),
        (_, Some(cause)) => format!("{cause}; {}", explains()),
        (_, None) => explains(),
    }
}

/// Next step for a cause, as a sentence.
pub(super) fn step(args: &ReplayArgs, report: &ReplayReport, found: &Divergence, cause: &Cause) -> String {
    let demo = args.demo.display();
    match cause {
        Cause::MissingFile if report.from_demo.files_withheld > 0 => {
            "the demo contains the file: use --trust-demo to let the build read it, if you trust the author of \
             the demo"
                .to_owned()
        }
        Cause::MissingFile if !report.from_demo.directories_outside.is_empty() => step_for_outside(report),
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
            args.execution.watchdog.as_secs().max(1) * 6
        ),
        Cause::Blocked(thread) => step_for_blocked(thread),
        Cause::Missed(_) => {
            "configure the server not to do this, and record again; docs/guide/recording.md describes what is \
             recorded"
                .to_owned()
        }
        Cause::SideBySide => {
            "record again without --threads-side-by-side; ThreadSanitizer, in a build that has it, names the race".to_owned()
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
        Cause::ChangedFiles(_) if !report.from_demo.directories_outside.is_empty() => step_for_outside(report),
        Cause::ChangedFiles(_) => "restore the recorded content, or record again".to_owned(),
        Cause::Libraries(_) => "record again with the local libraries, or replay where the recorded ones are \
                                installed"
            .to_owned(),
        Cause::ClockReads(..) => {
            "if the shift itself is no concern, allow more `frames` in the --tolerance file".to_owned()
        }
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
    let directories: Vec<String> =
        report.from_demo.directories_outside.iter().map(|path| format!("--overlay {path}")).collect();
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

fn step_for_blocked(thread: &ThreadReport) -> String {
    match &thread.doing {
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
