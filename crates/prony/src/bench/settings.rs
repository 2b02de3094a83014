//! Settings that measurements of commands and of replays share.

use std::time::Duration;

use prony_machine::Tree;

use crate::cli::BenchArgs;
use crate::failure::Failure;

/// The lowest priority of SCHED_FIFO is already ahead of everything that has none.
pub const FIFO_PRIORITY: u8 = 1;

/// Time for runs of all layouts. It ends earlier when runs add little to the spread.
const LAYOUTS_TIME: Duration = Duration::from_secs(120);

/// The requested CPU; a duet needs one in any case.
pub fn cpu(args: &BenchArgs) -> Result<Option<usize>, Failure> {
    match args.execution.pin {
        None if args.execution.duet => prony_bench::duet_cpu()
            .map(Some)
            .map_err(|error| Failure::new(format!("cannot choose a CPU for --duet: {error}")).hint("--pin names one")),
        pinned => Ok(pinned),
    }
}

/// Tuning of the machine, and CPUs of the commands.
pub fn tuning(args: &BenchArgs) -> serde_json::Value {
    serde_json::json!({
        "knobs": prony_machine::tuned(&Tree::machine()),
        "pin": args.execution.pin,
        "duet": args.execution.duet,
        "fifo_priority": args.execution.fifo.then_some(FIFO_PRIORITY),
    })
}

/// A value of a worker or a replay takes a tenth of a second and more, and there must be enough of them.
pub fn budget(args: &BenchArgs) -> Duration {
    if args.hooks.layouts.layouts.is_some() {
        return args.plan.max_time.unwrap_or(LAYOUTS_TIME);
    }
    let seconds = match (args.python.is_used(), args.replays.demo.is_empty()) {
        (true, _) => 30,
        (false, false) => 20,
        (false, true) => 8,
    };
    args.plan.max_time.unwrap_or(Duration::from_secs(seconds))
}
