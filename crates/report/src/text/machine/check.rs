//! `prony machine check` in the terminal.

use std::fmt::Write;

use prony_machine::{Cause, Check, Disturbance, Finding, IgnoredReason, State, TickCause};
use prony_text::{count, significant};

/// Interference on a CPU, for people.
pub fn text(check: &Check) -> String {
    let disturbing = check.disturbing().count() as u64;
    let verdict = match disturbing {
        0 => "no interference found".to_owned(),
        1 => "1 source of interference".to_owned(),
        several => format!("{several} sources of interference"),
    };
    let mut out = format!("CPU {}: {verdict}, after {} s\n", check.cpu, significant(check.window_s));
    let states = [
        (State::Disturbs, "disturbs"),
        (State::Ignored, "ignored"),
        (State::Good, "good"),
        (State::Unknown, "unknown"),
        (State::Unsupported, "not here"),
    ];
    for (state, word) in states {
        for finding in check.findings.iter().filter(|finding| finding.state == state) {
            let _ = writeln!(out, "  {word:<10}{:<17}{}", name(finding.name), finding.evidence);
            if let Some(step) = next_step(finding) {
                let _ = writeln!(out, "  {:<27}→ {step}", "");
            }
        }
    }
    if !check.boot.is_empty() {
        let what = count(check.boot.len() as u64, "parameter");
        let _ = writeln!(out, "\n{what} for the kernel command line reserve CPU {} from boot:", check.cpu);
        let _ = writeln!(out, "  {}", check.boot.join(" "));
    }
    out
}

fn name(disturbance: Disturbance) -> &'static str {
    match disturbance {
        Disturbance::Steal => "steal",
        Disturbance::QueueWait => "run-queue wait",
        Disturbance::CpuPressure => "CPU pressure",
        Disturbance::MemoryPressure => "memory pressure",
        Disturbance::IoPressure => "I/O pressure",
        Disturbance::CpuQuota => "CPU quota",
        Disturbance::MemoryLimit => "memory limit",
        Disturbance::Frequency => "frequency",
        Disturbance::Turbo => "turbo",
        Disturbance::Governor => "governor",
        Disturbance::Throttling => "throttling",
        Disturbance::SmtSibling => "SMT sibling",
        Disturbance::Interrupts => "interrupts",
        Disturbance::Ticks => "ticks",
        Disturbance::Ipis => "IPIs",
        Disturbance::PerfSampling => "perf sampling",
        Disturbance::IdleStates => "sleep",
        Disturbance::HugePages => "huge pages",
        Disturbance::Aslr => "ASLR",
        Disturbance::TimerSlack => "timer slack",
        Disturbance::ClockSource => "clock",
        Disturbance::IsolatedCpus => "isolcpus",
        Disturbance::NohzFull => "nohz_full",
        Disturbance::RcuCallbacks => "rcu_nocbs",
    }
}

/// Remedy for a source of interference.
pub fn next_step(finding: &Finding) -> Option<&'static str> {
    if let Some(cause) = &finding.cause {
        return Some(of_cause(cause));
    }
    if finding.state != State::Disturbs {
        return None;
    }
    Some(match finding.name {
        Disturbance::Steal => {
            "cannot be changed inside the guest: compare in pairs, as `prony bench` does, or rent the whole core"
        }
        Disturbance::QueueWait => "shield the CPU with `prony machine tune -- COMMAND`, or stop what runs on it",
        Disturbance::CpuPressure => "stop other work, or shield a CPU with `prony machine tune -- COMMAND`",
        Disturbance::MemoryPressure => "free some memory",
        Disturbance::IoPressure => "wait until the disk is idle, or keep the benchmark's files in memory",
        Disturbance::CpuQuota => {
            "raise or remove it: docker --cpus, limits.cpu of Kubernetes, CPUQuota= of systemd; or judge by CPU time"
        }
        Disturbance::MemoryLimit => "raise it: docker --memory, limits.memory of Kubernetes, MemoryMax= of systemd",
        Disturbance::Frequency | Disturbance::Governor => "`prony machine tune` sets the governor and the limits",
        Disturbance::Turbo => "`prony machine tune` switches it off",
        Disturbance::Throttling => "improve the cooling, or lower the frequency limit",
        Disturbance::SmtSibling => "`prony machine tune` takes the sibling offline",
        Disturbance::Interrupts => "`prony machine tune` sends them to other CPUs",
        Disturbance::PerfSampling => "stop the profiler, or use `prony machine tune`",
        Disturbance::IdleStates => "`prony machine tune` disables deep idle states",
        Disturbance::HugePages => "`prony machine tune` leaves them to programs that request them",
        Disturbance::Aslr => "`sysctl kernel.randomize_va_space=2`, and measure over many runs",
        Disturbance::TimerSlack => "start it from a shell with the default timer slack",
        Disturbance::ClockSource => "if the TSC is sound, boot with clocksource=tsc tsc=reliable",
        Disturbance::IsolatedCpus => "measure on an isolated CPU: --cpu N",
        // These are listed, and disturb with a cause or not at all.
        Disturbance::NohzFull | Disturbance::Ticks | Disturbance::Ipis | Disturbance::RcuCallbacks => return None,
    })
}

/// Remedy for a cause that CPUs reserved at boot can have.
fn of_cause(cause: &Cause) -> &'static str {
    match cause {
        Cause::Ignored(IgnoredReason::NotBuilt { .. }) => {
            "boot a kernel that is built with it, or shield the CPU with `prony machine tune -- COMMAND`"
        }
        Cause::Ignored(IgnoredReason::NoSuchCpu { .. }) => "boot with a list of CPUs that the machine has",
        Cause::Ignored(IgnoredReason::NoDomainFlag) => {
            "boot with the flag domain as well: isolcpus=domain,managed_irq,LIST"
        }
        Cause::Ignored(IgnoredReason::Conflict) => "boot with the same list for both, or with nohz_full= alone",
        Cause::Ignored(IgnoredReason::BootCpu) => "measure on another CPU: --cpu N",
        Cause::Ignored(IgnoredReason::List) => "boot with a list such as 1-2,4",
        Cause::Tick(TickCause::NohzOff) => "boot without nohz=off",
        Cause::Tick(TickCause::OtherTasks) => {
            "boot with isolcpus= for the same CPUs, or use `prony machine tune -- COMMAND`"
        }
        Cause::Tick(TickCause::UnstableClock) => {
            "boot with tsc=reliable if the TSC is sound; a guest depends on its hypervisor"
        }
        Cause::Tick(TickCause::Unknown) => "stop profilers and programs with timers on this CPU",
        Cause::GovernorNeedsTick => "`prony machine tune` sets the governor `performance`; or boot without nohz_full=",
    }
}
