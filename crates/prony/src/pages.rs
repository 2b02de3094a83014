//! `prony completions` and `prony man`: what shells and `man` know of the command, from the definitions that parse it.

use std::fs;
use std::io::Write;

use clap::Command;
use clap_complete::aot::{Bash, Fish, Zsh, generate};
use clap_mangen::Man;

use crate::cli::{self, CompletionsArgs, ManArgs, ShellName};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Prints the completion script of a shell.
///
/// # Errors
/// When standard output does not take it.
pub fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let mut command = cli::command();
    match args.shell {
        ShellName::Bash => generate(Bash, &mut command, "prony", &mut script),
        ShellName::Zsh => generate(Zsh, &mut command, "prony", &mut script),
        ShellName::Fish => generate(Fish, &mut command, "prony", &mut script),
    }
    print(&script)
}

/// Prints a page, or writes all of them.
///
/// # Errors
/// When there is no such verb, or the pages cannot be written.
pub fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    let mut command = cli::command();
    command.build();
    collect(&command, "prony", &mut all);
    let Some(directory) = &args.dir else {
        let words = args.verb.iter().flat_map(|word| word.split([' ', '-'])).filter(|word| !word.is_empty());
        let name = std::iter::once("prony").chain(words).collect::<Vec<_>>().join("-");
        let Some((_, page)) = all.iter().find(|(other, _)| *other == name) else {
            return Err(Failure::new(format!("no man page of the verb `{}`", args.verb.join(" ")))
                .hint("`prony --help` lists the verbs"));
        };
        return print(page);
    };
    fs::create_dir_all(directory).map_err(|error| Failure::io("make", directory, &error))?;
    for (name, page) in &all {
        let path = directory.join(format!("{name}.1"));
        fs::write(&path, page).map_err(|error| Failure::io("write", &path, &error))?;
    }
    Ok(Exit::Good)
}

/// The page of a command, and of every verb below it that is not hidden.
fn collect(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) {
    // Names of commands are static; those of the pages live until the end, which is near.
    let static_name: &'static str = name.to_owned().leak();
    let named = command.clone().name(static_name).bin_name(name.replace('-', " ")).display_name(name.to_owned());
    let mut page = Vec::new();
    Man::new(named).render(&mut page).expect("memory takes every page");
    pages.push((name.to_owned(), page));
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        collect(verb, &format!("{name}-{}", verb.get_name()), pages);
    }
}

fn print(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut out = output::stdout();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Good)
}
