//! Programs that a server is about to run: which of the libraries goes with them.
//!
//! A loader says so on standard error when it is to preload a library of another ELF class, and goes on without it. So
//! `LD_PRELOAD` names the library that fits the program.

use super::state::{errno, set_errno};
use libc::{c_char, c_int};
use prony_channel::{LIBRARY_FD, LIBRARY_I386_FD};
use std::ffi::CStr;

/// Length that the kernel reads of a script to find its interpreter (`BINPRM_BUF_SIZE`).
const FIRST_BYTES: usize = 256;
/// Scripts run by scripts, as many as the kernel follows.
const DEPTH: u32 = 4;
/// Bytes of a path (`PATH_MAX`).
const PATH_BYTES: usize = 4096;

// Places in an ELF header, and what stands there (ELF specification, figure 1-3).
const CLASS: usize = 4;
const MACHINE: usize = 18;
const CLASS_32: u8 = 1;
const EM_386: u16 = 3;
const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;

/// Why a program cannot be preloaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unloadable {
    /// No library fits it.
    Architecture,
    /// The library has no name below the root directory of this process, as `/proc` is not there.
    Root,
}

/// The entry of the environment by which a program is preloaded. `path`: as `exec` gets it, which is searched for in `PATH` if
/// it has no slash.
///
/// # Safety
/// `path` is a C string.
pub unsafe fn preload_of(path: *const c_char) -> Result<&'static CStr, Unloadable> {
    // SAFETY: as for this function; the path that is found lives until it is looked at.
    unsafe {
        let before = errno();
        let mut room = [0; PATH_BYTES];
        let found = image_of(located(path, &mut room), DEPTH).map_or(Machine::Own, |image| image.machine);
        let entry = match found {
            Machine::Own => is_open(LIBRARY_FD).then_some(c"LD_PRELOAD=/proc/self/fd/1001"),
            Machine::I386 => is_open(LIBRARY_I386_FD).then_some(c"LD_PRELOAD=/proc/self/fd/1006"),
            Machine::Other => None,
        };
        // A process that has given up its privileges may have to wait for `exec` until it may look below `/proc/self` again.
        let is_there = |entry: &&CStr| {
            let name = entry.as_ptr().add(c"LD_PRELOAD=".count_bytes());
            libc::access(name, libc::F_OK) == 0 || errno() != libc::ENOENT
        };
        let answer = entry.ok_or(Unloadable::Architecture);
        let answer = answer.and_then(|entry| Some(entry).filter(is_there).ok_or(Unloadable::Root));
        set_errno(before);
        answer
    }
}

/// Device and inode of a file.
pub type FileId = (u64, u64);

/// What runs when a program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The file that `/proc/self/exe` will name: for a script its interpreter.
    pub program: FileId,
    /// The script.
    pub script: Option<FileId>,
}

/// What runs when the program at `path` is started, which is looked for as by [`preload_of`].
///
/// # Safety
/// `path` is a C string.
pub unsafe fn running(path: *const c_char) -> Option<Running> {
    // SAFETY: as for this function; the path that is found lives until it is looked at.
    unsafe {
        let before = errno();
        let mut room = [0; PATH_BYTES];
        let path = located(path, &mut room);
        let program = image_of(path, DEPTH).map(|image| image.file);
        let file = file_at(path);
        set_errno(before);
        let program = program?;
        Some(Running { program, script: file.filter(|file| *file != program) })
    }
}

/// Device and inode of the file at a path.
///
/// # Safety
/// `path` is a C string.
pub unsafe fn file_at(path: *const c_char) -> Option<FileId> {
    // SAFETY: the caller passes a C string; all zero is a valid answer, and it lives across the call.
    unsafe {
        let mut found: libc::stat64 = std::mem::zeroed();
        (libc::stat64(path, &mut found) == 0).then_some((found.st_dev, found.st_ino))
    }
}

/// A program file.
struct Image {
    machine: Machine,
    file: FileId,
}

/// Architecture that a program was built for.
#[derive(Clone, Copy)]
enum Machine {
    /// Architecture that prony runs on.
    Own,
    /// A program for 32-bit x86.
    I386,
    /// A program for another architecture, or no program.
    Other,
}

fn is_open(fd: c_int) -> bool {
    // SAFETY: only a query.
    unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
}

/// Path at which `execvp` finds a program.
unsafe fn located(path: *const c_char, room: &mut [u8; PATH_BYTES]) -> *const c_char {
    // SAFETY: the caller passes a C string; what is written ends with a zero byte within the room.
    unsafe {
        let name = CStr::from_ptr(path).to_bytes_with_nul();
        let search = libc::getenv(c"PATH".as_ptr());
        if name.contains(&b'/') || search.is_null() {
            return path;
        }
        for folder in CStr::from_ptr(search).to_bytes().split(|&byte| byte == b':') {
            let used = folder.len();
            if used + 1 + name.len() > room.len() {
                continue;
            }
            room[..used].copy_from_slice(folder);
            // An empty entry is the working directory.
            let from = if used == 0 { 0 } else { used + 1 };
            room[used] = b'/';
            room[from..from + name.len()].copy_from_slice(name);
            if libc::access(room.as_ptr().cast(), libc::X_OK) == 0 {
                return room.as_ptr().cast();
            }
        }
        path
    }
}

/// `None` if the file cannot be read.
unsafe fn image_of(path: *const c_char, depth: u32) -> Option<Image> {
    // SAFETY: the caller passes a C string.
    unsafe {
        let fd = libc::open64(path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK);
        if fd < 0 {
            return None;
        }
        // One byte more than is read is zero: the name of an interpreter ends there at the latest.
        let mut first = [0_u8; FIRST_BYTES + 1];
        let count = libc::read(fd, first.as_mut_ptr().cast(), FIRST_BYTES).max(0) as usize;
        let mut status: libc::stat64 = std::mem::zeroed();
        let file = (libc::fstat64(fd, &mut status) == 0).then_some((status.st_dev, status.st_ino));
        libc::close(fd);
        if let Some(rest) = first.strip_prefix(b"#!") {
            let start = 2 + rest.iter().take_while(|byte| **byte == b' ' || **byte == b'\t').count();
            let length = first[start..].iter().take_while(|byte| !byte.is_ascii_whitespace() && **byte != 0).count();
            first[start + length] = 0;
            return if depth == 0 { None } else { image_of(first[start..].as_ptr().cast(), depth - 1) };
        }
        if count < MACHINE + 2 || !first.starts_with(b"\x7fELF") {
            // A shell runs it.
            return if depth == 0 { None } else { image_of(c"/bin/sh".as_ptr(), 0) };
        }
        let machine = u16::from_le_bytes([first[MACHINE], first[MACHINE + 1]]);
        let own = if cfg!(target_arch = "aarch64") { EM_AARCH64 } else { EM_X86_64 };
        let machine = match (first[CLASS], machine) {
            (CLASS_32, EM_386) => Machine::I386,
            (class, machine) if class != CLASS_32 && machine == own => Machine::Own,
            _ => Machine::Other,
        };
        Some(Image { machine, file: file? })
    }
}
