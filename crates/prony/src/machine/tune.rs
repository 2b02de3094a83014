//! Verb `prony machine tune`: reduces interference.

use std::fmt::Write;

use prony_machine::{
    Applied, CpuSet, Options, Outcome, Ran, Shield, Signals, Tree, TuneError, Tuning, bench_cpu, frequencies, tune,
    unbalanced,
};
use prony_report::text::machine::restore::{lower, text as restored};
use prony_report::text::machine::tune::{besides, details, ended, shield as shield_text, were};
use prony_text::Quantity;
use serde_json::json;

use super::check::known;
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
        eprint!("restored after an earlier tune: {}", restored(earlier));
    }
    if let Some(isolated) = unbalanced(&tree, &cpus) {
        eprintln!(
            "warning: CPU {isolated} are isolated at boot (isolcpus): the scheduler moves no thread between them, so all threads of a \
             command stay on the CPU on which they start, unless the command pins them itself"
        );
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
    let is_as_requested = is_as_requested(&tuning);
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
    as_root(args, tree, is_as_requested, cpus);
    Ok(if is_as_requested { Exit::Good } else { Exit::Finding })
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
    let idle_limit = tuning.idle_latency_us.map_or_else(String::new, |us| format!(", idle states limited to {us} µs"));
    eprintln!("CPU {cpus}: {} while the command runs{idle_limit}", were(tuning.changed() as u64));
    let unlike: Vec<Outcome> = tuning.outcomes.iter().filter(|outcome| !is_yes(outcome)).cloned().collect();
    eprint!("{}", details(&unlike));
    if let Some(shield) = &tuning.shield {
        eprint!("{}", shield_text(shield));
    }
    as_root(args, tree, is_as_requested(&tuning), cpus);

    let ran = tuning.run(&args.command, cpus, args.fifo, signals);
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

fn is_yes(outcome: &Outcome) -> bool {
    matches!(outcome.result, Applied::Yes | Applied::Already)
}

fn is_as_requested(tuning: &Tuning<'_>) -> bool {
    let shielded =
        tuning.shield.as_ref().is_none_or(|shield| shield.problem.is_none() && shield.is_effective() != Some(false));
    shielded && tuning.outcomes.iter().all(is_yes)
}

/// Says how to get what only root may.
fn as_root(args: &TuneArgs, tree: &Tree, is_as_requested: bool, cpus: &CpuSet) {
    if is_as_requested || is_root(tree) {
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
        let words = args.command.iter().map(|word| word.to_string_lossy());
        let _ = write!(line, " -- {}", shell_words::join(words));
    }
    eprintln!("hint: try `{line}` for the rest");
}
