//! Events that Callgrind simulates beside the instructions: misses of caches, and mispredicted branches.

use std::collections::BTreeMap;

use super::{CountedFunction, FunctionCounts};

/// An event of a simulated cache or branch predictor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SimulatedEvent {
    /// Reads and writes of data (`Dr`, `Dw`).
    DataAccesses,
    /// Reads of instructions that miss the first-level cache (`I1mr`).
    InstructionMisses,
    /// Reads and writes of data that miss the first-level cache (`D1mr`, `D1mw`).
    DataMisses,
    /// Accesses to instructions and data that miss the last-level cache too (`ILmr`, `DLmr`, `DLmw`).
    LastLevelMisses,
    /// Branches that are conditional or indirect (`Bc`, `Bi`).
    Branches,
    /// Those that the simulated predictor does not foresee (`Bcm`, `Bim`).
    Mispredictions,
}

impl SimulatedEvent {
    /// All events.
    pub const ALL: [SimulatedEvent; 6] = [
        SimulatedEvent::DataAccesses,
        SimulatedEvent::InstructionMisses,
        SimulatedEvent::DataMisses,
        SimulatedEvent::LastLevelMisses,
        SimulatedEvent::Branches,
        SimulatedEvent::Mispredictions,
    ];
}

/// Simulated events of each function, without those of functions that it called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimulatedCounts(BTreeMap<SimulatedEvent, FunctionCounts>);

impl SimulatedCounts {
    pub(super) fn of_functions<'a>(
        functions: impl Iterator<Item = (&'a CountedFunction, &'a Sums)>,
    ) -> SimulatedCounts {
        let mut counts = SimulatedCounts::default();
        for (function, Sums(sums)) in functions {
            for (event, sum) in SimulatedEvent::ALL.into_iter().zip(sums).filter(|(_, sum)| **sum > 0) {
                counts.0.entry(event).or_default().0.insert(function.clone(), *sum);
            }
        }
        counts
    }

    /// The functions in which an event occurred, with how often.
    pub fn of(&self, event: SimulatedEvent) -> &FunctionCounts {
        static NONE: FunctionCounts = FunctionCounts(BTreeMap::new());
        self.0.get(&event).unwrap_or(&NONE)
    }

    /// Adds those of another process.
    pub fn add(&mut self, other: SimulatedCounts) {
        for (event, counts) in other.0 {
            self.0.entry(event).or_default().add(counts);
        }
    }
}

/// What a number of a line is; `None` of an event that is not read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column(Option<SimulatedEvent>);

impl Column {
    /// The column of this name in the line `events:`.
    pub(super) fn named(name: &str) -> Column {
        Column(match name {
            "Dr" | "Dw" => Some(SimulatedEvent::DataAccesses),
            "I1mr" => Some(SimulatedEvent::InstructionMisses),
            "D1mr" | "D1mw" => Some(SimulatedEvent::DataMisses),
            "ILmr" | "DLmr" | "DLmw" => Some(SimulatedEvent::LastLevelMisses),
            "Bc" | "Bi" => Some(SimulatedEvent::Branches),
            "Bcm" | "Bim" => Some(SimulatedEvent::Mispredictions),
            _ => None,
        })
    }
}

/// Events of one function, in the order of [`SimulatedEvent::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums([u64; SimulatedEvent::ALL.len()]);

impl Sums {
    /// Adds the numbers of a line; Callgrind leaves out zeros at its end. `None` where one is no number.
    pub(super) fn read<'a>(&mut self, columns: &[Column], words: impl Iterator<Item = &'a str>) -> Option<()> {
        for (Column(event), word) in columns.iter().zip(words) {
            let more: u64 = word.parse().ok()?;
            if let Some(sum) = event.and_then(|event| self.0.get_mut(event as usize)) {
                *sum = sum.saturating_add(more);
            }
        }
        Some(())
    }

    pub(super) fn add(&mut self, other: &Sums) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(more);
        }
    }
}
