//! The library inside the server. It never unwinds into C, takes no memory from the server's
//! allocator while it holds a lock, and leaves `errno` as the real call set it.
//!
//! Safety: every hook is called by C code under the contract of the function whose name it bears; the pointers it reads
//! and writes are those the contract makes valid. Beyond that, unsafe functions ask for one of these:
//!
//! * `thread` is the block of the calling thread (`thread::this`). One that is attached has a slot, and what its slot has
//!   is mapped: its ring while recording, its records while replaying.
//! * A record is whole and in memory: it lies before the `end` of its thread, see `player::window`.
//! * What a piece of a record points at lives until the record is written.
#![cfg_attr(test, allow(dead_code, reason = "nothing calls a hook that has no C name"))]
#![allow(clippy::while_immutable_condition, reason = "loops move a thread's cursor behind its pointer")]

// Layers: a module uses modules of its own layer and of those above, never in a circle.

// What this process and this thread are.
mod addresses;
mod collect;
mod counter;
mod digest;
mod stack;
mod state;
mod thread;
mod vetted;
mod widths;
// Words for the person, and facts for the process outside.
mod halt;
mod handover;
mod report;
mod slots;
// Recording.
mod baton;
mod recorder;
mod ring;
mod stuck;
// What both know of the server.
mod deferred;
mod descriptors;
mod ending;
mod epoll;
mod failures;
mod file_times;
mod handlers;
mod own_words;
mod pids;
mod programs;
mod returned;
mod sanitizer;
mod tool;
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod trap;
#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
#[path = "trap_elsewhere.rs"]
mod trap;
// Replaying.
mod player;
// Threads and processes that come and go.
mod lifecycle;
mod sharing;
// Code that passes the hooks by.
mod forks;
mod notes;
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod processor;
#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
#[path = "processor_elsewhere.rs"]
mod processor;
mod raw_calls;
mod search;
mod signals;
// A server whose recording has ended.
mod going_on;
// A server that is copied, for a debugger.
mod checkpoint;
// What the server calls.
mod hooks;
mod real;
#[cfg(target_arch = "x86")]
mod versions;
// Where it all begins.
mod attach;
mod java;
mod objects;
mod tool_objects;
