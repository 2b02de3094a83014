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
        Scale::of(estimate, "second").interval(&interval)
    };
    assert_eq!(text(0.0201, 0.02004, 0.02031), "20.10 ms [20.04, 20.31]");
    assert_eq!(text(2.0, 1.5, 2.7), "2.0 s [1.5, 2.7]");
    assert_eq!(text(31e-9, 30e-9, 33e-9), "31.0 ns [30.0, 33.0]");
    assert_eq!(text(0.5, f64::NEG_INFINITY, f64::INFINITY), "500 ms (too few for an interval)");
}
