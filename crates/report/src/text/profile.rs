//! Profiles as text for people.

pub mod diff;
pub mod zones;

use std::fmt::Write;

use prony_machine::perf::Trigger;
use prony_profile::{Doubt, Lack, Recording, Share, Stacks, WeightUnit, component_shares, function_shares, shortened};
use prony_stats::Interval;
use prony_text::{Table, count, significant, thousands, without_error_numbers};

use crate::profile::{Found, LEVEL, Shown};

/// Text of a profile that was taken: its source, functions and components.
pub fn taken(found: &Found<'_>, selection: Shown<'_>) -> String {
    let Found { name, recording, profile, chosen } = found;
    let mut out = format!("{name}: {}\n", how(recording, profile.stacks.observations()));
    if let Some(chosen) = chosen {
        let _ = writeln!(
            out,
            "  in {} of {}, of {} ms or more: {} of {}",
            thousands(chosen.frames),
            count(chosen.of_frames, "frame"),
            significant(chosen.shortest_ns as f64 / 1e6),
            thousands(chosen.samples),
            count(chosen.of_samples, "sample")
        );
    }
    tables(&mut out, &profile.stacks, selection);
    out
}

/// Text of a file of stacks: functions and components.
pub fn stored(name: &str, stacks: &Stacks, selection: Shown<'_>) -> String {
    let mut out = format!("{name}: {}\n", counted(stacks.observations(), stacks.weight_unit()));
    tables(&mut out, stacks, selection);
    out
}

/// `5,213 stack samples in 5.31 s, 999 Hz of CPU time (cpu-clock), with the kernel`.
pub fn how(recording: &Recording, samples: u64) -> String {
    let seconds = recording.ended_ns.saturating_sub(recording.began_ns) as f64 / 1e9;
    let seconds = significant(seconds);
    match recording.weight_unit {
        WeightUnit::Samples => format!(
            "{} in {seconds} s, {} Hz of CPU time ({}), {}",
            counted(samples, recording.weight_unit),
            recording.frequency_hz,
            trigger(recording),
            if recording.kernel { "with the kernel" } else { "without the kernel" }
        ),
        WeightUnit::WaitingUs => {
            format!("{} in {seconds} s, by the place where they began", counted(samples, recording.weight_unit))
        }
    }
}

/// `5,213 stack samples` or `77 waits`.
pub fn counted(samples: u64, weight_unit: WeightUnit) -> String {
    match weight_unit {
        WeightUnit::Samples => count(samples, "stack sample"),
        WeightUnit::WaitingUs => count(samples, "wait"),
    }
}

/// The name that perf has for it.
pub fn trigger(recording: &Recording) -> &'static str {
    match recording.trigger {
        Trigger::CpuClock => "cpu-clock",
        Trigger::Cycles => "cycles",
        Trigger::Switches => "context-switches",
    }
}

fn tables(out: &mut String, stacks: &Stacks, selection: Shown<'_>) {
    if stacks.total() == 0 {
        return;
    }
    if !selection.components.is_empty() {
        table(out, "component", &component_shares(stacks, selection.components, LEVEL));
    }
    let functions = function_shares(stacks, LEVEL);
    let shown = &functions[..selection.functions.min(functions.len())];
    if !shown.is_empty() {
        table(out, "function", shown);
    }
    let n = stacks.observations();
    let more = match shown.len() < functions.len() {
        true => format!("; {} of {}, --top shows more", shown.len(), count(functions.len() as u64, "function")),
        false => String::new(),
    };
    let _ = match stacks.weight_unit() {
        WeightUnit::Samples => writeln!(out, "\nn = {}{more}", count(n, "stack sample")),
        WeightUnit::WaitingUs => writeln!(
            out,
            "\nshares of {} s of waiting; n = {}, effective sample size {}{more}",
            significant(stacks.total() as f64 / 1e6),
            count(n, "wait"),
            thousands(stacks.effective_observations().round() as u64)
        ),
    };
}

fn table(out: &mut String, what: &str, shares: &[Share]) {
    let mut table = Table::with_head(["self", "95 %", "incl.", "95 %", what]).numbers(0..1).numbers(2..3).indented(2);
    for share in shares {
        let ([own, own_range], [inclusive, inclusive_range]) = (percent(&share.own), percent(&share.inclusive));
        table.row([own, own_range, inclusive, inclusive_range, shortened(&share.name).to_string()]);
    }
    let _ = write!(out, "\n{}", table.text());
}

/// Share and its interval in percent: `42.1 %` and `(41.2–43.0)`.
fn percent(share: &Interval) -> [String; 2] {
    let [estimate, low, high] = [share.estimate, share.low, share.high].map(|share| share * 100.0);
    [format!("{estimate:.1} %"), format!("({low:.1}–{high:.1})")]
}

/// Why a profile would mean little, in a sentence.
pub fn doubt(doubt: &Doubt) -> String {
    match *doubt {
        Doubt::NoSamples => "no stack samples: it used no CPU; --off-cpu shows where it waits".to_owned(),
        Doubt::FewSamples { samples, unit } => format!("only {}: shares are very uncertain", counted(samples, unit)),
        Doubt::Lost { lost, all } => {
            format!("{} of {} were lost: the machine was too busy to write them", thousands(lost), count(all, "record"))
        }
    }
}

/// What a profile lacks, in a sentence.
pub fn lack(lack: &Lack<'_>) -> String {
    let percent = |share: f64| significant(share * 100.0);
    match lack {
        Lack::Names(missing, share) => format!(
            "{} {} ({} % of the samples)",
            missing.object,
            without_error_numbers(&missing.why.to_string()),
            percent(*share)
        ),
        Lack::Kernel => "kernel time is missing: kernel stacks are visible only to root".to_owned(),
        Lack::FramePointers(share) => {
            format!("{} % of the stacks end after one call: the program has no frame pointers", percent(*share))
        }
        Lack::Callers(share) => format!(
            "{} % of the stacks end in generated code: what called it is missing, also from inclusive times",
            percent(*share)
        ),
        Lack::Depth { stacks, share, copied_bytes } => format!(
            "{} ({} %) are deeper than the copied {} bytes: their outermost functions are missing",
            count(*stacks, "stack"),
            percent(*share),
            thousands(u64::from(*copied_bytes))
        ),
        Lack::Unfinished(waits) => format!("{} had not ended and are not included", count(*waits, "wait")),
    }
}
