use proptest::prelude::*;

use super::*;
use crate::Record;
use crate::address::sockaddr;

fn head(op: Op, time: u64, fd: i32, ret: i64) -> Head {
    Head { size: 0, op: op as u16, thread: 0, order: 0, time, ret, fd, aux: 1400 }
}

fn socket(fd: i64, domain: i32, kind: i32) -> Record {
    let value = [domain.to_le_bytes(), kind.to_le_bytes(), [0; 4]].concat();
    Record::new(head(Op::Socket, 0, -1, fd)).with_part(PartKind::Value, &value)
}

fn bound(fd: i32, local: &str) -> Record {
    Record::new(head(Op::Bind, 0, fd, 0))
        .with_part(PartKind::Addr, &sockaddr(local))
        .with_part(PartKind::Addr, &sockaddr(local))
}

fn accepted(fd: i64, peer: &str, local: &str) -> Record {
    Record::new(head(Op::Accept, 5, 3, fd))
        .with_part(PartKind::Addr, &sockaddr(peer))
        .with_part(PartKind::Addr, &sockaddr(local))
}

fn received(fd: i32, payload: &[u8]) -> Record {
    Record::new(head(Op::Read, 6, fd, payload.len() as i64)).with_part(PartKind::In, payload)
}

fn sent(fd: i32, payload: &[u8]) -> Record {
    Record::new(head(Op::Write, 7, fd, payload.len() as i64)).with_part(PartKind::Out, payload)
}

fn made(records: &[Record]) -> (Vec<(u64, Vec<u8>)>, PcapSummary) {
    let mut pcap = Pcap::new(1_700_000_000_000_000_000);
    for record in records {
        pcap.handle_record(0, record.as_bytes());
    }
    (packets(&pcap.take_bytes()), pcap.summary().clone())
}

/// Reads a pcap back: nanoseconds of the epoch and packet.
fn packets(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    assert_eq!(file[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut found) = (24, Vec::new());
    while at < file.len() {
        let length = word(at + 8) as usize;
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        found.push((time, file[at + 16..at + 16 + length].to_vec()));
        at += 16 + length;
    }
    assert_eq!(at, file.len());
    found
}

/// `127.0.0.1:1 > 127.0.0.1:2 [flags] payload` of an IPv4 packet.
fn line(packet: &[u8]) -> String {
    let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let ip = |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
    let ends = format!("{}:{} > {}:{}", ip(12), port(20), ip(16), port(22));
    if packet[9] == 17 {
        return format!("{ends} udp {}", packet[28..].escape_ascii());
    }
    let number = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().expect("four bytes"));
    let flags: String =
        [(SYN, 'S'), (ACK, 'A'), (FIN, 'F')].iter().filter(|(bit, _)| packet[33] & bit > 0).map(|(_, c)| *c).collect();
    format!("{ends} {flags} {} {} {}", number(24), number(28), packet[40..].escape_ascii())
}

#[test]
fn datagrams_have_their_addresses_and_times() {
    let (packets, summary) = made(&[
        socket(3, 2, 2),
        bound(3, "0.0.0.0:8303"),
        Record::new(head(Op::Recvfrom, 1_500_000_000, 3, 4))
            .with_part(PartKind::Addr, &sockaddr("127.0.0.1:40000"))
            .with_part(PartKind::In, b"ping"),
        Record::new(head(Op::Sendto, 1_500_001_000, 3, 4))
            .with_part(PartKind::Addr, &sockaddr("127.0.0.1:40000"))
            .with_part(PartKind::Out, b"pong"),
    ]);
    assert_eq!(packets[0].0, 1_700_000_001_500_000_000);
    assert_eq!(line(&packets[0].1), "127.0.0.1:40000 > 127.0.0.1:8303 udp ping");
    assert_eq!(line(&packets[1].1), "127.0.0.1:8303 > 127.0.0.1:40000 udp pong");
    assert_eq!((summary.packets, summary.datagrams, summary.payload_bytes), (2, 2, 8));
}

#[test]
fn every_message_of_recvmmsg_is_a_datagram_with_its_own_address() {
    let many = Record::new(head(Op::Recvmmsg, 0, 3, 2))
        .with_part(PartKind::Message, &[0; 8])
        .with_part(PartKind::Addr, &sockaddr("10.0.0.1:1"))
        .with_part(PartKind::In, b"one")
        .with_part(PartKind::Message, &[0; 8])
        .with_part(PartKind::Addr, &sockaddr("10.0.0.2:2"));
    let (packets, _) = made(&[socket(3, 2, 2), bound(3, "10.0.0.9:53"), many]);
    let lines: Vec<String> = packets.iter().map(|(_, packet)| line(packet)).collect();
    assert_eq!(lines, ["10.0.0.1:1 > 10.0.0.9:53 udp one", "10.0.0.2:2 > 10.0.0.9:53 udp "]);
}

#[test]
fn a_connection_shakes_hands_counts_its_bytes_and_says_goodbye() {
    let end = Record::new(head(Op::Read, 8, 5, 0));
    let close = Record::new(head(Op::Close, 9, 5, 0));
    let (packets, summary) = made(&[
        socket(3, 2, 1),
        accepted(5, "127.0.0.1:50000", "127.0.0.1:6379"),
        received(5, b"GET"),
        sent(5, b"$-1"),
        end,
        close,
    ]);
    let lines: Vec<String> = packets.iter().map(|(_, packet)| line(packet)).collect();
    let (there, back) = ("127.0.0.1:50000 > 127.0.0.1:6379", "127.0.0.1:6379 > 127.0.0.1:50000");
    assert_eq!(
        lines,
        [
            format!("{there} S 0 0 "),
            format!("{back} SA 0 1 "),
            format!("{there} A 1 1 "),
            format!("{there} A 1 1 GET"),
            format!("{back} A 1 4 $-1"),
            format!("{there} AF 4 4 "),
            format!("{back} A 4 5 "),
            format!("{back} AF 4 5 "),
            format!("{there} A 5 5 "),
        ]
    );
    assert_eq!(summary.connections, 1);
}

#[test]
fn a_long_write_becomes_several_segments() {
    let (packets, _) = made(&[
        accepted(5, "127.0.0.1:50000", "127.0.0.1:80"),
        sent(5, &vec![b'x'; SEGMENT_MAX * 2 + 1]),
        received(5, b"y"),
    ]);
    let lengths: Vec<usize> = packets.iter().map(|(_, packet)| packet.len() - 40).collect();
    assert_eq!(lengths, [0, 0, 0, SEGMENT_MAX, SEGMENT_MAX, 1, 1]);
    assert_eq!(line(&packets[6].1), format!("127.0.0.1:50000 > 127.0.0.1:80 A 1 {} y", SEGMENT_MAX * 2 + 2));
}

#[test]
fn a_connect_that_failed_leaves_no_packet() {
    let connect = Record::new(head(Op::Connect, 1, 4, -111)).with_part(PartKind::Addr, &sockaddr("127.0.0.1:1"));
    let (packets, summary) = made(&[socket(4, 2, 1), connect, Record::new(head(Op::Close, 2, 4, 0))]);
    assert!(packets.is_empty());
    assert_eq!(summary.connections, 0);
}

#[test]
fn a_duplicate_keeps_the_connection_open_until_it_closes_too() {
    let (packets, _) = made(&[
        accepted(5, "127.0.0.1:50000", "127.0.0.1:80"),
        Record::new(head(Op::Dup, 1, 5, 6)),
        Record::new(head(Op::Close, 2, 5, 0)),
        sent(6, b"still"),
        Record::new(head(Op::Close, 3, 6, 0)),
    ]);
    let lines: Vec<String> = packets.iter().skip(3).map(|(_, packet)| line(packet)).collect();
    assert!(lines[0].ends_with("still") && lines[1].contains(" AF "), "{lines:?}");
}

#[test]
fn a_shutdown_is_the_goodbye_and_close_says_no_other() {
    let shutdown = Record::new(Head { aux: 1, ..head(Op::Shutdown, 8, 5, 0) });
    let (packets, _) = made(&[
        accepted(5, "127.0.0.1:50000", "127.0.0.1:80"),
        shutdown,
        received(5, b"bye"),
        Record::new(head(Op::Read, 9, 5, 0)),
        Record::new(head(Op::Close, 9, 5, 0)),
    ]);
    let lines: Vec<String> = packets.iter().skip(3).map(|(_, packet)| line(packet)).collect();
    let (there, back) = ("127.0.0.1:50000 > 127.0.0.1:80", "127.0.0.1:80 > 127.0.0.1:50000");
    let expected = [
        format!("{back} AF 1 1 "),
        format!("{there} A 1 2 bye"),
        format!("{there} AF 4 2 "),
        format!("{back} A 2 5 "),
        format!("{there} A 5 2 "),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn unix_sockets_and_files_are_counted_and_left_out() {
    let (packets, summary) = made(&[socket(4, 1, 1), sent(4, b"x"), sent(9, b"y"), sent(9, b"z")]);
    assert!(packets.is_empty());
    let left_out: Vec<_> = summary.left_out.into_iter().collect();
    assert_eq!(left_out, [("Unix socket", 1), ("not a UDP or TCP socket whose creation was recorded", 2)]);
}

#[test]
fn packet_info_gives_the_local_address_of_a_socket_bound_to_any() {
    let mut control = 28u64.to_le_bytes().to_vec();
    control.extend([0i32.to_le_bytes(), 8i32.to_le_bytes(), 2i32.to_le_bytes()].concat());
    control.extend([10, 0, 0, 9, 10, 0, 0, 9]);
    let received = Record::new(head(Op::Recvmsg, 0, 3, 1))
        .with_part(PartKind::Addr, &sockaddr("10.0.0.1:1"))
        .with_part(PartKind::In, b"q")
        .with_part(PartKind::Control, &control);
    let (packets, _) = made(&[socket(3, 2, 2), bound(3, "0.0.0.0:53"), received]);
    assert_eq!(line(&packets[0].1), "10.0.0.1:1 > 10.0.0.9:53 udp q");
}

#[test]
fn ipv6_packets_have_the_version_and_length_of_ipv6() {
    let sent = Record::new(head(Op::Sendto, 0, 3, 2))
        .with_part(PartKind::Addr, &sockaddr("[::1]:9"))
        .with_part(PartKind::Out, b"hi");
    let (packets, _) = made(&[socket(3, 10, 2), bound(3, "[::]:7"), sent]);
    let packet = &packets[0].1;
    assert_eq!((packet[0] >> 4, packet[5], packet[6], packet.len()), (6, 10, 17, 50));
    assert_eq!(packet[8..24], packet[24..40], "both ends are ::1");
}

fn any_record() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let part = (1u8..10, proptest::collection::vec(any::<u8>(), 0..40));
    let fields = (0u16..3, prop::sample::select(Op::ALL), -2i64..9, -1i32..8, any::<u32>(), any::<u64>());
    (fields, proptest::collection::vec(part, 0..4)).prop_map(|((process, op, ret, fd, aux, time), parts)| {
        let mut record = Record::new(Head { size: 0, op: op as u16, thread: 0, order: 0, time, ret, fd, aux });
        for (kind, mut content) in parts {
            let kind = PartKind::from_number(kind).unwrap_or(PartKind::Value);
            if kind == PartKind::Addr && content.len() > 2 {
                content[0] = [1, 2, 10][content[2] as usize % 3];
                content[1] = 0;
            }
            record = record.with_part(kind, &content);
        }
        (process, record.as_bytes().to_vec())
    })
}

proptest! {
    #[test]
    fn any_records_make_a_file_that_reads_back(records in proptest::collection::vec(any_record(), 0..60)) {
        let mut pcap = Pcap::new(1);
        for (process, record) in &records {
            pcap.handle_record(*process, record);
        }
        let file = pcap.take_bytes();
        prop_assert_eq!(packets(&file).len() as u64, pcap.summary().packets);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        Pcap::new(0).handle_record(0, &bytes);
    }
}
