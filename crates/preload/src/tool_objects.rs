//! Libraries that a tool has loaded into the server, as heaptrack does: their calls are not the server's, and their descriptors
//! have numbers that no recording gives.
//!
//! They are those that `LD_PRELOAD` has before this library, and what only they are linked with. Each has a table of the functions
//! that it calls: there, those that act on descriptors are replaced by the ones below, and all others by the real ones.

use super::objects::{self, dynamic_of, tables_of};
use super::state;
use libc::{c_char, c_int, c_uint, c_void, mode_t, off_t, size_t, ssize_t};
use prony_channel::CHANNEL_FD;
use std::ffi::CStr;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};

/// The first number that a descriptor of a tool's library gets, above those of this library.
const FIRST: c_int = 1100;

/// Where a descriptor went that such a library had opened before the server's program began, by its number; 0 for none.
static MOVED: [AtomicI32; CHANNEL_FD as usize] = [const { AtomicI32::new(0) }; CHANNEL_FD as usize];

/// Frees the numbers below [`CHANNEL_FD`] for those that the recording gives. What the tool handed on above standard error, as
/// `perf record` does, is closed; what a library of it has opened in this process keeps its number for that library. `exec` leaves
/// no descriptor that is to be closed by it, so the latter have that mark.
pub fn free_descriptors() {
    for fd in 3..CHANNEL_FD {
        // SAFETY: the process runs no code of the server yet; only the tool's libraries may use the descriptor, through the
        // functions below.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFD);
            if flags != -1 && flags & libc::FD_CLOEXEC != 0 {
                let moved = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST);
                MOVED[fd as usize].store(moved.max(0), Ordering::Relaxed);
            }
            if flags != -1 {
                libc::syscall(libc::SYS_close, fd);
            }
        }
    }
}

/// A library or program that is mapped.
#[derive(Clone, Copy)]
struct Object {
    info: libc::dl_phdr_info,
    /// The server is linked with it.
    of_server: bool,
}

/// Objects that are looked at. The recorded program may have more of them, but those of a preload come first.
const OBJECTS: usize = 256;

struct Objects {
    list: [Option<Object>; OBJECTS],
    count: usize,
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _size: size_t, to: *mut c_void) -> c_int {
    // SAFETY: called by `dl_iterate_phdr` with an object that is mapped, and with the list that `set_apart` hands over.
    unsafe {
        let objects = &mut *to.cast::<Objects>();
        if let Some(place) = objects.list.get_mut(objects.count) {
            // The program itself comes first.
            *place = Some(Object { info: *info, of_server: objects.count == 0 });
            objects.count += 1;
        }
        0
    }
}

/// Has the tool's libraries call the real functions. `own_preloads`: what `LD_PRELOAD` has behind this library, which is the server's; null for
/// nothing.
///
/// # Safety
/// `own_preloads` is null or a C string, and the process has run none of the server's code.
pub unsafe fn set_apart(own_preloads: *const c_char) {
    if !state::is_under_tool() {
        return;
    }
    let mut objects = Objects { list: [None; OBJECTS], count: 0 };
    // SAFETY: the list outlives the walk; what the loader has mapped at the start stays mapped.
    unsafe {
        libc::dl_iterate_phdr(Some(add), (&raw mut objects).cast());
        let own = objects::own_base();
        if !own_preloads.is_null() {
            for path in CStr::from_ptr(own_preloads).to_bytes().split(|&byte| byte == b':') {
                mark(&mut objects, last_part(path));
            }
        }
        loop {
            let before = servers(&objects);
            for at in 0..objects.count {
                if let Some(object) = objects.list[at].filter(|object| object.of_server) {
                    let tables = tables_of(&object.info);
                    let mut entry = dynamic_of(&object.info);
                    while !entry.is_null() && (*entry)[0] != 0 {
                        if (*entry)[0] == DT_NEEDED {
                            let name = (tables[objects::DT_STRTAB] as *const c_char).add((*entry)[1]);
                            mark(&mut objects, CStr::from_ptr(name).to_bytes());
                        }
                        entry = entry.add(1);
                    }
                }
            }
            if servers(&objects) == before {
                break;
            }
        }
        for object in objects.list.iter().flatten().filter(|object| !object.of_server) {
            let name = last_part(CStr::from_ptr(object.info.dlpi_name).to_bytes());
            // The loader, and what the kernel maps, call nothing of ours.
            let is_systems = [&b"ld-linux"[..], b"linux-vdso", b"linux-gate"].iter().any(|one| name.starts_with(one));
            if object.info.dlpi_addr as usize != own && !is_systems {
                objects::rewrite_calls(&object.info, &replacement);
            }
        }
    }
}

/// Tag of the dynamic section for an object that another one is linked with.
const DT_NEEDED: usize = 1;

fn servers(objects: &Objects) -> usize {
    objects.list.iter().flatten().filter(|object| object.of_server).count()
}

/// The objects with this file name are the server's.
unsafe fn mark(objects: &mut Objects, name: &[u8]) {
    for object in objects.list.iter_mut().flatten() {
        // SAFETY: the names of mapped objects are C strings.
        object.of_server |= unsafe { last_part(CStr::from_ptr(object.info.dlpi_name).to_bytes()) } == name;
    }
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// The function of this module that a tool's library calls instead of the one with this name; null for none.
fn replacement(name: &CStr) -> *mut c_void {
    let functions: [(&CStr, *const ()); 13] = [
        (c"open", opened as *const ()),
        (c"open64", opened as *const ()),
        (c"read", read as *const ()),
        (c"write", write as *const ()),
        (c"writev", writev as *const ()),
        (c"close", close as *const ()),
        (c"flock", flock as *const ()),
        (c"lseek", lseek as *const ()),
        (c"lseek64", lseek as *const ()),
        (c"fsync", fsync as *const ()),
        (c"fdatasync", fsync as *const ()),
        (c"ftruncate", ftruncate as *const ()),
        (c"ftruncate64", ftruncate as *const ()),
    ];
    functions.iter().find(|(of, _)| *of == name).map_or(null(), |(_, function)| *function).cast_mut().cast()
}

/// The descriptor that a tool's library means by a number.
fn moved(fd: c_int) -> c_int {
    let place = usize::try_from(fd).ok().and_then(|fd| MOVED.get(fd));
    place.map(|place| place.load(Ordering::Relaxed)).filter(|&moved| moved > 0).unwrap_or(fd)
}

// System calls, as the real functions are made: none of these is a point at which a thread is cancelled. They set `errno`, as those do.

unsafe extern "C" fn opened(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the tool's library passes what `open` takes.
    unsafe {
        let fd = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode as c_uint) as c_int;
        if !(3..CHANNEL_FD).contains(&fd) {
            return fd;
        }
        let command = if flags & libc::O_CLOEXEC != 0 { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
        let above = libc::syscall(libc::SYS_fcntl, fd, command, FIRST) as c_int;
        libc::syscall(libc::SYS_close, fd);
        above
    }
}

unsafe extern "C" fn read(fd: c_int, to: *mut c_void, length: size_t) -> ssize_t {
    // SAFETY: the tool's library passes what `read` takes.
    unsafe { libc::syscall(libc::SYS_read, moved(fd), to, length) as ssize_t }
}

unsafe extern "C" fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t {
    // SAFETY: the tool's library passes what `write` takes.
    unsafe { libc::syscall(libc::SYS_write, moved(fd), from, length) as ssize_t }
}

unsafe extern "C" fn writev(fd: c_int, from: *const libc::iovec, count: c_int) -> ssize_t {
    // SAFETY: the tool's library passes what `writev` takes.
    unsafe { libc::syscall(libc::SYS_writev, moved(fd), from, count) as ssize_t }
}

unsafe extern "C" fn close(fd: c_int) -> c_int {
    // SAFETY: the tool's library closes what it has opened.
    let result = unsafe { libc::syscall(libc::SYS_close, moved(fd)) as c_int };
    if let Some(place) = usize::try_from(fd).ok().and_then(|fd| MOVED.get(fd)) {
        place.store(0, Ordering::Relaxed);
    }
    result
}

unsafe extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    // SAFETY: acts on the descriptor alone.
    unsafe { libc::syscall(libc::SYS_flock, moved(fd), operation) as c_int }
}

unsafe extern "C" fn lseek(fd: c_int, offset: off_t, whence: c_int) -> off_t {
    // SAFETY: acts on the descriptor alone.
    unsafe { libc::syscall(libc::SYS_lseek, moved(fd), offset, whence) as off_t }
}

unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: acts on the descriptor alone.
    unsafe { libc::syscall(libc::SYS_fsync, moved(fd)) as c_int }
}

unsafe extern "C" fn ftruncate(fd: c_int, length: off_t) -> c_int {
    // SAFETY: acts on the descriptor alone.
    unsafe { libc::syscall(libc::SYS_ftruncate, moved(fd), length) as c_int }
}
