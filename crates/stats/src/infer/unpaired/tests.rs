use super::*;
use crate::Seed;
use crate::noise::{normal, uniform};

/// Logs of processes in a row: spread 1, each like the one before by `phi`, a tenth of them far out.
fn processes(n: usize, phi: f64, far_out: bool, seed: &mut Seed) -> Vec<f64> {
    let mut state = normal(seed);
    let mut next = || {
        state = phi * state + (1.0 - phi * phi).sqrt() * normal(seed);
        state + if far_out && uniform(seed) < 0.1 { -10.0 * uniform(seed).ln() } else { 0.0 }
    };
    (0..n).map(|_| next()).collect()
}

/// Share of comparisons of equal samples whose interval misses 0; the second sample is `spread` times as noisy.
fn missed((m, n): (usize, usize), spread: f64, phi: f64, far_out: bool) -> f64 {
    const COMPARISONS: u64 = 1000;
    let misses = (0..COMPARISONS).filter(|&at| {
        let mut seed = Seed::new(at);
        let a = processes(m, phi, far_out, &mut seed);
        let b: Vec<f64> =
            processes(n, phi, far_out && spread == 1.0, &mut seed).iter().map(|log| spread * log).collect();
        Shift::between(&a, &b).expect("both have values").interval(0.05).excludes(0.0)
    });
    misses.count() as f64 / COMPARISONS as f64
}

#[test]
fn equal_samples_are_told_apart_as_seldom_as_promised() {
    // 5 % and three standard errors of a thousand comparisons.
    const LIMIT: f64 = 0.071;
    for sizes in [(5, 5), (10, 10), (20, 20), (40, 10), (100, 100)] {
        for (spread, far_out) in [(1.0, false), (1.0, true), (3.0, false)] {
            let share = missed(sizes, spread, 0.0, far_out);
            assert!(share <= LIMIT, "{sizes:?} × {spread}, far out {far_out}: {share}");
        }
        assert!(missed(sizes, 1.0, 0.6, false) <= LIMIT, "{sizes:?}, like the last");
    }
    assert!(missed((100, 100), 1.0, 0.9, false) <= LIMIT);
}

#[test]
fn values_of_one_process_count_once() {
    // Each process has its own 1 %, its ten values differ by a tenth of that. A t test of the pooled values would find
    // a difference nearly always.
    let mut seed = Seed::new(7);
    let mut found = 0;
    for _ in 0..300 {
        let mut sample = || -> Vec<Vec<f64>> {
            let process = |seed: &mut Seed| {
                let own = 0.01 * normal(seed);
                (0..10).map(|_| (own + 0.001 * normal(seed)).exp()).collect()
            };
            (0..10).map(|_| process(&mut seed)).collect()
        };
        let (a, b) = (sample(), sample());
        let comparison = compare(&a, &b, 0.05, 0.01).expect("there are values");
        assert_eq!((comparison.a.processes, comparison.a.values), (10, 100));
        found += usize::from(comparison.interval.excludes(0.0));
    }
    assert!(found <= 27, "{found} of 300");
}

#[test]
fn a_difference_has_a_direction_and_a_size() {
    let sample = |factor: f64| -> Vec<Vec<f64>> {
        (0..20).map(|process| vec![factor * (1.0 + 0.001 * f64::from((process * 7) % 20)); 3]).collect()
    };
    let (a, b) = (sample(1.0), sample(1.05));
    let slower = compare(&a, &b, 0.05, 0.01).expect("there are values");
    assert_eq!(slower.verdict, Verdict::Slower);
    assert!((slower.interval.estimate - 1.05f64.ln()).abs() < 1e-3, "{:?}", slower.interval);
    assert_eq!(compare(&b, &a, 0.05, 0.01).expect("there are values").verdict, Verdict::Faster);
    assert_eq!(compare(&a, &a, 0.05, 0.02).expect("there are values").verdict, Verdict::Same);
    assert_eq!(slower.clone().tolerating(1.0).verdict, Verdict::Same);
    assert_eq!(slower.clone().tolerating(slower.interval.estimate * 1.001).verdict, Verdict::Unclear);
    assert_eq!(slower.clone().tolerating(slower.interval.estimate * 0.999).verdict, Verdict::Slower);
    assert_eq!(compare(&a, &[], 0.05, 0.02), None);
    assert_eq!(compare(&a, &[vec![0.0, f64::NAN]], 0.05, 0.02), None);
}

#[test]
fn a_single_process_is_named() {
    let values = vec![(1..30).map(|at| 1.0 + 0.001 * f64::from(at % 7)).collect::<Vec<f64>>()];
    let comparison = compare(&values, &values, 0.05, 0.01).expect("there are values");
    assert_eq!((comparison.a.processes, comparison.a.values), (1, 29));
    assert_eq!(comparison.verdict, Verdict::Same);
}
