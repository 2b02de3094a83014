//! A replay under a tool: the program among the tool's processes that takes part, and what a tool changes for it.
//!
//! A debugger, a profiler or a checker starts the server itself, often through a shell. This library is loaded into each of these
//! processes, as they hand on the environment, and joins the recorded program only.

use super::state::{self, control};
use super::thread::PassThrough;
use libc::{c_char, c_int, uid_t};
use prony_channel::{Control, PROGRAM_BYTES, ProcessState};
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// Arguments that may name a script: the kernel puts at most one option of its interpreter before it (execve(2)).
const SCRIPT_PLACES: [usize; 2] = [1, 2];

/// Room for `/PID.out` and a zero byte.
const PID_NAME_BYTES: usize = 24;

/// True in the program that was recorded: the file that runs is the one that prony found for the command. `area`: the control area,
/// which this process has not joined yet. `/proc/self/exe` and not the arguments: Valgrind emulates it for the program
/// that it runs.
///
/// # Safety
/// `argv` is what the program was started with: C strings, with a null pointer behind them.
pub unsafe fn is_recorded_program(area: &Control, argv: *const *const c_char) -> bool {
    let mut room = [0_u8; PROGRAM_BYTES];
    // SAFETY: the kernel writes at most as many bytes as there is room for.
    let length = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), room.as_mut_ptr().cast(), room.len()) };
    let Some(executable) = usize::try_from(length).ok().and_then(|length| room.get(..length)) else { return false };
    let (program, script) = (area.program.read(), area.script.read());
    // SAFETY: as for this function.
    let is_it = text(&program) == executable && (script[0] == 0 || unsafe { runs(argv, &script) });
    if is_it && !area.processes[0].state.is(ProcessState::NotStarted, Ordering::Acquire) {
        super::report::fatal(&[b"the tool starts the recorded program a second time; a demo is replayed once"]);
    }
    is_it
}

/// The bytes before the first zero byte.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// True if an interpreter was started for this script.
unsafe fn runs(argv: *const *const c_char, script: &[u8; PROGRAM_BYTES]) -> bool {
    // SAFETY: the caller passes arguments, which are read up to the null pointer. The path is a C string, as the last of
    // its bytes is never written to.
    unsafe {
        let Some(wanted) = file_at(script.as_ptr().cast()) else { return false };
        let mut places = SCRIPT_PLACES.iter().take_while(|&&place| (1..=place).all(|at| !(*argv.add(at)).is_null()));
        places.any(|&place| file_at(*argv.add(place)) == Some(wanted))
    }
}

/// Device and inode of the file at a path.
unsafe fn file_at(path: *const c_char) -> Option<(u64, u64)> {
    // SAFETY: the caller passes a C string; all zero is a valid answer, and it lives across the call.
    unsafe {
        let mut found: libc::stat64 = std::mem::zeroed();
        (libc::stat64(path, &mut found) == 0).then_some((found.st_dev, found.st_ino))
    }
}

/// Closes what the tool has handed on above standard error, as `perf record` does: the numbers are those that the recording gives.
pub fn close_descriptors() {
    const LAST: c_int = prony_channel::CHANNEL_FD - 1;
    // SAFETY: the process has one thread, and runs no code of the server yet.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, LAST, 0) == -1 {
            for fd in 3..=LAST {
                libc::syscall(libc::SYS_close, fd);
            }
        }
    }
}

/// A process is about to become this user, who could not write the tool's file of it otherwise.
pub fn hand_over(user: uid_t) {
    let mut path = [0_u8; PROGRAM_BYTES + PID_NAME_BYTES];
    let directory = control().written.read();
    let directory = text(&directory);
    if directory.is_empty() || user == uid_t::MAX {
        return;
    }
    let _pass_through = PassThrough::enter();
    // SAFETY: the path is a C string: what is written of it leaves a zero byte behind it. What fails is said by the tool.
    unsafe {
        path[..directory.len()].copy_from_slice(directory);
        libc::chown(path.as_ptr().cast(), user, uid_t::MAX);
        let name = path[directory.len()..].as_mut_ptr().cast();
        libc::snprintf(name, PID_NAME_BYTES, c"/%d.out".as_ptr(), libc::getpid());
        libc::chown(path.as_ptr().cast(), user, uid_t::MAX);
    }
}

/// Passes on the result of a call that only sets what the kernel keeps for this process, one of `OWN_STATE_CALLS`. Where it
/// never failed while recording, it does not fail under a tool either: Valgrind refuses `setrlimit`, for one, and a server gives up over
/// that.
#[inline(always)]
pub fn of_own_state(name: &CStr, result: c_int) -> c_int {
    if result == -1 && state::is_under_tool() && is_refused(name) {
        return 0;
    }
    super::failures::at_descriptor(name, -1, result)
}

#[cold]
fn is_refused(name: &CStr) -> bool {
    control().own_state_failed.load(Ordering::Relaxed) & prony_channel::own_state_bit(name.to_bytes()) == 0
}
