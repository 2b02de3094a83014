//! JSON of simulated events: misses of caches and mispredicted branches.

use prony_bench::count::{CountedBuild, EventComparison, SIMULATED_CACHES};
use prony_profile::SimulatedEvent;
use serde::Serialize;

use super::{ChangeDocument, change, range};
use crate::bench::counted::verdict_word;

/// A cache that is simulated.
#[derive(Debug, Serialize)]
pub(super) struct CacheDocument {
    name: &'static str,
    size_bytes: u64,
    associativity: u64,
    line_bytes: u64,
}

/// An event of one build.
#[derive(Debug, Serialize)]
pub(super) struct EventDocument {
    event: &'static str,
    /// One number a replay.
    counts: Vec<u64>,
    functions: Vec<EventFunctionDocument>,
}

#[derive(Debug, Serialize)]
struct EventFunctionDocument {
    object: String,
    symbol: String,
    /// One number a replay.
    counts: Vec<u64>,
}

/// An event of two builds.
#[derive(Debug, Serialize)]
pub(super) struct EventChangeDocument {
    event: &'static str,
    /// Least and greatest of A's replays.
    a: [u64; 2],
    b: [u64; 2],
    difference: i64,
    /// How far replays of one build differ, of the build of which they differ more.
    spread: u64,
    /// `equal`, `same`, `more` or `fewer`; what differs by less than 1 % is the same.
    verdict: &'static str,
    /// Functions that differ beyond their spread.
    differing: Vec<ChangeDocument>,
}

/// The caches.
pub(super) fn caches() -> Vec<CacheDocument> {
    let caches = SIMULATED_CACHES.map(|cache| CacheDocument {
        name: cache.name,
        size_bytes: cache.size_bytes,
        associativity: cache.associativity,
        line_bytes: cache.line_bytes,
    });
    caches.into()
}

/// Events of a build; `None` where they were not simulated.
pub(super) fn events(build: &CountedBuild) -> Option<Vec<EventDocument>> {
    let first = build.simulated.first()?;
    let of = |event| EventDocument {
        event: key(event),
        counts: build.simulated.iter().map(|counts| counts.of(event).total()).collect(),
        functions: first
            .of(event)
            .functions()
            .map(|(function, _)| EventFunctionDocument {
                object: function.object.clone(),
                symbol: function.symbol.clone(),
                counts: build.simulated.iter().map(|counts| counts.of(event).of(function)).collect(),
            })
            .collect(),
    };
    Some(SimulatedEvent::ALL.into_iter().map(of).collect())
}

/// Events of two builds; `None` where they were not simulated.
pub(super) fn changes(limit: f64, a: &CountedBuild, b: &CountedBuild) -> Option<Vec<EventChangeDocument>> {
    let changes = EventComparison::all(a, b).into_iter().map(|one| {
        let [a, b] = one.compared.totals.map(range);
        EventChangeDocument {
            event: key(one.event),
            a,
            b,
            difference: one.compared.difference(),
            spread: one.compared.spread(),
            verdict: verdict_word(one.verdict(limit)),
            differing: one.compared.differing.iter().map(change).collect(),
        }
    });
    Some(changes.collect::<Vec<_>>()).filter(|changes| !changes.is_empty())
}

fn key(event: SimulatedEvent) -> &'static str {
    match event {
        SimulatedEvent::DataAccesses => "data_accesses",
        SimulatedEvent::InstructionMisses => "i1_misses",
        SimulatedEvent::DataMisses => "d1_misses",
        SimulatedEvent::LastLevelMisses => "ll_misses",
        SimulatedEvent::Branches => "branches",
        SimulatedEvent::Mispredictions => "mispredictions",
    }
}
