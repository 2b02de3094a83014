//! Budgets of whole files. Sizes are exact for a given writer and zstd, so they can be asserted.

use std::io::Cursor;

use prony_demo::{Demo, Head, Header, Op, PartKind, Parts, Record, Trailer, Writer, WriterOptions};
use prony_testing::synthetic;

/// Bytes of a demo of one process, which is checked to be sound.
fn demo_bytes(records: &[Record]) -> usize {
    let mut writer = Writer::new(Vec::new(), &Header::default(), WriterOptions::default()).expect("a vector takes all");
    for record in records {
        writer.push(0, record.as_bytes()).expect("the record is well-formed");
    }
    let (bytes, totals) = writer.finish(&Trailer::default()).expect("a vector takes all");
    assert_eq!(totals.file_bytes, bytes.len() as u64);
    let report = Demo::open(Cursor::new(&bytes)).expect("the demo opens").verify().expect("the stream does not fail");
    assert!(report.is_sound(), "{:?}", report.problems);
    assert_eq!(report.totals.records, records.len() as u64);
    bytes.len()
}

fn payload_bytes(records: &[Record]) -> usize {
    let payload = |kind: u8| kind == PartKind::In as u8 || kind == PartKind::Out as u8;
    let parts = records.iter().flat_map(|record| Parts::new(record.as_bytes()));
    parts.filter(|part| payload(part.kind)).map(|part| part.bytes.len()).sum()
}

#[test]
fn a_teeworlds_match_costs_its_payload_and_little_over_a_byte_for_each_read_of_a_nanosecond_clock() {
    let records = synthetic::teeworlds();
    let calls = records.len();
    let beside_payload = demo_bytes(&records) - payload_bytes(&records);
    assert!(calls > 318_000);
    assert!(beside_payload < calls * 9 / 8, "{beside_payload} bytes for {calls} calls");
}

#[test]
fn three_million_calls_of_openarena_fit_in_a_megabyte() {
    let records = synthetic::openarena();
    assert!(records.len() > 3_000_000);
    let bytes = demo_bytes(&records);
    assert!(bytes < 1_000_000, "{bytes} bytes");
}

#[test]
fn two_million_spins_on_a_microsecond_clock_cost_a_tenth_of_a_byte_each() {
    let records = synthetic::spin_on_gettimeofday();
    let bytes = demo_bytes(&records);
    assert!(bytes < 200_000, "{bytes} bytes");
}

#[test]
fn two_million_spins_on_an_empty_socket_cost_only_their_clock() {
    let records = synthetic::spin_on_empty_socket();
    let bytes = demo_bytes(&records);
    assert!(bytes < 1_000_000, "{bytes} bytes");
}

fn head(op: Op, ret: i64, fd: i32, aux: u32) -> Head {
    Head { size: 0, op: op as u16, thread: 0, order: 0, time: 0, ret, fd, aux }
}

#[test]
fn spins_that_differ_in_nothing_cost_nothing() {
    let pattern = [head(Op::Select, 0, -1, 0), head(Op::Recvfrom, -11, 3, 1400), head(Op::Recvfrom, -11, 4, 1400)];
    let records: Vec<Record> = pattern.into_iter().cycle().take(300_000).map(Record::new).collect();
    let bytes = demo_bytes(&records);
    assert!(bytes < 10_000, "{bytes} bytes");
}
