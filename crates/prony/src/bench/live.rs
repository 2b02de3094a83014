//! The line that is written over and over while a bench runs.

use std::time::{Duration, Instant};

use prony_bench::{Event, Round};
use prony_stats::Interval;
use prony_text::{Quantity, count};

use prony_report::change::change;
use prony_report::words::with_interval;

/// A line changes no faster than it can be read, and its writing must not disturb what is measured.
const EVERY: Duration = Duration::from_millis(100);
/// Cells of the bar on either side of zero.
const HALF_BAR: usize = 10;

/// State of the live display: the lines shown and when.
#[derive(Debug)]
pub struct Live {
    last: Option<Instant>,
}

impl Live {
    /// Display that shows nothing yet.
    pub fn new() -> Live {
        Live { last: None }
    }

    /// The line, when it is time for another one.
    pub fn text(&mut self, event: &Event, subjects: usize, margin: f64) -> Option<String> {
        if self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return None;
        }
        self.last = Some(Instant::now());
        Some(match event {
            Event::WarmingUp | Event::Stretched(..) | Event::Long(..) | Event::Diverged(_) => "warming up".to_owned(),
            Event::Profiling(replays) => format!("profiling: {} of each build", count(*replays as u64, "replay")),
            Event::Round(round, _) => line(round, subjects, margin),
        })
    }
}

/// `93 pairs  B −0.3 % [−1.2, +0.8]  ·····├──●┼─┤···  contention 12 %  5.1 s left`
fn line(round: &Round, subjects: usize, margin: f64) -> String {
    let unit = if subjects == 1 { "run" } else { "pair" };
    let mut parts = vec![match round.rounds_wanted {
        Some(wanted) => format!("{} of {wanted} {unit}s", round.rounds),
        None => count(round.rounds as u64, unit),
    }];
    if let Some(live) = round.live.filter(|live| live.low.is_finite() && live.high.is_finite()) {
        if subjects == 1 {
            parts.push(with_interval(&Quantity::of(live.estimate, "second"), &live));
        } else {
            parts.push(format!("B {}", change(&live)));
            parts.push(bar(&live, margin));
        }
    }
    if let Some(contention) = round.contention {
        parts.push(format!("contention {:.0} %", contention * 100.0));
    }
    if round.rounds_wanted.is_none() {
        parts.push(format!("{:.1} s left", (round.budget_s - round.elapsed_s).max(0.0)));
    }
    parts.join("  ")
}

/// An interval around zero; the bar reaches three margins to either side.
fn bar(interval: &Interval, margin: f64) -> String {
    let cell = |value: f64| {
        let cells = (value / (3.0 * margin) * HALF_BAR as f64).round();
        (cells.clamp(-(HALF_BAR as f64), HALF_BAR as f64) + HALF_BAR as f64) as usize
    };
    let (low, middle, high) = (cell(interval.low), cell(interval.estimate), cell(interval.high));
    let letter = |at: usize| match at {
        _ if at == middle => '●',
        HALF_BAR => '┼',
        _ if at == low => '├',
        _ if at == high => '┤',
        _ if at > low && at < high => '─',
        _ => '·',
    };
    (0..=2 * HALF_BAR).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(estimate: f64, low: f64, high: f64) -> Interval {
        Interval { estimate, low, high, confidence: 0.95, n: 93 }
    }

    #[test]
    fn the_line_shows_pairs_interval_contention_and_time() {
        let round = Round {
            duet_taken: false,
            rounds: 93,
            rounds_wanted: None,
            elapsed_s: 2.9,
            budget_s: 8.0,
            live: Some(interval(-0.003, -0.012, 0.008)),
            contention: Some(0.12),
        };
        assert_eq!(
            line(&round, 2, 0.01),
            "93 pairs  B −0.3 % [−1.2, +0.8]  ······├──●┼──┤·······  contention 12 %  5.1 s left"
        );
        let alone = Round { live: Some(interval(0.0201, 0.02, 0.0203)), rounds_wanted: Some(200), ..round };
        assert_eq!(line(&alone, 1, 0.01), "93 of 200 runs  20.10 ms [20.00, 20.30]  contention 12 %");
        let early = Round { rounds: 1, live: Some(interval(0.0, f64::NEG_INFINITY, f64::INFINITY)), ..round };
        assert_eq!(line(&early, 2, 0.01), "1 pair  contention 12 %  5.1 s left");
    }

    #[test]
    fn a_bar_ends_where_there_is_no_more_room() {
        assert_eq!(bar(&interval(0.5, 0.1, 0.9), 0.01), "··········┼·········●");
        assert_eq!(bar(&interval(0.0, -0.5, 0.5), 0.01), "├─────────●─────────┤");
    }
}
