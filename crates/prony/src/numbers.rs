//! Numbers as people read them.

use std::time::Duration;

/// `5213` as `5,213`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Three significant digits, without exponents: `0.142`, `26.0`, `183`, `9,240`.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    // Rounding may add a digit: 9.996 has three digits as 10.0.
    let rounded = (value * 10f64.powi(2 - magnitude)).round() / 10f64.powi(2 - magnitude);
    let magnitude = rounded.abs().log10().floor() as i32;
    if magnitude >= 3 && rounded > 0.0 {
        return thousands(rounded as u64);
    }
    format!("{rounded:.*}", usize::try_from(2 - magnitude).unwrap_or(0))
}

/// Bytes as `500MB` or `4GiB`.
///
/// # Errors
/// What is expected instead.
pub fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 9] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("B", 1),
    ];
    if text == "0" {
        return Ok(0);
    }
    let wrong = || "expected a number and a unit, such as 500MB or 4GiB".to_owned();
    let (number, unit) =
        UNITS.iter().find_map(|&(name, unit)| Some((text.strip_suffix(name)?, unit))).ok_or_else(wrong)?;
    let number: u64 = number.trim_end().parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(|| "expected a size below 16 EiB".to_owned())
}

/// `1.02 MB`, decimal as disks are sold.
pub fn bytes(number: u64) -> String {
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{} kB", significant(number as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", significant(number as f64 / 1e6)),
        _ => format!("{} GB", significant(number as f64 / 1e9)),
    }
}

/// `1 frame`, `2 frames`, `2 addresses`.
pub fn count(number: u64, what: &str) -> String {
    let plural = match (number, what.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {what}{plural}", thousands(number))
}

/// Nanoseconds of the Unix epoch as `2026-11-21 20:32:49 UTC`.
pub fn date(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days, for days from 1970 on.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day % 3600 / 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Reads `30s`, `500ms`, `1.5m`, `2h`.
///
/// # Errors
/// What was expected, for clap to print.
pub fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number and a unit (ms, s, m or h), such as 30s".to_owned();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(expected)?;
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(number * seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "expected a duration above zero".to_owned())
}

/// Median, lowest and highest of some values, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The lowest.
    pub min: f64,
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    /// The nearest-rank 99th percentile.
    pub p99: f64,
    /// The highest.
    pub max: f64,
    /// How many.
    pub n: usize,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let (&min, &max) = (values.first()?, values.last()?);
        let median = if n % 2 == 1 { values[n / 2] } else { f64::midpoint(values[n / 2 - 1], values[n / 2]) };
        let p99 = values[(n * 99).div_ceil(100) - 1];
        Some(Spread { min, median, p99, max, n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_mean_something() {
        let texts: Vec<String> =
            [0.0, 0.021, 0.1424, 2.9, 9.996, 26.0, 183.4, 9239.2, 1_234_567.0, -0.5].map(significant).to_vec();
        assert_eq!(texts, ["0", "0.0210", "0.142", "2.90", "10.0", "26.0", "183", "9,240", "1,230,000", "-0.500"]);
        assert_eq!(
            [thousands(0), thousands(999), thousands(5213), thousands(1_000_000)],
            ["0", "999", "5,213", "1,000,000"]
        );
        assert_eq!([bytes(12), bytes(1020), bytes(999_999_999)], ["12 B", "1.02 kB", "1,000 MB"]);
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        for wrong in ["30", "", "s", "0s", "-1s", "5 days", "infs"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_399_000_000_000), "2000-02-28 23:59:59 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_795_293_169_000_000_000), "2026-11-21 20:32:49 UTC");
    }

    #[test]
    fn the_spread_of_a_hundred_values_names_the_99th() {
        let spread = Spread::of((1..=100).map(f64::from)).expect("there are values");
        assert_eq!(spread, Spread { min: 1.0, median: 50.5, p99: 99.0, max: 100.0, n: 100 });
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4GiB"), Ok(4 << 30));
        assert_eq!(size("500 MB"), Ok(500_000_000));
        assert_eq!(size("0B"), Ok(0));
        for wrong in ["", "4", "GiB", "-1B", "1.5GB", "4gib", "99999999TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
