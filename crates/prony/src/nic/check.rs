//! `prony nic check`: what every driver must get right.

use prony_machine::{Interrupt, Tree};
use prony_report::text;
use prony_softnic_host::{CheckOptions, Finding, Outcome, TRACES, Trace, check};
use prony_text::{Table, count};
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
struct Answer {
    /// The driver passed all traces.
    good: bool,
    command: Vec<String>,
    traces: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    trace: &'static str,
    /// What is tried, and what is expected.
    text: &'static str,
    passed: bool,
    /// What was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
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
            Outcome::Failed(finding) => Some(words(&options, finding)),
        };
        lines.push(Line { trace: trace.name, text: trace.text, passed: found.is_none(), found });
    }
    progress.clear();
    drop(reserved);
    let failed = lines.iter().filter(|line| !line.passed).count();
    if args.json {
        let command = options.command.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        output::print_json(&Answer { good: failed == 0, command, traces: lines })?;
    } else {
        output::print(&text(&lines, failed))?;
    }
    Ok(if failed == 0 { Exit::Good } else { Exit::Finding })
}

/// What a driver did wrong, in a line.
fn words(options: &CheckOptions, finding: Finding) -> String {
    match finding {
        Finding::Mistake(notice) => format!("{}: {}", options.addresses[notice.port], text::nic::event(&notice.event)),
        Finding::Ended { status, output } => {
            let last = output.lines().map(str::trim).rfind(|line| !line.is_empty());
            let last = last.map(|line| format!(": {line}")).unwrap_or_default();
            format!("the driver ended: {status}{last}")
        }
        Finding::Frames(what) => what,
    }
}

fn text(lines: &[Line], failed: usize) -> String {
    let mut table = Table::new();
    for line in lines {
        let verdict = if line.passed { "passed" } else { "failed" };
        table.row([verdict, line.trace, line.found.as_deref().unwrap_or(line.text)]);
    }
    let passed = (lines.len() - failed) as u64;
    format!("{}{} passed, {failed} failed\n", table.text(), count(passed, "trace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_stands_in_the_place_of_what_was_expected() {
        let line = |trace, found: Option<&str>| Line {
            trace,
            text: "all come out",
            passed: found.is_none(),
            found: found.map(str::to_owned),
        };
        let lines = [line("ring-wrap", None), line("link", Some("the link does not come up"))];
        assert_eq!(
            text(&lines, 1),
            "passed  ring-wrap  all come out\nfailed  link       the link does not come up\n1 trace passed, 1 failed\n"
        );
    }
}
