//! The channel as the process outside holds it.

use crate::channel::{
    CONTROL_BYTES, Control, FRAMES_OFFSET, FrameTime, MAGIC, Mode, NO_THREAD, PROCESSES, RING_BYTES, Report, Stop,
    THREADS,
};
use crate::ticks::ticks;
use std::ffi::{CString, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
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

impl Mapped {
    fn of(fd: BorrowedFd, offset: usize, length: usize, twice: bool) -> io::Result<Mapped> {
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
    control: Mapped,
    rings: Vec<Option<Mapped>>,
}

/// A file in memory that an unrelated process can map.
fn memory_file(name: &str) -> io::Result<OwnedFd> {
    let name = CString::new(name).map_err(io::Error::other)?;
    // SAFETY: the name is a C string; the descriptor is new and ours.
    unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
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
        // SAFETY: nobody else has the mapping yet.
        unsafe {
            (*channel.control_ptr()).follow_exec = u32::from(reach.follow_exec);
            (*channel.control_ptr()).side_by_side = u32::from(reach.threads_side_by_side);
        }
        Ok(channel)
    }

    /// A channel for a replay of `tape`, with room for the times of `frames` frames. With
    /// `tolerant`, outputs of equal length that differ are handed out by [`Channel::drain`].
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn to_replay(excluded: &[&[u8]], tape: &File, frames: u64, tolerant: bool) -> io::Result<Channel> {
        let channel = Channel::new(Mode::Replay, excluded, Some(tape), frames)?;
        // SAFETY: nobody else has the mapping yet.
        unsafe { (*channel.control_ptr()).tolerant = u32::from(tolerant) };
        Ok(channel)
    }

    /// An empty file in memory, to build a tape in.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn tape_file() -> io::Result<File> {
        memory_file("prony-tape").map(File::from)
    }

    /// A file in memory that holds the library's image, to be preloaded.
    ///
    /// # Errors
    /// When the kernel refuses one or is out of memory.
    pub fn library_file(image: &[u8]) -> io::Result<OwnedFd> {
        let fd = memory_file("prony-preload")?;
        let mut file = File::from(fd);
        io::Write::write_all(&mut file, image)?;
        Ok(file.into())
    }

    fn new(mode: Mode, excluded: &[&[u8]], tape: Option<&File>, frames: u64) -> io::Result<Channel> {
        let memory = memory_file("prony-channel")?;
        let bytes = FRAMES_OFFSET + (frames as usize * size_of::<FrameTime>()).next_multiple_of(4096).max(4096);
        let file = File::from(memory.try_clone()?);
        file.set_len(bytes as u64)?;
        let control = Mapped::of(memory.as_fd(), 0, CONTROL_BYTES, false)?;
        let tape_bytes = tape.map(File::metadata).transpose()?.map_or(0, |data| data.len());
        let tape = tape.map(File::try_clone).transpose()?.map(OwnedFd::from);
        let rings = std::iter::repeat_with(|| None).take(THREADS).collect();
        let channel = Channel { memory, tape, control, rings };
        // SAFETY: the mapping is as large as the type, zeroed, and not yet shared.
        let control = unsafe { &mut *channel.control_ptr() };
        control.magic = MAGIC;
        control.mode = mode as u32;
        control.outside_pid = std::process::id() as i32;
        control.tape_bytes = tape_bytes;
        control.frame_capacity = frames;
        control.processes_used.store(1, Ordering::Relaxed);
        let mut at = 0;
        for name in excluded {
            let end = at + name.len() + 1;
            if end > control.excluded.len() {
                return Err(io::Error::other("the names of excluded objects take more than 2,048 bytes"));
            }
            control.excluded[at..end - 1].copy_from_slice(name);
            at = end;
        }
        Ok(channel)
    }

    fn control_ptr(&self) -> *mut Control {
        self.control.start.cast()
    }

    fn control(&self) -> &Control {
        // SAFETY: as large as the type and mapped as long as `self`; fields that the server
        // changes while it runs are atomics, or are read only after an atomic says so.
        unsafe { &*self.control_ptr() }
    }

    /// Descriptors of channel and tape, for the launcher.
    pub(crate) fn descriptors(&self) -> (BorrowedFd<'_>, Option<BorrowedFd<'_>>) {
        (self.memory.as_fd(), self.tape.as_ref().map(|tape| tape.as_fd()))
    }

    /// Hands out what the threads have written since the last time, in runs of whole or cut
    /// records: index of the process, slot of the thread, bytes. Returns how many bytes it was.
    pub fn drain(&mut self, mut each: impl FnMut(u32, usize, &[u8])) -> io::Result<usize> {
        let used = self.control().thread_slots_used.load(Ordering::Acquire) as usize;
        let mut total = 0;
        for place in 0..used.min(THREADS) {
            let slot = &self.control().threads[place];
            let head = slot.head.0.load(Ordering::Acquire);
            let tail = slot.tail.0.load(Ordering::Relaxed);
            if head == tail {
                continue;
            }
            let process = slot.process.load(Ordering::Relaxed);
            if self.rings[place].is_none() {
                let offset = CONTROL_BYTES + place * RING_BYTES;
                self.rings[place] = Some(Mapped::of(self.memory.as_fd(), offset, RING_BYTES, true)?);
            }
            let Some(ring) = &self.rings[place] else { continue };
            let length = ((head - tail) as usize).min(RING_BYTES);
            // SAFETY: the writer has published these bytes and leaves them alone until the tail
            // moves past them; the double mapping makes them one run.
            let bytes = unsafe { std::slice::from_raw_parts(ring.start.add(tail as usize & (RING_BYTES - 1)), length) };
            each(process, place, bytes);
            self.control().threads[place].tail.0.store(head, Ordering::Release);
            total += length;
        }
        Ok(total)
    }

    /// The process that waits to have its objects searched for raw system calls, if one does.
    pub fn scan_wanted(&self) -> Option<i32> {
        let control = self.control();
        (control.scan.load(Ordering::Acquire) == 1).then(|| control.scan_pid.load(Ordering::Relaxed))
    }

    /// Answers the process that waits for the search.
    pub fn scan_done(&self, found: bool) {
        let word = &self.control().scan;
        word.store(if found { 3 } else { 2 }, Ordering::Release);
        // SAFETY: wakes whoever sleeps on the word.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    /// True once the library has come up in the server.
    pub fn attached(&self) -> bool {
        self.control().processes[0].state.load(Ordering::Acquire) != 0
    }

    /// Kernel's ids of all processes that came up, by index; 0 where there is none.
    pub fn processes(&self) -> Vec<i32> {
        let used = (self.control().processes_used.load(Ordering::Acquire) as usize).min(PROCESSES);
        self.control().processes[..used].iter().map(|process| process.pid.load(Ordering::Relaxed)).collect()
    }

    /// True if process `index` ended its story itself: by `exit`, or at the end of its records.
    pub fn ended(&self, index: usize) -> bool {
        self.control().processes[index].state.load(Ordering::Acquire) == 2
    }

    /// Changes whenever a replay gets on.
    pub fn progress(&self) -> u64 {
        self.counted().records + self.control().frames.load(Ordering::Relaxed)
    }

    /// What all threads have counted.
    pub fn counted(&self) -> Counted {
        let used = (self.control().thread_slots_used.load(Ordering::Acquire) as usize).min(THREADS);
        let ended = std::iter::once(&self.control().ended_counts);
        let counts: Vec<&crate::channel::Counts> =
            ended.chain(self.control().threads[..used].iter().map(|slot| &slot.counts)).collect();
        let sum = |pick: fn(&crate::channel::Counts) -> &AtomicU64| {
            counts.iter().map(|counts| pick(counts).load(Ordering::Relaxed)).sum()
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
        let used = self.control().processes_used.load(Ordering::Acquire) as usize;
        let processes = &self.control().processes[..used.min(PROCESSES)];
        processes.iter().map(|process| u64::from(process.overlapped.load(Ordering::Relaxed))).sum()
    }

    /// What each live thread of a replay is doing.
    pub fn threads(&self) -> Vec<ThreadState> {
        let used = (self.control().thread_slots_used.load(Ordering::Acquire) as usize).min(THREADS);
        let live = self.control().threads[..used].iter().filter(|slot| {
            let process = slot.process.load(Ordering::Relaxed) as usize % PROCESSES;
            slot.state.load(Ordering::Acquire) == 1
                && slot.thread.load(Ordering::Relaxed) != NO_THREAD
                && !self.ended(process)
        });
        live.map(|slot| {
            let process = slot.process.load(Ordering::Relaxed);
            ThreadState {
                process,
                thread: slot.thread.load(Ordering::Relaxed),
                tid: slot.tid.load(Ordering::Relaxed),
                waiting: slot.waiting.load(Ordering::Relaxed) == 1,
                finished: slot.call.load(Ordering::Relaxed) == u32::MAX,
                record: slot.record.load(Ordering::Relaxed),
                turn: slot.turn.load(Ordering::Relaxed),
                now: self.control().processes[process as usize % PROCESSES].order.load(Ordering::Relaxed),
            }
        })
        .collect()
    }

    /// Times of the frames so far.
    pub fn frames(&self) -> io::Result<Vec<FrameTime>> {
        let count = self.control().frames.load(Ordering::Acquire) as usize;
        if count == 0 {
            return Ok(Vec::new());
        }
        let bytes = (count * size_of::<FrameTime>()).next_multiple_of(4096);
        let mapped = Mapped::of(self.memory.as_fd(), FRAMES_OFFSET, bytes, false)?;
        // SAFETY: the player published `count` entries before the count.
        Ok(unsafe { std::slice::from_raw_parts(mapped.start.cast::<FrameTime>(), count) }.to_vec())
    }

    /// The first divergence, once it is complete.
    pub fn divergence(&self) -> Option<Divergence> {
        let report = &self.control().report;
        (report.state.load(Ordering::Acquire) == 2).then(|| Divergence::of(report))
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

/// Facts of a divergence as the player wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// What happened.
    pub class: Stop,
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
        let cut = |bytes: &[u8], length: u32| bytes[..(length as usize).min(bytes.len())].to_vec();
        let text =
            |bytes: &[u8]| String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)).into();
        Divergence {
            class: Stop::from_number(report.class).unwrap_or(Stop::Order),
            process: report.process,
            thread: report.thread,
            op: report.op as u16,
            fd: report.fd,
            record: report.record,
            byte: (report.byte != u64::MAX).then_some(report.byte),
            expected_bytes: report.expected_bytes,
            found_bytes: report.found_bytes,
            window_start: report.window_start,
            expected: cut(&report.expected, report.expected_len),
            found: cut(&report.found, report.found_len),
            detail: text(&cut(&report.detail, report.detail_len)),
            callers: report.caller.iter().take(report.callers as usize).map(|caller| text(caller)).collect(),
        }
    }
}
