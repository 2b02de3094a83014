//! Libraries that a tool has loaded into the server, as heaptrack does: their calls are not the server's, and their descriptors
//! have numbers that no recording gives.
//!
//! They are those that `LD_PRELOAD` has before this library, and what only they are linked with. Each has a table of the functions
//! that it calls: there, those that act on descriptors are replaced by the ones below, and all others by the real ones.

use super::objects::{self, dynamic_of, tables_of};
use libc::{c_char, c_int, c_uint, c_void, mode_t, off_t, size_t, ssize_t};
use prony_channel::{CHANNEL_FD, LIBRARY_I386_PATH, LIBRARY_PATH};
use std::ffi::CStr;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};

/// The first number that a descriptor of a tool's library gets, above those of this library.
const FIRST: c_int = 1100;

/// Where a descriptor went that such a library had opened before the server's program began, by its number; 0 for none.
static MOVED: [AtomicI32; CHANNEL_FD as usize] = [const { AtomicI32::new(0) }; CHANNEL_FD as usize];

/// Frees the numbers below [`CHANNEL_FD`] for those that the recording gives, and sets the tool's libraries apart. What the tool
/// handed on above standard error, as `perf record` does, is closed. What its libraries open in this process keeps its number for
/// them: they begin with the first memory that is allocated, which would come later in here. `preloads`: value of `LD_PRELOAD`,
/// null for none.
///
/// # Safety
/// `environment` is that of the process, of which no other code has run: this library's initialiser is the first one.
pub unsafe fn begin(environment: *mut *mut c_char, preloads: *const c_char) {
    // SAFETY: as for this function; acts on descriptors that only the tool's libraries may use, through the functions below.
    unsafe {
        for fd in 3..CHANNEL_FD {
            libc::syscall(libc::SYS_close, fd);
        }
        let list = if preloads.is_null() { &[] } else { CStr::from_ptr(preloads).to_bytes() };
        let own = [LIBRARY_PATH, LIBRARY_I386_PATH].map(str::as_bytes);
        let mut paths = list.split(|&byte| byte == b':');
        let mut has_others = false;
        for path in paths.by_ref().take_while(|path| !own.contains(path)) {
            has_others |= !path.is_empty();
        }
        if !has_others {
            return;
        }
        if environ.is_null() {
            // As libc's own initialiser will do.
            environ = environment;
        }
        libc::free(std::hint::black_box(libc::malloc(1)));
        set_apart(paths);
        for fd in 3..CHANNEL_FD {
            let above = libc::syscall(libc::SYS_fcntl, fd, libc::F_DUPFD_CLOEXEC, FIRST) as c_int;
            if above > 0 {
                MOVED[fd as usize].store(above, Ordering::Relaxed);
                libc::syscall(libc::SYS_close, fd);
            }
        }
    }
}

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// A library or program that is mapped.
#[derive(Clone, Copy)]
struct Object {
    info: libc::dl_phdr_info,
    /// The server is linked with it, or this library, or it is one of them.
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
            // The program itself comes first. What this library is linked with was there in the recording, too.
            let of_server = objects.count == 0 || (*info).dlpi_addr as usize == objects::own_base();
            *place = Some(Object { info: *info, of_server });
            objects.count += 1;
        }
        0
    }
}

/// Has the tool's libraries call the real functions. `own_preloads`: what `LD_PRELOAD` has behind this library, which is the
/// server's.
unsafe fn set_apart<'a>(own_preloads: impl Iterator<Item = &'a [u8]>) {
    let mut objects = Objects { list: [None; OBJECTS], count: 0 };
    // SAFETY: the list outlives the walk; what the loader has mapped at the start stays mapped.
    unsafe {
        libc::dl_iterate_phdr(Some(add), (&raw mut objects).cast());
        for path in own_preloads {
            mark(&mut objects, last_part(path));
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
            if !is_systems {
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
    let functions: [(&CStr, *const ()); 16] = [
        (c"pipe", pipe as *const ()),
        (c"pipe2", pipe2 as *const ()),
        (c"dup", dup as *const ()),
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

/// Moves a new descriptor above those that the recording gives.
fn raised(fd: c_int, closes_on_exec: bool) -> c_int {
    if !(3..CHANNEL_FD).contains(&fd) {
        return fd;
    }
    let command = if closes_on_exec { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
    // SAFETY: acts on a descriptor that was just made for the tool's library.
    unsafe {
        let above = libc::syscall(libc::SYS_fcntl, fd, command, FIRST) as c_int;
        libc::syscall(libc::SYS_close, fd);
        above
    }
}

unsafe extern "C" fn opened(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the tool's library passes what `open` takes.
    let fd = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode as c_uint) as c_int };
    raised(fd, flags & libc::O_CLOEXEC != 0)
}

unsafe extern "C" fn pipe(ends: *mut c_int) -> c_int {
    // SAFETY: the tool's library passes room for two numbers.
    unsafe { pipe2(ends, 0) }
}

unsafe extern "C" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: the tool's library passes room for two numbers.
    unsafe {
        let failed = libc::syscall(libc::SYS_pipe2, ends, flags) as c_int;
        if failed == 0 {
            for end in [ends, ends.add(1)] {
                *end = raised(*end, flags & libc::O_CLOEXEC != 0);
            }
        }
        failed
    }
}

unsafe extern "C" fn dup(fd: c_int) -> c_int {
    // SAFETY: acts on the descriptor alone.
    raised(unsafe { libc::syscall(libc::SYS_dup, moved(fd)) as c_int }, false)
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
