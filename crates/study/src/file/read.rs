//! Reader of a study file's text.
#![deny(clippy::indexing_slicing)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::check;
use super::error::{Misplaced, ProblemKind, inside, misplaced, misplaced_as};
use super::filter::{Filter, finite};
use super::levels::{FactorText, factor, number, number_text};
use super::template::fill;
use super::{
    Executor, Factor, MOST_BYTES, MOST_CELLS, Machine, MachineProperty, Order, Pattern, Requirement, Skip, Slurm,
    Study, Workload, is_name, is_variable,
};
use crate::results::{Direction, Metric, Normalise};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyText {
    title: Spanned<String>,
    metric: MetricText,
    repeats: Option<Spanned<u32>>,
    #[serde(default)]
    seed: u64,
    seconds_per_cell: Option<Spanned<Value>>,
    cell_seconds_max: Option<Spanned<Value>>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    factor: Vec<Spanned<FactorText>>,
    #[serde(default)]
    zip: Vec<Spanned<Vec<Spanned<String>>>>,
    only: Option<Spanned<Vec<Spanned<PatternText>>>>,
    #[serde(rename = "where")]
    keep: Option<Spanned<String>>,
    #[serde(default)]
    skip: Vec<Spanned<SkipText>>,
    #[serde(default)]
    workload: Vec<Spanned<WorkloadText>>,
    #[serde(default)]
    machine: Vec<Spanned<MachineText>>,
}

/// A factor's name and its level or levels.
type PatternText = BTreeMap<Spanned<String>, Spanned<Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricText {
    name: Spanned<String>,
    unit: Spanned<String>,
    direction: Direction,
    normalise: Option<NormaliseText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NormaliseText {
    by: Spanned<String>,
    to: Spanned<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkipText {
    #[serde(rename = "where")]
    filter: Spanned<String>,
    why: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadText {
    name: Spanned<String>,
    #[serde(default)]
    axes: BTreeMap<Spanned<String>, Spanned<Value>>,
    demo: Option<Spanned<String>>,
    #[serde(default)]
    trust_demo: bool,
    command: Option<Spanned<String>>,
    #[serde(default)]
    environment: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    files: BTreeMap<Spanned<String>, Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineText {
    name: Spanned<String>,
    #[serde(default)]
    require: BTreeMap<Spanned<String>, Spanned<Value>>,
    slurm: Option<SlurmText>,
    exec: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SlurmText {
    node: Option<Spanned<String>>,
    partition: Option<Spanned<String>>,
    constraint: Option<Spanned<String>>,
    cpu_freq: Option<Spanned<String>>,
    account: Option<Spanned<String>>,
}

/// Parses the text of a study file, without the checks that need the whole file.
pub(super) fn study(text: &str) -> Result<Study, Misplaced> {
    if text.len() > MOST_BYTES {
        return misplaced(0..0, format!("expected at most {MOST_BYTES} bytes, found {}", text.len()));
    }
    let file: StudyText = toml::from_str(text).map_err(|error| Misplaced::of_toml(&error))?;
    is_name(&file.title)?;
    let (factors, places) = factors(file.factor)?;
    let workloads = workloads(file.workload, text)?;
    check::whole(&factors, &places, &workloads, text)?;
    let machines = machines(file.machine)?;
    let zips = zips(file.zip, &factors)?;
    let only_place = file.only.as_ref().map(Spanned::span);
    let only = only(file.only, &factors)?;
    let names = check::Names { factors: &factors, workloads: &workloads, machines: &machines };
    let keep = file.keep.as_ref().map(|keep| filter(keep, &names, text)).transpose()?;
    // The error names what left out the last cell: the last of those that leave something out.
    let filters = [only_place, file.keep.map(|keep| keep.span()), file.skip.last().map(Spanned::span)];
    let leaves_nothing = filters.into_iter().flatten().last();
    let skips = file.skip.into_iter().map(|skip| self::skip(skip, &names, text)).collect::<Result<_, _>>()?;
    let repeats = match &file.repeats {
        None => 1,
        Some(repeats) => match *repeats.get_ref() {
            repeats @ 1..=1_000_000 => repeats,
            found => return misplaced(repeats.span(), format!("repeats: expected 1 to 1000000, found {found}")),
        },
    };
    let workloads: Vec<Workload> = workloads.into_iter().map(|workload| workload.workload).collect();
    let study = Study {
        title: file.title.into_inner(),
        metric: metric(file.metric)?,
        repeats,
        seed: file.seed,
        seconds_per_cell: file.seconds_per_cell.as_ref().map(positive).transpose()?,
        cell_seconds_max: file.cell_seconds_max.as_ref().map(positive).transpose()?,
        order: file.order,
        factors,
        zips,
        only,
        keep,
        skips,
        workloads,
        machines,
    };
    match leaves_nothing.filter(|_| study.is_empty()) {
        Some(place) => misplaced_as(
            ProblemKind::EmptyDesign,
            place,
            "expected at least one cell that is not excluded, found none: the design is empty",
        ),
        None => Ok(study),
    }
}

fn positive(value: &Spanned<Value>) -> Result<f64, Misplaced> {
    let found = number(value)?;
    if found > 0.0 { Ok(found) } else { misplaced(value.span(), format!("expected a number above 0, found {found}")) }
}

fn metric(text: MetricText) -> Result<Metric, Misplaced> {
    is_name(&text.name)?;
    is_name(&text.unit)?;
    let normalise = text.normalise.map(|normalise| {
        is_name(&normalise.by)?;
        Ok(Normalise { to: positive(&normalise.to)?, by: normalise.by.into_inner() })
    });
    Ok(Metric {
        name: text.name.into_inner(),
        unit: text.unit.into_inner(),
        direction: text.direction,
        normalise: normalise.transpose()?,
    })
}

/// Factors, and where each of their levels stands.
type Factors = (Vec<Factor>, Vec<Vec<Range<usize>>>);

fn factors(texts: Vec<Spanned<FactorText>>) -> Result<Factors, Misplaced> {
    let mut factors: Vec<Factor> = Vec::new();
    let mut places = Vec::new();
    let mut configurations = 1usize;
    for text in texts {
        let (place, name) = (text.span(), text.get_ref().name.span());
        let (factor, of_levels) = factor(text)?;
        if factors.iter().any(|other| other.name == factor.name) {
            return misplaced(name, format!("expected factors that differ, found `{}` twice", factor.name));
        }
        if let Some(other) = factors.iter().find(|other| other.stop.is_some() && factor.stop.is_some()) {
            let (one, two) = (&other.name, &factor.name);
            return misplaced(place, format!("expected one factor with a stopping rule, found `{one}` and `{two}`"));
        }
        configurations = configurations.saturating_mul(factor.levels.len());
        if configurations > MOST_CELLS {
            return misplaced(place, format!("expected at most {MOST_CELLS} configurations, found {configurations}"));
        }
        factors.push(factor);
        places.push(of_levels);
    }
    Ok((factors, places))
}

fn position(factors: &[Factor], name: &Spanned<String>) -> Result<usize, Misplaced> {
    match factors.iter().position(|factor| factor.name == *name.get_ref()) {
        Some(position) => Ok(position),
        None => {
            let known = factors.iter().map(|factor| factor.name.as_str());
            misplaced(name.span(), format!("expected {}, found `{}`", check::one_of("factor", known), name.get_ref()))
        }
    }
}

fn zips(texts: Vec<Spanned<Vec<Spanned<String>>>>, factors: &[Factor]) -> Result<Vec<Vec<usize>>, Misplaced> {
    let mut zips: Vec<Vec<usize>> = Vec::new();
    for text in texts {
        let place = text.span();
        let mut zip: Vec<usize> = Vec::new();
        for name in text.into_inner() {
            let factor = position(factors, &name)?;
            if zip.contains(&factor) || zips.iter().any(|other| other.contains(&factor)) {
                return misplaced(
                    name.span(),
                    format!("zip: expected each factor once, found `{}` twice", name.get_ref()),
                );
            }
            if let Some(&first) = zip.first() {
                let (first, factor) = (numbered(factors, first), numbered(factors, factor));
                let (expected, found) = (first.levels.len(), factor.levels.len());
                if expected != found {
                    let first = &first.name;
                    return misplaced(
                        name.span(),
                        format!("zip: expected as many levels as `{first}` has, {expected}, found {found}"),
                    );
                }
            }
            let is_like_first = |&first: &usize| numbered(factors, first).random == numbered(factors, factor).random;
            if !zip.first().is_none_or(is_like_first) {
                return misplaced(
                    name.span(),
                    format!("zip: expected factors that are all random, or none of them, found `{}`", name.get_ref()),
                );
            }
            if let Some(stop) = &numbered(factors, factor).stop {
                return misplaced(name.span(), format!("zip: expected no stopping rule, found `{}`", stop.text));
            }
            zip.push(factor);
        }
        if zip.len() < 2 {
            return misplaced(place, format!("zip: expected at least two factors, found {}", zip.len()));
        }
        zips.push(zip);
    }
    Ok(zips)
}

/// The factor with this number, which [`position`] gave out.
#[expect(clippy::indexing_slicing, reason = "no factor is removed while a file is read")]
pub(super) fn numbered(factors: &[Factor], number: usize) -> &Factor {
    &factors[number]
}

type OnlyText = Spanned<Vec<Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>>>;

fn only(text: Option<OnlyText>, factors: &[Factor]) -> Result<Vec<Pattern>, Misplaced> {
    let Some(text) = text else { return Ok(Vec::new()) };
    if text.get_ref().is_empty() {
        return misplaced_as(
            ProblemKind::EmptyDesign,
            text.span(),
            "only: expected at least one configuration, found none: the design is empty",
        );
    }
    let pattern = |entry: Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>| {
        let mut pattern = vec![None; factors.len()];
        for (name, levels) in entry.into_inner() {
            let factor = position(factors, &name)?;
            let place = levels.span();
            let levels = match levels.into_inner() {
                Value::Array(levels) => levels,
                level => vec![level],
            };
            let levels = levels.iter().map(|level| level_of(numbered(factors, factor), level));
            let levels = levels.collect::<Result<Vec<usize>, String>>();
            match levels {
                Ok(levels) => {
                    pattern.get_mut(factor).into_iter().for_each(|of_factor| *of_factor = Some(levels.clone()))
                }
                Err(problem) => return misplaced(place, problem),
            }
        }
        Ok(Pattern(pattern))
    };
    text.into_inner().into_iter().map(pattern).collect()
}

fn level_of(factor: &Factor, value: &Value) -> Result<usize, String> {
    let name = scalar(value).unwrap_or_default();
    let found = factor.levels.iter().position(|level| level.name == name);
    found.ok_or_else(|| {
        let known = check::one_of("level", factor.levels.iter().map(|level| level.name.as_str()));
        format!("`{}`: expected {known}, found {value}", factor.name)
    })
}

/// A text or a number as the name of a level or the value of an axis.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number_text(*number as f64)),
        Value::Float(number) if number.is_finite() => Some(number_text(*number)),
        _ => None,
    }
}

fn filter(text: &Spanned<String>, names: &check::Names<'_>, file: &str) -> Result<Filter, Misplaced> {
    let at = |at| inside(file, &text.span(), text.get_ref(), at);
    let filter = Filter::parse(text.get_ref()).or_else(|(byte, problem)| misplaced(at(byte), problem))?;
    match names.problem(&filter) {
        Some((byte, problem)) => misplaced(at(byte), problem),
        None => Ok(filter),
    }
}

fn skip(text: Spanned<SkipText>, names: &check::Names<'_>, file: &str) -> Result<Skip, Misplaced> {
    let place = text.span();
    let SkipText { filter: condition, why } = text.into_inner();
    let filter = filter(&condition, names, file)?;
    match why {
        Some(why) if !why.get_ref().trim().is_empty() => {
            Ok(Skip { filter, text: condition.into_inner(), why: why.into_inner() })
        }
        Some(why) => misplaced(why.span(), "expected why these cells are skipped, found an empty text"),
        None => misplaced_as(
            ProblemKind::NoReason,
            place,
            "expected the key `why` next to `where`: excluded cells need a reason",
        ),
    }
}

/// A workload, and where its texts stand.
pub(super) struct Placed {
    pub workload: Workload,
    /// Byte range of the workload in the file.
    pub place: Range<usize>,
    /// Byte range and text of the command's template and of each environment variable's.
    pub templates: Vec<(Range<usize>, String)>,
}

fn workloads(texts: Vec<Spanned<WorkloadText>>, file: &str) -> Result<Vec<Placed>, Misplaced> {
    let mut workloads: Vec<Placed> = Vec::new();
    let mut names = HashSet::new();
    for text in texts {
        let place = text.get_ref().name.span();
        for workload in crossed(text, file)? {
            if !names.insert(workload.workload.name.clone()) {
                let name = &workload.workload.name;
                return misplaced(place, format!("expected workloads that differ, found `{name}` twice"));
            }
            if workloads.len() == MOST_CELLS {
                return misplaced(place, format!("expected at most {MOST_CELLS} workloads"));
            }
            workloads.push(workload);
        }
    }
    if workloads.is_empty() {
        return misplaced(0..0, "expected at least one [[workload]], found none: there is nothing to run");
    }
    Ok(workloads)
}

/// A workload for each combination of its axes' values.
fn crossed(text: Spanned<WorkloadText>, file: &str) -> Result<Vec<Placed>, Misplaced> {
    let place = text.span();
    let text = text.into_inner();
    let mut axes: Vec<(String, Vec<String>)> = Vec::new();
    for (name, values) in &text.axes {
        is_name(name)?;
        if ["workload", "machine", "demo"].contains(&name.get_ref().as_str()) {
            return misplaced(name.span(), format!("expected another name for an axis: `{}` is taken", name.get_ref()));
        }
        let listed = match values.get_ref() {
            Value::Array(values) => values.iter().map(scalar).collect(),
            value => scalar(value).map(|value| vec![value]),
        };
        let Some(listed) = listed.filter(|listed: &Vec<String>| !listed.is_empty()) else {
            let found = values.get_ref();
            return misplaced(values.span(), format!("expected texts or numbers, found {found}"));
        };
        if let Some(twice) =
            listed.iter().enumerate().find(|(at, value)| listed.iter().take(*at).any(|earlier| earlier == *value))
        {
            return misplaced(values.span(), format!("expected values that differ, found `{}` twice", twice.1));
        }
        axes.push((name.get_ref().clone(), listed));
    }
    let combinations = axes.iter().fold(1usize, |product, (_, values)| product.saturating_mul(values.len()));
    if combinations > MOST_CELLS {
        return misplaced(place, format!("expected at most {MOST_CELLS} workloads, found {combinations}"));
    }
    for variable in text.environment.keys() {
        is_variable(variable)?;
    }
    for name in text.files.keys() {
        is_name(name)?;
    }
    let combination = |mut number: usize| {
        let pick = |(name, values): &(String, Vec<String>)| {
            let value = values.get(number % values.len()).cloned().unwrap_or_default();
            number /= values.len();
            (name.clone(), value)
        };
        // The last axis varies fastest, as digits do.
        axes.iter().rev().map(pick).collect::<BTreeMap<String, String>>()
    };
    (0..combinations).map(|number| workload(&text, combination(number), &place, file)).collect()
}

fn workload(
    text: &WorkloadText,
    axes: BTreeMap<String, String>,
    place: &Range<usize>,
    file: &str,
) -> Result<Placed, Misplaced> {
    // Names and paths know the axes only: they are the same for every configuration.
    let known = |template: &Spanned<String>| {
        check::is_template(template, file)?;
        fill(template.get_ref(), &|name| axes.get(name).cloned()).or_else(|(name, at)| {
            let expected = check::one_of("axis", axes.keys().map(String::as_str));
            let place = inside(file, &template.span(), template.get_ref(), at);
            misplaced(place, format!("expected {expected}, found `{{{name}}}`"))
        })
    };
    let path = |template: &Spanned<String>| match known(template)? {
        path if path.trim().is_empty() || path.contains('\0') => misplaced(template.span(), "expected a path"),
        path => Ok(path),
    };
    let name = Spanned::new(text.name.span(), known(&text.name)?);
    is_name(&name)?;
    let mut templates = Vec::new();
    for template in text.command.iter().chain(text.environment.values()) {
        check::is_template(template, file)?;
        templates.push((template.span(), template.get_ref().clone()));
    }
    if let Some(command) = text.command.as_ref().filter(|command| command.get_ref().trim().is_empty()) {
        return misplaced(command.span(), "command: expected a non-empty text");
    }
    let files = text.files.iter().map(|(name, file)| Ok((name.get_ref().clone(), path(file)?)));
    let workload = Workload {
        name: name.into_inner(),
        demo: text.demo.as_ref().map(path).transpose()?,
        trust_demo: text.trust_demo,
        command: text.command.as_ref().map(|command| command.get_ref().clone()),
        environment: unquoted(&text.environment),
        files: files.collect::<Result<_, _>>()?,
        axes,
    };
    Ok(Placed { workload, place: place.clone(), templates })
}

fn unquoted(map: &BTreeMap<Spanned<String>, Spanned<String>>) -> BTreeMap<String, String> {
    map.iter().map(|(key, value)| (key.get_ref().clone(), value.get_ref().clone())).collect()
}

fn machines(texts: Vec<Spanned<MachineText>>) -> Result<Vec<Machine>, Misplaced> {
    let mut machines: Vec<Machine> = Vec::new();
    for text in texts {
        let text = text.into_inner();
        is_name(&text.name)?;
        let name = text.name.get_ref().clone();
        // `ledger-NAME.sqlite` is a file of its own.
        if name.contains('/') || name.starts_with('.') {
            return misplaced(
                text.name.span(),
                format!("expected a name that can be part of a file name, found `{name}`"),
            );
        }
        // It stands where `ssh` and its like expect a host, and would be a flag of theirs.
        if name.starts_with('-') {
            return misplaced(
                text.name.span(),
                format!(
                    "expected a name that does not look like an option, found \
                                                        `{name}`"
                ),
            );
        }
        if machines.iter().any(|other| other.name == name) {
            return misplaced(text.name.span(), format!("expected machines that differ, found `{name}` twice"));
        }
        let require = text.require.into_iter().map(requirement).collect::<Result<_, _>>()?;
        let executor = match (text.slurm, text.exec) {
            (None, None) => Executor::Local,
            (Some(text), None) => Executor::Slurm(slurm(text)?),
            (None, Some(exec)) if exec.get_ref().contains("{command}") => Executor::Exec(exec.into_inner()),
            (None, Some(exec)) => {
                return misplaced(exec.span(), "exec: expected a command with the placeholder `{command}`");
            }
            (Some(_), Some(exec)) => return misplaced(exec.span(), "expected `slurm` or `exec`, found both"),
        };
        machines.push(Machine { name, require, executor });
    }
    if machines.is_empty() {
        machines.push(Machine { name: "here".to_owned(), require: Vec::new(), executor: Executor::Local });
    }
    Ok(machines)
}

/// Slurm's settings become flags of `sbatch` and `srun`.
fn slurm(text: SlurmText) -> Result<Slurm, Misplaced> {
    let word = |key: &str, expected: &str, text: Option<Spanned<String>>, is_one: fn(&str) -> bool| match text {
        Some(word) if !is_one(word.get_ref()) => {
            let found = word.get_ref().escape_debug();
            misplaced(word.span(), format!("{key}: expected {expected}, found `{found}`"))
        }
        word => Ok(word.map(Spanned::into_inner)),
    };
    let plain = "a word that does not look like an option";
    let is_plain = |word: &str| {
        !word.is_empty() && !word.starts_with('-') && !word.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    // srun(1): `p1`, `p1-p2` or `p1-p2:governor`.
    let is_frequency = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphanumeric())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':'))
    };
    Ok(Slurm {
        node: word("node", plain, text.node, is_plain)?,
        partition: word("partition", plain, text.partition, is_plain)?,
        constraint: word("constraint", plain, text.constraint, is_plain)?,
        cpu_freq: word("cpu_freq", "a governor, a frequency in kHz or a range of them", text.cpu_freq, is_frequency)?,
        account: word("account", plain, text.account, is_plain)?,
    })
}

fn requirement((key, value): (Spanned<String>, Spanned<Value>)) -> Result<Requirement, Misplaced> {
    let Some(property) = MachineProperty::ALL.into_iter().find(|property| property.name() == key.get_ref()) else {
        let known = check::one_of("requirement", MachineProperty::ALL.map(MachineProperty::name).into_iter());
        return misplaced(key.span(), format!("expected {known}, found `{}`", key.get_ref()));
    };
    let expected = match value.get_ref() {
        Value::Boolean(true) => Some("on".to_owned()),
        Value::Boolean(false) => Some("off".to_owned()),
        other => scalar(other),
    };
    Requirement::new(property, &expected.unwrap_or_default()).or_else(|expected| {
        misplaced(value.span(), format!("{}: expected {expected}, found {}", property.name(), value.get_ref()))
    })
}

/// Axes that are numbers in every workload that has them.
pub(super) fn numeric_axes(workloads: &[Placed]) -> HashMap<&str, bool> {
    let mut numeric = HashMap::new();
    for (name, value) in workloads.iter().flat_map(|placed| &placed.workload.axes) {
        *numeric.entry(name.as_str()).or_insert(true) &= finite(value).is_some();
    }
    numeric
}
