//! Sampling while a program runs.

use std::io;
use std::path::Path;
use std::time::Duration;

use prony_machine::Interrupt;
use prony_profile::take::{self, TakeError};
use prony_profile::{Options, ProfileMode, Recording, Sampler, Walk};
use prony_replay::{ReplayReport, Verdict};
use prony_text::Untrusted;

use crate::cli::profile::TakeArgs;
use crate::cli::{ReplayArgs, TrustArgs};
use crate::failure::Failure;
use crate::trust;

/// Time that a replay may make no progress, as in `prony replay`.
const WATCHDOG: Duration = Duration::from_secs(10);

/// Recorded samples of a run, with what is known of the run.
pub struct ProfileRun {
    /// Name of the program for people.
    pub name: String,
    /// Samples as they were recorded.
    pub recording: Recording,
    /// Report of the replay, if the program was a replay.
    pub replay: Option<ReplayReport>,
    /// Reasons why the result is weak.
    pub doubts: Vec<String>,
}

/// Samples what the flags say.
///
/// # Errors
/// What kept it from running.
pub fn take(args: &TakeArgs) -> Result<ProfileRun, Failure> {
    let options = Options {
        mode: if args.off_cpu { ProfileMode::OffCpu } else { ProfileMode::OnCpu },
        frequency_hz: args.sampling.freq,
        cpus: args.cpu.clone(),
        walk: if args.sampling.dwarf {
            Walk::Tables { stack_bytes: args.sampling.stack_bytes }
        } else {
            Walk::FramePointers
        },
    };
    match (&args.replay.demo, args.attach) {
        (Some(_), _) => of_replay(args, &options),
        (None, Some(pid)) => of_process(args, pid, &options),
        (None, None) if args.all => of_everyone(args, &options),
        (None, None) if args.command.is_empty() => Err(Failure::new("expected something to sample, found nothing")
            .hint("use `prony profile -- COMMAND`, --demo FILE, --attach PID or --all")),
        (None, None) => of_command(args, &options),
    }
}

fn of_command(args: &TakeArgs, options: &Options) -> Result<ProfileRun, Failure> {
    let program = &args.command[0];
    // Standard output carries our answer.
    let shown = if args.sampling.show_output { take::Shown::Everything } else { take::Shown::Errors };
    let taken = take::of_command(&args.command, shown, options, args.limit, &interrupt()?);
    let (recording, status) = taken.map_err(|error| failure(&error))?;
    let mut doubts = Vec::new();
    if let Some(status) = status.filter(|status| !status.success()) {
        doubts.push(format!("`{}` failed: {status}", program.display()));
    }
    Ok(ProfileRun { name: short(program.as_ref()), recording, replay: None, doubts })
}

fn of_process(args: &TakeArgs, pid: i32, options: &Options) -> Result<ProfileRun, Failure> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned();
    let recording = take::of_process(pid, options, args.limit, &interrupt()?).map_err(|error| failure(&error))?;
    Ok(ProfileRun { name: format!("{name} ({pid})"), recording, replay: None, doubts: Vec::new() })
}

fn of_everyone(args: &TakeArgs, options: &Options) -> Result<ProfileRun, Failure> {
    let recording = take::of_everyone(options, args.limit, &interrupt()?).map_err(|error| failure(&error))?;
    let name = args.cpu.as_ref().map_or("all CPUs".to_owned(), |cpus| format!("CPU {cpus}"));
    Ok(ProfileRun { name, recording, replay: None, doubts: Vec::new() })
}

fn failure(error: &TakeError) -> Failure {
    match error {
        TakeError::Sampler(error) => Failure::sampler(error),
        TakeError::Start { error: reason, .. } => {
            let failure = Failure::new(error.to_string());
            match reason.kind() {
                io::ErrorKind::NotFound => failure.hint("give its path"),
                io::ErrorKind::PermissionDenied => failure.hint("expected an executable file: run `chmod +x`"),
                // ENOEXEC
                _ if reason.raw_os_error() == Some(8) => {
                    failure.hint("a script needs a first line such as `#!/bin/sh`")
                }
                _ => failure,
            }
        }
        TakeError::Watch(_) => Failure::new(error.to_string()),
    }
}

fn of_replay(args: &TakeArgs, options: &Options) -> Result<ProfileRun, Failure> {
    let demo = args.replay.demo.clone().unwrap_or_default();
    if let Some(tool) = &args.replay.under {
        let failure = Failure::new(format!("cannot profile a replay under `{tool}`: the samples would be of the tool"));
        return Err(
            failure.hint(format!("`prony replay {} --under '{tool}'` gives the tool's own report", demo.display()))
        );
    }
    let opened = crate::demo::open_quietly("replay", &demo)?;
    let trust_demo = trust::of(&demo, opened.header(), !args.command.is_empty(), &args.trust)?;
    let mut replay = ReplayArgs {
        command: args.command.clone(),
        repeat: args.replay.repeat,
        files: args.files.clone(),
        trust: TrustArgs { trust_demo, ..args.trust.clone() },
        limits: args.replay.limits,
        ..ReplayArgs::of(demo.clone())
    };
    replay.execution.watchdog = WATCHDOG;
    replay.execution.env = args.replay.env.clone();
    // Replays are started by this thread, and only what it starts is sampled, from its `execve` on.
    let sampler = Sampler::of_children(options).map_err(|error| Failure::sampler(&error))?;
    let replayed = crate::replay::start(&replay, None);
    let recording = sampler.finish().map_err(|error| Failure::sampler(&error))?;
    let report = replayed?;
    let mut doubts = Vec::new();
    if report.verdict == Verdict::Diverged {
        doubts.push(format!(
            "the build diverged from {} in frame {}; `prony replay --explain` shows why",
            demo.display(),
            report.divergence.as_ref().map_or(0, |divergence| divergence.frame)
        ));
    }
    for warning in &report.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(ProfileRun { name: short(&demo), recording, replay: Some(report), doubts })
}

fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))
}

/// The last part of a path, for headings.
pub fn short(path: &Path) -> String {
    Untrusted::new(path.file_name().unwrap_or(path.as_os_str())).to_string()
}
