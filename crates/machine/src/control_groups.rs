//! Control groups of the machine: where they are mounted, and names of those that `tune` makes.

use crate::Tree;

/// The group of the benchmark.
pub(crate) const GROUP: &str = "prony";

/// The group of all others, where groups cannot simply lose CPUs (version 1).
pub(crate) const OTHERS: &str = "prony-others";

/// The groups that are made.
pub(crate) const GROUPS: [&str; 2] = [GROUP, OTHERS];

/// Mounts of control groups with cpusets.
pub(crate) enum Mount {
    Partition(String),
    Cpusets(String),
}

/// Mount of the control groups with cpusets, version 2 first.
pub(crate) fn mount(tree: &Tree) -> Option<Mount> {
    let mounts = tree.read("/proc/mounts").ok()?;
    let mut cpusets = None;
    for line in mounts.lines() {
        let mut fields = line.split_whitespace().skip(1);
        let (Some(place), Some(kind), Some(options)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let controllers = || tree.line(&format!("{place}/cgroup.controllers")).unwrap_or_default();
        match kind {
            "cgroup2" if controllers().split_whitespace().any(|name| name == "cpuset") => {
                return Some(Mount::Partition(place.to_owned()));
            }
            "cgroup" if options.split(',').any(|option| option == "cpuset") => cpusets = Some(place.to_owned()),
            _ => {}
        }
    }
    cpusets.map(Mount::Cpusets)
}

/// The directory where the groups with cpusets are mounted.
pub(crate) fn group_mount(tree: &Tree) -> Option<String> {
    mount(tree).map(|(Mount::Partition(place) | Mount::Cpusets(place))| place)
}
