//! What this reader does with files of a newer writer.

use super::*;

#[test]
fn another_version_is_reported_with_what_is_supported() {
    let mut bytes = write(&[turn(0)]);
    bytes[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..12]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    let error = Demo::open(Cursor::new(&bytes)).err().expect("the version is unknown");
    assert_eq!(error.to_string(), "format version expected 1, found 2");
    assert!(matches!(error, DemoError::Version { found: 2, supported: 1, newer: true }));
}

#[test]
fn what_is_no_demo_is_recognized_by_its_first_bytes() {
    let error = Demo::open(Cursor::new(b"\x7fELF\x02\x01\x01\x00 and more")).err().expect("no demo");
    assert_eq!(error.to_string(), "magic expected `89 50 52 4f 4e 59 0d 0a`, found `7f 45 4c 46 02 01 01 00`");
    let error = Demo::open(Cursor::new(b"\x89PRO")).err().expect("too short");
    assert_eq!(error.to_string(), "file head expected 16 bytes, found 4");
}

#[test]
fn records_of_unknown_calls_and_part_kinds_pass_through() {
    let unknown = Head { op: 60_000, time: 77_000, ..head(Op::Send, 5, 3, 5) };
    let mut bytes = Record::new(unknown).with_part(PartKind::Out, b"hello").as_bytes().to_vec();
    bytes[HEAD_BYTES] = 200;
    let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
    writer.push(0, &bytes).expect("the record is well-formed");
    let (file, _) = writer.finish(&trailer()).expect("a vector takes all");
    bytes[16..24].fill(0);
    assert_eq!(read_all(&mut open(&file)).expect("all blocks are whole"), [(0, bytes)]);
}

#[test]
fn blocks_of_unknown_kind_are_skipped() {
    let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("a vector takes all");
    let records = turn(3);
    let (first, second) = records.split_at(4);
    let push = |writer: &mut Writer<Vec<u8>>, records: &[(u16, Record)]| {
        for (process, record) in records {
            writer.push(*process, record.as_bytes()).expect("the record is well-formed");
        }
        writer.flush_block().expect("a vector takes all");
    };
    push(&mut writer, first);
    writer.write_block(block::Kind(900), &[(1, b"of a newer version")]).expect("a vector takes all");
    push(&mut writer, second);
    let (bytes, _) = writer.finish(&trailer()).expect("a vector takes all");
    let mut demo = open(&bytes);
    assert_eq!(read_all(&mut demo).expect("all blocks are whole"), kept(&records));
    assert!(demo.verify().expect("the stream does not fail").is_sound());
    let mut cut = open(&bytes[..bytes.len() - 1]);
    assert_eq!(read_all(&mut cut).expect("all blocks are whole"), kept(&records));
}

#[test]
fn fields_and_columns_of_unknown_number_are_skipped() {
    let mut fields = header().to_bytes();
    fields::put(&mut fields, 9_000, b"of a newer version");
    assert_eq!(Header::from_bytes(&fields), Ok(header()));
    let mut fields = trailer().to_bytes();
    fields::put(&mut fields, 9_000, b"of a newer version");
    assert_eq!(Trailer::from_bytes(&fields, 0), Ok(trailer()));

    let mut packer = block::Packer::new(1).expect("zstd starts");
    let packed = packer.pack(Kind::RECORDS, &[(1, b"known"), (999, b"unknown")]).expect("small");
    let mut unpacker = block::Unpacker::new().expect("zstd starts");
    let head = unpacker.read(&mut &packed[..], Some(0)).ok().expect("the block is whole");
    unpacker.unpack(&head).expect("the block is whole");
    assert_eq!(unpacker.column(1), b"known");
}
