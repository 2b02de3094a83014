//! Commands that are compared with each other: what to measure, and measuring it.

use std::env;
use std::fs;

use prony_bench::{
    Commands, Event, Execution, Failed, Input, Measured, Options, Output, Phase, Problem, Reference, RoundLimits,
    Subject,
};
use prony_machine::process::{Placement, RunError, Step};
use prony_machine::{Interrupt, Tree};
use prony_stats::judge::Plan;
use prony_stats::{Metric, Verdict};
use prony_text::count;

use super::exports::Exports;
use super::live::Live;
use super::settings::{FIFO_PRIORITY, budget, cpu, tuning};
use super::{shell, subjects};
use crate::cli::{BenchArgs, BenchMetric};
use crate::failure::Failure;
use crate::numbers::random;
use crate::output;
use crate::progress::ProgressLine;

/// Measures the commands.
///
/// # Errors
/// What kept it from running.
pub fn measure(args: &BenchArgs) -> Result<(Measured, Exports), Failure> {
    let options = options(args)?;
    let command_line: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    for warning in shell::warnings(args, &command_line) {
        output::talk_line(format_args!("warning: {warning}"));
    }
    // Made before anything is measured, so that a path that cannot be written is reported immediately.
    let mut exports = Exports::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut line = ProgressLine::new(!args.execution.show_output && args.execution.output != "inherit");
    let mut live = Live::new();
    let report = prony_bench::bench(&options, Some(&interrupt), &mut |event| {
        if let Some(note) = note(args, &options, &event) {
            line.clear();
            output::talk_line(format_args!("note: {note}"));
        }
        if let Some(text) = live.text(&event, options.subjects.len(), options.plan.margin) {
            line.show_text(&text);
        }
        if let Event::Round(round, benchmarks) = event {
            let cpu = options.duet_tried_on.filter(|_| round.duet_taken);
            let in_duet = cpu.map(|cpu| options.in_duet(cpu));
            exports.keep(benchmarks, || in_duet.as_ref().unwrap_or(&options).circumstances());
        }
    });
    drop(line);
    let mut report = report.map_err(|error| Failure::new(error.to_string()))?;
    report.samples.set_amounts(args.amounts.bytes, args.amounts.operations, args.amounts.items);
    Ok((Measured::Commands(Box::new(Commands { options, report })), exports))
}

/// How a long run, or many of them, change what was planned.
fn note(args: &BenchArgs, options: &Options, event: &Event) -> Option<String> {
    let seconds = |seconds: f64| prony_text::duration(seconds);
    match *event {
        Event::Long(subject, run_s, budget_s) => {
            let name = &options.subjects[subject].name;
            let all_s = options.time_for_verdict_s(run_s).ceil();
            let warning = format!(
                "a run of `{name}` takes {}, longer than the time limit of {}",
                seconds(run_s),
                seconds(budget_s)
            );
            Some(match args.plan.max_time {
                Some(_) => format!(
                    "{warning}, which is too short for a verdict; --max-time {all_s} holds a dozen runs of each command"
                ),
                None => warning,
            })
        }
        Event::Stretched(round_s, budget_s) => {
            let runs = if options.subjects.len() == 1 { "a run" } else { "a run of each command" };
            Some(format!(
                "{runs} takes {} in all, so the time limit is {}, for up to {}; --max-time changes it",
                seconds(round_s),
                seconds(budget_s),
                count((budget_s / round_s) as u64, "round")
            ))
        }
        Event::WarmingUp | Event::Round(..) | Event::Diverged(_) | Event::Profiling(_) => None,
    }
}

/// What is measured, and how.
///
/// # Errors
/// Flags that contradict each other.
pub fn options(args: &BenchArgs) -> Result<Options, Failure> {
    options_of(args, subjects::all(args)?)
}

/// How these commands are measured.
///
/// # Errors
/// Flags that contradict each other.
pub fn options_of(args: &BenchArgs, subjects: Vec<Subject>) -> Result<Options, Failure> {
    let BenchArgs { plan, execution: run, .. } = args;
    if run.duet && subjects.len() != 2 {
        return Err(Failure::new(format!("expected two commands for --duet, found {}", subjects.len())));
    }
    if run.duet && !run.show_output && !matches!(run.output.as_str(), "null" | "pipe" | "inherit") {
        return Err(
            Failure::new("--duet: two parallel commands cannot print to the same file").hint("use --output=pipe")
        );
    }
    // Of --pyperf the subjects are found later.
    let reference = match args.python.pyperf.is_empty() {
        true => subjects::reference(args, &subjects)?,
        false => Reference::Subject(0),
    };
    if let (Some(least), Some(most)) = (plan.min_runs, plan.max_runs)
        && least > most
    {
        return Err(Failure::new(format!("expected --min-runs of at most --max-runs, found {least} and {most}")));
    }
    Ok(Options {
        subjects,
        reference,
        plan: Plan {
            alpha: plan.alpha,
            margin: args.margin().ln_1p(),
            budget_s: budget(args).as_secs_f64(),
            metric: plan.metric.and_then(BenchMetric::measured),
            tolerates: plan.margin.is_some(),
        },
        rounds: RoundLimits {
            exactly: plan.runs.map(|runs| runs as usize),
            min: plan.min_runs.unwrap_or(0) as usize,
            max: plan.max_runs.map(|runs| runs as usize),
        },
        stretches: plan.max_time.is_none() && !args.python.is_used(),
        warmup_runs: plan.warmup as usize,
        value_s_min: plan.min_time.as_secs_f64(),
        execution: execution(args)?,
        duet: run.duet,
        duet_tried_on: tried_on(args),
        seed: run.seed.unwrap_or_else(random),
        machine: serde_json::to_value(prony_machine::facts(&Tree::machine())).unwrap_or_default(),
        tuning: tuning(args),
    })
}

/// How each command runs.
fn execution(args: &BenchArgs) -> Result<Execution, Failure> {
    let run = &args.execution;
    Ok(Execution {
        accepted: run.ignore_failure.clone().unwrap_or_default(),
        input: match run.input.as_str() {
            "null" => Input::Null,
            file => {
                fs::File::open(file).map_err(|error| Failure::io("read", file.as_ref(), &error))?;
                Input::File(file.into())
            }
        },
        output: match run.output.as_str() {
            _ if run.show_output => Output::Inherit,
            "null" => Output::Null,
            "pipe" => Output::Pipe,
            "inherit" => Output::Inherit,
            file => Output::File(file.into()),
        },
        placement: Placement {
            cpu: cpu(args)?,
            fifo_priority: run.fifo.then_some(FIFO_PRIORITY),
            ..Placement::default()
        },
        randomize_directory: run.random_directory || !args.python.statements.is_empty(),
        environment: env::vars_os().collect(),
    })
}

/// The CPU on which a duet is tried first; `None` where it was said which way to take, or the two may not run at once:
/// what prepares a run may be undone by another one, and both would print to the same place.
fn tried_on(args: &BenchArgs) -> Option<usize> {
    let BenchArgs { plan, execution: run, .. } = args;
    let metric = matches!(plan.metric, Some(BenchMetric::Measured(Metric::Wall | Metric::Rss)));
    let said = run.duet || run.no_duet || plan.runs.is_some() || plan.max_runs.is_some() || metric;
    let apart = run.fifo || args.python.is_used() || !args.hooks.prepare.is_empty() || !args.hooks.conclude.is_empty();
    let prints = run.show_output || !matches!(run.output.as_str(), "null" | "pipe");
    if said || apart || prints { None } else { run.pin.or_else(|| prony_bench::duet_cpu().ok()) }
}

/// Suggested next step, as a phrase; `None` if there is none.
pub fn hint(commands: &Commands) -> Option<String> {
    let Commands { options, report } = commands;
    let judged = report.comparisons.iter().filter(|_| report.ranking.is_none());
    let unclear = judged.into_iter().find(|comparison| comparison.outcome.verdict == Verdict::Unclear)?;
    if commands.may_gain_from_duet() && unclear.outcome.cpu.deviation > options.plan.margin {
        return Some(
            "--duet runs both runs of a pair in parallel on one CPU, so that both see the same noise".to_owned(),
        );
    }
    let forecast = unclear.outcome.forecast.filter(|forecast| forecast.seconds_more >= 0.5);
    let seconds = forecast.map(|forecast| (options.plan.budget_s + forecast.seconds_more).ceil());
    let seconds = seconds.filter(|&seconds| options.rounds.exactly.is_none() && seconds < 3600.0);
    let more = seconds.map(|seconds| format!("try --max-time {seconds}s"));
    let by_cpu = options.plan.metric.is_none() && !unclear.outcome.judged.contains(&Metric::Cpu);
    let by_cpu = by_cpu.then(|| "use --metric cpu to judge CPU time, which is less sensitive to other work".to_owned());
    let hints: Vec<String> = more.into_iter().chain(by_cpu).collect();
    (!hints.is_empty()).then(|| hints.join("; "))
}

/// A command that failed, with the end of what it printed, and what to do. `shell`: a shell ran it.
pub fn failure(failed: &Failed, shell: bool) -> Failure {
    let Failed { name, phase, problem, stderr_tail } = failed;
    let failure = Failure::new(format!("{phase} of `{name}`: {problem}")).printed(stderr_tail);
    match problem {
        // sh(1): 127 is what a shell ends with when it finds no such command.
        Problem::Exited(127) if shell => failure.hint("the shell did not find the program"),
        Problem::Exited(_) | Problem::Signalled(_) if matches!(phase, Phase::Run(_) | Phase::WarmUp(_)) => {
            let words_for_a_shell = ["|", ";", "&&", "<", ">", "$"];
            match !shell && words_for_a_shell.iter().any(|word| name.contains(word)) {
                true => failure.hint("use --shell to run the command in a shell; without it, it is only split \
                                      into words"),
                false => failure.hint("use --ignore-failure to measure it anyway, --show-output to see its output"),
            }
        }
        Problem::Run(RunError::Start { step: Step::Fifo, .. }) => {
            failure.hint("SCHED_FIFO needs root, or `ulimit -r` above 0")
        }
        Problem::Run(RunError::Start { step: Step::Pin, .. }) => {
            failure.hint("`lscpu -e` lists the CPUs; a container may allow only some of them")
        }
        Problem::Line(_) | Problem::NoValue => failure.hint("docs/guide/workers describes the output of a worker"),
        Problem::WorkerInDuet => failure.hint("omit --duet to compare the values of workers"),
        Problem::OtherMetric { .. } => failure.hint("compare commands with the same metric"),
        Problem::Run(RunError::Start { step: Step::Execute, error, .. })
            // ENOEXEC
            if error.raw_os_error() == Some(8) =>
        {
            failure.hint("a script needs a first line such as `#!/bin/sh`, or --shell")
        }
        _ => failure,
    }
}
