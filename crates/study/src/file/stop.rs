//! Stopping rules of sweeps: `stop = { when = "late_ticks > 1 %", then = "bisect", resolution = 2 }`.
#![deny(clippy::indexing_slicing)]

use super::filter::{Comparison, finite};

/// Condition that ends a sweep at its larger points.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// The metric that is watched, as a worker reports it.
    pub metric: String,
    /// Operator between the measured value and the limit.
    pub comparison: Comparison,
    /// Limit in the metric's own unit; 1 % is 0.01.
    pub limit: f64,
    /// Next step at the first point beyond the limit.
    pub then: Then,
    /// The condition as the study says it.
    pub text: String,
}

/// Next step at the first point beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Then {
    /// Points beyond the limit are skipped.
    Skip,
    /// No larger points are run, and the crossing is located between the last two points by bisection.
    Bisect {
        /// Until it is known this closely.
        resolution: Resolution,
        /// True if points are whole numbers.
        whole: bool,
        /// Points lie as far apart as ratios, not as distances.
        logarithmic: bool,
    },
}

/// Precision with which a crossing is located.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Resolution {
    /// Distance in the factor's unit.
    Distance(f64),
    /// Share of the lower point: 0.1 for 10 %.
    Share(f64),
}

/// Next step along a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Run this value of the swept factor.
    Run(f64),
    /// Nothing: the limit is crossed at or below `above`, and not yet at `below` if there is one.
    Crossed {
        /// The largest point within the limit.
        below: Option<f64>,
        /// The smallest point beyond the limit.
        above: f64,
    },
    /// Nothing: no point of the sweep lies beyond the limit.
    Within,
}

impl Stop {
    /// Reads the condition: a metric, a comparison and a number, with or without `%`.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str, then: Then) -> Result<Stop, &'static str> {
        let expected = "a metric, a comparison and a number, such as \"late_ticks > 1 %\"";
        let at = text.find(['<', '>']).ok_or(expected)?;
        let metric = text[..at].trim();
        let (comparison, rest) = Comparison::strip(&text[at..]).ok_or(expected)?;
        let (number, unit) = match rest.trim().strip_suffix('%') {
            Some(number) => (number.trim(), 100.0),
            None => (rest.trim(), 1.0),
        };
        let limit = finite(number).ok_or(expected)? / unit;
        if metric.is_empty() || metric.contains(char::is_whitespace) {
            return Err(expected);
        }
        Ok(Stop { metric: metric.to_owned(), comparison, limit, then, text: text.trim().to_owned() })
    }

    /// True when a point with this value of the metric lies beyond the limit.
    pub fn is_beyond(&self, value: f64) -> bool {
        value.partial_cmp(&self.limit).is_some_and(|ordering| self.comparison.holds(ordering))
    }

    /// Next step along a sweep, from the points that ran and whether each is beyond the limit.
    ///
    /// `sweep`: its points, ascending. `seen`: points that were run, in any order, and whether each lay
    /// beyond the limit; `None` for one that failed, which is passed over.
    pub fn next(&self, sweep: &[f64], seen: &[(f64, Option<bool>)]) -> Next {
        let beyond = seen.iter().filter(|(_, beyond)| *beyond == Some(true)).map(|(point, _)| *point);
        let Some(above) = beyond.min_by(f64::total_cmp) else {
            let new = sweep.iter().find(|&&point| !seen.iter().any(|(seen, _)| *seen == point));
            return new.map_or(Next::Within, |&point| Next::Run(point));
        };
        let within = seen.iter().filter(|(point, beyond)| *beyond == Some(false) && *point < above);
        let below = within.map(|(point, _)| *point).max_by(f64::total_cmp);
        let middle = below.and_then(|below| self.between(below, above));
        match middle.filter(|middle| !seen.iter().any(|(point, _)| point == middle)) {
            Some(middle) => Next::Run(middle),
            None => Next::Crossed { below, above },
        }
    }

    /// The point to try between two, unless they are close enough.
    fn between(&self, below: f64, above: f64) -> Option<f64> {
        let Then::Bisect { resolution, whole, logarithmic } = self.then else { return None };
        let enough = match resolution {
            Resolution::Distance(distance) => distance,
            Resolution::Share(share) => below.abs() * share,
        };
        if above - below <= enough {
            return None;
        }
        let middle =
            if logarithmic && below > 0.0 { below * (above / below).sqrt() } else { below + (above - below) / 2.0 };
        let middle = if whole { middle.round() } else { middle };
        (below < middle && middle < above).then_some(middle)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bisect(resolution: Resolution, logarithmic: bool) -> Stop {
        let then = Then::Bisect { resolution, whole: true, logarithmic };
        Stop::parse("late_ticks > 1 %", then).expect("it is a condition")
    }

    /// Follows a sweep over a server that is late from `limit` on.
    fn follow(stop: &Stop, sweep: &[f64], limit: f64) -> (Vec<f64>, Next) {
        let mut seen = Vec::new();
        loop {
            match stop.next(sweep, &seen) {
                Next::Run(point) => seen.push((point, Some(stop.is_beyond(if point >= limit { 0.02 } else { 0.01 })))),
                ended => return (seen.into_iter().map(|(point, _)| point).collect(), ended),
            }
        }
    }

    const SWEEP: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    #[test]
    fn larger_points_are_skipped_and_the_crossing_is_bisected() {
        let (ran, ended) = follow(&bisect(Resolution::Distance(1.0), false), &SWEEP, 11.0);
        assert_eq!(ran, [1.0, 2.0, 4.0, 8.0, 16.0, 12.0, 10.0, 11.0]);
        assert_eq!(ended, Next::Crossed { below: Some(10.0), above: 11.0 });
        let skip = Stop::parse("late_ticks > 0.01", Then::Skip).expect("it is a condition");
        assert_eq!(follow(&skip, &SWEEP, 11.0), (SWEEP[..5].to_vec(), Next::Crossed { below: Some(8.0), above: 16.0 }));
    }

    #[test]
    fn a_sweep_may_cross_at_its_first_point_or_never() {
        let stop = bisect(Resolution::Share(0.1), true);
        assert_eq!(follow(&stop, &SWEEP, 0.0), (vec![1.0], Next::Crossed { below: None, above: 1.0 }));
        assert_eq!(follow(&stop, &SWEEP, 99.0), (SWEEP.to_vec(), Next::Within));
    }

    #[test]
    fn a_point_that_failed_is_passed_over() {
        let stop = bisect(Resolution::Distance(1.0), false);
        assert_eq!(stop.next(&SWEEP, &[(1.0, None)]), Next::Run(2.0));
        let seen = [(8.0, Some(false)), (16.0, Some(true)), (12.0, None)];
        assert_eq!(stop.next(&SWEEP, &seen), Next::Crossed { below: Some(8.0), above: 16.0 });
    }

    #[test]
    fn a_condition_that_is_none_is_refused() {
        for wrong in ["", "late", "> 1", "late_ticks > many", "late ticks > 1", "late == 1", "late > 1 s"] {
            assert!(Stop::parse(wrong, Then::Skip).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_crossing_is_found_to_the_requested_resolution(limit in 2u32..100_000, logarithmic in any::<bool>()) {
            let sweep: Vec<f64> = (0..18).map(|power| f64::from(1u32 << power)).collect();
            let (ran, ended) = follow(&bisect(Resolution::Distance(1.0), logarithmic), &sweep, f64::from(limit));
            prop_assert_eq!(ended, Next::Crossed { below: Some(f64::from(limit - 1)), above: f64::from(limit) });
            prop_assert!(ran.len() < 60);
        }
    }
}
