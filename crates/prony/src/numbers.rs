//! Numbers as people write them on a command line. `prony_text` writes numbers.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

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

/// A random number from the keys of a hash map, as a seed for runs without one.
pub fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn sizes_have_units() {
        assert_eq!(size("4GiB"), Ok(4 << 30));
        assert_eq!(size("500 MB"), Ok(500_000_000));
        assert_eq!(size("0B"), Ok(0));
        for wrong in ["", "4", "GiB", "-1B", "1.5GB", "4gib", "99999999TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
