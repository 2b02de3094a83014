//! Anonymizes arbitrary bytes: as a demo, as the text of a record and as a state archive, and searches
//! the result: `cargo +nightly fuzz run anonymize fuzz/corpus/anonymize fuzz/seeds/demo_reader -- -rss_limit_mb=3000`.
//!
//! The string to replace must not be left whole in a record, whatever stands beside it.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use prony_demo::anonymize::{AnonymizeOptions, Finding, Form, Kind, Learner, Replacement, Where};
use prony_demo::{Demo, Head, Header, Op, PartKind, Record, Trailer, Writer, WriterOptions};

/// Largest demo that is rewritten: a few bytes may stand for gigabytes.
const MOST_BYTES: u64 = 1 << 22;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(demo) = Demo::open(Cursor::new(bytes.to_vec())) {
        anonymize(demo);
    }
    let half = bytes.len() / 2;
    anonymize(made(&bytes[..half], &bytes[half..]));
});

/// A demo with one half of the input as an archive and the other as what was read and sent.
fn made(archive: &[u8], payload: &[u8]) -> Demo<Cursor<Vec<u8>>> {
    let header = Header {
        argv: vec![payload.to_vec()],
        state_directories: vec![b"/srv".to_vec()],
        ..Header::default()
    };
    let mut writer = Writer::new(Vec::new(), &header, WriterOptions::default()).expect("memory takes it");
    writer.state_chunk(0, archive).expect("memory takes it");
    for (op, kind) in [(Op::Gethostname, PartKind::Value), (Op::Recv, PartKind::In), (Op::Send, PartKind::Out)] {
        let head = Head { size: 0, op: op as u16, thread: 0, order: 0, time: 0, ret: 0, fd: 3, aux: 0 };
        writer.push(0, Record::new(head).with_part(kind, payload).as_bytes()).expect("the record is whole");
    }
    let (bytes, _) = writer.finish(&Trailer::default()).expect("memory takes it");
    Demo::open(Cursor::new(bytes)).expect("just written")
}

fn anonymize(mut demo: Demo<Cursor<Vec<u8>>>) {
    let totals = demo.verify().expect("memory does not fail").totals;
    if totals.raw_bytes + totals.state_bytes > MOST_BYTES {
        return;
    }
    let strings = vec![Replacement { old: b"hunter2".to_vec(), new: None }];
    let options = AnonymizeOptions { seed: 1, strings, ..AnonymizeOptions::default() };
    let mut learner = Learner::new(options).expect("the replacement fits");
    if learner.demo(&mut demo).is_err() {
        return;
    }
    let Ok(mut anonymizer) = learner.finish() else { return };
    let Ok(bytes) = anonymizer.demo(&mut demo, Vec::new()) else { return };
    let mut result = Demo::open(Cursor::new(bytes)).expect("just written");
    let check = anonymizer.check(&mut result).expect("just written");
    assert!(check.findings.len() as u64 <= check.found);
    let whole = |place: &Where| matches!(place, Where::Record { split: false, .. });
    let left = |finding: &&Finding| (finding.kind, finding.form) == (Kind::String, Form::Text) && whole(&finding.place);
    assert_eq!(check.findings.iter().find(left), None);
}
