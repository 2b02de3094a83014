//! Activity measured between two looks.

use super::finding::{Disturbance, Finding, NOTICEABLE, State};
use super::look::Window;
use crate::contention::steal_share;

/// Devices that interrupt less often than this reach a run of 100 ms once at most.
const INTERRUPTS_PER_S: f64 = 10.0;

/// `CONFIG_HZ` is 100 at least; a CPU without a tick still gets one a second.
pub(super) const TICKS_PER_S: f64 = 10.0;

pub(super) fn findings(window: &Window) -> Vec<Finding> {
    let [cpu_before, memory_before, io_before] = window.before.pressure_us;
    let [cpu_after, memory_after, io_after] = window.after.pressure_us;
    let pressure = |name, what, before, after| pressure(window, (name, what), before, after);
    let cpu = pressure(Disturbance::CpuPressure, "a task of the machine waited for a CPU", cpu_before, cpu_after);
    let memory = pressure(Disturbance::MemoryPressure, "a task waited for memory", memory_before, memory_after);
    let io = pressure(Disturbance::IoPressure, "a task waited for a disk", io_before, io_after);
    vec![
        steal(window),
        queue_wait(window),
        cpu,
        memory,
        io,
        cpu_quota(window),
        frequency(window),
        throttling(window),
        smt_sibling(window),
        interrupts(window),
        ticks(window),
        ipis(window),
        perf_sampling(window),
    ]
}

/// The quota of a control group: while it is used up, everything in the group stands still until its next period.
fn cpu_quota(window: &Window) -> Finding {
    let name = Disturbance::CpuQuota;
    let Some(quota) = window.after.quota else { return Finding::new(name, State::Unsupported, "no CPU quota") };
    let seen = window.before.quota.map_or(quota, |before| quota.since(before));
    let (cpus, period_ms) = (quota.cpus, quota.period_s * 1e3);
    if seen.throttled > 0 {
        let evidence = format!(
            "{cpus:.2} CPUs: stopped in {} of {} periods of {period_ms:.0} ms, for {:.2} s of {:.2} s",
            seen.throttled, seen.periods, seen.stopped_s, window.elapsed_s
        );
        return Finding::new(name, State::Disturbs, evidence).measured(cpus, "CPUs");
    }
    let (state, what) = match cpus < 1.0 {
        true => (State::Disturbs, format!("what computes is stopped in each period of {period_ms:.0} ms")),
        false => (State::Good, "not used up".to_owned()),
    };
    Finding::new(name, state, format!("{cpus:.2} CPUs: {what}")).measured(cpus, "CPUs")
}

/// A share as a finding: it disturbs from [`NOTICEABLE`] on.
fn share(name: Disturbance, share: f64, what: &str) -> Finding {
    let state = if share >= NOTICEABLE { State::Disturbs } else { State::Good };
    Finding::new(name, state, format!("{} of the time {what}", percent(share))).measured(share * 100.0, "%")
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn unknown(name: Disturbance, evidence: &str) -> Finding {
    Finding::new(name, State::Unknown, evidence)
}

fn steal(window: &Window) -> Finding {
    let looks = window.before.times(window.cpu).zip(window.after.times(window.cpu));
    match looks.and_then(|(before, after)| steal_share(before, after)) {
        Some(steal) => share(Disturbance::Steal, steal, "the hypervisor ran other guests on this CPU"),
        None => unknown(Disturbance::Steal, "no tick of this CPU was counted in /proc/stat"),
    }
}

fn queue_wait(window: &Window) -> Finding {
    let name = Disturbance::QueueWait;
    if let Some(wait) = window.wait {
        return share(name, wait.share, "a thread on this CPU waited for it");
    }
    let grown = window.after.queue_wait_ns.zip(window.before.queue_wait_ns);
    match grown.and_then(|(after, before)| after.checked_sub(before)) {
        Some(wait_ns) => share(name, wait_ns as f64 / 1e9 / window.elapsed_s, "tasks waited for this CPU"),
        None => unknown(name, "no thread may run on this CPU, and there is no /proc/schedstat"),
    }
}

/// Time for which tasks waited for a resource, `before` and `after` the window, in microseconds.
fn pressure(
    window: &Window,
    (name, what): (Disturbance, &'static str),
    before: Option<u64>,
    after: Option<u64>,
) -> Finding {
    match after.zip(before).and_then(|(after, before)| after.checked_sub(before)) {
        Some(stalled_us) => share(name, stalled_us as f64 / 1e6 / window.elapsed_s, what),
        None => unknown(name, "no /proc/pressure: this kernel has no PSI, or psi=1 is missing on its command line"),
    }
}

fn frequency(window: &Window) -> Finding {
    let name = Disturbance::Frequency;
    let (Some(&low), Some(&high)) = (window.khz.iter().min(), window.khz.iter().max()) else {
        return unknown(name, "no scaling_cur_freq: not visible in a guest");
    };
    let range = (high - low) as f64 / high.max(1) as f64;
    let state = if range >= NOTICEABLE { State::Disturbs } else { State::Good };
    let evidence =
        format!("{} to {} MHz, a range of {}, {} looks", low / 1000, high / 1000, percent(range), window.khz.len());
    Finding::new(name, state, evidence).measured(range * 100.0, "%")
}

fn throttling(window: &Window) -> Finding {
    let name = Disturbance::Throttling;
    let (Some(before), Some(after)) = (window.before.throttled, window.after.throttled) else {
        return Finding::new(name, State::Unsupported, "no thermal_throttle");
    };
    let count = after.saturating_sub(before);
    let state = if count > 0 { State::Disturbs } else { State::Good };
    Finding::new(name, state, format!("{count} times now, {after} since boot")).measured(count as f64, "times")
}

fn smt_sibling(window: &Window) -> Finding {
    let name = Disturbance::SmtSibling;
    if window.siblings.is_empty() {
        return Finding::new(name, State::Unsupported, "no other online CPU shares its core");
    }
    let busy = |cpu| {
        let (before, after) = window.before.times(cpu).zip(window.after.times(cpu))?;
        let total = after.total.checked_sub(before.total).filter(|&total| total > 0)?;
        Some(1.0 - after.idle.checked_sub(before.idle)? as f64 / total as f64)
    };
    match window.siblings.iter().filter_map(busy).reduce(f64::max) {
        Some(busy) => share(name, busy, &format!("the core was shared with CPU {}", window.siblings)),
        None => unknown(name, "no tick of its sibling was counted in /proc/stat"),
    }
}

fn interrupts(window: &Window) -> Finding {
    let all = window.interrupts();
    let mut devices: Vec<_> =
        all.iter().filter(|line| line.count > 0 && line.name.bytes().all(|digit| digit.is_ascii_digit())).collect();
    devices.sort_by_key(|line| std::cmp::Reverse(line.count));
    let rate = devices.iter().map(|line| line.count).sum::<u64>() as f64 / window.elapsed_s;
    let state = if rate >= INTERRUPTS_PER_S { State::Disturbs } else { State::Good };
    let most = devices.first().map_or_else(String::new, |line| {
        let device = line.what.split_whitespace().next_back().unwrap_or_default();
        format!(", most from {device} (IRQ {})", line.name)
    });
    Finding::new(Disturbance::Interrupts, state, format!("{rate:.0} /s from devices on this CPU{most}"))
        .measured(rate, "/s")
}

/// The rate of one of the processor's own interrupts, by its name on x86.
fn rate(window: &Window, name: &str) -> Option<f64> {
    let line = window.interrupts().into_iter().find(|line| line.name == name)?;
    Some(line.count as f64 / window.elapsed_s)
}

/// Timer interrupts for each second in which the thread spun: on a busy machine the window ends later than the thread, and a CPU
/// that idles has no tick anyway.
pub(super) fn ticks_while_busy(window: &Window) -> Option<f64> {
    let busy_s = window.wait.map_or(window.elapsed_s, |wait| wait.window_s);
    rate(window, "LOC").map(|rate| rate * window.elapsed_s / busy_s)
}

fn ticks(window: &Window) -> Finding {
    match rate(window, "LOC") {
        Some(rate) => {
            // A tick costs 1 to 5 µs, some 0.1 % at 250 Hz, the same in all runs: reported, and never a disturbance.
            let word = if rate < TICKS_PER_S { "the tick is off" } else { "the scheduler's tick and timers" };
            Finding::new(Disturbance::Ticks, State::Good, format!("{rate:.0} /s, {word}")).measured(rate, "/s")
        }
        None => unknown(Disturbance::Ticks, "no line LOC in /proc/interrupts"),
    }
}

/// Interrupts from other CPUs; arch/x86/kernel/irq.c names them. A program with several threads causes most of its own.
fn ipis(window: &Window) -> Finding {
    let name = Disturbance::Ipis;
    let kinds = [("CAL", "function calls"), ("RES", "rescheduling"), ("TLB", "TLB shootdowns"), ("IWI", "IRQ work")];
    let mut rates: Vec<(f64, &str)> =
        kinds.into_iter().filter_map(|(line, what)| Some((rate(window, line)?, what))).collect();
    if rates.is_empty() {
        return unknown(name, "no line CAL in /proc/interrupts");
    }
    rates.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = rates.iter().map(|(rate, _)| rate).sum();
    let most = rates
        .first()
        .filter(|(rate, _)| *rate > 0.0)
        .map_or_else(String::new, |(_, what)| format!(", most for {what}"));
    Finding::new(name, State::Good, format!("{all:.0} /s from other CPUs{most}")).measured(all, "/s")
}

fn perf_sampling(window: &Window) -> Finding {
    match rate(window, "PMI") {
        Some(rate) => {
            let state = if rate > 0.0 { State::Disturbs } else { State::Good };
            Finding::new(Disturbance::PerfSampling, state, format!("{rate:.0} /s samples taken on this CPU"))
                .measured(rate, "/s")
        }
        None => unknown(Disturbance::PerfSampling, "no line PMI in /proc/interrupts"),
    }
}
