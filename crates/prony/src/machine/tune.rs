//! Verb `prony machine tune`: reduces interference.

use std::fmt::Write;
use std::process::Command;

use prony_machine::{
    Absent, Applied, CpuSet, Options, Outcome, Ran, Restoring, Shield, ShieldKind, Signals, Tree, TuneError, Tuning,
    bench_cpu, frequencies, tune,
};
use prony_text::{Quantity, count, significant};
use serde_json::json;

use super::check::known;
use super::restore::{self, lower};
use super::{is_root, undo_failure};
use crate::cli::machine::TuneArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When nothing can be changed, or the command cannot be started; then all is as before.
pub fn run(args: &TuneArgs) -> Result<Exit, Failure> {
    let tree = Tree::at(&args.root.root);
    let cpus = args.cpu.clone().unwrap_or_else(|| CpuSet::from_iter([bench_cpu(&tree)]));
    known(&tree, &cpus)?;
    let signals = Signals::take().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    if let Some(khz) = args.frequency {
        is_possible(&tree, khz)?;
    }
    let options = Options { cpus: cpus.clone(), skip: args.skip.clone(), frequency_khz: args.frequency };
    let tuning = tune(&tree, &options, signals.came()).map_err(|error| match error {
        TuneError::Undo(error) => undo_failure("tune", &error),
        TuneError::Interrupted => {
            Failure::new("cannot tune: interrupted by a signal").hint("every setting is as before")
        }
    })?;
    if let Some(earlier) = &tuning.earlier {
        eprint!("restored after an earlier tune: {}", restore::text(earlier));
    }
    match args.command.split_first() {
        Some(_) => during(args, &tree, tuning, &cpus, &signals),
        None => until_restore(args, &tree, tuning, &cpus),
    }
}

/// Another frequency than the requested one would be measured without a word.
fn is_possible(tree: &Tree, khz: u64) -> Result<(), Failure> {
    let hz = |khz: u64| {
        let hz = 1000.0 * khz as f64;
        Quantity::of(hz, "Hz").value(hz)
    };
    match frequencies(tree) {
        None => Err(Failure::new(format!("cannot set the frequency to {}: this machine has no cpufreq", hz(khz)))
            .hint("virtual machines have the clock of their host; compare cycles instead of times there")),
        Some((low, high)) if !(low..=high).contains(&khz) => {
            Err(Failure::new(format!("cannot set the frequency to {}: expected {} to {}", hz(khz), hz(low), hz(high))))
        }
        Some(_) => Ok(()),
    }
}

/// Leaves the machine tuned until `machine restore`.
fn until_restore(args: &TuneArgs, tree: &Tree, tuning: Tuning<'_>, cpus: &CpuSet) -> Result<Exit, Failure> {
    let changed = tuning.changed() as u64;
    let asked = is_as_asked(&tuning);
    if args.json {
        output::print_json(&json!({
            "cpus": cpus.to_string(),
            "outcomes": tuning.outcomes,
            "absent": tuning.absent,
            "shield": tuning.shield,
            "shield_effective": tuning.shield.as_ref().and_then(Shield::is_effective),
        }))?;
    } else {
        let head = match changed {
            0 => format!("CPU {cpus}: nothing was changed"),
            _ => format!("CPU {cpus}: {} until `prony machine restore`", were(changed)),
        };
        output::print(&format!("{head}\n{}{}", details(&tuning.outcomes), besides(&tuning)))?;
    }
    if changed == 0 {
        tuning.restore().map_err(|error| undo_failure("restore", &error))?;
    } else {
        tuning.keep().map_err(|error| undo_failure("tune", &error))?;
    }
    as_root(args, tree, asked, cpus);
    Ok(if asked { Exit::Good } else { Exit::Finding })
}

/// Keeps the machine quiet while the command runs.
fn during(
    args: &TuneArgs,
    tree: &Tree,
    mut tuning: Tuning<'_>,
    cpus: &CpuSet,
    signals: &Signals,
) -> Result<Exit, Failure> {
    if let Err(error) = tuning.hold_idle_latency() {
        eprintln!("warning: cannot hold /dev/cpu_dma_latency: {}", lower(&error.to_string()));
    }
    let held = tuning.idle_latency_us.map_or_else(String::new, |us| format!(", idle states limited to {us} µs"));
    eprintln!("CPU {cpus}: {} while the command runs{held}", were(tuning.changed() as u64));
    let unlike: Vec<Outcome> = tuning.outcomes.iter().filter(|outcome| !is_yes(outcome)).cloned().collect();
    eprint!("{}", details(&unlike));
    if let Some(shield) = &tuning.shield {
        eprint!("{}", shield_text(shield));
    }
    as_root(args, tree, is_as_asked(&tuning), cpus);

    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    let ran = tuning.run(&mut command, cpus, args.fifo, signals);
    let restoring = tuning.restore().map_err(|error| undo_failure("restore", &error))?;
    let Ran { status, lacked } = ran.map_err(|error| {
        let name = args.command[0].to_string_lossy();
        Failure::new(format!("cannot run `{name}`: {}", lower(&error.to_string()))).hint("every setting is as before")
    })?;
    for (what, error) in lacked {
        eprintln!("warning: the command ran without {what}: {}", lower(&error.to_string()));
    }
    eprint!("{}", ended(&restoring));
    use std::os::unix::process::ExitStatusExt;
    // As shells say it.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(match u8::try_from(code) {
        Ok(0) if restoring.left().next().is_some() => Exit::Finding,
        Ok(code) => Exit::Server(code),
        Err(_) => Exit::Server(u8::MAX),
    })
}

/// All that was not put back, and otherwise one line.
fn ended(restoring: &Restoring) -> String {
    let text = restore::text(restoring);
    if restoring.left().next().is_some() {
        text
    } else {
        text.lines().take(1).map(|line| line.to_owned() + "\n").collect()
    }
}

fn is_yes(outcome: &Outcome) -> bool {
    matches!(outcome.result, Applied::Yes | Applied::Already)
}

fn is_as_asked(tuning: &Tuning<'_>) -> bool {
    let shielded =
        tuning.shield.as_ref().is_none_or(|shield| shield.problem.is_none() && shield.is_effective() != Some(false));
    shielded && tuning.outcomes.iter().all(is_yes)
}

fn were(changed: u64) -> String {
    count(changed, "setting") + if changed == 1 { " was changed" } else { " were changed" }
}

/// Says how to get what only root may.
fn as_root(args: &TuneArgs, tree: &Tree, asked: bool, cpus: &CpuSet) {
    if asked || is_root(tree) {
        return;
    }
    let mut line = format!("sudo prony machine tune --cpu {cpus}");
    for knob in &args.skip {
        let _ = write!(line, " --skip {knob}");
    }
    if args.fifo {
        line += " --fifo";
    }
    if !args.command.is_empty() {
        let words: Vec<_> = args.command.iter().map(|word| quoted(&word.to_string_lossy())).collect();
        let _ = write!(line, " -- {}", words.join(" "));
    }
    eprintln!("hint: try `{line}` for the rest");
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_+=./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A line for each knob's values that went the same way.
fn details(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    let alike = |a: &Outcome, b: &Outcome| {
        (a.knob, &a.before, &a.asked, &a.found, &a.result) == (b.knob, &b.before, &b.asked, &b.found, &b.result)
            && file_name(&a.place) == file_name(&b.place)
    };
    let mut told: Vec<&Outcome> = Vec::new();
    for outcome in outcomes {
        if told.iter().any(|known| alike(known, outcome)) {
            continue;
        }
        told.push(outcome);
        let more = match outcomes.iter().filter(|other| alike(other, outcome)).count() {
            1 => String::new(),
            several => format!(" and {} more", several - 1),
        };
        let Outcome { knob, place, before, asked, found, result } = outcome;
        let (word, text) = match result {
            Applied::Yes => ("changed", format!("{before} → {found}")),
            Applied::Already => ("unchanged", before.clone()),
            Applied::Clamped => ("clamped", format!("{before} → {found}, requested {asked}")),
            Applied::NotPermitted => ("not allowed", format!("stays {found}, requested {asked}")),
            Applied::Refused(reason) => ("refused", format!("stays {found}, requested {asked}: {}", lower(reason))),
        };
        let _ = writeln!(out, "  {word:<13}{knob:<16}{place}{more}: {text}");
    }
    out
}

fn file_name(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

/// Features that this machine lacks, and the effect of the shield.
fn besides(tuning: &Tuning<'_>) -> String {
    let mut out = tuning.shield.as_ref().map_or_else(String::new, shield_text);
    for Absent { knob, reason } in &tuning.absent {
        let _ = writeln!(out, "  {:<13}{knob:<16}{reason}", "not here");
    }
    out
}

fn shield_text(shield: &Shield) -> String {
    let Shield { kind, cpus, problem, moved, stayed, .. } = shield;
    let kind = match kind {
        ShieldKind::Cpusets if problem.is_some() => "cpusets".to_owned(),
        ShieldKind::Partition => "an isolated partition".to_owned(),
        ShieldKind::Cpusets => {
            format!("cpusets, {} moved, {stayed} stayed", count(*moved as u64, "task"))
        }
    };
    if let Some(problem) = problem {
        return format!("  {:<13}{:<16}CPU {cpus}, {kind}: {}\n", "refused", "shield", lower(problem));
    }
    let percent = |share: f64| format!("{} %", significant(share * 100.0));
    let waits = match (shield.before, shield.after) {
        (Some(before), Some(after)) => format!(
            "a thread that wants the CPU waits {} of the time, before {} (over {} s each)",
            percent(after.share),
            percent(before.share),
            significant(after.window_s)
        ),
        _ => "its effect was not measured".to_owned(),
    };
    let word = if shield.is_effective() == Some(false) { "ineffective" } else { "changed" };
    format!("  {word:<13}{:<16}CPU {cpus}, {kind}: {waits}\n", "shield")
}
