//! `prony demo anonymize`: what it takes out, wherever it stands, and what it says of the rest.

use std::fs;
use std::io::{Cursor, Read};

use prony_demo::{Demo, Head, Header, Op, PartKind, Record, Trailer, Writer, WriterOptions};

use crate::sample::{Sample, assert_private};
use prony_testing::CommandOutput;

/// What a demo is made of.
#[derive(Default)]
struct Made {
    header: Header,
    /// Name and content of the files in the state directory.
    state: Vec<(&'static str, Vec<u8>)>,
    records: Vec<Record>,
    trailer: Trailer,
}

impl Made {
    /// One datagram from nowhere with this payload.
    fn received(payload: &[u8]) -> Made {
        Made { records: vec![received(payload)], ..Made::default() }
    }

    fn bytes(mut self) -> Vec<u8> {
        if !self.state.is_empty() {
            self.header.state_directories = vec![b"/srv/state".to_vec()];
        }
        let mut writer = Writer::new(Vec::new(), &self.header, WriterOptions::default()).expect("memory takes it");
        let archive: Vec<u8> = self.state.iter().flat_map(|(name, content)| member(name, content)).collect();
        if !archive.is_empty() {
            writer.state_chunk(0, &[archive, vec![0; 1024]].concat()).expect("memory takes it");
        }
        for record in &self.records {
            writer.push(0, record.as_bytes()).expect("the record is whole");
        }
        writer.finish(&self.trailer).expect("memory takes it").0
    }
}

fn record(op: Op) -> Record {
    Record::new(Head { size: 0, op: op as u16, thread: 0, order: 0, time: 0, ret: 0, fd: 3, aux: 0 })
}

/// Bytes that were received, for a request of as many.
fn received(payload: &[u8]) -> Record {
    let mut head = record(Op::Recv).head;
    (head.ret, head.aux) = (payload.len() as i64, payload.len() as u32);
    Record::new(head).with_part(PartKind::In, payload)
}

/// A file as `ustar` has it.
fn member(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[148..156].fill(b' ');
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut all = [&header[..], content].concat();
    all.resize(all.len().next_multiple_of(512), 0);
    all
}

/// Every byte of a demo that holds more than numbers, unpacked.
fn unpacked(bytes: Vec<u8>) -> Vec<u8> {
    let mut demo = Demo::open(Cursor::new(bytes)).expect("the demo is whole");
    let header = demo.header().clone();
    let trailer = demo.trailer().cloned().expect("the demo is complete");
    let mut all = [header.argv.concat(), header.executable, header.cwd].concat();
    all.extend(
        header.environment.into_iter().flat_map(|(name, value)| [name, b"=".to_vec(), value, b"\n".to_vec()]).flatten(),
    );
    all.extend(header.properties.into_iter().flat_map(|(_, value)| value));
    all.extend(trailer.notes.concat().into_bytes());
    all.extend(trailer.files.into_iter().flat_map(|file| file.path));
    demo.state_archive(0).read_to_end(&mut all).expect("the archive is whole");
    let mut records = demo.records();
    while let Some((_, record)) = records.next().expect("the records are whole") {
        all.extend_from_slice(record);
    }
    all
}

fn contains(all: &[u8], what: &[u8]) -> bool {
    all.windows(what.len()).any(|window| window == what)
}

/// Anonymizes a demo, with `flags` behind the rest, and unpacks the result.
fn anonymized(made: Made, flags: &[&str]) -> (CommandOutput, Vec<u8>) {
    let sample = Sample::new();
    fs::write(sample.file("in.demo"), made.bytes()).expect("the directory is writable");
    let verb = ["demo", "anonymize", "in.demo", "-o", "out.demo", "--seed", "3"];
    let answer = sample.prony(&[&verb[..], flags].concat());
    let result = fs::read(sample.file("out.demo")).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    (answer, unpacked(result))
}

#[test]
fn an_address_that_is_only_in_an_argument_is_replaced() {
    let argv = [b"server".to_vec(), b"--master=203.0.113.7:8300".to_vec()].to_vec();
    let (answer, all) = anonymized(Made { header: Header { argv, ..Header::default() }, ..Made::default() }, &[]);
    assert!(!contains(&all, b"203.0.113.7"), "{answer:?}");
    assert!(contains(&all, b":8300"), "the port stays");
}

#[test]
fn an_address_that_is_only_in_a_state_file_is_replaced() {
    let state = vec![("ban.cfg", b"ban 2001:DB8::c0ff:ee # and 198.51.100.23\n".to_vec())];
    let (answer, all) = anonymized(Made { state, ..Made::default() }, &[]);
    assert!(!contains(&all.to_ascii_lowercase(), b"2001:db8::c0ff:ee"), "{answer:?}");
    assert!(!contains(&all, b"198.51.100.23"), "{answer:?}");
    assert!(contains(&all, b"ban.cfg") && contains(&all, b" # and "), "the rest stays");
}

#[test]
fn an_address_that_is_only_in_a_payload_is_replaced() {
    let (answer, all) = anonymized(Made::received(b"X-Forwarded-For: 198.51.100.23, [2001:db8::17]:80"), &[]);
    assert!(!contains(&all, b"198.51.100.23") && !contains(&all, b"2001:db8::17"), "{answer:?}");
    assert!(contains(&all, b"X-Forwarded-For: "));
}

#[test]
fn an_address_that_is_only_in_a_note_is_replaced() {
    let trailer = Trailer { notes: vec!["sent to 198.51.100.23 past the library".to_owned()], ..Trailer::default() };
    let (answer, all) = anonymized(Made { trailer, ..Made::default() }, &[]);
    assert!(!contains(&all, b"198.51.100.23"), "{answer:?}");
}

#[test]
fn variables_of_prony_itself_are_dropped_as_the_others() {
    let environment = vec![(b"PRONY_NOTE".to_vec(), b"for alice".to_vec()), (b"PATH".to_vec(), b"/bin".to_vec())];
    let header = Header { environment, ..Header::default() };
    let (_, all) = anonymized(Made { header, ..Made::default() }, &[]);
    assert!(!contains(&all, b"PRONY_NOTE") && contains(&all, b"PATH=/bin"));
}

#[test]
fn a_name_or_string_in_another_case_is_replaced_in_that_case() {
    let mut made = Made::received(b"GAMEBOX GameBox gamebox ALICE Alice");
    made.records.push(record(Op::Gethostname).with_part(PartKind::Value, b"gamebox\0"));
    let (answer, all) = anonymized(made, &["--replace", "alice=carol"]);
    assert!(!contains(&all.to_ascii_lowercase(), b"gamebox"), "{answer:?}");
    assert!(contains(&all, b"CAROL Carol"), "{}", all.escape_ascii());
}

#[test]
fn what_is_left_is_named_and_the_result_has_another_name() {
    let sample = Sample::new();
    let mut made = Made::received(b"my name is hunter");
    made.records.push(received(b"2, in base64 aHVudGVyMg=="));
    fs::write(sample.file("in.demo"), made.bytes()).expect("the directory is writable");
    let verb = ["demo", "anonymize", "in.demo", "-o", "out.demo", "--seed", "3", "--replace", "hunter2"];
    let answer = sample.prony(&verb);
    insta::assert_snapshot!("what_is_left", answer.whole());
    assert!(!answer.stderr.contains("hunter"), "a secret in a log: {answer:?}");
    assert!(!sample.file("out.demo").exists(), "nothing has the name that is handed on");
    assert_private(&sample.file("out.demo.partial"));
    assert_eq!(sample.prony(&["demo", "verify", "out.demo.partial"]).code, Some(0));

    let again = sample.prony(&verb);
    let expected = "error: cannot write out.demo.partial: file exists\nhint: use --force to overwrite it\n";
    assert_eq!((again.code, again.stderr.as_str()), (Some(2), expected));
    let answer = sample.prony(&[&verb[..], &["--force", "--json"]].concat());
    let (code, json) = (answer.code, answer.json());
    assert_eq!((code, &json["file"], &json["check"]["found"]), (Some(1), &"out.demo.partial".into(), &2.into()));
    assert_eq!(json["check"]["findings"][0]["place"]["record"]["split"], true);
    assert_eq!(json["check"]["findings"][1]["form"], "base64");
    assert!(!answer.stdout.contains("hunter"), "{answer:?}");
}

#[test]
fn the_bytes_of_an_address_are_named_and_replaced_on_demand() {
    let made = || {
        let mut made = Made::received(&[0, 4, 198, 51, 100, 23]);
        made.records.push(record(Op::Recv).with_part(PartKind::In, b"198.51.100.23"));
        made
    };
    let sample = Sample::new();
    fs::write(sample.file("in.demo"), made().bytes()).expect("the directory is writable");
    let answer = sample.prony(&["demo", "anonymize", "in.demo", "-o", "out.demo"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stderr.contains("record 0, recv, part 0, byte 2: an address as bytes, elsewhere `"), "{answer:?}");
    let (answer, all) = anonymized(made(), &["--raw-addresses"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(!contains(&all, &[198, 51, 100, 23]));
}

#[test]
fn an_address_that_is_a_version_can_stay() {
    let (answer, all) = anonymized(Made::received(b"server 1.2.3.4 at 5.6.7.8"), &["--keep-address", "1.2.3.4"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(contains(&all, b"server 1.2.3.4 at ") && !contains(&all, b"5.6.7.8"));
}

#[test]
fn loopback_addresses_are_replaced_only_on_request() {
    let made = || Made::received(b"peer 127.0.0.1 and 127.44.5.6");
    let (answer, all) = anonymized(made(), &[]);
    assert!(contains(&all, b"127.0.0.1") && contains(&all, b"127.44.5.6"), "{answer:?}");
    let (answer, all) = anonymized(made(), &["--map-loopback"]);
    assert!(!contains(&all, b"127.44.5.6") && contains(&all, b"peer 127."), "{answer:?}");
}
