//! Size and speed of demo files, on conversations that resemble real servers:
//! `cargo bench -p prony-demo --bench file [-- LEVEL…]`.
//!
//! Speeds are the best of several passes over one file in memory, on one core.

use std::hint::black_box;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use prony_demo::{Demo, Header, Record, Trailer, Writer, WriterOptions};
use prony_testing::synthetic;

const PASSES: usize = 7;

fn main() {
    let mut levels: Vec<i32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if levels.is_empty() {
        levels.push(WriterOptions::default().level);
    }
    println!(
        "conversation      level   records   raw MB  file KB  B/record  write MB/s  read M/s  visit M/s  (best of {PASSES})"
    );
    let conversations = [
        ("teeworlds", synthetic::teeworlds()),
        ("openarena", synthetic::openarena()),
        ("spin, us clock", synthetic::spin_on_gettimeofday()),
        ("spin, ns + recv", synthetic::spin_on_empty_socket()),
    ];
    for (name, records) in &conversations {
        for &level in &levels {
            measure(name, level, records);
        }
    }
}

fn measure(name: &str, level: i32, records: &[Record]) {
    let (mut write, mut read, mut visit) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let mut bytes = Vec::new();
    let mut raw_bytes = 0;
    for _ in 0..PASSES {
        let start = Instant::now();
        let out = Vec::with_capacity(bytes.len());
        let mut writer = Writer::new(out, &Header::default(), WriterOptions { level }).expect("a vector takes all");
        for record in records {
            writer.push(0, record.as_bytes()).expect("the record is well-formed");
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
            sum += record.len() + process as usize;
            ControlFlow::Continue(())
        });
        visited.expect("the demo is whole");
        visit = visit.min(start.elapsed());
        assert_eq!(sum as u64, raw_bytes);
    }
    let count = records.len() as f64;
    println!(
        "{name:<16} {level:>6} {:>9} {:>8.1} {:>8.0} {:>9.3} {:>11.0} {:>9.1} {:>10.1}",
        records.len(),
        raw_bytes as f64 / 1e6,
        bytes.len() as f64 / 1e3,
        bytes.len() as f64 / count,
        raw_bytes as f64 / 1e6 / write.as_secs_f64(),
        count / 1e6 / read.as_secs_f64(),
        count / 1e6 / visit.as_secs_f64(),
    );
}
