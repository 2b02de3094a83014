//! Studies: a matrix of builds, workloads and machines, planned before anything runs and kept cell by cell.
//!
//! [`Results`] is what every reader of a study looks at: effects, reports and histories know nothing else.
#![forbid(unsafe_code)]

mod cells;
mod design;
pub mod directory;
pub mod disk;
pub mod file;
pub mod ledger;
mod plan;
mod results;
pub mod run;
pub mod ship;

pub use cells::{Contents, Task};
pub use design::{Alias, Design, Edges, Effect, FactorEdges};
pub use plan::{Basis, Block, Estimate, LeftOut, Plan, PlanError, Planned, Reason};
pub use results::{
    Cell, Direction, Factor, FailureKind, LoadError, Machine, Metric, Normalise, Results, Role, State, Workload,
};
