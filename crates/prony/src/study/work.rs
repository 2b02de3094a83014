//! `prony study work` and `collect`: what executors run on a machine of a study.

use std::env;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use prony_machine::Interrupt;
use prony_machine::own::{self, NotOurs};
use prony_report::text;
use prony_study::directory::{Directory, DirectoryError, WORK};
use prony_study::ledger::{AfterFailure, LedgerError};
use prony_study::merge::Publisher;
use prony_study::run::{Event, Work, WorkError, work};
use prony_study::slurm::{Rounds, Submission};
use prony_text::count;

use super::failure::slurm_failure;
use super::status;
use crate::cli::study::{CollectArgs, WorkOnArgs};
use crate::exit::Exit;
use crate::failure::Failure;

/// Mode of a scratch directory: closed to everybody else.
const SCRATCH_MODE: u32 = 0o700;

/// # Errors
/// What kept cells from running; what was measured is kept.
pub fn run(args: &WorkOnArgs) -> Result<Exit, Failure> {
    let directory = Directory::open(&args.directory).map_err(|error| status::failure("run", &error))?;
    let machine = directory.study.machines.iter().position(|machine| machine.name == args.machine);
    let Some(machine) = machine else {
        return Err(Failure::new(format!("expected a machine of the study, found `{}`", args.machine)));
    };
    let results = args.scratch.clone().unwrap_or_else(|| directory.path.clone());
    if args.scratch.is_some() {
        // Its name can be guessed, and lies where anybody may have made it.
        own::make_directory(&results, SCRATCH_MODE).map_err(|error| not_ours(&error))?;
    }
    fs::create_dir_all(results.join(WORK)).map_err(|error| Failure::io("make", &results, &error))?;
    let absolute = |path: &Path| fs::canonicalize(path).map_err(|error| Failure::io("find", path, &error));
    let (results, root) = (absolute(&results)?, absolute(&args.root.root)?);
    let publisher = (results != directory.path).then(|| Publisher::new(&results, &directory.path, &args.machine));
    let merge = |error: prony_study::merge::MergeError| Failure::new(format!("cannot publish: {error}"));
    if let Some(publisher) = &publisher {
        publisher.restore().map_err(merge)?;
    }
    let publisher = publisher.map(Mutex::new);
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let place = results.join(WORK);
    env::set_current_dir(&place).map_err(|error| Failure::io("go to", &place, &error))?;
    let here = Work {
        directory: &directory,
        results: &results,
        machine,
        block: args.block,
        jobs: 1,
        retry_failed: false,
        interrupt: Some(&interrupt),
        root: (root != Path::new("/")).then_some(root.as_path()),
    };
    let lock = |publisher: &Mutex<Publisher>, last: bool| {
        let mut publisher = publisher.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last { publisher.publish() } else { publisher.publish_if_due() }
    };
    let finished = work(&here, &|event| match event {
        Event::Progress(_) => {
            // Reported when all is published in the end; until then what is there stays.
            let _ = publisher.as_ref().map(|publisher| lock(publisher, false));
        }
        event => report_event(event),
    });
    let published = publisher.as_ref().map_or(Ok(()), |publisher| match &finished {
        // Another process runs this machine's cells, and publishes them.
        Err(WorkError::Directory(DirectoryError::Ledger(LedgerError::Busy { .. })) | WorkError::Unmet { .. }) => Ok(()),
        _ => lock(publisher, true),
    });
    let finished = finished.map_err(|error| failure(&error))?;
    published.map_err(merge)?;
    eprintln!(
        "{}  {}: {} in {:.1} s",
        args.machine,
        text::study::status::in_words(&finished.counts, None),
        count(finished.ran, "cell"),
        finished.elapsed_s
    );
    Ok(match finished.interrupted {
        true => Exit::NotTrusted,
        false if finished.counts.failed > 0 => Exit::Finding,
        false => Exit::Good,
    })
}

/// A scratch directory that cannot be worked in.
fn not_ours(error: &NotOurs) -> Failure {
    let failure = Failure::new(format!("cannot work in {error}"));
    match error {
        NotOurs::Io { .. } => failure,
        NotOurs::Permissions { path, .. } => failure.hint(format!(
            "if nobody else has put anything there, run `chmod 700 {}`, or choose another directory with --scratch",
            path.display()
        )),
        NotOurs::Kind { .. } | NotOurs::Owner { .. } => {
            failure.hint("check who created it, or choose another directory with --scratch")
        }
    }
}

/// # Errors
/// When a ledger cannot be read or a job not be submitted.
pub fn collect(args: &CollectArgs) -> Result<Exit, Failure> {
    let directory = Directory::open(&args.directory).map_err(|error| status::failure("read", &error))?;
    let rounds = Rounds::read(&directory.path).map_err(|error| slurm_failure(&error))?;
    let program = prony_study::exec::store_program(&directory.path);
    let program = program.map_err(|error| Failure::new(error.to_string()))?;
    let submission = Submission {
        directory: &directory.path,
        program: &program,
        scratch: args.scratch.as_deref(),
        machines: &rounds.machines,
    };
    let rounds = submission.collect(&directory).map_err(|error| slurm_failure(&error))?;
    match (rounds.ended, rounds.given_up.len()) {
        (false, _) => eprintln!("round {}: {}", rounds.round, count(rounds.jobs.len() as u64, "job")),
        (true, 0) => eprintln!("complete after {}", count(u64::from(rounds.round), "round")),
        (true, left) => eprintln!("warning: gave up {} after {} rounds", count(left as u64, "block"), rounds.round),
    }
    Ok(if rounds.given_up.is_empty() { Exit::Good } else { Exit::NotTrusted })
}

/// Says what went wrong on the way.
pub fn report_event(event: &Event) {
    match event {
        Event::Cut(cells) => eprintln!("{} interrupted earlier, running again", count(*cells as u64, "cell")),
        Event::Failed(claim, failure, after) => {
            let cell = format!("{} on {}", claim.row.levels.join(", "), claim.row.workload);
            let then = match after {
                AfterFailure::Again => "; it will be retried once".to_owned(),
                AfterFailure::Failed | AfterFailure::Stopped { cells: 0 } => String::new(),
                AfterFailure::Stopped { cells } => {
                    format!("; its configuration failed repeatedly, {} not run", count(*cells as u64, "cell"))
                }
            };
            eprintln!("warning: {cell}: {}{then}", failure.message);
        }
        Event::Progress(_) | Event::Point(_) => {}
    }
}

/// Cells could not be run.
pub fn failure(error: &WorkError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        WorkError::Unmet { .. } => {
            failure.hint("see `prony machine show`; change settings with `prony machine tune`, or change `require`")
        }
        WorkError::Directory(DirectoryError::Ledger(LedgerError::Busy { .. })) => {
            failure.hint("wait for it or stop it: its results are kept")
        }
        WorkError::Directory(DirectoryError::Io { error, .. }) if error.kind() == std::io::ErrorKind::StorageFull => {
            failure.hint("free some space; results are kept, continue with `prony study resume DIR`")
        }
        WorkError::Directory(error) => status::failure("run", error),
        _ => failure,
    }
}
