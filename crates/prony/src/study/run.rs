//! `prony study run` and `resume`: all cells of a study, here and elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use prony_machine::Interrupt;
use prony_report::text;
use prony_study::directory::{Directory, Progress};
use prony_study::exec::Templates;
use prony_study::file::Executor;
use prony_study::fleet::{Fleet, FleetError, FleetEvent, FleetReport};
use prony_study::run::Event;
use prony_text::count;

use super::failure::{exec_failure, slurm_failure};
use super::status;
use super::work::{failure as work_failure, report_event};
use crate::cli::study::{ExecutorName, How, ResumeArgs, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::ProgressLine;

/// Interval between two updates of the line.
const SHOW_EVERY: Duration = Duration::from_millis(200);

/// # Errors
/// What kept cells from running; what was measured is kept.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let study = super::read("run", &args.study)?;
    let base = args.study.parent().filter(|base| !base.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let output = args.output.clone().unwrap_or_else(|| base.join("results"));
    let text = fs::read_to_string(&args.study).map_err(|error| Failure::io("read", &args.study, &error))?;
    if output.join("results.json").exists() {
        return Err(Failure::new(format!("{} holds an imported study", output.display()))
            .hint("choose another directory with -o"));
    }
    choose(&study, &args.how)?;
    let directory = Directory::make(&output, &text, base).map_err(|error| status::failure("run", &error))?;
    go(directory, &args.how, false)
}

/// Resumes a study whose run was interrupted.
///
/// # Errors
/// As [`run`].
pub fn resume(args: &ResumeArgs) -> Result<Exit, Failure> {
    let directory = Directory::open(&args.directory).map_err(|error| status::failure("resume", &error))?;
    go(directory, &args.how, args.retry_failed)
}

/// Indices of the machines by executor.
#[derive(Debug, Default)]
struct Chosen {
    local: Option<usize>,
    exec: Vec<(usize, Templates)>,
    slurm: Vec<usize>,
}

fn choose(study: &prony_study::file::Study, how: &How) -> Result<Chosen, Failure> {
    let names = || study.machines.iter().map(|machine| machine.name.as_str()).collect::<Vec<_>>().join("`, `");
    if let Some(unknown) = how.machine.iter().find(|name| study.machines.iter().all(|machine| machine.name != **name)) {
        return Err(Failure::new(format!("expected a machine of the study, `{}`, found `{unknown}`", names())));
    }
    let mut chosen = Chosen::default();
    let mut local = Vec::new();
    for (at, machine) in study.machines.iter().enumerate() {
        if !how.machine.is_empty() && !how.machine.contains(&machine.name) {
            continue;
        }
        let templates =
            |command: &str| Templates { command: command.to_owned(), send: how.send.clone(), fetch: how.fetch.clone() };
        match (how.executor, &machine.executor) {
            (Some(ExecutorName::Local), _) | (None, Executor::Local) => local.push(at),
            (Some(ExecutorName::Slurm), _) | (None, Executor::Slurm(_)) => chosen.slurm.push(at),
            (Some(ExecutorName::Exec), Executor::Exec(command)) | (None, Executor::Exec(command)) => {
                chosen.exec.push((at, templates(how.command.as_ref().unwrap_or(command))));
            }
            (Some(ExecutorName::Exec), _) => match &how.command {
                Some(command) => chosen.exec.push((at, templates(command))),
                None => {
                    return Err(Failure::new(format!("no way to reach machine `{}` is given", machine.name))
                        .hint("use --command 'ssh {machine} {command}'"));
                }
            },
        }
    }
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_here = |at: &&usize| study.machines[**at].name == host.trim();
    chosen.local = match local.as_slice() {
        [] => None,
        [only] => Some(*only),
        several => match several.iter().find(is_here) {
            Some(here) => Some(*here),
            None => {
                return Err(Failure::new(format!("the study has {} machines, `{}`", several.len(), names())).hint(
                    "state which one this is with --machine NAME; combine the results with `prony study \
                           merge`",
                ));
            }
        },
    };
    Ok(chosen)
}

fn go(directory: Directory, how: &How, retry_failed: bool) -> Result<Exit, Failure> {
    let Chosen { local, exec, slurm } = choose(&directory.study, how)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    // Before we go to where commands run: paths of ours may be relative.
    let root = absolute(&how.root.root)?;
    let scratch = how.scratch.as_deref().map(absolute).transpose()?;
    let fleet = Fleet {
        directory: &directory,
        local,
        exec,
        slurm,
        jobs: usize::from(how.jobs),
        retry_failed,
        scratch: scratch.as_deref(),
        root: (root != Path::new("/")).then_some(root.as_path()),
        waits: !how.no_wait,
        interrupt: &interrupt,
    };
    let shown = Shown { line: Mutex::new((ProgressLine::new(true), None)) };
    let finished = fleet.run(&|event| shown.tell(&event));
    drop(shown);
    let FleetReport { progress, errors, interrupted, jobs_left } = finished.map_err(|error| failure(&error))?;
    if let Some((last, others)) = errors.split_last() {
        others.iter().for_each(|error| eprint!("{}", failure(error)));
        return Err(failure(last));
    }
    status::answer(&directory, &progress, how.json)?;
    if jobs_left {
        eprintln!("hint: the jobs continue; `prony study status {}` shows their progress", directory.path.display());
    } else if Progress::total(&progress).left() > 0 {
        if interrupted {
            eprintln!("warning: interrupted");
        }
        eprintln!("hint: continue with `prony study resume {}`", directory.path.display());
    }
    Ok(status::exit(&progress))
}

/// Progress on one line, and the time at which it was shown last.
struct Shown {
    line: Mutex<(ProgressLine, Option<Instant>)>,
}

impl Shown {
    fn tell(&self, event: &FleetEvent) {
        let jobs = |jobs: usize| count(jobs as u64, "job");
        match event {
            FleetEvent::Local(name, Event::Progress(progress)) => {
                let mut line = self.line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if line.1.is_none_or(|shown| shown.elapsed() >= SHOW_EVERY) {
                    line.1 = Some(Instant::now());
                    let left = progress.left_s.map(|left_s| left_s / progress.counts.left().max(1) as f64);
                    line.0.show_text(&format!("{name}  {}", text::study::status::in_words(&progress.counts, left)));
                }
            }
            FleetEvent::Local(_, event) => report_event(event),
            FleetEvent::Progress(progress) => {
                let machines: Vec<String> = progress.iter().map(brief).collect();
                let mut line = self.line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                line.0.show_text(&machines.join(" · "));
            }
            FleetEvent::Submitted(number) => eprintln!("submitted {}", jobs(*number)),
            FleetEvent::Resubmitted(number) => {
                eprintln!("warning: Slurm lost or holds jobs; resubmitted {}", jobs(*number));
            }
        }
    }
}

fn failure(error: &FleetError) -> Failure {
    match error {
        FleetError::Work(error) => work_failure(error),
        FleetError::Exec(error) => exec_failure(error),
        FleetError::Slurm(error) => slurm_failure(error),
        FleetError::Directory(error) => status::failure("read", error),
        FleetError::Enter { path, error } => Failure::io("go to", path, error),
    }
}

/// Progress of a machine in brief: `n1 12/40, 1 failed`.
fn brief(progress: &Progress) -> String {
    let counts = &progress.counts;
    let failed = if counts.failed > 0 { format!(", {} failed", counts.failed) } else { String::new() };
    let left = progress.cell_s.filter(|_| counts.left() > 0);
    let left = left.map_or_else(String::new, |cell_s| {
        format!(", {} left", text::study::status::rough(cell_s * counts.left() as f64))
    });
    format!("{} {}/{}{failed}{left}", progress.machine, counts.done, counts.all())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::io("find", path, &error))
}
