//! `prony nic check`: what every driver must get right.

use prony_machine::{Interrupt, Tree};
use prony_report::nic::{self, Checked};
use prony_report::text;
use prony_softnic_host::{CheckOptions, Outcome, TRACES, Trace, check};
use serde::Serialize;

use super::{addresses, failure, reserve, with_addresses};

use crate::cli::nic::CheckArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::ProgressLine;

/// Ports of a forwarder.
const PORTS: u8 = 2;

/// The answer as JSON.
#[derive(Debug, Serialize)]
struct CheckReport {
    /// The driver passed all traces.
    good: bool,
    command: Vec<String>,
    traces: Vec<Checked>,
}

/// Runs the traces against a driver.
///
/// # Errors
/// What kept it from running.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let addresses = addresses(PORTS);
    let options = CheckOptions {
        command: with_addresses(&args.command, &addresses),
        addresses,
        binding: args.binding.binding(),
        setup_timeout: args.setup_timeout,
        show_output: args.show_output,
    };
    let tree = Tree::machine();
    let reserved = reserve(&tree, args.huge_pages)?;
    let mut progress = ProgressLine::new(!args.json);
    let is_wanted = |trace: &&Trace| args.only.is_empty() || args.only.contains(&trace.name);
    let mut lines = Vec::new();
    for trace in TRACES.iter().filter(is_wanted) {
        progress.show_text(trace.name);
        let outcome = check(&options, trace, &interrupt.flag()).map_err(failure)?;
        let found = match outcome {
            Outcome::Passed => None,
            Outcome::Failed(finding) => Some(nic::finding(&options, finding)),
        };
        lines.push(Checked { trace: trace.name, text: trace.text, passed: found.is_none(), found });
    }
    progress.clear();
    drop(reserved);
    let failed = lines.iter().filter(|line| !line.passed).count();
    if args.json {
        let command = options.command.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        output::print_json(&CheckReport { good: failed == 0, command, traces: lines })?;
    } else {
        output::print(&text::nic::check::text(&lines, failed))?;
    }
    Ok(if failed == 0 { Exit::Good } else { Exit::Finding })
}
