//! `prony machine` on directories that imitate machines: the real command, killed wherever it can be.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use prony_testing::scratch::Scratch;
use prony_testing::{CommandOutput, trees};

const SIGKILL: i32 = 9;

/// A machine that is a directory.
struct Machine {
    scratch: Scratch,
    before: BTreeMap<String, String>,
}

impl Machine {
    fn new(files: &str) -> Machine {
        let scratch = Scratch::new("machine");
        trees::unpack(files, scratch.path());
        let before = files_of(scratch.path());
        Machine { scratch, before }
    }

    /// Runs a verb of `prony machine` on it.
    fn run(&self, verb: &str, arguments: &[&str]) -> CommandOutput {
        self.scratch.prony(&[&["machine", verb, "--root", &self.scratch.path().to_string_lossy()], arguments].concat())
    }

    /// From now on, `prony` is killed before its `step`th change.
    fn die_at(&self, step: u32) {
        self.scratch.write("imitation/die_at", step.to_string());
    }

    fn live_on(&self) {
        fs::remove_file(self.scratch.file("imitation/die_at")).expect("it was told to die");
    }

    fn is_as_before(&self) -> bool {
        files_of(self.scratch.path()) == self.before
    }

    fn is_tuned(&self) -> bool {
        self.scratch.file("run/prony/machine.undo").exists()
    }

    /// What the command said, with this directory's name taken out.
    fn said(&self, verb: &str, arguments: &[&str]) -> String {
        let answer = self.run(verb, arguments);
        let code = answer.code.expect("it ended by itself");
        let text = answer.stdout + &answer.stderr;
        format!("{}\nexit code {code}\n", text.replace(&*self.scratch.path().to_string_lossy(), "DIR"))
    }
}

/// Every file of the machine, without those of prony and of the test.
fn files_of(directory: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut todo: Vec<_> = ["proc", "sys", "dev"].map(|name| directory.join(name)).to_vec();
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("files of a machine are text");
                files.insert(path.to_string_lossy().into_owned(), text);
            }
        }
    }
    files
}

fn is_killed(answer: &CommandOutput) -> bool {
    answer.signal == Some(SIGKILL)
}

#[test]
fn tune_killed_at_any_step_and_restored_leaves_every_byte() {
    for files in [trees::AMD, trees::VIRTUAL] {
        let machine = Machine::new(files);
        let mut step = 1;
        loop {
            machine.die_at(step);
            let answer = machine.run("tune", &["--cpu", "1"]);
            machine.live_on();
            let killed = is_killed(&answer);
            assert!(killed || answer.code == Some(0), "step {step}: {answer:?}");
            let answer = machine.run("restore", &[]);
            assert!(answer.code == Some(0), "step {step}: {answer:?}");
            assert!(machine.is_as_before(), "step {step}: {answer:?}");
            assert!(!machine.is_tuned(), "step {step}");
            if !killed {
                break;
            }
            step += 1;
        }
        // Three steps for each of 6 changed values: undo file, its rename, the value.
        assert!(step > 18, "{step}");
    }
}

#[test]
fn restore_killed_at_any_step_is_finished_by_the_next() {
    let machine = Machine::new(trees::INTEL);
    let mut step = 1;
    loop {
        assert!(machine.run("tune", &["--cpu", "3"]).code == Some(0));
        assert!(machine.is_tuned() && !machine.is_as_before());
        machine.die_at(step);
        let killed = is_killed(&machine.run("restore", &[]));
        machine.live_on();
        let answer = machine.run("restore", &[]);
        assert!(answer.code == Some(0), "step {step}: {answer:?}");
        assert!(machine.is_as_before(), "step {step}");
        if !killed {
            break;
        }
        step += 1;
    }
    assert!(step > 30, "{step}");
}

#[test]
fn a_priority_is_for_a_command_and_leaves_the_machine_as_it_was() {
    let machine = Machine::new(trees::INTEL);
    // On an imitated machine the command runs as it is.
    let answer = machine.run("tune", &["--cpu", "3", "--fifo", "--", "echo", "ran"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), "ran\n"), "{answer:?}");
    assert!(!machine.is_tuned());
    let without = machine.run("tune", &["--cpu", "3", "--fifo"]);
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(machine.is_as_before(), "{without:?}");
}

#[test]
fn the_next_tune_finishes_a_killed_one_first() {
    let machine = Machine::new(trees::INTEL);
    machine.die_at(40);
    assert!(is_killed(&machine.run("tune", &["--cpu", "3"])));
    machine.live_on();
    assert!(!machine.is_as_before());
    let answer = machine.run("tune", &["--cpu", "2", "--", "true"]);
    assert!(answer.code == Some(0), "{answer:?}");
    assert!(machine.is_as_before(), "{answer:?}");
    assert!(!machine.is_tuned());
}

#[test]
fn a_command_runs_on_a_quiet_machine_and_leaves_it_as_before() {
    let machine = Machine::new(trees::INTEL);
    let governor = machine.scratch.file("sys/devices/system/cpu/cpufreq/policy3/scaling_governor");
    let governor = governor.to_string_lossy();
    let answer = machine.run("tune", &["--cpu", "3", "--", "sh", "-c", &format!("cat {governor}; exit 7")]);
    assert_eq!(answer.stdout, "performance\n");
    assert_eq!(answer.code, Some(7), "{answer:?}");
    assert!(machine.is_as_before());
}

#[test]
fn a_signal_reaches_the_command_and_all_is_put_back() {
    let machine = Machine::new(trees::VIRTUAL);
    // The command ends its parent as `kill` does, and then waits for the signal to come back to it.
    let script = "trap 'exit 5' TERM; kill $PPID; while :; do :; done";
    let answer = machine.run("tune", &["--cpu", "1", "--", "sh", "-c", script]);
    assert_eq!(answer.code, Some(5), "{answer:?}");
    assert!(machine.is_as_before(), "{answer:?}");
}

#[test]
fn what_is_said_reads_well() {
    for (name, files) in [("intel", trees::INTEL), ("amd", trees::AMD), ("virtual", trees::VIRTUAL)] {
        let machine = Machine::new(files);
        insta::assert_snapshot!(format!("{name}_show"), machine.said("show", &[]));
        insta::assert_snapshot!(format!("{name}_check"), machine.said("check", &[]));
        insta::assert_snapshot!(format!("{name}_tune"), machine.said("tune", &[]));
        insta::assert_snapshot!(format!("{name}_restore"), machine.said("restore", &[]));
        insta::assert_snapshot!(format!("{name}_run"), machine.said("tune", &["--", "echo", "measured"]));
    }
}

#[test]
fn reserved_cpus_read_well() {
    let machine = Machine::new(trees::RESERVED);
    insta::assert_snapshot!("reserved_check", machine.said("check", &[]));
    machine.scratch.write("proc/cmdline", "isolcpus=managed_irq,1 nohz_full=2 rcu_nocbs=1");
    machine.scratch.write("sys/devices/system/cpu/isolated", "\n");
    machine.scratch.write("sys/devices/system/cpu/nohz_full", "(null)\n");
    machine.scratch.write("dev/kmsg", "");
    insta::assert_snapshot!("ignored_check", machine.said("check", &["--cpu", "0-1"]));
}

#[test]
fn several_cpus_that_are_isolated_at_boot_are_warned_of() {
    let machine = Machine::new(trees::INTEL);
    let warning = "warning: CPU 2-3 are isolated at boot (isolcpus)";
    assert!(!machine.said("tune", &["--cpu", "2-3", "--", "true"]).contains(warning));
    machine.scratch.write("sys/devices/system/cpu/isolated", "2-3\n");
    let said = machine.said("tune", &["--cpu", "2-3", "--", "true"]);
    assert!(said.contains(warning), "{said}");
    let said = machine.said("tune", &["--cpu", "3", "--", "true"]);
    assert!(!said.contains("warning: CPU"), "{said}");
}

#[test]
fn what_went_wrong_reads_well() {
    let machine = Machine::new(trees::VIRTUAL);
    let mut said = machine.said("restore", &[]);
    said += &machine.said("check", &["--cpu", "7"]);
    said += &machine.said("tune", &["--", "./nothing-of-this-name"]);
    let place = |name: &str| machine.scratch.file(name);
    machine.said("tune", &[]);
    fs::write(place("proc/sys/vm/stat_interval"), "7\n").expect("a scratch directory takes it");
    fs::remove_file(place("proc/irq/24/smp_affinity_list")).expect("it is there");
    said += &machine.said("restore", &[]);
    fs::write(place("run/prony/machine.undo"), "{").expect("a scratch directory takes it");
    said += &machine.said("restore", &[]);
    fs::write(place("run/prony/machine.undo"), "{\"version\": 9}").expect("a scratch directory takes it");
    said += &machine.said("tune", &[]);
    insta::assert_snapshot!(said);
}

#[test]
fn answers_in_json_are_whole() {
    let machine = Machine::new(trees::INTEL);
    let json = |verb: &str, arguments: &[&str]| {
        let answer = machine.run(verb, arguments);
        answer.json()
    };
    let facts = json("show", &["--json"]);
    assert_eq!((&facts["cpu"]["cores"], &facts["frequency"]["turbo"]), (&2.into(), &true.into()));
    let check = json("check", &["--json"]);
    let disturbing: Vec<_> =
        check["findings"].as_array().expect("a list").iter().filter(|finding| finding["state"] == "disturbs").collect();
    assert!(disturbing.iter().all(|finding| finding["next_step"].is_string()), "{disturbing:?}");
    assert!(disturbing.iter().any(|finding| finding["name"] == "governor"), "{disturbing:?}");
    let several = json("check", &["--json", "--cpu", "1-2,3"]);
    let cpus: Vec<_> =
        several.as_array().expect("one check for each CPU").iter().map(|check| check["cpu"].clone()).collect();
    assert_eq!(cpus, [1, 2, 3]);
    let tuned = json("tune", &["--json"]);
    assert_eq!(tuned["shield"]["raised"], true);
    assert_eq!(json("restore", &["--json"])["undo"], "applied");
    assert_eq!(json("restore", &["--json"])["undo"], "nothing");
}

#[test]
fn a_frequency_that_no_cpu_has_is_refused_before_anything_is_changed() {
    let machine = Machine::new(trees::INTEL);
    let answer = machine.run("tune", &["--frequency", "4.2GHz"]);
    assert_eq!(answer.code, Some(2));
    assert!(
        answer.stderr.contains("cannot set the frequency to 4.20 GHz: expected 400 MHz to 3.90 GHz"),
        "{}",
        answer.stderr
    );
    assert!(machine.is_as_before());
    let answer = Machine::new(trees::VIRTUAL).run("tune", &["--frequency", "1600MHz"]);
    assert!(answer.code == Some(2) && answer.stderr.contains("this machine has no cpufreq"), "{}", answer.stderr);
    assert_eq!(machine.run("tune", &["--frequency", "fast"]).code, Some(2));
}
