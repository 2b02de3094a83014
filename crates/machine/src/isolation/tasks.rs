//! Threads that may run on a CPU.

use serde::Serialize;

use crate::{CpuSet, Tree};

/// Threads in relation to a CPU, those of this process left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tasks {
    /// Threads of programs that can be seen.
    pub programs: usize,
    /// Threads of programs that may run on the CPU.
    pub programs_allowed: usize,
    /// Threads of the kernel that may run on the CPU.
    pub kernel_allowed: usize,
    /// Those of the kernel that exist for this CPU alone.
    pub kernel_bound: usize,
}

/// Counts the threads that may run on a CPU.
pub fn tasks(tree: &Tree, cpu: u32) -> Tasks {
    let own = std::process::id();
    let mut tasks = Tasks::default();
    for pid in pids(tree).filter(|&pid| pid != own || !tree.is_machine()) {
        let directory = format!("/proc/{pid}/task");
        for thread in tree.names(&directory) {
            // A thread may have ended since.
            let Ok(status) = tree.read(&format!("{directory}/{thread}/status")) else { continue };
            let field = |name| status.lines().find_map(|line: &str| line.strip_prefix(name));
            let Some(cpus) = field("Cpus_allowed_list:").and_then(|list| list.parse::<CpuSet>().ok()) else { continue };
            // Threads of the kernel have no memory of their own.
            let is_program = field("VmSize:").is_some();
            let is_allowed = cpus.contains(cpu);
            tasks.programs += usize::from(is_program);
            tasks.programs_allowed += usize::from(is_program && is_allowed);
            tasks.kernel_allowed += usize::from(!is_program && is_allowed);
            tasks.kernel_bound += usize::from(!is_program && is_allowed && cpus.len() == 1);
        }
    }
    tasks
}

/// CPUs for which a thread of the kernel can run RCU callbacks; `None` if threads of the kernel cannot be seen, as in a
/// container.
pub(super) fn offloading(tree: &Tree) -> Option<CpuSet> {
    // The thread that starts those of the kernel has always been the second one.
    if tree.line("/proc/2/comm").as_deref() != Some("kthreadd") {
        return None;
    }
    let cpu = |pid: u32| {
        let name = tree.line(&format!("/proc/{pid}/comm"))?;
        // `rcuop/1`, on kernels without preemption `rcuos/1`; `rcuog/0` leads a group.
        name.strip_prefix("rcuop/").or_else(|| name.strip_prefix("rcuos/"))?.parse::<u32>().ok()
    };
    Some(pids(tree).filter_map(cpu).collect())
}

fn pids(tree: &Tree) -> impl Iterator<Item = u32> {
    tree.names("/proc").into_iter().filter_map(|name| name.parse().ok())
}
