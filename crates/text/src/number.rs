//! Numbers as people read them: the same on a terminal and on a page.

/// A whole number with commas between groups of three digits: `5,213`.
///
/// A number above `u64::MAX` is shown as that.
pub fn thousands(number: impl TryInto<u64>) -> String {
    grouped(&number.try_into().unwrap_or(u64::MAX).to_string())
}

/// Three significant digits, without exponents: `0.142`, `26.0`, `183`, `9,240`, `−0.500`; `–` for what is not a number.
pub fn significant(value: f64) -> String {
    rounded(value, 3)
}

/// Number with this many significant digits (1 to 15), without exponents between 1e-12 and 1e15.
pub fn rounded(value: f64, digits: u32) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // The formatter rounds correctly, in the decimal that is shown; 9.996 has three digits as 1.00e1.
    let after_point = digits.clamp(1, 15) as usize - 1;
    let scientific = format!("{value:.after_point$e}");
    let exponent: i32 = scientific.rsplit_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if !(-12..=15).contains(&exponent) {
        return with_sign(&scientific);
    }
    let decimals = usize::try_from(after_point as i32 - exponent).unwrap_or(0);
    // Whole numbers of more digits than wanted: the formatter gives their leading digits, and zeros follow.
    let shown: f64 = scientific.parse().unwrap_or(value);
    fixed(shown, decimals)
}

/// Number with this many decimals, grouped, with a minus sign if it is negative: `1,234.50`.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    grouped(&format!("{value:.decimals$}"))
}

/// Number with at most four significant digits, without zeros at the end: for axes and for numbers that people chose.
pub fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-9..=12).contains(&magnitude) {
        return with_sign(&format!("{value:e}"));
    }
    let text = fixed(value, usize::try_from(3 - magnitude).unwrap_or(0));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Number with its sign, `+` included, and never as −0.0.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value.abs(), decimals);
    let is_zero = text.chars().all(|letter| matches!(letter, '0' | '.'));
    match (is_zero, value < 0.0) {
        (true, _) => text,
        (_, true) => format!("−{text}"),
        (_, false) => format!("+{text}"),
    }
}

/// A number of things: `1 cell`, `2 cells`, `1,000 addresses`. `what` is in the singular.
pub fn count(number: impl TryInto<u64>, what: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = match number {
        1 => "",
        _ if ["s", "x", "ch", "sh"].iter().any(|end| what.ends_with(end)) => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", thousands(number))
}

/// Duration to two digits: `12 s`, `3.5 min`, `2.1 h`, `3.0 days`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{} s", rounded(seconds, 2)),
        ..5400.0 => format!("{} min", rounded(seconds / 60.0, 2)),
        ..172_800.0 => format!("{} h", rounded(seconds / 3600.0, 2)),
        _ => format!("{} days", rounded(seconds / 86_400.0, 2)),
    }
}

/// Commas between groups of three digits of the whole part, and a minus sign in place of a hyphen.
fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("−", digits));
    let (whole, decimals) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::with_capacity(text.len() + whole.len() / 3 + 2);
    out.push_str(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(decimals);
    out
}

fn with_sign(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_mean_something() {
        let texts =
            [0.0, 0.021, 0.1424, 2.9, 9.996, 26.0, 183.4, 9239.2, 1_234_567.0, -0.5, -1234.0].map(significant).to_vec();
        let expected =
            ["0", "0.0210", "0.142", "2.90", "10.0", "26.0", "183", "9,240", "1,230,000", "−0.500", "−1,230"];
        assert_eq!(texts, expected);
        assert_eq!([0.14159, 9.996, 26.04, 99.96].map(significant), ["0.142", "10.0", "26.0", "100"]);
        assert_eq!([rounded(120_000.0, 6), rounded(12.34, 2), rounded(4e-20, 3)], ["120,000", "12", "4.00e−20"]);
        assert_eq!([f64::NAN, f64::INFINITY].map(significant), ["–", "–"]);
    }

    #[test]
    fn whole_numbers_are_grouped() {
        let texts = [thousands(0u64), thousands(999u32), thousands(5213usize), thousands(1_000_000u64)];
        assert_eq!(texts, ["0", "999", "5,213", "1,000,000"]);
        assert_eq!([fixed(-1234.5, 2), fixed(0.25, 1), fixed(f64::NAN, 1)], ["−1,234.50", "0.2", "–"]);
    }

    #[test]
    fn axes_have_no_digits_that_say_nothing() {
        assert_eq!([0.5, 20.0, 0.0625, 12_345.6, -2.5].map(plain), ["0.5", "20", "0.0625", "12,346", "−2.5"]);
    }

    #[test]
    fn a_number_has_its_sign_and_never_a_negative_zero() {
        assert_eq!([signed(-3.26, 1), signed(0.204, 2), signed(-0.0001, 2)], ["−3.3", "+0.20", "0.00"]);
        assert_eq!(signed(2400.0, 0), "+2,400");
    }

    #[test]
    fn things_are_counted_in_their_plural() {
        let texts = [count(1u64, "frame"), count(0u64, "frame"), count(2000usize, "address"), count(3u64, "match")];
        assert_eq!(texts, ["1 frame", "0 frames", "2,000 addresses", "3 matches"]);
    }

    #[test]
    fn times_are_in_a_fitting_unit() {
        assert_eq!([12.3, 210.0, 7560.0, 259_200.0].map(duration), ["12 s", "3.5 min", "2.1 h", "3.0 days"]);
    }
}
