//! Profile: a recording with the names of functions.

use rustc_hash::FxHashMap;

use crate::recording::Walk;
use crate::recording::{Recording, WeightUnit};
use crate::space::{CodeLocation, ObjectId};
use crate::stacks::{NameId, Stacks};
use crate::symbols::{GENERATED, MissingSymbols, Symbols};

/// Stacks with names, and when each was seen.
#[derive(Debug)]
pub struct Profile {
    /// The stacks: name of the thread, then functions, outermost first.
    pub stacks: Stacks,
    /// Every sample in the order of time.
    pub samples: Vec<TimedSample>,
    /// Objects that lack names, and in how many samples they occur; the most frequent first.
    pub missing_symbols: Vec<(MissingSymbols, u64)>,
    /// Samples with no more than two functions of a program in a stack: a sign that it keeps no frame pointers.
    pub shallow: u64,
    /// Samples whose outermost function is code generated at run time. Something called it that is missing.
    pub from_generated_code: u64,
}

/// Sample with the time at which it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedSample {
    /// Time of the sample, in nanoseconds of `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// Kernel's number of the process.
    pub pid: i32,
    /// Kernel's number of the thread.
    pub tid: i32,
    /// Index of the stack, in the order of [`Stacks::iter`].
    pub stack: usize,
    /// 1, or how long it waited.
    pub weight: u64,
}

/// What calls the first function of a program or a thread that keeps frame pointers. Only tables lead to them: left out,
/// or stacks of one root would have two, by how far each was followed.
const STARTS: [&str; 6] = ["_start", "__libc_start_main", "__libc_start_main_impl", "clone3", "__clone3", "__clone"];

impl Profile {
    /// Stacks of the main thread of a process in these spans of `CLOCK_MONOTONIC`, each from its start to before its end, in
    /// order: of the process with the most such samples.
    pub fn of_main_thread(&self, spans: &[(u64, u64)]) -> Stacks {
        let is_within = |sample: &TimedSample| {
            let after = spans.partition_point(|&(start, _)| start <= sample.time_ns);
            after > 0 && sample.time_ns < spans[after - 1].1
        };
        let main = |sample: &&TimedSample| sample.pid == sample.tid && is_within(sample);
        let mut of_process: FxHashMap<i32, u64> = FxHashMap::default();
        self.samples.iter().filter(main).for_each(|sample| *of_process.entry(sample.pid).or_default() += 1);
        let most = of_process.into_iter().max_by_key(|&(pid, samples)| (samples, pid)).map(|(pid, _)| pid);
        let all: Vec<&[NameId]> = self.stacks.iter().map(|(stack, _)| stack).collect();
        let mut stacks = Stacks::new(self.stacks.weight_unit());
        for sample in self.samples.iter().filter(main).filter(|sample| Some(sample.pid) == most) {
            let stack: Vec<NameId> =
                all[sample.stack].iter().map(|&name| stacks.name(self.stacks.text(name))).collect();
            stacks.add(&stack, sample.weight);
        }
        stacks
    }

    /// Gives names to everything that was sampled.
    pub fn of(recording: &Recording) -> Profile {
        let mut stacks = Stacks::new(recording.weight_unit);
        let mut symbols = Symbols::of(&recording.objects);
        let mut known: FxHashMap<CodeLocation, Vec<NameId>> = FxHashMap::default();
        // Only stacks that samples use: a selection may have dropped the others.
        let mut functions: FxHashMap<u32, Vec<NameId>> = FxHashMap::default();
        for sample in &recording.samples {
            functions.entry(sample.stack).or_insert_with(|| {
                let mut names = Vec::new();
                for &place in recording.stacks[sample.stack as usize].iter() {
                    let frames = known
                        .entry(place)
                        .or_insert_with(|| symbols.names(place).iter().map(|name| stacks.name(name)).collect());
                    names.extend_from_slice(frames);
                }
                names.reverse();
                if recording.walk == Walk::FramePointers {
                    let starts = names.iter().take_while(|&&name| STARTS.contains(&stacks.text(name))).count();
                    names.drain(..if starts < names.len() { starts } else { 0 });
                }
                names
            });
        }
        let mut of_object: FxHashMap<ObjectId, u64> = FxHashMap::default();
        let (mut shallow, mut from_generated_code) = (0, 0);
        let mut whole = Vec::new();
        let mut samples = Vec::with_capacity(recording.samples.len());
        for sample in &recording.samples {
            whole.clear();
            whole.push(stacks.name(&recording.names[sample.name as usize]));
            whole.extend_from_slice(&functions[&sample.stack]);
            let stack = match recording.weight_unit {
                WeightUnit::Samples => stacks.add(&whole, sample.weight),
                WeightUnit::WaitingUs => stacks.add_wait(&whole, sample.weight),
            };
            let outermost = functions[&sample.stack].first();
            from_generated_code += u64::from(outermost.is_some_and(|&name| stacks.text(name).ends_with(GENERATED)));
            let places = &recording.stacks[sample.stack as usize];
            let mut objects: Vec<ObjectId> = places.iter().map(|place| place.object).collect();
            shallow += u64::from(objects.iter().all(|&object| object != Recording::KERNEL) && objects.len() <= 2);
            objects.sort_unstable();
            objects.dedup();
            objects.into_iter().for_each(|object| *of_object.entry(object).or_default() += 1);
            let (time_ns, pid, tid, weight) = (sample.time_ns, sample.pid, sample.tid, sample.weight);
            samples.push(TimedSample { time_ns, pid, tid, stack, weight });
        }
        let counted = |(object, missing_symbols)| (missing_symbols, of_object.get(&object).copied().unwrap_or(0));
        let mut missing_symbols: Vec<(MissingSymbols, u64)> =
            symbols.missing_symbols().into_iter().map(counted).collect();
        missing_symbols.sort_by_key(|&(_, samples)| std::cmp::Reverse(samples));
        Profile { stacks, samples, missing_symbols, shallow, from_generated_code }
    }
}
