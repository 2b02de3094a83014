//! Levels of a factor, listed or swept over.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use toml::{Spanned, Value};

use super::error::{Misplaced, misplaced};
use super::filter::finite;
use super::stop::{Resolution, Stop, Then};
use super::{Factor, Level, Tuning};

/// Most points of a sweep.
const MOST_POINTS: u32 = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FactorText {
    pub name: Spanned<String>,
    levels: Option<Spanned<Vec<Spanned<LevelText>>>>,
    sweep: Option<Spanned<SweepText>>,
    stop: Option<Spanned<StopText>>,
    #[serde(default)]
    random: Option<Spanned<bool>>,
}

/// A level is its name, its number, or a table.
enum LevelText {
    Name(String),
    Number(f64),
    Table(Box<LevelTable>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelTable {
    name: Spanned<String>,
    #[serde(default)]
    set: BTreeMap<Spanned<String>, String>,
    build: Option<Spanned<String>>,
    command: Option<Spanned<String>>,
    #[serde(default)]
    environment: BTreeMap<Spanned<String>, String>,
    tuning: Option<Tuning>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepText {
    from: Spanned<Value>,
    to: Spanned<Value>,
    steps: Option<Spanned<u32>>,
    scale: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StopText {
    when: Spanned<String>,
    then: Spanned<String>,
    resolution: Option<Spanned<Value>>,
}

impl<'de> Deserialize<'de> for LevelText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<LevelText, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = LevelText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a level: its name, its number, or a table with its name")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<LevelText, E> {
                Ok(LevelText::Name(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<LevelText, E> {
                Ok(LevelText::Number(number as f64))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<LevelText, E> {
                match number.is_finite() {
                    true => Ok(LevelText::Number(number)),
                    false => Err(E::invalid_value(serde::de::Unexpected::Float(number), &"a finite number")),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LevelText, A::Error> {
                let table = LevelTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(LevelText::Table(Box::new(table)))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Spacing of the points of a factor, for its stopping rule.
#[derive(Clone, Copy, Default)]
struct Scale {
    whole: bool,
    logarithmic: bool,
}

/// Takes a factor of the file; the places are those of its levels.
pub(super) fn factor(text: Spanned<FactorText>) -> Result<(Factor, Vec<Range<usize>>), Misplaced> {
    let place = text.span();
    let FactorText { name, levels, sweep, stop, random } = text.into_inner();
    super::is_name(&name)?;
    let random = random.filter(|random| *random.get_ref());
    let swept_on_purpose = sweep.as_ref().map(Spanned::span).or(stop.as_ref().map(Spanned::span));
    if let (Some(_), Some(place)) = (&random, swept_on_purpose) {
        return misplaced(place, "expected a list of levels of a random factor, without a sweep or a stopping rule");
    }
    let mut places = Vec::new();
    let (levels, numbers, scale) = match (levels, sweep) {
        (Some(levels), None) => {
            places.extend(levels.get_ref().iter().map(Spanned::span));
            listed(levels)?
        }
        (None, Some(sweep)) => swept(sweep)?,
        (Some(_), Some(sweep)) => return misplaced(sweep.span(), "expected levels or a sweep, found both"),
        (None, None) => return misplaced(place, "expected levels or a sweep, found neither"),
    };
    let stop = match stop {
        None => None,
        Some(stop) if numbers.is_none() => {
            return misplaced(stop.span(), "stop: expected levels that are numbers in ascending order, found names");
        }
        Some(stop) => Some(stopping(stop.into_inner(), scale)?),
    };
    if let Some(random) = &random
        && levels.len() < 2
    {
        return misplaced(
            random.span(),
            "random: expected at least two levels, found one, which tells nothing of others",
        );
    }
    places.resize(levels.len(), name.span());
    // Levels that stand for others are in no order.
    let numbers = numbers.filter(|_| random.is_none());
    Ok((Factor { name: name.into_inner(), levels, numbers, stop, random: random.is_some() }, places))
}

type Levels = (Vec<Level>, Option<Vec<f64>>, Scale);

fn listed(texts: Spanned<Vec<Spanned<LevelText>>>) -> Result<Levels, Misplaced> {
    if texts.get_ref().is_empty() {
        return misplaced(texts.span(), "expected at least one level, found none");
    }
    let (mut levels, mut numbers, mut names): (Vec<Level>, Vec<f64>, HashSet<String>) = Default::default();
    for text in texts.into_inner() {
        let place = text.span();
        let (level, place) = match text.into_inner() {
            LevelText::Name(name) => (Level::named(name), place),
            LevelText::Number(number) => {
                numbers.push(number);
                (Level::named(number_text(number)), place)
            }
            LevelText::Table(table) => {
                let place = table.name.span();
                (of_table(*table)?, place)
            }
        };
        super::is_name(&Spanned::new(place.clone(), level.name.clone()))?;
        if !names.insert(level.name.clone()) {
            return misplaced(place, format!("expected levels that differ, found `{}` twice", level.name));
        }
        levels.push(level);
    }
    let ascending = numbers.len() == levels.len() && numbers.is_sorted_by(|a, b| a < b);
    let scale = Scale { whole: numbers.iter().all(|number| number.fract() == 0.0), logarithmic: false };
    Ok((levels, ascending.then_some(numbers), scale))
}

fn of_table(table: LevelTable) -> Result<Level, Misplaced> {
    let unquoted = |map: BTreeMap<Spanned<String>, String>| {
        map.into_iter().map(|(key, value)| (key.into_inner(), value)).collect::<BTreeMap<_, _>>()
    };
    for variable in table.environment.keys() {
        super::is_variable(variable)?;
    }
    for placeholder in table.set.keys() {
        super::is_name(placeholder)?;
    }
    for text in [&table.build, &table.command].into_iter().flatten() {
        if text.get_ref().trim().is_empty() {
            return misplaced(text.span(), "expected a non-empty text");
        }
    }
    Ok(Level {
        name: table.name.into_inner(),
        set: unquoted(table.set),
        build: table.build.map(Spanned::into_inner),
        command: table.command.map(Spanned::into_inner),
        environment: unquoted(table.environment),
        tuning: table.tuning.unwrap_or_default(),
    })
}

fn swept(text: Spanned<SweepText>) -> Result<Levels, Misplaced> {
    let place = text.span();
    let SweepText { from, to, steps, scale } = text.into_inner();
    let whole = from.get_ref().is_integer() && to.get_ref().is_integer();
    let (low, high) = (number(&from)?, number(&to)?);
    if low >= high {
        return misplaced(to.span(), format!("to: expected a number above {low}, found {high}"));
    }
    let name = scale.as_ref().map_or("linear", |scale| scale.get_ref());
    let logarithmic = matches!(name, "log" | "log2");
    if logarithmic && low <= 0.0 {
        return misplaced(from.span(), format!("from: expected a number above 0 for scale {name}, found {low}"));
    }
    let mut numbers: Vec<f64> = match (name, steps) {
        ("log2", None) => {
            std::iter::successors(Some(low), |last| Some(last * 2.0)).take_while(|point| *point <= high).collect()
        }
        ("log2", Some(steps)) => {
            return misplaced(steps.span(), "steps: expected none with scale log2: each point is twice the last");
        }
        ("linear" | "log", Some(steps)) => {
            let count = *steps.get_ref();
            if !(2..=MOST_POINTS).contains(&count) {
                return misplaced(steps.span(), format!("steps: expected 2 to {MOST_POINTS}, found {count}"));
            }
            let share = |step: u32| f64::from(step) / f64::from(count - 1);
            let point = |step: u32| match step {
                // The ends are what the file says, to the last bit.
                0 => low,
                step if step == count - 1 => high,
                step if logarithmic => low * (high / low).powf(share(step)),
                step => low + (high - low) * share(step),
            };
            (0..count).map(point).collect()
        }
        ("linear" | "log", None) => return misplaced(place, "expected the key `steps`, found none"),
        _ => {
            let place = scale.as_ref().map_or(place, |scale| scale.span());
            let found = name.escape_default();
            return misplaced(place, format!("scale: expected \"linear\", \"log\" or \"log2\", found \"{found}\""));
        }
    };
    if whole {
        numbers.iter_mut().for_each(|number| *number = number.round());
    }
    numbers.dedup();
    if numbers.iter().any(|number| !number.is_finite()) {
        return misplaced(to.span(), "to: expected points that are finite");
    }
    let levels = numbers.iter().map(|&number| Level::named(number_text(number))).collect();
    Ok((levels, Some(numbers), Scale { whole, logarithmic }))
}

fn stopping(text: StopText, scale: Scale) -> Result<Stop, Misplaced> {
    let Scale { whole, logarithmic } = scale;
    let then = match (text.then.get_ref().as_str(), text.resolution) {
        ("skip", None) => Then::Skip,
        ("skip", Some(resolution)) => {
            return misplaced(resolution.span(), "resolution: belongs to \"bisect\"");
        }
        ("bisect", None) => {
            return misplaced(text.then.span(), "expected the key `resolution` with \"bisect\", found none");
        }
        ("bisect", Some(given)) => {
            let resolution = match given.get_ref() {
                Value::String(share) => share.trim().strip_suffix('%').and_then(|share| finite(share.trim())),
                _ => None,
            };
            let resolution = match resolution {
                Some(percent) => Resolution::Share(percent / 100.0),
                None => Resolution::Distance(number(&given)?),
            };
            let (Resolution::Share(size) | Resolution::Distance(size)) = resolution;
            if size <= 0.0 {
                return misplaced(given.span(), format!("resolution: expected above 0, found {}", given.get_ref()));
            }
            Then::Bisect { resolution, whole, logarithmic }
        }
        (other, _) => {
            let problem = format!("then: expected \"skip\" or \"bisect\", found \"{}\"", other.escape_default());
            return misplaced(text.then.span(), problem);
        }
    };
    Stop::parse(text.when.get_ref(), then).or_else(|expected| {
        misplaced(
            text.when.span(),
            format!("when: expected {expected}, found \"{}\"", text.when.get_ref().escape_default()),
        )
    })
}

/// A whole or a decimal number that is finite.
pub(super) fn number(value: &Spanned<Value>) -> Result<f64, Misplaced> {
    let number = match value.get_ref() {
        Value::Integer(whole) => Some(*whole as f64),
        Value::Float(number) => Some(*number).filter(|number| number.is_finite()),
        _ => None,
    };
    match number {
        Some(number) => Ok(number),
        None => misplaced(value.span(), format!("expected a number, found {}", value.get_ref())),
    }
}

/// `16`, `0.25`: the shortest text that is read back as the same number.
pub fn number_text(number: f64) -> String {
    // −0 and 0 are one level.
    format!("{}", number + 0.0)
}
