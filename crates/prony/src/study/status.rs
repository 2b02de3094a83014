//! `prony study status`: how far each machine is.

use prony_report::{json, text};
use prony_study::directory::{Directory, DirectoryError, Progress};

use crate::cli::study::StatusArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the directory holds no study, or a ledger cannot be read.
pub fn run(args: &StatusArgs) -> Result<Exit, Failure> {
    let directory = Directory::open(&args.directory).map_err(|error| failure("read", &error))?;
    let progress = directory.progress().map_err(|error| failure("read", &error))?;
    answer(&directory, &progress, args.json)?;
    Ok(exit(&progress))
}

/// Prints how far each machine is.
pub fn answer(directory: &Directory, progress: &[Progress], as_json: bool) -> Result<(), Failure> {
    if as_json {
        return output::print_json(&json::study::status::StatusDocument::of(directory, progress));
    }
    output::print(&text::study::status::text(progress))
}

/// Failed cells are a finding, cells that have not run are no result yet.
pub fn exit(progress: &[Progress]) -> Exit {
    let all = Progress::total(progress);
    match (all.left(), all.failed) {
        (1.., _) => Exit::NotTrusted,
        (0, 1..) => Exit::Finding,
        (0, 0) => Exit::Good,
    }
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

#[cfg(test)]
mod tests {
    use prony_study::ledger::Counts;

    use super::*;

    #[test]
    fn what_has_not_run_weighs_more_than_what_failed() {
        let machine = |counts| Progress { machine: "n1".to_owned(), counts, cell_s: None, reasons: Default::default() };
        let exit_of = |counts| exit(&[machine(counts)]);
        assert_eq!(exit_of(Counts { done: 3, skipped: 1, ..Counts::default() }), Exit::Good);
        assert_eq!(exit_of(Counts { done: 3, failed: 1, ..Counts::default() }), Exit::Finding);
        assert_eq!(exit_of(Counts { failed: 1, pending: 1, ..Counts::default() }), Exit::NotTrusted);
    }
}
