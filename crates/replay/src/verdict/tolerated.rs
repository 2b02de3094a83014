//! Compares the outputs of a tolerant replay with the recorded ones: their bytes, or what a decoder reads in them.
//!
//! One decoder gets the recorded outputs and another one those of the build, each with all inputs, in the recorded order.
//! What is compared is all that was sent to one peer in one frame, or in neighbouring frames where the build sends an output
//! earlier or later than recorded (`lane.rs`).

use crate::run::decoder::{Decoder, DecoderError, Side};
use crate::run::{Observed, ObservedKind};
use crate::verdict::around::Around;
use crate::verdict::lane::{Group, Lane, Output};
use crate::verdict::sockets::{Socket, Sockets, Unexcused, beyond, messages};
use prony_decoder::{Datagram, Decoded, Direction, Field, Value};
use prony_demo::tolerance::{
    Alignment, DecodedDrifts, DifferenceAt, Drift, FieldComparison, Moved, OutputComparison, Ports, Rules,
    ToleranceSummary, is_same,
};
use prony_demo::{Class, Demo, DemoError, Framer, Head, Op, PartKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Datagrams to one peer that a decoder may hold back in a row.
const MOST_PARTIAL: usize = 1024;

/// What a value that a rule names counts in an alignment; others count 1.
const TOLERATED: f64 = 0.1;

/// What a value costs that differs, beside one that only one side has: outputs in neighbouring frames may have nothing but the names of
/// their fields in common, such as those with the number of their frame.
const SAME_NAME: f64 = 0.9;

/// What each frame costs that two outputs are apart: less than one value of thousands.
const FRAME_APART: f64 = 1e-4;

/// What to compare by.
pub(crate) struct Comparison<'a> {
    pub(crate) rules: &'a Rules,
    /// The decoder and its arguments; empty to compare bytes.
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

/// An output whose decoder has not answered yet.
struct Sent {
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
    sides: [Vec<Sent>; 2],
}

/// What differs between outputs that belong together.
#[derive(Default)]
struct Compared {
    /// Values that were compared.
    values: u64,
    /// Of these, values that differ because their output went out in another frame.
    shifted: u64,
    differences: Vec<(FieldComparison, UnlikeField)>,
    /// Outputs without fields: places in the group, recorded and replayed.
    bytes: Vec<(Option<usize>, Option<usize>)>,
}

/// Compares the outputs of a replay with the recorded ones.
pub(crate) fn judge<R: Read + Seek>(
    demo: &mut Demo<R>,
    comparison: &Comparison,
    observed: &[Observed],
) -> Result<(ToleranceSummary, Option<Unlike>), JudgeError> {
    let mut judge = Judge::start(comparison)?;
    let mut replayed: BTreeMap<(u16, u64, u32), &Observed> = BTreeMap::new();
    let mut unsent: BTreeSet<(u16, u64)> = BTreeSet::new();
    let mut added: BTreeMap<u16, Vec<&Observed>> = BTreeMap::new();
    for output in observed {
        match output.kind {
            ObservedKind::Differs => _ = replayed.insert((output.process, output.record, output.message), output),
            ObservedKind::NotSent => _ = unsent.insert((output.process, output.record)),
            ObservedKind::Added => added.entry(output.process).or_default().push(output),
        }
    }
    // Those of one thread stand before one record in the order in which they were made.
    let mut added: BTreeMap<u16, VecDeque<&Observed>> = added
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
    /// None where bytes are compared.
    decoders: Option<[Decoder<'a>; 2]>,
    alignment: Alignment,
    drifts: DecodedDrifts,
    drift: Drift,
    turns: BTreeMap<Peer, Turn>,
    partial: BTreeMap<Peer, [Vec<Sent>; 2]>,
    lanes: BTreeMap<Peer, Lane>,
    /// What a decoder found in the outputs to a peer that were compared last.
    before: HashMap<Peer, Group>,
    /// No output has differed so far.
    is_untouched: bool,
    first: Option<((u64, u64), Unlike)>,
}

impl<'a> Judge<'a> {
    fn start(comparison: &Comparison<'a>) -> Result<Judge<'a>, JudgeError> {
        let Comparison { rules, decoder, patience, stop, .. } = *comparison;
        let start = |side| Decoder::start(decoder, side, patience, stop);
        let decoders = match decoder {
            [] => None,
            _ => Some([start(Side::Recorded)?, start(Side::Replayed)?]),
        };
        let mut drifts = DecodedDrifts::default();
        drifts.summary.decoder = decoders.as_ref().map_or("", |[decoder, _]| decoder.name()).to_owned();
        Ok(Judge {
            rules,
            decoders,
            alignment: Alignment::default(),
            drifts,
            drift: Drift::new(),
            turns: BTreeMap::new(),
            partial: BTreeMap::new(),
            lanes: BTreeMap::new(),
            before: HashMap::new(),
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
        let Some(decoders) = &mut self.decoders else { return Ok(0) };
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
        Ok(decoders[side].give(datagram, direction == Direction::FromServer)?)
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
        self.drifts.summary.outputs += 1;
        self.is_untouched &= found == Some(expected);
        for (side, bytes) in [Some(expected), found].into_iter().enumerate() {
            let Some(bytes) = bytes else { continue };
            let number = self.give(side, process, head.fd, frame, &socket, bytes, Direction::FromServer)?;
            let output = Sent { record: head.order, thread: head.thread, op: head.op, bytes: bytes.to_vec(), number };
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
        added: Option<&mut VecDeque<&Observed>>,
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
            let number = self.give(1, found.process, found.fd, frame, &socket, &found.bytes, Direction::FromServer)?;
            let Observed { record, thread, op, ref bytes, .. } = *found;
            let output = Sent { record, thread, op, bytes: bytes.clone(), number };
            self.turn(found.process, found.fd, &socket).sides[1].push(output);
        }
        Ok(())
    }

    /// Takes what was sent in a frame of a process, and compares what is settled by it.
    fn end_turn(&mut self, process: u16, frame: u64) -> Result<(), JudgeError> {
        for (peer, turn) in of_process(&mut self.turns, process) {
            self.lanes.entry(peer.clone()).or_default().ports = turn.ports;
            for (side, sent) in turn.sides.into_iter().enumerate() {
                for output in sent {
                    self.decode(&peer, side, frame, output)?;
                }
            }
        }
        self.settle(process, Some(frame))
    }

    /// Adds an output to its lane, which is there, with what its decoder finds in it, or keeps it until a later one completes it.
    fn decode(&mut self, peer: &Peer, side: usize, frame: u64, sent: Sent) -> Result<(), JudgeError> {
        let answer = match &mut self.decoders {
            Some(decoders) => decoders[side].answer(sent.number)?,
            None => Decoded::Opaque(String::new()),
        };
        if matches!(answer, Decoded::Held) {
            let partial = &mut self.partial.entry(peer.clone()).or_default()[side];
            partial.push(sent);
            if partial.len() > MOST_PARTIAL {
                let side = [Side::Recorded, Side::Replayed][side];
                let (count, peer) = (partial.len(), peer.2.clone());
                return Err(DecoderError::Holds { side, count, peer }.into());
            }
            return Ok(());
        }
        let Sent { record, thread, op, mut bytes, .. } = sent;
        let mut parts = 1;
        let fields = match answer {
            Decoded::Fields(found) if !found.is_empty() => {
                let partial =
                    self.partial.get_mut(peer).map(|sides| std::mem::take(&mut sides[side])).unwrap_or_default();
                parts += partial.len() as u64;
                bytes = partial.into_iter().flat_map(|part| part.bytes).chain(bytes).collect();
                Some(found)
            }
            // A datagram of which nothing is said is compared by its bytes.
            _ => None,
        };
        let output = Output { frame, record, thread, op, bytes, parts, fields };
        if let Some(lane) = self.lanes.get_mut(peer) {
            lane.push(side, output);
        }
        Ok(())
    }

    /// Compares what no later output can change. `now`: the frame that has ended; `None` at the end of the demo.
    fn settle(&mut self, process: u16, now: Option<u64>) -> Result<(), JudgeError> {
        let apart = self.rules.frames_apart();
        for (peer, mut lane) in of_process(&mut self.lanes, process) {
            let ports = lane.ports;
            loop {
                while let Some(group) = lane.first_frame(|was, is| self.cost(ports, was, is)) {
                    let compared = self.compare(&peer, ports, &group, None);
                    let is_within = |(found, _): &(_, _)| matches!(found, FieldComparison::Allowed { .. });
                    if self.is_untouched
                        || compared.differences.iter().all(is_within) && self.has_alike_bytes(ports, &group, &compared)
                    {
                        self.take(&peer, &mut lane, group, Some(compared))?;
                    } else {
                        lane.put_back(group);
                    }
                }
                let settled = lane.settle(now, apart, |was, is| self.cost(ports, was, is));
                if settled.is_empty() {
                    break;
                }
                for group in settled {
                    self.take(&peer, &mut lane, group, None)?;
                }
            }
            if now.is_none() {
                self.release(&peer, &mut lane, None)?;
            }
            if !lane.is_empty() {
                self.lanes.insert(peer, lane);
            }
        }
        Ok(())
    }

    /// Counts a group, at once or, where its frame may explain what differs, once the one behind it is known. `compared`: the group
    /// on its own, if that is known.
    fn take(
        &mut self,
        peer: &Peer,
        lane: &mut Lane,
        group: Group,
        compared: Option<Compared>,
    ) -> Result<(), JudgeError> {
        self.release(peer, lane, Some(&group))?;
        if group.shift().is_ne() || self.before.get(peer).is_some_and(|before| before.shift().is_ne()) {
            lane.held = Some(group);
            return Ok(());
        }
        let compared = compared.unwrap_or_else(|| self.compare(peer, lane.ports, &group, None));
        self.add(peer, lane.ports, &group, compared)?;
        self.keep(peer, group);
        Ok(())
    }

    /// Compares and counts the group that a lane holds, if there is one.
    fn release(&mut self, peer: &Peer, lane: &mut Lane, behind: Option<&Group>) -> Result<(), JudgeError> {
        let Some(held) = lane.held.take() else { return Ok(()) };
        let around = Around::new(self.before.get(peer), &held, behind);
        let compared = self.compare(peer, lane.ports, &held, Some(&around));
        self.add(peer, lane.ports, &held, compared)?;
        self.keep(peer, held);
        Ok(())
    }

    /// Keeps a group for the one behind it. Bytes are not compared with those of other outputs.
    fn keep(&mut self, peer: &Peer, group: Group) {
        if self.decoders.is_some() {
            self.before.insert(peer.clone(), group);
        }
    }

    /// How little two outputs have in common, from 0 to 1; `None` if they are no pair.
    fn cost(&self, ports: Ports, was: &Output, is: &Output) -> Option<f64> {
        let apart = was.frame.abs_diff(is.frame);
        if apart > self.rules.frames_apart() {
            return None;
        }
        let content = match (&was.fields, &is.fields) {
            (Some(recorded), Some(replayed)) => match was.bytes == is.bytes {
                true => 0.0,
                false => share_of_differing(recorded, replayed, self.rules, ports),
            },
            (None, None) => match self.rules.judge(ports, &was.bytes, &is.bytes) {
                OutputComparison::Identical => 0.0,
                OutputComparison::Tolerant(_) => TOLERATED,
                OutputComparison::Different { .. } => {
                    let same = was.bytes.iter().zip(&is.bytes).filter(|(was, is)| was == is).count();
                    1.0 - same as f64 / was.bytes.len().max(is.bytes.len()).max(1) as f64
                }
            },
            _ => return None,
        };
        Some(content + FRAME_APART * apart as f64)
    }

    /// True if no outputs of a group that are compared by their bytes differ by more than is allowed.
    fn has_alike_bytes(&self, ports: Ports, group: &Group, compared: &Compared) -> bool {
        let [recorded, replayed] = &group.sides;
        compared.bytes.iter().all(|&(was, is)| {
            let outputs = was.and_then(|was| recorded.get(was)).zip(is.and_then(|is| replayed.get(is)));
            outputs.is_some_and(|(was, is)| {
                !matches!(self.rules.judge(ports, &was.bytes, &is.bytes), OutputComparison::Different { .. })
            })
        })
    }

    fn compare(&self, peer: &Peer, ports: Ports, group: &Group, around: Option<&Around>) -> Compared {
        let mut compared = Compared::default();
        let [recorded, replayed] = &group.sides;
        let is_opaque =
            |outputs: &[Output], place: usize| outputs.get(place).is_some_and(|output| output.fields.is_none());
        compared.bytes.extend(
            group.pairs.iter().filter(|(was, _)| is_opaque(recorded, *was)).map(|&(was, is)| (Some(was), Some(is))),
        );
        let opaque = |side: usize, outputs: &[Output]| {
            group.alone(side).into_iter().filter(|&place| is_opaque(outputs, place)).collect::<Vec<_>>()
        };
        compared.bytes.extend(opaque(0, recorded).into_iter().map(|place| (Some(place), None)));
        compared.bytes.extend(opaque(1, replayed).into_iter().map(|place| (None, Some(place))));
        self.compare_fields(peer, ports, group, around, &mut compared);
        compared
    }

    /// Counts a group, and keeps what differs in it.
    fn add(&mut self, peer: &Peer, ports: Ports, group: &Group, compared: Compared) -> Result<(), JudgeError> {
        let mut differing = 0;
        for (was, is) in group.pairs() {
            if was.frame != is.frame {
                self.alignment.add_moved(Moved {
                    frame: was.frame,
                    replayed_frame: is.frame,
                    record: was.record,
                    process: peer.0,
                    peer: peer.2.clone(),
                });
            }
            if was.bytes != is.bytes {
                differing += was.parts.min(is.parts);
            }
            self.alignment.not_sent += was.parts.saturating_sub(is.parts);
            self.alignment.added += is.parts.saturating_sub(was.parts);
        }
        let parts = |side: usize| -> u64 {
            let outputs = group.alone(side).into_iter().filter_map(|place| group.sides[side].get(place));
            outputs.map(|output| output.parts).sum()
        };
        let (not_sent, added) = (parts(0), parts(1));
        self.alignment.not_sent += not_sent;
        self.alignment.added += added;
        let unpaired = not_sent + added;
        self.drifts.summary.outputs_differing += differing;
        let mut has_same_bytes = true;
        for (was, is) in compared.bytes {
            let [recorded, replayed] = &group.sides;
            let (was, is) = (was.and_then(|was| recorded.get(was)), is.and_then(|is| replayed.get(is)));
            self.drifts.summary.outputs_opaque += u64::from(was.is_some());
            let Some(place) = was.or(is) else { continue };
            let expected = was.map_or(&[][..], |output| &output.bytes);
            has_same_bytes &= was.map(|output| &output.bytes) == is.map(|output| &output.bytes);
            let record = OfRecord { record: place.record, thread: place.thread, op: place.op, fd: peer.1, expected };
            self.judge_bytes(peer.0, place.frame, ports, record, is.map(|output| &output.bytes[..]));
        }
        if differing + unpaired > 0 && has_same_bytes && compared.differences.is_empty() && compared.shifted == 0 {
            self.drifts.summary.outputs_differing_unseen += differing + unpaired;
        }
        let is_whole = group.sides.iter().all(|outputs| !outputs.is_empty());
        self.drifts.summary.values += if is_whole { compared.values } else { 0 };
        self.drifts.summary.values_shifted += if is_whole { compared.shifted } else { 0 };
        for (likeness, found) in compared.differences {
            if self.is_untouched {
                let DifferenceAt { record, field, recorded, replayed, .. } = found.at;
                let text = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
                let (recorded, replayed) = (text(recorded), text(replayed));
                return Err(DecoderError::Inconsistent { record, field, recorded, replayed }.into());
            }
            let within = match is_whole {
                true => self.drifts.add(likeness, &found.at, self.rules),
                // All of an output that one side does not have is one finding.
                false => self.drifts.add_first(likeness, &found.at, self.rules),
            };
            if !matches!(likeness, FieldComparison::Allowed { .. }) {
                let found = UnlikeField { at: DifferenceAt { within, ..found.at }, ..found };
                self.set_first((found.at.frame, found.at.record), || Unlike::Field(found));
            }
        }
        Ok(())
    }

    /// Keeps the first finding by its frame and record: peers do not settle in their order.
    fn set_first(&mut self, place: (u64, u64), found: impl FnOnce() -> Unlike) {
        if self.first.as_ref().is_none_or(|(first, _)| place < *first) {
            self.first = Some((place, found()));
        }
    }

    fn judge_bytes(&mut self, process: u16, frame: u64, ports: Ports, of: OfRecord, found: Option<&[u8]>) {
        let OfRecord { record, thread, op, fd, expected } = of;
        let (byte, exceeded) = match found.map(|found| self.rules.judge(ports, expected, found)) {
            Some(OutputComparison::Identical) => return self.drift.add_identical(),
            Some(OutputComparison::Tolerant(tolerated)) => return self.drift.add(frame, record, &tolerated),
            Some(OutputComparison::Different { offset, exceeded }) => (offset, exceeded),
            None => (0, None),
        };
        let rules = self.rules;
        self.set_first((frame, record), || {
            Unlike::Bytes(Unexcused {
                process,
                thread,
                record,
                op,
                fd,
                byte,
                expected: expected.to_vec(),
                found: found.unwrap_or_default().to_vec(),
                beyond: exceeded.map(|exceeded| beyond(rules, exceeded)),
            })
        });
    }

    fn compare_fields(
        &self,
        peer: &Peer,
        ports: Ports,
        group: &Group,
        around: Option<&Around>,
        compared: &mut Compared,
    ) {
        let [recorded, replayed] = &group.sides;
        // The first value of a name on one side belongs to the first one on the other side, the second to the second.
        let mut unmatched: BTreeMap<&str, VecDeque<(&Output, &Value)>> = BTreeMap::new();
        for output in replayed {
            for field in output.fields.iter().flatten() {
                unmatched.entry(&field.name).or_default().push_back((output, &field.value));
            }
        }
        let mut differs = |output: &Output, name: &str, recorded: Option<&Value>, replayed: Option<&Value>| {
            let likeness = self.rules.compare_field(ports, name, recorded, replayed);
            let is_alike = |was: &Value, is: &Value| {
                is_same(was, is)
                    || matches!(
                        self.rules.compare_field(ports, name, Some(was), Some(is)),
                        FieldComparison::Allowed { .. }
                    )
            };
            if !matches!(likeness, FieldComparison::Allowed { .. })
                && around.is_some_and(|around| {
                    around.is_moved() && self.rules.allows_moved(ports, name, recorded, replayed)
                        || around.explains(name, recorded, replayed, &is_alike)
                })
            {
                compared.shifted += 1;
                return;
            }
            let at = DifferenceAt {
                frame: output.frame,
                record: output.record,
                process: peer.0,
                peer: peer.2.clone(),
                field: name.to_owned(),
                recorded: recorded.map(shown),
                replayed: replayed.map(shown),
                within: None,
            };
            compared.differences.push((likeness, UnlikeField { thread: output.thread, op: output.op, fd: peer.1, at }));
        };
        for output in recorded {
            for field in output.fields.iter().flatten() {
                compared.values += 1;
                let found = unmatched.get_mut(field.name.as_str()).and_then(|values| {
                    // Where events may be in another output, those of one name are not in the same places.
                    let is_equal = |(_, is): &(_, &Value)| is_same(&field.value, is);
                    let equal = around.and_then(|_| values.iter().position(is_equal));
                    values.remove(equal.unwrap_or(0))
                });
                match found {
                    Some((_, found)) if is_same(&field.value, found) => {}
                    Some((_, found)) => differs(output, &field.name, Some(&field.value), Some(found)),
                    None => differs(output, &field.name, Some(&field.value), None),
                }
            }
        }
        for (name, left) in unmatched {
            for (output, found) in left {
                compared.values += 1;
                differs(output, name, None, Some(found));
            }
        }
    }

    fn finish(mut self) -> Result<(ToleranceSummary, Option<Unlike>), JudgeError> {
        let processes: BTreeSet<u16> = self.lanes.keys().map(|peer| peer.0).collect();
        for process in processes {
            self.settle(process, None)?;
        }
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
        let Judge { rules, decoders, alignment, drifts, drift, first, .. } = self;
        let first = first.map(|(_, first)| first);
        let mut summary = ToleranceSummary { alignment, ..drift.summary(rules) };
        let Some(decoders) = decoders else { return Ok((summary, first)) };
        for decoder in decoders {
            decoder.finish()?;
        }
        let decoded = drifts.finish(rules);
        // Those without fields are among the ones whose bytes were judged.
        summary.outputs_judged += decoded.outputs.saturating_sub(decoded.outputs_opaque);
        summary.outputs_differing =
            summary.outputs_differing.max(decoded.outputs_differing + summary.alignment.not_sent);
        summary.fields_differing += decoded.values_differing;
        summary.decoded = Some(decoded);
        Ok((summary, first))
    }
}

/// The entries of a process, taken out.
fn of_process<T>(entries: &mut BTreeMap<Peer, T>, process: u16) -> BTreeMap<Peer, T> {
    let mut taken = entries.split_off(&(process, i32::MIN, String::new()));
    if let Some(next) = process.checked_add(1) {
        entries.append(&mut taken.split_off(&(next, i32::MIN, String::new())));
    }
    taken
}

/// The share of values that differ, from 0 to 1. Fields without a rule say which output it is, and those with a rule are
/// expected to differ: they count less, and least where the rule allows it.
fn share_of_differing(recorded: &[Field], replayed: &[Field], rules: &Rules, ports: Ports) -> f64 {
    let (mut sum, mut whole) = (0.0, 0.0);
    let mut count = |name: &str, was: Option<&Value>, is: Option<&Value>| {
        let is_equal = was.zip(is).is_some_and(|(was, is)| is_same(was, is));
        let (cost, weight) = match rules.compare_field(ports, name, was, is) {
            FieldComparison::Discrete if was.is_some() && is.is_some() => (SAME_NAME, 1.0),
            FieldComparison::Discrete => (1.0, 1.0),
            FieldComparison::Beyond { .. } => (TOLERATED, TOLERATED),
            FieldComparison::Allowed { .. } => (TOLERATED * TOLERATED, TOLERATED),
        };
        sum += if is_equal { 0.0 } else { cost };
        whole += weight;
    };
    let is_level =
        recorded.len() == replayed.len() && recorded.iter().zip(replayed).all(|(was, is)| was.name == is.name);
    if is_level {
        recorded.iter().zip(replayed).for_each(|(was, is)| count(&was.name, Some(&was.value), Some(&is.value)));
    } else {
        let mut unmatched: HashMap<&str, VecDeque<&Value>> = HashMap::new();
        for field in replayed {
            unmatched.entry(&field.name).or_default().push_back(&field.value);
        }
        for field in recorded {
            let found = unmatched.get_mut(field.name.as_str()).and_then(VecDeque::pop_front);
            count(&field.name, Some(&field.value), found);
        }
        for (name, values) in unmatched {
            values.into_iter().for_each(|value| count(name, None, Some(value)));
        }
    }
    if whole > 0.0 { sum / whole } else { 0.0 }
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
