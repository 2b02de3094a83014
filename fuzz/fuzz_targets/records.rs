//! Shows, exports and anonymizes arbitrary records: `cargo +nightly fuzz run records`.
//!
//! The input is cut into records by their own sizes, which are made valid, so that what is behind
//! a head is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_demo::anonymize::{AnonymizeOptions, Learner};
use prony_demo::dump::Line;
use prony_demo::pcap::Pcap;
use prony_demo::{HEAD_BYTES, Head, Parts};

fuzz_target!(|bytes: &[u8]| {
    let mut pcap = Pcap::new(0);
    let mut learner = Learner::new(AnonymizeOptions::default()).expect("there is nothing to replace");
    let records = records(bytes);
    for (process, record) in &records {
        let line = Line::new(*process, 0, record).expect("the size is valid");
        let _ = (line.to_string(), line.in_full(true).to_string());
        pcap.handle_record(*process, record);
        learner.learn(record);
    }
    let mut anonymizer = learner.finish().expect("an input holds few addresses");
    for (_, record) in &records {
        let mut rewritten = record.clone();
        anonymizer.rewrite(&mut rewritten);
        assert_eq!(Head::from_bytes(&rewritten), Head::from_bytes(record));
        let shape =
            |record| Parts::new(record).map(|part| (part.kind, part.offset, part.bytes.len())).collect::<Vec<_>>();
        assert_eq!(shape(&rewritten), shape(record));
    }
});

fn records(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut records = Vec::new();
    while bytes.len() >= HEAD_BYTES {
        let stated = u16::from_le_bytes([bytes[0], bytes[1]]) as usize;
        let size = stated.clamp(HEAD_BYTES, bytes.len()) & !7;
        let mut record = bytes[..size].to_vec();
        record[..4].copy_from_slice(&(size as u32).to_le_bytes());
        records.push((u16::from(bytes[2] & 3), record));
        bytes = &bytes[size..];
    }
    records
}
