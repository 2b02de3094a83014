//! `prony selftest`: compares a command with itself, here and now.

use std::env;
use std::hint::black_box;

use prony_bench::{
    Accepted, CommandLine, Ended, Event, Execution, Input, Options, Output, Reference, RoundLimits, Subject, WORK_S,
};
use prony_machine::Interrupt;
use prony_machine::process::Placement;
use prony_report::{json, text};
use prony_stats::judge::Plan;

use crate::bench::{self, commands};
use crate::cli::{SelftestArgs, WorkArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::ProgressLine;

/// Steps with which its speed is found out.
const STEPS_FIRST: u64 = 5_000_000;

/// Compares, answers and says whether verdicts here can be trusted.
///
/// # Errors
/// What kept it from running, a command that failed among it.
pub fn run(args: &SelftestArgs) -> Result<Exit, Failure> {
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut options = Options {
        subjects: Vec::new(),
        plan: Plan {
            alpha: args.alpha,
            margin: 0.01_f64.ln_1p(),
            budget_s: args.max_time.as_secs_f64(),
            metric: None,
            tolerates: false,
        },
        reference: Reference::Subject(0),
        rounds: RoundLimits::default(),
        stretches: false,
        warmup_runs: 1,
        value_s_min: 0.1,
        execution: Execution {
            accepted: Accepted::None,
            input: Input::Null,
            output: Output::Null,
            placement: Placement {
                cpu: args.pin,
                fifo_priority: args.fifo.then_some(bench::FIFO_PRIORITY),
                ..Placement::default()
            },
            randomize_directory: false,
            environment: env::vars_os().collect(),
        },
        duet: false,
        duet_tried_on: None,
        seed: args.seed.unwrap_or_else(crate::numbers::random),
        machine: serde_json::Value::Null,
        tuning: serde_json::Value::Null,
    };
    options.subjects = vec![match &args.command {
        Some(text) => {
            subject(text, CommandLine::split(text).map_err(|error| Failure::new(format!("cannot measure: {error}")))?)
        }
        None => built_in(&options, &interrupt)?,
    }];
    let mut line = ProgressLine::new(true);
    let mut live = bench::live::Live::new();
    let comparisons = args.comparisons as usize;
    let found = prony_bench::selftest(&options, comparisons, Some(&interrupt), &mut |comparison, event: Event| {
        if let Some(text) = live.text(&event, 2, options.plan.margin) {
            line.show_text(&format!("comparison {} of {comparisons}: {text}", comparison + 1));
        }
    });
    drop(line);
    let found = found.map_err(|error| Failure::new(error.to_string()))?;
    if let Ended::Failed(failed) = &found.ended {
        return Err(commands::failure(failed, false));
    }
    if args.json {
        output::print_json(&json::selftest::answer(&options, &found))?;
    } else {
        output::print(&text::selftest::text(&options, &found))?;
    }
    if matches!(found.ended, Ended::Interrupted) {
        eprintln!("warning: interrupted after {}", prony_text::count(found.comparisons as u64, "comparison"));
        return Ok(Exit::NotTrusted);
    }
    if found.is_biased(args.alpha) {
        eprintln!("warning: more false alarms than --alpha explains");
        eprintln!("hint: `prony machine check` shows sources of interference");
        return Ok(Exit::NotTrusted);
    }
    Ok(Exit::Good)
}

fn subject(name: &str, command: CommandLine) -> Subject {
    let parameters = std::collections::BTreeMap::new();
    Subject {
        name: name.to_owned(),
        command,
        prepare: None,
        conclude: None,
        setup: None,
        cleanup: None,
        template: None,
        parameters,
    }
}

/// Ourselves, computing for about [`WORK_S`].
fn built_in(options: &Options, interrupt: &Interrupt) -> Result<Subject, Failure> {
    let ourselves = env::current_exe().map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let work = |steps: u64| {
        let words = vec![ourselves.clone().into_os_string(), "work".into(), steps.to_string().into()];
        let command = CommandLine::of_words(words).map_err(|error| Failure::new(format!("cannot measure: {error}")))?;
        Ok(subject("built-in work", command))
    };
    let first = Options { subjects: vec![work(STEPS_FIRST)?], rounds: RoundLimits::exactly(5), ..options.clone() };
    let report =
        prony_bench::bench(&first, Some(interrupt), &mut |_| ()).map_err(|error| Failure::new(error.to_string()))?;
    if let Ended::Failed(failed) = &report.ended {
        return Err(commands::failure(failed, false));
    }
    let times = report.summaries.first().and_then(|summary| summary.as_ref()?.cpu_s.clone());
    let cpu_s = times.map_or(WORK_S, |times| times.median.estimate);
    work((STEPS_FIRST as f64 * WORK_S / cpu_s) as u64)
}

/// The command of `prony selftest`: computes and says nothing.
///
/// # Errors
/// Never; all verbs have the same shape.
pub fn work(args: &WorkArgs) -> Result<Exit, Failure> {
    // xorshift64* (Vigna 2016): each step needs the one before.
    let mut state: u64 = 88_172_645_463_325_252;
    for _ in 0..args.steps {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
    }
    black_box(state);
    Ok(Exit::Good)
}
