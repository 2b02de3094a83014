//! Workloads of a known amount of work, and their shares of what the hardware does at best.

use prony_stats::samples::{BYTES, Benchmark, MetadataValue, OPERATIONS, Samples};
use prony_stats::single_sample::TooFew;
use prony_stats::summary::benchmark_median;

use crate::{Limits, Rate, Share, reference, shares};

/// Rate of a benchmark: the median with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Name of the benchmark.
    pub name: String,
    /// The median.
    pub rate: Rate,
    /// Lower bound of the rate with 95 %; with too few values 0, or not finite.
    pub low: f64,
    /// Upper bound; not finite with too few values.
    pub high: f64,
    /// Number of values.
    pub n: usize,
    /// Reason why the bounds are not known.
    pub too_few: Option<TooFew>,
}

impl Workload {
    /// Rate of a benchmark; `None` if the amount of work per run is unknown.
    pub fn of(benchmark: &Benchmark) -> Option<Workload> {
        let interval = benchmark_median(benchmark, 0.05)?;
        let amount = |name: &str| match benchmark.metadata.get(name)? {
            MetadataValue::Number(number) => number.as_f64().filter(|amount| *amount > 0.0),
            _ => None,
        };
        let unit = benchmark.unit_name();
        let seconds = matches!(unit, "second" | "s");
        let (rate, low, high) = match (amount(BYTES), amount(OPERATIONS)) {
            (Some(bytes), _) if seconds => {
                (Rate::Bytes(bytes / interval.estimate), bytes / interval.high, bytes / interval.low)
            }
            (_, Some(count)) if seconds => {
                (Rate::Operations(count / interval.estimate), count / interval.high, count / interval.low)
            }
            _ if unit == "B/s" => (Rate::Bytes(interval.estimate), interval.low, interval.high),
            _ if unit.ends_with("/s") => (Rate::Operations(interval.estimate), interval.low, interval.high),
            _ => return None,
        };
        Some(Workload { name: benchmark.name.clone(), rate, low, high, n: interval.n, too_few: TooFew::of(&interval) })
    }

    /// Rates of all benchmarks with a known amount of work per run.
    pub fn all(samples: &Samples) -> Vec<Workload> {
        samples.benchmarks.iter().filter_map(Workload::of).collect()
    }

    /// The rate without its unit.
    pub fn value(&self) -> f64 {
        match self.rate {
            Rate::Bytes(value) | Rate::Operations(value) => value,
        }
    }

    /// `B/s` or `operations/s`.
    pub fn unit(&self) -> &'static str {
        match self.rate {
            Rate::Bytes(_) => "B/s",
            Rate::Operations(_) => "operations/s",
        }
    }

    /// The bounds of the rate that are known: with too few values the time may be anything, so that one is 0 or not finite.
    pub fn bounds(&self) -> [Option<f64>; 2] {
        [self.low, self.high].map(|value| Some(value).filter(|value| value.is_finite() && *value > 0.0))
    }

    /// Share of what one thread loads from memory, or of what a core adds; `None` where that was not measured.
    pub fn share(&self, limits: Option<&Limits>) -> Option<Share> {
        let all = limits.map_or_else(Vec::new, |limits| shares(&limits.measured, self.rate));
        reference(&all, self.rate).cloned()
    }

    /// Shares of all limits that have its unit, the nearest limit first.
    pub fn nearest(&self, limits: &Limits) -> Vec<Share> {
        let distance = |share: &Share| share.share.ln().abs();
        let mut all = shares(&limits.measured, self.rate);
        all.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        all
    }
}

#[cfg(test)]
mod tests {
    use prony_stats::samples::Run;

    use super::*;

    fn samples(seconds: &[f64]) -> Samples {
        let mut benchmark = Benchmark::new("./copy big");
        benchmark.runs = seconds.iter().map(|&seconds| Run::of(seconds)).collect();
        Samples { benchmarks: vec![benchmark], circumstances: None }
    }

    #[test]
    fn a_run_of_known_bytes_has_a_rate_and_others_have_none() {
        let mut of_bytes = samples(&[2.0; 9]);
        assert_eq!(Workload::all(&of_bytes), []);
        of_bytes.set_amounts(Some(4e9), None, None);
        let known = Workload::of(&of_bytes.benchmarks[0]).expect("bytes and times");
        assert_eq!((known.rate, known.low, known.high, known.n), (Rate::Bytes(2e9), 2e9, 2e9, 9));
        let mut of_operations = samples(&[0.5; 9]);
        of_operations.set_amounts(None, Some(1e6), None);
        assert_eq!(Workload::all(&of_operations)[0].rate, Rate::Operations(2e6));
    }

    #[test]
    fn bounds_that_too_few_values_leave_open_are_none() {
        let mut few = samples(&[1.0, 1.5, 2.0]);
        few.set_amounts(None, Some(3.0), None);
        let known = Workload::of(&few.benchmarks[0]).expect("operations and times");
        assert_eq!((known.value(), known.bounds(), known.n), (2.0, [None, None], 3));
        assert!(known.share(None).is_none());
    }

    #[test]
    fn the_amount_of_work_is_in_the_file_of_the_samples() {
        let mut known = samples(&[2.0, 2.5]);
        known.set_amounts(Some(4e9), None, None);
        let read = Samples::decode(&known.encode().expect("samples")).expect("what was written");
        assert_eq!(Workload::all(&read), Workload::all(&known));
        assert_eq!(Workload::all(&read).len(), 1);
    }
}
