//! `prony bench`: measures commands and says which is faster.

mod benchmarks;
mod demo;
mod demos;
mod exports;
mod github;
pub mod human;
mod json;
mod junit;
pub mod live;
pub mod page;
mod picture;
mod pyperf;
mod settings;
mod shell;
mod subjects;
mod table;
mod throughput;

use std::env;
use std::fs;

use prony_bench::{Comparison, Ended, Event, Failed, Input, Options, Output, Phase, Problem, Reference, Report};
use prony_machine::process::{Placement, RunError, Step};
use prony_machine::{Interrupt, Tree};
use prony_stats::Interval;
use prony_stats::Metric;
use prony_stats::judge::Plan;

use crate::cli::BenchArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::limits::compare as limits;
use crate::output;
use crate::progress::ProgressLine;
use exports::Exports;
use junit::{Case, CaseEnd};
pub use settings::{FIFO_PRIORITY, random};
use settings::{budget, cpu, tuning};

/// Measures, answers and says how it went.
///
/// # Errors
/// What kept it from running, a command that failed among it.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    if !args.demo.is_empty() {
        return demo::run(args, &args.demo);
    }
    if !args.pyperf.is_empty() {
        return pyperf::run(args);
    }
    let options = options(args)?;
    let command_line: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    for warning in shell::warnings(args, &command_line) {
        output::talk_line(format_args!("warning: {warning}"));
    }
    // Made before anything is measured: a place that cannot be written is told at once.
    let mut exports = Exports::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut line = ProgressLine::new(!args.show_output && args.output != "inherit");
    let mut live = live::Live::new();
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
    limits::note(&mut report.samples, args.bytes, args.operations, args.items);
    exports.write(&report.samples, &relative(&options, &report), relative_metric(&report))?;
    exports.draw(|| picture::chart(&options, &report).svg())?;
    exports.page(|| page::page(&options, &report))?;
    let cases = cases(&options, &report);
    exports.test_cases(|| junit::document(&cases))?;
    let exit = answer(args, &options, &report);
    github::annotate(&cases);
    exit
}

/// Prints the answer, and everything that is to be known beside it.
fn answer(args: &BenchArgs, options: &Options, report: &Report) -> Result<Exit, Failure> {
    // A command that failed leaves no verdict.
    if let Ended::Failed(failed) = &report.ended {
        if let Some(path) = args.export_json.as_ref().filter(|_| report.rounds > 0) {
            eprintln!("warning: {} contains the {} before a command failed", path.display(), rounds(report.rounds));
        }
        return Err(failure(failed, shell::asked(args).is_some()));
    }
    let rates = args.bytes.or(args.operations).map(|_| limits::held(&report.samples)).unwrap_or_default();
    if args.json {
        output::print_json(&json::answer(options, report, rates))?;
    } else {
        output::print(&(human::text(options, report) + &human::rates(report) + &limits::lines(&rates)))?;
    }
    for warning in &report.warnings {
        output::talk_line(format_args!("warning: {warning}"));
    }
    if matches!(report.ended, Ended::Interrupted) {
        eprintln!("warning: interrupted after {}", rounds(report.rounds));
    }
    if let Some(hint) = human::hint(options, report) {
        eprintln!("hint: {hint}");
    }
    Ok(exit(report))
}

/// The comparisons as test cases; of a ranking, a case for each command, none of which fails.
fn cases(options: &Options, report: &Report) -> Vec<Case> {
    if let Ended::Failed(failed) = &report.ended {
        let message = format!("{} of `{}`: {}", failed.phase, failed.name, failed.problem);
        return vec![Case { name: failed.name.clone(), seconds: report.elapsed_s, end: CaseEnd::Error, message }];
    }
    let name = |subject: usize| options.subjects[subject].name.clone();
    if let Some(ranking) = &report.ranking {
        let is_of_time = ranking.metric != Metric::Rss;
        let case = |place: &prony_stats::ranking::Place| Case {
            name: name(place.candidate),
            seconds: report.elapsed_s,
            end: CaseEnd::Passed,
            message: table::standing(place.standing, is_of_time).to_owned(),
        };
        return ranking.places.iter().map(case).collect();
    }
    let case = |one: &Comparison| Case {
        name: format!("{} against {}", name(one.subject), name(one.reference)),
        seconds: one.outcome.elapsed_s,
        end: CaseEnd::of(one.outcome.verdict),
        message: human::verdict(&name(one.subject), &one.outcome, options.plan.margin, false),
    };
    report.comparisons.iter().map(case).collect()
}

fn rounds(rounds: usize) -> String {
    prony_text::count(rounds as u64, "round")
}

/// How a long run, or many of them, change what was planned.
fn note(args: &BenchArgs, options: &Options, event: &Event) -> Option<String> {
    let seconds = |seconds: f64| prony_text::duration(seconds);
    match *event {
        Event::Long(subject, run_s, budget_s) => {
            let name = &options.subjects[subject].name;
            let all_s = (PAIRS_HELD * run_s * options.subjects.len() as f64).ceil();
            let told = format!(
                "a run of `{name}` takes {}, longer than the time limit of {}",
                seconds(run_s),
                seconds(budget_s)
            );
            Some(match args.max_time {
                Some(_) => format!(
                    "{told}, which is too short for a verdict; --max-time {all_s} holds a dozen runs of each command"
                ),
                None => told,
            })
        }
        Event::Stretched(round_s, budget_s) => {
            let runs = if options.subjects.len() == 1 { "a run" } else { "a run of each command" };
            Some(format!(
                "{runs} takes {} in all, so the time limit is {}, for up to {}; --max-time changes it",
                seconds(round_s),
                seconds(budget_s),
                rounds((budget_s / round_s) as usize)
            ))
        }
        Event::WarmingUp | Event::Round(..) => None,
    }
}

/// Runs of each command that a time limit should hold.
const PAIRS_HELD: f64 = 12.0;

/// The ratio of each command to the reference or to the fastest, in the order of the samples; `None` of the one with
/// which others are compared, and where it is not known.
fn relative(options: &Options, report: &Report) -> Vec<Option<Interval>> {
    let mut relative = vec![None; options.subjects.len()];
    match &report.ranking {
        Some(ranking) => {
            for place in &ranking.places {
                relative[place.candidate] = Some(place.ratio);
            }
        }
        None => {
            for Comparison { subject, outcome, .. } in &report.comparisons {
                relative[*subject] = outcome.metric.of(outcome).map(|block| block.interval);
            }
        }
    }
    // The fastest has no ratio to itself.
    let told = |interval: &Interval| interval.width().is_finite() && interval.reach() > 0.0;
    relative.into_iter().map(|interval| interval.filter(told)).collect()
}

/// What these ratios are of; `None` where not all of them are of one metric.
fn relative_metric(report: &Report) -> Option<Metric> {
    let mut metrics = match &report.ranking {
        Some(ranking) => vec![ranking.metric],
        None => report.comparisons.iter().map(|comparison| comparison.outcome.metric).collect(),
    };
    metrics.dedup();
    if let [only] = metrics[..] { Some(only) } else { None }
}

fn exit(report: &Report) -> Exit {
    let interrupted =
        (report.comparisons.is_empty() || report.ranking.is_some()) && matches!(report.ended, Ended::Interrupted);
    // A ranking is an answer, not a finding.
    let judged = report.comparisons.iter().filter(|_| report.ranking.is_none());
    match Exit::of(judged.map(|comparison| comparison.outcome.verdict)) {
        Exit::Good if report.rounds == 0 || interrupted => Exit::NotTrusted,
        exit => exit,
    }
}

fn options(args: &BenchArgs) -> Result<Options, Failure> {
    let subjects = subjects::all(args)?;
    if args.duet && subjects.len() != 2 {
        return Err(Failure::new(format!("expected two commands for --duet, found {}", subjects.len())));
    }
    if args.duet && !args.show_output && !matches!(args.output.as_str(), "null" | "pipe" | "inherit") {
        return Err(
            Failure::new("--duet: two parallel commands cannot print to the same file").hint("use --output=pipe")
        );
    }
    // Of --pyperf the subjects are found later.
    let reference = match args.pyperf.is_empty() {
        true => subjects::reference(args, &subjects)?,
        false => Reference::Subject(0),
    };
    if let (Some(least), Some(most)) = (args.min_runs, args.max_runs)
        && least > most
    {
        return Err(Failure::new(format!("expected --min-runs of at most --max-runs, found {least} and {most}")));
    }
    Ok(Options {
        subjects,
        reference,
        plan: Plan {
            alpha: args.alpha,
            margin: args.margin().ln_1p(),
            budget_s: budget(args).as_secs_f64(),
            metric: args.metric,
            tolerates: args.margin.is_some(),
        },
        runs: args.runs.map(|runs| runs as usize),
        rounds_min: args.min_runs.unwrap_or(0) as usize,
        rounds_max: args.max_runs.map(|runs| runs as usize),
        stretches: args.max_time.is_none() && args.python.is_empty() && args.pyperf.is_empty(),
        warmup_runs: args.warmup as usize,
        value_s_min: args.min_time.as_secs_f64(),
        ignore_failure: args.ignore_failure,
        input: match args.input.as_str() {
            "null" => Input::Null,
            file => {
                fs::File::open(file).map_err(|error| Failure::io("read", file.as_ref(), &error))?;
                Input::File(file.into())
            }
        },
        output: match args.output.as_str() {
            _ if args.show_output => Output::Inherit,
            "null" => Output::Null,
            "pipe" => Output::Pipe,
            "inherit" => Output::Inherit,
            file => Output::File(file.into()),
        },
        duet: args.duet,
        duet_tried_on: tried_on(args),
        placement: Placement {
            cpu: cpu(args)?,
            fifo_priority: args.fifo.then_some(FIFO_PRIORITY),
            ..Placement::default()
        },
        randomize_directory: args.random_directory || !args.python.is_empty(),
        environment: env::vars_os().collect(),
        seed: args.seed.unwrap_or_else(random),
        machine: serde_json::to_value(prony_machine::facts(&Tree::machine())).unwrap_or_default(),
        tuning: tuning(args),
    })
}

/// The CPU on which a duet is tried first; `None` where it was said which way to take, or the two may not run at once:
/// what prepares a run may be undone by another one, and both would print to the same place.
fn tried_on(args: &BenchArgs) -> Option<usize> {
    let metric = matches!(args.metric, Some(Metric::Wall | Metric::Rss));
    let said = args.duet || args.no_duet || args.runs.is_some() || args.max_runs.is_some() || metric;
    let apart = args.fifo || !args.python.is_empty() || !args.pyperf.is_empty() || !args.prepare.is_empty();
    let prints = args.show_output || !matches!(args.output.as_str(), "null" | "pipe");
    if said || apart || prints { None } else { args.pin.or_else(|| prony_bench::duet_cpu().ok()) }
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
