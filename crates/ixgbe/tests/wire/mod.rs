//! Both ends of a wire with the forwarder on it: the generator and the validator of the software card, on ports of any kind.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use prony_ixgbe::{Address, AnyPort, Options, Packet, Pool, PoolKind, Port};
use prony_softnic::{ETHERTYPE, Generator, Sizes, Validator};

const MAC: [u8; 6] = [0x00, 0x1b, 0x21, 0x82, 0x59, 0x00];
/// Frames of one direction that are on their way at most: fewer than a ring has room for.
const ON_THEIR_WAY: u64 = 448;
const BATCH: usize = 32;

/// An example of this crate. It ends with its test.
pub struct Example(pub Child);

impl Example {
    /// Runs `forward`, `generate` or `capture`.
    pub fn start(name: &str, arguments: &[&str]) -> Example {
        Example::start_with(name, arguments, Stdio::inherit())
    }

    /// Runs one that fails. Returns its error messages.
    pub fn fail(name: &str, arguments: &[&str]) -> String {
        Example::start_with(name, arguments, Stdio::piped()).error()
    }

    /// Runs one, with error messages where they are wanted.
    pub fn start_with(name: &str, arguments: &[&str], errors: Stdio) -> Example {
        let exe = std::env::current_exe().expect("it is running");
        let folder = exe.parent().and_then(|deps| deps.parent()).expect("tests lie in deps");
        let path: PathBuf = folder.join("examples").join(name);
        assert!(path.exists(), "cargo test -p prony-ixgbe builds {}", path.display());
        Example(Command::new(path).args(arguments).stderr(errors).spawn().expect("it is there"))
    }

    /// Waits for its end. Returns its error messages; it has failed.
    pub fn error(mut self) -> String {
        let mut text = String::new();
        self.0.stderr.take().expect("it is piped").read_to_string(&mut text).expect("messages are text");
        assert!(!self.0.wait().expect("it was started").success());
        text
    }

    /// Its CPU time so far, polls of empty rings included. /proc/PID/schedstat: the first number, in nanoseconds.
    pub fn cpu_seconds(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.0.id())).expect("it runs");
        text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("a number") / 1e9
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One end: what it sends, and what comes from the other end.
pub struct End {
    port: AnyPort,
    generator: Generator,
    validator: Validator,
    packets: Vec<Packet>,
}

impl End {
    fn open(address: &str, pool: &mut Pool, stream: u8, sizes: &str) -> End {
        let sizes: Sizes = sizes.parse().expect("sizes");
        let address: Address = address.parse().expect("any text is an address");
        let port = AnyPort::open(&address, pool, Options::default()).expect("the port is there");
        // What comes out here has entered at the other end.
        let (generator, validator) = (Generator::new(stream, MAC, sizes), Validator::new(1 - stream, MAC));
        End { port, generator, validator, packets: Vec::new() }
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
        self.port.tx_batch(pool, &mut self.packets);
        assert!(self.packets.is_empty(), "the ring has more room than frames are on their way");
    }

    fn receive(&mut self, pool: &mut Pool) {
        self.port.rx_batch(pool, &mut self.packets, BATCH);
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

/// Has frames sent through the wire, both ways: what enters at one of the `addresses` comes out at the other. Each frame
/// comes whole and in order. Returns frames a second, and frames a second of the forwarder's CPU time.
pub fn exchange(addresses: [&str; 2], forwarder: &Example, frames: u64, sizes: &str) -> [f64; 2] {
    let mut pool = Pool::for_sockets(PoolKind::default(), 8192).expect("there is memory");
    let mut ends = [0, 1].map(|n: u8| End::open(addresses[usize::from(n)], &mut pool, n, sizes));
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
    // Earlier frames may still be on their way, and do not count.
    for n in [0, 1] {
        ends[1 - n].validator.begin(first[n]);
    }
    let (begin, cpu_seconds) = (Instant::now(), forwarder.cpu_seconds());
    let until = begin + Duration::from_secs(60);
    loop {
        let mut is_done = true;
        for n in [0, 1] {
            let sent = ends[n].generator.sequence() - first[n];
            let arrived = ends[1 - n].received();
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
