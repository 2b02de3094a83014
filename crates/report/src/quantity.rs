//! Numbers with their units, as people read them.

/// The unit in which values of about one size are shown.
#[derive(Debug, Clone)]
pub struct Quantity {
    factor: f64,
    unit: String,
}

impl Quantity {
    /// For values around `typical`, which are of `unit`: `second` is shown as s, ms, µs or ns, others with decimal prefixes.
    pub fn of(typical: f64, unit: &str) -> Quantity {
        let size = typical.abs();
        let (factor, unit) = match unit {
            "second" | "s" => match size {
                size if size >= 1.0 || size == 0.0 => (1.0, "s"),
                size if size >= 1e-3 => (1e3, "ms"),
                size if size >= 1e-6 => (1e6, "µs"),
                _ => (1e9, "ns"),
            },
            "byte" => match size {
                size if size >= 1e9 => (1e-9, "GB"),
                size if size >= 1e6 => (1e-6, "MB"),
                size if size >= 1e3 => (1e-3, "kB"),
                _ => (1.0, "bytes"),
            },
            // Prefixes stand before units that are letters, without a space.
            "B/s" | "Hz" => {
                let (factor, prefix) = match size {
                    size if size >= 1e9 => (1e-9, "G"),
                    size if size >= 1e6 => (1e-6, "M"),
                    size if size >= 1e3 => (1e-3, "k"),
                    _ => (1.0, ""),
                };
                return Quantity { factor, unit: format!("{prefix}{unit}") };
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
        significant(value * self.factor, 3)
    }

    /// A value with its unit.
    pub fn value(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.unit).trim_end().to_owned()
    }

    /// A value for an axis: no digits that say nothing.
    pub fn tick(&self, value: f64) -> String {
        plain(value * self.factor)
    }
}

/// So many significant digits, without exponents: `0.142`, `26.0`, `183`, `9,240`.
pub fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-12..=15).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let decimals = usize::try_from(digits - 1 - magnitude).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    // Rounding may add a digit: 9.996 has three digits as 10.0.
    let grown = text.parse::<f64>().map_or(magnitude, |rounded| rounded.abs().log10().floor() as i32);
    let decimals = usize::try_from(digits - 1 - grown).unwrap_or(0);
    grouped(&format!("{value:.decimals$}"))
}

/// At most four significant digits, zeros at the end left out: for axes.
pub fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-9..=12).contains(&magnitude) {
        return format!("{value:e}");
    }
    let decimals = usize::try_from(3 - magnitude).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => grouped(&text),
    }
}

/// `5213` as `5,213`.
pub fn thousands(number: usize) -> String {
    grouped(&number.to_string())
}

/// Commas between groups of three digits of the whole part, from ten thousand on and above.
fn grouped(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, decimals) = rest.split_once('.').map_or((rest, None), |(whole, decimals)| (whole, Some(decimals)));
    let mut out = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(decimals) = decimals {
        out.push('.');
        out.push_str(decimals);
    }
    out
}

/// With its sign, and never as −0.0.
pub fn signed(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let is_zero = text.chars().all(|letter| matches!(letter, '0' | '.'));
    match (is_zero, value < 0.0) {
        (true, _) => text,
        (_, true) => format!("−{text}"),
        (_, false) => format!("+{text}"),
    }
}

/// A change in per cent with its sign: one decimal below ten per cent, two below one.
pub fn percent(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let digits = match value.abs() {
        size if size < 0.995 => 2,
        size if size < 9.95 => 1,
        _ => 0,
    };
    format!("{} %", signed(value, digits))
}

/// `1 cell`, `2 cells`, `1,000 cells`.
pub fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", thousands(number))
}

/// How long something takes, roughly: `12 s`, `3.5 min`, `2.1 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{} s", significant(seconds, 2)),
        seconds if seconds < 5400.0 => format!("{} min", significant(seconds / 60.0, 2)),
        seconds => format!("{} h", significant(seconds / 3600.0, 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_mean_something() {
        let texts = [0.0, 0.14159, 9.996, 26.04, 183.4, 9240.2, 123456.0, -1234.0].map(|value| significant(value, 3));
        assert_eq!(texts, ["0", "0.142", "10.0", "26.0", "183", "9,240", "123,456", "−1,234"]);
    }

    #[test]
    fn a_change_in_per_cent_has_its_sign_and_never_a_negative_zero() {
        assert_eq!([91.4, -3.26, 0.204, -0.0001].map(percent), ["+91 %", "−3.3 %", "+0.20 %", "0.00 %"]);
    }

    #[test]
    fn seconds_and_bytes_are_shown_in_a_fitting_unit() {
        assert_eq!(Quantity::of(0.0042, "second").value(0.00421), "4.21 ms");
        assert_eq!(Quantity::of(2.0e6, "byte").value(1.5e6), "1.50 MB");
        assert_eq!(Quantity::of(1.7e10, "B/s").value(1.7e10), "17.0 GB/s");
        assert_eq!(Quantity::of(3.25e9, "Hz").value(3.25e9), "3.25 GHz");
        assert_eq!(Quantity::of(3.0, "integer").value(3.0), "3.00");
        assert_eq!(Quantity::of(3.0, "requests/s").value(3.0), "3.00 requests/s");
        assert_eq!(Quantity::of(3e5, "packets/s").value(1.2e6), "1,200 k packets/s");
    }
}
