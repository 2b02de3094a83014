//! Drives [`prony_enet`] over UDP sockets.
//!
//! A [`Driver`] is a [`prony_enet::Host`] with a [`Socket`] and a clock, served as the stock library is: call
//! [`Driver::service`] again and again, and take the event that it returns.
//!
//! ```
//! use std::time::Duration;
//! use prony_enet::{Event, Packet, Settings};
//! use prony_enet_host::{Driver, SocketOptions};
//!
//! let any = "127.0.0.1:0".parse()?;
//! let mut server = Driver::bind(any, 32, Settings::default(), &SocketOptions::default())?;
//! let mut client = Driver::bind(any, 1, Settings::default(), &SocketOptions::default())?;
//! client.host_mut().connect(server.socket().local_address()?, 2, 7).unwrap();
//! let data = loop {
//!     client.service(Duration::ZERO)?;
//!     if let Some(Event::Connect { data, .. }) = server.service(Duration::from_millis(1))? {
//!         break data;
//!     }
//! };
//! assert_eq!(data, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! System calls are shared: datagrams are read and written by up to [`BATCH`] at a time, and long ones to one address as
//! trains that the kernel cuts. One host a core takes [`SocketOptions::shares_port`] and a thread each. With the feature
//! `tokio` a host is served by a task: see `AsyncDriver`. With the feature `ethernet` a host is on an Ethernet port, without
//! the kernel's network: see the module of that name.

#![deny(clippy::indexing_slicing)]

mod address;
#[cfg(feature = "tokio")]
mod async_driver;
mod batch;
mod clock;
mod driver;
#[cfg(feature = "ethernet")]
pub mod ethernet;
mod guard;
mod prefetch;
mod socket;
mod transport;

#[cfg(feature = "tokio")]
pub use async_driver::AsyncDriver;
pub use batch::{BATCH, Datagram};
pub use driver::{Driver, RECEIVED_A_CALL, random_seed};
pub use guard::{guarded, limit_panic_messages};
pub use prefetch::prefetch;
pub use socket::{BufferSize, OpenError, Socket, SocketOptions, Traffic};
pub use transport::Transport;
