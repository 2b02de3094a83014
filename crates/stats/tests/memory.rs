//! What reading samples takes in memory, counted by the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use prony_stats::import::{ImportError, criterion, import};
use prony_stats::memory::{CEILING_BYTES, FLOOR_BYTES, within};
use prony_stats::samples::{Samples, SamplesError};

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// Counts the bytes that are alive on each thread, and the most of them.
struct Counting;

fn changed(from: usize, to: usize) {
    LIVE.set(LIVE.get().wrapping_add(to).wrapping_sub(from));
    PEAK.set(PEAK.get().max(LIVE.get()));
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        changed(0, layout.size());
        // SAFETY: as the caller has it.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        changed(layout.size(), 0);
        // SAFETY: as the caller has it.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // A large block is moved by the kernel, page by page, so the old one and the new one are not there at once.
        changed(layout.size(), size);
        // SAFETY: as the caller has it.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that were allocated while `read` ran, beside what was there before.
fn peak<T>(read: impl FnOnce() -> T) -> (usize, T) {
    let before = LIVE.get();
    PEAK.set(before);
    let value = read();
    (PEAK.get() - before, value)
}

/// A file of samples with one benchmark and these runs.
fn samples(bytes: usize, run: &str) -> Vec<u8> {
    repeated(r#"{"version":"1.0","metadata":{"name":"a"},"benchmarks":[{"runs":["#, run, "]}]}", bytes)
}

fn repeated(begin: &str, each: &str, end: &str, bytes: usize) -> Vec<u8> {
    let mut text = begin.to_owned();
    let count = bytes / (each.len() + 1);
    for number in 0..count {
        text.push_str(if number == 0 { "" } else { "," });
        text.push_str(each);
    }
    (text + end).into_bytes()
}

/// Files of this many bytes, each of another shape.
fn files(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let root = |member: &str| format!(r#"{{"version":"1.0","metadata":{{"name":"a"}},{member}:["#);
    let rest = r#"],"benchmarks":[{"runs":[{"values":[1]}]}]}"#;
    let prony = |key: &str| format!(r#"{{"version":"1.0","metadata":{{"name":"a"}},"prony":{{"version":1,"{key}":["#);
    let behind = r#"]},"benchmarks":[{"runs":[{"values":[1]}]}]}"#;
    let go = "BenchmarkA 1 2 ns/op\n".repeat(bytes / 21).into_bytes();
    let names: String = (0..bytes / 26).map(|number| format!("BenchmarkA{number:07} 1 2 ns/op\n")).collect();
    vec![
        ("empty runs", samples(bytes, "{}")),
        ("runs of one value", samples(bytes, r#"{"values":[1]}"#)),
        ("runs of a warm-up", samples(bytes, r#"{"warmups":[[1,1]]}"#)),
        ("runs with metadata", samples(bytes, r#"{"metadata":{"a":1},"values":[1]}"#)),
        ("runs with tags", samples(bytes, r#"{"metadata":{"tags":["a","b"]},"values":[1]}"#)),
        ("runs that were measured", samples(bytes, r#"{"prony":{},"values":[1]}"#)),
        ("runs with counters", samples(bytes, r#"{"prony":{"counters":{"a":1}},"values":[1]}"#)),
        (
            "one run of many values",
            repeated(
                r#"{"version":"1.0","benchmarks":[{"metadata":{"name":"a"},"runs":[{"values":["#,
                "1",
                "]}]}]}",
                bytes,
            ),
        ),
        (
            "frames",
            repeated(
                r#"{"version":"1.0","benchmarks":[{"metadata":{"name":"a"},"runs":[{"values":[1],"prony":{"frame_ns":["#,
                "1",
                "]}}]}]}",
                bytes,
            ),
        ),
        ("benchmarks", repeated(r#"{"version":"1.0","benchmarks":["#, r#"{"runs":[{"values":[1]}]}"#, "]}", bytes)),
        (
            "tags",
            repeated(
                r#"{"version":"1.0","metadata":{"name":"a","tags":["#,
                r#""""#,
                r#"]},"benchmarks":[{"runs":[{"values":[1]}]}]}"#,
                bytes,
            ),
        ),
        ("version", repeated(r#"{"version":["#, "[]", r#"],"benchmarks":[]}"#, bytes)),
        ("an unknown key", repeated(&root("\"x\""), "[]", rest, bytes)),
        ("warnings", repeated(&prony("warnings"), "\"\"", behind, bytes)),
        ("facts of the machine", repeated(&prony("machine"), "{\"\":0}", behind, bytes)),
        (
            "facts of builds",
            repeated(
                r#"{"version":"1.0","benchmarks":["#,
                r#"{"runs":[{"values":[1]}],"prony":{"build":[[],[[]],{"":0},{"":{}}]}}"#,
                "]}",
                bytes,
            ),
        ),
        ("hyperfine, times", repeated(r#"{"results":[{"command":"a","times":["#, "1", "]}]}", bytes)),
        ("hyperfine, results", repeated(r#"{"results":["#, r#"{"command":"a"}"#, "]}", bytes)),
        (
            "hyperfine, measurements",
            repeated(
                r#"{"results":[{"command":"a","measurements":["#,
                r#"{"time_wall_clock":{"value":1,"unit":"second"}}"#,
                "]}]}",
                bytes,
            ),
        ),
        ("Google Benchmark", repeated(r#"{"context":{},"benchmarks":["#, r#"{"name":"a","real_time":1}"#, "]}", bytes)),
        ("go test, one name", go),
        ("go test, many names", names.into_bytes()),
    ]
}

#[test]
fn no_file_takes_more_than_ten_times_its_bytes() {
    const BYTES: usize = 12 << 20;
    for (name, file) in files(BYTES) {
        // The caller holds its bytes.
        let most = 9 * file.len();
        let (peak, read) = peak(|| import(&file).map(drop));
        assert!(peak <= most, "{name}: {peak} bytes for {}, at most {most}: {read:?}", file.len());
    }
    let iters = repeated("", "1", "", BYTES);
    let list = String::from_utf8(iters).expect("ASCII");
    let sample = format!(r#"{{"iters":[{list}],"times":[{list}]}}"#);
    let files = [criterion::Files { benchmark: br#"{"full_id":"a"}"#, sample: sample.as_bytes(), estimates: None }];
    let (peak, _) = peak(|| criterion::import(&files).map(drop));
    assert!(peak <= 9 * sample.len(), "criterion: {peak} bytes for {}", sample.len());
}

#[test]
fn many_values_are_read_in_any_layout() {
    for (name, file) in [
        ("runs of one value", samples(16 << 20, r#"{"values":[0.0012345678]}"#)),
        (
            "one run",
            repeated(
                r#"{"version":"1.0","benchmarks":[{"metadata":{"name":"a"},"runs":[{"values":["#,
                "0.0012345678",
                "]}]}]}",
                16 << 20,
            ),
        ),
    ] {
        let read = Samples::decode(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(read.benchmarks[0].values().count() > 500_000, "{name}");
    }
}

#[test]
fn what_would_take_more_is_refused_with_what_it_would_take_and_a_limit_of_the_user_admits_it() {
    let file = samples(12 << 20, r#"{"metadata":{"a":1},"values":[1]}"#);
    let Err(SamplesError::Memory { most, needed }) = Samples::decode(&file) else { panic!("it takes too much") };
    assert_eq!(most, 10 * file.len() as u64, "between the floor and the ceiling");
    let (peak, read) = peak(|| within(Some(CEILING_BYTES), || Samples::decode(&file)));
    assert!(read.is_ok(), "{read:?}");
    let ratio = needed as f64 / (peak + file.len()) as f64;
    assert!(
        (0.7..1.6).contains(&ratio),
        "it was said to take {needed} and took {peak} beside its {} bytes",
        file.len()
    );
    let refused = within(Some(1 << 20), || import(&file)).map(drop);
    assert!(
        matches!(refused, Err(ImportError::Samples(SamplesError::Memory { most: 0x10_0000, .. }))),
        "a limit of the user counts for small files too: {refused:?}"
    );
}

#[test]
fn small_files_may_take_what_any_file_may() {
    let file = samples(1 << 20, r#"{"metadata":{"a":1},"values":[1]}"#);
    assert!(10 * (file.len() as u64) < FLOOR_BYTES && Samples::decode(&file).is_ok());
}
