//! `prony profile diff`.

use std::fmt::Write;
use std::io::Write as _;

use prony_profile::{Shift, Stacks, differential_flame_graph, shifts};
use serde::Serialize;
use serde_json::json;

use super::{FEWEST_SAMPLES, LEVEL, short, stored};
use crate::cli::profile::DiffArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::{count, thousands};
use crate::output::{self, NewFile};

/// # Errors
/// When a file cannot be read, or nothing in it is a stack.
pub fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let flame = args.flame.as_ref().map(|path| NewFile::create(path, args.force).map(|file| (path, file)));
    let flame = flame.transpose()?;
    let (a, b) = (stored::stacks(&args.a)?, stored::stacks(&args.b)?);
    let names = [short(&args.a), short(&args.b)];
    if let Some((path, mut file)) = flame {
        let title = args.title.clone().unwrap_or_else(|| format!("{} → {}", names[0], names[1]));
        let how = format!("{} and {} stack samples", thousands(a.observations()), thousands(b.observations()));
        let svg = differential_flame_graph(&a, &b, &title, &how).map_err(|error| Failure::io("write", path, &error))?;
        file.file().write_all(&svg).map_err(|error| Failure::io("write", path, &error))?;
        file.finish()?;
    }
    let shifts = shifts(&a, &b, LEVEL);
    if args.json {
        output::print_json(&json(&names, &a, &b, &shifts))?;
    } else {
        output::print(&text(&names, &a, &b, &shifts, args.top))?;
    }
    let fewest = a.observations().min(b.observations());
    if fewest < FEWEST_SAMPLES {
        eprintln!("warning: only {}: shares are hardly known", count(fewest, "stack sample"));
        return Ok(Exit::NotTrusted);
    }
    Ok(Exit::Good)
}

fn text(names: &[String; 2], a: &Stacks, b: &Stacks, shifts: &[Shift], top: usize) -> String {
    let mut out = format!(
        "{} → {}: {} and {} stack samples\n\n",
        names[0],
        names[1],
        thousands(a.observations()),
        thousands(b.observations())
    );
    let _ = writeln!(out, "  self A   self B   points        95 %          function");
    for shift in shifts.iter().take(top) {
        let _ = writeln!(
            out,
            "  {:>5.1} %  {:>5.1} %  {:>+6.1}  {:>+6.1} to {:>+5.1}   {}",
            shift.own[0] * 100.0,
            shift.own[1] * 100.0,
            shift.growth.estimate * 100.0,
            shift.growth.low * 100.0,
            shift.growth.high * 100.0,
            shift.name
        );
    }
    let told = shifts.iter().filter(|shift| shift.growth.excludes(0.0)).count() as u64;
    let _ = writeln!(
        out,
        "\n{} of {} by more than chance; at 95 %, {} would be by chance alone",
        told,
        count(shifts.len() as u64, "function"),
        (shifts.len() as f64 * LEVEL).round()
    );
    out
}

fn json(names: &[String; 2], a: &Stacks, b: &Stacks, shifts: &[Shift]) -> impl Serialize {
    json!({
        "a": { "name": names[0], "samples": a.observations() },
        "b": { "name": names[1], "samples": b.observations() },
        "functions": shifts.iter().map(|shift| json!({
            "name": shift.name, "own": shift.own, "inclusive": shift.inclusive, "growth": shift.growth,
        })).collect::<Vec<_>>(),
    })
}
