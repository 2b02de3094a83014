//! Counted instructions of two builds on demos as a comment for a pull request.

use std::fmt::Write;

use prony_bench::counted::{CountedDemo, CountedDemos};
use prony_text::printable_line;

use super::unfolding;
use crate::bench::counted::{basis, claim, failure, failures, sentence, table};

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
    out + &unfolded(demos)
}

/// The counts beside times: what they say of the only demo or of all, and the functions to unfold.
pub fn beside_times(builds: [&str; 2], demos: &CountedDemos) -> String {
    let said = match demos.all.as_slice() {
        [only] if demos.requested == 1 => claim(demos, only).map(|claim| prony_text::markdown(&printable_line(&claim))),
        _ => None,
    };
    let said = said.unwrap_or_else(|| sentence(builds, demos));
    let said = demos.counter().map(|_| format!("Counted: {said}"));
    let failures = failures(demos).into_iter().map(|failure| prony_text::markdown(&failure.replace(['\n', '\r'], " ")));
    let sentences = said.into_iter().chain(failures);
    format!("\n{}\n{}", sentences.collect::<Vec<_>>().join("\n"), unfolded(demos))
}

/// The functions of each demo, to unfold.
fn unfolded(demos: &CountedDemos) -> String {
    let of = |demo: &CountedDemo| {
        let text = crate::text::count::text(&demo.path, demos.limit, demo.report.as_ref().ok()?);
        Some(unfolding(&demo.name, "functions", &text))
    };
    demos.all.iter().filter_map(of).collect()
}
