//! Cut, altered and extended files.

use super::*;

fn three_blocks() -> (Vec<Vec<(u16, Record)>>, Vec<u8>) {
    let blocks: Vec<Vec<_>> = (0..3).map(|block| (0..2).flat_map(|at| turn(block * 2 + at)).collect()).collect();
    let bytes = write(&blocks);
    (blocks, bytes)
}

/// Where the header block ends: nothing opens without it.
fn header_end(bytes: &[u8]) -> usize {
    open(bytes).blocks[1].offset as usize
}

#[test]
fn a_demo_cut_at_any_byte_keeps_every_whole_block() {
    let (blocks, bytes) = three_blocks();
    let whole = open(&bytes);
    let offsets: Vec<usize> = whole.blocks.iter().map(|block| block.offset as usize).chain([bytes.len()]).collect();
    let kinds: Vec<Kind> = whole.blocks.iter().map(|block| block.kind).collect();
    for cut in 0..bytes.len() {
        let opened = Demo::open(Cursor::new(&bytes[..cut]));
        if cut < header_end(&bytes) {
            assert!(opened.is_err(), "cut at {cut}");
            continue;
        }
        let mut demo = opened.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let remain = offsets.iter().filter(|&&offset| offset <= cut).count() - 1;
        let record_blocks = kinds[..remain].iter().filter(|&&kind| kind == Kind::RECORDS).count();
        let expected = kept(blocks[..record_blocks].iter().flatten());
        let truncation = demo.truncation().cloned().expect("a cut demo says so");
        assert_eq!(truncation.blocks as usize, remain, "cut at {cut}");
        assert_eq!(truncation.records as usize, expected.len(), "cut at {cut}");
        assert_eq!(truncation.offset as usize, offsets[remain], "cut at {cut}");
        let frames: Vec<_> = demo.frames().iter().collect();
        assert_eq!(frames, whole.frames().iter().take(record_blocks * 2).collect::<Vec<_>>(), "cut at {cut}");
        assert_eq!(truncation.frames as usize, demo.frames().len(), "cut at {cut}");
        assert_eq!(read_all(&mut demo).expect("what remains is whole"), expected, "cut at {cut}");
        let report = demo.verify().expect("the stream does not fail");
        assert!(!report.is_sound() && !report.committed, "cut at {cut}");
    }
}

#[test]
fn a_cut_demo_names_the_byte() {
    let (_, bytes) = three_blocks();
    let second = open(&bytes).blocks[3].offset as usize;
    let demo = open(&bytes[..second + 30]);
    let message = demo.truncation().expect("a cut demo says so").to_string();
    let full = open(&bytes).blocks[4].offset as usize - second;
    let expected = format!(
        "block 3 at byte {second:#x}: expected {full} bytes, found 30; 3 complete blocks, 16 records and 2 frames remain"
    );
    assert_eq!(message, expected);
}

#[test]
fn no_altered_byte_goes_unnoticed() {
    let (blocks, bytes) = three_blocks();
    let expected = kept(blocks.iter().flatten());
    for at in 0..bytes.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut altered = bytes.clone();
            altered[at] ^= mask;
            let Ok(mut demo) = Demo::open(Cursor::new(&altered)) else { continue };
            assert_eq!(demo.header(), &header(), "byte {at}");
            let cut = demo.truncation().is_some();
            match read_all(&mut demo) {
                Ok(records) if cut => assert!(expected.starts_with(&records), "byte {at}"),
                Ok(records) => assert_eq!(records, expected, "byte {at}"),
                Err(DemoError::Block { .. }) => {}
                Err(error) => panic!("byte {at}: {error}"),
            }
            let report = demo.verify().expect("the stream does not fail");
            assert!(!report.is_sound(), "byte {at} was altered and the demo is called sound");
        }
    }
}

#[test]
fn an_altered_block_of_a_complete_demo_is_named_and_the_others_still_read() {
    let (blocks, mut bytes) = three_blocks();
    let second = open(&bytes).blocks[3];
    assert_eq!(second.kind, Kind::RECORDS);
    bytes[second.offset as usize + 40] ^= 1;
    let mut demo = open(&bytes);
    assert_eq!(demo.truncation(), None);
    let mut records = demo.records();
    let mut read = Vec::new();
    let error = loop {
        match records.next() {
            Ok(Some((process, record))) => read.push((process, record.to_vec())),
            Ok(None) => panic!("the altered block was read"),
            Err(error) => break error,
        }
    };
    let DemoError::Block { index: 3, offset, problem: BlockProblem::Checksum { .. } } = error else {
        panic!("{error}");
    };
    assert_eq!(offset, second.offset);
    while let Some((process, record)) = records.next().expect("the last block is whole") {
        read.push((process, record.to_vec()));
    }
    let all = kept(blocks.iter().flatten());
    assert_eq!(read, [&all[..16], &all[32..]].concat());
}

#[test]
fn bytes_behind_the_commit_marker_are_reported() {
    let (blocks, mut bytes) = three_blocks();
    bytes.push(0);
    let mut demo = open(&bytes);
    assert_eq!(demo.truncation().map(|truncation| truncation.cause.clone()), Some(Cause::BytesAfterCommit));
    assert_eq!(read_all(&mut demo).expect("all blocks are whole"), kept(blocks.iter().flatten()));
}

#[test]
fn a_writer_that_was_killed_leaves_what_it_flushed() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &header(), WriterOptions::default()).expect("a vector takes all");
    let records = turn(1);
    for (process, record) in &records {
        writer.push(*process, record.as_bytes()).expect("the record is well-formed");
    }
    writer.flush_block().expect("a vector takes all");
    writer.push(0, records[0].1.as_bytes()).expect("the record is well-formed");
    drop(writer);
    let mut demo = open(&bytes);
    let truncation = demo.truncation().cloned().expect("a cut demo says so");
    assert_eq!(truncation.cause, Cause::NoCommit);
    assert_eq!(read_all(&mut demo).expect("what remains is whole"), kept(&records));
}

#[test]
fn a_block_whose_columns_do_not_add_up_gives_no_record() {
    let mut encoder = encode::Encoder::default();
    for (process, record) in turn(5) {
        encoder.push(process, record.as_bytes(), &record.head, &mut encode::ProcessPosition::default());
    }
    let columns = encoder.finish();
    for missing in 0..columns.len() {
        if columns[missing].1.is_empty() {
            continue;
        }
        let mut altered = columns;
        altered[missing].1 = &columns[missing].1[..columns[missing].1.len() - 1];
        let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
        writer.write_block(Kind::RECORDS, &altered).expect("a vector takes all");
        let (bytes, _) = writer.finish(&trailer()).expect("a vector takes all");
        let mut demo = open(&bytes);
        assert_eq!(demo.truncation(), None);
        let mut records = demo.records();
        assert!(matches!(records.next(), Err(DemoError::Block { index: 1, .. })), "column {}", columns[missing].0);
        assert!(matches!(records.next(), Ok(None)), "column {}", columns[missing].0);
        let cut = open(&bytes[..bytes.len() - 1]);
        let cause = cut.truncation().map(|truncation| (truncation.blocks, truncation.cause.clone()));
        assert!(matches!(cause, Some((1, Cause::Block(_)))), "column {}: {cause:?}", columns[missing].0);
    }
}

/// A disk with room for this many bytes more.
struct Disk {
    bytes: Vec<u8>,
    room: usize,
}

impl std::io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.room);
        if taken == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.room -= taken;
        self.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_keeps_every_whole_block_and_takes_nothing_behind_half_a_block() {
    let (blocks, bytes) = three_blocks();
    let half = open(&bytes).blocks[4].offset as usize + 50;
    let disk = Disk { bytes: Vec::new(), room: half };
    let mut writer = Writer::new(disk, &header(), WriterOptions::default()).expect("there is room");
    writer.state_chunk(0, b"archive of the first directory").expect("there is room");
    for (at, block) in blocks.iter().enumerate() {
        for (process, record) in block {
            writer.push(*process, record.as_bytes()).expect("nothing is written yet");
        }
        assert_eq!(writer.flush_block().is_ok(), at < 2);
    }
    writer.out.stream.room = 1 << 20;
    let error = writer.flush_block().expect_err("half a block stands there");
    assert_eq!(error.to_string(), "writing failed: an earlier write to this demo failed");
    let mut demo = open(&writer.out.stream.bytes);
    assert_eq!(demo.truncation().map(|truncation| truncation.blocks), Some(4));
    assert_eq!(read_all(&mut demo).expect("what remains is whole"), kept(blocks[..2].iter().flatten()));
}
