//! The worker protocol: a command that measures itself, in any language.
//!
//! The command writes one JSON object a line to the descriptor whose number is in `$PRONY_FD`:
//!
//! ```json
//! {"metric": "wall", "value": 0.0123, "unit": "s", "loops": 8, "warmup": false}
//! ```
//!
//! `value` is for one loop and must be above zero; the other keys may be left out and are then
//! `wall`, `s`, 1 and false. A command that writes nothing is timed as a process. All values of one
//! process together count as one observation: what changes from process to process they share.
//!
//! What is requested from a worker stands in its environment, and it may look or not: `$PRONY_LOOPS`, once
//! its own calibration is known; `$PRONY_MIN_TIME`, seconds that a value should last at least;
//! `$PRONY_VALUES` and `$PRONY_WARMUPS`, how many of each, see `repetitions`.

use prony_stats::Metric;
use serde::{Deserialize, Deserializer};

/// Environment variable with the number of the descriptor.
pub const DESCRIPTOR_VARIABLE: &str = "PRONY_FD";
/// Environment variable with the loops of a value.
pub const LOOPS_VARIABLE: &str = "PRONY_LOOPS";
/// Environment variable with the seconds that a value should last at least.
pub const MIN_TIME_VARIABLE: &str = "PRONY_MIN_TIME";
/// Environment variable with the number of values that are wanted.
pub const VALUES_VARIABLE: &str = "PRONY_VALUES";
/// Environment variable with the number of values that come first and do not count.
pub const WARMUPS_VARIABLE: &str = "PRONY_WARMUPS";

/// The most that one process may write, in bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// The worker of `--python`: what `pyperf timeit` does in its worker processes.
pub const PYTHON: &str = include_str!("worker/timeit.py");
/// The worker of `--pyperf`: a script that uses `pyperf.Runner`, as a worker process of pyperf runs it.
pub const RUNNER: &str = include_str!("worker/runner.py");

/// Value that a worker wrote.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Name of the metric; `wall` where the line names none.
    #[serde(default = "wall", deserialize_with = "in_use")]
    pub metric: String,
    /// Value for one loop; above zero.
    pub value: f64,
    /// Unit of the value; `s` where the line names none.
    #[serde(default = "second")]
    pub unit: String,
    /// Loops it was measured over; at least 1.
    #[serde(default = "one")]
    pub loops: u64,
    /// True for a warm-up, which does not count.
    #[serde(default)]
    pub warmup: bool,
}

fn wall() -> String {
    "wall".to_owned()
}

/// Workers may use a name that a metric had before.
fn in_use<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|name| Metric::name_in_use(&name).to_owned())
}

fn second() -> String {
    "s".to_owned()
}

fn one() -> u64 {
    1
}

/// A line that is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Not the JSON of a value.
    #[error(
        "line {line} on $PRONY_FD: expected a value such as {{\"metric\": \"wall\", \"value\": 0.5, \"unit\": \
         \"s\"}}, found `{found}`: {problem}"
    )]
    Json {
        /// Number of the line on `$PRONY_FD`, from 1.
        line: usize,
        /// Beginning of the line, for the message.
        found: String,
        /// Message of the JSON parser, with line and column.
        problem: String,
    },
    /// A value that no time or rate can have.
    #[error("line {line} on $PRONY_FD: expected {expected}, found {found}")]
    Range {
        /// Number of the line on `$PRONY_FD`, from 1.
        line: usize,
        /// Permitted values in words, such as `at least one loop`.
        expected: &'static str,
        /// Value that the line has, as text.
        found: String,
    },
    /// A worker wrote more than [`MOST_BYTES`] bytes.
    #[error("more than {MOST_BYTES} bytes on $PRONY_FD")]
    TooLong,
}

/// Reads what a process wrote.
///
/// # Errors
/// [`LineError`] for the first line that is no value.
pub fn parse(bytes: &[u8]) -> Result<Vec<Value>, LineError> {
    if bytes.len() >= MOST_BYTES {
        return Err(LineError::TooLong);
    }
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty());
    lines.map(|(index, text)| parse_line(index + 1, text)).collect()
}

fn parse_line(line: usize, text: &str) -> Result<Value, LineError> {
    let value: Value = serde_json::from_str(text).map_err(|problem| LineError::Json {
        line,
        found: text.chars().take(60).collect(),
        problem: problem.to_string(),
    })?;
    if !(value.value.is_finite() && value.value > 0.0) {
        return Err(LineError::Range { line, expected: "a value above zero", found: value.value.to_string() });
    }
    if value.loops == 0 {
        return Err(LineError::Range { line, expected: "at least one loop", found: "0".to_owned() });
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_value_and_most_of_it_may_be_left_out() {
        let values = parse(
            b"{\"value\": 0.5}\n\n{\"metric\":\"rate\",\"value\":9,\"unit\":\"req/s\",\"loops\":4,\"warmup\":true}\n",
        );
        let expected = [
            Value { metric: "wall".into(), value: 0.5, unit: "s".into(), loops: 1, warmup: false },
            Value { metric: "rate".into(), value: 9.0, unit: "req/s".into(), loops: 4, warmup: true },
        ];
        assert_eq!(values, Ok(expected.to_vec()));
        assert_eq!(parse(b""), Ok(Vec::new()));
    }

    #[test]
    fn a_line_that_is_no_value_is_named() {
        let error = |text: &str| parse(text.as_bytes()).expect_err("it is wrong").to_string();
        assert!(error("{\"value\": 1}\nhello\n").starts_with("line 2 on $PRONY_FD: expected a value such as"));
        assert_eq!(error("{\"value\": -1}"), "line 1 on $PRONY_FD: expected a value above zero, found -1");
        assert_eq!(error("{\"value\": 1, \"loops\": 0}"), "line 1 on $PRONY_FD: expected at least one loop, found 0");
        assert!(error("{\"value\": 1, \"wall\": 2}").contains("unknown field `wall`"));
        assert!(error(&"{\"value\": 1}\n".repeat(100_000)).starts_with("more than"));
    }
}
