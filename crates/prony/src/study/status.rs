//! `prony study status`: how far each machine is.

use std::fmt::Write;

use prony_study::directory::{Directory, DirectoryError, Progress};
use prony_study::file::Executor;
use prony_study::ledger::Counts;
use prony_text::{Untrusted, count, printable_line, thousands};
use serde::Serialize;

use crate::cli::study::StatusArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Reasons that are listed for each machine; --json has all.
const REASONS: usize = 5;

/// # Errors
/// When the directory holds no study, or a ledger cannot be read.
pub fn run(args: &StatusArgs) -> Result<Exit, Failure> {
    let directory = Directory::open(&args.directory).map_err(|error| failure("read", &error))?;
    let progress = directory.progress().map_err(|error| failure("read", &error))?;
    answer(&directory, &progress, args.json)?;
    Ok(exit(&progress))
}

/// Prints how far each machine is.
pub fn answer(directory: &Directory, progress: &[Progress], json: bool) -> Result<(), Failure> {
    if json {
        return output::print_json(&Answer::of(directory, progress));
    }
    output::print(&text(progress))
}

/// Failed cells are a finding, cells that have not run are no result yet.
pub fn exit(progress: &[Progress]) -> Exit {
    let all = total(progress);
    match (all.left(), all.failed) {
        (1.., _) => Exit::NotTrusted,
        (0, 1..) => Exit::Finding,
        (0, 0) => Exit::Good,
    }
}

/// Total of the counts of all machines.
pub fn total(progress: &[Progress]) -> Counts {
    progress.iter().fold(Counts::default(), |all, one| all.and(one.counts))
}

/// A study's directory could not be used; `verb`: what was to be done with it.
pub fn failure(verb: &str, error: &DirectoryError) -> Failure {
    let failure = Failure::new(format!("cannot {verb} the study: {error}"));
    match error {
        DirectoryError::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
            failure.hint("create a study's directory with `prony study run FILE -o DIR`")
        }
        DirectoryError::Io { error, .. } if error.kind() == std::io::ErrorKind::StorageFull => {
            failure.hint("free some space; results are kept, continue with `prony study resume DIR`")
        }
        DirectoryError::Artifact(prony_study::artifacts::ArtifactError::Io { .. }) => {
            failure.hint("paths of a study are relative to its file")
        }
        DirectoryError::Artifact(prony_study::artifacts::ArtifactError::Content { .. }) => {
            failure.hint("it changed after it was copied; copy it again with `prony study run FILE -o DIR`")
        }
        _ => failure,
    }
}

fn text(progress: &[Progress]) -> String {
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

#[derive(Debug, Serialize)]
struct Answer<'a> {
    title: &'a str,
    cells: Counts,
    complete: bool,
    machines: Vec<OfMachine<'a>>,
}

#[derive(Debug, Serialize)]
struct OfMachine<'a> {
    name: &'a str,
    executor: &'static str,
    cells: Counts,
    cell_s: Option<f64>,
    left_s: Option<f64>,
    reasons: &'a std::collections::BTreeMap<String, u64>,
}

impl<'a> Answer<'a> {
    fn of(directory: &'a Directory, progress: &'a [Progress]) -> Answer<'a> {
        let machines = progress.iter().zip(&directory.study.machines).map(|(one, machine)| OfMachine {
            name: &one.machine,
            executor: match machine.executor {
                Executor::Local => "local",
                Executor::Exec(_) => "exec",
                Executor::Slurm(_) => "slurm",
            },
            cells: one.counts,
            cell_s: one.cell_s,
            left_s: one.cell_s.map(|cell_s| cell_s * one.counts.left() as f64),
            reasons: &one.reasons,
        });
        let cells = total(progress);
        Answer { title: &directory.study.title, cells, complete: cells.left() == 0, machines: machines.collect() }
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
    fn each_machine_tells_how_far_it_is_and_what_went_wrong() {
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

    #[test]
    fn what_has_not_run_weighs_more_than_what_failed() {
        let exit_of = |counts| exit(&[machine("n1", counts)]);
        assert_eq!(exit_of(Counts { done: 3, skipped: 1, ..Counts::default() }), Exit::Good);
        assert_eq!(exit_of(Counts { done: 3, failed: 1, ..Counts::default() }), Exit::Finding);
        assert_eq!(exit_of(Counts { failed: 1, pending: 1, ..Counts::default() }), Exit::NotTrusted);
    }
}
