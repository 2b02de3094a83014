//! `prony load enet --until`: the greatest number of clients at which conditions hold.

use std::io::Write;
use std::path::Path;

use prony_load::{Capacity, CapacityOptions, CapacityWarning, Knee, Options, Reply};
use prony_machine::Interrupt;
use prony_report::{curves_of_latency, json, page_of_capacity, text};

use super::errors::failure;
use crate::cli::EnetArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::progress::ProgressLine;

/// Files that are written beside the answer.
struct Files<'a> {
    samples: Option<(&'a Path, NewFile)>,
    svg: Option<(&'a Path, NewFile)>,
    page: Option<(&'a Path, NewFile)>,
}

/// Searches, answers and says how it went.
pub fn run(args: &EnetArgs, load: Options) -> Result<Exit, Failure> {
    let options = options(args, load)?;
    let files = Files::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    // A server is a stranger: what it makes fail here must not flood the terminal.
    prony_load::limit_panic_messages();
    let mut line = ProgressLine::new(true);
    let capacity = prony_load::capacity(&options, || interrupt.is_requested(), &mut |progress| {
        line.show_text(&text::capacity::progress(&options, progress));
    });
    drop(line);
    let capacity = capacity.map_err(|error| failure(&args.connect, &error))?;
    let warnings: Vec<String> = capacity.warnings().into_iter().map(text::capacity::warning).collect();
    files.write(&capacity, &warnings)?;
    if args.json {
        output::print_json(&json::capacity::answer(&capacity, &warnings))?;
    } else {
        output::print(&text::capacity::text(&capacity))?;
    }
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    if let Some(hint) = hint(&capacity) {
        eprintln!("hint: {hint}");
    }
    Ok(exit(&capacity))
}

fn options(args: &EnetArgs, load: Options) -> Result<CapacityOptions, Failure> {
    let are_answers = load.traffic.rate_hz > 0.0 && load.traffic.reply != Reply::None;
    if let Some(condition) = args.capacity.until.iter().find(|condition| condition.needs_answers() && !are_answers) {
        return Err(Failure::new(format!("--until {}: no answers are requested", condition.quantity))
            .hint("use a --rate above 0 and a --reply other than none, or the condition connect<1s"));
    }
    Ok(CapacityOptions {
        load,
        range: args.clients,
        conditions: args.capacity.until.clone(),
        precision: args.capacity.precision,
        steps_max: args.capacity.steps_max,
        settle: args.capacity.settle,
    })
}

impl<'a> Files<'a> {
    /// Made before anything is measured, so that a path that cannot be written is reported immediately.
    fn create(args: &'a EnetArgs) -> Result<Files<'a>, Failure> {
        let create = |path: &'a Option<std::path::PathBuf>, force: bool| {
            path.as_deref().map(|path| Ok::<_, Failure>((path, NewFile::create(path, force)?))).transpose()
        };
        Ok(Files {
            samples: create(&args.output, args.force)?,
            svg: create(&args.capacity.svg, true)?,
            page: create(&args.capacity.export_html, true)?,
        })
    }

    fn write(self, capacity: &Capacity, warnings: &[String]) -> Result<(), Failure> {
        let version = env!("CARGO_PKG_VERSION");
        if let Some((path, file)) = self.samples {
            match capacity.samples(version, warnings.to_vec()) {
                Some(samples) => {
                    let bytes =
                        samples.encode().map_err(|error| Failure::new(format!("cannot write samples: {error}")))?;
                    finish(path, file, &bytes)?;
                }
                None => eprintln!("warning: {} was not written: nothing was measured", path.display()),
            }
        }
        if let Some((path, file)) = self.svg {
            finish(path, file, curves_of_latency(capacity).svg().as_bytes())?;
        }
        if let Some((path, file)) = self.page {
            finish(path, file, page_of_capacity(capacity, version).as_bytes())?;
        }
        Ok(())
    }
}

fn finish(path: &Path, mut file: NewFile, bytes: &[u8]) -> Result<(), Failure> {
    file.file().write_all(bytes).map_err(|error| Failure::io("write", path, &error))?;
    file.finish()
}

fn exit(capacity: &Capacity) -> Exit {
    let is_untrusted = capacity.warnings().iter().any(|warning| match warning {
        CapacityWarning::Imprecise { .. } | CapacityWarning::Interrupted | CapacityWarning::ServerGone => true,
        CapacityWarning::GeneratorLimited { .. }
        | CapacityWarning::ServerWaited { .. }
        | CapacityWarning::ClientsUnserved { .. } => false,
    });
    match capacity.knee {
        _ if is_untrusted => Exit::NotTrusted,
        Knee::Found(_) | Knee::NotReached { .. } => Exit::Good,
        Knee::NoneHolds { .. } => Exit::Finding,
        Knee::GeneratorLimit { .. } | Knee::Unknown => Exit::NotTrusted,
    }
}

/// The next step, if something other than the server limited the answer.
fn hint(capacity: &Capacity) -> Option<&'static str> {
    let is = |matches: fn(&CapacityWarning) -> bool| capacity.warnings().iter().any(matches);
    match capacity.knee {
        Knee::GeneratorLimit { .. } => {
            Some("use more --threads, a lower --rate, or run the generator on another machine")
        }
        Knee::NotReached { .. } => Some("raise the upper end of --clients"),
        Knee::NoneHolds { .. } => Some("lower the lower end of --clients"),
        _ if is(|warning| matches!(warning, CapacityWarning::Imprecise { .. })) => {
            Some("use a longer --duration, a greater --steps-max or a greater --precision")
        }
        _ if is(|warning| matches!(warning, CapacityWarning::ServerWaited { .. })) => {
            Some("give server and generator separate CPUs with `taskset -c`, or separate machines")
        }
        Knee::Found(_) | Knee::Unknown => None,
    }
}
