//! Reads arbitrary bytes as the list of code that a process made, and any name as a mangled one:
//! `cargo +nightly fuzz run perf_map fuzz/corpus/perf_map fuzz/seeds/perf_map`.
//!
//! Any address may be asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_profile::{demangle, read_map};

fuzz_target!(|bytes: &[u8]| {
    let map = read_map(bytes);
    for address in [0, 0x1000, 0x7f00_0000_1000, u64::MAX] {
        let _ = map.name(address);
    }
    if let Ok(name) = std::str::from_utf8(bytes) {
        let _ = demangle(name);
    }
});
