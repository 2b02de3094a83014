//! Classification of failures: permanent, or transient.

use std::io;

use prony_bench::{Failed, Problem, SingleRunError};
use prony_machine::process::{RunError, Step};
use prony_replay::{Detail, Divergence, DivergenceClass, ReplayError, ReplayReport};

use crate::FailureKind;
use crate::ledger::Failure;

/// What a shell ends with when SIGKILL or SIGTERM ended what it ran: 128 and the signal.
const KILLED_CODES: [i32; 2] = [128 + SIGKILL, 128 + SIGTERM];
const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
/// The longest message that is kept, in characters.
const LONGEST: usize = 400;

/// Failure of a command. `None`: it did not fail, a stop was requested.
pub fn of_command(error: &SingleRunError) -> Option<Failure> {
    match error {
        SingleRunError::Interrupted => None,
        SingleRunError::Bench(error) => Some(failure(FailureKind::Transient, &error.to_string(), "")),
        SingleRunError::Failed(failed) => {
            let Failed { problem, stderr_tail, .. } = failed.as_ref();
            Some(failure(of_problem(problem), &problem.to_string(), stderr_tail))
        }
    }
}

fn of_problem(problem: &Problem) -> FailureKind {
    match problem {
        Problem::Exited(code) if KILLED_CODES.contains(code) => FailureKind::Transient,
        Problem::Signalled(signal) => of_signal(*signal),
        Problem::TimedOut(_) => FailureKind::Transient,
        Problem::Run(RunError::Start { step: Step::Clone, .. } | RunError::Watch { .. }) => FailureKind::Transient,
        Problem::Run(RunError::Start { error, .. }) | Problem::File { error, .. } => of_io(error),
        _ => FailureKind::Permanent,
    }
}

/// Of a signal that ended a process: a crash of its own will come again; what others sent, or the kernel for lack of
/// memory, will not.
fn of_signal(signal: i32) -> FailureKind {
    match signal {
        SIGHUP | SIGINT | SIGKILL | SIGTERM => FailureKind::Transient,
        _ => FailureKind::Permanent,
    }
}

/// Kind of an error of the system: a shortage may end.
pub fn of_io(error: &io::Error) -> FailureKind {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    let lacks = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::OutOfMemory => true,
        io::ErrorKind::WouldBlock | io::ErrorKind::ExecutableFileBusy => true,
        _ => matches!(error.raw_os_error(), Some(ENFILE | EMFILE)),
    };
    if lacks { FailureKind::Transient } else { FailureKind::Permanent }
}

/// Failure of a replay that could not be run.
pub fn of_replay_error(error: &ReplayError) -> Failure {
    let kind = match error {
        ReplayError::System { error, .. } | ReplayError::Mount(error) => of_io(error),
        _ => FailureKind::Permanent,
    };
    let next = match error {
        ReplayError::NotTrusted(_) => "; allow it with `trust_demo = true` in the workload",
        _ => "",
    };
    failure(kind, &format!("cannot replay: {error}{next}"), "")
}

/// Failure of a build that diverged.
pub fn of_divergence(report: &ReplayReport) -> Failure {
    let Some(found) = &report.divergence else { return failure(FailureKind::Permanent, "diverged", "") };
    let what = match found.class {
        DivergenceClass::Output => format!("`{}` sent different bytes", found.call),
        DivergenceClass::Order => format!("expected `{}`, found `{}`", found.expected_call, found.call),
        DivergenceClass::UnrecordedCall => format!("`{}` has no record", found.call),
        DivergenceClass::Starvation => "a thread starved".to_owned(),
        DivergenceClass::EarlyExit => "it ended before the recording did".to_owned(),
        DivergenceClass::LateExit => "it continued after the recording ended".to_owned(),
        DivergenceClass::MissingFile => match &found.detail {
            Some(Detail::FilesLacking(lacking)) => lacking.to_string(),
            _ => "a file that the server read is not there".to_owned(),
        },
        DivergenceClass::Crash => "it was ended by a signal".to_owned(),
        DivergenceClass::Input => format!("the result of the recorded `{}` does not fit", found.call),
    };
    let kind = kind_of_divergence(found);
    let place = format!("diverged at record {} of frame {}: {what}", found.record, found.frame);
    failure(kind, &place, "")
}

fn kind_of_divergence(found: &Divergence) -> FailureKind {
    match (found.class, &found.detail) {
        // Who waited for too long may have had no CPU.
        (DivergenceClass::Starvation, _) => FailureKind::Transient,
        (DivergenceClass::Crash, Some(Detail::Signal { signal, .. })) => of_signal(*signal),
        _ => FailureKind::Permanent,
    }
}

/// With the last line of what it printed.
fn failure(kind: FailureKind, problem: &str, printed: &str) -> Failure {
    let last = printed.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let message = last.map_or_else(|| problem.to_owned(), |last| format!("{problem}: {last}"));
    let message = message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    Failure { kind, message }
}

#[cfg(test)]
mod tests {
    use prony_bench::Phase;
    use prony_replay::ByteWindow;

    use super::*;

    fn kind(problem: Problem) -> FailureKind {
        of_problem(&problem)
    }

    #[test]
    fn what_others_did_to_it_may_go_well_another_time() {
        for problem in [
            Problem::Signalled(SIGKILL),
            Problem::Signalled(SIGTERM),
            Problem::Exited(137),
            Problem::TimedOut(std::time::Duration::from_secs(1)),
            Problem::File { verb: "write", file: "a".to_owned(), error: io::ErrorKind::StorageFull.into() },
        ] {
            assert_eq!(kind(problem), FailureKind::Transient);
        }
        const ENOENT: i32 = 2;
        let missing = io::Error::from_raw_os_error(ENOENT);
        assert_eq!(kind(Problem::File { verb: "read", file: "a".to_owned(), error: missing }), FailureKind::Permanent);
    }

    #[test]
    fn what_it_did_itself_will_come_again() {
        const SIGSEGV: i32 = 11;
        for problem in [Problem::Exited(1), Problem::Exited(127), Problem::Signalled(SIGSEGV), Problem::NoValue] {
            assert_eq!(kind(problem), FailureKind::Permanent);
        }
    }

    #[test]
    fn a_replay_that_was_killed_may_go_well_another_time_and_one_that_crashed_will_not() {
        const SIGSEGV: i32 = 11;
        let ended_by = |signal| {
            let found = Divergence {
                class: DivergenceClass::Crash,
                process: 0,
                thread: 0,
                record: 12,
                frame: 3,
                call: "sendto".to_owned(),
                fd: 7,
                window: ByteWindow::default(),
                expected_call: String::new(),
                recent: Vec::new(),
                backtrace: Vec::new(),
                detail: Some(Detail::Signal { signal, records: 12, of: 40 }),
                difference: prony_replay::Difference::Class,
                threads: Vec::new(),
            };
            of_divergence(&ReplayReport { divergence: Some(found), ..ReplayReport::before_replay(1.0) })
        };
        let killed = ended_by(SIGKILL);
        assert_eq!(killed.kind, FailureKind::Transient);
        assert_eq!(killed.message, "diverged at record 12 of frame 3: it was ended by a signal");
        assert_eq!(ended_by(SIGSEGV).kind, FailureKind::Permanent);
    }

    #[test]
    fn the_message_ends_with_the_last_line_that_was_printed() {
        let failed = Failed {
            name: "a".to_owned(),
            phase: Phase::Run(1),
            problem: Problem::Exited(3),
            stderr_tail: "loading\ncannot bind\tport 8303\n\n".to_owned(),
        };
        let failure = of_command(&SingleRunError::Failed(Box::new(failed))).expect("it failed");
        assert_eq!(failure.message, "expected exit code 0, found 3: cannot bind port 8303");
        assert_eq!(of_command(&SingleRunError::Interrupted), None);
    }
}
