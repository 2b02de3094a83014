//! The channel as the process outside holds it.
//!
//! The server writes to all of it, and nothing keeps it from writing nonsense. So its size is sealed, every value is
//! read once, bytes are copied before anybody looks into them, and what decides how much is read is kept here.

mod checkpoints;
mod clock;
mod feed;
mod halts;
mod memory;
mod readings;
mod rings;
mod scans;

pub(crate) mod merge;

pub(crate) use clock::Moment;
pub(crate) use feed::{Bell, Feeder, Filled, Offer, WindowRequest};
pub(crate) use halts::{Halted, OutputByte};
use memory::{Mapped, memory_file, seal_content, seal_size};
use prony_channel::{
    CONTROL_BYTES, Control, FRAMES_OFFSET, FrameTime, MAGIC, Mode, THREADS, ring_offset, windows_bytes,
};
pub use readings::{CallCount, Counted, EventCounts};
pub(crate) use readings::{Divergence, FailedCall, RealResult, ThreadState};
pub use rings::Fault;
pub(crate) use rings::{DrainError, Drained, Run};
use rustix::fs::FallocateFlags;
pub(crate) use scans::{ScanRequest, Scans};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// Channel to a server under preload, from its outer end.
#[derive(Debug)]
pub(crate) struct Channel {
    memory: OwnedFd,
    tape: Option<OwnedFd>,
    control: Arc<Mapped>,
    rings: Vec<Option<Mapped>>,
    /// Bytes read of each ring. What the shared memory says of it is for the writer.
    tails: Vec<u64>,
    frame_capacity: u64,
}

/// Source of the records of a replay.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tapes<'a> {
    /// All of them lie in memory that replays share.
    Whole(&'a File),
    /// Windows over the records, one for each thread and at most this long, which a [`Feeder`] fills.
    Windows {
        /// Bytes of the longest window; a power of two, at least [`prony_channel::SMALLEST_WINDOW`].
        longest: u64,
    },
}

/// What of a server's dealings past libc a recording has.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct PastLibc {
    /// Instructions that read time or random numbers from the processor.
    pub(crate) processor: bool,
    /// System calls by instructions of the server's own.
    pub(crate) raw_calls: bool,
    /// The calls of [`prony_channel::OWN_STATE_CALLS`] that failed, a bit for each.
    pub(crate) own_state_failed: u32,
}

/// The program that a tool starts, and in which the library joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Started {
    /// Path of the file that runs, without symbolic links: for a script its interpreter.
    pub(crate) program: PathBuf,
    /// Path of the script.
    pub(crate) script: Option<PathBuf>,
    /// Digest of the arguments: an interpreter may run the tool, too.
    pub(crate) arguments: u64,
}

/// Scope of a recording: children and threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordScope {
    /// Children that run another program stay in the recording.
    pub follow_exec: bool,
    /// The threads of a process run side by side, and only their calls are ordered.
    pub threads_side_by_side: bool,
    /// All processes take turns, not only those that share memory.
    pub processes_in_turn: bool,
    /// What the server writes to standard output are answers, not a log.
    pub answers_on_output: bool,
}

/// When a replay and its recording were begun, in nanoseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockShift {
    begun_unix_ns: i64,
    recorded_unix_ns: i64,
}

impl ClockShift {
    /// Of a replay that begins now.
    pub(crate) fn from_now(recorded_unix_ns: u64) -> ClockShift {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let signed = |count: u128| i64::try_from(count).unwrap_or(i64::MAX);
        ClockShift { begun_unix_ns: signed(now.as_nanos()), recorded_unix_ns: signed(u128::from(recorded_unix_ns)) }
    }
}

/// True unless the kernel says that no system call of this process is filtered (seccomp); the server that it starts inherits that.
fn has_filter_of_calls() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Seccomp:")).is_none_or(|mode| mode.trim() != "0")
}

impl Channel {
    /// A channel for a recording. `excluded`: beginnings of the file names of objects whose calls
    /// are not the server's.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub(crate) fn to_record(excluded: &[&[u8]], scope: RecordScope) -> io::Result<Channel> {
        let channel = Channel::new(Mode::Record, excluded, None, 0)?;
        let control = channel.control();
        control.follow_exec.store(scope.follow_exec, Ordering::Relaxed);
        control.side_by_side.store(scope.threads_side_by_side, Ordering::Relaxed);
        control.processes_in_turn.store(scope.processes_in_turn, Ordering::Relaxed);
        control.answers_on_output.store(scope.answers_on_output, Ordering::Relaxed);
        control.processor.store(cfg!(target_arch = "x86_64"), Ordering::Relaxed);
        control.moves_barred.store(u32::from(has_filter_of_calls()), Ordering::Relaxed);
        Ok(channel)
    }

    /// Ends a recording whose server goes on: its threads write down nothing from here on. What they have not been read of is
    /// given up.
    pub(crate) fn end_recording(&self) {
        self.control().ended.store(true, Ordering::Relaxed);
        // The kernel takes the memory of the rings back; a thread that is about to write gets an empty page.
        let rings = (ring_offset(THREADS) - ring_offset(0)) as u64;
        let _ = rustix::fs::fallocate(
            &self.memory,
            FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            ring_offset(0) as u64,
            rings,
        );
    }

    /// A channel for a replay of `tapes`, with room for the times of `frames` frames, `together` in an entry. With
    /// `tolerant`, outputs that differ are handed out by [`Channel::drain`], whatever their length and number. What was recorded past libc is
    /// answered from the tape.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub(crate) fn to_replay(
        excluded: &[&[u8]],
        tapes: Tapes,
        frames: u64,
        together: u64,
        tolerant: bool,
        past_libc: PastLibc,
    ) -> io::Result<Channel> {
        let entries = frames.div_ceil(together.max(1));
        let channel = match tapes {
            Tapes::Whole(tape) => Channel::new(Mode::Replay, excluded, Some(tape), entries)?,
            Tapes::Windows { longest } => {
                let windows = File::from(memory_file("prony-windows")?);
                windows.set_len(windows_bytes(longest))?;
                seal_size(windows.as_fd())?;
                let channel = Channel::new(Mode::Replay, excluded, Some(&windows), entries)?;
                channel.control().tape_bytes.store(0, Ordering::Relaxed);
                channel.control().window_stride.store(longest, Ordering::Relaxed);
                channel
            }
        };
        let control = channel.control();
        control.frames_in_each.store(together, Ordering::Relaxed);
        control.tolerant.store(tolerant, Ordering::Relaxed);
        control.processor.store(past_libc.processor, Ordering::Relaxed);
        control.raw_calls.store(past_libc.raw_calls, Ordering::Relaxed);
        control.own_state_failed.store(past_libc.own_state_failed, Ordering::Relaxed);
        Ok(channel)
    }

    /// Has this file, the demo, be in no directory that the server lists.
    pub(crate) fn hide(&self, inode: u64) {
        self.control().hidden_inode.store(inode, Ordering::Relaxed);
    }

    /// Has only this program join: a tool starts it.
    pub(crate) fn wait_for(&self, started: &Started) {
        let control = self.control();
        control.program.write_text(started.program.as_os_str().as_bytes());
        control.script.write_text(started.script.as_deref().map_or(b"", |script| script.as_os_str().as_bytes()));
        control.arguments.store(started.arguments, Ordering::Relaxed);
        control.under_tool.store(true, Ordering::Relaxed);
    }

    /// Has Callgrind collect what the server itself runs, and calls counted. `server`: false for all that the tool looks at; `frames`:
    /// each of them by itself.
    pub(crate) fn collect(&self, server: bool, frames: bool) {
        self.control().collects.store(server, Ordering::Relaxed);
        self.control().dumps_frames.store(frames, Ordering::Relaxed);
    }

    /// Has an event of the server's own code counted: `type` and `config` of `perf_event_attr`.
    pub(crate) fn count(&self, kind: u32, config: u64) {
        let counter = &self.control().counter;
        counter.kind.store(kind, Ordering::Relaxed);
        counter.config.store(config, Ordering::Relaxed);
        counter.wanted.store(true, Ordering::Relaxed);
    }

    /// Has the user that a process becomes own what the tool writes of it, `PID.out` in `directory`.
    pub(crate) fn hand_over(&self, directory: &Path) {
        self.control().written.write_text(directory.as_os_str().as_bytes());
    }

    /// As [`Channel::hide`], of a demo that a recording will replace.
    pub(crate) fn hide_replaced(&self, inode: u64) {
        self.control().replaced_inode.store(inode, Ordering::Relaxed);
    }

    /// Has times of files since the beginning of the replay reported as times of the recording.
    pub(crate) fn shift_file_times(&self, clock: ClockShift) {
        let control = self.control();
        control.begun_unix_ns.store(clock.begun_unix_ns, Ordering::Relaxed);
        control.recorded_unix_ns.store(clock.recorded_unix_ns, Ordering::Relaxed);
    }

    /// An empty file in memory, to build a tape in.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub(crate) fn tape_file() -> io::Result<File> {
        memory_file("prony-tape").map(File::from)
    }

    /// The tape is complete: from here on it does not change.
    ///
    /// # Errors
    /// When the kernel refuses, as for a file of another kind.
    pub(crate) fn seal_tape(tape: &File) -> io::Result<()> {
        seal_content(tape.as_fd())
    }

    /// A file in memory that holds the library's image, to be preloaded.
    ///
    /// # Errors
    /// When the kernel refuses one or is out of memory.
    pub(crate) fn library_file(image: &[u8]) -> io::Result<OwnedFd> {
        let fd = memory_file("prony-preload")?;
        let mut file = File::from(fd);
        io::Write::write_all(&mut file, image)?;
        seal_content(file.as_fd())?;
        Ok(file.into())
    }

    fn new(mode: Mode, excluded: &[&[u8]], tape: Option<&File>, frames: u64) -> io::Result<Channel> {
        let memory = memory_file("prony-channel")?;
        let bytes = FRAMES_OFFSET + (frames * size_of::<FrameTime>() as u64).next_multiple_of(4096).max(4096);
        let file = File::from(memory.try_clone()?);
        file.set_len(bytes)?;
        seal_size(memory.as_fd())?;
        let control = Arc::new(Mapped::of(memory.as_fd(), 0, CONTROL_BYTES, false)?);
        let tape_bytes = tape.map(File::metadata).transpose()?.map_or(0, |data| data.len());
        let tape = tape.map(File::try_clone).transpose()?.map(OwnedFd::from);
        let rings = std::iter::repeat_with(|| None).take(THREADS).collect();
        let channel = Channel { memory, tape, control, rings, tails: vec![0; THREADS], frame_capacity: frames };
        let mut names = Vec::new();
        for name in excluded {
            names.extend_from_slice(name);
            names.push(0);
        }
        let control = channel.control();
        if control.excluded.write(&names) as usize != names.len() {
            return Err(io::Error::other("the names of excluded objects take more than 2,048 bytes"));
        }
        control.magic.store(MAGIC, Ordering::Relaxed);
        control.mode.store(mode, Ordering::Relaxed);
        control.outside_pid.store(std::process::id() as i32, Ordering::Relaxed);
        control.tape_bytes.store(tape_bytes, Ordering::Relaxed);
        control.frame_capacity.store(frames, Ordering::Relaxed);
        control.processes_used.store(1, Ordering::Relaxed);
        Ok(channel)
    }

    /// The control area, for a thread that answers requests beside the one that reads the rings.
    fn shared_control(&self) -> Arc<Mapped> {
        Arc::clone(&self.control)
    }

    /// Bytes from one window to the next, 0 without windows.
    fn window_stride(&self) -> u64 {
        self.control().window_stride.load(Ordering::Relaxed)
    }

    fn control(&self) -> &Control {
        self.control.control()
    }

    /// Descriptors of channel and tape, for the launcher.
    pub(crate) fn descriptors(&self) -> (BorrowedFd<'_>, Option<BorrowedFd<'_>>) {
        (self.memory.as_fd(), self.tape.as_ref().map(|tape| tape.as_fd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_channel::{FAILURES, PROCESSES, RING_BYTES, ReportState, ring_offset};

    fn channel() -> Channel {
        Channel::to_record(&[], RecordScope::default()).expect("the kernel has memory")
    }

    fn drained(channel: &mut Channel) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        match channel.drain(|_, _, _, run| run.append_to(&mut bytes)) {
            Ok(_) => Ok(bytes),
            Err(DrainError::Fault(fault)) => Err(fault),
            Err(DrainError::System(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn neither_the_size_nor_the_content_of_shared_memory_can_be_changed() {
        let channel = channel();
        let memory = File::from(channel.memory.try_clone().expect("a descriptor"));
        for bytes in [0, 1 << 40] {
            assert!(memory.set_len(bytes).is_err());
        }
        let tape = Channel::tape_file().expect("memory");
        io::Write::write_all(&mut &tape, b"tape").expect("it grows until it is complete");
        Channel::seal_tape(&tape).expect("it is one of ours");
        let library = File::from(Channel::library_file(b"image").expect("memory"));
        for file in [&tape, &library] {
            assert!(std::os::unix::fs::FileExt::write_at(file, b"x", 0).is_err());
            assert!(file.set_len(0).is_err());
        }
    }

    #[test]
    fn what_a_ring_holds_is_handed_out_once_whatever_its_writer_says() {
        let mut channel = channel();
        let ring = Mapped::of(channel.memory.as_fd(), ring_offset(0), RING_BYTES, true).expect("memory");
        ring.put(0, b"records");
        channel.control().thread_slots_used.store(u32::MAX, Ordering::Relaxed);
        channel.control().threads[0].head.0.store(7, Ordering::Relaxed);
        assert_eq!(drained(&mut channel), Ok(b"records".to_vec()));
        channel.control().threads[0].tail.0.store(0, Ordering::Relaxed);
        assert_eq!(drained(&mut channel), Ok(Vec::new()));
    }

    #[test]
    fn places_that_no_recorder_writes_are_faults() {
        for (head, process) in [(RING_BYTES as u64 + 1, 0), (u64::MAX, 0), (8, PROCESSES as u32)] {
            let mut channel = channel();
            channel.control().thread_slots_used.store(3, Ordering::Relaxed);
            channel.control().threads[2].head.0.store(head, Ordering::Relaxed);
            channel.control().threads[2].process.store(process, Ordering::Relaxed);
            let fault = drained(&mut channel).expect_err("nonsense");
            assert!(fault.slot == 2 && fault.found > fault.limit, "{fault}");
        }
    }

    #[test]
    fn counts_beyond_what_there_is_are_cut() {
        let tape = Channel::tape_file().expect("memory");
        let channel = Channel::to_replay(&[], Tapes::Whole(&tape), 3, 1, false, PastLibc::default()).expect("memory");
        let control = channel.control();
        control.frames.store(u64::MAX, Ordering::Relaxed);
        control.frame_times.store(u64::MAX, Ordering::Relaxed);
        control.ended_counts.records.store(u64::MAX, Ordering::Relaxed);
        control.threads[0].counts.records.store(u64::MAX, Ordering::Relaxed);
        control.thread_slots_used.store(u32::MAX, Ordering::Relaxed);
        control.processes_used.store(u32::MAX, Ordering::Relaxed);
        control.report.state.store(ReportState::Complete, Ordering::Relaxed);
        for length in [&control.report.expected_len, &control.report.found_len, &control.report.callers] {
            length.store(u32::MAX, Ordering::Relaxed);
        }
        control.failures_used.store(u32::MAX, Ordering::Relaxed);
        control.failures[0].state.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(channel.failures(), (Vec::new(), u32::MAX));
        assert_eq!(channel.frame_times().expect("mapped").len(), 3);
        assert_eq!(channel.processes().len(), PROCESSES);
        assert!(!channel.ended(usize::from(u16::MAX)));
        let _ = (channel.progress(), channel.counted(), channel.threads(), channel.divergence());
    }

    #[test]
    fn the_last_failures_are_handed_out_in_their_order() {
        let tape = Channel::tape_file().expect("memory");
        let channel = Channel::to_replay(&[], Tapes::Whole(&tape), 3, 1, false, PastLibc::default()).expect("memory");
        for number in 0..FAILURES as u32 + 2 {
            let place = &channel.control().failures[number as usize % FAILURES];
            place.name.write_text(b"chmod");
            place.record.store(number.into(), Ordering::Relaxed);
            place.path_len.store(u32::MAX, Ordering::Relaxed);
            place.state.store(number + 1, Ordering::Relaxed);
            channel.control().failures_used.store(number + 1, Ordering::Relaxed);
        }
        let (failures, all) = channel.failures();
        assert_eq!((failures.len(), all as usize), (FAILURES, FAILURES + 2));
        assert_eq!((failures[0].record, failures[FAILURES - 1].record), (2, FAILURES as u64 + 1));
        assert_eq!((failures[0].name.as_str(), failures[0].path.len()), ("chmod", 184));
    }
}
