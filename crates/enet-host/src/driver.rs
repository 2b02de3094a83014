//! A host with its socket, or another transport, and its clock.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use prony_enet::{Event, Host, Recovered, Seed, Settings, Transmit};

use crate::batch::{BATCH, Datagram};
use crate::clock;
use crate::guard::guarded;
use crate::prefetch::prefetch;
use crate::socket::{OpenError, Socket, SocketOptions};
use crate::transport::Transport;

/// Datagrams after which a call that does not wait returns, though more wait and none of them made an event. A full server
/// of the stock library has 4,095 clients, who may all ping at once; that library returns after 256.
pub const RECEIVED_A_CALL: usize = 4096;

/// A host, its socket or another [`Transport`], and its clock.
///
/// Nothing happens by itself: call [`Driver::service`] again and again.
// What a call looks at that finds nothing to do comes first and together, as in the host.
#[derive(Debug)]
#[repr(C)]
pub struct Driver<T = Socket> {
    started: Duration,
    transport: T,
    host: Host,
    /// Datagrams that are sent together; their memory is used again.
    outbox: Vec<Datagram>,
    started_at: Instant,
}

impl Driver {
    /// A host for `slots` peers at `address`; with port 0, at a port that is free.
    ///
    /// # Errors
    /// [`OpenError`]: the socket could not be made or bound.
    pub fn bind(
        address: SocketAddr,
        slots: usize,
        settings: Settings,
        options: &SocketOptions,
    ) -> Result<Driver, OpenError> {
        Ok(Driver::new(Host::new(slots, settings, &random_seed()), Socket::bind(address, options)?))
    }

    /// The socket: its address, buffers and counts.
    pub fn socket(&self) -> &Socket {
        &self.transport
    }
}

impl<T: Transport> Driver<T> {
    /// A host over a socket, or another transport.
    pub fn new(host: Host, transport: T) -> Driver<T> {
        Driver { started: clock::monotonic(), transport, host, outbox: Vec::new(), started_at: Instant::now() }
    }

    /// The host: its peers, settings and counts.
    #[inline]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The host, to connect, send and disconnect. What that makes leaves with the next [`Driver::service`] or
    /// [`Driver::flush`].
    #[inline]
    pub fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// What datagrams go through: its address and counts.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Time at which the driver was made.
    pub fn started(&self) -> Instant {
        self.started_at
    }

    /// Time as the host has it: since the driver was made.
    #[inline]
    pub fn now(&self) -> Duration {
        clock::monotonic().saturating_sub(self.started)
    }

    /// Sends and receives until something happened, at most for `timeout`; `None` if nothing did.
    ///
    /// With [`Duration::ZERO`] it sends what is due, takes in a batch of what arrived, sends what that made, and goes on
    /// with the next batch until there was an event, or nothing is left. All of a batch is taken in before the first event
    /// of it is returned; the others follow with the next calls.
    /// Its acknowledgements leave with what the caller sends meanwhile, in the same datagrams, when the last event was
    /// taken and this is called again, or with [`Driver::flush`].
    ///
    /// # Errors
    /// What the kernel says of the transport itself. Errors of one peer are counted: see [`Socket::traffic`].
    pub fn service(&mut self, timeout: Duration) -> io::Result<Option<Event>> {
        if let Some(event) = self.host.poll_event() {
            return Ok(Some(event));
        }
        let until = self.now().saturating_add(timeout);
        let mut received = 0;
        loop {
            let (now, count) = self.pass()?;
            if let Some(event) = self.host.poll_event() {
                return Ok(Some(event));
            }
            self.transmit(now, |_, _, _| {});
            // A connection has ended once the last acknowledgement has left.
            if let Some(event) = self.host.poll_event() {
                return Ok(Some(event));
            }
            // What makes no event, as pings do, keeps nothing back that does.
            received += count;
            if count == BATCH && received < RECEIVED_A_CALL {
                continue;
            }
            if now >= until {
                return Ok(None);
            }
            self.wait(now, until)?;
        }
    }

    /// The next event of what was taken in before; nothing is sent or received.
    pub fn check_events(&mut self) -> Option<Event> {
        self.host.poll_event()
    }

    /// Sends what there is to send.
    pub fn flush(&mut self) {
        self.transmit(self.now(), |_, _, _| {});
    }

    /// Sends what is due, and takes in a batch of what arrived. Returns the time, and how many datagrams there were.
    fn pass(&mut self) -> io::Result<(Duration, usize)> {
        let now = self.now();
        self.handle_timeout(now);
        self.transmit(now, |_, _, _| {});
        let count = self.receive(|_| {})?;
        let transport = &self.transport;
        let mut entries = 0..count;
        // After a panic, the rest of the batch follows.
        while guarded(&mut self.host, |host| {
            for entry in &mut entries {
                if let Some((from, bytes)) = transport.datagram(entry) {
                    host.handle_datagram(now, from, bytes);
                }
            }
        })
        .is_some()
        {}
        Ok((now, count))
    }

    /// Does what is due at `now`; a part of [`Driver::service`]. After a panic the rest is due with the next call.
    #[inline]
    pub fn handle_timeout(&mut self, now: Duration) -> Option<Recovered> {
        if self.host.is_due(now) { guarded(&mut self.host, |host| host.handle_timeout(now)) } else { None }
    }

    /// Reads datagrams into the transport's batch; a part of [`Driver::service`] for callers that look at each. `also` is
    /// passed the slots of the peers that they come from, to prefetch what the caller has of them.
    ///
    /// # Errors
    /// As [`Transport::receive`].
    #[inline]
    pub fn receive(&mut self, also: impl FnMut(usize)) -> io::Result<usize> {
        let count = self.transport.receive()?;
        if count > 0 {
            self.prefetch(count, also);
        }
        Ok(count)
    }

    fn prefetch(&mut self, count: usize, also: impl FnMut(usize)) {
        let datagrams = (0..count).filter_map(|entry| self.transport.datagram(entry));
        self.host.prefetch(datagrams, prefetch, also);
    }

    /// Sends what there is to send at `now`, and shows each datagram to `look`; a part of [`Driver::service`]. Returns what
    /// the last panic cost, if there was one.
    #[inline]
    pub fn transmit(&mut self, now: Duration, look: impl FnMut(&mut Host, Transmit, &[u8])) -> Option<Recovered> {
        if self.host.may_transmit() { self.transmit_all(now, look) } else { None }
    }

    fn transmit_all(&mut self, now: Duration, mut look: impl FnMut(&mut Host, Transmit, &[u8])) -> Option<Recovered> {
        let (mut filled, mut is_done, mut recovered) = (0, false, None);
        while !is_done {
            let outbox = &mut self.outbox;
            let panicked = guarded(&mut self.host, |host| {
                is_done = fill(host, now, outbox, &mut filled, &mut look);
            });
            recovered = panicked.or(recovered);
            // A datagram that was not finished is not sent.
            if filled > 0 && (is_done || filled == BATCH) {
                self.transport.send(self.outbox.get(..filled).unwrap_or_default());
                filled = 0;
            }
        }
        recovered
    }

    /// Duration until something is due; `None`: not before something arrives or is sent.
    pub fn idle_time(&self) -> Option<Duration> {
        self.idle_time_at(self.now())
    }

    /// Waits until something arrives, the host has something to do, or it is `until`; a part of [`Driver::service`].
    ///
    /// # Errors
    /// As [`Transport::wait`].
    pub fn wait(&mut self, now: Duration, until: Duration) -> io::Result<bool> {
        let longest = until.saturating_sub(now);
        let longest = self.idle_time_at(now).map_or(longest, |idle| idle.min(longest));
        self.transport.wait(longest)
    }

    fn idle_time_at(&self, now: Duration) -> Option<Duration> {
        // The host counts in milliseconds, rounded down: waiting for less than one would be spinning.
        self.host.poll_timeout().map(|due| due.saturating_sub(now).max(Duration::from_millis(1)))
    }
}

/// Writes what `host` has to send to the batch `outbox`, of which `filled` are written; true if there is no more.
fn fill(
    host: &mut Host,
    now: Duration,
    outbox: &mut Vec<Datagram>,
    filled: &mut usize,
    look: &mut impl FnMut(&mut Host, Transmit, &[u8]),
) -> bool {
    const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    while *filled < BATCH {
        if *filled >= outbox.len() {
            outbox.push(Datagram { to: NOWHERE, bytes: Vec::new() });
        }
        let Some(datagram) = outbox.get_mut(*filled) else { return true };
        let Some(transmit) = host.poll_transmit(now, &mut datagram.bytes) else { return true };
        datagram.to = transmit.to;
        look(host, transmit, &datagram.bytes);
        *filled += 1;
    }
    false
}

/// Numbers that cannot be guessed.
pub fn random_seed() -> Seed {
    let mut seed: Seed = Default::default();
    let filled = rustix::rand::getrandom(&mut seed[..], rustix::rand::GetRandomFlags::empty());
    // getrandom(2): without flags, 256 bytes or fewer are given whole once the kernel is up.
    assert_eq!(filled.ok(), Some(seed.len()), "the kernel gives random numbers");
    seed
}
