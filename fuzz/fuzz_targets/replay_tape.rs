//! Builds a demo field by field and lays it out as a replay does: `cargo +nightly fuzz run replay_tape`.
//!
//! An input is a row of choices, behind which random ones follow. They make records of processes and threads, whose numbers are drawn near those of earlier records; or
//! the columns of a block of records, whose templates, shapes, slots, processes, counts and dictionary entries are drawn near those that the
//! block has. Bytes alone do not get there: nearly all of them end at the first column.
//!
//! Nothing panics, and no more is laid out than the limit permits.
#![no_main]

use std::fs::File;
use std::io::{Cursor, Seek, Write};

use libfuzzer_sys::fuzz_target;
use prony_demo::{Demo, Exit, HEAD_BYTES, Head, Header, Op, PartKind, Record, Totals, Trailer, Writer, WriterOptions};
use prony_replay::lay_out_demo;
use prony_testing::random::SplitMix64;
use rustix::fs::{MemfdFlags, memfd_create};

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices { bytes, goes_on: SplitMix64(u64::from(crc32c::crc32c(bytes))), known: vec![0, 1] };
    let demo = match choices.byte() % 3 {
        0 => whole(&mut choices),
        _ => cut(&mut choices),
    };
    if let Ok(mut demo) = Demo::open(Cursor::new(&demo)) {
        let report = demo.verify().expect("memory does not fail");
        assert!(!(demo.truncation().is_some() && report.is_sound()));
    }
    let limit = [64 << 10, 1 << 20, 64 << 20][usize::from(choices.byte() % 3)];
    let mut file = File::from(memfd_create("demo", MemfdFlags::CLOEXEC).expect("there is memory"));
    file.write_all(&demo).and_then(|()| file.rewind()).expect("there is memory");
    let _ = lay_out_demo(file, limit);
});

/// Choices that the input makes, and random ones that follow from it when it is over: short inputs are whole demos, too.
struct Choices<'a> {
    bytes: &'a [u8],
    goes_on: SplitMix64,
    /// Numbers that were chosen before.
    known: Vec<u64>,
}

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else { return self.goes_on.next_number() as u8 };
        self.bytes = rest;
        first
    }

    /// A number below this one, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// A number near one that was chosen before, or near the end of a range.
    fn near(&mut self) -> u64 {
        const ENDS: [u64; 12] =
            [0, 1, 7, 255, 256, 4096, 65_535, 65_536, u32::MAX as u64, 1 << 32, i64::MAX as u64, u64::MAX];
        let number = match self.byte() {
            end @ 0..=15 => ENDS[usize::from(end) % ENDS.len()],
            known => {
                let step = self.byte();
                let base = self.known[usize::from(known) % self.known.len()];
                base.wrapping_add(u64::from(step % 5)).wrapping_sub(2)
            }
        };
        self.known.push(number);
        number
    }

    /// Mostly a number below this one, else one near those before.
    fn index(&mut self, limit: usize) -> u64 {
        match self.byte() {
            248.. => self.near(),
            byte => u64::from(byte) % limit.max(1) as u64,
        }
    }
}

fn header() -> Header {
    Header {
        architecture: std::env::consts::ARCH.to_owned(),
        executable: b"/bin/true".to_vec(),
        argv: vec![b"true".to_vec()],
        cwd: b"/".to_vec(),
        ..Header::default()
    }
}

/// A whole demo of records that the writer takes.
fn whole(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("memory takes it");
    for _ in 0..choices.byte() {
        let process = choices.index(4) as u16;
        let record = record(choices);
        let _ = writer.push(process, &record);
        if choices.byte() == 1 {
            writer.flush_block().expect("memory takes it");
        }
    }
    let trailer = Trailer { exit: Exit::Code(0), totals: Totals::default(), ..Trailer::default() };
    writer.finish(&trailer).expect("memory takes it").0
}

fn record(choices: &mut Choices<'_>) -> Vec<u8> {
    const OFTEN: [Op; 8] = [
        Op::ThreadStart,
        Op::ThreadCreate,
        Op::Fork,
        Op::OrderShared,
        Op::EpollWait,
        Op::Recvfrom,
        Op::Sendto,
        Op::ClockGettime,
    ];
    let op = match choices.byte() {
        often @ 0..=159 => OFTEN[usize::from(often) % OFTEN.len()] as u16,
        _ => choices.near() as u16,
    };
    let mut record = Record::new(Head {
        size: HEAD_BYTES as u32,
        op,
        thread: choices.index(4) as u16,
        order: 0,
        time: choices.near(),
        ret: choices.near().cast_signed(),
        fd: choices.near() as i32,
        aux: choices.near() as u32,
    });
    const KINDS: [PartKind; 8] = [
        PartKind::In,
        PartKind::Out,
        PartKind::Addr,
        PartKind::Control,
        PartKind::Ready,
        PartKind::Value,
        PartKind::Path,
        PartKind::Message,
    ];
    for _ in 0..choices.byte() % 4 {
        let kind = KINDS[choices.below(KINDS.len())];
        let length = match choices.byte() {
            // As many as the call returned, which many results are.
            0..=99 => usize::try_from(record.head.ret).unwrap_or(0).min(4096),
            _ => choices.near() as usize % 4096,
        };
        let content: Vec<u8> = (0..length).map(|_| choices.byte()).collect();
        record = record.with_part(kind, &content);
    }
    record.as_bytes().to_vec()
}

/// A demo that was cut behind blocks of records made column by column.
fn cut(choices: &mut Choices<'_>) -> Vec<u8> {
    let writer = Writer::new(Vec::new(), &header(), WriterOptions::default()).expect("memory takes it");
    let whole = writer.finish(&Trailer::default()).expect("memory takes it").0;
    // Behind the head of the file the header is the first block.
    const FILE_HEAD: usize = 16;
    const BLOCK_HEAD: usize = 24;
    let body = u32::from_le_bytes(whole[FILE_HEAD + 12..FILE_HEAD + 16].try_into().expect("four bytes"));
    let mut demo = whole[..FILE_HEAD + BLOCK_HEAD + body as usize].to_vec();
    for number in 1..=1 + choices.byte() % 3 {
        block(u32::from(number), &columns(choices), &mut demo);
    }
    demo
}

fn block(number: u32, columns: &[(u16, Vec<u8>)], to: &mut Vec<u8>) {
    let (mut table, mut content) = (Vec::new(), Vec::<u8>::new());
    let used: Vec<_> = columns.iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
    for (id, bytes) in &used {
        table.extend(id.to_le_bytes());
        table.extend([0, 0]);
        table.extend((bytes.len() as u32).to_le_bytes());
        table.extend((bytes.len() as u32).to_le_bytes());
        content.extend(bytes);
    }
    table.extend(content);
    const RECORDS: u16 = 3;
    let mut head = b"PBLK".to_vec();
    head.extend(RECORDS.to_le_bytes());
    head.extend((used.len() as u16).to_le_bytes());
    head.extend(number.to_le_bytes());
    head.extend((table.len() as u32).to_le_bytes());
    head.extend(crc32c::crc32c(&table).to_le_bytes());
    head.extend(crc32c::crc32c(&head).to_le_bytes());
    to.extend(head);
    to.extend(table);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// What a template says of its records.
struct Template {
    flags: u8,
    shape: Vec<(u8, u8)>,
}

/// Columns of a block, by their numbers in the file format.
fn columns(choices: &mut Choices<'_>) -> Vec<(u16, Vec<u8>)> {
    let mut columns: Vec<(u16, Vec<u8>)> = (1..=18).map(|id| (id, Vec::new())).collect();
    let processes = 1 + choices.below(3);
    let mut table = Vec::new();
    varint(&mut table, processes as u64);
    for process in 0..processes {
        varint(&mut table, if choices.byte() >= 248 { choices.near() } else { process as u64 });
        varint(&mut table, choices.index(4));
        varint(&mut table, choices.near() >> 20);
    }
    let (templates, definitions) = templates(choices, processes);
    columns[2].1 = definitions;
    let mut ids = Vec::new();
    let (mut heads, mut raw) = (Vec::new(), 0_usize);
    let mut words = 0;
    for _ in 0..1 + choices.below(24) {
        let run = choices.byte();
        if run >= 224 && !ids.is_empty() {
            let (period, count) = (choices.index(ids.len().min(8)).wrapping_add(1), choices.index(16));
            heads.push(0);
            varint(&mut heads, period);
            varint(&mut heads, count);
            for _ in 0..count.min(64) {
                let Some(&again) = ids.len().checked_sub(period as usize).and_then(|at| ids.get(at)) else { break };
                ids.push(again);
                let Some(template) = templates.get(again) else {
                    raw = raw.wrapping_add(HEAD_BYTES);
                    continue;
                };
                raw = values(choices, template, &mut columns, &mut words).wrapping_add(raw);
            }
        } else {
            let id = choices.index(templates.len());
            varint(&mut heads, id.wrapping_add(1));
            // A number that no template has counts as a record all the same.
            ids.push(id as usize);
            raw = match templates.get(id as usize) {
                Some(template) => values(choices, template, &mut columns, &mut words).wrapping_add(raw),
                None => raw.wrapping_add(HEAD_BYTES),
            };
        }
    }
    columns[1].1 = heads;
    let mut meta = Vec::new();
    varint(&mut meta, if choices.byte() >= 248 { choices.near() } else { ids.len() as u64 });
    varint(&mut meta, if choices.byte() >= 248 { choices.near() } else { raw as u64 });
    meta.extend(table);
    columns[0].1 = meta;
    if choices.byte() >= 240 {
        // A column that ends too early, or has one byte more.
        let column = &mut columns[usize::from(choices.byte()) % 18].1;
        match choices.byte() % 2 {
            0 => column.truncate(column.len().saturating_sub(1)),
            _ => column.push(choices.byte()),
        }
    }
    columns
}

fn templates(choices: &mut Choices<'_>, processes: usize) -> (Vec<Template>, Vec<u8>) {
    let (mut templates, mut out) = (Vec::new(), Vec::new());
    let (mut shapes, mut slots) = (Vec::<Vec<(u8, u8)>>::new(), 0);
    for _ in 0..1 + choices.below(6) {
        let flags = match choices.byte() {
            wrong @ 252.. => wrong,
            byte => {
                [0, 1, 2][usize::from(byte) % 3]
                    | [0, 4, 8][usize::from(byte / 3) % 3]
                    | byte & 0x10
                    | (byte & 0x80) >> 2 & 0x20
            }
        };
        out.push(flags);
        varint(&mut out, choices.index(processes));
        let ops = [Op::ClockGettime, Op::Recvfrom, Op::Sendto, Op::EpollWait, Op::ThreadStart, Op::ThreadCreate];
        varint(&mut out, if choices.byte() >= 240 { choices.near() } else { ops[choices.below(ops.len())] as u64 });
        varint(&mut out, choices.index(3));
        varint(&mut out, choices.near() & 0xffff_ffff);
        if flags & 12 == 0 {
            varint(&mut out, choices.near() & 0xffff_ffff);
        }
        match flags & 3 {
            0 => varint(&mut out, choices.near()),
            2 => {
                varint(&mut out, choices.near() >> 1);
                let slot = choices.index(slots + 1);
                slots = slots.max(slot as usize & 0xff) + 1;
                varint(&mut out, slot);
            }
            _ => {}
        }
        let shape = choices.index(shapes.len() + 1);
        varint(&mut out, shape);
        if shape == shapes.len() as u64 {
            let parts: Vec<(u8, u8)> =
                (0..choices.byte() % 4).map(|_| (choices.index(9) as u8, choices.index(3) as u8)).collect();
            varint(&mut out, parts.len() as u64);
            parts.iter().for_each(|&(kind, mode)| out.extend([kind, mode]));
            shapes.push(parts);
        }
        let parts = shapes.get(shape as usize).cloned().unwrap_or_default();
        templates.push(Template { flags, shape: parts });
    }
    (templates, out)
}

/// Appends what a record takes from its columns; returns the bytes of the record.
fn values(choices: &mut Choices<'_>, template: &Template, columns: &mut [(u16, Vec<u8>)], words: &mut u64) -> usize {
    let mut split = |low: usize, choices: &mut Choices<'_>| {
        let small = choices.byte();
        columns[low - 1].1.push(small);
        columns[low].1.push(if small < 240 { 0 } else { choices.byte() });
        u64::from(small) / 2
    };
    if template.flags & 0x10 != 0 {
        split(7, choices);
    }
    let mut ret = 0;
    match template.flags & 3 {
        1 => ret = split(9, choices),
        2 => drop(split(4, choices)),
        _ => {}
    }
    if template.flags & 12 == 4 {
        let aux = choices.near() & 0xffff_ffff;
        varint(&mut columns[11].1, aux);
    }
    let mut bytes = HEAD_BYTES;
    let part = |kind: u8, length: u64, columns: &mut [(u16, Vec<u8>)]| {
        let column = match kind {
            1 => 15,
            2 => 16,
            _ => 17,
        };
        columns[column].1.extend(std::iter::repeat_n(7, length as usize & 0xfff));
    };
    if template.flags & 0x20 != 0 {
        let length = choices.index(64);
        varint(&mut columns[12].1, length);
        part(0, length, columns);
        return bytes.wrapping_add(length as usize);
    }
    for &(kind, mode) in &template.shape {
        let length = match mode {
            2 => {
                let word = choices.index(*words as usize + 1);
                varint(&mut columns[13].1, word);
                if word == 0 {
                    let length = choices.index(16) & 0xff;
                    varint(&mut columns[14].1, length);
                    columns[14].1.extend(std::iter::repeat_n(9, length as usize));
                    *words += 1;
                    length
                } else {
                    8
                }
            }
            1 => {
                part(kind, ret, columns);
                ret
            }
            _ => {
                let length = choices.index(64);
                varint(&mut columns[12].1, length);
                part(kind, length, columns);
                length
            }
        };
        bytes = bytes.wrapping_add(prony_demo::part_size(length as usize & 0xffff));
    }
    bytes
}
