use std::io::Cursor;

use super::*;
use crate::address::sockaddr;
use crate::{Header, PartKind, Record, Trailer, Writer, WriterOptions};

fn demo(records: &[Record], duration_ns: u64) -> Demo<Cursor<Vec<u8>>> {
    let mut writer = Writer::new(Vec::new(), &Header::default(), WriterOptions::default()).expect("a vector takes all");
    for record in records {
        writer.push(0, record.as_bytes()).expect("the record is well-formed");
    }
    let trailer = Trailer { duration_ns, ..Trailer::default() };
    let (bytes, _) = writer.finish(&trailer).expect("a vector takes all");
    Demo::open(Cursor::new(bytes)).expect("the demo opens")
}

fn head(op: Op, time_ms: u64, fd: i32, ret: i64, aux: u32) -> Head {
    Head { size: 0, op: op as u16, thread: 0, order: 0, time: time_ms * 1_000_000, ret, fd, aux }
}

/// A socket, then frames of 20 ms: a datagram of each client that answers, 3 ms of work, and the wait.
fn match_of(frames: u64, clients: u64) -> Vec<Record> {
    let value = [2i32.to_le_bytes(), 2i32.to_le_bytes(), [0; 4]].concat();
    let mut records = vec![Record::new(head(Op::Socket, 0, -1, 3, 0)).with_part(PartKind::Value, &value)];
    for frame in 0..frames {
        let start = frame * 20;
        for client in 0..clients {
            let peer = sockaddr(&format!("10.0.0.{}:27005", client + 1));
            let payload = vec![7; 10 + client as usize];
            records.push(
                Record::new(head(Op::Recvfrom, start, 3, payload.len() as i64, 1400))
                    .with_part(PartKind::Addr, &peer)
                    .with_part(PartKind::In, &payload),
            );
            records.push(
                Record::new(head(Op::Sendto, start + 3, 3, 100, 100))
                    .with_part(PartKind::Addr, &peer)
                    .with_part(PartKind::Out, &[1; 100]),
            );
        }
        records.extend((0..5).map(|read| Record::new(head(Op::ClockGettime, start + 3, -1, 1000 + read, 1))));
        records.push(Record::new(head(Op::Select, start + 20, -1, 0, 17)));
    }
    numbered(records)
}

fn numbered(records: Vec<Record>) -> Vec<Record> {
    records
        .into_iter()
        .enumerate()
        .map(|(order, record)| {
            let head = Head { order: order as u64, ..record.head };
            crate::Parts::new(record.as_bytes()).fold(Record::new(head), |made, part| {
                made.with_part(PartKind::from_number(part.kind).expect("it was made here"), part.bytes)
            })
        })
        .collect()
}

#[test]
fn a_frame_has_its_work_its_traffic_and_its_calls() {
    let mut demo = demo(&match_of(10, 2), 210_000_000);
    let timeline = Timeline::of(&mut demo, &Interest::default()).expect("it is sound");
    assert_eq!(timeline.kind, UnitKind::Frames(1));
    // Ten frames, and what comes behind the last.
    assert_eq!((timeline.frames, timeline.units.len()), (10, 11));
    let Unit { end_ns, busy_ns, calls } = timeline.units[4];
    assert_eq!((end_ns, busy_ns, calls), (100_000_000, 3_000_000, 10));
    assert_eq!(timeline.units[10].end_ns, 210_000_000);
    let names: Vec<&str> = timeline.clients.iter().map(|lane| lane.name.as_str()).collect();
    assert_eq!(names, ["10.0.0.2:27005", "10.0.0.1:27005"]);
    let moved = Moved { datagrams_in: 1, bytes_in: 11, datagrams_out: 1, bytes_out: 100 };
    assert_eq!(timeline.clients[0].cells[4], (4, moved));
    let calls = &timeline.calls[&4];
    let texts: Vec<(&str, u32)> =
        calls.iter().map(|call| (timeline.texts[call.text as usize].as_str(), call.count)).collect();
    assert_eq!(texts.len(), 6, "the reads of the clock are one line: {texts:?}");
    assert!(texts[1].0.starts_with("sendto(3, 100) = 100 10.0.0.1:27005 out 100: 01 01"), "{texts:?}");
    assert_eq!(texts[4], ("clock_gettime()", 5));
    assert_eq!(texts[5].0, "select(17 ms) = 0");
    assert_eq!((calls[0].time_ns, calls[0].record), (80_000_000, 41));
}

#[test]
fn a_demo_without_frames_is_cut_into_slices() {
    let records: Vec<Record> = (0..50).map(|at| Record::new(head(Op::Getpid, 0, -1, at, 0))).collect();
    let mut demo = demo(&numbered(records), 5_000_000_000);
    let timeline = Timeline::of(&mut demo, &Interest::default()).expect("it is sound");
    assert_eq!((timeline.kind, timeline.units.len()), (UnitKind::Slices(5_000_000), 1000));
    assert_eq!((timeline.units[0].calls, timeline.threads.len()), (50, 1));
    let empty = Timeline::of(&mut self::demo(&[], 0), &Interest::default()).expect("it is sound");
    assert_eq!((empty.units.len(), empty.calls.len()), (1, 0));
}

#[test]
fn a_crowd_of_strangers_has_a_few_lanes() {
    let mut demo = demo(&match_of(2, 200), 40_000_000);
    let timeline = Timeline::of(&mut demo, &Interest::default()).expect("it is sound");
    assert_eq!(timeline.clients.len(), LANES_MAX + 1);
    let others = &timeline.clients[LANES_MAX];
    assert_eq!((others.name.as_str(), timeline.clients_all), ("others", 200));
    assert_eq!(others.cells[1].1.datagrams_in, 188);
}

#[test]
fn of_a_long_demo_many_frames_are_one_unit_and_the_interesting_ones_have_calls() {
    let mut demo = demo(&match_of(30_000, 2), 600_000_000_000);
    let mut frame_ns = vec![1_000; 30_000];
    frame_ns[20_000] = 9_000_000;
    let interest = Interest { frames: Some(100..110), diverged: Some(29_000), frame_ns };
    let timeline = Timeline::of(&mut demo, &interest).expect("it is sound");
    assert_eq!((timeline.kind, timeline.units.len()), (UnitKind::Frames(2), 15_001));
    for unit in [50, 54, 10_000, 14_500, 0, 14_999] {
        assert!(timeline.calls.contains_key(&unit), "{unit}");
    }
    let kept: u64 = timeline.calls.values().flatten().map(|calls| u64::from(calls.count)).sum();
    assert!(kept <= 150_000 && kept > 140_000, "{kept}");
    assert!(!timeline.calls.contains_key(&7_001));
}
