//! Case: one thing that is measured, and its result.

use std::collections::BTreeMap;

use prony_stats::quantile::{median_of_sorted, sorted};
use prony_stats::samples::Better;

use crate::case_context::CaseContext;
use crate::experiment::Experiment;
use crate::listing::Listing;
use crate::tester::{Sample, Series};
use crate::unsupported::Unsupported;

/// Quantity into which the time of a pass is converted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// Bytes a second; a pass is this many bytes.
    BytesEachSecond(f64),
    /// Seconds each; a pass is this many.
    SecondsEach(f64),
    /// Cycles each; a pass is this many.
    CyclesEach(f64),
    /// Amount of this unit in a pass, reported per cycle.
    EachCycle(f64, &'static str),
    /// Amount of this unit in a pass, reported per second.
    EachSecond(f64, &'static str),
    /// Cycles a second of something that takes this many cycles a pass.
    Hertz(f64),
}

impl Measure {
    /// Number of counted items per pass.
    pub fn count(self) -> f64 {
        match self {
            Measure::BytesEachSecond(count)
            | Measure::SecondsEach(count)
            | Measure::CyclesEach(count)
            | Measure::EachCycle(count, _)
            | Measure::EachSecond(count, _)
            | Measure::Hertz(count) => count,
        }
    }

    /// The unit as files have it.
    pub fn unit(self) -> String {
        match self {
            Measure::BytesEachSecond(_) => "B/s".to_owned(),
            Measure::SecondsEach(_) => "second".to_owned(),
            Measure::CyclesEach(_) => "cycles".to_owned(),
            Measure::EachCycle(_, what) => format!("{what}/cycle"),
            Measure::EachSecond(_, what) => format!("{what}/s"),
            Measure::Hertz(_) => "Hz".to_owned(),
        }
    }

    /// The value of a sample.
    pub fn value(self, sample: &Sample) -> f64 {
        let count = self.count();
        match self {
            Measure::BytesEachSecond(_) | Measure::EachSecond(..) | Measure::Hertz(_) => count / sample.seconds,
            Measure::SecondsEach(_) => sample.seconds / count,
            Measure::CyclesEach(_) => sample.seconds * sample.core_hz / count,
            Measure::EachCycle(..) => count / (sample.seconds * sample.core_hz),
        }
    }

    /// Direction in which values are better.
    pub fn better(self) -> Better {
        match self {
            Measure::SecondsEach(_) | Measure::CyclesEach(_) => Better::Lower,
            _ => Better::Higher,
        }
    }
}

/// Outcome of a case: measured, or unsupported.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Samples of the case, those with a taint included.
    pub series: Series,
    /// Machine code of the measured loop, if it was emitted here.
    pub listing: Option<Listing>,
    /// Facts known only after it ran, such as the kind of pages that the kernel provided.
    pub facts: Vec<(&'static str, String)>,
}

type Run = Box<dyn Fn(&mut CaseContext) -> Result<Outcome, Unsupported>>;

/// Case of an experiment: one loop to measure.
pub struct Case {
    /// Experiment that the case belongs to.
    pub experiment: Experiment,
    /// Name of the case within its experiment.
    pub name: String,
    /// Quantity into which its time is converted.
    pub measure: Measure,
    /// Parameters of the case, as names and values.
    pub facts: BTreeMap<String, String>,
    /// Measures it; a second time when the first was disturbed.
    pub run: Run,
}

impl Case {
    /// Case whose parameters are still empty.
    pub fn new(
        experiment: Experiment,
        name: impl Into<String>,
        measure: Measure,
        run: impl Fn(&mut CaseContext) -> Result<Outcome, Unsupported> + 'static,
    ) -> Case {
        Case { experiment, name: name.into(), measure, facts: BTreeMap::new(), run: Box::new(run) }
    }

    /// Adds a fact: the name and value of a varied property.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Case {
        self.facts.insert(name.to_owned(), value.to_string());
        self
    }
}

/// Case with its measured samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Experiment that the case belongs to.
    pub experiment: Experiment,
    /// Name of the case within its experiment.
    pub name: String,
    /// The unit of its values: `B/s`, `second`, `cycles`, `Hz`, and rates as `adds/cycle`.
    pub unit: String,
    /// Direction in which values improve: lower or higher.
    pub better: Better,
    /// Number of counted items per pass, such as bytes or instructions.
    pub count: f64,
    /// Parameters of the case, as names and values.
    pub facts: BTreeMap<String, String>,
    /// The value of each sample of `series`, in its order.
    pub values: Vec<f64>,
    /// Samples of the case, those with a taint included.
    pub series: Series,
    /// Machine code of the measured loop, if it was emitted here.
    pub listing: Option<Listing>,
}

/// A series in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The figure: the best of times and rates, the median of cycles, which a changing clock would make too few.
    pub value: f64,
    /// Best of the values, in the case's unit.
    pub best: f64,
    /// Median of the values, in the case's unit.
    pub median: f64,
    /// Worst of the undisturbed samples.
    pub worst: f64,
    /// Number of values behind the summary.
    pub n: usize,
    /// Share of all samples that may be slower than the hardware, 0 to 1.
    pub contaminated: f64,
    /// Page faults of a pass, the median.
    pub faults: f64,
    /// The median clock, in cycles a second.
    pub core_hz: f64,
}

impl Measured {
    /// Measured case made of a case and its outcome.
    pub(crate) fn of(case: &Case, outcome: Outcome) -> Measured {
        let mut facts = case.facts.clone();
        facts.extend(outcome.facts.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Measured {
            experiment: case.experiment,
            name: case.name.clone(),
            unit: case.measure.unit(),
            better: case.measure.better(),
            count: case.measure.count(),
            facts,
            values: outcome.series.samples.iter().map(|sample| case.measure.value(sample)).collect(),
            series: outcome.series,
            listing: outcome.listing,
        }
    }

    /// A fact of what was varied.
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    /// A fact that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.fact(name)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Summary of its values: those of undisturbed samples, if there are at least three, otherwise of all. `None`
    /// without values.
    pub fn figure(&self) -> Option<Figure> {
        let (values, samples): (Vec<f64>, Vec<&Sample>) =
            self.counted().map(|(value, sample)| (*value, sample)).unzip();
        let ascending = sorted(&values);
        let (low, high) = (*ascending.first()?, *ascending.last()?);
        let median = median_of_sorted(&ascending)?;
        let (best, worst) = match self.better {
            Better::Lower => (low, high),
            Better::Higher => (high, low),
        };
        let of_samples = |of: fn(&Sample) -> f64| {
            median_of_sorted(&sorted(&samples.iter().map(|sample| of(sample)).collect::<Vec<_>>())).unwrap_or(0.0)
        };
        let all = self.series.samples.len();
        Some(Figure {
            value: if self.unit.contains("cycle") || self.unit == "Hz" { median } else { best },
            best,
            median,
            worst,
            n: ascending.len(),
            contaminated: (all - self.series.clean()) as f64 / all.max(1) as f64,
            faults: of_samples(|sample| sample.faults as f64) / self.series.passes.max(1) as f64,
            core_hz: of_samples(|sample| sample.core_hz),
        })
    }

    /// The values and samples that figures are made of.
    fn counted(&self) -> impl Iterator<Item = (&f64, &Sample)> {
        let only_clean = self.series.is_clean();
        let all = self.values.iter().zip(&self.series.samples);
        all.filter(move |(_, sample)| !only_clean || sample.taint.is_none())
    }

    /// Seconds of a pass: the least, the median and the most, of the samples that figures are made of.
    pub fn seconds(&self) -> Option<[f64; 3]> {
        self.range_of(|sample| sample.seconds)
    }

    /// Page faults of a pass: the least, the median and the most, of the same samples.
    pub fn faults(&self) -> Option<[f64; 3]> {
        self.range_of(|sample| sample.faults as f64 / self.series.passes.max(1) as f64)
    }

    /// Cycles of one of what a pass counts: the least, the median and the most, of the same samples.
    pub fn cycles_each_range(&self) -> Option<[f64; 3]> {
        self.range_of(|sample| sample.seconds * sample.core_hz / self.count)
    }

    /// Median cycles of one of what a pass counts, of the same samples.
    pub fn cycles_each(&self) -> Option<f64> {
        self.cycles_each_range().map(|[_, median, _]| median)
    }

    fn range_of(&self, of: impl Fn(&Sample) -> f64) -> Option<[f64; 3]> {
        let ascending = sorted(&self.counted().map(|(_, sample)| of(sample)).collect::<Vec<_>>());
        Some([*ascending.first()?, median_of_sorted(&ascending)?, *ascending.last()?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tester::Taint;

    fn measured(measure: Measure, seconds: &[f64]) -> Measured {
        let sample = |&seconds: &f64| Sample { seconds, core_hz: 2e9, faults: 4, taint: None };
        let series = Series { passes: 2, samples: seconds.iter().map(sample).collect(), steal: None };
        let outcome = Outcome { series, ..Outcome::default() };
        let case = Case::new(Experiment::Clock, "x", measure, |_| Err(Unsupported::because("it is not run")));
        Measured::of(&case, outcome)
    }

    #[test]
    fn the_least_time_counts_and_of_cycles_the_median() {
        let bandwidth = measured(Measure::BytesEachSecond(100.0), &[2.0, 1.0, 4.0]).figure().expect("values");
        assert_eq!((bandwidth.value, bandwidth.median, bandwidth.worst), (100.0, 50.0, 25.0));
        let cycles = measured(Measure::CyclesEach(1e9), &[2.0, 1.0, 4.0]).figure().expect("values");
        assert_eq!((cycles.value, cycles.best, cycles.worst, cycles.faults), (4.0, 2.0, 8.0, 2.0));
        assert_eq!(measured(Measure::CyclesEach(1e9), &[2.0, 1.0, 4.0]).cycles_each(), Some(4.0));
    }

    #[test]
    fn units_say_what_is_counted_for_what() {
        let value = |measure: Measure| measured(measure, &[0.5]).values[0];
        assert_eq!(value(Measure::EachCycle(4e9, "adds")), 4.0);
        assert_eq!(value(Measure::SecondsEach(10.0)), 0.05);
        assert_eq!(value(Measure::EachSecond(10.0, "datagrams")), 20.0);
        assert_eq!(Measure::EachCycle(1.0, "adds").unit(), "adds/cycle");
    }

    #[test]
    fn what_was_disturbed_does_not_count_where_enough_was_not() {
        let mut measured = measured(Measure::CyclesEach(1e9), &[2.0, 1.0, 4.0, 1.5, 9.0]);
        measured.series.samples[4].taint = Some(Taint::SharedCore);
        measured.series.samples[2].taint = Some(Taint::Waited);
        let figure = measured.figure().expect("values");
        assert_eq!((figure.value, figure.worst, figure.n, figure.contaminated), (3.0, 4.0, 3, 0.4));
        measured.series.samples[0].taint = Some(Taint::ClockMoved);
        let figure = measured.figure().expect("values");
        assert_eq!((figure.worst, figure.n, figure.contaminated), (18.0, 5, 0.6));
    }

    #[test]
    fn nothing_measured_has_no_figure() {
        assert_eq!(measured(Measure::SecondsEach(1.0), &[]).figure(), None);
    }
}
