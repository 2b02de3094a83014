//! Processors, cores, threads and caches.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, Tree};

const CPUS: &str = "/sys/devices/system/cpu";

/// The processors of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Model name that the processor reports.
    pub model: Option<String>,
    /// The instruction set: `x86_64`, `aarch64`.
    pub architecture: String,
    /// Revision of the microcode in force.
    pub microcode: Option<String>,
    /// Number of processor sockets in use.
    pub sockets: usize,
    /// Number of cores, of all sockets.
    pub cores: usize,
    /// Online CPUs as a list: hardware threads the kernel runs tasks on.
    pub online: String,
    /// CPUs kept from the scheduler since boot, as a list.
    pub isolated: String,
    /// Simultaneous multithreading: `on`, `off`, `forceoff`, `notsupported`.
    pub smt: Option<String>,
    /// Caches of the first CPU.
    pub caches: Vec<Cache>,
}

/// A cache as the first CPU sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Level of the cache; 1 is the nearest to the core.
    pub level: u32,
    /// Contents of the cache: `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size of the cache, in bytes.
    pub size_bytes: u64,
    /// The CPUs that share it, as a list.
    pub shared_by: String,
}

/// CPUs on which the kernel runs tasks.
pub(crate) fn online(tree: &Tree) -> CpuSet {
    tree.value(&format!("{CPUS}/online")).unwrap_or_default()
}

/// CPUs kept from the scheduler since boot.
pub(crate) fn isolated(tree: &Tree) -> CpuSet {
    tree.value(&format!("{CPUS}/isolated")).unwrap_or_default()
}

/// The other threads of the core of `cpu`.
pub(crate) fn siblings(tree: &Tree, cpu: u32) -> CpuSet {
    let all: CpuSet = tree.value(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list")).unwrap_or_default();
    all.without(&CpuSet::from_iter([cpu]))
}

/// A field of the first processor in `/proc/cpuinfo`.
pub(super) fn field(tree: &Tree, name: &str) -> Option<String> {
    let text = tree.read("/proc/cpuinfo").ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(field, _)| field.trim() == name).map(|(_, value)| value.trim().to_owned())
}

pub(super) fn cpu(tree: &Tree) -> Cpu {
    let online = online(tree);
    let mut sockets = BTreeSet::new();
    let mut cores = BTreeSet::new();
    for cpu in online.iter() {
        let topology = |name: &str| tree.line(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
        let socket = topology("physical_package_id").unwrap_or_default();
        // A core's number is its own only within its socket (and die, where one is named).
        cores.insert((socket.clone(), topology("die_id"), topology("core_id").unwrap_or_else(|| cpu.to_string())));
        sockets.insert(socket);
    }
    Cpu {
        model: field(tree, "model name").or_else(|| tree.line("/sys/firmware/devicetree/base/model")),
        architecture: std::env::consts::ARCH.to_owned(),
        microcode: field(tree, "microcode"),
        sockets: sockets.len(),
        cores: cores.len(),
        online: online.to_string(),
        isolated: isolated(tree).to_string(),
        smt: tree.line(&format!("{CPUS}/smt/control")),
        caches: caches(tree, online.iter().next().unwrap_or(0)),
    }
}

fn caches(tree: &Tree, cpu: u32) -> Vec<Cache> {
    let directory = format!("{CPUS}/cpu{cpu}/cache");
    let indices = tree.names(&directory).into_iter().filter(|name| name.starts_with("index"));
    let cache = |index: String| {
        let file = |name: &str| tree.line(&format!("{directory}/{index}/{name}"));
        Some(Cache {
            level: file("level")?.parse().ok()?,
            kind: file("type")?,
            size_bytes: size_bytes(&file("size")?)?,
            shared_by: file("shared_cpu_list").unwrap_or_default(),
        })
    };
    indices.filter_map(cache).collect()
}

/// `32K`, as the kernel prints the size of a cache.
fn size_bytes(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, ""),
    };
    let factor = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 1,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_sizes_have_units() {
        assert_eq!(
            ["48K", "32M", "512", "x", "9K9"].map(size_bytes),
            [Some(49152), Some(33_554_432), Some(512), None, None]
        );
    }
}
