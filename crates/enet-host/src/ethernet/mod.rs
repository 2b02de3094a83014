//! A host on an Ethernet port of [`prony_ixgbe`]: an interface of the kernel by AF_XDP, a card, or another process.
//!
//! Nothing of the kernel's network is between the port and the host. An [`EthernetSocket`] answers ARP, and takes datagrams for
//! one port of one IPv4 address: without fragments, options of IPv4, virtual LANs and IPv6, which are refused and counted. A
//! [`Link`] is the same without a port or a clock.
//!
//! ```no_run
//! use std::time::Duration;
//! use prony_enet::{Host, Settings};
//! use prony_enet_host::ethernet::{EthernetOptions, EthernetSocket};
//! use prony_enet_host::{Driver, random_seed};
//!
//! let (port, address) = ("xdp:veth0".parse().unwrap(), "10.0.0.1:7777".parse()?);
//! let socket = EthernetSocket::open(&port, address, &EthernetOptions::default())?;
//! let mut server = Driver::new(Host::new(4096, Settings::default(), &random_seed()), socket);
//! loop {
//!     if let Some(event) = server.service(Duration::from_millis(1))? {
//!         println!("{event:?}");
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod counts;
mod frame;
mod link;
mod neighbours;
mod socket;

pub use counts::{EthernetTraffic, Refused, Unsent};
pub use frame::{
    FRAME_BYTES_MIN, Frame, HEADER_BYTES, Mac, Station, arp_reply, arp_request, frame_bytes, write_datagram,
};
pub use link::{Handled, Link, LinkError, LinkOptions, Routed};
pub use neighbours::HOLD;
pub use prony_ixgbe::Address as PortAddress;
pub use socket::{EthernetError, EthernetOptions, EthernetSocket};
