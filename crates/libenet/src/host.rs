//! Hosts: what programs see of one, and the driver behind it.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::{addr_of_mut, null_mut};
use std::sync::Arc;
use std::time::Duration;

use prony_enet::{Event, PeerId, Recovered, Settings};
use prony_enet_host::{
    BATCH, Driver, RECEIVED_A_CALL, Socket, SocketOptions, guarded, limit_panic_messages, random_seed,
};

use crate::coding::{
    Foreign, checksum, enet_range_coder_compress, enet_range_coder_create, enet_range_coder_decompress,
    enet_range_coder_destroy,
};
use crate::layout::{self, Address, ChecksumCallback, Compressor, DATAGRAM_BYTES, Packet};
use crate::mirror::{Mirror, Shown};
use crate::packet::{self, Done, enet_packet_destroy};
use crate::{clock, exported, list};

/// Most peers: the stock library's 4,095 come from its use of slots as tokens.
const PEERS_MAX: usize = 65_535;
const CHANNELS_MAX: usize = 255;
/// The stock library's defaults.
const MTU: u32 = 1400;
const DUPLICATE_PEERS: usize = 4095;
const PACKET_BYTES: usize = 32 << 20;
const WAITING_BYTES: usize = 32 << 20;

const CONNECT: u32 = 1;
const DISCONNECT: u32 = 2;
const RECEIVE: u32 = 3;
const NOTHING: layout::Event = layout::Event { kind: 0, peer: null_mut(), channel_id: 0, data: 0, packet: null_mut() };

/// A host: what the program sees comes first, so a pointer to that is one to this.
// What a call looks at that finds nothing to do follows at once, as in the driver.
#[repr(C)]
pub struct Host {
    seen: layout::Host,
    is_in_service: bool,
    /// When the driver was made, in the time that programs see.
    started: Duration,
    /// Packets that may be freed.
    pub done: Arc<Done>,
    /// Events that the program's `intercept` made.
    intercepted: VecDeque<layout::Event>,
    pub mirror: Mirror,
    pub driver: Driver,
    /// Callback that the settings were last made from.
    checksum: Option<ChecksumCallback>,
    compressor: *mut c_void,
}

/// The host behind what the program sees.
pub fn behind(host: *mut layout::Host) -> *mut Host {
    host.cast()
}

impl Host {
    /// Shows the time: what `enet_time_get` would have said at `now`, without another look at the clock.
    #[inline]
    unsafe fn show_time(host: *mut Host, now: Duration) {
        // SAFETY: the caller's host is one, and nothing else uses it now.
        let Host { seen, mirror, started, .. } = unsafe { &mut *host };
        seen.service_time = clock::at_ms(now + *started);
        // Both are counted from moments of their own.
        mirror.offset_ms = seen.service_time.wrapping_sub(clock::ms(now));
    }

    /// Takes over what the program set since.
    pub unsafe fn read_settings(host: *mut Host) {
        // SAFETY: the caller's host is one, and nothing else uses it now.
        let Host { seen, driver, mirror, checksum: known_checksum, compressor: known_compressor, .. } =
            unsafe { &mut *host };
        let settings = driver.host_mut().settings_mut();
        settings.mtu = seen.mtu;
        settings.duplicate_peers = u32::try_from(seen.duplicate_peers).unwrap_or(u32::MAX);
        settings.packet_bytes_max = seen.maximum_packet_size;
        settings.waiting_bytes_max = seen.maximum_waiting_data;
        settings.channels = seen.channel_limit.clamp(1, CHANNELS_MAX) as u8;
        if seen.checksum.map(|callback| callback as usize) != known_checksum.map(|callback| callback as usize) {
            *known_checksum = seen.checksum;
            settings.checksum = seen.checksum.map(checksum);
        }
        if seen.compressor.context != *known_compressor {
            *known_compressor = seen.compressor.context;
            let is_set = !seen.compressor.context.is_null();
            settings.compressor = is_set.then(|| Box::new(Foreign::new(seen.compressor)) as _);
        }
        mirror.mtu = seen.mtu;
    }

    /// Shows what changed of the host itself, and frees what is no longer needed.
    #[inline]
    pub unsafe fn settle(host: *mut Host) {
        // SAFETY: as above; the borrow ends before the program's callbacks may run.
        let done = unsafe {
            let Host { seen, driver, mirror, done, .. } = &mut *host;
            seen.connected_peers = driver.host().connected_peers();
            seen.bandwidth_limited_peers = mirror.limited_peers;
            if !done.is_any() {
                return;
            }
            Arc::clone(done)
        };
        // SAFETY: nothing refers to what is in `done`.
        unsafe { done.free() };
    }

    /// True if there may be an event to report to the program.
    #[inline]
    unsafe fn may_have_event(host: *mut Host) -> bool {
        // SAFETY: as above.
        unsafe { (*host).driver.host().may_have_event() || !(*host).intercepted.is_empty() }
    }

    /// Shows what changed of a peer.
    pub unsafe fn show(host: *mut Host, slot: usize) {
        // SAFETY: as above.
        unsafe {
            let Host { driver, mirror, .. } = &mut *host;
            mirror.bring_up_to_date(driver.host_mut(), slot);
        }
    }

    /// Shows how many bytes of packets wait for the program to take them.
    unsafe fn show_waiting(host: *mut Host, peer: PeerId) {
        // SAFETY: as above.
        unsafe {
            let Host { driver, mirror, .. } = &mut *host;
            if let Some(connection) = driver.host().peer(peer) {
                (*mirror.peers.add(peer.slot())).total_waiting_data = connection.waiting_bytes();
            }
        }
    }

    /// Sends what there is to send.
    #[inline]
    pub unsafe fn transmit(host: *mut Host, now: Duration) {
        // SAFETY: as above.
        unsafe {
            if (*host).driver.host().may_transmit() {
                Host::read_settings(host);
                Host::transmit_all(host, now);
            }
        }
    }

    unsafe fn transmit_all(host: *mut Host, now: Duration) {
        // SAFETY: as above.
        let Host { seen, driver, mirror, .. } = unsafe { &mut *host };
        let recovered = driver.transmit(now, |host, transmit, bytes| {
            seen.total_sent_packets = seen.total_sent_packets.wrapping_add(1);
            seen.total_sent_data = seen.total_sent_data.wrapping_add(bytes.len() as u32);
            if let Some(peer) = transmit.peer {
                // SAFETY: the slot is one of the host's.
                unsafe { mirror.bring_up_to_date(host, peer.slot()) };
            }
        });
        // SAFETY: as above; the borrows have ended.
        unsafe { Host::show_recovered(host, recovered) };
    }

    /// Shows what a panic cost. Its peer may not be the only one that the struct of a peer was not written for.
    #[inline]
    unsafe fn show_recovered(host: *mut Host, recovered: Option<Recovered>) {
        if recovered.is_some() {
            // SAFETY: as above.
            let Host { driver, mirror, .. } = unsafe { &mut *host };
            for slot in 0..mirror.shown.len() {
                // SAFETY: there are as many slots.
                unsafe { mirror.bring_up_to_date(driver.host_mut(), slot) };
            }
        }
    }

    /// Takes in a datagram that was read; `Err` if the program's `intercept` wants that.
    unsafe fn take_in(host: *mut Host, now: Duration, entry: usize) -> Result<(), ()> {
        // SAFETY: as above. No borrow lives while `intercept` runs: it may call functions with this host.
        unsafe {
            let driver = &(*host).driver;
            let Some((from, bytes)) = driver.socket().datagram(entry) else { return Ok(()) };
            let (start, length) = (bytes.as_ptr(), bytes.len());
            let seen = addr_of_mut!((*host).seen);
            (*seen).received_address = Address::from_socket_address(from);
            (*seen).total_received_packets = (*seen).total_received_packets.wrapping_add(1);
            (*seen).total_received_data = (*seen).total_received_data.wrapping_add(length as u32);
            let (mut from, mut data, mut length) = (from, start, length);
            if let Some(intercept) = (*seen).intercept
                && length <= DATAGRAM_BYTES
            {
                // It may change what came, in place.
                let copy = addr_of_mut!((*seen).packet_data[0]).cast::<u8>();
                copy.copy_from_nonoverlapping(data, length);
                ((*seen).received_data, (*seen).received_data_length) = (copy, length);
                let mut event = NOTHING;
                match intercept(seen, &mut event) {
                    1 => {
                        if event.kind != 0 {
                            (*host).intercepted.push_back(event);
                        }
                        return Ok(());
                    }
                    -1 => return Err(()),
                    _ => {}
                }
                from = (*seen).received_address.to_socket_address();
                (data, length) = ((*seen).received_data.cast_const(), (*seen).received_data_length);
            }
            let bytes = std::slice::from_raw_parts(data, length);
            let Host { driver, mirror, .. } = &mut *host;
            let hub = driver.host_mut();
            let recovered = guarded(hub, |hub| {
                if let Some(peer) = hub.handle_datagram(now, from, bytes) {
                    mirror.bring_up_to_date(hub, peer.slot());
                }
            });
            Host::show_recovered(host, recovered);
            Ok(())
        }
    }

    /// Sends what is due, and takes in a batch of what arrived. Returns the time, and how many datagrams there were;
    /// `Err` if the socket is broken, or the program wants it; all that was read is taken in before.
    unsafe fn pass(host: *mut Host) -> Result<(Duration, usize), ()> {
        // SAFETY: as above.
        unsafe {
            let now = (*host).driver.now();
            Host::show_time(host, now);
            let recovered = (*host).driver.handle_timeout(now);
            Host::show_recovered(host, recovered);
            Host::transmit(host, now);
            let Host { driver, mirror, .. } = &mut *host;
            let count = driver.receive(|slot| mirror.prefetch(slot)).map_err(|_| ())?;
            if count > 0 {
                Host::take_in_all(host, now, count)?;
            }
            Ok((now, count))
        }
    }

    unsafe fn take_in_all(host: *mut Host, now: Duration, count: usize) -> Result<(), ()> {
        // SAFETY: as above.
        unsafe {
            Host::read_settings(host);
            let mut result = Ok(());
            for entry in 0..count {
                // Also behind one that the program did not want.
                result = result.and(Host::take_in(host, now, entry));
            }
            result
        }
    }

    /// Tells the program of the next event, if there is one.
    #[inline]
    unsafe fn dispatch(host: *mut Host, event: *mut layout::Event) -> bool {
        // SAFETY: as above; `event` can be written to.
        unsafe {
            event.write(NOTHING);
            Host::may_have_event(host) && Host::dispatch_next(host, event)
        }
    }

    unsafe fn dispatch_next(host: *mut Host, event: *mut layout::Event) -> bool {
        // SAFETY: as above.
        unsafe {
            if let Some(intercepted) = (*host).intercepted.pop_front() {
                event.write(intercepted);
                Host::settle(host);
                return true;
            }
            let Some(happened) = (*host).driver.check_events() else { return false };
            let (Event::Connect { peer, .. } | Event::Disconnect { peer, .. } | Event::Receive { peer, .. }) = happened;
            (*event).peer = (*host).mirror.peers.add(peer.slot());
            match happened {
                Event::Connect { data, .. } | Event::Disconnect { data, .. } => {
                    Host::show(host, peer.slot());
                    (*event).kind = if matches!(happened, Event::Connect { .. }) { CONNECT } else { DISCONNECT };
                    (*event).data = data;
                }
                Event::Receive { packet, .. } => {
                    // All else was shown when the packet came.
                    Host::show_waiting(host, peer);
                    ((*event).kind, (*event).channel_id) = (RECEIVE, packet.channel);
                    (*event).packet = packet::hand_over(&packet);
                }
            }
            (*(*event).peer).event_data = (*event).data;
            Host::settle(host);
            true
        }
    }

    unsafe fn service(host: *mut Host, event: *mut layout::Event, timeout_ms: u32) -> Result<bool, ()> {
        // SAFETY: as above.
        unsafe {
            if !event.is_null() && Host::dispatch(host, event) {
                return Ok(true);
            }
            let mut until = None;
            let mut received = 0;
            loop {
                let passed = Host::pass(host);
                if !event.is_null() && Host::dispatch(host, event) {
                    return Ok(true);
                }
                if timeout_ms == 0 && passed.is_ok_and(|(_, count)| count == 0) {
                    // All that was due was sent before the socket was looked at.
                    Host::settle(host);
                    return Ok(false);
                }
                // With an event, what was taken in is acknowledged together with what the program sends now.
                Host::transmit(host, (*host).driver.now());
                Host::settle(host);
                // A connection has ended once the last acknowledgement has left.
                if !event.is_null() && Host::dispatch(host, event) {
                    return Ok(true);
                }
                let (now, count) = passed?;
                // What makes no event, as pings do, keeps nothing back that does.
                received += count;
                if count == BATCH && received < RECEIVED_A_CALL {
                    continue;
                }
                let until = *until.get_or_insert(now + Duration::from_millis(timeout_ms.into()));
                if now >= until {
                    return Ok(false);
                }
                (*host).driver.wait(now, until).map_err(|_| ())?;
            }
        }
    }
}

exported! {
    fn enet_host_create(
        address: *const Address,
        peer_count: usize,
        channel_limit: usize,
        incoming_bandwidth: u32,
        outgoing_bandwidth: u32,
    ) -> *mut layout::Host, else null_mut(), {
        if peer_count > PEERS_MAX {
            return null_mut();
        }
        // The library has a hook of its own, as it has a copy of the standard library: the program's is another.
        limit_panic_messages();
        // Before the host's own, so that the one never runs ahead of the other.
        clock::started();
        let options = SocketOptions::default();
        let requested = if address.is_null() { None } else { Some((*address).to_socket_address()) };
        let socket = match requested {
            Some(requested) => Socket::bind(requested, &options),
            None => Socket::unbound(false, &options),
        };
        let Ok(socket) = socket else { return null_mut() };
        let bound = requested.map(|requested| Address::from_socket_address(socket.local_address().unwrap_or(requested)));
        let descriptor = socket.as_fd().as_raw_fd();
        let seed = random_seed();
        let mut hub = prony_enet::Host::new(peer_count, Settings::default(), &seed);
        hub.set_bandwidth(incoming_bandwidth, outgoing_bandwidth);
        // SAFETY: zeros are a valid value of the structs that the program sees, pointers and callbacks included.
        let mut seen: layout::Host = std::mem::zeroed();
        seen.socket = descriptor;
        seen.address = bound.unwrap_or(Address { host: 0, port: 0 });
        (seen.incoming_bandwidth, seen.outgoing_bandwidth) = (incoming_bandwidth, outgoing_bandwidth);
        seen.mtu = MTU;
        seen.random_seed = u32::from_ne_bytes([seed[0], seed[5], seed[10], seed[15]]);
        seen.channel_limit = limit_of_channels(channel_limit);
        // No limit, as 4,095 are none to the stock library.
        (seen.duplicate_peers, seen.peer_count) = (DUPLICATE_PEERS.max(peer_count), peer_count);
        (seen.maximum_packet_size, seen.maximum_waiting_data) = (PACKET_BYTES, WAITING_BYTES);
        // Zeros from the kernel cost nothing until they are used.
        seen.peers = libc::calloc(peer_count.max(1), size_of::<layout::Peer>()).cast();
        if seen.peers.is_null() {
            return null_mut();
        }
        let peers = seen.peers;
        let driver = Driver::new(hub, socket);
        let host = Box::into_raw(Box::new(Host {
            seen,
            started: driver.started().duration_since(clock::started()),
            driver,
            mirror: Mirror {
                peers,
                shown: vec![Shown::NOTHING; peer_count].into(),
                limited_peers: 0,
                offset_ms: 0,
                mtu: MTU,
            },
            done: Arc::default(),
            intercepted: VecDeque::new(),
            checksum: None,
            compressor: null_mut(),
            is_in_service: false,
        }));
        list::clear(addr_of_mut!((*host).seen.dispatch_queue));
        (*host).mirror.lay_out(addr_of_mut!((*host).seen));
        host.cast()
    }

    fn enet_host_destroy(host: *mut layout::Host) -> (), else (), {
        if host.is_null() {
            return;
        }
        enet_host_compress(host, null_mut());
        let host = Box::from_raw(behind(host));
        let (done, peers) = (Arc::clone(&host.done), host.mirror.peers);
        for event in &host.intercepted {
            enet_packet_destroy(event.packet);
        }
        drop(host);
        done.free();
        libc::free(peers.cast());
    }

    fn enet_host_connect(
        host: *mut layout::Host,
        address: *const Address,
        channels: usize,
        data: u32,
    ) -> *mut layout::Peer, else null_mut(), {
        let host = behind(host);
        Host::show_time(host, (*host).driver.now());
        Host::read_settings(host);
        let to = (*address).to_socket_address();
        let requested = (*host).driver.host_mut().connect(to, channels.clamp(1, CHANNELS_MAX), data);
        let Ok(peer) = requested else { return null_mut() };
        Host::show(host, peer.slot());
        (*host).mirror.peers.add(peer.slot())
    }

    fn enet_host_check_events(host: *mut layout::Host, event: *mut layout::Event) -> c_int, else -1, {
        if event.is_null() {
            return -1;
        }
        c_int::from(Host::dispatch(behind(host), event))
    }

    fn enet_host_service(host: *mut layout::Host, event: *mut layout::Event, timeout_ms: u32) -> c_int, else -1, {
        let host = behind(host);
        // From within `intercept`, which looks at one of the datagrams that were read.
        if (*host).is_in_service {
            return -1;
        }
        let _in_service = InService::enter(host);
        Host::service(host, event, timeout_ms).map_or(-1, c_int::from)
    }

    fn enet_host_flush(host: *mut layout::Host) -> (), else (), { flush(host) }

    fn enet_host_broadcast(host: *mut layout::Host, channel: u8, packet: *mut Packet) -> (), else (), {
        let host = behind(host);
        let done = &(*host).done;
        packet::lend(packet, done, |packet| (*host).driver.host_mut().broadcast(channel, &packet));
        if (*packet).reference_count == 0 {
            enet_packet_destroy(packet);
        }
    }

    fn enet_host_compress(host: *mut layout::Host, compressor: *const Compressor) -> (), else (), {
        let seen = addr_of_mut!((*host).compressor);
        let old = *seen;
        let none = Compressor { context: null_mut(), compress: None, decompress: None, destroy: None };
        *seen = if compressor.is_null() { none } else { *compressor };
        // The host forgets the old one before it is destroyed; a new one may be where the old one was.
        (*behind(host)).compressor = null_mut();
        (*behind(host)).driver.host_mut().settings_mut().compressor = None;
        Host::read_settings(behind(host));
        if let (false, Some(destroy)) = (old.context.is_null(), old.destroy) {
            destroy(old.context);
        }
    }

    fn enet_host_compress_with_range_coder(host: *mut layout::Host) -> c_int, else -1, {
        let context = enet_range_coder_create();
        if context.is_null() {
            return -1;
        }
        let compressor = Compressor {
            context,
            compress: Some(enet_range_coder_compress),
            decompress: Some(enet_range_coder_decompress),
            destroy: Some(enet_range_coder_destroy),
        };
        enet_host_compress(host, &compressor);
        0
    }

    fn enet_host_channel_limit(host: *mut layout::Host, limit: usize) -> (), else (), {
        (*host).channel_limit = limit_of_channels(limit);
    }

    fn enet_host_bandwidth_limit(host: *mut layout::Host, incoming: u32, outgoing: u32) -> (), else (), {
        ((*host).incoming_bandwidth, (*host).outgoing_bandwidth) = (incoming, outgoing);
        (*behind(host)).driver.host_mut().set_bandwidth(incoming, outgoing);
    }

    /// Done by every service that is due.
    fn enet_host_bandwidth_throttle(host: *mut layout::Host) -> (), else (), {
        let driver = &mut (*behind(host)).driver;
        let now = driver.now();
        driver.host_mut().handle_timeout(now);
    }

    fn enet_host_random_seed() -> u32, else 0, {
        let seed = random_seed();
        u32::from_ne_bytes([seed[0], seed[1], seed[2], seed[3]])
    }
}

/// Marks a host for as long as it is served, also when that panics.
struct InService(*mut Host);

impl InService {
    unsafe fn enter(host: *mut Host) -> InService {
        // SAFETY: the caller's host is one.
        unsafe { (*host).is_in_service = true };
        InService(host)
    }
}

impl Drop for InService {
    fn drop(&mut self) {
        // SAFETY: the host was one at `enter`, and one that is served is not destroyed.
        unsafe { (*self.0).is_in_service = false };
    }
}

/// Sends what there is to send, now.
pub unsafe fn flush(host: *mut layout::Host) {
    let host = behind(host);
    // SAFETY: the caller's host is one.
    unsafe {
        let now = (*host).driver.now();
        Host::show_time(host, now);
        Host::transmit(host, now);
        Host::settle(host);
    }
}

fn limit_of_channels(requested: usize) -> usize {
    if (1..=CHANNELS_MAX).contains(&requested) { requested } else { CHANNELS_MAX }
}

/// The peer that the program means, and its host; `None` when its slot is free.
pub unsafe fn meant(peer: *mut layout::Peer) -> (*mut Host, usize, Option<PeerId>) {
    // SAFETY: the caller's peer is one of its host's.
    unsafe {
        let host = behind((*peer).host);
        let slot = peer.offset_from((*host).mirror.peers) as usize;
        (host, slot, (*host).driver.host().peer_at(slot))
    }
}

#[cfg(test)]
mod tests {
    use prony_enet::{Packet, RangeCoder};
    use prony_enet_host::Driver;
    use std::time::Instant;

    use super::*;

    /// A range coder that panics when a datagram expands to one with the word in it.
    struct Fragile(RangeCoder);

    const WORD: &[u8] = b"the word at which it panics";

    impl prony_enet::Compressor for Fragile {
        fn compress(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
            self.0.compress(input, limit, output)
        }

        fn expand(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
            let start = output.len();
            let bytes = self.0.expand(input, limit, output);
            assert!(!output[start..].windows(WORD.len()).any(|word| word == WORD), "as the test wants it");
            bytes
        }
    }

    #[test]
    fn a_panic_costs_one_peer_its_connection_and_the_program_sees_that() {
        const CLIENTS: usize = 6;
        let at = Address { host: u32::from_ne_bytes([127, 0, 0, 1]), port: 0 };
        // SAFETY: the host is used by this thread alone, and destroyed last; its peers are its own.
        unsafe {
            let host = enet_host_create(&at, 8, 1, 0, 0);
            assert!(!host.is_null());
            let server = std::net::SocketAddr::from(([127, 0, 0, 1], (*host).address.port));
            let mut clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let any = "127.0.0.1:0".parse().expect("an address");
                    let driver = Driver::bind(any, 1, Settings::default(), &SocketOptions::default());
                    let mut client = driver.expect("a free port");
                    let peer = client.host_mut().connect(server, 1, 0).expect("a free slot");
                    (client, peer)
                })
                .collect();
            let started = Instant::now();
            let (mut here, mut there) = (0, 0);
            let mut event = NOTHING;
            while (here, there) != (CLIENTS, CLIENTS) {
                assert!(started.elapsed() < Duration::from_secs(30), "{here} and {there} are connected");
                here += usize::from(enet_host_service(host, &mut event, 1) == 1 && event.kind == CONNECT);
                for (client, _) in &mut clients {
                    there += usize::from(client.service(Duration::ZERO).expect("sockets work").is_some());
                }
            }
            let settings = (*behind(host)).driver.host_mut().settings_mut();
            settings.compressor = Some(Box::new(Fragile(RangeCoder::new())));
            for (number, (client, peer)) in clients.iter_mut().enumerate() {
                client.host_mut().settings_mut().compressor = Some(Box::new(RangeCoder::new()));
                let text: &[u8] = if number == 2 { WORD } else { b"an ordinary packet, that is an ordinary packet" };
                client.host_mut().send(*peer, 0, Packet::reliable(&text.repeat(2)[..])).expect("it is connected");
                client.flush();
            }
            let (mut received, mut ended) = (0, 0);
            while received + ended < CLIENTS {
                assert!(started.elapsed() < Duration::from_secs(60), "{received} packets, {ended} ends");
                match enet_host_service(host, &mut event, 10) {
                    1 if event.kind == RECEIVE => {
                        received += 1;
                        enet_packet_destroy(event.packet);
                    }
                    1 if event.kind == DISCONNECT => {
                        ended += 1;
                        assert_eq!((*event.peer).state, 0);
                    }
                    result => assert_eq!(result, 0),
                }
            }
            assert_eq!((received, ended, (*host).connected_peers), (CLIENTS - 1, 1, CLIENTS - 1));
            let driver = &(*behind(host)).driver;
            assert_eq!(driver.host().statistics().panics, 1);
            driver.host().check_invariants().expect("what is left agrees");
            enet_host_destroy(host);
        }
    }
}
