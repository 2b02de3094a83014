//! Compares what a decoder reads in the outputs of a replay with what it reads in the recorded ones.
//!
//! One decoder gets the recorded outputs and another one those of the build, each with all inputs, in the recorded order.
//! What is compared is all that was sent to one peer in one frame: a build whose packets have other lengths may need more of
//! them for the same content, or fewer.

use crate::run::decoder::{Decoder, DecoderError, Side};
use crate::run::{Observed, ObservedKind};
use crate::verdict::compare::{Socket, Sockets, Unexcused, beyond, messages};
use prony_decoder::{Datagram, Decoded, Direction, Value};
use prony_demo::tolerance::{
    DecodedDrifts, DifferenceAt, Drift, FieldComparison, OutputComparison, Ports, Rules, ToleranceSummary, is_same,
};
use prony_demo::{Class, Demo, DemoError, Framer, Head, Op, PartKind};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Datagrams to one peer that a decoder may hold back in a row.
const MOST_PARTIAL: usize = 1024;

/// What to compare by.
pub(crate) struct Comparison<'a> {
    pub(crate) rules: &'a Rules,
    /// The decoder and its arguments.
    pub(crate) decoder: &'a [OsString],
    /// How long a decoder may take for an answer.
    pub(crate) patience: Duration,
    pub(crate) stop: Option<&'a AtomicBool>,
    /// Process and record at which the replay ended, if it did not reach the end.
    pub(crate) end: Option<(u16, u64)>,
}

/// The first difference that is not tolerated.
#[derive(Debug)]
pub(crate) enum Unlike {
    /// Bytes in which the decoder found nothing.
    Bytes(Unexcused),
    /// A field.
    Field(UnlikeField),
}

/// A field that differs by more than is tolerated.
#[derive(Debug)]
pub(crate) struct UnlikeField {
    pub(crate) thread: u16,
    pub(crate) op: u16,
    pub(crate) fd: i32,
    pub(crate) at: DifferenceAt,
}

/// Why nothing could be compared.
#[derive(Debug)]
pub(crate) enum JudgeError {
    Demo(DemoError),
    Decoder(DecoderError),
}

impl From<DemoError> for JudgeError {
    fn from(error: DemoError) -> JudgeError {
        JudgeError::Demo(error)
    }
}

impl From<DecoderError> for JudgeError {
    fn from(error: DecoderError) -> JudgeError {
        JudgeError::Decoder(error)
    }
}

/// Receiver of outputs: process, descriptor, and the address as text.
type Peer = (u16, i32, String);

/// An output of one side.
struct Output {
    record: u64,
    thread: u16,
    op: u16,
    bytes: Vec<u8>,
    /// Number of the datagram for its decoder.
    number: u64,
}

/// What one peer was sent in one frame, on both sides.
#[derive(Default)]
struct Turn {
    ports: Ports,
    sides: [Vec<Output>; 2],
}

/// An output whose content a later one completes.
struct Partial {
    record: u64,
    thread: u16,
    op: u16,
    bytes: Vec<u8>,
}

/// Compares the outputs of a replay with the recorded ones.
pub(crate) fn judge<R: Read + Seek>(
    demo: &mut Demo<R>,
    comparison: &Comparison,
    observed: &[Observed],
) -> Result<(ToleranceSummary, Option<Unlike>), JudgeError> {
    let mut judge = Judge::start(comparison)?;
    let mut replayed: BTreeMap<(u16, u64, u32), &Observed> = BTreeMap::new();
    let mut unsent: std::collections::BTreeSet<(u16, u64)> = std::collections::BTreeSet::new();
    let mut added: BTreeMap<u16, Vec<&Observed>> = BTreeMap::new();
    for output in observed {
        match output.kind {
            ObservedKind::Differs => _ = replayed.insert((output.process, output.record, output.message), output),
            ObservedKind::NotSent => _ = unsent.insert((output.process, output.record)),
            ObservedKind::Added => added.entry(output.process).or_default().push(output),
        }
    }
    // Those of one thread stand before one record in the order in which they were made.
    let mut added: BTreeMap<u16, std::collections::VecDeque<&Observed>> = added
        .into_iter()
        .map(|(process, mut all)| {
            all.sort_by_key(|output| output.record);
            (process, all.into())
        })
        .collect();
    let mut sockets = Sockets::default();
    let mut framers: BTreeMap<u16, (Framer, u64)> = BTreeMap::new();
    let rule = demo.header().frame_rule;
    let mut records = demo.records();
    while let Some((process, record)) = records.next()? {
        let Some(head) = Head::from_bytes(record) else { continue };
        let Some(op) = Op::from_number(head.op) else { continue };
        if comparison.end.is_some_and(|(of, end)| of == process && head.order >= end) {
            break;
        }
        let (framer, frame) = framers.entry(process).or_insert_with(|| (Framer::new(rule), 0));
        if framer.ends_frame(&head) {
            judge.take_added(&sockets, *frame, added.get_mut(&process), head.order)?;
            judge.end_turn(process, *frame)?;
            *frame += 1;
        }
        let frame = *frame;
        sockets.handle(process, &head, op, record);
        if head.ret <= 0 {
            continue;
        }
        match op.class() {
            Class::Input => {
                for (from, bytes) in messages(record, PartKind::In) {
                    let socket = sockets.with_peer(process, head.fd, from);
                    judge.input(process, head.fd, frame, socket, bytes)?;
                }
            }
            Class::Output => {
                for (message, (to, expected)) in (0..).zip(messages(record, PartKind::Out)) {
                    let socket = sockets.with_peer(process, head.fd, to);
                    let found = match replayed.get(&(process, head.order, message)) {
                        Some(output) => Some(&output.bytes[..]),
                        None if unsent.contains(&(process, head.order)) => None,
                        None => Some(expected),
                    };
                    judge.output(process, frame, &head, socket, expected, found)?;
                }
            }
            _ => {}
        }
    }
    for (process, (_, frame)) in framers {
        judge.take_added(&sockets, frame, added.get_mut(&process), u64::MAX)?;
        judge.end_turn(process, frame)?;
    }
    judge.finish()
}

struct Judge<'a> {
    rules: &'a Rules,
    decoders: [Decoder<'a>; 2],
    drifts: DecodedDrifts,
    drift: Drift,
    turns: BTreeMap<Peer, Turn>,
    partial: BTreeMap<Peer, [Vec<Partial>; 2]>,
    /// No output has differed so far.
    is_untouched: bool,
    first: Option<Unlike>,
}

impl<'a> Judge<'a> {
    fn start(comparison: &Comparison<'a>) -> Result<Judge<'a>, JudgeError> {
        let Comparison { rules, decoder, patience, stop, .. } = *comparison;
        let start = |side| Decoder::start(decoder, side, patience, stop);
        let decoders = [start(Side::Recorded)?, start(Side::Replayed)?];
        let mut drifts = DecodedDrifts::default();
        drifts.summary.decoder = decoders[0].name().to_owned();
        Ok(Judge {
            rules,
            decoders,
            drifts,
            drift: Drift::new(),
            turns: BTreeMap::new(),
            partial: BTreeMap::new(),
            is_untouched: true,
            first: None,
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn give(
        &mut self,
        side: usize,
        process: u16,
        fd: i32,
        frame: u64,
        socket: &Socket,
        bytes: &[u8],
        direction: Direction,
    ) -> Result<u64, JudgeError> {
        let datagram = Datagram {
            number: 0,
            direction,
            is_stream: socket.is_stream,
            process,
            frame,
            local_port: socket.local.map_or(0, |address| address.port()),
            socket: u16::try_from(fd).unwrap_or(u16::MAX),
            peer: socket.peer.map_or_else(String::new, |address| address.to_string()),
            payload: bytes.to_vec(),
        };
        Ok(self.decoders[side].give(datagram, direction == Direction::FromServer)?)
    }

    fn input(&mut self, process: u16, fd: i32, frame: u64, socket: Socket, bytes: &[u8]) -> Result<(), JudgeError> {
        if is_on_network(&socket) {
            for side in 0..2 {
                self.give(side, process, fd, frame, &socket, bytes, Direction::ToServer)?;
            }
        }
        Ok(())
    }

    /// A recorded output, and what the build sent in its place.
    fn output(
        &mut self,
        process: u16,
        frame: u64,
        head: &Head,
        socket: Socket,
        expected: &[u8],
        found: Option<&[u8]>,
    ) -> Result<(), JudgeError> {
        if !is_on_network(&socket) {
            self.judge_bytes(process, frame, socket.ports(), of_record(head, expected, head.fd), found);
            return Ok(());
        }
        let summary = &mut self.drifts.summary;
        summary.outputs += 1;
        match found {
            Some(found) if found == expected => {}
            Some(_) => summary.outputs_differing += 1,
            None => summary.outputs_not_sent += 1,
        }
        self.is_untouched &= found == Some(expected);
        for (side, bytes) in [Some(expected), found].into_iter().enumerate() {
            let Some(bytes) = bytes else { continue };
            let number = self.give(side, process, head.fd, frame, &socket, bytes, Direction::FromServer)?;
            let output = Output { record: head.order, thread: head.thread, op: head.op, bytes: bytes.to_vec(), number };
            self.turn(process, head.fd, &socket).sides[side].push(output);
        }
        Ok(())
    }

    fn turn(&mut self, process: u16, fd: i32, socket: &Socket) -> &mut Turn {
        let peer = socket.peer.map_or_else(String::new, |address| address.to_string());
        let turn = self.turns.entry((process, fd, peer)).or_default();
        turn.ports = socket.ports();
        turn
    }

    /// Outputs of the build alone, up to the record that ends a frame.
    fn take_added(
        &mut self,
        sockets: &Sockets,
        frame: u64,
        added: Option<&mut std::collections::VecDeque<&Observed>>,
        end: u64,
    ) -> Result<(), JudgeError> {
        let Some(added) = added else { return Ok(()) };
        while added.front().is_some_and(|output| output.record <= end) {
            let Some(found) = added.pop_front() else { break };
            let socket = sockets.with_peer(found.process, found.fd, found.destination.as_deref());
            self.is_untouched = false;
            if !is_on_network(&socket) {
                self.judge_bytes(found.process, frame, socket.ports(), of_observed(found), Some(&found.bytes));
                continue;
            }
            self.drifts.summary.outputs_added += 1;
            let number = self.give(1, found.process, found.fd, frame, &socket, &found.bytes, Direction::FromServer)?;
            let Observed { record, thread, op, ref bytes, .. } = *found;
            let output = Output { record, thread, op, bytes: bytes.clone(), number };
            self.turn(found.process, found.fd, &socket).sides[1].push(output);
        }
        Ok(())
    }

    /// Compares everything that was sent in a frame of a process.
    fn end_turn(&mut self, process: u16, frame: u64) -> Result<(), JudgeError> {
        let of_process = |peer: &Peer| peer.0 == process;
        let ended: Vec<Peer> = self.turns.keys().filter(|peer| of_process(peer)).cloned().collect();
        let mut differences = Vec::new();
        for peer in ended {
            if let Some(turn) = self.turns.remove(&peer) {
                self.compare_turn(&peer, frame, turn, &mut differences)?;
            }
        }
        differences.sort_by_key(|(_, found)| found.at.record);
        for (likeness, found) in differences {
            if self.is_untouched {
                let DifferenceAt { record, field, recorded, replayed, .. } = found.at;
                let text = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
                let (recorded, replayed) = (text(recorded), text(replayed));
                return Err(DecoderError::Inconsistent { record, field, recorded, replayed }.into());
            }
            self.drifts.add(likeness, found.at.clone(), self.rules);
            if !matches!(likeness, FieldComparison::Allowed { .. }) && self.first.is_none() {
                let within = self.drifts.summary.first_beyond.as_ref().filter(|first| first.field == found.at.field);
                let within = within.and_then(|first| first.within);
                self.first = Some(Unlike::Field(UnlikeField { at: DifferenceAt { within, ..found.at }, ..found }));
            }
        }
        Ok(())
    }

    fn compare_turn(
        &mut self,
        peer: &Peer,
        frame: u64,
        turn: Turn,
        differences: &mut Vec<(FieldComparison, UnlikeField)>,
    ) -> Result<(), JudgeError> {
        let mut opaque: [Vec<Output>; 2] = Default::default();
        let mut fields: [Vec<(Output, Vec<prony_decoder::Field>)>; 2] = Default::default();
        let [recorded, replayed] = &turn.sides;
        let same = recorded.iter().zip(replayed).filter(|(was, is)| was.bytes == is.bytes).count();
        let unlike = recorded.len().max(replayed.len()) - same;
        for (side, outputs) in turn.sides.into_iter().enumerate() {
            for output in outputs {
                match self.decoders[side].answer(output.number)? {
                    Decoded::Fields(found) if !found.is_empty() => {
                        self.partial.entry(peer.clone()).or_default()[side].clear();
                        fields[side].push((output, found));
                    }
                    Decoded::Held => {
                        let Output { record, thread, op, bytes, .. } = output;
                        let partial = &mut self.partial.entry(peer.clone()).or_default()[side];
                        partial.push(Partial { record, thread, op, bytes });
                        if partial.len() > MOST_PARTIAL {
                            let side = [Side::Recorded, Side::Replayed][side];
                            let (count, peer) = (partial.len(), peer.2.clone());
                            return Err(DecoderError::Holds { side, count, peer }.into());
                        }
                    }
                    // A datagram of which nothing is said is compared by its bytes.
                    Decoded::Opaque(_) | Decoded::Fields(_) => opaque[side].push(output),
                }
            }
        }
        let before = differences.len();
        let opaque_differ = self.compare_opaque(peer, frame, turn.ports, opaque);
        self.compare_fields(peer, frame, turn.ports, &fields, differences);
        let is_complete = self.partial.get(peer).is_none_or(|partial| partial.iter().all(Vec::is_empty));
        if unlike > 0 && is_complete && !opaque_differ && differences.len() == before {
            self.drifts.summary.outputs_differing_unseen += unlike as u64;
        }
        Ok(())
    }

    /// True if anything differs.
    fn compare_opaque(&mut self, peer: &Peer, frame: u64, ports: Ports, [was, is]: [Vec<Output>; 2]) -> bool {
        self.drifts.summary.outputs_opaque += was.len() as u64;
        let mut differ = false;
        for at in 0..was.len().max(is.len()) {
            let (expected, found) = (was.get(at), is.get(at));
            let Some(place) = expected.or(found) else { continue };
            differ |= expected.map(|output| &output.bytes) != found.map(|output| &output.bytes);
            let expected = expected.map_or(&[][..], |output| &output.bytes);
            let record = OfRecord { record: place.record, thread: place.thread, op: place.op, fd: peer.1, expected };
            self.judge_bytes(peer.0, frame, ports, record, found.map(|output| &output.bytes[..]));
        }
        differ
    }

    fn judge_bytes(&mut self, process: u16, frame: u64, ports: Ports, of: OfRecord, found: Option<&[u8]>) {
        let OfRecord { record, thread, op, fd, expected } = of;
        let (byte, exceeded) = match found.map(|found| self.rules.judge(ports, expected, found)) {
            Some(OutputComparison::Identical) => return self.drift.add_identical(),
            Some(OutputComparison::Tolerant(tolerated)) => return self.drift.add(frame, record, &tolerated),
            Some(OutputComparison::Different { offset, exceeded }) => (offset, exceeded),
            None => (0, None),
        };
        if self.first.is_none() {
            self.first = Some(Unlike::Bytes(Unexcused {
                process,
                thread,
                record,
                op,
                fd,
                byte,
                expected: expected.to_vec(),
                found: found.unwrap_or_default().to_vec(),
                beyond: exceeded.map(|exceeded| beyond(self.rules, exceeded)),
            }));
        }
    }

    fn compare_fields(
        &mut self,
        peer: &Peer,
        frame: u64,
        ports: Ports,
        [was, is]: &[Vec<(Output, Vec<prony_decoder::Field>)>; 2],
        differences: &mut Vec<(FieldComparison, UnlikeField)>,
    ) {
        // The first value of a name on one side belongs to the first one on the other side, the second to the second.
        let mut unmatched: BTreeMap<&str, std::collections::VecDeque<(&Output, &Value)>> = BTreeMap::new();
        for (output, fields) in is {
            for field in fields {
                unmatched.entry(&field.name).or_default().push_back((output, &field.value));
            }
        }
        let mut differs = |output: &Output, name: &str, recorded: Option<&Value>, replayed: Option<&Value>| {
            let text = |value: &Value| shown(value);
            let at = DifferenceAt {
                frame,
                record: output.record,
                process: peer.0,
                peer: peer.2.clone(),
                field: name.to_owned(),
                recorded: recorded.map(text),
                replayed: replayed.map(text),
                within: None,
            };
            let likeness = self.rules.compare_field(ports, name, recorded, replayed);
            differences.push((likeness, UnlikeField { thread: output.thread, op: output.op, fd: peer.1, at }));
        };
        for (output, fields) in was {
            for field in fields {
                self.drifts.summary.values += 1;
                match unmatched.get_mut(field.name.as_str()).and_then(std::collections::VecDeque::pop_front) {
                    Some((_, found)) if is_same(&field.value, found) => {}
                    Some((_, found)) => differs(output, &field.name, Some(&field.value), Some(found)),
                    None => differs(output, &field.name, Some(&field.value), None),
                }
            }
        }
        for (name, left) in unmatched {
            for (output, found) in left {
                self.drifts.summary.values += 1;
                differs(output, name, None, Some(found));
            }
        }
    }

    fn finish(mut self) -> Result<(ToleranceSummary, Option<Unlike>), JudgeError> {
        // What was never completed has only its bytes.
        for (peer, [was, is]) in std::mem::take(&mut self.partial) {
            for at in 0..was.len().max(is.len()) {
                let (expected, found) = (was.get(at), is.get(at));
                let Some(place) = expected.or(found) else { continue };
                let expected = expected.map_or(&[][..], |partial| &partial.bytes);
                let record =
                    OfRecord { record: place.record, thread: place.thread, op: place.op, fd: peer.1, expected };
                self.judge_bytes(peer.0, 0, Ports::default(), record, found.map(|partial| &partial.bytes[..]));
            }
        }
        let Judge { rules, decoders, drifts, drift, first, .. } = self;
        for decoder in decoders {
            decoder.finish()?;
        }
        let decoded = drifts.finish(rules);
        let mut summary = drift.summary(rules);
        // Those without fields are among the ones whose bytes were judged.
        summary.outputs_judged += decoded.outputs.saturating_sub(decoded.outputs_opaque);
        summary.outputs_differing =
            summary.outputs_differing.max(decoded.outputs_differing + decoded.outputs_added + decoded.outputs_not_sent);
        summary.fields_differing += decoded.values_differing;
        summary.decoded = Some(decoded);
        Ok((summary, first))
    }
}

/// Place and bytes of a recorded output.
struct OfRecord<'a> {
    record: u64,
    thread: u16,
    op: u16,
    fd: i32,
    expected: &'a [u8],
}

fn of_record<'a>(head: &Head, expected: &'a [u8], fd: i32) -> OfRecord<'a> {
    OfRecord { record: head.order, thread: head.thread, op: head.op, fd, expected }
}

fn of_observed(found: &Observed) -> OfRecord<'static> {
    OfRecord { record: found.record, thread: found.thread, op: found.op, fd: found.fd, expected: &[] }
}

/// Letters of a value that are shown.
const SHOWN_LETTERS: usize = 120;

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Pipes and sockets between processes carry no protocol that a decoder would know.
fn is_on_network(socket: &Socket) -> bool {
    socket.peer.is_some() || socket.local.is_some()
}
