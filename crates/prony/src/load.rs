//! `prony load`: many clients of a server, at times that are fixed beforehand.

mod capacity;
mod errors;

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};

use prony_load::{Connections, Options, Report, Sharing, Traffic, Warning};
use prony_machine::Interrupt;

use prony_report::{json, text};

use crate::cli::EnetArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::random;
use crate::output::{self, NewFile};
use crate::progress::ProgressLine;
use errors::failure;

/// Makes the load, answers and says how it went.
///
/// # Errors
/// What kept it from running, such as a server that accepts no connection.
pub fn enet(args: &EnetArgs) -> Result<Exit, Failure> {
    let options = options(args)?;
    if !args.capacity.until.is_empty() {
        return capacity::run(args, options);
    }
    // Made before anything is measured, so that a path that cannot be written is reported immediately.
    let mut file = args.output.as_deref().map(|path| NewFile::create(path, args.force)).transpose()?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    // A server is a stranger: what it makes fail here must not flood the terminal.
    prony_load::limit_panic_messages();
    let mut line = ProgressLine::new(true);
    let report = prony_load::load(&options, || interrupt.is_requested(), &mut |progress| {
        line.show_text(&text::load::progress(options.clients, options.duration, progress));
    });
    drop(line);
    let report = report.map_err(|error| failure(&args.connect, &error))?;
    let warnings: Vec<String> = report.warnings().iter().map(text::load::warning).collect();
    if let (Some(mut file), Some(path)) = (file.take(), &args.output) {
        match report.samples(env!("CARGO_PKG_VERSION"), warnings.clone()) {
            Some(samples) => {
                let bytes = samples.encode().map_err(|error| Failure::new(format!("cannot write samples: {error}")))?;
                file.file().write_all(&bytes).map_err(|error| Failure::io("write", path, &error))?;
                file.finish()?;
            }
            None => eprintln!("warning: {} was not written: nothing was measured", path.display()),
        }
    }
    if args.json {
        output::print_json(&json::load::answer(&report, args.measurement.loss_max, &warnings))?;
    } else {
        output::print(&text::load::text(&report))?;
    }
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    if let Some(hint) = hint(&report) {
        eprintln!("hint: {hint}");
    }
    Ok(exit(&report, args.measurement.loss_max))
}

fn options(args: &EnetArgs) -> Result<Options, Failure> {
    let (low, high, burst) = (args.clients.low, args.clients.high, args.connections.burst);
    if low < high && args.capacity.until.is_empty() {
        return Err(Failure::new(format!(
            "--clients: expected one number without --until, found the range {low}..{high}"
        ))
        .hint("add a condition, such as --until 'p99<50ms'"));
    }
    if burst >= low {
        return Err(Failure::new(format!("--burst ({burst}) is not below --clients ({low})"))
            .hint("the clients of the burst are among --clients; the others are there before it"));
    }
    Ok(Options {
        target: resolve(&args.connect)?,
        clients: high,
        traffic: Traffic {
            rate_hz: args.traffic.rate,
            payload_bytes: args.traffic.payload,
            reply: args.traffic.reply,
            channels: args.traffic.channels,
            reliable: args.traffic.reliable,
            throttle: args.traffic.throttle,
            checksum: args.traffic.checksum,
            range_coder: args.traffic.compress.is_some(),
        },
        connections: Connections {
            batch: args.connections.batch,
            burst,
            timeout: args.connections.connect_timeout,
            sharing: if args.connections.shared_socket { Sharing::Shared } else { Sharing::Own },
        },
        duration: args.duration,
        threads: args.threads,
        deadline: args.measurement.deadline,
        server_pid: args.measurement.server_pid,
        seed: args.seed.unwrap_or_else(random),
    })
}

/// The address of a server; of a name that has several, the first of IPv4, as ENet knows that everywhere.
fn resolve(name: &str) -> Result<SocketAddr, Failure> {
    let wrong = |why: String| {
        Failure::new(format!("cannot connect to {name}: {why}"))
            .hint("use the form 127.0.0.1:7777, [::1]:7777 or host:7777")
    };
    let addresses: Vec<SocketAddr> = name.to_socket_addrs().map_err(|error| wrong(error.to_string()))?.collect();
    let first = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
    first.copied().ok_or_else(|| wrong("the name has no address".to_owned()))
}

fn exit(report: &Report, loss_max: f64) -> Exit {
    let is_untrusted = report.warnings().iter().any(|warning| match warning {
        Warning::GeneratorBusy { .. }
        | Warning::SendsLate { .. }
        | Warning::Unsent { .. }
        | Warning::OwnDrops { .. }
        | Warning::Interrupted => true,
        Warning::ServerWaited { .. } | Warning::ServerThreadsEnded { .. } => false,
    });
    match (is_untrusted, report.falls_short(loss_max)) {
        (true, _) => Exit::NotTrusted,
        (false, true) => Exit::Finding,
        (false, false) => Exit::Good,
    }
}

/// The next step, if the generator was what limited the load.
fn hint(report: &Report) -> Option<&'static str> {
    let warnings = report.warnings();
    let is = |matches: fn(&Warning) -> bool| warnings.iter().any(matches);
    if is(|warning| matches!(warning, Warning::ServerWaited { .. })) {
        return Some("give server and generator separate CPUs with `taskset -c`, or separate machines");
    }
    is(|warning| matches!(warning, Warning::GeneratorBusy { .. } | Warning::SendsLate { .. } | Warning::Unsent { .. }))
        .then_some("use more --threads, fewer --clients or a lower --rate")
}
