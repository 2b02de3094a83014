//! Two programs in many layouts, as JSON.

use prony_bench::JudgedFrames;
use prony_bench::layouts::{LayoutReport, Layouts, LayoutsEnded, Links, ReplayedDemo};
use prony_stats::{Interval, Verdict};
use serde::Serialize;

use crate::bench::layouts::failure;
use crate::change::to_percent;

/// Two programs in many layouts: commands or one demo, or each of several demos.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum LayoutsDocument<'a> {
    /// All that is known of the only comparison.
    One(Box<OfLayouts<'a>>),
    /// The verdict for all, and each.
    Several(Several<'a>),
}

/// The answer on several demos.
#[derive(Debug, Serialize)]
pub struct Several<'a> {
    /// The worst of all demos.
    verdict: Verdict,
    /// Of all demos together.
    alpha: f64,
    demos: Vec<OfDemo<'a>>,
}

#[derive(Debug, Serialize)]
struct OfDemo<'a> {
    demo: &'a str,
    #[serde(flatten)]
    answer: OfLayouts<'a>,
}

/// The answer on two programs in many layouts.
#[derive(Debug, Serialize)]
pub struct OfLayouts<'a> {
    /// Of the code of B relative to A; null where they could not be compared.
    verdict: Option<Verdict>,
    metric: &'static str,
    /// B relative to A over the layouts; null without a complete round.
    code: Option<ChangeOut>,
    /// The builds as they are, code and layout together: what a comparison of two binaries sees.
    builds: Option<ChangeOut>,
    sides: Vec<SideOut<'a>>,
    spread: Option<SpreadOut>,
    /// Only with demos.
    #[serde(flatten)]
    replays: Option<ReplaysOut<'a>>,
    layouts: usize,
    rounds: usize,
    seconds: f64,
    complete: bool,
    alpha: f64,
    margin_pct: f64,
    seed: u64,
}

/// What is known of replays, besides their times.
#[derive(Debug, Serialize)]
struct ReplaysOut<'a> {
    /// The frames that were judged; null if all of them were.
    judged_frames: Option<&'a JudgedFrames>,
    /// The tool that started the builds; left out for none.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    under: &'a [String],
    warnings: Vec<String>,
    /// Why the sides could not be compared; there is no verdict then.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The build that kept them from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<FailedOut<'a>>,
}

#[derive(Debug, Serialize)]
struct FailedOut<'a> {
    command: &'a str,
    /// 0 as built.
    layout: usize,
    /// Null as built.
    seed: Option<u32>,
    diverged: bool,
    /// Frame and record of the divergence; null without one.
    frame: Option<u64>,
    record: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ChangeOut {
    estimate_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    confidence: f64,
    /// Layouts, or runs of one build.
    n: usize,
}

#[derive(Debug, Serialize)]
struct SideOut<'a> {
    command: &'a str,
    build: &'a str,
    /// The build as it is, relative to the centre of its layouts.
    this_layout: Option<ChangeOut>,
    /// Standard deviation from layout to layout.
    deviation_pct: Option<f64>,
    /// Linker that ordered the sections; null if none was seen.
    linker: Option<&'static str>,
    /// Functions that it ordered; null where only the linker knows.
    functions: Option<usize>,
    /// Functions that BOLT could not move.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_moved: &'a [String],
}

#[derive(Debug, Serialize)]
struct SpreadOut {
    /// Standard deviation of the ratio of B to A from layout to layout.
    ratio_deviation_pct: f64,
    /// Share of its variance that more runs would reduce.
    of_runs: f64,
    /// Difference that is detected 9 times in 10; null with too few layouts.
    detectable_pct: Option<f64>,
    layouts_for_one_percent: Option<usize>,
}

fn out(interval: &Interval) -> ChangeOut {
    let percent = |log: f64| log.is_finite().then(|| to_percent(log));
    ChangeOut {
        estimate_pct: percent(interval.estimate),
        low_pct: percent(interval.low),
        high_pct: percent(interval.high),
        confidence: interval.confidence,
        n: interval.n,
    }
}

/// The answer.
pub fn answer(layouts: &Layouts) -> LayoutsDocument<'_> {
    if let ([only], 1) = (layouts.reports.as_slice(), layouts.requested()) {
        return LayoutsDocument::One(Box::new(of_one(layouts, layouts.demos.first(), only)));
    }
    LayoutsDocument::Several(Several {
        verdict: layouts.verdict(),
        alpha: layouts.alpha,
        demos: layouts
            .demos
            .iter()
            .zip(&layouts.reports)
            .map(|(demo, report)| OfDemo { demo: &demo.name, answer: of_one(layouts, Some(demo), report) })
            .collect(),
    })
}

fn replays<'a>(layouts: &'a Layouts, demo: &'a ReplayedDemo, report: &'a LayoutReport) -> ReplaysOut<'a> {
    let failed = report.ended.layout().map(|layout| {
        let diverged = match &report.ended {
            LayoutsEnded::Diverged(_, found) => Some(found.divergence.as_ref()),
            _ => None,
        };
        let place = diverged.flatten();
        FailedOut {
            command: &layouts.builds.sides[layout.side].name,
            layout: layout.number,
            seed: layout.seed,
            diverged: diverged.is_some(),
            frame: place.map(|found| found.frame),
            record: place.map(|found| found.record),
        }
    });
    ReplaysOut {
        judged_frames: report.judged.as_ref(),
        under: &demo.under,
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
        error: failure(layouts, Some(demo), report),
        failed,
    }
}

fn of_one<'a>(layouts: &'a Layouts, demo: Option<&'a ReplayedDemo>, report: &'a LayoutReport) -> OfLayouts<'a> {
    let options = &layouts.builds;
    let estimate = report.estimate.as_ref();
    let side = |place: usize| {
        let side = &options.sides[place];
        let links: Option<Links> = layouts.links[place];
        SideOut {
            command: &side.name,
            build: &side.build,
            this_layout: estimate.map(|estimate| out(&estimate.as_built[place])),
            deviation_pct: estimate.map(|estimate| to_percent(estimate.spreads.sides[place])),
            linker: links.map(|links| links.linker.name()),
            functions: links.and_then(|links| links.functions),
            not_moved: &layouts.left[place],
        }
    };
    OfLayouts {
        verdict: report.verdict(),
        metric: report.metric.name(),
        code: estimate.map(|estimate| out(&estimate.code)),
        builds: estimate.map(|estimate| out(&estimate.of_builds)),
        sides: vec![side(0), side(1)],
        spread: estimate.map(|estimate| SpreadOut {
            ratio_deviation_pct: to_percent(estimate.spreads.ratio),
            of_runs: estimate.spreads.of_runs,
            detectable_pct: estimate.spreads.detectable.is_finite().then(|| to_percent(estimate.spreads.detectable)),
            layouts_for_one_percent: estimate.spreads.for_one_percent,
        }),
        replays: demo.map(|demo| replays(layouts, demo, report)),
        layouts: options.layouts,
        rounds: report.rounds,
        seconds: report.elapsed_s,
        complete: matches!(report.ended, LayoutsEnded::Complete),
        alpha: report.plan.alpha,
        margin_pct: to_percent(report.plan.margin),
        seed: options.seed,
    }
}
