//! Turns the facts of a divergence into a report: what was expected there, and what came before.

use crate::channel::{self, ThreadState};
use crate::report::{ByteWindow, Detail, Difference, Divergence, DivergenceClass, Doing, Passed, ThreadReport};
use crate::run::tape::{Scene, calls_of, owners_of, scene};
use crate::run::{Outcome, Starved};
use crate::verdict::sockets::Unexcused;
use crate::verdict::tolerated::UnlikeField;
use prony_channel::{Stop, StopKind};
use prony_demo::dump::{Line, call_name};
use prony_demo::{Demo, DemoError, Head};
use std::io::{Read, Seek};

/// Bytes of either side that a report shows.
const WINDOW_BYTES: usize = 128;

fn class_of(stop: Stop) -> DivergenceClass {
    match stop {
        Stop::Output => DivergenceClass::Output,
        Stop::Order => DivergenceClass::Order,
        Stop::Unrecorded => DivergenceClass::UnrecordedCall,
        Stop::EarlyExit => DivergenceClass::EarlyExit,
        Stop::LateExit => DivergenceClass::LateExit,
        Stop::Input => DivergenceClass::Input,
    }
}

fn shown(process: u16, frame: u64, record: &[u8]) -> String {
    Line::new(process, frame, record).map(|line| line.to_string().trim_end().to_owned()).unwrap_or_default()
}

/// Fills in frame, expected call and the calls before it.
fn set_scene(found: &mut Divergence, scene: &Scene) {
    found.frame = scene.frame;
    found.expected_call = shown(found.process, scene.frame, &scene.record);
    found.recent = scene.before.iter().map(|(frame, record)| shown(found.process, *frame, record)).collect();
}

/// A divergence the player stopped at.
pub(crate) fn from_player<R: Read + Seek>(
    demo: &mut Demo<R>,
    facts: channel::Divergence,
) -> Result<Divergence, DemoError> {
    let detail = match (facts.class, facts.kind, facts.byte) {
        (_, StopKind::Status, _) | (Stop::EarlyExit, ..) => Some(Detail::EndingStatus(facts.status)),
        (.., Some(_)) if facts.expected_bytes != facts.found_bytes => {
            Some(Detail::Lengths { expected: facts.expected_bytes, found: facts.found_bytes })
        }
        _ => None,
    };
    let mut found = Divergence {
        class: class_of(facts.class),
        process: facts.process as u16,
        thread: facts.thread as u16,
        record: facts.record,
        frame: 0,
        call: call_name(facts.op),
        fd: facts.fd,
        window: ByteWindow {
            differing: facts.byte,
            from: facts.window_start,
            expected: facts.expected,
            found: facts.found,
        },
        expected_call: String::new(),
        recent: Vec::new(),
        backtrace: facts.callers,
        detail,
        difference: Difference::Class,
        threads: Vec::new(),
    };
    let scene = scene(demo, found.process, found.thread, found.record)?;
    set_scene(&mut found, &scene);
    found.difference = match facts.kind {
        StopKind::Call => Difference::Class,
        StopKind::NotSent => Difference::NotSent,
        StopKind::NotRecorded => Difference::NotRecorded,
        StopKind::Bytes => Difference::Bytes,
        StopKind::Destination => Difference::Destination,
        StopKind::Room => Difference::Room { recorded: facts.expected_bytes, room: facts.found_bytes },
        StopKind::Descriptor => Difference::Descriptor(facts.status),
        StopKind::Status => {
            let expected = Head::from_bytes(&scene.record).map_or(0, |head| head.aux as i32);
            Difference::Status { expected, found: facts.status }
        }
    };
    Ok(found)
}

/// An output that no tolerance rule excuses.
pub(crate) fn from_output<R: Read + Seek>(demo: &mut Demo<R>, output: Unexcused) -> Result<Divergence, DemoError> {
    let start = output.byte.saturating_sub(WINDOW_BYTES / 2);
    let window = |side: &[u8]| side[start.min(side.len())..side.len().min(start + WINDOW_BYTES)].to_vec();
    let mut found = Divergence {
        class: DivergenceClass::Output,
        process: output.process,
        thread: output.thread,
        record: output.record,
        frame: 0,
        call: call_name(output.op),
        fd: output.fd,
        window: ByteWindow {
            differing: Some(output.byte as u64),
            from: start as u64,
            expected: window(&output.expected),
            found: window(&output.found),
        },
        expected_call: String::new(),
        recent: Vec::new(),
        backtrace: Vec::new(),
        detail: Some(Detail::NotTolerated(output.beyond)),
        difference: Difference::Bytes,
        threads: Vec::new(),
    };
    let scene = scene(demo, found.process, found.thread, found.record)?;
    set_scene(&mut found, &scene);
    Ok(found)
}

/// A field of an output that is not within what is tolerated.
pub(crate) fn from_field<R: Read + Seek>(demo: &mut Demo<R>, field: UnlikeField) -> Result<Divergence, DemoError> {
    let mut found = plain(DivergenceClass::Output, None);
    (found.process, found.thread, found.record) = (field.at.process, field.thread, field.at.record);
    (found.call, found.fd) = (call_name(field.op), field.fd);
    let scene = scene(demo, found.process, found.thread, found.record)?;
    set_scene(&mut found, &scene);
    found.frame = field.at.frame;
    found.detail = Some(Detail::Field(Box::new(field.at)));
    Ok(found)
}

/// A build that ended on its own: shown at the last call that was answered.
pub(crate) fn at_last_call<R: Read + Seek>(
    demo: &mut Demo<R>,
    class: DivergenceClass,
    threads: &[ThreadState],
    detail: Detail,
) -> Result<Divergence, DemoError> {
    let mut found = plain(class, Some(detail));
    if let Some(last) = threads.iter().max_by_key(|thread| (thread.process == 0, thread.record)) {
        set_place(&mut found, demo, last)?;
    }
    Ok(found)
}

fn set_place<R: Read + Seek>(found: &mut Divergence, demo: &mut Demo<R>, at: &ThreadState) -> Result<(), DemoError> {
    (found.process, found.thread, found.record) = (at.process as u16, at.thread as u16, at.record);
    let scene = scene(demo, found.process, found.thread, found.record)?;
    set_scene(found, &scene);
    if let Some(head) = Head::from_bytes(&scene.record) {
        (found.call, found.fd) = (call_name(head.op), head.fd);
    }
    Ok(())
}

/// A divergence without a record of its own.
pub(crate) fn plain(class: DivergenceClass, detail: Option<Detail>) -> Divergence {
    Divergence {
        class,
        process: 0,
        thread: 0,
        record: 0,
        frame: 0,
        call: String::new(),
        fd: -1,
        window: ByteWindow::default(),
        expected_call: String::new(),
        recent: Vec::new(),
        backtrace: Vec::new(),
        detail,
        difference: Difference::Class,
        threads: Vec::new(),
    }
}

/// An output whose bytes from `from` on are these.
#[cfg(test)]
pub(crate) fn differing(from: u64, expected: &[u8], found: &[u8]) -> Divergence {
    let byte = expected.iter().zip(found).position(|(a, b)| a != b).expect("they differ");
    Divergence {
        difference: Difference::Bytes,
        window: ByteWindow {
            differing: Some(from + byte as u64),
            from,
            expected: expected.to_vec(),
            found: found.to_vec(),
        },
        ..plain(DivergenceClass::Output, None)
    }
}

/// A replay that got nowhere.
pub(crate) fn from_starved<R: Read + Seek>(demo: &mut Demo<R>, starved: &Starved) -> Result<Divergence, DemoError> {
    let threads = reports(demo, starved)?;
    let first = starved.threads.iter().find(|(thread, _)| thread.waiting);
    let turn = first.map(|(thread, _)| thread.now);
    let detail = Detail::NoProgress { process: starved.process.clone(), turn, spins: starved.spins };
    let mut found = plain(DivergenceClass::Starvation, Some(detail));
    if let Some((thread, _)) = first.or_else(|| starved.threads.first()) {
        set_place(&mut found, demo, thread)?;
    }
    found.threads = threads;
    Ok(found)
}

/// What each thread does, and those whose turn it is although they are not there.
fn reports<R: Read + Seek>(demo: &mut Demo<R>, starved: &Starved) -> Result<Vec<ThreadReport>, DemoError> {
    let wanted: Vec<(u16, u64)> =
        starved.threads.iter().map(|(thread, _)| (thread.process as u16, thread.record)).collect();
    let calls = calls_of(demo, &wanted)?;
    let turns = starved.threads.iter().map(|(thread, _)| (thread.leader as u16, thread.now)).collect();
    let owners = owners_of(demo, &turns)?;
    let mut reports: Vec<ThreadReport> = Vec::new();
    for (thread, doing) in &starved.threads {
        let (process, number) = (thread.process as u16, thread.thread as u16);
        let owner = owners.get(&(thread.leader as u16, thread.now)).copied();
        reports.push(ThreadReport {
            process,
            thread: number,
            record: thread.record,
            call: calls.get(&(process, thread.record)).cloned().unwrap_or_default(),
            waits_for: thread.waiting.then_some(thread.turn),
            is_its_turn: owner == Some((process, number)),
            doing: doing.clone(),
        });
        let is_there = |owner| {
            starved.threads.iter().any(|(it, _)| (it.process as u16, it.thread as u16) == owner)
                || reports.iter().any(|report| (report.process, report.thread) == owner)
        };
        if let Some((process, thread)) = owner.filter(|&owner| !is_there(owner)) {
            let (record, call) = (0, String::new());
            let (waits_for, is_its_turn, doing) = (None, true, Doing::Gone);
            reports.push(ThreadReport { process, thread, record, call, waits_for, is_its_turn, doing });
        }
    }
    Ok(reports)
}

/// The thread that was passed last although it was its turn.
pub(crate) fn passed<R: Read + Seek>(demo: &mut Demo<R>, outcome: &Outcome) -> Result<Option<Passed>, DemoError> {
    if outcome.counted.overlapped == 0 {
        return Ok(None);
    }
    let (process, thread, record) = outcome.passed;
    let (process, thread) = (process as u16, thread as u16);
    let call = calls_of(demo, &[(process, record)])?.remove(&(process, record)).unwrap_or_default();
    Ok(Some(Passed { process, thread, record, call }))
}
