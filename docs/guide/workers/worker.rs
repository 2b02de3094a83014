//! A worker in Rust: measures its own work and gives prony the values.
//!
//!   rustc -O --edition 2024 worker.rs && prony bench './worker 20000' './worker 40000'

use std::env;
use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

/// The measured work: put your own here.
fn work(steps: u64) -> u64 {
    let mut x: u64 = black_box(88_172_645_463_325_252);
    for _ in 0..steps {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
    }
    x
}

/// Time that this thread was ready and had no CPU, in seconds.
fn waited() -> io::Result<f64> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let field = schedstat.split_whitespace().nth(1).and_then(|field| field.parse::<f64>().ok());
    Ok(field.unwrap_or(0.0) / 1e9)
}

/// Measures `loops` loops and writes the time of one: wall time, and uncontended time, which is wall time minus the wait
/// for a CPU. Returns the uncontended time of all loops in seconds.
fn measure(out: &mut impl Write, steps: u64, loops: u64, warmup: bool) -> io::Result<f64> {
    let around = Instant::now();
    let before = waited()?;
    let begin = Instant::now();
    for _ in 0..loops {
        black_box(work(steps));
    }
    let wall = begin.elapsed().as_secs_f64();
    let wait = waited()? - before;
    // The thread may also have waited between two readings, which is part of the wait and not of `wall`: so the wait is taken
    // from a time that contains it.
    let uncontended = wall.min(around.elapsed().as_secs_f64() - wait);
    for (metric, seconds) in [("wall", wall), ("uncontended", uncontended)] {
        let value = seconds / loops as f64;
        writeln!(out, r#"{{"metric": "{metric}", "value": {value:e}, "loops": {loops}, "warmup": {warmup}}}"#)?;
    }
    Ok(uncontended)
}

fn main() -> io::Result<()> {
    let asked = |name: &str| env::var(name).ok().and_then(|text| text.parse::<f64>().ok());
    let steps = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
    // The descriptor is open already; its name in /proc gives it to safe Rust.
    let descriptor = asked("PRONY_FD").unwrap_or(1.0);
    let mut out = OpenOptions::new().write(true).open(format!("/proc/self/fd/{descriptor}"))?;
    let mut loops = asked("PRONY_LOOPS").unwrap_or(0.0) as u64;
    if loops == 0 {
        // The first time nobody knows yet how many loops make a value long enough: double until it is.
        loops = 1;
        while measure(&mut out, steps, loops, true)? < asked("PRONY_MIN_TIME").unwrap_or(0.1) {
            loops *= 2;
        }
    } else {
        for _ in 0..asked("PRONY_WARMUPS").unwrap_or(1.0) as u64 {
            measure(&mut out, steps, loops, true)?;
        }
    }
    for _ in 0..asked("PRONY_VALUES").unwrap_or(1.0) as u64 {
        measure(&mut out, steps, loops, false)?;
    }
    Ok(())
}
