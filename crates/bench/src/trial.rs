//! Trial before a comparison: which way of pairing has the least noise here? Tried on one command with itself, so that
//! the choice knows nothing of the other; `prony_stats::pairing` has the rule.
//!
//! Both at once is tried only with commands that it may suit: one process with one thread that computes nearly all of its
//! time, for long enough to have some turns, and writes nothing to a disk, where two at once might be in each
//! other's way. Where the command fails beside itself, it is run alternately.

use std::time::Instant;

use prony_machine::process::SpawnedTasks;
use prony_stats::judge::CPU_SHARE_MIN;
use prony_stats::pairing::{PAIRS_MIN, Pairing, Trial, choose};

use crate::context::RunContext;
use crate::duet::Partner;
use crate::error::{MeasureError, Phase};
use crate::randomization::Randomization;
use crate::sample::Observation;

/// CPU seconds of a run from which on a duet may suit it: fifty turns. Of shorter ones there are this many pairs that take turns that these
/// are known well.
const COMPUTES_S_MIN: f64 = 0.025;
/// Share of the time budget for trials.
const SHARE: f64 = 1.0 / 8.0;
/// Runs that trials take at least: one more that takes turns than pairs, and two a pair at once.
const RUNS_MIN: f64 = (PAIRS_MIN + 1 + 2 * PAIRS_MIN) as f64;
/// Pairs of either way that are enough.
const PAIRS_ENOUGH: usize = 12;

/// Both ways of pairing, as they were tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// Runs of the first command, one after the other.
    pub in_turns: Trial,
    /// Two of it at once on one CPU.
    pub at_once: Trial,
    /// The way that was taken.
    pub way: Pairing,
}

/// True if both ways may be tried on a command with this observation, in a comparison of `budget_s`.
pub(crate) fn suits(observation: &Observation, budget_s: f64) -> bool {
    let run = &observation.run;
    let cpu_s = run.cpu_ns as f64 / 1e9;
    let computes =
        run.uncontended_ns().is_some_and(|uncontended_ns| run.cpu_ns as f64 >= CPU_SHARE_MIN * uncontended_ns as f64);
    computes
        && run.spawned == SpawnedTasks { threads: false, children: false }
        && observation.values.is_empty()
        && run.blocks_written == 0
        && cpu_s >= COMPUTES_S_MIN
        && RUNS_MIN * cpu_s <= 1.25 * SHARE * budget_s
}

/// One more pair of a way that has `half_s` for its trial, and twice that where pairs are too few.
fn is_wanted(pairs: usize, begun: Instant, half_s: f64) -> bool {
    let used_s = begun.elapsed().as_secs_f64();
    if pairs < PAIRS_MIN { used_s < 2.0 * half_s } else { pairs < PAIRS_ENOUGH && used_s < half_s }
}

impl Tried {
    /// Runs the first command until enough is known, or the time for it is over.
    pub(crate) fn of(
        context: &mut RunContext,
        duet_context: &mut RunContext,
        partner: &Partner,
        randomization: &Randomization,
        budget_s: f64,
    ) -> Result<Tried, MeasureError> {
        let begun = Instant::now();
        let half_s = 0.5 * SHARE * budget_s;
        let (mut logs, mut last) = (Vec::new(), None);
        while is_wanted(logs.len(), begun, half_s) {
            let cpu_ns = context.run(0, randomization, Phase::Trial)?.run.cpu_ns as f64;
            logs.extend(last.map(|last: f64| (cpu_ns / last).ln()));
            last = Some(cpu_ns);
        }
        let run_s = begun.elapsed().as_secs_f64() / (logs.len() + 1) as f64;
        let in_turns = Trial { logs, pair_s: 2.0 * run_s };
        let begun = Instant::now();
        let (mut logs, mut pairs) = (Vec::new(), 0);
        while is_wanted(pairs, begun, half_s) {
            pairs += 1;
            match partner.run(duet_context, [0, 0], randomization, Phase::Trial) {
                [Err(MeasureError::Interrupted), Err(MeasureError::Interrupted)] => {
                    return Err(MeasureError::Interrupted);
                }
                [Ok(first), Ok(second)] => logs.push((second.run.cpu_ns as f64 / first.run.cpu_ns as f64).ln()),
                // It does not bear another of itself.
                _ => {
                    logs.clear();
                    break;
                }
            }
        }
        let at_once = Trial { logs, pair_s: begun.elapsed().as_secs_f64() / pairs.max(1) as f64 };
        let way = choose(&in_turns, &at_once);
        Ok(Tried { in_turns, at_once, way })
    }
}
