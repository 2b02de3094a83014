//! Two looks at the counters of a machine, and what happened between them.

use std::time::{Duration, Instant};

use crate::contention::{CpuTimes, Wait, cpu_times, pressure_us, queue_wait_ns, wait_on};
use crate::control_limits::{Quota, cpu_quota};
use crate::facts::{CPUFREQ, online, policy_of, siblings};
use crate::{CpuSet, Tree};

/// Interval between readings of the frequency.
const FREQUENCY_EVERY: Duration = Duration::from_millis(20);

/// The counters at one moment.
#[derive(Debug)]
pub(super) struct Look {
    stat: String,
    interrupts: String,
    pub(super) pressure_us: [Option<u64>; 3],
    pub(super) queue_wait_ns: Option<u64>,
    pub(super) throttled: Option<u64>,
    pub(super) quota: Option<Quota>,
}

/// Difference between two readings of the counters.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) cpu: u32,
    pub(super) siblings: CpuSet,
    pub(super) elapsed_s: f64,
    pub(super) before: Look,
    pub(super) after: Look,
    /// Wait of the spinning thread; `None` on an imitated machine or a forbidden CPU.
    pub(super) wait: Option<Wait>,
    /// The frequencies that were seen, in kHz.
    pub(super) khz: Vec<u64>,
}

/// Growth of one line of `/proc/interrupts`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Interrupts {
    /// A number for devices, three letters for the processor's own.
    pub(super) name: String,
    /// Interrupt controller, pin and device, as the line has them.
    pub(super) what: String,
    pub(super) count: u64,
}

impl Look {
    fn now(tree: &Tree, cpu: u32) -> Look {
        let throttle = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
        let counts: Vec<u64> = ["core_throttle_count", "package_throttle_count"]
            .iter()
            .filter_map(|name| tree.value(&format!("{throttle}/{name}")))
            .collect();
        Look {
            stat: tree.read("/proc/stat").unwrap_or_default(),
            interrupts: tree.read("/proc/interrupts").unwrap_or_default(),
            pressure_us: ["cpu", "memory", "io"].map(|resource| pressure_us(tree, resource, "some")),
            queue_wait_ns: queue_wait_ns(tree, Some(cpu)),
            throttled: (!counts.is_empty()).then(|| counts.iter().sum()),
            quota: cpu_quota(tree),
        }
    }

    /// The times of a CPU.
    pub(super) fn times(&self, cpu: u32) -> Option<CpuTimes> {
        cpu_times(&self.stat, Some(cpu))
    }
}

impl Window {
    pub(super) fn look(tree: &Tree, cpu: u32, window: Duration) -> Window {
        let policy = policy_of(tree, cpu).unwrap_or_else(|| format!("{CPUFREQ}/policy{cpu}"));
        let file = format!("{policy}/scaling_cur_freq");
        let mut khz = Vec::new();
        khz.extend(tree.value::<u64>(&file));
        let before = Look::now(tree, cpu);
        let started = Instant::now();
        let mut wait = None;
        if tree.is_machine() {
            let spinner = std::thread::spawn(move || wait_on(cpu, window));
            while !spinner.is_finished() {
                std::thread::sleep(FREQUENCY_EVERY.min(window));
                khz.extend(tree.value::<u64>(&file));
            }
            // Without the thread nothing wanted the CPU; that is reported as not measured.
            wait = spinner.join().ok().flatten();
            // Where the thread could not spin, time must pass all the same.
            std::thread::sleep(window.saturating_sub(started.elapsed()));
        } else {
            tree.time_passed();
            khz.extend(tree.value::<u64>(&file));
        }
        let elapsed_s = if tree.is_machine() { started.elapsed() } else { window }.as_secs_f64();
        let after = Look::now(tree, cpu);
        let siblings = siblings(tree, cpu).within(&online(tree));
        Window { cpu, siblings, elapsed_s, before, after, wait, khz }
    }

    /// The interrupts that `cpu` got.
    pub(super) fn interrupts(&self) -> Vec<Interrupts> {
        let before = interrupts(&self.before.interrupts, self.cpu);
        let count_before = |name: &str| before.iter().find(|line| line.name == name).map_or(0, |line| line.count);
        let mut grown = interrupts(&self.after.interrupts, self.cpu);
        for line in &mut grown {
            line.count = line.count.saturating_sub(count_before(&line.name));
        }
        grown
    }
}

/// The column of a CPU in `/proc/interrupts`; CPUs that are off have none.
fn interrupts(text: &str, cpu: u32) -> Vec<Interrupts> {
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let Some(column) = heads.iter().position(|head| *head == format!("CPU{cpu}")) else { return Vec::new() };
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Interrupts {
            name: name.trim().to_owned(),
            what: fields.get(heads.len()..).unwrap_or_default().join(" "),
            // Some lines, as ERR, have one number for all CPUs.
            count: fields.get(column)?.parse().ok()?,
        })
    };
    lines.filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_those_of_the_column_of_a_cpu() {
        let text =
            "      CPU0  CPU2\n 24:  1  20 IO-APIC 5-edge ACPI:Ged\nLOC:  7  9 Local timer interrupts\nERR:  0\n";
        let names = |cpu| {
            let lines = interrupts(text, cpu).into_iter();
            lines.map(|line| (line.name, line.count, line.what)).collect::<Vec<_>>()
        };
        let timer = "Local timer interrupts".to_owned();
        assert_eq!(
            names(2),
            [("24".to_owned(), 20, "IO-APIC 5-edge ACPI:Ged".to_owned()), ("LOC".to_owned(), 9, timer)]
        );
        assert_eq!(names(1), []);
    }
}
