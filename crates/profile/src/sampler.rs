//! Sampler: events on every CPU, a thread that empties their rings, and the records made of them.

use std::fs;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::thread::JoinHandle;
use std::time::Duration;

use prony_machine::CpuSet;
use prony_machine::perf::{self, PerfError, Ring, Sampling, Target, Trigger};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::time::{ClockId, clock_gettime};

use crate::recording::{Recording, StackSample, Walk, WeightUnit};
use crate::records::{Record, Sample, decode, time_ns};
use crate::space::{CodeLocation, Spaces};
use crate::unwind::Walker;

/// Kinds of stacks to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileMode {
    /// Stacks of threads while they have a CPU.
    OnCpu,
    /// Stacks of threads when they give up their CPU, and the duration.
    OffCpu,
}

/// Options of a sampler: trigger, rate, way of unwinding.
#[derive(Debug, Clone)]
pub struct Options {
    /// Kind of stacks to sample.
    pub mode: ProfileMode,
    /// Samples a second of each thread that runs.
    pub frequency_hz: u32,
    /// CPUs to sample; all if `None`.
    pub cpus: Option<CpuSet>,
    /// Method by which callers are found.
    pub walk: Walk,
}

/// Reasons why no samples are taken.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// The kernel gives no samples.
    #[error(transparent)]
    Perf(#[from] PerfError),
    /// None of the requested CPUs is there.
    #[error("none of the CPUs {0} is online")]
    NoCpu(CpuSet),
    /// The process to look at is not there.
    #[error("there is no process {0}")]
    NoProcess(i32),
    /// The samples could not be collected.
    #[error("cannot collect samples: {0}")]
    Collect(io::Error),
}

/// Sampler that records until it is stopped.
#[derive(Debug)]
pub struct Sampler {
    collector: JoinHandle<io::Result<Recording>>,
    /// Closed to end the collector.
    stop: PipeWriter,
}

/// Bytes of a ring; nearly half a second at 1 kHz. Users without rights get a quarter of it as things are by default.
const RING_BYTES: usize = 1 << 21;
/// The same where whole stacks are copied.
const RING_BYTES_WITH_STACKS: usize = 1 << 23;
/// Maximum interval between emptying the rings: short enough to look at files that a process deletes before it ends.
const ROUND: Duration = Duration::from_millis(25);
/// A record is in its ring so long after its time, at the latest.
const SETTLED_NS: u64 = 2_000_000;

impl Sampler {
    /// Samples what *this thread* starts from now on, each process from its `execve` on, and what it starts in turn.
    ///
    /// # Errors
    /// [`SamplerError`], above all that it is not permitted.
    pub fn of_children(options: &Options) -> Result<Sampler, SamplerError> {
        Sampler::start(options, &[Target::ThisThread], Spaces::new(), FxHashMap::default())
    }

    /// Samples a process that runs, its threads, and what it starts from now on.
    ///
    /// # Errors
    /// As [`Sampler::of_children`].
    pub fn of_process(pid: i32, options: &Options) -> Result<Sampler, SamplerError> {
        let threads = threads(pid);
        if threads.is_empty() {
            return Err(SamplerError::NoProcess(pid));
        }
        let targets: Vec<Target> = threads.iter().map(|&tid| Target::Thread(tid)).collect();
        let mut spaces = Spaces::new();
        spaces.read(pid);
        Sampler::start(options, &targets, spaces, names(pid))
    }

    /// Sampler of all processes of the machine.
    ///
    /// # Errors
    /// As [`Sampler::of_children`]; it takes more rights.
    pub fn of_everyone(options: &Options) -> Result<Sampler, SamplerError> {
        let mut spaces = Spaces::new();
        let mut threads = FxHashMap::default();
        for pid in numbers("/proc") {
            spaces.read(pid);
            threads.extend(names(pid));
        }
        Sampler::start(options, &[Target::Everyone], spaces, threads)
    }

    fn start(
        options: &Options,
        targets: &[Target],
        spaces: Spaces,
        names: FxHashMap<i32, String>,
    ) -> Result<Sampler, SamplerError> {
        let (stopped, stop) = io::pipe().map_err(SamplerError::Collect)?;
        // Made before there are events, or it would inherit them and be sampled itself.
        let (hand_over, handed_over) = std::sync::mpsc::channel::<(Vec<Ring>, Collection)>();
        let collector = std::thread::Builder::new()
            .name("collector".to_owned())
            .spawn(move || match handed_over.recv() {
                Ok((rings, collection)) => collect(rings, collection, &stopped),
                Err(_) => Err(io::Error::other("there is nothing to collect")),
            })
            .map_err(SamplerError::Collect)?;
        let (rings, sampling) = open(options, targets)?;
        let mut collection = Collection::new(&sampling, options.walk, spaces);
        if targets == [Target::ThisThread] {
            collection.programs = Some(FxHashSet::default());
        }
        for (tid, name) in names {
            collection.name(tid, name);
        }
        rings.iter().try_for_each(Ring::enable).map_err(PerfError::System)?;
        hand_over.send((rings, collection)).map_err(|_| SamplerError::Collect(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Sampler { collector, stop })
    }

    /// True when the collector has ended by itself, which it does only when something is wrong.
    pub fn has_failed(&self) -> bool {
        self.collector.is_finished()
    }

    /// Ends sampling and hands over what was found.
    ///
    /// # Errors
    /// [`SamplerError::Collect`].
    pub fn finish(self) -> Result<Recording, SamplerError> {
        drop(self.stop);
        let ended = self.collector.join().unwrap_or_else(|_| Err(io::Error::other("the collector panicked")));
        ended.map_err(SamplerError::Collect)
    }
}

/// Opens the rings; without the kernel's stacks where those are not permitted.
fn open(options: &Options, targets: &[Target]) -> Result<(Vec<Ring>, Sampling), SamplerError> {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let online: CpuSet = online.trim().parse().unwrap_or_else(|_| "0".parse().expect("a CPU"));
    let cpus = options.cpus.as_ref().map_or(online.clone(), |requested| requested.within(&online));
    if cpus.is_empty() {
        return Err(SamplerError::NoCpu(options.cpus.clone().unwrap_or(online)));
    }
    let sampling = Sampling {
        trigger: match options.mode {
            ProfileMode::OnCpu => Trigger::Cycles,
            ProfileMode::OffCpu => Trigger::Switches,
        },
        frequency_hz: options.frequency_hz,
        kernel: true,
        stack_bytes: Some(options.walk.stack_bytes()),
        tracking: true,
    };
    let attempt = |sampling: Sampling| -> Result<(Vec<Ring>, Sampling), PerfError> {
        let bytes = match options.walk {
            Walk::FramePointers => RING_BYTES,
            Walk::Tables { .. } => RING_BYTES_WITH_STACKS,
        };
        let mut rings = Vec::new();
        for cpu in cpus.iter() {
            let mut ring: Option<Ring> = None;
            for &target in targets {
                let opened = match &mut ring {
                    Some(ring) => ring.add(&sampling, target),
                    None => Ring::open(&sampling, target, cpu as usize, bytes).map(|opened| ring = Some(opened)),
                };
                match opened {
                    // A thread that ended meanwhile is no loss, unless it was the only one.
                    Err(PerfError::NoThread) if targets.len() > 1 => {}
                    opened => opened?,
                }
            }
            rings.push(ring.ok_or(PerfError::NoThread)?);
        }
        Ok((rings, sampling))
    };
    // No cycles are counted in most virtual machines, and stacks of the kernel need more rights than those of users.
    let opened = attempt(sampling).or_else(|error| match error {
        PerfError::NotCounted if sampling.trigger == Trigger::Cycles => {
            let sampling = Sampling { trigger: Trigger::CpuClock, ..sampling };
            attempt(sampling).or_else(|error| without_kernel(error, sampling, &attempt))
        }
        error => without_kernel(error, sampling, &attempt),
    });
    Ok(opened?)
}

type Opened = Result<(Vec<Ring>, Sampling), PerfError>;

fn without_kernel(error: PerfError, sampling: Sampling, attempt: &dyn Fn(Sampling) -> Opened) -> Opened {
    match error {
        // A thread that gives its CPU up does so in the kernel: without it there is nothing to see.
        PerfError::NotPermitted { .. } if sampling.trigger != Trigger::Switches => {
            match attempt(Sampling { kernel: false, ..sampling }) {
                Err(PerfError::NotCounted) if sampling.trigger == Trigger::Cycles => {
                    attempt(Sampling { kernel: false, trigger: Trigger::CpuClock, ..sampling })
                }
                opened => opened,
            }
        }
        error => Err(error),
    }
}

fn numbers(directory: &str) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn threads(pid: i32) -> Vec<i32> {
    numbers(&format!("/proc/{pid}/task"))
}

fn names(pid: i32) -> FxHashMap<i32, String> {
    let name =
        |tid| Some((tid, fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).ok()?.trim_end().to_owned()));
    threads(pid).into_iter().filter_map(name).collect()
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Empties the rings until `stopped` is closed.
fn collect(mut rings: Vec<Ring>, mut collection: Collection, stopped: &PipeReader) -> io::Result<Recording> {
    let mut batch = Batch::default();
    collection.recording.began_ns = now_ns();
    loop {
        perf::wait(&rings, Some(stopped.as_fd()), ROUND)?;
        let ends = is_closed(stopped)?;
        let until_ns = if ends { u64::MAX } else { now_ns().saturating_sub(SETTLED_NS) };
        for ring in &mut rings {
            ring.drain(|record| batch.add(record));
        }
        batch.take(until_ns, |time_ns, record| collection.add(time_ns, record));
        if ends {
            collection.recording.ended_ns = now_ns();
            return Ok(collection.finish());
        }
    }
}

/// True once the other end is closed.
fn is_closed(pipe: &PipeReader) -> io::Result<bool> {
    let mut polled = [rustix::event::PollFd::new(pipe, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(!polled[0].revents().is_empty())
}

/// Records of all CPUs, to be looked at in the order of their times.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Time, place among all records, first byte and the one after the last.
    records: Vec<(u64, usize, usize, usize)>,
}

impl Batch {
    fn add(&mut self, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.records.push((time_ns(record), self.records.len(), start, self.bytes.len()));
    }

    /// Hands out what is older than `until_ns`, oldest first, and keeps the rest.
    fn take(&mut self, until_ns: u64, mut each: impl FnMut(u64, &[u8])) {
        // Records of one time keep the order of their ring.
        self.records.sort_unstable_by_key(|&(time, place, ..)| (time, place));
        let ready = self.records.partition_point(|&(time, ..)| time < until_ns);
        for &(time, _, start, end) in &self.records[..ready] {
            each(time, &self.bytes[start..end]);
        }
        let mut rest = Batch::default();
        for &(.., start, end) in &self.records[ready..] {
            rest.add(&self.bytes[start..end]);
        }
        *self = rest;
    }
}

/// Records collected from the rings so far.
struct Collection {
    spaces: Spaces,
    walker: Walker,
    walk: Walk,
    recording: Recording,
    names: FxHashMap<i32, u32>,
    known_names: FxHashMap<String, u32>,
    known_stacks: FxHashMap<Box<[CodeLocation]>, u32>,
    /// Processes that have become programs since sampling began, and what they made; `None`: all count. We ourselves
    /// are none, nor is a process between `fork` and `execve`.
    programs: Option<FxHashSet<i32>>,
    /// Threads that wait: since when, and where.
    waiting: FxHashMap<i32, StackSample>,
    weight_unit: WeightUnit,
    addresses: Vec<u64>,
    walked: Vec<u64>,
    places: Vec<CodeLocation>,
}

impl Collection {
    fn new(sampling: &Sampling, walk: Walk, spaces: Spaces) -> Collection {
        let weight_unit = match sampling.trigger {
            Trigger::Switches => WeightUnit::WaitingUs,
            Trigger::CpuClock | Trigger::Cycles => WeightUnit::Samples,
        };
        Collection {
            spaces,
            walker: Walker::new(),
            walk,
            recording: Recording::new(sampling, walk, weight_unit),
            names: FxHashMap::default(),
            known_names: FxHashMap::default(),
            known_stacks: FxHashMap::default(),
            programs: None,
            waiting: FxHashMap::default(),
            weight_unit,
            addresses: Vec::new(),
            walked: Vec::new(),
            places: Vec::new(),
        }
    }

    fn add(&mut self, time_ns: u64, record: &[u8]) {
        match decode(record) {
            Record::Sample(sample) => self.sample(time_ns, &sample),
            Record::Map(map) => self.spaces.map(&map),
            Record::Name { pid, tid, exec, name } => {
                if exec {
                    self.spaces.exec(pid);
                    if let Some(programs) = &mut self.programs {
                        programs.insert(pid);
                    }
                }
                self.name(tid, String::from_utf8_lossy(name).into_owned());
            }
            Record::Fork { pid, parent } => {
                self.spaces.fork(pid, parent);
                if let Some(programs) = self.programs.as_mut().filter(|programs| programs.contains(&parent)) {
                    programs.insert(pid);
                }
                if let Some(&name) = self.names.get(&parent) {
                    self.names.entry(pid).or_insert(name);
                }
            }
            Record::Switch { tid, out: false } => {
                if let Some(mut waited) = self.waiting.remove(&tid) {
                    waited.weight = time_ns.saturating_sub(waited.time_ns) / 1000;
                    self.recording.samples.push(waited);
                }
            }
            Record::Switch { .. } | Record::Other => {}
            Record::Lost(lost) => self.recording.lost += lost,
        }
    }

    fn name(&mut self, tid: i32, name: String) {
        let names = &mut self.recording.names;
        let place = *self.known_names.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            (names.len() - 1) as u32
        });
        self.names.insert(tid, place);
    }

    fn sample(&mut self, time_ns: u64, sample: &Sample<'_>) {
        if self.programs.as_ref().is_some_and(|programs| !programs.contains(&sample.pid)) {
            return;
        }
        let name = match self.names.get(&sample.tid).or_else(|| self.names.get(&sample.pid)) {
            Some(&name) => name,
            None => {
                self.name(sample.tid, format!("{}", sample.pid));
                self.names[&sample.tid]
            }
        };
        let stack = self.stack(sample);
        let taken = StackSample { time_ns, pid: sample.pid, tid: sample.tid, name, stack, weight: 1 };
        match self.weight_unit {
            WeightUnit::Samples => self.recording.samples.push(taken),
            WeightUnit::WaitingUs => {
                self.waiting.insert(sample.tid, taken);
            }
        }
    }

    /// The number of a sample's stack.
    fn stack(&mut self, sample: &Sample<'_>) -> u32 {
        let Collection { spaces, walker, walk, walked, addresses, places, recording, known_stacks, .. } = self;
        places.clear();
        addresses.clear();
        let mut in_kernel = false;
        let mut is_return = false;
        for address in sample.chain.iter() {
            if let Some(kernel) = context(address) {
                (in_kernel, is_return) = (kernel, false);
                continue;
            }
            // A return address may be the first of the next function: the call is before it.
            let called = if is_return { address.saturating_sub(1) } else { address };
            is_return = true;
            if in_kernel {
                places.push(CodeLocation { object: Spaces::KERNEL, offset: called });
            } else {
                addresses.push(called);
            }
        }
        if let (Some(user), Some(space)) = (&sample.user, spaces.of(sample.pid)) {
            let by_pointers = *walk == Walk::FramePointers;
            // A function that keeps something else in the frame pointer leads to where no code is.
            let lost = addresses
                .iter()
                .skip(1)
                .position(|&address| spaces.place(sample.pid, address).object == Spaces::NOWHERE);
            addresses.truncate(lost.map_or(addresses.len(), |at| at + 1));
            walked.clear();
            let is_whole = walker.walk(sample.pid, space, &spaces.objects, user, walked, |address| {
                // Where both ways meet, frame pointers lead on.
                by_pointers && addresses.iter().skip(1).any(|&known| known == address)
            });
            joined(addresses, walked, by_pointers);
            recording.cut += u64::from(!is_whole && !by_pointers);
        }
        places.extend(addresses.iter().map(|&address| spaces.place(sample.pid, address)));
        if let Some(&known) = known_stacks.get(places.as_slice()) {
            return known;
        }
        let number = recording.stacks.len() as u32;
        recording.stacks.push(places.as_slice().into());
        known_stacks.insert(places.as_slice().into(), number);
        number
    }

    fn finish(mut self) -> Recording {
        self.recording.unfinished = self.waiting.len() as u64;
        self.recording.objects = self.spaces.objects;
        // Waits are known only when they end.
        self.recording.samples.sort_by_key(|sample| sample.time_ns);
        self.recording
    }
}

/// Puts what was walked by tables in front of what frame pointers give, from where they meet, both innermost first. What
/// never meets is left as the pointers have it, unless tables alone were requested or lead further.
fn joined(by_pointers: &mut Vec<u64>, walked: &[u64], may_join: bool) {
    let Some(&last) = walked.last() else { return };
    let meets = by_pointers.iter().skip(1).position(|&address| address == last).map(|at| at + 1);
    match meets.filter(|_| may_join) {
        Some(at) => drop(by_pointers.splice(..=at, walked.iter().copied())),
        None => {
            let leads_further = walked.len() > 1 || by_pointers.is_empty();
            if leads_further && (!may_join || by_pointers.len() < 2) {
                by_pointers.splice(.., walked.iter().copied());
            }
        }
    }
}

/// `enum perf_callchain_context`: what the addresses behind such a mark are, the kernel's or a user's.
fn context(address: u64) -> Option<bool> {
    const PERF_CONTEXT_MAX: u64 = -4095i64 as u64;
    const PERF_CONTEXT_USER: u64 = -512i64 as u64;
    const PERF_CONTEXT_GUEST_USER: u64 = -2560i64 as u64;
    (address >= PERF_CONTEXT_MAX).then_some(!matches!(address, PERF_CONTEXT_USER | PERF_CONTEXT_GUEST_USER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: u64, tag: u64) -> Vec<u8> {
        let mut bytes = 4u32.to_ne_bytes().to_vec();
        bytes.extend([0, 0, 40, 0]);
        for word in [tag, 0, time, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn records_of_all_cpus_come_in_the_order_of_their_times() {
        let mut batch = Batch::default();
        for (time, tag) in [(5, 0), (9, 1), (3, 2), (5, 3), (20, 4)] {
            batch.add(&record(time, tag));
        }
        let mut seen = Vec::new();
        let tag = |record: &[u8]| u64::from_ne_bytes(record[8..16].try_into().expect("eight bytes"));
        batch.take(10, |time, record| seen.push((time, tag(record))));
        assert_eq!(seen, [(3, 2), (5, 0), (5, 3), (9, 1)]);
        batch.add(&record(12, 5));
        seen.clear();
        batch.take(u64::MAX, |time, record| seen.push((time, tag(record))));
        assert_eq!(seen, [(12, 5), (20, 4)]);
    }

    #[test]
    fn a_function_without_a_frame_gets_its_caller_from_the_tables() {
        // 2 has no frame: frame pointers lead from 1 to 3.
        let join = |pointers: &[u64], walked: &[u64], may| {
            let mut stack = pointers.to_vec();
            joined(&mut stack, walked, may);
            stack
        };
        assert_eq!(join(&[1, 3, 4], &[1, 2, 3], true), [1, 2, 3, 4]);
        assert_eq!(join(&[1, 2, 3], &[1, 2], true), [1, 2, 3]);
        assert_eq!(join(&[1, 9], &[1, 2, 3], true), [1, 9]);
        assert_eq!(join(&[1], &[1, 2, 3], true), [1, 2, 3]);
        assert_eq!(join(&[1, 9], &[1, 2, 3], false), [1, 2, 3]);
        assert_eq!(join(&[1, 9], &[], false), [1, 9]);
    }

    #[test]
    fn marks_tell_the_kernel_from_the_user() {
        assert_eq!(context(-128i64 as u64), Some(true));
        assert_eq!(context(-512i64 as u64), Some(false));
        assert_eq!(context(0xffff_ffff_8100_0000), None);
    }
}
