//! Selection of the way of pairing with less noise: both runs of a pair sequentially, or in parallel on one CPU.
//!
//! Each is tried on **one command with itself**, before anything is compared, and none of these runs is part of the
//! comparison. So the choice is made of numbers that know nothing of the other command: whichever way is taken, and whatever
//! it costs, pairs of A and B have under "no difference" an even chance for each sign, and the tests and intervals are
//! those of that way. What a choice by the pairs themselves would do, take the way in which B happened to lie farther from
//! A, it cannot.
//!
//! A pair's log ratio with itself has a median of 0, so its size is its scatter. The median of a few sizes is taken:
//! disturbances of single pairs, which ranks bear later too, do not decide. What counts is the **variance for each second
//! of the budget**: after T seconds of pairs that take t each, an interval reaches σ·√(t/T).

use crate::describe::quantile::median;

/// Taking turns must promise this many times the information of both at once. A few pairs tell a ratio of variances within a factor
/// of about three, and what disturbs a machine comes and goes: a trial of half a second may meet a calm. Runs that take turns and
/// are disturbed later scatter ten times as much, and runs at once as before.
pub const GAIN_MIN: f64 = 1.5;
/// Fewer pairs of either way tell nothing.
pub const PAIRS_MIN: usize = 3;

/// Ways to make the runs of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Sequential: one run after the other.
    InTurns,
    /// Both at once on one CPU.
    AtOnce,
}

/// Result of trying one way of pairing.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// ln of the times of two runs of the same command, one a pair.
    pub logs: Vec<f64>,
    /// Duration of a pair, in seconds.
    pub pair_s: f64,
}

impl Trial {
    /// σ of a pair: 1.4826 times the median size. `None` with too few pairs.
    pub fn deviation(&self) -> Option<f64> {
        let sizes: Vec<f64> = self.logs.iter().map(|log| log.abs()).filter(|size| size.is_finite()).collect();
        median(&sizes).filter(|_| sizes.len() >= PAIRS_MIN).map(|median| 1.4826 * median)
    }

    /// Variance that is left after a second of such pairs.
    fn variance_after_a_second(&self) -> Option<f64> {
        self.deviation().map(|deviation| deviation.powi(2) * self.pair_s)
    }
}

/// The way to take: at once, unless taking turns yields far more; alternately where too little is known.
pub fn choose(in_turns: &Trial, at_once: &Trial) -> Pairing {
    match (in_turns.variance_after_a_second(), at_once.variance_after_a_second()) {
        (Some(turns), Some(once)) if once <= GAIN_MIN * turns => Pairing::AtOnce,
        _ => Pairing::InTurns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::decide::judge::{Judge, Look, Outcome, Pair, Plan, Ratio};
    use crate::noise::{COMPUTES, Machine, NOISES, Noise, normal};
    use crate::verdict::Verdict;

    /// How far a run at once differs from the other by itself: little, where turns are many, and much where they are few.
    const OWN: [f64; 3] = [0.003, 0.012, 0.05];

    /// Two runs of a command at once: the machine disturbs both alike, and each has something of its own.
    fn at_once(machine: &mut Machine, seed: &mut Seed, own: f64, effect: f64) -> Ratio {
        let common = machine.run(COMPUTES, 0.0);
        // Both take their time on the one CPU.
        machine.elapsed_s += common.wall_s;
        let [a, b] = [0.0, effect].map(|effect| common.cpu_s * (effect + own * normal(seed)).exp());
        Ratio::of(a, b)
    }

    /// A whole comparison: a trial of A with itself, the choice, and the judge. Trials take an eighth of the budget.
    fn compare(noise: Noise, own: f64, effect: f64, number: u64) -> (Pairing, Outcome) {
        let (mut machine, mut seed) = (Machine::new(noise, number), Seed::new(number ^ 0xd0e7));
        let mut last = machine.run(COMPUTES, 0.0).cpu_s;
        let mut logs = Vec::new();
        while machine.elapsed_s < 0.15 {
            let next = machine.run(COMPUTES, 0.0).cpu_s;
            logs.push((next / last).ln());
            last = next;
        }
        let in_turns = Trial { pair_s: 2.0 * machine.elapsed_s / (logs.len() + 1) as f64, logs };
        let begun_s = machine.elapsed_s;
        let mut logs = Vec::new();
        while machine.elapsed_s < 0.3 {
            logs.push(at_once(&mut machine, &mut seed, own, 0.0).log);
        }
        let once = Trial { pair_s: (machine.elapsed_s - begun_s) / logs.len() as f64, logs };
        let way = choose(&in_turns, &once);
        let mut judge =
            Judge::new(Plan { alpha: 0.05, margin: 0.01f64.ln_1p(), budget_s: 8.0, metric: None, tolerates: false });
        loop {
            judge.push(match way {
                Pairing::InTurns => machine.pair(|_| effect),
                Pairing::AtOnce => {
                    let cpu = at_once(&mut machine, &mut seed, own, effect);
                    Pair { cpu, uncontended: Some(cpu), wall: Ratio { log: f64::NAN, level: f64::NAN }, rss: None }
                }
            });
            if let Some(outcome) = judge.look(machine.elapsed_s) {
                return (way, outcome);
            }
        }
    }

    #[test]
    fn choosing_the_way_raises_no_false_alarm_and_no_interval_misses_more() {
        const EACH: u64 = 100;
        let (mut all, mut wrong, mut missed) = (0, 0, 0);
        for (noise, own) in NOISES.into_iter().flat_map(|noise| OWN.map(|own| (noise, own))) {
            for (number, effect) in (0..EACH).flat_map(|number| [(number, 0.0), (number + EACH, 0.01)]) {
                let (_, outcome) = compare(noise, own, effect, number);
                missed += usize::from(outcome.interval.low > effect || outcome.interval.high < effect);
                all += 1;
                if effect == 0.0 {
                    wrong += usize::from(matches!(outcome.verdict, Verdict::Faster | Verdict::Slower));
                }
            }
        }
        // 2,100 comparisons with no difference, as many with one.
        assert!(wrong <= all / 2 / 20 && missed <= all / 20, "{wrong} wrong, {missed} missed of {all}");
    }

    #[test]
    fn the_way_that_scatters_far_less_is_taken() {
        let share =
            |noise, own| (0..200).filter(|&number| compare(noise, own, 0.0, number).0 == Pairing::AtOnce).count();
        // σ of a pair that takes turns is 1.4 % of white noise, and a pair at once takes as long.
        let (far_less, far_more) = (share(Noise::White, 0.003), share(Noise::White, 0.05));
        assert!(far_less >= 190 && far_more <= 10, "{far_less} and {far_more} of 200");
    }

    #[test]
    fn by_hand() {
        let trial = |logs: &[f64], pair_s| Trial { logs: logs.to_vec(), pair_s };
        let turns = trial(&[0.02, -0.04, 0.03], 0.2);
        assert!((turns.deviation().expect("there are three") - 0.044478).abs() < 1e-9);
        assert_eq!(choose(&turns, &trial(&[0.01, -0.01, 0.9], 0.2)), Pairing::AtOnce, "one far out decides nothing");
        assert_eq!(choose(&turns, &trial(&[0.01, -0.01, 0.01], 2.6)), Pairing::AtOnce, "somewhat less");
        assert_eq!(choose(&turns, &trial(&[0.01, -0.01, 0.01], 2.8)), Pairing::InTurns, "it takes too long");
        assert_eq!(choose(&turns, &trial(&[0.01, 0.01], 0.2)), Pairing::InTurns, "two are too few");
        assert_eq!(choose(&trial(&[], 0.0), &turns), Pairing::InTurns);
        assert_eq!(choose(&trial(&[0.0; 4], 0.2), &trial(&[0.0; 4], 0.2)), Pairing::AtOnce);
    }
}
