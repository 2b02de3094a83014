//! Runs of both sides in all layouts: once a round each and more often as built, both sides back to back, in random order.

use std::time::Instant;

use prony_machine::Interrupt;
use prony_stats::samples::Benchmark;
use prony_stats::{Metric, Seed};

use super::builds::Builds;
use super::estimate::{RUNS_SHARE_MAX, Spreads, Times, estimate, spreads};
use super::{Event, LayoutError, LayoutOptions, LayoutReport};
use crate::command::CommandLine;
use crate::context::RunContext;
use crate::error::{Failed, MeasureError, Phase, Problem};
use crate::options::{Options, Subject};
use crate::randomization::Randomization;
use crate::repetitions::Repetitions;
use crate::report::Ended;
use crate::sample::{self, Measure};

/// Rounds after which the spread between layouts is known well enough for a plan.
const ROUNDS_OF_PLAN: usize = 3;
/// Share of the margin that is precise enough: then the interval around a difference of 0 lies within the margin.
const DETECTABLE_SHARE: f64 = 0.5;
/// Rounds before an end: the median of fewer runs has no interval at 5 %.
const ROUNDS_MIN: usize = 6;

/// Runs a round of each side as built: it is compared with all layouts, and √N times as many runs of it make that comparison as
/// precise as the time allows (Dunnett 1955, section 4).
pub fn runs_as_built(layouts: usize) -> usize {
    ((layouts as f64).sqrt().round() as usize).max(1)
}

/// Measures all builds, and says what they say.
///
/// # Errors
/// [`LayoutError`] when nothing could be measured at all.
pub fn measure(
    options: &LayoutOptions,
    builds: &Builds,
    seed: &mut Seed,
    interrupt: Option<&Interrupt>,
    events: &mut dyn FnMut(Event),
) -> Result<LayoutReport, LayoutError> {
    let of_all = Options { subjects: subjects(options, builds), ..options.bench.clone() };
    let mut context = RunContext::new(&of_all, interrupt)?;
    context.ask(Repetitions::FIRST);
    let mut rounds = Rounds {
        layouts: options.layouts,
        options: &of_all,
        measure: None,
        benchmarks: sample::benchmarks(&of_all.subjects),
        runs: vec![Vec::new(); of_all.subjects.len()],
        done: 0,
        elapsed_s: 0.0,
    };
    let ended = match rounds.all(&mut context, seed, events) {
        Ok(()) => Ended::Complete,
        Err(MeasureError::Interrupted) => Ended::Interrupted,
        Err(MeasureError::Failed(failed)) => Ended::Failed(failed),
    };
    let metric = rounds.metric();
    let plan = &of_all.plan;
    let found = estimate(&rounds.times(metric), plan.alpha, plan.margin, plan.tolerates);
    rounds.benchmarks.retain(|benchmark| !benchmark.runs.is_empty());
    Ok(LayoutReport {
        samples: sample::samples(rounds.benchmarks, of_all.circumstances()),
        metric,
        estimate: found,
        links: builds.links,
        rounds: rounds.done,
        elapsed_s: rounds.elapsed_s,
        ended,
    })
}

/// The command of each side in each layout; those of A come first.
fn subjects(options: &LayoutOptions, builds: &Builds) -> Vec<Subject> {
    let of_side = |place: usize| {
        let (side, whole) = (&options.sides[place], &options.bench.subjects[place]);
        builds.binaries[place].iter().enumerate().map(move |(layout, binary)| {
            let path = binary.path.as_os_str();
            let word = |(number, word): (usize, &String)| match side.program_words.contains(&number) {
                true => path.to_owned(),
                false => word.into(),
            };
            let arguments: Vec<_> = side.words.iter().enumerate().map(word).collect();
            let is_program = side.program_words.first() == Some(&0);
            let program = if is_program { binary.path.clone() } else { whole.command.program.clone() };
            let mut subject = whole.clone();
            subject.command = CommandLine { program, arguments };
            let name = if layout == 0 { "as built".to_owned() } else { format!("layout {layout}") };
            subject.name = format!("{}, {name}", whole.name);
            subject.parameters.insert("layout".to_owned(), layout.to_string());
            subject
        })
    };
    of_side(0).chain(of_side(1)).collect()
}

/// Rounds so far.
struct Rounds<'a> {
    layouts: usize,
    options: &'a Options,
    /// Measure of the first run; all others must give the same.
    measure: Option<Measure>,
    benchmarks: Vec<Benchmark>,
    /// Times of each command by round.
    runs: Vec<Vec<sample::Times>>,
    /// Rounds that are whole.
    done: usize,
    elapsed_s: f64,
}

impl Rounds<'_> {
    fn all(
        &mut self,
        context: &mut RunContext,
        seed: &mut Seed,
        events: &mut dyn FnMut(Event),
    ) -> Result<(), MeasureError> {
        for warmup in 0..self.options.warmup_runs {
            self.round(context, seed, Some(warmup))?;
        }
        let begun = Instant::now();
        loop {
            self.round(context, seed, None)?;
            self.done += 1;
            self.elapsed_s = begun.elapsed().as_secs_f64();
            events(Event::Round { done: self.done, elapsed_s: self.elapsed_s });
            let found = spreads(&self.times(self.metric()), self.options.plan.alpha);
            if let (ROUNDS_OF_PLAN, Some(found)) = (self.done, found) {
                events(Event::Planned(found));
            }
            // What the runs add to the spread decides, never the difference itself: such an end favours no verdict.
            let is_enough = |found: Spreads| {
                found.of_runs <= RUNS_SHARE_MAX || found.detectable <= DETECTABLE_SHARE * self.options.plan.margin
            };
            let is_quiet = found.is_some_and(is_enough);
            let limits = &self.options.rounds;
            let is_over = match limits.exactly {
                Some(rounds) => self.done >= rounds,
                None if self.done < ROUNDS_MIN.max(limits.min) => false,
                None => is_quiet || self.elapsed_s >= self.options.plan.budget_s,
            };
            if is_over || limits.most().is_some_and(|most| self.done >= most) {
                return Ok(());
            }
        }
    }

    /// Runs each side in each layout once. `warmup`: its number, where the runs do not count.
    fn round(&mut self, context: &mut RunContext, seed: &mut Seed, warmup: Option<usize>) -> Result<(), MeasureError> {
        let mut order: Vec<usize> = (0..=self.layouts).collect();
        order.resize(self.layouts + runs_as_built(self.layouts), 0);
        for last in (1..order.len()).rev() {
            order.swap(last, seed.below(last + 1));
        }
        let mut place = 0;
        for layout in order {
            let randomization = Randomization::draw(seed);
            let first = usize::from(seed.coin());
            for side in [first, 1 - first] {
                let subject = side * (self.layouts + 1) + layout;
                let phase = warmup.map_or(Phase::Run(self.done + 1), |number| Phase::WarmUp(number + 1));
                let observation = context.run(subject, &randomization, phase)?;
                let measure = self.measure.get_or_insert_with(|| Measure::of(&observation));
                let benchmark = &mut self.benchmarks[subject];
                if benchmark.runs.is_empty() {
                    sample::set_measure(benchmark, measure);
                }
                let pair = Some((self.done as u64, place));
                let taken = sample::measured_run(&observation, measure, pair, warmup.is_some());
                let taken = taken.map_err(|problem: Problem| {
                    let name = self.options.subjects[subject].name.clone();
                    MeasureError::Failed(Failed { name, phase, problem, stderr_tail: String::new() })
                })?;
                benchmark.runs.push(taken.run);
                if warmup.is_none() {
                    self.runs[subject].push(taken.times);
                }
                place += 1;
            }
        }
        Ok(())
    }

    /// The metric that is judged: the requested one, or what the user waits for.
    fn metric(&self) -> Metric {
        let is_known = |metric: Metric| self.runs.iter().flatten().all(|times| times.of(metric).is_finite());
        let own = self.measure.as_ref().and_then(|measure| Metric::only(&measure.metric, false));
        let best = [Metric::Uncontended, Metric::Wall].into_iter().find(|&metric| is_known(metric));
        self.options.plan.metric.or(own).or(best).unwrap_or(Metric::Cpu)
    }

    /// Times of whole rounds.
    fn times(&self, metric: Metric) -> Times {
        let of_side = |side: usize| {
            let subjects = self.runs.iter().skip(side * (self.layouts + 1)).take(self.layouts + 1);
            let of_layout = |(layout, runs): (usize, &Vec<sample::Times>)| {
                let a_round = if layout == 0 { runs_as_built(self.layouts) } else { 1 };
                runs.iter().take(self.done * a_round).map(|times| times.of(metric)).collect()
            };
            subjects.enumerate().map(of_layout).collect()
        };
        [of_side(0), of_side(1)]
    }
}
