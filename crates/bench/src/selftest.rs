//! A command against itself, many times: how often a difference is claimed, and how small a one could be found.

use prony_machine::Interrupt;
use prony_stats::quantile::median;
use prony_stats::{Seed, Verdict};

use crate::error::BenchError;
use crate::options::Options;
use crate::report::{Ended, Event};
use crate::rounds::bench;

/// Pairs that find a difference δ nine times in ten number 14 (σ/δ)²: 14 = (2.4 + 1.3)², 2.4 the normal quantile of a
/// judge that looks several times at two metrics, 1.3 that of the power.
const PAIRS_OF_ONE_DEVIATION: f64 = 14.0;

/// Result of comparing a command with itself.
#[derive(Debug)]
pub struct Selftest {
    /// Number of comparisons of the command with itself.
    pub comparisons: usize,
    /// Number of those in which a difference was claimed.
    pub false_alarms: usize,
    /// Number of those called the same.
    pub same: usize,
    /// Number of pairs of runs in all comparisons.
    pub pairs: usize,
    /// Rate at which pairs are measured, in pairs per second.
    pub pairs_per_s: f64,
    /// Spread of the log ratio from pair to pair of what was judged, CPU time where it has a say: 1.4826 × MAD, median of the comparisons.
    pub deviation: f64,
    /// Median CPU time of a run, in seconds.
    pub cpu_s: f64,
    /// Share of their wall time that runs were ready and had no CPU.
    pub contention: Option<f64>,
    /// Reason why the selftest ended.
    pub ended: Ended,
}

/// Smallest difference that is detected nine times in ten.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resolution {
    /// Time limit of a comparison, in seconds.
    pub seconds: f64,
    /// Difference between the commands, as a log ratio.
    pub difference: f64,
}

/// Times that a resolution is reported for, in seconds.
pub const RESOLUTIONS_S: [f64; 3] = [1.0, 8.0, 60.0];
/// What a run of the built-in command should take: short enough for many, long enough not to be all start.
pub const WORK_S: f64 = 0.02;

/// False alarms so unlikely, if all were right, mean that something is not.
const UNLIKELY: f64 = 0.01;

impl Selftest {
    /// The smallest difference found nine times in ten in this many seconds.
    pub fn resolution(&self, seconds: f64) -> Resolution {
        let pairs = self.pairs_per_s * seconds;
        Resolution { seconds, difference: self.deviation * (PAIRS_OF_ONE_DEVIATION / pairs).sqrt() }
    }

    /// True where there were more false alarms than `alpha` explains.
    pub fn is_biased(&self, alpha: f64) -> bool {
        self.chance_of_false_alarms(alpha) < UNLIKELY
    }

    /// Probability of this many false alarms, or more, when each comparison raises one with probability `alpha`.
    pub fn chance_of_false_alarms(&self, alpha: f64) -> f64 {
        let (n, k) = (self.comparisons, self.false_alarms);
        // The binomial distribution: each term is the one before by (n − i) / (i + 1) × α / (1 − α).
        let mut term = (1.0 - alpha).powi(n as i32);
        let mut below = 0.0;
        for successes in 0..k {
            below += term;
            term *= (n - successes) as f64 / (successes + 1) as f64 * alpha / (1.0 - alpha);
        }
        (1.0 - below).clamp(0.0, 1.0)
    }
}

/// Compares the one command of `options` with itself, `comparisons` times. `events`: which comparison, from 0, and what
/// happens in it.
///
/// # Errors
/// As [`bench()`].
pub fn selftest(
    options: &Options,
    comparisons: usize,
    interrupt: Option<&Interrupt>,
    events: &mut dyn FnMut(usize, Event),
) -> Result<Selftest, BenchError> {
    let subject = options.subjects.first().ok_or(BenchError::NoCommand)?;
    let mut seed = Seed::new(options.seed);
    let mut found = Selftest {
        comparisons: 0,
        false_alarms: 0,
        same: 0,
        pairs: 0,
        pairs_per_s: 0.0,
        deviation: f64::NAN,
        cpu_s: f64::NAN,
        contention: None,
        ended: Ended::Complete,
    };
    let (mut elapsed_s, mut deviations, mut times, mut contentions) = (0.0, Vec::new(), Vec::new(), Vec::new());
    for comparison in 0..comparisons {
        let options =
            Options { subjects: vec![subject.clone(), subject.clone()], seed: seed.bits(), ..options.clone() };
        let report = bench(&options, interrupt, &mut |event| events(comparison, event))?;
        if !matches!(report.ended, Ended::Complete) {
            found.ended = report.ended;
            break;
        }
        found.comparisons += 1;
        found.pairs += report.rounds;
        elapsed_s += report.elapsed_s;
        for compared in &report.comparisons {
            match compared.outcome.verdict {
                Verdict::Faster | Verdict::Slower => found.false_alarms += 1,
                Verdict::Same => found.same += 1,
                Verdict::Unclear => {}
            }
            let outcome = &compared.outcome;
            deviations
                .extend(outcome.judged.first().and_then(|metric| metric.of(outcome)).map(|block| block.deviation));
        }
        times.extend(
            report.summaries.iter().flatten().filter_map(|summary| Some(summary.cpu_s.as_ref()?.median.estimate)),
        );
        contentions.extend(report.contention);
    }
    deviations.retain(|deviation| deviation.is_finite());
    found.pairs_per_s = found.pairs as f64 / elapsed_s;
    found.deviation = median(&deviations).unwrap_or(f64::NAN);
    found.cpu_s = median(&times).unwrap_or(f64::NAN);
    found.contention = (!contentions.is_empty()).then(|| contentions.iter().sum::<f64>() / contentions.len() as f64);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: Selftest = Selftest {
        comparisons: 20,
        false_alarms: 1,
        same: 12,
        pairs: 500,
        pairs_per_s: 25.0,
        deviation: 0.02,
        cpu_s: 0.02,
        contention: None,
        ended: Ended::Complete,
    };

    #[test]
    fn false_alarms_have_the_chance_of_a_binomial() {
        // scipy.stats.binom.sf(k - 1, 20, 0.05).
        for (false_alarms, chance) in [(0, 1.0), (1, 0.641_514_077_6), (4, 0.015_901_526_0), (7, 3.394_616_5e-5)] {
            let found = Selftest { false_alarms, ..FOUND }.chance_of_false_alarms(0.05);
            assert!((found - chance).abs() < 1e-8, "{false_alarms}: {found}");
        }
    }

    #[test]
    fn four_times_as_long_finds_half_the_difference() {
        let [short, long] = [1.0, 4.0].map(|seconds| FOUND.resolution(seconds).difference);
        // 0.02 × √(14 / 25).
        assert!((short - 0.014_967).abs() < 1e-6, "{short}");
        assert!((short / long - 2.0).abs() < 1e-12);
    }
}
