//! All ports, the wire between them, and the memory of their driver.

use std::thread;
use std::time::Duration;

use prony_ixgbe_regs as regs;
use prony_softnic::{
    Device, Direction, Event, FRAME_BYTES_MIN, FRAMES_MAX, Generator, Pacer, QUEUES, Rate, Receipt, Sizes, Validator,
    stream_at,
};

use crate::bar::Bar;
use crate::clock::Clock;
use crate::dma_map::{DmaMap, who_maps};
use crate::error::RunError;
use crate::guard;
use crate::namespace::{self, Binding, Devices};
use crate::notices::{Notice, Notices};
use crate::port::{Port, Written, bits};
use crate::set_up::SetUp;
use crate::vfio::{DriverAction, Vfio};

/// Descriptors of one port that are used before the next port has its turn.
const BURST: u32 = 64;
/// Time between two looks while no driver does anything.
const PAUSE: Duration = Duration::from_micros(20);
/// Time between two looks for calls of a driver whose ports all work.
const CALLS_NS: u64 = 500_000;

/// One direction of the wire: what enters a port, until it leaves one.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) generator: Generator,
    pub(crate) validator: Validator,
    pub(crate) pacer: Option<Pacer>,
    /// Frames that were put into the driver's memory.
    pub(crate) delivered: u64,
    /// Frames that the device did not take: filtered, or the receiver was off.
    pub(crate) refused: u64,
    /// Frames that were put into the driver's memory by receive queue, of packets of flows.
    pub(crate) by_queue: [u64; QUEUES],
    /// The number that was expected when `settle` was called last, and how often that was the same.
    stale: (u64, u32),
}

impl Stream {
    /// Frames on their way through the driver, as far as those that came out show.
    #[inline]
    pub(crate) fn on_their_way(&self) -> u64 {
        self.generator.sequence().saturating_sub(self.validator.expected())
    }
}

/// The device with all of its ports.
#[derive(Debug)]
pub(crate) struct Nic {
    pub(crate) clock: Clock,
    pub(crate) ports: Vec<Port>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) memory: DmaMap,
    pub(crate) notices: Notices,
    pub(crate) counts: Counts,
    /// Flows that the frames of a stream are packets of; 0: of none.
    flows: u16,
    queues: WorkingQueues,
    /// Number of slices of the device so far.
    pub(crate) visits: u64,
    /// A driver gets a second ring of frames while it holds the first.
    pub(crate) is_ahead: bool,
    set_up: SetUp,
    vfio: VfioState,
    /// Frames on the wire that are not reported yet, if a caller reads them.
    pub(crate) tap: Option<Vec<Frame>>,
    is_tracing: bool,
}

/// Events that the device counts for all of its ports together.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Times that a driver cut a file that the device used.
    pub(crate) memory_taken: u64,
    /// Frames that are of no stream.
    pub(crate) foreign: u64,
}

/// Queues that work, by port, as bits.
#[derive(Debug)]
struct WorkingQueues {
    transmit: Vec<u32>,
    receive: Vec<u32>,
}

/// State of the files of VFIO, where the driver uses them.
#[derive(Debug)]
struct VfioState {
    files: Option<Vfio>,
    /// Ports whose driver waits for interrupts, as bits.
    signalled_ports: u32,
    /// Time of the last look for calls, in nanoseconds.
    called_ns: u64,
}

impl Nic {
    /// Moves the calling thread into a mount namespace in which a driver finds the ports, and makes them.
    pub(crate) fn enter(addresses: &[String], binding: Binding, sizes: &Sizes, flows: u16) -> Result<Nic, RunError> {
        let Devices { ports: files, vfio } = namespace::enter(addresses, binding)?;
        let clock = Clock::calibrate();
        let now_ns = clock.now_ns();
        let (mut ports, mut streams) = (Vec::new(), Vec::new());
        for (number, (file, uio)) in files.into_iter().enumerate() {
            // Intel's prefix, and a number that distinguishes the ports.
            let mac = [0x00, 0x1b, 0x21, 0x82, 0x59, number as u8];
            let stream = number as u8;
            streams.push(Stream {
                generator: Generator::with_flows(stream, mac, sizes.clone(), flows),
                validator: Validator::with_flows(stream, mac, flows),
                pacer: None,
                delivered: 0,
                refused: 0,
                by_queue: [0; QUEUES],
                stale: (0, 0),
            });
            let mut port = Port::new(Device::new(mac, now_ns), Bar::map(&file)?, uio);
            port.marks_mask = vfio.is_some();
            port.publish();
            ports.push(port);
        }
        let memory = if vfio.is_some() { DmaMap::with_iommu() } else { DmaMap::new() };
        let queues = WorkingQueues { transmit: vec![0; ports.len()], receive: vec![0; ports.len()] };
        Ok(Nic {
            clock,
            ports,
            streams,
            memory,
            notices: Notices::default(),
            counts: Counts::default(),
            flows,
            queues,
            visits: 0,
            is_ahead: false,
            set_up: SetUp::default(),
            vfio: VfioState { files: vfio, signalled_ports: 0, called_ns: 0 },
            tap: None,
            is_tracing: false,
        })
    }

    /// Frames begin to enter all ports, or no longer do.
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>) {
        let now_ns = self.clock.now_ns();
        for stream in &mut self.streams {
            stream.pacer = rate.map(|rate| Pacer::new(rate, now_ns));
        }
    }

    /// Looks at all registers of all ports, and takes care of what happened.
    pub(crate) fn look(&mut self, mut written: impl FnMut(usize, Written)) {
        let now_ns = self.clock.now_ns();
        self.memory.set_time(now_ns);
        let mut is_new = false;
        for (number, port) in self.ports.iter_mut().enumerate() {
            let mut is_written = false;
            port.look(now_ns, |write| {
                is_written = true;
                written(number, write);
            });
            if is_written && port.device.enabled_queues(Direction::Receive) == 0 {
                self.set_up.written(now_ns);
            }
            while let Some(event) = port.device.poll_event() {
                is_new |= matches!(event, Event::QueueEnabled { .. });
                self.notices.push(Notice { time_ns: now_ns, port: number, event });
            }
            self.queues.transmit[number] = port.device.enabled_queues(Direction::Transmit);
            self.queues.receive[number] = port.device.enabled_queues(Direction::Receive);
        }
        if is_new {
            self.memory.search();
        }
        if self.vfio.files.is_some() {
            self.answer_calls(now_ns);
            self.interrupt(now_ns);
        }
        if guard::was_taken() {
            self.counts.memory_taken += 1;
        }
    }

    /// Answers a driver's calls on the files of VFIO.
    fn answer_calls(&mut self, now_ns: u64) {
        let Some(vfio) = &mut self.vfio.files else { return };
        let is_set_up = self.ports.iter().all(|port| port.device.enabled_queues(Direction::Receive) != 0);
        if is_set_up && now_ns < self.vfio.called_ns + CALLS_NS {
            return;
        }
        self.vfio.called_ns = now_ns;
        let (ports, notices, set_up) = (&mut self.ports, &mut self.notices, &mut self.set_up);
        vfio.poll(&mut self.memory, |action| match action {
            DriverAction::Reset(number) => {
                let port = &mut ports[number];
                port.device.write(now_ns, regs::CTRL, regs::CTRL_RST);
                port.publish();
                set_up.written(now_ns);
            }
            DriverAction::NotShared(port, address, bytes) => {
                notices.push(Notice { time_ns: now_ns, port, event: Event::PrivateMemory { address, bytes } });
            }
        });
        let bit = |number: usize| u32::from(vfio.has_signals(number)) << number;
        self.vfio.signalled_ports = (0..self.ports.len()).map(bit).sum();
    }

    /// Interrupts the drivers that wait for what happened.
    fn interrupt(&mut self, now_ns: u64) {
        let Some(vfio) = &mut self.vfio.files else { return };
        for number in bits(self.vfio.signalled_ports) {
            let mut vectors = self.ports[number].device.take_interrupts(now_ns);
            if vectors != 0 {
                self.ports[number].publish_interrupts();
            }
            while vectors != 0 {
                vfio.signal(number, vectors.trailing_zeros());
                vectors &= vectors - 1;
            }
        }
    }

    /// True while a driver may be waiting for an answer of some microseconds: nothing else is to be done now.
    pub(crate) fn is_urgent(&self) -> bool {
        self.set_up.is_urgent(self.clock.now_ns())
    }

    /// Waits between two looks at the registers until all ports are set up.
    pub(crate) fn pause_in_set_up(&mut self) {
        self.set_up.update(self.clock.now_ns(), self.memory.drivers());
        match self.is_urgent() {
            true => std::hint::spin_loop(),
            false => thread::sleep(PAUSE),
        }
    }

    /// All ports are set up.
    pub(crate) fn end_set_up(&mut self) {
        self.set_up.end();
    }

    /// Looks for the processes that use a port, among `candidates`; true if there are other ones than before.
    pub(crate) fn find_drivers(&mut self, candidates: impl IntoIterator<Item = u32>) -> bool {
        let files: Vec<(u64, u64)> = self.ports.iter().map(|port| port.bar.identity).collect();
        if let Some(vfio) = &mut self.vfio.files {
            vfio.release_ended(&mut self.memory);
        }
        let drivers = who_maps(&files, candidates);
        let is_changed = drivers != self.memory.drivers();
        if is_changed {
            self.memory.set_drivers(drivers, &files);
        }
        is_changed
    }

    /// Reports each used descriptor, or no longer.
    pub(crate) fn set_tracing(&mut self, is_tracing: bool) {
        self.is_tracing = is_tracing;
        for port in &mut self.ports {
            port.device.set_tracing(is_tracing);
        }
    }

    /// Looks at the whole BAR of each port for offsets at which there is no register.
    pub(crate) fn look_everywhere(&mut self, mut written: impl FnMut(usize, Written)) {
        let now_ns = self.clock.now_ns();
        for (number, port) in self.ports.iter_mut().enumerate() {
            port.look_everywhere(now_ns, |write| written(number, write));
        }
    }

    /// Frames begin to enter ports that work and have none yet.
    pub(crate) fn start_ready(&mut self, rate: Option<Rate>) {
        let now_ns = self.clock.now_ns();
        for number in 0..self.ports.len() {
            let is_ready = self.is_ready(number);
            let stream = &mut self.streams[number];
            if is_ready && stream.pacer.is_none() {
                stream.pacer = rate.map(|rate| Pacer::new(rate, now_ns));
            }
        }
    }

    /// Queues of all ports that work.
    pub(crate) fn working_queues(&self) -> u32 {
        let directions = [Direction::Receive, Direction::Transmit];
        let of = |port: &Port| directions.map(|direction| port.device.enabled_queues(direction).count_ones());
        self.ports.iter().flat_map(of).sum()
    }

    /// All ports are as after power-on. Streams go on where they were.
    pub(crate) fn restart(&mut self) {
        let now_ns = self.clock.now_ns();
        for port in &mut self.ports {
            port.device = Device::new(port.device.mac(), now_ns);
            port.device.set_tracing(self.is_tracing);
            port.publish();
            if let Some(uio) = &mut port.uio {
                // Its settings are those that it was opened with, if the driver did not change them.
                let _ = uio.restart();
            }
        }
        for stream in &mut self.streams {
            stream.pacer = None;
            stream.validator.settle(stream.generator.sequence());
        }
        self.queues.transmit.fill(0);
    }

    /// Moves frames, a burst of each port. True if there was one.
    #[inline]
    pub(crate) fn poll(&mut self) -> bool {
        let (now_ns, mut moved) = self.transmit_all();
        for number in 0..self.ports.len() {
            moved += self.receive(number, now_ns);
        }
        if self.vfio.signalled_ports != 0 && moved > 0 {
            self.interrupt(now_ns);
        }
        moved > 0
    }

    /// Takes what drivers send, a burst of each port, and gives them nothing. True if there was something.
    pub(crate) fn poll_transmit(&mut self) -> bool {
        self.transmit_all().1 > 0
    }

    /// Takes what drivers send, a burst of each port. Returns the time in nanoseconds and the number of frames.
    #[inline]
    fn transmit_all(&mut self) -> (u64, u32) {
        let now_ns = self.clock.now_ns();
        self.memory.set_time(now_ns);
        let mut moved = 0;
        for (number, port) in self.ports.iter_mut().enumerate() {
            port.look_at_other_tails(self.queues.receive[number], self.queues.transmit[number]);
            port.look_at_short_tails(BURST);
            port.device.prefetch(&mut self.memory);
        }
        for number in 0..self.ports.len() {
            moved += self.transmit(number, now_ns);
        }
        (now_ns, moved)
    }

    /// Frames enter a port: up to `number`, as far as its receive queue has descriptors. Returns how many did.
    pub(crate) fn deliver(&mut self, number: usize, frames: u32) -> u32 {
        let now_ns = self.clock.now_ns();
        self.memory.set_time(now_ns);
        let (stream, port) = (&mut self.streams[number], &mut self.ports[number]);
        port.look_at_tails();
        let room = port.device.receive_room(0).min(frames);
        let mut delivered = 0;
        for _ in 0..room {
            match port.device.receive(&mut self.memory, stream.generator.next_frame(now_ns)) {
                Receipt::Delivered { .. } => delivered += 1,
                _ => break,
            }
        }
        stream.delivered += u64::from(delivered);
        delivered
    }

    /// Gives up on frames of which none came out for `patience` calls, so that others can take their place.
    pub(crate) fn settle(&mut self, patience: u32) {
        for stream in &mut self.streams {
            let expected = stream.validator.expected();
            let calls = if stream.stale.0 == expected { stream.stale.1 + 1 } else { 0 };
            stream.stale = (expected, calls);
            if calls >= patience {
                stream.validator.settle(stream.generator.sequence());
            }
        }
    }

    /// Takes everything that the driver has sent.
    pub(crate) fn take_all(&mut self) {
        let now_ns = self.clock.now_ns();
        self.memory.set_time(now_ns);
        for number in 0..self.ports.len() {
            self.ports[number].look_at_tails();
            self.ports[number].look_at_other_tails(self.queues.receive[number], self.queues.transmit[number]);
            while self.transmit(number, now_ns) > 0 {}
        }
    }

    /// Gives the driver everything that is due.
    pub(crate) fn fill_all(&mut self) {
        let now_ns = self.clock.now_ns();
        for number in 0..self.ports.len() {
            while self.receive(number, now_ns) > 0 {}
        }
    }

    /// Takes what the driver sends through a port.
    #[inline]
    fn transmit(&mut self, number: usize, now_ns: u64) -> u32 {
        let (streams, foreign, memory) = (&mut self.streams, &mut self.counts.foreign, &mut self.memory);
        let tap = &mut self.tap;
        let device = &mut self.ports[number].device;
        let stream_at = stream_at(self.flows);
        let mut used = 0;
        for queue in bits(self.queues.transmit[number]) {
            used += device.transmit(memory, queue, BURST, |frame| {
                if let Some(tap) = tap {
                    let direction = Direction::Transmit;
                    tap.push(Frame { time_ns: now_ns, port: number, direction, bytes: frame.to_vec() });
                }
                let stream = frame.get(stream_at).map_or(usize::MAX, |&stream| stream.into());
                match streams.get_mut(stream).filter(|_| frame.len() >= FRAME_BYTES_MIN) {
                    Some(stream) => stream.validator.handle_frame(now_ns, frame),
                    None => *foreign += 1,
                }
            });
        }
        used
    }

    /// Gives the driver what is due at a port.
    #[inline]
    fn receive(&mut self, number: usize, now_ns: u64) -> u32 {
        let (stream, device) = (&mut self.streams[number], &mut self.ports[number].device);
        let Some(pacer) = &mut stream.pacer else { return 0 };
        let on_their_way = stream.generator.sequence().saturating_sub(stream.validator.expected());
        let at_once = at_once(device);
        let share = match self.is_ahead {
            false => at_once.saturating_sub(on_their_way),
            // Each of both rings fits, and the driver has returned the descriptors of the one that it holds.
            true => {
                let waiting = device.receive_descriptors(0).saturating_sub(1 + device.receive_room(0));
                (2 * at_once).saturating_sub(on_their_way).min(at_once.saturating_sub(waiting.into()))
            }
        };
        let room = match self.flows {
            0 => device.receive_room(0),
            // All of the next frames may be of one queue.
            _ => bits(self.queues.receive[number]).map(|queue| device.receive_room(queue)).min().unwrap_or(0),
        };
        let room = room.min(u32::try_from(share).unwrap_or(u32::MAX));
        let due = pacer.due(now_ns, room, BURST);
        if due == 0 {
            return 0;
        }
        let mut left = due;
        while left > 0 {
            let frames = left.min(FRAMES_MAX as u32);
            left -= frames;
            let times_ns = (0..frames).map(|_| {
                let due_ns = pacer.due_ns(now_ns);
                pacer.emit();
                due_ns
            });
            let tap = &mut self.tap;
            let frames = stream.generator.next_frames(times_ns).inspect(|frame| {
                if let Some(tap) = tap {
                    let direction = Direction::Receive;
                    tap.push(Frame { time_ns: now_ns, port: number, direction, bytes: frame.to_vec() });
                }
            });
            if self.flows > 0 {
                for frame in frames {
                    match device.receive(&mut self.memory, frame) {
                        Receipt::Delivered { queue } => {
                            stream.delivered += 1;
                            stream.by_queue[queue as usize % QUEUES] += 1;
                        }
                        Receipt::Missed => {}
                        Receipt::Down | Receipt::Filtered | Receipt::Faulted => stream.refused += 1,
                    }
                }
                continue;
            }
            let receipts = device.receive_burst(&mut self.memory, frames);
            stream.delivered += receipts.delivered;
            stream.refused += receipts.refused;
        }
        due
    }

    /// Frames that all drivers' rings get without a rate.
    pub(crate) fn frames_at_once(&self) -> u64 {
        self.ports.iter().map(|port| at_once(&port.device)).sum()
    }

    /// Descriptors that wait in transmit queues, or that the driver has freed for frames.
    pub(crate) fn is_ready(&self, number: usize) -> bool {
        let device = &self.ports[number].device;
        device.is_link_up()
            && device.enabled_queues(Direction::Receive) & 1 != 0
            && device.enabled_queues(Direction::Transmit) != 0
            && device.receive_room(0) > 0
    }
}

/// Frames that are on their way at once without a rate: they fit into the transmit ring of the other port, which drivers clean up in
/// batches of up to 64.
#[inline]
fn at_once(device: &Device) -> u64 {
    u64::from(device.receive_descriptors(0)).saturating_sub(64).max(1)
}

/// A frame on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Time in nanoseconds since the device was made.
    pub time_ns: u64,
    /// Number of the port, from 0.
    pub port: usize,
    /// To or from the driver.
    pub direction: Direction,
    /// Content, without the frame check sequence.
    pub bytes: Vec<u8>,
}
