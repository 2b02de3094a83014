//! `prony study status` in the terminal.

use std::fmt::Write;

use prony_study::directory::Progress;
use prony_study::ledger::Counts;
use prony_text::{Untrusted, count, printable_line, thousands};

/// Reasons that are listed for each machine; --json has all.
const REASONS: usize = 5;

/// How far each machine is, for people.
pub fn text(progress: &[Progress]) -> String {
    let width = progress.iter().map(|one| shown(&one.machine).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for one in progress {
        let _ = writeln!(out, "{:width$}  {}", shown(&one.machine), in_words(&one.counts, one.cell_s));
        for (reason, cells) in one.reasons.iter().take(REASONS) {
            let _ = writeln!(out, "{:width$}    {}: {}", "", count(*cells, "cell"), printable_line(reason));
        }
        if one.reasons.len() > REASONS {
            let _ = writeln!(out, "{:width$}    and {} more reasons", "", one.reasons.len() - REASONS);
        }
    }
    out
}

/// A ledger names its machine, and may have come from it.
fn shown(machine: &str) -> String {
    Untrusted::new(machine).to_string()
}

/// `38 of 40 cells done, 2 failed, 5 min left`.
pub fn in_words(counts: &Counts, cell_s: Option<f64>) -> String {
    let mut words = format!("{} of {} cells done", thousands(counts.done), thousands(counts.all()));
    for (number, what) in [(counts.failed, "failed"), (counts.skipped, "not run")] {
        if number > 0 {
            let _ = write!(words, ", {} {what}", thousands(number));
        }
    }
    if let Some(cell_s) = cell_s.filter(|_| counts.left() > 0) {
        let _ = write!(words, ", {} left", rough(cell_s * counts.left() as f64));
    }
    words
}

/// A time that is only known roughly.
pub fn rough(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 90.0 * 60.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, counts: Counts) -> Progress {
        let reasons = [("expected exit code 0, found 1".to_owned(), counts.failed)];
        let reasons = reasons.into_iter().filter(|(_, cells)| *cells > 0).collect();
        Progress { machine: name.to_owned(), counts, cell_s: Some(12.0), reasons }
    }

    #[test]
    fn each_machine_has_its_progress_and_what_went_wrong() {
        let progress = [
            machine("n1", Counts { done: 1200, ..Counts::default() }),
            machine("xeon", Counts { done: 10, failed: 2, pending: 20, ..Counts::default() }),
        ];
        assert_eq!(
            text(&progress),
            "n1    1,200 of 1,200 cells done\n\
             xeon  10 of 32 cells done, 2 failed, 4 min left\n\
             \x20       2 cells: expected exit code 0, found 1\n"
        );
    }
}
