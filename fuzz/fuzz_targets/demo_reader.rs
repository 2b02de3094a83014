//! Opens, reads and checks arbitrary bytes as a demo:
//! `cargo +nightly fuzz run demo_reader fuzz/corpus/demo_reader fuzz/seeds/demo_reader -- -rss_limit_mb=3000`.
//!
//! The checksums of file head and blocks are made right first, so that what is behind them is
//! reached; checksums that are wrong are the business of the tests.
#![no_main]

use std::io::{Cursor, Read};

use libfuzzer_sys::fuzz_target;
use prony_demo::{Demo, HEAD_BYTES, Head};

/// Longest state archive that is read: a few bytes may stand for gigabytes.
const MOST_STATE_BYTES: u64 = 1 << 26;

fuzz_target!(|bytes: &[u8]| {
    let mut file = bytes.to_vec();
    mend_checksums(&mut file);
    let Ok(mut demo) = Demo::open(Cursor::new(&file)) else { return };
    let mut records = demo.records();
    loop {
        match records.next() {
            Ok(Some((_, record))) => {
                let head = Head::from_bytes(record).expect("a record begins with a head");
                assert_eq!(head.size as usize, record.len());
                assert!(record.len() >= HEAD_BYTES);
            }
            Ok(None) => break,
            Err(_) => {}
        }
    }
    let mut kept = Vec::new();
    let _ = demo.state_archive(0).take(MOST_STATE_BYTES).read_to_end(&mut kept);
    if let Some(last) = demo.frames().len().checked_sub(1) {
        let _ = demo.records_from_frame(last);
    }
    let truncated = demo.truncation().is_some();
    let report = demo.verify().expect("memory does not fail");
    assert!(!(truncated && report.is_sound()));
});

/// Walks over the blocks as a scan does and sets every checksum and block number.
fn mend_checksums(file: &mut [u8]) {
    if file.len() < 16 {
        return;
    }
    let checksum = crc32c::crc32c(&file[..12]);
    file[12..16].copy_from_slice(&checksum.to_le_bytes());
    let (mut at, mut number) = (16, 0u32);
    while let Some(head) = file.get(at..at + 24) {
        let body_bytes = u32::from_le_bytes([head[12], head[13], head[14], head[15]]) as usize;
        let end = at + 24 + body_bytes;
        let Some(body) = file.get(at + 24..end) else { return };
        let checksum = crc32c::crc32c(body);
        file[at..at + 4].copy_from_slice(b"PBLK");
        file[at + 8..at + 12].copy_from_slice(&number.to_le_bytes());
        file[at + 16..at + 20].copy_from_slice(&checksum.to_le_bytes());
        let checksum = crc32c::crc32c(&file[at..at + 20]);
        file[at + 20..at + 24].copy_from_slice(&checksum.to_le_bytes());
        (at, number) = (end, number + 1);
    }
}
