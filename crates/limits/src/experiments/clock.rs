//! The clocks of the machine, without hardware counters.

use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::experiment::Experiment;
use crate::probe::Reading;
use crate::tester::{Passes, Sample, Series};
use crate::unsupported::Unsupported;

pub fn cases(_: &Setting) -> Result<Vec<Case>, Unsupported> {
    let clock_case = |name: &'static str, clock: libc::clockid_t| {
        let run = move |context: &mut CaseContext| {
            let series = context.tester.repeat(Passes::Calibrated, |passes| ask(clock, passes))?;
            Ok(Outcome { series, ..Outcome::default() })
        };
        Case::new(Experiment::Clock, name, Measure::SecondsEach(1.0), run)
    };
    let mut cases = vec![
        Case::new(Experiment::Clock, "core", Measure::Hertz(CORE_CYCLES), core),
        clock_case("clock_gettime CLOCK_MONOTONIC", libc::CLOCK_MONOTONIC),
        clock_case("clock_gettime CLOCK_MONOTONIC_RAW", libc::CLOCK_MONOTONIC_RAW),
        clock_case("clock_gettime CLOCK_MONOTONIC_COARSE", libc::CLOCK_MONOTONIC_COARSE),
        clock_case("clock_gettime CLOCK_THREAD_CPUTIME_ID", libc::CLOCK_THREAD_CPUTIME_ID),
    ];
    #[cfg(target_arch = "x86_64")]
    cases.extend(here::cases());
    // So that nothing but the list is different elsewhere.
    cases.sort_by_key(|case| case.name != "core" && case.name != "time stamp counter");
    Ok(cases)
}

/// The count behind the case `core`: its values are clocks of probes, turned into a time and back.
const CORE_CYCLES: f64 = 1e6;
/// Readings for the clock, some 50 µs each.
const READINGS: usize = 32;

/// The clock as the probes around every sample tell it.
fn core(context: &mut CaseContext) -> Result<Outcome, Unsupported> {
    let readings: Vec<Reading> = (0..READINGS).map(|_| context.tester.look()).collect();
    let sample = |reading: &Reading| Sample {
        seconds: CORE_CYCLES / reading.core_hz,
        core_hz: reading.core_hz,
        faults: 0,
        taint: None,
    };
    let series = Series { passes: 1, samples: readings.iter().map(sample).collect(), steal: None };
    let nops = readings.iter().map(|reading| reading.nops_per_cycle).fold(0.0, f64::max);
    let facts = vec![("nops_per_cycle", format!("{nops:.2}"))];
    Ok(Outcome { series, listing: context.tester.probe_listing(), facts })
}

fn ask(clock: libc::clockid_t, passes: u64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    for _ in 0..passes {
        // SAFETY: `time` is a timespec of our own.
        unsafe { libc::clock_gettime(clock, &raw mut time) };
        std::hint::black_box(&time);
    }
}

#[cfg(target_arch = "x86_64")]
mod here {
    use std::arch::x86_64::{__rdtscp, _mm_lfence, _rdtsc};
    use std::time::Duration;

    use super::*;
    use crate::ticks::now_ns;

    /// Duration of the comparison of the time-stamp counter with the kernel's clock: the error of two looks, 30 ns, is
    /// then 3 in a million.
    const WINDOW: Duration = Duration::from_millis(10);

    pub fn cases() -> [Case; 3] {
        let window = Measure::Hertz(1.0);
        [
            Case::new(Experiment::Clock, "time stamp counter", window, time_stamp),
            Case::new(Experiment::Clock, "rdtsc", Measure::SecondsEach(1.0), |context| {
                let series = context.tester.repeat(Passes::Calibrated, |passes| {
                    for _ in 0..passes {
                        // SAFETY: every x86-64 has it; user space may read it, or this process would have died before.
                        std::hint::black_box(unsafe { _rdtsc() });
                    }
                })?;
                Ok(Outcome { series, ..Outcome::default() })
            }),
            Case::new(Experiment::Clock, "lfence, rdtscp", Measure::SecondsEach(1.0), |context| {
                let series = context.tester.repeat(Passes::Calibrated, |passes| {
                    let mut cpu = 0;
                    for _ in 0..passes {
                        // SAFETY: SSE2 has the fence, and rdtscp is there on every x86-64 since 2008.
                        unsafe {
                            _mm_lfence();
                            std::hint::black_box(__rdtscp(&raw mut cpu));
                        }
                    }
                })?;
                Ok(Outcome { series, ..Outcome::default() })
            }),
        ]
    }

    /// Ticks between two looks at the kernel's clock: a pass is a tick, so that its time is a second over the frequency.
    fn time_stamp(context: &mut CaseContext) -> Result<Outcome, Unsupported> {
        let mut samples = Vec::new();
        for _ in 0..5 {
            let reading = context.tester.look();
            let (from_ticks, from_ns) = both();
            let until = from_ns + WINDOW.as_nanos() as u64;
            let (ticks, ns) = loop {
                let now = both();
                if now.1 >= until {
                    break now;
                }
            };
            samples.push(Sample {
                seconds: (ns - from_ns) as f64 / 1e9 / (ticks - from_ticks) as f64,
                core_hz: reading.core_hz,
                faults: 0,
                taint: None,
            });
        }
        Ok(Outcome { series: Series { passes: 1, samples, steal: None }, ..Outcome::default() })
    }

    fn both() -> (u64, u64) {
        let ns = now_ns();
        // SAFETY: as above.
        (unsafe { _rdtsc() }, ns)
    }
}
