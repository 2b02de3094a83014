//! Times of frames: from the end of one wait of the main thread to the start of the next.

use crate::channel::{FRAMES_BASE, FrameTime};
use crate::inside::process::control;
use crate::inside::thread::{self, Thread};
use std::sync::atomic::Ordering;

pub(super) unsafe fn start_frame(thread: *mut Thread) {
    (*thread).in_frame = true;
    (*thread).frame_cpu = now(libc::CLOCK_THREAD_CPUTIME_ID);
    (*thread).frame_wall = now(libc::CLOCK_MONOTONIC);
}

pub(super) unsafe fn end_frame(thread: *mut Thread) {
    if !std::mem::take(&mut (*thread).in_frame) {
        return;
    }
    let start_ns = (*thread).frame_wall;
    let wall_ns = now(libc::CLOCK_MONOTONIC) - start_ns;
    let cpu_ns = now(libc::CLOCK_THREAD_CPUTIME_ID) - (*thread).frame_cpu;
    let control = control();
    let frame = (*control).frames.load(Ordering::Relaxed);
    if frame < (*control).frame_capacity {
        (FRAMES_BASE as *mut FrameTime).add(frame as usize).write(FrameTime { start_ns, wall_ns, cpu_ns });
        (*control).frames.store(frame + 1, Ordering::Release);
    }
}

pub(super) unsafe fn now(clock: i32) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let live = std::mem::replace(&mut (*thread::this()).live, thread::ASIDE);
    libc::clock_gettime(clock, &mut time);
    (*thread::this()).live = live;
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
