//! `prony machine` on directories that imitate machines: the real command, killed wherever it can be.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;

use prony_testing::trees;
use tempfile::TempDir;

const SIGKILL: i32 = 9;

/// A machine that is a directory.
struct Machine {
    directory: TempDir,
    before: BTreeMap<String, String>,
}

impl Machine {
    fn new(files: &str) -> Machine {
        let directory = tempfile::tempdir().expect("a scratch directory");
        trees::unpack(files, directory.path());
        let before = files_of(directory.path());
        Machine { directory, before }
    }

    fn prony(&self, verb: &str, arguments: &[&str]) -> Output {
        let mut command = prony_testing::prony();
        command.args(["machine", verb, "--root"]).arg(self.directory.path()).args(arguments);
        command.output().expect("the command is built")
    }

    /// From now on, `prony` is killed before its `step`th change.
    fn die_at(&self, step: u32) {
        let place = self.directory.path().join("imitation/die_at");
        fs::create_dir_all(place.parent().expect("a file is in a directory")).expect("a scratch directory takes it");
        fs::write(place, step.to_string()).expect("a scratch directory takes it");
    }

    fn live_on(&self) {
        fs::remove_file(self.directory.path().join("imitation/die_at")).expect("it was told to die");
    }

    fn is_as_before(&self) -> bool {
        files_of(self.directory.path()) == self.before
    }

    fn is_tuned(&self) -> bool {
        self.directory.path().join("run/prony/machine.undo").exists()
    }

    /// What the command said, with this directory's name taken out.
    fn said(&self, verb: &str, arguments: &[&str]) -> String {
        let output = self.prony(verb, arguments);
        let code = output.status.code().expect("it ended by itself");
        let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("it says text");
        format!("{}\nexit code {code}\n", text.replace(&*self.directory.path().to_string_lossy(), "DIR"))
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

fn is_killed(output: &Output) -> bool {
    output.status.signal() == Some(SIGKILL)
}

#[test]
fn tune_killed_at_any_step_and_restored_leaves_every_byte() {
    for files in [trees::AMD, trees::VIRTUAL] {
        let machine = Machine::new(files);
        let mut step = 1;
        loop {
            machine.die_at(step);
            let output = machine.prony("tune", &["--cpu", "1"]);
            machine.live_on();
            let killed = is_killed(&output);
            assert!(killed || output.status.success(), "step {step}: {output:?}");
            let output = machine.prony("restore", &[]);
            assert!(output.status.success(), "step {step}: {output:?}");
            assert!(machine.is_as_before(), "step {step}: {output:?}");
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
        assert!(machine.prony("tune", &["--cpu", "3"]).status.success());
        assert!(machine.is_tuned() && !machine.is_as_before());
        machine.die_at(step);
        let killed = is_killed(&machine.prony("restore", &[]));
        machine.live_on();
        let output = machine.prony("restore", &[]);
        assert!(output.status.success(), "step {step}: {output:?}");
        assert!(machine.is_as_before(), "step {step}");
        if !killed {
            break;
        }
        step += 1;
    }
    assert!(step > 30, "{step}");
}

#[test]
fn the_next_tune_finishes_a_killed_one_first() {
    let machine = Machine::new(trees::INTEL);
    machine.die_at(40);
    assert!(is_killed(&machine.prony("tune", &["--cpu", "3"])));
    machine.live_on();
    assert!(!machine.is_as_before());
    let output = machine.prony("tune", &["--cpu", "2", "--", "true"]);
    assert!(output.status.success(), "{output:?}");
    assert!(machine.is_as_before(), "{output:?}");
    assert!(!machine.is_tuned());
}

#[test]
fn a_command_runs_on_a_quiet_machine_and_leaves_it_as_before() {
    let machine = Machine::new(trees::INTEL);
    let governor = machine.directory.path().join("sys/devices/system/cpu/cpufreq/policy3/scaling_governor");
    let governor = governor.to_string_lossy();
    let output = machine.prony("tune", &["--cpu", "3", "--", "sh", "-c", &format!("cat {governor}; exit 7")]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "performance\n");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(machine.is_as_before());
}

#[test]
fn a_signal_reaches_the_command_and_all_is_put_back() {
    let machine = Machine::new(trees::VIRTUAL);
    // The command ends its parent as `kill` does, and then waits for the signal to come back to it.
    let script = "trap 'exit 5' TERM; kill $PPID; while :; do :; done";
    let output = machine.prony("tune", &["--cpu", "1", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(machine.is_as_before(), "{output:?}");
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
fn what_went_wrong_reads_well() {
    let machine = Machine::new(trees::VIRTUAL);
    let mut said = machine.said("restore", &[]);
    said += &machine.said("check", &["--cpu", "7"]);
    said += &machine.said("tune", &["--", "./nothing-of-this-name"]);
    let place = |name: &str| machine.directory.path().join(name);
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
        let output = machine.prony(verb, arguments);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("it is JSON")
    };
    let facts = json("show", &["--json"]);
    assert_eq!((&facts["cpu"]["cores"], &facts["frequency"]["turbo"]), (&2.into(), &true.into()));
    let check = json("check", &["--json"]);
    let disturbing: Vec<_> =
        check["findings"].as_array().expect("a list").iter().filter(|finding| finding["state"] == "disturbs").collect();
    assert!(disturbing.iter().all(|finding| finding["next_step"].is_string()), "{disturbing:?}");
    assert!(disturbing.iter().any(|finding| finding["name"] == "nohz-full"), "{disturbing:?}");
    let tuned = json("tune", &["--json"]);
    assert_eq!(tuned["shield"]["raised"], true);
    assert_eq!(json("restore", &["--json"])["undo"], "applied");
    assert_eq!(json("restore", &["--json"])["undo"], "nothing");
}
