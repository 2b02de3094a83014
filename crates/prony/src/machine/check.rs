//! Verb `prony machine check`: lists sources of interference.

use prony_machine::{Check, CpuSet, Tree, bench_cpu, check, facts};
use prony_report::{json, text};
use serde_json::Value;

use crate::cli::machine::CheckArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When there is no such CPU, or the answer cannot be written.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let tree = Tree::at(&args.root.root);
    let cpus = args.cpu.clone().unwrap_or_else(|| CpuSet::from_iter([bench_cpu(&tree)]));
    if args.cpu.is_some() {
        known(&tree, &cpus)?;
    }
    // One after the other: threads that spin on all of them at once would disturb each other.
    let checks: Vec<Check> = cpus.iter().map(|cpu| check(&tree, cpu, args.window)).collect();
    if args.json {
        let values: Result<Vec<Value>, _> = checks.iter().map(json::machine::check).collect();
        let mut values = values.map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
        match values.pop() {
            Some(only) if values.is_empty() => output::print_json(&only)?,
            last => output::print_json(&Value::Array(values.into_iter().chain(last).collect()))?,
        }
    } else {
        let texts: Vec<String> = checks.iter().map(text::machine::check::text).collect();
        output::print(&texts.join("\n"))?;
    }
    let found = checks.iter().any(|check| check.disturbing().next().is_some());
    Ok(if found { Exit::Finding } else { Exit::Good })
}

/// # Errors
/// When some of the CPUs are not online.
pub fn known(tree: &Tree, cpus: &CpuSet) -> Result<(), Failure> {
    let online: CpuSet = facts(tree).cpu.online.parse().unwrap_or_default();
    match cpus.without(&online) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(Failure::new(format!("cannot use CPU {missing}: expected one of {online}"))),
    }
}
