//! Judges stored samples again: in pairs where there are pairs, between processes where there are none.
//!
//! Pairs are judged at the times at which they were looked at when they were taken. A file that was already judged
//! five times, and is judged once more with all of α, would err more often than α.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::decide::judge::{Judge, Look, Outcome, Pair, Plan, Progress, Ratio, ReplayJudge};
use crate::describe::quantile::median;
use crate::files::samples::{Benchmark, Better, Circumstances, Run};
use crate::infer::unpaired::{self, Comparison, Together};
use crate::interval::Interval;
use crate::metric::Metric;
use crate::verdict::Verdict;

/// Is B faster than A?
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Benchmark that is the baseline of the comparison.
    pub a: &'a Benchmark,
    /// Benchmark that is compared with the baseline.
    pub b: &'a Benchmark,
    /// Circumstances of the measurement of both, when their runs are pairs.
    pub paired: Option<&'a Circumstances>,
}

/// The answer to a question. Ratios are of what is worse when there is more of it: for a rate, of its inverse.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rejudgement {
    /// Comparison of pairs of runs.
    Paired(Box<Outcome>),
    /// Comparison between processes without pairs.
    Unpaired(Box<Comparison>),
}

impl Rejudgement {
    /// Verdict on B relative to A.
    pub fn verdict(&self) -> Verdict {
        match self {
            Rejudgement::Paired(outcome) => outcome.verdict,
            Rejudgement::Unpaired(comparison) => comparison.verdict,
        }
    }

    /// Log ratio ln(B/A) with its interval.
    pub fn ratio(&self) -> Interval {
        match self {
            Rejudgement::Paired(outcome) => outcome.interval,
            Rejudgement::Unpaired(comparison) => comparison.interval,
        }
    }

    fn claims_a_difference(&self) -> bool {
        matches!(self.verdict(), Verdict::Faster | Verdict::Slower)
    }
}

/// Answers all questions so that any difference claimed where there is none has probability `alpha` at most: Holm's
/// (1979) steps. With k differences found, the others are judged at α/(m − k), until none is found.
///
/// `margin`: smaller differences count as none, a log ratio; `tolerates`: as in [`Plan`]. `metric`: what of pairs is judged, by itself; `None` for what
/// was judged when they were taken. Processes that are no pairs are compared by their values, see [`Benchmark::by`].
/// `None` where a side has no values.
pub fn answer(
    questions: &[Question<'_>],
    alpha: f64,
    margin: f64,
    tolerates: bool,
    metric: Option<Metric>,
) -> Vec<Option<Rejudgement>> {
    let mut answers: Vec<Option<Rejudgement>> = vec![None; questions.len()];
    let costs: Vec<Option<Costs>> =
        questions.iter().map(|question| question.pairs().is_empty().then(|| question.costs())).collect();
    let together = (costs.iter().flatten().count() > 1).then(|| Together::of(costs.iter().flatten()));
    let mut found = 0;
    loop {
        let level = alpha / (questions.len() - found).max(1) as f64;
        for ((question, costs), answer) in questions.iter().zip(&costs).zip(&mut answers) {
            if !answer.as_ref().is_some_and(Rejudgement::claims_a_difference) {
                *answer = question.answer(level, margin, tolerates, metric, costs.as_ref(), together);
            }
        }
        let now = answers.iter().flatten().filter(|answer| answer.claims_a_difference()).count();
        if now == found || now == questions.len() {
            return answers;
        }
        found = now;
    }
}

/// Values of each process of both sides, more of which is worse.
type Costs = [Vec<Vec<f64>>; 2];

impl Question<'_> {
    fn pairs(&self) -> Vec<Numbered<'_>> {
        self.paired.map(|_| pairs(self.a, self.b)).unwrap_or_default()
    }

    /// Values of both sides; where one is 0, all are counted from 1.
    fn costs(&self) -> Costs {
        let has_zeros = [self.a, self.b].iter().any(|side| side.values().any(|value| value == 0.0));
        [self.a, self.b].map(|side| costs(side, has_zeros))
    }

    fn answer(
        &self,
        alpha: f64,
        margin: f64,
        tolerates: bool,
        metric: Option<Metric>,
        costs: Option<&Costs>,
        together: Option<Together>,
    ) -> Option<Rejudgement> {
        if let Some([a, b]) = costs {
            let compared = unpaired::compare(a, b, alpha, margin, together);
            let judged = compared.map(|compared| if tolerates { compared.tolerating(margin) } else { compared });
            return judged.map(|comparison| Rejudgement::Unpaired(Box::new(comparison)));
        }
        let (pairs, circumstances) = (self.pairs(), self.paired?);
        let duet = circumstances.tuning["duet"] == true;
        let metric = metric.or(circumstances.metric).or(Metric::only(self.b.metric(), duet));
        let plan = Plan { alpha, margin, budget_s: budget_s(circumstances).unwrap_or(f64::MAX), metric, tolerates };
        let of_frames = matches!(metric, None | Some(Metric::Cpu));
        let outcome = if of_frames && pairs.iter().all(Numbered::is_of_replays) {
            look_again(ReplayJudge::new(plan), &pairs, circumstances, |judge, pair| {
                let [a_s, b_s] = [pair.a, pair.b].map(|run| frames_s(run, &circumstances.judged_frames));
                judge.push(&a_s, &b_s, pair.times.wall);
            })
        } else {
            look_again(Judge::new(plan), &pairs, circumstances, |judge, pair| judge.push(pair.times))
        };
        Some(Rejudgement::Paired(Box::new(outcome)))
    }
}

/// Values of each process, of a rate the inverse, so that more is worse.
///
/// Counts may be 0, which has no ratio: where one is, all are counted from 1. Ranks, and so the verdict, do not change by it.
fn costs(benchmark: &Benchmark, has_zeros: bool) -> Vec<Vec<f64>> {
    let mut clusters = benchmark.clusters();
    if has_zeros {
        clusters.iter_mut().flatten().for_each(|value| *value += 1.0);
    }
    if benchmark.better() == Better::Higher {
        clusters.iter_mut().flatten().for_each(|value| *value = 1.0 / *value);
    }
    clusters
}

/// Two runs that were measured as a pair.
struct Numbered<'a> {
    number: u64,
    a: &'a Run,
    b: &'a Run,
    times: Pair,
}

impl Numbered<'_> {
    fn is_of_replays(&self) -> bool {
        [self.a, self.b].iter().all(|run| run.measured.as_ref().is_some_and(|measured| !measured.frame_ns.is_empty()))
    }
}

/// CPU time of each frame of a replay; of all, or of those that are judged.
fn frames_s(run: &Run, judged: &[[u64; 2]]) -> Vec<f64> {
    let frame_ns = run.measured.as_ref().map_or(&[][..], |measured| &measured.frame_ns);
    let seconds = |frame_ns: &[u64]| frame_ns.iter().map(|&ns| ns as f64 / 1e9).collect::<Vec<f64>>();
    if judged.is_empty() {
        return seconds(frame_ns);
    }
    let mut chosen = Vec::new();
    // A file made to harm may name frames twice, and more of them than there are.
    let mut from = 0;
    for &[first, number] in judged {
        let first = usize::try_from(first).unwrap_or(usize::MAX).max(from);
        let end = first.saturating_add(usize::try_from(number).unwrap_or(usize::MAX)).min(frame_ns.len());
        chosen.extend(seconds(frame_ns.get(first..end).unwrap_or_default()));
        from = end;
    }
    chosen
}

/// The pairs of two benchmarks, in the order in which they ran.
fn pairs<'a>(a: &'a Benchmark, b: &'a Benchmark) -> Vec<Numbered<'a>> {
    let of_a: BTreeMap<u64, &Run> = numbered(a).collect();
    let mut pairs: Vec<Numbered<'_>> = numbered(b)
        .filter_map(|(number, run)| {
            let first = *of_a.get(&number)?;
            let times = Times::of(b, run)?.against(Times::of(a, first)?);
            Some(Numbered { number, a: first, b: run, times })
        })
        .collect();
    pairs.sort_by_key(|pair| pair.number);
    // A file made to harm may say a number twice; a pair is two runs.
    pairs.dedup_by_key(|pair| pair.number);
    pairs
}

fn numbered(benchmark: &Benchmark) -> impl Iterator<Item = (u64, &Run)> {
    benchmark.runs.iter().filter_map(|run| Some((run.measured.as_ref()?.pair?, run)))
}

/// Compared times of a run; more is worse.
#[derive(Debug, Clone, Copy)]
struct Times {
    cpu: f64,
    uncontended: Option<f64>,
    /// Not a number where it is not known.
    wall: f64,
    rss: Option<f64>,
}

impl Times {
    /// `None` for a run of which no value counts.
    fn of(benchmark: &Benchmark, run: &Run) -> Option<Times> {
        let value = median(&run.values)?;
        let cost = if benchmark.better() == Better::Higher { 1.0 / value } else { value };
        let measured = run.measured.as_ref()?;
        // Where the values are something else than time, that is what is judged.
        let (times, cpu_alone) = match Metric::from_name(benchmark.metric()) {
            Some(Metric::Wall) => (true, false),
            Some(Metric::Cpu | Metric::Uncontended | Metric::Rss) => (true, true),
            _ => (false, false),
        };
        let wall = measured.wall_s.filter(|_| times).or((!cpu_alone).then_some(cost));
        Some(Times {
            cpu: measured.cpu_s.filter(|_| times).unwrap_or(cost),
            uncontended: measured.uncontended_s.filter(|_| times),
            wall: wall.unwrap_or(f64::NAN),
            rss: measured.peak_rss_bytes.map(|bytes| bytes as f64),
        })
    }

    fn against(self, first: Times) -> Pair {
        Pair {
            cpu: Ratio::of(first.cpu, self.cpu),
            uncontended: first.uncontended.zip(self.uncontended).map(|(first, second)| Ratio::of(first, second)),
            wall: Ratio::of(first.wall, self.wall),
            rss: first.rss.zip(self.rss).map(|(first, second)| Ratio::of(first, second)),
        }
    }
}

/// Time limit of the measurement; `None` when the number of runs was set.
fn budget_s(circumstances: &Circumstances) -> Option<f64> {
    let end_s = circumstances.pairs_done_s.last().copied().unwrap_or(0.0);
    circumstances.budget_s.filter(|&budget| budget > 0.0 && end_s > 0.0)
}

/// Lets a judge look when it was looked then.
fn look_again<J: Look>(
    mut judge: J,
    pairs: &[Numbered<'_>],
    circumstances: &Circumstances,
    push: impl Fn(&mut J, &Numbered<'_>),
) -> Outcome {
    let done_s =
        |number: u64| usize::try_from(number).ok().and_then(|number| circumstances.pairs_done_s.get(number)).copied();
    let end_s = circumstances.pairs_done_s.last().copied().unwrap_or(0.0);
    let budget_s = budget_s(circumstances);
    let share = |pairs: u64, done_s: f64| Some(Progress { pairs, done_s }.share(budget_s?, circumstances.pairs_max));
    for pair in pairs {
        push(&mut judge, pair);
        let done = pair.number.saturating_add(1);
        if done < circumstances.pairs_min {
            continue;
        }
        let looked = done_s(pair.number).and_then(|done_s| judge.look_if_due(share(done, done_s)?, done_s));
        if let Some(outcome) = looked {
            return outcome;
        }
    }
    match share(circumstances.pairs_done_s.len() as u64, end_s) {
        // It ended before its time: only the share that was used may be spent.
        Some(share) if share < 1.0 => judge.look_at(share, true, end_s),
        _ => judge.finish(end_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::samples::{Measured, Subject};
    use crate::seed::Seed;

    /// Runs of about 20 ms, `slower` by a log ratio; the machine's mood is the same for both of a pair.
    fn benchmark(name: &str, slower: f64, runs: usize, seed: u64) -> Benchmark {
        let mut mood = Seed::new(7);
        let mut own = Seed::new(seed);
        let runs = (0..runs).map(|number| {
            let noise = 0.2 * mood.below(1000) as f64 / 1000.0 + 0.01 * own.below(1000) as f64 / 1000.0;
            let time = 0.02 * (noise + slower).exp();
            let measured =
                Measured { pair: Some(number as u64), cpu_s: Some(time), wall_s: Some(time), ..Measured::default() };
            Run { measured: Some(Box::new(measured)), ..Run::of(time) }
        });
        Benchmark { runs: runs.collect(), ..Benchmark::new(name) }
    }

    fn circumstances(pairs: usize, budget_s: Option<f64>) -> Circumstances {
        let pairs_done_s = (1..=pairs).map(|number| number as f64 * 0.04).collect();
        Circumstances { budget_s, pairs_done_s, ..Circumstances::default() }
    }

    #[test]
    fn pairs_see_what_two_samples_apart_do_not() {
        let (a, b) = (benchmark("a", 0.0, 40, 1), benchmark("b", 0.02, 40, 2));
        let circumstances = circumstances(40, None);
        let ask = |paired| {
            answer(&[Question { a: &a, b: &b, paired }], 0.05, 0.01, false, None).remove(0).expect("there are values")
        };
        let paired = ask(Some(&circumstances));
        assert_eq!(paired.verdict(), Verdict::Slower);
        let Interval { estimate, low, high, .. } = paired.ratio();
        assert!(low < 0.02 && high > 0.02 && (estimate - 0.02).abs() < 0.005, "{paired:?}");
        assert_eq!(ask(None).verdict(), Verdict::Unclear);
    }

    #[test]
    fn replays_are_judged_by_their_frames() {
        // The second half of a replay is disturbed: in each of four pairs of neither, A, both, B..
        let replays = |build: u64, slower: f64| {
            let mut own = Seed::new(build);
            let runs = (0..40).map(|number: u64| {
                let mut frame = |frame: u64| {
                    let disturbed = if frame >= 10 && (number + build) % 4 >= 2 { 1.7 } else { 1.0 };
                    (100_000.0 * disturbed * slower * (1.0 + 0.002 * own.below(1000) as f64 / 1000.0)) as u64
                };
                let frame_ns: Vec<u64> = (0..20).map(&mut frame).collect();
                let cpu_s = frame_ns.iter().sum::<u64>() as f64 / 1e9;
                let measured = Measured { pair: Some(number), cpu_s: Some(cpu_s), frame_ns, ..Measured::default() };
                Run { measured: Some(Box::new(measured)), ..Run::of(cpu_s) }
            });
            Benchmark { runs: runs.collect(), ..Benchmark::new("replays") }
        };
        let (a, b) = (replays(0, 1.0), replays(1, 1.01));
        let circumstances = circumstances(40, None);
        let answer =
            answer(&[Question { a: &a, b: &b, paired: Some(&circumstances) }], 0.05, 0.001, false, None).remove(0);
        let Some(Rejudgement::Paired(outcome)) = answer else { panic!("pairs") };
        assert_eq!(outcome.verdict, Verdict::Slower);
        assert!(outcome.wall.deviation > 0.1, "{outcome:?}");
        assert!((outcome.interval.estimate - 0.01).abs() < 0.0005 && outcome.cpu.deviation < 0.001, "{outcome:?}");
    }

    #[test]
    fn only_the_judged_frames_of_a_replay_are_compared() {
        let measured = Measured { frame_ns: vec![1, 2, 3, 4, 5], ..Measured::default() };
        let run = Run { measured: Some(Box::new(measured)), ..Run::of(1.0) };
        let of = |judged: &[[u64; 2]]| {
            frames_s(&run, judged).iter().map(|seconds| (seconds * 1e9).round() as u64).collect::<Vec<_>>()
        };
        assert_eq!(of(&[]), [1, 2, 3, 4, 5]);
        assert_eq!(of(&[[1, 2], [4, 1]]), [2, 3, 5]);
        // Claims of a file: frames twice, more than there are, behind the end.
        assert_eq!(of(&[[1, 2], [2, 2], [4, u64::MAX], [9, 1], [u64::MAX, 1]]), [2, 3, 4, 5]);
    }

    #[test]
    fn a_rate_that_falls_is_slower() {
        let rate = |factor: f64, seed| {
            let mut benchmark = benchmark("rate", 0.0, 30, seed);
            benchmark.runs.iter_mut().flat_map(|run| &mut run.values).for_each(|value| *value = factor / *value);
            let subject = Subject { metric: Some("requests".to_owned()), better: Better::Higher, ..Subject::default() };
            Benchmark { subject: Some(subject), ..benchmark }
        };
        let (a, b) = (rate(1.0, 1), rate(0.5, 2));
        let circumstances = circumstances(30, None);
        for paired in [None, Some(&circumstances)] {
            let answer = answer(&[Question { a: &a, b: &b, paired }], 0.05, 0.01, false, None)
                .remove(0)
                .expect("there are values");
            assert_eq!(answer.verdict(), Verdict::Slower);
            assert!((answer.ratio().estimate - 2f64.ln()).abs() < 0.05, "{answer:?}");
        }
    }

    #[test]
    fn what_ended_before_its_time_may_spend_that_part_only() {
        let (a, b) = (benchmark("a", 0.0, 40, 1), benchmark("b", 0.0015, 40, 2));
        let width = |budget_s| {
            let circumstances = circumstances(40, budget_s);
            let answer =
                answer(&[Question { a: &a, b: &b, paired: Some(&circumstances) }], 0.05, 1e-6, false, None).remove(0);
            answer.expect("there are values").ratio().width()
        };
        assert!(width(Some(20.0)) > width(None));
    }

    #[test]
    fn many_questions_share_one_chance_to_err() {
        let (a, b) = (benchmark("a", 0.0, 40, 1), benchmark("b", 0.0022, 40, 2));
        let circumstances = circumstances(40, None);
        let question = Question { a: &a, b: &b, paired: Some(&circumstances) };
        let alone = answer(&[question], 0.05, 1e-6, false, None).remove(0).expect("there are values");
        let same = Question { a: &a, b: &a, paired: None };
        let many: Vec<Question<'_>> = std::iter::once(question).chain(std::iter::repeat_n(same, 50)).collect();
        let among = answer(&many, 0.05, 1e-6, false, None).remove(0).expect("there are values");
        let width = |answer: &Rejudgement| answer.ratio().width();
        assert!(width(&among) > width(&alone), "{among:?} {alone:?}");
    }

    #[test]
    fn without_values_there_is_no_answer() {
        let a = benchmark("a", 0.0, 3, 1);
        let none = Benchmark::new("none");
        assert_eq!(answer(&[Question { a: &a, b: &none, paired: None }], 0.05, 0.01, false, None), [None]);
    }
}
