//! Parameters of commands: names in braces, and their values.

use std::collections::BTreeMap;

/// Commands of one comparison, all values of parameters counted. More than this is a study.
pub const SUBJECTS_MOST: usize = 64;

/// Reasons why a scan has no values.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScanError {
    /// No number where one is expected.
    #[error("expected a number, found `{0}`")]
    Number(String),
    /// It leads nowhere.
    #[error("expected a step above zero from the lower to the higher, found {low} to {high} by {by}")]
    Step {
        /// First value.
        low: f64,
        /// Last value.
        high: f64,
        /// Distance between two.
        by: f64,
    },
    /// Too many values.
    #[error("expected at most {SUBJECTS_MOST} values, found {0}")]
    Many(f64),
}

/// Parameter: a name in braces, and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name without its braces.
    pub name: String,
    /// Values, at least one.
    pub values: Vec<String>,
}

impl Parameter {
    /// `values`: separated by commas; `\,` is a comma in a value, as in hyperfine. `None` without a name or a value.
    pub fn new(name: &str, values: &str) -> Option<Parameter> {
        let mut parts = vec![String::new()];
        let mut letters = values.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' if letters.peek() == Some(&',') => parts.last_mut()?.push(letters.next()?),
                ',' => parts.push(String::new()),
                other => parts.last_mut()?.push(other),
            }
        }
        (!name.is_empty() && !values.is_empty()).then(|| Parameter { name: name.to_owned(), values: parts })
    }

    /// Values from `min` to `max`, with as many decimals as the numbers given have.
    ///
    /// # Errors
    /// [`ScanError`] when that is no way from one to the other, or a long one.
    pub fn scan(name: &str, min: &str, max: &str, step: &str) -> Result<Parameter, ScanError> {
        let number = |text: &str| {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| ScanError::Number(text.to_owned()))
        };
        let (low, high, by) = (number(min)?, number(max)?, number(step)?);
        if high < low || by <= 0.0 {
            return Err(ScanError::Step { low, high, by });
        }
        let decimals = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let digits = decimals(min).max(decimals(step));
        // Half a thousandth of a step, for steps that binary numbers cannot hold, as 0.1.
        let steps = ((high - low) / by + 0.0005).floor();
        if steps >= SUBJECTS_MOST as f64 {
            return Err(ScanError::Many(steps + 1.0));
        }
        let values = (0..=steps as usize).map(|place| format!("{:.digits$}", low + by * place as f64)).collect();
        Ok(Parameter { name: name.to_owned(), values })
    }
}

/// Every way to choose one value of each parameter; the last one changes fastest.
pub fn combinations(parameters: &[Parameter]) -> Vec<BTreeMap<String, String>> {
    parameters.iter().fold(vec![BTreeMap::new()], |before, parameter| {
        let with = |chosen: &BTreeMap<String, String>, value: &String| {
            let mut chosen = chosen.clone();
            chosen.insert(parameter.name.clone(), value.clone());
            chosen
        };
        before.iter().flat_map(|chosen| parameter.values.iter().map(move |value| with(chosen, value))).collect()
    })
}

/// A text with the values in place of the names in braces.
pub fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_has_the_decimals_of_its_numbers() {
        let values =
            |min, max, step: Option<_>| Parameter::scan("n", min, max, step.unwrap_or("1")).map(|found| found.values);
        assert_eq!(values("1", "4", None), Ok(["1", "2", "3", "4"].map(str::to_owned).to_vec()));
        assert_eq!(values("0.3", "0.7", Some("0.2")), Ok(["0.3", "0.5", "0.7"].map(str::to_owned).to_vec()));
        assert_eq!(values("-1", "1", None), Ok(["-1", "0", "1"].map(str::to_owned).to_vec()));
        for (min, max, step) in [("2", "1", None), ("1", "x", None), ("1", "2", Some("0")), ("1", "1000", None)] {
            assert!(values(min, max, step).is_err(), "{min} {max} {step:?}");
        }
    }

    #[test]
    fn parameters_multiply_and_the_last_changes_fastest() {
        let parameters = ["a=1,2", "b=x,y"].map(|text| {
            let (name, values) = text.split_once('=').expect("it has one");
            Parameter::new(name, values).expect("it has both")
        });
        let texts: Vec<String> = combinations(&parameters).iter().map(|values| filled("{a}{b}{c}", values)).collect();
        assert_eq!(texts, ["1x{c}", "1y{c}", "2x{c}", "2y{c}"]);
    }
}
