//! Making, copying, changing and closing descriptors.

use super::super::descriptors::{self, Kind, StandIn, is_recorded, kind};
use super::super::failures::at_descriptor;
use super::super::own_words;
use super::super::player::{self, CallResult};
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::state::{errno, outcome, set_errno, threaded};
use super::super::thread::Thread;
use super::super::widths::plain::itimerspec;
use super::{enter, leave, lock, recorded, recorded_if_there, recorded_plain};
use libc::{c_char, c_int, c_uint, c_ulong, c_void, sigset_t};
use prony_demo::{Op, PartKind, SIOCGIFCONF, bytes_of_request};

/// A call that makes two descriptors.
pub(super) unsafe fn pair(
    op: Op,
    to: *mut c_int,
    nonblocking: bool,
    like: [StandIn; 2],
    real: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller passes room for two descriptors, as the call that it is for demands it.
    unsafe {
        let failed = recorded(
            op,
            -1,
            0,
            || real() as isize,
            |failed| [if failed == 0 { Piece::Bytes(PartKind::Value, to.cast(), 8) } else { Piece::Nothing }],
            |answer| {
                if let (Some(pair), false) = (answer.read_value::<[c_int; 2]>(), answer.is_error()) {
                    for (at, like) in like.into_iter().enumerate() {
                        answer.take_descriptor(pair[at], like);
                        to.add(at).write(pair[at]);
                    }
                }
                answer.success()
            },
        );
        if failed == 0 {
            for at in 0..2 {
                descriptors::opened(*to.add(at));
                descriptors::set_nonblocking(*to.add(at), nonblocking);
                descriptors::set_internal(*to.add(at));
            }
            own_words::made(*to, *to.add(1));
        }
        failed as c_int
    }
}

/// What stands in for the ends of a pipe. Stdio writes past the hooks: to the second end that has to succeed.
const PIPE: [StandIn; 2] = [StandIn::Pipe, StandIn::Other];

/// A call that makes one descriptor that is not a socket.
pub(super) fn made(op: Op, aux: u32, nonblocking: bool, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: there are no pieces.
    unsafe {
        let fd = recorded(op, -1, aux, || real() as isize, |_| [], |answer| answer.descriptor(StandIn::Other)) as c_int;
        descriptors::opened(fd);
        descriptors::set_nonblocking(fd, nonblocking);
        descriptors::set_internal(fd);
        fd
    }
}

/// A copy of a recorded descriptor. The stand-in is a real descriptor, so a replay copies it for
/// real. `chosen`: the number that the server chose, which may be that of something open; the kernel chooses a free one.
fn duplicated(fd: c_int, chosen: Option<c_int>, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: there are no pieces, and the copy acts on descriptors alone.
    unsafe {
        let new = recorded(
            Op::Dup,
            fd,
            0,
            || real() as isize,
            |_| [],
            |answer| {
                let new = answer.number();
                if new >= 0 {
                    if chosen != Some(new as c_int) {
                        answer.expect_free(new as c_int);
                    }
                    libc::dup2(fd, new as c_int);
                }
                new
            },
        ) as c_int;
        if new >= 0 {
            descriptors::copy(fd, new);
        }
        new
    }
}

/// Closes an ordinary file of a process with several threads, in its place among their calls. The
/// record comes first: from the close on another thread may be given the number.
pub(super) fn close_file(fd: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the block is the calling thread's own.
    closed(fd, |thread| unsafe { Some(player::take(thread, Op::CloseFile, fd)) }, real)
}

/// Closes a directory, as [`close_file`] does. Older demos have no record of it.
fn close_directory(fd: c_int, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the block is the calling thread's own.
    closed(fd, |thread| unsafe { player::take_if_there(thread, Op::CloseFile, fd) }, real)
}

/// Closes by `real`; a replay waits for the record that `take` finds.
fn closed(fd: c_int, take: impl FnOnce(*mut Thread) -> Option<CallResult>, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the block that `enter` returns is the calling thread's own.
    unsafe {
        let (thread, recording) = enter();
        descriptors::set(fd, Kind::File);
        let result;
        if recording {
            recorder::emit(thread, Op::CloseFile, fd, 0, 0, &[]);
            result = real();
        } else {
            let answer = take(thread);
            result = real();
            if let Some(answer) = answer {
                player::done(thread, answer);
            }
        }
        leave(thread);
        result
    }
}

/// Bytes that a request writes through its argument.
fn written_by(request: c_ulong) -> usize {
    bytes_of_request(request as u32, size_of::<usize>()).unwrap_or(0)
}

/// The list of interfaces: a length and a pointer to the room for it.
#[repr(C)]
struct InterfaceList {
    length: c_int,
    buffer: *mut u8,
}

/// Stands for the list where a program wants only its length.
static NO_INTERFACES: [u8; 1024 * size_of::<libc::ifreq>()] = [0; 1024 * size_of::<libc::ifreq>()];

/// A flush to the disk. Of a standard stream it is answered: what a replay has there may have no disk.
unsafe fn flushed(fd: c_int, real: impl FnOnce() -> c_int) -> c_int {
    if !descriptors::is_answered(fd) {
        return at_descriptor(c"fsync", fd, real());
    }
    // SAFETY: nothing is filled.
    unsafe { recorded_if_there(Op::Fsync, fd, real, || Piece::Nothing, |_| ()) }
}

hooks! {
    fn fsync(fd: c_int) -> c_int {
        flushed(fd, || real::fsync(fd))
    }

    fn fdatasync(fd: c_int) -> c_int {
        flushed(fd, || real::fdatasync(fd))
    }

    fn closedir(directory: *mut libc::DIR) -> c_int {
        if directory.is_null() || !threaded() {
            return real::closedir(directory);
        }
        close_directory(libc::dirfd(directory), || real::closedir(directory))
    }

    [__close] fn close(fd: c_int) -> c_int {
        match kind(fd) {
            Kind::Own => {
                set_errno(libc::EBADF);
                return -1;
            }
            Kind::File | Kind::Log if threaded() => return close_file(fd, || real::close(fd)),
            Kind::File | Kind::Log => {
                descriptors::set(fd, Kind::File);
                return real::close(fd);
            }
            Kind::Recorded => {}
        }
        descriptors::set(fd, Kind::File);
        let (thread, recording) = enter();
        let result;
        if recording {
            // First, for the same reason as in `close_file`.
            recorder::emit(thread, Op::Close, fd, 0, 0, &[]);
            result = real::close(fd);
        } else {
            let answer = player::take(thread, Op::Close, fd);
            real::close(fd);
            result = answer.success() as c_int;
            player::done(thread, answer);
        }
        leave(thread);
        result
    }

    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
        let end = (libc::sysconf(libc::_SC_OPEN_MAX).max(0) as c_uint).saturating_sub(1).min(last);
        if flags as c_uint & libc::CLOSE_RANGE_CLOEXEC != 0 {
            return real::close_range(first, last, flags);
        }
        for fd in first..=end {
            if kind(fd as c_int) == Kind::Recorded {
                close(fd as c_int);
            } else if kind(fd as c_int) != Kind::Own {
                descriptors::set(fd as c_int, Kind::File);
                real::close_range(fd, fd, 0);
            }
        }
        0
    }

    fn closefrom(first: c_int) -> () {
        close_range(first.max(0) as c_uint, c_uint::MAX, 0);
    }

    fn dup(fd: c_int) -> c_int {
        if is_recorded(fd) {
            return duplicated(fd, None, || real::dup(fd));
        }
        let new = real::dup(fd);
        descriptors::copy(fd, new);
        new
    }

    [__dup2] fn dup2(fd: c_int, new: c_int) -> c_int {
        dup3_any(fd, new, || real::dup2(fd, new))
    }

    fn dup3(fd: c_int, new: c_int, flags: c_int) -> c_int {
        dup3_any(fd, new, || real::dup3(fd, new, flags))
    }

    [__pipe] fn pipe(to: *mut c_int) -> c_int {
        pair(Op::Pipe, to, false, PIPE, || real::pipe(to))
    }

    fn pipe2(to: *mut c_int, flags: c_int) -> c_int {
        pair(Op::Pipe, to, flags & libc::O_NONBLOCK != 0, PIPE, || real::pipe2(to, flags))
    }

    fn eventfd(count: c_uint, flags: c_int) -> c_int {
        made(Op::Eventfd, count, flags & libc::EFD_NONBLOCK != 0, || real::eventfd(count, flags))
    }

    fn eventfd_read(fd: c_int, to: *mut u64) -> c_int {
        if !is_recorded(fd) {
            return real::eventfd_read(fd, to);
        }
        let count = super::socket::received(
            Op::Read, fd, to.cast(), 8, 0, std::ptr::null_mut(), std::ptr::null_mut(),
            || if real::eventfd_read(fd, to) == 0 { 8 } else { -1 },
        );
        if count == 8 { 0 } else { -1 }
    }

    fn eventfd_write(fd: c_int, value: u64) -> c_int {
        if !is_recorded(fd) {
            return real::eventfd_write(fd, value);
        }
        let bytes: *const u8 = (&raw const value).cast();
        let count = super::socket::sent(
            Op::Write, fd, 8, std::ptr::null(), 0,
            |count| Piece::Bytes(PartKind::Out, bytes, count),
            std::iter::once((bytes, 8)),
            || if real::eventfd_write(fd, value) == 0 { 8 } else { -1 },
        );
        if count == 8 { 0 } else { -1 }
    }

    fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
        made(Op::TimerfdCreate, clock as u32, flags & libc::TFD_NONBLOCK != 0, || real::timerfd_create(clock, flags))
    }

    time64 [__timerfd_settime64] fn timerfd_settime(fd: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
        recorded(
            Op::TimerfdSettime,
            fd,
            flags as u32,
            || real::timerfd_settime(fd, flags, new, old) as isize,
            |failed| [if failed == 0 && !old.is_null() { Piece::value(&*old) } else { Piece::Nothing }],
            |answer| {
                answer.copy_value(old);
                answer.success()
            },
        ) as c_int
    }

    time64 [__timerfd_gettime64] fn timerfd_gettime(fd: c_int, to: *mut itimerspec) -> c_int {
        recorded(
            Op::TimerfdGettime,
            fd,
            0,
            || real::timerfd_gettime(fd, to) as isize,
            |failed| [if failed == 0 { Piece::value(&*to) } else { Piece::Nothing }],
            |answer| {
                answer.copy_value(to);
                answer.success()
            },
        ) as c_int
    }

    fn signalfd(fd: c_int, mask: *const sigset_t, flags: c_int) -> c_int {
        if fd >= 0 {
            return recorded_plain(Op::Signalfd, fd, flags as u32, || real::signalfd(fd, mask, flags) as isize) as c_int;
        }
        made(Op::Signalfd, flags as u32, flags & libc::SFD_NONBLOCK != 0, || real::signalfd(fd, mask, flags))
    }

    fn inotify_init() -> c_int {
        made(Op::InotifyInit, 0, false, || real::inotify_init())
    }

    fn inotify_init1(flags: c_int) -> c_int {
        made(Op::InotifyInit, flags as u32, flags & libc::IN_NONBLOCK != 0, || real::inotify_init1(flags))
    }

    fn inotify_add_watch(fd: c_int, path: *const c_char, mask: u32) -> c_int {
        recorded(
            Op::InotifyAddWatch,
            fd,
            mask,
            || real::inotify_add_watch(fd, path, mask) as isize,
            |_| [Piece::path(path)],
            CallResult::number,
        ) as c_int
    }

    fn inotify_rm_watch(fd: c_int, watch: c_int) -> c_int {
        recorded_plain(Op::InotifyRmWatch, fd, watch as u32, || real::inotify_rm_watch(fd, watch) as isize) as c_int
    }

    // `fcntl` and `ioctl` take one argument of varying type; on the calling conventions of x86-64
    // and aarch64 it comes in the same register as a fixed third argument, and on i386 in the same place on the stack.
    [__fcntl] large [fcntl64] time64 [__fcntl_time64] fn fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
        if command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC {
            if is_recorded(fd) {
                return duplicated(fd, None, || real::fcntl(fd, command, argument));
            }
            let new = real::fcntl(fd, command, argument);
            descriptors::copy(fd, new);
            return new;
        }
        if !is_recorded(fd) {
            if let Some(at_once) = lock::at_once_of(command) {
                return lock::range_locked(fd, (command, at_once), argument, |command| real::fcntl(fd, command, argument));
            }
            return at_descriptor(c"fcntl", fd, real::fcntl(fd, command, argument));
        }
        if command == libc::F_SETFL {
            descriptors::set_nonblocking(fd, argument as c_int & libc::O_NONBLOCK != 0);
        }
        let (thread, recording) = enter();
        let value;
        if recording {
            value = real::fcntl(fd, command, argument);
            let errno = errno();
            recorder::emit(thread, Op::Fcntl, fd, command as u32, outcome(value as isize), &[]);
            set_errno(errno);
        } else {
            // The flags of a descriptor are read and set in pairs; each command has its own order.
            let answer = player::take_with(thread, Op::Fcntl, fd, command as u32);
            value = answer.number() as c_int;
            player::done(thread, answer);
        }
        leave(thread);
        value
    }

    time64 [__ioctl_time64] fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
        if !is_recorded(fd) {
            return at_descriptor(c"ioctl", fd, real::ioctl(fd, request, argument));
        }
        if request == libc::FIONBIO && !argument.is_null() {
            descriptors::set_nonblocking(fd, *argument.cast::<c_int>() != 0);
        }
        let list = argument.cast::<InterfaceList>();
        recorded(
            Op::Ioctl,
            fd,
            request as u32,
            || real::ioctl(fd, request, argument) as isize,
            |failed| match request {
                _ if failed == -1 || argument.is_null() => [Piece::Nothing],
                _ if request as u32 == SIOCGIFCONF => {
                    let length = (*list).length.max(0) as usize;
                    // Without a buffer, the kernel says how many bytes there would be.
                    let (buffer, most) = match (*list).buffer {
                        buffer if buffer.is_null() => (NO_INTERFACES.as_ptr(), NO_INTERFACES.len()),
                        buffer => (buffer.cast_const(), usize::MAX),
                    };
                    [Piece::some(PartKind::Value, buffer, length.min(most))]
                }
                _ => [Piece::some(PartKind::Value, argument.cast(), written_by(request))],
            },
            |answer| {
                if answer.is_error() || argument.is_null() {
                } else if request as u32 != SIOCGIFCONF {
                    // Earlier recorders stored more than some requests write.
                    let bytes = answer.part(PartKind::Value, 0);
                    let length = bytes.len().min(written_by(request));
                    bytes.as_ptr().copy_to_nonoverlapping(argument.cast(), length);
                } else if (*list).buffer.is_null() {
                    (*list).length = answer.part(PartKind::Value, 0).len() as c_int;
                } else {
                    let room = (*list).length.max(0) as usize;
                    (*list).length = answer.fill(PartKind::Value, 0, (*list).buffer, room) as c_int;
                }
                answer.number()
            },
        ) as c_int
    }
}

fn dup3_any(fd: c_int, new: c_int, real: impl FnOnce() -> c_int) -> c_int {
    if kind(new) == Kind::Own {
        set_errno(libc::EBUSY);
        return -1;
    }
    if fd == new {
        return real();
    }
    if is_recorded(fd) {
        return duplicated(fd, Some(new), real);
    }
    let result = real();
    if result >= 0 {
        descriptors::copy(fd, result);
    }
    result
}
