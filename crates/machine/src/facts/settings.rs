//! Settings of the machine: frequency, idle states, and background work of the kernel.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Tree;

pub(crate) const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// Control of the clock frequency; of several policies the first, and all governors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frequency {
    /// The driver: `intel_pstate`, `acpi-cpufreq`, `amd-pstate-epp`.
    pub driver: Option<String>,
    /// Number of policies with each governor.
    pub governors: BTreeMap<String, usize>,
    /// The lower limit in kHz.
    pub limit_min_khz: Option<u64>,
    /// The upper limit in kHz.
    pub limit_max_khz: Option<u64>,
    /// Base frequency of the hardware without turbo, in kHz, if it is known.
    pub base_khz: Option<u64>,
    /// Highest frequency of the hardware, in kHz.
    pub hardware_max_khz: Option<u64>,
    /// True if turbo frequencies are allowed.
    pub turbo: Option<bool>,
    /// The bias between energy and speed, where the hardware chooses the frequency.
    pub energy_preference: Option<String>,
}

/// Idle states of the CPUs, and their driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    /// Idle driver, such as `intel_idle`, `acpi_idle` or `haltpoll`.
    pub driver: Option<String>,
    /// Governor that selects the state.
    pub governor: Option<String>,
    /// The states of the first CPU that are not disabled.
    pub states: Vec<IdleState>,
}

/// A state in which a CPU sleeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// Name of the state, such as `C6`.
    pub name: String,
    /// Time to wake up from the state, in µs.
    pub exit_latency_us: u64,
}

/// Settings of the kernel that move measurements; `None` where this kernel has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// `kernel.randomize_va_space`: 2 is full randomisation of addresses.
    pub randomize_va_space: Option<String>,
    /// Transparent huge pages: `always`, `madvise`, `never`.
    pub transparent_hugepage: Option<String>,
    /// Action of a page fault to get a huge page.
    pub transparent_hugepage_defrag: Option<String>,
    /// Value of `kernel.sched_autogroup_enabled`.
    pub sched_autogroup_enabled: Option<String>,
    /// Value of `kernel.numa_balancing`.
    pub numa_balancing: Option<String>,
    /// Value of `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<String>,
    /// Value of `kernel.perf_event_max_sample_rate`.
    pub perf_event_max_sample_rate: Option<String>,
    /// Value of `kernel.nmi_watchdog`.
    pub nmi_watchdog: Option<String>,
    /// Value of `vm.stat_interval`, in seconds.
    pub vm_stat_interval: Option<String>,
    /// Value of `vm.swappiness`.
    pub swappiness: Option<String>,
}

/// The word in brackets of `always [madvise] never`; without brackets, all of it.
pub(crate) fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text.trim(), |(word, _)| word)
}

/// The policies of cpufreq: CPUs that change their frequency together.
pub(crate) fn policies(tree: &Tree) -> Vec<String> {
    let names = tree.names(CPUFREQ).into_iter().filter(|name| name.starts_with("policy"));
    names.map(|name| format!("{CPUFREQ}/{name}")).collect()
}

/// Directory of the frequency policy of a CPU. CPUs that change their frequency together share one under the number of the first.
pub(crate) fn policy_of(tree: &Tree, cpu: u32) -> Option<String> {
    let own = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
    if tree.exists(&format!("{own}/scaling_governor")) {
        return Some(own);
    }
    let is_shared = |policy: &String| {
        let cpus = tree.line(&format!("{policy}/affected_cpus")).unwrap_or_default();
        cpus.split_whitespace().any(|other| other.parse() == Ok(cpu))
    };
    let named = format!("{CPUFREQ}/policy{cpu}");
    if tree.exists(&named) { Some(named) } else { policies(tree).into_iter().find(is_shared) }
}

/// Base frequency of the hardware without turbo, in kHz.
pub(crate) fn base_khz(tree: &Tree, policy: &str) -> Option<u64> {
    // intel_pstate reports it in kHz, ACPI CPPC in MHz.
    let cppc = || {
        let cpu = policy.rsplit_once("policy")?.1;
        tree.value::<u64>(&format!("/sys/devices/system/cpu/cpu{cpu}/acpi_cppc/nominal_freq"))?.checked_mul(1000)
    };
    tree.value(&format!("{policy}/base_frequency")).or_else(cppc).filter(|&khz| khz > 0)
}

/// True if turbo is allowed; `None` if unknown.
pub(crate) fn turbo(tree: &Tree) -> Option<bool> {
    let pstate = tree.value::<u32>("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|no_turbo| no_turbo == 0);
    pstate.or_else(|| tree.value::<u32>(&format!("{CPUFREQ}/boost")).map(|boost| boost != 0)).or_else(|| {
        let boosts = policies(tree).into_iter().filter_map(|policy| tree.value::<u32>(&format!("{policy}/boost")));
        boosts.max().map(|boost| boost != 0)
    })
}

pub(super) fn frequency(tree: &Tree) -> Frequency {
    let policies = policies(tree);
    let first = |name: &str| policies.first().and_then(|policy| tree.line(&format!("{policy}/{name}")));
    let khz = |name: &str| first(name).and_then(|line| line.parse().ok());
    let mut governors = BTreeMap::new();
    for governor in policies.iter().filter_map(|policy| tree.line(&format!("{policy}/scaling_governor"))) {
        *governors.entry(governor).or_default() += 1;
    }
    Frequency {
        driver: first("scaling_driver"),
        governors,
        limit_min_khz: khz("scaling_min_freq"),
        limit_max_khz: khz("scaling_max_freq"),
        base_khz: policies.first().and_then(|policy| base_khz(tree, policy)),
        hardware_max_khz: khz("cpuinfo_max_freq"),
        turbo: turbo(tree),
        energy_preference: first("energy_performance_preference"),
    }
}

pub(super) fn idle(tree: &Tree) -> Idle {
    let directory = "/sys/devices/system/cpu/cpu0/cpuidle";
    let state = |state: String| {
        let file = |name: &str| tree.line(&format!("{directory}/{state}/{name}"));
        let disabled = file("disable").is_some_and(|disable| disable != "0");
        (!disabled).then_some(IdleState { name: file("name")?, exit_latency_us: file("latency")?.parse().ok()? })
    };
    Idle {
        driver: tree.line("/sys/devices/system/cpu/cpuidle/current_driver").filter(|driver| driver != "none"),
        governor: tree.line("/sys/devices/system/cpu/cpuidle/current_governor"),
        states: tree.names(directory).into_iter().filter_map(state).collect(),
    }
}

pub(super) fn settings(tree: &Tree) -> Settings {
    let kernel = |name: &str| tree.line(&format!("/proc/sys/kernel/{name}"));
    let huge = |name: &str| {
        tree.line(&format!("/sys/kernel/mm/transparent_hugepage/{name}")).map(|line| chosen(&line).to_owned())
    };
    Settings {
        randomize_va_space: kernel("randomize_va_space"),
        transparent_hugepage: huge("enabled"),
        transparent_hugepage_defrag: huge("defrag"),
        sched_autogroup_enabled: kernel("sched_autogroup_enabled"),
        numa_balancing: kernel("numa_balancing"),
        perf_event_paranoid: kernel("perf_event_paranoid"),
        perf_event_max_sample_rate: kernel("perf_event_max_sample_rate"),
        nmi_watchdog: kernel("nmi_watchdog"),
        vm_stat_interval: tree.line("/proc/sys/vm/stat_interval"),
        swappiness: tree.line("/proc/sys/vm/swappiness"),
    }
}
