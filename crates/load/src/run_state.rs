//! State of the run, common to all threads: the current batch, and the start of the measurement.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::meter::Span;
use crate::options::Options;

/// Between the last connection and what is measured: time to take the counts that are to be subtracted.
const LEAD: Duration = Duration::from_millis(50);
/// Shortest time over which the batches begin: the interval at which idle peers of ENet ping each other, from their
/// connections on. Pings of thousands that connected within a moment would come together for as long as they last, and
/// overflow a server's socket.
const RAMP: Duration = Duration::from_millis(500);
/// The burst connects after the duration divided by this: the first part shows the server without it.
const BURST_AFTER: u64 = 4;
/// Time that is not known yet.
const NEVER: u64 = u64::MAX;

/// The latest of `batches` that may connect at `now_ns`, if all before it are settled.
fn batches_begun(now_ns: u64, batches: usize) -> usize {
    let begun = u128::from(now_ns) * batches as u128 / RAMP.as_nanos();
    usize::try_from(begun).unwrap_or(usize::MAX)
}

/// State that the threads of a run share.
#[derive(Debug)]
pub(crate) struct RunState {
    started: Instant,
    duration_ns: u64,
    /// Number of the batch that connects while the others are measured.
    burst: Option<usize>,
    /// Number of clients in each batch.
    batches: Vec<usize>,
    batch: AtomicUsize,
    /// Clients of the batch that are neither connected nor given up.
    unsettled: AtomicUsize,
    connected: AtomicU64,
    failed: AtomicU64,
    start_ns: AtomicU64,
    stop: AtomicBool,
}

impl RunState {
    pub fn new(options: &Options) -> RunState {
        let batches: Vec<usize> = (0..options.batches()).map(|batch| options.batch_clients(batch)).collect();
        RunState {
            started: Instant::now(),
            duration_ns: options.duration.as_nanos() as u64,
            burst: (options.burst() > 0).then(|| options.batches() - 1),
            batch: AtomicUsize::new(0),
            unsettled: AtomicUsize::new(batches.first().copied().unwrap_or(0)),
            batches,
            connected: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            start_ns: AtomicU64::new(NEVER),
            stop: AtomicBool::new(false),
        }
    }

    /// Time since the run began, the same for all threads.
    pub fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// The batch that may connect.
    pub fn batch(&self) -> usize {
        match self.burst.zip(self.burst_ns()) {
            Some((burst, at_ns)) if self.now_ns() >= at_ns => burst,
            _ => self.batch.load(Ordering::Acquire).min(batches_begun(self.now_ns(), self.batches.len())),
        }
    }

    /// Time at which the burst connects, as soon as it is known; `None` if there is none.
    pub fn burst_ns(&self) -> Option<u64> {
        self.burst?;
        Some(self.span()?.start_ns + self.duration_ns / BURST_AFTER)
    }

    /// Clients that are connected, and clients that are not and will not be.
    pub fn settled_clients(&self) -> (u64, u64) {
        (self.connected.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    /// A client of the batch that connects is connected, or given up. The last one begins the next batch, or what is
    /// measured.
    pub fn settle(&self, is_connected: bool) {
        if is_connected { &self.connected } else { &self.failed }.fetch_add(1, Ordering::Relaxed);
        // Nothing waits for those of the burst.
        if self.span().is_some() || self.unsettled.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let next = self.batch.load(Ordering::Acquire) + 1;
        match self.batches.get(next).filter(|_| self.burst != Some(next)) {
            Some(&clients) => {
                // In this order: a thread that sees the new batch settles clients of it.
                self.unsettled.store(clients, Ordering::Release);
                self.batch.store(next, Ordering::Release);
            }
            // Without a single connection there is nothing to measure.
            None if self.connected.load(Ordering::Relaxed) == 0 => self.stop(),
            None => self.start_ns.store(self.now_ns() + LEAD.as_nanos() as u64, Ordering::Release),
        }
    }

    /// Measured time span, as soon as it is known.
    pub fn span(&self) -> Option<Span> {
        let start_ns = Some(self.start_ns.load(Ordering::Acquire)).filter(|&start| start != NEVER)?;
        Some(Span { start_ns, end_ns: start_ns + self.duration_ns })
    }

    /// Ends the run before its time.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// True if the run was ended.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_begin_over_the_time_between_two_pings() {
        let ms = 1_000_000;
        let begun = |batches| [0, 124, 125, 250, 499, 500, 5000].map(|at| batches_begun(at * ms, batches));
        assert_eq!(begun(4), [0, 0, 1, 2, 3, 4, 40]);
        assert_eq!(begun(1), [0, 0, 0, 0, 0, 1, 10]);
    }
}
