//! Checks that need the whole file: names that refer to nothing, and duplicates.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use toml::Spanned;

use super::error::{Misplaced, inside, misplaced};
use super::filter::{Filter, finite};
use super::read::{self, Placed, numeric_axes};
use super::template::{Piece, pieces};
use super::{Factor, Level, Machine};

/// Most names that a message lists.
const MOST_LISTED: usize = 16;

/// `the factor `a``, `one of the factors `a`, `b``.
pub(super) fn one_of<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let listed: Vec<String> = names.iter().take(MOST_LISTED).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > MOST_LISTED { " …" } else { "" };
    match names.as_slice() {
        [] => format!("no {what}, because there is none"),
        [only] => format!("the {what} `{only}`"),
        _ => match what {
            "axis" => format!("one of the axes {}{more}", listed.join(", ")),
            _ => format!("one of the {what}s {}{more}", listed.join(", ")),
        },
    }
}

/// Refuses a template with braces that are alone.
pub(super) fn is_template(template: &Spanned<String>, file: &str) -> Result<(), Misplaced> {
    match pieces(template.get_ref()) {
        Ok(_) => Ok(()),
        Err((at, expected)) => {
            let place = inside(file, &template.span(), template.get_ref(), at);
            misplaced(place, format!("expected {expected}"))
        }
    }
}

/// Names that a filter may refer to.
pub(super) struct Names<'a> {
    pub factors: &'a [Factor],
    pub workloads: &'a [Placed],
    pub machines: &'a [Machine],
}

/// The values a name can have.
struct Known<'a> {
    what: &'static str,
    values: Vec<&'a str>,
    numeric: bool,
}

impl<'a> Names<'a> {
    fn known(&self, name: &str) -> Option<Known<'a>> {
        if let Some(factor) = self.factors.iter().find(|factor| factor.name == name) {
            let values: Vec<&str> = factor.levels.iter().map(|level| level.name.as_str()).collect();
            let numeric = values.iter().all(|value| finite(value).is_some());
            return Some(Known { what: "level", values, numeric });
        }
        let names = match name {
            "workload" => Some(self.workloads.iter().map(|placed| placed.workload.name.as_str()).collect()),
            "machine" => Some(self.machines.iter().map(|machine| machine.name.as_str()).collect()),
            _ => None,
        };
        if let Some(values) = names {
            return Some(Known {
                what: if name == "machine" { "machine" } else { "workload" },
                values,
                numeric: false,
            });
        }
        let axis = self.workloads.iter().filter_map(|placed| placed.workload.axes.get(name));
        let mut values: Vec<&str> = axis.map(String::as_str).collect();
        values.sort_unstable();
        values.dedup();
        let numeric = numeric_axes(self.workloads).get(name).copied()?;
        Some(Known { what: "value", values, numeric })
    }

    fn all(&self) -> String {
        let axes = self.workloads.iter().flat_map(|placed| placed.workload.axes.keys());
        let mut axes: Vec<&str> = axes.map(String::as_str).collect();
        axes.sort_unstable();
        axes.dedup();
        let factors = self.factors.iter().map(|factor| factor.name.as_str());
        one_of("name", factors.chain(axes).chain(["workload", "machine"]))
    }

    /// The first thing in a filter that cannot be: its byte, and what was expected and found.
    pub fn problem(&self, filter: &Filter) -> Option<(usize, String)> {
        filter.comparisons().into_iter().find_map(|(name, comparison, value)| {
            let Some(known) = self.known(&name.name) else {
                return Some((name.at, format!("expected {}, found `{}`", self.all(), name.name)));
            };
            if let Some(ordering) = comparison.filter(|comparison| comparison.is_ordering()) {
                let (sign, name_text) = (ordering.sign(), &name.name);
                if !known.numeric {
                    let what = known.what;
                    return Some((
                        name.at,
                        format!(
                            "expected `==` or `!=`, because no {what} of `{name_text}` is a number, found \
                                 `{sign}`"
                        ),
                    ));
                }
                if value.number.is_none() {
                    return Some((value.at, format!("expected a number after `{sign}`, found \"{}\"", value.text)));
                }
                return None;
            }
            let is_known = known.values.iter().any(|known| {
                let number = finite(known).zip(value.number);
                number.map_or(*known == value.text, |(known, value)| known == value)
            });
            let of_these = one_of(known.what, known.values.into_iter());
            (!is_known).then(|| (value.at, format!("`{}`: expected {of_these}, found `{}`", name.name, value.text)))
        })
    }
}

/// Refuses two factors that set the same thing, and placeholders that are never set.
///
/// `places`: of each level of each factor.
pub(super) fn whole(
    factors: &[Factor],
    places: &[Vec<Range<usize>>],
    workloads: &[Placed],
    file: &str,
) -> Result<(), Misplaced> {
    let setters = setters(factors, places, workloads)?;
    for Placed { workload, place, templates } in workloads {
        let is_known = |name: &str| {
            workload.axes.contains_key(name)
                || workload.files.contains_key(name)
                || name == "workload"
                || (name == "demo" && workload.demo.is_some())
        };
        for (template_place, template) in templates {
            known(template, &is_known, factors, &setters, &|at| inside(file, template_place, template, at))?;
        }
        for (factor, places) in factors.iter().zip(places) {
            for (level, place) in factor.levels.iter().zip(places) {
                for template in level.command.iter().chain(level.environment.values()) {
                    known(template, &is_known, factors, &setters, &|_| place.clone())?;
                }
            }
        }
        let lacks = factors.iter().all(|factor| factor.levels.iter().any(|level| level.command.is_none()));
        if workload.command.is_none() && workload.demo.is_none() && lacks {
            let problem = format!("workload `{}`: expected a command or a demo, found neither", workload.name);
            return misplaced(place.clone(), problem);
        }
    }
    Ok(())
}

/// Factor that sets each placeholder beside its own.
type Setters<'a> = BTreeMap<&'a str, usize>;

fn setters<'a>(
    factors: &'a [Factor],
    places: &[Vec<Range<usize>>],
    workloads: &[Placed],
) -> Result<Setters<'a>, Misplaced> {
    let mut setters: Setters<'a> = BTreeMap::new();
    // Things of a level that only one factor may say: by what they are, and by name.
    let mut owners: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, (factor, places)) in factors.iter().zip(places).enumerate() {
        let taken = ["workload", "machine", "demo"].contains(&factor.name.as_str());
        let of_workload = |name: &str| {
            workloads
                .iter()
                .any(|placed| placed.workload.axes.contains_key(name) || placed.workload.files.contains_key(name))
        };
        if taken || of_workload(&factor.name) {
            let place = places.first().cloned().unwrap_or_default();
            return misplaced(place, format!("expected another name for a factor: `{}` is taken", factor.name));
        }
        for (level, place) in factor.levels.iter().zip(places) {
            for (what, name) in said(level) {
                let owner = *owners.entry((what, name)).or_insert(at);
                if owner != at {
                    let (one, two) = (&read::numbered(factors, owner).name, &factor.name);
                    return misplaced(
                        place.clone(),
                        format!("expected one factor that sets {what} `{name}`, found `{one}` and `{two}`"),
                    );
                }
            }
            for name in level.set.keys() {
                let taken = ["workload", "machine", "demo"].contains(&name.as_str())
                    || factors.iter().any(|factor| factor.name == *name)
                    || of_workload(name);
                if taken {
                    return misplaced(place.clone(), format!("expected another placeholder: `{name}` is taken"));
                }
                setters.insert(name, at);
            }
        }
    }
    Ok(setters)
}

/// Names that a level sets and no other factor may set.
fn said(level: &Level) -> impl Iterator<Item = (&'static str, &str)> {
    let tuning = [("pin", level.tuning.pin.is_some()), ("fifo", level.tuning.fifo.is_some())];
    let tuning = tuning.into_iter().filter(|(_, said)| *said).map(|(name, _)| ("the tuning", name));
    let command = level.command.iter().map(|_| ("the", "command"));
    let placeholders = level.set.keys().map(|name| ("the placeholder", name.as_str()));
    let variables = level.environment.keys().map(|name| ("the variable", name.as_str()));
    tuning.chain(command).chain(placeholders).chain(variables)
}

fn known(
    template: &str,
    is_known: &dyn Fn(&str) -> bool,
    factors: &[Factor],
    setters: &Setters<'_>,
    place: &dyn Fn(usize) -> Range<usize>,
) -> Result<(), Misplaced> {
    let pieces = pieces(template).or_else(|(at, expected)| misplaced(place(at), format!("expected {expected}")))?;
    for piece in pieces {
        let Piece::Placeholder(name, range) = piece else { continue };
        if is_known(name) || factors.iter().any(|factor| factor.name == name) {
            continue;
        }
        let Some(&factor) = setters.get(name) else {
            let problem = format!("expected the name of a factor, an axis, a file or a `set`, found `{{{name}}}`");
            return misplaced(place(range.start), problem);
        };
        let factor = read::numbered(factors, factor);
        if let Some(level) = factor.levels.iter().find(|level| !level.set.contains_key(name)) {
            let (level, factor) = (&level.name, &factor.name);
            let problem = format!("expected every level of `{factor}` to set `{{{name}}}`, found none in `{level}`");
            return misplaced(place(range.start), problem);
        }
    }
    Ok(())
}
