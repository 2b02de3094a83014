//! CPUs reserved at boot: whether the parameters are in force, and what they do on this machine.

use super::finding::{Cause, Disturbance, Finding, NOTICEABLE, State, TickCause};
use super::look::Window;
use super::settings::{governor_of, holds};
use super::traffic::{TICKS_PER_S, ticks_while_busy};
use crate::facts::{online, policy_of};
use crate::isolation::{Ignored, IgnoredReason, Reservation, Tasks, is_clock_unstable, is_nohz_off, list, parameter};
use crate::{CpuSet, Tree};

pub(super) fn findings(tree: &Tree, window: &Window, reservations: &[Reservation; 3], tasks: Tasks) -> Vec<Finding> {
    let [isolation, tickless, callbacks] = reservations;
    vec![
        isolated_cpus(isolation, window.cpu, tasks),
        nohz_full(tree, window, tickless),
        rcu_callbacks(callbacks, tickless, window.cpu),
    ]
}

/// CPUs as a list, for evidence.
fn cpus_of(reservation: &Reservation) -> String {
    reservation.in_force.as_ref().map_or_else(String::new, CpuSet::to_string)
}

/// Finding about a parameter that the kernel ignored for this CPU.
fn ignored(name: Disturbance, reservation: &Reservation, ignored: &Ignored) -> Finding {
    let request = reservation.requested.as_deref().unwrap_or_default();
    let none = reservation.in_force.as_ref().is_none_or(CpuSet::is_empty);
    let found = if none { "no CPU".to_owned() } else { format!("CPU {} only", cpus_of(reservation)) };
    let reason = match &ignored.reason {
        Some(IgnoredReason::NotBuilt { option }) => format!("the kernel is built without {option}"),
        Some(IgnoredReason::NoSuchCpu { possible }) => format!("the machine has CPU {possible}"),
        Some(IgnoredReason::NoDomainFlag) => "its flags lack domain, so the scheduler still uses the CPU".to_owned(),
        Some(IgnoredReason::Conflict) => "nohz_full and isolcpus=nohz name different CPUs".to_owned(),
        Some(IgnoredReason::BootCpu) => "CPU 0 keeps the time and the work of the kernel".to_owned(),
        Some(IgnoredReason::List) => "the kernel could not read the list".to_owned(),
        None => "no reason in the kernel's log and configuration, as far as they can be read".to_owned(),
    };
    let finding = Finding::new(name, State::Ignored, format!("{request}, in force for {found}: {reason}"));
    match &ignored.reason {
        Some(reason) => finding.caused(Cause::Ignored(reason.clone())),
        None => finding,
    }
}

fn isolated_cpus(isolation: &Reservation, cpu: u32, tasks: Tasks) -> Finding {
    let name = Disturbance::IsolatedCpus;
    if let Some(part) = isolation.ignored_for(cpu) {
        return ignored(name, isolation, part);
    }
    let Tasks { programs, programs_allowed, kernel_allowed, kernel_bound } = tasks;
    let kernel = match kernel_allowed {
        // A container shows none of them.
        0 => String::new(),
        _ => format!(", and {kernel_allowed} of the kernel, {kernel_bound} of them only there"),
    };
    let threads = match programs {
        0 => String::new(),
        _ => format!(": {programs_allowed} of {programs} threads of programs may run on CPU {cpu}{kernel}"),
    };
    let cpus = cpus_of(isolation);
    match (isolation.holds(cpu), cpus.is_empty()) {
        (true, _) => Finding::new(name, State::Good, format!("CPU {cpus}{threads}")),
        (false, true) => Finding::new(name, State::Unsupported, format!("no CPU is isolated{threads}")),
        (false, false) => {
            Finding::new(name, State::Disturbs, format!("CPU {cpus}, but not the measured CPU {cpu}{threads}"))
        }
    }
}

/// True if the processor chooses its frequency by its own counters: intel_pstate with HWP and amd-pstate-epp have this file
/// then.
fn is_autonomous(tree: &Tree, cpu: u32) -> bool {
    policy_of(tree, cpu).is_some_and(|policy| tree.exists(&format!("{policy}/energy_performance_preference")))
}

/// Two traps: a tick that does not stop, and governors that choose the next frequency in the tick. A CPU without one keeps
/// the frequency it had, or follows other CPUs of its policy; drivers/cpufreq/intel_pstate.c, `intel_pstate_set_policy`, takes
/// the callback away for `performance` alone, because it may not be invoked on such CPUs.
fn nohz_full(tree: &Tree, window: &Window, tickless: &Reservation) -> Finding {
    let name = Disturbance::NohzFull;
    let cpu = window.cpu;
    if let Some(part) = tickless.ignored_for(cpu) {
        return ignored(name, tickless, part);
    }
    if !tickless.holds(cpu) {
        return Finding::new(name, State::Unsupported, format!("CPU {cpu} has its tick"));
    }
    let cpus = cpus_of(tickless);
    let ticks = ticks_while_busy(window);
    if let Some(ticks) = ticks.filter(|&ticks| ticks >= TICKS_PER_S) {
        let (cause, why) = match () {
            () if is_nohz_off(tree) => (TickCause::NohzOff, "nohz=off is on the command line"),
            () if window.wait.is_some_and(|wait| wait.share >= NOTICEABLE) => {
                (TickCause::OtherTasks, "other tasks were ready, and the tick stops for a single one only")
            }
            () if is_clock_unstable(tree) => {
                (TickCause::UnstableClock, "according to the kernel's log its clock is unstable")
            }
            () => (TickCause::Unknown, "a timer of CPU time or an event of perf keeps it, for example"),
        };
        let evidence =
            format!("CPU {cpus}, but timer interrupts at {ticks:.0} /s while one thread ran on CPU {cpu}: {why}");
        return Finding::new(name, State::Disturbs, evidence).measured(ticks, "/s").caused(Cause::Tick(cause));
    }
    let stopped = match ticks {
        Some(ticks) => format!("timer interrupts at {ticks:.0} /s while one thread ran on CPU {cpu}"),
        None => "timer interrupts are not counted here".to_owned(),
    };
    let frequency = match governor_of(tree, cpu) {
        Some(_) if is_autonomous(tree, cpu) => ", the processor chooses its frequency itself".to_owned(),
        Some(governor) if holds(&governor) => format!(", governor {governor} needs no tick"),
        Some(governor) => {
            let seen = match (window.khz.iter().min(), window.khz.iter().max()) {
                (Some(low), Some(high)) => format!(": it was {} to {} MHz", low / 1000, high / 1000),
                _ => String::new(),
            };
            let evidence = format!(
                "CPU {cpus} without a tick, and governor {governor} updates the frequency in the tick{seen} while a thread ran"
            );
            return Finding::new(name, State::Disturbs, evidence).caused(Cause::GovernorNeedsTick);
        }
        None => String::new(),
    };
    Finding::new(name, State::Good, format!("CPU {cpus}: {stopped}{frequency}"))
}

fn rcu_callbacks(callbacks: &Reservation, tickless: &Reservation, cpu: u32) -> Finding {
    let name = Disturbance::RcuCallbacks;
    if let Some(part) = callbacks.ignored_for(cpu) {
        return ignored(name, callbacks, part);
    }
    if callbacks.holds(cpu) {
        return Finding::new(name, State::Good, format!("callbacks of CPU {cpu} run elsewhere"));
    }
    let is_requested = tickless.holds(cpu) || callbacks.cpus.as_ref().is_some_and(|cpus| cpus.contains(cpu));
    if is_requested && callbacks.in_force.is_none() {
        let evidence = "requested; neither the kernel's log nor its threads rcuop can be read here";
        return Finding::new(name, State::Unknown, evidence);
    }
    Finding::new(name, State::Unsupported, format!("callbacks of CPU {cpu} run on it"))
}

/// Missing parameters of the command line that this kernel knows; none if no CPU would be left for others.
pub(super) fn boot(tree: &Tree, cpu: u32, reservations: &[Reservation; 3]) -> Vec<String> {
    let [isolation, tickless, callbacks] = reservations;
    let others = online(tree).without(&CpuSet::from_iter([cpu]));
    if others.is_empty() {
        return Vec::new();
    }
    let is_lacking = |reservation: &Reservation, value: String| {
        let in_force = reservation.holds(cpu);
        (!in_force && reservation.parameter.is_built(tree)).then(|| format!("{}={value}", reservation.parameter.name()))
    };
    let mut lacking = Vec::new();
    lacking.extend(is_lacking(isolation, format!("domain,managed_irq,{cpu}")));
    lacking.extend(is_lacking(tickless, cpu.to_string()));
    // nohz_full offloads the callbacks of its CPUs as well. Where that cannot be seen, the request counts.
    let is_requested = tickless.holds(cpu) || callbacks.cpus.as_ref().is_some_and(|cpus| cpus.contains(cpu));
    if callbacks.in_force.is_some() || !is_requested {
        lacking.extend(is_lacking(callbacks, cpu.to_string()));
    }
    if parameter(tree, "irqaffinity").and_then(|text| list(tree, &text)).is_none_or(|cpus| cpus.contains(cpu)) {
        lacking.push(format!("irqaffinity={others}"));
    }
    lacking
}
