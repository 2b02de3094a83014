//! Generator thread of clients: sends what is due, receives, and waits for the next event.
//!
//! A turn costs what happens in it, however many clients there are: the schedule knows the next packet, the host its
//! next timer, and the kernel the sockets that have something to read.
//!
//! Where several packets are due within [`PAUSE_NS`], the thread sleeps through arrivals for that long, and what became
//! due meanwhile leaves together. A wait costs some microseconds, whatever its length: to program a timer and to switch
//! threads twice. With a wait for each packet, waits took a fifth to a quarter of the time at 100,000 packets a second.
//! Where packets are further apart, arrivals end the wait, so that their times are as exact as the kernel allows.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

use prony_enet::wire::ThrottleParameters;
use prony_enet::{Compressor, ConnectError, Event, Host, Packet, PeerId, RangeCoder, Settings, crc32_checksum};
use prony_enet_host::{BATCH, guarded, prefetch, random_seed};
use prony_machine::Tree;
use rustix::event::{Timespec, epoll};

use crate::failures::{Failures, Reason};
use crate::meter::{Meter, Span};
use crate::options::{Options, Reply, Sharing};
use crate::places::Places;
use crate::report::Wire;
use crate::run_state::RunState;
use crate::schedule::{Due, Schedule};
use crate::sockets::{SocketError, Sockets, address_of, clients_a_socket};
use crate::stamp::{STAMP_BYTES, Stamp};
use crate::usage::Usage;

/// Packets of one turn: whether they are late is known when all of them are sent, so they must be few where each is a
/// system call.
const SENDS_A_TURN: usize = 16;
/// Packets of one turn where they share sockets: one system call.
const SENDS_A_TURN_SHARED: usize = BATCH;
/// Sockets that are read in one turn, for the same reason.
const READS_A_TURN: usize = 32;
/// Clients that request their connections in one turn: those that are connected send meanwhile.
const CONNECTS_A_TURN: usize = 16;
/// Clients that leave in one turn: a stock server keeps some 340 short datagrams until it reads them.
const LEAVES_A_TURN: usize = 64;
/// Interval at which other threads are checked while clients connect, in nanoseconds.
const RAMP_TURN_NS: u64 = 1_000_000;
/// Interval at which the end of the run is checked, in nanoseconds.
const TURN_NS_MAX: u64 = 100_000_000;
/// Length of a pause between turns, in nanoseconds: much less than a lateness that matters.
const PAUSE_NS: u64 = 50_000;
/// Packets that share a pause, at least: where fewer are due within one, it would save little.
const PAUSE_PACKETS: usize = 3;
/// Time limit for disconnecting, in nanoseconds.
const LEAVE_NS: u64 = 2_000_000_000;

/// A throttle that never closes, at both ends: what it dropped would be lost before it is sent.
const NO_THROTTLE: ThrottleParameters = ThrottleParameters { interval_ms: 5000, acceleration: 32, deceleration: 0 };

/// Reasons why a thread could not continue.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// No socket for a client.
    #[error("socket {number} of {of}: {source}")]
    Socket {
        /// Number of the client's socket, from 1.
        number: usize,
        /// Number of sockets that were wanted.
        of: usize,
        /// Reason why the socket could not be made.
        source: SocketError,
    },
    /// A client's host takes no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The kernel takes no more.
    #[error("an open socket failed: {0}")]
    Io(#[from] io::Error),
}

/// Result of a client's connection attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settled {
    pub batch: usize,
    /// Duration from the start of its batch, so that a slow generator does not flatter the server.
    pub began_ns: u64,
    pub ended_ns: u64,
    pub outcome: Result<(), Reason>,
}

/// Results of one generator thread.
pub(crate) struct Part {
    pub meter: Meter,
    pub settled: Vec<Settled>,
    pub lost: Failures,
    pub wire: Wire,
    pub usage: Option<Usage>,
    /// Clients whose disconnection was not acknowledged.
    pub remaining: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Connecting { began_ns: u64 },
    Connected,
    Gone,
}

struct Client {
    peer: Option<PeerId>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Clients connect, batch by batch.
    Ramp,
    /// All are settled; what counts begins soon.
    Lead(Span),
    /// Packets that are due in this span count.
    Measure(Span),
    /// Nothing new is sent; answers may come.
    Drain(Span),
    /// Clients disconnect, and the server is given time to answer.
    Leave {
        until_ns: u64,
    },
    Done,
}

/// Wait between two turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// Until something arrives, at most for this long.
    Events(Duration),
    /// For [`PAUSE_NS`], whatever arrives.
    Pause,
}

/// Sleeps for [`PAUSE_NS`]. A signal may end it earlier, which does no harm.
fn pause() {
    let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: PAUSE_NS as _ });
}

/// Generator thread with its clients.
pub(crate) struct Generator<'a> {
    options: &'a Options,
    run_state: &'a RunState,
    places: Places,
    /// Clients by their places.
    clients: Vec<Client>,
    host: Host,
    sockets: Sockets,
    schedule: Option<Schedule>,
    meter: Meter,
    phase: Phase,
    /// Clients of which a connection was requested, then those that left.
    next: usize,
    /// Packet that is sent next: a stamp, and what follows it.
    packet: Vec<u8>,
    attempts: Attempts,
    connected: usize,
    lost: Failures,
    costs: Costs,
}

/// Attempts of clients to connect.
struct Attempts {
    /// Number of the current batch, and when it began.
    batch_began: (usize, u64),
    /// Clients that connect, the longest first.
    connecting: VecDeque<u32>,
    settled: Vec<Settled>,
}

/// Costs of the measurement: traffic on the wire and time of this thread.
struct Costs {
    tree: Tree,
    /// Both when the measurement began.
    before: (Wire, Option<Usage>),
    wire: Wire,
    usage: Option<Usage>,
}

impl<'a> Generator<'a> {
    /// The clients whose number leaves `part` when divided by the number of threads, with their sockets.
    pub fn new(options: &'a Options, run_state: &'a RunState, part: usize) -> Result<Generator<'a>, GeneratorError> {
        let count = (options.clients + options.threads - 1 - part) / options.threads;
        let sockets = Sockets::open(options, count).map_err(|(place, source)| GeneratorError::Socket {
            number: place + 1,
            of: count.div_ceil(clients_a_socket(options.connections.sharing)),
            source,
        })?;
        let settings = Settings {
            checksum: options.traffic.checksum.then(crc32_checksum),
            compressor: options.traffic.range_coder.then(|| Box::new(RangeCoder::new()) as Box<dyn Compressor>),
            ..Settings::default()
        };
        let host = Host::new(count, settings, &random_seed());
        let clients = (0..count).map(|_| Client { peer: None, state: State::Waiting }).collect();
        let schedule = options.period_ns().map(|period_ns| {
            Schedule::new(options.seed, options.clients, period_ns, |client| client % options.threads == part)
        });
        let places = Places::new(options, part, schedule.as_ref());
        Ok(Generator {
            options,
            run_state,
            places,
            clients,
            host,
            sockets,
            schedule,
            meter: Meter::new(count, options.deadline.as_nanos() as u64),
            phase: Phase::Ramp,
            next: 0,
            packet: vec![0; options.traffic.payload_bytes.max(STAMP_BYTES)],
            attempts: Attempts {
                batch_began: (usize::MAX, 0),
                connecting: VecDeque::new(),
                settled: Vec::with_capacity(count),
            },
            connected: 0,
            lost: Failures::default(),
            costs: Costs { tree: Tree::machine(), before: (Wire::default(), None), wire: Wire::default(), usage: None },
        })
    }

    /// Runs until all is done, or the run is ended.
    pub fn run(mut self) -> Result<Part, GeneratorError> {
        // Waits end when they should: by default the kernel takes 50 µs of freedom, prctl(2) PR_SET_TIMERSLACK.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut events = Vec::with_capacity(READS_A_TURN);
        while self.phase != Phase::Done {
            self.advance()?;
            self.send_due();
            self.give_up_connecting();
            let now = Duration::from_nanos(self.run_state.now_ns());
            // After a panic the rest is due with the next turn.
            guarded(&mut self.host, |host| host.handle_timeout(now));
            self.flush();
            let left = match self.time_left() {
                Wait::Events(left) => left,
                Wait::Pause => {
                    pause();
                    Duration::ZERO
                }
            };
            let timeout = Timespec::try_from(left).expect("it is at most a tenth of a second");
            events.clear();
            let buffer = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(self.sockets.epoll(), buffer, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(GeneratorError::Io(errno.into())),
            }
            if let Sharing::Own = self.options.connections.sharing {
                // Most of what arrives are answers to the last packets.
                self.prefetch(events.iter().map(|event| event.data.u64() as usize), 1);
            }
            let mut now_ns = self.run_state.now_ns();
            for event in &events {
                now_ns = self.receive(event.data.u64() as usize, now_ns)?;
            }
        }
        let Generator { meter, attempts, lost, costs, connected: remaining, .. } = self;
        Ok(Part { meter, settled: attempts.settled, lost, wire: costs.wire, usage: costs.usage, remaining })
    }

    /// Goes on to the next phase when it is time.
    fn advance(&mut self) -> Result<(), GeneratorError> {
        let now_ns = self.run_state.now_ns();
        if self.run_state.is_stopped() && !matches!(self.phase, Phase::Leave { .. } | Phase::Done) {
            self.end_of_measuring();
            self.leave(now_ns);
        }
        match self.phase {
            Phase::Ramp => {
                self.connect_batch(now_ns)?;
                if let Some(span) = self.run_state.span() {
                    self.meter.begin(span);
                    self.costs.before.0 = self.count_wire();
                    self.phase = Phase::Lead(span);
                }
            }
            Phase::Lead(span) if now_ns >= span.start_ns => {
                // What was not sent while clients connected, and does not count, makes nothing late that counts.
                if let Some(schedule) = &mut self.schedule {
                    schedule.skip(span.start_ns);
                }
                self.costs.before.1 = Usage::of_this_thread(&self.costs.tree);
                self.phase = Phase::Measure(span);
            }
            // The burst.
            Phase::Measure(span) if now_ns < span.end_ns => self.connect_batch(now_ns)?,
            Phase::Measure(span) => {
                while self.connects_next() {
                    self.connect_batch(now_ns)?;
                }
                self.end_of_measuring();
                self.phase = Phase::Drain(span);
            }
            Phase::Drain(span) => {
                let is_over = now_ns >= span.end_ns + self.options.deadline.as_nanos() as u64;
                let next_ns = self.schedule.as_ref().and_then(Schedule::next_ns);
                let all_sent = next_ns.is_none_or(|next| next >= span.end_ns);
                let nothing_comes =
                    self.meter.outstanding() == 0 || self.connected == 0 || self.options.traffic.reply == Reply::None;
                if (is_over || all_sent && nothing_comes) && self.attempts.connecting.is_empty() {
                    self.count_unsent(span);
                    self.leave(now_ns);
                }
            }
            Phase::Leave { until_ns } => {
                for _ in 0..LEAVES_A_TURN {
                    let Some(client) = self.clients.get(self.next) else { break };
                    self.next += 1;
                    if let Some(peer) = client.peer {
                        self.host.disconnect(peer, 0);
                    }
                }
                if self.next == self.clients.len() && self.connected == 0 || now_ns >= until_ns {
                    self.phase = Phase::Done;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end_of_measuring(&mut self) {
        if let Phase::Measure(_) | Phase::Lead(_) = self.phase {
            let now = Usage::of_this_thread(&self.costs.tree);
            self.costs.usage = self.costs.before.1.zip(now).map(|(before, now)| now.since(before));
            self.costs.wire = self.count_wire().since(self.costs.before.0);
        }
    }

    fn count_unsent(&mut self, span: Span) {
        while let Some(due) = self.schedule.as_mut().and_then(|schedule| schedule.pop(span.end_ns - 1)) {
            if self.clients[due.place].state == State::Connected {
                self.meter.unsent(due.intended_ns);
            }
        }
    }

    fn leave(&mut self, now_ns: u64) {
        self.next = 0;
        self.phase = Phase::Leave { until_ns: now_ns + LEAVE_NS };
    }

    fn count_wire(&self) -> Wire {
        Wire::of(&self.host.statistics(), self.sockets.errors())
    }

    /// True if a client of the batch that has its turn did not request its connection yet.
    fn connects_next(&self) -> bool {
        let next = self.places.connecting(self.next);
        next.is_some_and(|place| self.places.batch_of(self.options, place) <= self.run_state.batch())
    }

    /// Connects clients of the batch that has its turn, as many as one turn may.
    fn connect_batch(&mut self, now_ns: u64) -> Result<(), GeneratorError> {
        let batch = self.run_state.batch();
        let channels = self.options.traffic.channels;
        if self.attempts.batch_began.0 != batch {
            self.attempts.batch_began = (batch, now_ns);
        }
        for _ in 0..CONNECTS_A_TURN {
            let next = self.places.connecting(self.next);
            let Some(place) = next.filter(|&place| self.places.batch_of(self.options, place) <= batch) else { break };
            let address = address_of(place / clients_a_socket(self.options.connections.sharing));
            let peer = self.host.connect(address, channels.into(), 0)?;
            self.clients[place] =
                Client { peer: Some(peer), state: State::Connecting { began_ns: self.attempts.batch_began.1 } };
            self.places.connects(place, peer.slot());
            self.attempts.connecting.push_back(place as u32);
            self.next += 1;
        }
        Ok(())
    }

    /// Sends packets that are due.
    fn send_due(&mut self) {
        let end_ns = match self.phase {
            Phase::Ramp => u64::MAX,
            Phase::Lead(span) | Phase::Measure(span) | Phase::Drain(span) => span.end_ns,
            Phase::Leave { .. } | Phase::Done => return,
        };
        let Some(mut schedule) = self.schedule.take() else { return };
        let now_ns = self.run_state.now_ns().min(end_ns - 1);
        let mut due = [Due { client: 0, place: 0, intended_ns: 0 }; SENDS_A_TURN_SHARED];
        let room = match self.options.connections.sharing {
            Sharing::Own => SENDS_A_TURN,
            Sharing::Shared => SENDS_A_TURN_SHARED,
        };
        let mut count = 0;
        for (place, next) in due[..room].iter_mut().zip(std::iter::from_fn(|| schedule.pop(now_ns))) {
            *place = next;
            count += 1;
        }
        self.schedule = Some(schedule);
        let due = &due[..count];
        self.prefetch(due.iter().map(|due| due.place), 0);
        let mut sent = [(0, 0, 0); SENDS_A_TURN_SHARED];
        let mut count = 0;
        for due in due {
            if let Some(number) = self.send(due.place, due.intended_ns) {
                sent[count] = (due.place, number, due.intended_ns);
                count += 1;
            }
        }
        if count > 0 {
            self.flush();
            let now_ns = self.run_state.now_ns();
            for &(client, number, intended_ns) in &sent[..count] {
                self.meter.sent(client, number, intended_ns, now_ns);
            }
        }
    }

    /// Prefetches what the host has of the clients at `places`, at most as many as leave together, and of the channels of
    /// their next packets, or of those `back` before them.
    fn prefetch(&self, places: impl Iterator<Item = usize>, back: u32) {
        let channels = u32::from(self.options.traffic.channels.max(1));
        let peers = places.filter_map(|place| {
            let channel = (self.meter.upcoming_number(place).saturating_sub(back) % channels) as u8;
            Some((self.clients.get(place)?.peer?, channel))
        });
        self.host.prefetch_peers(peers, prefetch);
    }

    fn send(&mut self, client: usize, intended_ns: u64) -> Option<u32> {
        let Client { peer, state } = self.clients[client];
        if state != State::Connected {
            if state == State::Gone {
                self.meter.disconnected(intended_ns);
            }
            return None;
        }
        let traffic = &self.options.traffic;
        let number = self.meter.next_number(client);
        let stamp = Stamp { intended_ns, number, reply_bytes: traffic.reply.bytes(traffic.payload_bytes) };
        stamp.write(&mut self.packet);
        let payload = self.packet.as_slice();
        // As many of the numbers so far as the share says.
        let reliable_until = |packets: f64| (packets * traffic.reliable).floor();
        let packet = match reliable_until(f64::from(number) + 1.0) > reliable_until(number.into()) {
            true => Packet::reliable(payload),
            false => Packet::unreliable(payload),
        };
        let channel = (number % u32::from(traffic.channels)) as u8;
        if self.host.send(peer?, channel, packet).is_err() {
            self.meter.disconnected(intended_ns);
            return None;
        }
        Some(number)
    }

    fn give_up_connecting(&mut self) {
        if self.attempts.connecting.is_empty() {
            return;
        }
        let now_ns = self.run_state.now_ns();
        while let Some(&client) = self.attempts.connecting.front() {
            let since_ns = match self.clients[client as usize].state {
                State::Connecting { began_ns } => now_ns.saturating_sub(began_ns),
                _ => u64::MAX,
            };
            if since_ns < self.options.connections.timeout.as_nanos() as u64 {
                break;
            }
            self.attempts.connecting.pop_front();
            if since_ns < u64::MAX {
                self.abandon(client, Reason::TimedOut);
            }
        }
    }

    /// Ends the attempt of a client that connects.
    fn abandon(&mut self, client: u32, reason: Reason) {
        if let Some(peer) = self.clients[client as usize].peer {
            self.host.reset(peer);
        }
        self.ended(client, reason);
    }

    /// A client has no connection any more, or gets none.
    fn ended(&mut self, client: u32, reason: Reason) {
        let one = &mut self.clients[client as usize];
        one.peer = None;
        match std::mem::replace(&mut one.state, State::Gone) {
            State::Connecting { began_ns } => {
                // It never sends: what it does not send counts nowhere but among the failures.
                one.state = State::Waiting;
                self.settle(client, began_ns, Err(reason));
            }
            State::Connected => {
                self.connected -= 1;
                if !matches!(self.phase, Phase::Leave { .. }) {
                    self.lost.add(reason);
                }
            }
            State::Waiting | State::Gone => {}
        }
    }

    fn settle(&mut self, client: u32, began_ns: u64, outcome: Result<(), Reason>) {
        let batch = self.places.batch_of(self.options, client as usize);
        self.attempts.settled.push(Settled { batch, began_ns, ended_ns: self.run_state.now_ns(), outcome });
        self.run_state.settle(outcome.is_ok());
    }

    /// Sends what there is to send, and takes what that made happen.
    fn flush(&mut self) {
        let now_ns = self.run_state.now_ns();
        self.sockets.transmit(&mut self.host, Duration::from_nanos(now_ns));
        self.take_events(now_ns);
        while let Some(socket) = self.sockets.next_closed() {
            self.port_closed(socket);
        }
    }

    /// Takes in what came to a socket. Returns the time at which it had been read: later than it arrived.
    fn receive(&mut self, socket: usize, now_ns: u64) -> Result<u64, GeneratorError> {
        self.sockets.receive(socket, &mut self.host, Duration::from_nanos(now_ns))?;
        let now_ns = self.run_state.now_ns();
        self.take_events(now_ns);
        Ok(now_ns)
    }

    /// The server's machine reports a closed port: clients that connect give up. Connected ones go on, as ENet does.
    fn port_closed(&mut self, socket: usize) {
        let share = clients_a_socket(self.options.connections.sharing);
        let clients = socket * share..((socket + 1) * share).min(self.clients.len());
        if self.clients[clients.clone()].iter().any(|client| client.state == State::Connected) {
            return;
        }
        for client in clients {
            if let State::Connecting { .. } = self.clients[client].state {
                self.abandon(client as u32, Reason::PortClosed);
            }
        }
    }

    fn take_events(&mut self, now_ns: u64) {
        while let Some(event) = self.host.poll_event() {
            match event {
                Event::Receive { peer, packet } => {
                    self.meter.received(self.places.of_slot(peer.slot()) as usize, &packet.payload, now_ns);
                }
                Event::Connect { peer, .. } => {
                    let client = self.places.of_slot(peer.slot());
                    let one = &mut self.clients[client as usize];
                    if let State::Connecting { began_ns } = one.state {
                        one.state = State::Connected;
                        self.connected += 1;
                        if !self.options.traffic.throttle {
                            self.host.configure_throttle(peer, NO_THROTTLE);
                        }
                        self.settle(client, began_ns, Ok(()));
                    }
                }
                Event::Disconnect { peer, reason, .. } => {
                    let client = self.places.of_slot(peer.slot());
                    if self.clients[client as usize].peer == Some(peer) {
                        self.ended(client, reason.into());
                    }
                }
            }
        }
    }

    /// Time until something is due, and whether arrivals end the wait for it.
    fn time_left(&self) -> Wait {
        let now_ns = self.run_state.now_ns();
        if let Phase::Ramp | Phase::Measure(_) = self.phase
            && self.connects_next()
        {
            return Wait::Events(Duration::ZERO);
        }
        // Packets before this time are sent, and something else happens at the second.
        let (sends_before_ns, then_ns) = match self.phase {
            Phase::Ramp => (u64::MAX, now_ns + RAMP_TURN_NS),
            Phase::Lead(span) => (span.end_ns, span.start_ns),
            Phase::Measure(span) => {
                let burst_ns = self.run_state.burst_ns().filter(|&at_ns| at_ns > now_ns);
                (span.end_ns, burst_ns.unwrap_or(span.end_ns))
            }
            Phase::Drain(span) => (span.end_ns, span.end_ns + self.options.deadline.as_nanos() as u64),
            Phase::Leave { until_ns } => (0, until_ns.min(now_ns + RAMP_TURN_NS)),
            Phase::Done => (0, now_ns),
        };
        let next_send_ns = self.schedule.as_ref().and_then(Schedule::next_ns).filter(|&at| at < sends_before_ns);
        // The host counts in milliseconds, rounded down: waiting for less than one would be spinning.
        let timer_ns = self.host.poll_timeout().map(|due| (due.as_nanos() as u64).max(now_ns + 1_000_000));
        let ends_of_pause = |schedule: &Schedule| Some((schedule.next_ns()?, schedule.ahead_ns(PAUSE_PACKETS - 1)?));
        if let Some((first_ns, last_ns)) = self.schedule.as_ref().and_then(ends_of_pause)
            && first_ns > now_ns
            && last_ns < sends_before_ns.min(now_ns + PAUSE_NS)
        {
            return Wait::Pause;
        }
        let next_ns = [next_send_ns, timer_ns].into_iter().flatten().fold(then_ns, u64::min);
        Wait::Events(Duration::from_nanos(next_ns.min(now_ns + TURN_NS_MAX).saturating_sub(now_ns)))
    }
}
