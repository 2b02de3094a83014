use super::*;
use crate::Seed;
use crate::metric::Metric;
use crate::noise::{Machine, NOISES, Noise, uniform};
use crate::verdict::Verdict;

mod waited_for;

fn plan() -> Plan {
    Plan { alpha: 0.05, margin: 0.01f64.ln_1p(), budget_s: 8.0, metric: None, tolerates: false }
}

fn compare(noise: Noise, effect: f64, seed: u64) -> Outcome {
    compare_with(noise, seed, |_| effect)
}

/// B draws its effect again for each run.
fn compare_with(noise: Noise, seed: u64, effect: impl Fn(&mut Seed) -> f64) -> Outcome {
    compare_by(plan(), noise, seed, effect)
}

fn compare_by(plan: Plan, noise: Noise, seed: u64, effect: impl Fn(&mut Seed) -> f64) -> Outcome {
    let mut machine = Machine::new(noise, seed);
    let mut judge = Judge::new(plan);
    loop {
        judge.push(machine.pair(&effect));
        if let Some(outcome) = judge.look(machine.elapsed_s) {
            return outcome;
        }
    }
}

/// How many of `n` can be expected at most when each happens with probability `p`, but once in a thousand.
pub(super) fn at_most(n: usize, p: f64) -> usize {
    let n = n as f64;
    (n * p + 3.1 * (n * p * (1.0 - p)).sqrt()).ceil() as usize
}

fn at_least(n: usize, p: f64) -> usize {
    n - at_most(n, 1.0 - p)
}

pub(super) fn count(outcomes: &[Outcome], wanted: impl Fn(&Outcome) -> bool) -> usize {
    outcomes.iter().filter(|outcome| wanted(outcome)).count()
}

fn differs(outcome: &Outcome) -> bool {
    matches!(outcome.verdict, Verdict::Faster | Verdict::Slower)
}

/// Intervals that do not hold the truth, of the metric that decided.
fn missed(outcomes: &[Outcome], truth: f64) -> usize {
    count(outcomes, |outcome| outcome.interval.low > truth || outcome.interval.high < truth)
}

#[test]
fn equal_builds_are_called_different_as_seldom_as_promised_whatever_the_noise() {
    const EACH: usize = 500;
    let mut false_alarms = 0;
    for noise in NOISES {
        let outcomes: Vec<Outcome> = (0..EACH as u64).map(|seed| compare(noise, 0.0, seed)).collect();
        let wrong = count(&outcomes, differs);
        assert!(wrong <= at_most(EACH, 0.05), "{noise:?}: {wrong} of {EACH}");
        // The interval misses where the verdict is wrong, or where "same" was said of a point outside it.
        let missed = missed(&outcomes, 0.0);
        assert!(missed <= at_most(EACH, 0.05), "{noise:?}: {missed} intervals of {EACH} miss 0");
        let same = count(&outcomes, |outcome| outcome.verdict == Verdict::Same);
        assert!(same >= EACH * 6 / 10, "{noise:?}: {same} of {EACH} called the same");
        false_alarms += wrong;
    }
    let all = EACH * NOISES.len();
    assert!(false_alarms <= at_most(all, 0.04), "{false_alarms} of {all}");
}

#[test]
fn a_tolerated_difference_is_the_same_and_a_larger_one_is_found() {
    const EACH: usize = 100;
    let tolerant = Plan { margin: 0.1f64.ln_1p(), tolerates: true, ..plan() };
    let outcomes = |plan: Plan, effect: f64| -> Vec<Outcome> {
        (0..EACH as u64).map(|seed| compare_by(plan, Noise::Bursts, seed, |_| effect)).collect()
    };
    let found = |outcomes: &[Outcome], verdict: Verdict| count(outcomes, |outcome| outcome.verdict == verdict);
    let five = outcomes(tolerant, 0.05);
    assert_eq!((found(&five, Verdict::Slower), found(&five, Verdict::Faster)), (0, 0));
    assert!(found(&five, Verdict::Same) >= EACH * 9 / 10, "{}", found(&five, Verdict::Same));
    for outcome in &five {
        assert!(outcome.forecast.is_none_or(|forecast| forecast.seconds_more.is_finite()), "{outcome:?}");
    }
    let fifteen = outcomes(tolerant, 0.15);
    assert!(found(&fifteen, Verdict::Slower) >= EACH * 9 / 10, "{}", found(&fifteen, Verdict::Slower));
    assert!(found(&outcomes(Plan { tolerates: false, ..tolerant }, 0.05), Verdict::Slower) >= EACH * 9 / 10);
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
    let near = count(&outcomes, |outcome| (outcome.interval.estimate - 0.01).abs() <= 0.005);
    assert!(near >= EACH * 95 / 100, "{near} of {EACH} within 0.5 points");
    let missed = missed(&outcomes, 0.01);
    assert!(missed <= at_most(EACH, 0.05), "{missed} intervals of {EACH} miss the truth");
}

#[test]
fn small_and_large_differences_are_found_under_bursts() {
    const EACH: usize = 300;
    // How many must be found, and by which share of the budget half of them.
    for (effect, power, median_share) in [(0.005, 0.85, 0.5), (0.02, 0.99, 0.25), (0.05, 0.99, 0.125)] {
        let outcomes: Vec<Outcome> = (0..EACH as u64).map(|seed| compare(Noise::Bursts, effect, 5000 + seed)).collect();
        let found = count(&outcomes, |outcome| outcome.verdict == Verdict::Slower);
        assert!(found >= at_least(EACH, power), "{effect}: {found} of {EACH}");
        let wrong = count(&outcomes, |outcome| outcome.verdict == Verdict::Faster);
        assert!(wrong <= EACH / 100, "{effect}: {wrong} of {EACH} in the wrong direction");
        let by_then = count(&outcomes, |outcome| outcome.share <= median_share);
        assert!(by_then >= EACH / 2, "{effect}: {by_then} of {EACH} by {median_share} of the budget");
        let missed = missed(&outcomes, effect);
        assert!(missed <= at_most(EACH, 0.05), "{effect}: {missed} intervals of {EACH} miss the truth");
    }
}

/// B by itself anywhere within ±1 % of `centre`.
fn evenly_within_one_per_cent(centre: f64) -> impl Fn(&mut Seed) -> f64 {
    move |seed| centre + 0.02 * (uniform(seed) - 0.5)
}

/// B by itself evenly within 2 % in 65 of 100 runs, and 8 % slower in the rest; half of all runs lie below `median`.
fn in_two_modes(median: f64) -> impl Fn(&mut Seed) -> f64 {
    move |seed| {
        let lower = median + 0.02 * (uniform(seed) - 0.5 / 0.65);
        lower + if uniform(seed) < 0.35 { 0.08 } else { 0.0 }
    }
}

#[test]
fn what_b_scatters_by_itself_moves_no_estimate() {
    const EACH: usize = 300;
    for noise in [Noise::Silent, Noise::Bursts] {
        for truth in [0.0, 0.01] {
            let outcomes: Vec<Outcome> =
                (0..EACH as u64).map(|seed| compare_with(noise, seed, evenly_within_one_per_cent(truth))).collect();
            holds(&format!("{noise:?}, even, {truth}"), &outcomes, truth);
        }
    }
    for truth in [0.0, 0.01] {
        let outcomes: Vec<Outcome> =
            (0..EACH as u64).map(|seed| compare_with(Noise::Silent, seed, in_two_modes(truth))).collect();
        holds(&format!("two modes, {truth}"), &outcomes, truth);
    }
}

#[test]
fn what_b_scatters_by_itself_moves_no_estimate_of_many_pairs() {
    const EACH: usize = 300;
    let of_400_pairs = |noise, seed, effect: &dyn Fn(&mut Seed) -> f64| {
        let mut machine = Machine::new(noise, seed);
        judge_of((0..400).map(|_| machine.pair(effect))).finish(8.0)
    };
    for (noise, truth) in [(Noise::Silent, 0.0), (Noise::Silent, 0.01), (Noise::Bursts, 0.01)] {
        let even = evenly_within_one_per_cent(truth);
        let outcomes: Vec<Outcome> = (0..EACH as u64).map(|seed| of_400_pairs(noise, seed, &even)).collect();
        holds(&format!("{noise:?}, even, {truth}"), &outcomes, truth);
    }
    for truth in [0.0, 0.01] {
        let modes = in_two_modes(truth);
        let outcomes: Vec<Outcome> = (0..EACH as u64).map(|seed| of_400_pairs(Noise::Silent, seed, &modes)).collect();
        holds(&format!("two modes, {truth}"), &outcomes, truth);
    }
}

/// Intervals hold the true median ratio, no winner where it is 0, one where it is not, and estimates lean to no side.
fn holds(what: &str, outcomes: &[Outcome], truth: f64) {
    let n = outcomes.len();
    let missed = missed(outcomes, truth);
    assert!(missed <= at_most(n, 0.05), "{what}: {missed} intervals of {n} miss the truth");
    let cpu = count(outcomes, |outcome| outcome.cpu.interval.excludes(truth));
    assert!(cpu <= at_most(n, 0.025), "{what}: {cpu} intervals of {n} of CPU time miss the truth");
    if truth == 0.0 {
        let wrong = count(outcomes, differs);
        assert!(wrong <= at_most(n, 0.05), "{what}: {wrong} false alarms in {n}");
    } else {
        let found = count(outcomes, |outcome| outcome.verdict == Verdict::Slower);
        assert!(found >= at_least(n, 0.99), "{what}: found {found} of {n}");
    }
    let mut estimates: Vec<f64> = outcomes.iter().map(|outcome| outcome.interval.estimate).collect();
    estimates.sort_by(f64::total_cmp);
    let middle = estimates[n / 2];
    assert!((middle - truth).abs() < 0.001, "{what}: half of the estimates are below {middle}");
}

#[test]
fn files_and_options_have_their_own_names_of_one_metric() {
    for metric in [Metric::Cpu, Metric::Uncontended, Metric::Wall] {
        assert_eq!(Metric::from_name(metric.name()), Some(metric));
        assert_eq!(serde_json::to_value(metric).expect("a plain value"), metric.name());
    }
    assert_eq!(Metric::from_name("uncontended"), Some(Metric::Uncontended));
    assert_eq!(Metric::Uncontended.name(), "uncontended");
    assert_eq!(Metric::from_name("network"), None);
}

/// A pair in which B takes e^`cpu` and e^`uncontended` times as long.
fn pair(cpu: f64, uncontended: Option<f64>) -> Pair {
    let ratio = |log| Ratio { log, level: 0.0 };
    Pair { cpu: ratio(cpu), uncontended: uncontended.map(ratio), wall: ratio(cpu), rss: None }
}

fn judge_of(pairs: impl IntoIterator<Item = Pair>) -> Judge {
    let mut judge = Judge::new(plan());
    pairs.into_iter().for_each(|pair| judge.push(pair));
    judge
}

/// `n` values around `centre`, evenly within ±0.01.
fn around(centre: f64, n: usize) -> impl Iterator<Item = f64> {
    (0..n).map(move |at| centre + 0.02 * (((at * 37) % n) as f64 / (n - 1) as f64 - 0.5))
}

#[test]
fn where_metrics_contradict_each_other_uncontended_time_decides() {
    let outcome = judge_of(around(0.03, 40).map(|log| pair(log, Some(-log)))).finish(2.0);
    assert_eq!((outcome.verdict, outcome.metric), (Verdict::Faster, Metric::Uncontended));
    assert!(
        matches!(outcome.reasons[..], [Reason::OppositeSigns { cpu, uncontended }] if cpu.low > 0.0 && uncontended.high < 0.0)
    );
}

#[test]
fn without_uncontended_time_all_of_alpha_is_for_wall_time() {
    let with = judge_of(around(0.0, 60).map(|log| pair(log, Some(log)))).finish(2.0);
    let without = judge_of(around(0.0, 60).map(|log| pair(log, None))).finish(2.0);
    assert_eq!((with.cpu.interval.confidence, with.judged), (0.975, vec![Metric::Cpu, Metric::Uncontended]));
    assert_eq!((without.wall.interval.confidence, without.judged), (0.95, vec![Metric::Wall]));
    assert_eq!(without.reasons, [Reason::WaitUnknown]);
}

#[test]
fn looks_come_at_their_shares_of_the_budget() {
    let mut judge = judge_of(around(0.0, 10).map(|log| pair(3.0 * log, None)));
    assert_eq!(judge.next_look_s(), Some(0.5));
    assert_eq!(judge.look(0.4), None);
    assert_eq!(judge.look(0.6), None);
    assert_eq!(judge.next_look_s(), Some(1.0));
    // Two looks missed: the latest of them stands for both.
    assert_eq!(judge.look(5.0), None);
    assert_eq!(judge.next_look_s(), Some(8.0));
    let outcome = judge.look(8.0).expect("the budget is used");
    assert_eq!((outcome.share, outcome.pairs, judge.next_look_s()), (1.0, 10, None));
    assert_eq!(judge.look(9.0), None);
}

#[test]
fn an_unclear_result_says_what_it_would_take() {
    let outcome = judge_of(around(0.002, 40).map(|log| pair(3.0 * log, None))).finish(2.0);
    assert_eq!(outcome.verdict, Verdict::Unclear);
    let forecast = outcome.forecast.expect("an unclear result has one");
    assert!(forecast.pairs > 40 && forecast.pairs < 400, "{forecast:?}");
    assert!((forecast.seconds_more - (forecast.pairs - 40) as f64 * 0.05).abs() < 1e-9);
}

#[test]
fn nothing_and_little_are_unclear() {
    let nothing = Judge::new(plan()).finish(0.0);
    assert!(nothing.verdict == Verdict::Unclear && nothing.interval.estimate.is_nan() && nothing.forecast.is_none());
    let little = judge_of([pair(0.5, None), pair(f64::NAN, None)]).finish(1.0);
    assert_eq!((little.verdict, little.pairs, little.interval.low), (Verdict::Unclear, 2, f64::NEG_INFINITY));
    assert_eq!(little.reasons, [Reason::TooFewPairs { pairs: 1, needed: 6 }, Reason::WaitUnknown]);
}

#[test]
fn holm_gives_what_is_left_to_the_others() {
    // Alone at 5 % the weak difference is found, among three at 5/3 % it is not; with the other two found it is again.
    let strong = || judge_at(0.05 / 3.0, around(0.05, 30));
    let weak = || judge_at(0.05 / 3.0, around(0.00245, 30));
    let nothing = || judge_at(0.05 / 3.0, around(0.0, 30));
    let verdicts = |mut judges: [Judge; 3]| {
        judges.iter_mut().for_each(|judge| drop(judge.finish(2.0)));
        crate::decide::multiplicity::holm(&judges, 0.05, 2.0).iter().map(|outcome| outcome.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts([strong(), weak(), strong()]), [Verdict::Slower; 3]);
    let [slower, other, same] = verdicts([strong(), nothing(), nothing()])[..] else { panic!("three judges") };
    assert!(slower == Verdict::Slower && other == same && other != Verdict::Slower);
    assert_ne!(verdicts([weak(), nothing(), nothing()])[0], Verdict::Slower);
}

fn judge_at(alpha: f64, logs: impl Iterator<Item = f64>) -> Judge {
    let mut judge = Judge::new(Plan { alpha, ..plan() });
    logs.for_each(|log| judge.push(pair(log, None)));
    judge
}
