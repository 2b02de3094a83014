//! The driver for virtio with the back end of DPDK: frames through `testpmd`, the forwarder, and `testpmd` again, each with
//! vhost-user ports, and what comes out is checked as the software card does.
//!
//! Without Debian's `dpdk-dev` the tests say so and try nothing.

mod wire;

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use wire::{Example, exchange};

/// `testpmd` with ports of vhost-user: it forwards between the first and the second, the third and the fourth.
struct Testpmd {
    child: Child,
    /// Open as long as it runs: it writes when it ends.
    output: Lines<BufReader<ChildStdout>>,
    directory: PathBuf,
}

impl Testpmd {
    fn start(test: &str, ports: usize) -> Testpmd {
        let is_there =
            Command::new("dpdk-testpmd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        is_there.expect("dpdk-testpmd of the package dpdk-dev, which `make setup` installs");
        let name = format!("prony-testpmd-{}-{test}", std::process::id());
        let directory = std::env::temp_dir().join(&name);
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        // What it says into a pipe comes line by line.
        let mut command = Command::new("stdbuf");
        command.args([
            "-oL",
            "dpdk-testpmd",
            "--no-huge",
            "--no-pci",
            "--no-telemetry",
            "--no-shconf",
            "-m",
            "128",
            "--file-prefix",
            &name,
        ]);
        command.arg(format!("--lcores=(0,1)@(0-{})", cpus - 1));
        for port in 0..ports {
            let path = directory.join(port.to_string());
            command.arg(format!("--vdev=net_vhost{port},iface={},queues=1", path.display()));
        }
        command.args(["--", "--forward-mode=io", "--auto-start", "--total-num-mbufs=8192"]);
        fs::create_dir_all(&directory).expect("a temporary directory");
        // It ends with the pipe.
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("stdbuf is of coreutils");
        let output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut testpmd = Testpmd { child, output, directory };
        let mut said = Vec::new();
        let mut lines = testpmd.output.by_ref().map_while(Result::ok).inspect(|line| said.push(line.clone()));
        let is_ready = lines.any(|line| line.contains("nb forwarding ports"));
        assert!(is_ready, "testpmd did not start:\n{}", said.join("\n"));
        testpmd
    }

    fn port(&self, port: usize) -> String {
        format!("vhost-user:{}", self.directory.join(port.to_string()).display())
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The generator, `testpmd`, the forwarder, `testpmd`, the validator, and the same way back.
fn forward(test: &str, frames: u64, sizes: &str) -> [f64; 2] {
    let testpmd = Testpmd::start(test, 4);
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|port| testpmd.port(port));
    let forwarder = Example::start("forward", &[&second, &third]);
    exchange([&first, &fourth], &forwarder, frames, sizes)
}

#[test]
fn frames_of_every_size_are_forwarded_whole_between_ports_of_testpmd() {
    forward("forward", 5000, "60..1514");
}

#[test]
fn capture_writes_what_generate_sends_through_testpmd() {
    const FRAMES: usize = 1000;
    let testpmd = Testpmd::start("capture", 2);
    let file = testpmd.directory.join("frames.pcap");
    let path = |path: &Path| path.to_str().expect("a path of digits and letters").to_owned();
    let mut capture = Example::start("capture", &[&testpmd.port(1), &path(&file), &FRAMES.to_string()]);
    let _generate = Example::start("generate", &[&testpmd.port(0), "100"]);
    assert!(capture.0.wait().expect("it was started").success());
    let bytes = fs::read(file).expect("capture wrote it");
    let (header, frames) = bytes.split_at(24);
    assert_eq!(header[..4], 0xa1b2_3c4du32.to_le_bytes());
    assert_eq!(frames.len(), FRAMES * (16 + 100));
    let sequence = |frame: &[u8]| u64::from_be_bytes(frame[16 + 14..16 + 22].try_into().expect("eight bytes"));
    for frame in frames.chunks(116) {
        assert_eq!(frame[8..16], [100, 0, 0, 0, 100, 0, 0, 0]);
        assert_eq!(frame[16 + 12..16 + 14], [0x88, 0xb6]);
    }
    let sequence: Vec<u64> = frames.chunks(116).map(sequence).collect();
    assert!(sequence.is_sorted_by(|one, next| one < next), "in order, each once");
}

/// `cargo test --release -p prony-ixgbe --test testpmd -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn throughput() {
    let [wall, cpu] = forward("throughput", 2_000_000, "60").map(|rate| rate / 1e6);
    println!("{wall:.3} Mpps, both ways together; {cpu:.3} Mpps of the forwarder's CPU time");
}
