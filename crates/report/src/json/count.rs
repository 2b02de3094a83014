//! JSON of counted instructions.

mod events;

use prony_bench::count::{
    CallChange, CallComparison, CountComparison, CountRange, CountReport, CountedBuild, Counter, FrameChange,
    FrameComparison, FunctionChange,
};
use prony_profile::FunctionCounts;
use prony_replay::CallCount;
use serde::Serialize;
use std::collections::BTreeSet;

use crate::bench::counted::verdict_word;
use events::{CacheDocument, EventChangeDocument, EventDocument};

/// The answer of `--json`.
#[derive(Debug, Serialize)]
pub struct CountDocument<'a> {
    frames: u64,
    /// `prony`, `callgrind` or `kernel`.
    counter: &'static str,
    /// Why it is not prony's own, where that was not requested.
    no_own_counter: Option<String>,
    /// Event that is counted in place of instructions by function, as `perf` names it; with `--perf-event`.
    perf_event: Option<String>,
    /// How exactly it is counted here, where that can be known.
    self_test: Option<SelfTestDocument>,
    /// Caches that are simulated; with `--events`.
    caches: Option<Vec<CacheDocument>>,
    builds: Vec<BuildDocument<'a>>,
    comparisons: Vec<ComparisonDocument>,
}

#[derive(Debug, Serialize)]
struct BuildDocument<'a> {
    name: &'a str,
    /// Instructions of the program and its libraries, or the events that are counted in their place, one number a replay.
    instructions: Vec<u64>,
    /// Instructions of prony's library, of the loader, and of code of no file.
    not_counted: u64,
    functions: Vec<FunctionDocument>,
    /// What each function runs with all that it calls; with `--inclusive`.
    inclusive: Option<Vec<FunctionDocument>>,
    /// Sums of the functions of the program and of each library.
    objects: Vec<ObjectDocument>,
    /// Calls of functions of the C library that are hooked.
    calls: Vec<CallDocument>,
    /// Least and greatest of each frame's instructions, from what came before the first one to what came behind the last; with `--frames`.
    frame_instructions: Option<Vec<[u64; 2]>>,
    /// Misses of caches and mispredicted branches; with `--events`.
    events: Option<Vec<EventDocument>>,
    /// The stack was elsewhere in each replay; with `--events`.
    stack_moves: Option<bool>,
}

#[derive(Debug, Serialize)]
struct SelfTestDocument {
    /// Events of the work.
    expected: u64,
    /// Least and greatest number that was counted.
    counted: [u64; 2],
    rounds: u32,
}

#[derive(Debug, Serialize)]
struct CallDocument {
    name: String,
    /// One number a replay.
    calls: Vec<u64>,
    /// Bytes that they moved, one number a replay.
    bytes: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct ObjectDocument {
    object: String,
    /// One number a replay.
    instructions: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct FunctionDocument {
    object: String,
    symbol: String,
    /// One number a replay.
    instructions: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct ComparisonDocument {
    a: String,
    b: String,
    /// `equal`, `same`, `more` or `fewer`.
    verdict: &'static str,
    difference: i64,
    difference_pct: f64,
    differing: Vec<ChangeDocument>,
    varying: Vec<ChangeDocument>,
    /// Functions that differ with all that they call; with `--inclusive`.
    inclusive_differing: Option<Vec<ChangeDocument>>,
    /// Calls that differ in number or bytes.
    calls_differing: Vec<CallChangeDocument>,
    /// Frames that differ; with `--frames`.
    frames_differing: Option<Vec<FrameChangeDocument>>,
    /// Misses of caches and mispredicted branches; with `--events`.
    events: Option<Vec<EventChangeDocument>>,
}

#[derive(Debug, Serialize)]
struct FrameChangeDocument {
    frame: u64,
    /// Least and greatest of A's replays.
    a: [u64; 2],
    b: [u64; 2],
    difference: i64,
    /// The functions that make most of it.
    most: Vec<FrameFunctionDocument>,
}

#[derive(Debug, Serialize)]
struct FrameFunctionDocument {
    object: String,
    symbol: String,
    difference: i64,
}

#[derive(Debug, Serialize)]
struct CallChangeDocument {
    name: String,
    /// Least and greatest number of calls of A's replays.
    a: [u64; 2],
    b: [u64; 2],
    difference: i64,
    /// Least and greatest number of bytes of A's replays.
    a_bytes: [u64; 2],
    b_bytes: [u64; 2],
    difference_bytes: i64,
}

#[derive(Debug, Serialize)]
struct ChangeDocument {
    object: String,
    symbol: String,
    /// Least and greatest of A's replays.
    a: [u64; 2],
    b: [u64; 2],
    difference: i64,
}

/// Converts a report. `limit`: a share of A's instructions below it is no difference.
pub fn answer(limit: f64, report: &CountReport) -> CountDocument<'_> {
    let builds = report.builds.iter().map(|build| BuildDocument {
        name: &build.name,
        instructions: build.replays.iter().map(|counts| counts.total()).collect(),
        not_counted: build.not_counted,
        functions: functions(&build.replays),
        inclusive: (!build.inclusive.is_empty()).then(|| functions(&build.inclusive)),
        objects: objects(build),
        calls: calls(build),
        frame_instructions: build.frames.as_ref().map(|frames| frames.counts().into_iter().map(range).collect()),
        events: events::events(build),
        stack_moves: (!build.simulated.is_empty()).then_some(build.stack_moves),
    });
    let comparisons = report.builds.split_first().map_or_else(Vec::new, |(a, others)| {
        let compared = others.iter().map(|b| {
            let compared = CountComparison::of(a, b);
            ComparisonDocument {
                a: a.name.clone(),
                b: b.name.clone(),
                verdict: verdict_word(compared.verdict(limit)),
                difference: compared.difference(),
                difference_pct: 100.0 * compared.difference() as f64 / compared.totals[0].min as f64,
                differing: compared.differing.iter().map(change).collect(),
                varying: compared.varying.iter().map(change).collect(),
                inclusive_differing: CountComparison::inclusive(a, b)
                    .map(|compared| compared.differing.iter().map(change).collect()),
                calls_differing: CallComparison::of(a, b).differing.iter().map(call_change).collect(),
                frames_differing: FrameComparison::of(a, b)
                    .map(|compared| compared.differing.iter().map(frame_change).collect()),
                events: events::changes(limit, a, b),
            }
        });
        compared.collect()
    });
    let caches = report.builds.iter().any(|build| !build.simulated.is_empty()).then(events::caches);
    let (counter, no_own_counter) = match &report.counter {
        Counter::Own => ("prony", None),
        Counter::Callgrind => ("callgrind", None),
        Counter::OnlyCallgrind(reason) => ("callgrind", Some(reason.to_string())),
        Counter::Kernel(..) => ("kernel", None),
    };
    let (perf_event, self_test) = match &report.counter {
        Counter::Kernel(event, known) => (Some(format!("{}:u", event.name())), *known),
        _ => (None, None),
    };
    let self_test = self_test.map(|known| SelfTestDocument {
        expected: known.expected,
        counted: [known.least, known.most],
        rounds: known.rounds,
    });
    CountDocument {
        frames: report.frames,
        counter,
        no_own_counter,
        perf_event,
        self_test,
        caches,
        builds: builds.collect(),
        comparisons,
    }
}

/// The functions that have a count in the first replay.
fn functions(replays: &[FunctionCounts]) -> Vec<FunctionDocument> {
    let Some(first) = replays.first() else { return Vec::new() };
    let known = first.functions().filter(|(function, _)| function.is_known());
    let functions = known.map(|(function, _)| FunctionDocument {
        object: function.object.clone(),
        symbol: function.symbol.clone(),
        instructions: replays.iter().map(|counts| counts.of(function)).collect(),
    });
    functions.collect()
}

/// Sums by object, where functions are known.
fn objects(build: &CountedBuild) -> Vec<ObjectDocument> {
    let Some(first) = build.replays.first() else { return Vec::new() };
    let known = first.objects().into_iter().filter(|(object, _)| !object.is_empty());
    let of = |counts: &FunctionCounts, name: &str| {
        counts.objects().into_iter().find(|(object, _)| *object == name).map_or(0, |(_, sum)| sum)
    };
    let objects = known.map(|(object, _)| ObjectDocument {
        object: object.to_owned(),
        instructions: build.replays.iter().map(|counts| of(counts, object)).collect(),
    });
    objects.collect()
}

/// Calls of a build by name. One that some replay does not make has 0 there.
fn calls(build: &CountedBuild) -> Vec<CallDocument> {
    let names: BTreeSet<&str> = build.calls.iter().flatten().map(|call| call.name.as_str()).collect();
    let of = |name: &str, number: fn(&CallCount) -> u64| {
        let of = |calls: &Vec<CallCount>| calls.iter().find(|call| call.name == name).map_or(0, number);
        build.calls.iter().map(of).collect()
    };
    let calls = names.into_iter().map(|name| CallDocument {
        name: name.to_owned(),
        calls: of(name, |call| call.calls),
        bytes: of(name, |call| call.bytes),
    });
    calls.collect()
}

fn call_change(change: &CallChange) -> CallChangeDocument {
    let [difference, difference_bytes] = change.differences();
    let [[a, b], [a_bytes, b_bytes]] = [change.calls, change.bytes].map(|both| both.map(range));
    CallChangeDocument { name: change.name.clone(), a, b, difference, a_bytes, b_bytes, difference_bytes }
}

fn range(CountRange { min, max }: CountRange) -> [u64; 2] {
    [min, max]
}

fn frame_change(change: &FrameChange) -> FrameChangeDocument {
    let most = change.most.iter().map(|(function, difference)| FrameFunctionDocument {
        object: function.object.clone(),
        symbol: function.symbol.clone(),
        difference: *difference,
    });
    let [a, b] = change.counts.map(range);
    FrameChangeDocument { frame: change.frame, a, b, difference: change.difference(), most: most.collect() }
}

fn change(change: &FunctionChange) -> ChangeDocument {
    let [a, b] = change.counts.map(range);
    ChangeDocument {
        object: change.function.object.clone(),
        symbol: change.function.symbol.clone(),
        a,
        b,
        difference: change.difference(),
    }
}
