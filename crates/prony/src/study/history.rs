//! `prony study history`: a study over commits, and where it changed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use prony_report::{json, text};
use prony_study::history::{History, history};
use prony_study::{Direction, JoinError, Results};

use super::diff::unfit;
use super::found;
use crate::cli::study::HistoryArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// # Errors
/// When a study cannot be read, or does not fit to the first, or the export cannot be written.
pub fn run(args: &HistoryArgs) -> Result<Exit, Failure> {
    let studies: Vec<Results> =
        args.studies.iter().map(|study| found::load("follow", study)).collect::<Result<_, _>>()?;
    let joined = |error: JoinError| unfit(&args.studies[0], &args.studies[error.study()], &error);
    let history = history(&studies.iter().collect::<Vec<_>>(), args.alpha, args.seed).map_err(joined)?;
    let names: Vec<String> = args.studies.iter().map(|study| name(study)).collect();
    if let Some(path) = &args.export_github_action_benchmark {
        export(path, args.force, &history, studies.len() - 1)?;
    }
    if args.json {
        let studies: Vec<_> = args.studies.iter().map(PathBuf::as_path).zip(names).collect();
        output::print_json(&json::study::history::answer(&studies, &history, args.alpha, args.seed))?;
    } else {
        output::print(&text::study::history::text(&names, &history))?;
    }
    for series in history.series.iter().filter(|series| series.patchy) {
        eprintln!(
            "warning: `{}`: compared although the studies have no machine and workload in common",
            text::study::words::levels(&series.levels)
        );
    }
    let became_worse =
        history.series.iter().any(|series| series.changes.last().is_some_and(|last| history.is_worse(last)));
    Ok(if became_worse { Exit::Finding } else { Exit::Good })
}

/// Name of a study: the last part of its path.
fn name(study: &Path) -> String {
    let last = study.file_name().map(|name| name.to_string_lossy().into_owned());
    last.unwrap_or_else(|| study.display().to_string())
}

/// Writes the values of a study: that tool keeps the earlier ones itself.
fn export(path: &Path, force: bool, history: &History, study: usize) -> Result<(), Failure> {
    let entries = json::study::history::entries(history, study);
    let text = serde_json::to_string_pretty(&entries)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    let mut file = NewFile::create(path, force)?;
    file.file().write_all((text + "\n").as_bytes()).map_err(|error| Failure::io("write", path, &error))?;
    file.finish()?;
    let tool = match history.metric.direction {
        Direction::Lower => "customSmallerIsBetter",
        Direction::Higher => "customBiggerIsBetter",
    };
    eprintln!("{}: for github-action-benchmark with `tool: '{tool}'`", path.display());
    Ok(())
}
