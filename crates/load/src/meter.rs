//! Fate of each packet: pure, times come in as arguments.

#![deny(clippy::indexing_slicing)]

use hdrhistogram::Histogram;

use crate::stamp::Stamp;

/// Decimal digits that a histogram keeps of a time.
const DIGITS: u8 = 3;
/// A span is reported in at most this many windows, each of a second or more.
const WINDOWS_MAX: u64 = 60;
const WINDOW_NS_MIN: u64 = 1_000_000_000;

/// The packets that count: those that should be sent from `start_ns` on and before `end_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First due time of a packet that counts, in nanoseconds.
    pub start_ns: u64,
    /// The one after the last.
    pub end_ns: u64,
}

impl Span {
    /// Length of the span in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// True if a packet of this time counts.
    pub fn contains(&self, at_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&at_ns)
    }

    /// Length of its windows: a second, or a sixtieth of it if that is more.
    pub fn window_ns(&self) -> u64 {
        (self.length_ns() / WINDOWS_MAX).max(WINDOW_NS_MIN)
    }

    /// Whole windows in it, at least one; what is left at the end belongs to the last.
    pub fn windows(&self) -> usize {
        ((self.length_ns() / self.window_ns()) as usize).max(1)
    }

    /// Start of window `window`; that of the number of windows is the end.
    pub fn window_start_ns(&self, window: usize) -> u64 {
        if window >= self.windows() { self.end_ns } else { self.start_ns + window as u64 * self.window_ns() }
    }

    fn window_of(&self, at_ns: u64) -> usize {
        ((at_ns.saturating_sub(self.start_ns) / self.window_ns()) as usize).min(self.windows() - 1)
    }
}

/// Packets that count, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of packets that were sent.
    pub sent: u64,
    /// Number of packets that a connected client should have sent, and did not before the run was given up.
    pub unsent: u64,
    /// Number of packets that the client's host refused, since its connection had ended.
    pub disconnected: u64,
    /// Number of packets answered before the deadline.
    pub answered: u64,
    /// Number of packets answered after the deadline.
    pub late: u64,
    /// Answers beyond the first, to packets that count.
    pub duplicates: u64,
    /// Packets that are no answer to one of ours, in the whole run.
    pub strange: u64,
    /// Bytes of answers, first ones only.
    pub answer_bytes: u64,
}

impl Counts {
    /// Packets that were not answered at all.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.answered + self.late)
    }

    /// Packets that should have been sent.
    pub fn packets(&self) -> u64 {
        self.sent + self.unsent + self.disconnected
    }

    /// Share of the packets that should have been sent which were answered in time; `None` without any.
    pub fn reply_ratio(&self) -> Option<f64> {
        let all = self.packets();
        (all > 0).then(|| self.answered as f64 / all as f64)
    }

    /// Takes in those of another.
    pub fn merge(&mut self, other: &Counts) {
        self.sent += other.sent;
        self.unsent += other.unsent;
        self.disconnected += other.disconnected;
        self.answered += other.answered;
        self.late += other.late;
        self.duplicates += other.duplicates;
        self.strange += other.strange;
        self.answer_bytes += other.answer_bytes;
    }
}

/// Packets of one window, by the time at which they should have been sent.
#[derive(Debug, Clone)]
pub struct Window {
    /// Number of packets that were sent.
    pub sent: u64,
    /// Times to their answers, in nanoseconds from the intended time on.
    pub latency: Histogram<u64>,
}

/// Packets of one client, and their answers.
#[derive(Debug, Clone, Default)]
struct Sender {
    /// Packets so far: the number of the next one.
    sent: u32,
    /// Number of the first that counts.
    first: Option<u32>,
    /// Packets that count, one bit each, set when answered.
    answered: Vec<u64>,
}

/// Counts packets and takes the times of their answers.
#[derive(Debug, Clone)]
pub struct Meter {
    span: Option<Span>,
    deadline_ns: u64,
    senders: Vec<Sender>,
    counts: Counts,
    windows: Vec<Window>,
    lateness: Histogram<u64>,
}

/// A histogram of times in nanoseconds; it grows as it must.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("so many digits are possible")
}

fn record(histogram: &mut Histogram<u64>, ns: u64) {
    histogram.record(ns).expect("it grows as it must");
}

impl Meter {
    /// Meter for `clients`; answers that take longer than `deadline_ns` are late.
    pub fn new(clients: usize, deadline_ns: u64) -> Meter {
        Meter {
            span: None,
            deadline_ns,
            senders: vec![Sender::default(); clients],
            counts: Counts::default(),
            windows: Vec::new(),
            lateness: histogram(),
        }
    }

    /// Says which packets count; those that were sent before do not.
    pub fn begin(&mut self, span: Span) {
        self.span = Some(span);
        self.windows = (0..span.windows()).map(|_| Window { sent: 0, latency: histogram() }).collect();
    }

    /// The number that [`Meter::next_number`] of `client` would return.
    pub fn upcoming_number(&self, client: usize) -> u32 {
        self.senders.get(client).map_or(0, |sender| sender.sent)
    }

    /// A number for the next packet of `client`, which is about to be sent.
    pub fn next_number(&mut self, client: usize) -> u32 {
        let Some(sender) = self.senders.get_mut(client) else { return 0 };
        let number = sender.sent;
        sender.sent = number.wrapping_add(1);
        number
    }

    /// `client` sent packet `number` at `now_ns`, which it should have done at `intended_ns`.
    pub fn sent(&mut self, client: usize, number: u32, intended_ns: u64, now_ns: u64) {
        let Some(sender) = self.senders.get_mut(client) else { return };
        let Some(span) = self.span.filter(|span| span.contains(intended_ns)) else { return };
        let place = number.wrapping_sub(*sender.first.get_or_insert(number)) as usize;
        if sender.answered.len() <= place / 64 {
            sender.answered.resize(place / 64 + 1, 0);
        }
        self.counts.sent += 1;
        if let Some(window) = self.windows.get_mut(span.window_of(intended_ns)) {
            window.sent += 1;
        }
        record(&mut self.lateness, now_ns.saturating_sub(intended_ns));
    }

    /// A packet that should have been sent at `intended_ns` was not, as the run was given up.
    pub fn unsent(&mut self, intended_ns: u64) {
        self.counts.unsent += u64::from(self.is_counted(intended_ns));
    }

    /// A packet that should have been sent at `intended_ns` was not, as the connection has ended.
    pub fn disconnected(&mut self, intended_ns: u64) {
        self.counts.disconnected += u64::from(self.is_counted(intended_ns));
    }

    fn is_counted(&self, intended_ns: u64) -> bool {
        self.span.is_some_and(|span| span.contains(intended_ns))
    }

    /// `client` received a packet at `now_ns`.
    pub fn received(&mut self, client: usize, packet: &[u8], now_ns: u64) {
        let Some(sender) = self.senders.get_mut(client) else { return };
        let stamp = Stamp::read(packet).filter(|stamp| stamp.number < sender.sent && stamp.intended_ns <= now_ns);
        let Some(stamp) = stamp else {
            self.counts.strange += 1;
            return;
        };
        let Some(span) = self.span.filter(|span| span.contains(stamp.intended_ns)) else { return };
        let place = sender.first.and_then(|first| stamp.number.checked_sub(first));
        let word = place.and_then(|place| Some((place % 64, sender.answered.get_mut(place as usize / 64)?)));
        let Some((bit, word)) = word else {
            self.counts.strange += 1;
            return;
        };
        if *word >> bit & 1 == 1 {
            self.counts.duplicates += 1;
            return;
        }
        *word |= 1 << bit;
        let took_ns = now_ns - stamp.intended_ns;
        if took_ns <= self.deadline_ns {
            self.counts.answered += 1;
        } else {
            self.counts.late += 1;
        }
        self.counts.answer_bytes += packet.len() as u64;
        if let Some(window) = self.windows.get_mut(span.window_of(stamp.intended_ns)) {
            record(&mut window.latency, took_ns);
        }
    }

    /// Packets that count and wait for their answer.
    pub fn outstanding(&self) -> u64 {
        self.counts.lost()
    }

    /// Counts of the load so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Windows of the load so far, by intended time of sending.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Delay of sent packets relative to their intended times, in nanoseconds.
    pub fn lateness(&self) -> &Histogram<u64> {
        &self.lateness
    }

    /// Takes in what another meter of the same span counted.
    pub fn merge(&mut self, other: &Meter) {
        self.counts.merge(&other.counts);
        if self.windows.is_empty() {
            self.windows.clone_from(&other.windows);
        } else {
            for (window, more) in self.windows.iter_mut().zip(&other.windows) {
                window.sent += more.sent;
                window.latency.add(&more.latency).expect("it grows as it must");
            }
        }
        self.lateness.add(&other.lateness).expect("it grows as it must");
    }

    /// Times to all answers, those that were late included.
    pub fn latency(&self) -> Histogram<u64> {
        let mut all = histogram();
        for window in &self.windows {
            all.add(&window.latency).expect("it grows as it must");
        }
        all
    }
}

#[cfg(test)]
mod tests;
