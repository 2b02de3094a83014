//! Reads arbitrary bytes as what pytest-benchmark writes:
//! `cargo +nightly fuzz run import_pytest fuzz/corpus/import_pytest fuzz/seeds/import_pytest`.
//!
//! What is read can be written as samples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_stats::import::{pytest, import};

fuzz_target!(|bytes: &[u8]| {
    // Packed and in other encodings, too.
    let _ = import(bytes);
    if let Ok(import) = pytest::import(bytes) {
        import.samples.encode().expect("what was read holds to the rules");
    }
});
