//! Reads arbitrary bytes as what `go test -bench` prints:
//! `cargo +nightly fuzz run import_go_bench fuzz/corpus/import_go_bench fuzz/seeds/import_go_bench`.
//!
//! What is read can be written as samples.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_stats::import::{detect, go_bench};

fuzz_target!(|bytes: &[u8]| {
    let _ = detect(bytes);
    if let Ok(import) = go_bench::import(bytes) {
        import.samples.encode().expect("what was read holds to the rules");
    }
});
