//! Settings that `tune` changes, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The process that is stopped: it moves interrupts.
pub(crate) const IRQBALANCE: &str = "irqbalance";

/// Setting that makes a machine quieter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// Autogroups off: `nice` counts between login sessions.
    Autogroup,
    /// Sampling by perf at its lowest rate.
    PerfSampling,
    /// No page faults for the sake of NUMA.
    NumaBalancing,
    /// No watchdog on a hardware counter.
    NmiWatchdog,
    /// Kernel counters are gathered rarely.
    VmStat,
    /// Huge pages only where a program requests them.
    HugePages,
    /// Kernel work that is bound to no CPU stays off the benchmark's.
    Workqueues,
    /// The governor that requests the highest frequency.
    Governor,
    /// No turbo, which depends on heat and neighbours.
    Turbo,
    /// Limits that leave one frequency.
    Frequency,
    /// Idle states with a long wake-up are disabled.
    Idle,
    /// Nothing moves interrupts while they are kept away.
    Irqbalance,
    /// Interrupts go to other CPUs.
    Interrupts,
    /// The other thread of the core is off.
    Smt,
    /// Processes run on other CPUs.
    Shield,
    /// Huge pages that are reserved for programs that ask for them. `tune` leaves it alone; a device model needs some.
    HugePagePool,
}

impl Knob {
    /// Every knob that `tune` turns, in the order in which they are turned.
    pub const ALL: [Knob; 15] = [
        Knob::Autogroup,
        Knob::PerfSampling,
        Knob::NumaBalancing,
        Knob::NmiWatchdog,
        Knob::VmStat,
        Knob::HugePages,
        Knob::Workqueues,
        Knob::Governor,
        Knob::Turbo,
        Knob::Frequency,
        Knob::Idle,
        Knob::Irqbalance,
        Knob::Interrupts,
        Knob::Smt,
        Knob::Shield,
    ];

    /// Name of the knob in options and output.
    pub fn name(self) -> &'static str {
        match self {
            Knob::Autogroup => "autogroup",
            Knob::PerfSampling => "perf-sampling",
            Knob::NumaBalancing => "numa-balancing",
            Knob::NmiWatchdog => "nmi-watchdog",
            Knob::VmStat => "vm-stat",
            Knob::HugePages => "huge-pages",
            Knob::Workqueues => "workqueues",
            Knob::Governor => "governor",
            Knob::Turbo => "turbo",
            Knob::Frequency => "frequency",
            Knob::Idle => "idle",
            Knob::Irqbalance => "irqbalance",
            Knob::Interrupts => "interrupts",
            Knob::Smt => "smt",
            Knob::Shield => "shield",
            Knob::HugePagePool => "huge-page-pool",
        }
    }

    /// The knob of that name.
    pub fn from_name(name: &str) -> Option<Knob> {
        Knob::ALL.into_iter().find(|knob| knob.name() == name)
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
