//! Many ENet clients on a schedule that does not wait for answers.
//!
//! Each client sends at its own, fixed times. An answer that is late, or never comes, delays no packet; how long an
//! answer took counts from the time at which its packet *should* have been sent. So a server that stalls for a second is
//! charged with every packet of that second, and not only with the one that was under way (what G. Tene calls
//! coordinated omission).
//!
//! [`capacity`] searches for the greatest number of clients at which conditions on such a load hold.
//!
//! [`Schedule`], [`Search`] and [`Meter`] are pure: times come in as arguments. [`load`] runs them over sockets.
#![forbid(unsafe_code)]

mod meter;
mod options;
mod report;
mod samples;
mod schedule;
mod stamp;

mod failures;
mod generator;
mod places;
mod run;
mod run_state;
mod server;
mod sockets;
mod usage;

mod capacity;

pub use hdrhistogram::Histogram;

pub use capacity::{
    Capacity, CapacityOptions, CapacityProgress, CapacityWarning, ClientRange, Condition, ConditionError, End, Knee,
    Level, Measured, Outcome, Quantity, Search, Spread, Step, capacity,
};
pub use failures::{Failures, Reason};
pub use generator::GeneratorError;
pub use meter::{Counts, Meter, Span, Window};
pub use options::{Connections, Options, Reply, Sharing, Traffic};
pub use prony_enet_host::limit_panic_messages;
pub use report::{Batch, GeneratorUse, Report, ServerUse, Warning, Wire};
pub use run::{LoadError, Progress, load};
pub use schedule::{Due, Schedule};
pub use sockets::SocketError;
pub use stamp::{STAMP_BYTES, Stamp};
pub use usage::Usage;
