//! What command lines request, and what kernels made of it: files of guests that booted with them (`scripts/guest`).

use tempfile::TempDir;

use super::*;

/// A machine of these files.
fn machine(files: &[(&str, &str)]) -> (TempDir, Tree) {
    let directory = tempfile::tempdir().expect("a scratch directory");
    for (path, text) in files {
        let place = directory.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().expect("a directory")).expect("a scratch directory takes it");
        std::fs::write(place, text).expect("a scratch directory takes it");
    }
    let tree = Tree::at(directory.path());
    (directory, tree)
}

/// A kernel that can do all three, on a machine with two CPUs.
fn booted(line: &str, isolated: &str, nohz_full: &str, log: &str) -> (TempDir, Tree) {
    machine(&[
        ("/proc/cmdline", line),
        ("/proc/sys/kernel/osrelease", "6.1.0\n"),
        ("/boot/config-6.1.0", "CONFIG_CPU_ISOLATION=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\n"),
        ("/sys/devices/system/cpu/online", "0-1\n"),
        ("/sys/devices/system/cpu/possible", "0-1\n"),
        ("/sys/devices/system/cpu/isolated", isolated),
        ("/sys/devices/system/cpu/nohz_full", nohz_full),
        ("/dev/kmsg", log),
    ])
}

fn cpus(text: &str) -> CpuSet {
    text.parse().expect("a list")
}

#[test]
fn what_is_requested_and_in_force_is_not_ignored() {
    let log = "6,91,0,-;NO_HZ: Full dynticks CPUs: 1.\n6,92,0,-;rcu: \\x09Offload RCU callbacks from CPUs: 1.\n";
    let (_directory, tree) =
        booted("quiet isolcpus=domain,managed_irq,1 nohz_full=1 rcu_nocbs=1 -- isolcpus=0", "1\n", "1\n", log);
    let all = reservations(&tree);
    assert!(all.iter().all(|one| one.holds(1) && !one.holds(0) && one.ignored.is_none()), "{all:?}");
}

#[test]
fn nohz_full_takes_the_callbacks_away_too() {
    let log = "6,92,0,-;rcu: \\x09Offload RCU callbacks from CPUs: 1.\n";
    let (_directory, tree) = booted("nohz_full=1", "\n", "1\n", log);
    let [isolation, tickless, callbacks] = reservations(&tree);
    assert_eq!((isolation.requested, isolation.ignored), (None, None));
    assert!(tickless.holds(1) && callbacks.holds(1) && callbacks.requested.is_none());
}

#[test]
fn an_ignored_parameter_has_its_reason() {
    let range = "4,79,0,-;Housekeeping: nohz_full= or isolcpus= incorrect CPU range\n";
    let conflict = "4,79,0,-;Housekeeping: nohz_full= must match isolcpus=\n";
    let possible = || Some(IgnoredReason::NoSuchCpu { possible: cpus("0-1") });
    // Command line, isolated, nohz_full, log; then the parameter, the CPUs without it, and the reason.
    let cases = [
        (("isolcpus=5", "\n", "(null)\n", range), (0, Some(cpus("5")), possible())),
        (("nohz_full=5", "\n", "(null)\n", range), (1, Some(cpus("5")), possible())),
        (("isolcpus=managed_irq,1", "\n", "(null)\n", ""), (0, Some(cpus("1")), Some(IgnoredReason::NoDomainFlag))),
        (
            ("isolcpus=nohz,domain,1 nohz_full=0", "1\n", "1\n", conflict),
            (1, Some(cpus("0")), Some(IgnoredReason::Conflict)),
        ),
        (("nohz_full=0-1", "\n", "1\n", ""), (1, Some(cpus("0")), Some(IgnoredReason::BootCpu))),
        (("nohz_full=abc", "\n", "(null)\n", range), (1, None, Some(IgnoredReason::List))),
        (("isolcpus=1", "\n", "(null)\n", ""), (0, Some(cpus("1")), None)),
    ];
    for ((line, isolated, nohz_full, log), (place, missing, reason)) in cases {
        let (_directory, tree) = booted(line, isolated, nohz_full, log);
        let found = reservations(&tree).get(place).and_then(|one| one.ignored.clone());
        assert_eq!(found, Some(Ignored { cpus: missing, reason }), "{line}");
    }
}

#[test]
fn an_unknown_flag_is_passed_over_as_the_kernel_does() {
    let (_directory, tree) =
        booted("isolcpus=foo,1", "1\n", "(null)\n", "6,79,0,-;isolcpus: Skipped unknown flag foo\n");
    let [isolation, ..] = reservations(&tree);
    assert!(isolation.holds(1) && isolation.ignored.is_none(), "{isolation:?}");
}

#[test]
fn a_kernel_without_the_option_ignores_the_parameter() {
    let (directory, tree) = booted("nohz_full=1 rcu_nocbs=1 isolcpus=1", "\n", "", "");
    std::fs::remove_file(directory.path().join("sys/devices/system/cpu/nohz_full")).expect("it is there");
    std::fs::write(directory.path().join("boot/config-6.1.0"), "# CONFIG_CPU_ISOLATION is not set\n")
        .expect("it is there");
    // Threads of the kernel can be seen, and none offloads callbacks.
    std::fs::create_dir_all(directory.path().join("proc/2")).expect("a scratch directory takes it");
    std::fs::write(directory.path().join("proc/2/comm"), "kthreadd\n").expect("a scratch directory takes it");
    let options = reservations(&tree).map(|one| one.ignored.and_then(|ignored| ignored.reason));
    let not_built = |option| Some(IgnoredReason::NotBuilt { option });
    assert_eq!(
        options,
        [not_built("CONFIG_CPU_ISOLATION"), not_built("CONFIG_NO_HZ_FULL"), not_built("CONFIG_RCU_NOCB_CPU")]
    );
}

#[test]
fn a_packed_configuration_is_read() {
    use std::io::Write;
    let (directory, tree) = booted("nohz_full=1", "\n", "1\n", "");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"CONFIG_NO_HZ_FULL=y\n# CONFIG_RCU_NOCB_CPU is not set\n").expect("memory takes it");
    std::fs::write(directory.path().join("proc/config.gz"), packed.finish().expect("memory takes it"))
        .expect("a scratch directory takes it");
    let option = |name| build::option(&tree, name);
    assert_eq!([option("CONFIG_NO_HZ_FULL"), option("CONFIG_RCU_NOCB_CPU")], [Some(true), Some(false)]);
    std::fs::write(directory.path().join("proc/config.gz"), "no gzip").expect("it is there");
    assert_eq!(option("CONFIG_RCU_NOCB_CPU"), Some(true));
}

#[test]
fn callbacks_are_unknown_where_neither_log_nor_threads_of_the_kernel_can_be_seen() {
    let (directory, tree) = booted("rcu_nocbs=1", "\n", "(null)\n", "");
    let [.., callbacks] = reservations(&tree);
    assert_eq!((callbacks.in_force, callbacks.ignored), (None, None));
    for (pid, name) in [("2", "kthreadd"), ("17", "rcuop/0"), ("26", "rcuop/1")] {
        std::fs::create_dir_all(directory.path().join("proc").join(pid)).expect("a scratch directory takes it");
        std::fs::write(directory.path().join("proc").join(pid).join("comm"), name)
            .expect("a scratch directory takes it");
    }
    let [.., callbacks] = reservations(&tree);
    assert_eq!(callbacks.in_force, Some(cpus("1")));
}

#[test]
fn lists_are_those_of_the_kernel() {
    let (_directory, tree) = booted("", "\n", "(null)\n", "");
    let read = |text| list(&tree, text).map(|cpus| cpus.to_string());
    assert_eq!(
        ["all", "N", "1-N", "1-2,4", "1:2"].map(read),
        [Some("0-1".to_owned()), Some("1".to_owned()), Some("1".to_owned()), Some("1-2,4".to_owned()), None]
    );
    assert_eq!(flags_and_list("domain,managed_irq,1-2,4"), (vec!["domain", "managed_irq"], "1-2,4".to_owned()));
}

#[test]
fn threads_of_programs_and_of_the_kernel_are_counted_apart() {
    let kernel = "Name:\tmigration/1\nCpus_allowed_list:\t1\n";
    let (_directory, tree) = machine(&[
        ("/proc/1/task/1/status", "Name:\tinit\nVmSize:\t    2260 kB\nCpus_allowed_list:\t0\n"),
        ("/proc/9/task/9/status", "Name:\tserver\nVmSize:\t    2260 kB\nCpus_allowed_list:\t0-1\n"),
        ("/proc/10/task/10/status", "Name:\tmm_percpu_wq\nCpus_allowed_list:\t0-1\n"),
        ("/proc/22/task/22/status", kernel),
    ]);
    let expected = Tasks { programs: 2, programs_allowed: 1, kernel_allowed: 2, kernel_bound: 1 };
    assert_eq!(tasks(&tree, 1), expected);
}

#[test]
fn several_isolated_cpus_are_not_balanced() {
    let (_directory, tree) = machine(&[("/sys/devices/system/cpu/isolated", "1-2,4\n")]);
    let unbalanced = |text| unbalanced(&tree, &cpus(text)).map(|cpus| cpus.to_string());
    assert_eq!(
        ["1-2", "1-2,4", "1", "0-2", "0,3"].map(unbalanced),
        [Some("1-2".to_owned()), Some("1-2,4".to_owned()), None, None, None]
    );
}
