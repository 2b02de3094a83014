//! Whole demos: secrets planted in every place and spelling, and the search of the result.

use std::io::{Cursor, Read};

use super::*;
use crate::{Demo, Header, Problem, Trailer, Writer, WriterOptions};

/// A demo in the making.
#[derive(Debug, Default, Clone)]
struct Plan {
    header: Header,
    /// Name and content of each file of the state directory.
    files: Vec<(Vec<u8>, Vec<u8>)>,
    records: Vec<Record>,
    trailer: Trailer,
}

impl Plan {
    fn write(mut self) -> Vec<u8> {
        self.header.state_directories = vec![b"/srv".to_vec()];
        let mut writer = Writer::new(Vec::new(), &self.header, WriterOptions::default()).expect("memory");
        let archive: Vec<u8> = self.files.iter().flat_map(|(name, content)| member(name, content)).collect();
        // Chunks that end anywhere.
        for chunk in archive.chunks(1000) {
            writer.state_chunk(0, chunk).expect("memory");
        }
        for record in &self.records {
            writer.push(0, record.as_bytes()).expect("whole records");
        }
        writer.finish(&self.trailer).expect("memory").0
    }
}

fn member(name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut header = [0; archive::BLOCK_BYTES];
    header[..name.len()].copy_from_slice(name);
    header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
    header[257..263].copy_from_slice(b"ustar\0");
    archive::mend(&mut header);
    let mut all = [&header, content].concat();
    all.resize(all.len().next_multiple_of(archive::BLOCK_BYTES), 0);
    all
}

fn open(bytes: Vec<u8>) -> Demo<Cursor<Vec<u8>>> {
    Demo::open(Cursor::new(bytes)).expect("a whole demo")
}

/// The result, and what a search of it finds.
fn anonymize(plan: Plan, options: AnonymizeOptions) -> (Demo<Cursor<Vec<u8>>>, Check) {
    let mut demo = open(plan.write());
    let mut learner = Learner::new(options).expect("replacements fit");
    learner.demo(&mut demo).expect("a whole demo");
    let mut anonymizer = learner.finish().expect("few secrets");
    let mut result = open(anonymizer.demo(&mut demo, Vec::new()).expect("memory"));
    let check = anonymizer.check(&mut result).expect("a whole demo");
    (result, check)
}

/// All texts of a demo, one after the other.
fn unpacked(demo: &mut Demo<Cursor<Vec<u8>>>) -> Vec<Vec<u8>> {
    let header = demo.header().clone();
    let trailer = demo.trailer().cloned().expect("a complete demo");
    let mut all = header.argv;
    all.extend([header.executable, header.cwd]);
    all.extend(header.environment.into_iter().map(|(_, value)| value));
    all.extend(header.properties.into_iter().map(|(_, value)| value));
    all.extend(trailer.notes.into_iter().map(String::into_bytes));
    all.extend(trailer.files.into_iter().map(|file| file.path));
    let mut archive = Vec::new();
    demo.state_archive(0).read_to_end(&mut archive).expect("a whole archive");
    all.push(archive);
    demo.for_each_record(|_, record| {
        all.extend(Parts::new(record).map(|part| part.bytes.to_vec()));
        std::ops::ControlFlow::Continue(())
    })
    .expect("whole records");
    all
}

fn contains(all: &[Vec<u8>], what: &[u8]) -> bool {
    let what = what.to_ascii_lowercase();
    all.iter().any(|text| text.to_ascii_lowercase().windows(what.len()).any(|window| window == what))
}

/// A secret in one of its spellings: which one it is, and how it is written.
fn secret() -> impl Strategy<Value = (usize, String)> {
    // All numbers have three digits: as a part of another address they would be no secret.
    let octet = || 100u8..=255;
    let ip4 = (128u8..=222, octet(), octet(), 0usize..6, 0usize..3).prop_map(|(a, b, c, d, form)| {
        let text = format!("{a}.{b}.{c}.{}", 100 + d);
        (d, [text.clone(), format!("{text}:8303"), text.replace('.', "-") + " " + &text][form].clone())
    });
    let ip6 = (0x1000u16..=0xffff, 0x1000u16..=0xffff, 0usize..5).prop_map(|(a, b, form)| {
        let text = format!("2001:db8:{a:x}::{b:x}");
        let forms = [
            text.clone(),
            text.to_uppercase(),
            format!("[{text}]:80"),
            format!("2001:0db8:{a:x}:0:0:0:0:{b:x}"),
            text.replace(':', "%3A"),
        ];
        (form, forms[form].clone())
    });
    let name =
        (0usize..4).prop_map(|form| (form, ["gamebox", "GAMEBOX", "GameBox.example", "%20gamebox"][form].to_owned()));
    let string = (0usize..3).prop_map(|form| (form, ["Alice+Smith", "ALICE+SMITH", "alice%2bsmith"][form].to_owned()));
    prop_oneof![ip4, ip6, name, string]
}

/// Puts a text into one of the places of a demo.
fn plant(plan: &mut Plan, place: usize, text: &str) {
    let text = format!("<{text}>").into_bytes();
    match place {
        0 => plan.header.argv.extend([b"server".to_vec(), text]),
        1 => plan.header.environment.push((b"LC_X".to_vec(), text)),
        2 => plan.header.properties.push(("x".to_owned(), text)),
        3 => plan.trailer.notes.push(String::from_utf8(text).expect("ASCII")),
        4 => plan.header.cwd.extend(text),
        5 => plan.trailer.files.push(crate::FileEntry { path: text, ..Default::default() }),
        6 => plan.files.push((text[..text.len().min(99)].to_vec(), b"x".to_vec())),
        7 => {
            // Across the pieces in which contents are read.
            let start = (1 << 18) - text.len() / 2;
            plan.files.push((b"large".to_vec(), [vec![b' '; start], text].concat()));
        }
        8 => plan.files.push((b"small".to_vec(), text)),
        9 => plan.records.push(record(Op::Recv).with_part(PartKind::In, &text)),
        10 => plan.records.push(record(Op::Send).with_part(PartKind::Out, &text)),
        11 => plan.records.push(record(Op::Snapshot).with_part(PartKind::Path, &text)),
        _ => plan.records.push(record(Op::Getsockopt).with_part(PartKind::Value, &text)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nothing_that_was_planted_is_left_anywhere(
        seed: u64,
        secrets in proptest::collection::vec((secret(), 0usize..13, 0usize..13), 1..8),
    ) {
        let mut plan = Plan::default();
        plan.records.push(record(Op::Gethostname).with_part(PartKind::Value, b"gamebox.example\0"));
        for ((_, text), place, other) in &secrets {
            plant(&mut plan, *place, text);
            plant(&mut plan, *other, text);
        }
        let strings = vec![Replacement { old: b"alice+smith".to_vec(), new: None }];
        let before = unpacked(&mut open(plan.clone().write()));
        let (mut result, check) = anonymize(plan, AnonymizeOptions { seed, strings, ..AnonymizeOptions::default() });
        prop_assert_eq!(&check, &Check::default());
        let after = unpacked(&mut result);
        for ((_, text), ..) in &secrets {
            prop_assert!(!contains(&after, text.as_bytes()), "{}", text);
        }
        prop_assert!(!contains(&after, b"gamebox"));
        // Records that are made of secrets alone have results that their calls cannot have.
        let report = result.verify().expect("memory");
        let sound = report.problems.iter().all(|problem| matches!(problem, Problem::Result { .. }));
        prop_assert!(report.committed && sound, "{:?}", report.problems);
        // Lengths and structure stay, and equal texts became equal texts.
        let lengths = |all: &[Vec<u8>]| all.iter().map(Vec::len).collect::<Vec<_>>();
        prop_assert_eq!(lengths(&before), lengths(&after));
        for (old, new) in before.iter().zip(&after) {
            for (other, other_new) in before.iter().zip(&after) {
                prop_assert!(old != other || new == other_new, "{} {}", old.escape_ascii(), new.escape_ascii());
            }
        }
    }
}

/// The forms that are found of what is left.
fn left(plan: Plan, strings: &[&str]) -> Vec<(Where, Form)> {
    let strings = strings.iter().map(|old| Replacement { old: old.as_bytes().to_vec(), new: None }).collect();
    let (_, check) = anonymize(plan, AnonymizeOptions { strings, ..AnonymizeOptions::default() });
    assert_eq!(check.found as usize, check.findings.len());
    check.findings.into_iter().map(|finding| (finding.place, finding.form)).collect()
}

#[test]
fn what_cannot_be_replaced_is_named_with_its_place() {
    let mut plan = Plan::default();
    let utf16: Vec<u8> = b"hunter2!".iter().flat_map(|&byte| [byte, 0]).collect();
    plan.records = vec![
        record(Op::Bind).with_part(PartKind::Addr, &sockaddr("10.1.2.3:80")),
        record(Op::Recv).with_part(PartKind::In, b"Basic eHlodW50ZXIyIQ=="),
        record(Op::Recv).with_part(PartKind::In, b"68756E7465723221"),
        record(Op::Send).with_part(PartKind::Out, &utf16),
        record(Op::Recv).with_part(PartKind::In, &[9, 10, 1, 2, 3]),
        record(Op::Send).with_part(PartKind::Out, &[3, 2, 1, 10]),
        record(Op::Socket).with_part(PartKind::Value, &[9, 10, 1, 2]),
    ];
    plan.files = vec![(b"x".to_vec(), [vec![0; (1 << 18) - 2], vec![10, 1, 2, 3]].concat())];
    let at =
        |record, call: Op, byte| Where::Record { process: 0, record, call: call as u16, part: 0, byte, split: false };
    assert_eq!(
        left(plan, &["hunter2!"]),
        [
            (Where::State { directory: 0, entry: "x".to_owned(), byte: Some((1 << 18) - 2) }, Form::Bytes),
            (at(1, Op::Recv, 9), Form::Base64),
            (at(2, Op::Recv, 0), Form::Hexadecimal),
            (at(3, Op::Send, 0), Form::Utf16),
            (at(4, Op::Recv, 1), Form::Bytes),
            (at(5, Op::Send, 0), Form::BytesReversed),
        ]
    );
}

#[test]
fn addresses_in_hexadecimal_are_replaced_in_either_byte_order() {
    let tcp = b"0: 0302010A:1F90 0D02010A:C350 01";
    let tcp6 = b"B80D01200000000000000000C1000000:0050 0000000000000000FFFF00000302010A:0050";
    let records = vec![
        record(Op::Bind).with_part(PartKind::Addr, &sockaddr("10.1.2.3:80")),
        record(Op::Recv)
            .with_part(PartKind::In, b"id=0a010203 0x0A010203,0x0302010AUL 20010db80000000000000000000000c1"),
    ];
    // The peers of these tables stand nowhere else.
    let files = vec![(b"tcp".to_vec(), tcp.to_vec()), (b"tcp6".to_vec(), tcp6.to_vec())];
    let plan = Plan { records, files, ..Plan::default() };
    let (mut result, check) = anonymize(plan, AnonymizeOptions::default());
    assert_eq!(check, Check::default());
    let all = unpacked(&mut result);
    for old in ["0a010203", "0302010a", "0d02010a", "20010db8", "b80d0120", "c1000000"] {
        assert!(!contains(&all, old.as_bytes()), "{old} is left");
    }
    // The same address everywhere, in the case in which it stood.
    let texts: Vec<_> = all.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    let line = texts.iter().find(|text| text.starts_with("id=")).expect("the record");
    let (big, little) = (&line[3..11], &line[25..33]);
    let reversed: String = (0..4).rev().map(|byte| &big[2 * byte..2 * byte + 2]).collect();
    assert_eq!((&line[14..22], little), (&*big.to_uppercase(), &*reversed.to_uppercase()));
    assert_eq!((&line[11..14], &line[22..25], &line[33..36]), (" 0x", ",0x", "UL "));
    assert!(texts.iter().any(|text| text.contains(&format!("0: {little}:1F90 "))), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains(&format!("FFFF0000{little}:0050"))), "{texts:?}");
}

#[test]
fn a_number_that_holds_the_digits_of_an_address_stays() {
    let text = b"0a0102034 f0a010203 a01020 sum 0x0a01020304";
    let records = vec![
        record(Op::Bind).with_part(PartKind::Addr, &sockaddr("10.1.2.3:80")),
        record(Op::Recv).with_part(PartKind::In, text),
    ];
    let plan = Plan { records, ..Plan::default() };
    let (mut result, check) = anonymize(plan, AnonymizeOptions::default());
    assert_eq!(check, Check::default());
    assert!(contains(&unpacked(&mut result), text));
}

#[test]
fn an_address_as_one_number_or_as_separate_bytes_is_named() {
    let mut records = vec![record(Op::Bind).with_part(PartKind::Addr, &sockaddr("10.1.2.3:80"))];
    let spellings: [&[u8]; 9] = [
        b"http://167838211/",
        b"int 50462986;",
        b"0a 01 02 03",
        b"0A:01:02:03",
        b"\\x0a\\x01\\x02\\x03",
        b"%0A%01%02%03",
        b"0x0a.0x01.0x02.0x03",
        b"0xa.0x1.0x2.0x3",
        b"0x0a, 0x01, 0x02, 0x03",
    ];
    records.extend(spellings.map(|text| record(Op::Recv).with_part(PartKind::In, text)));
    let found: Vec<(u64, Form)> = left(Plan { records, ..Plan::default() }, &[])
        .into_iter()
        .filter_map(|(place, form)| match place {
            Where::Record { record, .. } => Some((record, form)),
            _ => None,
        })
        .collect();
    let expected: Vec<(u64, Form)> =
        (1..=9).map(|record| (record, if record <= 2 { Form::Decimal } else { Form::Hexadecimal })).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_secret_that_two_calls_or_parts_share_is_named() {
    let records = vec![
        record(Op::Recv).with_part(PartKind::In, b"I am hun"),
        record(Op::Send).with_part(PartKind::Out, b"ter2 is no answer"),
        record(Op::Recv).with_part(PartKind::In, b"te"),
        record(Op::Recv).with_part(PartKind::In, b"r2, hello from 10.1."),
        record(Op::Readv).with_part(PartKind::In, b"2.").with_part(PartKind::In, b"3"),
        record(Op::Bind).with_part(PartKind::Addr, &sockaddr("10.1.2.3:80")),
    ];
    let plan = Plan { records, ..Plan::default() };
    let split = |record, call: Op, part| {
        (Where::Record { process: 0, record, call: call as u16, part, byte: 0, split: true }, Form::Text)
    };
    assert_eq!(left(plan, &["hunter2"]), [split(3, Op::Recv, 0), split(4, Op::Readv, 1)]);
}

#[test]
fn a_version_in_a_path_stays_and_an_address_in_one_does_not() {
    let mut plan = Plan::default();
    plan.header.executable = b"/opt/server-1.2.3.4/bin".to_vec();
    plan.header.cwd = b"/srv/10.1.2.3/x".to_vec();
    let (mut result, check) = anonymize(plan, AnonymizeOptions::default());
    assert_eq!(check, Check::default());
    let all = unpacked(&mut result);
    assert!(contains(&all, b"/opt/server-1.2.3.4/bin") && !contains(&all, b"10.1.2.3"));
}

#[test]
fn a_string_that_is_a_replacement_too_is_not_searched_for() {
    let records = vec![record(Op::Recv).with_part(PartKind::In, b"alice and carol")];
    let plan = Plan { records, ..Plan::default() };
    let swap = |old: &str, new: &str| Replacement { old: old.into(), new: Some(new.into()) };
    let strings = vec![swap("alice", "carol"), swap("carol", "alice")];
    let (mut result, check) = anonymize(plan, AnonymizeOptions { strings, ..AnonymizeOptions::default() });
    assert!(contains(&unpacked(&mut result), b"carol and alice"));
    assert_eq!((check.found, check.not_searched), (0, 2));
}
