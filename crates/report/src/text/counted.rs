//! Counted instructions of two builds on demos, in the terminal.

use std::fmt::Write;

use prony_bench::counted::CountedDemos;
use prony_text::Untrusted;

use crate::bench::counted::{sentence, table};

/// All that was counted; of several demos, a table and the verdict for all of them at the end.
pub fn text(demos: &CountedDemos) -> String {
    let counted = demos.all.iter().filter_map(|demo| {
        let report = demo.report.as_ref().ok()?;
        Some(super::count::text(&demo.path, demos.limit, report))
    });
    let mut parts: Vec<String> = counted.collect();
    if demos.requested > 1 {
        let [a, b] = demos.builds.each_ref().map(|name| Untrusted::new(name).to_string());
        let mut all = table(["A".to_owned(), "B".to_owned()], demos, |name| Untrusted::new(name).to_string()).text();
        let _ = writeln!(all, "{}", sentence([&a, &b], demos));
        parts.push(all);
    }
    parts.join("\n")
}
