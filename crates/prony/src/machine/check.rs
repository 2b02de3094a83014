//! Verb `prony machine check`: lists sources of interference.

use prony_machine::{CpuSet, Tree, bench_cpu, check, facts};
use prony_report::{json, text};

use crate::cli::machine::CheckArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When there is no such CPU, or the answer cannot be written.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let tree = Tree::at(&args.root.root);
    let cpu = args.cpu.unwrap_or_else(|| bench_cpu(&tree));
    if let Some(cpu) = args.cpu {
        known(&tree, &CpuSet::from_iter([cpu]))?;
    }
    let check = check(&tree, cpu, args.window);
    if args.json {
        output::print_json(
            &json::machine::check(&check).map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?,
        )?;
    } else {
        output::print(&text::machine::check::text(&check))?;
    }
    Ok(if check.disturbing().next().is_some() { Exit::Finding } else { Exit::Good })
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
