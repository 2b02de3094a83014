//! What works on a machine, in the terminal.

use std::fmt::Write;

use prony_text::{Table, count};

use crate::doctor::Check;

/// A line for each check, the next step below what is missing, and how many are. `version`: of prony.
pub fn text(version: &str, checks: &[Check]) -> String {
    let mut out = format!("prony {version}\n");
    let mut table = Table::new().indented(2);
    for check in checks {
        let state = if check.works { "works" } else { "missing" };
        table.row([state, check.name, check.evidence.as_str()]);
    }
    for (line, check) in table.text().lines().zip(checks) {
        let _ = writeln!(out, "{line}");
        if let Some(step) = &check.next_step {
            let _ = writeln!(out, "           → {step}");
        }
    }
    let missing = checks.iter().filter(|check| !check.works).count();
    let _ = match missing {
        0 => writeln!(out, "everything works"),
        _ => writeln!(out, "{} of {} found something missing", missing, count(checks.len() as u64, "check")),
    };
    out
}
