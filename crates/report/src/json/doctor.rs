//! What works on a machine, as JSON.

use serde::Serialize;

use crate::doctor::Check;

/// The answer of `prony doctor`.
#[derive(Debug, Serialize)]
pub struct DoctorDocument<'a> {
    /// Version of prony.
    pub version: &'a str,
    /// What was tried.
    pub checks: &'a [Check],
}
