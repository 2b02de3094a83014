//! The ENet 1.3 protocol without sockets or clocks.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod crc32;
mod range_coder;
pub mod wire;

pub use crc32::crc32;
pub use range_coder::RangeCoder;
