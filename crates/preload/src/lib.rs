//! The library inside the server. It never unwinds into C, takes no memory from the server's
//! allocator while it holds a lock, and leaves `errno` as the real call set it.
//!
//! Safety: every hook is called by C code under the contract of the function whose name it
//! bears; the pointers it reads and writes are those the contract makes valid. The modules below
//! state only what goes beyond that.
#![allow(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(dead_code, reason = "nothing calls a hook that has no C name"))]
#![allow(clippy::while_immutable_condition, reason = "loops move a thread's cursor behind its pointer")]

mod addresses;
mod baton;
mod descriptors;
#[cfg(target_arch = "x86_64")]
mod detour;
mod ending;
mod epoll;
mod failures;
mod hooks;
mod notes;
mod objects;
mod pids;
mod player;
mod process;
#[cfg(target_arch = "x86_64")]
mod processor;
#[cfg(not(target_arch = "x86_64"))]
#[path = "processor_elsewhere.rs"]
mod processor;
mod real;
mod recorder;
mod report;
mod search;
mod signals;
mod stuck;
mod thread;
