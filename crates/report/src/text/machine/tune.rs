//! `prony machine tune` in the terminal.

use std::fmt::Write;

use prony_machine::{Absent, Applied, Outcome, Restoring, Shield, ShieldKind, Tuning};
use prony_text::{count, significant};

use super::restore::{self, lower};

/// All that was not put back, and otherwise one line.
pub fn ended(restoring: &Restoring) -> String {
    let text = restore::text(restoring);
    if restoring.left().next().is_some() {
        text
    } else {
        text.lines().take(1).map(|line| line.to_owned() + "\n").collect()
    }
}

/// `3 settings were changed`.
pub fn were(changed: u64) -> String {
    count(changed, "setting") + if changed == 1 { " was changed" } else { " were changed" }
}

/// A line for each knob's values that went the same way.
pub fn details(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    let alike = |a: &Outcome, b: &Outcome| {
        (a.knob, &a.before, &a.asked, &a.found, &a.result) == (b.knob, &b.before, &b.asked, &b.found, &b.result)
            && file_name(&a.place) == file_name(&b.place)
    };
    let mut shown: Vec<&Outcome> = Vec::new();
    for outcome in outcomes {
        if shown.iter().any(|known| alike(known, outcome)) {
            continue;
        }
        shown.push(outcome);
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
pub fn besides(tuning: &Tuning<'_>) -> String {
    let mut out = tuning.shield.as_ref().map_or_else(String::new, shield);
    for Absent { knob, reason } in &tuning.absent {
        let _ = writeln!(out, "  {:<13}{knob:<16}{reason}", "not here");
    }
    out
}

/// The effect of the shield.
pub fn shield(shield: &Shield) -> String {
    let Shield { kind, cpus, problem, moved, stayed, .. } = shield;
    let kind = match kind {
        ShieldKind::Cpusets if problem.is_some() => "cpusets".to_owned(),
        ShieldKind::Partition => "an isolated partition".to_owned(),
        ShieldKind::Balanced => "a partition".to_owned(),
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
