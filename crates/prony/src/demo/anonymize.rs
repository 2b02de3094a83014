//! Verb `prony demo anonymize`: rewrites a demo without addresses and names.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use prony_demo::anonymize::{AnonymizeOptions, Anonymizer, Check, Learner, Replacement, ReplacementError};
use prony_demo::{Demo, RewriteError};
use prony_report::text::demo::anonymize::{findings, remedy, text};
use serde_json::json;

use super::OpenDemo;
use crate::cli::AnonymizeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::trust;

/// # Errors
/// When the demo cannot be read, the new one not written, or a replacement has another length.
pub fn run(args: &AnonymizeArgs) -> Result<Exit, Failure> {
    let seed = args.seed.unwrap_or_else(random_seed);
    let options = AnonymizeOptions {
        seed,
        strings: args.replace.iter().map(|text| replacement(text)).collect(),
        keep_addresses: args.keep_addresses,
        kept: args.keep_address.clone(),
        map_loopback: args.map_loopback,
        raw_addresses: args.raw_addresses,
        keep_variables: args.keep_variable.clone(),
    };
    let refused =
        |error: &dyn std::fmt::Display| Failure::new(format!("cannot anonymize {}: {error}", args.demo.display()));
    let mut learner = Learner::new(options).map_err(|error| match error {
        ReplacementError::Length { .. } => {
            refused(&error).hint("use --replace OLD for a random replacement of the same length")
        }
        ReplacementError::TooLong { .. } => refused(&error).hint("give a shorter part that identifies it"),
    })?;
    let mut demo = super::open("anonymize", &args.demo)?;
    learner.demo(&mut demo).map_err(|error| Failure::demo("anonymize", &args.demo, &error))?;
    let mut anonymizer = learner.finish().map_err(|error| refused(&error))?;

    let aside = aside(&args.output);
    if !args.force && aside.symlink_metadata().is_ok() {
        return Err(Failure::new(format!("cannot write {}: file exists", aside.display())).hint(
            "use --force to \
             overwrite it",
        ));
    }
    let mut new = NewFile::create(&args.output, args.force)?;
    write(&mut demo, &mut anonymizer, args, &mut new)?;
    let check = checked(&anonymizer, args, &mut new)?;
    let (exit, path) = if check.found == 0 {
        new.finish()?;
        (Exit::Good, &args.output)
    } else {
        // A user who shares the file that -o names must not share this by mistake.
        new.finish_as(&aside)?;
        (Exit::Finding, &aside)
    };
    if trust::is_known(&args.demo) {
        trust::note(path);
    }
    let report = anonymizer.report();
    if args.json {
        output::print_json(&json!({ "seed": seed, "file": path, "replaced": report, "check": check }))?;
    } else {
        eprint!("{}{}", text(&report), findings(&check, path));
    }
    match exit {
        Exit::Good => eprintln!("hint: run `prony replay {}` to check that it still replays", path.display()),
        _ => eprintln!("hint: {}; if none of these matters, rename {}", remedy(&check), path.display()),
    }
    Ok(exit)
}

/// The name of a result in which something is left.
fn aside(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".partial");
    name.into()
}

/// The standard library seeds its hash maps from the operating system.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn replacement(text: &str) -> Replacement {
    match text.split_once('=') {
        Some((old, new)) => Replacement { old: old.into(), new: Some(new.into()) },
        None => Replacement { old: text.into(), new: None },
    }
}

fn write(
    demo: &mut OpenDemo,
    anonymizer: &mut Anonymizer,
    args: &AnonymizeArgs,
    new: &mut NewFile,
) -> Result<(), Failure> {
    let written = anonymizer.demo(demo, BufWriter::new(new.file()));
    let mut out = written.map_err(|error| match error {
        RewriteError::Read(error) => Failure::demo("anonymize", &args.demo, &error),
        RewriteError::Write(error) => Failure::write(&args.output, &error),
    })?;
    out.flush().map_err(|error| Failure::io("write", &args.output, &error))
}

/// Reads back what was written and searches it.
fn checked(anonymizer: &Anonymizer, args: &AnonymizeArgs, new: &mut NewFile) -> Result<Check, Failure> {
    let mut written =
        Demo::open(BufReader::new(new.file())).map_err(|error| Failure::demo("check", &args.output, &error))?;
    anonymizer.check(&mut written).map_err(|error| Failure::demo("check", &args.output, &error))
}
