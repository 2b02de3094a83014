//! What a run found.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_softnic::{Counts, Histogram};

use crate::notices::Notice;
use crate::options::Options;

/// A direction of the wire: frames that entered one port.
#[derive(Debug, Clone)]
pub struct StreamReport {
    /// Frames that were generated in the measurement.
    pub generated: u64,
    /// Frames of them that found no descriptor, or that the device did not take.
    pub lost_by_device: u64,
    /// Frames of them that were put into the driver's memory and did not come out.
    pub lost_by_driver: u64,
    /// Frames of them by what became of them.
    pub counts: Counts,
    /// Touched bytes: place in the frame and number of frames.
    pub touched: Vec<(usize, u64)>,
    /// Frames by receive queue since the driver was started, of packets of flows.
    pub by_queue: Vec<u64>,
    /// Time from generation to exit, in nanoseconds.
    pub latency: Histogram<u64>,
}

/// A stretch of the measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Length in seconds: of the driver's own time in slice mode.
    pub seconds: f64,
    /// Frames that left each port.
    pub frames: Vec<u64>,
}

impl Window {
    /// Frames a second of all ports.
    pub fn hz(&self) -> f64 {
        self.frames.iter().sum::<u64>() as f64 / self.seconds
    }
}

/// Slices of slice mode.
#[derive(Debug, Clone, PartialEq)]
pub struct Slices {
    /// Slices that do not count because the driver ran out of frames.
    pub dry: u64,
    /// All of them.
    pub all: u64,
    /// Length of the longer ones.
    pub interval: Duration,
    /// Time of each that the kernel counts for the driver and that is not its own: the interrupt that ends it, and two switches of
    /// the CPU. Windows are without it.
    pub overhead: Duration,
}

/// Slices without frames for the driver, of which a result is not trusted any more.
const DRY_MAX: f64 = 0.5;
/// Spread of the windows, as a share of their median, above which a result is not trusted any more.
const SPREAD_MAX: f64 = 0.1;

/// Something to know before the numbers are trusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Warning {
    /// The measurement is shorter than it was to be.
    Interrupted,
    /// Another process changed the pool of huge pages.
    HugePagesChanged {
        /// Pages before.
        from: u64,
        /// Pages after.
        to: u64,
    },
    /// The driver truncated a file that was DMA memory.
    MemoryTaken,
    /// Frames were lost, and the device was without a CPU for so long.
    Stalled(Duration),
    /// This share of the slices does not count, as the driver ran out of frames in them.
    Dry {
        /// Of all slices.
        share: f64,
    },
    /// The windows differ.
    Unsteady {
        /// Interquartile range of the windows as a share of their median.
        spread: f64,
    },
}

/// Results of a run: frames, rates, latencies, mistakes.
#[derive(Debug, Clone)]
pub struct Report {
    /// Options that the run was made with.
    pub options: Options,
    /// Length of the measurement in seconds.
    pub seconds: f64,
    /// By the port that the frames entered.
    pub streams: Vec<StreamReport>,
    /// Windows of the measurement, in their order.
    pub windows: Vec<Window>,
    /// Share of the time in which the driver had frames to forward.
    pub busy: f64,
    /// Of slice mode.
    pub slices: Option<Slices>,
    /// Ticks of the time-stamp counter a second.
    pub tsc_hz: f64,
    /// Frames that did not come from the generator.
    pub foreign: u64,
    /// Mistakes of the driver, each kind once for each port, and their number.
    pub notices: Vec<(u64, Notice)>,
    /// Another process changed the number of huge pages during the run: from, to.
    pub huge_pages_changed: Option<(u64, u64)>,
    /// Bytes of the driver's DMA memory.
    pub dma_bytes: u64,
    /// Times that the driver took memory away that the device used.
    pub memory_taken: u64,
    /// Time of the measurement in which the device had no CPU: frames may be lost because of that.
    pub stalled: Duration,
    /// The measurement was stopped before its time.
    pub is_interrupted: bool,
}

impl Report {
    /// Interquartile range of the windows as a share of their median; `None` with fewer than four.
    pub fn spread(&self) -> Option<f64> {
        let mut rates: Vec<f64> = self.windows.iter().map(|window| window.hz()).collect();
        rates.sort_by(f64::total_cmp);
        let at = |share: f64| rates[((rates.len() - 1) as f64 * share).round() as usize];
        (rates.len() >= 4 && at(0.5) > 0.0).then(|| (at(0.75) - at(0.25)) / at(0.5))
    }

    /// True if frames that the driver was given did not come out as they should, or the device saw mistakes.
    pub fn is_finding(&self) -> bool {
        let wrong = |counts: &Counts| counts.reordered + counts.duplicates + counts.corrupted;
        self.total(|stream| stream.lost_by_driver + wrong(&stream.counts)) > 0 || !self.notices.is_empty()
    }

    /// What to know before the numbers are trusted.
    pub fn warnings(&self) -> Vec<Warning> {
        let lost = self.total(|stream| stream.lost_by_device + stream.lost_by_driver);
        let dry = self.slices.as_ref().map(|slices| slices.dry as f64 / slices.all as f64);
        [
            self.is_interrupted.then_some(Warning::Interrupted),
            self.huge_pages_changed.map(|(from, to)| Warning::HugePagesChanged { from, to }),
            (self.memory_taken > 0).then_some(Warning::MemoryTaken),
            (lost > 0 && !self.stalled.is_zero()).then_some(Warning::Stalled(self.stalled)),
            dry.filter(|&share| share > DRY_MAX).map(|share| Warning::Dry { share }),
            self.spread().filter(|&spread| spread > SPREAD_MAX).map(|spread| Warning::Unsteady { spread }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Frames that left all ports in the measurement.
    pub fn frames(&self) -> u64 {
        self.windows.iter().flat_map(|window| &window.frames).sum()
    }

    /// Frames a second that left each port, in slice mode a second of the driver's own time.
    pub fn hz(&self) -> Vec<f64> {
        let seconds: f64 = self.windows.iter().map(|window| window.seconds).sum();
        let ports = self.options.addresses.len();
        let of = |port: usize| self.windows.iter().map(|window| window.frames[port]).sum::<u64>() as f64 / seconds;
        (0..ports).map(of).collect()
    }

    /// Ticks of the time-stamp counter that the driver took for a frame while it had some; `None` without a frame.
    pub fn cycles_per_frame(&self) -> Option<f64> {
        let seconds: f64 = self.windows.iter().map(|window| window.seconds).sum();
        let frames = self.frames();
        (frames > 0).then(|| seconds * self.busy * self.tsc_hz / frames as f64)
    }

    /// A sum over all streams.
    pub fn total(&self, of: impl Fn(&StreamReport) -> u64) -> u64 {
        self.streams.iter().map(of).sum()
    }

    /// Frames of all streams by receive queue, of those that got any.
    pub fn by_queue(&self) -> BTreeMap<usize, u64> {
        let mut queues = BTreeMap::new();
        let all = self.streams.iter().flat_map(|stream| stream.by_queue.iter().enumerate());
        for (queue, &frames) in all.filter(|&(_, &frames)| frames > 0) {
            *queues.entry(queue).or_insert(0) += frames;
        }
        queues
    }

    /// Latencies of all streams together, in nanoseconds.
    pub fn latency(&self) -> Histogram<u64> {
        let mut streams = self.streams.iter();
        let mut all = match streams.next() {
            Some(first) => first.latency.clone(),
            None => Histogram::new(3).expect("three digits are allowed"),
        };
        for stream in streams {
            // All histograms of a run have the same bounds.
            let _ = all.add(&stream.latency);
        }
        all
    }
}
