//! The channel as the process outside holds it.
//!
//! The server writes to all of it, and nothing keeps it from writing nonsense. So its size is sealed, every value is
//! read once, bytes are copied before anybody looks into them, and what decides how much is read is kept here.

use prony_channel::ticks;
use prony_channel::{
    AT_END, CONTROL_BYTES, Control, FAILURES, FRAMES_OFFSET, Failure, FrameTime, MAGIC, Mode, NO_THREAD, PROCESSES,
    Process, ProcessState, RING_BYTES, Report, ReportState, SlotState, Stop, THREADS, Waiting, What, ring_offset,
    windows_bytes,
};
use std::ffi::{CString, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Memory shared with a server, unmapped when dropped.
#[derive(Debug)]
pub struct Mapped {
    start: *mut u8,
    length: usize,
}

// SAFETY: the mapping belongs to the value alone; what others may change in it is atomic.
unsafe impl Send for Mapped {}
// SAFETY: as for `Send`; shared references lead to atomics only.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Its first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn of(fd: BorrowedFd, offset: u64, length: usize, twice: bool) -> io::Result<Mapped> {
        let total = if twice { 2 * length } else { length };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh range is reserved, then both halves are mapped over it.
        unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                total,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let mapped = Mapped { start: start.cast(), length: total };
            for half in 0..total / length {
                let at = start.byte_add(half * length);
                let flags = libc::MAP_SHARED | libc::MAP_FIXED;
                if libc::mmap(at, length, protection, flags, fd.as_raw_fd(), offset as i64) == libc::MAP_FAILED {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(mapped)
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `of` with this length; no reference outlives the value.
        unsafe { libc::munmap(self.start.cast::<c_void>(), self.length) };
    }
}

/// A reading of the record clock beside the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    ticks: u64,
    ns: u64,
}

impl Moment {
    /// Now.
    pub fn now() -> Moment {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let before = ticks();
        // SAFETY: writes the one timespec.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        let after = ticks();
        Moment { ticks: before + (after - before) / 2, ns: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 }
    }

    /// Nanoseconds from this moment to `at` ticks, at the rate seen between this moment and `other`.
    pub fn ns_until(&self, at: u64, other: &Moment) -> u64 {
        let ticks = other.ticks.saturating_sub(self.ticks).max(1);
        let ns = other.ns.saturating_sub(self.ns);
        (u128::from(at.saturating_sub(self.ticks)) * u128::from(ns) / u128::from(ticks)) as u64
    }

    /// Nanoseconds between two moments.
    pub fn ns_since(&self, earlier: &Moment) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }
}

/// One end of the channel to a server under preload.
#[derive(Debug)]
pub struct Channel {
    memory: OwnedFd,
    tape: Option<OwnedFd>,
    control: Arc<Mapped>,
    rings: Vec<Option<Mapped>>,
    /// Bytes read of each ring. What the shared memory says of it is for the writer.
    tails: Vec<u64>,
    frame_capacity: u64,
}

/// Where a replay has its records from.
#[derive(Debug, Clone, Copy)]
pub enum Tapes<'a> {
    /// All of them lie in memory that replays share.
    Whole(&'a File),
    /// Each thread has a window, at most this long, which a [`crate::Feeder`] fills.
    Windows {
        /// Bytes of the longest window; a power of two, at least [`prony_channel::SMALLEST_WINDOW`].
        longest: u64,
    },
}

/// A file in memory that an unrelated process can map.
fn memory_file(name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name).map_err(io::Error::other)?;
    // SAFETY: the name is a C string; the descriptor is new and ours.
    unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Seals of memory that both sides write: it keeps its size, as reading behind the end of a file that was cut ends a
/// process.
const KEEPS_SIZE: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
/// Seals of memory that servers only read, or change in a copy of their own: another one may get it after them.
const KEEPS_CONTENT: i32 = KEEPS_SIZE | libc::F_SEAL_WRITE;

fn seal(memory: BorrowedFd, seals: i32) -> io::Result<()> {
    // SAFETY: acts on the descriptor alone.
    match unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Something in the shared memory that the library does not write: the server did, by mistake or on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The value.
    pub what: &'static str,
    /// Slot of the thread that it belongs to.
    pub slot: usize,
    /// The largest value it can have.
    pub limit: u64,
    /// The value it has.
    pub found: u64,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Fault { what, slot, limit, found } = self;
        write!(f, "{what} in slot {slot} of the shared memory: expected at most {limit}, found {found}")
    }
}

impl std::error::Error for Fault {}

/// Why the rings could not be read.
#[derive(Debug)]
pub enum DrainError {
    /// The system said so.
    System(io::Error),
    /// They hold what no recorder writes.
    Fault(Fault),
}

impl From<Fault> for DrainError {
    fn from(fault: Fault) -> DrainError {
        DrainError::Fault(fault)
    }
}

/// Bytes in the ring of a thread, which the thread may still change: they are copied before they are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    start: *const u8,
    length: usize,
    ring: std::marker::PhantomData<&'a Mapped>,
}

impl Run<'_> {
    /// Copies them behind what is there.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.reserve(self.length);
        // SAFETY: the ring is mapped twice in a row, so that as many bytes as it holds lie behind `start`, and there is
        // room for them behind `bytes`. Whatever is copied is a valid byte.
        unsafe {
            self.start.copy_to_nonoverlapping(bytes.as_mut_ptr().add(bytes.len()), self.length);
            bytes.set_len(bytes.len() + self.length);
        }
    }
}

/// How far a recording goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// Children that run another program stay in the recording.
    pub follow_exec: bool,
    /// The threads of a process run side by side, and only their calls are ordered.
    pub threads_side_by_side: bool,
}

impl Channel {
    /// A channel for a recording. `excluded`: beginnings of the file names of objects whose calls
    /// are not the server's.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn to_record(excluded: &[&[u8]], reach: Reach) -> io::Result<Channel> {
        let channel = Channel::new(Mode::Record, excluded, None, 0)?;
        let control = channel.control();
        control.follow_exec.store(reach.follow_exec, Ordering::Relaxed);
        control.side_by_side.store(reach.threads_side_by_side, Ordering::Relaxed);
        control.processor.store(cfg!(target_arch = "x86_64"), Ordering::Relaxed);
        Ok(channel)
    }

    /// A channel for a replay of `tapes`, with room for the times of `frames` frames, `together` in an entry. With
    /// `tolerant`, outputs of equal length that differ are handed out by [`Channel::drain`]. With
    /// `processor`, instructions that ask it are answered from the tape.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn to_replay(
        excluded: &[&[u8]],
        tapes: Tapes,
        frames: u64,
        together: u64,
        tolerant: bool,
        processor: bool,
    ) -> io::Result<Channel> {
        let entries = frames.div_ceil(together.max(1));
        let channel = match tapes {
            Tapes::Whole(tape) => Channel::new(Mode::Replay, excluded, Some(tape), entries)?,
            Tapes::Windows { longest } => {
                let windows = File::from(memory_file("prony-windows")?);
                windows.set_len(windows_bytes(longest))?;
                seal(windows.as_fd(), KEEPS_SIZE)?;
                let channel = Channel::new(Mode::Replay, excluded, Some(&windows), entries)?;
                channel.control().tape_bytes.store(0, Ordering::Relaxed);
                channel.control().window_stride.store(longest, Ordering::Relaxed);
                channel
            }
        };
        let control = channel.control();
        control.frames_in_each.store(together, Ordering::Relaxed);
        control.tolerant.store(tolerant, Ordering::Relaxed);
        control.processor.store(processor, Ordering::Relaxed);
        Ok(channel)
    }

    /// An empty file in memory, to build a tape in.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn tape_file() -> io::Result<File> {
        memory_file("prony-tape").map(File::from)
    }

    /// The tape is complete: from here on nobody changes it.
    ///
    /// # Errors
    /// When the kernel refuses, as for a file of another kind.
    pub fn seal_tape(tape: &File) -> io::Result<()> {
        seal(tape.as_fd(), KEEPS_CONTENT)
    }

    /// A file in memory that holds the library's image, to be preloaded.
    ///
    /// # Errors
    /// When the kernel refuses one or is out of memory.
    pub fn library_file(image: &[u8]) -> io::Result<OwnedFd> {
        let fd = memory_file("prony-preload")?;
        let mut file = File::from(fd);
        io::Write::write_all(&mut file, image)?;
        seal(file.as_fd(), KEEPS_CONTENT)?;
        Ok(file.into())
    }

    fn new(mode: Mode, excluded: &[&[u8]], tape: Option<&File>, frames: u64) -> io::Result<Channel> {
        let memory = memory_file("prony-channel")?;
        let bytes = FRAMES_OFFSET + (frames * size_of::<FrameTime>() as u64).next_multiple_of(4096).max(4096);
        let file = File::from(memory.try_clone()?);
        file.set_len(bytes)?;
        seal(memory.as_fd(), KEEPS_SIZE)?;
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

    /// The control area, for whoever answers requests beside the one who reads the rings.
    pub(crate) fn shared_control(&self) -> Arc<Mapped> {
        Arc::clone(&self.control)
    }

    /// Bytes from one window to the next, 0 without windows.
    pub(crate) fn window_stride(&self) -> u64 {
        self.control().window_stride.load(Ordering::Relaxed)
    }

    fn control(&self) -> &Control {
        // SAFETY: as large as the type and mapped as long as `self`; all of it is atomics.
        unsafe { &*self.control.start.cast() }
    }

    /// Descriptors of channel and tape, for the launcher.
    pub(crate) fn descriptors(&self) -> (BorrowedFd<'_>, Option<BorrowedFd<'_>>) {
        (self.memory.as_fd(), self.tape.as_ref().map(|tape| tape.as_fd()))
    }

    /// Hands out what the threads have written since the last time, in runs of whole or cut
    /// records: index of the process, slot of the thread, bytes. Returns how many bytes it was.
    ///
    /// # Errors
    /// When a ring cannot be mapped, or the server has written over what the library says of it.
    pub fn drain(&mut self, mut each: impl FnMut(u32, usize, Run)) -> Result<usize, DrainError> {
        let used = self.control().thread_slots_used.load(Ordering::Acquire) as usize;
        let mut total = 0;
        for place in 0..used.min(THREADS) {
            let slot = &self.control().threads[place];
            let head = slot.head.0.load(Ordering::Acquire);
            let tail = self.tails[place];
            if head == tail {
                continue;
            }
            let fault = |what, limit: u64, found| Fault { what, slot: place, limit, found };
            let length = head.wrapping_sub(tail);
            if length > RING_BYTES as u64 {
                return Err(fault("bytes of a ring", RING_BYTES as u64, length).into());
            }
            let process = slot.process.load(Ordering::Relaxed);
            if process as usize >= PROCESSES {
                return Err(fault("index of a process", PROCESSES as u64 - 1, process.into()).into());
            }
            if self.rings[place].is_none() {
                let ring = Mapped::of(self.memory.as_fd(), ring_offset(place), RING_BYTES, true)
                    .map_err(DrainError::System)?;
                self.rings[place] = Some(ring);
            }
            let Some(ring) = &self.rings[place] else { continue };
            // SAFETY: the place lies in the first of the two mappings.
            let start = unsafe { ring.start.add(tail as usize & (RING_BYTES - 1)) };
            each(process, place, Run { start, length: length as usize, ring: std::marker::PhantomData });
            self.tails[place] = head;
            self.control().threads[place].tail.0.store(head, Ordering::Release);
            total += length as usize;
        }
        Ok(total)
    }

    /// True once the library has come up in the server.
    pub fn attached(&self) -> bool {
        !self.control().processes[0].state.is(ProcessState::NotStarted, Ordering::Acquire)
    }

    /// Kernel's ids of all processes that came up, by index; 0 where there is none.
    pub fn processes(&self) -> Vec<i32> {
        self.slots().iter().map(|process| process.pid.load(Ordering::Relaxed)).collect()
    }

    /// True if process `index` ended its story itself: by `exit`, or at the end of its records.
    pub fn ended(&self, index: usize) -> bool {
        self.control()
            .processes
            .get(index)
            .is_some_and(|process| process.state.is(ProcessState::Ended, Ordering::Acquire))
    }

    /// Changes whenever a replay gets on.
    pub fn progress(&self) -> u64 {
        self.counted().records.wrapping_add(self.control().frames.load(Ordering::Relaxed))
    }

    /// What all threads have counted.
    pub fn counted(&self) -> Counted {
        let used = (self.control().thread_slots_used.load(Ordering::Acquire) as usize).min(THREADS);
        let ended = std::iter::once(&self.control().ended_counts);
        let counts: Vec<&prony_channel::Counts> =
            ended.chain(self.control().threads[..used].iter().map(|slot| &slot.counts)).collect();
        let sum = |pick: fn(&prony_channel::Counts) -> &AtomicU64| {
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

    /// How often a recorded thread ran on while another was let in.
    pub fn overlapped(&self) -> u64 {
        self.slots().iter().map(|process| u64::from(process.overlapped.load(Ordering::Relaxed))).sum()
    }

    /// How long recorded threads were ready and waited for each other, all of them together.
    pub fn threads_waited(&self) -> Duration {
        Duration::from_nanos(self.slots().iter().map(|process| process.waited_ns.load(Ordering::Relaxed)).sum())
    }

    /// Those of the processes so far.
    fn slots(&self) -> &[Process] {
        let used = self.control().processes_used.load(Ordering::Acquire) as usize;
        &self.control().processes[..used.min(PROCESSES)]
    }

    /// What each live thread of a replay is doing.
    pub fn threads(&self) -> Vec<ThreadState> {
        let used = (self.control().thread_slots_used.load(Ordering::Acquire) as usize).min(THREADS);
        let live = self.control().threads[..used].iter().filter(|slot| {
            let process = slot.process.load(Ordering::Relaxed) as usize % PROCESSES;
            slot.state.is(SlotState::InUse, Ordering::Acquire)
                && slot.thread.load(Ordering::Relaxed) != NO_THREAD
                && !self.ended(process)
        });
        live.map(|slot| {
            let process = slot.process.load(Ordering::Relaxed);
            ThreadState {
                process,
                thread: slot.thread.load(Ordering::Relaxed),
                tid: slot.tid.load(Ordering::Relaxed),
                waiting: slot.waiting.is(Waiting::Turn, Ordering::Relaxed),
                finished: slot.call.load(Ordering::Relaxed) == AT_END,
                record: slot.record.load(Ordering::Relaxed),
                turn: slot.turn.load(Ordering::Relaxed),
                now: self.control().processes[process as usize % PROCESSES].order.load(Ordering::Relaxed),
            }
        })
        .collect()
    }

    /// Frames so far.
    pub fn frames(&self) -> u64 {
        self.control().frames.load(Ordering::Acquire)
    }

    /// Times of the frames so far, of as many together as [`Channel::to_replay`] was told.
    ///
    /// # Errors
    /// When they cannot be mapped.
    pub fn frame_times(&self) -> io::Result<Vec<FrameTime>> {
        // The player stops counting where there is no more room.
        let count = self.control().frame_times.load(Ordering::Acquire).min(self.frame_capacity) as usize;
        if count == 0 {
            return Ok(Vec::new());
        }
        let bytes = (count * size_of::<FrameTime>()).next_multiple_of(4096);
        let mapped = Mapped::of(self.memory.as_fd(), FRAMES_OFFSET, bytes, false)?;
        let frames = mapped.start.cast::<FrameTime>();
        // SAFETY: as many entries lie in the mapping, and any bytes make one.
        Ok((0..count).map(|frame| unsafe { frames.add(frame).read_volatile() }).collect())
    }

    /// What the build prints through stdio comes out line by line, so that nothing of it is lost when the replay ends.
    pub fn print_line_by_line(&self) {
        self.control().line_by_line.store(true, Ordering::Relaxed);
    }

    /// The thread of a replay that was passed last while it was still in its turn, if [`Counted::overlapped`] says that any
    /// was: process, thread, and the record that it was answered with last.
    pub fn passed(&self) -> (u32, u32, u64) {
        let control = self.control();
        (
            control.passed_process.load(Ordering::Relaxed),
            control.passed_thread.load(Ordering::Relaxed),
            control.passed_record.load(Ordering::Relaxed),
        )
    }

    /// Real calls that failed in a replay, each the first time in its process, in their order; the last
    /// [`FAILURES`] of them. With it: how many there were.
    pub fn failures(&self) -> (Vec<FailedCall>, u32) {
        let used = self.control().failures_used.load(Ordering::Acquire);
        let numbers = used.saturating_sub(FAILURES as u32)..used;
        let places = numbers.map(|number| (number, number as usize % FAILURES));
        let failures = places.filter_map(|(number, place)| {
            let failure = &self.control().failures[place];
            (failure.state.load(Ordering::Acquire) == number.wrapping_add(1)).then(|| FailedCall::of(failure))
        });
        (failures.collect(), used)
    }

    /// The first divergence, once it is complete.
    pub fn divergence(&self) -> Option<Divergence> {
        let report = &self.control().report;
        report.state.is(ReportState::Complete, Ordering::Acquire).then(|| Divergence::of(report))
    }

    /// Sleeps a little, without missing what is already there.
    pub fn pause(time: Duration) {
        std::thread::sleep(time);
    }
}

/// What a replay has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Records answered.
    pub records: u64,
    /// Outputs compared.
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
pub struct ThreadState {
    /// Index of its process.
    pub process: u32,
    /// Thread within the process.
    pub thread: u32,
    /// Kernel's thread id.
    pub tid: i32,
    /// It waits for its turn.
    pub waiting: bool,
    /// It has no records left.
    pub finished: bool,
    /// The record it was answered with last, or stands before while it waits.
    pub record: u64,
    /// The turn it waits for.
    pub turn: u64,
    /// The turn its process has reached.
    pub now: u64,
}

/// A real call that failed in a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCall {
    /// Index of the process.
    pub process: u32,
    /// Thread within the process.
    pub thread: u32,
    /// Its C name.
    pub name: String,
    /// The path that it was about, cut at 184 bytes; empty for none.
    pub path: Vec<u8>,
    /// The descriptor that it was about, or -1.
    pub fd: i32,
    /// What it failed with.
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

/// The first `length` bytes, or all where it says more.
fn cut(bytes: &[u8], length: u32) -> Vec<u8> {
    bytes[..(length as usize).min(bytes.len())].to_vec()
}

/// What stands before the first zero byte.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)).into()
}

/// Facts of a divergence as the player wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// What happened.
    pub class: Stop,
    /// What of it.
    pub what: What,
    /// The status that the build ended with, if it called `exit`.
    pub status: i32,
    /// Index of the process.
    pub process: u32,
    /// Thread within the process.
    pub thread: u32,
    /// Number of the call the build made.
    pub op: u16,
    /// Its descriptor.
    pub fd: i32,
    /// Record of the process that was expected.
    pub record: u64,
    /// First byte that differs.
    pub byte: Option<u64>,
    /// Bytes of the recorded output.
    pub expected_bytes: u64,
    /// Bytes the build sent.
    pub found_bytes: u64,
    /// Where the two windows start.
    pub window_start: u64,
    /// The recorded bytes in the window.
    pub expected: Vec<u8>,
    /// The bytes of the build in the window.
    pub found: Vec<u8>,
    /// A path or a short text.
    pub detail: String,
    /// Callers, innermost first.
    pub callers: Vec<String>,
}

impl Divergence {
    fn of(report: &Report) -> Divergence {
        let byte = report.byte.load(Ordering::Relaxed);
        let callers = report.caller.iter().take(report.callers.load(Ordering::Relaxed) as usize);
        Divergence {
            class: report.class.load(Ordering::Relaxed).unwrap_or(Stop::Order),
            what: report.what.load(Ordering::Relaxed).unwrap_or(What::Call),
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
            detail: text(&cut(&report.detail.read(), report.detail_len.load(Ordering::Relaxed))),
            callers: callers.map(|caller| text(&caller.read())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel() -> Channel {
        Channel::to_record(&[], Reach::default()).expect("the kernel has memory")
    }

    fn drained(channel: &mut Channel) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        match channel.drain(|_, _, run| run.append_to(&mut bytes)) {
            Ok(_) => Ok(bytes),
            Err(DrainError::Fault(fault)) => Err(fault),
            Err(DrainError::System(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn nobody_changes_the_size_of_what_a_server_holds_nor_the_content_of_what_another_gets() {
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
        // SAFETY: the ring is twice as long as it says.
        unsafe { ring.start.copy_from(b"records".as_ptr(), 7) };
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
        let channel = Channel::to_replay(&[], Tapes::Whole(&tape), 3, 1, false, false).expect("memory");
        let control = channel.control();
        control.frames.store(u64::MAX, Ordering::Relaxed);
        control.frame_times.store(u64::MAX, Ordering::Relaxed);
        control.ended_counts.records.store(u64::MAX, Ordering::Relaxed);
        control.threads[0].counts.records.store(u64::MAX, Ordering::Relaxed);
        control.thread_slots_used.store(u32::MAX, Ordering::Relaxed);
        control.processes_used.store(u32::MAX, Ordering::Relaxed);
        control.report.state.store(ReportState::Complete, Ordering::Relaxed);
        for length in [&control.report.expected_len, &control.report.detail_len, &control.report.callers] {
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
        let channel = Channel::to_replay(&[], Tapes::Whole(&tape), 3, 1, false, false).expect("memory");
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

    #[test]
    fn only_descendants_are_taken_for_servers() {
        use crate::launch::Launched;
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep is everywhere");
        let pid = child.id() as i32;
        assert!(Launched::runs(pid) && !Launched::runs(1) && !Launched::runs(-1) && !Launched::runs(0));
        Launched::signal_process(1, 0);
        Launched::signal_process(pid, libc::SIGKILL);
        assert!(!child.wait().expect("it is ours").success());
        assert!(!Launched::runs(pid));
    }
}
