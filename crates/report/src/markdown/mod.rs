//! Answers for a README or a pull request.

use prony_text::{Markup, count, printable_line};
use serde_json::Value;

pub mod counted;
pub mod demos;
pub mod layouts;
pub mod study;

/// Text to unfold, of a demo. `what`: what it says of it.
fn unfolding(demo: &str, what: &str, text: &str) -> String {
    format!(
        "\n<details><summary>{}</summary>\n\n```text\n{}```\n\n</details>\n",
        // HTML, in which a backslash is one.
        Markup(&format!("{}: {what}", printable_line(demo))),
        text.replace("```", "` ` `")
    )
}

/// What a reader who was not there wants to know: how much was measured, and of the machine.
fn around(what: &str, number: u64, seconds: f64, machine: Option<&Value>, version: &str) -> String {
    let text = |pointer: &str| machine.and_then(|machine| machine.pointer(pointer)?.as_str()).map(str::to_owned);
    let facts = [text("/cpu/model"), text("/kernel/release").map(|kernel| format!("Linux {kernel}"))];
    let known: Vec<String> = [format!("{} of replays in {seconds:.0} s", count(number, what))]
        .into_iter()
        .chain(facts.into_iter().flatten().map(|fact| prony_text::markdown(&fact)))
        .chain([format!("prony {version}")])
        .collect();
    known.join(", ")
}
