//! Reads arbitrary bytes as folded stacks:
//! `cargo +nightly fuzz run folded fuzz/corpus/folded fuzz/seeds/folded`.
//!
//! Whatever was read has shares between 0 and 1 with bounds around them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_profile::{Stacks, function_shares};

fuzz_target!(|bytes: &[u8]| {
    let stacks = Stacks::from_folded(bytes).stacks;
    for share in function_shares(&stacks, 0.05) {
        for part in [share.own, share.inclusive] {
            assert!(part.low >= 0.0 && part.high <= 1.0 && part.low <= part.high);
        }
    }
});
