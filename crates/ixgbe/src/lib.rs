//! A user-space driver for the Intel 82599: one receive and one transmit queue, polled or waited for.
//!
//! A [`Device`] takes received frames out of its ring and puts others into it, a batch at a time; the buffers of all devices
//! are those of one [`Pool`]. A [`Packet`] is a buffer that the program owns: what it gives to [`Device::tx_batch`] belongs to
//! the device until it was sent. Registers and DMA memory are the only places with unsafe code; the feature
//! `unchecked` leaves out the checks of bounds elsewhere, to measure what they cost.
//!
//! A card in an IOMMU group is reached by VFIO, and has an interrupt that [`wait_for_frames`] sleeps for; other cards by sysfs.
//!
//! An [`XdpSocket`] is an interface of the kernel in place of a card, and a [`VhostUser`] a virtio device of another process:
//! each of them is a [`Port`].
//!
//! Source: Intel 82599 10 GbE Controller Datasheet, 331520-003.
#![deny(unsafe_code)]
#![deny(clippy::indexing_slicing)]

mod any_port;
mod bpf;
mod checks;
mod device;
mod dma;
mod mmio;
mod pci;
mod peer;
mod pool;
mod port;
mod receive;
mod transmit;
mod vfio;
mod vhost;
mod virtqueue;
mod wait;
mod xdp;

pub use any_port::{Address, AnyPort, PortError};
pub use device::{Device, OpenError, Options, Statistics};
pub use dma::DmaError;
pub use pci::PciError;
pub use peer::VhostError;
pub use pool::free::{PoolKind, UnknownPoolKind};
pub use pool::{BUFFER_BYTES, Packet, Pool};
pub use port::Port;
pub use vhost::VhostUser;
pub use virtqueue::RingMistake;
pub use wait::wait_for_frames;
pub use xdp::{XdpError, XdpSocket};
