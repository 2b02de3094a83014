//! hyperfine's JSON, version 1: what its own scripts and all that reads hyperfine know.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Summary, command, timed};
use crate::files::samples::Samples;

#[derive(Serialize)]
struct File<'a> {
    results: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    command: String,
    #[serde(flatten)]
    summary: Summary,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
}

/// The benchmarks that take time, in the layout of `hyperfine --export-json` up to 1.20. Several values of a process
/// stand one after the other. `user` and `system` are null where they were not measured.
pub fn hyperfine(samples: &Samples) -> Vec<u8> {
    let results = timed(samples).map(|(benchmark, summary)| {
        let values = benchmark.runs.iter().flat_map(|run| run.values.iter().map(move |&value| (run, value)));
        let measured = values.clone().map(|(run, _)| run.measured.as_ref());
        let memory: Option<Vec<u64>> = measured.clone().map(|run| run.and_then(|run| run.peak_rss_bytes)).collect();
        let parameters = benchmark.subject.iter().flat_map(|subject| &subject.parameters);
        Entry {
            command: command(benchmark),
            summary,
            times: values.map(|(_, value)| value).collect(),
            memory_usage_byte: memory.unwrap_or_default(),
            exit_codes: measured.map(|run| run.and_then(|run| run.exit_code)).collect(),
            parameters: parameters.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        }
    });
    let file = File { results: results.collect() };
    let mut bytes = serde_json::to_vec_pretty(&file).expect("numbers, texts and lists only");
    bytes.push(b'\n');
    bytes
}
