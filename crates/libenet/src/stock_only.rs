//! Functions that the stock library exports for its own use: they take apart queues that do not exist here.
//!
//! No public header declares their parameters. They are there so that a program that names one starts.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::exported;
use crate::layout::{Packet, Peer};

/// Bytes of each command without its payload, by code.
const COMMAND_BYTES: [usize; 13] = [0, 8, 48, 44, 8, 4, 6, 8, 24, 8, 12, 16, 24];

exported! {
    fn enet_protocol_command_size(code: u8) -> usize, else 0, {
        COMMAND_BYTES.get(usize::from(code & 0x0f)).copied().unwrap_or(0)
    }

    fn enet_peer_reset_queues(_peer: *mut Peer) -> (), else (), {}

    fn enet_peer_setup_outgoing_command(_peer: *mut Peer, _command: *mut c_void) -> (), else (), {}

    fn enet_peer_queue_outgoing_command(
        _peer: *mut Peer,
        _command: *const c_void,
        _packet: *mut Packet,
        _offset: u32,
        _length: u16,
    ) -> *mut c_void, else null_mut(), { null_mut() }

    fn enet_peer_queue_incoming_command(
        _peer: *mut Peer,
        _command: *const c_void,
        _data: *const c_void,
        _length: usize,
        _flags: u32,
        _fragments: u32,
    ) -> *mut c_void, else null_mut(), { null_mut() }

    fn enet_peer_queue_acknowledgement(
        _peer: *mut Peer,
        _command: *const c_void,
        _sent_time: u16,
    ) -> *mut c_void, else null_mut(), { null_mut() }

    fn enet_peer_dispatch_incoming_unreliable_commands(
        _peer: *mut Peer,
        _channel: *mut c_void,
        _queued: *mut c_void,
    ) -> (), else (), {}

    fn enet_peer_dispatch_incoming_reliable_commands(
        _peer: *mut Peer,
        _channel: *mut c_void,
        _queued: *mut c_void,
    ) -> (), else (), {}

    fn enet_peer_on_connect(_peer: *mut Peer) -> (), else (), {}

    fn enet_peer_on_disconnect(_peer: *mut Peer) -> (), else (), {}
}
