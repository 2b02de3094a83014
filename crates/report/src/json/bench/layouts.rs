//! Two programs in many layouts, as JSON.

use prony_bench::Ended;
use prony_bench::layouts::{Layouts, Links};
use prony_stats::{Interval, Verdict};
use serde::Serialize;

use crate::change::to_percent;

/// The answer on two programs in many layouts.
#[derive(Debug, Serialize)]
pub struct OfLayouts<'a> {
    /// Of the code of B relative to A.
    verdict: Verdict,
    metric: &'static str,
    /// B relative to A over the layouts; null without a complete round.
    code: Option<ChangeOut>,
    /// The builds as they are, code and layout together: what a comparison of two binaries sees.
    builds: Option<ChangeOut>,
    sides: Vec<SideOut<'a>>,
    spread: Option<SpreadOut>,
    layouts: usize,
    rounds: usize,
    seconds: f64,
    complete: bool,
    alpha: f64,
    margin_pct: f64,
    seed: u64,
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
pub fn answer(layouts: &Layouts) -> OfLayouts<'_> {
    let Layouts { options, report } = layouts;
    let estimate = report.estimate.as_ref();
    let side = |place: usize| {
        let side = &options.sides[place];
        let links: Option<Links> = report.links[place];
        SideOut {
            command: &side.name,
            build: &side.build,
            this_layout: estimate.map(|estimate| out(&estimate.as_built[place])),
            deviation_pct: estimate.map(|estimate| to_percent(estimate.spreads.sides[place])),
            linker: links.map(|links| links.linker.name()),
            functions: links.and_then(|links| links.functions),
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
        layouts: options.layouts,
        rounds: report.rounds,
        seconds: report.elapsed_s,
        complete: matches!(report.ended, Ended::Complete),
        alpha: options.bench.plan.alpha,
        margin_pct: to_percent(options.bench.plan.margin),
        seed: options.bench.seed,
    }
}
