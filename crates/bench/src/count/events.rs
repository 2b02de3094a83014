//! Misses of simulated caches and mispredicted branches: they explain a difference of time that instructions do not show.

use prony_profile::{FunctionCounts, SimulatedEvent};

use super::{CountComparison, CountVerdict, CountedBuild, FunctionChange};

/// A cache that Callgrind simulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedCache {
    /// Its name for Callgrind: `I1`, `D1` or `LL`.
    pub name: &'static str,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Lines that a set has.
    pub associativity: u64,
    /// Size of a line in bytes.
    pub line_bytes: u64,
}

/// The caches that are simulated, on every machine the same, so that two machines count the same misses: first-level caches of 64 sets
/// of 8 lines, as most x86-64 processors have had since 2008, and a last level of 8 MiB.
pub const SIMULATED_CACHES: [SimulatedCache; 3] = [
    SimulatedCache { name: "I1", size_bytes: 32 << 10, associativity: 8, line_bytes: 64 },
    SimulatedCache { name: "D1", size_bytes: 32 << 10, associativity: 8, line_bytes: 64 },
    SimulatedCache { name: "LL", size_bytes: 8 << 20, associativity: 16, line_bytes: 64 },
];

/// Bytes by which the stack of each replay is moved from that of the one before, modulo [`STACK_SPAN_BYTES`]. As a multiple of a cache line
/// it moves what the stack shares a set with and leaves alignments as they are, on which instructions of the C library depend.
const STACK_STEP_BYTES: u32 = 17 * 64;

/// Bytes of one way of the first-level cache: addresses that are this far apart share a set.
const STACK_SPAN_BYTES: u32 = 4096;

/// A share of A's events below which there is no difference, whatever share of the instructions is one: sets of the caches, and entries of
/// the predictor, follow from the addresses of code and data, of which each build has others.
const SAME_WITHIN: f64 = 0.01;

/// An event in two builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventComparison {
    /// The event.
    pub event: SimulatedEvent,
    /// How often it occurs in A and in B, by function.
    pub compared: CountComparison,
}

impl SimulatedCache {
    /// The flag of Callgrind that sets it.
    pub(super) fn flag(self) -> String {
        format!("--{}={},{},{}", self.name, self.size_bytes, self.associativity, self.line_bytes)
    }
}

impl EventComparison {
    /// Compares all events of two builds; empty where they were not simulated.
    pub fn all(a: &CountedBuild, b: &CountedBuild) -> Vec<EventComparison> {
        if a.simulated.is_empty() || b.simulated.is_empty() {
            return Vec::new();
        }
        let of = |event| {
            let counts = [a, b]
                .map(|build| build.simulated.iter().map(|counts| counts.of(event)).collect::<Vec<&FunctionCounts>>());
            EventComparison { event, compared: CountComparison::over(counts.each_ref().map(Vec::as_slice)) }
        };
        SimulatedEvent::ALL.into_iter().map(of).collect()
    }

    /// Whether B has more than A; a share of A's events below `limit`, or 1 % if that is more, is no difference.
    pub fn verdict(&self, limit: f64) -> CountVerdict {
        self.compared.verdict(limit.max(SAME_WITHIN))
    }

    /// Functions that differ by more than their spread, and by more than that share of all of A's events, the largest difference first.
    pub fn differing(&self, limit: f64) -> impl Iterator<Item = &FunctionChange> {
        self.compared.differing_above(limit.max(SAME_WITHIN))
    }
}

/// Bytes by which the stack of a replay, from 1, is moved.
pub(super) fn stack_shift_bytes(replay: u32) -> usize {
    (replay.saturating_sub(1) % (STACK_SPAN_BYTES / 64) * STACK_STEP_BYTES % STACK_SPAN_BYTES) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_profile::CountedParts;

    /// A build of which each replay has these misses of D1 in `walk`, and one misprediction.
    fn build(misses: &[u64]) -> CountedBuild {
        let simulated = misses.iter().map(|misses| {
            let text = format!("events: Ir D1mr Bcm\nob=/s\nfn=walk\n1 9 {misses}\nfn=other\n1 9 0 1\n");
            CountedParts::read(text.as_bytes()).expect("it is sound").simulated().expect("it has events")
        });
        CountedBuild {
            name: "s".to_owned(),
            replays: Vec::new(),
            not_counted: 0,
            calls: Vec::new(),
            inclusive: Vec::new(),
            frames: None,
            simulated: simulated.collect(),
            stack_moves: true,
        }
    }

    #[test]
    fn an_event_differs_beyond_the_spread_of_one_build() {
        let (a, within, beyond) = (build(&[100, 107]), build(&[107, 101]), build(&[120, 121]));
        let of = |a, b, event| {
            let all = EventComparison::all(a, b);
            all.into_iter().find(|one| one.event == event).expect("every event is compared")
        };
        assert_eq!(of(&a, &within, SimulatedEvent::DataMisses).verdict(0.0), CountVerdict::Same);
        let found = of(&a, &beyond, SimulatedEvent::DataMisses);
        assert_eq!((found.compared.difference(), found.compared.spread()), (20, 7));
        assert_eq!([0.1, 0.3].map(|limit| found.verdict(limit)), [CountVerdict::More, CountVerdict::Same]);
        let named = |limit| found.differing(limit).map(|change| change.function.symbol.as_str()).collect::<Vec<_>>();
        assert_eq!([0.1, 0.3].map(named), [vec!["walk"], vec![]]);
        let other = of(&a, &beyond, SimulatedEvent::Mispredictions);
        assert_eq!((other.verdict(0.0), other.compared.totals[1].min), (CountVerdict::Equal, 1));
        // Beyond the spread, and below 1 %.
        let (many, one_more) = (build(&[1000]), build(&[1001]));
        let few = of(&many, &one_more, SimulatedEvent::DataMisses);
        assert_eq!((few.verdict(0.0), few.differing(0.0).count()), (CountVerdict::Same, 0));
        assert_eq!(EventComparison::all(&a, &build(&[])), []);
    }

    #[test]
    fn stacks_move_by_lines_over_one_way_of_the_cache() {
        let shifts: Vec<usize> = (1..=64).map(stack_shift_bytes).collect();
        assert_eq!(shifts[..5], [0, 1088, 2176, 3264, 256]);
        let mut sorted = shifts.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 64, "no two of them are equal");
        assert!(shifts.iter().all(|shift| shift % 64 == 0 && *shift < 4096));
        assert_eq!((stack_shift_bytes(65), stack_shift_bytes(u32::MAX) % 64), (0, 0));
    }
}
