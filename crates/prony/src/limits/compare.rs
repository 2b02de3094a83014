//! `prony limits compare`: how near a workload came to what the hardware does at best.

use std::path::Path;

use prony_limits::{Limits, Workload, fingerprint, reference_experiment, shares};
use prony_machine::Facts;
use prony_report::json::limits::shares as json;
use prony_report::text::limits::shares as text;
use prony_stats::samples::Samples;

use super::store;
use crate::cli::limits::CompareLimitsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::samples::load_all;

/// # Errors
/// When either file cannot be read, they are of two machines, or no benchmark says how much a run is.
pub fn run(args: &CompareLimitsArgs) -> Result<Exit, Failure> {
    let loaded = load_all("compare", std::slice::from_ref(&args.run), args.read)?;
    let samples = &loaded[0].samples;
    let limits = store::load(args.from.as_deref())?;
    same_machine(&args.run, samples, &limits)?;
    let workloads = Workload::all(samples);
    if workloads.is_empty() {
        let file = args.run.display();
        return Err(Failure::new(format!(
            "cannot compare {file}: no benchmark states its bytes or operations per run"
        ))
        .hint("measure with `prony bench --bytes N --export-json FILE COMMAND`, or --operations N"));
    }
    for workload in &workloads {
        if shares(&limits.measured, workload.rate).is_empty() {
            return Err(Failure::new(format!(
                "cannot compare `{}` of {}: expected limits of {}, found none of machine {}",
                workload.name,
                args.run.display(),
                workload.unit(),
                limits.fingerprint
            ))
            .hint(format!("run `prony limits {}`", reference_experiment(workload.rate))));
        }
    }
    if args.json {
        output::print_json(&json::answer(&workloads, &limits))?;
    } else {
        output::print(&workloads.iter().map(|workload| text::text(workload, &limits)).collect::<String>())?;
    }
    Ok(Exit::Good)
}

/// # Errors
/// When the samples are of another machine, or do not say of which.
fn same_machine(path: &Path, samples: &Samples, limits: &Limits) -> Result<(), Failure> {
    let file = path.display();
    let facts = samples.circumstances.as_ref().map(|circumstances| circumstances.machine.clone()).unwrap_or_default();
    let facts: Facts = serde_json::from_value(facts).map_err(|_| {
        Failure::new(format!("cannot compare {file}: it does not state the machine"))
            .hint("samples of `prony bench --export-json FILE` state it")
    })?;
    let found = fingerprint(&facts);
    if found == limits.fingerprint {
        return Ok(());
    }
    let model = |facts: &Facts| facts.cpu.model.clone().unwrap_or_else(|| "an unknown processor".to_owned());
    Err(Failure::new(format!(
        "cannot compare {file}: expected samples of machine {} ({}), found machine {found} ({})",
        limits.fingerprint,
        model(&limits.facts),
        model(&facts)
    ))
    .hint("measure the limits there, or give them with --from FILE"))
}
