//! Studies: a matrix of builds, workloads and machines, planned before anything runs and kept cell by cell.
//!
//! [`Results`] is what every reader of a study looks at: effects, reports and histories know nothing else.
#![forbid(unsafe_code)]

pub mod artifacts;
pub mod atomic_file;
mod cells;
mod design;
pub mod diff;
pub mod directory;
pub mod effects;
pub mod exec;
pub mod file;
pub mod fleet;
pub mod history;
pub mod import;
mod join;
pub mod ledger;
pub mod merge;
mod plan;
mod random;
mod results;
pub mod results_file;
pub mod run;
pub mod slurm;

pub use cells::{Contents, Task};
pub use design::{Alias, Design, Edges, Effect, FactorEdges};
pub use join::JoinError;
pub use plan::{Basis, Block, Estimate, Intervals, LeftOut, Plan, PlanError, Planned, Reason, StudyPlan};
pub use results::{
    Cell, Direction, Factor, FailureKind, Machine, Metric, Normalise, RandomFactor, Results, Role, State, Workload,
};
