//! The answer of `prony load nic` as JSON.

use std::collections::BTreeMap;

use prony_softnic_host::{Histogram, Mode, Rate, Report};
use serde::Serialize;

use crate::nic::event;

/// The whole answer. Times are seconds; rates are frames out of the ports, in slice mode by the driver's own time.
#[derive(Debug, Serialize)]
pub struct NicDocument {
    /// No frame that the driver was given was lost or changed, and it made no mistake.
    good: bool,
    setup: Setup,
    #[serde(flatten)]
    speed: Speed,
    slices: Option<Slices>,
    #[serde(flatten)]
    frames: Frames,
    latency_s: Option<Times>,
    dma_bytes: u64,
    device_stalled_s: f64,
    mistakes: Vec<String>,
    interrupted: bool,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Setup {
    command: Vec<String>,
    ports: Vec<String>,
    /// `None`: as many as the driver takes.
    rate_hz: Option<f64>,
    size: String,
    /// 0: the frames are not of the Internet Protocol.
    flows: u16,
    mode: &'static str,
    interval_s: Option<f64>,
    warm_up_s: f64,
    duration_s: f64,
}

/// Rates in millions of frames per second, and what they cost the driver.
#[derive(Debug, Serialize)]
struct Speed {
    measured_s: f64,
    mpps: f64,
    mpps_by_port: Vec<f64>,
    mpps_windows: Vec<f64>,
    cycles_per_packet: Option<f64>,
    tsc_hz: f64,
    /// Share of the time in which the driver worked.
    driver_busy: f64,
}

#[derive(Debug, Serialize)]
struct Slices {
    all: u64,
    not_counted: u64,
    /// Length of the longer ones.
    interval_s: f64,
    /// Time of each that is not the driver's own.
    overhead_s: f64,
}

/// Numbers of frames of all ports, by what became of them.
#[derive(Debug, Serialize)]
struct Frames {
    generated: u64,
    received: u64,
    lost_by_nic: u64,
    lost_by_driver: u64,
    reordered: u64,
    duplicates: u64,
    corrupted: u64,
    foreign: u64,
    untouched: u64,
    /// Frames by the place of the byte that the driver increased.
    touched: BTreeMap<usize, u64>,
    /// Frames by receive queue since the driver was started, of packets of flows.
    queues: BTreeMap<usize, u64>,
}

#[derive(Debug, Serialize)]
struct Times {
    n: u64,
    mean: f64,
    min: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    p9999: f64,
    max: f64,
}

/// The answer.
pub fn answer(report: &Report, is_finding: bool, warnings: &[String]) -> NicDocument {
    let options = &report.options;
    NicDocument {
        good: !is_finding,
        setup: Setup {
            command: options.command.iter().map(|part| part.to_string_lossy().into_owned()).collect(),
            ports: options.addresses.clone(),
            rate_hz: match options.rate {
                Rate::Max => None,
                Rate::Fixed(hz) => Some(hz),
            },
            size: options.sizes.to_string(),
            flows: options.flows,
            mode: match options.mode {
                Mode::CrossCore => "cross-core",
                Mode::Slice { .. } => "slice",
            },
            interval_s: match options.mode {
                Mode::CrossCore => None,
                Mode::Slice { interval } => Some(interval.as_secs_f64()),
            },
            warm_up_s: options.warm_up.as_secs_f64(),
            duration_s: options.duration.as_secs_f64(),
        },
        speed: speed(report),
        slices: report.slices.as_ref().map(|slices| Slices {
            all: slices.all,
            not_counted: slices.dry,
            interval_s: slices.interval.as_secs_f64(),
            overhead_s: slices.overhead.as_secs_f64(),
        }),
        frames: frames(report),
        latency_s: times(&report.latency()),
        dma_bytes: report.dma_bytes,
        device_stalled_s: report.stalled.as_secs_f64(),
        mistakes: report.notices.iter().map(|(number, notice)| mistake(report, *number, notice)).collect(),
        interrupted: report.is_interrupted,
        warnings: warnings.to_vec(),
    }
}

fn speed(report: &Report) -> Speed {
    let by_port: Vec<f64> = report.hz().iter().map(|hz| hz / 1e6).collect();
    Speed {
        measured_s: report.seconds,
        mpps: by_port.iter().sum(),
        mpps_by_port: by_port,
        mpps_windows: report.windows.iter().map(|window| window.hz() / 1e6).collect(),
        cycles_per_packet: report.cycles_per_frame(),
        tsc_hz: report.tsc_hz,
        driver_busy: report.busy,
    }
}

fn frames(report: &Report) -> Frames {
    let mut touched = BTreeMap::new();
    for (place, frames) in report.streams.iter().flat_map(|stream| &stream.touched) {
        *touched.entry(*place).or_insert(0) += frames;
    }
    Frames {
        generated: report.total(|stream| stream.generated),
        received: report.total(|stream| stream.counts.received),
        lost_by_nic: report.total(|stream| stream.lost_by_device),
        lost_by_driver: report.total(|stream| stream.lost_by_driver),
        reordered: report.total(|stream| stream.counts.reordered),
        duplicates: report.total(|stream| stream.counts.duplicates),
        corrupted: report.total(|stream| stream.counts.corrupted),
        foreign: report.foreign,
        untouched: report.total(|stream| stream.counts.untouched),
        touched,
        queues: report.by_queue(),
    }
}

fn mistake(report: &Report, number: u64, notice: &prony_softnic_host::Notice) -> String {
    format!("{}: {number} × {}", report.options.addresses[notice.port], event(&notice.event))
}

fn times(histogram: &Histogram<u64>) -> Option<Times> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let at = |q: f64| seconds(histogram.value_at_quantile(q));
    (!histogram.is_empty()).then(|| Times {
        n: histogram.len(),
        mean: histogram.mean() / 1e9,
        min: seconds(histogram.min()),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        p9999: at(0.9999),
        max: seconds(histogram.max()),
    })
}
