//! Times of frames: from the end of one wait of the main thread to the start of the next.

use crate::addresses;
use crate::collect;
use crate::counter;
use crate::state::{control, time_of};
use crate::thread::Thread;
use prony_channel::{Control, FrameTime};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;

pub(super) unsafe fn start_frame(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if control().frames.load(Ordering::Relaxed) == 0 {
            // What came before the first frame is no part of it.
            collect::end_frame();
            counter::begin_frames();
        }
        (*thread).in_frame = true;
        (*thread).frame_cpu = now(libc::CLOCK_THREAD_CPUTIME_ID);
        (*thread).frame_wall = now(libc::CLOCK_MONOTONIC);
    }
}

pub(super) unsafe fn end_frame(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own; frames end on the main thread only, so that no other
    // thread uses the sum.
    unsafe {
        if !std::mem::take(&mut (*thread).in_frame) {
            return;
        }
        collect::end_frame();
        let start_ns = (*thread).frame_wall;
        let wall_ns = now(libc::CLOCK_MONOTONIC) - start_ns;
        let cpu_ns = now(libc::CLOCK_THREAD_CPUTIME_ID) - (*thread).frame_cpu;
        let events = counter::end_frame();
        let control = control();
        let frames = control.frames.load(Ordering::Relaxed) + 1;
        control.frames.store(frames, Ordering::Release);
        let together = control.frames_in_each.load(Ordering::Relaxed);
        if together <= 1 {
            return list(control, FrameTime { start_ns, wall_ns, cpu_ns, events });
        }
        let sum = &mut *SUM.0.get();
        if frames % together == 1 {
            *sum = FrameTime { start_ns, wall_ns: 0, cpu_ns: 0, events: 0 };
        }
        sum.wall_ns += wall_ns;
        sum.cpu_ns += cpu_ns;
        sum.events += events;
        if frames.is_multiple_of(together) {
            list(control, *sum);
        }
    }
}

/// Frames that are to share an entry of the list.
static SUM: Sum = Sum(UnsafeCell::new(FrameTime { start_ns: 0, wall_ns: 0, cpu_ns: 0, events: 0 }));

struct Sum(UnsafeCell<FrameTime>);

// SAFETY: frames end on the main thread of one process.
unsafe impl Sync for Sum {}

fn list(control: &Control, time: FrameTime) {
    // SAFETY: the list is mapped with as many entries, and written by the main thread of one process only.
    unsafe {
        let entry = control.frame_times.load(Ordering::Relaxed);
        if entry < control.frame_capacity.load(Ordering::Relaxed) {
            (addresses::FRAMES as *mut FrameTime).add(entry as usize).write(time);
            control.frame_times.store(entry + 1, Ordering::Release);
        }
    }
}

pub(super) fn now(clock: i32) -> u64 {
    if control().halt.wanted.load(Ordering::Relaxed) {
        // Times under a debugger mean nothing, and what a clock leaves on the stack would differ from replay to replay.
        return 0;
    }
    time_of(clock)
}
