//! Stories: the real `prony` command records real servers under real clients and replays them.
//!
//! Each story records one server for ten seconds on loopback, replays the demo three times, flips
//! one byte that the server was sent, and cuts the demo in the middle (`proof`). What they need
//! from Debian is in `scripts/setup`; a story whose server is missing fails with the command that
//! installs it. Ports come from the kernel, everything a server writes lies in a directory of its
//! own, and nothing waits for a fixed time: the clients ask until the server answers.

mod actions;
mod benches;
mod bisects;
mod calls;
mod causes;
mod counts;
mod debug;
mod debug_back;
mod debug_checkpoints;
mod decoders;
mod disk;
mod exports;
mod failures;
mod games;
mod goes_on;
mod habits;
mod handed;
mod handover;
mod i386;
mod kernel_events;
mod layouts;
mod listings;
mod long;
mod messages;
mod names;
mod planted;
mod proof;
mod setup;
mod stores;
mod strangers;
mod tools;
mod travel;
mod web;
