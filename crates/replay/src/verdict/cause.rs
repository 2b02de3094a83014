//! Possible causes of a divergence, derived from facts about the recording and the build. The guide's table has a row
//! for each.

use crate::report::{
    Cause, Divergence, DivergenceClass, Doing, FailedCall, Recorded, ReplayReport, SIDE_BY_SIDE, ThreadReport,
};
use prony_demo::tolerance::Alignment;
use prony_demo::{Class, Op};

/// Most failed calls that are reported as causes.
const MOST_CALLS: usize = 3;
/// ENOTTY: a question that is put to every output, and whose answer says only where a server prints.
const ENOTTY: i32 = 25;

/// Possible causes of this divergence, the likeliest first: calls that failed, then missing or different inputs, and
/// last that the build is another one.
pub(crate) fn causes(report: &ReplayReport) -> Vec<Cause> {
    let Some(found) = &report.divergence else { return Vec::new() };
    if found.class == DivergenceClass::MissingFile {
        return vec![Cause::MissingFile];
    }
    let around = &report.surroundings;
    let mut causes = Vec::new();
    let (likely, doubtful): (Vec<_>, Vec<_>) =
        report.evidence.failed_calls.iter().cloned().partition(|failed| is_likely(failed, found));
    causes.extend(likely.into_iter().take(MOST_CALLS).map(|failed| {
        match around.files.iter().find(|recorded| differ_by_a_number(&failed.path, recorded)) {
            Some(recorded) => Cause::MadeUpName(failed, recorded.clone()),
            None => Cause::FailedCall(failed),
        }
    }));
    if around.notes.iter().any(|note| note == SIDE_BY_SIDE) {
        causes.push(Cause::SideBySide);
    }
    causes.extend(blocked_by(found));
    causes.extend(report.evidence.traced.clone().map(Cause::Traced));
    if let (Some(source), Some(change)) = (&report.evidence.source, found.number()) {
        causes.push(Cause::Unrecorded(source.clone(), change.expected.to_string(), change.found.to_string()));
    }
    causes.extend(report.evidence.listings.iter().cloned().map(Cause::Listing));
    causes.extend(around.missed.iter().cloned().map(Cause::Missed));
    if report.counted.overlapped > 0 {
        causes.push(Cause::Raced(report.counted.overlapped, report.evidence.passed.clone()));
    }
    let some = |files: &[String], cause: fn(Vec<String>) -> Cause| (!files.is_empty()).then(|| cause(files.to_vec()));
    if waits_for_threads(found) && report.evidence.threads > 1 {
        causes.push(Cause::SharedMemory(found.call.clone()));
    }
    causes.extend(some(&around.changed, Cause::ChangedFiles));
    causes.extend(some(&around.written, Cause::Written));
    causes.extend(some(&around.written_by_others, Cause::WrittenByOthers));
    match (around.recorded_build, around.command_given) {
        (Some(false), true) => {
            let alignment = report.tolerance.as_ref().map(|tolerance| &tolerance.alignment);
            let (added, removed) = (report.counted.clocks_added, report.counted.clocks_removed);
            causes.extend(alignment.and_then(|alignment| clock_reads(alignment, found.frame, added, removed)));
            if is_rounded(found) {
                causes.push(Cause::CloseNumbers);
            }
            causes.push(Cause::OtherBuild);
        }
        (Some(false), false) => causes.push(Cause::ReplacedProgram),
        _ => {}
    }
    // A program is what changes most.
    causes.extend(some(&around.libraries, Cause::Libraries));
    causes.extend(around.processor.clone().map(Cause::Processor));
    causes.extend(report.evidence.unfailed_calls.iter().take(MOST_CALLS).cloned().map(Cause::UnfailedCall));
    causes.extend(doubtful.into_iter().take(MOST_CALLS).map(Cause::FailedCall));
    if causes.is_empty() {
        causes.push(Cause::Unknown);
    }
    causes
}

/// True for two names that are the same but for a number in them, decimal or hexadecimal.
fn differ_by_a_number(path: &str, recorded: &str) -> bool {
    path != recorded
        && (without_numbers(path) == without_numbers(recorded) || without_hex(path) == without_hex(recorded))
}

fn without_numbers(path: &str) -> String {
    replaced(path, |letter| letter.is_ascii_digit(), |_| true)
}

/// Without runs of hexadecimal digits that are long enough to be no word, and have a digit.
fn without_hex(path: &str) -> String {
    const LEAST: usize = 4;
    replaced(
        path,
        |letter| letter.is_ascii_hexdigit(),
        |run| run.len() >= LEAST && run.bytes().any(|digit| digit.is_ascii_digit()),
    )
}

/// The text with `#` in place of each run of such letters that is a number.
fn replaced(text: &str, is_part: impl Fn(char) -> bool, is_number: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let part = is_part(first);
        let end = rest.find(|letter| is_part(letter) != part).unwrap_or(rest.len());
        let (run, more) = rest.split_at(end);
        out.push_str(if part && is_number(run) { "#" } else { run });
        rest = more;
    }
    out
}

/// A failure of the process that diverged, of which the recording knows better.
fn is_likely(failed: &FailedCall, found: &Divergence) -> bool {
    failed.errno != ENOTTY && failed.process == found.process && failed.recorded != Recorded::NotNoted
}

/// The thread that holds the others up: one that runs, or is not there though it is its turn, or sleeps in something else
/// than a wait for another thread; only then the one whose turn it is.
fn blocked_by(found: &Divergence) -> Option<Cause> {
    const FOR_OTHERS: [&str; 3] = ["futex", "wait4", "waitid"];
    let sleeps = |thread: &&ThreadReport| match &thread.doing {
        Doing::Sleeping { call, .. } => !FOR_OTHERS.contains(&call.as_str()),
        _ => false,
    };
    let all = || found.threads.iter().filter(|thread| thread.waits_for.is_none());
    let blocker = all().find(|thread| thread.doing == Doing::Running);
    let blocker = blocker.or_else(|| all().find(|thread| thread.doing == Doing::Gone));
    let blocker = blocker.or_else(|| all().find(sleeps)).or_else(|| all().find(|thread| thread.is_its_turn));
    let blocker = blocker.or_else(|| all().next())?;
    Some(match blocker.doing {
        Doing::Running => Cause::Busy(blocker.clone()),
        _ => Cause::Blocked(blocker.clone()),
    })
}

/// True where the build made a call between threads out of order: it has to wait where it did not, or the other way round.
fn waits_for_threads(found: &Divergence) -> bool {
    found.class == DivergenceClass::Order && Op::from_name(&found.call).is_some_and(|op| op.class() == Class::Thread)
}

/// Clock reads that were added and skipped, where outputs went out in other frames than recorded before the build diverged.
/// What it does later, in another state, follows from the divergence.
fn clock_reads(alignment: &Alignment, diverged_frame: u64, added: u64, removed: u64) -> Option<Cause> {
    let first = alignment.first_moved.as_ref()?;
    let is_before = first.frame.min(first.replayed_frame) <= diverged_frame;
    (is_before && added + removed > 0).then_some(Cause::ClockReads(added, removed))
}

/// True if the output differs by a number with a fraction that is close to the recorded one.
fn is_rounded(found: &Divergence) -> bool {
    found.number().is_some_and(|change| change.is_close())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_demo::tolerance::Moved;

    #[test]
    fn clock_reads_are_no_cause_of_what_differs_before_an_output_moves() {
        let mut alignment = Alignment::default();
        assert_eq!(clock_reads(&alignment, 248, 534, 995), None);
        let first = Moved { frame: 355, replayed_frame: 354, record: 17_927, process: 0, peer: String::new() };
        alignment.add_moved(first);
        assert_eq!(clock_reads(&alignment, 248, 534, 995), None);
        assert_eq!(clock_reads(&alignment, 354, 534, 995), Some(Cause::ClockReads(534, 995)));
        assert_eq!(clock_reads(&alignment, 355, 0, 0), None);
    }

    #[test]
    fn names_that_differ_by_a_number_are_distinguished_from_others() {
        for (path, recorded) in [
            ("/tmp/job-1234.lock", "/tmp/job-99.lock"),
            ("/srv/17/x", "/srv/18/x"),
            ("/tmp/5aa9788f-2a7d-4b7d-80c5-0242ac120002", "/tmp/99ff0e12-11aa-4c1d-91b0-0242ac120003"),
        ] {
            assert!(differ_by_a_number(path, recorded), "{path} {recorded}");
        }
        for (path, recorded) in
            [("/tmp/job-1", "/tmp/job-1"), ("/tmp/facade", "/tmp/decade"), ("/a/1/b", "/a/1/c"), ("/x1", "/x1/2")]
        {
            assert!(!differ_by_a_number(path, recorded), "{path} {recorded}");
        }
    }
}
