//! The measuring machine: facts, interference, tuning and restoring; processes.
//!
//! Everything is read and written below a [`Tree`]: the machine itself, or a directory that
//! imitates `/proc` and `/sys`, so that tests tune a tree of their own.
#![deny(clippy::indexing_slicing)]

mod abilities;
pub mod affinity;
mod check;
mod contention;
mod control_groups;
mod control_limits;
mod cpus;
mod facts;
pub mod huge_pages;
mod interrupt;
mod isolation;
mod knob;
pub mod own;
pub mod perf;
pub mod process;
mod tree;
mod tune;
mod undo;

pub use abilities::{Abilities, abilities};
pub use check::{Cause, Check, Disturbance, Finding, State, TickCause, bench_cpu, check};
pub use contention::{Contention, Taken, Wait, wait_on};
pub use control_limits::{MemoryLimit, Quota, cpu_quota, memory_limit};
pub use cpus::{CpuSet, CpuSetError};
pub use facts::{Cache, Cpu, Facts, Frequency, Idle, IdleState, Kernel, Node, Settings, facts};
pub use huge_pages::{HugePages, HugePagesError};
pub use interrupt::{Interrupt, signal_name};
pub use isolation::{BootParameter, Ignored, IgnoredReason, Reservation, Tasks, reservations, unbalanced};
pub use knob::Knob;
pub use tree::Tree;
pub use tune::{
    Absent, Applied, Back, Options, Outcome, Ran, Restored, Restoring, Shield, ShieldKind, Signals, TuneError, Tuning,
    frequencies, restore, tune,
};
pub use undo::{UndoError, path as undo_path, tuned};
