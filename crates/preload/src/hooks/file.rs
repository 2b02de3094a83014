//! Hooks that open files. An ordinary file is the server's asset or state: it is opened for real, and its name is
//! noted. Files that the kernel makes up (`/proc`, `/sys`) are read once, recorded, and given to the server as a file
//! in memory. Devices are part of the conversation.

use super::super::baton;
use super::super::collect;
use super::super::descriptors::{self, Kind, StandIn, is_recorded};
use super::super::failures::{at_descriptor, at_path};
use super::super::notes;
use super::super::player;
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::report;
use super::super::returned;
use super::super::sharing;
use super::super::state::{errno, outcome, set_errno, threaded};
use super::super::thread::{self, PassThrough, Thread};
use super::super::vetted;
use super::super::widths::plain::off_t;
use super::pid::made_at;
use super::{byte_count, enter, leave};
use libc::{FILE, c_char, c_int, c_void, mode_t, off64_t, size_t, ssize_t};
use prony_demo::{Op, PartKind};
use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// Kind of what a path leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    Ordinary,
    Kernel,
    Device,
}

pub(super) unsafe fn kind_of(path: *const c_char) -> PathKind {
    // SAFETY: the caller passes a path that is null or a C string.
    unsafe {
        if path.is_null() || *path != b'/' as c_char {
            return PathKind::Ordinary;
        }
        let path = CStr::from_ptr(path).to_bytes();
        let under = |folder: &[u8]| path.starts_with(folder);
        if under(b"/dev/") {
            let same_everywhere = [b"/dev/null" as &[u8], b"/dev/zero", b"/dev/full", b"/dev/stdin", b"/dev/stdout"];
            let plain = same_everywhere.contains(&path)
                || path == b"/dev/stderr"
                || under(b"/dev/shm/")
                || under(b"/dev/fd/")
                || under(b"/dev/hugepages/");
            return if plain { PathKind::Ordinary } else { PathKind::Device };
        }
        if under(b"/proc/") || under(b"/sys/") {
            let follows = under(b"/proc/self/fd/") || path.ends_with(b"/exe") || path.ends_with(b"/root");
            return if follows { PathKind::Ordinary } else { PathKind::Kernel };
        }
        PathKind::Ordinary
    }
}

/// Name under which failed calls that open files are noted.
const OPEN: &CStr = c"open";

fn writes(flags: c_int) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY
}

/// Opens `path`, by whatever `real` is.
pub(super) unsafe fn opened(path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the block that `enter` returns is the calling thread's own, and the caller passes a path that is null or
    // a C string.
    unsafe {
        match kind_of(path) {
            PathKind::Ordinary if threaded() => ordered(path, flags, real),
            PathKind::Ordinary => {
                let (thread, recording) = enter();
                let fd = at_path(OPEN, path, real());
                let errno = errno();
                descriptors::set(fd, Kind::File);
                if recording && fd >= 0 {
                    recorder::emit(thread, Op::NoteFile, fd, flags as u32, i64::from(fd), &[Piece::path(path)]);
                }
                set_errno(errno);
                leave(thread);
                fd
            }
            PathKind::Kernel if !writes(flags) && flags & libc::O_DIRECTORY == 0 => snapshot(path, real),
            PathKind::Kernel | PathKind::Device => device(path, flags, real),
        }
    }
}

/// An ordinary file in a process with several threads: which number it gets depends on what the
/// others do, and must not be one that a replay has given away.
pub(super) unsafe fn ordered(path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the block that `enter` returns is the calling thread's own, and `kind_of` has looked at the path, which
    // is a C string.
    unsafe {
        let (thread, recording) = enter();
        let mut fd;
        if recording {
            // What others do to the file comes before both or after both: a replay opens it for real, in its turn.
            baton::keep(thread);
            fd = at_path(OPEN, path, real());
            let errno = errno();
            recorder::emit_at_once(thread, Op::OpenFile, -1, flags as u32, outcome(fd as isize), &[Piece::path(path)]);
            set_errno(errno);
        } else if let Some(answer) = player::take_open(thread, vetted::text(path)) {
            let recorded = answer.number() as c_int;
            fd = at_path(OPEN, path, real());
            let errno = errno();
            if fd >= 0 && recorded >= 0 && fd != recorded {
                answer.expect_free(recorded);
            }
            if fd >= 0 && recorded >= 0 && fd != recorded {
                libc::dup3(fd, recorded, flags & libc::O_CLOEXEC);
                libc::close(fd);
            }
            fd = if fd >= 0 && recorded >= 0 { recorded } else { fd };
            set_errno(errno);
            player::done(thread, answer);
        } else {
            fd = at_path(OPEN, path, real());
        }
        descriptors::set(fd, Kind::File);
        leave(thread);
        fd
    }
}

/// A device, or a kernel file that is written to: what is read and written is recorded.
unsafe fn device(path: *const c_char, flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the path is a C string, which lives across the call.
    unsafe {
        let fd = super::recorded(
            Op::OpenDevice,
            -1,
            flags as u32,
            || real() as isize,
            |_| [Piece::path(path)],
            |answer| answer.descriptor(StandIn::Other),
        ) as c_int;
        descriptors::opened(fd);
        descriptors::set_nonblocking(fd, flags & libc::O_NONBLOCK != 0);
        fd
    }
}

/// Kernel files larger than this are cut in the recording, and the server sees them cut.
const SNAPSHOT_BYTES: usize = descriptors::COPIED_BYTES;

/// A file in memory with this content, under the number `at`.
fn in_memory(content: &[u8], at: c_int) {
    // SAFETY: acts on descriptors alone, and writes from the content.
    unsafe {
        let fd = libc::memfd_create(c"prony-snapshot".as_ptr(), 0);
        let mut rest = content;
        while !rest.is_empty() {
            let wrote = libc::write(fd, rest.as_ptr().cast(), rest.len());
            if wrote <= 0 {
                report::fatal(&[b"no memory for the content of a file under /proc or /sys"]);
            }
            rest = &rest[wrote as usize..];
        }
        libc::lseek(fd, 0, libc::SEEK_SET);
        if fd != at {
            libc::dup2(fd, at);
            libc::close(fd);
        }
        descriptors::set(at, Kind::File);
    }
}

/// Records what is in a file that the server was handed, and where it is read on.
pub(super) unsafe fn record_content(thread: *mut Thread, fd: c_int) {
    // SAFETY: the caller passes its own block. The content lives until the record is written.
    unsafe {
        let content = ReadWhole::by(|to, room, before| libc::pread64(fd, to, room, before as i64));
        let place = u32::try_from(libc::lseek64(fd, 0, libc::SEEK_CUR)).unwrap_or(0);
        let piece = Piece::Bytes(PartKind::Value, content.start, content.length);
        recorder::emit(thread, Op::Snapshot, -1, place, i64::from(fd), &[piece]);
    }
}

/// Puts a file with what was recorded under that number.
pub(super) unsafe fn replay_content(thread: *mut Thread, fd: c_int) {
    // SAFETY: the caller passes its own block; acts on a descriptor that nothing of the build has.
    unsafe {
        let answer = player::take(thread, Op::Snapshot, -1);
        // Something that the replay was started with may have the number: it is not the server's.
        if descriptors::kind(fd) != Kind::File {
            answer.expect_free(fd);
        }
        in_memory(answer.part(PartKind::Value, 0), fd);
        libc::lseek64(fd, i64::from(answer.aux()), libc::SEEK_SET);
        player::done(thread, answer);
    }
}

unsafe fn snapshot(path: *const c_char, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the block that `enter` returns is the calling thread's own, and `kind_of` has looked at the path, which
    // is a C string. The content lives until the record is written.
    unsafe {
        let (thread, recording) = enter();
        let fd;
        if recording {
            fd = real();
            let errno = errno();
            let read = |to, room, _| libc::read(fd, to, room);
            let content = if fd >= 0 { ReadWhole::by(read) } else { ReadWhole::EMPTY };
            let pieces = [Piece::path(path), Piece::Bytes(PartKind::Value, content.start, content.length)];
            let ret = outcome(fd as isize);
            if fd >= 0 && !content.readable {
                // A directory, or something that cannot be read as a whole: left as it is.
                recorder::emit(thread, Op::NoteFile, fd, 0, i64::from(fd), &pieces[..1]);
            } else {
                set_errno(errno);
                recorder::emit(thread, Op::Snapshot, -1, 0, ret, &pieces);
                if fd >= 0 {
                    in_memory(content.as_slice(), fd);
                }
            }
            set_errno(errno);
        } else if let Some(answer) = player::take_path(thread, Op::Snapshot, vetted::text(path)) {
            fd = answer.number() as c_int;
            let errno = errno();
            if fd >= 0 {
                answer.expect_free(fd);
                in_memory(answer.part(PartKind::Value, 0), fd);
            }
            set_errno(errno);
            player::done(thread, answer);
        } else {
            fd = at_path(OPEN, path, real());
        }
        leave(thread);
        fd
    }
}

/// Where a link of the kernel's own leads, as `/proc/self` and those of devices: a replay answers what was recorded. Links
/// to files of the build, such as `/proc/self/exe`, lead to those.
unsafe fn made_up_link(path: *const c_char, to: *mut c_char, room: size_t, real: impl FnOnce() -> ssize_t) -> ssize_t {
    // SAFETY: the block that `enter` returns is the calling thread's own; the caller passes a path that is null or a C
    // string, and as much room as it says.
    unsafe {
        if kind_of(path) != PathKind::Kernel || CStr::from_ptr(path).to_bytes().ends_with(b"/cwd") {
            let length = real();
            returned::at_path(c"readlink", path, to.cast(), usize::try_from(length).unwrap_or(0));
            return length;
        }
        let (thread, recording) = enter();
        let length;
        if recording {
            length = real();
            let errno = errno();
            let content = Piece::some(PartKind::Value, to.cast(), usize::try_from(length).unwrap_or(0));
            recorder::emit(thread, Op::Readlink, -1, byte_count(room), outcome(length), &[Piece::path(path), content]);
            set_errno(errno);
        } else if let Some(answer) = player::take_path(thread, Op::Readlink, CStr::from_ptr(path).to_bytes()) {
            answer.fill(PartKind::Value, 0, to.cast(), room);
            length = answer.within(room);
            answer.set_error();
            player::done(thread, answer);
        } else {
            length = real();
        }
        leave(thread);
        length
    }
}

/// Content of a file whose size the kernel does not tell.
struct ReadWhole {
    start: *const u8,
    length: usize,
    readable: bool,
}

impl ReadWhole {
    const EMPTY: ReadWhole = ReadWhole { start: std::ptr::null(), length: 0, readable: true };

    /// What `read` reads, which is given a place, how much room is there, and how much was read before.
    fn by(read: impl Fn(*mut c_void, usize, usize) -> ssize_t) -> ReadWhole {
        // SAFETY: a fresh mapping, of which no more is written than it has.
        unsafe {
            let room = libc::mmap(
                std::ptr::null_mut(),
                SNAPSHOT_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            if room == libc::MAP_FAILED {
                return ReadWhole { readable: false, ..ReadWhole::EMPTY };
            }
            let mut length = 0;
            let mut readable = true;
            while length < SNAPSHOT_BYTES {
                // Files below /proc/sys have an error for more than 4 MiB.
                match read(room.byte_add(length), (SNAPSHOT_BYTES - length).min(1 << 20), length) {
                    0 => break,
                    -1 if errno() == libc::EINTR => {}
                    -1 => {
                        readable = length > 0;
                        break;
                    }
                    count => length += count as usize,
                }
            }
            ReadWhole { start: room.cast(), length, readable }
        }
    }

    fn as_slice(&self) -> &[u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: `length` bytes were read to `start`, which stays mapped until `drop`.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for ReadWhole {
    fn drop(&mut self) {
        if !self.start.is_null() {
            // SAFETY: mapped in `of` with this size.
            unsafe { libc::munmap(self.start.cast_mut().cast(), SNAPSHOT_BYTES) };
        }
    }
}

/// Flags of `open` for a mode of `fopen`.
unsafe fn flags_of(mode: *const c_char) -> c_int {
    // SAFETY: the caller passes the mode of a stream, a C string.
    let mode = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let base = match (mode.first(), mode.contains(&b'+')) {
        (Some(b'r'), false) => libc::O_RDONLY,
        (Some(b'r'), true) => libc::O_RDWR,
        (Some(b'w'), false) => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
        (Some(b'w'), true) => libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC,
        (_, false) => libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND,
        (_, true) => libc::O_RDWR | libc::O_CREAT | libc::O_APPEND,
    };
    base | if mode.contains(&b'e') { libc::O_CLOEXEC } else { 0 }
}

/// Streams of this library: libc reads and writes them by calling back, so their bytes pass the
/// hooks; `fileno` has to be answered from here.
static STREAMS: [(AtomicPtr<FILE>, AtomicI32); 64] =
    [const { (AtomicPtr::new(std::ptr::null_mut()), AtomicI32::new(-1)) }; 64];

#[repr(C)]
struct CookieFunctions {
    read: unsafe extern "C" fn(*mut c_void, *mut c_char, size_t) -> ssize_t,
    write: unsafe extern "C" fn(*mut c_void, *const c_char, size_t) -> ssize_t,
    seek: Option<unsafe extern "C" fn(*mut c_void, *mut off64_t, c_int) -> c_int>,
    close: unsafe extern "C" fn(*mut c_void) -> c_int,
}

unsafe extern "C" {
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: CookieFunctions) -> *mut FILE;
}

unsafe extern "C" fn stream_read(cookie: *mut c_void, buffer: *mut c_char, length: size_t) -> ssize_t {
    // SAFETY: called by libc with room for as many bytes.
    unsafe { libc::read(cookie as c_int, buffer.cast(), length) }
}

unsafe extern "C" fn stream_write(cookie: *mut c_void, buffer: *const c_char, length: size_t) -> ssize_t {
    // SAFETY: called by libc with as many bytes.
    unsafe {
        let wrote = libc::write(cookie as c_int, buffer.cast(), length);
        // The contract of a cookie's write: 0 on failure, never negative.
        wrote.max(0)
    }
}

extern "C" fn stream_close(cookie: *mut c_void) -> c_int {
    // SAFETY: acts on the descriptor alone, which belongs to the stream.
    unsafe {
        for (_, fd) in STREAMS.iter().filter(|(_, fd)| fd.load(Ordering::Relaxed) == cookie as c_int) {
            fd.store(-1, Ordering::Relaxed);
        }
        libc::close(cookie as c_int)
    }
}

/// A stream whose bytes pass the hooks.
pub(super) unsafe fn stream(fd: c_int, mode: *const c_char) -> *mut FILE {
    // SAFETY: the caller passes the mode of a stream, a C string; the functions have the types of a cookie's.
    unsafe {
        let functions = CookieFunctions { read: stream_read, write: stream_write, seek: None, close: stream_close };
        let file = fopencookie(fd as usize as *mut c_void, mode, functions);
        if let Some((stream, number)) = STREAMS.iter().find(|(_, number)| number.load(Ordering::Relaxed) == -1) {
            stream.store(file, Ordering::Relaxed);
            number.store(fd, Ordering::Relaxed);
        }
        file
    }
}

unsafe extern "C" {
    /// The stream that libc reads standard input with; a variable, which may be set.
    static mut stdin: *mut FILE;
    /// The stream that `printf` writes to.
    static mut stdout: *mut FILE;

    /// Bytes in the buffer of a stream that are not written yet.
    #[link_name = "__fpending"]
    fn pending(file: *mut FILE) -> size_t;
    fn fflush_unlocked(file: *mut FILE) -> c_int;
}

/// The streams that were `stdin` and `stdout` before.
static OWN_STREAMS: [AtomicPtr<FILE>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];

/// Lets what libc reads by itself from standard input, and writes to standard output, pass the hooks of `read` and `write`, if that is recorded.
pub fn redirect_standard_streams() {
    // SAFETY: runs before `main`, on the only thread.
    unsafe {
        if is_recorded(0) {
            OWN_STREAMS[0].store(stdin, Ordering::Relaxed);
            stdin = stream(0, c"r".as_ptr());
        }
        if is_recorded(1) {
            OWN_STREAMS[1].store(stdout, Ordering::Relaxed);
            stdout = stream(1, c"w".as_ptr());
        }
    }
}

/// Writes what the server has left in streams of this library, which libc does when the last record is written. A replay does so where the recording did.
pub fn flush_streams() {
    for (file, fd) in &STREAMS {
        let (file, fd) = (file.load(Ordering::Relaxed), fd.load(Ordering::Relaxed));
        // SAFETY: a stream that is not closed, of a process that ends. Its lock may be held by a thread that waits. The block is the calling thread's own.
        unsafe {
            if fd >= 0 && is_recorded(fd) && pending(file) > 0 && player::goes_on_with(thread::this(), Op::Write, fd) {
                fflush_unlocked(file);
            }
        }
    }
}

/// The place of a stream of this library.
fn place_of_stream(file: *mut FILE) -> Option<&'static (AtomicPtr<FILE>, AtomicI32)> {
    let ours = |(stream, fd): &&(AtomicPtr<FILE>, AtomicI32)| {
        stream.load(Ordering::Relaxed) == file && fd.load(Ordering::Relaxed) >= 0
    };
    STREAMS.iter().find(ours)
}

hooks! {
    [__open] fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        opened(path, flags, || real::open(path, flags, mode))
    }

    [__open64] fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        opened(path, flags, || real::open64(path, flags, mode))
    }

    large [__open64_2] fn __open_2(path: *const c_char, flags: c_int) -> c_int {
        opened(path, flags, || real::__open_2(path, flags))
    }

    large [openat64] fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        opened(path, flags, || real::openat(folder, path, flags, mode))
    }

    large [__openat64_2] fn __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
        opened(path, flags, || real::__openat_2(folder, path, flags))
    }

    large [creat64] fn creat(path: *const c_char, mode: mode_t) -> c_int {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
        opened(path, flags, || real::creat(path, mode))
    }

    fn readlink(path: *const c_char, to: *mut c_char, length: size_t) -> ssize_t {
        made_up_link(path, to, length, || made_at(c"readlink", path, |path| real::readlink(path, to, length)))
    }

    fn readlinkat(folder: c_int, path: *const c_char, to: *mut c_char, length: size_t) -> ssize_t {
        made_up_link(path, to, length, || made_at(c"readlinkat", path, |path| real::readlinkat(folder, path, to, length)))
    }

    fn __readlink_chk(path: *const c_char, to: *mut c_char, length: size_t, _room: size_t) -> ssize_t {
        libc::readlink(path, to, length)
    }

    fn __readlinkat_chk(folder: c_int, path: *const c_char, to: *mut c_char, length: size_t, _room: size_t) -> ssize_t {
        libc::readlinkat(folder, path, to, length)
    }

    [_IO_fopen] large [fopen64] fn fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {
        let flags = flags_of(mode);
        match kind_of(path) {
            PathKind::Ordinary if threaded() => {
                let fd = open64(path, flags, 0o666);
                if fd < 0 { std::ptr::null_mut() } else { real::fdopen(fd, mode) }
            }
            PathKind::Ordinary => {
                let (thread, recording) = enter();
                let file = at_path(OPEN, path, real::fopen(path, mode));
                let errno = errno();
                if !file.is_null() {
                    descriptors::set(libc::fileno(file), Kind::File);
                    if recording {
                        recorder::emit(thread, Op::NoteFile, -1, flags as u32, 0, &[Piece::path(path)]);
                    }
                }
                set_errno(errno);
                leave(thread);
                file
            }
            _ => {
                let fd = open64(path, flags, 0o666);
                if fd < 0 { std::ptr::null_mut() } else { fdopen(fd, mode) }
            }
        }
    }

    [_IO_fdopen] fn fdopen(fd: c_int, mode: *const c_char) -> *mut FILE {
        if is_recorded(fd) { stream(fd, mode) } else { real::fdopen(fd, mode) }
    }

    [_IO_fclose] fn fclose(file: *mut FILE) -> c_int {
        let fd = libc::fileno(file);
        if !threaded() || fd < 0 || is_recorded(fd) {
            return collect::of_server(|| real::fclose(file));
        }
        super::descriptor::close_file(fd, || collect::of_server(|| real::fclose(file)))
    }

    // libc writes into a part of a stream that ours do not have.
    large [freopen64] fn freopen(path: *const c_char, mode: *const c_char, file: *mut FILE) -> *mut FILE {
        let Some((_, number)) = place_of_stream(file) else { return real::freopen(path, mode, file) };
        if path.is_null() {
            return file;
        }
        let standard = if file == stdin {
            0
        } else if file == stdout {
            1
        } else {
            libc::fclose(file);
            return libc::fopen64(path, mode);
        };
        // Another file than the recorded stream: from here on libc's own stream reads or writes it.
        libc::fflush(file);
        let (thread, recording) = enter();
        number.store(-1, Ordering::Relaxed);
        let own = OWN_STREAMS[standard].load(Ordering::Relaxed);
        if standard == 0 {
            stdin = own;
        } else {
            stdout = own;
        }
        let opened = real::freopen(path, mode, own);
        let errno = errno();
        if !opened.is_null() {
            descriptors::set(standard as c_int, Kind::File);
            if recording {
                recorder::emit(thread, Op::NoteFile, -1, flags_of(mode) as u32, 0, &[Piece::path(path)]);
            }
        }
        set_errno(errno);
        leave(thread);
        opened
    }

    [fileno_unlocked] fn fileno(file: *mut FILE) -> c_int {
        match place_of_stream(file) {
            Some((_, fd)) => fd.load(Ordering::Relaxed),
            None => real::fileno(file),
        }
    }

    large [mmap64] fn mmap(
        at: *mut c_void,
        length: size_t,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: off_t,
    ) -> *mut c_void {
        let shared = flags & libc::MAP_TYPE != libc::MAP_PRIVATE;
        if shared && protection & libc::PROT_WRITE != 0 && !sharing::note_mapping(fd >= 0) {
            cannot_record(b"shared writable mapping", length);
        }
        at_descriptor(c"mmap", fd, real::mmap(at, length, protection, flags, fd, offset))
    }
}

/// Notes something that a replay cannot bring back, and its caller.
pub(super) fn cannot_record(what: &'static [u8], detail: usize) {
    let mut text = [0; 200];
    let mut line = report::Text { to: &mut text, used: 0 };
    line.put(what);
    line.put(b" of ");
    line.decimal(detail as u64);
    line.put(b" bytes");
    let _pass_through = PassThrough::enter();
    report::put_caller(&mut line);
    let length = line.used;
    notes::doubtful(&[&text[..length]]);
}
