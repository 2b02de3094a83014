//! Walks over arbitrary bytes as the archive of a state directory: `cargo +nightly fuzz run state_archive`.
//!
//! The checksums of headers are made right first, so that what is behind them is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_demo::{ArchiveLimits, MemberKind, StateArchiveWalk};

const LIMITS: ArchiveLimits = ArchiveLimits { bytes: 1 << 20, entries: 1000 };

fuzz_target!(|bytes: &[u8]| {
    let mut archive = bytes.to_vec();
    for header in archive.chunks_exact_mut(512) {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    let mut walk = StateArchiveWalk::new(&archive[..], LIMITS);
    let mut buffer = [0; 4096];
    while let Ok(Some(member)) = walk.next_member() {
        for name in &member.path {
            assert!(!name.is_empty() && name != b"." && name != b"..");
            assert!(!name.contains(&b'/') && !name.contains(&0));
        }
        let MemberKind::File { bytes } = member.kind else { continue };
        let mut end = 0;
        while let Ok(Some((place, length))) = walk.next_run(&mut buffer) {
            assert!(place >= end && length > 0);
            end = place + length as u64;
        }
        assert!(end <= bytes);
    }
    assert!(walk.used().bytes <= LIMITS.bytes && walk.used().entries <= LIMITS.entries + 1);
});
