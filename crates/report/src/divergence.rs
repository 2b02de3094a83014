//! A divergence in words: its class, and the facts that are known of it.

use prony_demo::tolerance::DifferenceAt;
use prony_machine::signal_name;
use prony_replay::{
    BeyondLimit, Detail, Difference, Divergence, DivergenceClass, Doing, LastWrite, SideBySide, SideOfBoth, StackFrame,
    ThreadReport, Variable,
};
use prony_text::{Untrusted, thousands};

/// The words for a class.
pub fn class_name(class: DivergenceClass) -> &'static str {
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
    [class_name(found.class), what].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Facts about the divergence beyond class and position, as text; empty if there are none.
pub fn detail(found: &Divergence) -> String {
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
            Some(_) => format!("more than a rule allows: {}", field_difference(at)),
            None => field_difference(at),
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
    let blocking = threads.iter().find(|thread| thread.is_its_turn && thread.waits_for.is_none());
    let blocking = blocking.or_else(|| threads.iter().find(|thread| thread.waits_for.is_none()));
    // Between such calls it may run, or sleep for a moment.
    let spinning = "makes calls again and again that are not in the recording, while its clock stands still";
    let holder = match blocking {
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

/// A difference of a decoded field in a sentence.
pub fn field_difference(at: &DifferenceAt) -> String {
    let value = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "nothing".to_owned(), |it| Untrusted::new(it).to_string())
    };
    let within = at.within.map_or_else(String::new, |within| format!(", allowed {within}"));
    format!(
        "frame {}, record {}, to {}: {} {} recorded, {} replayed{within}",
        thousands(at.frame),
        thousands(at.record),
        Untrusted::new(&at.peer),
        Untrusted::new(&at.field),
        value(&at.recorded),
        value(&at.replayed),
    )
}

/// Both builds of a comparison: title, command and what is known of each.
pub(crate) fn sides<'a>(
    commands: [&'a str; 2],
    both: &'a SideBySide,
) -> impl Iterator<Item = (&'static str, &'a str, &'a SideOfBoth)> {
    ["old", "new"].into_iter().zip(commands).zip(&both.sides).map(|((title, command), side)| (title, command, side))
}

/// The name of a function on a stack, or the address where it has none.
pub(crate) fn frame_name(frame: &StackFrame) -> String {
    frame.function.clone().unwrap_or_else(|| format!("{:#x}", frame.address))
}

/// Variables and values, as gdb lists arguments.
pub(crate) fn variables(variables: &[Variable]) -> String {
    variables.iter().map(|variable| format!("{}={}", variable.name, variable.value)).collect::<Vec<_>>().join(", ")
}

/// The last change of this byte of an output, as a clause.
pub(crate) fn write_in_words(byte: Option<u64>, write: &LastWrite) -> String {
    let byte = byte.map_or_else(|| "the byte".to_owned(), |byte| format!("byte {}", thousands(byte)));
    let hex = |byte: Option<u8>| byte.map_or_else(|| "unmapped".to_owned(), |byte| format!("{byte:02x}"));
    match write {
        LastWrite::Written(written) => {
            let place = written.record.filter(|&record| record > 0);
            let place = place.map_or_else(String::new, |record| format!(" after record {}", thousands(record)));
            let by = if written.by_call { ", by the answer of a recorded call" } else { "" };
            format!("{byte} last changed{place}, from {} to {}{by}", hex(written.old), hex(written.new))
        }
        LastWrite::Unseen { since } => format!(
            "{byte} changed after record {} without an instruction of the build: by a system call made for real, or with its mapping",
            thousands(*since)
        ),
        LastWrite::Never { since } => {
            format!("{byte} has not changed since record {}, with which the process begins", thousands(*since))
        }
    }
}
