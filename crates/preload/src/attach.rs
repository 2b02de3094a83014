//! Load time: the library joins its process to the recording, before `main` and before the initialisers of all others.

use super::lifecycle::{attach_thread, exiting};
use super::state::{control, mode, set_errno, slot};
use super::thread::PassThrough;
use super::{
    addresses, checkpoint, collect, descriptors, epoll, failures, forks, handover, hooks, java, objects, player, real,
    report, sharing, stack, state, thread, tool, tool_objects,
};
use prony_channel::{self as channel, Control, ProcessState};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering;

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn(c_int, *const *const c_char, *mut *mut c_char) = at_load;

/// Runs when the loader has relocated every object and before `main`.
extern "C" fn at_load(_argc: c_int, argv: *const *const c_char, environment: *mut *mut c_char) {
    let paused = collect::pause_at_load();
    // SAFETY: the loader runs initialisers with the arguments and the environment of the program.
    unsafe { join(argv, environment) };
    clear_stack();
    collect::resume(paused);
}

/// Bytes of the stack below the initialisers that joining may have written to.
const JOINING_BYTES: usize = 1 << 16;

/// Leaves the stack below the initialiser as zeros. Servers draw random numbers from what they have not written there, as stunnel does:
/// joining would leave other bytes in a replay than in the recording, and others again under a tool.
#[inline(never)]
fn clear_stack() {
    let mut room = std::mem::MaybeUninit::<[u8; JOINING_BYTES]>::uninit();
    let start: *mut u8 = room.as_mut_ptr().cast();
    for at in 0..JOINING_BYTES {
        // SAFETY: writes within the array.
        unsafe { start.add(at).write_volatile(0) };
    }
}

/// Joins the recording, if the environment says that this process is one of it.
///
/// # Safety
/// Both are arrays of C strings that end with a null pointer, and nothing else uses the environment.
unsafe fn join(argv: *const *const c_char, environment: *mut *mut c_char) {
    // SAFETY: as for this function; the loader runs initialisers on one thread.
    unsafe {
        let mark = value_of(environment, MARK);
        if mark.is_null() {
            return;
        }
        let Some((area, known)) = map_control() else {
            report::fatal(&[b"cannot map the channel to the recorder; descriptor 1000 was taken or closed"]);
        };
        let by_tool = *mark == channel::MARK_TOOL.as_bytes()[0] as c_char;
        let index = number_of(mark, &mut null_mut());
        if area.under_tool.load(Ordering::Relaxed) && !tool::is_recorded_program(area, by_tool, index, argv) {
            // Whatever this one starts is to find everything as it was.
            libc::munmap(addresses::CONTROL as *mut c_void, channel::CONTROL_BYTES);
            return;
        }
        if by_tool {
            tool_objects::begin(environment, value_of(environment, b"LD_PRELOAD="));
        }
        let mark = take_variable(environment, MARK);
        restore_preload_variable(environment);
        if area.collects.load(Ordering::Relaxed) {
            // Where Valgrind finds the tool that counts. It gives it to programs that this one starts.
            take_variable(environment, b"VALGRIND_LIB=");
        }
        collect::begin(area, descriptors::mark_own);
        stack::find();
        attach(area, known, mark);
        java::set_options(environment);
        // Programs begin with 0.
        set_errno(0);
    }
}

/// The variable that marks a process of the recording.
const MARK: &[u8] = b"PRONY_CHANNEL=";

/// Value of a variable, null if there is none.
///
/// # Safety
/// As for [`take_variable`].
unsafe fn value_of(environment: *mut *mut c_char, name: &[u8]) -> *const c_char {
    let mut place = environment;
    // SAFETY: `place` moves up to the null pointer and no further.
    unsafe {
        while !(*place).is_null() {
            if libc::strncmp(*place, name.as_ptr().cast(), name.len()) == 0 {
                return (*place).add(name.len());
            }
            place = place.add(1);
        }
    }
    null()
}

/// Takes a variable out of the environment and returns its value, null if there is none.
/// `getenv` and `unsetenv` will not do: shells export functions of these names, which act on their
/// own variables.
///
/// # Safety
/// `environment` is an array of C strings that ends with a null pointer, and nothing else uses it.
unsafe fn take_variable(environment: *mut *mut c_char, name: &[u8]) -> *mut c_char {
    let mut place = environment;
    // SAFETY: `place` moves up to the null pointer and no further.
    unsafe {
        while !(*place).is_null() {
            if libc::strncmp(*place, name.as_ptr().cast(), name.len()) == 0 {
                let value = (*place).add(name.len());
                while !(*place).is_null() {
                    *place = *place.add(1);
                    place = place.add(1);
                }
                return value;
            }
            place = place.add(1);
        }
    }
    null_mut()
}

/// Takes this library out of `LD_PRELOAD`, so that helpers run without it and the server's own
/// setting, if any, stands. It is the first of the list as the launcher, or the program before this one, set it; tools put their
/// own before it.
///
/// # Safety
/// As for [`take_variable`].
unsafe fn restore_preload_variable(environment: *mut *mut c_char) {
    const NAME: &[u8] = b"LD_PRELOAD=";
    let mut place = environment;
    // SAFETY: `place` moves up to the null pointer and no further; what is moved stays within the value, a C string.
    unsafe {
        while !(*place).is_null() && libc::strncmp(*place, NAME.as_ptr().cast(), NAME.len()) != 0 {
            place = place.add(1);
        }
        if (*place).is_null() {
            return;
        }
        let value = (*place).add(NAME.len());
        let list = CStr::from_ptr(value).to_bytes();
        let is_own =
            |path: &[u8]| [channel::LIBRARY_PATH, channel::LIBRARY_I386_PATH].iter().any(|own| own.as_bytes() == path);
        let mut at = 0;
        for path in list.split(|&byte| byte == b':') {
            if is_own(path) {
                let end = at + path.len();
                match (at, list.len() - end) {
                    (0, 0) => _ = take_variable(environment, NAME),
                    // "OTHERS:OWN" becomes "OTHERS", "OWN:OTHERS" becomes "OTHERS" in place; `setenv` would take memory.
                    (_, 0) => *value.add(at - 1) = 0,
                    (_, rest) => _ = libc::memmove(value.add(at).cast(), value.add(end + 1).cast(), rest),
                }
                return;
            }
            at += path.len() + 1;
        }
    }
}

/// Maps the control area; what its mode is, if it is one.
fn map_control() -> Option<(&'static Control, channel::Mode)> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
    let place = addresses::CONTROL as *mut c_void;
    // SAFETY: nothing else is mapped at that address, or the call fails. The file is as large as the area and keeps its
    // size; all of the area is atomics, and it stays mapped.
    let control: &'static Control = unsafe {
        if libc::mmap(place, channel::CONTROL_BYTES, protection, flags, channel::CHANNEL_FD, 0) != place {
            return None;
        }
        &*place.cast()
    };
    let mode = control.mode.load(Ordering::Relaxed)?;
    (control.magic.load(Ordering::Relaxed) == channel::MAGIC).then_some((control, mode))
}

/// Joins this process to the recording. `area`: the control area, mapped for good. `mark`: its number, and behind it what the program before handed on, see
/// `hooks::process`.
///
/// # Safety
/// `mark` is a C string, and the process has one thread.
unsafe fn attach(area: &'static Control, known: channel::Mode, mark: *const c_char) {
    let mut rest = null_mut();
    // SAFETY: the mark is a C string, of which `rest` points at the part that is not read yet; the process has one
    // thread, and the library is not in use before this returns.
    unsafe {
        state::join(area, number_of(mark, &mut rest), known);
        let pid = libc::getpid();
        let is_first = slot().pid.swap(pid, Ordering::Relaxed) == 0;
        handover::note_process(pid);
        // A program that this process ran before may have had threads; their numbers stay taken.
        slot().threads.fetch_max(1, Ordering::Relaxed);
        if !state::share_order_again() {
            // Its threads are gone, and with them who had the baton.
            slot().baton.store(0, Ordering::Relaxed);
        }
        epoll::map_table();
        descriptors::inherit();
        let mut logs = [[0; 2]; 2];
        let spawned = *rest == b'+' as c_char;
        if spawned {
            rest = rest.add(1);
            for number in logs.as_flattened_mut() {
                *number = libc::strtoull(rest, &mut rest, 10);
                rest = rest.add(usize::from(*rest == b'.' as c_char));
            }
        }
        while *rest == b',' as c_char {
            let fd = libc::strtol(rest.add(1), &mut rest, 10) as c_int;
            let bits = if *rest == b':' as c_char { libc::strtol(rest.add(1), &mut rest, 10) } else { 0 };
            descriptors::take_over(fd, bits as c_int);
        }
        if mode() == thread::REPLAYING {
            checkpoint::begin();
            player::map_tape();
            if control().explained.load(Ordering::Relaxed) {
                libc::setvbuf(stdout, null_mut(), libc::_IOLBF, 0);
            }
        }
        real::look_up_all();
        objects::exclude();
        on_exit(at_exit, null_mut());
        forks::watch();
        slot().state.store(ProcessState::Running, Ordering::Release);
        attach_thread(0);
        begin_sharing();
        if spawned {
            hooks::begin_spawned(&logs);
        } else if is_first || mode() == thread::REPLAYING {
            hooks::begin_first();
        }
        hooks::redirect_standard_streams();
        hooks::begin_randomness();
        failures::begin();
        objects::watch();
        objects::name_interposer();
        stack::look_for_collector();
        real::forget_failures();
    }
}

/// Number of the process that the mark names, and what stands behind it. The program that a tool was to start is the first one.
///
/// # Safety
/// `mark` is a C string.
unsafe fn number_of(mark: *const c_char, rest: &mut *mut c_char) -> u32 {
    // SAFETY: as for this function.
    unsafe {
        if *mark == channel::MARK_TOOL.as_bytes()[0] as c_char {
            *rest = mark.add(1).cast_mut();
            return 0;
        }
        libc::strtoul(mark, rest, 10) as u32
    }
}

/// Goes on in the order that the program before shared with other processes, if it did.
fn begin_sharing() {
    let _aside = PassThrough::enter();
    // SAFETY: the block is the calling thread's own, and attached.
    unsafe { sharing::begin(thread::this()) };
}

unsafe extern "C" {
    /// The stream that `printf` writes to.
    static stdout: *mut libc::FILE;

    /// Handlers run last in, first out; this one is registered before those of the loader and the
    /// server, so it comes last. Unlike `atexit` it learns the status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

extern "C" fn at_exit(status: c_int, _argument: *mut c_void) {
    hooks::flush_streams();
    let paused = collect::pause();
    exiting(status);
    collect::resume(paused);
}
