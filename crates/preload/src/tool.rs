//! A replay under a tool: the program among the tool's processes that takes part, and what a tool changes for it.
//!
//! A debugger, a profiler or a checker starts the server itself, often through a shell. This library is loaded into each of these
//! processes, as they hand on the environment, and joins the recorded program only.

use super::programs::{self, FileId, Running, file_at};
use super::state::{self, control};
use super::thread::PassThrough;
use super::{digest, report};
use libc::{c_char, c_int, uid_t};
use prony_channel::{Control, PROGRAM_BYTES, ProcessState, digest_of_arguments};
use std::ffi::CStr;
use std::sync::atomic::Ordering;

/// The last argument that may name a script: for each interpreter that is a script itself, the kernel puts its path and at most
/// one option before it (execve(2)).
const LAST_SCRIPT_PLACE: usize = 8;

/// Room for `/PID.out` and a zero byte.
const PID_NAME_BYTES: usize = 24;

/// True in the program that process `index` is to run: the same file, with the same arguments, as a tool may be run by the same
/// interpreter. That is the recorded command's at first, and later the one that the process has changed to by `exec`. `area`: the control
/// area, which this process has not joined yet. `by_tool`: no process of the recording has started this one.
///
/// # Safety
/// `argv` is what the program was started with: C strings, with a null pointer behind them.
pub unsafe fn is_recorded_program(area: &Control, by_tool: bool, index: u32, argv: *const *const c_char) -> bool {
    // SAFETY: as for this function.
    unsafe {
        let expected = match by_tool {
            true => expected_first(area),
            false => area.programs.get(index as usize).map_or(0, |program| program.load(Ordering::Relaxed)),
        };
        if expected == 0 {
            return !by_tool;
        }
        let is_it = runs(expected, argv);
        if is_it && by_tool && !area.processes[0].state.is(ProcessState::NotStarted, Ordering::Acquire) {
            report::fatal(&[b"the tool starts the recorded program a second time; a demo is replayed once"]);
        }
        is_it
    }
}

/// Digest of the program that the tool was to start, 0 if it is not there.
unsafe fn expected_first(area: &Control) -> u64 {
    let (program, script) = (area.program.read(), area.script.read());
    // SAFETY: the paths are C strings, as the last of their bytes is never written to.
    let file = |path: &[u8; PROGRAM_BYTES]| (path[0] != 0).then(|| unsafe { file_at(path.as_ptr().cast()) });
    let (Some(Some(program)), script) = (file(&program), file(&script)) else { return 0 };
    match script {
        Some(None) => 0,
        script => digest_of(Running { program, script: script.flatten() }, area.arguments.load(Ordering::Relaxed)),
    }
}

/// True if this process runs the program with this digest.
unsafe fn runs(expected: u64, argv: *const *const c_char) -> bool {
    // SAFETY: the caller passes arguments, of which at most those before the null pointer are read.
    unsafe {
        let Some(program) = executable() else { return false };
        let is = |script, place| digest_of(Running { program, script }, arguments_behind(argv, place)) == expected;
        let places = (1..=LAST_SCRIPT_PLACE).take_while(|&place| (0..=place).all(|at| !(*argv.add(at)).is_null()));
        is(None, 0)
            || places.into_iter().any(|place| file_at(*argv.add(place)).is_some_and(|file| is(Some(file), place)))
    }
}

/// The file that this process runs. By its path, not by the link alone: Valgrind emulates `readlink` of it for the program that it runs.
fn executable() -> Option<FileId> {
    let mut room = [0_u8; PROGRAM_BYTES];
    // SAFETY: the kernel writes at most as many bytes as there is room for, and leaves the last one, a zero.
    unsafe {
        let length = libc::readlink(c"/proc/self/exe".as_ptr(), room.as_mut_ptr().cast(), room.len() - 1);
        if length > 0 { file_at(room.as_ptr().cast()) } else { None }
    }
}

/// Digest of the arguments behind the one at `place`.
unsafe fn arguments_behind(argv: *const *const c_char, place: usize) -> u64 {
    // SAFETY: the caller passes arguments, of which the one at `place` is there, or there is none; those up to the null pointer are read.
    unsafe {
        let first = if argv.is_null() || (*argv).is_null() { place } else { place + 1 };
        let there = (first..).map_while(|at| {
            let argument = if argv.is_null() { std::ptr::null() } else { *argv.add(at) };
            (!argument.is_null()).then(|| CStr::from_ptr(argument).to_bytes())
        });
        digest_of_arguments(there)
    }
}

/// Digest of what runs, never 0.
fn digest_of(running: Running, arguments: u64) -> u64 {
    let Running { program, script } = running;
    let script = script.unwrap_or_default();
    let words = [program.0, program.1, script.0, script.1, arguments];
    digest::long(words.into_iter().flat_map(u64::to_le_bytes)).max(1)
}

/// Process `index` is about to run another program. A tool may start it in its own way, with others before it: only this one goes on
/// with the recording.
///
/// # Safety
/// `path` is a C string, and `arguments` are null or an array of C strings that ends with a null pointer.
pub unsafe fn expect(index: u32, path: *const c_char, arguments: *const *const c_char) {
    if !state::is_under_tool() {
        return;
    }
    // SAFETY: as for this function.
    let digest =
        unsafe { programs::running(path).map_or(0, |running| digest_of(running, arguments_behind(arguments, 0))) };
    if let Some(program) = control().programs.get(index as usize) {
        program.store(digest, Ordering::Relaxed);
    }
}

/// A process is about to become this user, who could not write the tool's file of it otherwise.
pub fn hand_over(user: uid_t) {
    let mut path = [0_u8; PROGRAM_BYTES + PID_NAME_BYTES];
    let directory = control().written.read();
    let directory = directory.split(|&byte| byte == 0).next().unwrap_or_default();
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
