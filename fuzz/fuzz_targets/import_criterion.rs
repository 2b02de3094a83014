//! Reads arbitrary bytes as the files of a benchmark of criterion:
//! `cargo +nightly fuzz run import_criterion fuzz/corpus/import_criterion fuzz/seeds/import_criterion`.
//!
//! The files stand behind each other: benchmark, sample and estimates, a zero byte between.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_stats::import::criterion::{Files, import};

fuzz_target!(|bytes: &[u8]| {
    let mut files = bytes.splitn(3, |&byte| byte == 0);
    let (Some(benchmark), Some(sample)) = (files.next(), files.next()) else { return };
    if let Ok(import) = import(&[Files { benchmark, sample, estimates: files.next() }]) {
        import.samples.encode().expect("what was read holds to the rules");
    }
});
