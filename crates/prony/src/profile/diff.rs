//! Verb `prony profile diff`: compares two profiles.

use std::io::Write as _;

use prony_profile::{FEWEST_SAMPLES, differential_flame_graph, pair, shifts};
use prony_report::profile::{Compared, LEVEL, observations};
use prony_report::{flame_file, json, text};
use prony_text::count;

use super::{short, stored};
use crate::cli::profile::DiffArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// # Errors
/// When a file cannot be read, or nothing in it is a stack.
pub fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let flame = args.flame.as_ref().map(|path| NewFile::create(path, args.force).map(|file| (path, file)));
    let flame = flame.transpose()?;
    let [a, b] = [stored::runs(&args.a)?, stored::runs(&args.b)?];
    let skips_much = a.iter().chain(&b).any(|run| run.skips_much);
    let [a, b] = [a, b].map(|runs| runs.into_iter().map(|run| run.stacks).collect::<Vec<_>>());
    let pair = pair(&a, &b);
    let compared = Compared { names: [short(&args.a), short(&args.b)], pair };
    let Compared { names, pair } = &compared;
    if let Some((path, mut file)) = flame {
        let title = args.title.clone().unwrap_or_else(|| format!("{} → {}", names[0], names[1]));
        let how = compared.samples();
        let svg = differential_flame_graph(&pair.a, &pair.b, &title, &how)
            .map_err(|error| Failure::io("write", path, &error))?;
        file.file().write_all(&flame_file(&svg)).map_err(|error| Failure::io("write", path, &error))?;
        file.finish()?;
    }
    let shifts = shifts(&pair.a, &pair.b, LEVEL);
    if args.json {
        output::print_json(&json::profile::diff::answer(&compared, &shifts))?;
    } else {
        output::print(&text::profile::diff::text(&compared, &shifts, args.top))?;
    }
    let fewest = observations(&pair.a).min(observations(&pair.b));
    if fewest < FEWEST_SAMPLES {
        eprintln!("warning: only {}: shares are very uncertain", count(fewest, "stack sample"));
        return Ok(Exit::NotTrusted);
    }
    Ok(if skips_much { Exit::NotTrusted } else { Exit::Good })
}
