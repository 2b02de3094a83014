//! Value of a cell from the results of its run.

use prony_bench::SingleRun;
use prony_machine::process::NoWait;
use prony_replay::ReplayReport;
use prony_stats::Interval;
use prony_stats::Metric as Judged;
use prony_stats::quantile::{median, quantile_of_sorted, sorted};
use prony_stats::single_sample::median_interval;

use crate::FailureKind;
use crate::ledger::Failure;
use crate::results::{Metric, Normalise};

/// Error rate of the interval of a cell's value: one in twenty.
const ALPHA: f64 = 0.05;

/// A number that a run gave, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    pub value: f64,
    pub spread: Option<Interval>,
}

impl Number {
    fn of(values: &[f64]) -> Option<Number> {
        let spread = (values.len() > 1).then(|| median_interval(values, ALPHA)).flatten();
        Some(Number { value: median(values)?, spread })
    }

    fn scaled(self, by: f64) -> Number {
        Number { value: self.value * by, spread: self.spread.map(|spread| spread.map(|value| value * by)) }
    }
}

/// Result of a run, from which a metric is taken.
#[derive(Debug, Clone, Copy)]
pub enum Ran<'a> {
    /// Result of a command that ran once.
    Command(&'a SingleRun),
    /// Result of a replay of a demo.
    Replay(&'a ReplayReport),
}

impl Ran<'_> {
    /// Value of the study's metric, normalised.
    ///
    /// # Errors
    /// When the run has no such number.
    pub fn metric(&self, metric: &Metric) -> Result<Number, Failure> {
        let number = self.number(&metric.name)?;
        let in_seconds = (Judged::is_name_of_time(&metric.name) || ["user", "system"].contains(&metric.name.as_str()))
            || (metric.name.starts_with("frame") && matches!(self, Ran::Replay(_)));
        let number = match unit_per_second(&metric.unit).filter(|_| in_seconds && !self.is_of_worker(&metric.name)) {
            Some(factor) => number.scaled(factor),
            None => number,
        };
        let Some(Normalise { by, to }) = &metric.normalise else { return Ok(number) };
        let did = self.number(by)?.value;
        match did.is_finite() && did > 0.0 {
            true => Ok(number.scaled(to / did)),
            false => Err(permanent(format!("expected `{by}` above zero, found {did}"))),
        }
    }

    /// Number of the run by its name; times are in seconds.
    ///
    /// # Errors
    /// When the run has no such number.
    pub fn number(&self, name: &str) -> Result<Number, Failure> {
        match self {
            Ran::Command(single) => of_command(single, name),
            Ran::Replay(report) => of_replay(report, name),
        }
    }

    fn is_of_worker(&self, name: &str) -> bool {
        matches!(self, Ran::Command(single) if single.values.iter().any(|value| value.metric == name))
    }
}

fn of_command(single: &SingleRun, name: &str) -> Result<Number, Failure> {
    let name = Judged::name_in_use(name);
    let own = single.values.iter().filter(|value| value.metric == name && !value.warmup);
    let own: Vec<f64> = own.map(|value| value.value).collect();
    if let Some(number) = Number::of(&own) {
        return Ok(number);
    }
    let run = &single.run;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let value = match name {
        "cpu" => seconds(run.cpu_ns),
        "wall" => seconds(run.wall_ns),
        "user" => seconds(run.user_ns),
        "system" => seconds(run.system_ns),
        "rss" => match run.rss_max_bytes {
            Some(bytes) => bytes as f64,
            None => return Err(permanent("expected `rss`, found none: the command needs less memory than its start")),
        },
        "uncontended" => match (run.uncontended_ns(), run.wait_ns) {
            (Some(ns), _) => seconds(ns),
            (None, Err(reason)) => {
                return Err(permanent(format!("expected `{name}`, found none: {}", no_wait(reason))));
            }
            (None, Ok(_)) => return Err(permanent(format!("expected `{name}`, found none"))),
        },
        _ => {
            let mut found: Vec<&str> = single.values.iter().map(|value| value.metric.as_str()).collect();
            found.dedup();
            let found = match found.is_empty() {
                true => "nothing on $PRONY_FD".to_owned(),
                false => format!("`{}`", found.join("`, `")),
            };
            return Err(permanent(format!("expected the metric `{name}` from the command, found {found}")));
        }
    };
    Ok(Number { value, spread: None })
}

fn no_wait(reason: NoWait) -> &'static str {
    match reason {
        NoWait::NotReported => "it has threads or children, whose waits are visible only with CAP_NET_ADMIN",
        NoWait::Lost => "the kernel's records of its threads were lost",
        NoWait::Outlived => "a child or thread of it still ran at its end",
        NoWait::Overlap => "its threads may run in parallel",
    }
}

fn of_replay(report: &ReplayReport, name: &str) -> Result<Number, Failure> {
    let sum = |times: &[u64]| times.iter().sum::<u64>() as f64 / 1e9;
    let together = report.timing.frames_in_each as f64;
    let quantile = |p: f64| {
        let times: Vec<f64> = report.timing.frame_cpu_ns.iter().map(|&ns| ns as f64 / 1e9 / together).collect();
        quantile_of_sorted(&sorted(&times), p)
    };
    let value = match name {
        "cpu" => Some(sum(&report.timing.frame_cpu_ns)),
        "wall" => Some(sum(&report.timing.frame_wall_ns)),
        "frames" => Some(report.frames as f64),
        "frame" => Some(sum(&report.timing.frame_cpu_ns) / report.timing.frame_cpu_ns.len() as f64 / together),
        "frame_p50" => quantile(0.5),
        "frame_p95" => quantile(0.95),
        "frame_p99" => quantile(0.99),
        "frame_max" => quantile(1.0),
        _ => {
            return Err(permanent(format!(
                "expected `cpu`, `wall`, `frames`, `frame`, `frame_p50`, `frame_p95`, `frame_p99` or `frame_max` of a \
                 replay, found `{name}`"
            )));
        }
    };
    match value.filter(|value| value.is_finite()) {
        Some(value) => Ok(Number { value, spread: None }),
        None => Err(permanent("expected frames in the demo, found none")),
    }
}

/// Number of units of time in a second.
fn unit_per_second(unit: &str) -> Option<f64> {
    match unit {
        "s" | "second" | "seconds" => Some(1.0),
        "ms" | "millisecond" | "milliseconds" => Some(1e3),
        "us" | "µs" | "microsecond" | "microseconds" => Some(1e6),
        "ns" | "nanosecond" | "nanoseconds" => Some(1e9),
        "min" | "minute" | "minutes" => Some(1.0 / 60.0),
        _ => None,
    }
}

fn permanent(message: impl Into<String>) -> Failure {
    Failure { kind: FailureKind::Permanent, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use prony_replay::Timing;

    fn metric(name: &str, unit: &str, normalise: Option<Normalise>) -> Metric {
        Metric { name: name.to_owned(), unit: unit.to_owned(), direction: Direction::Lower, normalise }
    }

    fn replayed(frame_cpu_ns: &[u64]) -> ReplayReport {
        ReplayReport {
            verdict: prony_replay::Verdict::Identical,
            frames: frame_cpu_ns.len() as u64,
            timing: Timing {
                frame_start_ns: vec![0; frame_cpu_ns.len()],
                frame_wall_ns: frame_cpu_ns.to_vec(),
                frame_cpu_ns: frame_cpu_ns.to_vec(),
                ..Timing::before_replay(0.0)
            },
            ..ReplayReport::before_replay(0.0)
        }
    }

    #[test]
    fn a_replay_is_stated_for_the_requested_number_of_frames() {
        let report = replayed(&[1_000_000, 2_000_000, 3_000_000]);
        let ran = Ran::Replay(&report);
        let normalise = Normalise { by: "frames".to_owned(), to: 120_000.0 };
        let value = |metric: &Metric| ran.metric(metric).map(|number| number.value);
        assert_eq!(value(&metric("cpu", "second", Some(normalise.clone()))), Ok(0.006 * 40_000.0));
        assert_eq!(value(&metric("cpu", "ms", Some(normalise))), Ok(0.006 * 1e3 * 40_000.0));
        assert_eq!(value(&metric("frame_max", "µs", None)), Ok(3_000.0));
        let failure = value(&metric("requests", "1/s", None)).expect_err("a replay has none");
        assert!(failure.message.ends_with("of a replay, found `requests`"), "{failure:?}");
    }

    #[test]
    fn a_demo_without_frames_has_no_value() {
        let report = replayed(&[]);
        let normalise = Normalise { by: "frames".to_owned(), to: 120_000.0 };
        let failure = Ran::Replay(&report).metric(&metric("cpu", "second", Some(normalise))).expect_err("none");
        assert_eq!(failure.message, "expected `frames` above zero, found 0");
        let failure = Ran::Replay(&report).metric(&metric("frame", "second", None)).expect_err("none");
        assert_eq!(failure.message, "expected frames in the demo, found none");
    }
}
