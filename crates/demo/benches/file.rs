//! Size and speed of demo files, on conversations that resemble real servers, or on those of demos:
//! `cargo bench -p prony-demo --bench file [-- LEVEL… DEMO…]`.
//!
//! Speeds are the best of several passes over one file in memory, on one core.

use std::hint::black_box;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use prony_demo::{Demo, Header, Trailer, Writer, WriterOptions};
use prony_testing::synthetic;

const PASSES: usize = 7;

fn main() {
    // Cargo adds a flag of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut levels: Vec<i32> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    let demos: Vec<&String> = arguments.iter().filter(|argument| argument.parse::<i32>().is_err()).collect();
    if levels.is_empty() {
        levels.push(WriterOptions::default().level);
    }
    println!(
        "conversation      level   records   raw MB  file KB  B/record  write MB/s  ns/record  read M/s  visit M/s  (best of {PASSES})"
    );
    for demo in &demos {
        let name = Path::new(demo).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let records = records_of(demo);
        for &level in &levels {
            measure(&name, level, &records);
        }
    }
    if !demos.is_empty() {
        return;
    }
    let conversations = [
        ("teeworlds", synthetic::teeworlds()),
        ("openarena", synthetic::openarena()),
        ("spin, us clock", synthetic::spin_on_gettimeofday()),
        ("spin, ns + recv", synthetic::spin_on_empty_socket()),
    ];
    for (name, records) in conversations {
        let records: Vec<_> = records.iter().map(|record| (0, record.as_bytes().to_vec())).collect();
        for &level in &levels {
            measure(name, level, &records);
        }
    }
}

/// Records of a demo with their processes.
fn records_of(path: &str) -> Vec<(u16, Vec<u8>)> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut demo = Demo::open(file).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut records = Vec::new();
    let visited = demo.for_each_record(|process, record| {
        records.push((process, record.to_vec()));
        ControlFlow::Continue(())
    });
    visited.unwrap_or_else(|error| panic!("{path}: {error}"));
    records
}

fn measure(name: &str, level: i32, records: &[(u16, Vec<u8>)]) {
    let (mut write, mut read, mut visit) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut bytes = Vec::new();
    let mut raw_bytes = 0;
    for _ in 0..PASSES {
        let start = Instant::now();
        let out = Vec::with_capacity(bytes.len());
        let mut writer = Writer::new(out, &Header::default(), WriterOptions { level }).expect("a vector takes all");
        for (process, record) in records {
            writer.push(*process, record).expect("the record is well-formed");
        }
        let finished = writer.finish(&Trailer::default()).expect("a vector takes all");
        write = write.min(start.elapsed());
        (bytes, raw_bytes) = (finished.0, finished.1.raw_bytes);

        let mut demo = Demo::open(Cursor::new(&bytes)).expect("the demo opens");
        let start = Instant::now();
        let mut runs = demo.records();
        while let Some(run) = runs.next_run().expect("the demo is whole") {
            black_box(run);
        }
        read = read.min(start.elapsed());

        let start = Instant::now();
        let mut sum = 0;
        let visited = demo.for_each_record(|process, record| {
            black_box(process);
            sum += record.len();
            ControlFlow::Continue(())
        });
        visited.expect("the demo is whole");
        visit = visit.min(start.elapsed());
        assert_eq!(sum as u64, raw_bytes);
    }
    let count = records.len() as f64;
    println!(
        "{name:<16} {level:>6} {:>9} {:>8.1} {:>8.0} {:>9.3} {:>11.0} {:>10.1} {:>9.1} {:>10.1}",
        records.len(),
        raw_bytes as f64 / 1e6,
        bytes.len() as f64 / 1e3,
        bytes.len() as f64 / count,
        raw_bytes as f64 / 1e6 / write.as_secs_f64(),
        write.as_secs_f64() * 1e9 / count,
        count / 1e6 / read.as_secs_f64(),
        count / 1e6 / visit.as_secs_f64(),
    );
}
