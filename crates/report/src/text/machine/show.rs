//! `prony machine show` in the terminal.

use std::fmt::Write;

use prony_machine::{Facts, Frequency};
use prony_text::count;

/// Facts about the machine, for people.
pub fn text(facts: &Facts) -> String {
    let cpu = &facts.cpu;
    let or_empty = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut out = or_empty(&facts.host) + "\n";
    let threads = if cpu.online.is_empty() { String::new() } else { format!(", CPU {} online", cpu.online) };
    line(&mut out, "processor", cpu.model.as_deref().unwrap_or("unknown"));
    line(
        &mut out,
        "",
        format!("{}, {}{threads}", count(cpu.sockets as u64, "socket"), count(cpu.cores as u64, "core")),
    );
    line(&mut out, "microcode", or_empty(&cpu.microcode));
    line(&mut out, "isolated", &cpu.isolated);
    line(&mut out, "SMT", or_empty(&cpu.smt));
    for cache in &cpu.caches {
        let shared = if cache.shared_by.is_empty() { String::new() } else { format!(", CPU {}", cache.shared_by) };
        line(
            &mut out,
            "cache",
            format!("L{} {}, {}{shared}", cache.level, cache.kind.to_lowercase(), binary(cache.size_bytes)),
        );
    }
    for node in &facts.nodes {
        let memory = node.memory_bytes.map_or_else(String::new, |bytes| format!(", {}", binary(bytes)));
        line(&mut out, "NUMA node", format!("{}: CPU {}{memory}", node.node, node.cpus));
    }
    let swap = match facts.swap_bytes {
        None => "",
        Some(0) => ", no swap",
        Some(_) => ", with swap",
    };
    line(&mut out, "memory", facts.memory_bytes.map_or_else(String::new, |bytes| binary(bytes) + swap));
    line(&mut out, "kernel", format!("{} {}", or_empty(&facts.kernel.release), or_empty(&facts.kernel.version)).trim());
    line(&mut out, "", or_empty(&facts.kernel.command_line));
    line(&mut out, "runs on", facts.hypervisor.as_deref().unwrap_or("bare metal, as far as can be detected"));
    line(&mut out, "frequency", frequency(&facts.frequency));
    let states: Vec<_> =
        facts.idle.states.iter().map(|state| format!("{} {} µs", state.name, state.exit_latency_us)).collect();
    let idle = [or_empty(&facts.idle.driver), or_empty(&facts.idle.governor), states.join(", ")];
    line(&mut out, "sleep", idle.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "));
    line(&mut out, "clock", or_empty(&facts.clock_source));
    let settings = &facts.settings;
    for (name, value) in [
        ("kernel.randomize_va_space", &settings.randomize_va_space),
        ("transparent huge pages", &settings.transparent_hugepage),
        ("their defrag", &settings.transparent_hugepage_defrag),
        ("kernel.sched_autogroup_enabled", &settings.sched_autogroup_enabled),
        ("kernel.numa_balancing", &settings.numa_balancing),
        ("kernel.perf_event_paranoid", &settings.perf_event_paranoid),
        ("kernel.perf_event_max_sample_rate", &settings.perf_event_max_sample_rate),
        ("kernel.nmi_watchdog", &settings.nmi_watchdog),
        ("vm.stat_interval", &settings.vm_stat_interval),
        ("vm.swappiness", &settings.swappiness),
    ] {
        if let Some(value) = value {
            line(&mut out, "setting", format!("{name} {value}"));
        }
    }
    for (name, state) in facts.mitigations.iter().filter(|(_, state)| *state != "Not affected") {
        line(&mut out, "weakness", format!("{name}: {state}"));
    }
    if facts.tuned {
        let _ = writeln!(out, "  tuned: `prony machine restore` undoes it");
    }
    out
}

fn frequency(frequency: &Frequency) -> String {
    let mhz = |khz: u64| format!("{} MHz", khz / 1000);
    let governors: Vec<_> = frequency
        .governors
        .iter()
        .map(|(name, policies)| match policies {
            1 => name.clone(),
            several => format!("{name} ({several}×)"),
        })
        .collect();
    let limits = frequency.limit_min_khz.zip(frequency.limit_max_khz);
    let turbo = frequency.turbo.map(|turbo| if turbo { "turbo on" } else { "turbo off" }.to_owned());
    let parts = [
        frequency.driver.clone(),
        (!governors.is_empty()).then(|| governors.join(", ")),
        limits.map(|(low, high)| format!("limits {} to {}", mhz(low), mhz(high))),
        frequency.base_khz.map(|base| format!("base {}", mhz(base))),
        turbo,
        frequency.energy_preference.clone(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `32 KiB`, as memory and caches are built.
fn binary(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

/// Adds a line `name  value`, unless there is no value.
fn line(out: &mut String, name: &str, value: impl AsRef<str>) {
    if !value.as_ref().is_empty() {
        let _ = writeln!(out, "  {name:<14}{}", value.as_ref());
    }
}
