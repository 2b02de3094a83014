use prony_stats::Interval;
use prony_stats::judge::{Judge, Look, Pair, Plan, Ratio};

use prony_text::signed;

use super::*;

#[test]
fn signs_are_minus_signs_and_zero_has_none() {
    let texts = [(-0.04, 1), (0.04, 1), (-1.26, 1), (1.26, 2), (0.0, 0)].map(|(value, digits)| signed(value, digits));
    assert_eq!(texts, ["0.0", "0.0", "−1.3", "+1.26", "0"]);
}

#[test]
fn commands_are_called_by_letters() {
    assert_eq!([0, 1, 25, 26, 63].map(letter), ["A", "B", "Z", "AA", "BL"]);
}

#[test]
fn an_interval_has_the_decimals_that_its_width_makes_sense_of() {
    let text = |estimate: f64, low: f64, high: f64| {
        let interval = Interval { estimate, low, high, confidence: 0.95, n: 9 };
        with_interval(&Quantity::of(estimate, "second"), &interval)
    };
    assert_eq!(text(0.0201, 0.02004, 0.02031), "20.10 ms [20.04, 20.31]");
    assert_eq!(text(2.0, 1.5, 2.7), "2.0 s [1.5, 2.7]");
    assert_eq!(text(31e-9, 30e-9, 33e-9), "31.0 ns [30.0, 33.0]");
    assert_eq!(text(0.5, f64::NEG_INFINITY, f64::INFINITY), "500 ms (no interval: 9 values, autocorrelated)");
}

/// Verdicts from pairs that never change: ratios around `centre`, as far apart as `spread`.
fn judged(centre: f64, spread: f64, pairs: u32) -> Outcome {
    let mut judge =
        Judge::new(Plan { alpha: 0.05, margin: 0.01_f64.ln_1p(), budget_s: 8.0, metric: None, tolerates: false });
    for pair in 0..pairs {
        // The golden ratio spreads them evenly.
        let place = (f64::from(pair) * 0.618_033_988_75).fract() - 0.5;
        // Half of it in either run, so that every pair met the same machine.
        let half = |scale: f64| (centre + spread * scale * place) / 2.0;
        let ratio = |scale: f64| Ratio::of(0.02 * (-half(scale)).exp(), 0.02 * half(scale).exp());
        judge.push(Pair { cpu: ratio(1.0), uncontended: Some(ratio(1.3)), wall: ratio(9.0), rss: None });
    }
    judge.interrupt(2.6)
}

#[test]
fn verdicts_read_as_a_person_would_say_them() {
    let said = [
        judged(0.01, 0.02, 186),
        judged(-0.01, 0.02, 186),
        judged(-0.001, 0.02, 186),
        judged(0.006, 0.1, 60),
        judged(0.006, 0.1, 3),
        judged(0.4, 0.1, 60),
    ]
    .map(|outcome| {
        let mut text = format!("{}\n", claim("B", &outcome, Judged::TIMES, 0.01_f64.ln_1p(), false));
        metrics(&mut text, &outcome, Judged::TIMES, &|_| None);
        text
    });
    insta::assert_snapshot!(said.join("\n"));
    let several = claim("C", &judged(-0.001, 0.02, 186), Judged::TIMES, 0.02_f64.ln_1p(), true).to_string();
    assert!(several.starts_with("C: same within ±2 %: "), "{several}");
}
