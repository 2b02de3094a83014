//! What a build did beside what was recorded: where the two part, how far, and why.

mod align;
mod around;
mod lane;
pub(crate) mod sockets;
pub(crate) mod tolerated;

pub(crate) mod diverged;

pub(crate) mod cause;
pub(crate) mod failures;
pub(crate) mod listings;
pub(crate) mod numbers;
pub(crate) mod traced;
pub(crate) mod unrecorded;
