//! Values at the start of a process that are unlike the rest: caches fill, code is compiled, the clock speeds up.

use std::f64::consts::PI;

use crate::describe::quantile::{median, robust_deviation};

/// Fewer values a process than this show no pattern.
const VALUES_MIN: usize = 4;
/// A warm-up must stand out from the second half by this many standard errors, or noise would be called one.
const ERRORS_MIN: f64 = 4.0;
/// Smallest log ratio to the rest that is worth leaving a value out.
const DIFFERENCE_MIN: f64 = 0.02;
/// A warm-up is one in this many processes; a busy machine slows some of them at the start, too.
const PROCESSES_MIN: f64 = 0.75;

/// Number of warm-up values at the start of each process. They are kept in the file but not used for results.
///
/// `processes`: values of each process in order. At each place the median over the processes of ln(value / the process's
/// median) is taken, so that one disturbed process says nothing, and the cut is where the values after it have the
/// smallest standard error (MSER, White 1997), in the first half at most. Every place before it must stand out
/// from the second half by itself, by 2 % and more, and in most processes.
pub fn warmups(processes: &[Vec<f64>]) -> usize {
    let places = processes.iter().map(Vec::len).filter(|&values| values > 0).min().unwrap_or(0);
    if places < VALUES_MIN {
        return 0;
    }
    let relative = |values: &Vec<f64>| -> Option<Vec<f64>> {
        let centre = median(values)?;
        Some(
            values
                .iter()
                .map(|value| (value / centre).ln())
                .map(|log| if log.is_finite() { log } else { 0.0 })
                .collect(),
        )
    };
    let logs: Vec<Vec<f64>> = processes.iter().filter_map(relative).collect();
    let at_place = |place: usize| median(&logs.iter().map(|logs| logs[place]).collect::<Vec<_>>()).unwrap_or(0.0);
    let typical: Vec<f64> = (0..places).map(at_place).collect();
    let late: Vec<f64> = logs.iter().flat_map(|logs| &logs[logs.len() / 2..]).copied().collect();
    let (Some(centre), Some(deviation)) = (median(&late), robust_deviation(&late)) else { return 0 };
    // √(π/2): how much more the median of normal values spreads than their mean.
    let error = (PI / 2.0).sqrt() * deviation / (logs.len() as f64).sqrt();
    // Noise may move the cut past the last warm-up, so each place before it has to stand out by itself.
    let stands_out = |place: usize| {
        let away = typical[place] - centre;
        let alike = logs.iter().filter(|logs| (logs[place] - centre) * away > 0.0).count() as f64;
        away.abs() > (ERRORS_MIN * error).max(DIFFERENCE_MIN) && alike >= PROCESSES_MIN * logs.len() as f64
    };
    (0..smallest_error(&typical)).take_while(|&place| stands_out(place)).count()
}

/// The number of values cut off, up to half, that leaves the smallest Σ(x − mean)²/n².
fn smallest_error(typical: &[f64]) -> usize {
    let error = |cut: usize| {
        let rest = &typical[cut..];
        let n = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / n;
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n * n)
    };
    (0..=typical.len() / 2).min_by(|&a, &b| error(a).total_cmp(&error(b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::noise::normal;

    fn processes(count: usize, slow: &[f64], seed: &mut Seed) -> Vec<Vec<f64>> {
        let mut process = || {
            let own = 0.02 * normal(seed);
            (0..20).map(|at| (own + 0.005 * normal(seed) + slow.get(at).copied().unwrap_or(0.0)).exp()).collect()
        };
        (0..count).map(|_| process()).collect()
    }

    #[test]
    fn slow_values_at_the_start_are_found() {
        let mut seed = Seed::new(1);
        for slow in [&[0.5][..], &[0.5, 0.2, 0.1]] {
            let exact = (0..200).filter(|_| warmups(&processes(5, slow, &mut seed)) == slow.len()).count();
            assert!(exact >= 190, "{slow:?}: {exact} of 200");
        }
    }

    #[test]
    fn steady_values_are_seldom_cut() {
        let mut seed = Seed::new(2);
        let cut = (0..1000).filter(|_| warmups(&processes(5, &[], &mut seed)) > 0).count();
        assert!(cut <= 10, "{cut} of 1000");
    }

    #[test]
    fn few_values_have_no_warmups() {
        assert_eq!(warmups(&[vec![9.0, 1.0, 1.0]]), 0);
        assert_eq!(warmups(&[]), 0);
        assert_eq!(warmups(&[vec![], vec![]]), 0);
    }
}
