//! Run of a cell, and its result.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use prony_bench::{
    Accepted, CommandLine, Execution, Input, Options, Output, Reference, RoundLimits, Subject, on_cpu, run_of_replay,
    run_single,
};
use prony_machine::Interrupt;
use prony_machine::process::Placement;
use prony_replay::{ReplayOptions, Replayer, TrustOptions, Verdict};
use prony_stats::judge::Plan;
use prony_stats::samples::{Benchmark, Circumstances, Metadata, Samples, Subject as Facts, Warmup};
use serde_json::{Value, json};

use super::failure;
use super::sweep;
use super::value::Ran;
use crate::artifacts::Artifacts;
use crate::cells::Task;
use crate::file::Study;
use crate::ledger::{Claim, Failure, Measured};
use crate::{FailureKind, Role};

/// Variables that tell a command which cell it is.
pub const CELL_VARIABLE: &str = "PRONY_CELL";
/// Environment variable that holds the number of the attempt at the cell.
pub const ATTEMPT_VARIABLE: &str = "PRONY_ATTEMPT";
/// Values of workers should last at least so long, in seconds.
const VALUE_S_MIN: f64 = 0.1;

/// Inputs that all cells of a machine share: study, files, facts, environment.
#[derive(Debug)]
pub struct CellContext<'a> {
    pub study: &'a Study,
    pub artifacts: &'a Artifacts,
    pub facts: &'a Value,
    pub interrupt: Option<&'a Interrupt>,
    /// Environment of this process, as names and values.
    pub environment: &'a [(OsString, OsString)],
}

/// Result of a cell that ran.
#[derive(Debug)]
pub struct Outcome {
    pub measured: Measured,
    pub samples: Samples,
}

/// Reason why a cell has no result.
#[derive(Debug)]
pub enum NoOutcome {
    /// A signal requested a stop.
    Interrupted,
    Failed(Failure),
}

impl From<Failure> for NoOutcome {
    fn from(failure: Failure) -> NoOutcome {
        NoOutcome::Failed(failure)
    }
}

fn permanent(message: impl ToString) -> NoOutcome {
    NoOutcome::Failed(Failure { kind: FailureKind::Permanent, message: message.to_string() })
}

/// The build of a replay; equal ones share a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    pub command: Option<String>,
    pub trust_demo: bool,
    pub environment: BTreeMap<String, String>,
}

impl Build {
    pub fn of(task: &Task) -> Build {
        let Task { command, trust_demo, environment, .. } = task.clone();
        Build { command, trust_demo, environment }
    }

    /// Options for a replay of `demo` against this build.
    ///
    /// # Errors
    /// When the command is none.
    pub fn options(&self, demo: &str) -> Result<ReplayOptions, Failure> {
        let (variables, command) = match &self.command {
            Some(text) => {
                let split = CommandLine::split(text).map_err(|error| missing(&error))?;
                (split.variables, split.arguments)
            }
            None => Default::default(),
        };
        let level = self.environment.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = level.chain(variables).collect();
        let trust = TrustOptions { trusted: self.trust_demo, ..TrustOptions::default() };
        Ok(ReplayOptions { environment, trust, ..ReplayOptions::to_measure(demo.into(), command) })
    }
}

fn missing(error: &prony_bench::CommandError) -> Failure {
    Failure { kind: FailureKind::Permanent, message: error.to_string() }
}

impl CellContext<'_> {
    /// Replays the demo of a cell and measures it. What is laid out for its build stays for other cells.
    pub fn replay(&self, claim: &Claim, task: &Task, replayer: &mut Replayer) -> Result<Outcome, NoOutcome> {
        if task.tuning.fifo.is_some() {
            return Err(permanent(
                "SCHED_FIFO is for commands only: the threads of a replay take turns, and one of them would block \
                 the others",
            ));
        }
        let begun = Instant::now();
        let report = match task.tuning.pin {
            Some(cpu) => on_cpu(cpu as usize, || replayer.replay(&mut |_| ())).map_err(|error| {
                NoOutcome::Failed(Failure {
                    kind: failure::of_io(&error),
                    message: format!("cannot pin to CPU {cpu}: {error}"),
                })
            })?,
            None => replayer.replay(&mut |_| ()),
        };
        let seconds = begun.elapsed().as_secs_f64();
        let report = report.map_err(|error| failure::of_replay_error(&error))?;
        if report.verdict == Verdict::Diverged {
            return Err(failure::of_divergence(&report).into());
        }
        let run = run_of_replay(&report);
        if run.values[0] <= 0.0 {
            return Err(permanent("expected frames in the demo, found none"));
        }
        let mut benchmark = Benchmark::new(&self.name(claim));
        benchmark.runs.push(run);
        let mut warnings: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
        if let Verdict::Weak(reasons) = &report.verdict {
            warnings.extend(reasons.iter().map(|reason| format!("weak: {reason}")));
        }
        self.outcome(claim, task, Ran::Replay(&report), benchmark, seconds, warnings)
    }

    /// Runs the command of a cell and measures it. `surroundings`: drawn for its block, so that all of it share them.
    pub fn command(&self, claim: &Claim, task: &Task, surroundings: u64) -> Result<Outcome, NoOutcome> {
        let text = task.command.as_deref().unwrap_or_default();
        let command = CommandLine::split(text).map_err(|error| missing(&error))?;
        let mut environment = self.environment.to_vec();
        let cell = [(CELL_VARIABLE, claim.row.key.clone()), (ATTEMPT_VARIABLE, claim.attempt.to_string())];
        let own = task.environment.iter().map(|(name, value)| (name.as_str(), value.clone()));
        for (name, value) in cell.into_iter().chain(own) {
            environment.retain(|(other, _)| other != name);
            environment.push((name.into(), value.into()));
        }
        // Levels that set variables vary the surroundings themselves; more noise would only hide what they do.
        let varied =
            self.study.factors.iter().flat_map(|factor| &factor.levels).any(|level| !level.environment.is_empty());
        let options = Options {
            subjects: vec![Subject {
                name: self.name(claim),
                command,
                prepare: None,
                conclude: None,
                setup: None,
                cleanup: None,
                template: None,
                parameters: self.parameters(claim),
            }],
            reference: Reference::Subject(0),
            plan: Plan { alpha: 0.05, margin: 0.01, budget_s: 0.0, metric: None, tolerates: false },
            rounds: RoundLimits::exactly(1),
            stretches: false,
            warmup_runs: 0,
            value_s_min: VALUE_S_MIN,
            execution: Execution {
                accepted: Accepted::None,
                input: Input::Null,
                output: Output::Null,
                placement: Placement {
                    cpu: task.tuning.pin.map(|cpu| cpu as usize),
                    fifo_priority: task.tuning.fifo,
                    ..Placement::default()
                },
                randomize_directory: false,
                environment,
            },
            duet: false,
            duet_tried_on: None,
            seed: self.study.seed,
            machine: self.facts.clone(),
            tuning: Value::Null,
        };
        let limit = self.study.cell_seconds_max.map(Duration::from_secs_f64);
        let begun = Instant::now();
        let metric = &self.study.metric.name;
        let single = run_single(&options, (!varied).then_some(surroundings), metric, self.interrupt, limit);
        let seconds = begun.elapsed().as_secs_f64();
        let single =
            single.map_err(|error| failure::of_command(&error).map_or(NoOutcome::Interrupted, NoOutcome::Failed))?;
        self.outcome(claim, task, Ran::Command(&single), single.benchmark.clone(), seconds, Vec::new())
    }

    fn outcome(
        &self,
        claim: &Claim,
        task: &Task,
        ran: Ran,
        mut benchmark: Benchmark,
        seconds: f64,
        warnings: Vec<String>,
    ) -> Result<Outcome, NoOutcome> {
        let number = ran.metric(&self.study.metric)?;
        let mut provenance = self.provenance(task);
        if let Some((_, stop)) = sweep::of(self.study) {
            provenance.insert(sweep::watched(stop), ran.number(&stop.metric)?.value.to_string());
        }
        if !warnings.is_empty() {
            provenance.insert("warnings".to_owned(), warnings.join("; "));
        }
        let mut facts = benchmark.subject.take().unwrap_or_default();
        facts.parameters = self.parameters(claim);
        if facts.command.is_empty() {
            facts.command = task.command.iter().flat_map(|text| text.split_whitespace().map(str::to_owned)).collect();
        }
        benchmark.subject = Some(Facts { build: json!({ "content": self.content(claim) }), ..facts });
        if claim.row.role == Role::WarmUp {
            for run in &mut benchmark.runs {
                let discarded = run.values.drain(..).map(|value| Warmup { loops: run.loops, value });
                run.warmups.extend(discarded);
            }
        }
        let circumstances = Circumstances {
            prony_version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: self.facts.clone(),
            tuning: json!({ "pin": task.tuning.pin, "fifo_priority": task.tuning.fifo }),
            warnings,
            ..Circumstances::default()
        };
        benchmark.metadata = Metadata::new();
        Ok(Outcome {
            measured: Measured { value: number.value, spread: number.spread, seconds, provenance },
            samples: Samples { benchmarks: vec![benchmark], circumstances: Some(circumstances) },
        })
    }

    /// Name of the cell for people: `optimised, stock on dm1`.
    fn name(&self, claim: &Claim) -> String {
        format!("{} on {}", claim.row.levels.join(", "), claim.row.workload)
    }

    fn parameters(&self, claim: &Claim) -> BTreeMap<String, String> {
        let factors = self.study.factors.iter().map(|factor| factor.name.clone());
        factors
            .zip(claim.row.levels.iter().cloned())
            .chain([("workload".to_owned(), claim.row.workload.clone())])
            .collect()
    }

    /// Hashes of the builds of a cell, by factor.
    fn content(&self, claim: &Claim) -> BTreeMap<&str, &str> {
        let levels = self.study.factors.iter().zip(&claim.row.levels);
        let builds = levels.filter_map(|(factor, name)| {
            let level = factor.levels.iter().find(|level| level.name == *name)?;
            let artifact = self.artifacts.0.get(level.build.as_deref()?)?;
            Some((factor.name.as_str(), artifact.sha256.as_str()))
        });
        builds.collect()
    }

    /// Facts that are needed to run the cell again by hand.
    fn provenance(&self, task: &Task) -> BTreeMap<String, String> {
        let environment: Vec<String> = task.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let host = self.facts["host"].as_str().map(str::to_owned);
        let entries = [
            ("command", task.command.clone()),
            ("demo", task.demo.clone()),
            ("environment", (!environment.is_empty()).then(|| environment.join(" "))),
            ("pin", task.tuning.pin.map(|cpu| cpu.to_string())),
            ("fifo", task.tuning.fifo.map(|priority| priority.to_string())),
            ("host", host),
            ("prony", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ];
        entries.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}
