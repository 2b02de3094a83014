//! The public structs of the stock library 1.3.17 as they lie in memory on 64-bit machines.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;

/// Most commands of a datagram, and most buffers: one for each, one for each payload, one for the header.
const COMMANDS: usize = 32;
const BUFFERS: usize = 1 + 2 * COMMANDS;
const COMMAND_BYTES: usize = 48;
/// Greatest length of a datagram in bytes.
pub const DATAGRAM_BYTES: usize = 4096;

/// A link of a list, and a list: its first and last, or itself when there is none.
#[repr(C)]
pub struct Link {
    pub next: *mut Link,
    pub previous: *mut Link,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Address {
    /// IPv4 address in network byte order.
    pub host: u32,
    /// Port in host byte order.
    pub port: u16,
}

#[repr(C)]
pub struct Buffer {
    pub data: *mut c_void,
    pub data_length: usize,
}

pub type ChecksumCallback = unsafe extern "C" fn(*const Buffer, usize) -> u32;
pub type CompressCallback = unsafe extern "C" fn(*mut c_void, *const Buffer, usize, usize, *mut u8, usize) -> usize;
pub type ExpandCallback = unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize) -> usize;
pub type InterceptCallback = unsafe extern "C" fn(*mut Host, *mut Event) -> c_int;
pub type FreeCallback = unsafe extern "C" fn(*mut Packet);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Compressor {
    pub context: *mut c_void,
    pub compress: Option<CompressCallback>,
    pub decompress: Option<ExpandCallback>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}

#[repr(C)]
pub struct Packet {
    pub reference_count: usize,
    pub flags: u32,
    pub data: *mut u8,
    pub data_length: usize,
    pub free_callback: Option<FreeCallback>,
    pub user_data: *mut c_void,
}

#[repr(C)]
pub struct Event {
    pub kind: u32,
    pub peer: *mut Peer,
    pub channel_id: u8,
    pub data: u32,
    pub packet: *mut Packet,
}

#[repr(C)]
pub struct Host {
    pub socket: c_int,
    pub address: Address,
    pub incoming_bandwidth: u32,
    pub outgoing_bandwidth: u32,
    pub bandwidth_throttle_epoch: u32,
    pub mtu: u32,
    pub random_seed: u32,
    pub recalculate_bandwidth_limits: c_int,
    pub peers: *mut Peer,
    pub peer_count: usize,
    pub channel_limit: usize,
    pub service_time: u32,
    pub dispatch_queue: Link,
    pub continue_sending: c_int,
    pub packet_size: usize,
    pub header_flags: u16,
    pub commands: [[u8; COMMAND_BYTES]; COMMANDS],
    pub command_count: usize,
    pub buffers: [Buffer; BUFFERS],
    pub buffer_count: usize,
    pub checksum: Option<ChecksumCallback>,
    pub compressor: Compressor,
    pub packet_data: [[u8; DATAGRAM_BYTES]; 2],
    pub received_address: Address,
    pub received_data: *mut u8,
    pub received_data_length: usize,
    pub total_sent_data: u32,
    pub total_sent_packets: u32,
    pub total_received_data: u32,
    pub total_received_packets: u32,
    pub intercept: Option<InterceptCallback>,
    pub connected_peers: usize,
    pub bandwidth_limited_peers: usize,
    pub duplicate_peers: usize,
    pub maximum_packet_size: usize,
    pub maximum_waiting_data: usize,
}

#[repr(C)]
pub struct Peer {
    pub dispatch_list: Link,
    pub host: *mut Host,
    pub outgoing_peer_id: u16,
    pub incoming_peer_id: u16,
    pub connect_id: u32,
    pub outgoing_session_id: u8,
    pub incoming_session_id: u8,
    pub address: Address,
    pub data: *mut c_void,
    pub state: u32,
    pub channels: *mut c_void,
    pub channel_count: usize,
    pub incoming_bandwidth: u32,
    pub outgoing_bandwidth: u32,
    pub incoming_bandwidth_throttle_epoch: u32,
    pub outgoing_bandwidth_throttle_epoch: u32,
    pub incoming_data_total: u32,
    pub outgoing_data_total: u32,
    pub last_send_time: u32,
    pub last_receive_time: u32,
    pub next_timeout: u32,
    pub earliest_timeout: u32,
    pub packet_loss_epoch: u32,
    pub packets_sent: u32,
    pub packets_lost: u32,
    pub packet_loss: u32,
    pub packet_loss_variance: u32,
    pub packet_throttle: u32,
    pub packet_throttle_limit: u32,
    pub packet_throttle_counter: u32,
    pub packet_throttle_epoch: u32,
    pub packet_throttle_acceleration: u32,
    pub packet_throttle_deceleration: u32,
    pub packet_throttle_interval: u32,
    pub ping_interval: u32,
    pub timeout_limit: u32,
    pub timeout_minimum: u32,
    pub timeout_maximum: u32,
    pub last_round_trip_time: u32,
    pub lowest_round_trip_time: u32,
    pub last_round_trip_time_variance: u32,
    pub highest_round_trip_time_variance: u32,
    pub round_trip_time: u32,
    pub round_trip_time_variance: u32,
    pub mtu: u32,
    pub window_size: u32,
    pub reliable_data_in_transit: u32,
    pub outgoing_reliable_sequence_number: u16,
    pub acknowledgements: Link,
    pub sent_reliable_commands: Link,
    pub sent_unreliable_commands: Link,
    pub outgoing_commands: Link,
    pub dispatched_commands: Link,
    pub flags: u16,
    pub reserved: u16,
    pub incoming_unsequenced_group: u16,
    pub outgoing_unsequenced_group: u16,
    pub unsequenced_window: [u32; 32],
    pub event_data: u32,
    pub total_waiting_data: usize,
}

/// Fails to compile unless the size of a struct and the offsets of its fields are the stock library's.
macro_rules! lies_as {
    ($struct:ty, $bytes:literal, $($field:ident $offset:literal)*) => {
        const _: () = {
            assert!(size_of::<$struct>() == $bytes);
            $(assert!(offset_of!($struct, $field) == $offset, stringify!($field));)*
        };
    };
}

lies_as!(Host, 11024,
    socket 0 address 4 incoming_bandwidth 12 outgoing_bandwidth 16 bandwidth_throttle_epoch 20 mtu 24 random_seed 28
    recalculate_bandwidth_limits 32 peers 40 peer_count 48 channel_limit 56 service_time 64 dispatch_queue 72
    packet_size 96 header_flags 104 commands 106 command_count 1648 buffers 1656 buffer_count 2696 checksum 2704
    compressor 2712 packet_data 2744 received_address 10936 received_data 10944 received_data_length 10952
    total_sent_data 10960 total_sent_packets 10964 total_received_data 10968 total_received_packets 10972
    intercept 10976 connected_peers 10984 bandwidth_limited_peers 10992 duplicate_peers 11000
    maximum_packet_size 11008 maximum_waiting_data 11016);

lies_as!(Peer, 456,
    dispatch_list 0 host 16 outgoing_peer_id 24 incoming_peer_id 26 connect_id 28 outgoing_session_id 32
    incoming_session_id 33 address 36 data 48 state 56 channels 64 channel_count 72 incoming_bandwidth 80
    outgoing_bandwidth 84 incoming_data_total 96 outgoing_data_total 100 last_send_time 104 last_receive_time 108
    next_timeout 112 earliest_timeout 116 packet_loss_epoch 120 packets_sent 124 packets_lost 128 packet_loss 132
    packet_loss_variance 136 packet_throttle 140 packet_throttle_limit 144 packet_throttle_counter 148
    packet_throttle_epoch 152 packet_throttle_acceleration 156 packet_throttle_deceleration 160
    packet_throttle_interval 164 ping_interval 168 timeout_limit 172 timeout_minimum 176 timeout_maximum 180
    last_round_trip_time 184 lowest_round_trip_time 188 last_round_trip_time_variance 192
    highest_round_trip_time_variance 196 round_trip_time 200 round_trip_time_variance 204 mtu 208 window_size 212
    reliable_data_in_transit 216 outgoing_reliable_sequence_number 220 acknowledgements 224
    sent_reliable_commands 240 outgoing_commands 272 dispatched_commands 288 flags 304
    incoming_unsequenced_group 308 outgoing_unsequenced_group 310 unsequenced_window 312 event_data 440
    total_waiting_data 448);

lies_as!(Event, 32, kind 0 peer 8 channel_id 16 data 20 packet 24);
lies_as!(Packet, 48, reference_count 0 flags 8 data 16 data_length 24 free_callback 32 user_data 40);
lies_as!(Address, 8, host 0 port 4);
lies_as!(Buffer, 16, data 0 data_length 8);
lies_as!(Compressor, 32, context 0 compress 8 decompress 16 destroy 24);
