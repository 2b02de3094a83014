//! What a zone costs beside two reads of its timer, alternately: `cargo bench -p prony-zones --features on`.
//!
//! The same for the C header: `gcc -O2 -DPRONY_ZONES -pthread -I crates/zones/include crates/zones/benches/cost.c`.

use std::hint::black_box;
use std::time::Instant;

use prony_zones::{ticks, zone};

const ROUNDS: usize = 400;
const EACH: u32 = 10_000;

#[inline(never)]
fn timer_reads() -> u64 {
    let mut sum = 0;
    for _ in 0..EACH {
        let began = ticks();
        sum = black_box(sum + ticks().wrapping_sub(began));
    }
    sum
}

#[inline(never)]
fn zones() {
    for at in 0..EACH {
        zone!("nothing");
        black_box(at);
    }
}

#[inline(never)]
fn nested() {
    for at in 0..EACH / 2 {
        zone!("outer");
        zone!("inner", bytes = 8);
        black_box(at);
    }
}

fn main() {
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let mut each = |place: usize, work: &dyn Fn()| {
            let began = Instant::now();
            work();
            times[place].push(began.elapsed().as_secs_f64() * 1e9 / f64::from(EACH));
        };
        each(0, &|| {
            black_box(timer_reads());
        });
        each(1, &zones);
        each(2, &nested);
    }
    for (name, times) in ["two timer reads", "one zone", "one of two nested zones, with bytes"].iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize];
        println!("{name}: {:.1} ns [{:.1} {:.1}], n = {ROUNDS} rounds of {EACH}", at(0.5), at(0.25), at(0.75));
    }
    let limit = 1.1 * times[0][ROUNDS / 2] + 5.0;
    println!("1.1 × two timer reads + 5 ns: {limit:.1} ns");
}
