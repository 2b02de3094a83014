//! Registers and descriptor bits of the Intel 82599, generated from `registers.toml`.
//!
//! The device model and every driver are generated from the same table, and share nothing else: a wrong offset would be
//! wrong on both sides, so the table carries the section of the datasheet of each register.
#![forbid(unsafe_code)]
#![no_std]

mod registers;
mod search;
mod table;

pub use registers::*;
pub use search::find;
pub use table::{Access, BAR_BYTES, Register};
