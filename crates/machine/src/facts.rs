//! Facts about a machine that a reader of a measurement needs.

mod cpu;
mod settings;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use cpu::{Cache, Cpu};
pub(crate) use cpu::{isolated, online, siblings};
pub(crate) use settings::{CPUFREQ, base_khz, chosen, policies, policy_of, turbo};
pub use settings::{Frequency, Idle, IdleState, Settings};

use crate::Tree;

/// Facts about a machine: hardware, kernel and settings. Values that this kernel does not report are `None` or empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Host name of the machine.
    pub host: Option<String>,
    /// Facts about the processors: model, cores, caches.
    pub cpu: Cpu,
    /// Memory and the CPUs near to it, by node.
    pub nodes: Vec<Node>,
    /// Memory in bytes, as `MemTotal`.
    pub memory_bytes: Option<u64>,
    /// Size of the swap space, in bytes.
    pub swap_bytes: Option<u64>,
    /// Facts about the kernel: release, command line.
    pub kernel: Kernel,
    /// Hypervisor that the machine runs on; `None` on bare metal, as far as can be seen from inside.
    pub hypervisor: Option<String>,
    /// Control of the clock frequency.
    pub frequency: Frequency,
    /// Idle states of the CPUs, and their driver.
    pub idle: Idle,
    /// Name of the clock source behind `clock_gettime`.
    pub clock_source: Option<String>,
    /// Mitigations of the known vulnerabilities of the processor.
    pub mitigations: BTreeMap<String, String>,
    /// Settings of the kernel that move measurements.
    pub settings: Settings,
    /// `prony machine tune` is in force.
    pub tuned: bool,
}

/// NUMA node with its CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Number of the NUMA node, from 0.
    pub node: u32,
    /// CPUs of the node, as a list.
    pub cpus: String,
    /// Memory of the node, in bytes.
    pub memory_bytes: Option<u64>,
}

/// Release and version of the running kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Release, as `uname -r` prints it.
    pub release: Option<String>,
    /// Version, as `uname -v` prints it: number, preemption model and date of the build.
    pub version: Option<String>,
    /// Command line of the kernel, from `/proc/cmdline`.
    pub command_line: Option<String>,
}

/// Reads what the machine is.
pub fn facts(tree: &Tree) -> Facts {
    let memory = tree.read("/proc/meminfo").unwrap_or_default();
    Facts {
        host: tree.line("/proc/sys/kernel/hostname"),
        cpu: cpu::cpu(tree),
        nodes: nodes(tree),
        memory_bytes: kilobytes(&memory, "MemTotal:"),
        swap_bytes: kilobytes(&memory, "SwapTotal:"),
        kernel: Kernel {
            release: tree.line("/proc/sys/kernel/osrelease"),
            version: tree.line("/proc/sys/kernel/version"),
            command_line: tree.line("/proc/cmdline"),
        },
        hypervisor: hypervisor(tree),
        frequency: settings::frequency(tree),
        idle: settings::idle(tree),
        clock_source: tree.line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        mitigations: mitigations(tree),
        settings: settings::settings(tree),
        tuned: crate::undo::is_there(tree),
    }
}

/// The number behind `name` in a file as `/proc/meminfo`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains(name))?;
    let number: u64 = line.split_once(name)?.1.split_whitespace().next()?.parse().ok()?;
    number.checked_mul(1024)
}

fn nodes(tree: &Tree) -> Vec<Node> {
    let directory = "/sys/devices/system/node";
    let numbers = tree.names(directory).into_iter().filter_map(|name| name.strip_prefix("node")?.parse::<u32>().ok());
    let node = |node| {
        let memory = tree.read(&format!("{directory}/node{node}/meminfo")).unwrap_or_default();
        Node {
            node,
            cpus: tree.line(&format!("{directory}/node{node}/cpulist")).unwrap_or_default(),
            memory_bytes: kilobytes(&memory, "MemTotal:"),
        }
    };
    numbers.map(node).collect()
}

/// The flag `hypervisor` is CPUID 1, ECX bit 31, which hypervisors set and processors do not; the
/// firmware tables and the paravirtual clock name which one.
fn hypervisor(tree: &Tree) -> Option<String> {
    if let Some(kind) = tree.line("/sys/hypervisor/type") {
        return Some(kind);
    }
    let flagged =
        cpu::field(tree, "flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let firmware: Vec<String> = ["sys_vendor", "product_name"]
        .iter()
        .filter_map(|name| tree.line(&format!("/sys/class/dmi/id/{name}")))
        .collect();
    let clocks = tree.line("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    // aarch64 has no such flag; there a virtual machine shows in the paravirtual clock or firmware only.
    let known =
        ["QEMU", "KVM", "VMware", "VirtualBox", "Xen", "Virtual Machine", "Amazon EC2", "Google Compute Engine"];
    let named = firmware.join(" ");
    let by_clock = [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];
    let by_clock = by_clock.iter().find(|(clock, _)| clocks.contains(clock)).map(|(_, name)| (*name).to_owned());
    match by_clock {
        _ if !flagged && by_clock.is_none() && !known.iter().any(|known| named.contains(known)) => None,
        Some(name) => Some(name),
        None if named.is_empty() => Some("an unknown hypervisor".to_owned()),
        None => Some(named),
    }
}

fn mitigations(tree: &Tree) -> BTreeMap<String, String> {
    let directory = "/sys/devices/system/cpu/vulnerabilities";
    let names = tree.names(directory).into_iter();
    names.filter_map(|name| tree.line(&format!("{directory}/{name}")).map(|line| (name, line))).collect()
}
