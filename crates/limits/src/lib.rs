//! Limits of this hardware: bandwidth, latency, ports, branches, decoding, faults, files, datagrams.
//!
//! [`run`] plans the requested [`Experiment`]s as cases, runs all cases in an order drawn by a seed, and answers with [`Limits`].
//! Loops are bytes that are emitted at run time and disassembled from the memory in which they ran, so that every number has its
//! machine code beside it. Each sample stands between two probes: how fast this core counts, and whether another thread shares it.
//! [`encode`] makes the file; [`shares`] says how near a workload came.
//!
//! Loops of machine code exist on x86-64. Elsewhere what needs them is reported as unsupported, and the rest is measured.

mod area;
mod case;
mod case_context;
#[cfg(target_arch = "x86_64")]
mod code;
mod contents;
mod experiment;
mod experiments;
mod fingerprint;
mod listing;
mod parallel;
mod permutation;
mod plateaus;
mod probe;
mod run;
mod share;
mod stored;
#[cfg(target_arch = "x86_64")]
mod streams;
mod tester;
mod thread_usage;
mod ticks;
mod unsupported;
mod workload;

pub use area::{Area, AreaError, PageKind};
pub use case::{Figure, Measure, Measured};
pub use experiment::Experiment;
pub use fingerprint::{Fingerprint, fingerprint};
pub use listing::{Line, Listing};
pub use permutation::single_cycle;
pub use plateaus::{Level, plateaus};
pub use probe::Reading;
pub use run::{Event, Limits, Options, RunError, Skipped, run};
pub use share::{Rate, Share, reference, reference_experiment, shares};
pub use stored::{MOST_BYTES, StoredError, decode, encode, path as stored_path};
pub use tester::{Effort, Sample, Series, Taint};
pub use unsupported::Unsupported;
pub use workload::Workload;
