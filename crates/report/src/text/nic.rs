//! The answer of `prony load nic` as a person reads it.

pub mod check;

use std::fmt::Write;

use prony_softnic_host::{Histogram, Report, Warning};
use prony_text::{bytes, count, significant, thousands};

use super::load::time;
use crate::nic::event;

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
