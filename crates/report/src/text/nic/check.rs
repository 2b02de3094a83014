//! `prony nic check` in the terminal.

use prony_text::{Table, count};

use crate::nic::Checked;

/// How a driver did under all traces, for people.
pub fn text(lines: &[Checked], failed: usize) -> String {
    let mut table = Table::new();
    for line in lines {
        let verdict = if line.passed { "passed" } else { "failed" };
        table.row([verdict, line.trace, line.found.as_deref().unwrap_or(line.text)]);
    }
    let passed = (lines.len() - failed) as u64;
    format!("{}{} passed, {failed} failed\n", table.text(), count(passed, "trace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_stands_instead_of_what_was_expected() {
        let line = |trace, found: Option<&str>| Checked {
            trace,
            text: "all come out",
            passed: found.is_none(),
            found: found.map(str::to_owned),
        };
        let lines = [line("ring-wrap", None), line("link", Some("the link does not come up"))];
        assert_eq!(
            text(&lines, 1),
            "passed  ring-wrap  all come out\nfailed  link       the link does not come up\n1 trace passed, 1 failed\n"
        );
    }
}
