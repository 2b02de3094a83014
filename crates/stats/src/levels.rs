//! How often to repeat what: values in a process, processes, builds.
//!
//! Each level adds its own randomness, and one more repetition costs most at the top. What is known from a first
//! experiment says how many repetitions at each lower level are worth their time; the top level then takes what
//! is left. Source: Kalibera & Jones 2013, "Rigorous benchmarking in reasonable time", ISMM, sections 5 and 6.

use serde::Serialize;

use crate::distribution::student_quantile_above;
use crate::interval::Interval;

/// Nobody runs more.
const PROCESSES_MAX: usize = 1_000_000_000;

/// What a first experiment of two levels says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Components {
    /// Variance between values of one process.
    pub within: f64,
    /// Variance that processes add, without what the values within them contribute; 0 where that explains all.
    pub between: f64,
    /// Variance of the means of processes, of which the interval is made.
    pub of_means: f64,
    /// Mean of all values, each process with the same weight.
    pub mean: f64,
    /// Processes.
    pub processes: usize,
    /// Values of a process, their harmonic mean where processes differ.
    pub values: f64,
}

/// Splits the variance of values, warm-ups excluded, into that within and that between processes.
///
/// `None` under two processes, or when none has two values.
pub fn components(processes: &[Vec<f64>]) -> Option<Components> {
    let filled: Vec<&Vec<f64>> = processes.iter().filter(|values| !values.is_empty()).collect();
    let count = filled.len();
    let means: Vec<f64> = filled.iter().map(|values| values.iter().sum::<f64>() / values.len() as f64).collect();
    let freedom: usize = filled.iter().map(|values| values.len() - 1).sum();
    if count < 2 || freedom == 0 {
        return None;
    }
    let squares = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let within = filled.iter().zip(&means).map(|(values, &mean)| squares(values, mean)).sum::<f64>() / freedom as f64;
    let mean = means.iter().sum::<f64>() / count as f64;
    let of_means = squares(&means, mean) / (count - 1) as f64;
    let values = count as f64 / filled.iter().map(|values| 1.0 / values.len() as f64).sum::<f64>();
    Some(Components {
        within,
        between: (of_means - within / values).max(0.0),
        of_means,
        mean,
        processes: count,
        values,
    })
}

impl Components {
    /// Values a process that give the narrowest interval for the time, at least 1: √((c₂/c₁)·(within/between)).
    ///
    /// `process_s`: seconds that one more process costs before its first value, warm-ups included. `value_s`: seconds of
    /// one more value. With no variance between processes one process is as good as many, and `values_max` is returned.
    pub fn values_worth_taking(&self, process_s: f64, value_s: f64, values_max: usize) -> usize {
        let worth = (process_s / value_s * self.within / self.between).sqrt();
        if worth.is_finite() { (worth.ceil() as usize).clamp(1, values_max) } else { values_max.max(1) }
    }

    /// Processes until the interval's half width is `half_width` (in the unit of the values) at `level`, with `values` each.
    ///
    /// At least 3: two have no Student quantile to speak of.
    pub fn processes_needed(&self, values: usize, half_width: f64, level: f64) -> usize {
        let variance = self.between + self.within / values.max(1) as f64;
        let suffices = |processes: usize| {
            let t = student_quantile_above(level / 2.0, processes as f64 - 1.0);
            t * t * variance <= half_width * half_width * processes as f64
        };
        let mut high = 3;
        while !suffices(high) && high < PROCESSES_MAX {
            high *= 2;
        }
        let mut low = if high == 3 { 3 } else { high / 2 };
        while low < high {
            let middle = (low + high) / 2;
            if suffices(middle) { high = middle } else { low = middle + 1 }
        }
        high
    }

    /// The mean of all values with its interval at `level`: only the processes count as observations.
    pub fn interval(&self, level: f64) -> Interval {
        let n = self.processes;
        let half = student_quantile_above(level / 2.0, n as f64 - 1.0) * (self.of_means / n as f64).sqrt();
        Interval { estimate: self.mean, low: self.mean - half, high: self.mean + half, confidence: 1.0 - level, n }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::noise::normal;

    #[test]
    fn variance_is_split_as_in_the_analysis_of_variance() {
        // Means 2, 6, 10; within each ±1: mean square within 2, of means 16, so between 16 − 2/2.
        let found = components(&[vec![1.0, 3.0], vec![5.0, 7.0], vec![9.0, 11.0]]).expect("there are levels");
        assert_eq!((found.within, found.of_means, found.between, found.mean), (2.0, 16.0, 15.0, 6.0));
        assert_eq!(components(&[vec![1.0, 2.0]]), None);
        assert_eq!(components(&[vec![1.0], vec![2.0]]), None);
    }

    #[test]
    fn dear_processes_and_noisy_values_ask_for_more_values_each() {
        let found = Components { within: 4.0, between: 1.0, of_means: 2.0, mean: 10.0, processes: 10, values: 3.0 };
        // √(9 · 4) = 6.
        assert_eq!(found.values_worth_taking(0.9, 0.1, 100), 6);
        assert_eq!(found.values_worth_taking(0.9, 0.1, 4), 4);
        assert_eq!(Components { between: 0.0, ..found }.values_worth_taking(0.9, 0.1, 50), 50);
        assert_eq!(Components { within: 0.0, ..found }.values_worth_taking(0.9, 0.1, 50), 1);
        // Variance 1 + 4/4 = 2: 1.96² · 2 / 0.5² = 30.7; Student's 2.03 at 33 degrees of freedom makes it 34.
        assert_eq!(found.processes_needed(4, 0.5, 0.05), 34);
    }

    #[test]
    fn the_mean_is_held_as_often_as_stated() {
        let mut seed = Seed::new(3);
        let missed = (0..2000).filter(|_| {
            let processes: Vec<Vec<f64>> = (0..8)
                .map(|_| {
                    let own = normal(&mut seed);
                    (0..5).map(|_| own + normal(&mut seed)).collect()
                })
                .collect();
            components(&processes).expect("there are levels").interval(0.05).excludes(0.0)
        });
        let missed = missed.count();
        assert!((70..=131).contains(&missed), "{missed} of 2000");
    }
}
