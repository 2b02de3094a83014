//! The Intel 82599 as a device model: register writes and DMA in, Ethernet frames out.
//!
//! [`Device`] is one port. It has no clock, no thread and no memory of its own: times come in as nanoseconds, and the
//! memory of the driver is whatever implements [`DmaMemory`]. A driver is hostile: no register value, no descriptor and no
//! mapping makes the device touch memory outside of what [`DmaMemory`] gives it, panic, or run without an end.
//!
//! [`Generator`] and [`Validator`] are the two ends of the wire: numbered frames with a checksum, and what became of them.
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

mod device;
mod dma;
mod event;
mod numbered;
mod packet;
mod ring;
mod rss;
mod statistics;

mod frame;
mod generator;
mod missing;
mod pacer;
mod sizes;
mod validator;

pub use hdrhistogram::Histogram;

pub use device::Device;
pub use device::burst::Receipts;
pub use device::receive::Receipt;
pub use dma::{DmaFault, DmaMemory, PagedMemory};
pub use event::{Direction, Event, Malformed, Target};
pub use frame::{ETHERTYPE, FLOW_BYTES_MIN, FLOWS_MAX, FRAME_BYTES_MAX, FRAME_BYTES_MIN, stream_at};
pub use generator::{FRAMES_MAX, Generator};
pub use numbered::QUEUES;
pub use pacer::{Pacer, Rate};
pub use sizes::{Sizes, SizesError};
pub use validator::{Counts, Validator};
