//! Report of a divergence: its facts go into the control area, then the process ends.

use super::halt;
use super::state::{control, index};
use super::thread::{PASS_THROUGH, Thread};
use prony_channel::{CALLER_BYTES, OP_MASK, Report, ReportState, Stop, StopKind, WINDOW_BYTES};
use prony_demo::{Head, Op};
use std::ffi::{CStr, c_void};
use std::ptr::null;
use std::sync::atomic::Ordering;

/// Expected and found values of a divergence.
pub struct Finding<'a> {
    op: Op,
    fd: i32,
    record: u64,
    byte: Option<usize>,
    expected: &'a [u8],
    found: [u8; WINDOW_BYTES],
    found_len: usize,
    expected_bytes: usize,
    found_bytes: usize,
    window_start: usize,
    kind: StopKind,
    status: i32,
    /// Address of the byte that differs, and number of its message within the call.
    place: (*const u8, u32),
}

impl<'a> Finding<'a> {
    /// A call that is not the one of `record`.
    pub unsafe fn call(op: Op, fd: i32, record: *const Head) -> Finding<'a> {
        Finding {
            op,
            fd,
            // SAFETY: the caller passes a record that is in memory, or null.
            record: unsafe { record.as_ref() }.map_or(0, |record| record.order),
            byte: None,
            expected: &[],
            found: [0; WINDOW_BYTES],
            found_len: 0,
            expected_bytes: 0,
            found_bytes: 0,
            window_start: 0,
            kind: StopKind::Call,
            status: 0,
            place: (null(), 0),
        }
    }

    /// Copy of the finding with its kind within the class.
    pub fn of(self, kind: StopKind) -> Finding<'a> {
        Finding { kind, ..self }
    }

    /// Copy of the finding in this message of its call.
    pub fn in_message(self, message: usize) -> Finding<'a> {
        Finding { place: (self.place.0, message as u32), ..self }
    }

    /// What a call brought does not fit in the room of the build's.
    pub fn room(recorded: usize, room: usize) -> Finding<'a> {
        Finding { expected_bytes: recorded, found_bytes: room, ..Finding::nowhere() }.of(StopKind::Room)
    }

    /// A call made a descriptor whose number is taken in the build.
    pub fn descriptor(fd: i32) -> Finding<'a> {
        Finding { status: fd, ..Finding::nowhere() }.of(StopKind::Descriptor)
    }

    fn nowhere() -> Finding<'a> {
        // SAFETY: there is no record.
        unsafe { Finding::call(Op::Exit, -1, std::ptr::null()) }
    }

    /// The same at this record, of the call that it has.
    pub unsafe fn at(self, record: *const Head) -> Finding<'a> {
        // SAFETY: the caller passes a record that is in memory.
        unsafe {
            let op = Op::from_number((*record).op & OP_MASK).unwrap_or(self.op);
            Finding { op, fd: (*record).fd, record: (*record).order, ..self }
        }
    }

    /// The build ends with this status.
    pub unsafe fn ending(record: *const Head, status: i32) -> Finding<'a> {
        // SAFETY: as for this function.
        unsafe { Finding { status, ..Finding::call(Op::Exit, -1, record) } }
    }

    /// The output of `record` was not sent.
    pub unsafe fn missing(op: Op, fd: i32, record: *const Head) -> Finding<'a> {
        // SAFETY: as for this function.
        unsafe { Finding { kind: StopKind::NotSent, ..Finding::call(op, fd, record) } }
    }

    /// Output that differs from the record at byte `at`.
    pub unsafe fn differing(
        op: Op,
        fd: i32,
        record: *const Head,
        expected: &'a [u8],
        found_bytes: usize,
        at: usize,
        runs: impl Iterator<Item = (*const u8, usize)>,
    ) -> Finding<'a> {
        // SAFETY: the caller passes a record that is in memory, and runs of bytes that the server offers to send.
        unsafe {
            let start = at.saturating_sub(WINDOW_BYTES / 2) & !15;
            let mut finding = Finding {
                byte: Some(at),
                expected: &expected[start.min(expected.len())..expected.len().min(start + WINDOW_BYTES)],
                expected_bytes: expected.len(),
                found_bytes,
                window_start: start,
                kind: StopKind::Bytes,
                ..Finding::call(op, fd, record)
            };
            let mut place = 0;
            for (bytes, length) in runs {
                if (place..place + length).contains(&at) {
                    finding.place.0 = bytes.add(at - place);
                }
                let run = std::slice::from_raw_parts(bytes, length);
                let from = start.clamp(place, place + length) - place;
                let room = WINDOW_BYTES - finding.found_len;
                let shown = &run[from..length.min(from + room)];
                finding.found[finding.found_len..finding.found_len + shown.len()].copy_from_slice(shown);
                finding.found_len += shown.len();
                place += length;
            }
            finding
        }
    }
}

/// Writes down the first divergence and ends the process.
#[cold]
pub unsafe fn stop(thread: *mut Thread, class: Stop, finding: Finding) -> ! {
    // SAFETY: the block is the calling thread's own; the process ends without running handlers.
    unsafe {
        (*thread).live = PASS_THROUGH;
        let report = &control().report;
        if !report.state.acquire(ReportState::Absent, ReportState::Begun) {
            // Another thread was first; its finding counts.
            loop {
                libc::syscall(libc::SYS_ppoll, 0, 0, 0, 0);
            }
        }
        report.class.store(class, Ordering::Relaxed);
        report.kind.store(finding.kind, Ordering::Relaxed);
        report.status.store(finding.status, Ordering::Relaxed);
        report.process.store(index(), Ordering::Relaxed);
        report.thread.store((*thread).index.into(), Ordering::Relaxed);
        report.op.store(finding.op as u32, Ordering::Relaxed);
        report.fd.store(finding.fd, Ordering::Relaxed);
        report.record.store(finding.record, Ordering::Relaxed);
        report.byte.store(finding.byte.map_or(u64::MAX, |byte| byte as u64), Ordering::Relaxed);
        report.expected_bytes.store(finding.expected_bytes as u64, Ordering::Relaxed);
        report.found_bytes.store(finding.found_bytes as u64, Ordering::Relaxed);
        report.window_start.store(finding.window_start as u64, Ordering::Relaxed);
        report.expected_len.store(report.expected.write(finding.expected), Ordering::Relaxed);
        report.found_len.store(report.found.write(&finding.found[..finding.found_len]), Ordering::Relaxed);
        describe_callers(report);
        report.state.store(ReportState::Complete, Ordering::Release);
        halt::keep_output(finding.place.0, finding.place.1);
        halt::wait(thread, finding.op as u32, finding.fd, finding.record);
        libc::_exit(0)
    }
}

unsafe extern "C" {
    fn backtrace(buffer: *mut *mut c_void, size: i32) -> i32;
}

/// Names the objects and functions on the stack. May allocate: the process ends right after.
fn describe_callers(report: &Report) {
    let mut frames = [std::ptr::null_mut(); 40];
    // SAFETY: the list has room for as many addresses as it says.
    let count = unsafe { backtrace(frames.as_mut_ptr(), frames.len() as i32) }.clamp(0, frames.len() as i32) as usize;
    let mut places = report.caller.iter().zip(1..);
    for &address in &frames[..count] {
        let mut line = [0; CALLER_BYTES - 1];
        let mut text = Text { to: &mut line, used: 0 };
        if put_place(&mut text, address) {
            let used = text.used;
            let Some((place, described)) = places.next() else { break };
            place.write_text(&line[..used]);
            report.callers.store(described, Ordering::Relaxed);
        }
    }
}

/// Adds `object+0xoffset (function)`; false for an address of this library or of no object.
pub fn put_place(text: &mut Text, address: *mut c_void) -> bool {
    // SAFETY: any address may be looked up; what is found are C strings of objects that are loaded.
    unsafe {
        let mut own: libc::Dl_info = std::mem::zeroed();
        let mut found: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(stop as *const c_void, &mut own);
        if libc::dladdr(address, &mut found) == 0 || found.dli_fbase == own.dli_fbase {
            return false;
        }
        let object = CStr::from_ptr(found.dli_fname).to_bytes();
        text.put(object.rsplit(|&byte| byte == b'/').next().unwrap_or(object));
        text.put(b"+0x");
        text.hex(address as usize - found.dli_fbase as usize);
        if !found.dli_sname.is_null() {
            text.put(b" (");
            text.put(CStr::from_ptr(found.dli_sname).to_bytes());
            text.put(b")");
        }
        true
    }
}

/// Adds who called the hook that is running.
pub fn put_caller(text: &mut Text) {
    // SAFETY: the list has room for as many addresses as it says.
    unsafe {
        let mut frames = [std::ptr::null_mut(); 16];
        let count = backtrace(frames.as_mut_ptr(), frames.len() as i32).clamp(0, frames.len() as i32) as usize;
        text.put(b" by ");
        let _ = frames[..count].iter().any(|&address| put_place(text, address));
    }
}

/// Text in a fixed place, cut where the place ends.
pub struct Text<'a> {
    /// Buffer that receives the text.
    pub to: &'a mut [u8],
    /// Number of bytes written so far.
    pub used: usize,
}

impl Text<'_> {
    /// Appends bytes, up to the end of the buffer.
    pub fn put(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(self.to.len() - self.used);
        self.to[self.used..self.used + length].copy_from_slice(&bytes[..length]);
        self.used += length;
    }

    /// Adds a number in base 16.
    pub fn hex(&mut self, value: usize) {
        let digits = (usize::BITS - value.leading_zeros()).div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            self.put(&[b"0123456789abcdef"[value >> (digit * 4) & 15]]);
        }
    }

    /// Adds a number in base 10.
    pub fn decimal(&mut self, value: u64) {
        if value >= 10 {
            self.decimal(value / 10);
        }
        self.put(&[b'0' + (value % 10) as u8]);
    }
}

/// Says on standard error why the library cannot work in this process, and ends it.
#[cold]
pub fn fatal(text: &[&[u8]]) -> ! {
    say(text);
    // SAFETY: ends the process without running handlers.
    unsafe { libc::_exit(127) }
}

/// Says something on standard error.
#[cold]
pub fn say(text: &[&[u8]]) {
    let mut line = [0; 512];
    let mut out = Text { to: &mut line, used: 0 };
    out.put(b"prony: ");
    for part in text {
        out.put(part);
    }
    out.put(b"\n");
    let used = out.used;
    let _pass_through = super::thread::PassThrough::enter();
    // SAFETY: writes bytes of this function's own.
    unsafe { libc::write(2, line.as_ptr().cast(), used) };
}
