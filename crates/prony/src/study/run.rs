//! `prony study run` and `resume`: all cells of a study, here and elsewhere.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use prony_bench::Interrupt;
use prony_study::directory::{Directory, Progress, WORK};
use prony_study::exec::{self, ExecError, Running, Templates};
use prony_study::file::Executor;
use prony_study::run::{Event, Work, work};
use prony_study::slurm::{Queue, Rounds, SlurmError, Submission};

use super::status;
use super::work::{failure as work_failure, told};
use crate::cli::study::{ExecutorName, How, ResumeArgs, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::ProgressLine;

/// How often other machines' ledgers are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often Slurm is asked whether there is anything to wait for.
const QUEUE_EVERY: Duration = Duration::from_secs(1);
/// So often in a row nothing must be alive before it is submitted again.
const DEAD_LOOKS: u32 = 3;
/// How often the line changes.
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
            .hint("name another directory with -o"));
    }
    choose(&study, &args.how)?;
    let directory = Directory::make(&output, &text, base).map_err(|error| status::failure("run", &error))?;
    go(directory, &args.how, false)
}

/// # Errors
/// As [`run`].
pub fn resume(args: &ResumeArgs) -> Result<Exit, Failure> {
    let directory = Directory::open(&args.directory).map_err(|error| status::failure("resume", &error))?;
    go(directory, &args.how, args.retry_failed)
}

/// Which machines are run how: indices.
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
                    return Err(Failure::new(format!("nothing says how machine `{}` is reached", machine.name))
                        .hint("--command 'ssh {machine} {command}'"));
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
                return Err(Failure::new(format!("the study has {} machines, `{}`", several.len(), names()))
                    .hint("--machine NAME says which one this is; `prony study merge` brings them together"));
            }
        },
    };
    Ok(chosen)
}

fn go(directory: Directory, how: &How, retry_failed: bool) -> Result<Exit, Failure> {
    let chosen = choose(&directory.study, how)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let line = Mutex::new(ProgressLine::new(true));
    // Before we go to where commands run: paths of ours may be relative.
    let root = absolute(&how.root.root)?;
    let scratch = how.scratch.as_deref().map(absolute).transpose()?;
    let elsewhere = !chosen.exec.is_empty() || !chosen.slurm.is_empty();
    let program = match elsewhere {
        true => Some(exec::store_program(&directory.path).map_err(|error| exec_failure(&error.into()))?),
        false => None,
    };
    let mut machines = Vec::new();
    let mut failures = Vec::new();
    for (machine, templates) in &chosen.exec {
        let name = &directory.study.machines[*machine].name;
        let place = place(scratch.as_deref(), &directory.path, name);
        let program = program.as_deref().unwrap_or(Path::new("prony"));
        let command = exec::work_command(program, &directory.path, name, &place, None);
        match Running::start(templates, &directory.path, name, &command) {
            Ok(running) => machines.push((*machine, templates, Some(running))),
            Err(error) => failures.push(exec_failure(&error)),
        }
    }
    if !chosen.slurm.is_empty() {
        submit(&directory, &chosen.slurm, scratch.as_deref(), program.as_deref())?;
    }
    let place = directory.path.join(WORK);
    env::set_current_dir(&place).map_err(|error| Failure::io("go to", &place, &error))?;
    let mut local = None;
    if let Some(machine) = chosen.local {
        let work_here = Work {
            directory: &directory,
            results: &directory.path,
            machine,
            block: None,
            jobs: usize::from(how.jobs),
            retry_failed,
            interrupt: Some(&interrupt),
            root: (root != Path::new("/")).then_some(root.as_path()),
        };
        let name = &directory.study.machines[machine].name;
        let shown = Mutex::new(None::<Instant>);
        let finished = work(&work_here, &|event| match event {
            Event::Progress(progress) => {
                let mut shown = shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if shown.is_none_or(|shown| shown.elapsed() >= SHOW_EVERY) {
                    *shown = Some(Instant::now());
                    let left = progress.left_s.map(|left_s| left_s / progress.counts.left().max(1) as f64);
                    let words = status::in_words(&progress.counts, left);
                    line.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .show_text(&format!("{name}  {words}"));
                }
            }
            event => told(event),
        });
        match finished {
            Ok(finished) => local = Some(finished),
            Err(error) => failures.push(work_failure(&error)),
        }
    }
    let (mut waited, mut looked, mut dead) = (None::<Instant>, Instant::now(), 0);
    let mut interrupted = local.is_some_and(|finished| finished.interrupted);
    loop {
        for (machine, templates, running) in &mut machines {
            let Some(command) = running else { continue };
            if interrupt.is_asked() && !interrupted {
                command.interrupt();
            }
            let name = &directory.study.machines[*machine].name;
            let ended = command.ended();
            if matches!(ended, Ok(false)) {
                continue;
            }
            // What it measured before it failed is fetched all the same.
            let fetched = exec::fetch(templates, &directory, name);
            failures.extend(
                [ended.map(drop), fetched.map(drop)].into_iter().filter_map(Result::err).map(|e| exec_failure(&e)),
            );
            *running = None;
        }
        interrupted |= interrupt.is_asked();
        let at_work = machines.iter().any(|(_, _, running)| running.is_some());
        let queued = !chosen.slurm.is_empty() && !how.no_wait && !interrupted && !is_over(&directory, &chosen.slurm)?;
        if queued && looked.elapsed() >= QUEUE_EVERY {
            looked = Instant::now();
            dead = look_after(&directory, scratch.as_deref(), program.as_deref(), dead)?;
        }
        if !at_work && !queued {
            break;
        }
        let due = waited.is_none_or(|shown| shown.elapsed() >= SHOW_EVERY);
        if due && let Ok(progress) = directory.progress() {
            waited = Some(Instant::now());
            let words: Vec<String> = progress.iter().map(brief).collect();
            line.lock().unwrap_or_else(std::sync::PoisonError::into_inner).show_text(&words.join(" · "));
        }
        thread::sleep(LOOK_EVERY);
    }
    drop(line);
    let progress = directory.progress().map_err(|error| status::failure("read", &error))?;
    if let Some(failure) = failures.pop() {
        failures.iter().for_each(|failure| eprint!("{failure}"));
        return Err(failure);
    }
    status::answer(&directory, &progress, how.json)?;
    if !chosen.slurm.is_empty() && (interrupted || how.no_wait) && !is_over(&directory, &chosen.slurm)? {
        eprintln!("hint: the jobs go on; `prony study status {}` says how far they are", directory.path.display());
    } else if status::total(&progress).left() > 0 {
        if interrupted {
            eprintln!("warning: interrupted");
        }
        eprintln!("hint: `prony study resume {}` goes on", directory.path.display());
    }
    Ok(status::exit(&progress))
}

/// `n1 12/40, 1 failed`.
fn brief(progress: &Progress) -> String {
    let counts = &progress.counts;
    let failed = if counts.failed > 0 { format!(", {} failed", counts.failed) } else { String::new() };
    let left = progress.cell_s.filter(|_| counts.left() > 0);
    let left =
        left.map_or_else(String::new, |cell_s| format!(", {} left", status::rough(cell_s * counts.left() as f64)));
    format!("{} {}/{}{failed}{left}", progress.machine, counts.done, counts.all())
}

/// Whether nothing of these machines is left, or the collector gave up. The queue is not asked.
fn is_over(directory: &Directory, machines: &[usize]) -> Result<bool, Failure> {
    let progress = directory.progress().map_err(|error| status::failure("read", &error))?;
    if machines.iter().all(|&machine| progress[machine].counts.left() == 0) {
        return Ok(true);
    }
    Ok(Rounds::read(&directory.path).map_err(|error| slurm_failure(&error))?.ended)
}

/// Submits again what a killed controller forgot or holds. `dead`: how often in a row nothing was alive.
fn look_after(
    directory: &Directory,
    scratch: Option<&Path>,
    program: Option<&Path>,
    dead: u32,
) -> Result<u32, Failure> {
    let rounds = Rounds::read(&directory.path).map_err(|error| slurm_failure(&error))?;
    if rounds.ended || rounds.queue() != Queue::Dead {
        return Ok(0);
    }
    // Between the last job and the collector nothing may be alive for a moment.
    if dead + 1 < DEAD_LOOKS {
        return Ok(dead + 1);
    }
    rounds.cancel();
    let submission = Submission {
        directory: &directory.path,
        program: program.unwrap_or(Path::new("prony")),
        scratch,
        machines: &rounds.machines,
    };
    let rounds = submission.collect(directory).map_err(|error| slurm_failure(&error))?;
    let jobs = crate::numbers::count(rounds.jobs.len() as u64, "job");
    eprintln!("warning: Slurm lost jobs or holds them; submitted {jobs} again");
    Ok(0)
}

fn submit(
    directory: &Directory,
    machines: &[usize],
    scratch: Option<&Path>,
    program: Option<&Path>,
) -> Result<(), Failure> {
    let names: Vec<String> = machines.iter().map(|&machine| directory.study.machines[machine].name.clone()).collect();
    let submission = Submission {
        directory: &directory.path,
        program: program.unwrap_or(Path::new("prony")),
        scratch,
        machines: &names,
    };
    Rounds::forget(&directory.path).map_err(|error| slurm_failure(&error))?;
    let rounds = submission.submit(directory).map_err(|error| slurm_failure(&error))?;
    eprintln!("submitted {}", crate::numbers::count(rounds.jobs.len() as u64, "job"));
    Ok(())
}

fn place(scratch: Option<&Path>, directory: &Path, machine: &str) -> PathBuf {
    scratch.map_or_else(|| exec::scratch(directory, machine), |scratch| scratch.join(machine))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::io("find", path, &error))
}

fn exec_failure(error: &ExecError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ExecError::Start { .. } => failure.hint("the first word of a template is a program"),
        ExecError::Failed { .. } => failure.hint("what was measured is kept; `prony study resume DIR` goes on"),
        _ => failure,
    }
}

pub(super) fn slurm_failure(error: &SlurmError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        SlurmError::Start(_) => failure.hint("run this where Slurm's commands are: a login node"),
        SlurmError::Refused { .. } => failure.hint("`sinfo -N` lists nodes, partitions and their state"),
        _ => failure,
    }
}
