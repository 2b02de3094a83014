//! Imitated machines for the simulations: what a run of a command takes on each, one run after the other.

use crate::Seed;
use crate::decide::judge::{Pair, Ratio};

/// Kind of machine noise. Sizes are of log times and resemble two shared virtual CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Independent runs with a deviation of 1 %.
    White,
    /// Autocorrelated runs, 2 % in all: x' = φ·x + e.
    Autocorrelated {
        /// Autocorrelation φ of successive runs, 0 to 1.
        like_the_last: f64,
    },
    /// Three runs of ten take 8 % longer, as with the wrong alignment.
    Bimodal,
    /// 30 % slower and slower over the budget, as with a machine that heats up, on top of 1 %.
    Drifting,
    /// Other work on all cores in 1.5 of every 4.5 seconds: waits, cold caches and a far larger spread.
    Bursts,
    /// A few runs of a hundred take up to several times as long.
    HeavyTails,
    /// None at all: what a build scatters is its own.
    Silent,
}

/// Kinds of noise of real machines, one of each.
pub const NOISES: [Noise; 7] = [
    Noise::White,
    Noise::Autocorrelated { like_the_last: 0.6 },
    Noise::Autocorrelated { like_the_last: 0.9 },
    Noise::Bimodal,
    Noise::Drifting,
    Noise::Bursts,
    Noise::HeavyTails,
];

/// Times of one simulated run, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub cpu_s: f64,
    /// `None` where threads ran at once.
    pub uncontended_s: Option<f64>,
    pub wall_s: f64,
}

/// A program: what it does when nothing disturbs it.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Number of threads that run at once.
    pub threads: usize,
    /// … computes so long, …
    pub computes_s: f64,
    /// … and when the last is done the program sleeps.
    pub sleeps_s: f64,
}

/// The usual command: one thread that computes.
pub const COMPUTES: Program = Program { threads: 1, computes_s: RUN_S, sleeps_s: 0.0 };

/// A machine in time, on which commands run again and again.
pub struct Machine {
    noise: Noise,
    seed: Seed,
    pub elapsed_s: f64,
    state: f64,
    phase_s: f64,
}

/// Undisturbed time of the command, in seconds.
const RUN_S: f64 = 0.020;
/// Seconds between two runs, for the start and the collection.
const BETWEEN_S: f64 = 0.0005;

impl Machine {
    pub fn new(noise: Noise, seed: u64) -> Machine {
        let mut seed = Seed::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
        let state = 0.02 * normal(&mut seed);
        let phase_s = 4.5 * uniform(&mut seed);
        Machine { noise, seed, elapsed_s: 0.0, state, phase_s }
    }

    /// Disturbance of a thread that computes for [`RUN_S`]: log time, and its wait for a core.
    fn disturbance(&mut self) -> (f64, f64) {
        let seed = &mut self.seed;
        let mut wait = 0.0005 * uniform(seed);
        let log = match self.noise {
            Noise::White => 0.01 * normal(seed),
            Noise::Autocorrelated { like_the_last } => {
                self.state = like_the_last * self.state + 0.02 * (1.0 - like_the_last.powi(2)).sqrt() * normal(seed);
                self.state
            }
            Noise::Bimodal => 0.005 * normal(seed) + if uniform(seed) < 0.3 { 0.08 } else { 0.0 },
            Noise::Drifting => 0.01 * normal(seed) + 0.3 * (self.elapsed_s / 8.0),
            Noise::Bursts => {
                self.state = 0.7 * self.state + 0.006 * normal(seed);
                if (self.elapsed_s + self.phase_s) % 4.5 < 1.5 {
                    wait = RUN_S * (0.6 + 0.8 * uniform(seed));
                    self.state + 0.06 + 0.035 * normal(seed)
                } else {
                    self.state + 0.008 * normal(seed)
                }
            }
            Noise::Silent => 0.0,
            Noise::HeavyTails => {
                0.008 * normal(seed) + if uniform(seed) < 0.04 { -0.4 * uniform(seed).ln() } else { 0.0 }
            }
        };
        (log, wait)
    }

    /// Runs a command of which the computing takes e^`effect` times as long.
    pub fn run(&mut self, program: Program, effect: f64) -> Run {
        let (mut cpu_s, mut last_s, mut wait_s): (f64, f64, f64) = (0.0, 0.0, 0.0);
        for _ in 0..program.threads {
            let (log, wait) = self.disturbance();
            let thread_s = program.computes_s * (effect + log).exp();
            cpu_s += thread_s;
            // Who is done last is waited for, with its wait for a core.
            if thread_s + wait > last_s + wait_s {
                (last_s, wait_s) = (thread_s, wait);
            }
        }
        // What no wait explains: page faults served by the host, interrupts.
        let unexplained = last_s * 0.004 * normal(&mut self.seed).abs() + 0.0003 * -uniform(&mut self.seed).ln();
        let disturbed_s = if self.noise == Noise::Silent { last_s } else { last_s + unexplained };
        let path_s = disturbed_s + program.sleeps_s;
        let wall_s = path_s + wait_s;
        self.elapsed_s += wall_s + BETWEEN_S;
        Run { cpu_s, uncontended_s: (program.threads == 1).then_some(path_s), wall_s }
    }

    /// A and B back to back in random order, B e^`effect` times as slow; the effect is drawn again for each run.
    pub fn pair(&mut self, effect: impl FnOnce(&mut Seed) -> f64) -> Pair {
        let effect = effect(&mut self.seed);
        self.pair_of([COMPUTES; 2], effect)
    }

    /// Two programs back to back in random order, the computing of the second e^`effect` times as slow.
    pub fn pair_of(&mut self, [a, b]: [Program; 2], effect: f64) -> Pair {
        let first_is_a = self.seed.coin();
        let (a, b) = if first_is_a {
            let a = self.run(a, 0.0);
            (a, self.run(b, effect))
        } else {
            let b = self.run(b, effect);
            (self.run(a, 0.0), b)
        };
        Pair {
            cpu: Ratio::of(a.cpu_s, b.cpu_s),
            uncontended: a.uncontended_s.zip(b.uncontended_s).map(|(a, b)| Ratio::of(a, b)),
            wall: Ratio::of(a.wall_s, b.wall_s),
            rss: None,
        }
    }
}

/// Evenly above 0 up to 1.
pub fn uniform(seed: &mut Seed) -> f64 {
    ((seed.bits() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
}

/// Standard normal (Box & Muller 1958).
pub fn normal(seed: &mut Seed) -> f64 {
    (-2.0 * uniform(seed).ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform(seed)).cos()
}
