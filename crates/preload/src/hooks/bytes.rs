//! Hooks that read and write descriptors. Ordinary files go straight to the kernel; what is written to the inherited
//! output is a log.

use super::super::descriptors::{Kind, is_answered, is_recorded, kind};
use super::super::failures::at_descriptor;
use super::super::going_on::is_over;
use super::super::notes;
use super::super::own_words;
use super::super::player::{self, count};
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::returned;
use super::super::state::{errno, outcome, set_errno};
use super::super::thread::PassThrough;
use super::super::widths::plain::off_t;
use super::super::widths::wide;
use super::socket::{received, runs_of, scatter, sent, vector_length};
use super::{blocking, byte_count, enter, leave, recorded};
use libc::{c_int, c_void, iovec, size_t, ssize_t};
use prony_demo::{Op, PartKind};
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

/// Text for a person: recorded, written for real in a replay too, and compared loosely.
unsafe fn logged(
    fd: c_int,
    total: usize,
    content: impl Fn(usize) -> Piece,
    runs: impl Iterator<Item = player::Run>,
    real: impl FnOnce() -> ssize_t,
) -> ssize_t {
    // SAFETY: the block that `enter` returns is the calling thread's own; the runs are the buffers of the server, as
    // long as they say.
    unsafe {
        let (thread, recording) = enter();
        let value = real();
        let errno = errno();
        if recording {
            let piece = if value > 0 { content(value as usize) } else { Piece::Nothing };
            recorder::emit(thread, Op::LogWrite, fd, byte_count(total), outcome(value), &[piece]);
        } else if let Some(answer) = player::take_if_there(thread, Op::LogWrite, fd) {
            let mut rest = answer.part(PartKind::Out, 0);
            let mut differing = rest.len().abs_diff(total);
            for (bytes, length) in runs {
                let (now, after) = rest.split_at(length.min(rest.len()));
                let found = std::slice::from_raw_parts(bytes, now.len());
                differing += now.iter().zip(found).filter(|(a, b)| a != b).count();
                rest = after;
            }
            count!(thread, log_bytes_differing, differing as u64);
            player::done(thread, answer);
        }
        set_errno(errno);
        leave(thread);
        value
    }
}

/// `readv` and `preadv`: bytes spread over several buffers.
unsafe fn received_vector(
    op: Op,
    fd: c_int,
    vector: *const iovec,
    buffers: c_int,
    real: impl FnOnce() -> ssize_t,
) -> ssize_t {
    // SAFETY: the block that `enter` returns is the calling thread's own; the vector is that of the server.
    unsafe {
        let buffers = buffers.max(0) as usize;
        let room = vector_length(vector, buffers);
        let (thread, recording) = enter();
        let value;
        if recording {
            value = blocking(thread, op, fd, real);
            let errno = errno();
            let piece = if value > 0 { Piece::Vector(PartKind::In, vector, value as usize) } else { Piece::Nothing };
            recorder::emit(thread, op, fd, byte_count(room), outcome(value), &[piece]);
            set_errno(errno);
        } else {
            let given = player::take_input(thread, op, fd, room, 0);
            value = given.value();
            scatter(given.bytes, vector, buffers);
            given.done(thread);
        }
        leave(thread);
        value
    }
}

/// Passes on the result of a real call that has read into this buffer.
#[inline(always)]
unsafe fn from_file(name: &CStr, fd: c_int, buffer: *const c_void, value: ssize_t) -> ssize_t {
    // SAFETY: a call that succeeds has filled as much of the buffer as it says.
    unsafe { returned::at_descriptor(name, fd, buffer, at_descriptor(name, fd, value)) }
}

/// As [`from_file`], for a call that reads into several buffers. What an explanation looks at is in the first of them.
unsafe fn from_file_vector(name: &CStr, fd: c_int, vector: *const iovec, value: ssize_t) -> ssize_t {
    // SAFETY: a call that has read something has a vector, and has filled its buffers in their order.
    unsafe {
        if at_descriptor(name, fd, value) > 0 {
            let first = &*vector;
            returned::at_descriptor(name, fd, first.iov_base, value.min(first.iov_len as ssize_t));
        }
    }
    value
}

hooks! {
    [__read] until [is_over] fn read(fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t {
        if !is_recorded(fd) {
            return from_file(c"read", fd, buffer, real::read(fd, buffer, length));
        }
        received(Op::Read, fd, buffer, length, 0, null_mut(), null_mut(), || real::read(fd, buffer, length))
    }

    fn __read_chk(fd: c_int, buffer: *mut c_void, length: size_t, _room: size_t) -> ssize_t {
        read(fd, buffer, length)
    }

    large [pread64, __pread64] fn pread(fd: c_int, buffer: *mut c_void, length: size_t, at: off_t) -> ssize_t {
        if !is_recorded(fd) {
            return from_file(c"pread", fd, buffer, real::pread(fd, buffer, length, at));
        }
        received(Op::Pread, fd, buffer, length, 0, null_mut(), null_mut(), || real::pread(fd, buffer, length, at))
    }

    large [__pread64_chk] fn __pread_chk(
        fd: c_int,
        buffer: *mut c_void,
        length: size_t,
        at: off_t,
        room: size_t,
    ) -> ssize_t {
        if !is_recorded(fd) {
            return from_file(c"pread", fd, buffer, real::__pread_chk(fd, buffer, length, at, room));
        }
        received(Op::Pread, fd, buffer, length, 0, null_mut(), null_mut(), || {
            real::__pread_chk(fd, buffer, length, at, room)
        })
    }

    until [is_over] fn readv(fd: c_int, vector: *const iovec, buffers: c_int) -> ssize_t {
        if !is_recorded(fd) {
            return from_file_vector(c"readv", fd, vector, real::readv(fd, vector, buffers));
        }
        received_vector(Op::Readv, fd, vector, buffers, || real::readv(fd, vector, buffers))
    }

    large [preadv64] fn preadv(fd: c_int, vector: *const iovec, buffers: c_int, at: off_t) -> ssize_t {
        if !is_recorded(fd) {
            return from_file_vector(c"preadv", fd, vector, real::preadv(fd, vector, buffers, at));
        }
        received_vector(Op::Preadv, fd, vector, buffers, || real::preadv(fd, vector, buffers, at))
    }

    [__write] until [is_over] fn write(fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t {
        let content = |count| Piece::Bytes(PartKind::Out, buffer.cast(), count);
        let runs = std::iter::once((buffer.cast(), length));
        match kind(fd) {
            Kind::Recorded => {
                sent(Op::Write, fd, length, null(), 0, content, runs, || real::write(fd, buffer, length))
            }
            Kind::Log => logged(fd, length, content, runs, || real::write(fd, buffer, length)),
            _ => at_descriptor(c"write", fd, real::write(fd, buffer, length)),
        }
    }

    until [is_over] fn writev(fd: c_int, vector: *const iovec, buffers: c_int) -> ssize_t {
        let kind = kind(fd);
        if kind != Kind::Recorded && kind != Kind::Log {
            return at_descriptor(c"writev", fd, real::writev(fd, vector, buffers));
        }
        let content = |count| Piece::Vector(PartKind::Out, vector, count);
        let used = buffers.max(0) as usize;
        let total = vector_length(vector, used);
        if kind == Kind::Log {
            return logged(fd, total, content, runs_of(vector, used), || real::writev(fd, vector, buffers));
        }
        sent(Op::Writev, fd, total, null(), 0, content, runs_of(vector, used), || real::writev(fd, vector, buffers))
    }

    large [pwrite64, __pwrite64] fn pwrite(fd: c_int, buffer: *const c_void, length: size_t, at: off_t) -> ssize_t {
        if !is_recorded(fd) {
            return at_descriptor(c"pwrite", fd, real::pwrite(fd, buffer, length, at));
        }
        sent(
            Op::Pwrite,
            fd,
            length,
            null(),
            0,
            |count| Piece::Bytes(PartKind::Out, buffer.cast(), count),
            std::iter::once((buffer.cast(), length)),
            || real::pwrite(fd, buffer, length, at),
        )
    }

    large [pwritev64] fn pwritev(fd: c_int, vector: *const iovec, buffers: c_int, at: off_t) -> ssize_t {
        if !is_recorded(fd) {
            return at_descriptor(c"pwritev", fd, real::pwritev(fd, vector, buffers, at));
        }
        let used = buffers.max(0) as usize;
        sent(
            Op::Pwritev,
            fd,
            vector_length(vector, used),
            null(),
            0,
            |count| Piece::Vector(PartKind::Out, vector, count),
            runs_of(vector, used),
            || real::pwritev(fd, vector, buffers, at),
        )
    }

    large [sendfile64] fn sendfile(to: c_int, from: c_int, at: *mut off_t, count: size_t) -> ssize_t {
        if !is_recorded(to) {
            return at_descriptor(c"sendfile", to, real::sendfile(to, from, at, count));
        }
        lose_places(&[to]);
        let place = if at.is_null() { None } else { Some(wide(*at)) };
        let sent = sent_from_file(to, from, place, count, || real::sendfile(to, from, at, count));
        if !at.is_null() {
            *at = sent.place_after as off_t;
        }
        sent.value
    }

    /// Between a file and something that is recorded, what is moved is compared, or written to the file in a replay too. Between
    /// two that are recorded it passes through the kernel, and the record says how many bytes they were.
    fn splice(
        from: c_int,
        from_at: *mut libc::loff_t,
        to: c_int,
        to_at: *mut libc::loff_t,
        count: size_t,
        flags: libc::c_uint,
    ) -> ssize_t {
        lose_places(&[from, to]);
        match (is_recorded(from), is_recorded(to)) {
            (false, false) => at_descriptor(c"splice", from, real::splice(from, from_at, to, to_at, count, flags)),
            (false, true) => {
                let place = if from_at.is_null() { None } else { Some(*from_at) };
                let real = || real::splice(from, from_at, to, to_at, count, flags);
                let sent = sent_from_file(to, from, place, count, real);
                if !from_at.is_null() {
                    *from_at = sent.place_after;
                }
                sent.value
            }
            (true, false) => received_into_file(from, to, to_at, count, flags),
            (true, true) => {
                say_moved();
                moved(Op::Splice, to, count, || real::splice(from, from_at, to, to_at, count, flags))
            }
        }
    }

    /// Between files alone: the server copies by reading and writing instead, as it does between file systems.
    fn copy_file_range(
        from: c_int,
        from_at: *mut i64,
        to: c_int,
        to_at: *mut i64,
        count: size_t,
        flags: libc::c_uint,
    ) -> ssize_t {
        if is_answered(from) || is_answered(to) {
            set_errno(libc::EXDEV);
            return -1;
        }
        at_descriptor(c"copy_file_range", to, real::copy_file_range(from, from_at, to, to_at, count, flags))
    }

    fn tee(from: c_int, to: c_int, count: size_t, flags: libc::c_uint) -> ssize_t {
        if !is_recorded(from) && !is_recorded(to) {
            return at_descriptor(c"tee", from, real::tee(from, to, count, flags));
        }
        lose_places(&[from, to]);
        say_moved();
        moved(Op::Tee, to, count, || real::tee(from, to, count, flags))
    }

    /// The buffers of the server go into a pipe, or what is in it into them.
    fn vmsplice(fd: c_int, vector: *const iovec, buffers: size_t, flags: libc::c_uint) -> ssize_t {
        let used = buffers as c_int;
        let real = || real::vmsplice(fd, vector, buffers, flags);
        if !is_recorded(fd) {
            return at_descriptor(c"vmsplice", fd, real());
        }
        let reads = {
            let _pass_through = PassThrough::enter();
            libc::fcntl(fd, libc::F_GETFL) & libc::O_ACCMODE == libc::O_RDONLY
        };
        if reads {
            return received_vector(Op::Readv, fd, vector, used, real);
        }
        let content = |count| Piece::Vector(PartKind::Out, vector, count);
        sent(Op::Writev, fd, vector_length(vector, buffers), null(), 0, content, runs_of(vector, buffers), real)
    }
}

/// What came of sending part of a file.
struct SentFromFile {
    value: ssize_t,
    /// Where the file is read on.
    place_after: i64,
}

/// Sends part of a file: from `place` on, or from where the file stands, which moves then.
unsafe fn sent_from_file(
    to: c_int,
    from: c_int,
    place: Option<i64>,
    count: size_t,
    real: impl FnOnce() -> ssize_t,
) -> SentFromFile {
    // SAFETY: the block that `enter` returns is the calling thread's own.
    unsafe {
        let (thread, recording) = enter();
        let start = place.unwrap_or_else(|| libc::lseek64(from, 0, libc::SEEK_CUR));
        let value;
        if recording {
            value = blocking(thread, Op::Sendfile, to, real);
            let errno = errno();
            // What was sent stands in the page cache now; it is read back so that a replay can
            // compare it.
            let content = Mapped::of(from, start, value.max(0) as usize);
            recorder::emit(thread, Op::Sendfile, to, byte_count(count), outcome(value), &[content.piece()]);
            set_errno(errno);
        } else {
            let answer = player::take(thread, Op::Sendfile, to);
            value = answer.within(count);
            let sent = value.max(0) as usize;
            let content = Mapped::of(from, start, sent);
            if sent > 0 {
                player::compare_content(thread, answer, Op::Sendfile, to, (content.bytes, content.length));
                if place.is_none() {
                    libc::lseek64(from, start + sent as i64, libc::SEEK_SET);
                }
            }
            player::done(thread, answer);
        }
        leave(thread);
        SentFromFile { value, place_after: start + value.max(0) as i64 }
    }
}

/// Most bytes of a pipe that one call moves into a file: those of a pipe as it is made.
const MOVED_AT_ONCE: usize = 65536;

/// Moves what is in a pipe into a file, as a read and a write.
unsafe fn received_into_file(from: c_int, to: c_int, to_at: *mut i64, count: size_t, flags: libc::c_uint) -> ssize_t {
    // SAFETY: the buffer is as long as is said, and the caller passes a place that is null or where the call writes.
    unsafe {
        let mut ready = libc::pollfd { fd: from, events: libc::POLLIN, revents: 0 };
        if flags & libc::SPLICE_F_NONBLOCK != 0 && libc::poll(&mut ready, 1, 0) == 0 {
            set_errno(libc::EAGAIN);
            return -1;
        }
        let room = count.min(MOVED_AT_ONCE);
        let buffer = libc::mmap64(
            null_mut(),
            MOVED_AT_ONCE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if buffer == libc::MAP_FAILED {
            return -1;
        }
        // Both through their hooks: the first is recorded, and the second is done for real in a replay too.
        let mut value = libc::read(from, buffer, room);
        if value > 0 {
            let length = value as usize;
            value = if to_at.is_null() {
                libc::write(to, buffer, length)
            } else {
                libc::pwrite64(to, buffer, length, *to_at)
            };
            if value > 0 && !to_at.is_null() {
                *to_at += value as i64;
            }
        }
        let before = errno();
        libc::munmap(buffer, MOVED_AT_ONCE);
        set_errno(before);
        value
    }
}

/// A call that moves bytes inside the kernel: only their number is recorded.
unsafe fn moved(op: Op, to: c_int, count: size_t, real: impl FnOnce() -> ssize_t) -> ssize_t {
    // SAFETY: there are no pieces.
    unsafe { recorded(op, to, byte_count(count), real, |_| [], |answer| answer.within(count)) }
}

/// The kernel moves bytes into a pipe, or out of it, that are not seen.
fn lose_places(fds: &[c_int]) {
    fds.iter().for_each(|&fd| own_words::lose(fd));
}

static MOVED_SAID: AtomicBool = AtomicBool::new(false);

fn say_moved() {
    if !MOVED_SAID.swap(true, Ordering::Relaxed) {
        notes::doubtful(&[b"splice or tee between pipes and sockets: how much it moves is recorded, and not what"]);
    }
}

/// Part of a file in memory.
struct Mapped {
    start: *mut c_void,
    mapped: usize,
    bytes: *const u8,
    length: usize,
}

impl Mapped {
    fn of(fd: c_int, at: i64, length: usize) -> Mapped {
        // SAFETY: all zero is a valid answer of `fstat`. A fresh mapping, which has the bytes of the page in front as well.
        unsafe {
            // What lies behind the end of the file cannot be read.
            let mut status: libc::stat64 = std::mem::zeroed();
            let end = if libc::fstat64(fd, &mut status) == 0 { status.st_size } else { 0 };
            let length = length.min(usize::try_from(end.saturating_sub(at)).unwrap_or(0));
            let page = at & 4095;
            let mapped = length + page as usize;
            let start = if length == 0 {
                libc::MAP_FAILED
            } else {
                libc::mmap64(null_mut(), mapped, libc::PROT_READ, libc::MAP_PRIVATE, fd, at - page)
            };
            if start == libc::MAP_FAILED {
                return Mapped { start: null_mut(), mapped: 0, bytes: null(), length: 0 };
            }
            Mapped { start, mapped, bytes: start.cast::<u8>().add(page as usize), length }
        }
    }

    fn piece(&self) -> Piece {
        Piece::some(PartKind::Out, self.bytes, self.length)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if !self.start.is_null() {
            // SAFETY: mapped in `of` with this length and not unmapped since.
            unsafe { libc::munmap(self.start, self.mapped) };
        }
    }
}
