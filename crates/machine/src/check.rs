//! Sources of interference, each with its evidence, measured now.

mod finding;
mod look;
mod reserved;
mod settings;
mod traffic;

use std::time::Duration;

use serde::Serialize;

use crate::Tree;
use crate::facts::{isolated, online};
use crate::isolation::{Reservation, Tasks, reservations, tasks};
use look::Window;

pub use finding::{Cause, Disturbance, Finding, State, TickCause};

/// Result of a check for one source of interference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The CPU of the benchmark.
    pub cpu: u32,
    /// Duration of the check, in seconds.
    pub window_s: f64,
    /// Every disturbance that is known.
    pub findings: Vec<Finding>,
    /// Parameters of the kernel command line that reserve CPUs: requested, in force, ignored.
    pub reservations: [Reservation; 3],
    /// Threads that may run on this CPU.
    pub tasks: Tasks,
    /// Missing parameters of the kernel command line that would reserve this CPU.
    pub boot: Vec<String>,
}

impl Check {
    /// Findings that are sources of interference, and remedies that the kernel ignored.
    pub fn disturbing(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| matches!(finding.state, State::Disturbs | State::Ignored))
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
/// steal and waits show only where a task wants the CPU.
pub fn check(tree: &Tree, cpu: u32, window: Duration) -> Check {
    let window = Window::look(tree, cpu, window);
    let reservations = reservations(tree);
    let tasks = tasks(tree, cpu);
    let mut findings = traffic::findings(&window);
    findings.extend(settings::findings(tree, cpu));
    findings.extend(reserved::findings(tree, &window, &reservations, tasks));
    let boot = reserved::boot(tree, cpu, &reservations);
    Check { cpu, window_s: window.elapsed_s, findings, reservations, tasks, boot }
}
