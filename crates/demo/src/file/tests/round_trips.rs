use std::io::Read;

use proptest::prelude::*;

use super::*;
use crate::Class;

#[test]
fn everything_that_was_written_comes_back() {
    let blocks: Vec<_> = (0..5).map(|block| (0..20).flat_map(|at| turn(block * 20 + at)).collect()).collect();
    let bytes = write(&blocks);
    let mut demo = open(&bytes);
    assert_eq!(demo.truncation(), None);
    assert_eq!(demo.header(), &header());
    let totals = demo.trailer().expect("the demo is complete").totals;
    assert_eq!(demo.trailer(), Some(&Trailer { totals, ..trailer() }));
    assert_eq!((totals.records, totals.frames, totals.processes), (800, 100, 2));
    assert_eq!(totals.file_bytes, bytes.len() as u64);
    assert_eq!(read_all(&mut demo).expect("all blocks are whole"), kept(blocks.iter().flatten()));
    let mut archive = Vec::new();
    demo.state_archive(0).read_to_end(&mut archive).expect("all blocks are whole");
    assert_eq!(archive, b"archive of the first directory");
    let report = demo.verify().expect("the stream does not fail");
    assert!(report.is_sound(), "{:?}", report.problems);
    assert_eq!(report.totals, totals);
}

#[test]
fn a_record_that_is_pushed_at_a_time_has_that_time_and_nothing_else_changed() {
    type Push<'a> = &'a dyn Fn(&mut Writer<Vec<u8>>, u16, &Record);
    let records = turn(1);
    let demo = |push: Push| {
        let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
        records.iter().for_each(|(process, record)| push(&mut writer, *process, record));
        writer.finish(&trailer()).expect("a vector takes all").0
    };
    let time_ns = 7_000_000u64;
    let at_time = demo(&|writer, process, record| {
        writer
            .push_headed(process, record.as_bytes(), &Head { time: time_ns, ..record.head })
            .expect("the record is well-formed");
    });
    let stamped = demo(&|writer, process, record| {
        let mut bytes = record.as_bytes().to_vec();
        bytes[16..24].copy_from_slice(&time_ns.to_le_bytes());
        writer.push(process, &bytes).expect("the record is well-formed");
    });
    let unstamped = demo(&|writer, process, record| {
        writer.push(process, record.as_bytes()).expect("the record is well-formed");
    });
    assert_eq!(at_time, stamped);
    assert_ne!(at_time, unstamped);
}

#[test]
fn a_demo_whose_level_changes_is_read_as_any_other() {
    let blocks: Vec<_> =
        (0..3).map(|block| (0..200).flat_map(|at| turn(block * 200 + at)).collect::<Vec<_>>()).collect();
    let sizes = [None, Some(-5), Some(19)].map(|level| {
        let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
        for block in &blocks {
            for (process, record) in block {
                writer.push(*process, record.as_bytes()).expect("the record is well-formed");
            }
            writer.flush_block().expect("a vector takes all");
            level.map_or(Ok(()), |level| writer.set_level(level)).expect("zstd has these levels");
        }
        let file = writer.finish(&trailer()).expect("a vector takes all").0;
        assert_eq!(read_all(&mut open(&file)).expect("all blocks are whole"), kept(blocks.iter().flatten()));
        file.len()
    });
    let [usual, fast, small] = sizes;
    assert!(small < usual && usual < fast, "{sizes:?}");
}

#[test]
fn reading_from_a_frame_begins_at_its_first_record() {
    let blocks: Vec<_> = (0..4).map(|block| (0..3).flat_map(|at| turn(block * 3 + at)).collect()).collect();
    let bytes = write(&blocks);
    let mut demo = open(&bytes);
    let all = kept(blocks.iter().flatten());
    assert_eq!(demo.frames().len(), 12);
    for frame in 0..12 {
        let entry = demo.frames().get(frame).expect("the frame is there");
        assert_eq!((entry.first_record, entry.last_record), (frame as u64 * 6, frame as u64 * 6 + 5));
        assert_eq!(entry.time_ns, frame as u64 * 20_000_000 + 3_001_000);
        let mut records = demo.records_from_frame(frame).expect("the frame is there");
        let mut at = frame * 8;
        while let Some((process, record)) = records.next().expect("all blocks are whole") {
            assert_eq!((process, record), (all[at].0, &all[at].1[..]));
            at += 1;
        }
        assert_eq!(at, all.len());
    }
    assert!(matches!(demo.records_from_frame(12), Err(DemoError::NoFrame { frame: 12, frames: 12 })));
}

#[test]
fn runs_of_a_process_hold_the_same_bytes_as_single_records() {
    let blocks: Vec<_> = (0..2).map(|block| (0..3).flat_map(|at| turn(block * 3 + at)).collect()).collect();
    let bytes = write(&blocks);
    let mut demo = open(&bytes);
    let mut runs = demo.records();
    let mut joined = Vec::new();
    while let Some((process, records)) = runs.next_run().expect("all blocks are whole") {
        let mut at = 0;
        while at < records.len() {
            let head = Head::from_bytes(&records[at..]).expect("records lie behind each other");
            joined.push((process, records[at..at + head.size as usize].to_vec()));
            at += head.size as usize;
        }
    }
    assert_eq!(joined, kept(blocks.iter().flatten()));
}

#[test]
fn state_archives_of_several_directories_stay_apart() {
    let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
    let large: Vec<u8> = (0..3_000_000u32).map(|at| (at >> 7) as u8).collect();
    for (dir, bytes) in [(1, &large[..1000]), (0, &large[..]), (1, &large[1000..5000])] {
        writer.state_chunk(dir, bytes).expect("a vector takes all");
    }
    let (bytes, totals) = writer.finish(&trailer()).expect("a vector takes all");
    assert_eq!(totals.state_bytes, 3_005_000);
    let mut demo = open(&bytes);
    for (dir, expected) in [(0, &large[..]), (1, &large[..5000]), (2, &[])] {
        let mut archive = Vec::new();
        demo.state_archive(dir).read_to_end(&mut archive).expect("all blocks are whole");
        assert!(archive == expected, "directory {dir}");
    }
}

#[test]
fn bytes_that_are_no_record_are_refused_and_change_nothing() {
    let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
    let record = Record::new(head(Op::Getpid, 7, -1, 0)).with_part(PartKind::Value, b"12345678");
    for wrong in [&record.as_bytes()[..48], &record.as_bytes()[..39], &[]] {
        let error = writer.push(3, wrong).expect_err("the length is not that of the head");
        assert!(matches!(error, WriteError::Record { process: 3, order: 0, .. }), "{error}");
    }
    writer.push(0, record.as_bytes()).expect("the record is well-formed");
    let (bytes, totals) = writer.finish(&trailer()).expect("a vector takes all");
    assert_eq!((totals.processes, totals.records), (1, 1));
    assert!(open(&bytes).verify().expect("the stream does not fail").is_sound());
}

#[test]
fn long_files_have_several_index_blocks() {
    let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
    let work = Record::new(head(Op::Listen, 0, 3, 0));
    for frame in 0..600_000u64 {
        let wait = Head { time: frame * frame * 1000, ..head(Op::Select, 0, -1, 5) };
        writer.push(0, work.as_bytes()).expect("the record is well-formed");
        writer.push(0, Record::new(wait).as_bytes()).expect("the record is well-formed");
    }
    let (bytes, totals) = writer.finish(&trailer()).expect("a vector takes all");
    let mut demo = open(&bytes);
    assert!(demo.blocks.iter().filter(|block| block.kind == Kind::INDEX).count() > 1);
    assert_eq!((totals.frames, demo.frames().len()), (600_000, 600_000));
    assert!(demo.verify().expect("the stream does not fail").is_sound());
    let indexed = demo.frames().clone();
    let cut = open(&bytes[..bytes.len() - 1]);
    assert_eq!(cut.frames(), &indexed);
}

#[test]
fn a_rewritten_demo_holds_the_edits_and_all_else() {
    let records: Vec<_> = (0..9).flat_map(turn).collect();
    let bytes = write(std::slice::from_ref(&records));
    let mut demo = open(&bytes);
    let (copy, _) = rewrite(&mut demo, Vec::new(), |_, _| {}).expect("both sides work");
    let mut copied = open(&copy);
    assert_eq!(copied.header(), &header());
    assert_eq!(
        copied.trailer(),
        demo.trailer()
            .map(|trailer| Trailer {
                totals: Totals { file_bytes: copy.len() as u64, blocks: copied.blocks.len() as u32, ..trailer.totals },
                ..trailer.clone()
            })
            .as_ref()
    );
    assert_eq!(read_all(&mut copied).expect("whole"), read_all(&mut demo).expect("whole"));

    let (edited, totals) = rewrite(&mut demo, Vec::new(), |process, record| {
        if process == 1 {
            record.clear();
        } else if let Some(last) = record.get_mut(HEAD_BYTES..).and_then(<[u8]>::last_mut) {
            *last ^= 0x40;
        }
    })
    .expect("both sides work");
    assert_eq!((totals.processes, totals.records), (1, 54));
    let mut expected: Vec<_> = kept(&records).into_iter().filter(|(process, _)| *process == 0).collect();
    for (_, record) in &mut expected {
        if record.len() > HEAD_BYTES {
            *record.last_mut().expect("not empty") ^= 0x40;
        }
    }
    assert_eq!(read_all(&mut open(&edited)).expect("whole"), expected);
}

fn any_value() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(-11), 0..2000i64, any::<i64>(), (0..5000i64).prop_map(|us| us * 1000)]
}

fn any_record() -> impl Strategy<Value = (u16, Record)> {
    let known = (0..Op::ALL.len()).prop_map(|at| Op::ALL[at] as u16);
    let op = prop_oneof![8 => known, 1 => any::<u16>()];
    let content = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        (0..300usize).prop_map(|length| vec![b'x'; length]),
    ];
    let kind = (1..9u8).prop_map(|number| PartKind::from_number(number).expect("kinds are 1 to 8"));
    let parts = proptest::collection::vec((kind, content), 0..4);
    let aux = prop_oneof![0..3u32, any::<u32>(), Just(u32::MAX)];
    let fields = (0..3u16, op, 0..3u16, any::<u64>(), any_value(), -1..6i32, aux, parts, any::<bool>());
    fields.prop_map(|(process, op, thread, time, mut ret, fd, mut aux, parts, as_long_as_first)| {
        if let Some((_, content)) = parts.first().filter(|_| as_long_as_first) {
            (ret, aux) = (content.len() as i64, content.len() as u32);
        }
        let head = Head { size: 0, op, thread, order: 0, time, ret, fd, aux };
        let record = parts.iter().fold(Record::new(head), |record, (kind, content)| record.with_part(*kind, content));
        (process, record)
    })
}

proptest! {
    #[test]
    fn any_records_come_back(
        records in proptest::collection::vec(any_record(), 0..120),
        repeats in 1..4usize,
        blocks in 1..4usize,
        garble in any::<u64>(),
    ) {
        let records: Vec<_> = std::iter::repeat_n(records, repeats).flatten().collect();
        let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
        let mut expected = kept(&records);
        for (at, (process, record)) in records.iter().enumerate() {
            let mut bytes = record.as_bytes().to_vec();
            // Now and then a body that is not made of well-formed parts.
            if garble >> (at % 64) & 1 == 1 && bytes.len() > HEAD_BYTES {
                let place = HEAD_BYTES + garble as usize % (bytes.len() - HEAD_BYTES);
                bytes[place] ^= 0x55;
                expected[at].1[place] ^= 0x55;
            }
            writer.push(*process, &bytes).expect("the record is well-formed");
            if at % (records.len() / blocks + 1) == 0 {
                writer.flush_block().expect("a vector takes all");
            }
        }
        let (bytes, totals) = writer.finish(&trailer()).expect("a vector takes all");
        prop_assert_eq!(totals.records as usize, records.len());
        let mut demo = open(&bytes);
        prop_assert_eq!(read_all(&mut demo).expect("all blocks are whole"), expected);
        let report = demo.verify().expect("the stream does not fail");
        // Of any records, few are such as a call leaves.
        let is_content = |problem: &Problem| matches!(problem, Problem::Parts { .. } | Problem::Result { .. });
        prop_assert!(report.committed && report.problems.iter().all(is_content), "{:?}", report.problems);
    }

    #[test]
    fn the_clocks_of_any_thread_come_back(
        reads in proptest::collection::vec((0..3u16, 0..4u16, 0..4u32, any_value()), 0..200),
    ) {
        let ops = [Op::ClockGettime, Op::Gettimeofday, Op::Time, Op::Clock];
        let record = |&(process, thread, aux, ret): &(u16, u16, u32, i64)| {
            let op = ops[thread as usize];
            (process, Record::new(Head { thread, ..head(op, ret, -1, aux) }))
        };
        let records: Vec<_> = reads.iter().map(record).collect();
        prop_assert!(records.iter().all(|(_, record)| Op::from_number(record.head.op).map(Op::class) == Some(Class::Clock)));
        let bytes = write(std::slice::from_ref(&records));
        prop_assert_eq!(read_all(&mut open(&bytes)).expect("all blocks are whole"), kept(&records));
    }
}
