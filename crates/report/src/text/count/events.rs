//! Text of simulated events: how often caches miss and branches are mispredicted, and the functions that make it.

use std::cmp::Reverse;
use std::fmt::Write;

use prony_bench::count::{CountComparison, CountRange, CountedBuild, EventComparison, SIMULATED_CACHES};
use prony_profile::{CountedFunction, SimulatedEvent, distinct_names};
use prony_text::{Table, thousands};

use super::repeats;
use crate::bench::counted::{readable, verdict_word, with_sign};

/// Functions that are listed of each event; --json has all.
const LISTED: usize = 3;

/// Events of one build, and the functions that have most of them.
pub fn events(out: &mut String, build: &CountedBuild) {
    let all = EventComparison::all(build, build);
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}{}", caches(), stacks(&[build]));
    let mut table = Table::with_head(["event", "number", "", "rate"]).numbers(1..2).indented(2);
    for EventComparison { event, compared } in &all {
        let number = compared.totals[0];
        let repeats = repeats(number, build.simulated.len());
        table.row([name(*event), &thousands(number.min), &repeats, &rate(build, &all, *event, number.min)]);
    }
    out.push_str(&table.text());
    let mut listed = Vec::new();
    for event in SimulatedEvent::ALL.into_iter().filter(|event| is_listed(*event)) {
        let Some(counts) = build.simulated.first().map(|first| first.of(event)) else { continue };
        let mut functions: Vec<(&CountedFunction, u64)> = counts.functions().collect();
        functions.sort_by_key(|(_, count)| Reverse(*count));
        let share = |count: u64| 100.0 * count as f64 / counts.total().max(1) as f64;
        listed.extend(functions.into_iter().take(LISTED).map(|(of, count)| (of, event, count, share(count))));
    }
    let names = distinct_names(listed.iter().map(|(of, ..)| of.symbol.as_str()));
    let mut table = Table::with_head(["function", "event", "number", "share", "in"]).numbers(2..4).indented(2);
    for (of, event, count, share) in listed {
        table.row([&readable(of, &names), name(event), &thousands(count), &format!("{share:.1} %"), &of.object]);
    }
    out.push_str(&table.text());
}

/// How often an event occurs: `6.78 % of data accesses`.
fn rate(build: &CountedBuild, all: &[EventComparison], event: SimulatedEvent, number: u64) -> String {
    let total = |of: SimulatedEvent| all.iter().find(|one| one.event == of).map_or(0, |one| one.compared.totals[0].min);
    let instructions = CountComparison::of(build, build).totals[0].min;
    let accesses = total(SimulatedEvent::DataAccesses);
    let (basis, of) = match event {
        SimulatedEvent::DataAccesses | SimulatedEvent::Branches | SimulatedEvent::InstructionMisses => {
            (instructions, "instructions")
        }
        SimulatedEvent::DataMisses => (accesses, "data accesses"),
        SimulatedEvent::LastLevelMisses => (instructions.saturating_add(accesses), "instructions and data accesses"),
        SimulatedEvent::Mispredictions => (total(SimulatedEvent::Branches), "branches"),
    };
    format!("{:.2} % of {of}", 100.0 * number as f64 / basis.max(1) as f64)
}

/// Events of two builds, and the functions that differ most.
pub fn compared(out: &mut String, a: &CountedBuild, b: &CountedBuild, letter: char, limit: f64) {
    let all = EventComparison::all(a, b);
    if all.is_empty() {
        return;
    }
    let _ = writeln!(out, "{}{}", caches(), stacks(&[a, b]));
    let head = ["event", "A", &letter.to_string(), "difference", "spread of one build", ""];
    let mut table = Table::with_head(head).numbers(1..5).indented(2);
    for one in &all {
        let [a, b] = one.compared.totals.map(|total| thousands(total.min));
        let (difference, spread) = (one.compared.difference(), one.compared.spread());
        let verdict = verdict_word(one.verdict(limit));
        let difference = if difference == 0 { "0".to_owned() } else { with_sign(difference) };
        table.row([name(one.event), &a, &b, &difference, &thousands(spread), verdict]);
    }
    out.push_str(&table.text());
    let listed = all.iter().filter(|one| is_listed(one.event));
    let listed: Vec<_> =
        listed.flat_map(|one| one.differing(limit).take(LISTED).map(|change| (one.event, change))).collect();
    if listed.is_empty() {
        out.push_str(
            "no function has more or fewer misses or mispredictions than in replays of one build, by 1 % of all\n",
        );
        return;
    }
    let names = distinct_names(listed.iter().map(|(_, change)| change.function.symbol.as_str()));
    let head = ["function", "event", "A", &letter.to_string(), "difference"];
    let mut table = Table::with_head(head).numbers(2..5).indented(2);
    for (event, change) in listed {
        let [a, b] = change.counts.map(|CountRange { min, .. }| thousands(min));
        let function = readable(&change.function, &names);
        table.row([&function, name(event), &a, &b, &with_sign(change.difference())]);
    }
    out.push_str(&table.text());
}

/// Misses and mispredictions are listed by function; accesses and branches follow from the instructions.
fn is_listed(event: SimulatedEvent) -> bool {
    !matches!(event, SimulatedEvent::DataAccesses | SimulatedEvent::Branches)
}

fn name(event: SimulatedEvent) -> &'static str {
    match event {
        SimulatedEvent::DataAccesses => "data accesses",
        SimulatedEvent::InstructionMisses => "I1 misses",
        SimulatedEvent::DataMisses => "D1 misses",
        SimulatedEvent::LastLevelMisses => "LL misses",
        SimulatedEvent::Branches => "branches",
        SimulatedEvent::Mispredictions => "mispredictions",
    }
}

/// The caches that are simulated.
fn caches() -> String {
    let caches = SIMULATED_CACHES.map(|cache| {
        let size = match cache.size_bytes >> 10 {
            kib if kib % 1024 == 0 => format!("{} MiB", kib >> 10),
            kib => format!("{kib} KiB"),
        };
        format!("{} {size} of {} ways", cache.name, cache.associativity)
    });
    let line = SIMULATED_CACHES[0].line_bytes;
    format!("simulated caches: {}, lines of {line} bytes", caches.join(", "))
}

/// What the spread of one build is of.
fn stacks(builds: &[&CountedBuild]) -> &'static str {
    match () {
        () if builds.iter().any(|build| build.simulated.len() < 2) => "; one replay has no spread",
        () if builds.iter().all(|build| build.stack_moves) => "; each replay with its stack elsewhere",
        () => "; the stack in one place, as a build diverges where it is moved",
    }
}
