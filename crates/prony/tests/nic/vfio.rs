//! Drivers that use VFIO, and one that misuses it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{SETUP, assert_whole, eventually, forwarder_in, json, load, one_at_a_time, prony, text};

/// Requests of the driver that makes random ones; `PRONY_VFIO_REQUESTS` has it make more.
const REQUESTS: u32 = 20_000;

#[test]
fn our_driver_forwards_everything_through_vfio() {
    let _turn = one_at_a_time();
    let program = forwarder_in("rust");
    for variables in [&["FORWARDER_BATCH=1"][..], &["FORWARDER_BATCH=64", "FORWARDER_POOL=ring"]] {
        let command = [&["env"][..], variables, &[&program, "ADDR", "ADDR"]].concat();
        let answer = json(&load(&["--vfio", "--size", "60..1518", "--json"], &command));
        assert_whole(&answer, &variables.join(" "));
        assert!(answer["received"].as_u64() > Some(100), "{answer}");
    }
}

#[test]
fn our_driver_passes_every_trace_through_vfio_polling_and_waiting_for_interrupts() {
    let _turn = one_at_a_time();
    let program = forwarder_in("rust");
    for variable in ["FORWARDER_INTERRUPT=0", "FORWARDER_INTERRUPT=1"] {
        let arguments = ["nic", "check", "--vfio", "--setup-timeout", SETUP, "--", "env", variable];
        let output = prony().args(arguments).args([&program, "ADDR", "ADDR"]).output().expect("it was just built");
        let talk = text(&output.stdout);
        assert!(talk.contains("10 traces passed, 0 failed") && output.status.code() == Some(0), "{variable}: {talk}");
    }
}

#[test]
fn a_receive_interrupt_wakes_a_driver_that_sleeps() {
    let _turn = one_at_a_time();
    let program = forwarder_in("rust");
    let mut run = prony();
    run.args(["load", "nic", "--vfio", "--json", "--rate", "200", "--warm-up", "1s", "--duration", "1s", "--"]);
    // It waits without a limit, so that without interrupts nothing would come out.
    run.args(["env", "FORWARDER_INTERRUPT=1", &program, "ADDR", "ADDR"]);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it was just built");
    // ppoll(2), in which it sleeps; a driver that polls makes no calls.
    let number = if cfg!(target_arch = "x86_64") { "271 " } else { "73 " };
    eventually("the driver sleeps", || {
        let found = Command::new("pgrep").args(["-f", &format!("^{program} ")]).output().expect("there is a pgrep");
        let call = |pid: &str| fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
        text(&found.stdout).lines().any(|pid| call(pid).starts_with(number))
    });
    let answer = json(&run.wait_with_output().expect("it ends"));
    assert_whole(&answer, "interrupts");
    assert!(answer["received"].as_u64() > Some(100), "{answer}");
}

#[test]
fn wrong_requests_of_vfio_get_an_error_and_the_device_goes_on() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nic/vfio.c");
    let program = folder.path().join("vfio").display().to_string();
    let built = Command::new("cc").args(["-O1", "-std=gnu11", "-o", &program]).arg(source).output();
    let built = built.expect("a C compiler is installed: apt-get install gcc");
    assert!(built.status.success(), "{}", text(&built.stderr));
    let requests = std::env::var("PRONY_VFIO_REQUESTS").unwrap_or_else(|_| REQUESTS.to_string());
    let forwarder = forwarder_in("rust");
    let script = format!("for seed in 1 2 3; do {program} $0 $seed {requests} || exit 1; done; exec {forwarder} $0 $1");
    let command = ["sh", "-c", &script, "ADDR", "ADDR"];
    let answer = json(&load(&["--vfio", "--json", "--show-output"], &command));
    let number = |name: &str| answer[name].as_u64().unwrap_or_else(|| panic!("{name}: {answer}"));
    assert_eq!(number("reordered") + number("duplicates") + number("corrupted") + number("foreign"), 0, "{answer}");
    assert!(number("received") > 100, "{answer}");
    assert!(answer["mistakes"].to_string().contains("private"), "{answer}");
}

#[test]
fn a_driver_that_is_started_by_hand_joins_the_device() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let forwarder = forwarder_in("rust");
    let log = folder.path().join("log");
    let mut device = prony();
    device.args(["nic", "--vfio", "--rate", "5k", "--for", "120s"]).stdout(Stdio::null());
    let mut device =
        device.stderr(fs::File::create(&log).expect("the folder is writable")).spawn().expect("it was just built");
    let count = |part: &str| fs::read_to_string(&log).unwrap_or_default().matches(part).count();
    eventually("the device is ready", || count("nsenter") == 1);
    let line = fs::read_to_string(&log).expect("it is there");
    let command = line.lines().nth(1).expect("the command").replace("./forwarder", &forwarder);
    for round in 1..=2 {
        let mut driver = Command::new("sh").args(["-c", &format!("exec {command}")]).spawn().expect("there is a shell");
        eventually("the driver is seen", || {
            count("uses the device") == round && count("transmit queue 0 enabled") >= 2 * round
        });
        driver.kill().expect("it runs");
        driver.wait().expect("it was killed");
        eventually("its end is seen", || count("the driver ended while") == round);
    }
    Command::new("kill").args(["-INT", &device.id().to_string()]).status().expect("there is a kill");
    assert_eq!(device.wait().expect("it ends").code(), Some(0));
}
