//! Reads arbitrary bytes as what Google Benchmark writes:
//! `cargo +nightly fuzz run import_google_benchmark fuzz/corpus/import_google_benchmark fuzz/seeds/import_google_benchmark`.
//!
//! What is read can be written as samples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_stats::import::{detect, google_benchmark};

fuzz_target!(|bytes: &[u8]| {
    let _ = detect(bytes);
    if let Ok(import) = google_benchmark::import(bytes) {
        import.samples.encode().expect("what was read holds to the rules");
    }
});
