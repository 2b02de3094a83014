//! Stored inputs, and what the renderers make of them.

use std::fs;
use std::path::{Path, PathBuf};

use prony_profile::{Stacks, differential_flame_graph, flame_graph, pair};
use prony_report::{
    Along, CommandPoint, CommandSeries, Commands, Curve, Curves, Extras, Point, Report, StoredReplay, View, flame_file,
};
use prony_study::results_file;
use prony_testing::sources::root;
use serde_json::Value;

/// Files that pages are made of.
pub const PAGE_FILES: [&str; 5] =
    ["match.demo", "match.json", "study-enet-scalability.json", "study-rehlds.json", "study-sorting.json"];

/// What an SVG is made of; names are those of files without their kind.
pub enum Input {
    /// Curves, a line each.
    Curves(&'static str),
    /// Measured commands along a parameter.
    Commands(&'static str),
    /// Folded stacks.
    Flame { name: &'static str, title: &'static str, how: &'static str },
    /// Two profiles, of which the second is drawn.
    Difference { names: [&'static str; 2], title: &'static str, how: &'static str },
}

fn path(file: &str) -> PathBuf {
    root().join("docs/pictures").join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn json(name: &str) -> Value {
    serde_json::from_str(&read(&format!("{name}.json"))).expect("JSON")
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn stacks(name: &str) -> Stacks {
    let folded = Stacks::from_folded(read(&format!("{name}.folded")).as_bytes());
    folded.stacks
}

impl Input {
    /// The picture.
    pub fn drawn(&self) -> Vec<u8> {
        match self {
            Input::Curves(name) => curves(&json(name)).svg().into_bytes(),
            Input::Commands(name) => commands(&json(name)).svg().into_bytes(),
            Input::Flame { name, title, how } => {
                flame_file(&flame_graph(&stacks(name), title, how).expect("there are stacks"))
            }
            Input::Difference { names, title, how } => {
                let [a, b] = names.map(|name| vec![stacks(name)]);
                let pair = pair(&a, &b);
                flame_file(&differential_flame_graph(&pair.a, &pair.b, title, how).expect("there are stacks"))
            }
        }
    }

    /// Names of the files that it is made of.
    pub fn files(&self) -> Vec<String> {
        match self {
            Input::Curves(name) | Input::Commands(name) => vec![format!("{name}.json")],
            Input::Flame { name, .. } => vec![format!("{name}.folded")],
            Input::Difference { names, .. } => names.iter().map(|name| format!("{name}.folded")).collect(),
        }
    }
}

fn curves(input: &Value) -> Curves {
    let along = match input["along"].as_str() {
        Some("bytes") => Along::Bytes,
        Some("ratios") => Along::Ratios,
        _ => Along::Steps,
    };
    let point = |point: &Value| Point {
        at: number(&point[0]),
        value: number(&point[1]),
        range: (number(&point[2]), number(&point[3])),
    };
    let line =
        |line: &Value| Curve { name: text(&line["name"]), points: list(&line["points"]).iter().map(point).collect() };
    Curves {
        title: text(&input["title"]),
        along: (along, text(&input["name"])),
        unit: text(&input["unit"]),
        log: input["logarithmic"] == true,
        lines: list(&input["lines"]).iter().map(line).collect(),
        marks: list(&input["marks"]).iter().map(|mark| (number(&mark[0]), text(&mark[1]))).collect(),
    }
}

fn commands(input: &Value) -> Commands {
    // Without bounds there were too few values for an interval.
    let point = |point: &Value| CommandPoint {
        at: number(&point[0]),
        value: number(&point[1]),
        interval: (point[2].as_f64().unwrap_or(f64::NEG_INFINITY), point[3].as_f64().unwrap_or(f64::INFINITY)),
    };
    let series = |series: &Value| CommandSeries {
        name: text(&series["name"]),
        points: list(&series["points"]).iter().map(point).collect(),
    };
    Commands {
        title: text(&input["title"]),
        metric: text(&input["metric"]),
        unit: text(&input["unit"]),
        parameter: Some(text(&input["parameter"])),
        series: list(&input["series"]).iter().map(series).collect(),
    }
}

/// The page of a study's results.
pub fn study_page(name: &str) -> String {
    let results = results_file::parse(&read(&format!("{name}.json")), Path::new(name)).expect("results");
    let extras =
        Extras { version: env!("CARGO_PKG_VERSION").to_owned(), directory: "results".to_owned(), ..Extras::default() };
    Report::of(&results, extras).page()
}

/// The page of a demo with its replay, as `prony demo view` writes it.
pub fn demo_page(name: &str) -> String {
    let file = fs::File::open(path(&format!("{name}.demo"))).expect("it is committed");
    let mut demo = prony_demo::Demo::open(file).expect("a demo");
    let frames = demo.frames().len() as u64;
    let stored = StoredReplay::parse(&read(&format!("{name}.json"))).expect("a replay");
    let replay = stored.replay(frames).expect("of this demo");
    let interest = prony_demo::timeline::Interest { frame_ns: replay.frame_ns(frames), ..Default::default() };
    let timeline = prony_demo::timeline::Timeline::of(&mut demo, &interest).expect("a demo has a time line");
    let facts = prony_report::demo::shown_facts(demo.header(), demo.trailer());
    let title = format!("{name}.demo");
    View { title: &title, facts, timeline: &timeline, replay: Some(replay), version: env!("CARGO_PKG_VERSION") }.page()
}
