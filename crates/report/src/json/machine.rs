//! `prony machine check` as JSON.

use prony_machine::Check;
use serde_json::Value;

use crate::text::machine::check::next_step;

/// JSON value of the interference on a CPU, each source with its next step.
///
/// # Errors
/// None that is known: all of it are plain values.
pub fn check(check: &Check) -> serde_json::Result<Value> {
    let mut answer = serde_json::to_value(check)?;
    let findings = answer["findings"].as_array_mut().into_iter().flatten();
    for (object, finding) in findings.zip(&check.findings) {
        object["next_step"] = next_step(finding).into();
    }
    Ok(answer)
}
