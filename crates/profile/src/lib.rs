//! Profiles of programs: stack samples, symbols, folded stacks, shares, flame graphs.
//!
//! A [`Sampler`] takes samples while something runs and leaves a [`Recording`]; with names it is a [`Profile`], whose
//! [`Stacks`] are what tables, flame graphs and exports are made of. [`read_perf_script`] reads the same from the text of
//! `perf script`.
#![forbid(unsafe_code)]

mod callgrind;
mod doubts;
mod elf;
mod export;
mod feedback;
mod flame;
mod functions;
mod open;
mod pairing;
mod perf_script;
mod profile;
mod recording;
mod records;
mod sampler;
mod shares;
mod shifts;
mod space;
mod stacks;
mod symbols;
pub mod take;
mod times;
mod unwind;
mod zones;

pub use callgrind::{CallgrindError, CountedFunction, CountedParts, FunctionCounts, SimulatedCounts, SimulatedEvent};
pub use doubts::{Doubt, FEWEST_SAMPLES, Lack, doubts, lacks, skips_much};
pub use elf::Bulky;
pub use export::{perf_script, speedscope};
pub use feedback::Feedback;
pub use flame::{differential_flame_graph, flame_graph};
pub use functions::{FunctionSymbol, function_symbols};
pub use pairing::{Pair, pair};
pub use perf_script::{PerfScript, looks_like_perf_script, read_perf_script};
pub use profile::{Profile, TimedSample};
pub use recording::{Recording, StackSample, Walk, WeightUnit};
pub use sampler::{Options, ProfileMode, Sampler, SamplerError};
pub use shares::{Component, Share, component_shares, function_shares};
pub use shifts::{Growth, Shift, Shifts, shifts};
pub use space::{CodeLocation, FileIdentity, Object, ObjectId, ObjectKind};
pub use stacks::{Folded, NameId, Stacks};
pub use symbols::{
    JitMap, MissingSymbols, NoSymbols, SourceLine, demangle, distinct_names, lines_in_file, names_in_file, read_map,
    shortened,
};
pub use times::{TimeChange, TimeChanges, TimeGrowth, TimedStacks, time_changes};
pub use zones::{Zone, Zones, ZonesError, read_zones};
