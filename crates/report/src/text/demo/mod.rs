//! Answers on demos in the terminal.

pub mod anonymize;
pub mod info;
pub mod pack;
pub mod pcap;
