//! Reads arbitrary bytes as what hyperfine exports:
//! `cargo +nightly fuzz run import_hyperfine fuzz/corpus/import_hyperfine fuzz/seeds/import_hyperfine`.
//!
//! What is read can be written as samples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_stats::import::{detect, hyperfine};

fuzz_target!(|bytes: &[u8]| {
    let _ = detect(bytes);
    if let Ok(import) = hyperfine::import(bytes) {
        import.samples.encode().expect("what was read holds to the rules");
    }
});
