//! `prony study import`: a table as the results of a study.

use std::fs::{self, File};
use std::io::{Read, Write};

use prony_report::{json, text};
use prony_study::import::{BYTES_MAX, Reading, Roles, Table, TableError, Unit, import};
use prony_study::results_file::{self, RESULTS_FILE};
use prony_study::{Results, State};
use prony_text::count;

use crate::cli::study::ImportArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// # Errors
/// When the table cannot be read, or the directory cannot be written.
pub fn run(args: &ImportArgs) -> Result<Exit, Failure> {
    let io = |error: std::io::Error| Failure::io("import", &args.table, &error);
    let mut bytes = Vec::new();
    File::open(&args.table).map_err(io)?.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    let unreadable = |error: TableError| failure(args, &error);
    let table = Table::read(&bytes).map_err(unreadable)?;
    let given = Roles {
        factors: args.columns.factor.clone(),
        random: args.columns.random.clone(),
        workloads: args.columns.workload.clone(),
        machine: args.columns.machine.clone(),
        repeat: args.columns.repeat.clone(),
        value: args.columns.value.clone(),
        frames: args.columns.frames.clone(),
        ignored: args.columns.ignore.clone(),
    };
    let known = (given == Roles::default()).then(|| Roles::of_hyperfine(&table)).flatten();
    let (mut roles, unit) = match known {
        Some((roles, unit)) => (roles, Some(unit)),
        None => (given.guess(&table), None),
    };
    let reading = Reading {
        unit: args.unit.as_deref().map(Unit::named).or(unit),
        normalise_to: args.normalise_to,
        higher_is_better: (args.higher_is_better || args.lower_is_better).then_some(args.higher_is_better),
        title: args.title.clone().unwrap_or_else(|| {
            args.table.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        }),
    };
    let mut results = import(&table, &roles, &reading);
    if let (Err(TableError::SameCell { column, .. }), None) = (&results, &given.repeat) {
        eprintln!("note: `{column}` does not number the repeats; rows are numbered as they come");
        roles.repeat = None;
        results = import(&table, &roles, &reading);
    }
    let results = results.map_err(unreadable)?;
    write(args, &results)?;
    for (role, column) in roles.listed() {
        let guessed = if given.names(column) { "" } else { " (guessed)" };
        eprintln!("{role:<9} `{column}`{guessed}");
    }
    for column in table.header.iter().filter(|column| !roles.names(column)) {
        eprintln!("not used  `{column}`");
    }
    if results.metric.unit == "unknown" {
        eprintln!("warning: unknown unit of `{}`; set it with --unit", roles.value.as_deref().unwrap_or_default());
    }
    let failed = results.cells.iter().filter(|cell| cell.state != State::Done).count();
    if failed > 0 {
        eprintln!("warning: {} without a value", count(failed as u64, "cell"));
    }
    if args.json {
        output::print_json(&json::study::import::answer(&args.output, &results, &roles))?;
    } else {
        output::print(&text::study::import::text(&args.output, &results))?;
    }
    Ok(Exit::Good)
}

fn write(args: &ImportArgs, results: &Results) -> Result<(), Failure> {
    let directory = &args.output;
    if directory.join("study.toml").exists() {
        return Err(Failure::new(format!(
            "cannot import into {}: expected a directory without a study, found study.toml",
            directory.display()
        ))
        .hint("choose another directory with -o"));
    }
    fs::create_dir_all(directory).map_err(|error| Failure::io("write", directory, &error))?;
    let document =
        results_file::to_json(results).map_err(|error| Failure::new(format!("cannot write results: {error}")))?;
    let path = directory.join(RESULTS_FILE);
    let mut file = NewFile::create(&path, args.force)?;
    file.file().write_all(document.as_bytes()).map_err(|error| Failure::io("write", &path, &error))?;
    file.finish()
}

/// A table that is not as it should be.
fn failure(args: &ImportArgs, error: &TableError) -> Failure {
    let failure = Failure::new(format!("cannot import {}: {error}", args.table.display()));
    match error {
        TableError::NoRole { role: "values", .. } => failure.hint("name it with --value COLUMN"),
        TableError::NoRole { .. } => failure.hint("name one with --factor COLUMN"),
        TableError::TwoRoles { .. } => {
            failure.hint("give each column one of --factor, --random, --workload, --machine, …")
        }
        TableError::NoColumn { .. } => failure.hint("use the names in the first line, with the same spelling"),
        TableError::NotText { .. } => failure.hint("save the table as UTF-8"),
        TableError::Levels { .. } => {
            failure.hint("a column of measurements is not a factor: name the factors with --factor")
        }
        TableError::NoDirection { .. } => failure.hint("use --lower-is-better or --higher-is-better, or --unit s"),
        TableError::SameCell { .. } => failure.hint("without --repeat, equal rows are numbered"),
        _ => failure,
    }
}
