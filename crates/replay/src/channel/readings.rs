//! Counts and states that a server keeps in the control area, as the process outside reads them.
#![deny(clippy::indexing_slicing)]

use super::Channel;
use super::memory::Mapped;
use prony_channel::{
    AT_END, Counts, FAILURES, FRAMES_OFFSET, Failure, FrameTime, NO_THREAD, PROCESSES, Process, ProcessState, RETURNED,
    Report, ReportState, Returned, SlotState, Stop, StopKind, Thread, Waiting,
};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Calls of one function of the C library that prony hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCount {
    /// Name of the function.
    pub name: String,
    /// Calls, of all processes.
    pub calls: u64,
    /// Bytes that they moved, where the function returns their number.
    pub bytes: u64,
}

impl Channel {
    /// True once the library has come up in the server.
    pub(crate) fn attached(&self) -> bool {
        !self.control().processes[0].state.is(ProcessState::NotStarted, Ordering::Acquire)
    }

    /// Kernel's ids of all processes that came up, by index; 0 where there is none.
    pub(crate) fn processes(&self) -> Vec<i32> {
        self.slots().iter().map(|process| process.pid.load(Ordering::Relaxed)).collect()
    }

    /// Kernel's ids of the processes that take part: none that has ended, or runs a program that is not recorded.
    pub(crate) fn running(&self) -> Vec<i32> {
        let running = |process: &&Process| process.state.is(ProcessState::Running, Ordering::Acquire);
        self.slots().iter().filter(running).map(|process| process.pid.load(Ordering::Relaxed)).collect()
    }

    /// True if process `index` ended its story itself: by `exit`, or at the end of its records.
    pub(crate) fn ended(&self, index: usize) -> bool {
        self.control()
            .processes
            .get(index)
            .is_some_and(|process| process.state.is(ProcessState::Ended, Ordering::Acquire))
    }

    /// Changes whenever a replay gets on.
    pub(crate) fn progress(&self) -> u64 {
        self.counted().records.wrapping_add(self.control().frames.load(Ordering::Relaxed))
    }

    /// Counts of a replay, summed over all threads.
    pub(crate) fn counted(&self) -> Counted {
        let ended = std::iter::once(&self.control().ended_counts);
        let counts: Vec<&Counts> = ended.chain(self.thread_slots().map(|slot| &slot.counts)).collect();
        let sum = |pick: fn(&Counts) -> &AtomicU64| {
            counts.iter().map(|counts| pick(counts).load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
        };
        Counted {
            records: sum(|counts| &counts.records),
            outputs: sum(|counts| &counts.outputs),
            output_bytes: sum(|counts| &counts.output_bytes),
            outputs_differing: sum(|counts| &counts.outputs_differing),
            clocks_added: sum(|counts| &counts.clocks_added),
            clocks_removed: sum(|counts| &counts.clocks_removed),
            resynced: sum(|counts| &counts.resynced),
            reordered: sum(|counts| &counts.reordered),
            overlapped: sum(|counts| &counts.overlapped),
            log_bytes_differing: sum(|counts| &counts.log_bytes_differing),
        }
    }

    /// Number of times that a recorded thread continued while another one was let in.
    pub(crate) fn overlapped(&self) -> u64 {
        self.slots().iter().map(|process| u64::from(process.overlapped.load(Ordering::Relaxed))).sum()
    }

    /// Several threads were recorded without one order of what they run.
    pub(crate) fn ran_side_by_side(&self) -> bool {
        self.control().side_by_side.load(Ordering::Relaxed) && self.thread_slots().nth(1).is_some()
    }

    /// Time that recorded threads were ready and waited for each other, summed over all threads.
    pub(crate) fn threads_waited(&self) -> Duration {
        Duration::from_nanos(self.slots().iter().map(|process| process.waited_ns.load(Ordering::Relaxed)).sum())
    }

    /// Time that recorded threads waited for room in their rings, summed over all threads.
    pub(crate) fn room_awaited(&self) -> Duration {
        Duration::from_nanos(self.thread_slots().map(|thread| thread.room_awaited_ns.load(Ordering::Relaxed)).sum())
    }

    /// Slots of the processes so far.
    fn slots(&self) -> &[Process] {
        let used = self.control().processes_used.load(Ordering::Acquire) as usize;
        let all = &self.control().processes;
        all.get(..used).unwrap_or(all)
    }

    /// Slots of the threads so far.
    fn thread_slots(&self) -> impl Iterator<Item = &Thread> {
        self.control().threads.iter().take(self.control().thread_slots_used.load(Ordering::Acquire) as usize)
    }

    /// The slot of a process; for a number that the server has overwritten, of some process.
    #[expect(clippy::indexing_slicing, reason = "a remainder of the length of the array")]
    fn process_slot(&self, process: u32) -> &Process {
        &self.control().processes[process as usize % PROCESSES]
    }

    /// State of each live thread of a replay.
    pub(crate) fn threads(&self) -> Vec<ThreadState> {
        let live = self.thread_slots().filter(|slot| {
            let process = slot.process.load(Ordering::Relaxed) as usize % PROCESSES;
            slot.state.is(SlotState::InUse, Ordering::Acquire)
                && slot.thread.load(Ordering::Relaxed) != NO_THREAD
                && !self.ended(process)
        });
        live.map(|slot| {
            let process = slot.process.load(Ordering::Relaxed);
            let known = self.process_slot(process);
            let leader = known.leader.load(Ordering::Relaxed).checked_sub(1).unwrap_or(process);
            ThreadState {
                process,
                leader,
                thread: slot.thread.load(Ordering::Relaxed),
                tid: slot.tid.load(Ordering::Relaxed),
                waiting: slot.waiting.is(Waiting::Turn, Ordering::Relaxed),
                finished: slot.call.load(Ordering::Relaxed) == AT_END,
                record: slot.record.load(Ordering::Relaxed),
                turn: slot.turn.load(Ordering::Relaxed),
                now: self.process_slot(leader).order.load(Ordering::Relaxed),
            }
        })
        .collect()
    }

    /// Number of frames so far.
    pub(crate) fn frames(&self) -> u64 {
        self.control().frames.load(Ordering::Acquire)
    }

    /// Times of the frames so far, of as many together as [`Channel::to_replay`] was given.
    ///
    /// # Errors
    /// When they cannot be mapped.
    pub(crate) fn frame_times(&self) -> io::Result<Vec<FrameTime>> {
        // The player stops counting where there is no more room.
        let count = self.control().frame_times.load(Ordering::Acquire).min(self.frame_capacity) as usize;
        if count == 0 {
            return Ok(Vec::new());
        }
        let bytes = (count * size_of::<FrameTime>()).next_multiple_of(4096);
        let mapped = Mapped::of(self.memory.as_fd(), FRAMES_OFFSET, bytes, false)?;
        Ok((0..count).map(|entry| mapped.frame_time(entry)).collect())
    }

    /// Makes the build keep what explains a divergence: it flushes standard output after each line, so that none is lost when the
    /// replay ends, and keeps what its real calls return.
    pub(crate) fn explain(&self) {
        self.control().explained.store(true, Ordering::Relaxed);
    }

    /// The thread of a replay that was passed last while it was still in its turn, if [`Counted::overlapped`] says that any
    /// was: process, thread, and the record that it was answered with last.
    pub(crate) fn passed(&self) -> (u32, u32, u64) {
        let control = self.control();
        (
            control.passed_process.load(Ordering::Relaxed),
            control.passed_thread.load(Ordering::Relaxed),
            control.passed_record.load(Ordering::Relaxed),
        )
    }

    /// Real calls that failed in a replay, each the first time in its process, in their order; the last
    /// [`FAILURES`] of them. With it: how many there were.
    pub(crate) fn failures(&self) -> (Vec<FailedCall>, u32) {
        let used = self.control().failures_used.load(Ordering::Acquire);
        let numbers = used.saturating_sub(FAILURES as u32)..used;
        let failures = numbers.filter_map(|number| {
            let failure = self.control().failures.get(number as usize % FAILURES)?;
            (failure.state.load(Ordering::Acquire) == number.wrapping_add(1)).then(|| FailedCall::of(failure))
        });
        (failures.collect(), used)
    }

    /// What calls of a replay returned that were made for real, in their order; the last [`RETURNED`] of them.
    pub(crate) fn returned(&self) -> Vec<RealResult> {
        let used = self.control().returned_used.load(Ordering::Acquire);
        let numbers = used.saturating_sub(RETURNED as u32)..used;
        let results = numbers.filter_map(|number| {
            let result = self.control().returned.get(number as usize % RETURNED)?;
            (result.state.load(Ordering::Acquire) == number.wrapping_add(1)).then(|| RealResult::of(result))
        });
        results.collect()
    }

    /// How often hooked functions were called, by name, where that was counted.
    pub(crate) fn calls(&self) -> Vec<CallCount> {
        let used = self.control().calls_used.load(Ordering::Acquire) as usize;
        let mut calls: BTreeMap<String, CallCount> = BTreeMap::new();
        for count in self.control().calls.iter().take(used) {
            let name = text(&count.name.read());
            let sum = calls.entry(name.clone()).or_insert(CallCount { name, calls: 0, bytes: 0 });
            sum.calls = sum.calls.saturating_add(count.calls.load(Ordering::Relaxed));
            sum.bytes = sum.bytes.saturating_add(count.bytes.load(Ordering::Relaxed));
        }
        calls.into_values().filter(|count| count.calls > 0).collect()
    }

    /// Events that were counted, if any were to be. `frames`: times of the frames, of `together` in a row each.
    pub(crate) fn events(&self, frames: &[FrameTime], together: u64) -> Option<EventCounts> {
        let counter = &self.control().counter;
        counter.wanted.load(Ordering::Relaxed).then(|| EventCounts {
            total: counter.total.load(Ordering::Relaxed),
            of_process: counter.of_process.load(Ordering::Relaxed),
            before_frames: counter.before_frames.load(Ordering::Relaxed),
            frames: if together == 1 { frames.iter().map(|frame| frame.events).collect() } else { Vec::new() },
            calls: self.calls(),
            error: match counter.failed.load(Ordering::Relaxed) {
                0 => None,
                number => Some(number),
            },
        })
    }

    /// The first divergence, once it is complete.
    pub(crate) fn divergence(&self) -> Option<Divergence> {
        let report = &self.control().report;
        report.state.is(ReportState::Complete, Ordering::Acquire).then(|| Divergence::of(report))
    }
}

/// Events of the server's own code in a replay, and the hooked calls that it made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCounts {
    /// Events of all its processes.
    pub total: u64,
    /// Those of the process whose frames count.
    pub of_process: u64,
    /// Those of it before its first frame.
    pub before_frames: u64,
    /// Those of each frame; empty where the demo has none, or more than 262,144.
    pub frames: Vec<u64>,
    /// How often each hooked call was made, by name.
    pub calls: Vec<CallCount>,
    /// Error number of the first thread of which they could not be counted. What is counted is not all then.
    pub error: Option<i32>,
}

/// Counts of a replay, summed over its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Number of records that calls were answered with.
    pub records: u64,
    /// Number of outputs that were compared.
    pub outputs: u64,
    /// Bytes compared and found equal.
    pub output_bytes: u64,
    /// Outputs that differ in a tolerant run.
    pub outputs_differing: u64,
    /// Clock reads the recorded build did not make.
    pub clocks_added: u64,
    /// Clock reads only the recorded build made.
    pub clocks_removed: u64,
    /// Other calls passed over or answered without a record.
    pub resynced: u64,
    /// Records answered ahead of their place.
    pub reordered: u64,
    /// Turns that went on while their thread was still in them.
    pub overlapped: u64,
    /// Bytes of log text that differ.
    pub log_bytes_differing: u64,
}

/// A thread of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadState {
    /// Index of the thread's process in the recording.
    pub process: u32,
    /// Index of the process in whose order its calls stand.
    pub leader: u32,
    /// Number of the thread within its process, from 0.
    pub thread: u32,
    /// Kernel's id of the thread (TID).
    pub tid: i32,
    /// True while the thread waits for its turn.
    pub waiting: bool,
    /// True if the thread has no records left.
    pub finished: bool,
    /// The record it was answered with last, or stands before while it waits.
    pub record: u64,
    /// The turn it waits for.
    pub turn: u64,
    /// The turn its order has reached.
    pub now: u64,
}

/// A real call that failed in a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedCall {
    /// Index of the process in the recording, from 0.
    pub process: u32,
    /// Number of the thread within its process, from 0.
    pub thread: u32,
    /// C name of the call.
    pub name: String,
    /// The path that it was about, cut at 184 bytes; empty for none.
    pub path: Vec<u8>,
    /// The descriptor that it was about, or -1.
    pub fd: i32,
    /// `errno` that the call returned.
    pub errno: i32,
    /// The record that its thread had been answered with last.
    pub record: u64,
}

impl FailedCall {
    fn of(failure: &Failure) -> FailedCall {
        FailedCall {
            process: failure.process.load(Ordering::Relaxed),
            thread: failure.thread.load(Ordering::Relaxed),
            name: text(&failure.name.read()),
            path: cut(&failure.path.read(), failure.path_len.load(Ordering::Relaxed)),
            fd: failure.fd.load(Ordering::Relaxed),
            errno: failure.errno.load(Ordering::Relaxed),
            record: failure.record.load(Ordering::Relaxed),
        }
    }
}

/// What a call returned that a replay makes for real.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RealResult {
    /// Index of the process in the recording, from 0.
    pub process: u32,
    /// Number of the thread within its process, from 0.
    pub thread: u32,
    /// C name of the call.
    pub name: String,
    /// The path that it was about, cut at 184 bytes.
    pub path: Vec<u8>,
    /// What it wrote into the memory of the build, cut at 4096 bytes.
    pub bytes: Vec<u8>,
    /// The record that its thread had been answered with last.
    pub record: u64,
}

impl RealResult {
    fn of(result: &Returned) -> RealResult {
        RealResult {
            process: result.process.load(Ordering::Relaxed),
            thread: result.thread.load(Ordering::Relaxed),
            name: text(&result.name.read()),
            path: cut(&result.path.read(), result.path_len.load(Ordering::Relaxed)),
            bytes: cut(&result.bytes.read(), result.bytes_len.load(Ordering::Relaxed)),
            record: result.record.load(Ordering::Relaxed),
        }
    }
}

/// The first `length` bytes, or all where it says more.
fn cut(bytes: &[u8], length: u32) -> Vec<u8> {
    bytes.get(..length as usize).unwrap_or(bytes).to_vec()
}

/// Text before the first zero byte.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)).into()
}

/// Facts of a divergence as the player wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Divergence {
    /// Class of the divergence, as the player reports it.
    pub class: Stop,
    /// Kind of difference within the class.
    pub kind: StopKind,
    /// The status that the build ended with, if it called `exit`.
    pub status: i32,
    /// Index of the process in the recording, from 0.
    pub process: u32,
    /// Number of the thread within its process, from 0.
    pub thread: u32,
    /// Number of the call the build made.
    pub op: u16,
    /// Descriptor of the call, or -1.
    pub fd: i32,
    /// Record of the process that was expected.
    pub record: u64,
    /// Offset of the first byte that differs.
    pub byte: Option<u64>,
    /// Bytes of the recorded output.
    pub expected_bytes: u64,
    /// Number of bytes the build sent.
    pub found_bytes: u64,
    /// Offset in the output at which both windows start.
    pub window_start: u64,
    /// The recorded bytes in the window.
    pub expected: Vec<u8>,
    /// The bytes of the build in the window.
    pub found: Vec<u8>,
    /// Callers of the call, innermost first: `object+0xoffset (symbol)`.
    pub callers: Vec<String>,
}

impl Divergence {
    fn of(report: &Report) -> Divergence {
        let byte = report.byte.load(Ordering::Relaxed);
        let callers = report.caller.iter().take(report.callers.load(Ordering::Relaxed) as usize);
        Divergence {
            class: report.class.load(Ordering::Relaxed).unwrap_or(Stop::Order),
            kind: report.kind.load(Ordering::Relaxed).unwrap_or(StopKind::Call),
            status: report.status.load(Ordering::Relaxed),
            process: report.process.load(Ordering::Relaxed),
            thread: report.thread.load(Ordering::Relaxed),
            op: report.op.load(Ordering::Relaxed) as u16,
            fd: report.fd.load(Ordering::Relaxed),
            record: report.record.load(Ordering::Relaxed),
            byte: (byte != u64::MAX).then_some(byte),
            expected_bytes: report.expected_bytes.load(Ordering::Relaxed),
            found_bytes: report.found_bytes.load(Ordering::Relaxed),
            window_start: report.window_start.load(Ordering::Relaxed).min(byte),
            expected: cut(&report.expected.read(), report.expected_len.load(Ordering::Relaxed)),
            found: cut(&report.found.read(), report.found_len.load(Ordering::Relaxed)),
            callers: callers.map(|caller| text(&caller.read())).collect(),
        }
    }
}
