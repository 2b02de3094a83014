//! The repetition tester: the same work again and again until nothing gets faster any more.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::probe::{Probe, Reading};
use crate::thread_usage::thread_usage;
use crate::ticks::{now_ns, overhead_ns};
use crate::unsupported::Unsupported;

/// A clock that differs more before and after a sample moved during it. The probe itself repeats within a tenth of that.
const CLOCK_MOVED: f64 = 0.02;
/// Below this share of the most nops a cycle ever seen here, another thread had slots of the front end: a busy sibling takes half.
const NOPS_SHARED: f64 = 0.85;
/// A sample that waited longer than this share of its time for a CPU was not alone.
const WAITED: f64 = 0.005;
/// Raw samples of a case that are kept: files stay below some megabytes.
const SAMPLES_MAX: usize = 128;
/// Without this many there is no middle one and no spread.
const SAMPLES_MIN: usize = 3;
/// Largest number of repetitions of the work in a sample.
const PASSES_MAX: u64 = 1 << 32;

/// Time limits of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// A case ends when it did not become faster for so long.
    pub patience: Duration,
    /// And after this time at the latest.
    pub most: Duration,
    /// Duration of a sample: long compared with a clock read, and short compared with the activity of a neighbour, so
    /// that the probes around it are representative.
    pub sample: Duration,
    /// Undisturbed samples that a case tries to get.
    pub samples_min: usize,
    /// Every size, period and offset, or only some.
    pub thorough: bool,
}

impl Effort {
    /// A look: half a minute for everything.
    pub const QUICK: Effort = Effort {
        patience: Duration::from_millis(8),
        most: Duration::from_millis(40),
        sample: Duration::from_micros(150),
        samples_min: 5,
        thorough: false,
    };

    /// Effort of a full measurement, which takes some minutes for everything.
    pub const FULL: Effort = Effort {
        patience: Duration::from_millis(80),
        most: Duration::from_millis(600),
        sample: Duration::from_micros(250),
        samples_min: 9,
        thorough: true,
    };
}

/// Reasons why a sample may be slower than the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taint {
    /// The clock was another before than after.
    ClockMoved,
    /// Fewer nops a cycle than this core can do.
    SharedCore,
    /// The thread waited for the CPU, or was made to yield it.
    Waited,
}

impl Taint {
    /// All, in the order in which they are looked for.
    pub const ALL: [Taint; 3] = [Taint::ClockMoved, Taint::SharedCore, Taint::Waited];

    /// Word for the cause in files.
    pub fn word(self) -> &'static str {
        match self {
            Taint::ClockMoved => "clock moved",
            Taint::SharedCore => "shared core",
            Taint::Waited => "waited",
        }
    }

    /// Cause for this word of a file; `None` if unknown.
    pub fn from_word(word: &str) -> Option<Taint> {
        Taint::ALL.into_iter().find(|taint| taint.word() == word)
    }
}

/// Sample of a case: one timed series of passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Time of one pass, in seconds.
    pub seconds: f64,
    /// The mean clock of the probes before and after, in cycles a second.
    pub core_hz: f64,
    /// Page faults of all its passes.
    pub faults: u64,
    /// Reason why it may be too slow; `None`: none was seen.
    pub taint: Option<Taint>,
}

/// All samples of a case, in the order in which they were taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Number of passes per sample.
    pub passes: u64,
    /// Samples in the order of their measurement.
    pub samples: Vec<Sample>,
    /// Share of the case's time that the hypervisor gave to others; `None` where the kernel does not count it.
    pub steal: Option<f64>,
}

impl Series {
    /// Number of samples without visible interference.
    pub fn clean(&self) -> usize {
        self.samples.iter().filter(|sample| sample.taint.is_none()).count()
    }

    /// True if there are enough of them to ignore the others.
    pub fn is_clean(&self) -> bool {
        self.clean() >= SAMPLES_MIN.min(self.samples.len())
    }
}

/// Number of passes per sample, fixed or calibrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// Number of passes that a sample of the right length needs.
    Calibrated,
    /// One pass: a second one would measure something else, as after the first touch of memory.
    Single,
}

/// Tester that repeats work between probes.
#[derive(Debug)]
pub struct Tester {
    /// Time limits of the tester.
    pub effort: Effort,
    probe: Probe,
    overhead_ns: u64,
    nops_most: f64,
    hz_most: f64,
}

impl Tester {
    /// Tester with its probes, made on the CPU on which it will be used.
    pub fn new(effort: Effort, probe: Probe) -> Tester {
        let mut tester = Tester { effort, probe, overhead_ns: overhead_ns(), nops_most: 0.0, hz_most: 0.0 };
        // A core that slept needs some milliseconds until its clock is up.
        for _ in 0..300 {
            tester.look();
        }
        tester
    }

    /// Current values of the probes.
    pub fn look(&mut self) -> Reading {
        let reading = self.probe.read();
        // A clock that was read too low, as interrupts make it, would give more nops a cycle than there are.
        self.hz_most = self.hz_most.max(reading.core_hz);
        if reading.core_hz > self.hz_most * (1.0 - CLOCK_MOVED) {
            self.nops_most = self.nops_most.max(reading.nops_per_cycle);
        }
        reading
    }

    /// The loop behind the clock.
    pub fn probe_listing(&self) -> Option<crate::Listing> {
        self.probe.listing()
    }

    /// Repeats `work`, which does something this many times.
    ///
    /// # Errors
    /// What `work` says.
    pub fn repeat(&mut self, passes: Passes, mut work: impl FnMut(u64)) -> Result<Series, Unsupported> {
        let overhead_ns = self.overhead_ns;
        self.repeat_timed(passes, |passes| {
            let before = now_ns();
            work(passes);
            Ok((now_ns() - before).saturating_sub(overhead_ns).max(1))
        })
    }

    /// Repeats `work`, which does something this many times and returns how many nanoseconds of it count.
    ///
    /// # Errors
    /// What `work` says.
    pub fn repeat_timed(
        &mut self,
        passes: Passes,
        mut work: impl FnMut(u64) -> Result<u64, Unsupported>,
    ) -> Result<Series, Unsupported> {
        let Effort { patience, most, sample, samples_min, .. } = self.effort;
        let passes = match passes {
            Passes::Single => 1,
            Passes::Calibrated => calibrated(sample.as_nanos() as u64, &mut work)?,
        };
        let mut samples: Vec<Sample> = Vec::new();
        let began = now_ns();
        let mut best = (f64::INFINITY, began);
        let mut before = self.look();
        loop {
            let (waited, counts) = (waited_ns(), thread_usage());
            let ns = work(passes)?;
            let (waited, counts) = (waited_ns().saturating_sub(waited), (counts, thread_usage()));
            let after = self.look();
            let taint = if (before.core_hz / after.core_hz - 1.0).abs() > CLOCK_MOVED {
                Some(Taint::ClockMoved)
            } else if before.nops_per_cycle.min(after.nops_per_cycle) < self.nops_most * NOPS_SHARED {
                Some(Taint::SharedCore)
            } else if waited as f64 > ns as f64 * WAITED || counts.1.preempted > counts.0.preempted {
                Some(Taint::Waited)
            } else {
                None
            };
            let seconds = ns as f64 / 1e9 / passes as f64;
            samples.push(Sample {
                seconds,
                core_hz: f64::midpoint(before.core_hz, after.core_hz),
                faults: counts.1.faults - counts.0.faults,
                taint,
            });
            let now = now_ns();
            // Less than a thousandth is no new minimum: it would never end.
            if seconds < best.0 * 0.999 {
                best = (seconds, now);
            }
            let tried = Duration::from_nanos(now - began);
            let clean = samples.iter().filter(|sample| sample.taint.is_none()).count();
            let patient = clean < samples_min || Duration::from_nanos(now - best.1) < patience;
            let over = tried >= most || samples.len() >= SAMPLES_MAX;
            // What takes long is not repeated so often: a gigabyte byte by byte is a third of a second.
            let enough = samples.len() >= if tried >= most * 3 { SAMPLES_MIN } else { samples_min };
            if enough && (over || !patient) {
                return Ok(Series { passes, samples, steal: None });
            }
            before = after;
        }
    }
}

/// Number of passes that makes a sample long enough.
fn calibrated(sample_ns: u64, work: &mut impl FnMut(u64) -> Result<u64, Unsupported>) -> Result<u64, Unsupported> {
    let mut passes = 1u64;
    loop {
        let ns = work(passes)?.max(1);
        if ns >= sample_ns / 2 || passes >= PASSES_MAX {
            return Ok((u128::from(passes) * u128::from(sample_ns))
                .div_ceil(u128::from(ns))
                .clamp(1, u128::from(PASSES_MAX)) as u64);
        }
        // At most tenfold: the first passes are slow, and the time of few of them says little.
        passes = (passes * (sample_ns / ns).clamp(2, 10)).min(PASSES_MAX);
    }
}

/// Nanoseconds that this thread was ready to run and did not: field 2 of `schedstat`, Documentation/scheduler/sched-stats.rst.
fn waited_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_as_many_as_fill_a_sample() {
        let mut called_with = Vec::new();
        let mut work = |passes: u64| {
            called_with.push(passes);
            Ok(passes * 10)
        };
        assert_eq!(calibrated(100_000, &mut work), Ok(10_000));
        assert_eq!(called_with[0], 1);
        let mut slow = |passes: u64| Ok(passes * 1_000_000);
        assert_eq!(calibrated(100_000, &mut slow), Ok(1));
        let mut nothing = |_| Ok(0);
        assert_eq!(calibrated(100_000, &mut nothing), Ok(PASSES_MAX));
    }

    #[test]
    fn every_taint_has_a_word_of_its_own() {
        for taint in Taint::ALL {
            assert_eq!(Taint::from_word(taint.word()), Some(taint));
        }
        assert_eq!(Taint::from_word("none"), None);
    }

    #[test]
    fn a_case_has_its_least_number_of_samples_and_no_more_than_are_kept() {
        let probe = Probe::new().expect("a page of code");
        let effort = Effort { patience: Duration::ZERO, most: Duration::ZERO, ..Effort::QUICK };
        let mut tester = Tester::new(effort, probe);
        let series = tester.repeat_timed(Passes::Single, |passes| Ok(1000 * passes)).expect("work that always works");
        assert!((3..=effort.samples_min).contains(&series.samples.len()), "{series:?}");
        assert!(series.samples.iter().all(|sample| sample.seconds == 1e-6));
        let patient = Effort { patience: Duration::from_secs(9), most: Duration::from_secs(9), ..effort };
        tester.effort = patient;
        let series = tester.repeat_timed(Passes::Single, |passes| Ok(1000 * passes)).expect("work that always works");
        assert_eq!(series.samples.len(), SAMPLES_MAX);
    }
}
