//! Results that no kernel returns: refused before a build sees them; and builds that have less room than was recorded.

use prony_demo::{Head, Op, PartKind, Record};

use crate::sandbox::{Made, Sandbox};

const SERVER: &str = "guarded.c";

fn record(op: Op, ret: i64, aux: u32, parts: &[(PartKind, &[u8])]) -> Record {
    let fd =
        if matches!(op, Op::Getrandom | Op::Getentropy | Op::Gethostname | Op::Socket | Op::Poll) { -1 } else { 0 };
    let head = Head { size: 0, op: op as u16, thread: 0, order: 0, time: 0, ret, fd, aux };
    parts.iter().fold(Record::new(head), |record, (kind, bytes)| record.with_part(*kind, bytes))
}

/// Replays a demo of this record with a build that makes `call` with so much room; returns exit code and output.
fn replay(record: Record, call: &[&str]) -> (Option<i32>, String) {
    let place = Sandbox::new();
    let kept = self::record(Op::Write, 4, 4, &[(Out, b"kept")]);
    place.demo(&Made { records: &[record, kept], ..Made::default() });
    let server = place.compiled(SERVER);
    let answer = place.prony(&[&["replay", "x.demo", "--", &server][..], call].concat());
    (answer.code, format!("{}{}", answer.stdout, answer.stderr))
}

use PartKind::{Control, In, Message, Out, Ready, Value};

#[test]
fn a_result_beyond_the_recorded_request_makes_the_demo_invalid() {
    let long = [b'x'; 5497];
    let head = |length: u32| [length.to_le_bytes(), [0; 4]].concat();
    let flags = 0_u32.to_le_bytes();
    let beyond = [
        (record(Op::Recvfrom, 5497, 1400, &[(In, &long)]), ["recvfrom", "1400"]),
        (record(Op::Recv, 5497, 1400, &[(In, &long[..1000])]), ["recv", "1400"]),
        (record(Op::Recvmsg, 5497, 1400, &[(In, &long), (Value, &flags)]), ["recvmsg", "1400"]),
        (record(Op::Recvmmsg, 2, 1, &[(Message, &head(5)), (In, b"hello"), (Message, &head(0))]), ["recvmmsg", "1400"]),
        (record(Op::Read, 5497, 1400, &[(In, &long)]), ["read", "1400"]),
        (record(Op::Getrandom, 4096, 16, &[(In, &long[..4096])]), ["getrandom", "16"]),
        (record(Op::Sendto, 5497, 5, &[(Out, b"uuuuu")]), ["sendto", "5"]),
        (record(Op::Sendfile, 5497, 5, &[(Out, &long)]), ["sendfile", "5"]),
        (record(Op::Poll, 1, 0, &[(Ready, &[0; 800])]), ["poll", "8"]),
        (record(Op::Gethostname, 0, 0, &[(Value, b"without an end")]), ["gethostname", "14"]),
        (record(Op::Socket, 1001, 2, &[(Value, &[0; 12])]), ["socket", "8"]),
        (record(Op::Recvmsg, 0, 0, &[(Control, &[0xff; 24]), (Value, &flags)]), ["control", "24"]),
    ];
    for (record, call) in beyond {
        let (code, said) = replay(record, &[call[0], call[1], "/etc/passwd"]);
        assert_eq!(code, Some(2), "{call:?}: {said}");
        assert!(said.contains("record 0 of process 0") && said.contains("expected"), "{call:?}: {said}");
        assert!(said.contains("hint: prony does not record this"), "{call:?}: {said}");
    }
}

#[test]
fn verify_names_a_result_that_its_call_cannot_have() {
    let place = Sandbox::new();
    place.demo(&Made { records: &[record(Op::Recvfrom, 5497, 1400, &[(In, &[0; 5497])])], ..Made::default() });
    let answer = place.prony(&["demo", "verify", "x.demo"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    let said =
        "record 0 of process 0 in block 1: return value of `recvfrom`: expected an error or at most 1400, found 5497";
    assert!(answer.stdout.contains(said), "{answer:?}");
}

#[test]
fn a_build_with_the_recorded_room_gets_what_was_recorded() {
    let long = [b'x'; 1400];
    let flags = 0_u32.to_le_bytes();
    for (record, call) in [
        (record(Op::Recvfrom, 1400, 1400, &[(In, &long)]), ["recvfrom", "1400"]),
        (record(Op::Recvfrom, 5497, 4, &[(In, b"four")]), ["length", "4"]),
        (record(Op::Recvmsg, 1400, 1400, &[(In, &long), (Value, &flags)]), ["recvmsg", "1400"]),
        (record(Op::Getrandom, 16, 16, &[(In, &long[..16])]), ["getrandom", "16"]),
        (record(Op::Sendto, 5, 5, &[(Out, b"uuuuu")]), ["sendto", "5"]),
        (record(Op::Gethostname, 0, 0, &[(Value, b"host\0")]), ["gethostname", "64"]),
        (record(Op::Getsockopt, 0, 0x0001_0008, &[(Value, &flags)]), ["getsockopt", "4"]),
    ] {
        let (code, said) = replay(record, &call);
        assert_eq!(code, Some(0), "{call:?}: {said}");
    }
}

fn socket() -> Record {
    let domain_kind_protocol = [2_u8, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
    record(Op::Socket, 3, 2, &[(Value, &domain_kind_protocol)])
}

/// Like [`replay`], with a socket for datagrams of which the call is.
fn replay_on_socket(mut record: Record, call: &[&str]) -> (Option<i32>, String) {
    record.head.fd = 3;
    let parts: Vec<_> =
        prony_demo::Parts::new(record.as_bytes()).map(|part| (part.kind, part.bytes.to_vec())).collect();
    let record = parts.iter().fold(Record::new(record.head), |record, (kind, bytes)| {
        record.with_part(PartKind::from_number(*kind).expect("made here"), bytes)
    });
    let place = Sandbox::new();
    let kept = self::record(Op::Write, 4, 4, &[(Out, b"kept")]);
    place.demo(&Made { records: &[socket(), record, kept], ..Made::default() });
    let server = place.compiled(SERVER);
    let answer = place.prony(&[&["replay", "x.demo", "--", &server][..], call].concat());
    (answer.code, format!("{}{}", answer.stdout, answer.stderr))
}

#[test]
fn a_build_that_would_lose_a_part_of_a_result_diverges() {
    let long = [b'x'; 1400];
    let flags = 0_u32.to_le_bytes();
    let head = [1400_u32.to_le_bytes(), [0; 4]].concat();
    let narrow = [24, 1, 1, 1, 1, 1].map(u32::to_le_bytes).concat();
    let rights = [&20_u64.to_le_bytes()[..], &[1, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]].concat();
    for (record, call, said) in [
        (
            record(Op::Recvfrom, 1400, 1400, &[(In, &long)]),
            ["datagram-recvfrom", "600"],
            "1,400 recorded, the build has room for 600",
        ),
        (record(Op::Recv, 1400, 1400, &[(In, &long)]), ["datagram-read", "600"], "room for 600"),
        (record(Op::Recvmsg, 1400, 1400, &[(In, &long), (Value, &flags)]), ["datagram-recvmsg", "600"], "room for 600"),
        (record(Op::Recvmmsg, 1, 4, &[(Message, &head), (In, &long)]), ["datagram-recvmmsg", "600"], "room for 600"),
    ] {
        let (code, printed) = replay_on_socket(record, &call);
        assert_eq!(code, Some(1), "{call:?}: {printed}");
        assert!(printed.contains("input that does not fit") && printed.contains(said), "{call:?}: {printed}");
    }
    for (record, call, said) in [
        (
            record(Op::Getrandom, 16, 16, &[(In, &long[..16])]),
            ["getrandom", "8"],
            "16 recorded, the build has room for 8",
        ),
        (record(Op::Getentropy, 0, 16, &[(In, &long[..16])]), ["getentropy", "8"], "room for 8"),
        (record(Op::Getentropy, 0, 4, &[(In, &long[..4])]), ["getentropy", "8"], "4 recorded"),
        (record(Op::Gethostname, 0, 0, &[(Value, b"a long name\0")]), ["gethostname", "4"], "room for 4"),
        (record(Op::Getsockopt, 0, 8, &[(Value, &long[..8])]), ["getsockopt", "4"], "room for 4"),
        (record(Op::Recvmsg, 0, 0, &[(Control, &rights), (Value, &flags)]), ["control", "8"], "room for 8"),
        // Whole as i386 lays it out, where the length has four bytes.
        (
            record(Op::Recvmsg, 0, 0, &[(Control, &narrow), (Value, &flags)]),
            ["control", "64"],
            "24 recorded, the build has room for 0",
        ),
        (record(Op::Recvmmsg, 2, 4, &[(Message, &[0; 8]), (Message, &[0; 8])]), ["recvmmsg", "8"], "room for 1"),
        (record(Op::Sendfile, 1400, 1400, &[(Out, &long)]), ["sendfile", "5"], "different output"),
        (record(Op::Sendto, 5, 5, &[(Out, b"uuuuu")]), ["sendto", "4"], "different output"),
    ] {
        let (code, printed) = replay(record, &[call[0], call[1], "/etc/passwd"]);
        assert_eq!(code, Some(1), "{call:?}: {printed}");
        assert!(printed.contains(said), "{call:?}: {printed}");
    }
}

#[test]
fn what_loses_nothing_is_no_divergence() {
    let long = [b'x'; 1400];
    for call in [["datagram-peek", "600"], ["datagram-recvfrom", "4000"]] {
        let (code, printed) = replay_on_socket(record(Op::Recvfrom, 1400, 1400, &[(In, &long)]), &call);
        assert_eq!(code, Some(0), "{call:?}: {printed}");
    }
    // Zeros behind a value, and what lies behind the end of a name.
    let padded = [&7_u32.to_le_bytes()[..], &[0; 12]].concat();
    for (record, call) in [
        (record(Op::Getsockopt, 0, 8, &[(Value, &padded)]), ["getsockopt", "4"]),
        (record(Op::Gethostname, 0, 0, &[(Value, b"host\0and more")]), ["gethostname", "5"]),
    ] {
        let (code, printed) = replay(record, &call);
        assert_eq!(code, Some(0), "{call:?}: {printed}");
    }
}

#[test]
fn the_answer_to_another_question_is_none() {
    const SIOCGIFFLAGS: u32 = 0x8913;
    let answer = record(Op::Ioctl, 0, SIOCGIFFLAGS, &[(Value, &[0xff; 40])]);
    let (code, printed) = replay(answer, &["ioctl", "4"]);
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("ioctl"), "{printed}");
}

#[test]
fn a_recorded_descriptor_takes_no_number_from_the_build() {
    let place = Sandbox::new();
    let kept = record(Op::Write, 4, 4, &[(Out, b"kept")]);
    // The build has its file under number 3, where the recording has a socket.
    place.demo(&Made { records: &[socket(), kept], ..Made::default() });
    let server = place.compiled(SERVER);
    let answer = place.prony(&["replay", "x.demo", "--", &server, "socket", "64", "/etc/passwd"]);
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stdout.contains("made descriptor 3, which is open in the build"), "{answer:?}");
}
