//! What is concluded: verdicts, rankings, searches, and how much more is to be measured.

pub mod bisection;
pub mod calibration;
pub mod change_points;
pub mod check;
pub mod compare;
pub mod effects;
pub mod frames;
pub mod judge;
pub mod multiplicity;
pub mod pairing;
pub mod ranking;
pub mod rejudge;
pub mod summary;
pub mod warmup;
