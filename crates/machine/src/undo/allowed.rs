//! Permitted contents of an undo file: exactly what `tune` writes.
//!
//! A file that says what to write, to be written by root, is believed in nothing else. Below `/proc` lie doors to every
//! place of the machine (`/proc/self/root`), and settings of the kernel that run programs.

use super::Resource;
use crate::Tree;
use crate::control_groups::{GROUPS, group_mount};
use crate::knob::IRQBALANCE;

/// Files that are written; `#` is a number.
const FILES: &[&str] = &[
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/perf_event_max_sample_rate",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/vm/nr_hugepages",
    "/proc/irq/default_smp_affinity",
    "/proc/irq/#/smp_affinity_list",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/bus/workqueue/devices/writeback/cpumask",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/cpufreq/policy#/boost",
    "/sys/devices/system/cpu/cpufreq/policy#/energy_performance_preference",
    "/sys/devices/system/cpu/cpufreq/policy#/scaling_governor",
    "/sys/devices/system/cpu/cpufreq/policy#/scaling_max_freq",
    "/sys/devices/system/cpu/cpufreq/policy#/scaling_min_freq",
    "/sys/devices/system/cpu/cpu#/cpuidle/state#/disable",
    "/sys/devices/system/cpu/cpu#/online",
];

/// Files of the root of the control groups.
const GROUP_FILES: &[&str] = &["cgroup.subtree_control", "cpuset.sched_load_balance"];

/// Directories of kernel files. Links below them lead only from one of them to another.
const ROOTS: &[&str] = &["/proc/sys", "/proc/irq", "/sys"];

/// # Errors
/// What `tune` does not write: the path or the name, as an undo file has it.
pub(super) fn check(tree: &Tree, resource: &Resource) -> Result<(), String> {
    let mount = group_mount(tree);
    let mount = mount.as_deref();
    let below_mount = |path: &str| Some(path.strip_prefix(mount?)?.strip_prefix('/')?.to_owned());
    let is_allowed = |path: &str, is_listed: bool| match is_listed && is_in_place(tree, path, mount) {
        true => Ok(()),
        false => Err(format!("the path `{path}`")),
    };
    match resource {
        Resource::File { path, .. } => {
            let of_groups = below_mount(path).is_some_and(|name| GROUP_FILES.contains(&name.as_str()));
            is_allowed(path, of_groups || FILES.iter().any(|pattern| matches(pattern, path)))
        }
        Resource::Group { path, home } => {
            is_allowed(path, below_mount(path).is_some_and(|name| GROUPS.contains(&name.as_str())))?;
            let is_plain = |below: String| below.split('/').all(|part| !matches!(part, "" | "." | ".."));
            is_allowed(home, mount == Some(home) || below_mount(home).is_some_and(is_plain))
        }
        Resource::Process { name, .. } if name == IRQBALANCE => Ok(()),
        Resource::Process { name, .. } => Err(format!("the process `{name}`")),
    }
}

/// True if a path matches a pattern, part by part.
fn matches(pattern: &str, path: &str) -> bool {
    let (mut parts, mut found) = (pattern.split('/'), path.split('/'));
    let matches_part = |(part, found): (&str, &str)| match part.strip_suffix('#') {
        // Ten digits hold any number of the kernel's.
        Some(name) => found.strip_prefix(name).is_some_and(|number| {
            (1..=10).contains(&number.len()) && number.bytes().all(|digit| digit.is_ascii_digit())
        }),
        None => part == found,
    };
    loop {
        match (parts.next(), found.next()) {
            (None, None) => return true,
            (Some(part), Some(found)) if matches_part((part, found)) => {}
            _ => return false,
        }
    }
}

/// Whether what a path leads to, through whatever links, lies where files of the kernel do. What is not there is neither
/// read nor written.
fn is_in_place(tree: &Tree, path: &str, mount: Option<&str>) -> bool {
    let Ok(real) = tree.place(path).canonicalize() else { return true };
    let mut roots = ROOTS.iter().copied().chain(mount);
    roots.any(|root| tree.place(root).canonicalize().is_ok_and(|root| real.starts_with(root)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_listed(path: &str) -> bool {
        FILES.iter().any(|pattern| matches(pattern, path))
    }

    #[test]
    fn numbers_are_numbers() {
        assert!(is_listed("/sys/devices/system/cpu/cpu31/cpuidle/state2/disable"));
        for wrong in ["cpu", "cpu-1", "cpu1x", "cpu12345678901", "cpu/1", "cpu*"] {
            assert!(!is_listed(&format!("/sys/devices/system/cpu/{wrong}/online")), "{wrong}");
        }
        assert!(!is_listed("/sys/devices/system/cpu/cpu1/online/"));
    }

    proptest! {
        #[test]
        fn no_path_that_leaves_the_list_is_on_it(
            path in "(/(proc|sys|self|root|[0-9]{1,3}|irq|kernel|vm|stat_interval|online|\\.\\.|\\.|fd|cwd|cpu1|)){1,6}"
        ) {
            let plain = path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".." | "self" | "root" | "fd" | "cwd"));
            prop_assert!(!is_listed(&path) || plain, "{path}");
        }
    }
}
