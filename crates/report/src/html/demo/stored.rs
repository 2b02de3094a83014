//! A replay as `prony replay --json` prints it, for the page of its demo.

use std::fmt;

use prony_text::{Untrusted, count, significant, thousands};
use serde::Deserialize;
use serde_json::Value;

use super::{Divergence, Replay};
use crate::study::sentences::{Tone, Verdict};

/// A file that cannot be shown beside a demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredError {
    /// No JSON of a replay.
    Json(String),
    /// A verdict that no replay has.
    Verdict(String),
    /// The replay has other frames than the demo.
    Frames {
        /// Frames of the replay.
        found: u64,
        /// Frames of the demo.
        expected: u64,
    },
}

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoredError::Json(error) => f.write_str(error),
            StoredError::Verdict(found) => {
                write!(f, "expected the JSON of a replay, found the verdict `{}`", Untrusted::new(found))
            }
            StoredError::Frames { found, expected } => {
                write!(f, "the replay is of {}, the demo has {}", count(*found, "frame"), thousands(*expected))
            }
        }
    }
}

impl std::error::Error for StoredError {}

/// A replay as `prony replay --json` prints it, as far as the page shows it.
#[derive(Debug)]
pub struct StoredReplay {
    answer: Answer,
    /// Facts about the machine; null where the file has none.
    machine: Value,
}

/// Result of the replay.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    verdict: String,
    reasons: Vec<String>,
    frames: u64,
    outputs_verified: u64,
    output_bytes_verified: u64,
    replays: u64,
    wall_s: Option<f64>,
    wall_s_list: Vec<f64>,
    recorded_s: f64,
    speedup: Option<f64>,
    frames_in_each: Option<u64>,
    frame_ms_list: Vec<f64>,
    warnings: Vec<String>,
    divergence: Option<StoredDivergence>,
    causes: Vec<StoredCause>,
}

/// Where the replay took place.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Origin {
    machine: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredDivergence {
    class: String,
    process: u64,
    thread: u64,
    record: u64,
    frame: u64,
    call: String,
    fd: i64,
    byte: Option<u64>,
    window_from: u64,
    expected_hex: String,
    found_hex: String,
    expected_call: String,
    recent: Vec<String>,
    backtrace: Vec<String>,
    detail: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredCause {
    text: String,
}

impl StoredReplay {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is no JSON of a replay.
    pub fn parse(text: &str) -> Result<StoredReplay, StoredError> {
        let json = |error: serde_json::Error| StoredError::Json(error.to_string());
        let answer: Answer = serde_json::from_str(text).map_err(json)?;
        // Read on its own: serde keeps everything in memory before it deserializes flattened structs.
        let Origin { machine } = serde_json::from_str(text).map_err(json)?;
        match answer.verdict.as_str() {
            "identical" | "tolerant" | "diverged" | "weak" => Ok(StoredReplay { answer, machine }),
            _ => Err(StoredError::Verdict(answer.verdict)),
        }
    }

    /// The replay that just took place on `machine`. `answer`: its JSON.
    ///
    /// # Errors
    /// When it is no JSON of a replay.
    pub fn of(answer: Value, machine: Value) -> Result<StoredReplay, StoredError> {
        let answer = serde_json::from_value(answer).map_err(|error| StoredError::Json(error.to_string()))?;
        Ok(StoredReplay { answer, machine })
    }

    /// What the page shows of it. `frames`: those of the demo.
    ///
    /// # Errors
    /// When it is the replay of another demo.
    pub fn replay(self, frames: u64) -> Result<Replay, StoredError> {
        let StoredReplay { answer, machine } = self;
        let frames_in_each = answer.frames_in_each.unwrap_or(1).max(1);
        // A replay has no frame behind the last whole one, or that one too.
        let found = answer.frames.max(answer.divergence.as_ref().map_or(0, |found| found.frame));
        if found > frames + 1 {
            return Err(StoredError::Frames { found, expected: frames });
        }
        let wall_s = match (answer.wall_s_list.is_empty(), answer.wall_s) {
            (false, _) => answer.wall_s_list,
            (true, Some(wall_s)) => vec![wall_s],
            (true, None) => Vec::new(),
        };
        let claim = match (answer.verdict.as_str(), &answer.divergence) {
            ("identical", _) => "Identical".to_owned(),
            ("tolerant", _) => "Tolerant, not identical".to_owned(),
            ("diverged", Some(found)) => format!("Diverged: {}", class(&found.class)),
            ("diverged", None) => "Diverged".to_owned(),
            _ => "Weak: nothing diverged, but the result proves little".to_owned(),
        };
        let tone = match answer.verdict.as_str() {
            "identical" => Tone::Good,
            "diverged" => Tone::Bad,
            _ => Tone::Warn,
        };
        let verified = format!(
            "{}, {} verified over {}",
            count(answer.outputs_verified, "output"),
            count(answer.output_bytes_verified, "byte"),
            count(answer.frames, "frame")
        );
        let speed = match (answer.speedup, answer.wall_s) {
            (Some(speedup), Some(wall_s)) => format!(
                "; replayed {} s in {} s ({}× real time), median of {}",
                significant(answer.recorded_s),
                significant(wall_s),
                significant(speedup),
                count(answer.replays, "replay")
            ),
            _ => String::new(),
        };
        let causes = answer.causes.into_iter().map(|cause| cause.text).collect();
        Ok(Replay {
            verdict: Some(Verdict { tone, claim, basis: verified + &speed }),
            notes: [answer.reasons, answer.warnings].concat(),
            frame_ms: answer.frame_ms_list,
            frames_in_each,
            wall_s,
            machine,
            divergence: answer.divergence.map(|found| found.divergence(causes)),
        })
    }
}

impl StoredDivergence {
    fn divergence(self, causes: Vec<String>) -> Divergence {
        let process = if self.process > 0 { format!(" of process {}", self.process) } else { String::new() };
        let fd = if self.fd >= 0 { format!(", descriptor {}", self.fd) } else { String::new() };
        let byte = self.byte.map_or_else(String::new, |byte| format!(", byte {}", thousands(byte)));
        let place = match self.call.is_empty() {
            true => class(&self.class),
            false => format!(
                "record {}{process}, frame {}, thread {}: {}{fd}{byte}",
                thousands(self.record),
                thousands(self.frame),
                self.thread,
                self.call
            ),
        };
        Divergence {
            place,
            detail: self.detail,
            frame: self.frame,
            record: self.record,
            byte: self.byte,
            window_from: self.window_from,
            expected: from_hex(&self.expected_hex),
            found: from_hex(&self.found_hex),
            expected_call: self.expected_call,
            recent: self.recent,
            backtrace: self.backtrace,
            causes,
        }
    }
}

/// The class of a divergence in words, from its key in JSON.
fn class(key: &str) -> String {
    match key {
        "output" => "different output".to_owned(),
        "order" => "different order of calls".to_owned(),
        "starvation" => "starved thread".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Bytes of hex digits, up to the first that are none.
fn from_hex(digits: &str) -> Vec<u8> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    digits.as_bytes().chunks_exact(2).map_while(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_stranger_end_where_they_are_none() {
        assert_eq!(from_hex("00ff7a"), [0, 255, 122]);
        assert!(from_hex("0g11").is_empty());
        assert!(from_hex("é1").is_empty());
        assert!(from_hex("1").is_empty());
    }

    #[test]
    fn the_replay_of_another_demo_is_refused() {
        let stored = |frames| StoredReplay {
            answer: Answer { verdict: "identical".to_owned(), frames, ..Answer::default() },
            machine: Value::Null,
        };
        assert!(stored(11).replay(10).is_ok());
        let error = stored(5000).replay(10).expect_err("it has more frames").to_string();
        assert_eq!(error, "the replay is of 5,000 frames, the demo has 10");
    }
}
