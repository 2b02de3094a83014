//! `prony bench --pyperf`: every benchmark of scripts that use `pyperf.Runner`, judged one after the other.

use prony_bench::pyperf::{Script, ScriptError, common};
use prony_bench::{CommandLine, Commands, Ended, Event, Measured, Options, Suite};
use prony_machine::Interrupt;
use prony_report::text;
use prony_text::count;

use super::commands::{failure, options};
use super::exports::Exports;
use super::live::Live;
use super::subjects::reference;
use crate::cli::BenchArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::ProgressLine;

/// Measures every benchmark that all scripts have, and prints the answer on each as soon as it is known.
///
/// # Errors
/// What kept it from running, a script that failed among it.
pub fn measure(args: &BenchArgs) -> Result<(Measured, Exports), Failure> {
    let scripts = scripts(args)?;
    let common = in_all(&scripts)?;
    if args.exports.svg.is_some() && common.len() > 1 {
        return Err(Failure::new(format!("--svg: expected one benchmark, found {}", common.len()))
            .hint("--export-html writes a page with all of them"));
    }
    let base = options(args)?;
    let mut exports = Exports::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut line = ProgressLine::new(!args.execution.show_output && args.execution.output != "inherit");
    let mut all = Vec::new();
    for name in &common {
        let plan = base.plan.one_of(common.len());
        let subjects = scripts.iter().map(|script| script.subject(name)).collect::<Result<Vec<_>, _>>();
        let subjects = subjects.map_err(|error| Failure::new(format!("cannot measure: {error}")))?;
        let options = Options { reference: reference(args, &subjects)?, subjects, plan, ..base.clone() };
        let mut live = Live::new();
        let report = prony_bench::bench(&options, Some(&interrupt), &mut |event| {
            if let Some(text) = live.text(&event, options.subjects.len(), options.plan.margin) {
                line.show_text(&format!("{name}: {text}"));
            }
            if let Event::Round(_, benchmarks) = event {
                exports.keep(benchmarks, || options.circumstances());
            }
        });
        line.clear();
        let report = report.map_err(|error| Failure::new(error.to_string()))?;
        if let Ended::Failed(failed) = &report.ended {
            return Err(failure(failed, false));
        }
        let interrupted = matches!(report.ended, Ended::Interrupted);
        let commands = Commands { options, report };
        if !args.json {
            output::print(&text::bench::of_benchmark(name, &commands))?;
        }
        all.push((name.clone(), commands));
        if interrupted {
            break;
        }
    }
    drop(line);
    Ok((Measured::Suite(Suite { alpha: args.plan.alpha, margin: args.margin().ln_1p(), all }), exports))
}

fn scripts(args: &BenchArgs) -> Result<Vec<Script>, Failure> {
    let fallback = ["python3".to_owned()];
    let interpreters = if args.python.interpreter.is_empty() { &fallback[..] } else { &args.python.interpreter };
    let most = interpreters.len() * args.python.pyperf.len();
    if args.command_name.len() > most {
        return Err(Failure::new(format!(
            "expected at most one --command-name for each of {}, found {}",
            count(most as u64, "script"),
            args.command_name.len()
        )));
    }
    let mut scripts: Vec<Script> = Vec::new();
    for interpreter in interpreters {
        for script in &args.python.pyperf {
            let words = CommandLine::words(script).map_err(|error| Failure::new(format!("cannot measure: {error}")))?;
            let name = match args.python.interpreter.len() {
                0 | 1 => script.clone(),
                _ => format!("{interpreter}: {script}"),
            };
            let name = args.command_name.get(scripts.len()).cloned().unwrap_or(name);
            // A script may be compared with itself; samples are distinguished by their names.
            let name = match scripts.iter().any(|known| known.name == name) {
                true => format!("{name} ({})", scripts.len() + 1),
                false => name,
            };
            scripts.push(Script::read(name, interpreter, words).map_err(script_failure)?);
        }
    }
    Ok(scripts)
}

fn script_failure(error: ScriptError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ScriptError::Failed { interpreter, printed, .. } => {
            let failure = failure.printed(&printed);
            match printed.contains("No module named 'pyperf'") {
                true => failure.hint(format!("install it for this interpreter: `{interpreter} -m pip install pyperf`")),
                false => failure,
            }
        }
        ScriptError::Empty { printed, .. } => failure.printed(&printed).hint(
            "--pyperf expects a script that uses pyperf.Runner; other scripts are commands: `prony bench 'python3 x.py'`",
        ),
        ScriptError::Start { .. } => failure,
    }
}

/// The benchmarks that all scripts have; says which others are left out.
fn in_all(scripts: &[Script]) -> Result<Vec<String>, Failure> {
    let common = common(scripts);
    for script in scripts {
        let left_out = script.benchmarks.iter().filter(|name| !common.contains(name)).count();
        if left_out > 0 && !common.is_empty() {
            eprintln!("note: {} of {} not in every script", count(left_out as u64, "benchmark"), script.name);
        }
    }
    match common.is_empty() {
        true => Err(Failure::new("the scripts have no benchmark of the same name")),
        false => Ok(common),
    }
}
