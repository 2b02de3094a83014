//! Sampling while a program runs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use prony_machine::Interrupt;
use prony_profile::{Options, ProfileMode, Recording, Sampler, Walk};
use prony_replay::{ReplayReport, Verdict};
use prony_text::Untrusted;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::cli::profile::TakeArgs;
use crate::cli::{ReplayArgs, TrustArgs};
use crate::failure::Failure;
use crate::trust;

/// Time that a command has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);
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
        frequency_hz: args.freq,
        cpus: args.cpu.clone(),
        walk: if args.dwarf { Walk::Tables { stack_bytes: args.stack_bytes } } else { Walk::FramePointers },
    };
    match (&args.demo, args.attach) {
        (Some(_), _) => of_replay(args, &options),
        (None, Some(pid)) => of_process(args, pid, &options),
        (None, None) if args.all => of_everyone(args, &options),
        (None, None) if args.command.is_empty() => Err(Failure::new("expected something to sample, found nothing")
            .hint("use `prony profile -- COMMAND`, --demo FILE, --attach PID or --all")),
        (None, None) => of_command(args, &options),
    }
}

fn of_command(args: &TakeArgs, options: &Options) -> Result<ProfileRun, Failure> {
    let interrupt = interrupt()?;
    let program = &args.command[0];
    let mut command = Command::new(program);
    command.args(&args.command[1..]);
    // Standard output carries our answer.
    match args.show_output {
        true => command.stdout(io::stderr().as_fd().try_clone_to_owned().map_err(|error| cannot(&error))?),
        false => command.stdout(Stdio::null()),
    };
    let sampler = Sampler::of_children(options).map_err(|error| Failure::sampler(&error))?;
    let mut child = command.spawn().map_err(|error| {
        let failure = Failure::new(format!("cannot run `{}`: {error}", program.display()));
        match error.kind() {
            io::ErrorKind::NotFound => failure.hint("give its path"),
            io::ErrorKind::PermissionDenied => failure.hint("expected an executable file: run `chmod +x`"),
            // ENOEXEC
            _ if error.raw_os_error() == Some(8) => failure.hint("a script needs a first line such as `#!/bin/sh`"),
            _ => failure,
        }
    })?;
    let ended = until_end(args, &mut child, &interrupt);
    let recording = sampler.finish().map_err(|error| Failure::sampler(&error));
    let (status, stopped) = ended.map_err(|error| cannot(&error))?;
    let recording = recording?;
    let mut doubts = Vec::new();
    if !stopped && !status.success() {
        doubts.push(format!("`{}` failed: {status}", program.display()));
    }
    Ok(ProfileRun { name: short(program.as_ref()), recording, replay: None, doubts })
}

fn of_process(args: &TakeArgs, pid: i32, options: &Options) -> Result<ProfileRun, Failure> {
    let interrupt = interrupt()?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned();
    let sampler = Sampler::of_process(pid, options).map_err(|error| Failure::sampler(&error))?;
    let ended = ended(pid).map_err(|error| cannot(&error))?;
    wait(Some(&ended), &interrupt, args.limit).map_err(|error| cannot(&error))?;
    let recording = sampler.finish().map_err(|error| Failure::sampler(&error))?;
    Ok(ProfileRun { name: format!("{name} ({pid})"), recording, replay: None, doubts: Vec::new() })
}

fn of_everyone(args: &TakeArgs, options: &Options) -> Result<ProfileRun, Failure> {
    let interrupt = interrupt()?;
    let sampler = Sampler::of_everyone(options).map_err(|error| Failure::sampler(&error))?;
    wait(None, &interrupt, args.limit).map_err(|error| cannot(&error))?;
    let recording = sampler.finish().map_err(|error| Failure::sampler(&error))?;
    let name = args.cpu.as_ref().map_or("all CPUs".to_owned(), |cpus| format!("CPU {cpus}"));
    Ok(ProfileRun { name, recording, replay: None, doubts: Vec::new() })
}

fn of_replay(args: &TakeArgs, options: &Options) -> Result<ProfileRun, Failure> {
    let demo = args.demo.clone().unwrap_or_default();
    let opened = crate::demo::open_quietly("replay", &demo)?;
    let trust_demo = trust::of(&demo, opened.header(), !args.command.is_empty(), &args.trust)?;
    let replay = ReplayArgs {
        command: args.command.clone(),
        repeat: args.repeat,
        watchdog: WATCHDOG,
        env: args.env.clone(),
        files: args.files.clone(),
        trust: TrustArgs { trust_demo, ..args.trust.clone() },
        limits: args.limits,
        ..ReplayArgs::of(demo.clone())
    };
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

fn cannot(error: &io::Error) -> Failure {
    Failure::new(format!("cannot watch the command: {error}"))
}

/// Readable once the process has ended.
fn ended(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Waits for the end of the command, and ends it when somebody asks or time is up. True if it was ended so.
fn until_end(args: &TakeArgs, child: &mut Child, interrupt: &Interrupt) -> io::Result<(ExitStatus, bool)> {
    let watch = ended(child.id() as i32);
    let waited = watch.and_then(|ended| {
        if wait(Some(&ended), interrupt, args.limit)? {
            return Ok(false);
        }
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
        wait_for(&[ended.as_fd()], GRACE)?;
        Ok(true)
    });
    // Whatever went wrong, nothing is left behind.
    if child.try_wait()?.is_none() {
        child.kill()?;
    }
    let status = child.wait()?;
    Ok((status, waited?))
}

/// True when the process has ended, false when somebody asked to stop or time is up.
fn wait(ended: Option<&OwnedFd>, interrupt: &Interrupt, limit: Option<Duration>) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        let left = limit.map_or(Duration::from_secs(3600), |limit| limit.saturating_sub(began.elapsed()));
        if left.is_zero() || interrupt.is_asked() {
            return Ok(false);
        }
        let mut descriptors = vec![interrupt.descriptor()];
        descriptors.extend(ended.map(AsFd::as_fd));
        if wait_for(&descriptors, left)?.get(1) == Some(&true) {
            return Ok(true);
        }
    }
}

/// Indices of the descriptors that are readable, after this time at the latest.
fn wait_for(descriptors: &[std::os::fd::BorrowedFd<'_>], time: Duration) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> =
        descriptors.iter().map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN)).collect();
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    match poll(&mut polled, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(polled.iter().map(|entry| !entry.revents().is_empty()).collect()),
        Err(error) => Err(error.into()),
    }
}

/// The last part of a path, for headings.
pub fn short(path: &Path) -> String {
    Untrusted::new(path.file_name().unwrap_or(path.as_os_str())).to_string()
}
