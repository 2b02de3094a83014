//! Counted instructions of two builds on demos as a comment for a pull request.

use std::fmt::Write;

use prony_bench::counted::CountedDemos;

use super::unfolding;
use crate::bench::counted::{basis, failure, sentence, table};

/// A comment for a pull request: the verdict, a row a demo, and the functions to unfold.
pub fn markdown(demos: &CountedDemos, version: &str) -> String {
    // Outside of a table, a bar needs no backslash.
    let [a, b] = demos.builds.each_ref().map(|name| prony_text::markdown_code(name).replace("\\|", "|"));
    let mut out = format!("### prony: {}\n\n", sentence([&a, &b], demos));
    out += &table([a, b], demos, prony_text::markdown_code).markdown();
    let failures: Vec<String> = demos
        .all
        .iter()
        .filter_map(failure)
        .map(|message| format!("* {}\n", prony_text::markdown(&message.replace(['\n', '\r'], " "))))
        .collect();
    if !failures.is_empty() {
        let _ = write!(out, "\n{}", failures.concat());
    }
    let _ = writeln!(out, "\n<sub>{}. prony {version}</sub>", prony_text::markdown(&basis(demos)));
    for demo in &demos.all {
        let Ok(report) = &demo.report else { continue };
        let text = crate::text::count::text(&demo.path, demos.limit, report);
        out += &unfolding(&demo.name, "functions", &text);
    }
    out
}
