//! CPU time to read a program's file and to name places of its code.
//!
//! `cargo bench -p prony-profile --bench names -- FILE [PLACES]`: places at equal distances over the code, 10,000 unless
//! stated; a profile of a minute at 999 Hz has about as many different ones.

use std::collections::HashSet;
use std::path::Path;

use object::{Object as _, ObjectSection as _, ObjectSegment as _, SectionKind};
use prony_profile::lines_in_file;
use prony_stats::quantile::{quantile_of_sorted, sorted};

const ROUNDS: usize = 9;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let path = arguments.next().expect("usage: cargo bench -p prony-profile --bench names -- FILE [PLACES]");
    let places: u64 = arguments.next().map_or(10_000, |places| places.parse().expect("a number of places"));
    let places = places_of_code(Path::new(&path), places);
    let mut seconds = Vec::new();
    let (mut functions, mut different) = (0, 0);
    for _ in 0..ROUNDS {
        let began = cpu_seconds();
        let lines = lines_in_file(Path::new(&path), &places).unwrap_or_else(|error| panic!("{path}: {error}"));
        seconds.push(cpu_seconds() - began);
        functions = lines.iter().map(Vec::len).sum();
        different = lines.iter().flatten().map(|line| &line.function).collect::<HashSet<_>>().len();
    }
    let seconds = sorted(&seconds);
    let at = |share| quantile_of_sorted(&seconds, share).unwrap_or(f64::NAN);
    println!("{} places, {functions} functions, {different} different names", places.len());
    println!("{:.3} s [{:.3} {:.3}], least {:.3}, n = {ROUNDS}", at(0.5), at(0.25), at(0.75), at(0.0));
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Distances of places from where the file is loaded.
fn places_of_code(path: &Path, count: u64) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = object::File::parse(&*bytes).expect("it is an object file");
    let base = file.segments().map(|segment| segment.address()).min().unwrap_or(0) & !4095;
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let code = code.max_by_key(|section| section.size()).expect("it has code");
    let step = (code.size() / count.max(1)).max(1);
    (0..count).map(|place| code.address() - base + place * step).collect()
}
