//! Sources of interference, each with its evidence, measured now.

mod look;
mod settings;
mod traffic;

use std::time::Duration;

use serde::Serialize;

use crate::Tree;
use crate::facts::{isolated, online};
use look::Window;

/// Below this share nothing is called a disturbance: it is the difference that a comparison is
/// asked to tell unless it is asked for another.
const NOTICEABLE: f64 = 0.01;

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
    /// Tasks wait for memory.
    MemoryPressure,
    /// Tasks wait for disks.
    IoPressure,
    /// The clock frequency moves.
    Frequency,
    /// Turbo depends on heat and neighbours.
    Turbo,
    /// The governor follows the load.
    Governor,
    /// The processor was too hot.
    Throttling,
    /// Another thread runs on the same core.
    SmtSibling,
    /// Devices interrupt the CPU.
    Interrupts,
    /// The timer of the scheduler.
    Ticks,
    /// Profilers interrupt the CPU.
    PerfSampling,
    /// The CPU sleeps deeply when it has nothing to do.
    IdleStates,
    /// Huge pages come and go by themselves.
    HugePages,
    /// Addresses change from run to run.
    Aslr,
    /// Sleeps end late.
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
    /// Interference from this source.
    Disturbs,
    /// Unknown: this kernel does not report it.
    Unknown,
    /// Absent: this machine has no such source.
    #[serde(rename = "not-here")]
    Unsupported,
}

/// A disturbance and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Source of interference.
    pub name: Disturbance,
    /// State of the source.
    pub state: State,
    /// Evidence, with its unit.
    pub evidence: String,
    /// Evidence as a number.
    pub value: Option<f64>,
    /// Unit of the number.
    pub unit: Option<&'static str>,
}

/// Result of a check for one source of interference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The CPU of the benchmark.
    pub cpu: u32,
    /// Duration of the check, in seconds.
    pub window_s: f64,
    /// Every disturbance that is known.
    pub findings: Vec<Finding>,
    /// Missing parameters of the kernel command line that would reserve this CPU.
    pub boot: Vec<String>,
}

impl Check {
    /// Findings that are sources of interference.
    pub fn disturbing(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.state == State::Disturbs)
    }
}

impl Finding {
    fn new(name: Disturbance, state: State, evidence: impl Into<String>) -> Finding {
        Finding { name, state, evidence: evidence.into(), value: None, unit: None }
    }

    fn measured(self, value: f64, unit: &'static str) -> Finding {
        Finding { value: Some(value), unit: Some(unit), ..self }
    }
}

/// The CPU on which a benchmark is best run: the first isolated one, else the last, for what the
/// machine does itself gathers on the first.
pub fn bench_cpu(tree: &Tree) -> u32 {
    let online = online(tree);
    let cpu = isolated(tree).within(&online).iter().next();
    cpu.or_else(|| online.iter().next_back()).unwrap_or(0)
}

/// Looks for so long at what disturbs a measurement on `cpu`; a thread spins there meanwhile, for
/// steal and waits show only where somebody wants the CPU.
pub fn check(tree: &Tree, cpu: u32, window: Duration) -> Check {
    let window = Window::look(tree, cpu, window);
    let mut findings = traffic::findings(&window);
    findings.extend(settings::findings(tree, cpu, &window));
    Check { cpu, window_s: window.elapsed_s, findings, boot: settings::boot(tree, cpu) }
}
