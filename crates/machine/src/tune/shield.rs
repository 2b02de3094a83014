//! CPUs on which nothing else runs: control groups of version 2 or 1.

use std::io;

use serde::Serialize;

use super::groups;
use crate::contention::Wait;
use crate::control_groups::{GROUP, Mount, OTHERS, mount};
use crate::facts::isolated;
use crate::knob::Knob;
use crate::undo::{Change, Resource, Stage};
use crate::{CpuSet, Tree};

/// Below this share of its time spent waiting, a CPU is as good as alone: one tick's worth of
/// kernel work in a hundred.
const ALONE: f64 = 0.01;

/// Methods of keeping CPUs free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ShieldKind {
    /// An isolated partition of version 2: the scheduler balances nothing onto its CPUs.
    #[serde(rename = "cgroup v2 isolated partition")]
    Partition,
    /// A partition of version 2 with several CPUs: nothing else runs there, and the scheduler balances among them.
    #[serde(rename = "cgroup v2 partition")]
    Balanced,
    /// Version 1: every task is moved to a group without these CPUs.
    #[serde(rename = "cgroup v1 cpusets")]
    Cpusets,
}

/// CPUs on which nothing else runs, and what that is worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shield {
    /// Means of the shield: the kind of its control groups.
    pub kind: ShieldKind,
    /// The group of the benchmark: its directory.
    pub group: String,
    /// CPUs that are kept free, as a list.
    pub cpus: String,
    /// True if the kernel accepted the shield.
    pub raised: bool,
    /// Problem of the shield in words, if it has one.
    pub problem: Option<String>,
    /// Tasks that were moved away.
    pub moved: usize,
    /// Tasks that the kernel keeps where they are: those of its own that belong to a CPU.
    pub stayed: usize,
    /// Wait of a thread for its CPU before; `None` if it was not measured.
    pub before: Option<Wait>,
    /// Wait of a thread inside for its CPU.
    pub after: Option<Wait>,
    #[serde(skip)]
    home: String,
}

/// The control groups to be made.
#[derive(Debug, Clone)]
pub(super) struct PlannedShield {
    pub(super) kind: ShieldKind,
    pub(super) groups: Vec<Change>,
    /// Mount point of the control groups.
    pub(super) mount: String,
    /// Current group of this process.
    pub(super) home: String,
    pub(super) cpus: CpuSet,
    pub(super) others: CpuSet,
}

impl Shield {
    /// True if the shield keeps other tasks away, false if a thread inside still waits for its CPU not much less than
    /// one outside; `None` if that was not measured.
    pub fn is_effective(&self) -> Option<bool> {
        let after = self.after?;
        let before = self.before?;
        Some(after.share <= ALONE || after.share <= before.share / 2.0)
    }

    /// Moves this process into the shield.
    ///
    /// # Errors
    /// The kernel's.
    pub fn enter(&self, tree: &Tree) -> io::Result<()> {
        groups::move_self(tree, &self.group)
    }

    /// Moves this process back to its former group.
    ///
    /// # Errors
    /// The kernel's.
    pub fn leave(&self, tree: &Tree) -> io::Result<()> {
        groups::move_self(tree, &self.home)
    }
}

/// The directory of the group this process is in; `hierarchy` is its field in `/proc/self/cgroup`.
fn home(tree: &Tree, mount: &str, hierarchy: &str) -> String {
    let text = tree.read("/proc/self/cgroup").unwrap_or_default();
    let path = text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers.split(',').any(|controller| controller == hierarchy).then_some(path)
    });
    let home = format!("{mount}{}", path.unwrap_or("/"));
    // In a name space of its own, a process may see a path that is not there.
    if tree.exists(&home) { home.trim_end_matches('/').to_owned() } else { mount.to_owned() }
}

/// Plans the groups; or says what this machine lacks for them.
pub(super) fn plan(tree: &Tree, cpus: &CpuSet, others: &CpuSet) -> Result<(Option<Change>, PlannedShield), String> {
    let (kind, mount) = match mount(tree) {
        // Threads of a command with several CPUs must be able to move between them. CPUs isolated at boot can only be in an
        // isolated partition: kernel/cgroup/cpuset.c, PERR_HKEEPING.
        Some(Mount::Partition(mount)) => match cpus.len() > 1 && cpus.within(&isolated(tree)).is_empty() {
            true => (ShieldKind::Balanced, mount),
            false => (ShieldKind::Partition, mount),
        },
        Some(Mount::Cpusets(mount)) => (ShieldKind::Cpusets, mount),
        None => return Err("no control groups with cpusets are mounted".to_owned()),
    };
    let home = home(tree, &mount, if kind == ShieldKind::Cpusets { "cpuset" } else { "" });
    let names: &[&str] = if kind == ShieldKind::Cpusets { &[OTHERS, GROUP] } else { &[GROUP] };
    let mut groups = Vec::new();
    for name in names {
        let path = format!("{mount}/{name}");
        if tree.exists(&path) {
            return Err(format!("{path} exists already, but is in no undo file"));
        }
        let home = if *name == OTHERS { mount.clone() } else { home.clone() };
        groups.push(Change { knob: Knob::Shield, stage: Stage::Planned, resource: Resource::Group { path, home } });
    }
    let (name, value) = match kind {
        ShieldKind::Partition | ShieldKind::Balanced => ("cgroup.subtree_control", "+cpuset"),
        // The root group would balance tasks over all CPUs; its children then do so over theirs.
        ShieldKind::Cpusets => ("cpuset.sched_load_balance", "0"),
    };
    let path = format!("{mount}/{name}");
    let file = |before| Resource::File { path, before, asked: Some(value.to_owned()), found: None, settled: None };
    let before = tree.read(&format!("{mount}/{name}")).ok();
    let change = before.map(|before| Change { knob: Knob::Shield, stage: Stage::Planned, resource: file(before) });
    Ok((change, PlannedShield { kind, groups, mount, home, cpus: cpus.clone(), others: others.clone() }))
}

/// Creates the groups of the shield.
pub(super) fn raise(tree: &Tree, planned: &PlannedShield) -> Shield {
    let mut shield = Shield {
        kind: planned.kind,
        group: format!("{}/{GROUP}", planned.mount),
        cpus: planned.cpus.to_string(),
        raised: false,
        problem: None,
        moved: 0,
        stayed: 0,
        before: None,
        after: None,
        home: planned.home.clone(),
    };
    let raised = match planned.kind {
        ShieldKind::Partition => partition(tree, &shield.group, &planned.cpus, "isolated"),
        ShieldKind::Balanced => partition(tree, &shield.group, &planned.cpus, "root"),
        ShieldKind::Cpusets => cpusets(tree, planned, &mut shield),
    };
    match raised {
        Ok(()) => shield.raised = true,
        Err(problem) => shield.problem = Some(problem),
    }
    shield
}

fn named(what: &str, path: &str) -> impl FnOnce(io::Error) -> String {
    let text = format!("cannot {what} {path}");
    move |error| format!("{text}: {error}")
}

fn partition(tree: &Tree, group: &str, cpus: &CpuSet, requested: &str) -> Result<(), String> {
    tree.make_group(group).map_err(named("make", group))?;
    let list = format!("{group}/cpuset.cpus");
    tree.write(&list, &cpus.to_string()).map_err(named("write", &list))?;
    let kind = format!("{group}/cpuset.cpus.partition");
    tree.write(&kind, requested).map_err(named("write", &kind))?;
    // The kernel takes the word and says afterwards whether it could: `isolated invalid (reason)`.
    match tree.line(&kind) {
        Some(line) if line == requested => Ok(()),
        line => Err(format!("{kind}: expected {requested}, found {}", line.unwrap_or_default())),
    }
}

fn cpusets(tree: &Tree, planned: &PlannedShield, shield: &mut Shield) -> Result<(), String> {
    let mount = &planned.mount;
    let memory = tree.line(&format!("{mount}/cpuset.mems")).unwrap_or_else(|| "0".to_owned());
    let others = format!("{mount}/{OTHERS}");
    for (group, cpus) in [(&others, &planned.others), (&shield.group, &planned.cpus)] {
        tree.make_group(group).map_err(named("make", group))?;
        for (name, value) in [("cpuset.cpus", cpus.to_string()), ("cpuset.mems", memory.clone())] {
            let path = format!("{group}/{name}");
            tree.write(&path, &value).map_err(named("write", &path))?;
        }
    }
    let moved = groups::move_all(tree, mount, &others).map_err(named("move the tasks of", mount))?;
    shield.moved = moved.moved;
    shield.stayed = moved.refused;
    Ok(())
}
