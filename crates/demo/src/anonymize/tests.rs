use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::places::{UTSNAME_FIELD_BYTES, UTSNAME_FIELDS};
use super::*;
use crate::Record;
use crate::address::{Address, sockaddr};

fn record(op: Op) -> Record {
    Record::new(Head { size: 0, op: op as u16, thread: 0, order: 0, time: 0, ret: 0, fd: 3, aux: 0 })
}

/// Anonymizes the records and gives back their parts.
fn anonymized(options: AnonymizeOptions, records: &[Record]) -> (Vec<Vec<Vec<u8>>>, AnonymizeReport) {
    let mut learner = Learner::new(options).expect("replacements fit");
    for record in records {
        learner.learn(record.as_bytes());
    }
    let mut anonymizer = learner.finish().expect("few secrets");
    let parts = records.iter().map(|record| {
        let mut bytes = record.as_bytes().to_vec();
        anonymizer.rewrite(&mut bytes);
        assert_eq!(bytes.len(), record.as_bytes().len());
        Parts::new(&bytes).map(|part| part.bytes.to_vec()).collect()
    });
    (parts.collect(), anonymizer.report())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn an_address_is_the_same_one_in_records_and_in_both_directions_of_text() {
    let (parts, report) = anonymized(
        AnonymizeOptions::default(),
        &[
            record(Op::Recvfrom)
                .with_part(PartKind::Addr, &sockaddr("203.0.113.7:4000"))
                .with_part(PartKind::In, b"I am 203.0.113.7!"),
            record(Op::Sendto)
                .with_part(PartKind::Addr, &sockaddr("[::ffff:203.0.113.7]:4000"))
                .with_part(PartKind::Out, b"hello 203.0.113.7:4000, not 203.0.113.77"),
        ],
    );
    let mapped = Address::from_bytes(&parts[0][0]).and_then(|address| address.ip()).expect("an IP address");
    assert_eq!(mapped.port(), 4000);
    assert_ne!(mapped.ip().to_string(), "203.0.113.7");
    assert_eq!(text(&parts[0][1]), format!("I am {}!", mapped.ip()));
    assert!(text(&parts[1][1]).starts_with(&format!("hello {}:4000, not ", mapped.ip())), "{}", text(&parts[1][1]));
    assert!(!text(&parts[1][1]).contains("203.0.113.77"), "the other one is another secret");
    let other = Address::from_bytes(&parts[1][0]).and_then(|address| address.ip()).expect("an IP address");
    assert_eq!(other.ip().to_canonical(), mapped.ip());
    assert_eq!((report.addresses, report.addresses_in_text_only), (2, 1));
    assert_eq!((report.addresses_rewritten, report.texts_rewritten), (2, 3));
}

#[test]
fn loopback_stays_by_default() {
    let records = [record(Op::Bind).with_part(PartKind::Addr, &sockaddr("127.0.0.1:80"))];
    assert_eq!(anonymized(AnonymizeOptions::default(), &records).0[0][0], sockaddr("127.0.0.1:80"));
    let mapped = AnonymizeOptions { map_loopback: true, seed: 5, ..AnonymizeOptions::default() };
    assert_ne!(anonymized(mapped, &records).0[0][0], sockaddr("127.0.0.1:80"));
    let kept = AnonymizeOptions { keep_addresses: true, ..AnonymizeOptions::default() };
    let records = [record(Op::Bind).with_part(PartKind::Addr, &sockaddr("10.1.2.3:80"))];
    assert_eq!(anonymized(kept, &records).0[0][0], sockaddr("10.1.2.3:80"));
}

#[test]
fn host_names_are_replaced_where_they_are_defined_and_where_they_are_used() {
    let mut utsname = vec![0; UTSNAME_FIELD_BYTES * UTSNAME_FIELDS];
    utsname[..5].copy_from_slice(b"Linux");
    utsname[65..72].copy_from_slice(b"gamebox");
    utsname[325..331].copy_from_slice(b"(none)");
    let (parts, report) = anonymized(
        AnonymizeOptions::default(),
        &[
            record(Op::Send).with_part(PartKind::Out, b"server gamebox is up"),
            record(Op::Gethostname).with_part(PartKind::Value, b"gamebox\0\0"),
            record(Op::Uname).with_part(PartKind::Value, &utsname),
            record(Op::Getaddrinfo)
                .with_part(PartKind::Path, b"master.example")
                .with_part(PartKind::Path, b"8300")
                .with_part(PartKind::Addr, &sockaddr("198.51.100.4:0")),
        ],
    );
    let name = text(&parts[1][0][..7]);
    assert_ne!(name, "gamebox");
    assert_eq!(text(&parts[0][0]), format!("server {name} is up"));
    assert_eq!(text(&parts[2][0][..5]), "Linux");
    assert_eq!(text(&parts[2][0][65..72]), name);
    assert_eq!(text(&parts[2][0][325..331]), "(none)");
    assert_ne!(text(&parts[3][0]), "master.example");
    assert_eq!(text(&parts[3][1]), "8300");
    assert_eq!(report.host_names, 2);
}

#[test]
fn addresses_that_stand_only_in_text_are_replaced_in_every_spelling() {
    let (parts, report) = anonymized(
        AnonymizeOptions { kept: vec!["1.2.3.4".parse().expect("valid")], ..AnonymizeOptions::default() },
        &[
            record(Op::Recv).with_part(PartKind::In, b"10.0.0.7 010.000.000.007 ip-10-0-0-7.x v1.2.3.4"),
            record(Op::Send).with_part(PartKind::Out, b"2001:db8::c1 2001:0DB8::00C1 [2001:db8:0:0:0:0:0:c1]:80"),
            record(Op::Send).with_part(PartKind::Out, b"52:54:00:ab:cd:ef 52-54-00-AB-CD-EF 12:34:56 std::vector"),
        ],
    );
    let first = text(&parts[0][0]);
    let address: Ipv4Addr = first[..8].parse().expect("still an address");
    assert_ne!(address, Ipv4Addr::new(10, 0, 0, 7));
    let [a, b, c, d] = address.octets();
    assert_eq!(first[8..], format!(" {a:03}.{b:03}.{c:03}.{d:03} ip-{a}-{b}-{c}-{d}.x v1.2.3.4"));
    let second = text(&parts[1][0]);
    let address: std::net::Ipv6Addr = second[..12].parse().expect("still an address");
    let [a, b, .., c] = address.segments();
    assert_eq!(second, format!("{a:x}:{b:x}::{c:x} {a:X}:{b:04X}::{c:04X} [{a:x}:{b:x}:0:0:0:0:0:{c:x}]:80"));
    assert_ne!(&second[..12], "2001:db8::c1");
    let third = text(&parts[2][0]);
    assert!(third.ends_with(" 12:34:56 std::vector") && !third.contains("52:54"), "{third}");
    assert_eq!(third[..17].to_uppercase().replace(':', "-"), third[18..35]);
    assert_eq!((report.addresses, report.addresses_in_text_only, report.hardware_addresses), (2, 2, 1));
}

#[test]
fn the_bytes_of_addresses_are_replaced_in_payloads() {
    let known = record(Op::Bind).with_part(PartKind::Addr, &sockaddr("[2001:db8::7]:80"));
    let known4 = record(Op::Bind).with_part(PartKind::Addr, &sockaddr("10.0.0.7:80"));
    let (first, second) = (known.as_bytes().to_vec(), [&[1, 10, 0, 0, 7, 7, 0, 0, 10][..], &[2]].concat());
    let list = [b"x", &Parts::new(&first).next().expect("one part").bytes[8..24], b"x"].concat();
    let records = [
        known,
        known4,
        record(Op::Recv).with_part(PartKind::In, &list),
        record(Op::Recv).with_part(PartKind::In, &second),
    ];
    let (parts, _) = anonymized(AnonymizeOptions::default(), &records);
    assert_eq!(parts[2][0][1..17], parts[0][0][8..24]);
    assert_ne!(parts[2][0], list);
    assert_eq!(parts[3][0], second, "four bytes may be anything");
    let raw = AnonymizeOptions { raw_addresses: true, ..AnonymizeOptions::default() };
    let (parts, _) = anonymized(raw, &records);
    let address = &parts[1][0][4..8];
    assert_ne!(address, [10, 0, 0, 7]);
    assert_eq!(parts[3][0][1..5], *address);
    assert!(parts[3][0][5..9].iter().eq(address.iter().rev()));
}

#[test]
fn secrets_of_the_environment_and_the_name_of_the_machine_are_learned_from_it() {
    let variable = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    let mut learner = Learner::new(AnonymizeOptions::default()).expect("no replacements");
    learner.environment(&[
        variable("HOSTNAME", "gamebox"),
        variable("DB_PASSWORD", "tr0ub4dor"),
        variable("TOKEN_FILE", "/run/token1"),
        variable("TOKEN_MODE", "disabled"),
        variable("SSH_CLIENT", "203.0.113.9 5000 22"),
    ]);
    let mut anonymizer = learner.finish().expect("few secrets");
    let before = "gamebox tr0ub4dor 203.0.113.9 /run/token1 disabled";
    let mut after = before.as_bytes().to_vec();
    anonymizer.text(&mut after);
    let words = |all: &str| all.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let changed: Vec<bool> = words(before).iter().zip(words(&text(&after))).map(|(old, new)| *old != new).collect();
    assert_eq!(changed, [true, true, true, false, false], "{}", text(&after));
    assert_eq!(anonymizer.report().secret_values, 1);
}

#[test]
fn more_addresses_than_memory_is_kept_for_are_refused() {
    let mut learner = Learner::new(AnonymizeOptions::default()).expect("no replacements");
    for number in 0..=MOST_ADDRESSES as u32 {
        learner.text(Ipv4Addr::from(0x0b00_0000 + number).to_string().as_bytes());
    }
    let error = learner.finish().expect_err("one too many");
    assert_eq!(error.to_string(), "expected at most 131072 different addresses, found more");
}

#[test]
fn given_strings_are_replaced_everywhere_with_equal_length() {
    let strings = vec![
        Replacement { old: b"secret".to_vec(), new: Some(b"public".to_vec()) },
        Replacement { old: b"Bob-42".to_vec(), new: None },
    ];
    let options = AnonymizeOptions { strings, ..AnonymizeOptions::default() };
    let (parts, _) = anonymized(
        options,
        &[
            record(Op::Read).with_part(PartKind::In, b"mysecrets Bob-42"),
            record(Op::Snapshot).with_part(PartKind::Path, b"/x/secret"),
        ],
    );
    let new = text(&parts[0][0]);
    assert!(new.starts_with("mypublics ") && !new.contains("Bob-42"), "{new}");
    let name: Vec<char> = new[10..].chars().collect();
    assert!(name[0].is_ascii_uppercase() && name[1].is_ascii_lowercase() && name[3] == '-' && name[5].is_ascii_digit());
    assert_eq!(text(&parts[1][0]), "/x/public");
}

#[test]
fn a_replacement_of_another_length_is_refused() {
    let strings = vec![Replacement { old: b"secret".to_vec(), new: Some(b"x".to_vec()) }];
    let error = Learner::new(AnonymizeOptions { strings, ..AnonymizeOptions::default() }).expect_err("too short");
    assert_eq!(error.to_string(), "replacement of `secret`: expected 6 bytes, found 1");
}

#[test]
fn interface_addresses_and_packet_info_are_addresses_too() {
    let mut control = 28u64.to_le_bytes().to_vec();
    control.extend([0i32.to_le_bytes(), 8i32.to_le_bytes(), 2i32.to_le_bytes()].concat());
    control.extend([10, 1, 2, 3, 10, 1, 2, 3]);
    let mut hardware = vec![17, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 6, 0x52, 0x54, 0, 1, 2, 3, 0, 0];
    let (parts, report) = anonymized(
        AnonymizeOptions::default(),
        &[
            record(Op::Recvmsg).with_part(PartKind::Control, &control),
            record(Op::Getifaddrs)
                .with_part(PartKind::Value, &[0; 16])
                .with_part(PartKind::Path, b"eth0")
                .with_part(PartKind::Addr, &sockaddr("10.1.2.3:0"))
                .with_part(PartKind::Addr, &sockaddr("255.255.255.0:0"))
                .with_part(PartKind::Addr, &hardware),
        ],
    );
    assert_eq!(parts[0][0][20..24], parts[0][0][24..28]);
    assert_eq!(parts[0][0][20..24], parts[1][2][4..8]);
    assert_ne!(parts[0][0][20..24], [10, 1, 2, 3]);
    assert_eq!(parts[1][1], b"eth0");
    assert_eq!(parts[1][3], sockaddr("255.255.255.0:0"));
    assert_eq!(parts[1][4][12] & 3, 2, "locally administered and of one machine");
    assert_ne!(parts[1][4][12..18], hardware[12..18]);
    hardware[12..18].copy_from_slice(&parts[1][4][12..18]);
    assert_eq!(parts[1][4], hardware, "nothing else of it changes");
    assert_eq!((report.addresses, report.addresses_rewritten), (1, 4));
}

#[test]
fn the_answers_of_a_resolver_are_names_and_addresses() {
    let (parts, _) = anonymized(
        AnonymizeOptions::default(),
        &[
            record(Op::Gethostbyname)
                .with_part(PartKind::Path, b"old.example")
                .with_part(PartKind::Addr, &[198, 51, 100, 4]),
            record(Op::Getaddrinfo)
                .with_part(PartKind::Path, b"198.51.100.4")
                .with_part(PartKind::Path, b"http")
                .with_part(PartKind::Path, b"real.example"),
        ],
    );
    let address = Ipv4Addr::from(<[u8; 4]>::try_from(&parts[0][1][..]).expect("four bytes")).to_string();
    assert_ne!(address, "198.51.100.4");
    assert_eq!(text(&parts[1][0]), address);
    assert_eq!(text(&parts[1][1]), "http");
    for name in [text(&parts[0][0]), text(&parts[1][2])] {
        assert!(!name.contains("example") && name.contains('.'), "{name}");
    }
}

#[test]
fn variables_that_a_replay_does_not_need_are_dropped() {
    let mut anonymizer =
        Learner::new(AnonymizeOptions { keep_variables: vec!["SV_NAME".into()], ..Default::default() })
            .expect("no replacements")
            .finish()
            .expect("few secrets");
    let variable = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    let mut variables = vec![
        variable("PATH", "/bin"),
        variable("AWS_SECRET", "x"),
        variable("LC_ALL", "C"),
        variable("USER", "me"),
        variable("PRONY_CELL", "x"),
        variable("SV_NAME", "y"),
    ];
    anonymizer.environment(&mut variables);
    let kept: Vec<String> = variables.iter().map(|(name, _)| text(name)).collect();
    assert_eq!(kept, ["PATH", "LC_ALL", "SV_NAME"]);
    assert_eq!(anonymizer.report().variables_dropped, 3);
}

mod demos;

proptest! {
    #[test]
    fn no_record_panics_or_changes_its_shape(
        op in prop::sample::select(Op::ALL),
        parts in proptest::collection::vec((1u8..9, proptest::collection::vec(any::<u8>(), 0..420)), 0..4),
    ) {
        let mut built = record(op);
        for (kind, mut content) in parts {
            if kind == PartKind::Addr as u8 && content.len() > 3 {
                content[0] = [1, 2, 10][content[2] as usize % 3];
                content[1] = 0;
            }
            built = built.with_part(PartKind::from_number(kind).expect("1 to 8 exist"), &content);
        }
        let mut learner = Learner::new(AnonymizeOptions::default()).expect("no replacements");
        learner.learn(built.as_bytes());
        let mut bytes = built.as_bytes().to_vec();
        learner.finish().expect("few secrets").rewrite(&mut bytes);
        prop_assert_eq!(bytes.len(), built.as_bytes().len());
        let shape = |bytes: &[u8]| Parts::new(bytes).map(|part| (part.kind, part.offset, part.bytes.len())).collect::<Vec<_>>();
        prop_assert_eq!(shape(&bytes), shape(built.as_bytes()));
        prop_assert_eq!(Head::from_bytes(&bytes), Some(built.head));
    }
}
