//! `prony study merge`: one directory of several.

use std::fs;
use std::path::Path;

use prony_report::{json, text};
use prony_study::directory::{Directory, STUDY_FILE};
use prony_study::merge::merge;

use super::status;
use crate::cli::study::MergeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the directories are of different studies, or cannot be read or written.
pub fn run(args: &MergeArgs) -> Result<Exit, Failure> {
    let first = &args.directories[0];
    let study_of = |directory: &Path| {
        let path = directory.join(STUDY_FILE);
        fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))
    };
    let study = study_of(if args.output.join(STUDY_FILE).exists() { &args.output } else { first })?;
    for directory in &args.directories {
        if study_of(directory)? != study {
            return Err(Failure::new(format!(
                "{}: expected the same study as in {}",
                directory.display(),
                first.display()
            ))
            .hint("define all machines of a study in one file; --machine selects the one that runs"));
        }
    }
    // What was shipped comes along, so that the directory can be run on.
    let failed = |error| status::failure("merge", &error);
    let source = Directory::open(first).map_err(failed)?;
    let directory = match args.output.join(STUDY_FILE).exists() {
        true => Directory::open(&args.output).map_err(failed)?,
        false => Directory::take(&args.output, &study, &source).map_err(failed)?,
    };
    let mut merged = Vec::new();
    for from in &args.directories {
        let found = merge(&directory, from);
        merged.extend(found.map_err(|error| Failure::new(format!("cannot merge {}: {error}", from.display())))?);
    }
    let conflicts: usize = merged.iter().map(|merged| merged.conflicts.len()).sum();
    for merged in &merged {
        for conflict in &merged.conflicts {
            eprintln!(
                "warning: {}: cell {} has the value {} here and {} in {}; the first is kept",
                merged.machine,
                &conflict.key[..conflict.key.len().min(12)],
                conflict.kept,
                conflict.left,
                merged.from.display()
            );
        }
    }
    if args.json {
        output::print_json(&json::study::merge::MergeDocument { merged: &merged, conflicts })?;
    } else {
        output::print(&text::study::merge::text(&merged))?;
    }
    Ok(if conflicts > 0 { Exit::Finding } else { Exit::Good })
}
