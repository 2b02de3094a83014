//! Failures of the commands and of Slurm, with hints.

use prony_study::exec::ExecError;
use prony_study::slurm::SlurmError;

use crate::failure::Failure;

/// A command that leads to a machine failed.
pub fn exec_failure(error: &ExecError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ExecError::Start { .. } => failure.hint("the first word of a template must be a program"),
        ExecError::Failed { .. } => failure.hint("results are kept; continue with `prony study resume DIR`"),
        _ => failure,
    }
}

/// Slurm refused or could not be reached.
pub fn slurm_failure(error: &SlurmError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        SlurmError::Start(_) => failure.hint("run this where Slurm's commands are installed, such as a login node"),
        SlurmError::Refused { .. } => failure.hint("`sinfo -N` lists nodes, partitions and their state"),
        _ => failure,
    }
}
