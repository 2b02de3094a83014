//! `prony replay`: shows what the replay of a demo found.

pub mod divergence;
mod explain;
pub mod json;
mod source;

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use prony_bench::CommandLine;
use prony_demo::Exit as ServerExit;
use prony_demo::tolerance::{DecodedSummary, DifferenceAt, Growth, Rules, ToleranceSummary};
use prony_machine::Interrupt;
use prony_replay::{DecoderError, OverlayError, ReplayError, ReplayOptions, StateError, TapeError, exit_text};
use prony_text::{Untrusted, count, printable_line, significant, thousands};

use crate::cli::ReplayArgs;
use crate::demo;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::Spread;
use crate::output::{self, NewFile};
use crate::progress::ProgressLine;
use crate::report::{DivergenceClass, ReplayReport, Verdict, WeakReason};
use crate::trust;

/// Replays, answers and says how it went; `replay` does the replaying.
///
/// # Errors
/// What kept it from running.
pub fn run(
    args: &ReplayArgs,
    replay: impl FnOnce(&ReplayArgs, Option<Rules>) -> Result<ReplayReport, Failure>,
) -> Result<Exit, Failure> {
    let rules = args.tolerance.as_deref().map(rules).transpose()?;
    if args.decoder.is_none() && rules.as_ref().is_some_and(Rules::has_decoded) {
        let path = args.tolerance.as_deref().unwrap_or(Path::new(""));
        let failure = Failure::new(format!("cannot use {}: [[decoded]] needs a decoder", path.display()));
        return Err(failure.hint("name one with --decoder COMMAND"));
    }
    let demo = demo::open_quietly("replay", &args.demo)?;
    match demo.truncation() {
        Some(cut) if !args.allow_truncated => return Err(Failure::truncated(&args.demo, cut)),
        Some(cut) => eprintln!("warning: {} ends early: {cut}", args.demo.display()),
        None => {}
    }
    let mut args = args.clone();
    args.trust.trust_demo = trust::of(&args.demo, demo.header(), !args.command.is_empty(), &args.trust)?;
    let args = &args;
    let objects = source::objects(&demo, &args.command);
    drop(demo);
    // A place that cannot be written is told at once.
    let page = args.export_html.as_deref().map(|path| NewFile::create(path, true)).transpose()?;
    let mut report = replay(args, rules)?;
    if let Some(found) = &mut report.divergence {
        source::name_lines(&mut found.backtrace, &objects);
    }
    if let Some(page) = page {
        demo::view::export(&args.demo, json::answer(&report), page)?;
    }
    if args.json {
        output::print_json(&json::answer(&report))?;
    } else {
        output::print(&whole_text(args, &report))?;
    }
    for warning in &report.warnings {
        eprintln!("warning: {warning}");
    }
    if let Some(hint) = hint(args, &report) {
        eprintln!("hint: {hint}");
    }
    Ok(exit(&report))
}

/// The answer for people, with what may have caused a divergence if that is asked for.
pub fn whole_text(args: &ReplayArgs, report: &ReplayReport) -> String {
    let causes = if args.explain { explain::text(args, report) } else { String::new() };
    text(&args.demo, report) + &causes
}

/// Reads the rules of a tolerance file.
fn rules(path: &Path) -> Result<Rules, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::io("read", path, &error))?;
    Rules::parse(&text).map_err(|error| {
        Failure::new(format!("cannot use {}: {error}", path.display()))
            .hint("a rule: [[datagram]] with fields = [{ at = 12, type = \"f32le\", within = 0.001 }]")
    })
}

/// 0 only when bytes were verified and all of them were equal.
pub fn exit(report: &ReplayReport) -> Exit {
    match (&report.verdict, &report.divergence) {
        (Verdict::Identical, _) if report.counted.output_bytes > 0 => Exit::Good,
        (Verdict::Identical | Verdict::Weak(_), _) => Exit::NotTrusted,
        // The thread may only have been slow, so nothing is known of the build.
        (Verdict::Diverged, Some(divergence)) if divergence.class == DivergenceClass::Starvation => Exit::NotTrusted,
        (Verdict::Diverged | Verdict::Tolerant, _) => Exit::Finding,
    }
}

/// Answer to a replay, as text for people.
fn text(demo: &Path, report: &ReplayReport) -> String {
    let name = Untrusted::new(demo.file_name().unwrap_or(demo.as_os_str()));
    let mut out = String::new();
    let _ = match (&report.verdict, &report.divergence) {
        (Verdict::Diverged, Some(found)) => writeln!(out, "{name}: diverged: {}", divergence::name(found.class)),
        (Verdict::Diverged, None) => writeln!(out, "{name}: diverged"),
        (Verdict::Identical, _) => writeln!(out, "{name}: identical"),
        (Verdict::Tolerant, _) => writeln!(out, "{name}: tolerant, not identical"),
        (Verdict::Weak(_), _) => writeln!(out, "{name}: weak: nothing diverged, but the result proves little"),
    };
    if let Verdict::Weak(reasons) = &report.verdict {
        for reason in reasons {
            let _ = writeln!(out, "  because {}", printable_line(&reason.to_string()));
        }
    }
    if let Some(found) = &report.divergence {
        divergence::describe(&mut out, found);
    }
    let verified = format!(
        "{}, {} verified over {}",
        count(report.counted.outputs, "output"),
        count(report.counted.output_bytes, "byte"),
        count(report.frames, "frame")
    );
    let is_decoded = report.tolerance.as_ref().is_some_and(|tolerance| tolerance.decoded.is_some());
    let _ = match report.divergence {
        // The build went on after it.
        Some(_) if is_decoded => writeln!(out, "  in all: {verified}"),
        Some(_) => writeln!(out, "  before it: {verified}"),
        None => writeln!(out, "  {verified}"),
    };
    if let Some(tolerance) = report.tolerance.as_ref().filter(|tolerance| tolerance.outputs_differing > 0) {
        tolerated(&mut out, tolerance, report.divergence.is_none());
    }
    if let Some(decoded) = report.tolerance.as_ref().and_then(|tolerance| tolerance.decoded.as_ref()) {
        decoded_fields(&mut out, decoded);
    }
    if report.divergence.is_none() {
        times(&mut out, report);
    }
    changes(&mut out, report);
    out
}

fn times(out: &mut String, report: &ReplayReport) {
    let Some(wall) = Spread::of(report.wall_s.iter().copied()) else { return };
    let speedup = report.recorded_s / wall.median;
    let _ = writeln!(
        out,
        "  replayed {} s in {} s ({}× real time), {} frames/s, {}",
        significant(report.recorded_s),
        significant(wall.median),
        significant(speedup),
        thousands((report.frames as f64 / wall.median) as u64),
        replays(&wall),
    );
    if let Some(cpu) = Spread::of(report.cpu_s.iter().copied()) {
        let _ = writeln!(out, "  CPU {} s, {}", significant(cpu.median), replays(&cpu));
    }
    let together = report.frames_in_each;
    if let Some(frame) = Spread::of(report.frame_wall_ns.iter().map(|&ns| ns as f64 / 1e6 / together as f64)) {
        let what = if together == 1 { "frame".to_owned() } else { format!("mean of {together} frames") };
        let _ = writeln!(
            out,
            "  {what}  min {}  median {}  p99 {}  max {} ms, n = {}",
            significant(frame.min),
            significant(frame.median),
            significant(frame.p99),
            significant(frame.max),
            thousands(frame.n as u64),
        );
    }
}

/// Basis of a time: `one replay`, or the spread of several.
fn replays(spread: &Spread) -> String {
    match spread.n {
        1 => "one replay".to_owned(),
        n => format!("median of {n} replays from {} to {} s", significant(spread.min), significant(spread.max)),
    }
}

fn tolerated(out: &mut String, found: &ToleranceSummary, is_within: bool) {
    let _ = writeln!(
        out,
        "  {} of {} differed in {}{}",
        thousands(found.outputs_differing),
        count(found.outputs_judged, "output"),
        count(found.fields_differing, "field"),
        if is_within { ", all within their limits" } else { "" },
    );
    for field in &found.fields {
        let _ = write!(out, "  rule {}, {}: ", field.rule + 1, Untrusted::new(&field.name));
        let Some(growth) = &field.growth else {
            let _ = writeln!(out, "{} masked", count(field.differing, "difference"));
            continue;
        };
        let _ = writeln!(
            out,
            "{}, largest {} in frame {} (record {}, byte {})",
            count(field.differing, "difference"),
            significant_small(field.largest),
            thousands(field.largest_frame),
            thousands(field.largest_record),
            field.largest_offset,
        );
        grown(out, growth);
    }
}

fn grown(out: &mut String, growth: &Growth) {
    let _ = writeln!(
        out,
        "    frames {} to {}: median of the largest per frame {} in the first tenth, {} in the last, \
         {} per frame (r² {}, n = {})",
        thousands(growth.first_frame),
        thousands(growth.last_frame),
        significant_small(growth.first_tenth_median),
        significant_small(growth.last_tenth_median),
        significant_small(growth.slope_per_frame),
        significant(growth.r_squared),
        thousands(growth.frames as u64),
    );
}

/// Discrete fields that are listed; `--json` has all.
const SHOWN_DISCRETE: usize = 8;

fn decoded_fields(out: &mut String, found: &DecodedSummary) {
    let _ = writeln!(
        out,
        "  decoder {}: {} of {} differed in {}",
        Untrusted::new(&found.decoder),
        thousands(found.values_differing),
        count(found.values, "value"),
        count(found.outputs, "output"),
    );
    let counts = [
        (found.outputs_added, "not recorded"),
        (found.outputs_not_sent, "not sent"),
        (found.outputs_opaque, "compared by bytes"),
        (found.outputs_differing_unseen, "with other bytes and the same fields"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n, "output"))).collect();
    if !counts.is_empty() {
        let _ = writeln!(out, "    {}", counts.join(", "));
    }
    for field in &found.fields {
        let _ = write!(out, "  {}: {}", Untrusted::new(&field.field), count(field.differing, "difference"));
        let Some(growth) = &field.growth else {
            let _ = writeln!(out, "{}", if field.within.is_none() { ", masked" } else { ", in a missing value" });
            continue;
        };
        let _ = writeln!(
            out,
            ", largest {} ({}, frame {}, record {}), median {}{}",
            significant_small(field.largest),
            Untrusted::new(&field.largest_field),
            thousands(field.largest_frame),
            thousands(field.largest_record),
            significant_small(field.median),
            match field.beyond {
                0 => String::new(),
                beyond => format!(", {} beyond the limit", thousands(beyond)),
            },
        );
        grown(out, growth);
    }
    if let Some(first) = &found.first_discrete {
        let _ = writeln!(out, "  first discrete difference: {}", difference(first));
        for field in found.discrete.iter().take(SHOWN_DISCRETE) {
            let _ = writeln!(
                out,
                "    {}: {}, first in frame {}",
                Untrusted::new(&field.field),
                count(field.differing, "difference"),
                thousands(field.first.frame)
            );
        }
        if let Some(more) = found.discrete.len().checked_sub(SHOWN_DISCRETE).filter(|more| *more > 0) {
            let _ = writeln!(out, "    and {} more", thousands(more as u64));
        }
    }
    if let Some(first) = &found.first_beyond {
        let _ = writeln!(out, "  first difference beyond its limit: {}", difference(first));
    }
}

/// A difference of a decoded field in a sentence.
pub(super) fn difference(at: &DifferenceAt) -> String {
    let value = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "nothing".to_owned(), |it| Untrusted::new(it).to_string())
    };
    let within = at.within.map_or_else(String::new, |within| format!(", allowed {within}"));
    format!(
        "frame {}, record {}, to {}: {} {} recorded, {} replayed{within}",
        thousands(at.frame),
        thousands(at.record),
        Untrusted::new(&at.peer),
        Untrusted::new(&at.field),
        value(&at.recorded),
        value(&at.replayed),
    )
}

/// Differences of floats may be tiny, where an exponent says more than zeros.
fn significant_small(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.2e}") } else { significant(value) }
}

fn changes(out: &mut String, report: &ReplayReport) {
    let mut lines = Vec::new();
    if let Some(signal) = report.crashed_as_recorded {
        lines.push(format!("{}, as recorded", exit_text(ServerExit::Signal(signal))));
    }
    if report.counted.clocks_added > 0 {
        lines.push(format!("{} added", count(report.counted.clocks_added, "clock read")));
    }
    if report.counted.clocks_removed > 0 {
        lines.push(format!("{} skipped", count(report.counted.clocks_removed, "clock read")));
    }
    if report.counted.overlapped > 0 {
        lines.push(format!("{} of threads", count(report.counted.overlapped, "overlap")));
    }
    if report.resynced() > 0 {
        lines.push(format!("{} re-synchronised", count(report.resynced(), "call")));
    }
    if report.files_laid_over > 0 {
        lines.push(format!("{} from the demo instead of the local ones", count(report.files_laid_over, "file")));
    }
    if report.counted.log_bytes_differing > 0 {
        lines.push(format!("{} of log text differing", count(report.counted.log_bytes_differing, "byte")));
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "  otherwise: {}", lines.join(", "));
    }
}

/// Suggested next step, as a phrase; `None` if there is none.
pub fn hint(args: &ReplayArgs, report: &ReplayReport) -> Option<String> {
    match (&report.verdict, &report.divergence) {
        (Verdict::Weak(_), _) if report.counted.output_bytes == 0 => {
            Some("record while clients are connected: without output there is nothing to compare".to_owned())
        }
        (Verdict::Weak(reasons), _) if reasons.iter().all(WeakReason::is_of_environment) => {
            Some("use --ignore-environment to accept the result anyway".to_owned())
        }
        // No option makes more of what was recorded.
        (Verdict::Weak(reasons), _) if reasons.iter().any(|reason| matches!(reason, WeakReason::Missed(_))) => {
            Some("avoid what was missed, if the server can do without it, and record again".to_owned())
        }
        (Verdict::Weak(_), _) => Some("record longer, with busy clients".to_owned()),
        (_, Some(found)) => {
            let hint = divergence::hint(args, report, found);
            Some(match report.variables_withheld.as_slice() {
                [] => hint,
                names => {
                    format!("{hint}; the build lacks recorded variables: use {}", trust::keep_options(names))
                }
            })
        }
        _ if !report.variables_withheld.is_empty() => {
            let options = trust::keep_options(&report.variables_withheld);
            Some(format!("use {options} to give the build recorded variables"))
        }
        _ => None,
    }
}

/// Program and arguments of a decoder.
fn decoder(text: &str) -> Result<Vec<OsString>, Failure> {
    let command = CommandLine::split(text).map_err(|error| {
        let failure = Failure::new(format!("cannot use the decoder: {error}"));
        failure.hint("--decoder takes a program and its arguments, such as 'python3 decoder.py'")
    })?;
    Ok(std::iter::once(command.program.into_os_string()).chain(command.arguments.into_iter().skip(1)).collect())
}

/// Runs the build on the demo.
///
/// # Errors
/// What kept it from running.
pub fn start(args: &ReplayArgs, rules: Option<Rules>) -> Result<ReplayReport, Failure> {
    let decoder = args.decoder.as_deref().map(decoder).transpose()?.unwrap_or_default();
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let options = ReplayOptions {
        demo: args.demo.clone(),
        command: args.command.clone(),
        environment: args.env.clone(),
        repeat: args.repeat,
        tolerance: rules,
        decoder,
        watchdog: args.watchdog,
        allow_truncated: args.allow_truncated,
        show_output: args.show_output,
        explain: args.explain,
        trusted: args.trust.trust_demo,
        keep_variables: args.trust.keep_variable.clone(),
        restore_in_place: args.restore_in_place.clone(),
        ignore_environment: args.ignore_environment,
        other_architecture: args.other_architecture,
        files: (&args.files).into(),
        limits: args.limits.into(),
        restore_set_ids: args.restore_set_ids,
        stop: Some(interrupt.flag()),
    };
    let mut line = ProgressLine::new(!args.show_output);
    prony_replay::replay(&options, &mut |progress| line.show(progress)).map_err(|error| failure(args, &error))
}

fn failure(args: &ReplayArgs, error: &ReplayError) -> Failure {
    let cannot = || Failure::new(format!("cannot replay {}: {error}", args.demo.display()));
    match error {
        ReplayError::Demo(error) | ReplayError::Tape(TapeError::Demo(error)) => {
            Failure::demo("replay", &args.demo, error)
        }
        ReplayError::Program(error) => Failure::program("replay", error),
        ReplayError::OtherArchitecture { .. } => cannot().hint(
            "replay a build for the same architecture; if sockets and files are all that the server asks the system for, \
             --other-architecture may do",
        ),
        ReplayError::Truncated(cut) => Failure::truncated(&args.demo, cut),
        ReplayError::Tape(TapeError::Memory { .. }) => cannot().hint(
            "reduce memory use with --max-memory, or \
             free some memory",
        ),
        ReplayError::Tape(TapeError::Empty) => cannot().hint("record again, while the server is working"),
        ReplayError::NotTrusted(foreign) => Failure::not_trusted(&args.demo, foreign),
        ReplayError::Mount(_) => cannot().hint(
            "run as root or allow user namespaces; or use --files-here to ignore the files of the demo, \
             --restore-in-place DIR to empty a state directory and restore it there",
        ),
        ReplayError::State(StateError::Files(OverlayError::Root { path, .. })) => {
            cannot().hint(format!("`sudo mkdir {}`: only root can create it there", path.display()))
        }
        ReplayError::State(StateError::Files(_)) => cannot().hint(
            "use --files-here to ignore the files of the \
             demo",
        ),
        ReplayError::Decoder(DecoderError::Start { .. }) => {
            Failure::new(error.to_string()).hint("--decoder takes a program and its arguments, such as 'python3 decoder.py'")
        }
        ReplayError::Decoder(_) => Failure::new(error.to_string())
            .hint("docs/formats/decoder.md describes what a decoder reads and answers"),
        ReplayError::FewDescriptors => cannot().hint("raise it for this shell with `ulimit -n 1024`"),
        ReplayError::NotAttached(_) => cannot().hint(
            "start the build without prony first: a file or a library \
                                                      may be missing",
        ),
        ReplayError::State(StateError::TooLarge { .. } | StateError::TooMany { .. }) => {
            cannot().hint("raise the limit with --max-state if you trust the demo")
        }
        ReplayError::Tape(TapeError::TooLarge { .. }) => {
            cannot().hint("raise the limit with --max-memory if you trust the demo")
        }
        ReplayError::Tape(TapeError::Changed) => cannot().hint("replay it again while nothing writes to the file"),
        ReplayError::State(
            StateError::MoreThanStated { .. } | StateError::Path { .. } | StateError::Kernel { .. } | StateError::Directories { .. },
        )
        | ReplayError::Tape(
            TapeError::MoreThanStated { .. }
            | TapeError::Threads { .. }
            | TapeError::Record { .. }
            | TapeError::Result { .. },
        ) => {
            cannot().hint("prony does not record this: the demo was made or altered by other means")
        }
        ReplayError::Channel { .. } => cannot().hint(
            "the build overwrites memory that is not its own: probably a \
                                                      stray pointer",
        ),
        ReplayError::Interrupted
        | ReplayError::Tape(TapeError::Interrupted)
        | ReplayError::State(_)
        | ReplayError::WorkingDirectory(_)
        | ReplayError::System { .. } => cannot(),
    }
}

#[cfg(test)]
mod tests;
