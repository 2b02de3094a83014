//! Turns the facts of a divergence into a report: what was expected there, and what came before.

use crate::compare::Unexcused;
use crate::report::{Divergence, DivergenceClass};
use crate::run::Starved;
use crate::tape::{Scene, scene};
use prony_demo::dump::{Line, call_name};
use prony_demo::{Demo, DemoError};
use prony_preload::{Stop, ThreadState};
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
    facts: prony_preload::Divergence,
) -> Result<Divergence, DemoError> {
    let lengths = match (facts.byte, facts.expected_bytes != facts.found_bytes) {
        (Some(_), true) => format!("{} bytes expected, {} found", facts.expected_bytes, facts.found_bytes),
        _ => String::new(),
    };
    let detail = [facts.detail, lengths].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ");
    let mut found = Divergence {
        class: class_of(facts.class),
        process: facts.process as u16,
        thread: facts.thread as u16,
        record: facts.record,
        frame: 0,
        call: call_name(facts.op),
        fd: facts.fd,
        byte: facts.byte,
        window_from: facts.window_start,
        expected: facts.expected,
        found: facts.found,
        expected_call: String::new(),
        recent: Vec::new(),
        backtrace: facts.callers,
        detail,
    };
    let scene = scene(demo, found.process, found.thread, found.record)?;
    set_scene(&mut found, &scene);
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
        byte: Some(output.byte as u64),
        window_from: start as u64,
        expected: window(&output.expected),
        found: window(&output.found),
        expected_call: String::new(),
        recent: Vec::new(),
        backtrace: Vec::new(),
        detail: output.why,
    };
    let scene = scene(demo, found.process, found.thread, found.record)?;
    set_scene(&mut found, &scene);
    Ok(found)
}

/// A build that ended on its own: shown at the last call that was answered.
pub(crate) fn at_last_call<R: Read + Seek>(
    demo: &mut Demo<R>,
    class: DivergenceClass,
    threads: &[ThreadState],
    detail: String,
) -> Result<Divergence, DemoError> {
    let mut found = plain(class, detail);
    if let Some(last) = threads.iter().max_by_key(|thread| (thread.process == 0, thread.record)) {
        set_place(&mut found, demo, last)?;
    }
    Ok(found)
}

fn set_place<R: Read + Seek>(found: &mut Divergence, demo: &mut Demo<R>, at: &ThreadState) -> Result<(), DemoError> {
    (found.process, found.thread, found.record) = (at.process as u16, at.thread as u16, at.record);
    let scene = scene(demo, found.process, found.thread, found.record)?;
    set_scene(found, &scene);
    if let Some(head) = prony_demo::Head::from_bytes(&scene.record) {
        (found.call, found.fd) = (call_name(head.op), head.fd);
    }
    Ok(())
}

/// A divergence without a record of its own.
pub(crate) fn plain(class: DivergenceClass, detail: String) -> Divergence {
    Divergence {
        class,
        process: 0,
        thread: 0,
        record: 0,
        frame: 0,
        call: String::new(),
        fd: -1,
        byte: None,
        window_from: 0,
        expected: Vec::new(),
        found: Vec::new(),
        expected_call: String::new(),
        recent: Vec::new(),
        backtrace: Vec::new(),
        detail,
    }
}

fn name(thread: &ThreadState) -> String {
    match thread.process {
        0 => format!("thread {}", thread.thread),
        process => format!("thread {} of process {process}", thread.thread),
    }
}

/// A replay that got nowhere.
pub(crate) fn from_starved<R: Read + Seek>(demo: &mut Demo<R>, starved: &Starved) -> Result<Divergence, DemoError> {
    let waiting: Vec<String> = starved
        .waiting
        .iter()
        .map(|thread| format!("{} waits for turn {} before record {}", name(thread), thread.turn, thread.record))
        .collect();
    let holder = match &starved.thread {
        Some(thread) => format!("{} {}", name(thread), starved.kernel_state),
        None => format!("the process {}", starved.kernel_state),
    };
    let turn = starved.waiting.first().map(|thread| format!(" and turn {} does not come", thread.now));
    let detail = std::iter::once(format!("{holder}{}", turn.unwrap_or_default())).chain(waiting).collect::<Vec<_>>();
    let mut found = plain(DivergenceClass::Starvation, detail.join("; "));
    if let Some(thread) = starved.waiting.first().or(starved.thread.as_ref()) {
        set_place(&mut found, demo, thread)?;
    }
    Ok(found)
}
