//! `prony nic` and `prony load nic` with real drivers, each in a process of its own. They need root and huge pages, as `make
//! setup` says, and memory for 64 of them.

#[path = "nic/vfio.rs"]
mod vfio;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use prony_testing::prony;
use serde_json::Value;
use tempfile::TempDir;

/// Huge pages are the machine's: one test at a time changes their number.
static HUGE_PAGES: Mutex<()> = Mutex::new(());

/// Those of `subjects/forwarder` that `scripts/setup test` installs what it takes for.
const LANGUAGES: [&str; 7] = ["c", "rust", "go", "csharp", "java", "javascript", "python"];

/// Traces that testpmd passes: all but those of a card with a fault.
const DPDK_TRACES: [&str; 7] = ["every-size", "ring-wrap", "full-ring", "pool-exhaustion", "link", "reset", "kill"];

/// How DPDK finds the ports.
const BINDINGS: [&str; 2] = ["--uio", "--vfio"];

/// How long a driver may take to set up a port: no test is about it, and a loaded machine takes its time.
const SETUP: &str = "300s";

fn one_at_a_time() -> MutexGuard<'static, ()> {
    HUGE_PAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The forwarder in C, and programs like it, built from the sources of `subjects/forwarder/c`.
fn forwarder(folder: &TempDir) -> String {
    build(folder, "forwarder", "")
}

/// The same with a line changed: `main` is renamed, and `extra` has its own.
fn build(folder: &TempDir, name: &str, extra: &str) -> String {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../subjects/forwarder/c");
    let path = folder.path().join(name).display().to_string();
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-std=gnu11", "-o", &path, "-I"]).arg(&sources);
    if extra.is_empty() {
        compiler.arg(sources.join("forwarder.c"));
    } else {
        let file = folder.path().join(format!("{name}.c"));
        fs::write(&file, extra).expect("the folder is writable");
        compiler.arg(file);
    }
    compiler.args(["ixgbe.c", "memory.c"].map(|file| sources.join(file)));
    let built = compiler.output().expect("a C compiler is installed: apt-get install gcc");
    assert!(built.status.success(), "{}", text(&built.stderr));
    path
}

/// A forwarder of `subjects/forwarder`, built: a language, or one of its variants.
fn forwarder_in(language: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let build = |name: &str| Command::new(root.join("scripts/build-forwarders")).arg(name).output().expect("a script");
    let mut built = build(language);
    if !built.status.success() && language == "csharp" {
        // The runtime of .NET Core is a package of PyPI, which not every machine reaches; that of Mono is one of Debian.
        eprintln!("not tried: C# on .NET Core: {}", text(&built.stderr));
        built = build("csharp-mono");
    }
    assert!(built.status.success(), "{}; `scripts/setup test` installs what it takes", text(&built.stderr));
    root.join(text(&built.stdout).trim()).display().to_string()
}

/// All that there is a compiler for. Swift's is in no package of Debian 12: `scripts/setup swift` fetches that of a later release,
/// which is too much for every machine that runs the tests.
fn languages() -> impl Iterator<Item = &'static str> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = Command::new(root.join("scripts/build-forwarders")).arg("swift").output().expect("a script");
    let lacks = text(&built.stderr).contains("error: no Swift 6");
    if lacks {
        eprintln!("not tried: Swift: {}", text(&built.stderr));
    }
    LANGUAGES.into_iter().chain(["swift", "swift-objects"].into_iter().filter(move |_| !lacks))
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("it is text")
}

fn load_for(duration: &str, flags: &[&str], command: &[&str]) -> Output {
    let short = ["load", "nic", "--duration", duration, "--warm-up", "100ms", "--setup-timeout", SETUP];
    prony().args(short).args(flags).arg("--").args(command).output().expect("it was just built")
}

/// For longer where a loaded machine left the driver without a CPU.
fn load(flags: &[&str], command: &[&str]) -> Output {
    let is_too_short = |output: &Output| text(&output.stderr).contains("no frame came out in ");
    let mut shorter = ["300ms", "3s"].into_iter().map(|duration| load_for(duration, flags, command));
    shorter.find(|output| !is_too_short(output)).unwrap_or_else(|| load_for("30s", flags, command))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Nothing was changed, and nothing was lost; a driver may drop frames while a busy machine keeps the device from its CPU, as
/// their way out is blocked then.
fn assert_whole(answer: &Value, what: &str) {
    let number = |name: &str| answer[name].as_u64().unwrap_or_else(|| panic!("{name}: {answer}"));
    assert_eq!(
        number("reordered") + number("duplicates") + number("corrupted") + number("foreign"),
        0,
        "{what}: {answer}"
    );
    assert_eq!((number("lost_by_nic"), &answer["mistakes"]), (0, &serde_json::json!([])), "{what}: {answer}");
    assert!(number("lost_by_driver") == 0 || answer["device_stalled_s"].as_f64() > Some(0.0), "{what}: {answer}");
}

fn huge_pages() -> u64 {
    let text = fs::read_to_string("/proc/sys/vm/nr_hugepages").expect("this kernel has huge pages");
    text.trim().parse().expect("a number")
}

fn pci_devices() -> Vec<String> {
    let entries = fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn is_there(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn every_frame_comes_out_once_and_the_machine_is_as_it_was() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let (before, devices) = (huge_pages(), pci_devices());
    let samples = folder.path().join("samples.json").display().to_string();
    let output = load(&["--rate", "20k", "--json", "-o", &samples], &[&forwarder(&folder)]);
    let answer = json(&output);
    // A busy machine makes a run unsteady, or takes the CPU of the device, whose losses are not the driver's then; nothing
    // changes a frame, or loses one without a culprit.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{answer}");
    let number = |name: &str| answer[name].as_u64().unwrap_or_else(|| panic!("{name}: {answer}"));
    let lost = number("lost_by_nic") + number("lost_by_driver");
    assert_eq!(number("generated"), number("received") + lost, "{answer}");
    assert!(lost == 0 || answer["device_stalled_s"].as_f64() > Some(0.0) || number("lost_by_driver") == 0, "{answer}");
    assert_eq!(number("reordered") + number("duplicates") + number("corrupted") + number("foreign"), 0, "{answer}");
    assert_eq!((number("untouched"), answer["touched"]["1"].as_u64()), (0, Some(number("received"))));
    assert!(number("received") > 1000 && answer["mpps"].as_f64() > Some(0.0), "{answer}");
    let stats = prony().args(["stats", &samples]).output().expect("it was just built");
    assert!(text(&stats.stdout).contains("load nic packet"), "{}", text(&stats.stdout));
    assert_eq!((huge_pages(), pci_devices()), (before, devices));
}

#[test]
fn without_a_rate_all_variants_of_a_driver_forward_everything() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let forwarder = forwarder(&folder);
    for variables in [
        &["FORWARDER_BATCH=1", "FORWARDER_CLEAN=1"][..],
        &["FORWARDER_BATCH=256", "FORWARDER_POOL=ring"],
        &["FORWARDER_CLEAN=64", "FORWARDER_POOL=list", "FORWARDER_TOUCH=59"],
        &["FORWARDER_PREFETCH=0", "FORWARDER_TOUCH=none"],
    ] {
        let command = [&["env"][..], variables, &[&forwarder, "ADDR", "ADDR"]].concat();
        let answer = json(&load(&["--size", "60..1518", "--json"], &command));
        assert_whole(&answer, &variables.join(" "));
        assert!(answer["received"].as_u64() > Some(100), "{variables:?}: {answer}");
        let touched = match variables.last() {
            Some(&"FORWARDER_TOUCH=none") => None,
            Some(&"FORWARDER_TOUCH=59") => Some("59"),
            _ => Some("1"),
        };
        let places: Vec<&String> = answer["touched"].as_object().expect("an object").keys().collect();
        assert_eq!(places, touched.as_slice(), "{answer}");
    }
}

#[test]
fn the_driver_of_every_language_forwards_everything_and_touches_what_it_should() {
    let _turn = one_at_a_time();
    for language in languages() {
        let program = forwarder_in(language);
        for variables in
            [&["FORWARDER_BATCH=1", "FORWARDER_CLEAN=1"][..], &["FORWARDER_BATCH=64", "FORWARDER_TOUCH=59"]]
        {
            let command = [&["env"][..], variables, &[&program, "ADDR", "ADDR"]].concat();
            let answer = json(&load(&["--size", "60..1518", "--json"], &command));
            assert_whole(&answer, language);
            let place = if variables[1] == "FORWARDER_TOUCH=59" { "59" } else { "1" };
            assert_eq!(answer["touched"][place], answer["received"], "{language}: {answer}");
            assert!(answer["received"].as_u64() > Some(100), "{language}: {answer}");
        }
    }
}

#[test]
fn the_null_forwarder_forwards_everything_and_touches_nothing() {
    let _turn = one_at_a_time();
    let program = forwarder_in("null");
    let answer = json(&load(&["--json"], &[&program]));
    assert_whole(&answer, "null");
    assert_eq!(answer["untouched"], answer["received"], "{answer}");
    assert!(answer["received"].as_u64() > Some(100), "{answer}");
}

#[test]
fn pools_and_builds_without_checks_forward_everything() {
    let _turn = one_at_a_time();
    let rings = ["go", "csharp", "java", "javascript"];
    let all = ["ring", "list", "checked", "counted"].map(|pool| ("rust", pool)).into_iter();
    let all = all.chain([("c", "checked"), ("c", "counted"), ("rust-unchecked", "stack"), ("go-unchecked", "stack")]);
    for (language, pool) in all.chain(rings.map(|language| (language, "ring"))) {
        let (program, variable) = (forwarder_in(language), format!("FORWARDER_POOL={pool}"));
        let answer = json(&load(&["--json"], &["env", &variable, &program, "ADDR", "ADDR"]));
        assert_whole(&answer, language);
        assert_eq!(answer["touched"]["1"], answer["received"], "{language}: {answer}");
        assert!(answer["received"].as_u64() > Some(100), "{language}: {answer}");
    }
}

/// Debian's testpmd on both ports, with a CPU apart from the device's.
fn testpmd(test: &str) -> Vec<String> {
    let is_there = Command::new("dpdk-testpmd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    is_there.expect("dpdk-testpmd of the package dpdk-dev, which `make setup` installs");
    let last = prony_machine::affinity::allowed().expect("the kernel says it").iter().last().expect("this thread runs");
    let lcores = format!("--lcores=(0,1)@{last}");
    let prefix = format!("prony-{}-{test}", std::process::id());
    let eal = ["dpdk-testpmd", &lcores, "-m", "64", "--no-telemetry", "--no-shconf", "--file-prefix", &prefix];
    let rest = [
        "-a",
        "ADDR",
        "-a",
        "ADDR",
        "--",
        "--auto-start",
        "--no-flush-rx",
        "--total-num-mbufs=8192",
        "--stats-period",
        "1",
    ];
    eal.iter().chain(&rest).map(|&part| part.to_owned()).collect()
}

/// A driver of DPDK gives the device 10 µs for a reset, and testpmd waits for all links before it forwards: on a busy machine, the
/// one may be too short and the other longer than the measurement. Then it is started again.
fn with_patience(mut run: impl FnMut() -> Output) -> Output {
    for _ in 0..20 {
        let output = run();
        let talk = String::from_utf8_lossy(&output.stderr);
        let late = ["Fail to start port", "Hardware Initialization Failure: -15", "no frame came out in"];
        if !late.iter().any(|words| talk.contains(words)) {
            return output;
        }
    }
    panic!("the machine was too slow for the driver of DPDK 20 times");
}

#[test]
fn the_driver_of_dpdk_forwards_everything() {
    let command = testpmd("forwards");
    let _turn = one_at_a_time();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    for binding in BINDINGS {
        let measure = ["load", "nic", binding, "--duration", "300ms", "--warm-up", "2s", "--setup-timeout", SETUP];
        let flags = ["--show-output", "--size", "60..1518", "--json", "--"];
        let run = || prony().args(measure).args(flags).args(&command).output().expect("it was just built");
        let answer = json(&with_patience(run));
        assert_whole(&answer, binding);
        assert!(answer["received"].as_u64() > Some(100), "{binding}: {answer}");
    }
}

/// RSS by DPDK's own key: of 64 flows, each of four queues has some, and each flow stays in order.
#[test]
fn flows_are_spread_over_the_queues_of_dpdk() {
    let command = testpmd("flows");
    let _turn = one_at_a_time();
    let mut command: Vec<&str> = command.iter().map(String::as_str).collect();
    command.extend(["--rxq=4", "--txq=4", "--rss-udp", "--nb-cores=1"]);
    let measure = ["load", "nic", "--vfio", "--duration", "300ms", "--warm-up", "2s", "--setup-timeout", SETUP];
    let flags = ["--show-output", "--flows", "64", "--size", "60..1514", "--json", "--"];
    let answer =
        json(&with_patience(|| prony().args(measure).args(flags).args(&command).output().expect("it was just built")));
    assert_whole(&answer, "flows");
    let queues = answer["queues"].as_object().expect("an object");
    assert_eq!(queues.keys().collect::<Vec<_>>(), ["0", "1", "2", "3"], "{answer}");
    let all: u64 = queues.values().filter_map(Value::as_u64).sum();
    // 16 flows each, if they were spread evenly; by chance, a queue has 4 of 64 or fewer less often than once in 10,000 keys.
    assert!(queues.values().all(|frames| frames.as_u64() > Some(all / 16)), "{answer}");
    assert_eq!(answer["setup"]["flows"], 64, "{answer}");
}

/// Without RSS, all flows are in the first queue. Byte 22 is the number of hops, in the header of the packet.
#[test]
fn flows_reach_a_driver_with_one_queue() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let program = forwarder(&folder);
    for touch in ["1", "22"] {
        let variable = format!("FORWARDER_TOUCH={touch}");
        let answer = json(&load(&["--flows", "7", "--json"], &["env", &variable, &program, "ADDR", "ADDR"]));
        assert_eq!(answer["touched"][touch], answer["received"], "{answer}");
        assert_whole(&answer, touch);
        assert!(answer["queues"]["0"].as_u64() >= answer["received"].as_u64(), "{answer}");
    }
    let output = load(&["--flows", "7"], &["env", "FORWARDER_TOUCH=1", &program, "ADDR", "ADDR"]);
    let talk = text(&output.stdout);
    assert!(talk.contains("\nqueues       0: 100 % of ") && talk.contains(", spread over 7 flows\n"), "{talk}");
}

#[test]
fn the_driver_of_dpdk_passes_the_traces_that_concern_it() {
    let command = testpmd("traces");
    let _turn = one_at_a_time();
    for (binding, trace) in BINDINGS.iter().flat_map(|binding| DPDK_TRACES.map(|trace| (binding, trace))) {
        let check = ["nic", "check", binding, "--setup-timeout", SETUP, "--show-output", "--only", trace, "--"];
        // Its io forwarding drops what finds a full ring, which happens while others have its CPU: what fails every time is the device's.
        let mut said = String::new();
        let passes = (0..4).any(|_| {
            let output = with_patience(|| prony().args(check).args(&command).output().expect("it was just built"));
            said = text(&output.stdout).to_owned();
            output.status.code() == Some(0)
        });
        assert!(passes, "{binding} {trace}: {said}");
    }
}

#[test]
fn the_driver_of_every_language_passes_every_trace() {
    let _turn = one_at_a_time();
    for language in languages() {
        let program = forwarder_in(language);
        let arguments = ["nic", "check", "--setup-timeout", SETUP, "--json", "--", &program];
        let output = prony().args(arguments).output().expect("it was just built");
        let answer = json(&output);
        let traces = answer["traces"].as_array().expect("a list");
        let failed: Vec<&Value> = traces.iter().filter(|trace| trace["passed"] != true).collect();
        assert!(failed.is_empty() && output.status.code() == Some(0), "{language}: {failed:?}");
        assert_eq!(traces.len(), 10, "{answer}");
    }
}

#[test]
fn a_driver_finds_the_kernels_own_driver_and_no_device_bound_to_it() {
    let _turn = one_at_a_time();
    let script = "cd /sys/bus/pci && echo 1 > drivers/ixgbe/bind && echo 1 > drivers/ixgbe/unbind && \
                  ls drivers drivers/ixgbe && ! test -e devices/$0/driver";
    let output = prony().args(["nic", "trace", "--ports", "1", "--", "sh", "-ec", script, "ADDR"]).output();
    let output = output.expect("it was just built");
    assert!(text(&output.stderr).contains("ixgbe\n\ndrivers/ixgbe:\nbind\nunbind\n"), "{}", text(&output.stderr));
}

#[test]
fn driver_and_device_have_the_cpus_that_are_named() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let program = forwarder(&folder);
    let output =
        load(&["--json", "--rate", "1k", "--driver-cpu", "1", "--device-cpu", "0"], &[&program, "ADDR", "ADDR"]);
    assert_whole(&json(&output), "named CPUs");
    let same = load(&["--json", "--driver-cpu", "4095"], &[&program, "ADDR", "ADDR"]);
    assert_eq!(same.status.code(), Some(2), "there is no such CPU: {same:?}");
}

#[test]
fn descriptors_are_left_out_of_a_trace_on_request() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let program = forwarder(&folder);
    for (flags, has_descriptors) in [(&[][..], true), (&["--no-descriptors"][..], false)] {
        let trace = ["nic", "trace", "--for", "2s", "--rate", "200"];
        let output = prony().args(trace).args(flags).arg("--").args([&program, "ADDR", "ADDR"]).output();
        let output = output.expect("it was just built");
        let is_descriptor = |line: &str| line.split_whitespace().nth(2) == Some("descriptor");
        assert_eq!(text(&output.stdout).lines().any(is_descriptor), has_descriptors, "{flags:?}: {output:?}");
    }
}

#[test]
fn a_driver_that_takes_a_part_of_a_frame_for_a_frame_fails_the_trace() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    // Every descriptor is a frame to it, whatever its length: the two lines that tell them apart are made useless.
    let source = r#"
        #define main other_main
        #include "forwarder.c"
        #undef main
        #include "registers.h"
        #undef RXD_EOP
        #define RXD_EOP RXD_DD
        #include "ixgbe.c"
        int main(int argc, char *argv[]) { return other_main(argc, argv); }"#;
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../subjects/forwarder/c");
    let file = folder.path().join("careless.c");
    fs::write(&file, source).expect("the folder is writable");
    let program = folder.path().join("careless").display().to_string();
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-std=gnu11", "-o", &program, "-I"]).arg(&sources).arg(&file).arg(sources.join("memory.c"));
    let built = compiler.output().expect("a C compiler is installed: apt-get install gcc");
    assert!(built.status.success(), "{}", text(&built.stderr));
    let arguments = ["nic", "check", "--only", "multi-segment", "--only", "every-size", "--", &program];
    let output = prony().args(arguments).output().expect("it was just built");
    let talk = text(&output.stdout);
    assert!(talk.contains("failed  multi-segment") && talk.contains("passed  every-size"), "{talk}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_trace_names_the_buffer_that_is_not_the_drivers_memory() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let source = r#"
        #include "ixgbe.h"
        #include <unistd.h>
        int main(int argc, char *argv[]) {
            struct ixgbe_options options = {.buffers = 4096, .clean_batch = 1};
            ixgbe_open(argv[1], options)->receive.ring[0].address = 0x1000;
            ixgbe_open(argv[argc - 1], options);
            pause();
        }"#;
    let program = build(&folder, "elsewhere", source);
    let arguments = ["nic", "check", "--only", "multi-segment", "--", &program];
    let output = prony().args(arguments).output().expect("it was just built");
    let talk = text(&output.stdout);
    let found = "buffer of descriptor 0: DMA of 2048 bytes at 0x1000, which is not DMA memory of the driver";
    assert!(talk.starts_with("failed") && talk.contains(found), "{talk}");
}

/// Its queues work a second before it forwards: until then, no trace concludes anything from what does not come out.
#[test]
fn a_driver_that_begins_late_passes() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let source = r#"
        #include "ixgbe.h"
        #include <unistd.h>
        static struct ixgbe *open_slowly(const char *address, struct ixgbe_options options) {
            struct ixgbe *device = ixgbe_open(address, options);
            sleep(1);
            return device;
        }
        #define ixgbe_open open_slowly
        #include "forwarder.c"
        "#;
    let program = build(&folder, "late", source);
    let only = ["--only", "full-ring", "--only", "pool-exhaustion"];
    let output = prony().args(["nic", "check"]).args(only).args(["--", &program]).output().expect("it was just built");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn a_driver_that_loses_frames_is_a_finding() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let source = r#"
        #include "ixgbe.h"
        int main(int argc, char *argv[]) {
            struct ixgbe_options options = {.buffers = 4096, .clean_batch = 1};
            struct ixgbe *one = ixgbe_open(argv[1], options), *two = ixgbe_open(argv[argc - 1], options);
            for (unsigned n = 1;; n++) {
                struct packet *packet;
                if (ixgbe_receive(one, &packet, 1) && (n % 100 == 0 || !ixgbe_transmit(two, &packet, 1)))
                    pool_give(packet);
                if (ixgbe_receive(two, &packet, 1) && !ixgbe_transmit(one, &packet, 1))
                    pool_give(packet);
            }
        }"#;
    let output = load(&["--json"], &[&build(&folder, "loses", source)]);
    let answer = json(&output);
    assert!(answer["lost_by_driver"].as_u64() > Some(0), "{answer}");
    assert_eq!((&answer["good"], &answer["lost_by_nic"]), (&false.into(), &0.into()), "{answer}");
    assert!(matches!(output.status.code(), Some(1 | 3)), "{answer}");
}

#[test]
fn a_driver_that_only_sends_is_measured_and_one_that_only_receives_is_reported() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let sends = r#"
        #include "ixgbe.h"
        int main(int argc, char *argv[]) {
            struct ixgbe *device = ixgbe_open(argv[argc - 1], (struct ixgbe_options){.buffers = 4096, .clean_batch = 1});
            struct packet *packet = NULL;
            for (;;) {
                if (!packet && (packet = pool_take(device->receive.pool)))
                    packet->length = 60;
                if (packet && ixgbe_transmit(device, &packet, 1))
                    packet = NULL;
            }
        }"#;
    let sends = build(&folder, "sends", sends);
    for mode in ["cross-core", "slice"] {
        // It ends, although the driver never does.
        let mut command = Command::new("timeout");
        command.arg("60").arg(prony().get_program()).args(["load", "nic", "--ports", "1", "--duration", "300ms"]);
        let output = command.args(["--json", "--mode", mode, "--", &sends]).output().expect("timeout of coreutils");
        let answer = json(&output);
        assert!(answer["mpps"].as_f64() > Some(0.0) && answer["foreign"].as_u64() > Some(100), "{mode}: {answer}");
        assert_eq!(answer["received"], 0, "{mode}: {answer}");
    }
    let receives = r#"
        #include "ixgbe.h"
        int main(int argc, char *argv[]) {
            struct ixgbe *device = ixgbe_open(argv[argc - 1], (struct ixgbe_options){.buffers = 4096, .clean_batch = 1});
            for (struct packet *packet;;)
                if (ixgbe_receive(device, &packet, 1))
                    pool_give(packet);
        }"#;
    let output = load_for("300ms", &["--ports", "1", "--rate", "10k"], &[&build(&folder, "receives", receives)]);
    let talk = text(&output.stderr);
    let went_in = talk.split("s, of ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(talk.starts_with("error: no frame came out in ") && went_in > Some(100_u64), "{talk}");
}

/// All of its frames leave in slices at whose end it holds no other, unless it gets them before.
#[test]
fn a_driver_that_takes_whole_rings_is_measured_in_slices() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let takes_rings = r#"
        #include "ixgbe.h"
        static void forward(struct ixgbe *from, struct ixgbe *to) {
            struct packet *packets[1024];
            uint32_t received = ixgbe_receive(from, packets, 1024);
            if (received == 0)
                return;
            for (uint32_t i = 0; i < received; i++) {
                packets[i]->bytes[1]++;
                for (volatile int work = 0; work < 500; work++);
            }
            for (uint32_t sent = ixgbe_transmit(to, packets, received); sent < received; sent++)
                pool_give(packets[sent]);
        }
        int main(int argc, char *argv[]) {
            struct ixgbe_options options = {.buffers = 4096, .clean_batch = 32};
            struct ixgbe *first = ixgbe_open(argv[argc - 2], options), *second = ixgbe_open(argv[argc - 1], options);
            for (;;) {
                forward(first, second);
                forward(second, first);
            }
        }"#;
    let answer = json(&load(&["--mode", "slice", "--json"], &[&build(&folder, "rings", takes_rings)]));
    assert_whole(&answer, "whole rings");
    assert_eq!(answer["touched"]["1"], answer["received"], "{answer}");
    assert!(answer["received"].as_u64() > Some(1000) && answer["mpps"].as_f64() > Some(0.0), "{answer}");
}

/// What a machine needs for an interrupt and two switches may be longer than an interval: it is lengthened until frames move.
#[test]
fn the_shortest_interval_measures_a_driver_too() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let answer = json(&load(&["--mode", "slice", "--interval", "5", "--json"], &[&forwarder(&folder)]));
    assert_whole(&answer, "5 microseconds");
    assert!(answer["received"].as_u64() > Some(1000), "{answer}");
    assert!(answer["slices"]["interval_s"].as_f64() >= Some(5e-6), "{answer}");
}

#[test]
fn an_address_outside_the_drivers_memory_is_reported_and_does_no_harm() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let source = r#"
        #include "ixgbe.h"
        #include "registers.h"
        #include <unistd.h>
        int main(int argc, char *argv[]) {
            struct ixgbe *device = ixgbe_open(argv[argc - 1], (struct ixgbe_options){.buffers = 4096, .clean_batch = 1});
            device->transmit.ring[0].address = 0x1000;
            device->transmit.ring[0].command = TXD_EOP | TXD_RS | TXD_DEXT | TXD_DTYP_DATA | 60;
            *(volatile uint32_t *)(device->registers + tdt(0)) = 1;
            sleep(2);
        }"#;
    let program = build(&folder, "elsewhere", source);
    let arguments = ["nic", "trace", "--ports", "1", "--for", "60s", "--json", "--", &program];
    let output = prony().args(arguments).output().expect("it was just built");
    let lines = text(&output.stdout).lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    let lines: Vec<Value> = lines.collect();
    let has_text = |part: &str| lines.iter().any(|line| line["text"].as_str().is_some_and(|text| text.contains(part)));
    assert!(
        has_text("buffer of descriptor 0: DMA of 60 bytes at 0x1000, which is not DMA memory of the driver"),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line["register"] == "TDT[0]" && line["value"] == 1), "{lines:?}");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_trace_has_registers_descriptors_and_frames() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let pcap = folder.path().join("frames.pcap");
    let arguments = ["nic", "trace", "--for", "3s", "--rate", "200", "--pcap"];
    let output =
        prony().args(arguments).arg(&pcap).args(["--", &forwarder(&folder)]).output().expect("it was just built");
    let lines = text(&output.stdout);
    for part in
        ["write      CTRL = 0x04000008", "event      reset", "RDLEN[0] = 0x00004000", "receive queue 0 enabled: 1024"]
    {
        assert!(lines.contains(part), "{part}: {lines}");
    }
    assert!(lines.contains("receive[0] 0: 60 bytes at ") && lines.contains("transmit[0] 0: 60 bytes at "), "{lines}");
    let frames = fs::read(&pcap).expect("it was written");
    assert_eq!((&frames[..4], (frames.len() - 24) % 76), (&0xa1b2_3c4d_u32.to_le_bytes()[..], 0));
    assert!(frames.len() > 24 + 2 * 76 && frames[24 + 16 + 12..][..2] == [0x88, 0xb5]);
}

#[test]
fn a_device_outlives_a_driver_that_is_killed_and_serves_the_next_one() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let forwarder = forwarder(&folder);
    let log = folder.path().join("log");
    let mut device = prony();
    device.args(["nic", "--rate", "5k", "--for", "120s"]).stdout(Stdio::null());
    let mut device =
        device.stderr(fs::File::create(&log).expect("the folder is writable")).spawn().expect("it was just built");
    let count = |part: &str| fs::read_to_string(&log).unwrap_or_default().matches(part).count();
    eventually("the device is ready", || count("nsenter") == 1);
    let line = fs::read_to_string(&log).expect("it is there");
    let words: Vec<&str> = line.lines().nth(1).expect("the command").split_whitespace().collect();
    for round in 1..=2 {
        let mut driver = Command::new(words[0]);
        let mut driver =
            driver.args(&words[1..3]).arg(&forwarder).args(&words[4..]).spawn().expect("nsenter of util-linux");
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

#[test]
fn a_killed_run_leaves_no_driver_and_no_huge_pages_behind() {
    let _turn = one_at_a_time();
    let folder = TempDir::new().expect("a folder");
    let before = huge_pages();
    let forwarder = forwarder(&folder);
    let pages = (before + 64).to_string();
    let mut run = prony();
    run.args(["load", "nic", "--duration", "120s", "--huge-pages", &pages, "--", &forwarder]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it was just built");
    let driver = || {
        let found = Command::new("pgrep").args(["-f", &format!("^{forwarder} ")]).output().expect("there is a pgrep");
        text(&found.stdout).lines().next().map(str::to_owned)
    };
    eventually("the driver runs", || driver().is_some());
    let pid = driver().expect("it runs");
    assert!(huge_pages() > before);
    run.kill().expect("it runs");
    run.wait().expect("it was killed");
    eventually("the driver is gone", || !is_there(&pid));
    eventually("huge pages are given back", || huge_pages() == before);
}

#[test]
fn what_cannot_run_is_reported_with_the_next_step() {
    let _turn = one_at_a_time();
    let assert_reported = |output: &Output, parts: &[&str]| {
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
        let talk = text(&output.stderr);
        assert!(parts.iter().all(|part| talk.contains(part)), "{talk}");
    };
    assert_reported(
        &load(&[], &["/nonexistent/forwarder"]),
        &["error: cannot start /nonexistent/forwarder", "hint: give the path"],
    );
    assert_reported(
        &load(&[], &["sh", "-c", "echo broken; exit 3"]),
        &["before all ports worked: exit status: 3", "| broken"],
    );
    let idle = prony()
        .args(["load", "nic", "--setup-timeout", "200ms", "--", "sh", "-c", "sleep 60"])
        .output()
        .expect("it was just built");
    assert_reported(
        &idle,
        &["did not set up 0000:03:00.0 within 0.2 s: receive queue 0 is not enabled", "hint: `prony nic trace"],
    );
    assert_reported(&load(&["--huge-pages", "1000000"], &["true"]), &["1000000 free huge pages are needed", "hint: "]);
    let mut unprivileged = Command::new("setpriv");
    unprivileged.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(prony_testing::program());
    let unprivileged = unprivileged.args(["load", "nic", "--huge-pages", "0", "--", "true"]).env("HOME", "/").output();
    assert_reported(
        &unprivileged.expect("setpriv of util-linux"),
        &["cannot create a mount namespace", "hint: run prony as root"],
    );
}
