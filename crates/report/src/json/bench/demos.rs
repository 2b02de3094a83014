//! Two builds on demos, as JSON.

use prony_bench::{
    DemoEnded, DemoOptions, DemoReport, Demos, JudgedFrames, ProfileError, ProfiledBuilds, UntilDivergence,
};
use prony_profile::TimeGrowth;
use prony_stats::frames::FrameComparison;
use prony_stats::{Interval, Verdict};
use serde::Serialize;

use super::{Judgement, judgement};
use crate::bench::demos::failure;
use crate::change::to_percent;
use crate::json::counted::CountedDocument;
use crate::json::limits::shares::WorkloadRate;

/// Builds on one demo, or on each of several.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum DemosDocument<'a> {
    /// All that is known of the only one.
    One(Box<OfOne<'a>>),
    /// The verdict for all, and each.
    Several(Box<Several<'a>>),
}

/// The answer on one demo.
#[derive(Debug, Serialize)]
pub struct OfOne<'a> {
    #[serde(flatten)]
    verdict: Option<Judgement>,
    seconds: f64,
    complete: bool,
    alpha: f64,
    seed: u64,
    commands: [&'a str; 2],
    /// The tool that started the builds; left out for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    under: Vec<String>,
    frames: Option<&'a FrameComparison>,
    /// The frames that were judged; null if all of them were.
    judged_frames: Option<&'a JudgedFrames>,
    /// What is known of the frames before a divergence, where a build diverged.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_divergence: Option<UntilOut<'a>>,
    /// With `--profile`: times of functions in a replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<ProfileOut<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rates: Vec<WorkloadRate>,
    warnings: Vec<String>,
    /// With `--count`, as of `--metric instructions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<CountedDocument<'a>>,
    /// Why the builds could not be compared; there is no verdict then.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Times of functions in the judged frames of a replay, in seconds.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ProfileOut<'a> {
    Profiled {
        replays: usize,
        samples: [u64; 2],
        /// Frames of a replay that the times are of.
        frames: u64,
        /// False if time in the kernel was not sampled.
        kernel: bool,
        /// False with one run on a side: no function is said to differ then.
        judged: bool,
        total: TimesOut,
        functions: Vec<FunctionOut<'a>>,
    },
    Failed {
        error: String,
    },
}

#[derive(Debug, Serialize)]
struct TimesOut {
    a_s: f64,
    b_s: f64,
    /// b_s − a_s; the intervals of all functions hold together.
    growth_s: Interval,
}

#[derive(Debug, Serialize)]
struct FunctionOut<'a> {
    name: &'a str,
    #[serde(rename = "self")]
    own: TimesOut,
    inclusive: TimesOut,
    /// Of the difference of the totals; null where that is not known to be one.
    share_of_total: Option<f64>,
    differs: bool,
    interrupt: bool,
}

fn profile_out(profiled: &Result<ProfiledBuilds, ProfileError>) -> ProfileOut<'_> {
    let profiled = match profiled {
        Ok(profiled) => profiled,
        Err(error) => return ProfileOut::Failed { error: error.to_string() },
    };
    let times = |times: &TimeGrowth| TimesOut { a_s: times.seconds[0], b_s: times.seconds[1], growth_s: times.growth };
    let changes = &profiled.changes;
    ProfileOut::Profiled {
        replays: profiled.replays,
        samples: profiled.samples,
        frames: profiled.frames,
        kernel: profiled.kernel,
        judged: changes.is_judged,
        total: times(&changes.total),
        functions: changes
            .functions
            .iter()
            .map(|change| FunctionOut {
                name: &change.name,
                own: times(&change.own),
                inclusive: times(&change.inclusive),
                share_of_total: changes.share_of_total(change),
                differs: changes.is_judged && change.stands_out(),
                interrupt: change.is_interrupt,
            })
            .collect(),
    }
}

#[derive(Debug, Serialize)]
struct UntilOut<'a> {
    /// Name of the build that diverged.
    build: &'a str,
    #[serde(flatten)]
    until: UntilDivergence,
    #[serde(flatten)]
    outcome: Judgement,
}

/// The answer on several demos.
#[derive(Debug, Serialize)]
pub struct Several<'a> {
    /// The worst of all demos.
    verdict: Verdict,
    /// Of all demos together.
    alpha: f64,
    margin_pct: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    geometric_mean: Option<Mean>,
    demos: Vec<OfDemo<'a>>,
    /// What to know of the builds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// With `--count`, as of `--metric instructions`.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<CountedDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct Mean {
    estimate_pct: f64,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
}

#[derive(Debug, Serialize)]
struct OfDemo<'a> {
    demo: &'a str,
    #[serde(flatten)]
    answer: OfOne<'a>,
}

/// The answer. `rates`: what each build does in a second, of the only demo. `warning`: what to know of the builds.
pub fn answer(demos: &Demos, rates: Vec<WorkloadRate>, warning: Option<String>) -> DemosDocument<'_> {
    let counted = demos.counted.as_ref().map(crate::json::counted::answer);
    if let ([only], 1) = (demos.all.as_slice(), demos.requested) {
        let mut answer = of_one(&only.options, &only.report, rates);
        answer.warnings.extend(warning);
        return DemosDocument::One(Box::new(OfOne { counted, ..answer }));
    }
    let percent = |log: f64| Some(to_percent(log)).filter(|percent| percent.is_finite());
    DemosDocument::Several(Box::new(Several {
        verdict: demos.verdict(),
        alpha: demos.alpha,
        margin_pct: to_percent(demos.margin),
        geometric_mean: demos.mean().map(|mean| Mean {
            estimate_pct: to_percent(mean.estimate),
            low_pct: percent(mean.low),
            high_pct: percent(mean.high),
        }),
        demos: demos
            .all
            .iter()
            .map(|one| OfDemo { demo: &one.name, answer: of_one(&one.options, &one.report, Vec::new()) })
            .collect(),
        counted,
        warnings: Vec::from_iter(warning),
    }))
}

fn of_one<'a>(options: &'a DemoOptions, report: &'a DemoReport, rates: Vec<WorkloadRate>) -> OfOne<'a> {
    let error = failure(options, report);
    OfOne {
        verdict: report.outcome.as_ref().filter(|_| error.is_none()).map(|outcome| judgement(outcome, "cpu")),
        seconds: report.elapsed_s,
        complete: matches!(report.ended, DemoEnded::Complete),
        alpha: options.plan.alpha,
        seed: options.seed,
        commands: [&options.builds[0].name, &options.builds[1].name],
        under: options.demo.under.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        frames: report.frames.as_ref().ok(),
        judged_frames: report.judged.as_ref(),
        until_divergence: report.until.zip(report.outcome.as_ref()).map(|(until, outcome)| UntilOut {
            build: &options.builds[until.build].name,
            until,
            outcome: judgement(outcome, "cpu"),
        }),
        profile: report.profile.as_ref().map(profile_out),
        rates,
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
        counted: None,
        error,
    }
}
