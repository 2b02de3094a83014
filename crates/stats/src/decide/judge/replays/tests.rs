use super::super::tests::{at_most, count};
use super::*;
use crate::Seed;
use crate::noise::{normal, uniform};
use crate::verdict::Verdict;

/// A machine whose core is at full speed or shared with a busy sibling, for some frames each each, and what a
/// build scatters by itself. Sizes resemble two shared virtual CPUs.
#[derive(Clone, Copy)]
struct World {
    /// Share of the time that the core is shared.
    shared: f64,
    /// Frames that a turn lasts in the mean.
    turn_frames: f64,
    /// From process to process, where memory came to lie: log times, of A and of B.
    processes: [f64; 2],
    /// From frame to frame.
    frames: [f64; 2],
}

const FRAMES: usize = 120;
const BUSY: World = World { shared: 0.5, turn_frames: 40.0, processes: [0.002; 2], frames: [0.01; 2] };
const QUIET: World = World { shared: 0.0, ..BUSY };
const STEADY_NOISE: World = World { shared: 0.5, turn_frames: 1e6, ..BUSY };

struct Server {
    world: World,
    seed: Seed,
    shared: bool,
}

impl Server {
    fn new(world: World, seed: u64) -> Server {
        Server { world, seed: Seed::new(seed.wrapping_mul(0x9e37_79b9) ^ 77), shared: false }
    }

    fn replay(&mut self, build: usize, effect: &dyn Fn(usize) -> f64) -> Vec<f64> {
        let world = self.world;
        let process = world.processes[build] * normal(&mut self.seed);
        let frame = |frame: usize| {
            if uniform(&mut self.seed) < 1.0 / world.turn_frames {
                self.shared = uniform(&mut self.seed) < world.shared;
            }
            let slower = if self.shared { 0.4 + 0.15 * normal(&mut self.seed) } else { 0.0 };
            let own = process + world.frames[build] * normal(&mut self.seed);
            let interrupt = if uniform(&mut self.seed) < 0.003 { 3e-4 } else { 0.0 };
            1e-4 * (1 + frame % 3) as f64 * (effect(frame) + own + slower).exp() + interrupt
        };
        (0..FRAMES).map(frame).collect()
    }

    fn compare(&mut self, effect: &dyn Fn(usize) -> f64, pairs: usize) -> Outcome {
        let mut judge = ReplayJudge::new(Plan {
            alpha: 0.05,
            margin: 0.01f64.ln_1p(),
            budget_s: pairs as f64,
            metric: None,
            tolerates: false,
        });
        let mut done = 0.0;
        loop {
            let first_is_a = self.seed.coin();
            let (a, b) = if first_is_a {
                let a = self.replay(0, &|_| 0.0);
                (a, self.replay(1, effect))
            } else {
                let b = self.replay(1, effect);
                (self.replay(0, &|_| 0.0), b)
            };
            judge.push(&a, &b, Ratio::of(a.iter().sum(), b.iter().sum()));
            done += 1.0;
            if let Some(outcome) = judge.look(done) {
                return outcome;
            }
        }
    }
}

fn outcomes(world: World, effect: impl Fn(usize) -> f64, pairs: usize, n: u64) -> Vec<Outcome> {
    (0..n).map(|seed| Server::new(world, seed).compare(&effect, pairs)).collect()
}

fn holds(what: &str, outcomes: &[Outcome], truth: f64, lean_max: f64) {
    let n = outcomes.len();
    let missed = count(outcomes, |outcome| outcome.interval.low > truth || outcome.interval.high < truth);
    assert!(missed <= at_most(n, 0.05), "{what}: {missed} intervals of {n} miss the truth");
    if truth == 0.0 {
        let wrong = count(outcomes, |outcome| matches!(outcome.verdict, Verdict::Faster | Verdict::Slower));
        assert!(wrong <= at_most(n, 0.05), "{what}: {wrong} false alarms in {n}");
    }
    let mut estimates: Vec<f64> = outcomes.iter().map(|outcome| outcome.interval.estimate).collect();
    estimates.sort_by(f64::total_cmp);
    let middle = estimates[n / 2];
    assert!((middle - truth).abs() < lean_max, "{what}: half of the estimates are below {middle}");
}

#[test]
fn equal_builds_are_called_different_as_seldom_as_promised() {
    for (what, world) in [("busy", BUSY), ("quiet", QUIET), ("steady noise", STEADY_NOISE)] {
        holds(what, &outcomes(world, |_| 0.0, 80, 200), 0.0, 0.003);
    }
}

#[test]
fn one_per_cent_is_found_beside_a_busy_sibling() {
    const N: u64 = 120;
    let busy = outcomes(BUSY, |_| 0.01, 120, N);
    holds("busy", &busy, 0.01, 0.001);
    let found = count(&busy, |outcome| outcome.verdict == Verdict::Slower);
    assert!(found >= N as usize * 95 / 100, "{found} of {N}");
    // Whole replays could not tell: their interval is wider than what is looked for, many times.
    let wide = count(&busy, |outcome| outcome.wall.interval.width() > 0.03);
    assert!(wide >= N as usize * 9 / 10, "{wide} of {N}");
    let quiet = outcomes(QUIET, |_| 0.01, 120, N);
    holds("quiet", &quiet, 0.01, 0.001);
    assert_eq!(count(&quiet, |outcome| outcome.verdict == Verdict::Slower), N as usize);
}

#[test]
fn a_change_of_some_frames_counts_for_what_they_take() {
    // Every third frame has half of the work: 5 % more of it are 2.5 % in all.
    let effect = |frame: usize| if frame % 3 == 2 { 0.05f64.ln_1p() } else { 0.0 };
    holds("some frames", &outcomes(BUSY, effect, 80, 150), 0.025f64.ln_1p(), 0.002);
}

#[test]
fn what_b_scatters_by_itself_moves_no_estimate() {
    let processes = World { processes: [0.0, 0.01], ..BUSY };
    holds("processes", &outcomes(processes, |_| 0.0, 80, 200), 0.0, 0.002);
    let frames = World { frames: [0.0, 0.05], ..BUSY };
    // The mean of e^x is above that of x by half the variance.
    holds("frames", &outcomes(frames, |_| 0.0, 80, 200), 0.5 * 0.05f64.powi(2), 0.002);
}

#[test]
fn replays_with_other_frames_are_left_out_and_counted() {
    let mut judge = ReplayJudge::new(Plan { alpha: 0.05, margin: 0.01, budget_s: 1.0, metric: None, tolerates: false });
    for pair in 0..10 {
        let b = vec![1.1e-3; if pair == 4 { 5 } else { 6 }];
        judge.push(&[1e-3; 6], &b, Ratio::of(6e-3, 6.6e-3));
    }
    let outcome = judge.finish(1.0);
    assert_eq!((outcome.verdict, outcome.pairs, outcome.cpu.interval.n), (Verdict::Slower, 10, 9));
    assert_eq!(outcome.reasons, [super::super::Reason::LeftOut { pairs: 1 }]);
}

#[test]
fn after_the_last_look_there_is_still_something_to_show() {
    let mut judge = ReplayJudge::new(Plan { alpha: 0.05, margin: 0.01, budget_s: 1.0, metric: None, tolerates: false });
    let replay = [1e-3; 10];
    (0..30).for_each(|_| judge.push(&replay, &replay, Ratio::of(1e-2, 1e-2)));
    assert!(judge.look(1.0).is_some() && judge.live().is_some_and(|live| live.low < 0.0 && live.high > 0.0));
}
