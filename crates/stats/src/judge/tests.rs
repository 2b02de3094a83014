use super::*;
use crate::noise::{Machine, NOISES, Noise};

fn plan() -> Plan {
    Plan { alpha: 0.05, margin: 0.01f64.ln_1p(), budget_s: 8.0 }
}

fn compare(noise: Noise, effect: f64, seed: u64) -> Outcome {
    let mut machine = Machine::new(noise, seed);
    let mut judge = Judge::new(plan());
    loop {
        judge.push(machine.pair(effect));
        if let Some(outcome) = judge.look(machine.elapsed_s) {
            return outcome;
        }
    }
}

/// How many of `n` can be expected at most when each happens with probability `p`, but once in a thousand.
fn at_most(n: usize, p: f64) -> usize {
    let n = n as f64;
    (n * p + 3.1 * (n * p * (1.0 - p)).sqrt()).ceil() as usize
}

fn count(outcomes: &[Outcome], wanted: impl Fn(&Outcome) -> bool) -> usize {
    outcomes.iter().filter(|outcome| wanted(outcome)).count()
}

fn differs(outcome: &Outcome) -> bool {
    matches!(outcome.verdict, Verdict::Faster | Verdict::Slower)
}

#[test]
fn equal_builds_are_told_apart_as_seldom_as_promised_whatever_the_noise() {
    const EACH: usize = 500;
    let mut false_alarms = 0;
    for noise in NOISES {
        let outcomes: Vec<Outcome> = (0..EACH as u64).map(|seed| compare(noise, 0.0, seed)).collect();
        let wrong = count(&outcomes, differs);
        assert!(wrong <= at_most(EACH, 0.05), "{noise:?}: {wrong} of {EACH}");
        // The interval misses where the verdict is wrong, or where "same" was said of a point outside it.
        let missed = count(&outcomes, |outcome| outcome.low > 0.0 || outcome.high < 0.0);
        assert!(missed <= at_most(EACH, 0.05), "{noise:?}: {missed} intervals of {EACH} miss 0");
        let same = count(&outcomes, |outcome| outcome.verdict == Verdict::Same);
        assert!(same >= EACH * 6 / 10, "{noise:?}: {same} of {EACH} called the same");
        false_alarms += wrong;
    }
    let all = EACH * NOISES.len();
    assert!(false_alarms <= at_most(all, 0.04), "{false_alarms} of {all}");
}

#[test]
fn one_per_cent_is_found_under_bursts_and_estimated_well() {
    const EACH: usize = 400;
    let outcomes: Vec<Outcome> = (0..EACH as u64).map(|seed| compare(Noise::Bursts, 0.01, seed)).collect();
    let found = count(&outcomes, |outcome| outcome.verdict == Verdict::Slower);
    assert!(found >= EACH * 95 / 100, "{found} of {EACH}");
    assert!(count(&outcomes, |outcome| outcome.verdict == Verdict::Faster) <= EACH / 100);
    let mut seconds: Vec<f64> = outcomes.iter().map(|outcome| outcome.elapsed_s).collect();
    seconds.sort_by(f64::total_cmp);
    assert!(seconds[EACH / 2] <= 3.0, "median {} s", seconds[EACH / 2]);
    let near = count(&outcomes, |outcome| (outcome.estimate - 0.01).abs() <= 0.005);
    assert!(near >= EACH * 95 / 100, "{near} of {EACH} within 0.5 points");
    let missed = count(&outcomes, |outcome| outcome.low > 0.01 || outcome.high < 0.01);
    assert!(missed <= at_most(EACH, 0.05), "{missed} intervals of {EACH} miss the truth");
}
