//! A source of interference, and its evidence.

use serde::Serialize;

use crate::isolation::IgnoredReason;

/// Below this share nothing is called a disturbance: it is the default margin of a comparison.
pub(super) const NOTICEABLE: f64 = 0.01;

/// Source of interference with measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// The hypervisor gives the CPU to others.
    Steal,
    /// Others run on the CPU.
    QueueWait,
    /// Tasks of the machine wait for CPUs.
    CpuPressure,
    /// Tasks of the machine wait for memory.
    MemoryPressure,
    /// Tasks of the machine wait for disks.
    IoPressure,
    /// A CPU quota of a control group stops its processes.
    CpuQuota,
    /// A control group may have no more memory than this.
    MemoryLimit,
    /// The clock frequency of the CPU varies.
    Frequency,
    /// Turbo depends on heat and neighbours.
    Turbo,
    /// The governor follows the load.
    Governor,
    /// The processor was too hot.
    Throttling,
    /// Another thread runs on the same core.
    SmtSibling,
    /// Interrupts of devices arrive on the CPU.
    Interrupts,
    /// The timer of the scheduler.
    Ticks,
    /// Other CPUs interrupt this one, to have something done on it.
    Ipis,
    /// A profiler samples on the CPU by interrupts.
    PerfSampling,
    /// The CPU sleeps deeply when it has nothing to do.
    IdleStates,
    /// Huge pages come and go by themselves.
    HugePages,
    /// Addresses change from run to run.
    Aslr,
    /// Sleeps last longer than requested.
    TimerSlack,
    /// Cost of reading the clock.
    ClockSource,
    /// CPUs kept from the scheduler.
    IsolatedCpus,
    /// CPUs without a tick, and a governor that needs it.
    NohzFull,
    /// Callbacks of the kernel run elsewhere.
    RcuCallbacks,
}

/// State of a source of interference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No interference from this source.
    Good,
    /// The source interferes with measurements.
    Disturbs,
    /// The kernel ignored a parameter of its command line that was to remove the source.
    Ignored,
    /// Unknown: this kernel does not report it.
    Unknown,
    /// Absent: this machine has no such source.
    #[serde(rename = "not-here")]
    Unsupported,
}

/// A disturbance and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Source of interference that was examined.
    pub name: Disturbance,
    /// State of the source: good, disturbing or unknown.
    pub state: State,
    /// Evidence in words, with its unit.
    pub evidence: String,
    /// Evidence as a number, where there is one.
    pub value: Option<f64>,
    /// Unit of `value`, where it has one.
    pub unit: Option<&'static str>,
    /// Cause, where there are several and each has a remedy of its own.
    pub cause: Option<Cause>,
}

/// Causes of findings that reserved CPUs can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The kernel ignored the parameter.
    Ignored(IgnoredReason),
    /// A CPU has its tick although `nohz_full` is in force.
    Tick(TickCause),
    /// The governor chooses the next frequency in the tick, which this CPU does not have.
    GovernorNeedsTick,
}

/// Reasons for a tick on a CPU with `nohz_full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TickCause {
    /// The command line has `nohz=off`.
    NohzOff,
    /// Other tasks were ready on the CPU: the tick stops for a single one.
    OtherTasks,
    /// The kernel's log says that its clock is unstable.
    UnstableClock,
    /// None of these: a POSIX timer of CPU time or an event of perf on this CPU, for example.
    Unknown,
}

impl Finding {
    pub(super) fn new(name: Disturbance, state: State, evidence: impl Into<String>) -> Finding {
        Finding { name, state, evidence: evidence.into(), value: None, unit: None, cause: None }
    }

    pub(super) fn caused(self, cause: Cause) -> Finding {
        Finding { cause: Some(cause), ..self }
    }

    pub(super) fn measured(self, value: f64, unit: &'static str) -> Finding {
        Finding { value: Some(value), unit: Some(unit), ..self }
    }
}
