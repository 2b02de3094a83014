//! Reads arbitrary bytes as what JMH writes:
//! `cargo +nightly fuzz run import_jmh fuzz/corpus/import_jmh fuzz/seeds/import_jmh`.
//!
//! What is read can be written as samples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_stats::import::{jmh, import};

fuzz_target!(|bytes: &[u8]| {
    // Packed and in other encodings, too.
    let _ = import(bytes);
    if let Ok(import) = jmh::import(bytes) {
        import.samples.encode().expect("what was read holds to the rules");
    }
});
