//! Conversion of the command line's commands and parameters to the things that are measured.

use std::collections::BTreeMap;
use std::ffi::OsString;

use prony_bench::parameters::{Parameter, SUBJECTS_MOST, combinations, filled};
use prony_bench::pyperf::executable;
use prony_bench::{CommandError, CommandLine, Reference, Subject, worker};
use prony_report::words::letter;

use super::shell;
use crate::cli::{BenchArgs, ParameterArgs};
use crate::failure::Failure;

/// Every command with every combination of parameters, in the order given.
///
/// # Errors
/// A command that is none, or numbers of flags and commands that do not fit.
pub fn all(args: &BenchArgs) -> Result<Vec<Subject>, Failure> {
    let combinations = combinations(&parameters(&args.parameters)?);
    let statements = if args.python.statements.is_empty() { Vec::new() } else { python(args)? };
    let commands = args.commands.len() + statements.len();
    if commands * combinations.len() > SUBJECTS_MOST {
        return Err(Failure::new(format!(
            "expected at most {SUBJECTS_MOST} commands, found {} including parameters",
            commands * combinations.len()
        )));
    }
    for (flag, texts) in [("--prepare", &args.hooks.prepare), ("--conclude", &args.hooks.conclude)] {
        if texts.len() > 1 && texts.len() != commands {
            return Err(Failure::new(format!(
                "expected one {flag}, or one for each of {commands} commands, found {}",
                texts.len()
            )));
        }
    }
    if args.hooks.setup.len() > 1 && args.python.statements.is_empty() && args.hooks.setup.len() != commands {
        return Err(Failure::new(format!(
            "expected one --setup, or one for each of {commands} commands, found {}",
            args.hooks.setup.len()
        )));
    }
    // Those of --pyperf are of its scripts.
    if args.python.pyperf.is_empty() && args.command_name.len() > commands * combinations.len() {
        return Err(Failure::new(format!(
            "expected at most one --command-name for each of {} commands, found {}",
            commands * combinations.len(),
            args.command_name.len()
        )));
    }
    let mut subjects = Vec::new();
    for (place, text) in args.commands.iter().enumerate() {
        for values in &combinations {
            let filled = filled(text, values);
            let command = match shell::requested(&args.shell) {
                Some(shell) => CommandLine::through_shell(&filled, shell),
                None => CommandLine::split(&filled),
            };
            let command = command.map_err(|error| unusable(args, &filled, &error))?;
            subjects.push(Subject { template: Some(text.clone()), ..subject(args, place, filled, command, values) });
        }
    }
    for (place, (name, arguments)) in statements.into_iter().enumerate() {
        for values in &combinations {
            let arguments = arguments.iter().map(|argument| OsString::from(filled(argument, values))).collect();
            let filled = filled(&name, values);
            let command = CommandLine::of_words(arguments).map_err(|error| unusable(args, &filled, &error))?;
            let mut subject = subject(args, args.commands.len() + place, filled, command, values);
            subject.template = Some(name.clone());
            // With --python it is a statement, and the worker has it.
            subject.setup = None;
            subjects.push(subject);
        }
    }
    name_all(&mut subjects, &args.command_name, commands);
    tell_apart(&mut subjects);
    for parameter in parameters(&args.parameters)? {
        let place = format!("{{{}}}", parameter.name);
        if !args
            .commands
            .iter()
            .chain(&args.python.statements)
            .chain(&args.hooks.prepare)
            .chain(&args.hooks.conclude)
            .any(|text| text.contains(&place))
        {
            return Err(Failure::new(format!("no command has `{place}`"))
                .hint(format!("use --parameter {} to set its values", parameter.name)));
        }
    }
    Ok(subjects)
}

/// Gives commands their names: of each command with its parameters, or of each command for all values of them. What has the
/// same name then is distinguished by these.
fn name_all(subjects: &mut [Subject], names: &[String], commands: usize) {
    let values = subjects.len() / commands.max(1);
    let for_each = if names.len() <= commands { values } else { 1 };
    for (place, subject) in subjects.iter_mut().enumerate() {
        let Some(template) = names.get(place / for_each.max(1)) else { continue };
        subject.name = filled(template, &subject.parameters);
        subject.template = Some(template.clone());
        if for_each > 1 && subject.name == *template {
            let parameters = subject.parameters.iter().map(|(name, value)| format!("{name}={value}"));
            subject.name += &format!(" {}", parameters.collect::<Vec<_>>().join(" "));
        }
    }
}

/// Gives commands of equal names, whose parameters are in --prepare, --setup or --cleanup only, their values: `true (branch = main)`.
fn tell_apart(subjects: &mut [Subject]) {
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let parameters: Vec<_> = subjects.iter().map(|subject| subject.parameters.clone()).collect();
    for (place, subject) in subjects.iter_mut().enumerate() {
        let equal = |other: &usize| *other != place && names[*other] == names[place];
        let others: Vec<usize> = (0..names.len()).filter(equal).collect();
        let differs = |(name, value): &(&String, &String)| {
            others.iter().any(|&other| parameters[other].get(*name) != Some(*value))
        };
        let values = subject.parameters.iter().filter(differs).map(|(name, value)| format!("{name} = {value}"));
        let values = values.collect::<Vec<_>>().join(", ");
        if !values.is_empty() {
            subject.name += &format!(" ({values})");
        }
    }
}

/// The command with which others are compared.
///
/// # Errors
/// A name that no command has, or several.
pub fn reference(args: &BenchArgs, subjects: &[Subject]) -> Result<Reference, Failure> {
    let Some(name) = &args.plan.reference else {
        let statements = args.python.statements.len() + args.python.pyperf.len();
        let is_scan = subjects.len() > args.commands.len() + statements * args.python.interpreter.len().max(1);
        return Ok(if subjects.len() > 2 || is_scan { Reference::Fastest } else { Reference::Subject(0) });
    };
    let found = |is: &dyn Fn(usize, &Subject) -> bool| -> Vec<usize> {
        subjects.iter().enumerate().filter(|(place, subject)| is(*place, subject)).map(|(place, _)| place).collect()
    };
    let by_name = found(&|_, subject| subject.name == *name);
    let by_letter = found(&|place, _| letter(place) == *name);
    let candidates = if by_name.is_empty() { by_letter } else { by_name };
    match candidates.as_slice() {
        &[only] if subjects.len() > 1 => Ok(Reference::Subject(only)),
        [_] => Err(Failure::new("--reference: expected another command to compare with it, found none")),
        [] => {
            let known =
                subjects.iter().enumerate().map(|(place, subject)| format!("{} `{}`", letter(place), subject.name));
            Err(Failure::new(format!("--reference: no command is called `{name}`")).hint(format!(
                "commands are {}; to run another one, give it as a command, too",
                known.collect::<Vec<_>>().join(", ")
            )))
        }
        several => Err(Failure::new(format!("--reference: {} commands are called `{name}`", several.len()))
            .hint(format!("use one of their letters, such as {}", letter(several[0])))),
    }
}

fn subject(
    args: &BenchArgs,
    place: usize,
    name: String,
    command: CommandLine,
    values: &BTreeMap<String, String>,
) -> Subject {
    let of = |texts: &'_ [String]| if texts.len() > 1 { texts.get(place).cloned() } else { texts.first().cloned() };
    let (prepare, conclude, setup) = (of(&args.hooks.prepare), of(&args.hooks.conclude), of(&args.hooks.setup));
    Subject {
        name,
        command,
        prepare: prepare.map(|text| filled(&text, values)),
        conclude: conclude.map(|text| filled(&text, values)),
        template: None,
        setup: setup.map(|text| filled(&text, values)),
        cleanup: args.hooks.cleanup.as_ref().map(|text| filled(text, values)),
        parameters: values.clone(),
    }
}

/// A name and the words of a worker for each statement under each interpreter.
fn python(args: &BenchArgs) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let fallback = ["python3".to_owned()];
    let interpreters = if args.python.interpreter.is_empty() { &fallback[..] } else { &args.python.interpreter };
    let mut statements = Vec::new();
    for interpreter in interpreters {
        for statement in &args.python.statements {
            let name = match args.python.interpreter.len() {
                0 | 1 => statement.clone(),
                _ => format!("{interpreter}: {statement}"),
            };
            // As `pyperf timeit` takes several.
            let setup = if args.hooks.setup.is_empty() { "pass".to_owned() } else { args.hooks.setup.join("\n") };
            let words = [executable(interpreter), "-c".to_owned(), worker::PYTHON.to_owned(), setup, statement.clone()];
            statements.push((name, words.to_vec()));
        }
    }
    Ok(statements)
}

/// Everything that stands in place of a name in braces.
fn parameters(args: &ParameterArgs) -> Result<Vec<Parameter>, Failure> {
    let mut parameters = args.parameter.clone();
    for words in args.parameter_list.chunks_exact(2) {
        parameters.push(Parameter::new(&words[0], &words[1]).ok_or_else(|| {
            Failure::new(format!("--parameter-list: expected a name and values, found `{}` `{}`", words[0], words[1]))
        })?);
    }
    for words in args.parameter_scan.chunks_exact(3) {
        let step = args.parameter_step_size.as_deref().unwrap_or("1");
        let scanned = Parameter::scan(&words[0], &words[1], &words[2], step);
        parameters.push(scanned.map_err(|error| Failure::new(format!("--parameter-scan: {error}")))?);
    }
    for (place, parameter) in parameters.iter().enumerate() {
        if parameters[..place].iter().any(|other| other.name == parameter.name) {
            return Err(Failure::new(format!("parameter `{}` is given twice", parameter.name)));
        }
    }
    Ok(parameters)
}

fn unusable(args: &BenchArgs, text: &str, error: &CommandError) -> Failure {
    let failure = Failure::new(format!("cannot measure: {error}"));
    match error {
        CommandError::Empty | CommandError::Quote(_) => failure,
        // Shells have these; we split words only.
        _ if shell::requested(&args.shell).is_none() && text.contains(['|', ';', '&', '<', '>', '$', '*']) => {
            failure.hint("use --shell to run the command in a shell")
        }
        CommandError::NotInPath(_) => failure.hint("give its path, or use --shell for shell built-ins and aliases"),
        CommandError::NoFile(_) => failure,
        CommandError::NotExecutable(name) => failure.hint(format!("`chmod +x {name}`")),
    }
}
