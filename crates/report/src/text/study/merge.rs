//! Directories that were merged, in the terminal.

use prony_study::merge::Merged;
use prony_text::{Untrusted, count};

/// A line for each machine of each directory.
pub fn text(merged: &[Merged]) -> String {
    let line = |merged: &Merged| {
        let done = count(merged.done as u64, "cell");
        format!("{}  {done} of {}\n", Untrusted::new(&merged.from), Untrusted::new(&merged.machine))
    };
    merged.iter().map(line).collect()
}
