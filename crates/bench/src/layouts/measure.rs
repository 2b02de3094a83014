//! Runs of both sides in all layouts: once a round each and more often as built, both sides back to back, in random order.

use std::time::Instant;

use prony_machine::Interrupt;
use prony_stats::samples::Benchmark;
use prony_stats::{Metric, Seed};

use super::builds::Builds;
use super::estimate::{Times, estimate};
use super::rounds::{is_last, order, subject, times_of};
use super::{Event, LayoutError, LayoutOptions, LayoutReport, LayoutsEnded, layout_name};
use crate::command::{CommandLine, split_variables};
use crate::context::RunContext;
use crate::error::{Failed, MeasureError, Phase, Problem};
use crate::options::{Options, Subject};
use crate::randomization::Randomization;
use crate::repetitions::Repetitions;
use crate::sample::{self, Measure};

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
        layouts: options.builds.layouts,
        options: &of_all,
        measure: None,
        benchmarks: sample::benchmarks(&of_all.subjects),
        runs: vec![Vec::new(); of_all.subjects.len()],
        done: 0,
        elapsed_s: 0.0,
    };
    let ended = match rounds.all(&mut context, seed, events) {
        Ok(()) => LayoutsEnded::Complete,
        Err(MeasureError::Interrupted) => LayoutsEnded::Interrupted,
        Err(MeasureError::Failed(failed)) => LayoutsEnded::Failed(failed),
    };
    let metric = rounds.metric();
    let plan = &of_all.plan;
    let found = estimate(&rounds.times(metric), plan.alpha, plan.margin, plan.tolerates);
    rounds.benchmarks.retain(|benchmark| !benchmark.runs.is_empty());
    Ok(LayoutReport {
        samples: sample::samples(rounds.benchmarks, of_all.circumstances()),
        metric,
        plan: *plan,
        estimate: found,
        judged: None,
        rounds: rounds.done,
        elapsed_s: rounds.elapsed_s,
        ended,
        warnings: Vec::new(),
    })
}

/// The command of each side in each layout; those of A come first.
fn subjects(options: &LayoutOptions, builds: &Builds) -> Vec<Subject> {
    let of_side = |place: usize| {
        let (side, whole) = (&options.builds.sides[place], &options.bench.subjects[place]);
        builds.binaries[place].iter().enumerate().map(move |(layout, binary)| {
            let path = binary.path.as_os_str();
            let word = |(number, word): (usize, &String)| match side.program_words.contains(&number) {
                true => path.to_owned(),
                false => word.into(),
            };
            let arguments: Vec<_> = side.words.iter().enumerate().map(word).collect();
            let (variables, arguments) = split_variables(&arguments);
            let is_program = side.program_words.first() == Some(&variables.len());
            let program = if is_program { binary.path.clone() } else { whole.command.program.clone() };
            let mut subject = whole.clone();
            subject.command = CommandLine { program, arguments: arguments.to_vec(), variables };
            subject.name = format!("{}, {}", whole.name, layout_name(layout));
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
            let (times, plan) = (self.times(self.metric()), (&self.options.plan, &self.options.rounds));
            if is_last(self.done, self.elapsed_s, &times, plan, events) {
                return Ok(());
            }
        }
    }

    /// Runs each side in each layout once. `warmup`: its number, where the runs do not count.
    fn round(&mut self, context: &mut RunContext, seed: &mut Seed, warmup: Option<usize>) -> Result<(), MeasureError> {
        let mut place = 0;
        for layout in order(self.layouts, seed) {
            let randomization = Randomization::draw(seed);
            let first = usize::from(seed.coin());
            for side in [first, 1 - first] {
                let subject = subject(side, layout, self.layouts);
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
        times_of(&self.runs, self.layouts, self.done, |times| times.of(metric))
    }
}
