//! Limits that the control groups of this process set: a CPU quota and memory, as containers and services have them.

use crate::Tree;

/// A CPU quota, and how often it has stopped the processes of its group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quota {
    /// CPUs that the group may use on average: the quota divided by its period.
    pub cpus: f64,
    /// Period in which the quota is spent, in seconds.
    pub period_s: f64,
    /// Periods in which something ran.
    pub periods: u64,
    /// Of these, periods in which the quota was used up, and everything was stopped.
    pub throttled: u64,
    /// Time for which tasks were stopped, in seconds, added up over CPUs.
    pub stopped_s: f64,
}

/// A limit of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Most memory of the group, in bytes.
    pub limit_bytes: u64,
    /// Memory that it uses, page cache included, in bytes.
    pub used_bytes: u64,
}

/// A limit that the kernel writes for none (version 1): the largest number of pages.
const NONE_BYTES: u64 = 1 << 62;

impl Quota {
    /// What has happened since an earlier look.
    pub fn since(self, before: Quota) -> Quota {
        Quota {
            periods: self.periods.saturating_sub(before.periods),
            throttled: self.throttled.saturating_sub(before.throttled),
            stopped_s: (self.stopped_s - before.stopped_s).max(0.0),
            ..self
        }
    }
}

/// The tightest CPU quota of the groups that this process is in; `None` without one.
pub fn cpu_quota(tree: &Tree) -> Option<Quota> {
    let quotas = groups(tree, "cpu").into_iter().filter_map(|group| {
        let number = |name: &str| tree.value::<f64>(&format!("{group}/{name}"));
        let (quota_us, period_us) = match tree.line(&format!("{group}/cpu.max")) {
            // Documentation/admin-guide/cgroup-v2.rst: `max 100000` or two numbers, in µs.
            Some(line) => {
                let (quota, period) = line.split_once(' ')?;
                (quota.parse().ok()?, period.parse().ok()?)
            }
            // Documentation/scheduler/sched-bwc.rst: −1 for none.
            None => (number("cpu.cfs_quota_us").filter(|quota| *quota > 0.0)?, number("cpu.cfs_period_us")?),
        };
        let stat = tree.read(&format!("{group}/cpu.stat")).unwrap_or_default();
        let count = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let stopped_s = match (count("throttled_usec "), count("throttled_time ")) {
            (Some(us), _) => us as f64 / 1e6,
            (None, Some(ns)) => ns as f64 / 1e9,
            (None, None) => 0.0,
        };
        Some(Quota {
            cpus: quota_us / period_us,
            period_s: period_us / 1e6,
            periods: count("nr_periods ").unwrap_or(0),
            throttled: count("nr_throttled ").unwrap_or(0),
            stopped_s,
        })
    });
    quotas.filter(|quota| quota.cpus.is_finite() && quota.cpus > 0.0).min_by(|a, b| a.cpus.total_cmp(&b.cpus))
}

/// The tightest limit of memory of the groups that this process is in; `None` without one.
pub fn memory_limit(tree: &Tree) -> Option<MemoryLimit> {
    let limits = groups(tree, "memory").into_iter().filter_map(|group| {
        let number = |name: &str| tree.value::<u64>(&format!("{group}/{name}"));
        let limit_bytes = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
        let used_bytes = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
        (limit_bytes < NONE_BYTES).then_some(MemoryLimit { limit_bytes, used_bytes })
    });
    limits.min_by_key(|limit| limit.limit_bytes)
}

/// Directories of the groups with this controller that this process is in, from its own to the uppermost that is seen.
fn groups(tree: &Tree, controller: &str) -> Vec<String> {
    let (own, mounts) =
        (tree.read("/proc/self/cgroup").unwrap_or_default(), tree.read("/proc/mounts").unwrap_or_default());
    let mut found = Vec::new();
    for line in own.lines() {
        // `0::/path` of version 2, `4:cpu,cpuacct:/path` of version 1.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let kind = if controllers.is_empty() { "cgroup2" } else { "cgroup" };
        if !controllers.is_empty() && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        let place = mounts.lines().find_map(|mount| {
            let mut fields = mount.split_whitespace().skip(1);
            let (place, of_kind, options) = (fields.next()?, fields.next()?, fields.next()?);
            let has_it = kind == "cgroup2" || options.split(',').any(|option| option == controller);
            (of_kind == kind && has_it).then(|| place.to_owned())
        });
        let Some(place) = place else { continue };
        // In a namespace of its own, or a container that sees only its own group, the path may not be there: its mount is.
        let mut path = path.trim_end_matches('/');
        loop {
            found.push(format!("{place}{path}"));
            match path.rsplit_once('/') {
                Some((above, _)) => path = above,
                None => break,
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Tree) {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        for (path, text) in files {
            let place = directory.path().join(path);
            fs::create_dir_all(place.parent().expect("it is in a directory")).expect("it can be made");
            fs::write(place, text).expect("it can be written");
        }
        let tree = Tree::at(directory.path());
        (directory, tree)
    }

    #[test]
    fn the_tightest_quota_of_the_groups_above_counts() {
        let (_directory, tree) = machine(&[
            ("proc/self/cgroup", "0::/pods/one/box\n"),
            ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"),
            ("sys/fs/cgroup/pods/one/box/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/pods/one/cpu.max", "50000 100000\n"),
            (
                "sys/fs/cgroup/pods/one/cpu.stat",
                "usage_usec 9\nnr_periods 40\nnr_throttled 12\nthrottled_usec 600000\n",
            ),
            ("sys/fs/cgroup/pods/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/pods/one/memory.max", "536870912\n"),
            ("sys/fs/cgroup/pods/one/memory.current", "104857600\n"),
        ]);
        let quota = Quota { cpus: 0.5, period_s: 0.1, periods: 40, throttled: 12, stopped_s: 0.6 };
        assert_eq!(cpu_quota(&tree), Some(quota));
        assert_eq!(memory_limit(&tree), Some(MemoryLimit { limit_bytes: 512 << 20, used_bytes: 100 << 20 }));
        let later = Quota { periods: 50, throttled: 20, stopped_s: 1.0, ..quota };
        assert_eq!((later.since(quota).periods, later.since(quota).throttled), (10, 8));
    }

    #[test]
    fn version_1_and_a_container_that_sees_its_own_group_only() {
        let (_directory, tree) = machine(&[
            ("proc/self/cgroup", "5:cpu,cpuacct:/docker/4711\n4:memory:/docker/4711\n0::/\n"),
            (
                "proc/mounts",
                "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n",
            ),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 7\nnr_throttled 2\nthrottled_time 250000000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n"),
        ]);
        let quota = Quota { cpus: 1.5, period_s: 0.1, periods: 7, throttled: 2, stopped_s: 0.25 };
        assert_eq!(cpu_quota(&tree), Some(quota));
        assert_eq!(memory_limit(&tree), None, "the kernel's number for none");
        let (_directory, free) = machine(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("sys/fs/cgroup/cpu.max", "max 100000\n"),
        ]);
        assert_eq!(cpu_quota(&free), None);
    }
}
