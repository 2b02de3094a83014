//! What a look, a live interval and a comparison of frames cost: `cargo bench -p prony-stats --bench look`.
//!
//! The best of several passes, on one core.

use std::hint::black_box;
use std::time::{Duration, Instant};

use prony_stats::judge::{Judge, Look, Pair, Plan, Ratio};
use prony_stats::{Seed, frames, walsh};

const PASSES: usize = 7;

fn main() {
    println!("what                                     best of {PASSES}");
    for pairs in [200, 1_000, 10_000] {
        let judge = judge(pairs);
        report(
            &format!("live interval, {pairs} pairs"),
            || judge.clone(),
            |judge| {
                black_box(judge.live());
            },
        );
        report(&format!("last look, {pairs} pairs"), || judge.clone(), |judge| drop(black_box(judge.finish(8.0))));
    }
    let sorted: Vec<f64> = (0..10_000).map(|at| (f64::from(at) / 1000.0).exp()).collect();
    report(
        "Hodges–Lehmann, 10000 values",
        || (),
        |()| {
            black_box(walsh::hodges_lehmann(&sorted));
        },
    );
    let mut seed = Seed::new(1);
    let mut replays = || -> Vec<Vec<f64>> { (0..12).map(|_| (0..10_000).map(|_| time(&mut seed)).collect()).collect() };
    let (a, b) = (replays(), replays());
    report("12 pairs of replays, 10000 frames", || (), |()| drop(black_box(frames::compare(&a, &b, 0.05, 1))));
}

fn judge(pairs: usize) -> Judge {
    let mut seed = Seed::new(pairs as u64);
    let mut judge = Judge::new(Plan { alpha: 0.05, margin: 0.01, budget_s: 8.0, metric: None, tolerates: false });
    for _ in 0..pairs {
        let ratio = Ratio::of(time(&mut seed), time(&mut seed));
        judge.push(Pair { cpu: ratio, uncontended: Some(ratio), wall: ratio, rss: None });
    }
    judge
}

/// About 20 ms.
fn time(seed: &mut Seed) -> f64 {
    0.02 + 0.002 * seed.below(1_000_000) as f64 / 1e6
}

fn report<Input>(what: &str, input: impl Fn() -> Input, mut run: impl FnMut(&mut Input)) {
    let pass = || {
        let mut input = input();
        let start = Instant::now();
        run(&mut input);
        start.elapsed()
    };
    let best: Duration = std::iter::repeat_with(pass).take(PASSES).min().expect("there are passes");
    println!("{what:<40} {:>8.3} ms", 1e3 * best.as_secs_f64());
}
