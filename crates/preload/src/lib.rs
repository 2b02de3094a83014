//! What lives inside a recorded server, and the process outside that talks to it.
//!
//! Built as it is, this crate is what `replay` holds from outside: the channel and a launcher. With the feature
//! `hooks`, and as a cdylib, it is the library that is preloaded: every function of the table in `inside::hooks` under
//! its C name.

#[cfg(not(feature = "hooks"))]
mod feed;
#[cfg(feature = "hooks")]
mod inside;
#[cfg(not(feature = "hooks"))]
mod launch;
#[cfg(not(feature = "hooks"))]
mod outside;
#[cfg(not(feature = "hooks"))]
mod scans;

#[cfg(not(feature = "hooks"))]
pub use feed::{Asked, Bell, Feeder, Filled, Offer};
#[cfg(not(feature = "hooks"))]
pub use launch::{Launch, Launched, Mount};
#[cfg(not(feature = "hooks"))]
pub use outside::{
    Channel, Counted, Divergence, DrainError, FailedCall, Fault, Mapped, Moment, Reach, Run, Tapes, ThreadState,
};
#[cfg(not(feature = "hooks"))]
pub use scans::{ScanRequest, Scans};
