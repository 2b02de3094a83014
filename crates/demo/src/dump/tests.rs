use proptest::prelude::*;

use super::*;
use crate::Record;
use crate::address::sockaddr;

fn head(op: Op, fd: i32, aux: u32, ret: i64) -> Head {
    Head { size: 0, op: op as u16, thread: 1, order: 412, time: 1_203_441_999, ret, fd, aux }
}

fn text(record: &Record) -> String {
    Line::new(0, 38, record.as_bytes()).expect("a whole record").to_string()
}

#[test]
fn a_datagram_shows_its_address_and_first_bytes() {
    let record = Record::new(head(Op::Recvfrom, 4, 1400, 20))
        .with_part(PartKind::Addr, &sockaddr("127.0.0.1:40112"))
        .with_part(PartKind::In, b"\xff\xff\xff\xffgetinfo xxxxxxxx");
    assert_eq!(
        text(&record),
        "#412 frame 38 1.203441s t1 recvfrom(4, 1400) = 20 127.0.0.1:40112 \
         in 20: ff ff ff ff 67 65 74 69 6e 66 6f 20 78 78 78 78 |....getinfo xxxx|…"
    );
}

#[test]
fn waits_clocks_and_errors_read_as_what_they_are() {
    let ready = [5i32.to_le_bytes(), 1i32.to_le_bytes(), 7i32.to_le_bytes(), 0x11i32.to_le_bytes()].concat();
    let wait = Record::new(head(Op::EpollWait, 3, WAIT_FOREVER, 2)).with_part(PartKind::Ready, &ready);
    assert_eq!(text(&wait), "#412 frame 38 1.203441s t1 epoll_wait(3, forever) = 2 {5: 0x1, 7: 0x11}");
    let clock = Record::new(head(Op::ClockGettime, -1, 1, 5_000_000_042));
    assert_eq!(text(&clock), "#412 frame 38 1.203441s t1 clock_gettime(1) = 5.000000042s");
    // Ticks of the processor, not nanoseconds.
    let stamp = Record::new(head(Op::Rdtsc, -1, 0, 5_000_000_042));
    assert_eq!(text(&stamp), "#412 frame 38 1.203441s t1 rdtsc() = 5000000042");
    let nothing = Record::new(head(Op::Recv, 4, 9, -11));
    assert_eq!(text(&nothing), "#412 frame 38 1.203441s t1 recv(4, 9) = -1 EAGAIN");
    let host = Record::new(head(Op::Gethostbyname, -1, 0, 0)).with_part(PartKind::Addr, &[127, 0, 0, 1]);
    assert_eq!(text(&host), "#412 frame 38 1.203441s t1 gethostbyname() = 0 127.0.0.1");
    let open = Record::new(head(Op::Snapshot, -1, 0, 6)).with_part(PartKind::Path, b"/proc/stat");
    assert_eq!(text(&open), "#412 frame 38 1.203441s t1 open() = 6 \"/proc/stat\"");
}

#[test]
fn a_call_and_a_part_of_a_newer_version_are_shown_by_number() {
    let mut bytes = Record::new(head(Op::Send, 1, 0, 0)).with_part(PartKind::Out, b"a").as_bytes().to_vec();
    bytes[4..6].copy_from_slice(&999u16.to_le_bytes());
    bytes[40] = 77;
    let line = Line::new(2, 0, &bytes).expect("a whole record");
    assert_eq!(line.to_string(), "p2 #412 frame 0 1.203441s t1 call 999(1) = 0 part 77 1: 61 |a|");
}

#[test]
fn in_full_every_byte_has_its_place() {
    let record = Record::new(head(Op::Send, 4, 18, 18)).with_part(PartKind::Out, b"0123456789abcdefgh");
    let line = Line::new(0, 38, record.as_bytes()).expect("a whole record").in_full(true);
    assert_eq!(
        line.to_string(),
        "#412 frame 38 1.203441s t1 send(4, 18) = 18 out 18:\n    \
         000000 30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  |0123456789abcdef|\n    \
         000010 67 68                                            |gh|"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 40..200), full in any::<bool>()) {
        let mut bytes = bytes;
        bytes[..4].copy_from_slice(&80u32.to_le_bytes());
        let _ = Line::new(0, 0, &bytes).expect("a valid size").in_full(full).to_string();
    }
}
