//! Allocation of repetitions: values in a process, processes, builds.
//!
//! Each level adds its own randomness, and one more repetition costs most at the top. What is known from a first
//! experiment says how many repetitions at each lower level are worth their time; the top level then takes what
//! is left. Source: Kalibera & Jones 2013, "Rigorous benchmarking in reasonable time", ISMM, sections 5 and 6.

/// Variance components from a first experiment of two levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Components {
    /// Variance between values of one process.
    pub within: f64,
    /// Variance that processes add, without what the values within them contribute; 0 where that explains all.
    pub between: f64,
    /// Standard error of `between`, as of normal values: few processes tell little of how processes differ.
    pub between_error: f64,
    /// Mean of all values, each process with the same weight.
    pub mean: f64,
}

/// Values a process that give the narrowest interval for the time, at least 1: √((c₂/c₁)·(within/between)).
///
/// `within`, `between`: variances as of [`Components`]. `process_s`: seconds that one more process costs before its first
/// value, warm-ups included. `value_s`: seconds of one more value. With no variance between processes one process is as
/// good as many, and `values_max` is returned.
pub fn values_worth_taking(within: f64, between: f64, process_s: f64, value_s: f64, values_max: usize) -> usize {
    let worth = (process_s / value_s * within / between).sqrt();
    if worth.is_finite() { (worth.ceil() as usize).clamp(1, values_max) } else { values_max.max(1) }
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
        between_error: (2.0 / (count - 1) as f64).sqrt() * of_means,
        mean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variance_is_split_as_in_the_analysis_of_variance() {
        // Means 2, 6, 10; within each ±1: mean square within 2, of means 16, so between 16 − 2/2.
        let found = components(&[vec![1.0, 3.0], vec![5.0, 7.0], vec![9.0, 11.0]]).expect("there are levels");
        assert_eq!(found, Components { within: 2.0, between: 15.0, between_error: 16.0, mean: 6.0 });
        assert_eq!(components(&[vec![1.0, 2.0]]), None);
        assert_eq!(components(&[vec![1.0], vec![2.0]]), None);
    }

    #[test]
    fn dear_processes_and_noisy_values_ask_for_more_values_each() {
        // √(9 · 4) = 6.
        assert_eq!(values_worth_taking(4.0, 1.0, 0.9, 0.1, 100), 6);
        assert_eq!(values_worth_taking(4.0, 1.0, 0.9, 0.1, 4), 4);
        assert_eq!(values_worth_taking(4.0, 0.0, 0.9, 0.1, 50), 50);
        assert_eq!(values_worth_taking(0.0, 1.0, 0.9, 0.1, 50), 1);
    }
}
