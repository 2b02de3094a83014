//! Words and figures that all renderers share: names of metrics and commands, changes with their intervals.

use std::fmt;

use prony_bench::{OneSided, Report};
use prony_profile::Feedback;
use prony_stats::judge::{Outcome, Reason};
use prony_stats::samples::{Benchmark, Better};
use prony_stats::single_sample::TooFew;
use prony_stats::{Interval, Metric, Verdict};
use prony_text::{Quantity, Untrusted, count, duration};

use crate::change::{self, change, found};
use crate::study::sentences::Tone;

/// Name of the metric `uncontended`, where people read it.
pub const UNCONTENDED: &str = Metric::Uncontended.title();

/// Name of a metric as people read it. `metric`: its name in files.
pub fn metric_name(metric: &str) -> &str {
    match Metric::from_name(metric) {
        Some(Metric::Cpu) => "CPU",
        Some(Metric::Uncontended) => UNCONTENDED,
        _ => metric,
    }
}

/// `A` for the first command.
pub fn letter(place: usize) -> String {
    let letter = |place: usize| char::from(b'A' + (place % 26) as u8);
    match place / 26 {
        0 => letter(place).to_string(),
        more => format!("{}{}", letter(more - 1), letter(place)),
    }
}

/// What is said of a comparison: the verdict, and what it rests on. In one line it is
/// `B is slower: +0.9 % [+0.3, +1.5] CPU time, 46 pairs, 4.0 s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `B is slower: +0.9 % [+0.3, +1.5] CPU time`.
    pub verdict: String,
    /// `46 pairs, 4.0 s`.
    pub basis: String,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.verdict, self.basis)
    }
}

/// What the judge's first metric stands for: CPU time, or the values of a worker or of a file, of which more may be better.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Name of the metric in files.
    pub metric: &'a str,
    /// Which way the values are better.
    pub better: Better,
}

impl<'a> Judged<'a> {
    /// Times of processes and replays.
    pub const TIMES: Judged<'static> = Judged { metric: "cpu", better: Better::Lower };

    /// What is judged of a bench.
    pub fn of(report: &'a Report) -> Judged<'a> {
        let better = report.samples.benchmarks.first().map_or(Better::Lower, Benchmark::better);
        Judged { metric: &report.metric, better }
    }

    /// What is judged of a stored benchmark.
    pub fn of_benchmark(benchmark: &'a Benchmark) -> Judged<'a> {
        let metric = if Metric::is_name_of_time(benchmark.metric()) { "cpu" } else { benchmark.metric() };
        Judged { metric, better: benchmark.better() }
    }

    /// The quantity that changes, as people read it.
    pub fn quantity(self, metric: Metric) -> &'a str {
        match metric {
            Metric::Cpu => match Metric::from_name(self.metric) {
                Some(known) => known.title(),
                None => self.metric,
            },
            other => other.title(),
        }
    }

    /// Ratio of the values as they are measured: that of the judge, for whom more is worse, or of a rate its inverse.
    pub fn of_values(self, metric: Metric, ratio: &Interval) -> Interval {
        match (self.better, metric) {
            (Better::Higher, Metric::Cpu | Metric::Wall) => ratio.negated(),
            _ => *ratio,
        }
    }

    /// Change of a metric in an outcome; of the one that decided, with the interval that decided.
    pub fn change(self, outcome: &Outcome, metric: Metric) -> Option<Interval> {
        outcome.change(metric).map(|ratio| self.of_values(metric, &ratio))
    }
}

/// The verdict on a command. `several`: there are other comparisons beside this one, so that each begins with its name.
pub fn claim(name: &str, outcome: &Outcome, judged: Judged<'_>, margin: f64, several: bool) -> Claim {
    let basis = format!("{}, {:.1} s", count(outcome.pairs as u64, "pair"), outcome.elapsed_s);
    let interval = judged.of_values(outcome.metric, &outcome.interval);
    let is = match (outcome.metric, outcome.verdict) {
        (Metric::Rss, Verdict::Slower) => "uses more memory",
        (Metric::Rss, _) => "uses less memory",
        (_, Verdict::Slower) => "is slower",
        _ => "is faster",
    };
    let name_of = several.then_some(name);
    let found = found(&interval, judged.quantity(outcome.metric));
    let verdict = match outcome.verdict {
        Verdict::Slower | Verdict::Faster => format!("{name} {is}: {found}"),
        verdict => undirected(name_of, verdict, margin, &found),
    };
    let more = match outcome.forecast.filter(|forecast| forecast.seconds_more >= 0.5) {
        Some(forecast) if outcome.verdict == Verdict::Unclear => {
            format!("; about {} more needed", duration(forecast.seconds_more))
        }
        _ => String::new(),
    };
    Claim { verdict: verdict + &more, basis }
}

/// `same within ±1 %: …` or `unclear: …`.
pub fn undirected(name: Option<&str>, verdict: Verdict, margin: f64, found: &str) -> String {
    let of = name.map_or_else(String::new, |name| format!("{name}: "));
    match verdict {
        Verdict::Same => format!("{of}same within {}: {found}", change::margin(margin)),
        _ => format!("{of}unclear: {found}"),
    }
}

/// Reason for a verdict, as a clause.
pub fn reason(reason: &Reason) -> String {
    let pairs = |pairs: usize| count(pairs as u64, "pair");
    match reason {
        Reason::OppositeSigns { cpu, uncontended } => {
            format!("CPU time and {UNCONTENDED} contradict each other: {} and {}", change(cpu), change(uncontended))
        }
        Reason::TooFewPairs { pairs: n, needed } => format!("no verdict: {}, {needed} needed", pairs(*n)),
        Reason::WaitUnknown => "judged by wall time: the wait for a CPU is unknown for some runs".to_owned(),
        Reason::Unknown => "the wait for a CPU is unknown for some runs".to_owned(),
        Reason::CpuDiffers { cpu } => {
            format!("CPU time differs: {}, but is not what the user waits for", change(cpu))
        }
        Reason::RssUnknown { pairs: n } => {
            format!(
                "{} skipped: the peak memory of a run is known only where it is above that of prony itself",
                pairs(*n)
            )
        }
        Reason::LeftOut { pairs: n } => format!("{} skipped: no CPU time was measured", pairs(*n)),
    }
}

/// Why the median of a sample has no interval, the same wherever one is missing.
pub fn too_few(why: TooFew) -> String {
    match why {
        TooFew::Values { n, needed } => format!("no interval: {}, {needed} needed", count(n as u64, "value")),
        TooFew::Correlated { n } => format!("no interval: {}, autocorrelated", count(n as u64, "value")),
    }
}

/// Median with its interval, for instance `20.13 ms [20.05, 20.31]`.
pub fn with_interval(quantity: &Quantity, median: &Interval) -> String {
    let shown = quantity.interval(median.estimate, median.low, median.high);
    shown.unwrap_or_else(|| {
        let why = TooFew::of(median).map_or_else(|| "no interval".to_owned(), too_few);
        format!("{} ({why})", quantity.value(median.estimate))
    })
}

/// Tone of a verdict.
pub fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Faster => Tone::Good,
        Verdict::Slower => Tone::Bad,
        Verdict::Same => Tone::Plain,
        Verdict::Unclear => Tone::Warn,
    }
}

/// The text with a capital letter.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Only one of two builds was made with a profile, or counts what it runs.
pub fn one_sided(OneSided { names, feedback }: &OneSided) -> String {
    let does = |feedback: Option<Feedback>| match feedback {
        Some(Feedback::Used) => "was optimised by a profile (-fprofile-use)",
        Some(Feedback::Collected) => "counts what it runs (-fprofile-generate, --coverage)",
        None => "says nothing of either",
    };
    let [a, b] = names.each_ref().map(|name| format!("`{}`", Untrusted::new(name)));
    let [does_a, does_b] = feedback.map(does);
    format!("{a} {does_a}, and {b} {does_b}: what differs may be that, and not the code")
}
