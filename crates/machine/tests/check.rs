//! Sources of interference on directories that imitate machines: CPUs reserved at boot.

use std::fs;
use std::path::Path;
use std::time::Duration;

use prony_machine::{Cause, Check, Disturbance, Finding, IgnoredReason, State, TickCause, Tree, check};
use prony_testing::trees;
use tempfile::TempDir;

/// A guest that booted with CPU 1 reserved, and files that differ from it.
fn reserved(changes: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a scratch directory");
    trees::unpack(trees::RESERVED, directory.path());
    for (path, text) in changes {
        let place = directory.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().expect("a directory")).expect("a scratch directory takes it");
        fs::write(place, text).expect("a scratch directory takes it");
    }
    directory
}

fn checked(directory: &Path) -> Check {
    check(&Tree::at(directory), 1, Duration::from_secs(1))
}

fn finding(check: &Check, name: Disturbance) -> Finding {
    check.findings.iter().find(|finding| finding.name == name).expect("each source has a finding").clone()
}

/// Interrupts of the timer after the window: those of CPU 1.
fn ticks(of_cpu_1: u32) -> String {
    format!("  CPU0  CPU1\nLOC:  2934  {of_cpu_1}  Local timer interrupts\n")
}

#[test]
fn a_cpu_that_was_reserved_at_boot_has_no_tick_and_no_program_but_the_measured_one() {
    let directory = reserved(&[]);
    let check = checked(directory.path());
    let found = [Disturbance::IsolatedCpus, Disturbance::NohzFull, Disturbance::RcuCallbacks, Disturbance::Ticks]
        .map(|name| finding(&check, name));
    assert!(found.iter().all(|finding| finding.state == State::Good && finding.cause.is_none()), "{found:?}");
    assert_eq!(finding(&check, Disturbance::Ticks).value, Some(1.0));
    assert_eq!((check.tasks.programs, check.tasks.programs_allowed), (1, 0));
    assert!(check.tasks.kernel_bound > 0 && check.tasks.kernel_bound < check.tasks.kernel_allowed, "{:?}", check.tasks);
    assert_eq!(check.boot, Vec::<String>::new());
}

#[test]
fn a_tick_that_goes_on_under_nohz_full_has_its_cause() {
    // 492 before the window.
    let later = ticks(492 + 119);
    for (line, log, cause) in [
        ("isolcpus=1 nohz_full=1 nohz=off", "", TickCause::NohzOff),
        (
            "isolcpus=1 nohz_full=1",
            "6,9,8,-;tsc: Marking TSC unstable due to clocksource watchdog\n",
            TickCause::UnstableClock,
        ),
        ("isolcpus=1 nohz_full=1", "", TickCause::Unknown),
    ] {
        let directory =
            reserved(&[("/proc/cmdline", line), ("/dev/kmsg", log), ("/imitation/later/proc/interrupts", &later)]);
        let found = finding(&checked(directory.path()), Disturbance::NohzFull);
        assert_eq!((found.state, found.value), (State::Disturbs, Some(119.0)), "{found:?}");
        assert_eq!(found.cause, Some(Cause::Tick(cause)));
    }
}

#[test]
fn a_parameter_that_the_kernel_ignored_is_a_finding() {
    let directory = reserved(&[
        ("/proc/cmdline", "isolcpus=5 nohz_full=1\n"),
        ("/sys/devices/system/cpu/isolated", "\n"),
        ("/sys/devices/system/cpu/nohz_full", "(null)\n"),
        ("/boot/config-6.1.0-56-cloud-amd64", "CONFIG_CPU_ISOLATION=y\n"),
    ]);
    let check = checked(directory.path());
    let isolation = finding(&check, Disturbance::IsolatedCpus);
    let possible = "0-1".parse().expect("a list");
    assert_eq!(
        (isolation.state, isolation.cause),
        (State::Ignored, Some(Cause::Ignored(IgnoredReason::NoSuchCpu { possible })))
    );
    let tickless = finding(&check, Disturbance::NohzFull);
    let option = "CONFIG_NO_HZ_FULL";
    assert_eq!(
        (tickless.state, tickless.cause),
        (State::Ignored, Some(Cause::Ignored(IgnoredReason::NotBuilt { option })))
    );
    assert_eq!(check.disturbing().filter(|finding| finding.state == State::Ignored).count(), 2);
    // Only what this kernel can do is proposed.
    assert_eq!(check.boot, ["isolcpus=domain,managed_irq,1", "irqaffinity=0"]);
}

#[test]
fn a_cpu_without_a_tick_needs_a_governor_without_one() {
    let governor = |driver: &str, governor: &str, more: &[(&str, &str)]| {
        let policy = |name: &str| format!("/sys/devices/system/cpu/cpufreq/policy0/{name}");
        let files = [
            (policy("affected_cpus"), "0 1\n".to_owned()),
            (policy("scaling_driver"), format!("{driver}\n")),
            (policy("scaling_governor"), format!("{governor}\n")),
            (policy("scaling_cur_freq"), "800000\n".to_owned()),
        ];
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (&**path, &**text)).chain(more.iter().copied()).collect();
        let directory = reserved(&files);
        finding(&checked(directory.path()), Disturbance::NohzFull)
    };
    // Active mode without HWP, passive mode, and another driver.
    for (driver, name) in [("intel_pstate", "powersave"), ("intel_cpufreq", "schedutil"), ("acpi-cpufreq", "ondemand")]
    {
        let found = governor(driver, name, &[]);
        assert_eq!((found.state, &found.cause), (State::Disturbs, &Some(Cause::GovernorNeedsTick)), "{driver} {name}");
        assert!(found.evidence.contains("800 to 800 MHz"), "{}", found.evidence);
    }
    let hardware = ("/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference", "balance_performance\n");
    for found in [governor("intel_pstate", "performance", &[]), governor("intel_pstate", "powersave", &[hardware])] {
        assert_eq!((found.state, &found.cause), (State::Good, &None), "{found:?}");
    }
    // With its tick, a CPU follows its governor.
    let found = governor(
        "intel_cpufreq",
        "schedutil",
        &[("/sys/devices/system/cpu/nohz_full", "(null)\n"), ("/proc/cmdline", "isolcpus=1\n")],
    );
    assert_eq!(found.state, State::Unsupported);
}
