//! Throughput of commands with a known amount of work per run.

use prony_stats::Interval;
use prony_stats::samples::{BYTES, Benchmark, ITEMS, MetadataValue, OPERATIONS};
use prony_stats::summary::benchmark_median;
use prony_text::Quantity;

use crate::words::with_interval;

/// Level of the interval of a rate.
const ALPHA: f64 = 0.05;

/// What a benchmark does in a second: the median with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// `B/s`, `items/s` or `operations/s`.
    pub unit: &'static str,
    /// The median rate with its interval; without bounds where that of the times has none.
    pub rate: Interval,
}

impl Throughput {
    /// `None` where it is not known how much a run does, or its values are no times.
    pub fn of(benchmark: &Benchmark) -> Option<Throughput> {
        if benchmark.unit_name() != "second" {
            return None;
        }
        let amount = |name: &str| match benchmark.metadata.get(name)? {
            MetadataValue::Number(number) => number.as_f64().filter(|amount| *amount > 0.0),
            _ => None,
        };
        let kinds = [(BYTES, "B/s"), (ITEMS, "items/s"), (OPERATIONS, "operations/s")];
        let (amount, unit) = kinds.into_iter().find_map(|(name, unit)| Some((amount(name)?, unit)))?;
        let seconds = benchmark_median(benchmark, ALPHA)?;
        let per_second = |seconds: f64| if seconds > 0.0 { amount / seconds } else { f64::INFINITY };
        let [estimate, low, high] = [seconds.estimate, seconds.high, seconds.low].map(per_second);
        Some(Throughput { unit, rate: Interval { estimate, low, high, ..seconds } })
    }

    /// `3.42 GB/s [3.40, 3.45]`.
    pub fn text(&self) -> String {
        with_interval(&Quantity::of(self.rate.estimate, self.unit), &self.rate)
    }
}

#[cfg(test)]
mod tests {
    use prony_stats::samples::{Run, Samples};

    use super::*;

    #[test]
    fn a_rate_has_the_unit_of_the_given_amount() {
        let mut benchmark = Benchmark::new("copy");
        benchmark.runs = [1.9, 2.0, 2.1, 2.0, 2.0, 1.95, 2.05, 2.0, 2.0, 2.02].map(Run::of).to_vec();
        assert_eq!(Throughput::of(&benchmark), None);
        let mut samples = Samples { benchmarks: vec![benchmark], circumstances: None };
        for (bytes, items, text) in
            [(Some(4e9), None, "2.00 GB/s"), (None, Some(3e6), "1.50 M items/s"), (None, Some(8.0), "4.00 items/s")]
        {
            samples.benchmarks[0].metadata.clear();
            samples.set_amounts(bytes, None, items);
            let found = Throughput::of(&samples.benchmarks[0]).expect("it is known").text();
            assert!(found.starts_with(text), "{found}");
            assert!(found.contains('[') == found.ends_with(']'), "{found}");
        }
    }
}
