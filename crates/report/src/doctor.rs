//! What works on a machine, for `prony doctor`.

use serde::Serialize;

/// Something that works, or does not.
#[derive(Debug, Serialize)]
pub struct Check {
    /// The verb, with its option, that needs it.
    pub name: &'static str,
    /// True if it works.
    pub works: bool,
    /// What was tried, and what came of it.
    pub evidence: String,
    /// What to install, set or run; only where it does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}
