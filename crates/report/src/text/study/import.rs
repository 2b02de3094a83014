//! A table that was imported, in the terminal.

use std::path::Path;

use prony_study::Results;
use prony_text::{Untrusted, count};

use super::words;

/// What the results have: cells, metric and factors. `directory`: where they are.
pub fn text(directory: &Path, results: &Results) -> String {
    let mut out = format!(
        "{}: {} on {} and {}\n",
        Untrusted::new(directory),
        count(results.cells.len() as u64, "cell"),
        count(results.machines.len() as u64, "machine"),
        count(results.workloads.len() as u64, "workload"),
    );
    out += &format!("  metric  {}\n", words::metric(&results.metric));
    for (at, factor) in results.factors.iter().enumerate() {
        let head = if at == 0 { "factors" } else { "" };
        let levels: Vec<String> = factor.levels.iter().map(|level| Untrusted::new(level).to_string()).collect();
        let random = if factor.random { ", random" } else { "" };
        out += &format!("  {head:<8}{}: {}{random}\n", Untrusted::new(&factor.name), levels.join(", "));
    }
    out
}
