//! `prony load nic`.

use std::io::Write;
use std::time::Duration;

use prony_machine::{Interrupt, Tree};
use prony_report::{json, text};
use prony_softnic_host::{Mode, Options, Report, run as run_load};

use super::{addresses, failure, reserve, with_addresses};

use crate::cli::nic::{LoadNicArgs, ModeArg};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// Slices without frames for the driver, of which a result is not trusted any more.
const DRY_MAX: f64 = 0.5;
/// Spread of the windows, as a share of their median, above which a result is not trusted any more.
const SPREAD_MAX: f64 = 0.1;

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
    let warnings = warnings(&report);
    let samples = report.samples(env!("CARGO_PKG_VERSION"), warnings.clone());
    if let (Some(mut file), Some(path), Some(samples)) = (file.take(), &args.output, samples) {
        let bytes = samples.encode().map_err(|error| Failure::new(format!("cannot write samples: {error}")))?;
        file.file().write_all(&bytes).map_err(|error| Failure::io("write", path, &error))?;
        file.finish()?;
    }
    if args.json {
        output::print_json(&json::nic::answer(&report, is_finding(&report), &warnings))?;
    } else {
        output::print(&text::nic::text(&report))?;
    }
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    Ok(match (warnings.is_empty(), is_finding(&report)) {
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

/// Frames that the driver was given and that did not come out as they should, or mistakes that the device saw.
fn is_finding(report: &Report) -> bool {
    let wrong = |counts: &prony_softnic_host::Counts| counts.reordered + counts.duplicates + counts.corrupted;
    report.total(|stream| stream.lost_by_driver + wrong(&stream.counts)) > 0 || !report.notices.is_empty()
}

/// Warnings to know before the numbers are trusted.
fn warnings(report: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.is_interrupted {
        warnings.push("interrupted: the measurement is shorter than requested".to_owned());
    }
    if let Some((from, to)) = report.huge_pages_changed {
        warnings.push(format!("somebody changed vm.nr_hugepages from {from} to {to} during the run"));
    }
    if report.memory_taken > 0 {
        warnings.push("the driver truncated a file that the device was using as DMA memory".to_owned());
    }
    let lost = report.total(|stream| stream.lost_by_device + stream.lost_by_driver);
    if lost > 0 && !report.stalled.is_zero() {
        warnings.push(format!(
            "the device was without a CPU for {}: losses may be its own; leave --device-cpu to it, or use a lower --rate",
            text::load::time(report.stalled.as_nanos() as f64)
        ));
    }
    if let Some(slices) = &report.slices
        && slices.dry as f64 > slices.all as f64 * DRY_MAX
    {
        let share = prony_text::significant(slices.dry as f64 / slices.all as f64 * 100.0);
        warnings.push(format!(
            "{share} % of the slices do not count, as the driver ran out of frames in them: its rings are short, or the --rate is low"
        ));
    }
    if let Some(spread) = text::nic::spread(report).filter(|&spread| spread > SPREAD_MAX) {
        warnings.push(format!(
            "unsteady: the middle half of the windows spans {} % of their median; `prony machine check` finds reasons",
            prony_text::significant(spread * 100.0)
        ));
    }
    warnings
}
