//! Searches on simulated servers: the noise is seeded, so each test sees the same outcomes every time.

use prony_stats::Seed;

use super::*;

const RANGE: ClientRange = ClientRange { low: 100, high: 5000 };

/// Server whose 99th percentile grows with the clients, times lognormal noise.
struct Simulated {
    /// Median of the 99th percentile in milliseconds, by clients.
    p99_ms: fn(f64) -> f64,
    /// Standard deviation of its logarithm from step to step.
    noise: f64,
    /// Share of the steps that another process disturbs.
    disturbed: f64,
    /// Clients from which on the generator is too slow.
    generator_limit: f64,
    /// Share of the steps in which the generator is late, however many clients there are.
    generator_disturbed: f64,
}

/// A queue: the wait grows as the reciprocal of what is left of the capacity of 1,300 clients.
const QUEUE: Simulated = Simulated {
    p99_ms: |clients| if clients < 1300.0 { 2.0 / (1.0 - clients / 1300.0) } else { 1e4 },
    noise: 0.2,
    disturbed: 0.0,
    generator_limit: f64::INFINITY,
    generator_disturbed: 0.0,
};
/// The knee of [`QUEUE`] at 50 ms: 1300 × (1 − 2 / 50).
const QUEUE_KNEE: f64 = 1248.0;
/// A gentle slope, which noise blurs widely: 50 ms at 800 clients.
const GENTLE: Simulated = Simulated {
    p99_ms: |clients| 50.0 * (clients / 800.0).powi(2),
    noise: 0.25,
    disturbed: 0.0,
    generator_limit: f64::INFINITY,
    generator_disturbed: 0.0,
};
const GENTLE_KNEE: f64 = 800.0;

/// Evenly above 0 up to 1.
fn uniform(seed: &mut Seed) -> f64 {
    ((seed.bits() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
}

/// Standard normal (Box & Muller 1958).
fn normal(seed: &mut Seed) -> f64 {
    (-2.0 * uniform(seed).ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform(seed)).cos()
}

impl Simulated {
    /// Outcome of a step under the condition `p99<50ms`.
    fn step(&self, clients: usize, seed: &mut Seed) -> Outcome {
        let n = clients as f64;
        let mut p99_ms = (self.p99_ms)(n) * (self.noise * normal(seed)).exp();
        if uniform(seed) <= self.disturbed {
            p99_ms += 200.0;
        }
        match p99_ms < 50.0 {
            _ if n >= self.generator_limit || uniform(seed) <= self.generator_disturbed => Outcome::GeneratorLimited,
            true => Outcome::Holds,
            false => Outcome::Fails,
        }
    }

    fn search(&self, steps_max: usize, seed: u64) -> Search {
        let mut seed = Seed::new(seed);
        let mut search = Search::new(RANGE, 0.1, steps_max);
        while let Some(clients) = search.next() {
            assert!((RANGE.low..=RANGE.high).contains(&clients), "{clients}");
            let outcome = self.step(clients, &mut seed);
            search.record(clients, outcome);
        }
        search
    }

    /// Share of the seeds whose interval contains the knee, the mean number of steps, and the greatest error of an estimate.
    /// Another answer than an interval does not contain it.
    fn coverage(&self, knee: f64) -> (f64, f64, f64) {
        const SEEDS: u64 = 200;
        let (mut covered, mut steps, mut worst) = (0.0, 0.0, 0.0f64);
        for seed in 0..SEEDS {
            let search = self.search(40, seed);
            steps += search.steps.len() as f64;
            let Knee::Found(interval) = search.knee() else { continue };
            covered += f64::from(u8::from(!interval.excludes(knee)));
            worst = worst.max((interval.estimate / knee).ln().abs());
        }
        (covered / SEEDS as f64, steps / SEEDS as f64, worst)
    }
}

#[test]
fn the_interval_contains_the_knee_of_a_queue() {
    let (covered, steps, worst) = QUEUE.coverage(QUEUE_KNEE);
    assert!(covered >= 0.9, "{covered} in {steps} steps");
    assert!(steps <= 20.0 && worst < 0.1, "{steps} steps, {worst}");
}

#[test]
fn the_interval_contains_the_knee_of_a_gentle_slope() {
    let (covered, steps, worst) = GENTLE.coverage(GENTLE_KNEE);
    assert!(covered >= 0.9, "{covered} in {steps} steps");
    assert!(worst < 0.3, "{worst}");
}

#[test]
fn disturbed_steps_cost_steps_and_not_the_answer() {
    let disturbed = Simulated { disturbed: 0.05, ..QUEUE };
    let (covered, steps, _) = disturbed.coverage(QUEUE_KNEE);
    assert!(covered >= 0.9, "{covered} in {steps} steps");
}

#[test]
fn a_generator_that_is_late_now_and_then_costs_steps_and_is_no_limit() {
    let disturbed = Simulated { generator_disturbed: 0.1, ..QUEUE };
    let (covered, steps, _) = disturbed.coverage(QUEUE_KNEE);
    assert!(covered >= 0.9, "{covered} in {steps} steps");
}

#[test]
fn a_server_that_holds_everywhere_is_not_reached() {
    let idle = Simulated { p99_ms: |_| 1.0, ..QUEUE };
    for seed in 0..20 {
        let search = idle.search(40, seed);
        let Knee::NotReached { clients: 5000, probability } = search.knee() else { panic!("{:?}", search.knee()) };
        assert!(probability >= 0.95);
        // The way up by doubling is seven steps; the last number is repeated until it is sure.
        assert!((8..=12).contains(&search.steps.len()), "{:?}", search.steps);
    }
}

#[test]
fn a_server_that_holds_nowhere_is_said_so() {
    let hung = Simulated { p99_ms: |_| 1e3, ..QUEUE };
    for seed in 0..20 {
        let search = hung.search(40, seed);
        let Knee::NoneHolds { clients: 100, probability } = search.knee() else { panic!("{:?}", search.knee()) };
        assert!(probability >= 0.95 && (3..=8).contains(&search.steps.len()), "{probability} {:?}", search.steps);
    }
}

#[test]
fn a_slow_generator_is_its_own_limit_and_no_failure_of_the_server() {
    let slow = Simulated { generator_limit: 700.0, ..QUEUE };
    for seed in 0..20 {
        let search = slow.search(40, seed);
        let Knee::GeneratorLimit { holds: Some(holds), clients } = search.knee() else { panic!("{:?}", search.knee()) };
        assert!(holds < 700 && clients >= 700 && clients as f64 <= holds as f64 * 1.1, "{holds} {clients}");
        assert!(search.steps.iter().all(|&(_, outcome)| outcome != Outcome::Fails));
    }
    // Slow from the first step on.
    let knee = Simulated { generator_limit: 1.0, ..QUEUE }.search(40, 1).knee();
    assert_eq!(knee, Knee::GeneratorLimit { holds: None, clients: 100 });
}

#[test]
fn a_generator_that_was_late_once_does_not_limit() {
    let mut search = Search::new(RANGE, 0.1, 40);
    search.record(100, Outcome::GeneratorLimited);
    assert_eq!(search.next(), Some(100));
    search.record(100, Outcome::Holds);
    assert_eq!(search.next(), Some(200));
    search.record(200, Outcome::Holds);
    assert_eq!(search.next(), Some(400));
}

#[test]
fn a_knee_above_the_limit_of_the_generator_is_not_estimated_there() {
    // The server fails at 4,000, the generator is too slow from 3,000 on.
    let late =
        Simulated { p99_ms: |clients| if clients < 4000.0 { 1.0 } else { 1e3 }, generator_limit: 3000.0, ..QUEUE };
    let Knee::GeneratorLimit { holds: Some(holds), .. } = late.search(40, 3).knee() else { panic!("no limit") };
    assert!((2700..3000).contains(&holds), "{holds}");
}

#[test]
fn few_steps_give_a_wide_interval_or_an_open_one() {
    let mut search = Search::new(RANGE, 0.1, 2);
    assert_eq!(search.knee(), Knee::Unknown);
    search.record(100, Outcome::Holds);
    search.record(200, Outcome::Fails);
    assert_eq!(search.next(), None);
    let Knee::Found(interval) = search.knee() else { panic!("{:?}", search.knee()) };
    assert!(interval.low == f64::NEG_INFINITY && interval.high > 200.0 && interval.n == 2, "{interval:?}");
    assert!((100.0..200.0).contains(&interval.estimate), "{interval:?}");
}

#[test]
fn without_a_failure_no_knee_is_estimated() {
    let mut search = Search::new(RANGE, 0.1, 2);
    search.record(100, Outcome::Holds);
    search.record(200, Outcome::Holds);
    let Knee::NotReached { clients: 200, probability } = search.knee() else { panic!("{:?}", search.knee()) };
    assert!(probability > 0.9, "{probability}");
}

#[test]
fn a_range_of_few_numbers_ends() {
    for (low, high) in [(1, 1), (1, 2), (3, 4), (0, 0), (7, 2)] {
        for outcome in [Outcome::Holds, Outcome::Fails, Outcome::GeneratorLimited] {
            let mut search = Search::new(ClientRange { low, high }, 0.1, 40);
            while let Some(clients) = search.next() {
                assert!((low.max(1)..=high.max(low).max(1)).contains(&clients));
                search.record(clients, outcome);
            }
            assert!(search.steps.len() < 40, "{low} {high} {outcome:?}: {:?}", search.knee());
        }
    }
}
