//! Words and figures that all renderers share: names of metrics and commands, changes with their intervals.

use std::fmt;

use prony_stats::judge::Outcome;
use prony_stats::{Interval, Metric, Verdict};
use prony_text::{Quantity, count, duration, plain, signed};

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

/// What is said of a comparison: the verdict, and what it rests on. In one line it is `B is slower by 0.9 % [0.3, 1.5], 46 pairs, 4.0 s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// `B is slower by 0.9 % [0.3, 1.5]`.
    pub verdict: String,
    /// `46 pairs, 4.0 s`.
    pub basis: String,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.verdict, self.basis)
    }
}

/// The verdict on a command. `several`: there are other comparisons beside this one, so that each begins with its name.
pub fn claim(name: &str, outcome: &Outcome, margin: f64, several: bool) -> Claim {
    let basis = format!("{}, {:.1} s", count(outcome.pairs as u64, "pair"), outcome.elapsed_s);
    let of = if several { format!("{name}: ") } else { String::new() };
    let [estimate, low, high] = [outcome.estimate, outcome.low, outcome.high].map(to_percent);
    let digits = digits(high - low);
    let [slower, faster] = match outcome.metric {
        Metric::Rss => ["uses more memory", "uses less memory"],
        _ => ["is slower", "is faster"],
    };
    let verdict = match outcome.verdict {
        Verdict::Slower => {
            format!("{name} {slower} by {estimate:.digits$} % [{low:.digits$}, {high:.digits$}]")
        }
        Verdict::Faster => {
            let [estimate, low, high] = [-estimate, -high, -low];
            format!("{name} {faster} by {estimate:.digits$} % [{low:.digits$}, {high:.digits$}]")
        }
        Verdict::Same => format!(
            "{of}same within ±{} % ({} % [{}, {}])",
            plain(to_percent(margin)),
            signed(estimate, digits),
            signed(low, digits),
            signed(high, digits),
        ),
        Verdict::Unclear => {
            let range = match low.is_finite() && high.is_finite() {
                true => format!("{} … {} %", signed(low, digits), signed(high, digits)),
                false => "not enough data".to_owned(),
            };
            let more = match outcome.forecast.filter(|forecast| forecast.seconds_more >= 0.5) {
                Some(forecast) => format!("; about {} more needed", duration(forecast.seconds_more)),
                None => String::new(),
            };
            format!("{of}unclear: {range}{more}")
        }
    };
    Claim { verdict, basis }
}

/// `+1.0 % [+0.6, +1.4]` of a log ratio.
pub fn change(interval: &Interval) -> String {
    if interval.n == 0 {
        return "unknown".to_owned();
    }
    let [estimate, low, high] = [interval.estimate, interval.low, interval.high].map(to_percent);
    let digits = digits(high - low);
    match low.is_finite() && high.is_finite() {
        true => format!("{} % [{}, {}]", signed(estimate, digits), signed(low, digits), signed(high, digits)),
        false => format!("{} %, too few for an interval", signed(estimate, 1)),
    }
}

/// A log ratio as a change in per cent.
pub fn to_percent(log_ratio: f64) -> f64 {
    log_ratio.exp_m1() * 100.0
}

/// Decimals at which an interval so wide has two digits that mean something.
pub fn digits(width: f64) -> usize {
    match width {
        width if width < 0.5 => 2,
        width if width >= 20.0 => 0,
        _ => 1,
    }
}

/// Median with its interval, for instance `20.13 ms [20.05, 20.31]`.
pub fn with_interval(quantity: &Quantity, interval: &Interval) -> String {
    let shown = quantity.interval(interval.estimate, interval.low, interval.high);
    shown.unwrap_or_else(|| format!("{} (too few for an interval)", quantity.value(interval.estimate)))
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
