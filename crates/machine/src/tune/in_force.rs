//! Values as the kernel reads them back.

use crate::CpuSet;

/// True when a file that reads `now` says what writing `asked` asks for.
pub(super) fn in_force(path: &str, now: &str, asked: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "smp_affinity_list" => now.parse::<CpuSet>() == asked.parse::<CpuSet>(),
        "cpumask" | "default_smp_affinity" => CpuSet::from_mask(now) == CpuSet::from_mask(asked),
        "cgroup.subtree_control" => {
            let wanted = asked.trim_start_matches('+');
            now.split_whitespace().any(|controller| controller == wanted)
        }
        _ => crate::facts::chosen(now) == asked,
    }
}
