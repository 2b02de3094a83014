//! What sampling costs the program that is sampled: windows with and without a sampler alternately, so that neither its start
//! nor the machine's moods count.
//!
//! `cargo bench -p prony-profile --bench overhead [-- ROUNDS]`. A child works in blocks of equal work and reports the wall
//! time of each; here a sampler is attached for a third of a second, and none for the next, in an order that is drawn. A
//! round's ratio is that of the two windows' medians.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use prony_profile::{Options, ProfileMode, Sampler, Walk};
use prony_stats::quantile::{median, quantile_of_sorted, sorted};
use prony_stats::{Seed, signed_rank};

/// Some 4 ms: few enough to have many in a window, long enough that each is hit by four samples.
const STEPS: u64 = 2_500_000;
const WINDOW: Duration = Duration::from_millis(330);
const ROUNDS: usize = 60;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--blocks") {
        blocks();
        return;
    }
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(ROUNDS);
    let program = std::env::current_exe().expect("a path");
    let mut child = Command::new(program).arg("--blocks").stdout(Stdio::piped()).spawn().expect("it runs");
    let mut pipe = child.stdout.take().expect("piped");
    let (sender, receiver) = channel();
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 8];
        while pipe.read_exact(&mut bytes).is_ok() {
            if sender.send((Instant::now(), u64::from_ne_bytes(bytes))).is_err() {
                break;
            }
        }
    });
    let pid = child.id() as i32;
    println!("{rounds} rounds of two windows of {} ms each; change of the wall time of equal work", WINDOW.as_millis());
    for (name, frequency_hz, walk) in [
        ("no sampler in either window", 0, Walk::FramePointers),
        ("999 Hz, frame pointers", 999, Walk::FramePointers),
        ("99 Hz, frame pointers", 99, Walk::FramePointers),
        ("999 Hz, --dwarf", 999, Walk::Tables { stack_bytes: 16_384 }),
    ] {
        let options = Options { mode: ProfileMode::OnCpu, frequency_hz, cpus: None, walk };
        let mut seed = Seed::new(1);
        let mut ratios = Vec::new();
        let mut samples = 0;
        for _ in 0..rounds {
            let sampled_first = seed.coin();
            let mut took = [0.0; 2];
            for is_sampled in [sampled_first, !sampled_first] {
                let sampler = (is_sampled && frequency_hz > 0)
                    .then(|| Sampler::of_process(pid, &options).unwrap_or_else(|error| panic!("{error}")));
                took[usize::from(is_sampled)] = window(&receiver);
                if let Some(sampler) = sampler {
                    samples += sampler.finish().unwrap_or_else(|error| panic!("{error}")).samples.len();
                }
            }
            ratios.push((took[1] / took[0]).ln());
        }
        let ratios = sorted(&ratios);
        let percent = |log: f64| log.exp_m1() * 100.0;
        let interval = signed_rank::interval(&ratios, 0.05).expect("rounds enough");
        let at = |share| percent(quantile_of_sorted(&ratios, share).unwrap_or(f64::NAN));
        println!(
            "{name}: {:+.2} % [{:+.2}, {:+.2}], quartiles {:+.2} and {:+.2}, n = {rounds}, {samples} samples",
            percent(interval.estimate),
            percent(interval.low),
            percent(interval.high),
            at(0.25),
            at(0.75)
        );
    }
    child.kill().expect("it still runs");
    child.wait().expect("it is ours");
    drop(receiver);
    reader.join().expect("the reader ends with the pipe");
}

/// The median of the blocks that begin and end in a window from now on.
fn window(receiver: &Receiver<(Instant, u64)>) -> f64 {
    let began = Instant::now();
    std::thread::sleep(WINDOW);
    let took: Vec<f64> = receiver
        .try_iter()
        .filter(|(ended, ns)| *ended - Duration::from_nanos(*ns) > began)
        .map(|(_, ns)| ns as f64)
        .collect();
    median(&took).expect("a window has blocks")
}

/// Equal work for ever, and the nanoseconds that each block took.
fn blocks() {
    let mut out = std::io::stdout().lock();
    let mut x = 88_172_645_463_325_252u64;
    loop {
        let began = Instant::now();
        for _ in 0..STEPS {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        let took = began.elapsed().as_nanos() as u64;
        std::hint::black_box(x);
        if out.write_all(&took.to_ne_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}
