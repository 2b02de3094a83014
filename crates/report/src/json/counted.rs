//! Counted instructions of two builds on demos, as JSON.

use prony_bench::count::Counter;
use prony_bench::counted::{CountedDemo, CountedDemos};
use serde::Serialize;

use super::count::CountDocument;
use crate::bench::counted::{failure, verdict_word};

/// The answer of `prony bench --metric instructions --json`.
#[derive(Debug, Serialize)]
pub struct CountedDocument<'a> {
    /// `instructions`, or an event as `perf` names it.
    metric: String,
    /// `equal`, `same`, `more` or `fewer`; null if a demo was not counted.
    verdict: Option<&'static str>,
    limit_pct: f64,
    commands: [&'a str; 2],
    demos: Vec<DemoDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct DemoDocument<'a> {
    demo: &'a str,
    seconds: f64,
    verdict: Option<&'static str>,
    #[serde(flatten)]
    counts: Option<CountDocument<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Converts the answer.
pub fn answer(demos: &CountedDemos) -> CountedDocument<'_> {
    let of = |demo: &'_ CountedDemo| demos.verdict_on(demo).map(verdict_word);
    let all = demos.all.iter().map(|demo| DemoDocument {
        demo: &demo.name,
        seconds: demo.elapsed_s,
        verdict: of(demo),
        counts: demo.report.as_ref().ok().map(|report| super::count::answer(demos.limit, report)),
        error: failure(demo),
    });
    CountedDocument {
        metric: match demos.counter() {
            Some(Counter::Kernel(event, _)) => format!("{}:u", event.name()),
            _ => "instructions".to_owned(),
        },
        verdict: demos.verdict().map(verdict_word),
        limit_pct: demos.limit * 100.0,
        commands: demos.builds.each_ref().map(String::as_str),
        demos: all.collect(),
    }
}
