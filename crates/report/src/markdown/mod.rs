//! Answers for a README or a pull request.

use prony_text::{Markup, printable_line};

pub mod counted;
pub mod demos;
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
