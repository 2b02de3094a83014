//! Limits of the hardware as curves, and as a section of a page.

pub mod section;

use prony_limits::{Experiment, Limits, Measured};

use crate::svg::chart::curves::{Along, Curve, Curves, Point};

/// Operations a byte, from a copy to a large matrix: two to the power of these.
const INTENSITIES: std::ops::RangeInclusive<i32> = -6..=7;
/// Operations of a fused multiply-add on eight 32-bit numbers.
const FMA_OPERATIONS: f64 = 16.0;
/// Operations of an addition of eight.
const ADD_OPERATIONS: f64 = 8.0;

/// The curves of what was measured, each with a name for its file: those that have a line of more than one point.
pub fn limits_curves(limits: &Limits) -> Vec<(&'static str, Curves)> {
    let charts = [
        ("bandwidth", bandwidth(limits)),
        ("latency", latency(limits)),
        ("roofline", roofline(limits)),
        ("alignment", alignment(limits)),
        ("period", period(limits)),
        ("footprint", footprint(limits)),
        ("threads", threads(limits)),
    ];
    charts.into_iter().filter(|(_, chart)| chart.lines.iter().any(|line| line.points.len() > 1)).collect()
}

/// The points of some cases along one of their facts, from left to right.
fn line<'a>(name: &str, cases: impl Iterator<Item = &'a Measured>, along: &str) -> Curve {
    let point = |case: &Measured| {
        let figure = case.figure()?;
        let range = (figure.best.min(figure.worst), figure.best.max(figure.worst));
        Some(Point { at: case.number(along)?, value: figure.value, range })
    };
    let mut points: Vec<Point> = cases.filter_map(point).collect();
    points.sort_by(|a, b| a.at.total_cmp(&b.at));
    Curve { name: name.to_owned(), points }
}

/// Values of a fact in the order in which they were measured.
fn values<'a>(cases: impl Iterator<Item = &'a Measured>, fact: &str) -> Vec<&'a str> {
    let mut values = Vec::new();
    for value in cases.filter_map(|case| case.fact(fact)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// A line for each value of a fact, with that name.
fn lines<'a>(cases: impl Iterator<Item = &'a Measured> + Clone, fact: &str, along: &str) -> Vec<Curve> {
    let of_value = |value| line(value, cases.clone().filter(move |case| case.fact(fact) == Some(value)), along);
    values(cases.clone(), fact).into_iter().map(of_value).collect()
}

fn processor(limits: &Limits) -> &str {
    limits.facts.cpu.model.as_deref().unwrap_or("a processor")
}

/// Sizes of the caches of the first CPU in bytes, with their names.
fn caches(limits: &Limits) -> Vec<(f64, String)> {
    let data = limits.facts.cpu.caches.iter().filter(|cache| cache.kind != "Instruction");
    data.map(|cache| (cache.size_bytes as f64, format!("L{}", cache.level))).collect()
}

fn bandwidth(limits: &Limits) -> Curves {
    let cases = || limits.of(Experiment::Bandwidth);
    let kinds = values(cases(), "pages");
    let kind = kinds.first().copied().unwrap_or_default();
    let of_kind = cases().filter(|case| case.fact("pages") == Some(kind));
    Curves {
        title: format!("{}: bandwidth by size, one thread, {kind} pages; copies: bytes copied", processor(limits)),
        along: (Along::Bytes, "working set; a copy reads half of it and writes half".to_owned()),
        unit: "B/s".to_owned(),
        log: true,
        lines: lines(of_kind, "way", "bytes"),
        marks: caches(limits),
    }
}

fn latency(limits: &Limits) -> Curves {
    let mut lines = lines(limits.of(Experiment::Cache), "pages", "bytes");
    for line in &mut lines {
        line.name += " pages";
    }
    Curves {
        title: format!("{}: latency of a load by size", processor(limits)),
        along: (Along::Bytes, "bytes visited by a random cycle".to_owned()),
        unit: "second".to_owned(),
        log: true,
        lines,
        marks: caches(limits),
    }
}

/// The lower of what a level brings and what the units compute, by operations a byte: Williams, Waterman & Patterson, "Roofline",
/// Communications of the ACM 52, 2009.
fn roofline(limits: &Limits) -> Curves {
    let port = |name: &str| {
        let mut ports = limits.of(Experiment::Ports);
        let case = ports.find(|case| case.fact("instruction") == Some(name) && case.unit.ends_with("/cycle"))?;
        let figure = case.figure()?;
        Some(figure.value * figure.core_hz)
    };
    let peak = port("vfmadd231ps 256 bits").map(|each_second| each_second * FMA_OPERATIONS);
    let adds = port("vaddps 256 bits").map(|each_second| each_second * ADD_OPERATIONS);
    let mut lines = Vec::new();
    let roof = |bandwidth: f64, peak: f64| {
        INTENSITIES.map(move |power| {
            let at = 2f64.powi(power);
            let value = (bandwidth * at).min(peak);
            Point { at, value, range: (value, value) }
        })
    };
    let kinds = values(limits.of(Experiment::Bandwidth), "pages");
    if let Some(peak) = peak {
        let loads = limits.of(Experiment::Bandwidth).filter(|case| {
            case.fact("way") == Some("load")
                && case.fact("level").is_some()
                && case.fact("pages") == kinds.first().copied()
        });
        for case in loads {
            let (Some(level), Some(figure)) = (case.fact("level"), case.figure()) else { continue };
            lines.push(Curve { name: level.to_owned(), points: roof(figure.value, peak).collect() });
        }
        lines.extend(
            adds.map(|adds| Curve { name: "adds alone".to_owned(), points: roof(f64::INFINITY, adds).collect() }),
        );
    }
    Curves {
        title: format!("{}: roofline of one core, 32-bit numbers in 256 bits", processor(limits)),
        along: (Along::Ratios, "operations per byte loaded".to_owned()),
        unit: "operations/s".to_owned(),
        log: true,
        lines,
        marks: Vec::new(),
    }
}

fn alignment(limits: &Limits) -> Curves {
    let loops = limits.of(Experiment::Write).filter(|case| case.fact("offset").is_some());
    let mut lines = lines(loops, "loop", "offset");
    let twenty = limits.of(Experiment::Decode).filter(|case| case.fact("offset").is_some());
    lines.push(line("5 adds, dec, jnz: 20 bytes", twenty, "offset"));
    lines.retain(|line| !line.points.is_empty());
    Curves {
        title: format!("{}: cycles per iteration by loop offset", processor(limits)),
        along: (Along::Steps, "offset of the loop within a line of 64 bytes".to_owned()),
        unit: "cycles".to_owned(),
        log: false,
        lines,
        marks: Vec::new(),
    }
}

fn period(limits: &Limits) -> Curves {
    let cases = limits.of(Experiment::Branch);
    let swept = line("repeating random pattern", cases.clone().filter(|case| case.fact("period").is_some()), "period");
    let ends = (swept.points.first().map(|point| point.at), swept.points.last().map(|point| point.at));
    let mut lines = vec![swept];
    if let (Some(first), Some(last)) = ends {
        for name in ["never taken", "always taken", "random"] {
            let figure = cases.clone().find(|case| case.name == name).and_then(|case| case.figure());
            let points = figure.map(|figure| {
                [first, last].map(|at| Point { at, value: figure.value, range: (figure.best, figure.worst) }).to_vec()
            });
            lines.extend(points.map(|points| Curve { name: name.to_owned(), points }));
        }
    }
    Curves {
        title: format!("{}: cycles of a branch by the length of its pattern", processor(limits)),
        along: (Along::Ratios, "branches after which the pattern repeats".to_owned()),
        unit: "cycles".to_owned(),
        log: false,
        lines,
        marks: Vec::new(),
    }
}

fn footprint(limits: &Limits) -> Curves {
    let cases = limits.of(Experiment::Decode).filter(|case| case.fact("footprint").is_some());
    let instruction = limits.facts.cpu.caches.iter().filter(|cache| cache.kind != "Data");
    Curves {
        title: format!("{}: bytes of code per cycle by loop size", processor(limits)),
        along: (Along::Bytes, "bytes of code, in nops of 4 bytes".to_owned()),
        unit: "bytes/cycle".to_owned(),
        log: false,
        lines: vec![line("nops of 4 bytes", cases, "footprint")],
        marks: instruction.map(|cache| (cache.size_bytes as f64, format!("L{}", cache.level))).collect(),
    }
}

fn threads(limits: &Limits) -> Curves {
    let cases = limits.of(Experiment::Threads).filter(|case| case.fact("threads").is_some() && case.unit == "B/s");
    Curves {
        title: format!("{}: memory bandwidth by number of threads", processor(limits)),
        along: (Along::Steps, "threads, each on its own CPU".to_owned()),
        unit: "B/s".to_owned(),
        log: false,
        lines: lines(cases, "way", "threads"),
        marks: Vec::new(),
    }
}
