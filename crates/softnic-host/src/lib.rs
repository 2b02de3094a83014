//! Runs the 82599 of `prony-softnic` for real user-space drivers.
//!
//! A driver that uses sysfs and huge pages finds PCI devices in a mount namespace of its own, maps their registers, and
//! gives them the addresses of its memory, all as on a machine that has the card. Nothing of it has to be changed.
#![deny(unsafe_code)]

mod bar;
mod check;
mod clock;
mod dma_map;
mod driver;
mod error;
mod guard;
mod iommu;
mod mapped_file;
mod namespace;
mod nic;
mod notices;
mod options;
mod port;
mod report;
mod run;
mod samples;
mod scheduling;
mod serve;
mod set_up;
mod uio;
mod vfio;

pub use check::{CheckOptions, Finding, Outcome, TRACES, Trace, check};
pub use dma_map::MapError;
pub use error::RunError;
pub use namespace::{Binding, HUGE_PAGES, NamespaceError};
pub use nic::Frame;
pub use notices::Notice;
pub use options::{Mode, Options};
pub use port::Written;
pub use prony_softnic::{Counts, Direction, Event, FLOWS_MAX, Histogram, Malformed, Rate, Sizes, SizesError, Target};
pub use report::{Report, Slices, StreamReport, Warning, Window};
pub use run::run;
pub use serve::{DeviceEvent, PortCounts, ServeOptions, serve};
pub use vfio::seccomp::join_device;
