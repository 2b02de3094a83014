//! Puts back what `tune` found.
//!
//! In reverse order, and only what is still as `tune` left it: what another process changed
//! meanwhile stays, and is reported instead.

use serde::Serialize;

use super::groups;
use super::in_force::in_force;
use crate::Tree;
use crate::knob::Knob;
use crate::undo::{self, Found, HUGE_PAGES, Lock, MACHINE, Resource, Stage, Undo, UndoError, UndoName};

/// Some values take another with them: a limit may be refused until another is back.
const PASSES: u32 = 3;

/// Outcome of restoring the settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "undo", content = "changes")]
pub enum Restoring {
    /// No undo file exists: there is nothing to restore.
    Nothing,
    /// The undo file was of an earlier boot, whose values are gone; it was dropped.
    EarlierBoot,
    /// The undo file was applied, with these results.
    Applied(Vec<Restored>),
}

impl Restoring {
    /// Items that were not restored.
    pub fn left(&self) -> impl Iterator<Item = &Restored> {
        let restored: &[Restored] = if let Restoring::Applied(restored) = self { restored } else { &[] };
        restored.iter().filter(|restored| !matches!(restored.back, Back::Same | Back::Put))
    }
}

/// Result of restoring one item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Restored {
    /// Knob that the item belongs to.
    pub knob: Knob,
    /// The thing: a file, a process, a control group.
    pub place: String,
    /// Value before `tune`, as text.
    pub before: String,
    /// Value that `tune` left, as text.
    pub tuned: String,
    /// Value after the restore, as text.
    pub now: String,
    /// Result of restoring the item.
    pub back: Back,
}

/// Results of restoring one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "reason")]
pub enum Back {
    /// The value was as before already.
    Same,
    /// The value was restored, byte for byte.
    Put,
    /// Another program changed the value meanwhile: it was left as it is.
    Foreign,
    /// The setting no longer exists.
    Gone,
    /// The kernel did not take it; the undo file keeps it.
    Failed(String),
}

/// Puts back what the undo file lists, and removes it.
///
/// # Errors
/// [`UndoError`]: no undo file could be read, or another process is tuning.
pub fn restore(tree: &Tree) -> Result<Restoring, UndoError> {
    let machine = restore_one(tree, MACHINE)?;
    // Somebody who uses reserved huge pages at this moment puts them back.
    let huge_pages = match restore_one(tree, HUGE_PAGES) {
        Err(UndoError::Busy { .. }) => Restoring::Nothing,
        restored => restored?,
    };
    Ok(match (machine, huge_pages) {
        (Restoring::Applied(mut all), Restoring::Applied(more)) => {
            all.extend(more);
            Restoring::Applied(all)
        }
        (Restoring::Nothing | Restoring::EarlierBoot, applied @ Restoring::Applied(_)) => applied,
        (Restoring::Nothing, other) => other,
        (machine, _) => machine,
    })
}

/// Puts back what one undo file lists.
pub(crate) fn restore_one(tree: &Tree, name: UndoName) -> Result<Restoring, UndoError> {
    let _lock = Lock::take(tree, name)?;
    match Undo::load(tree, name)? {
        Found::Nothing => Ok(Restoring::Nothing),
        Found::EarlierBoot => drop_earlier_boot(tree, name),
        Found::Undo(undo) => apply(tree, name, undo),
    }
}

pub(crate) fn drop_earlier_boot(tree: &Tree, name: UndoName) -> Result<Restoring, UndoError> {
    undo::remove(tree, name)?;
    Ok(Restoring::EarlierBoot)
}

/// Restores all settings of the undo file. What failed stays in the undo file; without such, it is removed.
pub(crate) fn apply(tree: &Tree, name: UndoName, mut undo: Undo) -> Result<Restoring, UndoError> {
    let frequencies_moved =
        undo.changes.iter().any(|change| change.stage != Stage::Planned && is_frequency(change.knob));
    let mut backs: Vec<Option<Back>> = undo.changes.iter().map(|_| None).collect();
    for pass in 0..PASSES {
        for (change, back) in undo.changes.iter().zip(&mut backs).rev() {
            let moved_along = is_frequency(change.knob) && frequencies_moved;
            let (resource, stage) = (&change.resource, change.stage);
            match resource {
                Resource::File { .. } => file(tree, resource, stage, moved_along, back),
                _ if matches!(stage, Stage::Planned | Stage::Refused)
                    || pass > 0 && !matches!(back, Some(Back::Failed(_))) => {}
                Resource::Process { pid, start_ticks, .. } => *back = Some(process(tree, *pid, *start_ticks)),
                Resource::Group { path, home } => *back = Some(group(tree, path, home)),
            }
        }
    }
    let mut restored = Vec::new();
    let mut failed = Vec::new();
    for (change, back) in undo.changes.drain(..).zip(backs) {
        let Some(back) = back else { continue };
        restored.push(outcome(tree, change.knob, &change.resource, back.clone()));
        if matches!(back, Back::Failed(_)) {
            failed.push(change);
        }
    }
    for affinity in &undo.affinities {
        // A thread that ended, or that the kernel bound again itself, needs nothing.
        let _ = groups::bind_again(tree, affinity);
    }
    if failed.is_empty() {
        undo::remove(tree, name)?;
    } else {
        undo.changes = failed;
        undo.save(tree, name)?;
    }
    Ok(Restoring::Applied(restored))
}

/// Governor, turbo and limits move each other's values.
fn is_frequency(knob: Knob) -> bool {
    matches!(knob, Knob::Governor | Knob::Turbo | Knob::Frequency | Knob::Smt)
}

fn file(tree: &Tree, resource: &Resource, stage: Stage, moved_along: bool, back: &mut Option<Back>) {
    let Resource::File { path, before, asked, found, settled } = resource else { return };
    if matches!(back, Some(Back::Foreign)) {
        return;
    }
    let now = match tree.read(path) {
        Ok(now) => now,
        // The files of a CPU are gone while it is off: a later pass finds them.
        Err(_) if stage == Stage::Planned => return,
        Err(_) => {
            *back = Some(Back::Gone);
            return;
        }
    };
    if now == *before {
        match back {
            None if matches!(stage, Stage::Begun | Stage::Done) => *back = Some(Back::Same),
            // Another value had to be put back first.
            Some(Back::Failed(_) | Back::Gone) => *back = Some(Back::Put),
            _ => {}
        }
        return;
    }
    let ours = match (stage, asked) {
        // What we never wrote is ours only where what we wrote moves it.
        (Stage::Planned, _) => moved_along,
        // The process ended between writing and reading again; what the kernel made of it is unknown.
        (Stage::Begun, _) => true,
        (_, Some(requested)) => {
            let left = [found, settled].into_iter().flatten().any(|left| *left == now);
            left || in_force(path, &now, requested)
        }
        (_, None) => moved_along,
    };
    // Once put back, what moves it again is another change of ours.
    if !ours && back.is_none() {
        *back = Some(Back::Foreign);
        return;
    }
    let wrote = tree.write(path, &write_form(path, before, &now));
    *back = Some(match (wrote, tree.read(path)) {
        (_, Ok(now)) if now == *before => Back::Put,
        (Err(error), _) | (Ok(()), Err(error)) => Back::Failed(error.to_string()),
        (Ok(()), Ok(now)) => Back::Failed(format!("expected {}, found {}", before.trim(), now.trim())),
    });
}

fn process(tree: &Tree, pid: u32, start_ticks: u64) -> Back {
    if !groups::is_stopped(tree, pid, start_ticks) {
        return Back::Same;
    }
    match groups::go_on(tree, pid, start_ticks) {
        Ok(()) => Back::Put,
        Err(error) => Back::Failed(error.to_string()),
    }
}

fn group(tree: &Tree, path: &str, home: &str) -> Back {
    if !tree.exists(path) {
        return Back::Same;
    }
    match groups::dissolve(tree, path, home) {
        Ok(()) => Back::Put,
        Err(error) => Back::Failed(error.to_string()),
    }
}

/// Text to write so that a file reads `before` again: some files are read in another form than they are written.
pub(super) fn write_form(path: &str, before: &str, now: &str) -> String {
    if path.ends_with("/cgroup.subtree_control") {
        let had = |controller: &&str| !before.split_whitespace().any(|word| word == *controller);
        let added = now.split_whitespace().filter(had).map(|controller| format!("-{controller}"));
        return added.collect::<Vec<_>>().join(" ");
    }
    crate::facts::chosen(before).to_owned()
}

fn outcome(tree: &Tree, knob: Knob, resource: &Resource, back: Back) -> Restored {
    let (place, before, tuned, now) = match resource {
        Resource::File { path, before, found, settled, asked } => {
            let tuned = settled.clone().or(found.clone()).or(asked.clone()).unwrap_or_default();
            (
                path.clone(),
                before.trim().to_owned(),
                tuned.trim().to_owned(),
                tree.read(path).unwrap_or_default().trim().to_owned(),
            )
        }
        Resource::Process { pid, start_ticks, name } => {
            let now = if groups::is_stopped(tree, *pid, *start_ticks) { "stopped" } else { "running" };
            (format!("process {pid} ({name})"), "running".to_owned(), "stopped".to_owned(), now.to_owned())
        }
        Resource::Group { path, .. } => {
            let now = if tree.exists(path) { "there" } else { "not there" };
            (path.clone(), "not there".to_owned(), "there".to_owned(), now.to_owned())
        }
    };
    Restored { knob, place, before, tuned, now, back }
}
