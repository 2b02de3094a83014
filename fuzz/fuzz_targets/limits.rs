//! Reads arbitrary bytes as limits: `cargo +nightly fuzz run limits fuzz/corpus/limits fuzz/seeds/samples`.
//!
//! What is read has figures that are numbers, and workloads can be held against it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_limits::{Rate, decode, encode, shares};

fuzz_target!(|bytes: &[u8]| {
    let Ok(limits) = decode(bytes) else { return };
    for measured in &limits.measured {
        if let Some(figure) = measured.figure() {
            assert!((0.0..=1.0).contains(&figure.contaminated) && figure.n > 0);
        }
        let _ = (measured.seconds(), measured.cycles_each());
    }
    for rate in [Rate::Bytes(1e9), Rate::Operations(1e9)] {
        assert!(shares(&limits.measured, rate).iter().all(|share| share.limit > 0.0));
    }
    let _ = encode(&limits, "0");
});
