//! Halt of a replay: a thread waits until a debugger has stopped it, at the call of a record or where the build diverges. At further
//! places it calls a function that the debugger knows.

use super::state::{control, errno, index, is_outside_gone, set_errno, slot};
use super::thread::{BLOCK_BYTES, PassThrough, Thread, block_below};
use libc::{c_int, timespec};
use prony_channel::{HaltState, PLAYER_EXIT};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

/// Interval at which a waiting thread looks whether a debugger has stopped it.
const LOOK: timespec = timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// The command of prctl(2) that names the process which may attach to this one; -1 for any.
const PR_SET_PTRACER: c_int = 0x5961_6d61;

/// True once a thread of the replay has come to where a debugger is to stop it. From then on a thread that gets nowhere may be
/// stopped by the debugger.
pub fn has_begun() -> bool {
    !control().halt.state.is(HaltState::Absent, Ordering::Relaxed)
}

/// Waits for a debugger, if one is to be attached and no thread waited before; where one is attached, it is called. The server's stack
/// stays as the call found it.
#[cold]
#[inline(never)]
pub unsafe fn wait(thread: *mut Thread, op: u32, fd: c_int, record: u64) {
    let halt = &control().halt;
    if !halt.wanted.load(Ordering::Relaxed) {
        return;
    }
    if !halt.state.acquire(HaltState::Absent, HaltState::Begun) {
        if halt.state.is(HaltState::Released, Ordering::Acquire) {
            arrived(record);
        }
        return;
    }
    let before = errno();
    let _pass_through = PassThrough::enter();
    // SAFETY: the block is the calling thread's own, which has a slot; the time lives across the call.
    unsafe {
        halt.process.store(index(), Ordering::Relaxed);
        halt.thread.store((*thread).index.into(), Ordering::Relaxed);
        halt.pid.store(slot().pid.load(Ordering::Relaxed), Ordering::Relaxed);
        halt.tid.store((*(*thread).slot).tid.load(Ordering::Relaxed), Ordering::Relaxed);
        halt.op.store(op, Ordering::Relaxed);
        halt.fd.store(fd, Ordering::Relaxed);
        halt.record.store(record, Ordering::Relaxed);
        halt.block_below.store(block_below(), Ordering::Relaxed);
        halt.block_bytes.store(BLOCK_BYTES as u64, Ordering::Relaxed);
        halt.arrival.store(arrived as *const () as usize as u64, Ordering::Relaxed);
        // Where Yama restricts debuggers to ancestors: gdb is no ancestor of the server.
        libc::prctl(PR_SET_PTRACER, libc::c_ulong::MAX, 0, 0, 0);
        halt.state.store(HaltState::Waiting, Ordering::Release);
        while !halt.state.is(HaltState::Released, Ordering::Acquire) {
            if is_outside_gone() {
                libc::_exit(PLAYER_EXIT);
            }
            libc::syscall(libc::SYS_nanosleep, &LOOK, null_mut::<timespec>());
        }
    }
    set_errno(before);
}

/// A thread has come to a further place: a debugger has a breakpoint here.
#[inline(never)]
extern "C" fn arrived(record: u64) {
    std::hint::black_box(record);
}

/// Keeps the address of a byte of output that differs. `message`: number of the message within its call.
pub fn keep_output(address: *const u8, message: u32) {
    let halt = &control().halt;
    halt.output_address.store(address as usize as u64, Ordering::Relaxed);
    halt.output_message.store(message, Ordering::Relaxed);
}

/// True if the address of a byte of output is wanted.
#[inline(always)]
pub fn is_output_wanted() -> bool {
    control().halt.output_wanted.load(Ordering::Relaxed)
}

/// The output of a record is as recorded: a further place, if it has the byte whose address is wanted.
#[cold]
pub fn see_output(record: u64, message: u32, runs: impl Iterator<Item = (*const u8, usize)>) {
    let halt = &control().halt;
    let is_it = halt.process.load(Ordering::Relaxed) == index()
        && halt.record.load(Ordering::Relaxed) == record
        && halt.output_message.load(Ordering::Relaxed) == message
        && halt.state.is(HaltState::Released, Ordering::Acquire);
    if is_it {
        let address = address_of(runs, halt.output_byte.load(Ordering::Relaxed) as usize);
        halt.output_address.store(address as usize as u64, Ordering::Relaxed);
        arrived(record);
    }
}

/// Address of byte `at` of runs of bytes; null where they are shorter.
pub fn address_of(runs: impl Iterator<Item = (*const u8, usize)>, at: usize) -> *const u8 {
    let mut place = 0;
    for (bytes, length) in runs {
        if at - place < length {
            return bytes.wrapping_add(at - place);
        }
        place += length;
    }
    std::ptr::null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_of_an_output_is_found_in_the_run_that_has_it() {
        let (first, second) = ([1_u8, 2], [3_u8, 4, 5]);
        let runs = || [(first.as_ptr(), 2), (second.as_ptr(), 0), (second.as_ptr(), 3)].into_iter();
        assert_eq!(address_of(runs(), 1), &raw const first[1]);
        assert_eq!(address_of(runs(), 2), &raw const second[0]);
        assert_eq!(address_of(runs(), 4), &raw const second[2]);
        assert!(address_of(runs(), 5).is_null());
    }
}
