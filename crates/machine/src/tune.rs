//! Quiets a machine, and puts it back.
//!
//! Before each change the undo file knows what to put back; after it, the value is read again,
//! for kernels clamp. What is here is the order of things; which values, says [`plan`], how
//! they are put back, [`restore`].

mod groups;
mod in_force;
mod plan;
pub(crate) mod restore;
mod run;
mod shield;
mod signals;

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::geteuid;
use serde::Serialize;

use in_force::in_force;
use plan::plan;
pub use plan::{Absent, Options, frequencies};
pub use restore::{Back, Restored, Restoring, restore};
pub use run::Ran;
pub use shield::{Shield, ShieldKind};
pub use signals::Signals;

use crate::contention::{Wait, wait_on};
use crate::knob::Knob;
use crate::undo::{Found, Lock, MACHINE, Resource, Stage, Undo, UndoError};
use crate::{CpuSet, Tree};

/// Duration for which a thread spins on a CPU to detect competition.
const PROBE: Duration = Duration::from_millis(500);

/// A machine that is quiet until this is dropped, restored, or kept.
#[derive(Debug)]
pub struct Tuning<'a> {
    tree: &'a Tree,
    undo: Undo,
    /// Outcome of each change, in their order.
    pub outcomes: Vec<Outcome>,
    /// Settings that this machine does not have.
    pub absent: Vec<Absent>,
    /// Effect of the shield; `None` without one.
    pub shield: Option<Shield>,
    /// Settings of an earlier run that were restored first, because it did not do so itself.
    pub earlier: Option<Restoring>,
    /// The exit latency that no CPU exceeds while this is open, in µs.
    pub idle_latency_us: Option<u32>,
    latency: Option<File>,
    over: bool,
    _lock: Lock,
}

/// Outcome of one change of a setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Knob that the change belongs to.
    pub knob: Knob,
    /// Changed object: a file, a process, a control group.
    pub place: String,
    /// Value before the change, as text.
    pub before: String,
    /// Value that was written, as text.
    pub asked: String,
    /// Value read back after the change.
    pub found: String,
    /// Result of the change: made, refused or not permitted.
    pub result: Applied,
}

/// Result of applying a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "reason")]
pub enum Applied {
    /// The requested value is in force.
    Yes,
    /// The value was the requested one before.
    Already,
    /// The kernel made something else of it.
    Clamped,
    /// The change needs root, which this process is not.
    NotPermitted,
    /// The kernel did not take it.
    Refused(String),
}

/// Reasons why the machine could not be tuned.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The undo file: without it nothing is changed.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// A signal came while values were written; they are put back.
    #[error("interrupted by a signal before all values were written")]
    Interrupted,
}

/// Finishes what an earlier run left, then makes the changes of `plan`.
///
/// `stop`: set by a signal; then what was changed is put back.
///
/// # Errors
/// [`TuneError`]: then the machine is as it was, but for what the undo file lists.
pub fn tune<'a>(tree: &'a Tree, options: &Options, stop: &AtomicBool) -> Result<Tuning<'a>, TuneError> {
    let lock = Lock::take(tree, MACHINE)?;
    let earlier = match Undo::load(tree, MACHINE)? {
        Found::Nothing => None,
        Found::EarlierBoot => Some(restore::drop_earlier_boot(tree, MACHINE)?),
        Found::Undo(undo) => Some(restore::apply(tree, MACHINE, undo)?),
    };
    // Values are read after an earlier run was undone, or its values would be taken for the machine's own.
    let plan = plan(tree, options);
    let before = plan.shield.as_ref().and_then(|_| probe(tree, &options.cpus));
    let undo = Undo::new(tree, plan.changes, plan.affinities);
    let mut tuning = Tuning {
        tree,
        undo,
        outcomes: Vec::new(),
        absent: plan.absent,
        shield: None,
        earlier,
        idle_latency_us: None,
        latency: None,
        over: false,
        _lock: lock,
    };
    for place in 0..tuning.undo.changes.len() {
        if stop.load(Ordering::Relaxed) {
            return Err(TuneError::Interrupted);
        }
        tuning.change(place)?;
    }
    if let Some(planned) = plan.shield {
        tuning.raise_shield(planned, options, before)?;
    }
    tuning.settle()?;
    if stop.load(Ordering::Relaxed) {
        return Err(TuneError::Interrupted);
    }
    Ok(tuning)
}

/// Competition for the first of these CPUs; `None` on an imitated machine, where no time passes.
fn probe(tree: &Tree, cpus: &CpuSet) -> Option<Wait> {
    if !tree.is_machine() {
        return None;
    }
    wait_on(cpus.iter().next()?, PROBE)
}

impl Tuning<'_> {
    /// Makes one change: undo file, write, read again.
    #[expect(
        clippy::indexing_slicing,
        reason = "`place` numbers the changes of this plan, and none is removed while it is carried out"
    )]
    fn change(&mut self, place: usize) -> Result<(), TuneError> {
        let tree = self.tree;
        let change = &mut self.undo.changes[place];
        let knob = change.knob;
        match change.resource.clone() {
            Resource::File { asked: None, .. } | Resource::Group { .. } => {}
            Resource::File { path, before, asked: Some(requested), .. } => {
                let outcome = |found: String, result| Outcome {
                    knob,
                    place: path.clone(),
                    before: before.trim().to_owned(),
                    asked: requested.clone(),
                    found: found.trim().to_owned(),
                    result,
                };
                if in_force(&path, &before, &requested) {
                    self.outcomes.push(outcome(before.clone(), Applied::Already));
                    return Ok(());
                }
                change.stage = Stage::Begun;
                self.undo.save(tree, MACHINE)?;
                let wrote = tree.write(&path, &requested);
                let now = tree.read(&path).unwrap_or_default();
                let result = match wrote {
                    Err(error) => refused(&error),
                    Ok(()) if in_force(&path, &now, &requested) => Applied::Yes,
                    Ok(()) => Applied::Clamped,
                };
                self.outcomes.push(outcome(now.clone(), result.clone()));
                let change = &mut self.undo.changes[place];
                change.stage = if matches!(result, Applied::Yes | Applied::Clamped) || now != before {
                    Stage::Done
                } else {
                    Stage::Refused
                };
                if let Resource::File { found, .. } = &mut change.resource {
                    *found = Some(now);
                }
            }
            Resource::Process { pid, start_ticks, name } => {
                change.stage = Stage::Begun;
                self.undo.save(tree, MACHINE)?;
                let stopped = groups::stop(tree, pid, start_ticks);
                self.outcomes.push(Outcome {
                    knob,
                    place: format!("process {pid} ({name})"),
                    before: "running".to_owned(),
                    asked: "stopped".to_owned(),
                    found: if stopped.is_ok() { "stopped" } else { "running" }.to_owned(),
                    result: stopped.as_ref().map_or_else(refused, |()| Applied::Yes),
                });
                self.undo.changes[place].stage = if stopped.is_ok() { Stage::Done } else { Stage::Refused };
            }
        }
        Ok(())
    }

    /// Makes the groups of the shield, and measures what they are worth.
    #[expect(clippy::indexing_slicing, reason = "`first` was the number of changes, which only grows")]
    fn raise_shield(
        &mut self,
        planned: shield::PlannedShield,
        options: &Options,
        before: Option<Wait>,
    ) -> Result<(), TuneError> {
        let first = self.undo.changes.len();
        self.undo.changes.extend(planned.groups.iter().cloned());
        for change in &mut self.undo.changes[first..] {
            change.stage = Stage::Begun;
        }
        self.undo.save(self.tree, MACHINE)?;
        let mut shield = shield::raise(self.tree, &planned);
        if shield.raised {
            // Only who is inside may run on the CPUs of a shield.
            let inside = shield.enter(self.tree);
            shield.before = before;
            shield.after = inside.as_ref().ok().and_then(|()| probe(self.tree, &options.cpus));
            if let Err(error) = inside.and_then(|()| shield.leave(self.tree)) {
                shield.problem = Some(format!("cannot enter it: {error}"));
            }
        }
        for change in &mut self.undo.changes[first..] {
            let made = matches!(&change.resource, Resource::Group { path, .. } if self.tree.exists(path));
            change.stage = if made { Stage::Done } else { Stage::Refused };
        }
        self.shield = Some(shield);
        Ok(())
    }

    /// Reads every value once more: a later change may have moved an earlier one.
    fn settle(&mut self) -> Result<(), TuneError> {
        for change in &mut self.undo.changes {
            if let Resource::File { path, settled, .. } = &mut change.resource {
                *settled = self.tree.read(path).ok();
            }
        }
        Ok(self.undo.save(self.tree, MACHINE)?)
    }

    /// Keeps every CPU from sleeping deeper than its first state, until this is dropped: the kernel
    /// forgets the request when the file is closed, however this process ends.
    ///
    /// # Errors
    /// The kernel's.
    pub fn hold_idle_latency(&mut self) -> io::Result<()> {
        // 0 would make idle CPUs poll, which takes power and, under SMT, execution ports from the
        // measured one. The first state that sleeps is shallow enough: C1 wakes within 1 or 2 µs.
        let states = crate::facts(self.tree).idle.states;
        let shallow = states.iter().map(|state| state.exit_latency_us).filter(|&latency_us| latency_us > 0).min();
        let Some(latency_us) = shallow.and_then(|latency_us| u32::try_from(latency_us).ok()) else { return Ok(()) };
        let mut file = File::options().write(true).open(self.tree.place("/dev/cpu_dma_latency"))?;
        if self.tree.is_machine() {
            // Documentation/power/pm_qos_interface.rst: a binary 32-bit number of µs.
            file.write_all(&latency_us.cast_signed().to_ne_bytes())?;
        }
        self.latency = Some(file);
        self.idle_latency_us = Some(latency_us);
        Ok(())
    }

    /// Number of changed values, processes and groups.
    pub fn changed(&self) -> usize {
        self.undo.changes.iter().filter(|change| change.stage == Stage::Done).count()
    }

    /// Leaves the machine tuned until [`restore`].
    ///
    /// # Errors
    /// When the undo file cannot be written; then the machine is put back.
    pub fn keep(mut self) -> Result<(), UndoError> {
        self.undo.kept = true;
        self.undo.save(self.tree, MACHINE)?;
        self.over = true;
        Ok(())
    }

    /// Restores all settings that were changed.
    ///
    /// # Errors
    /// When the undo file cannot be removed.
    pub fn restore(mut self) -> Result<Restoring, UndoError> {
        self.over = true;
        self.latency = None;
        restore::apply(self.tree, MACHINE, std::mem::take(&mut self.undo))
    }
}

impl Drop for Tuning<'_> {
    /// Restores everything that its owner neither kept nor restored, because of an error or a panic.
    fn drop(&mut self) {
        if !self.over {
            // The undo file stays where this fails, and the next run finishes it.
            let _ = restore::apply(self.tree, MACHINE, std::mem::take(&mut self.undo));
        }
    }
}

fn refused(error: &io::Error) -> Applied {
    match error.kind() {
        // What root may not, no user may: an interrupt of many queues, say, which its driver spreads itself.
        io::ErrorKind::PermissionDenied if !geteuid().is_root() => Applied::NotPermitted,
        _ => Applied::Refused(error.to_string()),
    }
}
