//! The list of traces.

use std::time::{Duration, Instant};

use prony_softnic::{Receipt, Sizes};

use super::{Bench, PATIENCE, QUIET, Step, found};

/// Something that a driver must get right.
#[derive(Clone, Copy)]
pub struct Trace {
    /// Name of the trace in options and output.
    pub name: &'static str,
    /// What is tried, and what is expected.
    pub text: &'static str,
    /// Variables for drivers of this project.
    pub(super) environment: &'static [(&'static str, &'static str)],
    pub(super) run: fn(&mut Bench) -> Step,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn trace(name: &'static str, text: &'static str, run: fn(&mut Bench) -> Step) -> Trace {
    Trace { name, text, environment: &[], run }
}

/// All traces, in the order in which they run.
pub const TRACES: &[Trace] = &[
    trace("every-size", "frames of 60 to 1,518 bytes, one of each: all come out unchanged", every_size),
    trace("ring-wrap", "bursts that begin at every descriptor of the ring: all come out", ring_wrap),
    trace("full-ring", "the device sends nothing until both rings are full: later frames come out", full_ring),
    Trace {
        environment: &[("FORWARDER_BUFFERS", "2304")],
        ..trace("pool-exhaustion", "the same with few buffers: all of them come back to the pool", pool_exhaustion)
    },
    trace("link", "the cable is pulled and plugged in again: later frames come out", link),
    trace(
        "multi-segment",
        "frames in several buffers: nothing of them comes out as a frame, later ones do",
        multi_segment,
    ),
    trace("missing-end", "a frame whose last buffer never comes: at most one later frame is lost", missing_end),
    trace(
        "odd-length",
        "lengths that no frame has: nothing beyond a buffer is read, later frames come out",
        odd_length,
    ),
    trace("reset", "a killed driver leaves a device that still runs: the next one resets it", reset),
    trace("kill", "killed in the middle of DMA: the device lets go of all memory and serves the next driver", kill),
];

/// Frames that must come out after something went wrong: more than any batch, fewer than a ring has.
const AFTERWARDS: u32 = 200;

fn every_size(bench: &mut Bench) -> Step {
    for bytes in 60..=1518 {
        for port in 0..bench.ports() {
            bench.nic.streams[port].generator.set_sizes(Sizes::Fixed(bytes));
            // One at a time: a driver that begins late finds no more of them than its rings hold.
            bench.exchange(port, 1)?;
        }
    }
    Ok(())
}

fn ring_wrap(bench: &mut Bench) -> Step {
    for port in 0..bench.ports() {
        let descriptors = bench.descriptors(port);
        // Coprime to the number of descriptors, so that a burst begins at each of them.
        let burst = (1..=31).rev().find(|&burst| gcd(burst, descriptors) == 1).unwrap_or(1);
        for _ in 0..descriptors {
            bench.exchange(port, burst)?;
        }
    }
    Ok(())
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn full_ring(bench: &mut Bench) -> Step {
    bench.await_driver()?;
    let descriptors = bench.descriptors(0);
    let entered = bench.jam(0..1, 3 * descriptors)?;
    if entered[0] < descriptors - 1 {
        return found(format!("{} frames found a descriptor in a ring of {descriptors}", entered[0]));
    }
    bench.expect_some(0)?;
    bench.settle()?;
    bench.exchange_all(AFTERWARDS)
}

fn pool_exhaustion(bench: &mut Bench) -> Step {
    bench.await_driver()?;
    let (ports, descriptors) = (bench.ports(), bench.descriptors(0));
    // Several rounds, as buffers that are lost are missing only in the end.
    for _ in 0..5 {
        bench.jam(0..ports, 3 * descriptors)?;
        bench.settle()?;
        bench.exchange_all(AFTERWARDS)?;
    }
    Ok(())
}

fn link(bench: &mut Bench) -> Step {
    bench.exchange_all(AFTERWARDS)?;
    let now_ns = bench.nic.clock.now_ns();
    bench.nic.ports[0].device.set_cable(now_ns, false);
    // Into the dead link.
    bench.deliver(1, AFTERWARDS)?;
    bench.settle()?;
    let now_ns = bench.nic.clock.now_ns();
    bench.nic.ports[0].device.set_cable(now_ns, true);
    let until = Instant::now() + PATIENCE;
    while !bench.nic.ports[0].device.is_link_up() {
        bench.step(true)?;
        if Instant::now() > until {
            return found("the link does not come up".to_owned());
        }
    }
    bench.exchange_all(AFTERWARDS)
}

fn multi_segment(bench: &mut Bench) -> Step {
    for segments in [2, 3, 5] {
        for port in 0..bench.ports() {
            for segment in 1..=segments {
                let (length, is_end) = if segment == segments { (700, true) } else { (2048, false) };
                bench.deliver_raw(port, &[0; 2048], length, is_end)?;
            }
        }
        bench.exchange_all(AFTERWARDS)?;
    }
    bench.settle()
}

fn missing_end(bench: &mut Bench) -> Step {
    for port in 0..bench.ports() {
        bench.deliver_raw(port, &[0; 2048], 2048, false)?;
        // The frame behind it may be taken for its end.
        bench.deliver(port, 1)?;
        bench.settle()?;
    }
    bench.exchange_all(AFTERWARDS)
}

fn odd_length(bench: &mut Bench) -> Step {
    // Whether a driver sends on what no wire carries is its own matter, as long as it is no memory of its neighbours.
    bench.expects_foreign = true;
    for length in (0..60).chain([2049, 4096, 65_535]) {
        for port in 0..bench.ports() {
            bench.deliver_raw(port, &[0; 60], length, true)?;
        }
    }
    bench.settle()?;
    bench.exchange_all(AFTERWARDS)
}

/// Lets frames go round until the driver is in the middle of it, and kills it.
fn kill_at_work(bench: &mut Bench) -> Step {
    let until = Instant::now() + Duration::from_millis(200);
    let (ports, descriptors) = (bench.ports(), bench.descriptors(0));
    while Instant::now() < until {
        for port in 0..ports {
            bench.nic.deliver(port, descriptors / 2);
        }
        bench.step(true)?;
    }
    for port in 0..ports {
        bench.nic.deliver(port, descriptors);
    }
    bench.kill()
}

fn reset(bench: &mut Bench) -> Step {
    kill_at_work(bench)?;
    bench.expect_gone()?;
    // Frames go on to arrive, as a wire does not know.
    for port in 0..bench.ports() {
        let stream = &mut bench.nic.streams[port];
        let receipt = bench.nic.ports[port].device.receive(&mut bench.nic.memory, stream.generator.next_frame(0));
        stream.validator.settle(stream.generator.sequence());
        if matches!(receipt, Receipt::Delivered { .. }) {
            return found("the device wrote to memory of a driver that is gone".to_owned());
        }
    }
    bench.start()?;
    bench.exchange_all(AFTERWARDS)
}

fn kill(bench: &mut Bench) -> Step {
    for _ in 0..3 {
        kill_at_work(bench)?;
        bench.expect_gone()?;
        if bench.nic.working_queues() == 0 {
            return found("no queue worked when the driver was killed".to_owned());
        }
        bench.nic.restart();
        bench.start()?;
        bench.exchange_all(AFTERWARDS)?;
    }
    let until = Instant::now() + QUIET;
    while Instant::now() < until {
        bench.step(true)?;
    }
    Ok(())
}
