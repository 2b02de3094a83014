//! The answer of `prony load nic` as a person reads it.

use std::fmt::Write;

use prony_softnic_host::{Direction, Event, Histogram, Report, Warning};
use prony_text::{bytes, count, significant, thousands};

use super::load::time;

/// Answer to a load on a driver, as text for people.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: String| {
        // A string takes everything.
        let _ = writeln!(out, "{name:<13}{text}");
    };
    let rates = report.hz();
    let mpps = |hz: f64| significant(hz / 1e6);
    let by_port = rates.iter().zip(&report.options.addresses);
    let by_port: Vec<String> = by_port.map(|(&hz, address)| format!("{} out of {address}", mpps(hz))).collect();
    let per = if report.slices.is_some() { "Mpps of the driver's CPU time" } else { "Mpps" };
    let windows = count(report.windows.len() as u64, "window");
    let steady = report.spread().map_or_else(String::new, |spread| format!(", IQR {} %", significant(spread * 100.0)));
    line("forwarded", format!("{} {per}: {} ({windows}{steady})", mpps(rates.iter().sum()), by_port.join(", ")));
    if let Some(cycles) = report.cycles_per_frame() {
        let busy = significant(report.busy * 100.0);
        line("cycles", format!("{} TSC cycles per packet, driver busy {busy} % of the time", significant(cycles)));
    }
    if let Some(slices) = &report.slices {
        let (counted, all) = (thousands(slices.all - slices.dry), thousands(slices.all));
        let [interval, overhead] = [slices.interval, slices.overhead].map(|of| time(of.as_nanos() as f64));
        line(
            "slices",
            format!("{counted} of {all} count, {interval} each; {overhead} of interrupts and switches left out"),
        );
    }
    line("latency", latency(&report.latency()));
    let total = |of: fn(&prony_softnic_host::StreamReport) -> u64| thousands(report.total(of));
    line(
        "frames",
        format!(
            "{} generated, {} received, {} of DMA memory",
            total(|stream| stream.generated),
            total(|stream| stream.counts.received),
            bytes(report.dma_bytes)
        ),
    );
    line(
        "lost",
        format!(
            "{} by the device, {} by the driver",
            total(|stream| stream.lost_by_device),
            total(|stream| stream.lost_by_driver)
        ),
    );
    line(
        "wrong",
        format!(
            "{} reordered, {} duplicates, {} corrupted, {} foreign",
            total(|stream| stream.counts.reordered),
            total(|stream| stream.counts.duplicates),
            total(|stream| stream.counts.corrupted),
            thousands(report.foreign)
        ),
    );
    line("touched", touched(report));
    if report.options.flows > 0 {
        line("queues", queues(report));
    }
    for (number, notice) in &report.notices {
        let address = &report.options.addresses[notice.port];
        line("mistake", format!("{}: {} × {}", address, thousands(*number), event(&notice.event)));
    }
    out
}

fn latency(histogram: &Histogram<u64>) -> String {
    let parts = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];
    let parts = parts.map(|(name, q)| format!("{name} {}", time(histogram.value_at_quantile(q) as f64)));
    format!("{} (n = {})", parts.join(", "), thousands(histogram.len()))
}

/// How the flows were spread over the receive queues.
fn queues(report: &Report) -> String {
    let by_queue = report.by_queue();
    let all: u64 = by_queue.values().sum();
    let share = |frames: u64| significant(frames as f64 / all.max(1) as f64 * 100.0);
    let parts: Vec<String> = by_queue.iter().map(|(queue, &frames)| format!("{queue}: {} %", share(frames))).collect();
    format!("{} of {}, spread over {}", parts.join(", "), count(all, "frame"), count(report.options.flows, "flow"))
}

/// Bytes that the driver changes in each frame, which proves that it loads them.
fn touched(report: &Report) -> String {
    let received = report.total(|stream| stream.counts.received);
    let mut places = std::collections::BTreeMap::new();
    for (place, frames) in report.streams.iter().flat_map(|stream| &stream.touched) {
        *places.entry(*place).or_insert(0) += frames;
    }
    let share = |frames: u64| significant(frames as f64 / received.max(1) as f64 * 100.0);
    let places: Vec<String> =
        places.into_iter().map(|(place, frames)| format!("byte {place} of {} %", share(frames))).collect();
    if places.is_empty() { "no byte of any frame".to_owned() } else { places.join(", ") }
}

/// Event of the device in words, for people.
pub fn event(event: &Event) -> String {
    let name = |direction: &Direction, queue: &u32| match direction {
        Direction::Receive => format!("receive queue {queue}"),
        Direction::Transmit => format!("transmit queue {queue}"),
    };
    match event {
        Event::Reset => "reset".to_owned(),
        Event::Link { up } => format!("link {}", if *up { "up" } else { "down" }),
        Event::QueueEnabled { direction, queue, base, descriptors } => {
            format!("{} enabled: {descriptors} descriptors at {base:#x}", name(direction, queue))
        }
        Event::QueueDisabled { direction, queue } => format!("{} disabled", name(direction, queue)),
        Event::BadRing { direction, queue, bytes } => {
            format!("{} enabled with a ring of {bytes} bytes, which is not a multiple of 128", name(direction, queue))
        }
        Event::BadTail { direction, queue, tail, descriptors } => {
            format!("{}: tail {tail} in a ring of {descriptors} descriptors", name(direction, queue))
        }
        Event::Fault { direction, queue, index, target, fault } => {
            let what = match target {
                prony_softnic_host::Target::Descriptor => "descriptor",
                prony_softnic_host::Target::Buffer => "buffer of descriptor",
            };
            format!("{}, {what} {index}: {fault}; the queue stands still", name(direction, queue))
        }
        Event::Malformed { queue, index, problem } => {
            let problem = match problem {
                prony_softnic_host::Malformed::ZeroLength => "a length of 0",
                prony_softnic_host::Malformed::TooLong => "a frame that is too long, or has no end",
                prony_softnic_host::Malformed::TooShort => "a frame that is too short",
                prony_softnic_host::Malformed::BadOffload => "a checksum to insert that does not fit the frame",
            };
            format!("transmit queue {queue}, descriptor {index}: {problem}")
        }
        Event::PrivateMemory { address, bytes } => format!(
            "refused {bytes} bytes at {address:#x} of the driver as DMA memory: they are private to its process, so the device \
             cannot reach them; huge pages, memory files and shared mappings can be given"
        ),
        Event::UnknownRegister { offset, value } => {
            format!("{value:#010x} written to {offset:#07x}, which is not in this model")
        }
        Event::Descriptor { direction, queue, index, address, bytes, end } => {
            let end = if *end { "" } else { ", more follows" };
            format!("{} descriptor {index}: {bytes} bytes at {address:#x}{end}", name(direction, queue))
        }
    }
}

/// A warning in one sentence.
pub fn warning(warning: &Warning) -> String {
    let percent = |share: f64| significant(share * 100.0);
    match *warning {
        Warning::Interrupted => "interrupted: the measurement is shorter than requested".to_owned(),
        Warning::HugePagesChanged { from, to } => {
            format!("somebody changed vm.nr_hugepages from {from} to {to} during the run")
        }
        Warning::MemoryTaken => "the driver truncated a file that the device was using as DMA memory".to_owned(),
        Warning::Stalled(stalled) => format!(
            "the device was without a CPU for {}: losses may be its own; leave --device-cpu to it, or use a lower --rate",
            time(stalled.as_nanos() as f64)
        ),
        Warning::Dry { share } => format!(
            "{} % of the slices do not count, as the driver ran out of frames in them: its rings are short, or the --rate is low",
            percent(share)
        ),
        Warning::Unsteady { spread } => format!(
            "unsteady: the middle half of the windows spans {} % of their median; `prony machine check` finds reasons",
            percent(spread)
        ),
    }
}
