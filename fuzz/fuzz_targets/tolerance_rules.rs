//! Reads an arbitrary tolerance file and judges by it: `cargo +nightly fuzz run tolerance_rules`.
//!
//! The text ends at the first zero byte; what follows is split into the recorded and the replayed output.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_demo::tolerance::{Drift, OutputComparison, Ports, Rules};

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let Ok(text) = std::str::from_utf8(&bytes[..end]) else { return };
    let Ok(rules) = Rules::parse(text) else { return };
    let (recorded, replayed) = bytes[end..].split_at((bytes.len() - end) / 2);
    let replayed = &replayed[..recorded.len().min(replayed.len())];
    match rules.judge(Ports::default(), recorded, replayed) {
        OutputComparison::Identical => assert_eq!(recorded, replayed),
        OutputComparison::Different { offset, .. } => assert_ne!(recorded.get(offset), replayed.get(offset)),
        OutputComparison::Tolerant(tolerated) => {
            assert!(!tolerated.fields.is_empty());
            let mut drift = Drift::new();
            drift.add(0, 0, &tolerated);
            let _ = drift.summary(&rules);
        }
    }
});
