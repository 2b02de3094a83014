//! A command compared with itself, in the terminal.

use std::fmt::Write;

use prony_bench::{Options, RESOLUTIONS_S, Selftest};
use prony_text::thousands;

use crate::change;

/// False alarms, and the smallest difference that can be found.
pub fn text(options: &Options, found: &Selftest) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} against itself, {} comparisons of up to {} s: false alarms: {}, expected at most {} %",
        options.subjects[0].name,
        found.comparisons,
        options.plan.budget_s,
        found.false_alarms,
        options.plan.alpha * 100.0,
    );
    let _ = writeln!(out, "  same within ±1 %: {} of {}", found.same, found.comparisons);
    if found.deviation.is_finite() {
        let found_in = RESOLUTIONS_S
            .map(|seconds| format!("{} in {seconds} s", change::size(found.resolution(seconds).difference)));
        let _ = writeln!(out, "  smallest difference detected 9 times in 10: {}", found_in.join(", "));
        let _ = writeln!(
            out,
            "  σ of a pair {}, {} pairs, {:.0} a second, {:.1} ms CPU a run",
            change::size(found.deviation),
            thousands(found.pairs as u64),
            found.pairs_per_s,
            found.cpu_s * 1e3,
        );
    }
    if let Some(contention) = found.contention {
        let _ = writeln!(out, "  runs waited for a CPU during {:.1} % of their time", contention * 100.0);
    }
    out
}
