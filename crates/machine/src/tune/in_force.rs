//! Values as the kernel reads them back.

use crate::CpuSet;

/// True when a file that reads `now` says what writing `requested` requests.
pub(super) fn in_force(path: &str, now: &str, requested: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "smp_affinity_list" => now.parse::<CpuSet>() == requested.parse::<CpuSet>(),
        "cpumask" | "default_smp_affinity" => CpuSet::from_mask(now) == CpuSet::from_mask(requested),
        "cgroup.subtree_control" => {
            let wanted = requested.trim_start_matches('+');
            now.split_whitespace().any(|controller| controller == wanted)
        }
        _ => crate::facts::chosen(now) == requested,
    }
}
