//! Programs of which CPU time is not what the user waits for: threads that run at once, and sleepers.

use super::*;
use crate::metric::Metric;
use crate::noise::{COMPUTES, Program};
use crate::verdict::Verdict;

/// Two threads that compute, and then a sleep.
const SLEEPER: Program = Program { threads: 2, sleeps_s: 0.010, ..COMPUTES };
/// Waits for most of its time, as a server that answers one request.
const SERVER: Program = Program { threads: 1, computes_s: 0.005, sleeps_s: 0.020 };
/// What one thread does, in two, with something on top for sharing it.
const PARALLEL: Program = Program { threads: 2, computes_s: 0.515 * COMPUTES.computes_s, sleeps_s: 0.0 };

fn compare_programs(noise: Noise, programs: [Program; 2], effect: f64, seed: u64, metric: Option<Metric>) -> Outcome {
    let mut machine = Machine::new(noise, seed);
    let mut judge = Judge::new(Plan { metric, ..plan() });
    loop {
        judge.push(machine.pair_of(programs, effect));
        if let Some(outcome) = judge.look(machine.elapsed_s) {
            return outcome;
        }
    }
}

fn outcomes(each: usize, noise: Noise, programs: [Program; 2], effect: f64) -> Vec<Outcome> {
    (0..each as u64).map(|seed| compare_programs(noise, programs, effect, 9000 + seed, None)).collect()
}

#[test]
fn equal_programs_with_threads_or_sleep_are_called_different_as_seldom_as_promised() {
    const EACH: usize = 300;
    for program in [Program { sleeps_s: 0.0, ..SLEEPER }, SLEEPER, SERVER] {
        let mut false_alarms = 0;
        for noise in NOISES {
            let outcomes = outcomes(EACH, noise, [program; 2], 0.0);
            let wrong = count(&outcomes, differs);
            assert!(wrong <= at_most(EACH, 0.05), "{program:?}, {noise:?}: {wrong} of {EACH}");
            let missed = missed(&outcomes, 0.0);
            assert!(missed <= at_most(EACH, 0.05), "{program:?}, {noise:?}: {missed} intervals of {EACH} miss 0");
            false_alarms += wrong;
        }
        let all = EACH * NOISES.len();
        assert!(false_alarms <= at_most(all, 0.04), "{program:?}: {false_alarms} of {all}");
    }
}

#[test]
fn quiet_programs_with_threads_are_called_the_same() {
    for program in [SLEEPER, SERVER] {
        let outcomes = outcomes(200, Noise::White, [program; 2], 0.0);
        let same = count(&outcomes, |outcome| outcome.verdict == Verdict::Same);
        assert!(same >= at_least(200, 0.9), "{program:?}: {same} of 200");
    }
}

#[test]
fn a_longer_sleep_is_never_the_same() {
    const EACH: usize = 200;
    for noise in NOISES {
        let longer = Program { sleeps_s: 0.015, ..SLEEPER };
        let outcomes = outcomes(EACH, noise, [SLEEPER, longer], 0.0);
        let found = count(&outcomes, |outcome| outcome.verdict == Verdict::Slower);
        assert!(found >= at_least(EACH, 0.95), "{noise:?}: {found} of {EACH}");
        let wrong = count(&outcomes, |outcome| matches!(outcome.verdict, Verdict::Same | Verdict::Faster));
        assert_eq!(wrong, 0, "{noise:?}");
    }
}

#[test]
fn a_program_made_parallel_is_faster_though_it_computes_more() {
    const EACH: usize = 200;
    for noise in NOISES {
        let outcomes = outcomes(EACH, noise, [COMPUTES, PARALLEL], 0.0);
        let found = count(&outcomes, |outcome| outcome.verdict == Verdict::Faster && outcome.metric == Metric::Wall);
        assert!(found >= at_least(EACH, 0.95), "{noise:?}: {found} of {EACH}");
        let slower = count(&outcomes, |outcome| outcome.verdict == Verdict::Slower);
        assert_eq!(slower, 0, "{noise:?}");
    }
    let by_cpu = (0..50).map(|seed| compare_programs(Noise::White, [COMPUTES, PARALLEL], 0.0, seed, Some(Metric::Cpu)));
    assert!(by_cpu.into_iter().all(|outcome| outcome.verdict == Verdict::Slower && outcome.judged == [Metric::Cpu]));
}

#[test]
fn of_a_server_that_waits_the_time_of_an_answer_is_judged() {
    const EACH: usize = 200;
    // 20 % more computing is 4 % more of the answer.
    let (effect, truth) = (1.2f64.ln(), 1.04f64.ln());
    for noise in [Noise::White, Noise::Bursts, Noise::HeavyTails] {
        let outcomes = outcomes(EACH, noise, [SERVER; 2], effect);
        assert!(outcomes.iter().all(|outcome| outcome.judged == [Metric::Uncontended]), "{noise:?}");
        let found = count(&outcomes, |outcome| outcome.verdict == Verdict::Slower);
        assert!(found >= at_least(EACH, 0.95), "{noise:?}: {found} of {EACH}");
        let missed = missed(&outcomes, truth);
        // The noise is in what is computed, so the middle is within a thousandth of the truth without it.
        assert!(missed <= at_most(EACH, 0.10), "{noise:?}: {missed} intervals of {EACH} miss the truth");
    }
    // 1 % more computing is 0.2 % more of the answer, whatever CPU time says.
    let outcomes = outcomes(EACH, Noise::White, [SERVER; 2], 1.01f64.ln());
    let same = count(&outcomes, |outcome| outcome.verdict == Verdict::Same);
    assert!(same >= at_least(EACH, 0.7), "{same} of {EACH}");
    let has_reason =
        |outcome: &Outcome| outcome.reasons.iter().any(|reason| matches!(reason, Reason::CpuDiffers { .. }));
    assert!(count(&outcomes, has_reason) >= EACH / 2, "{:?}", outcomes[0]);
}

#[test]
fn losing_the_wait_in_between_spends_no_more() {
    // From the 60th pair on the wait for a core is no longer known.
    const EACH: usize = 1000;
    let outcomes: Vec<Outcome> = (0..EACH as u64)
        .map(|seed| {
            let mut machine = Machine::new(Noise::White, 31_000 + seed);
            let mut judge = Judge::new(Plan { margin: 1e-6, ..plan() });
            loop {
                let pair = machine.pair(|_| 0.0);
                judge.push(if judge.pairs() < 60 { pair } else { Pair { uncontended: None, ..pair } });
                if let Some(outcome) = judge.look(machine.elapsed_s) {
                    return outcome;
                }
            }
        })
        .collect();
    let wrong = count(&outcomes, differs);
    assert!(wrong <= at_most(EACH, 0.05), "{wrong} of {EACH}");
    assert!(count(&outcomes, |outcome| outcome.judged == [Metric::Wall]) > EACH * 9 / 10);
}

/// A pair of which the three times are known by themselves.
fn of(cpu: f64, uncontended: Option<f64>, wall: f64) -> Pair {
    let ratio = |log| Ratio { log, level: 0.0 };
    Pair { cpu: ratio(cpu), uncontended: uncontended.map(ratio), wall: ratio(wall), rss: None }
}

#[test]
fn threads_that_sleep_longer_are_slower_whatever_their_cpu_time() {
    let outcome = judge_of(around(0.0, 40).zip(around(0.5, 40)).map(|(cpu, wall)| of(cpu, None, wall))).finish(2.0);
    assert_eq!((outcome.verdict, outcome.metric), (Verdict::Slower, Metric::Wall));
    assert_eq!(outcome.reasons, [Reason::WaitUnknown]);
}

#[test]
fn wall_time_that_is_not_known_well_is_not_the_same() {
    let noisy: Vec<Pair> = around(0.0, 40).map(|log| of(log / 10.0, None, 20.0 * log)).collect();
    assert_eq!(judge_of(noisy.clone()).finish(2.0).verdict, Verdict::Unclear);
    let mut by_cpu = Judge::new(Plan { metric: Some(Metric::Cpu), ..plan() });
    noisy.into_iter().for_each(|pair| by_cpu.push(pair));
    assert_eq!(by_cpu.finish(2.0).verdict, Verdict::Same);
}

#[test]
fn without_any_time_that_is_waited_for_nothing_is_claimed() {
    // As of threads in a duet, of which wall time is that of both.
    let outcome = judge_of(around(0.03, 40).map(|log| of(log, None, f64::NAN))).finish(2.0);
    assert_eq!((outcome.verdict, outcome.judged.len()), (Verdict::Unclear, 0));
    assert_eq!(outcome.reasons, [Reason::Unknown, Reason::CpuDiffers { cpu: outcome.cpu.interval }]);
}

#[test]
fn one_metric_alone_has_all_of_alpha() {
    for (metric, verdict) in
        [(Metric::Cpu, Verdict::Slower), (Metric::Uncontended, Verdict::Same), (Metric::Wall, Verdict::Faster)]
    {
        let mut judge = Judge::new(Plan { metric: Some(metric), ..plan() });
        around(0.0, 80).for_each(|log| judge.push(of(log + 0.03, Some(log / 10.0), log - 0.03)));
        let outcome = judge.finish(2.0);
        assert_eq!((outcome.verdict, outcome.metric), (verdict, metric));
        assert_eq!(metric.of(&outcome).expect("it is known").interval.confidence, 0.95);
    }
    let mut unknown = Judge::new(Plan { metric: Some(Metric::Uncontended), ..plan() });
    around(0.03, 40).for_each(|log| unknown.push(of(log, None, log)));
    assert_eq!(unknown.finish(2.0).reasons, [Reason::Unknown]);
}
