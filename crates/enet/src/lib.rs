//! The ENet 1.3 protocol without sockets or clocks.
//!
//! A [`Host`] is every peer behind one socket. Datagrams and time go in, datagrams and events come out:
//!
//! ```
//! use std::time::Duration;
//! use prony_enet::{Event, Host, Packet, Settings};
//!
//! let mut server = Host::new(32, Settings::default(), &[1; 16]);
//! let mut client = Host::new(1, Settings::default(), &[2; 16]);
//! let (server_address, client_address) = ("[::1]:7777".parse().unwrap(), "[::1]:9999".parse().unwrap());
//! let peer = client.connect(server_address, 2, 7).unwrap();
//! let mut datagram = Vec::new();
//! let mut events = Vec::new();
//! for millisecond in 0..10 {
//!     let now = Duration::from_millis(millisecond);
//!     while client.poll_transmit(now, &mut datagram).is_some() {
//!         server.handle_datagram(now, client_address, &datagram);
//!     }
//!     while server.poll_transmit(now, &mut datagram).is_some() {
//!         client.handle_datagram(now, server_address, &datagram);
//!     }
//!     client.handle_timeout(now);
//!     server.handle_timeout(now);
//!     while let Some(event) = client.poll_event() {
//!         assert!(matches!(event, Event::Connect { .. }));
//!         client.send(peer, 0, Packet::reliable(b"hello")).unwrap();
//!     }
//!     events.extend(std::iter::from_fn(|| server.poll_event()));
//! }
//! assert!(matches!(events[0], Event::Connect { data: 7, .. }));
//! assert!(matches!(&events[1], Event::Receive { packet, .. } if packet.payload == b"hello"));
//! ```
//!
//! What is on the wire is ENet 1.3, as stock hosts speak it. What differs is what it costs, and who can abuse it:
//! see [`host`] for the bounds, and [`WireProfile`] for the freedom that is taken. It needs an allocator, and nothing else.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod host;
pub mod wire;

mod allocation;
mod budget;
mod connection;
mod endpoint;
mod half_open;
mod in_flight;
mod incoming;
mod invariant;
mod loss;
mod outgoing;
mod packet;
mod packet_throttle;
mod reassembly;
mod round_trip;
mod settings;
mod statistics;
mod token_table;
mod unsequenced;

mod crc32;
mod free_slots;
mod keyed;
mod range_coder;
mod ring;
mod slab;
mod wheel;

pub use connection::{DisconnectReason, State};
pub use crc32::crc32;
pub use host::{ConnectError, Event, Host, Peer, PeerId, PeerSettings, Recovered, Transmit};
pub use invariant::InvariantError;
pub use keyed::Seed;
pub use loss::Loss;
pub use outgoing::{PeerTimeout, SendError};
pub use packet::{Kind, Packet, Payload, Received};
pub use packet_throttle::PacketThrottle;
pub use range_coder::RangeCoder;
pub use round_trip::RoundTrip;
pub use settings::{Checksum, Compressor, Settings, WireProfile, crc32_checksum};
pub use statistics::{Dropped, Statistics};
