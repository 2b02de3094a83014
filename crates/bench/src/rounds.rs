//! Rounds: every command once, back to back, in an order drawn again, until the judges are done.

use std::time::Instant;

use prony_machine::process::NoWait;
use prony_machine::{Interrupt, Quota, Tree, affinity, cpu_quota, unbalanced};
use prony_stats::Metric;
use prony_stats::judge::{Plan, Progress};
use prony_stats::pairing::Pairing;
use prony_stats::samples::{Benchmark, Circumstances};
use prony_stats::single_sample::SingleSample;
use prony_stats::summary::benchmark_median;
use prony_stats::{Interval, Seed};

use crate::contest::Contest;
use crate::context::{RunContext, run_setup_or_cleanup};
use crate::demo::stretched;
use crate::duet::Partner;
use crate::error::{BenchError, Failed, MeasureError, Phase, Problem};
use crate::options::{Options, Reference};
use crate::randomization::Randomization;
use crate::repetitions::{self, FIRST_ROUNDS, FIRST_TIME, Repetitions, WorkerVariance};
use crate::report::{Ended, Event, Report, Round, Warning};
use crate::sample::{self, Measure, Observation, Times};
use crate::summary::Summary;
use crate::trial::{self, Tried};

/// One command alone is known well enough when its interval reaches no farther than this part of the
/// margin: then two of them that differ by the margin are apart.
const SINGLE_PRECISION: f64 = 0.5;
/// Below this wall time a run is mostly the start of a process: loading `true` takes about 1 ms.
const SHORT_S: f64 = 0.003;

/// Measures the commands and compares each with the reference, or with the fastest.
///
/// # Errors
/// [`BenchError`] when nothing could be measured at all. A command that fails ends the bench, and
/// the report holds what was measured until then: see [`Ended`].
pub fn bench(
    options: &Options,
    interrupt: Option<&Interrupt>,
    events: &mut dyn FnMut(Event),
) -> Result<Report, BenchError> {
    if options.subjects.is_empty() {
        return Err(BenchError::NoCommand);
    }
    if let Reference::Subject(reference) = options.reference
        && reference >= options.subjects.len()
    {
        return Err(BenchError::NoCommand);
    }
    if options.duet && (options.subjects.len() != 2 || options.execution.placement.cpu.is_none()) {
        return Err(BenchError::NoDuet);
    }
    let mut context = RunContext::new(options, interrupt)?;
    let mut bench = Bench::new(options);
    let in_duet = options.duet_tried_on.map(|cpu| options.in_duet(cpu));
    let measured = std::thread::scope(|scope| {
        let partner = options.duet.then(|| Partner::start(scope, options, interrupt)).transpose()?;
        let begun = run_setup_or_cleanup(&context, &options.subjects, Phase::Setup)
            .and_then(|()| bench.warm_up(&mut context, events));
        if let (Some(in_duet), Ok(())) = (&in_duet, &begun)
            && bench.may_be_tried()
        {
            let partner = Partner::start(scope, in_duet, interrupt)?;
            let mut duet_context = RunContext::new(in_duet, interrupt)?;
            let measured = match bench.try_both(&mut context, &mut duet_context, &partner) {
                Ok(Pairing::AtOnce) => {
                    context = duet_context;
                    bench.restart(in_duet);
                    bench.measure(&mut context, Some(&partner), events)
                }
                Ok(Pairing::InTurns) => bench.measure(&mut context, None, events),
                Err(error) => Err(error),
            };
            return Ok(measured);
        }
        Ok(begun.and_then(|()| bench.measure(&mut context, partner.as_ref(), events)))
    })?;
    let settled = bench.settle(&mut context, true);
    // What was made is cleaned up, however the measurement ended; its error is the one to tell.
    let cleaned = run_setup_or_cleanup(&context, &options.subjects, Phase::Cleanup);
    let ended = match measured.and(settled).and(cleaned) {
        Ok(()) => Ended::Complete,
        Err(MeasureError::Interrupted) => Ended::Interrupted,
        Err(MeasureError::Failed(failed)) => Ended::Failed(failed),
    };
    Ok(bench.report(ended, &context))
}

/// State of a bench between two rounds.
struct Bench<'a> {
    options: &'a Options,
    seed: Seed,
    benchmarks: Vec<Benchmark>,
    /// Measure of the first command's first run; all others must give the same.
    measure: Option<Measure>,
    contest: Contest,
    /// Of the first command's CPU time, or of the requested metric: decides when there is no other command.
    single: SingleSample,
    clock: Clock,
    /// True once it was said that runs are longer than the time limit.
    long: bool,
    rounds: usize,
    /// Rounds that are not judged yet, until it is known how much to ask of workers.
    first: Option<Vec<Ran>>,
    /// Variance of workers, once commands are known to be workers.
    variance: Option<WorkerVariance>,
    tally: Tally,
    /// True if all warm-ups suit a trial of both ways of pairing; `None` before the first.
    suitable: Option<bool>,
    tried: Option<Tried>,
}

/// Time of all rounds, in seconds since the first one began.
#[derive(Debug)]
struct Clock {
    begun: Option<Instant>,
    elapsed_s: f64,
    /// Time limit; the planned one unless runs take too long for that.
    budget_s: f64,
    /// Completion time of each round.
    rounds_done_s: Vec<f64>,
}

/// A round as it ran.
#[derive(Debug)]
struct Ran {
    /// The commands, first to last.
    order: Vec<usize>,
    /// Observation of each command; `None` where it was not its turn, or something failed before.
    observations: Vec<Option<Observation>>,
}

/// Sums over all runs so far, for the warnings of the report.
#[derive(Debug, Default)]
struct Tally {
    wall_ns: u64,
    wait_ns: u64,
    wait_unknown: bool,
    /// CPU quota of this process before the first run.
    quota: Option<Quota>,
    /// Commands waited for each other, which is no contention.
    duet: bool,
    /// Sums of each command, in the order of the subjects.
    subjects: Vec<SubjectTally>,
}

/// Sums over the runs of one command.
#[derive(Debug, Default, Clone)]
struct SubjectTally {
    failed: usize,
    runs: usize,
    threads: bool,
    children: bool,
    /// Of the reasons against a wait the one that more rights or room would not remove, if there are several.
    no_wait: Option<NoWait>,
}

impl Tally {
    fn add(&mut self, subject: usize, observation: &Observation) {
        let run = &observation.run;
        self.wall_ns += run.wall_ns;
        self.duet |= observation.duet;
        let own = &mut self.subjects[subject];
        match run.wait_ns {
            Ok(wait_ns) => self.wait_ns += wait_ns,
            Err(reason) => {
                self.wait_unknown = true;
                own.no_wait = own.no_wait.max(Some(reason));
            }
        }
        own.failed += usize::from(run.ended != prony_machine::process::Ended::Exited(0));
        own.runs += 1;
        own.threads |= run.spawned.threads;
        own.children |= run.spawned.children;
    }

    fn contention(&self) -> Option<f64> {
        (!self.wait_unknown && !self.duet && self.wall_ns > 0).then(|| self.wait_ns as f64 / self.wall_ns as f64)
    }
}

impl<'a> Bench<'a> {
    fn new(options: &'a Options) -> Bench<'a> {
        Bench {
            options,
            seed: Seed::new(options.seed),
            benchmarks: sample::benchmarks(&options.subjects),
            measure: None,
            contest: Contest::new(options.subjects.len(), options.reference, options.plan),
            single: SingleSample::new(
                options.plan.alpha,
                SINGLE_PRECISION * options.plan.margin,
                options.plan.budget_s,
            ),
            clock: Clock { begun: None, elapsed_s: 0.0, budget_s: options.plan.budget_s, rounds_done_s: Vec::new() },
            long: false,
            rounds: 0,
            first: Some(Vec::new()),
            variance: None,
            tally: Tally {
                subjects: vec![SubjectTally::default(); options.subjects.len()],
                quota: cpu_quota(&Tree::machine()),
                ..Tally::default()
            },
            suitable: None,
            tried: None,
        }
    }

    /// Runs that do not count, and calibrate workers.
    fn warm_up(&mut self, context: &mut RunContext, events: &mut dyn FnMut(Event)) -> Result<(), MeasureError> {
        events(Event::WarmingUp);
        let mut round_s = None;
        for run in 1..=self.options.warmup_runs {
            let begun = Instant::now();
            let randomization = Randomization::draw(&mut self.seed);
            for subject in 0..self.options.subjects.len() {
                let observation = context.run(subject, &randomization, Phase::WarmUp(run))?;
                self.note_long(subject, &observation, events);
                let fits = trial::suits(&observation, self.options.plan.budget_s);
                self.suitable = Some(fits && self.suitable.unwrap_or(true));
                self.take(subject, &observation, None, Phase::WarmUp(run))?;
            }
            // The time of a worker depends on the values requested from it.
            round_s = self.is_of_processes().then(|| begun.elapsed().as_secs_f64());
        }
        let may_stretch = self.options.stretches && self.options.rounds.exactly.is_none();
        let longer = round_s.and_then(|round_s| Some((round_s, stretched(self.clock.budget_s, round_s)?)));
        if let Some((round_s, budget_s)) = longer.filter(|_| may_stretch) {
            self.clock.budget_s = budget_s;
            self.contest = Contest::new(
                self.options.subjects.len(),
                self.options.reference,
                Plan { budget_s, metric: self.contest.metric(), ..self.options.plan },
            );
            self.single =
                SingleSample::new(self.options.plan.alpha, SINGLE_PRECISION * self.options.plan.margin, budget_s);
            events(Event::Stretched(round_s, budget_s));
        }
        Ok(())
    }

    /// Says once that a run took longer than the time limit of all, before there is a second one of its command.
    fn note_long(&mut self, subject: usize, observation: &Observation, events: &mut dyn FnMut(Event)) {
        let run_s = observation.run.wall_ns as f64 / 1e9;
        if !self.long && self.options.rounds.exactly.is_none() && run_s > self.clock.budget_s {
            self.long = true;
            events(Event::Long(subject, run_s, self.clock.budget_s));
        }
    }

    /// True unless commands are workers, which take times by a clock of their own; false before the first run.
    fn is_of_processes(&self) -> bool {
        self.measure.as_ref().is_some_and(|measure| *measure == Measure::of_process(self.options.duet))
    }

    /// Both ways of pairing may be tried: two commands that the warm-up showed to be fit for it.
    fn may_be_tried(&self) -> bool {
        self.options.subjects.len() == 2 && self.options.rounds.exactly.is_none() && self.suitable == Some(true)
    }

    /// Tries both ways on the first command, in time that is part of the budget.
    fn try_both(
        &mut self,
        context: &mut RunContext,
        duet_context: &mut RunContext,
        partner: &Partner,
    ) -> Result<Pairing, MeasureError> {
        self.clock.begun = Some(Instant::now());
        let randomization = Randomization::draw(&mut self.seed);
        let tried = Tried::of(context, duet_context, partner, &randomization, self.options.plan.budget_s)?;
        let way = tried.way;
        self.tried = Some(tried);
        Ok(way)
    }

    /// In another way: what warm-ups left is of the first one.
    fn restart(&mut self, options: &'a Options) {
        let Bench { seed, clock, tried, .. } = std::mem::replace(self, Bench::new(options));
        (self.seed, self.clock.begun, self.tried) = (seed, clock.begun, tried);
    }

    fn measure(
        &mut self,
        context: &mut RunContext,
        partner: Option<&Partner>,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), MeasureError> {
        let begun = *self.clock.begun.get_or_insert_with(Instant::now);
        context.ask(Repetitions::FIRST);
        let most = self.options.rounds.most();
        while most.is_none_or(|most| self.started() < most) {
            self.round(context, partner, events)?;
            self.clock.elapsed_s = begun.elapsed().as_secs_f64();
            self.settle(context, false)?;
            self.clock.rounds_done_s.resize(self.rounds, self.clock.elapsed_s);
            let done = self.look();
            events(Event::Round(self.progress(), &self.benchmarks));
            if done {
                break;
            }
        }
        Ok(())
    }

    /// Every command that is not decided once, in an order drawn again.
    fn round(
        &mut self,
        context: &mut RunContext,
        partner: Option<&Partner>,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), MeasureError> {
        let randomization = Randomization::draw(&mut self.seed);
        let mut order: Vec<usize> =
            (0..self.options.subjects.len()).filter(|&subject| self.contest.is_open(subject)).collect();
        // Fisher & Yates.
        for last in (1..order.len()).rev() {
            order.swap(last, self.seed.below(last + 1));
        }
        let mut observations: Vec<Option<Observation>> = vec![None; self.options.subjects.len()];
        let mut ran = Ok(());
        let phase = Phase::Run(self.started() + 1);
        let mut both = match (partner, order.as_slice()) {
            (Some(partner), &[first, second]) => partner.run(context, [first, second], &randomization, phase).map(Some),
            _ => [None, None],
        }
        .into_iter()
        .flatten();
        for &subject in &order {
            match both.next().unwrap_or_else(|| context.run(subject, &randomization, phase)) {
                Ok(observation) => {
                    self.note_long(subject, &observation, events);
                    self.tally.add(subject, &observation);
                    observations[subject] = Some(observation);
                }
                Err(error) => {
                    ran = Err(error);
                    break;
                }
            }
        }
        // What was measured before a command failed is kept.
        let round = Ran { order, observations };
        let kept = match &mut self.first {
            Some(first) => {
                first.push(round);
                Ok(())
            }
            None => {
                self.repeat_more_or_less(context, &round);
                self.judge_round(&round)
            }
        };
        ran.and(kept)
    }

    /// A round more of workers. Three processes say little about how processes differ, so with twice as many, and again
    /// twice as many, the repetitions are chosen again, whichever of them is faster.
    fn repeat_more_or_less(&mut self, context: &mut RunContext, round: &Ran) {
        let Some(variance) = &mut self.variance else { return };
        variance.add_round(&round.observations);
        let rounds = self.rounds + 1;
        if rounds.is_multiple_of(FIRST_ROUNDS) && (rounds / FIRST_ROUNDS).is_power_of_two() {
            context.ask(variance.repetitions());
        }
    }

    /// Rounds, with those that are not judged yet.
    fn started(&self) -> usize {
        self.rounds + self.first.as_ref().map_or(0, Vec::len)
    }

    /// Judges the first rounds, once enough is known of the workers, or it is `over`.
    fn settle(&mut self, context: &mut RunContext, over: bool) -> Result<(), MeasureError> {
        let Some(first) = &self.first else { return Ok(()) };
        let workers =
            first.iter().flat_map(|round| round.observations.iter().flatten()).any(|one| !one.values.is_empty());
        let rounds = first.len();
        let enough = over
            || rounds >= FIRST_ROUNDS
            || self.clock.elapsed_s >= FIRST_TIME * self.clock.budget_s
            || self.options.rounds.most() == Some(rounds);
        if workers && !enough {
            return Ok(());
        }
        let Some(mut first) = self.first.take() else { return Ok(()) };
        let sample = first.first().and_then(|round| round.observations[0].as_ref()).filter(|_| workers);
        if let Some(measure) = sample.map(Measure::of) {
            let mut variance = WorkerVariance::new(measure, self.options.subjects.len());
            for round in &first {
                variance.add_round(&round.observations);
            }
            let warmups = variance.find_warmups();
            for observation in first.iter_mut().flat_map(|round| round.observations.iter_mut().flatten()) {
                repetitions::mark_warmups(observation, warmups);
            }
            context.ask(variance.repetitions());
            self.variance = Some(variance);
        }
        first.iter().try_for_each(|round| self.judge_round(round))
    }

    /// Writes a round down and shows it to the judges.
    fn judge_round(&mut self, round: &Ran) -> Result<(), MeasureError> {
        let mut times: Vec<Option<Times>> = vec![None; round.observations.len()];
        for (place, &subject) in round.order.iter().enumerate() {
            if let Some(observation) = &round.observations[subject] {
                let pair = Some((self.rounds as u64, place as u64));
                times[subject] = Some(self.take(subject, observation, pair, Phase::Run(self.rounds + 1))?);
            }
        }
        if round.order.iter().any(|&subject| times[subject].is_none()) {
            return Ok(());
        }
        self.rounds += 1;
        if let Some(first) = times[0] {
            self.single.push(first.of(self.options.plan.metric.unwrap_or(Metric::Cpu)));
        }
        self.contest.push(&times);
        Ok(())
    }

    /// Adds a run to the samples of its command.
    fn take(
        &mut self,
        subject: usize,
        observation: &Observation,
        pair: Option<(u64, u64)>,
        phase: Phase,
    ) -> Result<Times, MeasureError> {
        let duet = self.options.duet;
        let measure = self.measure.get_or_insert_with(|| {
            let measure = Measure::of(observation);
            let metric = self.options.plan.metric.or(Metric::only(&measure.metric, duet));
            // Before the first pair: from here on it is known what there is to judge.
            self.contest.judge_by(metric);
            measure
        });
        let benchmark = &mut self.benchmarks[subject];
        if benchmark.runs.is_empty() {
            sample::set_measure(benchmark, measure);
        }
        let warmup = matches!(phase, Phase::WarmUp(_));
        let taken = sample::measured_run(observation, measure, pair, warmup).map_err(|problem: Problem| {
            let name = self.options.subjects[subject].name.clone();
            MeasureError::Failed(Failed { name, phase, problem, stderr_tail: String::new() })
        })?;
        benchmark.runs.push(taken.run);
        Ok(taken.times)
    }

    /// Asks the judges; true when there is nothing left to find out.
    fn look(&mut self) -> bool {
        if self.options.rounds.exactly.is_some() || self.rounds < self.options.rounds.min {
            return false;
        }
        if self.contest.is_of_one() {
            return self.single.look(self.clock.elapsed_s).is_some();
        }
        self.contest.look(self.share(), self.clock.elapsed_s)
    }

    /// Share of what was planned that is used.
    fn share(&self) -> f64 {
        let most = self.options.rounds.max.map(|rounds| rounds as u64);
        Progress { pairs: self.rounds as u64, done_s: self.clock.elapsed_s }.share(self.clock.budget_s, most)
    }

    /// The time of the first command with its interval.
    fn live_single(&self) -> Option<Interval> {
        benchmark_median(&self.benchmarks[0], self.options.plan.alpha)
    }

    fn progress(&self) -> Round {
        Round {
            duet_taken: self.tried.as_ref().is_some_and(|tried| tried.way == Pairing::AtOnce),
            rounds: self.started(),
            rounds_wanted: self.options.rounds.exactly,
            elapsed_s: self.clock.elapsed_s,
            budget_s: self.clock.budget_s,
            live: if self.contest.is_of_one() { self.live_single() } else { self.contest.live() },
            contention: self.tally.contention(),
        }
    }

    fn warnings(&self, summaries: &[Option<Summary>]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let quota = self.tally.quota.zip(cpu_quota(&Tree::machine())).map(|(before, now)| now.since(before));
        warnings.extend(quota.filter(|quota| quota.throttled > 0).map(Warning::Throttled));
        let apart = self.options.execution.placement.cpu.is_none();
        let isolated = affinity::allowed().ok().filter(|_| apart).and_then(|cpus| unbalanced(&Tree::machine(), &cpus));
        let by_process = self.options.duet || self.measure.as_ref().is_none_or(|measure| measure.metric == "wall");
        for ((subject, tally), summary) in self.options.subjects.iter().zip(&self.tally.subjects).zip(summaries) {
            let &SubjectTally { failed, runs, threads, children, no_wait } = tally;
            let name = || subject.name.clone();
            if failed > 0 {
                warnings.push(Warning::Failures { name: name(), failed, runs });
            }
            if let Some(cpus) = isolated.clone().filter(|_| threads) {
                warnings.push(Warning::Unbalanced { name: name(), cpus });
            }
            let Some(summary) = summary.as_ref().filter(|_| by_process) else { continue };
            if let Some(reason) = no_wait.filter(|_| summary.uncontended_s.is_none() && (threads || children)) {
                warnings.push(Warning::WaitUnknown { name: name(), threads, children, reason });
            }
            let calibrated = self.benchmarks[0].runs.iter().any(|run| run.loops > 1);
            if summary.value.median.estimate < SHORT_S && !calibrated {
                warnings.push(Warning::Short { name: name(), wall_s: summary.value.median.estimate });
            }
        }
        warnings
    }

    fn report(mut self, ended: Ended, context: &RunContext) -> Report {
        self.clock.rounds_done_s.resize(self.rounds, self.clock.elapsed_s);
        let alpha = self.options.plan.alpha;
        let summaries: Vec<Option<Summary>> =
            self.benchmarks.iter().map(|benchmark| Summary::of(benchmark, alpha)).collect();
        let warnings = self.warnings(&summaries);
        if self.rounds > 0 {
            // The requested runs are all that was planned; anything else ended before its time.
            let planned = self.options.rounds.exactly.is_some() && matches!(ended, Ended::Complete);
            self.contest.finish(if planned { 1.0 } else { self.share().min(1.0) }, self.clock.elapsed_s);
        }
        let comparisons = self.contest.comparisons(self.clock.elapsed_s);
        let ranking = self.contest.ranking();
        let mut messages: Vec<String> = warnings.iter().map(Warning::to_string).collect();
        match &ended {
            Ended::Complete => {}
            Ended::Interrupted => messages.push("interrupted: not all runs were made".to_owned()),
            Ended::Failed(failed) => {
                messages.push(format!("ended early: {} of `{}`: {}", failed.phase, failed.name, failed.problem));
            }
        }
        // A command that was never run is no benchmark.
        self.benchmarks.retain(|benchmark| !benchmark.runs.is_empty());
        let circumstances = Circumstances {
            pairs_done_s: self.clock.rounds_done_s,
            warnings: messages,
            ..self.options.within(self.clock.budget_s)
        };
        Report {
            samples: sample::samples(self.benchmarks, circumstances),
            summaries,
            comparisons,
            ranking,
            metric: self.measure.as_ref().map_or("cpu", |measure| &measure.judged).to_owned(),
            tried: self.tried,
            rounds: self.rounds,
            elapsed_s: self.clock.elapsed_s,
            contention: self.tally.contention(),
            ended,
            warnings,
            counters: context.counters().to_vec(),
        }
    }
}
