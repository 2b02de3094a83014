//! Serial correlation: consecutive values are worth less than as many independent ones.

/// Correlation of values with those `lag` later; `None` when there are not more than `lag` or all are equal.
pub fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    let centred = centred(values);
    let variance = products(&centred, 0);
    (values.len() > lag && variance > 0.0).then(|| products(&centred, lag) / variance)
}

/// Number of consecutive values that are worth one independent value, at least 1: τ = 1 + 2 Σ ρ(lag).
///
/// `series` are stretches of values that hang together in the same way, such as the two samples of a comparison; what
/// they say of ρ is pooled. The sum ends where two neighbouring lags together are no longer positive (Geyer 1992, initial
/// monotone sequence). Taking the mean from the values themselves lowers every ρ by about τ/n, so that much is given back
/// (Kendall 1954). 1 where the correlation with the next value is below its standard error, 1/√n: what would be
/// added there is noise, and short samples would pay for it with intervals half as wide again.
pub fn correlation_time(series: &[&[f64]]) -> f64 {
    let centred: Vec<Vec<f64>> = series.iter().map(|values| centred(values)).collect();
    let count: usize = series.iter().map(|values| values.len()).sum();
    let longest = series.iter().map(|values| values.len()).max().unwrap_or(0);
    let n = count as f64 / series.len().max(1) as f64;
    let sum_at = |lag: usize| -> f64 { centred.iter().map(|values| products(values, lag)).sum() };
    let variance = sum_at(0);
    if longest < 4 || variance <= 0.0 {
        return 1.0;
    }
    let next = sum_at(1) / variance;
    if next + 1.0 / n < 1.0 / (count as f64).sqrt() {
        return 1.0;
    }
    // Far lags carry noise only. The sum ends long before, so each is computed when it is added.
    let pairs = longest.min(LAGS_MAX) / 2;
    let mut known = vec![1.0 + next];
    let mut time = 1.0;
    for _ in 0..3 {
        let pair_at = |pair: usize| {
            if pair == known.len() && pair < pairs {
                known.push((sum_at(2 * pair) + sum_at(2 * pair + 1)) / variance);
            }
            known.get(pair).copied()
        };
        time = time_of(pair_at, time / n).clamp(1.0, n);
    }
    time
}

/// Lags that are looked at; a correlation that reaches farther needs more values than anybody takes.
const LAGS_MAX: usize = 500;

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

fn products(centred: &[f64], lag: usize) -> f64 {
    centred.iter().zip(centred.get(lag..).unwrap_or_default()).map(|(value, later)| value * later).sum()
}

/// 1 + 2 Σ ρ(lag) over pairs of lags (0, 1), (2, 3), … while their sums, which `pair_at` has, are positive and do not grow.
fn time_of(pair_at: impl FnMut(usize) -> Option<f64>, given_back: f64) -> f64 {
    let mut pairs_sum = 0.0;
    let mut previous = f64::INFINITY;
    for (at, pair) in (0..).map_while(pair_at).enumerate() {
        let given_back = if at == 0 { given_back } else { 2.0 * given_back };
        let sum = (pair + given_back).min(previous);
        if sum <= 0.0 {
            break;
        }
        pairs_sum += sum;
        previous = sum;
    }
    2.0 * pairs_sum - 1.0
}

/// Correlation with the next value where it is more than chance explains, 1.96/√n; `None` below 10 values.
///
/// Source: Box & Jenkins 1976, 2.1.6.
pub fn follows_the_last(values: &[f64]) -> Option<f64> {
    let correlation = autocorrelation(values, 1).filter(|_| values.len() >= 10)?;
    (correlation > 1.96 / (values.len() as f64).sqrt()).then_some(correlation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::noise::normal;

    fn series(n: usize, phi: f64, seed: &mut Seed) -> Vec<f64> {
        let mut state = normal(seed);
        let mut next = || {
            state = phi * state + (1.0 - phi * phi).sqrt() * normal(seed);
            state
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn values_that_follow_the_last_are_worth_less() {
        // (1 + φ)/(1 − φ): 1, 4 and 19.
        for (phi, low, high) in [(0.0, 1.0, 1.3), (0.6, 3.2, 4.8), (0.9, 14.0, 24.0)] {
            let mut seed = Seed::new(11);
            let times: Vec<f64> = (0..50).map(|_| correlation_time(&[&series(2000, phi, &mut seed)])).collect();
            let mean = times.iter().sum::<f64>() / 50.0;
            assert!((low..high).contains(&mean), "φ = {phi}: {mean}");
        }
    }

    #[test]
    fn correlation_is_named_when_it_is_more_than_chance() {
        let mut seed = Seed::new(12);
        assert!(follows_the_last(&series(100, 0.6, &mut seed)).is_some());
        let found = (0..400).filter(|_| follows_the_last(&series(100, 0.0, &mut seed)).is_some()).count();
        assert!(found <= 20, "{found} of 400");
        assert_eq!(autocorrelation(&[1.0, 1.0, 1.0], 1), None);
        assert_eq!(autocorrelation(&[1.0], 1), None);
        assert_eq!(correlation_time(&[]), 1.0);
    }
}
