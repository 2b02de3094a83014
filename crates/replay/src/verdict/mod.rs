//! What a build did beside what was recorded: where the two part, how far, and why.

mod align;
pub(crate) mod compare;
pub(crate) mod decoded;
mod lane;

pub(crate) mod diverged;

pub(crate) mod cause;
pub(crate) mod failures;
pub(crate) mod listings;
pub(crate) mod numbers;
pub(crate) mod traced;
pub(crate) mod unrecorded;
