//! Numbers together with their units.

use crate::number::{fixed, plain, signed, significant};

/// The unit in which values of about one size are shown.
#[derive(Debug, Clone)]
pub struct Quantity {
    factor: f64,
    unit: String,
}

impl Quantity {
    /// Quantity for values around `typical`, which are of `unit`: `second` is shown as s, ms, µs or ns, others with
    /// decimal prefixes.
    pub fn of(typical: f64, unit: &str) -> Quantity {
        let size = typical.abs();
        let (factor, unit) = match unit {
            "second" | "s" => match size {
                size if size >= 1.0 || size == 0.0 => (1.0, "s"),
                size if size >= 1e-3 => (1e3, "ms"),
                size if size >= 1e-6 => (1e6, "µs"),
                _ => (1e9, "ns"),
            },
            // Prefixes stand before units that are letters, without a space.
            "byte" | "B/s" | "Hz" => {
                let (factor, prefix) = match size {
                    size if size >= 1e9 => (1e-9, "G"),
                    size if size >= 1e6 => (1e-6, "M"),
                    size if size >= 1e3 => (1e-3, "k"),
                    _ => (1.0, ""),
                };
                let letters = if unit == "byte" { "B" } else { unit };
                return Quantity { factor, unit: format!("{prefix}{letters}") };
            }
            other => {
                let (factor, prefix) = match size {
                    size if size >= 1e9 => (1e-9, "G"),
                    size if size >= 1e6 => (1e-6, "M"),
                    size if size >= 1e4 => (1e-3, "k"),
                    _ => (1.0, ""),
                };
                let other = if other == "integer" { "" } else { other };
                return Quantity { factor, unit: format!("{prefix} {other}").trim().to_owned() };
            }
        };
        Quantity { factor, unit: unit.to_owned() }
    }

    /// The name of the unit, empty for plain numbers.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// Three significant digits, without the unit.
    pub fn number(&self, value: f64) -> String {
        match self.unit.as_str() {
            "B" => fixed(value, 0),
            _ => significant(value * self.factor),
        }
    }

    /// A value with its unit.
    pub fn value(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.unit).trim_end().to_owned()
    }

    /// A value for an axis: no digits that say nothing.
    pub fn tick(&self, value: f64) -> String {
        plain(value * self.factor)
    }

    /// `20.13 ms [20.05, 20.31]`: as many decimals as the width of the interval makes sense of.
    ///
    /// None if an end of the interval is not known.
    pub fn interval(&self, estimate: f64, low: f64, high: f64) -> Option<String> {
        self.bounded([estimate, low, high], fixed)
    }

    /// `+0.13 ms [+0.05, +0.31]`: the interval of a difference, as [`Quantity::interval`] shows others.
    pub fn signed_interval(&self, estimate: f64, low: f64, high: f64) -> Option<String> {
        self.bounded([estimate, low, high], signed)
    }

    fn bounded(&self, [estimate, low, high]: [f64; 3], number: fn(f64, usize) -> String) -> Option<String> {
        let width = (high - low) * self.factor;
        if !width.is_finite() {
            return None;
        }
        let decimals = if width > 0.0 { (1.0 - width.log10().floor()).clamp(0.0, 4.0) as usize } else { 2 };
        let [estimate, low, high] = [estimate, low, high].map(|value| number(value * self.factor, decimals));
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        Some(format!("{estimate}{unit} [{low}, {high}]"))
    }
}

/// A value in the unit that suits it alone: `56.0 ns`, `4.74 ms`.
pub fn quantity(value: f64, unit: &str) -> String {
    Quantity::of(value, unit).value(value)
}

/// Size in decimal units, as disks are sold: `1.02 MB`.
pub fn bytes(number: u64) -> String {
    quantity(number as f64, "byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_a_fitting_unit() {
        assert_eq!([bytes(12), bytes(1020), bytes(999_999_999)], ["12 B", "1.02 kB", "1,000 MB"]);
    }

    #[test]
    fn a_difference_has_its_signs() {
        let of = |estimate, low, high| Quantity::of(2e-5, "second").signed_interval(estimate, low, high);
        assert_eq!(of(6.8e-6, 6.12e-6, 7.41e-6).as_deref(), Some("+6.8 µs [+6.1, +7.4]"));
        assert_eq!(of(-1e-7, -3.04e-7, 1e-7).as_deref(), Some("−0.10 µs [−0.30, +0.10]"));
        assert_eq!(of(1e-6, f64::NEG_INFINITY, 2e-6), None);
    }

    #[test]
    fn values_are_shown_in_a_fitting_unit() {
        let shown = [
            (0.00421, "second", "4.21 ms"),
            (3.71e-9, "second", "3.71 ns"),
            (1.5e6, "byte", "1.50 MB"),
            (12.0, "byte", "12 B"),
            (1.7e10, "B/s", "17.0 GB/s"),
            (3.25e9, "Hz", "3.25 GHz"),
            (3.0, "integer", "3.00"),
            (3.0, "requests/s", "3.00 requests/s"),
            (1.004, "cycles", "1.00 cycles"),
            (6.9e7, "datagrams/s", "69.0 M datagrams/s"),
        ];
        for (value, unit, text) in shown {
            assert_eq!(Quantity::of(value, unit).value(value), text);
        }
        assert_eq!(Quantity::of(3e5, "packets/s").value(1.2e6), "1,200 k packets/s");
    }

    #[test]
    fn an_interval_has_the_decimals_that_its_width_makes_sense_of() {
        let interval = |estimate: f64, low, high| Quantity::of(estimate, "second").interval(estimate, low, high);
        assert_eq!(interval(0.020_13, 0.020_05, 0.020_31).as_deref(), Some("20.13 ms [20.05, 20.31]"));
        assert_eq!(interval(1.5, 1.5, 1.5).as_deref(), Some("1.50 s [1.50, 1.50]"));
        assert_eq!(interval(1.5, f64::NEG_INFINITY, f64::INFINITY), None);
    }
}
