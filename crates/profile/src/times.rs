//! Differences of the times that functions took, between two builds that did the same work equally often.
//!
//! Shares say nothing of time: where one function takes longer, the shares of all others fall. Where both builds did the same
//! work, as replays of one demo do, the time of a function is its share of a run's samples times the CPU time of the run, and can be
//! compared directly.
//!
//! [`shifts`] does the statistics. It takes shares of a whole that is the same for both builds: each run is padded with time in
//! which no function runs, up to twice the longest run. So the time of a function is a share of that whole, and the variation of the
//! CPU time between runs is variation of shares. The intervals of all functions, and that of the total, hold together.

use prony_stats::Interval;

use crate::pairing::pair;
use crate::shifts::{Growth, Shift, Shifts, shifts};
use crate::stacks::{NameId, Stacks};

/// The padding as a function. Names of functions have no line breaks.
const NOTHING: &str = "\n";
/// A run is padded to this multiple of the longest one.
const WHOLE: f64 = 2.0;
/// Nanoseconds of a second.
const NS: f64 = 1e9;

/// Stack samples of work that was done some times, and its CPU time.
#[derive(Debug, Clone, Default)]
pub struct TimedStacks {
    /// Samples of the work.
    pub stacks: Stacks,
    /// CPU time of the work, in seconds.
    pub cpu_s: f64,
    /// How many times the same work was done.
    pub times: u64,
}

/// A function in two builds.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeChange {
    /// Name of the function, demangled.
    pub name: String,
    /// Time in the function itself.
    pub own: TimeGrowth,
    /// Time in the function and in those that it called.
    pub inclusive: TimeGrowth,
    /// Seen in interrupts alone, which belong to the code that caused them: not judged.
    pub is_interrupt: bool,
}

/// Times of one piece of work in two builds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeGrowth {
    /// Times in the first and in the second, in seconds.
    pub seconds: [f64; 2],
    /// By how much the time grew, in seconds. Its level is that of all intervals together.
    pub growth: Interval,
}

/// All functions of two builds.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeChanges {
    /// All functions together.
    pub total: TimeGrowth,
    /// Those whose own time differs by more than chance first, and of them those whose own time differs most.
    pub functions: Vec<TimeChange>,
    /// True if intervals include the variation between runs: each side has at least two runs.
    pub is_judged: bool,
}

impl TimeChange {
    /// True if the function's own time differs by more than chance, if [`TimeChanges::is_judged`].
    pub fn stands_out(&self) -> bool {
        !self.is_interrupt && self.own.growth.excludes(0.0)
    }
}

impl TimeChanges {
    /// Share of the difference of the totals that a function has itself; above 1, or below 0, where others go the other way.
    /// `None` where the totals do not differ by more than chance.
    pub fn share_of_total(&self, change: &TimeChange) -> Option<f64> {
        let total = self.total.growth;
        total.excludes(0.0).then(|| change.own.growth.estimate / total.estimate)
    }
}

/// Changes of the times of functions, for one time that the work was done; `level`: the two-sided error of all intervals together. `None`
/// without a sample on either side. Runs without samples are left out.
pub fn time_changes(a: &[TimedStacks], b: &[TimedStacks], level: f64) -> Option<TimeChanges> {
    let [a, b] = [a, b].map(|runs| runs.iter().filter(|run| run.is_usable()).collect::<Vec<_>>());
    let of = |runs: &[&TimedStacks]| runs.iter().map(|run| run.stacks.clone()).collect::<Vec<_>>();
    let paired = pair(&of(&a), &of(&b));
    let longest_s = a.iter().chain(&b).map(|run| run.cpu_s / run.times as f64).fold(0.0, f64::max);
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let whole_s = WHOLE * longest_s;
    let pad = |stacks: &[Stacks], runs: &[&TimedStacks]| {
        stacks.iter().zip(runs).map(|(stacks, run)| padded(stacks, run, whole_s)).collect::<Vec<_>>()
    };
    let Shifts { functions, is_judged, .. } = shifts(&pad(&paired.a, &a), &pad(&paired.b, &b), level);
    let total = functions.iter().find(|shift| shift.name == NOTHING).map(|nothing| {
        let Growth { shares, growth, .. } = nothing.own;
        let Interval { estimate, low, high, .. } = growth;
        let growth = Interval { estimate: -estimate, low: -high, high: -low, ..growth };
        in_seconds(shares.map(|share| 1.0 - share), growth, whole_s)
    })?;
    let change = |Shift { name, own, inclusive, is_interrupt }: Shift| {
        let [own, inclusive] = [own, inclusive].map(|of| in_seconds(of.shares, of.growth, whole_s));
        TimeChange { name, own, inclusive, is_interrupt }
    };
    let mut functions: Vec<TimeChange> =
        functions.into_iter().filter(|shift| shift.name != NOTHING).map(change).collect();
    let size = |change: &TimeChange| change.own.growth.estimate.abs();
    functions.sort_by(|x, y| {
        y.stands_out()
            .cmp(&x.stands_out())
            .then_with(|| size(y).total_cmp(&size(x)))
            .then_with(|| y.inclusive.seconds[1].total_cmp(&x.inclusive.seconds[1]))
            .then_with(|| x.name.cmp(&y.name))
    });
    Some(TimeChanges { total, functions, is_judged })
}

impl TimedStacks {
    /// Adds more of the same work.
    pub fn add(&mut self, other: &TimedStacks) {
        for (stack, weight) in other.stacks.iter() {
            let stack: Vec<NameId> = stack.iter().map(|&name| self.stacks.name(other.stacks.text(name))).collect();
            self.stacks.add(&stack, weight);
        }
        self.cpu_s += other.cpu_s;
        self.times += other.times;
    }

    fn is_usable(&self) -> bool {
        self.times > 0 && self.stacks.total() > 0 && self.cpu_s > 0.0
    }
}

/// The stacks of a run, weighted by time, and the padding to `whole_s` for each time that the work was done.
fn padded(stacks: &Stacks, run: &TimedStacks, whole_s: f64) -> Stacks {
    let samples = stacks.total();
    let sample_ns = (run.cpu_s * NS / samples as f64).max(1.0);
    let mut out = Stacks::new(stacks.weight_unit());
    let mut names = Vec::new();
    for (stack, count) in stacks.iter() {
        names.clear();
        names.extend(stack.iter().map(|&name| out.name(stacks.text(name))));
        out.add_weighted(&names, count, sample_ns as u64);
    }
    let rest = whole_s * run.times as f64 * NS / sample_ns - samples as f64;
    let nothing = out.unnameable(NOTHING);
    out.add_weighted(&[nothing], rest.round().max(0.0) as u64, sample_ns as u64);
    out
}

fn in_seconds(shares: [f64; 2], growth: Interval, whole_s: f64) -> TimeGrowth {
    let Interval { estimate, low, high, .. } = growth;
    TimeGrowth {
        seconds: shares.map(|share| share * whole_s),
        growth: Interval { estimate: estimate * whole_s, low: low * whole_s, high: high * whole_s, ..growth },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_stats::Seed;

    fn uniform(seed: &mut Seed) -> f64 {
        (seed.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A run of 10 times of the same work: milliseconds of each function, taken at 4 kHz. `scatter`: how far times of runs lie
    /// apart besides, as a part of each.
    fn run(functions_ms: &[(&str, f64)], scatter: f64, seed: &mut Seed) -> TimedStacks {
        let scale = 1.0 + scatter * (uniform(seed) * 2.0 - 1.0) * 3f64.sqrt();
        let total_ms: f64 = functions_ms.iter().map(|(_, ms)| ms).sum::<f64>() * scale;
        let mut text = String::new();
        for _ in 0..(total_ms * 10.0 * 4.0) as usize {
            let mut drawn = uniform(seed) * total_ms / scale;
            let found = functions_ms.iter().find(|(_, ms)| {
                drawn -= ms;
                drawn < 0.0
            });
            let name = found.map_or(functions_ms[0].0, |(name, _)| name);
            text += &format!("srv;main;{name} 1\n");
        }
        let stacks = Stacks::from_folded(text.as_bytes()).stacks;
        TimedStacks { stacks, cpu_s: total_ms * 10.0 / 1e3, times: 10 }
    }

    fn runs(functions_ms: &[(&str, f64)], scatter: f64, seed: &mut Seed) -> Vec<TimedStacks> {
        (0..6).map(|_| run(functions_ms, scatter, seed)).collect()
    }

    const OLD: &[(&str, f64)] = &[("simulate", 12.0), ("encode", 5.0), ("parse", 2.0), ("log", 1.0)];

    #[test]
    fn only_the_function_that_takes_longer_stands_out() {
        let new: &[(&str, f64)] = &[("simulate", 12.0), ("encode", 9.0), ("parse", 2.0), ("log", 1.0)];
        let mut seed = Seed::new(7);
        let (a, b) = (runs(OLD, 0.01, &mut seed), runs(new, 0.01, &mut seed));
        let changes = time_changes(&a, &b, 0.05).expect("there are samples");
        let out: Vec<&str> =
            changes.functions.iter().filter(|change| change.stands_out()).map(|change| change.name.as_str()).collect();
        // Its callers took longer too, but do nothing themselves.
        assert_eq!(out, ["encode"], "{changes:?}");
        let encode = &changes.functions[0];
        assert!(
            (encode.own.seconds[0] - 5e-3).abs() < 5e-4 && (encode.own.seconds[1] - 9e-3).abs() < 5e-4,
            "{encode:?}"
        );
        assert!(encode.own.growth.low < 4e-3 && encode.own.growth.high > 4e-3, "{encode:?}");
        assert!((changes.total.growth.estimate - 4e-3).abs() < 1e-3, "{changes:?}");
        let share = changes.share_of_total(encode).expect("the totals differ");
        assert!((0.8..1.2).contains(&share), "{share}");
        // By shares, the others shrank.
        let of = |runs: &[TimedStacks]| runs.iter().map(|run| run.stacks.clone()).collect::<Vec<_>>();
        let shares = shifts(&of(&a), &of(&b), 0.05);
        assert!(shares.functions.iter().any(|shift| shift.name == "simulate" && shift.stands_out()));
        assert!(changes.functions.iter().all(|change| !change.name.contains(NOTHING)));
    }

    #[test]
    fn a_new_function_took_no_time_before() {
        let new: &[(&str, f64)] = &[("simulate", 12.0), ("encode", 5.0), ("parse", 2.0), ("log", 1.0), ("check", 4.0)];
        let mut seed = Seed::new(8);
        let changes =
            time_changes(&runs(OLD, 0.01, &mut seed), &runs(new, 0.01, &mut seed), 0.05).expect("there are samples");
        assert_eq!((changes.functions[0].name.as_str(), changes.functions[0].own.seconds[0]), ("check", 0.0));
        assert!(changes.functions[0].stands_out());
    }

    #[test]
    fn a_build_against_itself_names_a_function_in_at_most_5_of_100_comparisons() {
        const TRIALS: usize = 200;
        for scatter in [0.0, 0.05] {
            let mut seed = Seed::new(11);
            let wrong = (0..TRIALS).filter(|_| {
                let (a, b) = (runs(OLD, scatter, &mut seed), runs(OLD, scatter, &mut seed));
                let changes = time_changes(&a, &b, 0.05).expect("there are samples");
                changes.total.growth.excludes(0.0) || changes.functions.iter().any(TimeChange::stands_out)
            });
            // 3.1 standard errors above 5 %, once in a thousand.
            let (wrong, trials) = (wrong.count(), TRIALS as f64);
            assert!(
                wrong as f64 <= 0.05 * trials + 3.1 * (0.05 * 0.95 * trials).sqrt(),
                "{scatter}: {wrong} of {TRIALS}"
            );
        }
    }

    #[test]
    fn one_run_is_not_judged_and_none_has_no_answer() {
        let mut seed = Seed::new(9);
        let one = vec![run(OLD, 0.0, &mut seed)];
        assert_eq!(time_changes(&one, &one, 0.05).map(|changes| changes.is_judged), Some(false));
        assert!(time_changes(&one, &[TimedStacks::default()], 0.05).is_none());
    }

    #[test]
    fn more_of_the_same_work_leaves_the_time_of_each() {
        let mut seed = Seed::new(10);
        let (first, second) = (run(OLD, 0.0, &mut seed), run(OLD, 0.0, &mut seed));
        let mut both = first.clone();
        both.add(&second);
        assert_eq!((both.times, both.stacks.total()), (20, first.stacks.total() + second.stacks.total()));
        let changes = time_changes(&[both], &[first], 0.05).expect("there are samples");
        assert!((changes.total.seconds[0] - changes.total.seconds[1]).abs() < 1e-5, "{changes:?}");
    }
}
