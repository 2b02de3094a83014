//! `prony load nic`.

use std::io::Write;
use std::time::Duration;

use prony_machine::{Interrupt, Tree};
use prony_report::{json, text};
use prony_softnic_host::{Mode, Options, run as run_load};

use super::{addresses, failure, reserve, with_addresses};
use crate::cli::nic::{LoadNicArgs, ModeArg};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// Runs the driver under load, answers and says how it went.
///
/// # Errors
/// What kept it from running; a driver that forwards nothing among it.
pub fn run(args: &LoadNicArgs) -> Result<Exit, Failure> {
    let mut file = args.output.as_deref().map(|path| NewFile::create(path, args.force)).transpose()?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let tree = Tree::machine();
    let reserved = reserve(&tree, args.traffic.huge_pages)?;
    let report = run_load(&options(args), &interrupt.flag());
    drop(reserved);
    let report = report.map_err(failure)?;
    let warnings: Vec<String> = report.warnings().iter().map(text::nic::warning).collect();
    let samples = report.samples(env!("CARGO_PKG_VERSION"), warnings.clone());
    if let (Some(mut file), Some(path), Some(samples)) = (file.take(), &args.output, samples) {
        let bytes = samples.encode().map_err(|error| Failure::new(format!("cannot write samples: {error}")))?;
        file.file().write_all(&bytes).map_err(|error| Failure::io("write", path, &error))?;
        file.finish()?;
    }
    if args.json {
        output::print_json(&json::nic::answer(&report, report.is_finding(), &warnings))?;
    } else {
        output::print(&text::nic::text(&report))?;
    }
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    Ok(match (warnings.is_empty(), report.is_finding()) {
        (false, _) => Exit::NotTrusted,
        (true, true) => Exit::Finding,
        (true, false) => Exit::Good,
    })
}

fn options(args: &LoadNicArgs) -> Options {
    let addresses = addresses(args.traffic.ports);
    let batch = args.batch.map(|batch| ("FORWARDER_BATCH".into(), batch.to_string().into()));
    Options {
        command: with_addresses(&args.command, &addresses),
        addresses,
        binding: args.binding.binding(),
        environment: batch.into_iter().collect(),
        rate: args.traffic.rate,
        sizes: args.traffic.size.clone(),
        flows: args.traffic.flows.unwrap_or(0),
        mode: match args.mode {
            ModeArg::CrossCore => Mode::CrossCore,
            ModeArg::Slice => Mode::Slice { interval: Duration::from_micros(args.interval) },
        },
        warm_up: args.warm_up,
        duration: args.duration,
        setup_timeout: args.setup_timeout,
        device_cpu: args.device_cpu,
        driver_cpu: args.driver_cpu,
        show_output: args.show_output,
    }
}
