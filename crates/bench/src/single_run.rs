//! Single run of a command, for callers that decide themselves what runs when.

use std::time::Duration;

use prony_machine::Interrupt;
use prony_machine::process::Run;
use prony_stats::Seed;
use prony_stats::samples::Benchmark;

use crate::context::RunContext;
use crate::error::{BenchError, Failed, MeasureError, Phase, Problem};
use crate::options::Options;
use crate::randomization::Randomization;
use crate::sample::{self, Measure, Observation};
use crate::worker::Value;

/// A command that ran once.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleRun {
    /// Benchmark with this run alone, ready for a samples file.
    pub benchmark: Benchmark,
    /// Values that it wrote as a worker, in order.
    pub values: Vec<Value>,
    /// Measurements of the process, whatever it wrote.
    pub run: Run,
}

/// Reasons why a command has no result.
#[derive(Debug)]
pub enum SingleRunError {
    /// A signal requested a stop.
    Interrupted,
    /// The command ran and failed.
    Failed(Box<Failed>),
    /// The command could not even be started.
    Bench(BenchError),
}

/// Runs the first command of `options` once.
///
/// `surroundings`: runs with an equal one have equal surroundings, as in a round of a bench; `None` leaves them as they
/// are. `metric`: what the values of the benchmark are, if the command is a worker that writes it. `limit`: a run that
/// takes longer is ended, and has failed.
///
/// # Errors
/// [`SingleRunError`]; the command is gone in any case.
pub fn run_single(
    options: &Options,
    surroundings: Option<u64>,
    metric: &str,
    interrupt: Option<&Interrupt>,
    limit: Option<Duration>,
) -> Result<SingleRun, SingleRunError> {
    let mut context = RunContext::new(options, interrupt).map_err(SingleRunError::Bench)?;
    if let Some(limit) = limit {
        context.end_after(limit).map_err(SingleRunError::Bench)?;
    }
    let randomization = surroundings.map_or_else(Randomization::none, |draw| Randomization::draw(&mut Seed::new(draw)));
    let failed = |failed| SingleRunError::Failed(Box::new(failed));
    let observation = context.run(0, &randomization, Phase::Run(1)).map_err(|error| match error {
        MeasureError::Interrupted => SingleRunError::Interrupted,
        MeasureError::Failed(error) => failed(error),
    })?;
    // What else a worker writes, as how much it did, does not take the place of what the kernel says of it.
    let is_written = observation.values.iter().any(|value| value.metric == metric);
    let values = if is_written { observation.values.clone() } else { Vec::new() };
    let measured = Observation { run: observation.run, values, duet: observation.duet };
    let measure = Measure::of_metric(&measured, metric);
    let mut benchmark = sample::benchmarks(&options.subjects[..1]).swap_remove(0);
    sample::set_measure(&mut benchmark, &measure);
    let taken = sample::measured_run_as(&measured, &measure, None, false);
    let name = benchmark.name.clone();
    let taken = taken.map_err(|problem: Problem| {
        failed(Failed { name, phase: Phase::Run(1), problem, stderr_tail: String::new() })
    })?;
    benchmark.runs.push(taken.run);
    Ok(SingleRun { benchmark, values: observation.values, run: measured.run })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prony_machine::process::Placement;
    use prony_stats::judge::Plan;

    use super::*;
    use crate::{Accepted, CommandLine, Execution, Input, Output, Reference, RoundLimits, Subject};

    fn options(command: &str) -> Options {
        Options {
            subjects: vec![Subject {
                name: "a".to_owned(),
                command: CommandLine::through_shell(command, "/bin/sh").expect("sh is everywhere"),
                prepare: None,
                conclude: None,
                setup: None,
                cleanup: None,
                template: None,
                parameters: BTreeMap::new(),
            }],
            reference: Reference::Subject(0),
            stretches: false,
            plan: Plan { alpha: 0.05, margin: 0.01, budget_s: 1.0, metric: None, tolerates: false },
            rounds: RoundLimits::exactly(1),
            warmup_runs: 0,
            value_s_min: 0.01,
            execution: Execution {
                accepted: Accepted::None,
                input: Input::Null,
                output: Output::Null,
                placement: Placement::default(),
                randomize_directory: false,
                environment: std::env::vars_os().collect(),
            },
            duet: false,
            duet_tried_on: None,
            seed: 0,
            machine: serde_json::Value::Null,
            tuning: serde_json::Value::Null,
        }
    }

    const FRAMES: &str = r#"echo '{"metric": "frames", "value": 120, "unit": "frame"}' >&3"#;

    #[test]
    fn a_worker_that_says_how_much_it_did_is_timed_as_a_process() {
        let single = run_single(&options(FRAMES), None, "cpu", None, None).expect("sh is everywhere");
        let run = &single.benchmark.runs[0];
        let cpu_s = run.measured.as_ref().and_then(|measured| measured.cpu_s).expect("the kernel tells");
        assert_eq!(cpu_s, single.run.cpu_ns as f64 / 1e9);
        assert_eq!((single.benchmark.metric(), single.values[0].value), ("wall", 120.0));
        let of_frames = run_single(&options(FRAMES), None, "frames", None, None).expect("sh is everywhere");
        assert_eq!((of_frames.benchmark.metric(), of_frames.benchmark.unit_name()), ("frames", "frame"));
        assert_eq!(of_frames.benchmark.runs[0].values, [120.0]);
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_and_gone() {
        let limit = Duration::from_millis(20);
        let error = run_single(&options("echo here >&2; exec sleep 600"), None, "cpu", None, Some(limit));
        let SingleRunError::Failed(failed) = error.expect_err("it does not end") else {
            panic!("nobody asked to stop")
        };
        assert!(matches!(failed.problem, Problem::TimedOut(after) if after == limit));
        assert_eq!(failed.problem.to_string(), "ended after 20ms, the time limit");
    }

    #[test]
    fn equal_surroundings_are_equal_and_none_leave_everything_as_it_is() {
        let show = r#"echo "{\"metric\": \"bytes\", \"value\": $((1 + ${#PRONY_PADDING}))}" >&3"#;
        let bytes = |surroundings| {
            let single = run_single(&options(show), surroundings, "bytes", None, None).expect("sh is everywhere");
            single.values[0].value
        };
        assert_eq!(bytes(Some(7)), bytes(Some(7)));
        assert_ne!(bytes(Some(7)), bytes(Some(8)));
        assert_eq!(bytes(None), 1.0);
    }
}
