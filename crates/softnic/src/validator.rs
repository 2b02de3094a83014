//! The other end of the wire: what became of the frames.

use std::ops::Range;

use hdrhistogram::Histogram;

use crate::frame::{
    CHECKSUM_AT, FILL_AT, FLOWS_MAX, FRAME_BYTES_MIN, HEADER_AT, HEADER_BYTES, SEQUENCE_AT, STREAM_AT, TIME_AT,
    checksum, flow, header, template, word,
};
use crate::missing::Missing;

/// Latencies are resolved to 0.1 %, up to 10 s.
const LATENCY_DIGITS: u8 = 3;
const LATENCY_NS_MAX: u64 = 10_000_000_000;

/// Ethernet type: what distinguishes, with stream and version, a frame of the stream from others.
const TYPE: Range<usize> = 12..STREAM_AT;
/// What is the same in all frames of a stream, first of all.
const START_BYTES: usize = 16;

/// Frames by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that came out as they should, each once.
    pub received: u64,
    /// Of those, frames that came out behind a later one.
    pub reordered: u64,
    /// Frames that came out again.
    pub duplicates: u64,
    /// Frames of this stream in which bytes had changed beside the touched one.
    pub corrupted: u64,
    /// Frames that are not of this stream.
    pub foreign: u64,
    /// Frames in which no byte was touched.
    pub untouched: u64,
    /// Bytes of received frames, without frame check sequences.
    pub bytes: u64,
}

/// The receiver of one stream.
#[derive(Debug)]
pub struct Validator {
    stream: u8,
    flows: u16,
    template: Box<[u8]>,
    /// Of the first flow; of all frames without flows.
    order: Order,
    /// Of the other flows, and the frames of theirs that came or are missing.
    others: Box<[Order]>,
    others_expected: u64,
    /// Frames before this number belong to the warm-up.
    counted_from: u64,
    /// Frames from this number on came into being after the measurement.
    counted_to: u64,
    counts: Counts,
    /// By place in the frame: frames whose byte was greater by 1.
    touched: Box<[u64]>,
    /// The start of a frame as the last one came: its first 16 bytes, and the byte that was touched in it.
    last: ([u64; 2], Option<usize>),
    latency: Histogram<u64>,
    /// A latency in nanoseconds, and the number of frames since the last other one: those of a burst have the same.
    same: (u64, u64),
}

/// The frames of a flow in their order, numbered from 0.
#[derive(Debug, Clone)]
struct Order {
    expected: u64,
    missing: Missing,
}

impl Order {
    /// The order of one part of a stream that has `parts`.
    fn of(parts: usize) -> Order {
        Order { expected: 0, missing: Missing::of(parts) }
    }

    /// Records that the frame of a number came.
    #[inline]
    fn place(&mut self, number: u64) -> Arrival {
        if number == self.expected {
            self.expected = number.saturating_add(1);
            Arrival::InOrder
        } else if number > self.expected {
            self.missing.add(self.expected, number);
            self.expected = number.saturating_add(1);
            Arrival::InOrder
        } else if self.missing.take(number) {
            Arrival::Late
        } else {
            Arrival::Again
        }
    }

    /// What is before a number did not come. Returns how many frames that are.
    fn settle(&mut self, end: u64) -> u64 {
        let missing = end.saturating_sub(self.expected);
        if missing > 0 {
            self.missing.add(self.expected, end);
            self.expected = end;
        }
        missing
    }
}

impl Validator {
    /// `stream`, `to`: as those of the generator.
    pub fn new(stream: u8, to: [u8; 6]) -> Validator {
        Validator::with_flows(stream, to, 0)
    }

    /// The same for frames of [`Generator::with_flows`](crate::Generator::with_flows). Each flow has an order of its own: a driver
    /// takes from one queue before another.
    pub fn with_flows(stream: u8, to: [u8; 6], flows: u16) -> Validator {
        let flows = flows.min(FLOWS_MAX);
        let template = template(stream, to, flows);
        let parts = usize::from(flows.max(1));
        let start = [word(&template, 0), word(&template, 8)];
        let latency = Histogram::new_with_bounds(1, LATENCY_NS_MAX, LATENCY_DIGITS).expect("the bounds are constant");
        Validator {
            stream,
            flows,
            order: Order::of(parts),
            others: vec![Order::of(parts); parts - 1].into_boxed_slice(),
            others_expected: 0,
            touched: vec![0; template.len()].into_boxed_slice(),
            template,
            counted_from: 0,
            counted_to: u64::MAX,
            counts: Counts::default(),
            last: (start, None),
            latency,
            same: (0, 0),
        }
    }

    /// The warm-up ends: only frames from this number on are counted.
    pub fn begin(&mut self, sequence: u64) {
        (self.counted_from, self.counted_to) = (sequence, u64::MAX);
        self.counts = Counts::default();
        self.touched.fill(0);
        self.latency.reset();
        self.same = (0, 0);
    }

    /// The measurement ends: frames from this number on are not counted.
    pub fn end(&mut self, sequence: u64) {
        self.counted_to = sequence;
    }

    /// Frames that came, or are missing as later ones of their flow came. Without flows, that is the number that is expected next.
    #[inline]
    pub fn expected(&self) -> u64 {
        self.order.expected + self.others_expected
    }

    /// Nothing before this number is on its way any more.
    pub fn settle(&mut self, sequence: u64) {
        let flows = self.others.len() as u64 + 1;
        self.order.settle(sequence.div_ceil(flows));
        for (flow, order) in (1..).zip(&mut self.others) {
            self.others_expected += order.settle(sequence.saturating_sub(flow).div_ceil(flows));
        }
    }

    /// Counts of frames since [`Validator::begin`].
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Latencies since [`Validator::begin`] in nanoseconds.
    pub fn latency(&self) -> Histogram<u64> {
        let (latency_ns, frames) = self.same;
        let mut latency = self.latency.clone();
        latency.saturating_record_n(latency_ns, frames);
        latency
    }

    /// Touched bytes by place in the frame: place and number of frames, most frames first.
    pub fn touched(&self) -> Vec<(usize, u64)> {
        let mut touched: Vec<(usize, u64)> =
            self.touched.iter().copied().enumerate().filter(|&(_, frames)| frames > 0).collect();
        touched.sort_by_key(|&(place, frames)| (u64::MAX - frames, place));
        touched
    }

    /// Validates a frame that came out of a port.
    #[inline]
    pub fn handle_frame(&mut self, now_ns: u64, frame: &[u8]) {
        match self.flows {
            0 => self.validate::<0>(now_ns, frame),
            _ => self.validate::<HEADER_BYTES>(now_ns, frame),
        }
    }

    /// `SHIFT`: bytes of the headers of a packet.
    #[inline]
    fn validate<const SHIFT: usize>(&mut self, now_ns: u64, frame: &[u8]) {
        if frame.len() < FRAME_BYTES_MIN || frame.len() > self.template.len() {
            self.counts.foreign += 1;
            return;
        }
        let start = [word(frame, 0), word(frame, 8)];
        let (sequence, time_ns) = (word(frame, SEQUENCE_AT + SHIFT), word(frame, TIME_AT + SHIFT));
        // The header of almost every frame is that of the one before, and its fill is whole.
        let is_whole = word(frame, CHECKSUM_AT + SHIFT) == checksum(self.stream, frame.len(), sequence, time_ns)
            && is_filled::<SHIFT>(frame, &self.template)
            && (SHIFT == 0 || self.is_headed(frame, sequence));
        let touched = if is_whole && start == self.last.0 {
            self.last.1
        } else {
            match self.examine::<SHIFT>(frame) {
                Examined::Whole(touched) => touched,
                Examined::Corrupted { has_number } => {
                    self.counts.corrupted += 1;
                    if has_number {
                        // It came, so that nothing waits for it.
                        self.place(sequence);
                    }
                    return;
                }
                Examined::Foreign => {
                    self.counts.foreign += 1;
                    return;
                }
            }
        };
        let place = self.place(sequence);
        if place == Arrival::Again {
            self.counts.duplicates += 1;
            return;
        }
        if sequence < self.counted_from || sequence >= self.counted_to {
            return;
        }
        self.counts.received += 1;
        self.counts.bytes += frame.len() as u64;
        self.counts.reordered += u64::from(place == Arrival::Late);
        match touched {
            Some(place) => self.touched.get_mut(place).into_iter().for_each(|frames| *frames += 1),
            None => self.counts.untouched += 1,
        }
        let latency_ns = now_ns.saturating_sub(time_ns).max(1);
        if latency_ns != self.same.0 {
            self.record_same();
            self.same.0 = latency_ns;
        }
        self.same.1 += 1;
    }

    /// Puts the latest latencies, which are the same, into the histogram.
    fn record_same(&mut self) {
        let (latency_ns, frames) = std::mem::take(&mut self.same);
        self.latency.saturating_record_n(latency_ns, frames);
    }

    /// True if the packet's headers are those of its flow, and stream and version behind them those of the template.
    fn is_headed(&self, frame: &[u8], sequence: u64) -> bool {
        let header = header(self.stream, flow(self.flows, sequence), frame.len());
        let kind = HEADER_AT + HEADER_BYTES..HEADER_AT + HEADER_BYTES + 2;
        frame.get(HEADER_AT..kind.start) == Some(&header) && frame.get(kind.clone()) == self.template.get(kind)
    }

    /// Records that the frame of a number came.
    #[inline]
    fn place(&mut self, sequence: u64) -> Arrival {
        if self.flows == 0 { self.order.place(sequence) } else { self.place_in_flow(sequence) }
    }

    fn place_in_flow(&mut self, sequence: u64) -> Arrival {
        let (flow, number) = (flow(self.flows, sequence), sequence / u64::from(self.flows.max(1)));
        let Some(other) = flow.checked_sub(1) else { return self.order.place(number) };
        let Some(order) = self.others.get_mut(usize::from(other)) else { return Arrival::Again };
        let before = order.expected;
        let place = order.place(number);
        self.others_expected = self.others_expected.saturating_add(order.expected - before);
        place
    }

    /// Looks at every byte of a frame that is not as the last one was.
    #[cold]
    fn examine<const SHIFT: usize>(&mut self, frame: &[u8]) -> Examined {
        let is_varying = |place: usize| (SEQUENCE_AT + SHIFT..FILL_AT + SHIFT).contains(&place);
        let (sequence, time_ns) = (word(frame, SEQUENCE_AT + SHIFT), word(frame, TIME_AT + SHIFT));
        let header = header(self.stream, flow(self.flows, sequence), frame.len());
        let of_template = |(place, &expected): (usize, &u8)| match place.checked_sub(HEADER_AT) {
            Some(at) if SHIFT > 0 => header.get(at).copied().unwrap_or(expected),
            _ => expected,
        };
        let expected = self.template.iter().enumerate().map(of_template);
        // Place, byte found, byte expected.
        let bytes = frame.iter().zip(expected).enumerate().map(|(place, (&found, expected))| (place, found, expected));
        let mut changed = bytes.filter(|&(place, found, expected)| !is_varying(place) && found != expected);
        let (first, second) = (changed.next(), changed.next());
        let has_number = word(frame, CHECKSUM_AT + SHIFT) == checksum(self.stream, frame.len(), sequence, time_ns);
        let kind = STREAM_AT + SHIFT..STREAM_AT + SHIFT + 2;
        let is_kind = [TYPE, kind].into_iter().all(|bytes| frame.get(bytes.clone()) == self.template.get(bytes));
        let touched = match (first, second) {
            (None, _) => None,
            (Some((place, found, expected)), None) if found == expected.wrapping_add(1) => Some(place),
            _ if !is_kind => return Examined::Foreign,
            _ => return Examined::Corrupted { has_number },
        };
        if !has_number {
            // A touched byte of sequence number, time or checksum cannot be distinguished from an error of the driver.
            return Examined::Corrupted { has_number };
        }
        if touched.is_none_or(|place| place < START_BYTES) {
            self.last = ([word(frame, 0), word(frame, 8)], touched);
        }
        Examined::Whole(touched)
    }
}

/// True if the frame is that of the template behind its checksum. Short ones without a call.
#[inline]
fn is_filled<const SHIFT: usize>(frame: &[u8], template: &[u8]) -> bool {
    let from = FILL_AT + SHIFT;
    const SHORT: usize = 128;
    let bytes = frame.len();
    if bytes > SHORT {
        return frame.get(from..) == template.get(from..bytes);
    }
    // The last eight bytes, part of them maybe for the second time, are those that the steps do not reach.
    let is_same = |at: usize| word(frame, at) == word(template, at);
    (from..bytes - 7).step_by(8).all(is_same) && is_same(bytes - 8)
}

/// Where a frame came, among those that were sent before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    InOrder,
    Late,
    Again,
}

enum Examined {
    Whole(Option<usize>),
    /// `has_number`: its sequence number is that of the generator.
    Corrupted {
        has_number: bool,
    },
    Foreign,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;
    use crate::sizes::Sizes;

    const TO: [u8; 6] = [2, 0, 0, 0, 0, 7];

    fn frames(number: usize) -> Vec<Vec<u8>> {
        let mut generator = Generator::new(3, TO, "60..200".parse::<Sizes>().expect("a range"));
        (0..number as u64).map(|n| generator.next_frame(1000 * n).to_vec()).collect()
    }

    fn counts(frames: impl IntoIterator<Item = Vec<u8>>) -> (Counts, Vec<(usize, u64)>) {
        let mut validator = Validator::new(3, TO);
        for frame in frames {
            validator.handle_frame(1_000_000, &frame);
        }
        (Counts { bytes: 0, ..*validator.counts() }, validator.touched())
    }

    #[test]
    fn frames_in_order_are_received_and_nothing_else() {
        let (counts, touched) = counts(frames(100));
        assert_eq!(counts, Counts { received: 100, untouched: 100, ..Counts::default() });
        assert!(touched.is_empty());
    }

    #[test]
    fn a_gap_a_late_frame_and_a_second_one_are_distinguished() {
        let mut sent = frames(10);
        let (late, again) = (sent.remove(4), sent[2].clone());
        sent.insert(7, late);
        sent.push(again);
        sent.remove(0);
        let (counts, _) = counts(sent);
        assert_eq!(counts, Counts { received: 9, reordered: 1, duplicates: 1, untouched: 9, ..Counts::default() });
    }

    #[test]
    fn the_touched_byte_is_found_wherever_it_is() {
        for place in [0, 1, 5, 11, 40, 59] {
            let touch = |mut frame: Vec<u8>| {
                frame[place] = frame[place].wrapping_add(1);
                frame
            };
            let (counts, touched) = counts(frames(20).into_iter().map(touch));
            assert_eq!((counts.received, counts.corrupted, counts.untouched), (20, 0, 0), "{place}");
            assert_eq!(touched, [(place, 20)]);
        }
    }

    #[test]
    fn any_other_change_is_an_error() {
        for place in 0..60 {
            let mut frame = frames(1).remove(0);
            frame[place] ^= 0x80;
            let (counts, _) = counts([frame]);
            let foreign = u64::from((12..16).contains(&place));
            assert_eq!((counts.received, counts.foreign + counts.corrupted), (0, 1), "{place}");
            assert!(counts.foreign <= foreign, "{place}");
        }
        let (counts, _) = counts([vec![0; 20], vec![0xff; 60]]);
        assert_eq!((counts.received, counts.foreign), (0, 2));
    }

    #[test]
    fn a_frame_that_was_changed_is_not_waited_for_and_one_without_a_number_is() {
        let mut validator = Validator::new(3, TO);
        for (place, expected) in [(0..4, 1), (41..43, 2), (SEQUENCE_AT..SEQUENCE_AT + 2, 2)] {
            let mut frame = frames(3)[validator.expected() as usize].clone();
            frame[place].fill(0xee);
            validator.handle_frame(0, &frame);
            assert_eq!(validator.expected(), expected);
        }
        assert_eq!(*validator.counts(), Counts { corrupted: 3, ..Counts::default() });
    }

    fn of_flows(number: usize) -> Vec<Vec<u8>> {
        let mut generator = Generator::with_flows(3, TO, "60..200".parse::<Sizes>().expect("a range"), 5);
        (0..number as u64).map(|n| generator.next_frame(1000 * n).to_vec()).collect()
    }

    fn validated(frames: impl IntoIterator<Item = Vec<u8>>) -> Validator {
        let mut validator = Validator::with_flows(3, TO, 5);
        frames.into_iter().for_each(|frame| validator.handle_frame(1_000_000, &frame));
        validator
    }

    /// A driver that takes all frames of one flow before those of the next changes no order.
    #[test]
    fn each_flow_has_an_order_of_its_own() {
        let mut frames: Vec<(usize, Vec<u8>)> = of_flows(103).into_iter().enumerate().collect();
        frames.sort_by_key(|&(number, _)| number % 5);
        let validator = validated(frames.iter().map(|(_, frame)| frame.clone()));
        assert_eq!(
            Counts { bytes: 0, ..*validator.counts() },
            Counts { received: 103, untouched: 103, ..Counts::default() }
        );
        assert_eq!(validator.expected(), 103);
        // Within a flow it does.
        frames.swap(0, 1);
        let mut validator = validated(frames.into_iter().skip(1).map(|(_, frame)| frame));
        assert_eq!((validator.counts().received, validator.counts().reordered), (102, 0));
        validator.settle(110);
        assert_eq!(validator.expected(), 110);
        let late = of_flows(6).pop().expect("a frame");
        validator.handle_frame(0, &late);
        assert_eq!((validator.counts().reordered, validator.counts().duplicates), (1, 0));
    }

    #[test]
    fn every_change_of_a_frame_of_a_flow_is_seen() {
        for place in 0..72 {
            let mut frame = of_flows(3).remove(2);
            frame[place] ^= 0x80;
            let counts = *validated([frame]).counts();
            assert_eq!((counts.received, counts.foreign + counts.corrupted), (0, 1), "{place}");
        }
        for place in [0, 1, 22, 41, 70] {
            let touch = |mut frame: Vec<u8>| {
                frame[place] = frame[place].wrapping_add(1);
                frame
            };
            let validator = validated(of_flows(20).into_iter().map(touch));
            assert_eq!((validator.counts().received, validator.touched()), (20, vec![(place, 20)]), "{place}");
        }
    }

    #[test]
    fn the_warm_up_is_not_counted_and_its_order_is() {
        let mut validator = Validator::new(3, TO);
        let sent = frames(10);
        validator.handle_frame(0, &sent[0]);
        validator.begin(5);
        for frame in &sent[1..] {
            validator.handle_frame(20_000, frame);
        }
        assert_eq!((validator.counts().received, validator.counts().reordered), (5, 0));
        assert_eq!((validator.latency().len(), validator.latency().max() / 1000), (5, 15));
    }
}
