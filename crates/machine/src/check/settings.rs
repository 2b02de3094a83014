//! Settings of the machine that cause interference.

use super::finding::{Disturbance, Finding, State};
use crate::Tree;
use crate::control_limits;
use crate::facts::{CPUFREQ, chosen, facts, policy_of, turbo};

/// A sleep that takes this long to wake from shows in the first of each round of work; C1E takes 10 µs.
const DEEP_US: u64 = 10;

/// The slack that every thread starts with, include/linux/init_task.h.
const SLACK_NS: u64 = 50_000;

pub(super) fn findings(tree: &Tree, cpu: u32) -> Vec<Finding> {
    vec![
        governor(tree, cpu),
        turbo_finding(tree),
        idle_states(tree, cpu),
        huge_pages(tree),
        aslr(tree),
        timer_slack(tree),
        clock_source(tree),
        memory_limit(tree),
    ]
}

/// The governor of a CPU.
pub(super) fn governor_of(tree: &Tree, cpu: u32) -> Option<String> {
    tree.line(&format!("{}/scaling_governor", policy_of(tree, cpu)?))
}

/// `performance` and `userspace` hold a frequency; all others follow the load.
pub(super) fn holds(governor: &str) -> bool {
    matches!(governor, "performance" | "userspace")
}

/// Finding about the frequency of a machine without cpufreq: a guest cannot know it.
fn without_cpufreq(tree: &Tree, name: Disturbance) -> Finding {
    match facts(tree).hypervisor {
        Some(_) => Finding::new(name, State::Unknown, "not visible in a guest"),
        None => Finding::new(name, State::Unsupported, format!("nothing in {CPUFREQ}")),
    }
}

fn governor(tree: &Tree, cpu: u32) -> Finding {
    let name = Disturbance::Governor;
    match governor_of(tree, cpu) {
        Some(governor) if holds(&governor) => Finding::new(name, State::Good, governor),
        Some(governor) => Finding::new(name, State::Disturbs, format!("{governor}: the frequency follows the load")),
        None => without_cpufreq(tree, name),
    }
}

fn turbo_finding(tree: &Tree) -> Finding {
    let name = Disturbance::Turbo;
    match turbo(tree) {
        Some(true) => Finding::new(name, State::Disturbs, "on: the frequency depends on heat and on busy neighbours"),
        Some(false) => Finding::new(name, State::Good, "off"),
        None => without_cpufreq(tree, name),
    }
}

fn idle_states(tree: &Tree, cpu: u32) -> Finding {
    let name = Disturbance::IdleStates;
    let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let state = |state: String| {
        let file = |name: &str| tree.line(&format!("{directory}/{state}/{name}"));
        let latency_us: u64 = file("latency")?.parse().ok()?;
        file("disable").is_none_or(|disable| disable == "0").then_some((latency_us, file("name")?))
    };
    match tree.names(&directory).into_iter().filter_map(state).max() {
        Some((latency_us, state)) => {
            let verdict = if latency_us >= DEEP_US { State::Disturbs } else { State::Good };
            let evidence = format!("the deepest idle state, {state}, takes {latency_us} µs to wake up");
            Finding::new(name, verdict, evidence).measured(latency_us as f64, "µs")
        }
        None => Finding::new(name, State::Unsupported, "no cpuidle states"),
    }
}

fn huge_pages(tree: &Tree) -> Finding {
    let name = Disturbance::HugePages;
    match tree.line("/sys/kernel/mm/transparent_hugepage/enabled") {
        Some(line) if chosen(&line) == "always" => {
            Finding::new(name, State::Disturbs, "always: the use of huge pages depends on which memory is free")
        }
        Some(line) => Finding::new(name, State::Good, chosen(&line)),
        None => Finding::new(name, State::Unsupported, "no transparent huge pages"),
    }
}

fn aslr(tree: &Tree) -> Finding {
    let name = Disturbance::Aslr;
    match tree.value::<u32>("/proc/sys/kernel/randomize_va_space") {
        // Mytkowicz et al., "Producing wrong data without doing anything obviously wrong", 2009: one layout is
        // one sample of many; what holds for it need not hold for the next build.
        Some(0) => Finding::new(
            name,
            State::Disturbs,
            "0: every run has the same layout, which may be a \
                                                        favourable or an unfavourable one",
        ),
        Some(level) => Finding::new(name, State::Good, format!("{level}: layouts differ and are averaged over runs")),
        None => Finding::new(name, State::Unknown, "no kernel.randomize_va_space"),
    }
}

fn timer_slack(tree: &Tree) -> Finding {
    let name = Disturbance::TimerSlack;
    match tree.value::<u64>("/proc/self/timerslack_ns") {
        Some(slack_ns) => {
            let state = if slack_ns > SLACK_NS { State::Disturbs } else { State::Good };
            let slack_us = slack_ns as f64 / 1e3;
            Finding::new(name, state, format!("sleeps end up to {slack_us:.0} µs late")).measured(slack_us, "µs")
        }
        None => Finding::new(name, State::Unknown, "no timerslack_ns"),
    }
}

fn clock_source(tree: &Tree) -> Finding {
    let name = Disturbance::ClockSource;
    match tree.line("/sys/devices/system/clocksource/clocksource0/current_clocksource") {
        // Those the vDSO reads without a system call.
        Some(clock) if ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"].contains(&&*clock) => {
            Finding::new(name, State::Good, format!("{clock}, read without a system call"))
        }
        Some(clock) => Finding::new(name, State::Disturbs, format!("{clock}: every clock read is a system call")),
        None => Finding::new(name, State::Unknown, "no current_clocksource"),
    }
}

/// Memory of which this share is used is about to be reclaimed, page cache first.
const NEARLY_FULL: f64 = 0.9;

fn memory_limit(tree: &Tree) -> Finding {
    let name = Disturbance::MemoryLimit;
    let Some(limit) = control_limits::memory_limit(tree) else {
        return Finding::new(name, State::Unsupported, "no limit of memory");
    };
    let [most, used] = [limit.limit_bytes, limit.used_bytes].map(|bytes| bytes as f64 / (1 << 20) as f64);
    let (state, what) = match used >= NEARLY_FULL * most {
        true => (State::Disturbs, ": the kernel takes pages back while runs wait"),
        false => (State::Good, ""),
    };
    Finding::new(name, state, format!("{used:.0} of {most:.0} MiB used{what}")).measured(most, "MiB")
}
