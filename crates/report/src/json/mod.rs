//! Answers as JSON.

pub mod bench;
pub mod bisect;
pub mod both;
pub mod capacity;
pub mod check;
pub mod compare;
pub mod count;
pub mod counted;
pub mod demo;
pub mod doctor;
pub mod hist;
pub mod limits;
pub mod load;
pub mod machine;
pub mod nic;
pub mod profile;
pub mod record;
pub mod replay;
pub mod selftest;
pub mod stats;
pub mod study;
