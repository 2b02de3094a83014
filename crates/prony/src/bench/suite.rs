//! `prony bench --pyperf`: every benchmark of scripts that use `pyperf.Runner`, judged one after the other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Command, Stdio};

use prony_bench::{CommandLine, Commands, Ended, Event, Measured, Options, Subject, Suite, worker};
use prony_machine::Interrupt;
use prony_report::text;
use prony_text::count;

use super::commands::{failure, options};
use super::exports::Exports;
use super::live::Live;
use super::subjects::{executable, reference};
use crate::cli::BenchArgs;
use crate::failure::Failure;
use crate::output;
use crate::progress::ProgressLine;

/// A script under an interpreter.
struct Script {
    name: String,
    interpreter: String,
    /// The script and its arguments.
    words: Vec<String>,
    /// Names of its benchmarks, in order.
    benchmarks: Vec<String>,
}

/// Measures every benchmark that all scripts have, and prints the answer on each as soon as it is known.
///
/// # Errors
/// What kept it from running, a script that failed among it.
pub fn measure(args: &BenchArgs) -> Result<(Measured, Exports), Failure> {
    let scripts = scripts(args)?;
    let common = common(&scripts)?;
    if args.svg.is_some() && common.len() > 1 {
        return Err(Failure::new(format!("--svg: expected one benchmark, found {}", common.len()))
            .hint("--export-html writes a page with all of them"));
    }
    let base = options(args)?;
    let mut exports = Exports::create(args)?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut line = ProgressLine::new(!args.show_output && args.output != "inherit");
    let mut all = Vec::new();
    for name in &common {
        let plan = base.plan.one_of(common.len());
        let subjects = subjects(&scripts, name)?;
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
    Ok((Measured::Suite(Suite { alpha: args.alpha, margin: args.margin().ln_1p(), all }), exports))
}

fn scripts(args: &BenchArgs) -> Result<Vec<Script>, Failure> {
    let fallback = ["python3".to_owned()];
    let interpreters = if args.interpreter.is_empty() { &fallback[..] } else { &args.interpreter };
    let most = interpreters.len() * args.pyperf.len();
    if args.command_name.len() > most {
        return Err(Failure::new(format!(
            "expected at most one --command-name for each of {}, found {}",
            count(most as u64, "script"),
            args.command_name.len()
        )));
    }
    let mut scripts: Vec<Script> = Vec::new();
    for interpreter in interpreters {
        for script in &args.pyperf {
            let words = CommandLine::words(script).map_err(|error| Failure::new(format!("cannot measure: {error}")))?;
            let name = match args.interpreter.len() {
                0 | 1 => script.clone(),
                _ => format!("{interpreter}: {script}"),
            };
            let name = args.command_name.get(scripts.len()).cloned().unwrap_or(name);
            // A script may be compared with itself; samples are told apart by their names.
            let name = match scripts.iter().any(|known| known.name == name) {
                true => format!("{name} ({})", scripts.len() + 1),
                false => name,
            };
            let interpreter = executable(interpreter);
            let benchmarks = list(&interpreter, &words)?;
            scripts.push(Script { name, interpreter, words, benchmarks });
        }
    }
    Ok(scripts)
}

/// Asks a script for the names of its benchmarks, without running any.
fn list(interpreter: &str, words: &[String]) -> Result<Vec<String>, Failure> {
    let script = words.first().map_or("", String::as_str);
    let mut command = Command::new(interpreter);
    command.args(["-c", worker::RUNNER, "list"]).args(words).stdin(Stdio::null());
    let output = command.output().map_err(|error| Failure::new(format!("cannot run `{interpreter}`: {error}")))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let failure = Failure::new(format!("cannot list the benchmarks of {script}: {}", output.status)).printed(&said);
        return Err(match said.contains("No module named 'pyperf'") {
            true => failure.hint(format!("install it for this interpreter: `{interpreter} -m pip install pyperf`")),
            false => failure,
        });
    }
    let names = String::from_utf8_lossy(&output.stdout);
    let names: Vec<String> = names.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if names.is_empty() {
        return Err(Failure::new(format!("{script} has no benchmark"))
            .printed(&said)
            .hint("--pyperf expects a script that uses pyperf.Runner; other scripts are commands: `prony bench 'python3 x.py'`"));
    }
    Ok(names)
}

/// Names of the benchmarks that all scripts have, in the order of the first; says which others are left out.
fn common(scripts: &[Script]) -> Result<Vec<String>, Failure> {
    let is_everywhere = |name: &&String| scripts.iter().all(|script| script.benchmarks.contains(name));
    let first = scripts.first().map_or(&[][..], |script| &script.benchmarks);
    let common: Vec<String> = first.iter().filter(is_everywhere).cloned().collect();
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

/// What is run of each script for the benchmark of this name.
fn subjects(scripts: &[Script], name: &str) -> Result<Vec<Subject>, Failure> {
    let subject = |script: &Script| {
        let number = script.benchmarks.iter().position(|other| other == name).unwrap_or(0).to_string();
        let words = [script.interpreter.as_str(), "-c", worker::RUNNER, &number].into_iter().map(OsString::from);
        let words = words.chain(script.words.iter().map(OsString::from)).collect();
        let command = CommandLine::of_words(words).map_err(|error| Failure::new(format!("cannot measure: {error}")))?;
        let (prepare, setup, cleanup, template) = (None, None, None, None);
        let (name, parameters) = (script.name.clone(), BTreeMap::new());
        Ok(Subject { name, command, prepare, setup, cleanup, template, parameters })
    };
    scripts.iter().map(subject).collect()
}
