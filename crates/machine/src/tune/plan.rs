//! Values of settings that reduce interference.

use serde::Serialize;

use super::groups;
use super::shield::{self, PlannedShield};
use crate::facts::{CPUFREQ, base_khz, online, policies, siblings};
use crate::knob::{IRQBALANCE, Knob};
use crate::undo::{Affinity, Change, Resource, Stage};
use crate::{CpuSet, Tree};

/// Options for tuning the machine.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The CPUs of the benchmark.
    pub cpus: CpuSet,
    /// Knobs that `tune` leaves alone.
    pub skip: Vec<Knob>,
    /// Frequency of all CPUs in kHz; `None` for the highest that needs no turbo. One within [`frequencies`].
    pub frequency_khz: Option<u64>,
}

/// Lowest and highest frequency in kHz that every CPU can have; `None` if this machine has no cpufreq.
pub fn frequencies(tree: &Tree) -> Option<(u64, u64)> {
    let of = |policy: &String| {
        let khz = |name: &str| tree.value::<u64>(&format!("{policy}/{name}"));
        khz("cpuinfo_min_freq").zip(khz("cpuinfo_max_freq"))
    };
    policies(tree).iter().filter_map(of).reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))
}

/// Changes to make, and settings that this machine does not have.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Changes in the order in which they are made.
    pub changes: Vec<Change>,
    /// Settings that this machine does not have.
    pub absent: Vec<Absent>,
    pub(super) shield: Option<PlannedShield>,
    pub(super) affinities: Vec<Affinity>,
}

/// A knob that this machine does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// Knob that this machine does not have.
    pub knob: Knob,
    /// Reason in words: what this machine lacks.
    pub reason: String,
}

/// Reads what the machine has and chooses what to change.
pub fn plan(tree: &Tree, options: &Options) -> Plan {
    let mut planner =
        Planner { tree, plan: Plan { changes: Vec::new(), absent: Vec::new(), shield: None, affinities: Vec::new() } };
    let online = online(tree);
    // The sibling threads are kept free as well: a task there shares the core.
    let core: CpuSet = options
        .cpus
        .iter()
        .chain(options.cpus.iter().flat_map(|cpu| siblings(tree, cpu).iter().collect::<Vec<_>>()))
        .collect();
    let others = match online.without(&core) {
        others if others.is_empty() => online.without(&options.cpus),
        others => others,
    };
    for knob in Knob::ALL.into_iter().filter(|knob| !options.skip.contains(knob)) {
        let before = (planner.plan.changes.len(), planner.plan.shield.is_some(), planner.plan.absent.len());
        let reason = planner.turn(knob, options, &others);
        let after = (planner.plan.changes.len(), planner.plan.shield.is_some(), planner.plan.absent.len());
        if before == after {
            planner.plan.absent.push(Absent { knob, reason });
        }
    }
    let taken = online.without(&others);
    let takes = |change: &Change| change.knob == Knob::Smt;
    if planner.plan.shield.is_some() || planner.plan.changes.iter().any(takes) {
        planner.plan.affinities = groups::bound_threads(tree, &taken, &online);
    }
    planner.plan
}

struct Planner<'a> {
    tree: &'a Tree,
    plan: Plan,
}

impl Planner<'_> {
    /// Adds the changes of one knob; returns what is missing, for when it added none.
    fn turn(&mut self, knob: Knob, options: &Options, others: &CpuSet) -> String {
        let cpus = &options.cpus;
        let no_others = || "no CPU is left for other tasks".to_owned();
        match knob {
            Knob::Autogroup => self.sysctl(knob, "kernel/sched_autogroup_enabled", "0"),
            // 1 a second is the least the kernel takes.
            Knob::PerfSampling => self.sysctl(knob, "kernel/perf_event_max_sample_rate", "1"),
            Knob::NumaBalancing => self.sysctl(knob, "kernel/numa_balancing", "0"),
            Knob::NmiWatchdog => self.sysctl(knob, "kernel/nmi_watchdog", "0"),
            // Documentation/admin-guide/kernel-per-CPU-kthreads.rst names it: every CPU wakes to fold
            // its counters once in this many seconds.
            Knob::VmStat => self.sysctl(knob, "vm/stat_interval", "120"),
            Knob::HugePages => self.huge_pages(),
            Knob::Workqueues | Knob::Interrupts | Knob::Shield if others.is_empty() => no_others(),
            Knob::Workqueues => {
                for path in ["/sys/devices/virtual/workqueue/cpumask", "/sys/bus/workqueue/devices/writeback/cpumask"] {
                    self.file(knob, path, Some(others.mask()));
                }
                "no /sys/devices/virtual/workqueue/cpumask".to_owned()
            }
            Knob::Governor => self.governor(),
            Knob::Turbo => self.turbo(),
            Knob::Frequency => self.frequency(options.frequency_khz),
            Knob::Idle => self.idle(cpus),
            Knob::Irqbalance => {
                for (pid, start_ticks, name) in groups::processes_named(self.tree, IRQBALANCE) {
                    let resource = Resource::Process { pid, start_ticks, name };
                    self.plan.changes.push(Change { knob, stage: Stage::Planned, resource });
                }
                "no irqbalance runs".to_owned()
            }
            Knob::Interrupts => self.interrupts(cpus, others),
            Knob::Smt => self.smt(cpus),
            Knob::HugePagePool => "huge pages are reserved by who needs them".to_owned(),
            Knob::Shield => match shield::plan(self.tree, cpus, others) {
                Ok((change, planned)) => {
                    self.plan.changes.extend(change);
                    self.plan.shield = Some(planned);
                    String::new()
                }
                Err(reason) => reason,
            },
        }
    }

    /// A file that is there and readable; `None` as value only watches it.
    fn file(&mut self, knob: Knob, path: &str, requested: Option<String>) {
        if let Ok(before) = self.tree.read(path) {
            let resource =
                Resource::File { path: path.to_owned(), before, asked: requested, found: None, settled: None };
            self.plan.changes.push(Change { knob, stage: Stage::Planned, resource });
        }
    }

    fn sysctl(&mut self, knob: Knob, name: &str, value: &str) -> String {
        let path = format!("/proc/sys/{name}");
        self.file(knob, &path, Some(value.to_owned()));
        format!("no {path}")
    }

    /// `always` gives a huge page or not as memory happens to be free, and khugepaged works beside
    /// the benchmark; where `never` or `madvise` was chosen, that is left.
    fn huge_pages(&mut self) -> String {
        let directory = "/sys/kernel/mm/transparent_hugepage";
        let chosen = |name: &str| self.tree.line(&format!("{directory}/{name}"));
        let wanted: Vec<_> = ["enabled", "defrag"]
            .into_iter()
            .filter_map(|name| {
                let line = chosen(name)?;
                let kept = match crate::facts::chosen(&line) {
                    "never" => "never",
                    _ => "madvise",
                };
                Some((format!("{directory}/{name}"), kept.to_owned()))
            })
            .collect();
        for (path, value) in wanted {
            self.file(Knob::HugePages, &path, Some(value));
        }
        self.file(Knob::HugePages, &format!("{directory}/khugepaged/defrag"), Some("0".to_owned()));
        format!("no {directory}")
    }

    fn governor(&mut self) -> String {
        for policy in policies(self.tree) {
            // With `performance`, the driver moves the preference itself and takes none (EBUSY), so
            // that it is put back after the governor: what is watched comes first.
            self.file(Knob::Governor, &format!("{policy}/energy_performance_preference"), None);
            self.file(Knob::Governor, &format!("{policy}/scaling_governor"), Some("performance".to_owned()));
        }
        format!("no policy in {CPUFREQ}")
    }

    fn turbo(&mut self) -> String {
        let pstate = "/sys/devices/system/cpu/intel_pstate/no_turbo";
        self.file(Knob::Turbo, pstate, Some("1".to_owned()));
        self.file(Knob::Turbo, &format!("{CPUFREQ}/boost"), Some("0".to_owned()));
        if !self.tree.exists(&format!("{CPUFREQ}/boost")) && !self.tree.exists(pstate) {
            for policy in policies(self.tree) {
                self.file(Knob::Turbo, &format!("{policy}/boost"), Some("0".to_owned()));
            }
        }
        format!("neither intel_pstate/no_turbo nor {CPUFREQ}/boost")
    }

    /// One frequency for all: the requested one, or the highest that needs no turbo.
    fn frequency(&mut self, requested_khz: Option<u64>) -> String {
        for policy in policies(self.tree) {
            let khz = |name: &str| self.tree.value::<u64>(&format!("{policy}/{name}"));
            // acpi-cpufreq lists what needs no turbo only.
            let listed = || {
                let line = self.tree.line(&format!("{policy}/scaling_available_frequencies"))?;
                line.split_whitespace().filter_map(|word| word.parse::<u64>().ok()).max()
            };
            let highest = base_khz(self.tree, &policy).or_else(listed).or_else(|| khz("cpuinfo_max_freq"));
            let Some(mut target) = highest else { continue };
            match (requested_khz, khz("scaling_max_freq")) {
                (Some(requested), _) => target = requested,
                // A limit that was set lower stays.
                (None, Some(limit)) => target = target.min(limit),
                (None, None) => {}
            }
            for name in ["scaling_max_freq", "scaling_min_freq"] {
                self.file(Knob::Frequency, &format!("{policy}/{name}"), Some(target.to_string()));
            }
        }
        format!("no limits in {CPUFREQ}")
    }

    /// Files stay as they are when this process has ended, which an open `/dev/cpu_dma_latency` does not.
    fn idle(&mut self, cpus: &CpuSet) -> String {
        for cpu in cpus.iter() {
            let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
            let latency = |state: &String| self.tree.value::<u64>(&format!("{directory}/{state}/latency"));
            let states: Vec<_> =
                self.tree.names(&directory).into_iter().filter_map(|state| Some((latency(&state)?, state))).collect();
            let shallow = states.iter().map(|(latency_us, _)| *latency_us).filter(|&latency_us| latency_us > 0).min();
            for (latency_us, state) in states {
                if shallow.is_some_and(|shallow| latency_us > shallow) {
                    self.file(Knob::Idle, &format!("{directory}/{state}/disable"), Some("1".to_owned()));
                }
            }
        }
        format!("CPU {cpus} has no idle state deeper than its first")
    }

    fn interrupts(&mut self, cpus: &CpuSet, others: &CpuSet) -> String {
        self.file(Knob::Interrupts, "/proc/irq/default_smp_affinity", Some(others.mask()));
        for irq in self.tree.names("/proc/irq").into_iter().filter(|name| name.parse::<u32>().is_ok()) {
            let path = format!("/proc/irq/{irq}/smp_affinity_list");
            let Some(now) = self.tree.value::<CpuSet>(&path) else { continue };
            if now.within(cpus).is_empty() {
                continue;
            }
            let affinity = match now.within(others) {
                kept if kept.is_empty() => others.clone(),
                kept => kept,
            };
            self.file(Knob::Interrupts, &path, Some(affinity.to_string()));
        }
        "no /proc/irq".to_owned()
    }

    fn smt(&mut self, cpus: &CpuSet) -> String {
        for sibling in cpus.iter().flat_map(|cpu| siblings(self.tree, cpu).iter().collect::<Vec<_>>()) {
            if !cpus.contains(sibling) {
                self.file(Knob::Smt, &format!("/sys/devices/system/cpu/cpu{sibling}/online"), Some("0".to_owned()));
            }
        }
        format!("CPU {cpus} shares its core with no other CPU")
    }
}
