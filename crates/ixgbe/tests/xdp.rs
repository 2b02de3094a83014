//! The forwarder on interfaces of the kernel: two pairs of veth in a network namespace of their own, the ends of which are
//! the generator and the validator of the software card.
//!
//! Without root, or where there are no network namespaces, the tests say so and try nothing.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use prony_ixgbe::{Options, Packet, Pool, PoolKind, Port, XdpSocket};
use prony_softnic::{ETHERTYPE, Generator, Sizes, Validator};

/// Set in the process that is within its own namespace.
const INSIDE: &str = "PRONY_XDP_INSIDE";
const MAC: [u8; 6] = [0x00, 0x1b, 0x21, 0x82, 0x59, 0x00];
/// Frames of one direction that are on their way at most: fewer than a ring has room for.
const ON_THEIR_WAY: u64 = 448;
const BATCH: usize = 32;

/// Runs a test of this file again in a network namespace of its own. True in that process.
fn is_inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut can = Command::new("unshare");
    let can = can.args(["--net", "ip", "link"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped {name}: needs root, and network namespaces");
        return false;
    }
    let exe = std::env::current_exe().expect("it is running");
    let status = Command::new("unshare")
        .arg("--net")
        .arg(exe)
        .args(["--exact", name, "--include-ignored", "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("it was just there");
    assert!(status.success(), "{name} failed in its namespace");
    false
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("it was just there");
    assert!(status.success(), "ip {arguments}");
}

/// Ends the forwarder with its test.
struct Forwarder(Child);

impl Forwarder {
    /// Its CPU time so far, polls of empty rings included. /proc/PID/schedstat: the first number, in nanoseconds.
    fn cpu_seconds(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.0.id())).expect("it runs");
        text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("a number") / 1e9
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn forwarder() -> Forwarder {
    let exe = std::env::current_exe().expect("it is running");
    let folder = exe.parent().and_then(|deps| deps.parent()).expect("tests lie in deps");
    let path: PathBuf = folder.join("examples/forward");
    assert!(path.exists(), "cargo test -p prony-ixgbe builds {}", path.display());
    let child = Command::new(path).args(["xdp:left", "xdp:right"]).spawn().expect("it is there");
    Forwarder(child)
}

/// One end: what it sends, and what comes from the other end.
struct End {
    socket: XdpSocket,
    generator: Generator,
    validator: Validator,
    packets: Vec<Packet>,
}

impl End {
    fn open(name: &str, pool: &mut Pool, stream: u8, sizes: &str) -> End {
        let sizes: Sizes = sizes.parse().expect("sizes");
        let socket = XdpSocket::open(name, pool, Options::default()).expect("the interface is there");
        // What comes out here has entered at the other end.
        let (generator, validator) = (Generator::new(stream, MAC, sizes), Validator::new(1 - stream, MAC));
        End { socket, generator, validator, packets: Vec::new() }
    }

    fn received(&self) -> u64 {
        self.validator.counts().received
    }

    fn send(&mut self, pool: &mut Pool, frames: u64) {
        for _ in 0..frames {
            let frame = self.generator.next_frame(0);
            let mut packet = pool.take(frame.len()).expect("the pool has more than are on their way");
            pool.bytes_mut(&mut packet).copy_from_slice(frame);
            self.packets.push(packet);
        }
        self.socket.tx_batch(pool, &mut self.packets);
        assert!(self.packets.is_empty(), "the ring has more room than frames are on their way");
    }

    fn receive(&mut self, pool: &mut Pool) {
        self.socket.rx_batch(pool, &mut self.packets, BATCH);
        for packet in self.packets.drain(..) {
            let frame = pool.bytes(&packet);
            // The kernel sends frames of its own.
            if frame.get(12..14) == Some(&ETHERTYPE[..]) {
                self.validator.handle_frame(0, frame);
            }
            pool.give(packet);
        }
    }
}

/// Has frames forwarded both ways. Returns frames a second, and frames a second of the forwarder's CPU time.
fn forward(frames: u64, sizes: &str) -> [f64; 2] {
    for [name, peer] in [["left", "a"], ["right", "b"]] {
        let queues = "numrxqueues 1 numtxqueues 1";
        ip(&format!("link add {name} {queues} type veth peer name {peer} {queues}"));
    }
    for name in ["left", "right", "a", "b"] {
        ip(&format!("link set dev {name} addrgenmode none"));
        ip(&format!("link set dev {name} up"));
    }
    let mut pool = Pool::for_sockets(PoolKind::default(), 8192).expect("there is memory");
    let mut ends = [End::open("a", &mut pool, 0, sizes), End::open("b", &mut pool, 1, sizes)];
    let forwarder = forwarder();
    // Frames that come before the forwarder has its sockets are lost: it works when one has come out.
    let until = Instant::now() + Duration::from_secs(20);
    while ends.iter().any(|end| end.received() == 0) {
        assert!(Instant::now() < until, "nothing came out of the forwarder");
        for end in &mut ends {
            end.send(&mut pool, 1);
        }
        let quiet = Instant::now() + Duration::from_millis(200);
        while Instant::now() < quiet {
            for end in &mut ends {
                end.receive(&mut pool);
            }
        }
    }
    let first = [0, 1].map(|n: usize| ends[n].generator.sequence());
    let received = [0, 1].map(|n: usize| ends[1 - n].received());
    let (begin, cpu_seconds) = (Instant::now(), forwarder.cpu_seconds());
    let until = begin + Duration::from_secs(60);
    loop {
        let mut is_done = true;
        for n in [0, 1] {
            let sent = ends[n].generator.sequence() - first[n];
            let arrived = ends[1 - n].received() - received[n];
            let due = (frames - sent).min(BATCH as u64).min(ON_THEIR_WAY - (sent - arrived));
            ends[n].send(&mut pool, due);
            ends[n].receive(&mut pool);
            is_done &= arrived == frames;
        }
        if is_done {
            break;
        }
        assert!(Instant::now() < until, "frames are missing: {:?}", ends.map(|end| *end.validator.counts()));
    }
    let seconds = [begin.elapsed().as_secs_f64(), forwarder.cpu_seconds() - cpu_seconds];
    for end in &ends {
        let counts = end.validator.counts();
        assert_eq!((counts.corrupted, counts.reordered, counts.duplicates), (0, 0, 0));
    }
    seconds.map(|seconds| 2.0 * frames as f64 / seconds)
}

#[test]
fn frames_of_every_size_are_forwarded_whole_between_interfaces_of_the_kernel() {
    if is_inside("frames_of_every_size_are_forwarded_whole_between_interfaces_of_the_kernel") {
        forward(5000, "64..1514");
    }
}

/// `cargo test --release -p prony-ixgbe rate -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn rate() {
    if is_inside("rate") {
        let [wall, cpu] = forward(500_000, "60").map(|rate| rate / 1e6);
        println!("{wall:.3} Mpps, both ways together; {cpu:.3} Mpps of the forwarder's CPU time");
    }
}

#[test]
fn an_interface_that_does_not_exist_and_a_pool_that_is_too_small_are_told() {
    let mut pool = Pool::for_sockets(PoolKind::default(), 64).expect("there is memory");
    let error = XdpSocket::open("lo", &mut pool, Options::default()).expect_err("64 buffers are too few");
    assert!(error.to_string().ends_with("free buffers in the pool, found 64"), "{error}");
    let mut pool = Pool::for_sockets(PoolKind::default(), 8192).expect("there is memory");
    let error = XdpSocket::open("prony-none", &mut pool, Options::default()).expect_err("there is no such interface");
    assert!(error.to_string().starts_with("cannot find the interface for prony-none: "), "{error}");
}
