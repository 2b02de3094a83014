//! Tests of the file as a whole.

mod cuts;
mod newer;
mod round_trips;

use std::io::Cursor;

use super::block::Kind;
use super::*;
use crate::{HEAD_BYTES, Head, Op, PartKind, Record};

/// A header with every field set.
fn header() -> Header {
    Header {
        architecture: "x86_64".into(),
        executable: b"/usr/games/server".to_vec(),
        build_id: vec![1; 20],
        argv: vec![b"server".to_vec(), b"-f".to_vec(), b"a b.cfg".to_vec()],
        cwd: b"/srv".to_vec(),
        environment: vec![(b"TZ".to_vec(), b"UTC".to_vec()), (b"EMPTY".to_vec(), Vec::new())],
        cpu_flags: vec!["sse2".into(), "avx2".into()],
        cpu_model: "Some CPU @ 3 GHz".into(),
        kernel_release: "6.1.0".into(),
        recorded_at_unix_ns: 1_795_000_000_123_456_789,
        prony_version: "0.1.0".into(),
        frame_rule: crate::FrameRule::BlockingWait,
        state_directories: vec![b"/var/lib/server".to_vec(), b"/srv/data".to_vec()],
        excluded_objects: vec![b"libjemalloc.so.2".to_vec()],
        properties: vec![("aslr".into(), b"off".to_vec())],
    }
}

fn trailer() -> Trailer {
    let file = FileEntry {
        path: b"/srv/map".to_vec(),
        size_bytes: 9,
        hash: [7; 32],
        role: FileRole::State,
        content: Some(300),
    };
    Trailer {
        files: vec![file],
        objects: vec![ObjectEntry { path: b"/lib/libc.so.6".to_vec(), build_id: vec![2; 20] }],
        exit: Exit::Signal(15),
        totals: Totals::default(),
        duration_ns: 26_000_000_000,
        notes: vec!["unrecorded system call 318".into()],
        unsearched: vec![b"/usr/bin/deno".to_vec()],
    }
}

fn head(op: Op, ret: i64, fd: i32, aux: u32) -> Head {
    Head { size: 0, op: op as u16, thread: 0, order: 0, time: 0, ret, fd, aux }
}

/// One turn of a main loop, three records of it in a child process.
fn turn(number: u64) -> Vec<(u16, Record)> {
    let at = |head: Head, step: u64| Head { time: number * 20_000_000 + step * 1_000_500, ..head };
    let payload: Vec<u8> = (0..number % 23 + 1).map(|byte| byte as u8 ^ number as u8).collect();
    let length = payload.len() as i64;
    let address = [2, 0, 0x1f, number as u8 % 3, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    vec![
        (0, Record::new(at(head(Op::ClockGettime, 5_000 + number as i64 * 20_000_000, -1, 1), 0))),
        (0, Record::new(at(head(Op::Gettimeofday, 9_000 + number as i64 * 20_000_000, -1, 0), 0))),
        (
            0,
            Record::new(at(head(Op::Recvfrom, length, 3, 1400), 1))
                .with_part(PartKind::Addr, &address)
                .with_part(PartKind::In, &payload),
        ),
        (1, Record::new(at(head(Op::Read, -11, 4, 64), 1))),
        (0, Record::new(at(head(Op::Recvfrom, -11, 3, 1400), 1))),
        (
            0,
            Record::new(at(head(Op::Sendto, length, 3, length as u32), 2))
                .with_part(PartKind::Addr, &address)
                .with_part(PartKind::Out, &payload),
        ),
        (1, Record::new(at(head(Op::Write, length, 4, length as u32), 2)).with_part(PartKind::Out, &payload)),
        (0, Record::new(at(head(Op::Select, 0, -1, 17), 3))),
    ]
}

fn write(blocks: &[Vec<(u16, Record)>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
    writer.state_chunk(0, b"archive of the first directory").expect("a vector takes all");
    for block in blocks {
        for (process, record) in block {
            writer.push(*process, record.as_bytes()).expect("the record is well-formed");
        }
        writer.flush_block().expect("a vector takes all");
    }
    writer.finish(&trailer()).expect("a vector takes all").0
}

/// What a demo must give back for what was pushed: `order` counted, `time` as the format keeps it.
fn kept<'a>(pushed: impl IntoIterator<Item = &'a (u16, Record)>) -> Vec<(u16, Vec<u8>)> {
    let mut places = std::collections::HashMap::<u16, (u64, u64)>::new();
    let keep = |(process, record): &'a (u16, Record)| {
        let (order, time) = places.entry(*process).or_default();
        let head = Head::from_bytes(record.as_bytes()).expect("a record begins with a head");
        let timed = match Op::from_number(head.op).map(Op::class) {
            Some(crate::Class::Wait | crate::Class::Output) => true,
            Some(crate::Class::Input) => head.ret > 0,
            _ => false,
        };
        if timed {
            *time = head.time / 1000 * 1000;
        }
        let mut bytes = record.as_bytes().to_vec();
        bytes[..HEAD_BYTES].copy_from_slice(&Head { order: *order, time: *time, ..head }.to_bytes());
        *order += 1;
        (*process, bytes)
    };
    pushed.into_iter().map(keep).collect()
}

fn read_all<R: std::io::Read + std::io::Seek>(demo: &mut Demo<R>) -> Result<Vec<(u16, Vec<u8>)>, DemoError> {
    let mut out = Vec::new();
    let mut records = demo.records();
    while let Some((process, record)) = records.next()? {
        out.push((process, record.to_vec()));
    }
    Ok(out)
}

fn open(bytes: &[u8]) -> Demo<Cursor<&[u8]>> {
    Demo::open(Cursor::new(bytes)).expect("the demo opens")
}
