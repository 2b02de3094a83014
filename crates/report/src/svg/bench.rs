//! The commands of a bench as a picture: along a parameter, or a row each.

use std::collections::BTreeMap;

use prony_bench::{Measured, Options, Report};

use crate::bench::table;
use crate::svg::chart::commands::{CommandPoint, CommandSeries, Commands};

/// The picture of commands as an SVG file: none of demos, nor of several benchmarks of a suite.
pub fn drawing(measured: &Measured) -> Option<String> {
    let commands = match measured {
        Measured::Commands(commands) => commands,
        Measured::Suite(suite) => match suite.all.as_slice() {
            [(_, only)] => only,
            _ => return None,
        },
        Measured::Demos(_) | Measured::Layouts(_) => return None,
    };
    Some(commands_chart(&commands.options, &commands.report).svg())
}

/// Chart of the answer; with a parameter that is a number, along it.
pub fn commands_chart(options: &Options, report: &Report) -> Commands {
    let metric = table::metric(report);
    let unit = (0..options.subjects.len())
        .find_map(|subject| table::value(report, subject))
        .map_or("second", |(_, unit)| unit);
    let chart = |parameter, series| Commands {
        title: title(options),
        metric: table::name(report, metric),
        unit: unit.to_owned(),
        parameter,
        series,
    };
    match scanned(options) {
        Some(parameter) => {
            let mut series: Vec<CommandSeries> = Vec::new();
            for (subject, at) in options
                .subjects
                .iter()
                .enumerate()
                .filter_map(|(place, subject)| Some((place, number(subject.parameters.get(&parameter)?)?)))
            {
                let name = rest(options, subject, &parameter);
                let point = point(report, subject, at);
                match series.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.points.push(point),
                    None => series.push(CommandSeries { name, points: vec![point] }),
                }
            }
            chart(Some(parameter), series)
        }
        None => {
            let order: Vec<usize> = match &report.ranking {
                Some(ranking) => ranking.places.iter().map(|place| place.candidate).collect(),
                None => (0..options.subjects.len()).collect(),
            };
            let row = |subject: usize| CommandSeries {
                name: options.subjects[subject].name.clone(),
                points: vec![point(report, subject, 0.0)],
            };
            chart(None, order.into_iter().map(row).collect())
        }
    }
}

fn point(report: &Report, subject: usize, at: f64) -> CommandPoint {
    match table::value(report, subject) {
        Some((median, _)) => CommandPoint { at, value: median.estimate, interval: (median.low, median.high) },
        None => CommandPoint { at, value: f64::NAN, interval: (f64::NEG_INFINITY, f64::INFINITY) },
    }
}

/// The parameter with the most values, if all of them are numbers.
pub fn scanned(options: &Options) -> Option<String> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in options.subjects.iter().flat_map(|subject| &subject.parameters) {
        let known = values.entry(name).or_default();
        if !known.contains(&value.as_str()) {
            known.push(value);
        }
    }
    let numbers =
        values.into_iter().filter(|(_, values)| values.len() > 1 && values.iter().all(|value| number(value).is_some()));
    numbers.max_by_key(|(_, values)| values.len()).map(|(name, _)| name.to_owned())
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// What distinguishes series: the command, and its other parameters. Names with the value of the parameter would
/// distinguish points.
fn rest(options: &Options, subject: usize, parameter: &str) -> String {
    let this = &options.subjects[subject];
    let value = this.parameters.get(parameter).map_or("", String::as_str);
    let others: Vec<String> = this
        .parameters
        .iter()
        .filter(|(name, _)| *name != parameter)
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let name = this.template.clone().unwrap_or_else(|| this.name.replace(value, &format!("{{{parameter}}}")));
    if others.is_empty() { name } else { format!("{name}, {}", others.join(", ")) }
}

/// What was run, as a title.
pub fn title(options: &Options) -> String {
    let mut names: Vec<&str> = options.subjects.iter().filter_map(|subject| subject.template.as_deref()).collect();
    names.dedup();
    match names.as_slice() {
        [only] => (*only).to_owned(),
        _ => format!("{} commands", options.subjects.len()),
    }
}
