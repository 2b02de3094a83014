//! Metadata: names and values that describe a benchmark or a run, with the types that pyperf requires.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::error::{SamplesError, shown};
use crate::files::memory::{self, Owns};

/// Metadata by name, as in pyperf's files.
pub type Metadata = BTreeMap<String, MetadataValue>;

/// Value of one metadatum: text, number, flag or tags.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum MetadataValue {
    /// Text of one line, not empty, without white space around it.
    Text(String),
    /// A number; never NaN or infinite.
    Number(Number),
    /// Boolean; pyperf takes it for a number.
    Boolean(bool),
    /// Words of `tags`, none of them empty or `all`.
    Tags(Vec<String>),
}

impl MetadataValue {
    /// Text value, made one line; see [`one_line`].
    pub fn text(text: &str) -> MetadataValue {
        MetadataValue::Text(one_line(text))
    }
}

impl Owns for MetadataValue {
    fn owned_bytes(&self) -> usize {
        match self {
            MetadataValue::Text(text) => text.owned_bytes(),
            // Tags are charged as they are read.
            MetadataValue::Number(_) | MetadataValue::Boolean(_) | MetadataValue::Tags(_) => 0,
        }
    }
}

impl From<u64> for MetadataValue {
    fn from(number: u64) -> MetadataValue {
        MetadataValue::Number(number.into())
    }
}

impl fmt::Display for MetadataValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetadataValue::Text(text) => f.write_str(text),
            MetadataValue::Number(number) => number.fmt(f),
            MetadataValue::Boolean(yes) => yes.fmt(f),
            MetadataValue::Tags(tags) => f.write_str(&tags.join(", ")),
        }
    }
}

/// Text in the form that metadata and names have: control characters become spaces, white space around it is removed,
/// and `?` stands for an empty text.
pub fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let trimmed = spaced.trim();
    if trimmed.is_empty() { "?".to_owned() } else { trimmed.to_owned() }
}

/// True if a text is as pyperf's `parse_metadata` leaves it.
pub(super) fn is_one_line(text: &str) -> bool {
    !text.is_empty() && !text.contains(['\n', '\r']) && !text.starts_with(is_space) && !text.ends_with(is_space)
}

/// White space as Python's `str.strip` has it: Unicode's, and the separators U+001C to U+001F.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Checks what pyperf's `check_metadata` checks.
pub(super) fn check(path: &str, metadata: &Metadata) -> Result<(), SamplesError> {
    for (name, value) in metadata {
        let expected = match value {
            MetadataValue::Text(text) if !is_one_line(text) => Some("one line of text, not empty"),
            value => wrong_type(name, value),
        };
        if let Some(expected) = expected {
            let found = shown(&serde_json::to_string(value).unwrap_or_default());
            return Err(SamplesError::Rule { path: format!("{path}.{}", shown(name)), expected, found });
        }
    }
    Ok(())
}

/// Type that pyperf expects for a name that it knows, if the value has another (pyperf 2.10, `_metadata.py`).
fn wrong_type(name: &str, value: &MetadataValue) -> Option<&'static str> {
    let at_least = |least: u64| match value {
        MetadataValue::Number(number) => number.as_u64().is_some_and(|number| number >= least),
        _ => false,
    };
    let (right, expected) = match name {
        "mem_max_rss" | "mem_peak_pagefile_usage" | "command_max_rss" => (at_least(1), "bytes, at least 1"),
        "calibrate_loops" | "recalibrate_loops" => (at_least(1), "loops, at least 1"),
        "calibrate_warmups" | "recalibrate_warmups" => (at_least(0), "a number of warm-ups"),
        "duration" | "uptime" | "load_avg_1min" => (
            matches!(value, MetadataValue::Number(number) if number.as_f64().is_some_and(|number| number >= 0.0)),
            "a number, not negative",
        ),
        "date" | "boot_time" => {
            (matches!(value, MetadataValue::Text(text) if is_date(text)), "a date as 2026-11-21 20:32:49")
        }
        "tags" => {
            let is_tag = |tag: &String| !tag.is_empty() && tag != "all";
            (matches!(value, MetadataValue::Tags(tags) if tags.iter().all(is_tag)), "a list of words other than `all`")
        }
        _ => (!matches!(value, MetadataValue::Tags(_)), "a text or a number"),
    };
    (!right).then_some(expected)
}

/// True if a text begins like an ISO 8601 date. pyperf stops at others, but only when it shows statistics.
fn is_date(text: &str) -> bool {
    let shape = text.bytes().take(10).map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(*b"0000-00-00")
}

impl<'de> Deserialize<'de> for MetadataValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MetadataValue, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = MetadataValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number or a list of tags")
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Boolean(yes))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<MetadataValue, E> {
        Ok(MetadataValue::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<MetadataValue, E> {
        Number::from_f64(number)
            .map(MetadataValue::Number)
            .ok_or_else(|| E::custom("expected a finite number, found one that is not"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MetadataValue, E> {
        // As pyperf does.
        Ok(MetadataValue::Text(text.trim_matches(is_space).to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<MetadataValue, A::Error> {
        memory::elements(items).map(MetadataValue::Tags)
    }
}
