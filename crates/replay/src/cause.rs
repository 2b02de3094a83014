//! Possible causes of a divergence, derived from facts about the recording and the build. The guide's table has a row
//! for each.

use crate::report::{
    Cause, Difference, Divergence, DivergenceClass, Doing, FailedCall, Recorded, ReplayReport, ThreadReport,
};

/// Failed calls that are told as causes.
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
        report.failed_calls.iter().cloned().partition(|failed| is_likely(failed, found));
    causes.extend(likely.into_iter().take(MOST_CALLS).map(|failed| {
        match around.files.iter().find(|recorded| differ_by_a_number(&failed.path, recorded)) {
            Some(recorded) => Cause::MadeUpName(failed, recorded.clone()),
            None => Cause::FailedCall(failed),
        }
    }));
    causes.extend(held_up(found));
    causes.extend(around.missed.iter().cloned().map(Cause::Missed));
    if report.counted.overlapped > 0 {
        causes.push(Cause::Raced(report.counted.overlapped, report.passed.clone()));
    }
    let some = |files: &[String], cause: fn(Vec<String>) -> Cause| (!files.is_empty()).then(|| cause(files.to_vec()));
    causes.extend(some(&around.changed, Cause::ChangedFiles));
    causes.extend(some(&around.written, Cause::Written));
    match (around.recorded_build, around.command_given) {
        (Some(false), true) => {
            if are_close_numbers(found) {
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
    causes.extend(report.unfailed_calls.iter().take(MOST_CALLS).cloned().map(Cause::UnfailedCall));
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
fn held_up(found: &Divergence) -> Option<Cause> {
    const FOR_OTHERS: [&str; 3] = ["futex", "wait4", "waitid"];
    let sleeps = |thread: &&ThreadReport| match &thread.doing {
        Doing::Sleeping { call, .. } => !FOR_OTHERS.contains(&call.as_str()),
        _ => false,
    };
    let all = || found.threads.iter().filter(|thread| thread.waits_for.is_none());
    let held = all().find(|thread| thread.doing == Doing::Running);
    let held = held.or_else(|| all().find(|thread| thread.doing == Doing::Gone));
    let held = held.or_else(|| all().find(sleeps)).or_else(|| all().find(|thread| thread.is_its_turn));
    let held = held.or_else(|| all().next())?;
    Some(match held.doing {
        Doing::Running => Cause::Busy(held.clone()),
        _ => Cause::Blocked(held.clone()),
    })
}

/// How far apart numbers may be that rounding has made: as a share of the larger one.
const CLOSE: f64 = 1e-3;

/// True if the first byte that differs is part of a floating-point number, at a place where one may stand, that is close
/// to the recorded one.
fn are_close_numbers(found: &Divergence) -> bool {
    let (Difference::Bytes, Some(byte)) = (found.difference, found.byte) else { return false };
    let Some(byte) = byte.checked_sub(found.window_from).and_then(|byte| usize::try_from(byte).ok()) else {
        return false;
    };
    [4, 8].into_iter().any(|length| {
        (byte.saturating_sub(length - 1)..=byte).any(|start| {
            let of = |side: &[u8]| side.get(start..start + length).map(<[u8]>::to_vec);
            let (Some(expected), Some(other)) = (of(&found.expected), of(&found.found)) else { return false };
            let is_text = |bytes: &[u8]| bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
            !is_text(&expected) && [number_le, number_be].iter().any(|read| is_close(read(&expected), read(&other)))
        })
    })
}

fn number_le(bytes: &[u8]) -> Option<f64> {
    let four = bytes.try_into().map(f32::from_le_bytes).map(f64::from);
    four.or_else(|_| bytes.try_into().map(f64::from_le_bytes)).ok()
}

fn number_be(bytes: &[u8]) -> Option<f64> {
    number_le(&bytes.iter().rev().copied().collect::<Vec<_>>())
}

/// Of a size that servers reckon with: other bytes, read as a number, seldom are.
fn is_close(expected: Option<f64>, found: Option<f64>) -> bool {
    let (Some(expected), Some(found)) = (expected, found) else { return false };
    let sizes = 1e-4..1e7;
    sizes.contains(&expected.abs())
        && sizes.contains(&found.abs())
        && expected != found
        && (expected - found).abs() <= CLOSE * expected.abs().max(found.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diverged::plain;

    fn differing(expected: &[u8], found: &[u8]) -> Divergence {
        let byte = expected.iter().zip(found).position(|(a, b)| a != b).expect("they differ");
        Divergence {
            difference: Difference::Bytes,
            byte: Some(100 + byte as u64),
            window_from: 100,
            expected: expected.to_vec(),
            found: found.to_vec(),
            ..plain(DivergenceClass::Output, None)
        }
    }

    #[test]
    fn names_that_differ_by_a_number_are_told_from_others() {
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

    #[test]
    fn numbers_that_rounding_changed_are_told_from_other_bytes() {
        let floats = |numbers: [f32; 3]| numbers.map(f32::to_le_bytes).concat();
        let close = differing(&floats([1.0, 0.6865, -0.4878]), &floats([1.0, 0.68651, -0.4878]));
        assert!(are_close_numbers(&close));
        let doubles = [2.5f64.to_be_bytes(), 17.25f64.to_be_bytes()].concat();
        let other = [2.5f64.to_be_bytes(), 17.2501f64.to_be_bytes()].concat();
        assert!(are_close_numbers(&differing(&doubles, &other)));
        for (expected, found) in [
            (&b"answer 20 question"[..], &b"`nswer 20 question"[..]),
            (b"\x00\x01\x02\x03\x04\x05\x06\x07", b"\x01\x01\x02\x03\x04\x05\x06\x07"),
            (b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 500 OK\r\n\r\n"),
        ] {
            assert!(!are_close_numbers(&differing(expected, found)), "{expected:?}");
        }
        let not_sent = Divergence { difference: Difference::NotSent, ..close };
        assert!(!are_close_numbers(&not_sent));
    }
}
