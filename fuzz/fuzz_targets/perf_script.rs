//! Reads arbitrary bytes as the text of `perf script`:
//! `cargo +nightly fuzz run perf_script fuzz/corpus/perf_script fuzz/seeds/perf_script`.
//!
//! Stacks that were read can be written, and are read again as many.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_profile::{Stacks, looks_like_perf_script, read_perf_script};

fuzz_target!(|bytes: &[u8]| {
    let _ = looks_like_perf_script(bytes);
    let read = read_perf_script(bytes);
    assert!(read.stacks.observations() == read.stacks.total());
    let again = Stacks::from_folded(read.stacks.folded().as_bytes()).stacks;
    assert!(again.total() <= read.stacks.total());
});
