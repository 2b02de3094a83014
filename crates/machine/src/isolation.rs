//! CPUs reserved at boot: what the kernel's command line requests, what the kernel made of it, and why that differs.

mod build;
mod log;
mod tasks;

use serde::{Serialize, Serializer};

pub use tasks::{Tasks, tasks};

use crate::facts::isolated;
use crate::{CpuSet, Tree};

const CPUS: &str = "/sys/devices/system/cpu";

/// Parameters of the kernel's command line that reserve CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootParameter {
    /// The scheduler balances no load onto these CPUs.
    Isolcpus,
    /// No tick while one task runs on one of these CPUs.
    NohzFull,
    /// Callbacks of RCU run on other CPUs.
    RcuNocbs,
}

/// A parameter that reserves CPUs: the request, and what is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reservation {
    /// The parameter.
    pub parameter: BootParameter,
    /// Word of the command line, such as `nohz_full=1` or `isolcpus=nohz,1`; `None` if there is none.
    pub requested: Option<String>,
    /// CPUs that the request names; `None` if the list is none that prony reads.
    pub cpus: Option<CpuSet>,
    /// CPUs for which the parameter is in force; `None` if that cannot be seen.
    pub in_force: Option<CpuSet>,
    /// The part of the request that the kernel ignored.
    pub ignored: Option<Ignored>,
}

/// The part of a request that the kernel ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// CPUs for which the parameter is not in force; `None` for a list that cannot be read.
    pub cpus: Option<CpuSet>,
    /// Reason, where it can be seen.
    pub reason: Option<IgnoredReason>,
}

/// Reasons why the kernel ignored a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum IgnoredReason {
    /// The kernel was built without this option.
    NotBuilt {
        /// Name of the option, such as `CONFIG_NO_HZ_FULL`.
        option: &'static str,
    },
    /// The list names CPUs that the machine does not have.
    NoSuchCpu {
        /// CPUs that the machine may have.
        possible: CpuSet,
    },
    /// `isolcpus` with other flags only: without `domain`, the scheduler goes on balancing.
    NoDomainFlag,
    /// `nohz_full` and `isolcpus=nohz` name different CPUs: the first one on the command line counts.
    Conflict,
    /// One CPU must keep the time and the work of the kernel: the one that booted.
    BootCpu,
    /// The kernel could not read the list.
    List,
}

impl BootParameter {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            BootParameter::Isolcpus => "isolcpus",
            BootParameter::NohzFull => "nohz_full",
            BootParameter::RcuNocbs => "rcu_nocbs",
        }
    }

    /// False if the kernel was built without support for the parameter, as far as can be seen.
    pub(crate) fn is_built(self, tree: &Tree) -> bool {
        let has_file = self != BootParameter::NohzFull || nohz_full(tree).is_some();
        has_file && build::option(tree, self.option()) != Some(false)
    }

    /// Option of the kernel's build without which the parameter has no effect.
    fn option(self) -> &'static str {
        match self {
            BootParameter::Isolcpus => "CONFIG_CPU_ISOLATION",
            BootParameter::NohzFull => "CONFIG_NO_HZ_FULL",
            BootParameter::RcuNocbs => "CONFIG_RCU_NOCB_CPU",
        }
    }
}

impl Reservation {
    /// True if the parameter is in force for a CPU.
    pub fn holds(&self, cpu: u32) -> bool {
        self.in_force.as_ref().is_some_and(|cpus| cpus.contains(cpu))
    }

    /// What was ignored, if that concerns a CPU: it was requested, or no CPU at all is reserved.
    pub fn ignored_for(&self, cpu: u32) -> Option<&Ignored> {
        let ignored = self.ignored.as_ref()?;
        let none = self.in_force.as_ref().is_none_or(CpuSet::is_empty);
        (none || ignored.cpus.as_ref().is_some_and(|cpus| cpus.contains(cpu))).then_some(ignored)
    }
}

impl Serialize for CpuSet {
    /// As a list: `1-2,4`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The value of a parameter of the kernel's command line, the first if there are several.
pub(crate) fn parameter(tree: &Tree, name: &str) -> Option<String> {
    let line = tree.line("/proc/cmdline")?;
    // What follows `--` is for init.
    let mut words = line.split_whitespace().take_while(|word| *word != "--");
    words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
}

/// CPUs of a list as the kernel's parameters take it: also `all`, and `N` for the last CPU.
pub(crate) fn list(tree: &Tree, text: &str) -> Option<CpuSet> {
    let possible = possible(tree);
    if text == "all" {
        return Some(possible);
    }
    let last = possible.iter().next_back().map_or_else(String::new, |cpu| cpu.to_string());
    text.replace('N', &last).parse().ok()
}

/// CPUs that the machine may have.
fn possible(tree: &Tree) -> CpuSet {
    let file = |name: &str| tree.value(&format!("{CPUS}/{name}"));
    file("possible").or_else(|| file("online")).unwrap_or_default()
}

/// The value of `isolcpus`: flags, such as `domain,managed_irq`, and a list behind them.
fn flags_and_list(value: &str) -> (Vec<&str>, String) {
    let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic() && c != 'N') && *part != "all";
    let flags: Vec<&str> = value.split(',').take_while(is_flag).collect();
    let rest: Vec<&str> = value.split(',').skip(flags.len()).collect();
    (flags, rest.join(","))
}

/// The three parameters, in the order of [`BootParameter`].
pub fn reservations(tree: &Tree) -> [Reservation; 3] {
    let isolcpus = parameter(tree, "isolcpus");
    let flagged = isolcpus.as_deref().map(flags_and_list);
    let mut isolation = Reservation {
        parameter: BootParameter::Isolcpus,
        cpus: flagged.as_ref().and_then(|(_, text)| list(tree, text)),
        requested: isolcpus.as_ref().map(|value| format!("isolcpus={value}")),
        in_force: tree.exists(&format!("{CPUS}/isolated")).then(|| isolated(tree)),
        ignored: None,
    };
    isolation.ignored = ignored(tree, &isolation);

    let requested = parameter(tree, "nohz_full");
    let mut cpus = requested.as_deref().and_then(|text| list(tree, text));
    let by_flag = flagged.as_ref().filter(|(flags, _)| flags.contains(&"nohz"));
    if let Some(more) = by_flag.and_then(|(_, text)| list(tree, text)) {
        cpus = Some(cpus.unwrap_or_default().iter().chain(more.iter()).collect());
    }
    let mut tickless = Reservation {
        parameter: BootParameter::NohzFull,
        requested: requested
            .map(|value| format!("nohz_full={value}"))
            .or_else(|| by_flag.and(isolcpus.as_ref()).map(|value| format!("isolcpus={value}"))),
        cpus,
        in_force: tree.exists(&format!("{CPUS}/online")).then(|| nohz_full(tree).unwrap_or_default()),
        ignored: None,
    };
    tickless.ignored = ignored(tree, &tickless);

    let requested = parameter(tree, "rcu_nocbs");
    let cpus = requested.as_deref().and_then(|text| list(tree, text));
    let wanted: CpuSet =
        [cpus.as_ref(), tickless.in_force.as_ref()].into_iter().flatten().flat_map(CpuSet::iter).collect();
    let mut callbacks = Reservation {
        parameter: BootParameter::RcuNocbs,
        in_force: offloaded(tree, &wanted),
        requested: requested.map(|value| format!("rcu_nocbs={value}")),
        cpus,
        ignored: None,
    };
    callbacks.ignored = ignored(tree, &callbacks);
    [isolation, tickless, callbacks]
}

/// CPUs without a tick; `None` for a kernel without `CONFIG_NO_HZ_FULL`, which has no such file.
fn nohz_full(tree: &Tree) -> Option<CpuSet> {
    let file = format!("{CPUS}/nohz_full");
    // It reads `(null)` where nothing is set.
    tree.exists(&file).then(|| tree.value(&file).unwrap_or_default())
}

/// CPUs whose RCU callbacks run elsewhere; `None` if neither the kernel's log nor its threads can be seen.
///
/// `wanted`: those for which it was requested. `nohz_full` implies it for its CPUs:
/// Documentation/admin-guide/kernel-parameters.txt.
fn offloaded(tree: &Tree, wanted: &CpuSet) -> Option<CpuSet> {
    if wanted.is_empty() {
        return Some(CpuSet::default());
    }
    let logged = log::messages(tree).into_iter().find_map(|message| {
        let list = message.split_once("Offload RCU callbacks from CPUs: ")?.1.trim_end_matches('.').to_owned();
        Some(list.parse().unwrap_or_default())
    });
    // The threads alone do not tell which CPUs: since Linux 5.17 there is one for each CPU, offloaded or not.
    logged.or_else(|| Some(tasks::offloading(tree)?.within(wanted)))
}

/// The part of a request that is not in force, and why.
fn ignored(tree: &Tree, reservation: &Reservation) -> Option<Ignored> {
    let Reservation { parameter, requested, cpus, in_force, .. } = reservation;
    let (_, value) = requested.as_deref()?.split_once('=')?;
    let in_force = in_force.as_ref()?;
    let missing = cpus.as_ref().map(|cpus| cpus.without(in_force));
    match &missing {
        Some(missing) if missing.is_empty() => return None,
        // A list in a notation that is not known here, and some CPUs are reserved: it may be all of them.
        None if !in_force.is_empty() => return None,
        _ => {}
    }
    let possible = possible(tree);
    let logged = |text: &str| log::messages(tree).iter().any(|message| message.contains(text));
    let no_domain = || *parameter == BootParameter::Isolcpus && !has_domain(&flags_and_list(value).0);
    let reason = match () {
        () if !parameter.is_built(tree) => Some(IgnoredReason::NotBuilt { option: parameter.option() }),
        () if no_domain() => Some(IgnoredReason::NoDomainFlag),
        () if cpus.as_ref().is_some_and(|cpus| !cpus.without(&possible).is_empty()) => {
            Some(IgnoredReason::NoSuchCpu { possible })
        }
        // kernel/sched/isolation.c, housekeeping_setup.
        () if *parameter != BootParameter::RcuNocbs && logged("nohz_full= must match isolcpus=") => {
            Some(IgnoredReason::Conflict)
        }
        () if *parameter != BootParameter::RcuNocbs
            && missing.as_ref().is_some_and(|missing| missing.len() == 1 && missing.contains(0)) =>
        {
            Some(IgnoredReason::BootCpu)
        }
        () if cpus.is_none() || logged("nohz_full= or isolcpus= incorrect CPU range") => Some(IgnoredReason::List),
        () => None,
    };
    Some(Ignored { cpus: missing, reason })
}

/// Without any flag that the kernel knows, `isolcpus` means `domain`.
fn has_domain(flags: &[&str]) -> bool {
    flags.contains(&"domain") || !flags.iter().any(|flag| ["nohz", "managed_irq"].contains(flag))
}

/// True if the kernel's command line keeps the tick on all CPUs.
pub(crate) fn is_nohz_off(tree: &Tree) -> bool {
    parameter(tree, "nohz").is_some_and(|value| ["off", "0", "n", "N"].contains(&&*value))
}

/// True if the kernel's log says that its clock is unstable: then a CPU may need its tick to keep the time.
pub(crate) fn is_clock_unstable(tree: &Tree) -> bool {
    let says = |message: &String| {
        ["Marking TSC unstable", "sched_clock: Marking unstable", "will not work with unstable sched clock"]
            .iter()
            .any(|text| message.contains(text))
    };
    log::messages(tree).iter().any(says)
}

/// The isolated CPUs among those on which a process may run, if these are several and all of them are isolated: the scheduler
/// does not balance there, so all its threads stay on the CPU on which they start.
pub fn unbalanced(tree: &Tree, allowed: &CpuSet) -> Option<CpuSet> {
    let isolated = isolated(tree);
    (allowed.len() > 1 && allowed.without(&isolated).is_empty()).then(|| allowed.clone())
}

#[cfg(test)]
mod tests;
