//! `prony demo anonymize`.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufWriter, Read, Write};
use std::ops::ControlFlow;

use prony_demo::anonymize::{AnonymizeOptions, AnonymizeReport, Anonymizer, Learner, Replacement};
use prony_demo::{Header, Trailer, Writer, WriterOptions};
use serde_json::json;

use super::OpenDemo;
use crate::cli::AnonymizeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::count;
use crate::output::{self, NewFile};

/// # Errors
/// When the demo cannot be read, the new one not written, or a replacement has another length.
pub fn run(args: &AnonymizeArgs) -> Result<Exit, Failure> {
    let seed = args.seed.unwrap_or_else(random_seed);
    let options = AnonymizeOptions {
        seed,
        strings: args.replace.iter().map(|text| replacement(text)).collect(),
        keep_addresses: args.keep_addresses,
        map_loopback: args.map_loopback,
        keep_variables: args.keep_variable.clone(),
    };
    let mut learner = Learner::new(options).map_err(|error| {
        Failure::new(format!("cannot anonymize {}: {error}", args.demo.display()))
            .hint("--replace OLD alone chooses letters and digits of the same length")
    })?;
    let mut demo = super::open("anonymize", &args.demo)?;
    let learned = demo.for_each_record(|_, record| {
        learner.learn(record);
        ControlFlow::Continue(())
    });
    learned.map_err(|error| Failure::demo("anonymize", &args.demo, &error))?;
    let mut new = NewFile::create(&args.output, args.force)?;
    let report = copy(&mut demo, learner.finish(), args, &mut new)?;
    new.finish()?;
    if args.json {
        output::print_json(&json!({ "seed": seed, "replaced": report }))?;
    } else {
        eprint!("{}", text(&report));
    }
    eprintln!("hint: `prony replay {}` tells whether it still replays", args.output.display());
    Ok(Exit::Good)
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

fn copy(
    demo: &mut OpenDemo,
    mut anonymizer: Anonymizer,
    args: &AnonymizeArgs,
    new: &mut NewFile,
) -> Result<AnonymizeReport, Failure> {
    let read_failed = |error| Failure::demo("anonymize", &args.demo, &error);
    let write_failed = |error| Failure::write(&args.output, &error);
    let header = anonymized_header(demo.header().clone(), &mut anonymizer);
    let trailer = anonymized_trailer(demo.trailer().cloned().unwrap_or_default(), &mut anonymizer);
    let out = BufWriter::new(new.file());
    let mut writer = Writer::new(out, &header, WriterOptions::default()).map_err(write_failed)?;
    for dir in 0..demo.state_dirs().len() as u32 {
        // As a whole: a string may lie across two chunks.
        let mut archive = Vec::new();
        demo.state_archive(dir).read_to_end(&mut archive).map_err(|error| read_failed(error.into()))?;
        anonymizer.state_archive(&mut archive);
        for chunk in archive.chunks(1 << 20) {
            writer.state_chunk(dir, chunk).map_err(write_failed)?;
        }
    }
    let mut records = demo.records();
    let mut record = Vec::new();
    while let Some((process, raw)) = records.next().map_err(read_failed)? {
        record.clear();
        record.extend_from_slice(raw);
        anonymizer.rewrite(&mut record);
        writer.push(process, &record).map_err(write_failed)?;
    }
    let (mut out, _) = writer.finish(&trailer).map_err(write_failed)?;
    out.flush().map_err(|error| Failure::io("write", &args.output, &error))?;
    Ok(anonymizer.report())
}

fn anonymized_header(mut header: Header, anonymizer: &mut Anonymizer) -> Header {
    anonymizer.environment(&mut header.environment);
    for argument in &mut header.argv {
        anonymizer.text(argument);
    }
    anonymizer.text(&mut header.executable);
    anonymizer.text(&mut header.cwd);
    for path in header.state_directories.iter_mut().chain(&mut header.excluded_objects) {
        anonymizer.text(path);
    }
    for (_, value) in &mut header.properties {
        anonymizer.text(value);
    }
    header
}

fn anonymized_trailer(mut trailer: Trailer, anonymizer: &mut Anonymizer) -> Trailer {
    for file in &mut trailer.files {
        anonymizer.text(&mut file.path);
    }
    for object in &mut trailer.objects {
        anonymizer.text(&mut object.path);
    }
    for note in &mut trailer.notes {
        let mut bytes = note.as_bytes().to_vec();
        anonymizer.text(&mut bytes);
        // A replacement given by the user may cut a character in two.
        *note = String::from_utf8_lossy(&bytes).into_owned();
    }
    trailer
}

fn text(report: &AnonymizeReport) -> String {
    let kept = match report.host_names_kept {
        0 => String::new(),
        kept => format!("; {} kept, --replace takes them", count(kept, "short host name")),
    };
    format!(
        "{} and {} replaced, in {} and {}; {} dropped{kept}\n",
        count(report.addresses, "address"),
        count(report.host_names, "host name"),
        count(report.addresses_rewritten, "socket address"),
        count(report.texts_rewritten, "text"),
        count(report.variables_dropped, "variable"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_talk_says_how_much_was_replaced() {
        let report = AnonymizeReport {
            addresses: 8,
            host_names: 1,
            host_names_kept: 1,
            addresses_rewritten: 10_426,
            texts_rewritten: 31,
            variables_dropped: 17,
        };
        insta::assert_snapshot!(text(&report));
    }
}
