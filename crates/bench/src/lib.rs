//! Runs commands in random order until it is known which is faster, or time is up.
//!
//! [`bench()`] runs every command once a round, in an order drawn again for each, under surroundings
//! that are the same within a round and differ from round to round; the judge of `prony-stats` says
//! when enough is known. Everything measured is in the [`Report`], however the bench ended.
#![forbid(unsafe_code)]

pub mod bisect;
mod build_command;
mod command;
mod contest;
mod context;
pub mod count;
pub mod counted;
mod deadline;
mod demo;
mod duet;
mod error;
pub mod layouts;
mod measured;
mod options;
mod randomization;
mod repetitions;
mod report;
mod rounds;
mod sample;
mod selftest;
mod single_run;
mod summary;
mod trial;
mod until_divergence;

pub mod parameters;
pub mod pyperf;
pub mod shell;
pub mod worker;

pub use command::{CommandError, CommandLine, Variables, assignments, quoted, split_variables};
pub use demo::{
    Build, DemoEnded, DemoOptions, DemoReport, DemoSource, FrameKind, JudgedFrames, ProfileError, ProfiledBuilds,
    bench_demo, run_of_replay,
};
pub use duet::{duet_cpu, on_cpu};
pub use error::{BenchError, Failed, Phase, Problem};
pub use measured::{Commands, Demos, Measured, OnDemo, OneSided, Suite};
pub use options::{Accepted, Execution, Input, Options, Output, Reference, RoundLimits, Subject};
pub use report::{Comparison, Ended, Event, Ranking, Report, Round, Warning};
pub use rounds::bench;
pub use selftest::{RESOLUTIONS_S, Resolution, Selftest, WORK_S, selftest};
pub use single_run::{SingleRun, SingleRunError, run_single};
pub use summary::{Spread, Summary};
pub use trial::Tried;
pub use until_divergence::UntilDivergence;
